"""The parts that several formats share: folded frames, short sources, the timeline's drawing, Markdown's escapes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from report_samples import diagnosed, many_workers, worker

from diagnoser.model import Frame, Process, Remedy, TimelineEntry
from diagnoser.render._frames import fold_frames
from diagnoser.render._markdown import code, fence, link, plain, prose
from diagnoser.render._prepare import prepared, short_names
from diagnoser.render._timeline import MOST_LANES, drawing


def frames(*paths: str) -> list[Frame]:
    return [Frame(path, number, "f") for number, path in enumerate(paths, 1)]


def test_library_frames_are_folded_and_the_raising_one_is_kept() -> None:
    site = "/opt/venv/lib/python3.12/site-packages/"
    given_frames = frames(
        "/usr/lib/python3.12/asyncio/runners.py",
        f"{site}uvloop/__init__.py",
        f"{site}vllm/a.py",
        f"{site}torch/nn/modules/module.py",
        f"{site}vllm/b.py",
        f"{site}torch/cuda/__init__.py",
    )

    assert fold_frames(given_frames) == [2, given_frames[2], 1, given_frames[4], given_frames[5]]


def test_only_the_last_own_frames_are_kept() -> None:
    many = frames(*[f"/srv/app/{number}.py" for number in range(20)])

    assert fold_frames(many, 3) == [17, *many[-3:]]
    assert fold_frames([], 3) == []


@given(st.lists(st.sampled_from(["/srv/app/a.py", "/usr/lib/python3.12/re.py", "<frozen runpy>"])), st.integers(1, 5))
def test_folding_loses_no_frame(paths: list[str], keep: int) -> None:
    folded = fold_frames(frames(*paths), keep)

    assert sum(item if isinstance(item, int) else 1 for item in folded) == len(paths)
    assert not any(isinstance(a, int) and isinstance(b, int) for a, b in pairwise(folded))


def test_sources_are_named_by_what_tells_them_apart() -> None:
    assert short_names(["/var/log/a/worker.log", "/var/log/b/worker.log", "/x/api.log", "-"]) == {
        "/var/log/a/worker.log": "a/worker.log",
        "/var/log/b/worker.log": "b/worker.log",
        "/x/api.log": "api.log",
        "-": "-",
    }
    assert short_names(["worker.log", "x/worker.log"]) == {"worker.log": "worker.log", "x/worker.log": "x/worker.log"}


def test_only_what_is_too_long_is_cut_and_no_command_is() -> None:
    report = diagnosed()
    assert prepared(report) == report

    incident = report.incidents[0]
    long = incident.diagnoses[0]._replace(title="t" * 5000, remedies=(Remedy("Do it.", run="r" * 5000),))
    shown = prepared(report._replace(incidents=(incident._replace(diagnoses=(long,)),))).incidents[0].diagnoses[0]

    assert len(shown.title) < 1100
    assert shown.remedies == (Remedy("Do it. (The command is too long to show; the JSON report has it.)"),)


def test_the_drawing_has_one_lane_per_process_and_marks_the_root() -> None:
    drawn = drawing(diagnosed().incidents[0])

    assert drawn
    assert [(lane.label, lane.root, [mark.kind for mark in lane.marks]) for lane in drawn.lanes] == [
        ("APIServer", False, ["fact", "wrapper"]),
        ("Worker_TP1: first failure", True, ["root"]),
        ("Worker_TP0", False, ["copy", "symptom"]),
        ("Worker_TP2", False, ["copy"]),
        ("EngineCore_DP0", False, ["wrapper"]),
    ]
    assert [mark.x for lane in drawn.lanes for mark in lane.marks] == [
        "3.00%", "97.00%", "18.67%", "34.33%", "65.67%", "50.00%", "81.33%",
    ]  # fmt: skip


def test_a_thousand_workers_share_a_lane() -> None:
    drawn = drawing(many_workers().incidents[0])

    assert drawn
    assert len(drawn.lanes) <= MOST_LANES
    assert drawn.lanes[-1].label == "997 more processes: 997 consequences"


def test_a_lane_holds_only_so_many_marks() -> None:
    events = tuple(TimelineEntry(None, worker(0), str(n), "a", n, "wrapper") for n in range(500))
    drawn = drawing(diagnosed().incidents[0]._replace(timeline=events))

    assert drawn
    assert [len(lane.marks) for lane in drawn.lanes] == [24]
    assert drawing(diagnosed().incidents[0]._replace(timeline=events[:1])) is None


def test_unnamed_processes_have_a_lane() -> None:
    events = (TimelineEntry(None, Process(), "a", "x", 1), TimelineEntry("12:00", Process(), "b", "x", 2, "root"))
    drawn = drawing(diagnosed().incidents[0]._replace(timeline=events))

    assert drawn
    assert [(lane.label, [mark.title for mark in lane.marks]) for lane in drawn.lanes] == [
        ("unnamed process: first failure", ["a (x:1)", "12:00 b (x:2)"])
    ]


def test_markdown_shows_text_as_it_is() -> None:
    assert plain("a_b_c __init__ *x* <b> [l](u)") == r"a_b_c \_\_init\_\_ \*x\* \<b\> \[l\](u)"
    assert prose("Use `--tp 2`, not `x`.\n# no\n1. no\n---") == "Use `--tp 2`, not `x`.\n\\# no\n1\\. no\n\\---"
    assert prose("mail @user about #12") == "mail @&#8203;user about #&#8203;12"
    assert plain("version 0.1.0 is -1") == "version 0.1.0 is -1"


def test_code_and_fences_hold_backticks() -> None:
    assert code("a `b` c") == "``a `b` c``"
    assert code("`b`") == "`` `b` ``"
    assert code("") == "` `"
    assert fence("x\n```\ny") == "````text\nx\n```\ny\n````"


def test_only_web_addresses_become_links() -> None:
    assert link("A page", "https://example.org/a_b") == "[A page](https://example.org/a_b)"
    assert link("A page", "javascript:alert(1)") == "A page `javascript:alert(1)`"
    assert link("", "https://example.org/") == "[https://example.org/](https://example.org/)"
