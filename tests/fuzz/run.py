"""Runs a fuzz target with atheris, which watches the coverage of the package and keeps inputs that reach new code.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris -e '.[dev]'
    /tmp/fuzz/bin/python tests/fuzz/run.py envelopes --seconds 3600
    /tmp/fuzz/bin/python tests/fuzz/run.py all --seconds 3600

Found inputs are written to `--out` (a temporary folder unless given); each deserves a small seed in `seeds/found/`,
which the test suite replays. Everything runs at the lowest priority, one target after the other.
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
from pathlib import Path

HERE = Path(__file__).parent
TARGET_NAMES = (
    "envelopes", "parsers", "sources", "archives", "pipeline", "rules", "templates", "redaction", "facts", "check",
)  # fmt: skip
SLOWEST_INPUT = 10
"""Seconds after which one input counts as a hang."""


def main() -> int:
    """0 when no target found anything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("target", choices=(*TARGET_NAMES, "all"))
    parser.add_argument("--seconds", type=int, default=600, help="per target")
    parser.add_argument("--out", help="folder for the corpus and found inputs")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    out = Path(options.out or tempfile.mkdtemp(prefix="diagnoser-fuzz-"))
    if options.inside:
        return inside(options.target, options.seconds, out)
    names = TARGET_NAMES if options.target == "all" else (options.target,)
    return max([supervise(name, options.seconds, out) for name in names])


def supervise(name: str, seconds: int, out: Path) -> int:
    """Runs one target in a process of its own and prints what came of it."""
    out.mkdir(parents=True, exist_ok=True)
    log = out / f"{name}.log"
    command = [sys.executable, str(Path(__file__)), name, "--inside", "--seconds", str(seconds), "--out", str(out)]
    with log.open("wb") as stream:
        status = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text("utf-8", "replace")
    done = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", text, re.MULTILINE)
    executions = done[-1] if done else (re.findall(r"^#(\d+)", text, re.MULTILINE) or ["0"])[-1]
    found = sorted(path.name for path in out.glob(f"{name}-crash-*")) + sorted(
        path.name for path in out.glob(f"{name}-timeout-*")
    )
    print(
        f"{name}: {executions} executions, {'nothing found' if not found and not status else found or 'failed'}",
        flush=True,
    )
    return int(bool(found) or status != 0)


def inside(name: str, seconds: int, out: Path) -> int:
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
    arguments = [
        sys.argv[0], str(corpus), *seeds, f"-max_total_time={seconds}", f"-timeout={SLOWEST_INPUT}", "-max_len=6000",
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
