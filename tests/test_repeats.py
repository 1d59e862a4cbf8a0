"""Lines that differ by numbers alone are counted, but not where the numbers matter."""

from __future__ import annotations

import pytest

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue
from diagnoser.model import LogRecord, Process
from diagnoser.repeats import MAX_VARIANTS, Shapes

CATALOGUE = Catalogue.load()


@pytest.mark.parametrize("count", [1, MAX_VARIANTS - 1, MAX_VARIANTS, 5 * MAX_VARIANTS])
@pytest.mark.parametrize(
    ("calm", "crash", "rule"),
    [
        ("worker-{n} exited with code 0", "worker-3 exited with code 137", "process-sigkill"),
        ("worker-{n} exited with code 0", "worker-3 exited with code 139", "process-segfault"),
        (
            "[{n}.000007] NVRM: Xid (PCI:0000:3b:00): 43, pid=400{n}, name=python3, Ch 00000008",
            "[999.000001] NVRM: Xid (PCI:0000:3b:00): 48, pid=4242, name=python3, Ch 00000008",
            "cuda-hardware-error",
        ),
    ],
)
def test_a_number_that_a_rule_asks_for_is_seen_among_many_others(count: int, calm: str, crash: str, rule: str) -> None:
    lines = [*(calm.format(n=n) for n in range(1, count + 1)), crash, *(calm.format(n=n) for n in range(1, count + 1))]
    report = diagnose("\n".join(lines) + "\n", catalogue=CATALOGUE, redact=False)
    (incident,) = report.incidents
    assert (incident.root.line, incident.diagnoses[0].rule) == (count + 1, rule)


def test_what_came_with_other_numbers_is_counted_as_what_it_is() -> None:
    lines = []
    for n in range(3 * MAX_VARIANTS):
        lines += [f"worker-{n} exited with code 0", f"worker-{n} exited with code 137"]
    report = diagnose("\n".join(lines) + "\n", catalogue=CATALOGUE, redact=False)
    (incident,) = report.incidents
    assert (incident.diagnoses[0].rule, incident.root.line) == ("process-sigkill", 2)


def test_the_status_of_an_answer_is_part_of_the_shape() -> None:
    shapes = Shapes()

    def shape(status: int, port: int, level: str = "INFO") -> object:
        text = f'192.0.2.7:{port} - "GET /v1/models HTTP/1.1" {status} X'
        return shapes.of(LogRecord(text, "a.log", 1, Process(), level=level), 1, text)

    assert shape(200, 51) is shape(200, 52)
    assert shape(200, 51) is not shape(400, 51)
    assert shape(500, 51, "ERROR") is not shape(200, 51, "ERROR")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker exited with code 1", True),
        ("NVRM: Xid (PCI:0000:3b:00): 43, pid=7", True),
        ("Engine 000: Avg prompt throughput: 12.5 tokens/s, Running: 3 reqs", False),
        ("Transfer batch 12 finished, 4096 bytes, 17 us", False),
        ("Added request cmpl-12ab.", False),
    ],
)
def test_the_catalogue_knows_which_texts_rules_read_the_numbers_of(text: str, expected: bool) -> None:
    assert CATALOGUE.asks_for_numbers(text) is expected
