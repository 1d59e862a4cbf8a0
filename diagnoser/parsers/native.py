"""Deaths that no Python exception reports: signals, aborts, native asserts, compilers, the kernel.

    !!!!!!! Segfault encountered !!!!!!!
      File "/src/csrc/cpu/cpu_fused_moe.cpp", line 242, in fused_moe_impl<float>

Two kinds of shapes: dumps, which open with a mark and go on for lines, and single lines that stand for
themselves. Every shape is how a C or C++ runtime, a compiler or the kernel prints, whoever uses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from diagnoser.model import FailureKind, Frame
from diagnoser.parsers.frames import FRAME
from diagnoser.parsers.lines import Line

MAX_DUMP = 2_000
"""Lines that one dump may take."""


class Dump(NamedTuple):
    """A shape that opens with a mark; `rest` matches every further line of it."""

    kind: FailureKind
    name: str | None
    opening: re.Pattern[str]
    rest: re.Pattern[str]

    def takes(self, body: str) -> bool:
        """True when the line belongs to an open dump of this shape."""
        return bool(self.rest.match(body))


class Found(NamedTuple):
    """A native failure in a block."""

    kind: FailureKind
    name: str | None
    text: str
    frames: tuple[Frame, ...]
    line: int
    end_line: int


_FRAME_LINE = (
    r'\s+File "|\s*#\d+ |\s*frame #|\s+@ |PC: @|Current thread |Thread 0x|Stack \(most|Extension modules'
    r"|\s*<no Python frame>|  \.\.\."
)
_DUMPS = (
    Dump(
        "signal",
        None,
        re.compile(r"^Fatal Python error: (?P<what>.+)$"),
        re.compile(rf"^(?:{_FRAME_LINE}|Python runtime state|Current thread's C stack|\s+Binary file|\s+/|$)"),
    ),
    Dump("signal", "SIGSEGV", re.compile(r"^!{5,} ?Segfault encountered ?!{5,}"), re.compile(r'^\s+File "|^$')),
    Dump(
        "signal",
        None,
        re.compile(r"^\*\*\* (?P<signal>SIG[A-Z]+) (?:received at|\(@0x)"),
        re.compile(r"^(?:PC: @|\s+@ |\s+0x|\[fa|\[[\d\-: ,]+ E \d+|$)"),
    ),
    Dump(
        "signal",
        None,
        re.compile(r"^\*\*\* (?P<what>Aborted|Segmentation fault|Process received signal) (?:at|\*\*\*)"),
        re.compile(r"^(?:\*\*\* |PC: @|\s+@ |\[[\w.\-]+:\d+\] |$)"),
    ),
    Dump(
        "native",
        None,
        re.compile(
            r"^(?:\S+: )?terminate called (?:after throwing an instance of|without an active exception|recursively)"
        ),
        re.compile(r"^\s+what\(\): |^Exception raised from |^\s*frame #\d+|^\s{2,}\S|^C\+\+ CapturedTraceback"),
    ),
    Dump(
        "signal",
        None,
        re.compile(r"^(?P<signal>SIG[A-Z]+): \w[\w ]+$"),
        re.compile(
            r"^(?:PC=|signal arrived|goroutine |runtime[.:]|\t|rax |rbx |r\w{1,2} +0x|rip |rflags"
            r"|[cfg]s +0x|[\w./*()\[\]]+\(.*\)|exit status|$)"
        ),
    ),
    Dump(
        "native",
        None,
        re.compile(r"^fatal error: (?!.*No such file)[\w ]+$|^panic: "),
        re.compile(r"^(?:\[signal |goroutine |runtime[.:]|\t|[\w./*()]+\(.*\)|$)"),
    ),
    Dump("native", None, re.compile(r"^\*\*\* Check failure stack trace: \*\*\*"), re.compile(r"^\s+@ ")),
    Dump(
        "native",
        None,
        re.compile(r"^thread '[^']*' (?:\(\d+\) )?panicked at "),
        re.compile(r"^\S.*$|^note: |^stack backtrace|^\s+\d+: "),
    ),
    Dump(
        "native",
        None,
        re.compile(r"^usage: \S"),
        re.compile(r"^(?:\s+\S.*|\S+(?: \S+){0,4}: error: .*|[\w.\[\]-]{1,80})$"),
    ),
    Dump(
        "native",
        None,
        re.compile(
            r"^ptxas .*(?:fatal|error)\s*:|^ptxas fatal|^(?:/\S+/)?(?:ld|ld\.\w+|collect2"
            r"|nvlink)\b.*(?:cannot find|error|undefined reference)"
        ),
        re.compile(
            r"^(?:ptxas|nvlink|collect2|(?:/\S+/)?ld(?:\.\w+)?: |clang|gcc|cc1plus|compilation terminated|make)"
        ),
    ),
    Dump(
        "native",
        None,
        re.compile(
            r"^\S+:\d+(?::\d+)?: fatal error: |^\S+\(\d+\): (?:fatal )?error:? |^\S+:\d+:\d+: error: |^nvcc fatal"
        ),
        re.compile(
            r"^(?:\s+\S|\S+:\d+(?::\d+)?: |compilation terminated|\d+ errors? (?:detected|generated)"
            r"|In file included|$)"
        ),
    ),
    Dump(
        "native",
        None,
        re.compile(r"^=+\s*$"),
        re.compile(
            r"^(?:\S+ FAILED\s*$|-{10,}\s*$|=+\s*$|Failures:|Root Cause|\[\d+\]:|  \S|\s*<NO_OTHER_FAILURES>|$)"
        ),
    ),
)

_SINGLES: tuple[tuple[FailureKind, str | None, re.Pattern[str]], ...] = tuple(
    (kind, name, re.compile(pattern))  # type: ignore[misc]
    for kind, name, pattern in (
        ("native", None, r"^\S*\.cuh?:\d+: .{0,600}Assertion `.{1,2000}` failed"),
        ("native", None, r"^\S+: \S+:\d+: .{1,2000}: Assertion [`'].{1,2000}' failed"),
        ("native", None, r"^Assertion (?:failed|error|exception)(?:: | \()\S"),
        ("native", None, r"^Failed: (?:Assertion error|C[uU][dD][aA] error) \S"),
        ("native", None, r"^FLASH_MLA_ASSERT: "),
        ("native", None, r"^Assertion `.{1,2000}` failed \(\S+:\d+\)"),
        ("native", None, r"^(?:CUDA|CUTLASS) error \(\S+:\d+\): "),
        ("native", None, r"^(?:CUDA )?[Ee]rror \S+ at line \d+ in function "),
        ("signal", "SIGSEGV", r"^(?:\S+: line \d+: +\d+ )?Segmentation fault(?: +\(core dumped\))?(?: +\S.*)?$"),
        ("signal", "SIGABRT", r"^(?:\S+: line \d+: +\d+ )?Aborted +\(core dumped\)(?: +\S.*)?$"),
        ("signal", "SIGBUS", r"^(?:\S+: line \d+: +\d+ )?Bus error(?: +\(core dumped\))?(?: +\S.*)?$"),
        ("signal", "SIGILL", r"^(?:\S+: line \d+: +\d+ )?Illegal instruction(?: +\(core dumped\))?(?: +\S.*)?$"),
        ("signal", "SIGKILL", r"^(?:\S+: line \d+: +\d+ )?Killed(?: +\S.*)?$"),
        ("signal", "SIGKILL", r"(?:^|\] |: )(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process \d+ \("),
        ("signal", "SIGKILL", r"(?:^|\] |: )oom-kill:constraint="),
        ("signal", "SIGKILL", r"\bOOMKilled\b"),
        (
            "native",
            None,
            r"^malloc\(\): |^free\(\): |^corrupted (?:size|double)|^double free or corruption"
            r"|^munmap_chunk\(\): |^\*\*\* stack smashing",
        ),
        (
            "native",
            None,
            r"^(?:/\S+/)?(?:\w[\w.+-]*: )?symbol lookup error: |^\S+: error while loading shared libraries: ",
        ),
        (
            "native",
            None,
            r"^(?:\S+(?: \S+)?): error: (?:unrecognized arguments|argument |the following arguments"
            r"|invalid choice|ambiguous option)",
        ),
    )
)
_FAULT = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
}
_QUICK = re.compile(
    r"^(?:[\s=!*/{]|Fatal|!|terminate|SIG|fatal|panic|thread '|usage|ptxas|nvcc|nvlink"
    r"|collect2|ld|F)|rror|ssertion|ASSERT|ault|ore dumped|illed|Bus|Illegal"
    r"|emory|oom-kill|malloc|free\(\)|corrupt|munmap|smashing|terminate called|fatal"
)
_USAGE_ERROR = re.compile(r"^\S+(?: \S+){0,4}: error: ")
_AT_FRAME = re.compile(
    r"^\s*(?:PC: )?@\s+0x[0-9a-f]+\s+(?:\(\S+\)\s*)?(?P<function>\S.*)$|^\s*frame #\d+: (?P<c10>.+?)(?: \+ 0x| \(0x|$)"
)
_GO_FRAME = re.compile(r"^(?P<function>[\w./*()\[\]]+)\((?:0x|\{|\.\.\.|\)).*$")


def dump_of(body: str) -> Dump | None:
    """The dump that this line opens, or None."""
    if not _QUICK.search(body):
        return None
    for dump in _DUMPS:
        if dump.opening.match(body):
            return dump
    return None


def parse(lines: Sequence[Line]) -> Found | None:
    """The native failure that the lines of one block report, or None."""
    for index, line in enumerate(lines[:50]):
        body = line.body
        if not _QUICK.search(body):
            continue
        dump = dump_of(body)
        if dump is not None:
            return _dumped(dump, lines[index:])
        for kind, name, pattern in _SINGLES:
            if pattern.search(body):
                text = "\n".join(item.body for item in lines[index : index + 40])
                return Found(kind, name, text, (), line.number, lines[-1].number)
    return None


def _dumped(dump: Dump, lines: Sequence[Line]) -> Found | None:
    opened = dump.opening.match(lines[0].body)
    groups = opened.groupdict() if opened else {}
    name = dump.name or groups.get("signal") or _FAULT.get((groups.get("what") or "").strip())
    body = [line.body for line in lines]
    if lines[0].body.startswith("usage: "):
        at = next((index for index, line in enumerate(lines) if _USAGE_ERROR.match(line.body)), None)
        if at is None:
            return None
        return Found("native", None, "\n".join(body[at : at + 40]), (), lines[at].number, lines[-1].number)
    if lines[0].body.startswith("="):
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


_ELASTIC_FIELD = re.compile(r"^\s+(?P<key>rank|exitcode|host|error_file|traceback|msg|time)\s*:\s*(?P<value>.*)$")


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
