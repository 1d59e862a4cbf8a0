"""What the system knows of a command's death: its exit status, its cgroup's memory events, the kernel's log.

Each piece becomes a line of text that the parsers and rules for deaths of processes read like any other.
Sources of the formats: the kernel's `Documentation/admin-guide/cgroup-v2.rst` (memory.events), cgroup v1's
`memory.oom_control`, and `Documentation/ABI/testing/dev-kmsg`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal

STATUS_SOURCE = "<exit status>"
MEMORY_SOURCE = "<memory events>"
KERNEL_SOURCE = "<kernel log>"

_OOM = re.compile(r"[Oo]ut of memory: Kill|oom-kill:constraint=")
_XID = re.compile(r"NVRM: Xid ")
_MAX_KERNEL_LINES = 50
_CGROUPS = "/sys/fs/cgroup"


def status_line(status: int, number: int = 0, *, core: bool = False) -> str:
    """The sentence that says how the command ended."""
    if not number:
        return f"The command exited with code {status}."
    dumped = " (core dumped)" if core else ""
    return f"The command was killed by {signal_name(number)}{dumped}: it exited with code {status}."


def oom_line(kills: int) -> str:
    """The sentence that says how many processes the kernel killed for want of memory."""
    return f"Detected {kills} oom_kill event{'' if kills == 1 else 's'} (OOMKilled) in the command's memory cgroup."


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def oom_kills(cgroups: str = "/proc/self/cgroup", root: str = _CGROUPS) -> int | None:
    """How many processes of our memory cgroup, and of those below it, the kernel has killed; None if unknown."""
    for path in _event_files(cgroups, root):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return None


def _event_files(cgroups: str, root: str) -> list[str]:
    """Files that may hold the counter: that of our own cgroup first, then that of the root we see (in a container)."""
    paths: list[str] = []
    with contextlib.suppress(OSError), open(cgroups, encoding="utf-8", errors="replace") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            below = path.lstrip("/")
            if not controllers:
                paths.append(os.path.join(root, below, "memory.events"))
            elif "memory" in controllers.split(","):
                paths.append(os.path.join(root, "memory", below, "memory.oom_control"))
    return [*paths, os.path.join(root, "memory.events"), os.path.join(root, "memory", "memory.oom_control")]


def kernel_lines(since: float, *, killed: bool, pid: int, path: str = "/dev/kmsg") -> list[str]:
    """What the kernel logged since that time of its clock about our memory, our process and the GPUs.

    `killed` says that memory killed a process of ours: only then lines about killed processes are ours for certain.
    Lines about GPUs (Xid) concern whoever uses them. Empty where the log can't be read.
    """
    found: list[str] = []
    for seconds, text in _kernel_log(path):
        about_us = (killed and bool(_OOM.search(text))) or f"process {pid} (" in text or f"[{pid}]: segfault at" in text
        if seconds >= since and (about_us or _XID.search(text)):
            found.append(f"[{seconds:12.6f}] {text}")
    return found[-_MAX_KERNEL_LINES:]


def kernel_time() -> float:
    """Seconds of the clock that the kernel's log uses."""
    import time

    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _kernel_log(path: str) -> list[tuple[float, str]]:
    """Time and text of each record that is at hand."""
    records: list[tuple[float, str]] = []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return records
    try:
        while True:
            try:
                record = os.read(fd, 8192)
            except BrokenPipeError:
                continue  # records were overwritten while we read
            except OSError:
                break
            if not record:
                break
            for line in record.decode("utf-8", "replace").split("\n"):
                head, found, text = line.partition(";")
                fields = head.split(",")
                if found and len(fields) > 2 and fields[2].isdigit():
                    records.append((int(fields[2]) / 1e6, text))
    finally:
        os.close(fd)
    return records
