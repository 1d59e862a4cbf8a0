"""`MoEWorkerValidator`: the MoE and parallelism checks as one call that raises, for services and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.errors import PreflightError
from diagnoser.model import Finding
from diagnoser.preflight.case import Case, Engine
from diagnoser.preflight.deployment import Deployment, Platform
from diagnoser.preflight.model_config import ModelConfig, read_model_config
from diagnoser.preflight.moe_config import MoEModelConfig, moe_of
from diagnoser.preflight.numbers import divisors, in_words

_SUBJECTS = ("parallel", "moe", "quantization")
"""Subjects, each with its parts, that the model and the sizes suffice for."""


def validate_moe_tp_config(num_experts: int, group_size: int | None, tp: int) -> None:
    """Checks the split of an engine that gives whole groups of experts to tensor-parallel ranks.

    vLLM is not such an engine: without expert parallelism it cuts the width of every expert instead, and takes any
    number of experts. Use `MoEWorkerValidator` for what vLLM demands.

    Raises PreflightError with every problem and the sizes that would work.
    """
    problems: list[str] = []
    for name, value in (("num_experts", num_experts), ("group_size", group_size), ("tp", tp)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            problems.append(f"{name} is {value!r}, expected a positive whole number.")
    if problems:
        raise PreflightError(problems)
    group = group_size or 1
    fitting = [size for size in divisors(num_experts) if (num_experts // size) % group == 0]
    advice = f" TP {in_words(fitting)} would work." if fitting else ""
    if num_experts % tp:
        problems.append(f"{num_experts} experts do not divide over TP {tp}.{advice}")
    elif (num_experts // tp) % group:
        problems.append(
            f"{num_experts // tp} experts per rank are no whole number of groups of {group} ({num_experts} experts, "
            f"TP {tp}).{advice}"
        )
    if num_experts % group:
        problems.append(f"{num_experts} experts do not form whole groups of {group}.")
    if problems:
        raise PreflightError(problems)


class MoEWorkerValidator:
    """Says whether a model's experts and shapes fit the parallel sizes.

    `config` is the parsed config.json, its path or folder, or a MoEModelConfig. With engine `vllm` vLLM's own rules
    apply. A config that names an `expert_group_size`, which no model of vLLM reads, is held to the grouping rule of
    `validate_moe_tp_config` too; engine `generic` applies that rule to every config.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | str | ModelConfig | MoEModelConfig,
        tp: int = 1,
        *,
        pp: int = 1,
        dp: int = 1,
        expert_parallel: bool = False,
        eplb: bool = False,
        redundant_experts: int = 0,
        platform: Platform | None = None,
        engine: Engine = "vllm",
        vllm_version: str | None = None,
    ) -> None:
        self._engine: Engine = engine
        self._sizes = {"tp": tp, "pp": pp, "dp": dp}
        self.model: ModelConfig | None = None
        if isinstance(config, MoEModelConfig):
            self.moe = config
        else:
            self.model = _model(config)
            self.moe = moe_of(self.model)
        options: dict[str, Any] = {
            "tensor_parallel_size": tp,
            "pipeline_parallel_size": pp,
            "data_parallel_size": dp,
            "enable_expert_parallel": expert_parallel,
            "enable_eplb": eplb,
            "eplb_config": {"num_redundant_experts": redundant_experts},
        }
        self.deployment = Deployment("the call", options=options, platform=platform, vllm_version=vllm_version)

    def findings(self) -> tuple[Finding, ...]:
        """Results of the checks of experts, shapes and quantization."""
        from diagnoser.preflight.checks import is_part_of, subject_module, subject_names

        model = self.model or ModelConfig.of({})
        case = Case(self.deployment, model, self.moe, engine=self._engine)
        found: list[Finding] = []
        for name in _SUBJECTS:
            for subject in subject_names():
                if is_part_of(subject, name):
                    for check in subject_module(subject).CHECKS:
                        found += check(case)
        return tuple(found)

    def problems(self) -> tuple[str, ...]:
        """Everything that would fail, in words; empty when all is well."""
        problems = [
            f"{name} is {size!r}, expected a positive whole number."
            for name, size in self._sizes.items()
            if isinstance(size, bool) or not isinstance(size, int) or size < 1
        ]
        if problems:
            return tuple(problems)
        for finding in self.findings():
            if finding.status == "error":
                advice = f" {finding.suggestions[0].do}" if finding.suggestions else ""
                problems.append(f"{finding.title}. {finding.message}{advice}")
        if self.moe.is_moe and (self._engine == "generic" or self.moe.expert_group_size):
            try:
                validate_moe_tp_config(self.moe.num_experts, self.moe.expert_group_size, self.deployment.tp)
            except PreflightError as failure:
                problems += failure.problems
        return tuple(problems)

    def validate(self) -> MoEModelConfig:
        """The experts that were read; raises PreflightError with every problem."""
        found = self.problems()
        if found:
            raise PreflightError(found)
        return self.moe


def _model(config: Mapping[str, Any] | str | ModelConfig) -> ModelConfig:
    if isinstance(config, ModelConfig):
        return config
    return read_model_config(config) if isinstance(config, str) else ModelConfig.of(config)
