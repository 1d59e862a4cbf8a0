"""`--since` and `--until`: which records of a log are looked at for failures.

    --since "03-14 10:00:00"   --until 2025-03-14T10:30:00Z   --since 10m   --since 10:15

Times are written as logs print them, as ISO dates and times, or as an age (`90s`, `10m`, `2h`, `3d`: before now).
Years do not count, as most logs print none: times lie within half a year of each other, so that a span may reach over
New Year, and no time lies in the future.
"""

from __future__ import annotations

import re
import time

from diagnoser.clock import seconds_of
from diagnoser.errors import UsageError
from diagnoser.model import LogRecord
from diagnoser.records import NamedTuple

_AGE = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,9})s)?")
_DAY = re.compile(r"(?:\d{4}[-/])?(\d\d)[-/](\d\d)")
_SHORT_CLOCK = re.compile(r"(.*?\d\d:\d\d)(Z|[+-]\d\d:?\d\d)?")
_UNITS = (86_400, 3_600, 60, 1)
_ZONED = re.compile(r"(?:Z|\d[+-]\d\d:?\d\d)\s*$")
_YEAR = 366 * 86_400.0
_DAY_SECONDS = 86_400.0


class Edge(NamedTuple):
    """One end of a span, in the two clocks that logs print: with a zone, and without one."""

    zoned: float
    local: float
    daily: bool = False
    """True for a time of day alone, which holds on every day."""
    ahead: float = 183 * 86_400.0
    """Seconds by which a time of a log may lie behind it; what seems to lie further is of the year before."""


class Span:
    """From `since` to `until`, both included; None is open."""

    def __init__(self, since: Edge | None = None, until: Edge | None = None) -> None:
        self.since, self.until = since, until
        self._untimed: dict[str, bool] = {}

    def accepts(self, record: LogRecord, last: str | None) -> bool:
        """True for a record inside the span; one without a time has that of the line before it.

        What comes before the first time of a log is taken as older than that.
        """
        text = record.time or last
        stated = seconds_of(text) if text else None
        if text is None or stated is None:
            self._untimed.setdefault(record.source, True)
            return self.since is None
        self._untimed[record.source] = False
        zoned = bool(_ZONED.search(text))
        after = self.since is None or _difference(stated, self.since, zoned) >= 0
        return after and (self.until is None or _difference(stated, self.until, zoned) <= 0)

    @property
    def notes(self) -> list[str]:
        """What a reader of the report must know of it."""
        verb = "left out: it" if self.since is not None else "taken whole: it"
        untimed = [name for name, without in self._untimed.items() if without]
        return [
            "Only the span of --since and --until was looked at for failures.",
            *(f"{name} was {verb} states no times." for name in untimed),
        ]


def span(since: str | None, until: str | None, *, now: float | None = None) -> Span | None:
    """The span that the options name, None when there are none. Raises UsageError for a text that is no time."""
    if since is None and until is None:
        return None
    moment = time.time() if now is None else now
    return Span(
        _edge("--since", since, moment, 0.0) if since is not None else None,
        _edge("--until", until, moment, 0.999999) if until is not None else None,
    )


def _edge(option: str, text: str, now: float, to_the_end: float) -> Edge:
    """`to_the_end` is added to a time in whole seconds: the whole second belongs to the span."""
    text = text.strip()
    found = _AGE.fullmatch(text)
    if found and text:
        age = sum(int(number) * unit for number, unit in zip(found.groups(), _UNITS, strict=True) if number)
        then = now - age
        return Edge(_in_year(time.gmtime(then)), _in_year(time.localtime(then)), ahead=age + _DAY_SECONDS)
    if _DAY.fullmatch(text):
        text += " 23:59:59" if to_the_end else " 00:00:00"
    elif short := _SHORT_CLOCK.fullmatch(text):
        text = f"{short[1]}:{'59' if to_the_end else '00'}{short[2] or ''}"
    stated = seconds_of(text)
    if stated is None:
        raise UsageError(
            f"{option} {text!r} is no time; write it as the log does, as 2025-03-14T10:20:30, or as an age such as 10m"
        )
    if "." not in text and "," not in text:
        stated += to_the_end
    daily = not re.search(r"\d[-/]\d|[A-Z][a-z]{2} +\d|^\d{4} ", text)
    return Edge(stated, stated, daily)


def _in_year(moment: time.struct_time) -> float:
    return float(seconds_of(time.strftime("%m-%d %H:%M:%S", moment)) or 0.0)


def _difference(stated: float, edge: Edge, zoned: bool) -> float:
    """Seconds from the edge to the stated time, in years (or days) that have no number."""
    other = edge.zoned if zoned else edge.local
    if edge.daily:
        return stated % _DAY_SECONDS - other % _DAY_SECONDS
    difference = (stated - other) % _YEAR
    return difference if difference <= edge.ahead else difference - _YEAR
