"""Every envelope claims its own samples, and no two claim the same one without a declared order."""

from __future__ import annotations

import pytest

from diagnoser.envelopes import Peeler
from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.envelopes._claims import Claims
from diagnoser.envelopes._discovery import all_envelopes, compiled, envelopes_for
from diagnoser.model import RawLine

SAMPLES = [(envelope, sample) for envelope in all_envelopes() for sample in envelope.samples]
NAMES = [f"{envelope.name}-{number}" for number, (envelope, _) in enumerate(SAMPLES)]


def claims(envelope: Envelope, text: str) -> bool:
    if envelope.needle and text.find(envelope.needle, 0, 400) < 0:
        return False
    match = compiled(envelope.pattern).match(text)
    if match is not None and envelope.confirm and not Claims().confirm(envelope, match):
        return False
    return match is not None and envelope.peel(match, Peeling(text)) is not False


@pytest.mark.parametrize(("envelope", "sample"), SAMPLES, ids=NAMES)
def test_a_sample_is_claimed_by_its_own_envelope_first(envelope: Envelope, sample: str) -> None:
    claimers = [other for other in envelopes_for(sample[0]) if claims(other, sample)]
    assert claimers[0].name == envelope.name


@pytest.mark.parametrize(("envelope", "sample"), SAMPLES, ids=NAMES)
def test_two_claimers_have_a_declared_order(envelope: Envelope, sample: str) -> None:
    others = [other for other in all_envelopes() if other.name != envelope.name and claims(other, sample)]
    undeclared = [other.name for other in others if other.order <= envelope.order]
    assert undeclared == []


@pytest.mark.parametrize(("envelope", "sample"), SAMPLES, ids=NAMES)
def test_the_prefix_comes_off(envelope: Envelope, sample: str) -> None:
    peeler = Peeler()
    records = [*peeler.feed(RawLine(sample, "a.log", 1)), *peeler.close()]
    assert records
    if envelope.name not in ("tail-header", "ray-marker"):
        assert all(len(record.body) < len(sample) for record in records)
    assert sum(peeler.formats.values()) >= 1
    assert "plain" not in peeler.formats


@pytest.mark.parametrize(("envelope", "sample"), SAMPLES, ids=NAMES)
def test_the_kind_says_what_the_prefix_tells(envelope: Envelope, sample: str) -> None:
    match = compiled(envelope.pattern).match(sample)
    assert match
    peeling = Peeling(sample)
    assert envelope.peel(match, peeling) is not False
    if envelope.kind == "process":
        assert peeling.process.known
        assert peeling.prefixed
    elif envelope.kind == "collector":
        assert peeling.level is None


def test_names_are_different_and_heads_hold_for_every_sample() -> None:
    names = [envelope.name for envelope in all_envelopes()]
    assert len(names) == len(set(names)) > 25
    wrong = [sample for envelope, sample in SAMPLES if envelope.heads and sample[0] not in envelope.heads]
    assert wrong == []
