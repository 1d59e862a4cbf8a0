"""Lines that go the short way, and blocks that are only counted, leave the same analysis as on the long way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from diagnoser import lanes, repeats
from diagnoser.catalogue import Catalogue
from diagnoser.intake import Intake
from diagnoser.model import RawLine
from diagnoser.pipeline import Pipeline
from diagnoser.repeats import Shape, Shapes

WRITERS = ("(EngineCore_DP0 pid=43) ", "(APIServer pid=1) ", "(Worker_TP1 pid=44) ")
TIMES = ("03-14 10:20:07", "03-14 10:20:08")
SITES = ("[core.py:700] ", "[loggers.py:12] ")
BODIES = (
    "Engine 000: Avg prompt throughput: {n}.0 tokens/s, Running: {n} reqs",
    "Added request cmpl-{n}ab.",
    "request {n} dropped",
    "request dropped",
    "EngineCore encountered a fatal error.",
    "ValueError: {n} is too large",
    "[shutdown] API server: shutdown triggered",
    "vLLM API server version 0.21.{n}",
    "NCCL INFO Bootstrap : Using eth0:192.0.2.{n}<0>",
    "  indented {n}",
    "",
)
ACCESS = ('192.0.2.7:{n} - "POST /v1/completions HTTP/1.1" 200 OK', '192.0.2.7:{n} - "GET /health HTTP/1.1" {n}00 OK')
BARE = (
    "Traceback (most recent call last):",
    '  File "/opt/venv/a.py", line {n}, in f',
    "    raise ValueError(x)",
    "ValueError: bad {n}",
    "  indented",
    "",
    "I0314 10:20:0{n}.123456  7{n} transfer_engine.cpp:{n}] batch {n} finished",
    "node-a:77:78 [0] NCCL INFO Channel 0{n}/24",
    "(APIServer pid=1) ERROR:    Exception in ASGI application",
)


@st.composite
def line(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        text = draw(st.sampled_from(BARE))
    elif kind == 1:
        text = "(APIServer pid=1) INFO:     " + draw(st.sampled_from(ACCESS))
    else:
        level = draw(st.sampled_from(("INFO", "INFO", "ERROR")))
        writer, time, site = (draw(st.sampled_from(choices)) for choices in (WRITERS, TIMES, SITES))
        text = f"{writer}{level} {time} {site}{draw(st.sampled_from(BODIES))}"
    return text.replace("{n}", str(draw(st.integers(1, 5))))


def logs() -> st.SearchStrategy[list[str]]:
    """Few different lines that come again and again."""
    return st.lists(line(), min_size=1, max_size=6).flatmap(
        lambda some: st.lists(st.one_of(*map(st.just, some), line()), min_size=4, max_size=60)
    )


def analysis(catalogue: Catalogue, texts: list[str], seen: list[int] | None = None) -> list[Any]:
    """What the pipeline finds, and what it had found after every line."""
    pipeline = Pipeline(catalogue)
    steps: list[Any] = []
    for number, text in enumerate(texts, 1):
        pipeline.feed(RawLine(text, "a.log", number, 0))
        steps.append((pipeline.order, pipeline.seen, pipeline.kept, list(pipeline.moments)))
        if seen is not None and number in seen:
            pipeline.flush(quiet=pipeline.order - 3)
    pipeline.end_source("a.log")
    return [*steps, pipeline.finish()]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.load()


@settings(max_examples=300, deadline=None)
@given(logs(), st.lists(st.integers(1, 60), max_size=2))
def test_the_short_way_leads_to_the_same(catalogue: Catalogue, texts: list[str], quiet: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MAX_VARIANTS", 2)
        short = analysis(catalogue, texts, quiet)
        patch.setattr(Intake, "_held", lambda self, known, place, raw: None)
        assert analysis(catalogue, texts, quiet) == short


@pytest.mark.parametrize("name", ["MOST_LANES", "_MOST_SHAPES"])
@settings(max_examples=60, deadline=None)
@given(logs())
def test_a_lane_that_was_forgotten_is_learned_anew(name: str, catalogue: Catalogue, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MAX_VARIANTS", 2)
        patch.setattr(lanes, name, 1)
        patch.setattr(repeats, "MAX_SHAPES", 3)
        short = analysis(catalogue, texts)
        patch.setattr(Intake, "_held", lambda self, known, place, raw: None)
        assert analysis(catalogue, texts) == short


@settings(max_examples=200, deadline=None)
@given(logs(), st.integers(1, 4))
def test_what_is_silent_in_one_source_is_silent_in_others(catalogue: Catalogue, texts: list[str], count: int) -> None:
    def found() -> Any:
        pipeline = Pipeline(catalogue)
        for number, text in enumerate(texts, 1):
            for source in range(count):
                pipeline.feed(RawLine(text, f"{source}.log", number, 0))
        return pipeline.finish()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MAX_VARIANTS", 2)
        shared = found()
        patch.setattr(Shapes, "_settled_silent", lambda self, label: None)
        assert found() == shared


class AllSettled(Shapes):
    """Holds back whatever can be held back, and counts nothing."""

    def settled(self, *_: object) -> Shape:
        return Shape()

    def marks_nothing(self, *_: object) -> bool:
        return False


def blocks(texts: list[str], quiet: list[int]) -> list[Any]:
    """The blocks that each line completes, and what else is known then."""
    intake = Intake(AllSettled())
    steps: list[Any] = []
    for number, text in enumerate(texts, 1):
        done = [*intake.feed(RawLine(text, "a.log", number, 0))]
        if number in quiet:
            done += intake.flush(quiet=intake.order - 3)
        steps.append((done, intake.order, intake.time_before("a.log"), intake.hosts, intake.formats))
        steps.append([(key, stream.latest, stream.unfinished) for key, stream in intake._open_streams.items()])
    return [*steps, intake.end_source("a.log")]


CALM = '(APIServer pid=1) INFO:     192.0.2.7:51 - "GET /health HTTP/1.1" 200 OK'


@settings(max_examples=600, deadline=None)
@given(logs(), st.lists(st.integers(1, 60), max_size=4))
@example([CALM, CALM, CALM, "(APIServer pid=1) ERROR:    Exception in ASGI application", CALM, "  indented"], [])
def test_held_lines_become_the_same_blocks(texts: list[str], quiet: list[int]) -> None:
    short = blocks(texts, quiet)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Intake, "_held", lambda self, known, place, raw: None)
        assert blocks(texts, quiet) == short


def test_a_line_held_over_a_start_belongs_to_the_next_run(catalogue: Catalogue) -> None:
    error = "(EngineCore pid=9) ERROR 03-14 10:00:{n:02} [core.py:700] request dropped"
    start = "(APIServer pid=1) INFO 03-14 10:01:00 [api_server.py:7] vLLM API server version 0.21.0"
    other = "(APIServer pid=1) INFO 03-14 10:01:00 [api_server.py:8] something else"
    texts = [*(error.format(n=n) for n in range(12)), start, error.format(n=12), other, error.format(n=13)]
    pipeline = Pipeline(catalogue)
    for number, text in enumerate(texts, 1):
        pipeline.feed(RawLine(text, "a.log", number, 0))
    assert [(case.failure.line, case.failure.count) for case in pipeline.finish().cases] == [(1, 12), (14, 2)]


def test_a_line_held_over_a_change_of_shapes_is_looked_at_again() -> None:
    shapes = Shapes()
    texts = [f"(EngineCore pid=9) ERROR 03-14 10:00:{n:02} [core.py:700] request dropped" for n in range(4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "settled", lambda *_: Shape())
        intake = Intake(shapes)
        done = []
        for number, text in enumerate(texts, 1):
            done.append([block.order for block in intake.feed(RawLine(text, "a.log", number, 0))])
            shapes.version += number == 3
    assert done == [[], [1], [], [3]]


def test_a_flood_goes_the_short_way(catalogue: Catalogue) -> None:
    pipeline = Pipeline(catalogue)
    blocks: list[object] = []
    look = pipeline._block
    pipeline._block = lambda block: blocks.append(block) or look(block)  # type: ignore[method-assign,func-returns-value]
    for number in range(1, 1001):
        text = f"(EngineCore pid=9) ERROR 03-14 10:{number % 60:02}:07 [core.py:700] request {number} dropped"
        pipeline.feed(RawLine(text, "a.log", number, 0))
    pipeline.end_source("a.log")
    assert len(blocks) < 20
    failures = [case.failure for case in pipeline.finish().cases]
    assert sum(failure.count for failure in failures) == 1000
    assert failures[-1].last == 1000
