"""Native failures in a block: which shape, and the frames of its dump.

!!!!!!! Segfault encountered !!!!!!!
  File "/src/csrc/cpu/cpu_fused_moe.cpp", line 242, in fused_moe_impl<float>
"""

from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import FailureKind, Frame
from diagnoser.parsers.frames import FRAME
from diagnoser.parsers.lines import Line
from diagnoser.parsers.shapes import FAULTS, SINGLES, Shape, dump_of
from diagnoser.records import NamedTuple

MAX_DUMP = 2_000
"""Lines that one dump may take."""


class Found(NamedTuple):
    """A native failure in a block."""

    kind: FailureKind
    name: str | None
    text: str
    frames: tuple[Frame, ...]
    line: int
    end_line: int


_USAGE_ERROR = lazy(r"^\S+(?: \S+){0,4}: error: ")
_AT_FRAME = lazy(
    r"^\s*(?:PC: )?@\s+0x[0-9a-f]+\s+(?:\(\S+\)\s*)?(?P<function>\S.*)$|^\s*frame #\d+: (?P<c10>.+?)(?: \+ 0x| \(0x|$)"
)
_GO_FRAME = lazy(r"^(?P<function>[\w./*()\[\]]+)\((?:0x|\{|\.\.\.|\)).*$")


def parse(lines: Sequence[Line]) -> Found | None:
    """The native failure that the lines of one block report, or None."""
    for index, line in enumerate(lines[:50]):
        dump = dump_of(line.body)
        if dump is not None:
            return _dumped(dump, lines[index:])
        for shape in SINGLES:
            if shape.opens(line.body):
                text = "\n".join(item.body for item in lines[index : index + 40])
                return Found(shape.kind, shape.name, text, (), line.number, lines[-1].number)
    return None


def _dumped(dump: Shape, lines: Sequence[Line]) -> Found | None:
    opened = dump.opening.match(lines[0].body)
    groups = opened.groupdict() if opened else {}
    name = dump.name or groups.get("signal") or FAULTS.get((groups.get("what") or "").strip())
    body = [line.body for line in lines]
    if lines[0].body.startswith("usage: "):
        at = next((index for index, line in enumerate(lines) if _USAGE_ERROR.match(line.body)), None)
        if at is None:
            return None
        return Found("native", None, "\n".join(body[at : at + 40]), (), lines[at].number, lines[-1].number)
    if lines[0].body.startswith(("=", "Root Cause")):
        return _elastic(lines)
    frames = _frames(lines)
    text_lines = [text for text in body if not FRAME.match(text) and not _AT_FRAME.match(text)]
    return Found(dump.kind, name, "\n".join(text_lines[:40]).strip(), frames, lines[0].number, lines[-1].number)


def _frames(lines: Sequence[Line]) -> tuple[Frame, ...]:
    """Frames of a dump; all of these runtimes print the most recent call first, so the order is turned."""
    frames: list[Frame] = []
    for line in lines[:MAX_DUMP]:
        found = FRAME.match(line.body)
        if found:
            frames.append(Frame(found["path"], int(found["line"]), found["function"], None, line.number))
            continue
        native = _AT_FRAME.match(line.body)
        if native:
            frames.append(
                Frame("<native>", None, (native["function"] or native["c10"] or "").strip(), None, line.number)
            )
            continue
        go = _GO_FRAME.match(line.body)
        if go and "." in go["function"]:
            frames.append(Frame("<go>", None, go["function"], None, line.number))
    return tuple(reversed(frames))


_ELASTIC_FIELD = lazy(r"^\s+(?P<key>rank|exitcode|host|error_file|traceback|msg|time)\s*:\s*(?P<value>.*)$")


def _elastic(lines: Sequence[Line]) -> Found | None:
    """The box that torchrun prints: exit code and rank of the first failure that it saw."""
    at = next((index for index, line in enumerate(lines) if line.body.startswith("Root Cause")), None)
    if at is None:
        return None
    fields: dict[str, str] = {}
    for line in lines[at:]:
        found = _ELASTIC_FIELD.match(line.body)
        if found:
            fields.setdefault(found["key"], found["value"])
    text = "Root Cause (first observed failure): " + ", ".join(f"{key} {value}" for key, value in fields.items())
    return Found(
        "exit",
        f"exit code {fields['exitcode'].split()[0]}" if fields.get("exitcode", "").split() else None,
        text,
        (),
        lines[0].number,
        lines[-1].number,
    )
