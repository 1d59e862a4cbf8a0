"""A folder in which the commands of the documentation run: the real `diagnose`, and stand-ins for what is around it.

Commands that install something or run the whole test suite are stand-ins here too; `.ci/first-steps` runs them for
real, in a fresh clone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LOG = ROOT / "samples/kv-heads-tp3/worker.log"
STAND_INS = (
    "docker", "git", "helm", "journalctl", "kubectl", "mkdocs", "pipx", "podman", "pre-commit", "ray", "sbatch", "srun",
    "stern", "sudo", "systemctl", "uvx", "vllm",
)  # fmt: skip
LOGS = (
    "worker.log",
    "crash.log",
    "vllm.log",
    "old.log",
    "new.log",
    "before.log",
    "after.log",
    "rank0.log",
    "rank1.log",
)
"""Files that pages speak of; each holds the sample log."""
_INSTALLS = '#!/usr/bin/env bash\ncase "$*" in "-m venv"*|"-m pytest"*|"-m pip"*) exit 0 ;; esac\nexec {} "$@"\n'
_FAILED = 'set -uo pipefail; set -E; trap \'echo "$? $LINENO $BASH_COMMAND" >> "$FAILURES"\' ERR\n'
_COMPLAINTS = ("diagnose: ", "Usage: ", "bash: ", "Traceback ")
WRONG = {2, 126, 127}
"""Statuses of a command that was called wrongly or does not exist."""


class Outcome(NamedTuple):
    """What a script printed and which of its commands went wrong."""

    stdout: str
    stderr: str
    wrong: list[str]


def make(folder: Path) -> Path:
    """Fills an empty folder and returns it."""
    for name in ("samples", "rules", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    for name in LOGS:
        shutil.copy(LOG, folder / name)
    (folder / "logs").mkdir()
    shutil.copy(LOG, folder / "logs" / "worker.log")
    (folder / ".ci").mkdir()
    for name in ("run", "wheel"):
        _executable(folder / ".ci" / name, "#!/bin/sh\n")
    for place in (folder / "bin", folder / ".venv" / "bin"):
        place.mkdir(parents=True)
        for name in ("diagnose", "kubectl-diagnose"):
            (place / name).symlink_to(BIN / name)
        for name in STAND_INS:
            _executable(place / name, (Path(__file__).parent / "stand_in.sh").read_text())
        for name in ("python", "python3"):
            _executable(place / name, _INSTALLS.format(sys.executable))
        for name in ("mypy", "pip", "pytest", "ruff"):
            _executable(place / name, "#!/bin/sh\n")
    return folder


def run(script: str, folder: Path) -> Outcome:
    """Runs a script of bash in the folder, with nothing to read from standard input and no colours."""
    failures = folder / ".failures"
    failures.write_text("")
    environment = {
        "PATH": os.pathsep.join([str(folder / "bin"), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "FAILURES": str(failures),
        "DIAGNOSER_CACHE": str(folder / ".cache"),
        "MODEL": "/srv/models/heron-12b",
        "POD": "vllm-0",
    }
    done = subprocess.run(
        ["bash", "-c", _FAILED + script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    lines = failures.read_text().split("\n")
    wrong = [line for line in lines if (found := re.match(r"\d+", line)) and int(found[0]) in WRONG]
    wrong += [line for line in done.stderr.split("\n") if line.startswith(_COMPLAINTS)]
    return Outcome(done.stdout, done.stderr, wrong)


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
