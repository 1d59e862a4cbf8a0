"""Prefixes of programs that pass the lines of others on."""

from __future__ import annotations

from diagnoser.envelopes import Peeler
from diagnoser.model import LogRecord, RawLine

PARENT = "2026-03-14 10:20:30,123 - acme.runner - INFO - "
FRAME = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 12, in step'


def peel(*lines: str) -> list[LogRecord]:
    peeler = Peeler()
    return [record for number, line in enumerate(lines, 1) for record in peeler.feed(RawLine(line, "a.log", number))]


def test_a_vllm_record_inside_a_parents_record_is_read() -> None:
    (record,) = peel(f"{PARENT}(EngineCore_DP0 pid=43) ERROR 03-14 10:20:31 [core.py:842] boom")
    assert (record.body, record.level, record.site, record.process.pid) == ("boom", "ERROR", "core.py:842", 43)


def test_a_logger_that_passed_a_frame_on_passes_the_rest_on_too() -> None:
    records = peel(PARENT + FRAME, f"{PARENT}    raise ValueError(text)", f"{PARENT}ValueError: boom")
    assert [record.body for record in records] == [FRAME, "    raise ValueError(text)", "ValueError: boom"]
    assert {record.level for record in records} == {None}


def test_a_label_of_the_parent_is_taken_off_too() -> None:
    label = "2026-03-14 10:20:30,123 - INFO - [container] "
    records = peel(f"{label}(EngineCore pid=43) ERROR 03-14 10:20:31 [core.py:842] boom", f"{label}{FRAME}")
    assert [(record.body, record.level) for record in records] == [("boom", "ERROR"), (FRAME, None)]


def test_another_logger_still_speaks_for_itself() -> None:
    other = "2026-03-14 10:20:30,123 - acme.health - ERROR - probe failed"
    assert peel(PARENT + FRAME, other)[1].level == "ERROR"


def test_a_handled_error_at_info_is_not_passed_on() -> None:
    records = peel(f"{PARENT}Traceback (most recent call last):", FRAME)
    assert records[0].level == "INFO"


def test_numbers_in_brackets_are_taken_off_once_a_traceback_followed_them() -> None:
    records = peel("[0] [1] Traceback (most recent call last):", f"[0] [1] {FRAME}", "[0] [1] ValueError: boom")
    assert [record.body for record in records] == ["Traceback (most recent call last):", FRAME, "ValueError: boom"]
    assert {record.process.container for record in records} == {"task [0] [1]"}


def test_a_shells_job_number_stays() -> None:
    assert [record.body for record in peel("[1] 4242", "[1] Killed sleep 4")] == ["[1] 4242", "[1] Killed sleep 4"]


def test_the_line_numbers_of_a_pager_are_taken_off() -> None:
    texts = ("Traceback (most recent call last):", FRAME, "    raise ValueError(text)", "ValueError: boom")
    records = peel(*(f"{number:4d} {text}" for number, text in enumerate(texts, 404)))
    assert [record.body for record in records] == list(texts)


def test_a_number_before_plain_text_stays() -> None:
    assert [record.body for record in peel("404 requests were answered")] == ["404 requests were answered"]


def test_records_that_lost_their_line_ends_to_returns_are_parted() -> None:
    head = "^[[1;36m(APIServer pid=43)^[[0;0m ERROR 03-14 10:20:30 [serving_chat.py:250] "
    records = peel(f"{head}Traceback (most recent call last):^M{head}{FRAME}^M")
    assert [record.body for record in records] == ["Traceback (most recent call last):", FRAME]


def test_counts_and_lists_of_errors_stay() -> None:
    lines = ["  12 ValueError: boom", "[1] ValueError: boom", "[2] Killed"]
    assert [record.body for record in peel(*lines)] == lines
