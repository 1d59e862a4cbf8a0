"""What stands around a root: the wrappers outside it, what followed from it, what lost to it, and when.

Part of the incident stage; `incidents` decides the root and calls these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnoser.fingerprints import mask
from diagnoser.lifecycle import Moment
from diagnoser.model import ChainLink, EntryKind, Failure, Incident, Rule, RunnerUp, Symptom, TimelineEntry
from diagnoser.roles import Played, depth

MAX_LINKS = 24
MAX_SYMPTOMS = 40
MAX_TIMELINE = 200
MAX_RUNNERS = 12
_SHORT = 400


def chain_of(root: Played, rest: Sequence[Played], rules: Mapping[str, Rule]) -> tuple[ChainLink, ...]:
    """Wrappers around the root, outermost first: other processes by depth, then the root's own outer exceptions."""
    links: list[ChainLink] = []
    seen: set[tuple[str | None, str]] = set()
    wrappers = [item for item in rest if item.part == "wrapper" and item.failure.order >= 0]
    for item in sorted(wrappers, key=lambda item: (depth(item.failure), -item.failure.order)):
        failure = item.failure
        key = (failure.type, mask(failure.message))
        if key in seen:
            continue
        seen.add(key)
        rule = item.roles[0].rule if item.roles else None
        links.append(
            ChainLink(
                "wraps", failure.type, _short(failure.message), failure.speaker, failure.source, _line(failure), rule
            )
        )
    own = root.failure.exceptions
    at = root.failure.primary % len(own) if own else 0
    for index in range(len(own) - 1, at, -1):
        outer = own[index]
        how = own[index - 1].link or "wraps"
        links.append(
            ChainLink(
                how,
                outer.type,
                _short(outer.message),
                outer.process or root.failure.process,
                root.failure.source,
                outer.line,
            )
        )
    return tuple(links[:MAX_LINKS])


def symptoms_of(root: Played, rest: Sequence[Played], rules: Mapping[str, Rule]) -> tuple[Symptom, ...]:
    """What merely followed, equal ones of one process kind counted together."""
    found: dict[tuple[str | None, str], Symptom] = {}
    for item in rest:
        if item.part != "symptom":
            continue
        failure = item.failure
        key = (failure.type, mask(failure.message)[:200])
        known = found.get(key)
        if known is not None:
            found[key] = known._replace(count=known.count + failure.count)
        else:
            because = item.roles[0].rule if item.roles else "follows from the root"
            found[key] = Symptom(
                failure.type,
                _short(failure.message),
                failure.speaker,
                failure.source,
                _line(failure),
                failure.count,
                because,
            )
    return tuple(sorted(found.values(), key=lambda item: item.line)[:MAX_SYMPTOMS])


def runners_up(root: Played, rest: Sequence[Played], rules: Mapping[str, Rule]) -> tuple[RunnerUp, ...]:
    """Other candidates for the root, and why each lost."""
    result: list[RunnerUp] = []
    seen = {root.failure.fingerprint}
    for item in rest:
        failure = item.failure
        if item.part != "candidate" or failure.fingerprint in seen or (failure.kind == "message" and not item.causes):
            continue
        seen.add(failure.fingerprint)
        result.append(
            RunnerUp(
                failure.type,
                _short(failure.message),
                failure.speaker,
                failure.source,
                _line(failure),
                _why_lost(item, root),
            )
        )
    return tuple(result[:MAX_RUNNERS])


def _why_lost(item: Played, root: Played) -> str:
    if item.failure.quoted:
        return "It is known only from what another process quoted."
    if not item.loud:
        return f"It was logged as {item.failure.level}; the program went on after it."
    if depth(item.failure) < depth(root.failure):
        return "Its process is closer to the client; the root is in a deeper one."
    if item.failure.order > root.failure.order:
        return "It came later than the root."
    return "Nothing ties the end of the run to it."


def shortened(incident: Incident) -> list[str]:
    """Which lists of an incident may be longer than they are shown, as sentences."""
    lists = (
        ("wrappers", incident.chain, MAX_LINKS),
        ("kinds of consequences", incident.symptoms, MAX_SYMPTOMS),
        ("events", incident.timeline, MAX_TIMELINE),
        ("other candidates", incident.runners_up, MAX_RUNNERS),
    )
    return [
        f"Only the first {most} {name} of an incident are listed." for name, found, most in lists if len(found) >= most
    ]


def quotes(item: Played, root: Failure) -> bool:
    """True when a wrapper carries the root's own message."""
    text = root.message.strip()
    if not text or item.part != "wrapper":
        return False
    squeezed = " ".join(text.split())
    return any(
        squeezed and squeezed[:300] in " ".join(value.split())
        for match in item.roles
        for name, value in match.captures
        if name.startswith("inner")
    )


def timeline_of(
    root: Played, copies: Sequence[Played], rest: Sequence[Played], moments: Sequence[Moment]
) -> tuple[TimelineEntry, ...]:
    """The events of the incident in reading order."""
    entries: list[tuple[int, TimelineEntry]] = [(root.failure.order, _entry(root.failure, "root"))]
    entries += [(item.failure.order, _entry(item.failure, "copy")) for item in copies[:64]]
    entries += [
        (item.failure.order, _entry(item.failure, "wrapper" if item.part == "wrapper" else "symptom"))
        for item in rest[:MAX_TIMELINE]
        if item.part in ("wrapper", "symptom")
    ]
    seen: set[str] = set()
    for moment in moments:
        if moment.kind in ("start", "ready", "stop", "down") and moment.kind not in seen:
            seen.add(moment.kind)
            kind: EntryKind = "shutdown" if moment.kind in ("stop", "down") else "fact"
            entries.append((moment.order, _moment_entry(moment, moment.text, kind)))
    served = [moment for moment in moments if moment.kind == "served" and moment.order < root.failure.order]
    if served:
        last = served[-1]
        entries.append((last.order, _moment_entry(last, "last request served: " + last.text, "fact")))
    entries.sort(key=lambda item: item[0])
    return tuple(entry for _, entry in entries[:MAX_TIMELINE])


def _moment_entry(moment: Moment, what: str, kind: EntryKind) -> TimelineEntry:
    return TimelineEntry(moment.time, moment.process, what, moment.source, moment.line, kind)


def _entry(failure: Failure, kind: EntryKind) -> TimelineEntry:
    what = failure.type or failure.message
    if failure.type and failure.message:
        what = f"{failure.type}: {failure.message}"
    first_line = _short(what.split("\n", 1)[0])
    return TimelineEntry(failure.time, failure.speaker, first_line, failure.source, _line(failure), kind)


def _line(failure: Failure) -> int:
    found = failure.exception
    return found.line if found and found.line else failure.line


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
