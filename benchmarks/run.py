"""Every figure of docs/performance.md, from one command: `python benchmarks/run.py [--quick]`.

Makes its logs in a temporary folder, runs each tool in turn on the same input, and prints medians, ratios and peak
memory. Tools that are not installed are left out. ripgrep gets the same trigger texts, save the twelve that begin with
a newline, which it can't take as fixed strings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from pathlib import Path

import logs
from measure import Command, Figures, compare

from diagnoser.sources.triggers import LITERALS

READER = """
import sys
from diagnoser.sources import open_sources
from diagnoser.sources.limits import DEFAULT_SETTINGS
threads = int(sys.argv[1])
sources, _ = open_sources(sys.argv[2:], settings=DEFAULT_SETTINGS._replace(threads=threads))
for source in sources:
    for _ in source.lines():
        pass
"""
LINE_LOOP = "import sys\nn = 0\nfor line in open(sys.argv[1], 'rb'):\n    n += b'ERROR' in line\n"
MIB = 1024 * 1024


class Bench:
    """The inputs, the tools and the results."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.size = (options.mib or (64 if options.quick else 1024)) * MIB
        self.runs = options.runs or (3 if options.quick else 5)
        self.results: dict[str, list[Figures]] = {}
        self.rg = shutil.which(options.rg)
        self.literals = folder / "literals.txt"
        self.literals.write_bytes(b"".join(text + b"\n" for text in LITERALS if b"\n" not in text))
        self._made: dict[str, Path] = {}

    def diagnose(self, *arguments: object, **options: object) -> Command:
        return Command("diagnose", (sys.executable, "-m", "diagnoser", *map(str, arguments)), **options)  # type: ignore[arg-type]

    def reader(self, threads: int, *arguments: object, **options: object) -> Command:
        argv = (sys.executable, "-c", READER, str(threads), *map(str, arguments))
        return Command(f"reader, {threads} thread{'s' * (threads > 1)}", argv, **options)  # type: ignore[arg-type]

    def ripgrep(self, *arguments: object, **options: object) -> list[Command]:
        """ripgrep with the trigger texts."""
        if self.rg is None:
            return []
        argv = (self.rg, "-c", "-a", "-F", "-f", str(self.literals), *map(str, arguments))
        return [Command("rg", argv, **options)]  # type: ignore[arg-type]

    def others(self, path: Path) -> list[Command]:
        """Tools that people reach for first."""
        found = [
            Command("grep -c ERROR", ("grep", "-c", "ERROR", str(path))),
            Command("wc -l", ("wc", "-l", str(path))),
        ]
        found.append(Command("Python line loop", (sys.executable, "-c", LINE_LOOP, str(path))))
        if lnav := shutil.which("lnav"):
            found.append(Command("lnav", (lnav, "-n", "-c", ":filter-in ERROR", str(path))))
        return [command for command in found if shutil.which(command.argv[0])]

    def file(self, name: str, make: Callable[[Path], object]) -> Path:
        """A log, made when it is first asked for."""
        if name not in self._made:
            self._made[name] = self.folder / name
            apart(lambda: make(self._made[name]))
        return self._made[name]

    def healthy(self) -> Path:
        return self.file("healthy.log", lambda path: logs.write_repeated(path, logs.healthy_block(), self.size))

    def report(self, case: str, commands: Iterable[Command]) -> None:
        """Measure and print one case."""
        figures = self.results[case] = compare(list(commands), self.runs)
        print(f"\n{case}")
        for tool, wall, cpu, peak, ratio, cpu_ratio, _ in figures:
            print(f"  {tool:20} {wall:9.3f} s  cpu {cpu:8.3f} s  {peak:8.1f} MiB  {ratio:6.2f} x  {cpu_ratio:6.2f} x")
        sys.stdout.flush()


