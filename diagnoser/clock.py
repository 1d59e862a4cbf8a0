"""Times as logs print them, as numbers that can be compared across files.

    03-14 10:20:30            vLLM            2025-03-14 10:20:30,123   Python logging
    0314 10:20:30.123456      glog            2025-03-14T10:20:30.1Z    collectors
    20250314 10:20:30.1       glog, by year   314 10:20:30.123456       torch
    Mar 14 10:20:30           syslog          10:20:30                  others

Most of these name no year and no zone. Such times are read as UTC of the leap year 1972: what counts here is which
of two came first, not when it was.
"""

from __future__ import annotations

from functools import lru_cache

from diagnoser.lazy import lazy

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"\s*(?P<zone>Z|[+-]\d\d:?\d\d)?"
_SHAPES = tuple(
    lazy(pattern)
    for pattern in (
        rf"(?P<year>\d{{4}})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ]{_CLOCK}{_ZONE}",
        rf"(?P<month>\d\d)-(?P<day>\d\d) {_CLOCK}",
        rf"(?<!\d)(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d) {_CLOCK}",
        rf"(?<!\d)(?P<month>\d{{1,2}})(?P<day>\d\d) {_CLOCK}",
        rf"(?P<name>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {_CLOCK}",
        rf"(?:^|\[){_CLOCK}",
    )
)
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)


@lru_cache(maxsize=4096)
def seconds_of(text: str) -> float | None:
    """Seconds since the start of an unnamed year; None for a text that is no time.

    A year that is printed does not enter, so that times with and without one compare. A zone that is printed does.
    """
    for shape in _SHAPES:
        found = shape.search(text)
        if found:
            return _seconds(found.groupdict())
    return None


def _seconds(part: dict[str, str | None]) -> float | None:
    month = _MONTHS.get(part.get("name") or "") or int(part.get("month") or 1)
    day = int(part.get("day") or 1)
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    total = ((_DAYS_BEFORE[month - 1] + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    fraction = part.get("fraction")
    value = total + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
    zone = part.get("zone")
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        value -= offset if zone[0] == "+" else -offset
    return value
