"""What rule texts can compute."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.catalogue import filters
from diagnoser.catalogue.filters import FILTERS, Missing


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("int", ("262,144",), 262144),
        ("int", ("8.9",), 8),
        ("int", ("x", 3), 3),
        ("float", ("1,024.5",), 1024.5),
        ("float", ("x", 0.5), 0.5),
        ("round", (2.345, 2), 2.35),
        ("round", (2.341, 2, "ceil"), 2.35),
        ("round", (2.349, 2, "floor"), 2.34),
        ("round", (0.29 * 100, 0, "floor"), 29),
        ("round", ("7.5",), 8),
        ("round", (0.1 + 0.2, 1, "ceil"), 0.3),
        ("divisors", ("28",), [1, 2, 4, 7, 14, 28]),
        ("divisors", (1,), [1]),
        ("at_most", ([1, 2, 4, 8], "4"), [1, 2, 4]),
        ("at_most", (9, 4), 4),
        ("at_least", ([1, 2, 4, 8], 4), [4, 8]),
        ("at_least", ("3", 4), 4),
        ("gib", (13_421_772_800,), "12.5 GiB"),
        ("gib", ("1,073,741,824",), "1 GiB"),
        ("gib", (1 << 29,), "512 MiB"),
        ("gib", (1536,), "1.5 KiB"),
        ("gib", (100,), "100 bytes"),
        ("round_down", (1000, 128), 896),
        ("round_up", (1000, 128), 1024),
        ("round_down", (1024, 128), 1024),
        ("nearest_divisor", (256, 7), 8),
        ("nearest_divisor", (12, 5), 4),
        ("valid_tp", (32,), [1, 2, 4, 8, 16, 32]),
        ("valid_tp", (64, 8), [1, 2, 4, 8, 16, 32, 64]),
        ("valid_tp", (28, 4), [1, 2, 4, 28]),
        ("valid_tp", (64, 8, 2048, 128), [1, 2, 4, 8, 16]),
        ("valid_tp", (64, None, 1408, 128), [1]),
        ("fits_max_len", ("16.0", "12.5", "131072"), 102400),
        ("fits_max_len", (3, 1, 100), 32),
        ("list_join", ([1, 2, 4],), "1, 2 or 4"),
        ("list_join", ([8],), "8"),
        ("list_join", (["a", "b"], "; ", " and "), "a and b"),
        ("join", ([1, 2], ","), "1,2"),
        ("truncate", ("abcdef", 4), "abc…"),
        ("truncate", ("ab cdef", 5, False), "ab…"),
        ("truncate", ("abc", 4), "abc"),
        ("shq", ("/srv/models/m",), "/srv/models/m"),
        ("shq", ("a b",), "'a b'"),
        ("shq", (-3,), "-3"),
        ("shq", (0.5,), "0.5"),
    ],
)
def test_results(function: str, arguments: tuple[Any, ...], result: Any) -> None:
    assert FILTERS[function](*arguments) == result


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("int", (None,)),
        ("int", ("",)),
        ("int", ("1e999",)),
        ("int", (True,)),
        ("float", ("nan",)),
        ("round", (1, 0, "sideways")),
        ("divisors", (0,)),
        ("divisors", (-4,)),
        ("divisors", (10**12,)),
        ("round_down", (5, 0)),
        ("nearest_divisor", (0, 3)),
        ("valid_tp", ("x",)),
        ("valid_tp", (8, "x")),
        ("fits_max_len", (0, 1, 100)),
        ("fits_max_len", (100, 1, 100)),
        ("fits_max_len", (1, -1, 100)),
        ("list_join", ([],)),
        ("list_join", ("abc",)),
        ("list_join", ([None],)),
        ("list_join", (3,)),
        ("shq", (None,)),
        ("shq", ("-rf",)),
        ("shq", ("--1-",)),
        ("gib", ("many",)),
    ],
)
def test_what_can_not_be_computed_is_missing(function: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Missing):
        FILTERS[function](*arguments)


@given(st.integers(1, 20_000))
def test_divisors_are_all_and_in_order(number: int) -> None:
    assert filters.divisors(number) == [n for n in range(1, number + 1) if number % n == 0]


@given(st.integers(1, 256), st.integers(1, 256), st.integers(1, 20_000), st.sampled_from([None, 32, 128]))
def test_every_valid_size_splits_every_shape(heads: int, kv_heads: int, width: int, block: int | None) -> None:
    for size in filters.valid_tp(heads, kv_heads, width, block):
        assert heads % size == 0
        assert kv_heads % size == 0 or size % kv_heads == 0
        assert width % (size * (block or 1)) == 0


@given(st.floats(0.1, 1000), st.floats(0.1, 1000), st.integers(16, 1_000_000))
def test_a_length_that_fits_needs_no_more_than_there_is(needed: float, available: float, length: int) -> None:
    try:
        fitting = filters.fits_max_len(needed, available, length)
    except Missing:
        assert length * available / needed < 17
    else:
        assert fitting % 16 == 0
        assert needed * fitting / length <= available * (1 + 1e-9)


JUNK = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=3))


@pytest.mark.parametrize("function", FILTERS.values(), ids=FILTERS.keys())
def test_any_value_is_computed_or_missing(function: Callable[..., Any]) -> None:
    @given(JUNK)
    def attempt(value: Any) -> None:
        with suppress(Missing, TypeError):  # TypeError: too few arguments
            function(value)

    attempt()
