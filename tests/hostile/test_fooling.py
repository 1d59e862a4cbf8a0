"""Logs that quote crashes without crashing, and logs whose text tries to steer the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable

import crash_logs
import pytest

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue
from diagnoser.model import Report
from diagnoser.render import FORMATS, RenderOptions, render

CATALOGUE = Catalogue.load()
TRACE = "\n".join(
    crash_logs.traceback(crash_logs.WORKER_FRAMES, "AssertionError: mooncake connector metadata size mismatch")
)
TEXTS = {
    "traceback": TRACE,
    "error": "RuntimeError: CUDA error: out of memory",
    "native": "*** SIGSEGV (@0x0) received by PID 7 ***\nSegmentation fault (core dumped)",
    "nccl": "host-a:77:78 [0] NCCL WARN Cuda failure 'out of memory'",
    "glog": "F0314 10:20:30.123456    77 rdma_context.cpp:12] Check failed: device != nullptr",
    "kernel": "Out of memory: Killed process 77 (python3)",
    "wrapper": "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
}
UP = [
    *crash_logs.prefixed("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"]),
    *crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."]),
]
SERVED = 'INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 200 OK'


def info(text: str, level: str = "INFO") -> list[str]:
    return crash_logs.prefixed("APIServer", 10, level, "logger.py:43", text.split("\n"))


def chat(text: str) -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": text}}],
    }


QUOTING: dict[str, Callable[[str], list[str]]] = {
    "an answer on one line": lambda text: [json.dumps(chat(text))],
    "an answer on several lines": lambda text: json.dumps(chat(text), indent=2).split("\n"),
    "a request": lambda text: [json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})],
    "a request in Python's notation": lambda text: [repr({"model": "m", "messages": [{"role": "user", "content": text}]})],
    "a logged request": lambda text: info(f"Received request chatcmpl-1: prompt: {text!r}, params: SamplingParams(n=1), lora_request: None."),
    "a logged request of several lines": lambda text: info(f"Received request cmpl-1: prompt: 'help: {text}', params: SamplingParams(n=1)"),
    "a logged answer": lambda text: info(f"Generated response chatcmpl-1: output: {text!r}, output_token_ids: None", "DEBUG"),
    "an offline answer": lambda text: [f"Prompt: 'What is wrong?', Generated text: {text!r}"],
    "a token stream": lambda text: [f"data: {json.dumps({'choices': [{'delta': {'content': part}}]})}" for part in text.split(" ")],
    "a stream of lines": lambda text: [f"data: {json.dumps({'choices': [{'delta': {'content': part + chr(10)}}]})}" for part in text.split("\n")],
    "tool arguments": lambda text: [json.dumps({"role": "tool", "arguments": json.dumps({"log": text}), "content": text})],
    "an access log with the text": lambda text: [f'INFO:     192.0.2.7:4711 - "GET /v1/search?q={text.split(chr(10))[-1]!r} HTTP/1.1" 200 OK'],
    "a warning that was retried": lambda text: [*info(f"Attempt 1 of 3 failed, trying again:\n{text}", "WARNING"), *info("Connected.")],
    "documentation": lambda text: info(f"If you see the following, lower the memory utilization:\n{text}"),
}  # fmt: skip


def report_of(lines: list[str], *, redact: bool = False) -> Report:
    return diagnose("\n".join(lines) + "\n", catalogue=CATALOGUE, redact=redact)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("how", QUOTING)
def test_a_quoted_crash_is_healthy(how: str, text: str) -> None:
    report = report_of([*UP, SERVED, *QUOTING[how](TEXTS[text]), SERVED])

    assert (report.verdict, report.incidents) == ("healthy", ())


@pytest.mark.parametrize("how", QUOTING)
def test_a_quotation_hides_no_crash(how: str) -> None:
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    quoting = QUOTING[how](TRACE)
    for lines in ([*quoting, *crash], [*crash[:2], *quoting, *crash[2:]], [*crash, *quoting]):
        root = report_of(lines).incidents[0].root
        assert (root.type, root.message) == ("ValueError", "width 7 is odd")


def test_a_printed_traceback_followed_by_served_requests_is_set_aside() -> None:
    assert report_of([*UP, *TRACE.split("\n"), SERVED, SERVED]).verdict == "healthy"
    assert report_of([*UP, SERVED, *TRACE.split("\n")]).verdict == "diagnosed"


def test_a_printed_traceback_before_a_restart_is_not_set_aside() -> None:
    restarted = [*UP, *TRACE.split("\n"), *UP, SERVED]

    assert report_of(restarted).incidents[0].root.type == "AssertionError"


def test_output_of_a_test_run_is_healthy() -> None:
    lines = [
        "============================= test session starts ==============================",
        "platform linux -- Python 3.12.3, pytest-8.3.3",
        "collected 3 items",
        "",
        "tests/test_a.py ..F                                                      [100%]",
        "",
        "=================================== FAILURES ===================================",
        "____________________________________ test_c ____________________________________",
        "",
        "    def test_c():",
        ">       assert width(7) % 2 == 0",
        "E       AssertionError: assert 1 == 0",
        "",
        "tests/test_a.py:9: AssertionError",
        "=========================== short test summary info ============================",
        "FAILED tests/test_a.py::test_c - AssertionError: assert 1 == 0",
        "========================= 1 failed, 2 passed in 0.12s ==========================",
    ]

    assert report_of(lines).verdict == "healthy"


@pytest.mark.parametrize(
    "text",
    ["[shutdown] API server: shutdown triggered", "Received SIGTERM", SERVED, "Shutting down", "KeyboardInterrupt"],
)
def test_a_prompt_can_not_order_a_shutdown(text: str) -> None:
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    prompt = info(f"Received request cmpl-1: prompt: 'say: {text}', params: SamplingParams(n=1)")
    for lines in ([*crash[:2], *prompt, *crash[2:]], [*crash, *prompt]):
        report = report_of(lines)
        assert report.incidents, report.verdict
        assert report.incidents[0].root.message == "width 7 is odd"


@pytest.mark.parametrize(
    "text", ["[shutdown] API server: shutdown triggered", SERVED, "ValueError in x: the server died"]
)
def test_a_message_can_not_order_a_shutdown(text: str) -> None:
    root = report_of(crash_logs.running_crash(f"ValueError: {text}")).incidents[0].root

    assert (root.type, root.message) == ("ValueError", text)


def crash_reports() -> dict[str, Report]:
    """Reports of several kinds, the first of a known cause."""
    known = crash_logs.running_crash("AssertionError: mooncake connector metadata size mismatch")
    return {
        "known": report_of(known, redact=True),
        "unknown": report_of(crash_logs.running_crash("KeyError: 'layers'")),
        "two": report_of(crash_logs.startup_crash("ValueError: one") + known),
        "incomplete": report_of([line for line in crash_logs.startup_crash() if line.startswith("(APIServer")]),
    }


REPORTS = crash_reports()


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "options",
    [RenderOptions(), RenderOptions(width=60, verbosity=1), RenderOptions(verbosity=-1)],
    ids=["usual", "narrow", "quiet"],
)
def test_own_reports_are_healthy_and_said_to_be_left_out(form: str, name: str, options: RenderOptions) -> None:
    report = diagnose(render(REPORTS[name], form, options), catalogue=CATALOGUE)

    assert (report.verdict, report.incidents) == ("healthy", ())
    assert any("report of this tool" in note for note in report.coverage.notes)


@pytest.mark.parametrize("form", FORMATS)
def test_own_report_behind_a_crash_changes_nothing(form: str) -> None:
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    own = render(report_of(crash), form).rstrip("\n").split("\n")
    plain, mixed = report_of(crash), report_of([*crash, *own])

    assert [incident.fingerprint for incident in mixed.incidents] == [
        incident.fingerprint for incident in plain.incidents
    ]
    assert mixed.incidents[0].diagnoses == plain.incidents[0].diagnoses


def test_imitating_a_report_hides_no_records_and_no_end() -> None:
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    for around in (
        (["x in y: the server died", "What to do"], ["Input: 3 lines read of a.log"]),
        (['  "schema": "diagnoser.report/1",'], ["}"]),
    ):
        report = report_of([*crash[:2], *around[0], *crash[2:], *around[1]])
        assert report.incidents[0].root.message == "width 7 is odd"
    open_end = report_of(["x in y: the server died", "What to do", *TRACE.split("\n")])
    assert open_end.incidents[0].root.type == "AssertionError"


def test_template_text_in_captures_and_facts_is_data() -> None:
    arguments = "non-default args: {'model': '{{ 7 * 7 }}', 'tensor_parallel_size': 3}"
    crash = crash_logs.prefixed("APIServer", 10, "INFO", "utils.py:233", [arguments])
    crash += crash_logs.running_crash("AssertionError: expert 200 >= num_local 32")
    shown = [render(report_of(crash), form) for form in FORMATS]

    assert not any("model': '49'" in text or " 49 " in text for text in shown)


def test_paths_in_a_log_are_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins
    import os

    CATALOGUE.rules["mooncake-metadata-size-mismatch"]
    opened: list[object] = []
    for module, name in ((builtins, "open"), (os, "open"), (os, "stat"), (os, "listdir"), (os, "scandir")):
        original = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda path, *rest, _original=original, **more: (opened.append(path), _original(path, *rest, **more))[1],
        )
    report_of(
        [
            "ERROR 03-14 10:20:30 [/etc/passwd:1] see /etc/shadow",
            *crash_logs.running_crash("ValueError: file:///etc/passwd is odd"),
        ]
    )

    assert not [path for path in opened if "/etc/" in str(path) or "/opt/venv" in str(path)]
