"""What is remembered of prefixes changes no record: lines are read as by a peeler that remembers nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.envelopes import Peeler
from diagnoser.envelopes._memory import Memory
from diagnoser.model import LogRecord, RawLine

PREFIXES = (
    "(EngineCore_DP0 pid=43) ERROR {time} [core.py:700] ",
    "(APIServer pid=1) (EngineCore_DP0 pid=43) INFO {time} [core.py:700] ",
    "(Worker_TP1 pid=44) [Stage-0] WARNING {time} [gpu_worker.py:12] ",
    "[pod-7f9c decode-0] ERROR {time} [api_utils.py:286] ",
    "ERROR {time} engine.py:366] ",
    "\033[0;36m(Worker_TP1 pid=44)\033[0;0m \033[31mERROR\033[0m \033[90m{time}\033[0m \033[90m[a.py:7]\033[0m ",
    "2025-03-14T10:20:{second:02}.123456789Z stderr F (Worker_TP1 pid=44) ERROR {time} [a.py:7] ",
    "worker-1  | (EngineCore pid=9) ERROR {time} [a.py:7] ",
    "E20250314 10:20:{second:02}.123456  4242 transfer_engine.cpp:99] ",
    "I0314 10:20:{second:02}.{second:03}456 42{second:02} transfer_engine.cpp:99] ",
    "[W314 10:20:{second:02}.780113206 utils.cpp:68] ",
    "(Worker_TP1 pid=44) W0314 10:20:{second:02}.1 7 torch/distributed/elastic/agent.py:9] ",
    "node-a:77:78 [0] ",
    "node-a:77:78 [0] NCCL INFO ",
    "node-a:77:78 [0] NCCL WARN ",
    "[2025-03-14 10:20:{second:02} TP0] ",
    "(APIServer pid=1) INFO:     ",
    "(APIServer pid=1) ERROR:    ",
    "INFO:     ",
    "WARNING:  ",
    "(APIServer pid=1) INFO:  ",
    "(Worker_TP1 pid=44) ",
    "    404 (Worker_TP1 pid=44) ERROR {time} [a.py:7] ",
    "    405 ",
    "[0] ",
    "",
)
TIMES = ("03-14 10:20:{second:02}", "2025-03-14 10:20:{second:02}", "03-14 10:20:{second:02}.{second:03}")
BODIES = (
    "EngineCore failed to start.",
    "Traceback (most recent call last):",
    '  File "/opt/venv/a.py", line 3, in f',
    "    raise ValueError(f'{x}')",
    "ValueError: no such model",
    '192.0.2.7:51234 - "POST /v1/completions HTTP/1.1" 200 OK',
    "      indented",
    "{'role': 'user', 'content': 'RuntimeError: x'}",
    '{"prompt": "RuntimeError: x"}',
    "Prompt: 'a', Generated text: 'RuntimeError: x'",
    "a & b \033[31mred\033[0m",
    "first\\nsecond",
    "told at 03-14 10:20:31 [x.py:1] again",
    "ERROR 03-14 10:20:07 [core.py:700] joined",
    "wait (EngineCore_DP0 pid=43) ERROR 03-14 10:20:07 [core.py:700] collapsed",
    "",
    "NCCL INFO Channel 00/24 : 0[0] -> 1[1] via P2P/CUMEM",
    "NCCL WARN Cuda failure 'out of memory'",
    "(RayWorkerWrapper pid=7) [repeated 3x across cluster]",
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    second = draw(st.integers(0, 59))
    prefix = draw(st.sampled_from(PREFIXES)).replace("{time}", draw(st.sampled_from(TIMES)))
    head = prefix.replace("{second:02}", f"{second:02}").replace("{second:03}", f"{second:03}")
    body = draw(st.sampled_from(BODIES))
    return head + draw(st.sampled_from((body, body, body, f"{body} {head}{body}")))


def peeled(texts: list[str]) -> list[LogRecord]:
    peeler = Peeler()
    records = [record for number, text in enumerate(texts, 1) for record in peeler.feed(RawLine(text, "a.log", number))]
    return [*records, *peeler.close()]


@settings(max_examples=400)
@given(st.lists(lines(), min_size=2, max_size=14))
def test_lines_are_read_as_without_memory(texts: list[str]) -> None:
    remembered = peeled(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "recall", lambda self, text: None)
        assert peeled(texts) == remembered


@pytest.mark.parametrize("prefix", [*PREFIXES[:5], *PREFIXES[6:10], PREFIXES[11], PREFIXES[13], PREFIXES[15], "(APIServer pid=1) INFO:     "])
@pytest.mark.parametrize("time", TIMES)
def test_a_prefix_is_recalled_at_another_time(prefix: str, time: str) -> None:
    first, later = (
        prefix.replace("{time}", time).replace("{second:02}", f"{second:02}").replace("{second:03}", f"{second:03}")
        for second in (7, 8)
    )
    peeler = Peeler()
    tried: list[str] = []
    for number, text in enumerate((f"{first}one", f"{first}two", f"{later}three"), 1):
        if number == 3:
            peeler._slow = lambda raw: tried.append(raw.text) or []  # type: ignore[method-assign,assignment,func-returns-value]
        found = list(peeler.feed(RawLine(text, "a.log", number)))
    assert tried == []
    assert [record._replace(line=1) for record in found] == peeled([f"{later}three"])
