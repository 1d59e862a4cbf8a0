"""Puts what several logs say into one order of time.

Each source is read from its first line to its last, so the reading order says which of two lines came first within a
source; that order is kept, whatever times it prints. Across sources the times decide. What is known of the clocks:

- Lines of one source may carry two of them, the logger's and, where a line has none of its own, the collector's.
  Where those differ by a time zone, the collector's is brought to the logger's.
- A wrapper can't come before the failure that it quotes: where it does, the clocks of two hosts differ, and the
  later source is shifted and the report says so.
- A source that prints no times stays where it was read.
"""

from collections.abc import Iterable, Mapping, Sequence

from diagnoser.clock import seconds_of
from diagnoser.lazy import lazy
from diagnoser.lifecycle import Moment
from diagnoser.model import Failure
from diagnoser.records import NamedTuple
from diagnoser.roles import Case

SMALL_SKEW = 2.0
"""Seconds by which clocks may differ without being noticed: most logs print whole seconds."""
_QUARTER = 900.0
"""Time zones differ by whole quarters of an hour."""
_ZONE_SLACK = 120.0
_YEAR = 366 * 86_400.0
_ZONED = lazy(r"(?:Z|\d[+-]\d\d:?\d\d)\s*$")


class Joined(NamedTuple):
    """Cases and moments renumbered by time, and what was noticed of the clocks."""

    cases: list[Case]
    moments: list[Moment]
    notes: list[str]


class _Item(NamedTuple):
    """A case or moment: where it was read, and when it says it was."""

    order: int
    source: str
    time: float | None
    zoned: bool


def joined(cases: Sequence[Case], moments: Sequence[Moment], times: Mapping[int, str]) -> Joined:
    """Everything in one order of time.

    `times` gives, for a reading order, the last time that its source had printed by then.
    """
    read: dict[int, _Item] = {}
    items: list[Failure | Moment] = [*(case.failure for case in cases), *moments]
    for item in items:
        read.setdefault(item.order, _item(item, times))
    sources = {item.source for item in read.values()}
    if len(sources) < 2:
        return Joined(list(cases), list(moments), [])
    timed = _timed([read[order] for order in sorted(read)])
    untimed = sorted(sources - {item.source for item in read.values() if item.time is not None})
    shifts, notes = _shifts(cases, timed)
    if untimed:
        few = ", ".join(untimed[:3]) + (f" and {len(untimed) - 3} more" if len(untimed) > 3 else "")
        what = "states no times: it stands" if len(untimed) == 1 else "state no times: they stand"
        notes.append(f"{few} {what} among the others where read.")
    place = _places(read, timed, shifts)
    return Joined(
        [case._replace(failure=case.failure._replace(order=place[case.failure.order], last=None)) for case in cases],
        sorted((moment._replace(order=place[moment.order]) for moment in moments), key=lambda moment: moment.order),
        notes,
    )


def _item(item: Failure | Moment, times: Mapping[int, str]) -> _Item:
    for text in (item.time, times.get(item.order)):
        stated = seconds_of(text) if text else None
        if text and stated is not None:
            return _Item(item.order, item.source, stated, bool(_ZONED.search(text)))
    return _Item(item.order, item.source, None, False)


def _timed(items: list[_Item]) -> dict[int, float]:
    """The time of each item that can be given one, in the clock of its source's logger, never falling in a source."""
    by_source: dict[str, list[_Item]] = {}
    for item in items:
        by_source.setdefault(item.source, []).append(item)
    result: dict[int, float] = {}
    for read in by_source.values():
        offset = _zone_offset(read)
        known = [(item, item.time + (offset if item.zoned else 0.0)) for item in read if item.time is not None]
        if not known:
            continue
        latest = known[0][1]
        stated = {item.order: time for item, time in known}
        for item in read:
            latest = max(latest, stated.get(item.order, latest))
            result[item.order] = latest
    return _over_new_year(result)


def _zone_offset(items: list[_Item]) -> float:
    """Seconds from the collector's clock to the logger's, where lines of both stand next to each other."""
    last: _Item | None = None
    for item in items:
        if item.time is None:
            continue
        if last is not None and last.time is not None and last.zoned != item.zoned:
            difference = last.time - item.time if item.zoned else item.time - last.time
            whole = round(difference / _QUARTER) * _QUARTER
            if whole and abs(difference - whole) <= _ZONE_SLACK:
                return whole
        last = item
    return 0.0


def _over_new_year(times: dict[int, float]) -> dict[int, float]:
    """Times name no year: where they lie in its first and last weeks, the first ones are of the next year."""
    if not times or max(times.values()) - min(times.values()) < _YEAR / 2:
        return times
    return {order: time + _YEAR if time < _YEAR / 2 else time for order, time in times.items()}


def _places(read: Mapping[int, _Item], timed: Mapping[int, float], shifts: Mapping[str, float]) -> dict[int, int]:
    """The place of each item in the common order; one without a time follows what was read before it."""
    keys: list[tuple[float, int]] = []
    before = float("-inf")
    for order in sorted(read):
        time = timed.get(order)
        key = before if time is None else round(time + shifts.get(read[order].source, 0.0), 6)
        before = max(before, key)
        keys.append((key, order))
    return {order: number for number, (_, order) in enumerate(sorted(keys), 1)}


def _shifts(cases: Sequence[Case], timed: Mapping[int, float]) -> tuple[dict[str, float], list[str]]:
    """Seconds to add to each source's times so that no quotation comes before what it quotes."""
    shifts: dict[str, float] = {}
    notes: list[str] = []
    for wrapper, root in _quotations(cases):
        if wrapper.source == root.source or root.source in shifts or wrapper.source in shifts:
            continue
        quoted_at, failed_at = timed.get(wrapper.order), timed.get(root.order)
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
