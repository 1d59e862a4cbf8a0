"""What deaths look like that no Python exception reports: signals, aborts, native asserts, compilers, the kernel.

A dump opens with a mark and goes on for lines; a single line stands for itself. `needles` are texts of which an
opening line holds at least one: they keep healthy lines away from the patterns. Every shape is how a C or C++
runtime, a compiler or the kernel prints, whoever uses it.
"""

import re

from diagnoser.lazy import lazy
from diagnoser.model import FailureKind
from diagnoser.records import NamedTuple


class Shape(NamedTuple):
    """One way to die; `rest` matches every further line of a dump, and is None for a single line."""

    kind: FailureKind
    name: str | None
    needles: tuple[str, ...]
    opening: re.Pattern[str]
    rest: re.Pattern[str] | None = None

    def opens(self, body: str) -> re.Match[str] | None:
        """The match of an opening line."""
        for needle in self.needles:  # a generator would cost more than the search
            if needle in body:
                return self.opening.search(body)
        return None

    def takes(self, body: str) -> bool:
        """True when the line belongs to an open dump of this shape."""
        return self.rest is not None and bool(self.rest.match(body))


def _dump(kind: FailureKind, name: str | None, needles: str, opening: str, rest: str) -> Shape:
    return Shape(kind, name, tuple(needles.split("|")), lazy(opening), lazy(rest))


def _single(kind: FailureKind, name: str | None, needles: str, opening: str) -> Shape:
    return Shape(kind, name, tuple(needles.split("|")), lazy(opening))


_SHELL = r"^(?:\S+: line \d+: +\d+ )?"
_CORE = r"(?: +\(core dumped\))?(?: +\S.*)?$"

DUMPS = (
    _dump(
        "signal",
        None,
        "Fatal Python error: ",
        r"^Fatal Python error: (?P<what>.+)$",
        r'^(?:\s+File "|\s*#\d+ |\s*frame #|\s+@ |PC: @|Current thread |Thread 0x|Stack \(most|Extension modules'
        r"|\s*<no Python frame>|  \.\.\.|Python runtime state|Current thread's C stack|\s+Binary file|\s+/|$)",
    ),
    _dump("signal", "SIGSEGV", "Segfault encountered", r"^!{5,} ?Segfault encountered ?!{5,}", r'^\s+File "|^$'),
    _dump(
        "signal",
        None,
        "*** SIG",
        r"^\*\*\* (?P<signal>SIG[A-Z]+) (?:received at|\(@0x)",
        r"^(?:PC: @|\s+@ |\s+0x|\[fa|\[[\d\-: ,]+ E \d+|$)",
    ),
    _dump(
        "signal",
        None,
        "*** Aborted|*** Segm|*** Process",
        r"^\*\*\* (?P<what>Aborted|Segmentation fault|Process received signal) (?:at|\*\*\*)",
        r"^(?:\*\*\* |PC: @|\s+@ |\[[\w.\-]+:\d+\] |$)",
    ),
    _dump(
        "native",
        None,
        "terminate called",
        r"^(?:\S+: )?terminate called (?:after throwing an instance of|without an active exception|recursively)",
        r"^\s+what\(\): |^Exception raised from |^\s*frame #\d+|^\s{2,}\S|^C\+\+ CapturedTraceback",
    ),
    _dump(
        "signal",
        None,
        "SIG",
        r"^(?P<signal>SIG[A-Z]+): \w[\w ]+$",
        r"^(?:PC=|signal arrived|goroutine |runtime[.:]|\t|rax |rbx |r\w{1,2} +0x|rip |rflags|[cfg]s +0x"
        r"|[\w./*()\[\]]{1,300}\(.*\)|exit status|$)",
    ),
    _dump(
        "native",
        None,
        "fatal error: |panic: ",
        r"^fatal error: (?!.*No such file)[\w ]+$|^panic: ",
        r"^(?:\[signal |goroutine |runtime[.:]|\t|[\w./*()]{1,300}\(.*\)|$)",
    ),
    _dump("native", None, "*** Check failure", r"^\*\*\* Check failure stack trace: \*\*\*", r"^\s+@ "),
    _dump(
        "native",
        None,
        "panicked at ",
        r"^thread '[^']*' (?:\(\d+\) )?panicked at ",
        r"^\S.*$|^note: |^stack backtrace|^\s+\d+: ",
    ),
    _dump(
        "native",
        None,
        "usage: ",
        r"^usage: \S",
        r"^(?:\s+\S.*|\S+(?: \S+){0,4}: error: .*|[\w.\[\]-]{1,80})$",
    ),
    _dump(
        "native",
        None,
        "ptxas|ld: |ld.|collect2|nvlink",
        r"^ptxas .*(?:fatal|error)\s*:|^ptxas fatal"
        r"|^(?:/\S{1,300}/)?(?:ld|ld\.\w+|collect2|nvlink)\b.*(?:cannot find|error|undefined reference)",
        r"^(?:ptxas|nvlink|collect2|(?:/\S+/)?ld(?:\.\w+)?: |clang|gcc|cc1plus|compilation terminated|make)",
    ),
    _dump(
        "native",
        None,
        "error: |error |nvcc fatal",
        r"^\S+:\d+(?::\d+)?: fatal error: |^\S+\(\d+\): (?:fatal )?error:? |^\S+:\d+:\d+: error: |^nvcc fatal",
        r"^(?:\s+\S|\S+:\d+(?::\d+)?: |compilation terminated|\d+ errors? (?:detected|generated)|In file included|$)",
    ),
    _dump(
        "native",
        None,
        "=======|Root Cause (first",
        r"^=+\s*$|^Root Cause \(first observed failure\):",
        r"^(?:\S+ FAILED\s*$|-{10,}\s*$|=+\s*$|Failures:|Root Cause|\[\d+\]:|  \S|\s*<NO_OTHER_FAILURES>|$)",
    ),
)

