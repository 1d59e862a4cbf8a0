"""Pastes: each damage is undone, and text that only looks damaged stays."""

from __future__ import annotations

import pytest

from diagnoser.envelopes import Peeler
from diagnoser.model import RawLine

HEADER = "Traceback (most recent call last):"
FRAME = '  File "/srv/app/run.py", line 3, in main'
RECORD = "(EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom"


def bodies(*lines: str) -> list[str]:
    peeler = Peeler()
    raws = [RawLine(line, "a.log", number) for number, line in enumerate(lines, 1)]
    return [record.body for raw in raws for record in peeler.feed(raw)]


ANSI = [
    "\x1b[1;36m(EngineCore pid=43)\x1b[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "^[[1;36m(EngineCore pid=43)^[[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    " [1;36m(EngineCore pid=43) [0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "[1;36m(EngineCore pid=43)[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "\ufffd[1;36m(EngineCore pid=43)\ufffd[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "#033[1;36m(EngineCore pid=43)#033[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "\\x1b[1;36m(EngineCore pid=43)\\x1b[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "\\u001b[1;36m(EngineCore pid=43)\\u001b[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "\\033[1;36m(EngineCore pid=43)\\033[0;0m ERROR 03-14 10:20:30 [core.py:842] boom",
    "\x1b_bk;t=1741947630123\x07(EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
    "\x1b]0;title\x07(EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] \x1b[1mboom\x1b[K",
]


@pytest.mark.parametrize("line", ANSI)
def test_colour_comes_off_in_every_form(line: str) -> None:
    peeler = Peeler()
    (record,) = peeler.feed(RawLine(line, "a.log", 1))
    assert (record.body, record.process.name, record.level) == ("boom", "EngineCore", "ERROR")


def test_a_caret_m_at_the_end_is_a_carriage_return() -> None:
    assert bodies(RECORD + "^M", "code^M") == ["boom", "code"]


def test_zero_width_characters_and_hard_blanks() -> None:
    assert bodies("\u200bTraceback (most recent call last):", "\u00a0\u00a0File \"/a.py\", line 3, in f\u200b") == [
        HEADER, '  File "/a.py", line 3, in f',
    ]  # fmt: skip
    assert bodies("(EngineCore\u00a0pid=43)\u00a0ERROR 03-14 10:20:30\u00a0[core.py:842] boom") == ["boom"]


def test_html_entities_after_a_sign_of_html() -> None:
    lines = ["a &lt;b&gt; before", "  File &quot;/a.py&quot;, line 3, in &lt;module&gt;", "KeyError: &#x27;x&#39;"]
    assert bodies(*lines) == ["a &lt;b&gt; before", '  File "/a.py", line 3, in <module>', "KeyError: 'x'"]


def test_typographic_quotes_after_a_sign_of_them() -> None:
    lines = ["a \u201cb\u201d before", "  File \u201c/a.py\u201d, line 3, in f", "KeyError: \u2018x\u2019"]
    assert bodies(*lines) == ["a \u201cb\u201d before", '  File "/a.py", line 3, in f', "KeyError: 'x'"]


def test_underscores_that_markdown_ate() -> None:
    site = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 3, in '
    assert bodies(site + "**init**", "    super().**init**(x)") == [site + "__init__", "    super().__init__(x)"]
    assert bodies(site + "init", "    super().init(x)") == [site + "__init__", "    super().__init__(x)"]
    mine = '  File "/srv/app/worker.py", line 3, in init'
    assert bodies(mine, "    super().init(x)") == [mine, "    super().init(x)"]


def test_code_fences_and_tags() -> None:
    assert bodies("```python", HEADER, FRAME, "```", "```" + HEADER, "<pre>" + HEADER, "ValueError: x</pre>") == [
        "", HEADER, FRAME, "", HEADER, HEADER, "ValueError: x",
    ]  # fmt: skip
    assert bodies(f"`{RECORD}`", "`flag`") == ["boom", "`flag`"]
    assert bodies("<module> stays", "<unknown>") == ["<module> stays", "<unknown>"]


def test_a_mail_quote_comes_off_once_it_holds_a_log() -> None:
    quoted = ["> hello", f"> {HEADER}", f"> {FRAME}", ">     main()", ">", "> ValueError: x", "answer", "> y"]
    assert bodies(*quoted) == ["> hello", HEADER, FRAME, "    main()", "", "ValueError: x", "answer", "> y"]
    assert bodies(f">> {HEADER}") == [HEADER]


def test_a_bracket_that_became_a_list_is_mended_in_a_record_only() -> None:
    assert bodies("ERROR 03-14 10:20:30 [core.py:842[] boom", "found [core.py:842] and names=[] here") == [
        "boom",
        "found [core.py:842] and names=[] here",
    ]


def test_a_traceback_of_a_rank_on_one_line_is_unfolded() -> None:
    label = "[rank0]: "
    line = f"{label}{HEADER} {label}{FRAME.strip()} {label}main() {label}^^^^^^ {label}ValueError: x"
    assert bodies(line) == [HEADER, FRAME, "    main() ^^^^^^", "ValueError: x"]


def test_words_before_a_log_on_one_line_come_off() -> None:
    head = "(Worker_TP0 pid=44) ERROR 03-14 10:20:30 [multiproc_executor.py:597] "
    log = f"{head}{HEADER} {head}{FRAME.strip()} {head}main() {head}ValueError: x"
    found = bodies(f"Error message: {log}")
    assert found[0] == HEADER
    assert found[-1] == "ValueError: x"


def test_an_indented_traceback_behind_a_process_name_is_moved_left_at_once() -> None:
    name = "    (APIServer pid=41) "
    assert bodies(f"{name}{HEADER}", f"{name}{FRAME}", f"{name}ValueError: x") == [HEADER, FRAME, "ValueError: x"]


def test_the_bars_of_a_window_come_off_once_it_holds_a_log() -> None:
    window = ["\u2502 Autoscroll:On   \u2502", f"\u2502 {HEADER}   \u2502", f"\u2502 {FRAME} \u2502", "\u2502     main()   \u2502"]
    assert bodies(*window, "\u2502 ValueError: x\u2502", "after", "\u2502 y \u2502") == [
        window[0], HEADER, FRAME, "    main()", "ValueError: x", "after", "\u2502 y \u2502",
    ]  # fmt: skip


def test_a_table_that_holds_no_log_keeps_its_bars() -> None:
    table = ["\u2502 GPU \u2502 memory \u2502", "\u2502 0   \u2502 79 GiB \u2502"]
    assert bodies(*table) == table


def test_a_build_log_margin_comes_off_once_it_holds_a_log_line() -> None:
    assert bodies("  | start", f"  | {RECORD}", f"  | {FRAME}", "  | ValueError: x") == [
        "  | start", "boom", FRAME, "ValueError: x",
    ]  # fmt: skip


def test_an_exception_group_keeps_its_bar() -> None:
    group = [
        f"  + Exception Group {HEADER}", f"  | {FRAME}", "  |     main()", "  | ExceptionGroup: two (2 sub-exceptions)",
        "  +-+---------------- 1 ----------------", f"    | {HEADER}", "    | ValueError: x",
        "    +------------------------------------",
    ]  # fmt: skip
    assert bodies(*group) == group


ONE_LINE = (
    f'{HEADER} File "/a.py", line 3, in main run(x) '
    'File "/b.py", line 4, in run raise ValueError("x") ValueError: x y'
)


def test_a_traceback_on_one_line_is_split() -> None:
    assert bodies(ONE_LINE) == [
        HEADER, '  File "/a.py", line 3, in main', "    run(x)", '  File "/b.py", line 4, in run',
        '    raise ValueError("x")', "ValueError: x y",
    ]  # fmt: skip


def test_a_chain_on_one_line_is_split() -> None:
    link = "During handling of the above exception, another exception occurred:"
    first, second = f'{HEADER} File "/a.py", line 3, in f g() KeyError: 1', f'{HEADER} File "/b.py", line 4, in g E'
    assert bodies(f"boom {first} {link} {second}") == [
        f"boom {HEADER}", '  File "/a.py", line 3, in f', "    g()", "KeyError: 1", link, HEADER,
        '  File "/b.py", line 4, in g', "    E",
    ]  # fmt: skip


def test_literal_newlines_are_split() -> None:
    text = f"failed: RuntimeError('{HEADER}\\n  File \\\"/a.py\\\", line 3, in f\\n    g()\\nValueError: x\\n')"
    assert bodies(text) == [
        f"failed: RuntimeError('{HEADER}", '  File "/a.py", line 3, in f', "    g()", "ValueError: x",
    ]  # fmt: skip


def test_a_traceback_quoted_in_a_request_is_not_split() -> None:
    record = f"(APIServer pid=1) INFO 03-14 10:20:30 [a.py:1] prompt: '{HEADER}\\n  File \"a.py\", line 3, in f'"
    assert bodies(record) == [f"prompt: '{HEADER}\\n  File \"a.py\", line 3, in f'"]


def test_an_indented_log_is_moved_left_from_its_second_line_on() -> None:
    lines = [f"    {RECORD}", f"    {RECORD}", f"    {HEADER}", f"    {FRAME}", "    ValueError: x", HEADER, FRAME, "    main()"]
    assert bodies(*lines) == ["boom", "boom", HEADER, FRAME, "ValueError: x", HEADER, FRAME, "    main()"]
    assert bodies("\tERROR 03-14 10:20:30 engine.py:366] boom") == ["boom"]


def test_a_log_on_one_line_is_split_where_its_prefix_comes_again() -> None:
    head = "(EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] "
    other = "(APIServer pid=1) INFO 03-14 10:20:31 [a.py:1] "
    peeler = Peeler()
    records = list(peeler.feed(RawLine(f"{head}{HEADER} {head}{FRAME} {head}ValueError: x {other}bye", "a.log", 1)))
    assert [(record.body, record.process.name) for record in records] == [
        (HEADER, "EngineCore"), (FRAME, "EngineCore"), ("ValueError: x", "EngineCore"), ("bye", "APIServer"),
    ]  # fmt: skip


def test_an_indented_traceback_is_moved_left() -> None:
    assert bodies(f"  {HEADER}", f"  {FRAME}", "      main()", "  ValueError: x", "done", "    y") == [
        HEADER, FRAME, "    main()", "ValueError: x", "done", "    y",
    ]  # fmt: skip


def test_hard_blanks_inside_a_prefix() -> None:
    lines = ["E0314 10:20:30.123456\u00a0\u00a077 a.cpp:10] boom", "a\u00a0b"]
    assert bodies(*lines) == ["boom", "a b"]
    assert bodies("a\u00a0b") == ["a\u00a0b"]


def test_entities_in_a_printed_dictionary() -> None:
    assert bodies("args: {&#x27;tp&#x27;: 2, &quot;x&quot;: 1}", "a &lt; b") == ["args: {'tp': 2, \"x\": 1}", "a < b"]
