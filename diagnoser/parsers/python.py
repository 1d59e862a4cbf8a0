"""Python tracebacks, in every shape that logs print them in.

    Traceback (most recent call last):
      File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 10, in run
        assert self.ready
               ^^^^^^^^^^
    AssertionError: not ready

`parse` takes the bodies of one block and returns the chains in it, oldest exception first. It follows
`raise … from` and "During handling", exception groups, the copy that vLLM adds as a note, tracebacks inside
messages, Ray's remote halves, IPython frames, and pastes that lost their indentation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from diagnoser.model import ExceptionInfo, Frame, LinkKind, Process

HEADER = "Traceback (most recent call last)"
CAUSE_SENTENCE = "The above exception was the direct cause of the following exception"
CONTEXT_SENTENCE = "During handling of the above exception, another exception occurred"
MAX_CHAIN = 64
"""Exceptions kept of one block; the oldest and the newest halves stay when there are more."""
MAX_FRAMES = 400
"""Frames kept of one exception; the outer and the inner halves stay when there are more."""
MAX_MESSAGE = 64 * 1024
"""Characters kept of one message."""

FRAME = re.compile(
    r'^(?P<indent>[\s|]*)File "(?P<path>[^"\n]{1,4096})", line (?P<line>\d{1,9})(?:,? in (?P<function>.{1,4096}))?\s*$'
)
_IPYTHON_FRAME = re.compile(
    r"^(?:File |\[)?(?P<path>[~/][^\s:\]]{1,1024}\.py[x]?)(?:\]\(\S*\))?(?::(?P<line>\d{1,9}))?,? in (?P<function>\w[\w.<>]*)\s*\(?.*$"
)
_IPYTHON_CODE = re.compile(r"^-+> ?(?P<line>\d{1,9})(?P<code> .*)?$")
_IPYTHON_OTHER = re.compile(r"^\s*\d{1,6}(?: .*)?$")
_MARKERS = re.compile(r"^[\s|]*[\^~][\^~ ]*$")
_ELLIPSIS_LINES = re.compile(r"^\s*\.\.\.<\d+ lines?>\.\.\.\s*$")
_REPEATED = re.compile(r"^\s*\[Previous line repeated (\d+) more times?\]\s*$")
_TYPE = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
EXCEPTION_LINE = re.compile(rf"^(?P<type>{_TYPE}(?:\([\w.]+\))?)(?:: ?(?P<message>.*))?$", re.DOTALL)
_ERROR_LIKE = re.compile(
    r"(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Group|Failed|Failure|Timeout|Violation|Fault|Dead|Died|Cancelled|Stop\w*|Unavailable)$"
)
_WORDS = frozenset(
    {
        "Error",
        "Warning",
        "Failed",
        "Failure",
        "Timeout",
        "Fault",
        "Exit",
        "Group",
        "Dead",
        "Died",
        "Cancelled",
        "Unavailable",
        "Stop",
        "Stopped",
        "Stopping",
    }
)
"""Words that end type names and also begin sentences."""
_RAY_TASK_ERROR = re.compile(r"RayTaskError(?:\((?P<inner>[\w.]+)\))?$")
RAY_HEADER = re.compile(r"ray::(?P<task>[\w.<>:]+?(?:\(\))?) \((?:pid=(?P<pid>\d+))?(?:, ip=(?P<ip>[^,)\s]+))?[^\n]*")
_GROUP_HEADER = re.compile(r"^\s*\+ (?:Exception Group )?Traceback \(most recent call last\)")
_GROUP_RULE = re.compile(r"^[\s|]*\+-[+-]*-{8,}(?: (?:\d+|\.\.\.) -+)?\s*$")


class Line(NamedTuple):
    """One body of a block and where it stands."""

    body: str
    number: int


class Chain(NamedTuple):
    """One failure as printed: its exceptions, oldest first, and the text before its header."""

    header: str
    exceptions: tuple[ExceptionInfo, ...]
    line: int
    end_line: int


def looks_like_traceback(body: str) -> bool:
    """True when a traceback starts in this line."""
    return HEADER in body or (RAY_HEADER.search(body) is not None and "RayTaskError" in body)


def is_exception_line(body: str) -> bool:
    """True when the line, outside any block, reads `SomeError` or `pkg.SomeError: text`."""
    found = EXCEPTION_LINE.match(body)
    if not found:
        return False
    name = found["type"].split("(", 1)[0].rsplit(".", 1)[-1]
    return bool(_ERROR_LIKE.search(name)) and name[:1].isupper() and not name.endswith("Warning") and name not in _WORDS


def parse(lines: Sequence[Line]) -> list[Chain]:
    """Every chain in the lines of one block, in printed order, repeated copies dropped."""
    lines = _unfold(lines)
    starts = _starts(lines)
    if not starts:
        return []
    chains: list[Chain] = []
    pending: list[ExceptionInfo] = []
    quoting: list[ExceptionInfo] = []
    header_text, header_line = _text_before(lines, starts[0])
    for position, start in enumerate(starts):
        end = starts[position + 1] if position + 1 < len(starts) else len(lines)
        stop, link = _link_after(lines, start, end)
        parsed = _one(lines, start, stop)
        outer = _message_of(parsed, lines, starts, position)
        if outer is not None:
            quoting.append(outer)
            continue
        pending.extend(item._replace(link=item.link or link) if item is parsed[-1] else item for item in parsed)
        if link is None or position + 1 == len(starts):
            if quoting and pending:
                pending[-1] = pending[-1]._replace(link="wraps")
                pending.extend(reversed(quoting))
                quoting = []
            _add(chains, Chain(header_text, _capped(pending), header_line, lines[max(stop - 1, start)].number))
            pending = []
            if position + 1 < len(starts):
                header_text, header_line = _text_before(lines, starts[position + 1], after=stop)
    return chains


def parse_headless(lines: Sequence[Line]) -> list[Chain]:
    """A traceback whose head is missing: frames first, then an exception line."""
    if not any(FRAME.match(line.body) for line in lines[:8]):
        return []
    found = _one([Line(HEADER + ":", lines[0].number), *lines], 0, len(lines) + 1)
    if not found or not (found[-1].type or found[-1].frames):
        return []
    return [Chain("", tuple(found), lines[0].number, lines[-1].number)]


def _unfold(lines: Sequence[Line]) -> list[Line]:
    """Splits bodies that carry a traceback with escaped newlines (a repr, a JSON string), but no source text."""
    result: list[Line] = []
    for index, line in enumerate(lines):
        source_text = index > 0 and FRAME.match(lines[index - 1].body)
        if HEADER in line.body and "\\n" in line.body and not source_text:
            result.extend(Line(part, line.number) for part in line.body.replace('\\"', '"').split("\\n"))
        else:
            result.append(line)
    return result


def _starts(lines: Sequence[Line]) -> list[int]:
    """Where tracebacks begin; those inside an exception group belong to the group."""
    starts: list[int] = []
    group_until = 0
    for index in range(len(lines)):
        if index < group_until or not _is_header(lines, index):
            continue
        starts.append(index)
        if _GROUP_HEADER.match(lines[index].body):
            group_until = index + 1
            while group_until < len(lines) and lines[group_until].body.lstrip().startswith(("|", "+")):
                group_until += 1
    return starts


def _is_header(lines: Sequence[Line], index: int) -> bool:
    body = lines[index].body
    if HEADER not in body:
        return False
    before, _, after = body.partition(HEADER)
    if before[-1:] in ("'", '"') and before[-1] in after:
        return False
    return len(after.strip(" :\"'")) < 200


def _text_before(lines: Sequence[Line], start: int, after: int = 0) -> tuple[str, int]:
    """What the record said before its traceback, and where the failure starts."""
    inline = lines[start].body.split(HEADER, 1)[0].strip(" +|")
    if inline:
        return inline.rstrip(", "), lines[start].number
    before = [line for line in lines[after:start] if line.body.strip()]
    if not before:
        return "", lines[start].number
    return "\n".join(line.body for line in before[:40]), before[0].number


def _message_of(
    parsed: list[ExceptionInfo], lines: Sequence[Line], starts: list[int], position: int
) -> ExceptionInfo | None:
    """The exception whose message is the next traceback (`RuntimeError: Traceback (most recent call last):`)."""
    if position + 1 >= len(starts) or len(parsed) != 1 or parsed[0].type is not None:
        return None
    line = lines[starts[position + 1]]
    name = line.body.split(HEADER, 1)[0].strip().removesuffix(":")
    if not name or not is_exception_line(name):
        return None
    return parsed[0]._replace(type=name, link="wraps", line=line.number, end_line=line.number)


def _link_after(lines: Sequence[Line], start: int, end: int) -> tuple[int, LinkKind | None]:
    """Where the exception that starts at `start` ends, and how it leads to the next."""
    at = end - 1
    while at > start and not lines[at].body.strip(" |"):
        at -= 1
    for index in range(at, max(start, at - 3), -1):
        text = lines[index].body.strip(" |")
        if text.startswith(CAUSE_SENTENCE):
            return index, "cause"
        if text.startswith(CONTEXT_SENTENCE):
            return index, "context"
    return at + 1, None


def _add(chains: list[Chain], chain: Chain) -> None:
    """Keeps a chain unless it repeats the one before (vLLM's note, the second print by multiprocessing)."""
    if not any(item.type or item.frames for item in chain.exceptions):
        return
    if chains:
        last = chains[-1]
        if _same(last.exceptions[-1], chain.exceptions[-1]):
            chains[-1] = last._replace(end_line=chain.end_line)
            return
    chains.append(chain)


def _same(one: ExceptionInfo, other: ExceptionInfo) -> bool:
    if one.type != other.type and other.type is not None:
        return False
    if one.message.rstrip() != other.message.rstrip() and not one.message.startswith(
        other.message.rstrip()[:200] or "\0"
    ):
        return False
    mine, theirs = one.frame, other.frame
    if mine is None or theirs is None:
        return one.message.rstrip() == other.message.rstrip()
    return (mine.path, mine.line) == (theirs.path, theirs.line)


def _capped(items: list[ExceptionInfo]) -> tuple[ExceptionInfo, ...]:
    if len(items) <= MAX_CHAIN:
        return tuple(items)
    return (*items[: MAX_CHAIN // 2], *items[-MAX_CHAIN // 2 :])


def _one(lines: Sequence[Line], start: int, stop: int) -> list[ExceptionInfo]:
    """The exception whose header is at `start`; more than one where Ray or a group nests others."""
    first = lines[start].number
    if _GROUP_HEADER.match(lines[start].body):
        return _group(lines, start, stop)
    frames, at = _frames(lines, start + 1, stop)
    if at >= stop:
        return [ExceptionInfo(None, "", frames, line=first, end_line=lines[stop - 1].number)] if frames else []
    name, message_lines = _exception_line(lines, at, stop)
    message = "\n".join(message_lines)
    ray = RAY_HEADER.search(message_lines[0]) if message_lines else None
    if ray and (_RAY_TASK_ERROR.search(name or "") or "creation task" in message_lines[0]):
        return _ray(lines, at, stop, name, ray, frames, first)
    info = ExceptionInfo(
        name, message[:MAX_MESSAGE].rstrip(), frames, line=lines[at].number, end_line=lines[max(at, stop - 1)].number
    )
    return [info]


def _frames(lines: Sequence[Line], at: int, stop: int) -> tuple[tuple[Frame, ...], int]:
    """Frames from `at` on, and the index of the first line that is no part of them."""
    frames: list[Frame] = []
    while at < stop:
        body = lines[at].body
        found = FRAME.match(body) or _IPYTHON_FRAME.match(body)
        if found:
            number = found["line"]
            code, after, ipython_line = _code(lines, at + 1, stop, _indent(body))
            line = int(number) if number else ipython_line
            frames.append(Frame(found["path"], line, (found["function"] or "").strip() or None, code, lines[at].number))
            at = after
            if len(frames) > 2 * MAX_FRAMES:
                del frames[MAX_FRAMES // 2 : -MAX_FRAMES // 2]
        elif _skippable(body) or (not frames and not body.strip()):
            at += 1
        else:
            break
    if len(frames) > MAX_FRAMES:
        frames = frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]
    return tuple(frames), at


def _skippable(body: str) -> bool:
    return bool(_MARKERS.match(body) or _REPEATED.match(body) or _ELLIPSIS_LINES.match(body))


def _indent(body: str) -> int:
    return len(body) - len(body.lstrip(" \t|"))


def _code(lines: Sequence[Line], at: int, stop: int, indent: int) -> tuple[str | None, int, int | None]:
    """Source text under a frame line: deeper lines, or one line where indentation was lost."""
    code: list[str] = []
    ipython_line = None
    while at < stop:
        body = lines[at].body
        if FRAME.match(body) or HEADER in body:
            break
        pointed = _IPYTHON_CODE.match(body)
        if pointed:
            code, ipython_line = [(pointed["code"] or "").strip()], int(pointed["line"])
        elif _skippable(body) or (ipython_line is not None and _IPYTHON_OTHER.match(body)) or (_IPYTHON_OTHER.match(body) and not code and _has_pointer(lines, at, stop)):
            pass
        elif body.strip() and _indent(body) > indent:
            if ipython_line is None:
                code.append(body.strip())
        elif indent == 0 and not code and body.strip() and not _plausible_exception(body):
            code.append(body.strip())
        else:
            break
        at += 1
    return ("\n".join(code) or None), at, ipython_line


def _has_pointer(lines: Sequence[Line], at: int, stop: int) -> bool:
    return any(_IPYTHON_CODE.match(lines[index].body) for index in range(at, min(stop, at + 12)))


def _plausible_exception(body: str) -> bool:
    return is_exception_line(body.strip())


def _exception_line(lines: Sequence[Line], at: int, stop: int) -> tuple[str | None, list[str]]:
    """Type and message lines of the exception that ends a traceback."""
    body = lines[at].body.strip(" |") if lines[at].body.lstrip().startswith("|") else lines[at].body.strip()
    found = EXCEPTION_LINE.match(body)
    rest = [lines[index].body for index in range(at + 1, stop)]
    if not found or not _type_like(found["type"], found["message"]):
        return None, [body, *rest]
    first = found["message"] or ""
    while rest and not rest[-1].strip():
        rest.pop()
    return found["type"], [first, *rest]


def _type_like(name: str, message: str | None) -> bool:
    short = name.split("(", 1)[0].rsplit(".", 1)[-1]
    if _ERROR_LIKE.search(short):
        return True
    return "." in name or (short[:1].isupper() and (message is None or bool(message))) or short[:1] == "_"


def _ray(
    lines: Sequence[Line],
    at: int,
    stop: int,
    name: str | None,
    ray: re.Match[str],
    frames: tuple[Frame, ...],
    first: int,
) -> list[ExceptionInfo]:
    """A RayTaskError: the driver's half, and the remote half whose frames follow the `ray::` header."""
    remote = remote_process(ray)
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


def remote_process(ray: re.Match[str]) -> Process:
    """The actor that a `ray::Actor.method() (pid=…, ip=…)` header names."""
    task = ray["task"].split(".", 1)[0].removesuffix("()")
    role = "Worker" if re.match(r"Ray\w*Worker|RayWorker", task) else "EngineCore" if "EngineCore" in task else task
    return Process(task, role, int(ray["pid"]) if ray["pid"] else None, ray["ip"])


def remote_chain(lines: Sequence[Line], at: int, stop: int, remote: Process) -> list[ExceptionInfo]:
    """The exceptions printed after a `ray::` header, which has no `Traceback` line; oldest first."""
    result: list[ExceptionInfo] = []
    while at < stop and len(result) < MAX_CHAIN:
        while at < stop and (_skippable(lines[at].body) or not lines[at].body.strip()):
            at += 1
        end = stop
        link: LinkKind | None = None
        for index in range(at, stop):
            text = lines[index].body.strip()
            if text.startswith(CAUSE_SENTENCE) or text.startswith(CONTEXT_SENTENCE):
                end, link = index, "cause" if text.startswith(CAUSE_SENTENCE) else "context"
                break
        frames, exception_at = _frames(lines, at, end)
        if exception_at < end:
            nested = RAY_HEADER.search(lines[exception_at].body)
            name, message = _exception_line(lines, exception_at, end)
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


def _group(lines: Sequence[Line], start: int, stop: int) -> list[ExceptionInfo]:
    """An exception group: its sub-exceptions first (each leads to the group), the group last."""
    plain = [Line(re.sub(r"^\s*(?:\| ?|\+ )", "", line.body, count=1), line.number) for line in lines[start:stop]]
    ruled = next(
        (index for index, line in enumerate(plain) if _GROUP_RULE.match(lines[start + index].body)), len(plain)
    )
    frames, at = _frames(plain, 1, ruled)
    name, message = _exception_line(plain, at, ruled) if at < ruled else (None, [""])
    group = ExceptionInfo(
        name, "\n".join(message).rstrip(), frames, line=lines[start].number, end_line=lines[stop - 1].number
    )
    members: list[ExceptionInfo] = []
    index = ruled
    while index < len(plain):
        ends = next(
            (at for at in range(index + 1, len(plain)) if _GROUP_RULE.match(lines[start + at].body)), len(plain)
        )
        part = [Line(re.sub(r"^\s*\| ?", "", line.body, count=1), line.number) for line in plain[index + 1 : ends]]
        for chain in parse(part):
            members.extend(item._replace(link=item.link or "group") for item in chain.exceptions)
        index = ends
    return [*members, group]
