"""Inputs made to hurt: how long each takes and how much memory, with bounds that must hold.

    python tests/hostile/pathological.py                 every case at its full size (some minutes, 2 GB of disk)
    python tests/hostile/pathological.py --scale 0.01    small, as the test suite does
    python tests/hostile/pathological.py --only frames --only chain

Each case runs the command line in a process of its own. Time is processor time of that process; memory is the peak
of its resident set. The table is in the form that `docs/limits.md` shows.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import itertools
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LEAST_SECONDS = 8.0
"""Processor time that is allowed at any scale; the largest of the small cases takes 3 s on a machine to itself."""
MEBIBYTE = 1024 * 1024
PLAIN, HARD = 64, 256
"""MiB of memory that a plain big log, and that any other input, may take beyond nothing at all."""

HEAD = b"(APIServer pid=10) INFO 03-14 10:20:30 [api_server.py:1896] vLLM API server version 0.26.0\n"
CRASH = (
    b"(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [multiproc_executor.py:1007] Traceback (most recent call last):\n"
    b'(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [multiproc_executor.py:1007]   File "/opt/venv/a.py", line 1, in f\n'
    b"(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [multiproc_executor.py:1007] ValueError: width 7 is odd\n"
)
HEALTHY = b'(APIServer pid=10) INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 200 OK\n'


class Case(NamedTuple):
    """One input."""

    name: str
    what: str
    make: Callable[[float, Path], Iterable[bytes] | Path]
    """Given the scale and a folder: the bytes for standard input, or the path of a file to name."""
    memory: int = HARD
    """MiB."""
    seconds: float = 60
    """Processor time at full size; at smaller sizes the same share of it, and two seconds at the least."""


class Outcome(NamedTuple):
    """What a run took."""

    status: int
    seconds: float
    memory: float
    size: int
    report: dict[str, object]
    error: str


def repeated(piece: bytes, size: float) -> Iterator[bytes]:
    """About `size` bytes of the same piece."""
    block = piece * max(1, MEBIBYTE // len(piece))
    for _ in range(max(1, int(size / len(block)))):
        yield block


def numbered(template: bytes, count: float, step: int = 10_000) -> Iterator[bytes]:
    """So many lines with their number in it."""
    for first in range(0, max(1, int(count)), step):
        yield b"".join(template.replace(b"%d", b"%d" % number) for number in range(first, first + step))


def one_line(scale: float, _: Path) -> Iterator[bytes]:
    yield HEAD
    yield from repeated(b"x", 500 * MEBIBYTE * scale)


def one_line_of_errors(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b"ERROR: Traceback (most recent call last): ", 500 * MEBIBYTE * scale)


def one_line_in_a_file(scale: float, folder: Path) -> Path:
    return written(folder / "line.log", itertools.chain(repeated(b"y", 500 * MEBIBYTE * scale), [b"\n", CRASH]))


def processes(scale: float, _: Path) -> Iterator[bytes]:
    yield HEAD
    prefix = b"(Worker_TP%d pid=%d) ERROR 03-14 10:20:30 [a.py:7] "
    for text in (
        b"Traceback (most recent call last):",
        b'  File "/opt/a.py", line 1, in f',
        b"ValueError: width is odd",
    ):
        yield from numbered(prefix + text + b"\n", 200_000 * scale)


def frames(scale: float, _: Path) -> Iterator[bytes]:
    yield b"Traceback (most recent call last):\n"
    yield from numbered(b'  File "/opt/venv/a.py", line %d, in f\n    return f(n - 1)\n', 1_000_000 * scale)
    yield b"RecursionError: maximum recursion depth exceeded\n"


def prefixed_frames(scale: float, _: Path) -> Iterator[bytes]:
    prefix = b"(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [a.py:7] "
    yield prefix + b"Traceback (most recent call last):\n"
    frame = prefix + b'  File "/opt/venv/a.py", line %d, in f\n' + prefix + b"    return f(n - 1)\n"
    yield from numbered(frame, 1_000_000 * scale)
    yield prefix + b"RecursionError: maximum recursion depth exceeded\n"


def same_errors(scale: float, _: Path) -> Iterator[bytes]:
    line = b"(APIServer pid=10) ERROR 03-14 10:20:30 [serving.py:9] Request failed, the engine is dead\n"
    yield HEAD
    yield from repeated(line, 10_000_000 * len(line) * scale)


def different_errors(scale: float, _: Path) -> Iterator[bytes]:
    words = [bytes([97 + a, 97 + b, 97 + c]) for a in range(26) for b in range(26) for c in range(26)]
    for first in words[: max(1, int(100 * scale))]:
        yield b"".join(
            b"%sError: the %s of %s is wrong\n" % (first.title(), second, first) for second in words[:10_000]
        )


def chain(scale: float, _: Path) -> Iterator[bytes]:
    part = (
        b'Traceback (most recent call last):\n  File "/opt/venv/a.py", line 1, in f\n    g()\nValueError: number %d\n\n'
        b"The above exception was the direct cause of the following exception:\n\n"
    )
    yield from numbered(part, 100_000 * scale, 1_000)
    yield b'Traceback (most recent call last):\n  File "/opt/venv/a.py", line 9, in h\nRuntimeError: the last\n'


def groups(scale: float, _: Path) -> Iterator[bytes]:
    yield b'  + Exception Group Traceback (most recent call last):\n  |   File "/opt/a.py", line 1, in f\n'
    yield b"  | ExceptionGroup: many (9 sub-exceptions)\n  +-+---------------- 1 ----------------\n"
    yield from numbered(b"    | ValueError: number %d\n    +---------------- %d ----------------\n", 100_000 * scale)


def nested_groups(scale: float, _: Path) -> Iterator[bytes]:
    for depth in range(int(2_000 * scale) + 3):
        pad = b"  " * depth
        yield (
            pad
            + b"  + Exception Group Traceback (most recent call last):\n"
            + pad
            + b"  | ExceptionGroup: x (1 sub-exception)\n"
        )
        yield pad + b"  +-+---------------- 1 ----------------\n"


def newlines(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b"\n", 50 * MEBIBYTE * scale)


def returns(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b"Loading: 10% ERROR\r", 100 * MEBIBYTE * scale)


def zeros(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b"\0", 500 * MEBIBYTE * scale)


def noise(scale: float, _: Path) -> Iterator[bytes]:
    block = os.urandom(MEBIBYTE)
    yield from itertools.repeat(block, max(1, int(100 * scale)))


def healthy(scale: float, folder: Path) -> Path:
    return written(folder / "healthy.log", itertools.chain([HEAD], repeated(HEALTHY, 1024 * MEBIBYTE * scale)))


def healthy_pipe(scale: float, _: Path) -> Iterator[bytes]:
    yield HEAD
    yield from repeated(HEALTHY, 1024 * MEBIBYTE * scale)


def crash_in_the_middle(scale: float, folder: Path) -> Path:
    half = 512 * MEBIBYTE * scale
    return written(
        folder / "big.log", itertools.chain([HEAD], repeated(HEALTHY, half), [CRASH], repeated(HEALTHY, half))
    )


def long_objects(scale: float, _: Path) -> Iterator[bytes]:
    line = json.dumps({"levelname": "ERROR", "message": "m" * 20_000, "exc_info": "Traceback\\n" * 2_000, "time": "t"})
    yield from repeated(line.encode() + b"\n", 100 * MEBIBYTE * scale)


def deep_objects(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b'{"log":' * 8_000 + b"\n", 50 * MEBIBYTE * scale)


def pieces_without_end(scale: float, _: Path) -> Iterator[bytes]:
    yield from repeated(b"2025-03-14T10:20:30.1Z stderr P ERROR: " + b"z" * 16_000 + b"\n", 200 * MEBIBYTE * scale)


def secrets(scale: float, _: Path) -> Iterator[bytes]:
    yield CRASH[:-1] + b" token=" + b" password: 'hunter2hunter2' api_key=" * 1_500 + b"\n"
    yield from numbered(b"ValueError: the key is hf_ABCDEFGHIJKLMNOPQRST%d\n", 100_000 * scale)


def bomb_gzip(scale: float, folder: Path) -> Path:
    return written(folder / "bomb.log.gz", [gzip.compress(b"\0" * MEBIBYTE, 9) * int(2_000 * scale + 70)])


def bomb_gzip_in_gzip(scale: float, folder: Path) -> Path:
    inner = gzip.compress(b"\0" * 16 * MEBIBYTE, 9) * int(600 * scale + 40)
    return written(folder / "nested.gz", [gzip.compress(gzip.compress(inner, 9), 9)])


def bomb_xz(scale: float, folder: Path) -> Path:
    return written(folder / "bomb.xz", [lzma.compress(b"\0" * 64 * MEBIBYTE) * int(30 * scale + 2)])


def bomb_bz2(scale: float, folder: Path) -> Path:
    return written(folder / "bomb.bz2", [bz2.compress(b"\0" * 64 * MEBIBYTE) * int(30 * scale + 2)])


def bomb_zstd(scale: float, folder: Path) -> Path:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return written(folder / "bomb.zst", [zstd.compress(b"\0" * 128 * MEBIBYTE, 19) * int(50 * scale + 2)])


def bomb_zip(scale: float, folder: Path) -> Path:
    path = folder / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number in range(int(20 * scale + 2)):
            with archive.open(f"{number}.log", "w") as entry:
                for _ in range(100):
                    entry.write(b"\0" * MEBIBYTE)
    return path


def many_entries(scale: float, folder: Path) -> Path:
    path = folder / "entries.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(int(100_000 * scale + 100)):
            info = tarfile.TarInfo(f"../../x/{number}.log")
            info.size = 9
            archive.addfile(info, io.BytesIO(b"ERROR: x\n"))
    return path


def many_entries_zip(scale: float, folder: Path) -> Path:
    path = folder / "entries.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(int(50_000 * scale + 100)):
            archive.writestr(f"/abs/{number}.log", b"ERROR: x\n")
    return path


def written(path: Path, pieces: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
    return path


CASES = (
    Case("line", "one line of 500 MB, through a pipe", one_line, seconds=20),
    Case("error-line", "one line of 500 MB full of error words", one_line_of_errors, seconds=40),
    Case("file-line", "one line of 500 MB in a file, then a crash", one_line_in_a_file, seconds=20),
    Case("processes", "200,000 interleaved processes, each with a traceback", processes, seconds=90),
    Case("frames", "a bare traceback of a million frames", frames, seconds=120),
    Case("prefixed-frames", "a logged traceback of a million frames", prefixed_frames, seconds=120),
    Case("same-errors", "10 million identical error lines", same_errors, seconds=300),
    Case("different-errors", "a million different errors", different_errors, seconds=240),
    Case("chain", "a chain of 100,000 exceptions", chain, seconds=60),
    Case("groups", "an exception group of 100,000 members", groups, seconds=60),
    Case("nested-groups", "2,000 exception groups inside each other", nested_groups, seconds=60),
    Case("newlines", "50 million empty lines", newlines, PLAIN, seconds=120),
    Case("returns", "100 MB of a progress bar that says ERROR", returns, seconds=180),
    Case("zeros", "500 MB of zero bytes", zeros, PLAIN, seconds=20),
    Case("noise", "100 MB of random bytes", noise, seconds=60),
    Case("healthy", "a healthy log of 1 GB in a file", healthy, PLAIN, seconds=10),
    Case("healthy-pipe", "a healthy log of 1 GB through a pipe", healthy_pipe, PLAIN, seconds=15),
    Case("middle", "a crash in the middle of 1 GB", crash_in_the_middle, PLAIN, seconds=15),
    Case("objects", "100 MB of JSON records of 40 KB each", long_objects, seconds=60),
    Case("deep-objects", "50 MB of JSON nested 8,000 deep", deep_objects, seconds=60),
    Case("pieces", "200 MB of cut lines whose end never comes", pieces_without_end, seconds=60),
    Case("secrets", "100,000 different secrets", secrets, seconds=60),
    Case("gzip-bomb", "2 GB of zeros in 2 MB of gzip", bomb_gzip, PLAIN, seconds=30),
    Case("gzip-in-gzip", "10 GB of zeros in gzip inside gzip inside gzip", bomb_gzip_in_gzip, seconds=60),
    Case("xz-bomb", "2 GB of zeros as xz", bomb_xz, seconds=30),
    Case("bz2-bomb", "2 GB of zeros as bzip2", bomb_bz2, seconds=30),
    Case("zstd-bomb", "6 GB of zeros as zstd", bomb_zstd, seconds=30),
    Case("zip-bomb", "2 GB of zeros in a zip archive", bomb_zip, seconds=30),
    Case("tar-entries", "a tar archive of 100,000 entries that climb out", many_entries, seconds=90),
    Case("zip-entries", "a zip archive of 50,000 entries with absolute paths", many_entries_zip, seconds=60),
)


PROBE = """
import sys
from diagnoser.cli.main import run
peak = sys.argv.pop(1)
status = run(sys.argv[1:])
with open("/proc/self/status") as lines, open(peak, "w") as file:
    file.write(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""
"""The command line, and then its largest resident memory in KiB."""


def run(case: Case, scale: float, folder: Path) -> Outcome:
    """Makes the input and runs the command line on it."""
    # Linux counts the memory of a parent for its child: the input is made by another process, and the child itself
    # says how much it had at most.
    maker = [sys.executable, __file__, "--scale", str(scale), "--only", case.name, "--make", str(folder)]
    peak = folder / "peak"
    command = [sys.executable, "-c", PROBE, str(peak), "--format", "json"]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        # Without a buffer: one would swallow the beginning of the input behind the first line.
        feeder = subprocess.Popen(maker, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert feeder.stdout is not None
        first = feeder.stdout.readline().decode().rstrip("\n")
        if first:
            feeder.wait()
        child = subprocess.Popen(
            command + ([first] if first else []), stdin=subprocess.DEVNULL if first else feeder.stdout, stdout=output,
            stderr=errors, cwd=ROOT, env={"DIAGNOSER_CACHE": "off", **os.environ},
        )  # fmt: skip
        feeder.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        feeder.wait()
        output.seek(0)
        errors.seek(0)
        text, error = output.read(), errors.read().decode("utf-8", "replace")
    try:
        report = json.loads(text) if text else {}
    except ValueError:
        report = {}
    size = Path(first).stat().st_size if first else sum(source["bytes"] or 0 for source in report.get("sources", []))
    seconds = usage.ru_utime + usage.ru_stime
    memory = int(peak.read_text()) if peak.exists() else usage.ru_maxrss
    return Outcome(child.returncode, seconds, memory / 1024, size, report, error)


def make(case: Case, scale: float, folder: Path) -> int:
    """Prints the path of the file that was made, or an empty line and then the input itself."""
    made = case.make(scale, folder)
    out = sys.stdout.buffer
    if isinstance(made, Path):
        out.write(bytes(made) + b"\n")
        return 0
    out.write(b"\n")
    out.flush()
    try:
        for piece in made:
            out.write(piece)
        out.flush()
    except BrokenPipeError:
        os._exit(0)
    return 0


def problems(case: Case, outcome: Outcome, scale: float) -> list[str]:
    """Which bounds do not hold."""
    found = []
    if outcome.status not in (0, 1, 3) or "Traceback" in outcome.error:
        found.append(f"exit status {outcome.status}: {outcome.error[-300:]}")
    if not outcome.report:
        found.append("no report")
    if outcome.memory > case.memory:
        found.append(f"{outcome.memory:.0f} MiB of memory, {case.memory} allowed")
    allowed = max(case.seconds * scale, LEAST_SECONDS)
    if outcome.seconds > allowed:
        found.append(f"{outcome.seconds:.1f} s, {allowed:.1f} allowed")
    return found


def main() -> int:
    """0 when every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        return make(next(case for case in CASES if case.name in options.only), options.scale, options.make)
    failed = 0
    print("| input | size | time | memory | verdict | said in the notes |\n|---|---|---|---|---|---|")
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(case, options.scale, Path(folder))
        wrong = problems(case, outcome, options.scale)
        failed += bool(wrong)
        coverage = outcome.report.get("coverage", {})
        notes = coverage.get("notes", []) if isinstance(coverage, dict) else []
        said = "; ".join(str(note)[:90] for note in notes[:2]).replace(folder, "")
        print(
            f"| {case.what} | {outcome.size / 1e6:,.1f} MB | {outcome.seconds:.1f} s | {outcome.memory:.0f} MiB "
            f"| {outcome.report.get('verdict')} | {said} |", flush=True,
        )  # fmt: skip
        for problem in wrong:
            print(f"  {case.name}: {problem}", file=sys.stderr, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
