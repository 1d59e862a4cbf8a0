"""The timeline of an incident as a drawing: one lane per process, events from left to right in the order of the log.

Positions are shares of the width, so that the drawing fits a phone and a wall screen with letters of one size.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.model import Incident, TimelineEntry
from diagnoser.records import NamedTuple
from diagnoser.render._plain import cut_end, one_line
from diagnoser.render._words import place, process_label

MOST_LANES, MOST_MARKS = 12, 24
LANE_HEIGHT = 46
_LABEL_LENGTH = 42
_ORDER = {"root": 0, "copy": 1, "wrapper": 2, "fact": 3, "shutdown": 3, "symptom": 4}


class Mark(NamedTuple):
    """One event, or several equal ones, on a lane."""

    x: str
    """Distance from the left, such as `12.50%`."""
    y: int
    kind: str
    title: str
    """What a pointer or screen reader says."""


class Lane(NamedTuple):
    """One process, or all those that found no lane of their own."""

    label: str
    y: int
    """Line of the lane, from the top."""
    root: bool
    marks: tuple[Mark, ...]


class Drawing(NamedTuple):
    """What the template draws."""

    height: int
    lanes: tuple[Lane, ...]
    kinds: tuple[str, ...]
    """Kinds of events that occur, for the legend."""


def drawing(incident: Incident) -> Drawing | None:
    """The drawing, or None when there are too few events for one."""
    if len(incident.timeline) < 2:
        return None
    rows = _rows(incident.timeline)
    marks = [(name, entries) for name, events in rows for entries in events]
    position = {id(entries): index for index, entries in enumerate(sorted((m[1] for m in marks), key=_first))}
    last = max(len(position) - 1, 1)
    lanes = []
    for row, (name, events) in enumerate(rows):
        y = row * LANE_HEIGHT + 32
        drawn = tuple(
            Mark(f"{3 + 94 * position[id(entries)] / last:.2f}%", y, _kind(entries), _title(entries))
            for entries in events
        )
        lanes.append(Lane(_label(name, events), y, any(_kind(entries) == "root" for entries in events), drawn))
    kinds = sorted({mark.kind for lane in lanes for mark in lane.marks}, key=lambda kind: (_ORDER[kind], kind))
    return Drawing(len(rows) * LANE_HEIGHT + 6, tuple(lanes), tuple(kinds))


Events = list[tuple[int, TimelineEntry]]


def _rows(timeline: Sequence[TimelineEntry]) -> list[tuple[str, list[Events]]]:
    """Lanes in the order of their first event; on each, events, consequences of one lane folded into one."""
    by_process: dict[str, Events] = {}
    for index, entry in enumerate(timeline):
        by_process.setdefault(process_label(entry.process), []).append((index, entry))
    names = list(by_process)
    if len(names) > MOST_LANES:
        weight = {name: min(_ORDER[entry.kind] for _, entry in events) for name, events in by_process.items()}
        parts = [name for name in names if weight[name] < _ORDER["symptom"]] or names
        shown = set(sorted(parts, key=lambda name: weight[name])[: MOST_LANES - 1])
        rest = [event for name in names if name not in shown for event in by_process[name]]
        rows = [(name, by_process[name]) for name in names if name in shown]
        rows.append((f"{len(names) - len(shown):,} more processes", sorted(rest)))
    else:
        rows = list(by_process.items())
    return [(name, _folded(events)) for name, events in rows]


def _folded(events: Events) -> list[Events]:
    """Neighbors of one kind as one event; beyond `MOST_MARKS` everything that is left is the last event."""
    groups: list[Events] = []
    for event in events:
        foldable = event[1].kind in ("symptom", "copy") or len(groups) >= MOST_MARKS
        if groups and foldable and (groups[-1][0][1].kind == event[1].kind or len(groups) >= MOST_MARKS):
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def _first(events: Events) -> int:
    return events[0][0]


def _kind(events: Events) -> str:
    return min((entry.kind for _, entry in events), key=lambda kind: _ORDER[kind])


def _title(events: Events) -> str:
    entry = events[0][1]
    count = f"{len(events):,} x " if len(events) > 1 else ""
    time = f"{one_line(entry.time)} " if entry.time else ""
    return f"{time}{count}{cut_end(one_line(entry.what), 200)} ({place(entry.source, entry.line)})"


def _label(name: str, events: list[Events]) -> str:
    """Name of the lane and what happened on it, in short."""
    root = next((entries[0][1] for entries in events if _kind(entries) == "root"), None)
    followed = sum(len(entries) for entries in events if _kind(entries) == "symptom")
    label = cut_end(one_line(name), 28)
    if root:
        label += ": first failure"
    elif followed > 1:
        label += f": {followed:,} consequences"
    return cut_end(label, _LABEL_LENGTH)