def apart(work: Callable[[], object]) -> None:
    """Do it in a child process, so that this one stays small: a child's peak memory counts that of its parent."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("a log could not be made")


def lines_file(lines: Iterable[str]) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(line + "\n" for line in lines)

    return make


def case_healthy(b: Bench) -> None:
    path = b.healthy()
    b.report(
        "healthy file", [*b.ripgrep(path), b.reader(2, path), b.reader(1, path), b.diagnose(path), *b.others(path)]
    )
    one = [command._replace(cores=1) for command in (*b.ripgrep(path), b.reader(1, path), b.diagnose(path))]
    b.report("healthy file, one processor", one)


def case_pipe(b: Bench) -> None:
    path = b.healthy()
    options = {"stdin": path, "pipe": True}
    b.report("through a pipe", [*b.ripgrep("-", **options), b.reader(1, "-", **options), b.diagnose("-", **options)])
    b.report("redirected", [*b.ripgrep("-", stdin=path), b.reader(2, "-", stdin=path), b.diagnose("-", stdin=path)])


def case_run(b: Bench) -> None:
    path = b.healthy()
    plain = Command("cat | cat", ("sh", "-c", f"cat '{path}' | cat"))
    b.report("diagnose run -- cat, passed through", [plain, b.diagnose("run", "--", "cat", path)])


def case_crash(b: Bench) -> None:
    make = lambda path: logs.write_repeated(path, logs.healthy_block(), b.size, logs.crash_text())  # noqa: E731
    path = b.file("crash.log", make)
    b.report("a crash near the end", [*b.ripgrep("-n", path), b.reader(2, path), b.diagnose(path)])


def case_forms(b: Bench) -> None:
    for name, block in (("ANSI colors", {"color": True}), ("CRLF", {"end": "\r\n"})):
        make = lambda path, block=block: logs.write_repeated(path, logs.healthy_block(**block), b.size)  # noqa: E731
        path = b.file(f"{name.split()[0].lower()}.log", make)
        b.report(name, [*b.ripgrep(path), b.reader(2, path), b.reader(1, path), b.diagnose(path)])
        path.unlink()


def case_compressed(b: Bench) -> None:
    plain = b.file("quarter.log", lambda path: logs.write_repeated(path, logs.healthy_block(), b.size // 4))

    def gz(path: Path) -> None:
        with plain.open("rb") as source, gzip.open(path, "wb", 6) as target:
            shutil.copyfileobj(source, target, MIB)

    def zst(path: Path) -> None:
        from backports import zstd

        with plain.open("rb") as source, zstd.open(path, "wb") as target:
            shutil.copyfileobj(source, target, MIB)

    for name, make in ((".gz", gz), (".zst", zst)):
        path = b.file(f"quarter.log{name}", make)
        b.report(f"{name} of {b.size // 4 // MIB} MiB", [*b.ripgrep("-z", path), b.reader(1, path), b.diagnose(path)])


def case_dense(b: Bench) -> None:
    size = b.size // 16
    for name, lines in (
        ("10 % ERROR lines", logs.mixed(size, 0.1)),
        ("all ERROR lines", logs.mixed(size, 1.0)),
        ("a flood of one line", repeat(logs.Fleet(23).error(), size // 100)),
        ("a flood of one traceback", chain.from_iterable(repeat(logs.Fleet(29).traceback("Worker_TP0"), size // 4000))),
        ("64 workers interleaved", logs.interleaved(size)),
        ("1000 tracebacks", logs.tracebacks(1000)),
    ):
        path = b.file(f"{name.replace(' ', '-').replace('%', 'percent')}.log", lines_file(lines))
        with path.open("rb") as file:
            count = sum(1 for _ in file)
        b.report(f"{name}, {count} lines", [*b.ripgrep(path), b.reader(1, path), b.diagnose(path)])
        for tool, _, cpu, *_ in b.results[f"{name}, {count} lines"]:
            print(f"  {tool:20} {count / cpu:12,.0f} lines per second of processor time")


def fill(folder: Path, count: int, size: int) -> None:
    block = logs.healthy_block(size=MIB)
    for number in range(count):
        logs.write_repeated(folder / f"worker-{number}.log", block, size)


def case_many(b: Bench) -> None:
    folder = b.folder / "many"
    folder.mkdir()
    apart(lambda: fill(folder, 1000, b.size // 4000))
    b.report("1000 small files", [*b.ripgrep("-j2", folder), b.reader(2, folder), b.diagnose(folder)])
    shutil.rmtree(folder)
    folder.mkdir()
    apart(lambda: fill(folder, 64, b.size // 32))
    b.report("64 files", [*b.ripgrep("-j2", folder), b.reader(2, folder), b.diagnose(folder)])
    shutil.rmtree(folder)


def case_small(b: Bench) -> None:
    def make(path: Path) -> None:
        logs.write_repeated(path, logs.healthy_block(size=MIB), 24_000)
        path.write_bytes(path.read_bytes() + logs.crash_text())

    path = b.file("small.log", make)
    start = Command("python -c pass", (sys.executable, "-c", "pass"))
    cases = [
        b.reader(1, path),
        b.diagnose(path),
        b.diagnose("--format", "json", path),
        b.diagnose("--version"),
        b.diagnose("--help"),
    ]
    names = ["reader", "diagnose", "diagnose, JSON", "--version", "--help"]
    b.report(
        "one small file with a crash", [start, *(c._replace(tool=name) for c, name in zip(cases, names, strict=True))]
    )


def case_growth(b: Bench) -> None:
    if not b.options.growth:
        return
    path = b.folder / "growth.log"
    for mib in (1, 16, 128, 1024, 10240):
        size = mib * MIB
        apart(lambda size=size: logs.write_repeated(path, logs.healthy_block(), size))
        b.report(f"growth: {mib} MiB", [*b.ripgrep(path), b.diagnose(path)])
        path.unlink()
    for count in (1, 10, 100, 1000, 10_000):
        folder = b.folder / "growth"
        folder.mkdir()
        apart(lambda folder=folder, count=count: fill(folder, count, 20_000))
        b.report(f"growth: {count} files of 20 kB", [*b.ripgrep(folder), b.diagnose(folder)])
        shutil.rmtree(folder)


CASES = {
    "healthy": case_healthy, "pipe": case_pipe, "run": case_run, "crash": case_crash, "forms": case_forms,
    "compressed": case_compressed, "dense": case_dense, "many": case_many, "small": case_small, "growth": case_growth,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="64 MiB instead of 1 GiB, 3 runs instead of 5")
    parser.add_argument("--mib", type=int, help="size of the large logs")
    parser.add_argument("--runs", type=int, help="runs of each command")
    parser.add_argument("--only", choices=CASES, action="append", help="these cases only")
    parser.add_argument("--growth", action="store_true", help="growth curves too: up to 10 GiB and 10,000 files")
    parser.add_argument("--rg", default="rg", help="the ripgrep to compare with")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--markdown", type=Path, help="write the tables of docs/performance.md to this file")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        print(f"{platform.platform()}, {cores} processors, Python {platform.python_version()}")
        print("the last columns: speed by wall and by processor time; above 1 is faster than the first row")
        for name in options.only or CASES:
            CASES[name](bench)
    if options.json:
        options.json.write_text(
            json.dumps({case: [f._asdict() for f in rows] for case, rows in bench.results.items()}, indent=1)
        )
    if options.markdown:
        options.markdown.write_text("\n".join(markdown(bench.results)) + "\n")


def markdown(results: dict[str, list[Figures]]) -> Iterable[str]:
    """One table over all cases; the tool in the first row of a case is the reference of its ratios."""
    yield "| case | tool | wall, s | processor, s | peak, MiB | speed by wall time | by processor time |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for case, figures in results.items():
        for place, (tool, wall, cpu, peak, ratio, cpu_ratio, _) in enumerate(figures):
            name = "" if place else case
            yield f"| {name} | {tool} | {wall:.3f} | {cpu:.3f} | {peak:.1f} | {ratio:.2f} x | {cpu_ratio:.2f} x |"


if __name__ == "__main__":
    main()
