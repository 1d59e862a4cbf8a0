"""The deployment that a log states, from the report of that log.

Read are the facts (versions, sizes, flags), the resolved options that vLLM prints (`non-default args: {…}`), and the
command where the log shows it.
"""

from __future__ import annotations

import ast
from typing import Any

from diagnoser.model import Report
from diagnoser.preflight.deployment import Deployment, Platform
from diagnoser.preflight.known_options import JSON_VALUES, SWITCHES, VALUES
from diagnoser.preflight.shell import find_in_script

_OPTIONS = (*VALUES, *SWITCHES)
_PLATFORMS: dict[str, Platform] = {
    "cuda": "cuda",
    "cpu": "cpu",
    "xpu": "xpu",
    "npu": "npu",
    "tpu": "tpu",
    "rocm": "rocm",
}


def deployment_of(report: Report, path: str) -> Deployment:
    """The deployment; it carries the report, so that a check can look at the failures."""
    facts = {name: fact.value for name, fact in report.facts}
    options: dict[str, Any] = {
        name: value for name, value in facts.items() if name in _OPTIONS and name not in JSON_VALUES
    }
    options.update(printed_options(str(facts.get("non_default_args", ""))))
    transfer = {name: facts[name] for name in ("kv_connector", "kv_role", "engine_id") if name in facts}
    if transfer and not isinstance(options.get("kv_transfer_config"), dict):
        options["kv_transfer_config"] = transfer
    deployment = Deployment(
        path,
        _text(facts.get("model")),
        vllm_version=_text(facts.get("vllm_version")),
        mooncake_version=_text(facts.get("mooncake_version")),
        platform=_PLATFORMS.get(str(facts.get("device"))),
    )
    command = _text(facts.get("command"))
    launch = next(find_in_script(command), None) if command else None
    if launch is not None:
        from diagnoser.preflight.launch import parse_arguments

        spoken = parse_arguments(launch.arguments, path, launch.environment, served=launch.served)
        options = {**spoken.options, **options}
        deployment = deployment._replace(
            model=deployment.model or spoken.model, environment=spoken.environment, problems=spoken.problems
        )
    for absent in ("model", "model_tag", "port"):
        options.pop(absent, None)
    return deployment._replace(options=options, log=report)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def printed_options(text: str) -> dict[str, Any]:
    """The options of a printed Python dictionary whose values may be calls such as `KVTransferConfig(kv_role='…')`.

    Text that was cut off gives the options before the cut. Nothing is evaluated.
    """
    tree: ast.expr | None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = _repaired(text.strip())
    if not isinstance(tree, ast.Dict):
        return {}
    found: dict[str, Any] = {}
    for key, value in zip(tree.keys, tree.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            plain = _plain(value)
            if key.value in _OPTIONS and plain is not None:
                found[key.value] = plain
    return found


def _repaired(text: str) -> ast.expr | None:
    """The longest beginning that is a dictionary: cut at each `, '` from the end."""
    for _ in range(60):
        at = text.rfind(", '")
        if at < 0:
            return None
        text = text[:at]
        try:
            return ast.parse(text + "}", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _plain(node: ast.expr, depth: int = 0) -> Any:
    """The value of a literal; a call's keywords become a table, and anything else is left out."""
    if depth > 20:
        return None
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            key.value: _plain(value, depth + 1)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
    if isinstance(node, ast.Call):
        pairs = {word.arg: _plain(word.value, depth + 1) for word in node.keywords if word.arg}
        return {name: value for name, value in pairs.items() if value is not None}
    return None
