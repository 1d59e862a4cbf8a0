"""A rule must not depend on text that large logs are skipped over in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnoser.sources import text_source
from diagnoser.sources.limits import Settings

RULES = Path(__file__).parents[2] / "rules"
HEALTHY = b"".join(
    b"(APIServer pid=1) INFO 01-03 16:14:30 [async_llm.py:392] Added request chatcmpl-%08x-0.\n" % n for n in range(900)
)

# Texts that never stand alone in a log: what they say is followed or preceded by something that is read, or they are
# printed at start-up, which is read in any case, or people paste them as they are.
NEVER_ALONE = {
    "moe-expert-id-exceeds-local",
    "moe-expert-id-out-of-range",
    "moe-experts-not-divisible-claim",
    "moe-local-experts-group-size-claim",
    "mooncake-local-hostname-missing",
    "mooncake-master-did-not-start",
    "mooncake-metadata-server-missing",
    "mooncake-rdma-device-unusable",
    "mooncake-rdma-gid-not-found",
    "mooncake-rdma-path-broken",
    "mooncake-store-lookup-socket",
    "process-abort",
    "process-oom-killed",
    "wrapper-fatal-block-header",
    "wrapper-unpicklable-error",
}


def samples() -> list[tuple[str, str]]:
    found = []
    for path in sorted(RULES.rglob("*.toml")):
        rule = tomllib.loads(path.read_text("utf-8"))
        if rule["role"] in ("cause", "wrapper") and rule["id"] not in NEVER_ALONE:
            found += [(rule["id"], sample["log"]) for sample in rule.get("sample", ()) if sample["expect"] == "match"]
    return found


def test_at_least_one_sample_of_every_rule_is_read_in_the_midst_of_a_healthy_log() -> None:
    read: dict[str, bool] = {}
    for rule, log in samples():
        text = log.strip("\n").encode()
        lines = {
            line.number for line in text_source(HEALTHY + text + b"\n" + HEALTHY, settings=Settings(head=1000)).lines()
        }
        own = range(901, 902 + text.count(b"\n"))
        read[rule] = read.get(rule, False) or lines.issuperset(own)
    assert sorted(rule for rule, found in read.items() if not found) == []


@pytest.mark.parametrize(
    "log", [HEALTHY, b"".join(b"I0103 16:14:30.1 77 client.cpp:77] batch %d finished\n" % n for n in range(9000))]
)
def test_healthy_lines_hold_no_trigger(log: bytes) -> None:
    assert len(list(text_source(log, settings=Settings(head=1000)).lines())) < 30
