"""Named tuples of this package are those of `typing`, whoever defines them."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser import records


def both(body: str) -> list[Any]:
    """The class that a body defines, with either base."""
    made = []
    for base in (records.NamedTuple, typing.NamedTuple):
        names: dict[str, Any] = {"Base": base, "__name__": __name__}
        exec(compile(f"class Point(Base):\n{body}", "<point>", "exec", dont_inherit=True), names)
        made.append(names["Point"])
    return made


BODY = '''    """A place."""
    x: int
    y: int = 2
    """Up."""
    name: "str | None" = None

    @property
    def sum(self) -> int:
        return self.x + self.y

    def moved(self, by: int) -> "Point":
        return self._replace(x=self.x + by)

    @classmethod
    def origin(cls) -> "Point":
        return cls(0, y=0)
'''
OURS, THEIRS = both(BODY)


class Pickled(records.NamedTuple):
    """Defined where pickle finds it."""

    one: int
    other: tuple[int, ...] = ()


values = st.tuples(st.integers(), st.integers(), st.none() | st.text(max_size=3))


@given(values, st.integers(0, 3))
def test_values_are_taken_alike(given_values: tuple[object, ...], named: int) -> None:
    names = ("x", "y", "name")[3 - named :]
    keywords = dict(zip(names, given_values[3 - named :], strict=True))
    one, other = (kind(*given_values[: 3 - named], **keywords) for kind in (OURS, THEIRS))
    assert one == other == given_values
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert one._asdict() == other._asdict()
    assert one._replace(y=5) == other._replace(y=5)
    assert (one.x, one.y, one.name, one.sum, one.moved(3)) == (other.x, other.y, other.name, other.sum, other.moved(3))


@pytest.mark.parametrize("name", ["_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__", "__module__"])
def test_classes_say_the_same_of_themselves(name: str) -> None:
    assert getattr(OURS, name) == getattr(THEIRS, name)


def test_their_constructors_are_shown_alike() -> None:
    ours, theirs = inspect.signature(OURS), inspect.signature(THEIRS)
    assert [(each.name, each.default, each.kind) for each in ours.parameters.values()] == [
        (each.name, each.default, each.kind) for each in theirs.parameters.values()
    ]
    assert ours.parameters["name"].annotation == "str | None"


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: kind(),
        lambda kind: kind(y=1),
        lambda kind: kind(1, 2, "a", 4),
        lambda kind: kind(1, x=1),
        lambda kind: kind(1, z=1),
        lambda kind: kind._make([]),
        lambda kind: kind(1)._replace(z=1),
        lambda kind: setattr(kind(1), "x", 2),
        lambda kind: setattr(kind(1), "other", 2),
    ],
)
def test_what_is_wrong_is_refused_alike(call: typing.Callable[[type], object]) -> None:
    refused = []
    for kind in (OURS, THEIRS):
        with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
            call(kind)
        refused.append(raised.type)
    assert refused[0] is refused[1]


def test_a_default_before_a_field_without_one_is_refused() -> None:
    with pytest.raises(TypeError, match="default"):
        both("    x: int = 1\n    y: int")


def test_they_are_made_copied_and_matched_alike() -> None:
    assert OURS(1) == OURS._make([1, 2, None]) == (1, 2, None) == OURS.origin().moved(1)._replace(y=2)
    for value in (Pickled(1), Pickled(1, (2,))):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
        assert type(copy.copy(value)) is Pickled
    match Pickled(1, (3,)):
        case Pickled(1, other=rest):
            assert rest == (3,)
