"""Options of the launch line: names, values, lengths, parsers, and numbers that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.deployment import OptionProblem
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.known_names import NEWEST, names_of
from diagnoser.preflight.versions import at_least

_SECRETS = ("api_key", "hf_token", "api-key", "hf-token")


def check_options(case: Case) -> Iterator[Finding]:
    """What the launch line's parser would refuse."""
    problems = case.deployment.problems
    for problem in problems:
        yield _option(case, problem)
    if not problems and case.deployment.options:
        yield ok("config-options", f"{len(case.deployment.options)} options are known")


def _option(case: Case, problem: OptionProblem) -> Finding:
    name, rule = "config-options", "config-cli-argument-invalid"
    inputs = {problem.option: "…" if any(word in problem.option for word in _SECRETS) else problem.value or None}
    if problem.kind == "json":
        return error(
            name,
            "kv-transfer-json-invalid",
            f"The value of {problem.option} is no JSON object: {problem.problem}",
            problem.suggestion or "It is read as JSON.",
            inputs,
            [f'Put the whole value in single quotes: {problem.option} \'{{"key": "value"}}\'.'],
        )
    if problem.kind == "missing-value":
        return error(
            name, rule, f"{problem.option} has no value", "The launch line ends or the next option begins there."
        )
    if problem.kind == "value":
        return error(
            name,
            rule,
            f"{problem.option} {problem.value!r} {problem.problem}",
            f"Expected is {problem.suggestion}.",
            inputs,
        )
    if problem.kind == "file":
        return error(name, rule, f"The file of {problem.option} can't be used: {problem.problem}", "", inputs)
    return _unknown(problem, name, rule, inputs)


def _unknown(problem: OptionProblem, name: str, rule: str, inputs: dict[str, str | None]) -> Finding:
    if problem.problem:
        return warning(
            name,
            rule,
            f"{problem.option!r} belongs to no option",
            "vLLM takes one bare word, the model. A value with blanks needs quotes.",
        )
    if problem.suggestion:
        return error(
            name,
            rule,
            f"vLLM has no option {problem.option}",
            f"It looks like {problem.suggestion}, misspelt. vLLM prints its usage and ends.",
            inputs,
            [f"Write {problem.suggestion}."],
        )
    return warning(
        name,
        rule,
        f"{problem.option} is no option of vLLM that is known here",
        f"Releases from 0.8.5 to {NEWEST} do not have it. A fork, a plug-in or a newer release may.",
        inputs,
        [Remedy("Ask this vLLM for it.", f"vllm serve --help=all | grep -- {problem.option.split('=')[0]}")],
    )


_AT_LEAST_ONE = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "prefill_context_parallel_size",
    "decode_context_parallel_size",
    "max_num_seqs",
    "max_num_batched_tokens",
    "block_size",
    "nnodes",
)


def check_sizes(case: Case) -> Iterator[Finding]:
    """Sizes that have to be at least 1."""
    for name in _AT_LEAST_ONE:
        value = case.deployment.options.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            flag = f"--{name.replace('_', '-')}"
            yield error(
                "config-sizes",
                "config-cli-argument-invalid",
                f"{flag} is {value}",
                "It has to be at least 1.",
                {name: value},
                [step(case, "Leave it out, or give a positive number.", **{name: None})],
            )


