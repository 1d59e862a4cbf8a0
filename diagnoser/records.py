"""`NamedTuple`, defined in a fifth of the time; to type checkers it is `typing.NamedTuple`.

The standard one compiles a constructor for each class, 0.08 ms. A small log is answered in 60 ms and needs seventy
such classes. Here they share one constructor, which takes 0.1 µs more for each value that is made.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

new = tuple.__new__
"""Makes a named tuple, `new(Point, (x, y))`, without checks and without the call in Python that its constructor is."""

if TYPE_CHECKING or sys.version_info >= (3, 14):  # there the types of fields are no longer in a class's body
    from typing import NamedTuple as NamedTuple
else:
    from collections.abc import Iterable

    try:
        from _collections import _tuplegetter as _getter  # what `collections.namedtuple` uses
    except ImportError:
        from operator import itemgetter

        def _getter(index: int, text: str) -> property:
            return property(itemgetter(index), doc=text)

    def _new(cls: type[tuple], /, *values: object, **named: object) -> tuple:
        """Raises TypeError for values that are missing, unknown or given twice."""
        if named or len(values) != len(cls._fields):
            values = _complete(cls, values, named)
        return tuple.__new__(cls, values)

    def _complete(cls: type[tuple], values: tuple[object, ...], named: dict[str, object]) -> list[object]:
        fields, defaults = cls._fields, cls._field_defaults
        if len(values) > len(fields):
            raise TypeError(f"{cls.__name__} takes {len(fields)} values, not {len(values)}")
        rest = fields[len(values) :]
        for name in named:
            if name not in rest:
                problem = "was given twice" if name in fields else "is no field of it"
                raise TypeError(f"{cls.__name__}: {name!r} {problem}")
        given = {**defaults, **named}
        if missing := [name for name in rest if name not in given]:
            raise TypeError(f"{cls.__name__} misses {', '.join(map(repr, missing))}")
        return [*values, *(given[name] for name in rest)]

    def _make(cls: type[tuple], values: Iterable[object]) -> tuple:
        return cls(*values)

    def _replace(self: tuple, /, **changes: object) -> tuple:
        given = dict(zip(self._fields, self, strict=True))
        if unknown := changes.keys() - given.keys():
            raise ValueError(f"Got unexpected field names: {sorted(unknown)!r}")
        given.update(changes)
        return tuple.__new__(type(self), given.values())

    def _as_dict(self: tuple) -> dict[str, object]:
        return dict(zip(self._fields, self, strict=True))

    def _as_text(self: tuple) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({values})"

    def _arguments(self: tuple) -> tuple[object, ...]:
        return tuple(self)

    class _Signature:
        """What `inspect` and `help` show of the constructor."""

        def __get__(self, _: object, kind: type[tuple]) -> object:
            from inspect import Parameter, Signature

            types, defaults = kind.__annotations__, kind._field_defaults
            return Signature(
                [
                    Parameter(
                        name,
                        Parameter.POSITIONAL_OR_KEYWORD,
                        default=defaults.get(name, Parameter.empty),
                        annotation=types[name],
                    )
                    for name in kind._fields
                ]
            )

    _SHARED: dict[str, Any] = {
        "__slots__": (),
        "__new__": _new,
        "__repr__": _as_text,
        "__signature__": _Signature(),
        "__getnewargs__": _arguments,  # for pickle and copy
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,  # for `copy.replace` of Python 3.13
        "_asdict": _as_dict,
    }

    class _Definer(type):
        """Makes a tuple with names of the body of a class."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return type.__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one that has a default")
            names = {field: _getter(index, field) for index, field in enumerate(fields)}
            made = {**_SHARED, **names, "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return type(name, (tuple,), {**made, **body})

    class NamedTuple(metaclass=_Definer):
        """The base to name; see `typing.NamedTuple`."""
