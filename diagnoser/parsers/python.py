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

import re
from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import ExceptionInfo, LinkKind
from diagnoser.parsers import ray
from diagnoser.parsers.frames import FRAME, read_frames
from diagnoser.parsers.lines import (
    CAUSE_SENTENCE,
    CONTEXT_SENTENCE,
    HEADER,
    MAX_CHAIN,
    MAX_MESSAGE,
    Line,
    exception_line,
    is_exception_line,
)
from diagnoser.records import NamedTuple

_GROUP_HEADER = lazy(r"^\s*\+ (?:Exception Group )?Traceback \(most recent call last\)")
_GROUP_RULE = lazy(r"^[\s|]*\+-[+-]*-{8,}(?: (?:\d+|\.\.\.) -+)?\s*$")


class Chain(NamedTuple):
    """One failure as printed: its exceptions, oldest first, and the text before its header."""

    header: str
    exceptions: tuple[ExceptionInfo, ...]
    line: int
    end_line: int


def looks_like_traceback(body: str) -> bool:
    """True when a traceback starts in this line."""
    return HEADER in body or ("RayTaskError" in body and ray.RAY_HEADER.search(body) is not None)


def parse(lines: Sequence[Line]) -> list[Chain]:
    """Every chain in the lines of one block, in printed order, repeated copies dropped."""
    lines = _headed(_unfold(lines))
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
    """A traceback whose head is missing: frames first, or the source line of a frame, then an exception line."""
    start = _first_after_code(lines)
    if start is None:
        return []
    lines = lines[start:]
    found = _one([Line(HEADER + ":", lines[0].number), *lines], 0, len(lines) + 1)
    if not found or not (found[-1].type or found[-1].frames):
        return []
    return [Chain("", tuple(found), lines[0].number, lines[-1].number)]


def _first_after_code(lines: Sequence[Line]) -> int | None:
    """Where a frame or an exception line stands that follows nothing but source text; None without one."""
    for index, line in enumerate(lines[:8]):
        if FRAME.match(line.body):
            return index
        if line.body.strip() and line.body[:1] not in " \t":
            return index if index and is_exception_line(line.body.strip()) else None
    return None


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


def _headed(lines: list[Line]) -> list[Line]:
    """The lines, with a header for an inner exception that lost its own at the start of a paste."""
    for index, line in enumerate(lines):
        if HEADER in line.body:
            break
        if line.body.strip().startswith((CAUSE_SENTENCE, CONTEXT_SENTENCE)):
            start = _first_after_code(lines[:index])
            return lines if start is None else [*lines[:start], Line(HEADER + ":", lines[start].number), *lines[start:]]
    return lines


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
    # The first frame may have lost its own line to what stood between.
    lost = _first_after_code(lines[start + 1 : min(stop, start + 9)]) or 0
    frames, at = read_frames(lines, start + 1 + lost, stop)
    if at >= stop:
        return [ExceptionInfo(None, "", frames, line=first, end_line=lines[stop - 1].number)] if frames else []
    name, message_lines = exception_line(lines, at, stop)
    remote = ray.header_of(name, message_lines[0])
    if remote:
        return ray.both_halves(lines, at, stop, name, remote, frames)
    message = "\n".join(message_lines)[:MAX_MESSAGE].rstrip()
    return [ExceptionInfo(name, message, frames, line=lines[at].number, end_line=lines[max(at, stop - 1)].number)]


def _group(lines: Sequence[Line], start: int, stop: int) -> list[ExceptionInfo]:
    """An exception group: its sub-exceptions first (each leads to the group), the group last."""
    plain = [Line(re.sub(r"^\s*(?:\| ?|\+ )", "", line.body, count=1), line.number) for line in lines[start:stop]]
    ruled = next(
        (index for index, line in enumerate(plain) if _GROUP_RULE.match(lines[start + index].body)), len(plain)
    )
    frames, at = read_frames(plain, 1, ruled)
    name, message = exception_line(plain, at, ruled) if at < ruled else (None, [""])
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
