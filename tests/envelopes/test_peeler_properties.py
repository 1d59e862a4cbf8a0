"""What has to hold for any text."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.envelopes import Peeler
from diagnoser.envelopes._repair import Repair
from diagnoser.model import LogRecord, RawLine

PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80)
BODY = PRINTABLE.map(lambda text: "w" + text).filter(lambda text: not set(text) & set("&[]`<>*^\\#|=:."))
"""Bodies that neither look like an envelope nor damaged: what stands in the envelope has to come out again."""
LINE = st.text(
    st.sampled_from("()[]{}<>|`\"'&;:. ^~#=-_0123456789TPFWIEilerom\\\x1b\r\n\x00\u00a0\u200b\ufffd\u201c"), max_size=120
)


def peel(*lines: str) -> list[LogRecord]:
    peeler = Peeler()
    records = [record for number, line in enumerate(lines, 1) for record in peeler.feed(RawLine(line, "a.log", number))]
    return records + list(peeler.close())


COLLECTORS = {
    "docker": lambda text: json.dumps({"log": text + "\n", "stream": "stderr", "time": "2025-03-14T10:20:30Z"}),
    "journald": lambda text: json.dumps({"MESSAGE": text, "_PID": "77", "_HOSTNAME": "host-a"} | {"PRIORITY": "6"}),
    "cri": lambda text: f"2025-03-14T10:20:30.123456789Z stdout F {text}",
    "kubectl": lambda text: f"[pod/vllm-0/main] {text}",
    "kubectl --timestamps": lambda text: f"[pod/vllm-0/main] 2025-03-14T10:20:30.123456789Z {text}",
    "syslog": lambda text: f"Mar 14 10:20:30 host-a vllm[77]: {text}",
    "loki": lambda text: f'2025-03-14T10:20:30Z {{app="vllm", pod="vllm-0"}} {text}',
    "timestamp": lambda text: f"2025-03-14T10:20:30.216+08:00 {text}",
    "gcp": lambda text: json.dumps({"textPayload": text, "severity": "INFO", "timestamp": "2025-03-14T10:20:30Z"}),
    "ray": lambda text: f"(RayWorkerWrapper pid=91, ip=192.0.2.7) {text}",
    "rank": lambda text: f"[rank1]: {text}",
    "vllm": lambda text: f"(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [a.py:1] {text}",
    "coloured": lambda text: f"\x1b[36m(Worker_TP1 pid=44)\x1b[0;0m {text}",
}


@pytest.mark.parametrize("name", COLLECTORS)
@given(body=BODY, indent=st.sampled_from(["", "  ", "    "]))
@settings(max_examples=40, deadline=None)
def test_what_is_wrapped_comes_out_again(name: str, body: str, indent: str) -> None:
    text = indent + body
    assert [record.body for record in peel(COLLECTORS[name](text), COLLECTORS[name](text))] == [text, text]


@given(body=BODY, names=st.lists(st.sampled_from(["docker", "cri", "kubectl", "syslog", "timestamp"]), max_size=4))
@settings(max_examples=100, deadline=None)
def test_collectors_nest_to_any_depth(body: str, names: list[str]) -> None:
    line = COLLECTORS["vllm"]("  " + body)
    for name in names:
        line = COLLECTORS[name](line)
    (record,) = peel(line)
    assert (record.body, record.process.name, record.site) == ("  " + body, "Worker_TP1", "a.py:1")


@given(lines=st.lists(LINE, max_size=6))
@settings(max_examples=400, deadline=None)
def test_no_text_is_too_odd(lines: list[str]) -> None:
    records = peel(*lines)
    assert all(1 <= record.line <= len(lines) for record in records)


@given(lines=st.lists(LINE, max_size=4))
@settings(max_examples=200, deadline=None)
def test_a_text_means_the_same_when_it_comes_again(lines: list[str]) -> None:
    peeler = Peeler()
    peeled = [
        [record._replace(line=0) for record in peeler.feed(RawLine(line, "a.log", number))]
        for number, line in enumerate([*lines, *lines, *lines])
    ]
    assert peeled[len(lines) : 2 * len(lines)] == peeled[2 * len(lines) :]


@given(text=BODY, indent=st.sampled_from(["", "  ", "    "]))
@settings(max_examples=200, deadline=None)
def test_a_healthy_line_is_not_repaired(text: str, indent: str) -> None:
    line = indent + text
    assert Repair(lambda _: False, lambda _: False).line(line) is line


HOSTILE = {
    "parentheses": "(" * 1_000_000,
    "names": "(Worker_TP0 pid=1) " * 50_000,
    "open names": "(Worker_TP0 pid=1" * 60_000,
    "brackets": "[" * 1_000_000,
    "closed brackets": "[a] " * 250_000,
    "digits": "1" * 1_000_000,
    "blanks": " " * 1_000_000,
    "stamps": "2025-03-14T10:20:30Z " * 47_000,
    "levels": "ERROR " * 160_000,
    "records": "xERROR 03-14 10:20:30 [a.py:1] " * 32_000,
    "colours": "[0m[36m" * 140_000,
    "escapes": "\x1b[" * 500_000,
    "braces": '{"' * 500_000,
    "nested json": '{"log":' * 100_000,
    "frames": 'Traceback (most recent call last): ' + 'File "a", line 1, in f ' * 40_000,
    "open frames": 'Traceback (most recent call last): File "' * 24_000,
    "newlines": "\\n" * 500_000 + "call last):\\n",
    "entities": "&lt;module&gt;" * 70_000,
    "bars": "a | " * 250_000,
    "words": "word " * 200_000,
    "dots": "a." * 500_000,
    "dashes": "a-" * 500_000,
    "quotes": "> " * 500_000,
    "redrawn": "x\r" * 500_000,
    "pid": " pid=" * 200_000,
    "sites": ".py:" * 250_000,
    "repeated": " [repeated 3x across cluster]" * 34_000,
    "zero width": "a\u200b" * 500_000,
    "hard blanks": "\u00a0" * 1_000_000,
    "stars": "**init**" * 120_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_of_a_megabyte_costs_little(name: str) -> None:
    started = time.process_time()
    peel(HOSTILE[name])
    # A quadratic pattern needs hours for this; the limit leaves room for a slow machine.
    assert time.process_time() - started < 5.0
