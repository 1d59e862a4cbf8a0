"""The template engine for rule texts: Jinja2, cut down to what a rule text needs.

Rules may come from anybody. Only the syntax of `ALLOWED` is accepted; names lead to plain data only, attributes of
Python objects are never reached; loops share a budget; numbers and texts have a largest size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined, meta, nodes
from jinja2.exceptions import TemplateRuntimeError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from diagnoser.catalogue.filters import (
    FILTERS,
    LONGEST_OUTPUT,
    LONGEST_TEMPLATE,
    LONGEST_VALUE,
    Missing,
    as_text,
    command_word,
    in_version,
    shown,
)

MOST_STEPS = 2_000
"""Turns of all loops of one text together."""
DEEPEST = 40
"""Levels of nesting in a text."""

_STRUCTURE = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign)
_VALUES = (nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Keyword)
_OPERATIONS = (
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos, nodes.Concat),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.CondExpr),
    *(nodes.Filter, nodes.Test, nodes.Call),
)
ALLOWED: tuple[type[nodes.Node], ...] = (*_STRUCTURE, *_VALUES, *_OPERATIONS)
"""Kinds of syntax that rule texts may use."""
BUILTIN_FILTERS = (
    "abs", "capitalize", "default", "d", "first", "last", "length", "count", "lower", "upper", "max", "min", "sort",
    "sum", "trim", "unique", "list", "string", "reverse",
)  # fmt: skip
"""Jinja2's own filters that can't make anything large."""
BUILTIN_TESTS = (
    "defined", "undefined", "none", "number", "string", "divisibleby", "even", "odd", "in", "eq", "ne", "lt", "gt",
    "le", "ge", "==", "!=", "<", ">", "<=", ">=", "equalto", "greaterthan", "lessthan", "true", "false", "boolean",
    "integer", "float",
)  # fmt: skip
_LOOP_NAMES = frozenset({"index", "index0", "first", "last", "length", "revindex", "revindex0"})


class Refused(TemplateRuntimeError):
    """A text that uses what rule texts may not use, or too much of it."""


class Nothing(StrictUndefined):
    """An unknown name: false where it is asked for, an error wherever its value is needed."""

    stands_for_nothing = True

    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return False


class RuleEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2 for rule texts."""

    intercepted_binops = frozenset({"+", "*", "%", "-", "/", "//"})

    def __init__(self, *, command: bool) -> None:
        super().__init__(
            undefined=Nothing,
            autoescape=False,
            keep_trailing_newline=True,
            finalize=_command_value if command else _text_value,
            cache_size=0,
        )
        self.filters = {name: self.filters[name] for name in BUILTIN_FILTERS} | dict(FILTERS)
        self.filters |= {"_steps": self._steps, "_concat": _concat}
        self.tests = {name: self.tests[name] for name in BUILTIN_TESTS} | {"version": in_version}
        self.globals = {"range": _range, "min": _least, "max": _most} | {
            name: function for name, function in FILTERS.items() if name not in ("shq", "join")
        }
        self._turns = 0

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A member of plain data; nothing of a Python object is ever reached."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        if isinstance(obj, LoopContext) and attribute in _LOOP_NAMES:
            return getattr(obj, attribute)
        return self.undefined(obj=obj if isinstance(obj, Mapping) else None, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """A member of plain data by name or position."""
        if isinstance(obj, Mapping | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        return self.undefined(name=str(argument)[:80])

    def is_safe_callable(self, obj: Any) -> bool:
        """Only the functions of this module's making."""
        return any(obj is known for known in self.globals.values())

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic on numbers of a sensible size; `+` also joins texts and lists that stay small."""
        both = (left, right)
        if all(isinstance(value, int | float) for value in both):
            if any(abs(value) > 1e18 for value in both):
                raise Refused("number too large")
            try:
                return super().call_binop(context, operator, left, right)
            except ZeroDivisionError:
                raise Missing("division by zero") from None
        if operator == "+" and type(left) is type(right) and isinstance(left, str | list):
            if len(left) + len(right) > LONGEST_VALUE:
                raise Refused("text too long")
            return left + right
        if any(isinstance(value, Nothing) for value in both):
            raise Missing("no value")
        raise Refused(f"{operator} needs numbers")

    def fill(self, template: Any, variables: Mapping[str, Any]) -> str:
        """The text with its values; raises Missing or TemplateError."""
        self._turns = 0
        parts: list[str] = []
        size = 0
        for part in template.generate(dict(variables)):
            size += len(part)
            if size > LONGEST_OUTPUT:
                raise Refused("text too long")
            parts.append(part)
        return "".join(parts)

    def prepare(self, text: str) -> Any:
        """The compiled template; raises TemplateError for what is no template or uses what is not allowed."""
        tree = _Rewriter().visit(parse(self, text))
        return self.template_class.from_code(self, self.compile(tree), dict(self.globals))

    def _steps(self, values: object) -> Iterator[Any]:
        if not isinstance(values, Iterable) or isinstance(values, Nothing):
            raise Missing("nothing to go through")
        for value in values:
            self._turns += 1
            if self._turns > MOST_STEPS:
                raise Refused("loops take too many turns")
            yield value


def parse(environment: RuleEnvironment, text: str) -> nodes.Template:
    """The parse tree of a text; raises TemplateError when it is none that rules may use."""
    if len(text) > LONGEST_TEMPLATE:
        raise Refused(f"longer than {LONGEST_TEMPLATE} characters")
    try:
        tree = environment.parse(text)
    except RecursionError:
        raise Refused("nested too deeply") from None
    _check(tree, 0)
    return tree


def unknown_syntax(text: str) -> str | None:
    """Why a text can't be used as a template, or None."""
    try:
        RuleEnvironment(command=False).prepare(text)
    except (TemplateError, Missing) as error:
        return str(error)
    return None


def variables_of(text: str) -> frozenset[str]:
    """Names that a text takes from outside; raises TemplateError."""
    environment = RuleEnvironment(command=False)
    return frozenset(meta.find_undeclared_variables(parse(environment, text))) - environment.globals.keys()


def _check(node: nodes.Node, depth: int) -> None:
    if type(node) not in ALLOWED:
        raise Refused(f"{type(node).__name__} is not allowed in rule texts")
    if depth > DEEPEST:
        raise Refused("nested too deeply")
    if isinstance(node, nodes.Const) and isinstance(node.value, float) and not isfinite(node.value):
        raise Refused("number too large")  # the engine would write it as a name, `inf`
    if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
        raise Refused("only functions can be called")
    if isinstance(node, nodes.Call | nodes.Filter | nodes.Test) and (node.dyn_args or node.dyn_kwargs):
        raise Refused("* arguments are not allowed")
    for child in node.iter_child_nodes():
        _check(child, depth + 1)


def _text_value(value: object) -> object:
    return value if _silent(value) else shown(value)


def _command_value(value: object) -> object:
    return value if _silent(value) else command_word(value)


def _silent(value: object) -> bool:
    """Whether this is what `{{ "s" if many }}` gives when the condition is false: nothing, on purpose."""
    return isinstance(value, Undefined) and not isinstance(value, Nothing)


def _concat(values: list[Any]) -> str:
    """The operator `~`."""
    text = "".join(map(as_text, values))
    if len(text) > LONGEST_VALUE:
        raise Refused("text too long")
    return text


class _Rewriter(NodeTransformer):
    """Sends loops and `~`, which the engine runs by itself, through functions that count."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the engine's naming
        if node.recursive:
            raise Refused("recursive loops are not allowed")
        node.iter = nodes.Filter(node.iter, "_steps", [], [], None, None, lineno=node.lineno)
        self.generic_visit(node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        values = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(values, "_concat", [], [], None, None, lineno=node.lineno)


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > MOST_STEPS:
        raise Refused("range too long")
    return found


def _least(*values: Any) -> Any:
    return min(values)


def _most(*values: Any) -> Any:
    return max(values)
