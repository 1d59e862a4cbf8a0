"""Runs a fuzz target with atheris, which watches the coverage of the package and keeps inputs that reach new code.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris -e '.[dev]'
    /tmp/fuzz/bin/python tests/fuzz/run.py envelopes --seconds 3600
    /tmp/fuzz/bin/python tests/fuzz/run.py all --seconds 3600 --jobs 2

Found inputs are written to `--out` (a temporary folder unless given); each deserves a small seed in `seeds/found/`,
which the test suite replays. Everything runs at the lowest priority, `--jobs` targets at once. Where they are more than
the processors, each gets a part of one; the processor time that a target had is printed with its executions.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
TARGET_NAMES = (
    "envelopes", "parsers", "sources", "archives", "pipeline", "rules", "templates", "redaction", "facts", "check",
)  # fmt: skip
SLOWEST_INPUT = 10
"""Seconds after which one input counts as a hang, where each target has a processor of its own."""


def main() -> int:
    """0 when no target found anything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="+", choices=(*TARGET_NAMES, "all"))
    parser.add_argument("--seconds", type=int, default=600, help="per target")
    parser.add_argument("--jobs", type=int, default=1, help="targets that run at once")
    parser.add_argument("--out", help="folder for the corpus and found inputs")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    out = Path(options.out or tempfile.mkdtemp(prefix="diagnoser-fuzz-"))
    if options.inside:
        return inside(options.targets[0], options.seconds, options.jobs, out)
    names = TARGET_NAMES if "all" in options.targets else tuple(options.targets)
    with ThreadPoolExecutor(options.jobs) as pool:
        return max(pool.map(lambda name: supervise(name, options.seconds, options.jobs, out), names))


def supervise(name: str, seconds: int, jobs: int, out: Path) -> int:
    """Runs one target in a process of its own and prints what came of it."""
    out.mkdir(parents=True, exist_ok=True)
    log = out / f"{name}.log"
    command = [sys.executable, str(Path(__file__)), name, "--inside", "--seconds", str(seconds), "--jobs", str(jobs)]
    with log.open("wb") as stream:
        process = subprocess.Popen([*command, "--out", str(out)], stdout=stream, stderr=subprocess.STDOUT)
        _, waited, used = os.wait4(process.pid, 0)
        status = process.returncode = os.waitstatus_to_exitcode(waited)
    text = log.read_text("utf-8", "replace")
    done = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", text, re.MULTILINE)
    executions = done[-1] if done else (re.findall(r"^#(\d+)", text, re.MULTILINE) or ["0"])[-1]
    found = sorted(path.name for path in out.glob(f"{name}-crash-*")) + sorted(
        path.name for path in out.glob(f"{name}-timeout-*")
    )
    print(
        f"{name}: {executions} executions in {used.ru_utime + used.ru_stime:.0f} s of processor time, "
        f"{'nothing found' if not found and not status else found or 'failed'}",
        flush=True,
    )
    return int(bool(found) or status != 0)


def inside(name: str, seconds: int, jobs: int, out: Path) -> int:
    """The fuzzing process itself."""
    import atheris

    os.nice(19)
    with atheris.instrument_imports(include=["diagnoser"]):
        sys.path[:0] = [str(HERE), str(HERE.parents[1])]
        from targets import TARGETS

        import_everything()  # what is imported later, inside a function, would not be watched

    corpus = out / f"{name}-corpus"
    corpus.mkdir(exist_ok=True)
    seeds = [str(folder) for folder in (HERE / "seeds" / name, HERE / "seeds" / "found" / name) if folder.is_dir()]
    dictionary = HERE / "words.dict"
    slowest = SLOWEST_INPUT * max(1, 2 * jobs // (os.cpu_count() or 1))
    arguments = [
        sys.argv[0], str(corpus), *seeds, f"-max_total_time={seconds}", f"-timeout={slowest}", "-max_len=6000",
        f"-artifact_prefix={out}/{name}-", f"-dict={dictionary}", "-print_final_stats=1", "-rss_limit_mb=2048",
    ]  # fmt: skip
    target = TARGETS[name]
    atheris.Setup(arguments, lambda data: target(bytes(data)))
    atheris.Fuzz()
    return 0


def import_everything() -> None:
    """Imports every module of the package."""
    import diagnoser

    for module in pkgutil.walk_packages(diagnoser.__path__, "diagnoser."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    sys.exit(main())
