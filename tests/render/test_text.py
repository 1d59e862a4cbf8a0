"""The report on a terminal: the answers come first, it fits, and it says only what it knows."""

import re

import pytest
from report_samples import API, ENGINE, SAMPLES, diagnosed, incomplete, unknown, worker

from diagnoser.model import Coverage, Report
from diagnoser.render import MAXIMUM_WIDTH, RenderOptions, render
from diagnoser.render._plain import columns


@pytest.mark.parametrize("width", [60, 72, 80, 132, 200])
@pytest.mark.parametrize("verbosity", [0, 1])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "many_workers"])
def test_it_fits_but_for_commands_and_links(name: str, verbosity: int, width: int) -> None:
    text = render(SAMPLES[name](), "text", RenderOptions(width=width, verbosity=verbosity))
    whole = re.compile(r"^ *\$ |^Before the next launch: |https?://")

    assert [line for line in text.splitlines() if columns(line) > width and not whole.search(line)] == []
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert "\n\n\n" not in text


@pytest.mark.parametrize("name", SAMPLES)
def test_color_changes_nothing_but_color(name: str) -> None:
    colored = render(SAMPLES[name](), "text", RenderOptions(color=True))

    assert re.sub(r"\x1b\[[0-9;]+m", "", colored) == render(SAMPLES[name](), "text")
    for line in colored.splitlines():
        assert len(re.findall(r"\x1b\[[1-9][0-9;]*m", line)) == line.count("\x1b[0m")


def test_the_four_answers_stand_in_the_first_lines() -> None:
    first = "\n".join(render(diagnosed(), "text").splitlines()[:13])

    assert "AssertionError in Worker_TP1" in first
    assert "vllm/model_executor/models/llama.py:151 in __init__" in first
    assert "Cause (certain): KV heads do not divide" in first
    assert "$ vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 2" in first


def test_an_unknown_failure_is_called_unknown_and_not_guessed_at() -> None:
    text = render(unknown(), "text")

    assert "Cause: unknown\n" in text
    assert "certain" not in text
    assert "$ diagnose --format issue engine.log.zst" in text
    assert "... 1 call left out" in text


def test_what_is_missing_comes_first_when_the_root_is_not_there() -> None:
    text = render(incomplete(), "text")

    assert text.startswith("The root cause is not in this log; the server died\nNearest to it: Exit code -9")
    assert text.index("What to collect") < text.index("What merely followed")
    assert "Cause" not in text


def test_limits_that_were_reached_are_said_even_of_a_healthy_log() -> None:
    report = SAMPLES["healthy"]()._replace(coverage=Coverage(lines_read=3, lines_cut=2, notes=("Too many processes.",)))

    assert render(report, "text") == (
        "No failure found (3 lines read of worker.log)\n  2 overlong lines cut\n  Too many processes\n"
    )


def test_many_incidents_are_one_line_each() -> None:
    report = diagnosed()
    text = render(report._replace(incidents=report.incidents * 50), "text")

    assert "Incident 3 of 50" in text
    assert "Incident 4 of 50" not in text
    assert "47 more incidents (--verbose shows them whole)" in text
    assert text.count("Deployment: ") == 1


def test_quiet_is_one_line_each() -> None:
    quiet = RenderOptions(verbosity=-1)

    assert {name: len(render(SAMPLES[name](), "text", quiet).splitlines()) for name in SAMPLES} == {
        "diagnosed": 1, "unknown": 1, "incomplete": 1, "healthy": 1, "shutdown": 1, "requests": 1, "native": 1,
        "two_incidents": 2, "findings": 2, "many_workers": 1,
    }  # fmt: skip


def test_copies_in_processes_of_the_same_name_are_counted() -> None:
    report = unknown()
    incident = report.incidents[0]._replace(also_on=(ENGINE._replace(pid=1), ENGINE._replace(pid=2)))

    text = render(report._replace(incidents=(incident,)), "text")

    assert "the same failure in 2 other processes of that name" in " ".join(text.split())


def test_an_empty_report_says_something() -> None:
    bare = diagnosed().tool

    for verdict in ("healthy", "shutdown"):
        assert render(Report(verdict, "", bare), "text") in ("No failure found\n", "Ordered shutdown, no failure\n")  # type: ignore[arg-type]


def test_nothing_shouts_or_blames() -> None:
    for name in SAMPLES:
        text = render(SAMPLES[name](), "text", RenderOptions(verbosity=1))
        assert "!" not in text.replace("!=", "")


def test_absurd_widths_are_brought_into_range() -> None:
    assert render(diagnosed(), "text", RenderOptions(width=1)) == render(diagnosed(), "text", RenderOptions(width=40))
    assert render(diagnosed(), "text", RenderOptions(width=9999)) == render(
        diagnosed(), "text", RenderOptions(width=MAXIMUM_WIDTH)
    )


def test_names_of_processes() -> None:
    from diagnoser.model import Process
    from diagnoser.render._words import process_label, process_list

    assert [
        process_label(process)
        for process in (
            API,
            Process(role="Worker", ranks=(("pp", 1), ("tp", 0))),
            Process(ranks=(("rank", 3),)),
            Process(pid=7),
            Process(),
        )
    ] == ["APIServer", "Worker pp 1 tp 0", "rank 3", "process 7", "unnamed process"]
    assert process_list([worker(rank) for rank in range(3)]) == "Worker_TP0, Worker_TP1 and Worker_TP2"
    assert process_list([worker(rank) for rank in range(9)]) == (
        "Worker_TP0, Worker_TP1, Worker_TP2, Worker_TP3 and 5 more"
    )
