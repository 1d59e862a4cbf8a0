"""One function per thing that is fuzzed: it takes bytes and fails on any broken promise.

They are plain functions, so that `run.py` can drive them with a coverage-guided fuzzer and the test suite can replay
seeds and found inputs without one. Errors that Diagnoser raises on purpose are no findings.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from diagnoser.catalogue import Catalogue  # noqa: E402
from diagnoser.errors import DiagnoserError, RuleError  # noqa: E402
from diagnoser.model import Process, RawLine  # noqa: E402

Target = Callable[[bytes], None]
SMALL = 60_000
"""Bytes of one input at most: more only makes the fuzzer slow."""


@cache
def catalogue() -> Catalogue:
    os.environ["DIAGNOSER_CACHE"] = "off"
    return Catalogue.load()


def envelopes(data: bytes) -> None:
    """Every envelope, every repair, in any order: line numbers exist, and a text means the same when it comes again."""
    from diagnoser.envelopes import Peeler

    lines = data[:SMALL].decode("utf-8", "replace").split("\n")
    peeler = Peeler(Process(pod="p") if data[:1] == b"p" else Process())
    records = [record for number, line in enumerate(lines, 1) for record in peeler.feed(RawLine(line, "a.log", number))]
    records += list(peeler.close())
    assert all(1 <= record.line <= len(lines) and record.repeated >= 0 for record in records)


def parsers(data: bytes) -> None:
    """Blocks and failures: every frame, exception and failure stands on a line of the block."""
    from diagnoser.model import LogRecord
    from diagnoser.parsers import Assembler, failures

    assembler = Assembler()
    blocks = []
    lines = data[:SMALL].decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        head, _, body = line.partition("\t")
        if head in ("E", "I") and body:
            level = "ERROR" if head == "E" else "INFO"
            record = LogRecord(body, "a.log", number, Process("Worker_TP0", "Worker", 7), "t", level, "a.py:1", "vllm")
        else:
            record = LogRecord(line, "a.log", number)
        blocks += assembler.feed(record, number)
    blocks += assembler.close()
    taken = [record.line for block in blocks for record in block.records]
    assert len(taken) == len(set(taken))
    for block in blocks:
        first, last = block.records[0].line, block.records[-1].line
        for failure in failures(block):
            assert first <= failure.line <= failure.end_line <= last, (failure.line, failure.end_line, first, last)
            for info in failure.exceptions:
                assert first <= info.line <= last, info
                assert all(frame.log_line is None or first <= frame.log_line <= last for frame in info.frames)


def sources(data: bytes) -> None:
    """However a stream is cut into pieces and whatever is skipped, each line given out is that line of the log."""
    from diagnoser.sources import Limits, text_source
    from diagnoser.sources.skipping import Settings
    from diagnoser.sources.splitting import Splitter

    if len(data) < 4:
        return
    step, limit, data = data[0] + 1, data[1] + 16, data[3:SMALL]
    whole, pieces = Splitter("a", limit), Splitter("a", limit)
    expected = [*whole.feed(data), *whole.close()]
    found = [line for at in range(0, len(data), step) for line in pieces.feed(data[at : at + step])]
    found += pieces.close()
    assert found == expected
    assert (whole.lines_read, whole.lines_cut, whole.undecodable_bytes) == (
        pieces.lines_read,
        pieces.lines_cut,
        pieces.undecodable_bytes,
    )
    assert [line.number for line in expected] == sorted(line.number for line in expected)
    settings = Settings(
        whole=0, head=64, tail=32, before=32, slack=16, after=48, weak_after=8, weak_lines=2, window=128
    )
    source = text_source(data, "a", limits=Limits(line_bytes=limit), settings=settings)
    try:
        read = list(source.lines())
    except DiagnoserError:
        return
    if not source.notes and b"\0" not in data[:512]:
        known = set(expected)
        assert all(line in known for line in read if line.offset + limit < len(data)), "a line that is not in the log"


def archives(data: bytes) -> None:
    """Any bytes as a file: compressed, an archive, both, or neither."""
    from diagnoser.sources import Limits, open_sources

    limits = Limits(line_bytes=4096, expanded_bytes=1 << 20, ratio=100, archive_entries=50)
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as file:
        file.write(data)
        file.flush()
        opened, _ = open_sources([file.name], limits=limits)
        for source in opened:
            assert "/../" not in source.name.partition("!")[2]
            assert not source.name.partition("!")[2].startswith("/")
            for number, _ in enumerate(source.lines()):
                if number > 100_000:
                    break
    list(open_sources(["-"], stdin=io.BytesIO(data), limits=limits)[0][0].lines())


def pipeline(data: bytes) -> None:
    """A whole diagnosis: line numbers exist, the evidence stands there, and every format can show it."""
    from hostile.invariants import check_places, check_rendered

    from diagnoser import diagnose

    data = data[:SMALL]
    report = diagnose(data, catalogue=catalogue(), redact=bool(data[:1] == b"r"))
    if not report.coverage.notes:
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        check_places(report, {"<text>": max(lines, 1)})
    if report.incidents and sum(data) % 4 == 0:  # rendering takes most of the time
        check_rendered(report, ("json", "text", "markdown", "termination"))


def rules(data: bytes) -> None:
    """A rule file from anybody: refused with a place, or usable on a failure and in every text."""
    from diagnoser.catalogue.loader import key_lines, load_text
    from diagnoser.catalogue.search import Searcher
    from diagnoser.catalogue.templates import render

    text = data[:SMALL].decode("utf-8", "replace")
    key_lines(text)
    rule, errors = load_text(text, "any.toml")
    assert all(isinstance(error, RuleError) and str(error) for error in errors)
    if rule is None:
        return
    variables = {
        "facts": {"model": "m", "tensor_parallel_size": 3},
        "failure": {"message": "x"},
        "n": "12",
        "name": "a b",
    }
    for part in (
        rule.cause,
        rule.title,
        *(step.do for step in rule.remedies),
        *(step.run or "" for step in rule.remedies),
    ):
        filled = render(part, variables)
        assert filled is None or len(filled) <= 65_536
    searcher = Searcher()
    for condition in rule.matches:
        for pattern in (condition.message, condition.code, condition.log, condition.frame):
            if pattern is not None:
                searcher.search(pattern, "AssertionError: 12 heads, rank 3 of 8")


def templates(data: bytes) -> None:
    """Template text and values from anybody; both engines agree on what both understand."""
    from diagnoser.catalogue.templates import render, render_fully, simple_parts

    text, _, values = data[:8192].decode("utf-8", "replace").partition("\x00")
    pairs = [pair.partition("=") for pair in values.split("\x00")[:20]]
    variables = {name: value for name, _, value in pairs if name.isidentifier()}
    variables["facts"] = dict(variables)
    for command in (False, True):
        filled = render(text, variables, command=command)
        full = render_fully(text, variables, command=command) if "{" in text else text
        if "{" in text and simple_parts(text) is not None:
            assert filled == full or full is None or filled is None, (filled, full)
        assert filled is None or len(filled) <= 65_536


def redaction(data: bytes) -> None:
    """Secrets in any text: spans lie inside it, in order, and what was hidden stays hidden."""
    from diagnoser.redaction import Redactor
    from diagnoser.redaction.tokens import find_secrets

    text = data[:SMALL].decode("utf-8", "replace")
    for code in (False, True):
        at = 0
        for span in find_secrets(text, code=code):
            assert at <= span.start <= span.end <= len(text)
            at = span.end
    Redactor().text(text, False)


def facts(data: bytes) -> None:
    """Lines that state facts about the deployment."""
    from diagnoser.facts import FactReader
    from diagnoser.model import LogRecord

    reader = FactReader()
    for number, line in enumerate(data[:SMALL].decode("utf-8", "replace").split("\n"), 1):
        reader.feed(LogRecord(line, "a.log", number))
    assert all(type(fact.value) in (str, int, float, bool) for fact in reader.facts.values())


def check(data: bytes) -> None:
    """Configuration files of `diagnose check`: a model's configuration, a Mooncake configuration, a manifest."""
    from diagnoser import check as run_check

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        kind, rest = data[:1], data[1:SMALL]
        name = {b"m": "mooncake.json", b"y": "deploy.yaml", b"c": "config.json", b"e": "server.env"}.get(
            kind, "config.json"
        )
        path = Path(folder) / name
        path.write_bytes(rest)
        arguments = {
            "mooncake.json": ["--mooncake", str(path)],
            "deploy.yaml": ["--compose", str(path)],
            "server.env": ["--env", str(path)],
        }.get(name, ["--model", folder, "--tp", "3"])
        try:
            run_check(*arguments)
        except DiagnoserError:
            return


TARGETS: dict[str, Target] = {
    function.__name__: function
    for function in (envelopes, parsers, sources, archives, pipeline, rules, templates, redaction, facts, check)
}
