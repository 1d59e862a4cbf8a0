"""GPUs and driver, as `nvidia-smi` tells of them where it exists."""

from __future__ import annotations

import re
import shutil

from diagnoser.records import NamedTuple


class Gpu(NamedTuple):
    """One GPU as `nvidia-smi` reports it."""

    name: str
    memory: int
    """Bytes."""
    free: int
    capability: str = ""
    """Compute capability, for example `9.0`."""


def gpus_and_driver() -> tuple[tuple[Gpu, ...] | None, str | None, str | None]:
    """GPUs, driver version and the newest CUDA version that the driver supports."""
    if not shutil.which("nvidia-smi"):
        return None, None, None
    table = _ask_nvidia(
        "--query-gpu=name,memory.total,memory.free,compute_cap,driver_version", "--format=csv,noheader,nounits"
    )
    gpus: list[Gpu] = []
    driver = None
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 5 and cells[1].isdigit() and cells[2].isdigit():
            gpus.append(Gpu(cells[0], int(cells[1]) << 20, int(cells[2]) << 20, cells[3]))
            driver = cells[4]
    cuda = re.search(r"CUDA Version:\s*(\d+\.\d+)", _ask_nvidia())
    return tuple(gpus), driver, cuda[1] if cuda else None


def _ask_nvidia(*arguments: str) -> str:
    import subprocess

    try:
        return subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
