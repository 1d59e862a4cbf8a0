"""Several logs in one order of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diagnoser.joining import joined
from diagnoser.model import UNKNOWN_PROCESS, Failure, Match
from diagnoser.roles import Case


def case(name, source, order, time, *, message="it broke", quotes=None):
    failure = Failure("message", UNKNOWN_PROCESS, source, order, order, order, time, header=name, text=message)
    matches = (Match("wrapper", "wrapper", "certain", (("inner", quotes),)),) if quotes else ()
    return Case(failure, matches)


def names(result):
    return [item.failure.header for item in sorted(result.cases, key=lambda item: item.failure.order)]


def order_of(*cases, times=None):
    """Names in the order that comes out, and the notes."""
    result = joined(cases, [], times or {})
    return names(result), result.notes


def test_one_source_stays_as_it_is():
    cases = [case("a", "x", 1, "03-14 10:00:05"), case("b", "x", 2, "03-14 10:00:01")]

    assert joined(cases, [], {}) == (cases, [], [])


def test_times_decide_across_sources_of_different_formats():
    found, notes = order_of(
        case("late", "x", 1, "03-14 10:00:05"),
        case("early", "y", 2, "2025-03-14T10:00:04.5Z"),
        case("first", "z", 3, "0314 10:00:04.400000"),
    )

    assert (found, notes) == (["first", "early", "late"], [])


def test_the_order_inside_a_source_is_kept_whatever_it_prints():
    found, _ = order_of(
        case("a", "x", 1, "03-14 10:00:05"),
        case("b", "x", 2, "03-14 10:00:01"),
        case("c", "y", 3, "03-14 10:00:03"),
        case("d", "y", 4, "03-14 10:00:06"),
    )

    assert found == ["c", "a", "b", "d"]


def test_a_line_without_a_time_has_that_of_the_line_before_or_after_it():
    found, notes = order_of(
        case("head", "x", 1, None),
        case("x", "x", 2, "03-14 10:00:05"),
        case("tail", "x", 3, None),
        case("y", "y", 4, "03-14 10:00:04"),
        case("z", "y", 6, "03-14 10:00:07"),
        times={3: "03-14 10:00:06"},
    )

    assert (found, notes) == (["y", "head", "x", "tail", "z"], [])


def test_the_collectors_clock_is_brought_to_the_loggers_time_zone():
    found, _ = order_of(
        case("logger", "x", 1, "03-14 18:00:05"),
        case("bare", "x", 2, "2025-03-14T10:00:06.5Z"),
        case("other", "y", 3, "03-14 18:00:06"),
        case("last", "y", 4, "03-14 18:00:07"),
    )

    assert found == ["logger", "other", "bare", "last"]


def test_a_source_without_times_stays_where_it_was_read():
    timed = [case("late", "x", 1, "03-14 10:00:05"), case("early", "y", 3, "03-14 10:00:04")]

    assert order_of(timed[0], timed[1], case("none", "z", 4, None))[0] == ["early", "late", "none"]
    found, notes = order_of(case("none", "z", 0, None), *timed)
    assert found == ["none", "early", "late"]
    assert notes == ["z states no times: it stands among the others where read."]


def test_a_new_year_lies_after_the_old_one():
    assert order_of(case("new", "x", 1, "01-01 00:00:05"), case("old", "y", 2, "12-31 23:59:58"))[0] == ["old", "new"]


def test_a_quotation_comes_after_what_it_quotes():
    found, notes = order_of(
        case("wrapper", "x", 1, "03-14 10:00:05", quotes="the width 7 is odd"),
        case("root", "y", 2, "03-14 10:04:05", message="the width 7 is odd"),
    )

    assert found == ["root", "wrapper"]
    assert notes == [
        "The clock of y is ahead of that of x by about 240 s: the second quotes an error of the first before it happened. "
        "The order was corrected by that."
    ]


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.one_of(st.none(), st.integers(0, 59))), max_size=12))
def test_every_item_keeps_its_place_in_its_source(items):
    cases = [
        case(str(order), source, order, None if second is None else f"03-14 10:00:{second:02}")
        for order, (source, second) in enumerate(items, 1)
    ]
    result = joined(cases, [], {})

    assert sorted(names(result), key=int) == [str(order) for order in range(1, len(items) + 1)]
    for source in "xyz":
        own = [
            int(item.failure.header)
            for item in sorted(result.cases, key=lambda item: item.failure.order)
            if item.failure.source == source
        ]
        assert own == sorted(own)
