"""Rule texts without a log: what a runbook page shows where a report would show values.

    outline("vllm serve {{ facts.model | shq }} --tensor-parallel-size {{ size }}") == "vllm serve <model> --tensor-…"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%"}


def variants(text: str, captures: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The different wordings of a text, one per set of captured names, with `<name>` for each value."""
    from diagnoser.catalogue.templates import render

    found = []
    for names in captures:
        filled = render(text, _stand_ins(names))
        found.append((filled if filled is not None else outline(text)).strip())
    return tuple(dict.fromkeys(found or [outline(text).strip()]))


def outline(text: str) -> str:
    """The text with each value as `<name>` and each `if` taken as true."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    from jinja2 import TemplateError

    from diagnoser.catalogue.sandbox import RuleEnvironment, parse

    try:
        return _body(parse(RuleEnvironment(command=False), text).body)
    except TemplateError:
        return text


def _stand_ins(names: Iterable[str]) -> Mapping[str, Any]:
    failure = {name: f"<{name}>" for name in ("type", "message", "process", "host", "rank", "pid")}
    return {**{name: f"<{name}>" for name in names}, "facts": {}, "failure": failure}


def _body(parts: Iterable[Any]) -> str:
    """Template parts as text."""
    text = ""
    for part in parts:
        kind = type(part).__name__
        if kind == "Output":
            text += _body(part.nodes)
        elif kind == "TemplateData":
            text += part.data
        elif kind in ("If", "For"):
            text += _body(part.body)
        elif kind != "Assign":
            text += f"<{_label(part)}>" if kind != "Const" else str(part.value)
    return text


def _label(part: Any) -> str:
    """A short name of an expression."""
    kind = type(part).__name__
    if kind == "Name":
        return str(part.name)
    if kind == "Getattr":
        return str(part.attr)
    if kind == "Getitem":
        return str(getattr(part.arg, "value", None) or _label(part.node))
    if kind == "Const":
        return str(part.value)
    if kind in ("Filter", "Test"):
        return _label(part.node)
    if kind == "CondExpr":
        return _label(part.expr1)
    if kind in _SIGNS:
        sides = [f"({_label(s)})" if type(s).__name__ in _SIGNS else _label(s) for s in (part.left, part.right)]
        return f"{sides[0]} {_SIGNS[kind]} {sides[1]}"
    if kind == "Or":
        return _label(part.left)
    if kind == "Call":
        return f"{_label(part.node)}({', '.join(map(_label, part.args))})"
    if kind == "Concat":
        return "".join(map(_label, part.nodes))
    if kind in ("List", "Tuple"):
        return ", ".join(map(_label, part.items))
    return _label(part.node) if hasattr(part, "node") else "value"
