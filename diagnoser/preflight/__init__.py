"""Checks a deployment before it is launched, and the same guards as a library.

    report = check(["--", "vllm", "serve", "/srv/models/m", "--tensor-parallel-size", "7"])
    [finding.title for finding in report.findings if finding.status == "error"]

The library part raises PreflightError with every problem, never a bare assertion:

    MooncakeConfig.from_env().autofill().validate()
    MoEWorkerValidator("/srv/models/m", tp=8).validate()
    expert_owner(86, num_experts=256, ep_size=3)    # (1, 0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diagnoser.errors import PreflightError

if TYPE_CHECKING:
    from diagnoser.preflight.deployment import Deployment
    from diagnoser.preflight.experts import check_moe_worker_invariants, expert_owner, safe_expert_dispatch
    from diagnoser.preflight.model_config import ModelConfig, read_model_config
    from diagnoser.preflight.moe_config import MoEModelConfig, read_moe_config
    from diagnoser.preflight.moe_validator import MoEWorkerValidator, validate_moe_tp_config
    from diagnoser.preflight.mooncake_config import MooncakeConfig, assert_mooncake_ready
    from diagnoser.preflight.running import check, run

__all__ = [
    "Deployment",
    "MoEModelConfig",
    "MoEWorkerValidator",
    "ModelConfig",
    "MooncakeConfig",
    "PreflightError",
    "assert_mooncake_ready",
    "check",
    "check_moe_worker_invariants",
    "expert_owner",
    "read_model_config",
    "read_moe_config",
    "run",
    "safe_expert_dispatch",
    "validate_moe_tp_config",
]

_WHERE = {
    "Deployment": "deployment",
    "MoEModelConfig": "moe_config",
    "MoEWorkerValidator": "moe_validator",
    "ModelConfig": "model_config",
    "MooncakeConfig": "mooncake_config",
    "assert_mooncake_ready": "mooncake_config",
    "check": "running",
    "check_moe_worker_invariants": "experts",
    "expert_owner": "experts",
    "read_model_config": "model_config",
    "read_moe_config": "moe_config",
    "run": "running",
    "safe_expert_dispatch": "experts",
    "validate_moe_tp_config": "moe_validator",
}


def __getattr__(name: str) -> Any:
    """Loads a name's module when it is first asked for, so that importing the package stays cheap."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
