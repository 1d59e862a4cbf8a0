"""From the blocks of a stream to failures.

`failures(block)` is what the pipeline calls; each shape of failure has its own module here.
"""

from __future__ import annotations

from diagnoser.fingerprints import fingerprint
from diagnoser.model import ExceptionInfo, Failure, Frame, LogRecord, Process
from diagnoser.model.words import LOUD
from diagnoser.parsers import lines, native, python
from diagnoser.parsers.blocks import Assembler, Block
from diagnoser.parsers.excess import Excess
from diagnoser.parsers.origin import process_of
from diagnoser.parsers.shapes import dump_of
from diagnoser.processes import parse_process_name

__all__ = ["Assembler", "Block", "Excess", "failures"]



def failures(block: Block) -> list[Failure]:
    """Every failure that the block reports; empty for a block that is only a message."""
    records = block.records
    first = records[0]
    if not _may_fail(records):
        return []
    body = [lines.Line(record.body, record.line) for record in records]
    chains = python.parse(body) or python.parse_headless(body)
    if chains:
        return [_from_chain(chain, block) for chain in chains]
    found = native.parse(body)
    if found is not None:
        return [_from_native(found, block)]
    if (first.level is None or first.level in LOUD) and lines.is_exception_line(first.body.strip()):
        return [_from_chain(_bare_exception(body), block)]
    return []


def _may_fail(records: tuple[LogRecord, ...]) -> bool:
    if len(records) > 1:
        return True
    first = records[0]
    return first.level is None or first.level in LOUD or lines.HEADER in first.body or dump_of(first.body) is not None


def _bare_exception(body: list[lines.Line]) -> python.Chain:
    """An exception line without a traceback."""
    name, _, message = body[0].body.strip().partition(":")
    rest = "\n".join([message.strip(), *(line.body for line in body[1:])]).rstrip()
    info = ExceptionInfo(name, rest, line=body[0].number, end_line=body[-1].number)
    return python.Chain("", (info,), body[0].number, body[-1].number)


def _from_chain(chain: python.Chain, block: Block) -> Failure:
    first = block.records[0]
    process, header = _writer(first, chain.header)
    last = chain.exceptions[-1]
    if not process.known:
        process = process_of(last.frames) or process
    outer = first.outer
    return Failure(
        "exception",
        process,
        first.source,
        chain.line,
        chain.end_line,
        block.order,
        first.time,
        first.level,
        first.site,
        header,
        chain.exceptions,
        -1,
        outer=outer,
        fingerprint=_print(last),
        count=first.repeated,
    )


def _print(info: ExceptionInfo) -> str:
    return fingerprint("exception", info.type, info.message, info.frames)


def _from_native(found: native.Found, block: Block) -> Failure:
    first = block.records[0]
    return Failure(
        found.kind,
        first.process,
        first.source,
        found.line,
        found.end_line,
        block.order,
        first.time,
        first.level,
        first.site,
        "",
        (),
        -1,
        found.text,
        found.name,
        found.frames,
        first.outer,
        _native_print(found),
        first.repeated,
    )


def _native_print(found: native.Found) -> str:
    inner: tuple[Frame, ...] = found.frames[-3:]
    return fingerprint(found.kind, found.name, found.text[:300], inner)


def _writer(first: LogRecord, header: str) -> tuple[Process, str]:
    """The process, and the header without the line that only names it."""
    if header.startswith("Process ") and header.splitlines()[0].rstrip().endswith(":"):
        named, _, rest = header.partition("\n")
        process = first.process
        if not process.known:
            process = parse_process_name(named[len("Process ") :].rstrip().rstrip(":"))
        return process, rest
    return first.process, header