SINGLES = (
    _single("native", None, "Assertion `", r"^\S*\.cuh?:\d+: .{0,600}Assertion `.{1,2000}` failed"),
    _single("native", None, "Assertion ", r"^\S+: \S+:\d+: .{1,2000}: Assertion [`'].{1,2000}' failed"),
    _single("native", None, "Assertion ", r"^Assertion (?:failed|error|exception)(?:: | \()\S"),
    _single("native", None, "Failed: ", r"^Failed: (?:Assertion error|C[uU][dD][aA] error) \S"),
    _single("native", None, "LLVM ERROR: ", r"^LLVM ERROR: \S"),
    _single("native", None, "FLASH_MLA_ASSERT", r"^FLASH_MLA_ASSERT: "),
    _single("native", None, "Assertion `", r"^Assertion `.{1,2000}` failed \(\S+:\d+\)"),
    _single("native", None, "CUDA error (|CUTLASS error (", r"^(?:CUDA|CUTLASS) error \(\S+:\d+\): "),
    _single("native", None, " in function ", r"^(?:CUDA )?[Ee]rror \S+ at line \d+ in function "),
    _single("native", None, "by GPU node-", r"^(?:Memory access fault|HW Exception) by GPU node-\d+ \(Agent handle: "),
    _single("native", None, "Abort was called at", r"^Abort was called at \d+ line in file:"),
    _single("native", None, "aborting with error", r"^:\d:rocdevice\.cpp *:\d+ *: .{1,400}aborting with error ?: HSA_"),
    _single("signal", "SIGSEGV", "Segmentation fault", _SHELL + "Segmentation fault" + _CORE),
    _single("signal", "SIGABRT", "Aborted", _SHELL + r"Aborted +\(core dumped\)(?: +\S.*)?$"),
    _single("signal", "SIGBUS", "Bus error", _SHELL + "Bus error" + _CORE),
    _single("signal", "SIGILL", "Illegal instruction", _SHELL + "Illegal instruction" + _CORE),
    _single("signal", "SIGKILL", "Killed", _SHELL + r"Killed(?: +\S.*)?$"),
    _single(
        "signal",
        "SIGKILL",
        "ut of memory: Kill",
        r"(?:^|\] |: )(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process \d+ \(",
    ),
    _single("signal", "SIGKILL", "oom-kill:", r"(?:^|\] |: )oom-kill:constraint="),
    _single("signal", "SIGKILL", "OOMKilled", r"\bOOMKilled\b"),
    _single(
        "native",
        None,
        "malloc(): |free(): |corrupt|munmap_chunk|smashing",
        r"^malloc\(\): |^free\(\): |^corrupted (?:size|double)|^double free or corruption|^munmap_chunk\(\): "
        r"|^\*\*\* stack smashing",
    ),
    _single(
        "native",
        None,
        "symbol lookup error|shared libraries",
        r"^(?:/\S+/)?(?:\w[\w.+-]*: )?symbol lookup error: |^\S+: error while loading shared libraries: ",
    ),
    _single(
        "native",
        None,
        ": error: ",
        r"^(?:\S+(?: \S+)?): error: (?:unrecognized arguments|argument |the following arguments|invalid choice"
        r"|ambiguous option)",
    ),
)

FAULTS = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
}
"""Names that runtimes give to signals."""


_OPENINGS = tuple((needle, shape) for shape in DUMPS for needle in shape.needles)


def dump_of(body: str) -> Shape | None:
    """The dump that this line opens, or None."""
    for needle, shape in _OPENINGS:
        if needle in body and shape.opening.search(body):
            return shape
    return None
