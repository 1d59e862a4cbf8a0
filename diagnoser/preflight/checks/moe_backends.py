"""All-to-all backends of expert parallelism: their packages and their limits."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case, step
from diagnoser.preflight.findings import error, ok, skipped

PACKAGES = {
    "deepep_high_throughput": "deep_ep",
    "deepep_low_latency": "deep_ep",
    "deepep_v2": "deep_ep",
    "moonep": "moonep",
}
"""Backend: the Python module that it imports."""
_NODE = 8
"""Ranks of one NVLink domain that DeepEP's normal kernels are made for (DeepEP: csrc/deep_ep.cpp)."""


def check_package(case: Case) -> Iterator[Finding]:
    """The backend's module, on the serving machine."""
    backend = case.deployment.text("all2all_backend")
    if backend not in PACKAGES or not case.deployment.expert_parallel:
        return
    name, module = "moe-backend-package", PACKAGES[backend]
    if case.host is None:
        yield skipped(name, f"{module} for --all2all-backend {backend}", NO_HOST)
    elif module in case.host.modules:
        yield ok(name, f"{module} is installed for {backend}")
    else:
        yield error(
            name,
            "moe-all2all-package-missing",
            f"{module} is not installed, and --all2all-backend {backend} needs it",
            "vLLM does not bring it along.",
            {"all2all_backend": backend},
            [
                step(case, "Use the backend that comes with vLLM.", all2all_backend="allgather_reducescatter"),
                Remedy("Or install it.", f"python3 -c 'import {module}'"),
            ],
        )


def check_ranks(case: Case) -> Iterator[Finding]:
    """DeepEP takes up to 8 ranks, or whole nodes of 8; and a hidden size of whole 128s."""
    backend = case.deployment.text("all2all_backend") or ""
    if not backend.startswith("deepep") or not case.deployment.expert_parallel:
        return
    ranks, hidden = case.deployment.ep, case.moe.hidden_size if case.moe is not None else None
    inputs = {"all2all_backend": backend, "hidden_size": hidden, **case.deployment.parallel_inputs}
    if ranks > _NODE and ranks % _NODE:
        yield error(
            "moe-backend-limits",
            "moe-deepep-limits",
            f"DeepEP takes up to {_NODE} ranks or a multiple of {_NODE}; there are {ranks}",
            "Its buffers are laid out by whole nodes.",
            inputs,
            [f"Use TP x DP of {ranks // _NODE * _NODE} or {(ranks // _NODE + 1) * _NODE}."],
        )
    elif hidden and hidden % 128:
        yield error(
            "moe-backend-limits",
            "moe-deepep-limits",
            f"DeepEP needs a hidden size of whole 128s; this model has {hidden}",
            "It moves tokens in blocks of 128 values.",
            inputs,
            [step(case, "Use the backend that comes with vLLM.", all2all_backend="allgather_reducescatter")],
        )
    else:
        yield ok("moe-backend-limits", f"{ranks} ranks suit DeepEP", inputs)


CHECKS = (check_package, check_ranks)
