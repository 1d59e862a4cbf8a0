"""The frames of a traceback: Python's own, IPython's, and those that lost their indentation."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import Frame
from diagnoser.parsers.lines import HEADER, Line, is_exception_line

MAX_FRAMES = 400
"""Frames kept of one exception; the outer and the inner halves stay when there are more."""

FRAME = lazy(
    r'^(?P<indent>[\s|]*)File "(?P<path>[^"\n]{1,4096})", line (?P<line>\d{1,9})(?:,? in (?P<function>.{1,4096}))?\s*$'
)
IPYTHON_FRAME = lazy(
    r"^(?:File |\[)?(?P<path>[~/][^\s:\]]{1,1024}\.py[x]?)(?:\]\(\S*\))?(?::(?P<line>\d{1,9}))?,? in "
    r"(?:[\w.<>]{1,400}\.)?(?P<function>\w{1,400})(?:\s*\(.*)?$"
)
"""A frame of a notebook; newer ones print the class before the function, which tracebacks do not."""
IPYTHON_CELL = lazy(
    r"^(?P<path>Cell In ?\[\d{1,6}\]|Input In \[\d{1,6}\]|<ipython-input-[\w-]{1,80}>)(?:,? (?:in|line) .*)?$"
)
"""The cell of a notebook where its traceback begins."""
_CUT_FRAME = lazy(r'^[\s|]+File "(?P<path>[^"\n]{1,4096})(?:",.{0,24})?$')
"""A frame whose line was cut off at some width."""
_IPYTHON_CODE = lazy(r"^-+> ?(?P<line>\d{1,9})(?P<code> .*)?$")
_IPYTHON_OTHER = lazy(r"^\s*\d{1,6}(?: .*)?$")
_MARKERS = lazy(r"^[\s|]*[\^~][\^~ ]*$")
_ELLIPSIS_LINES = lazy(r"^\s*\.\.\.<\d+ lines?>\.\.\.\s*$")
_REPEATED = lazy(r"^\s*\[Previous line repeated (\d+) more times?\]\s*$")


def read_frames(lines: Sequence[Line], at: int, stop: int) -> tuple[tuple[Frame, ...], int]:
    """Frames from `at` on, and the index of the first line that is no part of them."""
    frames: list[Frame] = []
    while at < stop:
        body = lines[at].body
        found = FRAME.match(body) or IPYTHON_FRAME.match(body)
        cut = None if found else _CUT_FRAME.match(body) or IPYTHON_CELL.match(body)
        if found or cut:
            code, after, ipython_line = _code(lines, at + 1, stop, _indent(body))
            if found:
                line = int(found["line"]) if found["line"] else ipython_line
                function = (found["function"] or "").strip() or None
                frames.append(Frame(found["path"], line, function, code, lines[at].number))
            elif cut:
                frames.append(Frame(cut["path"], None, None, code, lines[at].number))
            at = after
            if len(frames) > 2 * MAX_FRAMES:
                del frames[MAX_FRAMES // 2 : -MAX_FRAMES // 2]
        elif skippable(body) or (not body.strip() and (not frames or _goes_on(lines, at, stop))):
            at += 1
        else:
            break
    if len(frames) > MAX_FRAMES:
        frames = frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]
    return tuple(frames), at


def skippable(body: str) -> bool:
    """True for lines between source lines: carets, elisions, repetitions."""
    return bool(_MARKERS.match(body) or _REPEATED.match(body) or _ELLIPSIS_LINES.match(body))


def _goes_on(lines: Sequence[Line], at: int, stop: int) -> bool:
    """True when a blank line, as a double-spaced paste has them, is followed by more of the traceback."""
    body = _next_body(lines, at, stop)
    found = FRAME.match(body) or IPYTHON_FRAME.match(body)
    return found is not None or skippable(body) or is_exception_line(body.strip())


def _next_body(lines: Sequence[Line], at: int, stop: int) -> str:
    """The next line that is not blank, among the next few."""
    return next((line.body for line in lines[at + 1 : min(stop, at + 4)] if line.body.strip()), "")


def _indent(body: str) -> int:
    if "\t" in body:
        body = body.expandtabs(4)
    return len(body) - len(body.lstrip(" |"))


def _code(lines: Sequence[Line], at: int, stop: int, indent: int) -> tuple[str | None, int, int | None]:
    """Source text under a frame line: deeper lines, or one line where indentation was lost."""
    code: list[str] = []
    ipython_line = None
    while at < stop:
        body = lines[at].body
        if FRAME.match(body) or _CUT_FRAME.match(body) or HEADER in body or IPYTHON_FRAME.match(body):
            break
        pointed = _IPYTHON_CODE.match(body)
        if pointed:
            code, ipython_line = [(pointed["code"] or "").strip()], int(pointed["line"])
        elif (
            skippable(body)
            or (ipython_line is not None and _IPYTHON_OTHER.match(body))
            or (_IPYTHON_OTHER.match(body) and not code and _has_pointer(lines, at, stop))
        ):
            pass
        elif body.strip() and _indent(body) > indent:
            if ipython_line is None:
                code.append(body.strip())
        elif not body.strip() and not code and _indent(_next_body(lines, at, stop)) > indent:
            pass
        elif indent == 0 and not code and body.strip() and not is_exception_line(body.strip()):
            code.append(body.strip())
        else:
            break
        at += 1
    return ("\n".join(code) or None), at, ipython_line


def _has_pointer(lines: Sequence[Line], at: int, stop: int) -> bool:
    return any(_IPYTHON_CODE.match(lines[index].body) for index in range(at, min(stop, at + 12)))
