"""Puts what several logs say into one order of time.

Each source is read from its first line to its last, so the reading order says which of two lines came first only
within a source. Across sources their times decide, where both print one. A wrapper can't come before the failure
that it quotes: where it does, the clocks of the two hosts differ, and one source is shifted and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diagnoser.clock import seconds_of
from diagnoser.lifecycle import Moment
from diagnoser.model import Failure
from diagnoser.roles import Case

SMALL_SKEW = 2.0
"""Seconds by which clocks may differ without being noticed: most logs print whole seconds."""


def joined(
    cases: Sequence[Case], moments: Sequence[Moment], times: Mapping[int, str]
) -> tuple[list[Case], list[Moment], list[str]]:
    """Cases and moments renumbered by time, and what was noticed of the clocks.

    `times` gives, for a reading order, the last time that its source had printed by then.
    """
    sources = {case.failure.source for case in cases} | {moment.source for moment in moments}
    if len(sources) < 2:
        return list(cases), list(moments), []
    when = {order: seconds_of(text) for order, text in times.items()}
    items: list[Failure | Moment] = [*(case.failure for case in cases), *moments]
    if any(_when(item, when) is None for item in items):
        return list(cases), list(moments), ["Not every log states times: lines of different logs are in reading order."]
    shifts, notes = _shifts(cases, when)
    keys = sorted({(round((_when(item, when) or 0.0) + shifts.get(item.source, 0.0), 6), item.order) for item in items})
    place = {order: number for number, (_, order) in enumerate(keys, 1)}
    return (
        [case._replace(failure=_placed(case.failure, place)) for case in cases],
        sorted((moment._replace(order=place[moment.order]) for moment in moments), key=lambda moment: moment.order),
        notes,
    )


def _placed(failure: Failure, place: Mapping[int, int]) -> Failure:
    return failure._replace(order=place[failure.order], last=None)


def _when(item: Failure | Moment, when: Mapping[int, float | None]) -> float | None:
    stated = seconds_of(item.time) if item.time else None
    return stated if stated is not None else when.get(item.order)


def _shifts(cases: Sequence[Case], when: Mapping[int, float | None]) -> tuple[dict[str, float], list[str]]:
    """Seconds to add to each source's times so that no quotation comes before what it quotes."""
    shifts: dict[str, float] = {}
    notes: list[str] = []
    for wrapper, root in _quotations(cases):
        if wrapper.source == root.source or root.source in shifts or wrapper.source in shifts:
            continue
        quoted_at, failed_at = _when(wrapper, when), _when(root, when)
        if quoted_at is None or failed_at is None or failed_at - quoted_at <= SMALL_SKEW:
            continue
        shifts[root.source] = quoted_at - failed_at - 0.000001
        notes.append(
            f"The clock of {root.source} is ahead of that of {wrapper.source} by about {failed_at - quoted_at:.0f} s: "
            "the second quotes an error of the first before it happened. The order was corrected by that."
        )
    return shifts, notes


def _quotations(cases: Sequence[Case]) -> Iterable[tuple[Failure, Failure]]:
    """Pairs of a wrapper and the failure whose text it quotes."""
    texts = {" ".join(case.failure.message.split()): case.failure for case in cases if len(case.failure.message) > 12}
    for case in cases:
        for match in case.matches:
            for name, value in match.captures:
                quoted = texts.get(" ".join(value.split())) if name.startswith("inner") else None
                if quoted is not None and quoted is not case.failure:
                    yield case.failure, quoted
