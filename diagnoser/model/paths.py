"""Paths as reports show them."""

from __future__ import annotations

_PACKAGE_ROOTS = ("site-packages/", "dist-packages/")
_CHECKOUT_PACKAGES = (
    "vllm",
    "mooncake",
    "torch",
    "ray",
    "sglang",
    "lmcache",
    "transformers",
    "triton",
    "deep_gemm",
    "deep_ep",
    "flashinfer",
)


def short_path(path: str) -> str:
    """The path as reports show it: from the package on, inside site-packages, dist-packages or a source checkout."""
    slashed = path.replace("\\", "/")
    for root in _PACKAGE_ROOTS:
        at = slashed.rfind(root)
        if at >= 0:
            return slashed[at + len(root) :]
    if slashed.startswith("/"):
        for package in _CHECKOUT_PACKAGES:
            at = slashed.find(f"/{package}/{package}/")
            if at >= 0:
                return slashed[at + len(package) + 2 :]
            at = slashed.find(f"/{package}/")
            if at >= 0 and "/lib/python" not in slashed:
                return slashed[at + 1 :]
    return path
