"""What Ray does to a traceback: the driver's half, a `ray::` header, and the remote half without a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import ExceptionInfo, Frame, LinkKind, Process
from diagnoser.parsers.frames import read_frames, skippable
from diagnoser.parsers.lines import (
    CAUSE_SENTENCE,
    CONTEXT_SENTENCE,
    HEADER,
    MAX_CHAIN,
    MAX_MESSAGE,
    Line,
    exception_line,
)
from diagnoser.processes import parse_process_name

_RAY_TASK_ERROR = lazy(r"RayTaskError(?:\((?P<inner>[\w.]+)\))?$")
RAY_HEADER = lazy(r"ray::(?P<task>[\w.<>:]{1,200}?(?:\(\))?) \((?:pid=(?P<pid>\d+))?(?:, ip=(?P<ip>[^,)\s]+))?[^\n]*")


def both_halves(
    lines: Sequence[Line],
    at: int,
    stop: int,
    name: str | None,
    found: re.Match[str],
    frames: tuple[Frame, ...],
) -> list[ExceptionInfo]:
    """A RayTaskError: the driver's half, and the remote half whose frames follow the `ray::` header."""
    remote = remote_process(found)
    head = lines[at].body.split(": ", 1)[-1]
    outer = ExceptionInfo(name, head.strip(), frames, line=lines[at].number, end_line=lines[at].number)
    inner = remote_chain(lines, at + 1, stop, remote)
    if not inner:
        return [
            outer._replace(
                message="\n".join([head, *(line.body for line in lines[at + 1 : stop])]).strip()[:MAX_MESSAGE]
            )
        ]
    inner[-1] = inner[-1]._replace(link="wraps")
    return [*inner, outer]


def header_of(name: str | None, first_line: str) -> re.Match[str] | None:
    """The `ray::` header in the first line of a message, where remote frames follow it."""
    found = RAY_HEADER.search(first_line)
    if found and (_RAY_TASK_ERROR.search(name or "") or "creation task" in first_line):
        return found
    return None


def remote_process(found: re.Match[str]) -> Process:
    """The actor that a `ray::Actor.method() (pid=…, ip=…)` header names."""
    task = found["task"].split(".", 1)[0].removesuffix("()")
    return parse_process_name(task, int(found["pid"]) if found["pid"] else None, found["ip"])


def remote_chain(lines: Sequence[Line], at: int, stop: int, remote: Process) -> list[ExceptionInfo]:
    """The exceptions printed after a `ray::` header, which has no `Traceback` line; oldest first."""
    result: list[ExceptionInfo] = []
    while at < stop and len(result) < MAX_CHAIN:
        while at < stop and (skippable(lines[at].body) or not lines[at].body.strip()):
            at += 1
        end = stop
        link: LinkKind | None = None
        for index in range(at, stop):
            text = lines[index].body.strip()
            if text.startswith((CAUSE_SENTENCE, CONTEXT_SENTENCE)):
                end, link = index, "cause" if text.startswith(CAUSE_SENTENCE) else "context"
                break
        frames, exception_at = read_frames(lines, at, end)
        if exception_at < end:
            nested = RAY_HEADER.search(lines[exception_at].body)
            name, message = exception_line(lines, exception_at, end)
            if nested and name is None:
                inner = remote_chain(lines, exception_at + 1, end, remote_process(nested))
                result.extend(inner)
            elif name is not None or frames:
                result.append(
                    ExceptionInfo(
                        name,
                        "\n".join(message)[:MAX_MESSAGE].rstrip(),
                        frames,
                        (),
                        link,
                        remote,
                        lines[exception_at].number,
                        lines[end - 1].number,
                    )
                )
        at = end + 1
        while at < stop and (
            not lines[at].body.strip() or RAY_HEADER.match(lines[at].body.strip()) or HEADER in lines[at].body
        ):
            nested = RAY_HEADER.match(lines[at].body.strip())
            remote = remote_process(nested) if nested else remote
            at += 1
    return result