def check_length(case: Case) -> Iterator[Finding]:
    """vLLM: config/model.py, _get_and_verify_max_len."""
    name, asked = "config-max-model-len", case.deployment.whole("max_model_len", 0)
    if asked <= 0:
        return
    if case.model is None:
        yield skipped(name, f"--max-model-len {asked} against what the model supports", case.model_missing)
        return
    longest = case.model.longest
    if longest is None:
        yield skipped(
            name, f"--max-model-len {asked} against what the model supports", "max_position_embeddings in config.json"
        )
        return
    field, limit = longest
    stated = case.model.whole("model_max_length") or 0
    inputs = {"max_model_len": asked, field: case.model.whole(field), "derived": limit}
    if asked <= max(limit, stated):
        yield ok(name, f"--max-model-len {asked} is within the model's {limit}", inputs)
        return
    if case.deployment.environ("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1":
        yield warning(
            name,
            "config-max-model-len-above-derived",
            f"--max-model-len {asked} is above the model's {limit}, and VLLM_ALLOW_LONG_MAX_MODEL_LEN allows it",
            "Positions that the model was not made for give nonsense, or read outside a table.",
            inputs,
        )
        return
    yield error(
        name,
        "config-max-model-len-above-derived",
        f"--max-model-len {asked} is above the {limit} tokens that the model supports",
        f"The limit follows from {field} in config.json and its rope scaling.",
        inputs,
        [step(case, f"Use {limit} or less, or leave the option out.", max_model_len=limit)],
    )


def check_batches(case: Case) -> Iterator[Finding]:
    """vLLM: config/scheduler.py."""
    deployment, name = case.deployment, "config-batched-tokens"
    tokens = deployment.whole("max_num_batched_tokens", 0)
    if tokens <= 0:
        return
    rule = "config-batched-tokens-too-small"
    requests = deployment.options.get("max_num_seqs")
    longest = case.model.longest if case.model is not None else None
    length = deployment.whole("max_model_len", longest[1] if longest else 0)
    inputs = {"max_num_batched_tokens": tokens, "max_num_seqs": requests, "max_model_len": length or None}
    if isinstance(requests, int) and tokens < requests:
        yield error(
            name,
            rule,
            f"--max-num-batched-tokens {tokens} is below --max-num-seqs {requests}",
            "Each running request needs at least one token per step.",
            inputs,
            [step(case, "Lower --max-num-seqs.", max_num_seqs=tokens)],
        )
        return
    chunked = deployment.options.get("enable_chunked_prefill")
    # Releases before 0.16 with the V1 engine turn chunked prefill on whatever the option says.
    if chunked is False and tokens < length and at_least(deployment.vllm_version, "0.16") is not False:
        yield error(
            name,
            rule,
            f"--max-num-batched-tokens {tokens} is below --max-model-len {length} while chunked prefill is off",
            "A prompt then has to fit one step whole.",
            inputs,
            [
                step(case, "Leave chunked prefill on.", enable_chunked_prefill=None),
                step(case, "Or raise the limit.", max_num_batched_tokens=length),
            ],
        )
        return
    yield ok(name, f"--max-num-batched-tokens {tokens} goes with the other limits", inputs)


def check_parsers(case: Case) -> Iterator[Finding]:
    """vLLM: tool_parsers and reasoning."""
    deployment = case.deployment
    for option, kind, plugin in (
        ("tool_call_parser", "tool-parsers", "tool_parser_plugin"),
        ("reasoning_parser", "reasoning-parsers", "reasoning_parser_plugin"),
    ):
        chosen, known = deployment.text(option), names_of(kind)
        if not chosen or chosen in known or deployment.text(plugin):
            continue
        from difflib import get_close_matches

        near = get_close_matches(chosen, sorted(known), n=3, cutoff=0.6)
        flag = f"--{option.replace('_', '-')}"
        newer = at_least(deployment.vllm_version, "0.33") is True
        yield (warning if newer else error)(
            "config-parsers",
            "config-parser-or-template-unknown",
            f"{flag} {chosen} is not known",
            f"No release up to {NEWEST} has it. A parser of your own needs --{plugin.replace('_', '-')}.",
            {option: chosen},
            [f"Was {' or '.join(near)} meant?" if near else "See `vllm serve --help=all` for the names."],
        )
    if deployment.flag("enable_auto_tool_choice") and not deployment.text("tool_call_parser"):
        yield error(
            "config-parsers",
            "config-parser-or-template-unknown",
            "--enable-auto-tool-choice without --tool-call-parser",
            "vLLM has to know the format in which this model writes tool calls.",
            {"enable_auto_tool_choice": True},
            ["Add --tool-call-parser with the parser of this model family."],
        )


def check_variables(case: Case) -> Iterator[Finding]:
    """VLLM_* variables that must hold numbers, and the one that Kubernetes sets by itself."""
    numbers = (
        "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT",
        "VLLM_NIXL_SIDE_CHANNEL_PORT",
        "VLLM_DP_MASTER_PORT",
        "VLLM_ENGINE_READY_TIMEOUT_S",
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
    )
    for variable in numbers:
        value = case.deployment.environ(variable)
        if value is not None and not value.strip().isdigit():
            yield error(
                "config-variables",
                "config-environment-variable-invalid",
                f"{variable} is {value!r}, no whole number",
                "vLLM reads it with int() and ends.",
                {variable: value},
            )
    yield from _vllm_port(case)
    if case.deployment.environ("PYTHONOPTIMIZE") not in (None, "", "0"):
        yield warning(
            "config-variables",
            None,
            "PYTHONOPTIMIZE is set: Python leaves assertions out",
            "What an assertion would have stopped goes on and fails elsewhere, with another text.",
            {"PYTHONOPTIMIZE": case.deployment.environ("PYTHONOPTIMIZE")},
            [Remedy("Take it out of the environment.", "unset PYTHONOPTIMIZE")],
        )


def _vllm_port(case: Case) -> Iterator[Finding]:
    name, rule = "config-vllm-port", "network-vllm-port-is-uri"
    port, container = case.deployment.environ("VLLM_PORT"), case.deployment.container
    if port is not None and not port.isdigit():
        yield error(
            name,
            rule,
            f"VLLM_PORT is {port!r}, no number",
            "vLLM reads it as its first internal port. Kubernetes sets it to a URI for a Service named vllm.",
            {"VLLM_PORT": port},
            ["Rename the Service, or set enableServiceLinks: false in the pod."],
        )
    elif container is not None and "vllm" in container.services and container.service_links and port is None:
        yield error(
            name,
            rule,
            "A Service named vllm makes Kubernetes set VLLM_PORT to a URI in this pod",
            "vLLM reads VLLM_PORT as its first internal port and ends.",
            {"Service": "vllm", "enableServiceLinks": "true (default)"},
            ["Rename the Service, or set enableServiceLinks: false in the pod."],
        )


CHECKS = (check_options, check_sizes, check_length, check_batches, check_parsers, check_variables)
