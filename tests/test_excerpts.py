"""Pastes that begin in the middle: what they say of the time before them."""

from __future__ import annotations

import pytest

from diagnoser import diagnose

FRAME = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/sched/scheduler.py", line 312, in schedule'
BODY = ["Traceback (most recent call last):", FRAME, "    assert num_new_tokens > 0", "AssertionError"]


def impact(*lines: str) -> str:
    return diagnose("".join(f"{line}\n" for line in lines)).incidents[0].impact


def logged(prefix: str, header: str) -> list[str]:
    return [prefix + line for line in [header, *BODY]]


@pytest.mark.parametrize(
    "header",
    [
        "EngineCore encountered a fatal error.",
        "Unexpected error pre-processing request chatcmpl-0a1b",
    ],
)
def test_an_engine_that_had_work_had_started(header: str) -> None:
    assert impact(*logged("(EngineCore pid=77) ERROR 03-14 10:20:30 [core.py:1136] ", header)) == "crash"


def test_a_stream_that_failed_at_the_end_of_a_log_is_no_end_of_the_server() -> None:
    prefix = "(APIServer pid=41) ERROR 03-14 10:20:30 [serving_chat.py:1001] "
    served = '(APIServer pid=41) INFO:     192.0.2.4:40122 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    assert impact(served, *logged(prefix, "Error in chat completion stream generator.")) == "requests"


def test_a_stream_that_the_dead_engine_ended_is_an_end() -> None:
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)."
    header = "Error in chat completion stream generator."
    lines = [header, *BODY[:-1], dead]
    assert impact(*(f"(APIServer pid=41) ERROR 03-14 10:20:30 [serving.py:1001] {line}" for line in lines)) == "crash"


def test_an_engine_that_failed_to_start_had_not() -> None:
    lines = logged("(EngineCore pid=77) ERROR 03-14 10:20:30 [core.py:1136] ", "EngineCore failed to start.")
    assert impact(*lines) == "startup"


def test_a_dead_engine_was_alive_before() -> None:
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)."
    site = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/async_llm.py", line 12, in generate'
    assert impact("Traceback (most recent call last):", site, "    raise output", dead) == "crash"


def test_an_engine_process_that_died_had_run() -> None:
    assert impact("ERROR 03-14 10:20:30 client.py:300] RuntimeError('Engine process (pid 76) died.')") == "crash"


def test_what_is_served_last_counts_though_another_server_fell_silent() -> None:
    served = 'INFO:     192.0.2.4:40122 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    one, other = "(ApiServer_0 pid=41) ", "(ApiServer_1 pid=42) "
    error = logged(f"{other}ERROR 03-14 10:20:30 [serving_chat.py:1001] ", "Error in chat completion stream generator.")
    speed = "INFO 03-14 10:20:40 [loggers.py:123] Engine 000: Avg prompt throughput: 2.0 tokens/s, Running: 1 reqs"
    lines = [f"{one}{speed}", f"{one}{served}", *error, f"{other}{served}", f"{other}{speed}"]
    assert not diagnose("".join(f"{line}\n" for line in lines)).incidents


def test_a_task_that_nobody_waited_for_is_no_end_of_a_server_that_serves_on() -> None:
    lines = [
        "(APIServer pid=1) ERROR:asyncio:Task exception was never retrieved",
        "(APIServer pid=1) future: <Task finished name='Task-9' coro=<listen() done> exception=ConnectionResetError(104)>",
        '(APIServer pid=1) INFO:     192.0.2.4:40122 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    ]
    assert not diagnose("".join(f"{line}\n" for line in lines)).incidents
