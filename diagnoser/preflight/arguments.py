"""The options of `diagnose check` as data; the command line and `diagnoser.check(...)` are both made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from diagnoser.errors import UsageError
from diagnoser.preflight.deployment import PLATFORMS
from diagnoser.records import NamedTuple

Kind = Literal["text", "whole", "number", "flag", "many"]


class Option(NamedTuple):
    """One option."""

    name: str
    flags: tuple[str, ...]
    kind: Kind
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    group: str = "Options"


OPTIONS: tuple[Option, ...] = (
    Option("model_config", ("--model-config",), "text", "The model's config.json, or its folder.", "FILE|DIR"),
    Option("model", ("--model",), "text", "Name or path of the model.", "MODEL"),
    Option("tensor_parallel_size", ("--tp", "--tensor-parallel-size"), "whole", "Tensor-parallel size.", "N"),
    Option("pipeline_parallel_size", ("--pp", "--pipeline-parallel-size"), "whole", "Pipeline-parallel size.", "N"),
    Option("data_parallel_size", ("--dp", "--data-parallel-size"), "whole", "Data-parallel size.", "N"),
    Option("prefill_context_parallel_size", ("--pcp",), "whole", "Prefill-context-parallel size.", "N"),
    Option("decode_context_parallel_size", ("--dcp",), "whole", "Decode-context-parallel size.", "N"),
    Option("enable_expert_parallel", ("--ep", "--enable-expert-parallel"), "flag", "Whole experts per rank."),
    Option("enable_eplb", ("--eplb", "--enable-eplb"), "flag", "Expert-parallel load balancing."),
    Option("num_redundant_experts", ("--redundant-experts",), "whole", "Further copies of experts for EPLB.", "N"),
    Option("dtype", ("--dtype",), "text", "Compute type.", "TYPE"),
    Option("quantization", ("--quantization",), "text", "Quantization method.", "METHOD"),
    Option("kv_cache_dtype", ("--kv-cache-dtype",), "text", "Type of the KV cache.", "TYPE"),
    Option("block_size", ("--block-size",), "whole", "Tokens in a KV cache block.", "N"),
    Option("max_model_len", ("--max-model-len",), "text", "Longest context, for example 32k.", "N"),
    Option("max_num_seqs", ("--max-num-seqs",), "whole", "Requests that run at once.", "N"),
    Option("max_num_batched_tokens", ("--max-num-batched-tokens",), "text", "Tokens per step.", "N"),
    Option("gpu_memory_utilization", ("--gpu-memory-utilization",), "number", "Part of the GPU's memory.", "PART"),
    Option("kv_transfer_config", ("--kv-transfer-config",), "text", "KV connector settings.", "JSON"),
    Option(
        "prefill",
        ("--prefill",),
        "text",
        "The prefill side: a launch line, JSON, or a file with a launch, settings, a manifest or a log.",
        "FILE|JSON",
    ),
    Option("decode", ("--decode",), "text", "The decode side, likewise.", "FILE|JSON"),
    Option("mooncake_config", ("--mooncake-config",), "text", "Mooncake's settings (mooncake.json).", "FILE"),
    Option("loader", ("--loader",), "text", "Who reads them.", choices=("vllm", "mooncake")),
    Option("env", ("--env",), "many", "A variable of the deployment; repeatable.", "NAME=VALUE"),
    Option("env_file", ("--env-file",), "many", "A file of such lines; repeatable.", "FILE"),
    Option("from_log", ("--from-log",), "many", "Check the configuration that a log states.", "LOG"),
    Option("vllm_version", ("--vllm-version",), "text", "The release that will run.", "VERSION"),
    Option("platform", ("--platform",), "text", "What it runs on.", choices=tuple(PLATFORMS)),
    Option("devices", ("--devices",), "whole", "GPUs that it can see on each node.", "N"),
    Option("device_memory", ("--device-memory",), "text", "Memory of one GPU, for example 80GiB.", "SIZE"),
    Option("here", ("--here",), "flag", "This machine is the one that serves: check it too."),
    Option("not_here", ("--not-here",), "flag", "This machine is not the one that serves."),
    Option("probe", ("--probe",), "flag", "Connect to the addresses in the configuration, and only to those."),
    Option("timeout", ("--timeout",), "number", "Seconds for each probe (default 2).", "SECONDS"),
    Option(
        "engine",
        ("--engine",),
        "text",
        "Whose rules: generic adds those of engines that group experts.",
        choices=("vllm", "generic"),
    ),
    Option(
        "only",
        ("--only",),
        "many",
        "Only checks of this subject (config, model, parallel, moe, …); repeatable.",
        "SUBJECT",
    ),
    Option("if_found", ("--if-found",), "flag", "Pass over files without a vLLM launch instead of failing."),
    Option("strict", ("--strict",), "flag", "Take warnings for errors."),
)


class Request(NamedTuple):
    """What was asked for."""

    files: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    """The words after `--`."""
    values: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    """By option name; options that were not given are absent."""

    def text(self, name: str) -> str | None:
        """The value of a text option."""
        value = self.values.get(name)
        return str(value) if value is not None else None

    def many(self, name: str) -> tuple[str, ...]:
        """The values of a repeatable option."""
        return tuple(self.values.get(name) or ())

    def flag(self, name: str) -> bool:
        """Whether a switch was given."""
        return bool(self.values.get(name))


def request_of(files: Sequence[str], command: Sequence[str], values: dict[str, Any]) -> Request:
    """The request of parsed options. Raises UsageError for options that contradict each other."""
    given = {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value != () and value != []
    }
    request = Request(tuple(files), tuple(command), given)
    if request.flag("here") and request.flag("not_here"):
        raise UsageError("--here and --not-here contradict each other")
    if ("prefill" in given) != ("decode" in given):
        lacking = "--decode" if "prefill" in given else "--prefill"
        raise UsageError(f"{lacking} is missing: both sides are compared")
    if not (files or command or set(given) - {"strict", "only", "if_found", "timeout", "engine", "here", "not_here"}):
        if request.flag("here"):
            return request
        raise UsageError(
            "nothing to check: give a launch line after --, a file with one, --model-config, --mooncake-config, "
            "--prefill and --decode, or --from-log"
        )
    if given.get("timeout", 1) <= 0:
        raise UsageError("--timeout has to be above 0")
    return request


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before and after the first `--`."""
    if "--" not in arguments:
        return list(arguments), []
    at = list(arguments).index("--")
    return list(arguments[:at]), list(arguments[at + 1 :])


def parse(arguments: Sequence[str]) -> Request:
    """The request that these command-line arguments make. Raises UsageError."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            raise UsageError(message)

    own, command = split_command(arguments)
    parser = Parser(prog="diagnose check", add_help=False, allow_abbrev=False)
    parser.add_argument("files", nargs="*")
    for option in OPTIONS:
        if option.kind == "flag":
            parser.add_argument(*option.flags, dest=option.name, action="store_true")
        elif option.kind == "many":
            parser.add_argument(*option.flags, dest=option.name, action="append")
        else:
            kind = {"whole": int, "number": float}.get(option.kind, str)
            parser.add_argument(*option.flags, dest=option.name, type=kind, choices=option.choices or None)
    values = vars(parser.parse_intermixed_args(own))
    return request_of(values.pop("files"), command, values)
