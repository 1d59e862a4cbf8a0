"""What `diagnose run` costs a command that prints much: 1 GiB of log through it, against `cat` in the same place.

    python benchmarks/pass_through.py [--mib 1024] [--runs 5]

Prints the best wall time of each, its processor time in all processes together, and bytes per second. The best is
taken, not the median: whatever else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = b"(EngineCore pid=4001) INFO 03-14 10:20:30 [loggers.py:9] Engine 000: Avg prompt throughput: 12.0 tokens/s\n"
PLACES = (
    ("to /dev/null", "{producer} | cat > /dev/null", "{run} -- {producer} > /dev/null"),
    ("to a pipe", "{producer} | cat | cat > /dev/null", "{run} -- {producer} | cat > /dev/null"),
    ("to a file", "{producer} | cat > {target}", "{run} -- {producer} > {target}"),
)


def once(script: str) -> tuple[float, float]:
    """Wall and processor seconds of a script."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(["bash", "-c", script], check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, used


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    size = options.mib * 1024 * 1024
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        log, target = Path(folder) / "log", Path(folder) / "target"
        block = LINE * (4 * 1024 * 1024 // len(LINE))
        with log.open("wb") as file:
            for _ in range(-(-size // len(block))):
                file.write(block)
        words = {"producer": f"cat {log}", "run": f"{sys.executable} -m diagnoser run", "target": target}
        print(f"{log.stat().st_size / 1e9:.2f} GB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        for place, *scripts in PLACES:
            for name, script in zip(("cat", "run"), scripts, strict=True):
                found = [once(script.format(**words)) for _ in range(options.runs)]
                wall, used = min(wall for wall, _ in found), min(used for _, used in found)
                rate = log.stat().st_size / wall / 1e9
                print(f"{place:14} {name:4} {wall:6.2f} s  {used:6.2f} s of processors  {rate:5.2f} GB/s")


if __name__ == "__main__":
    main()
