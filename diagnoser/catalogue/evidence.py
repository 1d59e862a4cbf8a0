"""The lines of the log that a match rests on."""

from __future__ import annotations

from diagnoser.catalogue.search import Hit
from diagnoser.catalogue.subjects import Context, Subject
from diagnoser.model import Evidence, Frame


def message_evidence(context: Context, subject: Subject, hit: Hit) -> Evidence:
    """The line of the message that a pattern held on, with the exception's name before its first line."""
    lines = subject.message.split("\n")
    row = subject.message.count("\n", 0, hit.start)
    text = lines[row]
    if row == 0 and subject.position is not None and subject.type:
        text = f"{subject.type}: {text}" if text else subject.type
    return _placed(context, min(subject.line + row, max(subject.end_line, subject.line)), text)


def frame_evidence(context: Context, frame: Frame, code: bool) -> Evidence:
    """The source line of a frame, or the line that names its place."""
    if code and frame.code:
        line = frame.log_line + 1 if frame.log_line is not None else context.failure.end_line
        return _placed(context, line, frame.code.split("\n")[0].strip())
    place = f'File "{frame.path}", line {frame.line}, in {frame.function}' if frame.function else frame.path
    return _placed(context, frame.log_line or context.failure.line, place)


def record_evidence(context: Context, hit: Hit) -> Evidence:
    """The line of the failure's own record that a pattern held on."""
    row = context.text.count("\n", 0, hit.start)
    return _placed(context, context.failure.line + row, context.text.split("\n")[row])


def line_evidence(source: str, line: int, text: str, start: int) -> Evidence:
    """The line of a text that holds a position, the text starting on `line`."""
    row = text.count("\n", 0, start)
    return Evidence(source, line + row, text.split("\n")[row])


def _placed(context: Context, line: int, text: str) -> Evidence:
    """Evidence at its line; among the failure's records the nearest one that holds the text says which line that is."""
    wanted = text.strip()
    holding = [record for record in context.records if wanted and wanted in record.body]
    best = min(holding, key=lambda record: abs(record.line - line), default=None)
    if best is not None:
        return Evidence(best.source, best.line, text)
    # One line may hold several that were written as `\n`; none of them stands behind the failure's last line.
    return Evidence(context.failure.source, max(min(line, context.failure.end_line), context.failure.line), text)
