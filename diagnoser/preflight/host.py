"""`Host`: what this machine is like, read once, so that checks of it can be tested without one.

Nothing is changed and nothing is contacted; `nvidia-smi` is asked where it exists.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping

from diagnoser.preflight.nvidia import Gpu, gpus_and_driver
from diagnoser.preflight.packages import MODULES, has_module, installed_versions, required_ranges
from diagnoser.records import NamedTuple


class Host(NamedTuple):
    """This machine. None stands for what could not be found out."""

    shm_bytes: int | None = None
    open_files: int | None = None
    """Soft limit of open files."""
    locked_memory: int | None = None
    """Soft limit of locked memory in bytes; -1 for no limit."""
    interfaces: tuple[str, ...] = ()
    home: str | None = None
    home_writable: bool | None = None
    cache: str | None = None
    cache_writable: bool | None = None
    cache_free: int | None = None
    """Bytes free where models are kept."""
    versions: Mapping[str, str] = {}
    """Installed packages, by name."""
    requirements: Mapping[str, str] = {}
    """Version ranges that the installed vLLM asks for, by package."""
    python: str = ""
    compiler: str | None = None
    python_headers: bool | None = None
    gpus: tuple[Gpu, ...] | None = None
    """None where `nvidia-smi` does not exist or answers."""
    driver: str | None = None
    driver_cuda: str | None = None
    """Newest CUDA version that the driver supports."""
    memory: int | None = None
    """Bytes of main memory that this process may use, its control group's limit included."""
    numa_nodes: int | None = None
    rdma_devices: tuple[str, ...] | None = None
    mooncake_importable: bool | None = None
    modules: tuple[str, ...] = ()
    """Python modules that were looked for and found."""
    peer_memory: bool | None = None
    """Whether the kernel lets RDMA cards reach GPU memory through nvidia-peermem."""
    user: str | None = None
    """Name of the user; None when the user id has no entry in the password file."""


def read_host(environment: Mapping[str, str]) -> Host:
    """This machine as a server started here with this environment would find it."""
    home = environment.get("HOME") or os.path.expanduser("~")
    cache = environment.get("HF_HUB_CACHE") or environment.get("HF_HOME") or os.path.join(home, ".cache")
    gpus, driver, cuda = gpus_and_driver()
    versions = installed_versions()
    return Host(
        shm_bytes=_disk("/dev/shm", total=True),
        open_files=_limit("RLIMIT_NOFILE"),
        locked_memory=_limit("RLIMIT_MEMLOCK"),
        interfaces=_interfaces(),
        home=home,
        home_writable=_writable(home),
        cache=cache,
        cache_writable=_writable(cache),
        cache_free=_disk(_existing(cache), total=False),
        versions=versions,
        requirements=required_ranges(versions),
        python=".".join(map(str, sys.version_info[:3])),
        compiler=_compiler(environment),
        python_headers=_headers(),
        gpus=gpus,
        driver=driver,
        driver_cuda=cuda,
        memory=_memory(),
        numa_nodes=_numa(),
        rdma_devices=_rdma(),
        mooncake_importable=has_module("mooncake"),
        modules=tuple(name for name in MODULES if has_module(name)),
        peer_memory=_peer_memory(),
        user=_user(),
    )


def serves_here(environment: Mapping[str, str]) -> bool:
    """Whether this machine looks like one that serves: vLLM is installed, or there is an NVIDIA driver."""
    return bool(shutil.which("vllm", path=environment.get("PATH")) or shutil.which("nvidia-smi") or has_module("vllm"))


def _existing(path: str) -> str:
    """The nearest folder above that exists."""
    while path and not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return path or "/"


def _writable(path: str) -> bool:
    return os.access(_existing(path), os.W_OK)


def _disk(path: str, *, total: bool) -> int | None:
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return usage.total if total else usage.free


def _limit(name: str) -> int | None:
    try:
        import resource

        return int(resource.getrlimit(getattr(resource, name))[0])
    except (ImportError, AttributeError, OSError, ValueError):
        return None


def _interfaces() -> tuple[str, ...]:
    import socket

    try:
        return tuple(name for _, name in socket.if_nameindex())
    except (AttributeError, OSError):
        return ()


def _compiler(environment: Mapping[str, str]) -> str | None:
    chosen = environment.get("CC")
    names = (chosen,) if chosen else ("cc", "gcc", "clang")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def _headers() -> bool:
    import sysconfig

    return os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h"))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return ""


def _memory() -> int | None:
    found = re.search(r"MemTotal:\s+(\d+) kB", _read("/proc/meminfo"))
    total = int(found[1]) << 10 if found else None
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _read(path).strip()
        if text.isdigit() and total is not None:
            return min(total, int(text))
    return total


def _numa() -> int | None:
    try:
        names = os.listdir("/sys/devices/system/node")
    except OSError:
        return None
    return sum(1 for name in names if re.fullmatch(r"node\d+", name)) or None


def _rdma() -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir("/sys/class/infiniband")))
    except OSError:
        return ()


def _peer_memory() -> bool | None:
    loaded = _read("/proc/modules")
    return bool(re.search(r"^(nvidia_peermem|nv_peer_mem) ", loaded, re.MULTILINE)) if loaded else None


def _user() -> str | None:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return None
