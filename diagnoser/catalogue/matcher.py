"""Decides which conditions hold for a failure. Knows what the keys of a rule mean; knows no rule.

Every key that a condition gives must hold, and none of the keys of its `not`. Keys about an exception are tried on each
exception of the failure by itself: its own type, message and frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from diagnoser.catalogue.index import Head, Test
from diagnoser.catalogue.search import Hit, Pattern, Searcher, normalize
from diagnoser.model import CONFIDENCES, Confidence, Evidence, Facts, Failure, Frame, LogRecord, Match, Process

MOST_FRAMES = 400
"""Different frames of one exception that `any_frame` looks at, from both ends."""


class RecordHit(NamedTuple):
    """A log record on which a `log` condition held."""

    record: LogRecord
    order: int
    """Position in reading order over all sources."""


class LogHit(NamedTuple):
    """A `log` condition that holds for a text; the index of one inside a `not` is written as -1 - index."""

    rule_id: str
    condition_index: int


class Subject(NamedTuple):
    """What the keys about an exception look at: one exception of a failure, or a failure without exceptions."""

    position: int | None
    type: str | None
    message: str
    frames: tuple[Frame, ...]
    line: int
    """The last line of the message in the log."""

    @property
    def code(self) -> str:
        """Source text of the frame that raised."""
        return (self.frames[-1].code or "") if self.frames else ""

    def places(self) -> tuple[tuple[str, Frame], ...]:
        """`file:function` of the different frames, innermost first, with the shortened and with the printed path."""
        seen: dict[str, Frame] = {}
        for frame in _both_ends(self.frames):
            for path in (frame.file, frame.path):
                seen.setdefault(f"{path}:{frame.function or ''}", frame)
        return tuple(seen.items())


class Context(NamedTuple):
    """What a failure is matched against beside itself."""

    failure: Failure
    facts: Facts
    logs: Mapping[LogHit, Sequence[RecordHit]]
    text: str
    """The text of the failure's own record, for `log` conditions."""
    searcher: Searcher
    records: Sequence[LogRecord] = ()
    """The records of the failure, where they are known: evidence is looked up in them."""


class Held(NamedTuple):
    """A condition that holds."""

    confidence: Confidence
    captures: tuple[tuple[str, str], ...]
    evidence: tuple[Evidence, ...]
    keys: int
    literal: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """Lower is better: confidence, then how many keys were given, then how long their literals are."""
        return CONFIDENCES.index(self.confidence), -self.keys, -self.literal


def subjects(failure: Failure) -> tuple[Subject, ...]:
    """Each exception of a failure; the failure itself when it has none."""
    if not failure.exceptions:
        return (Subject(None, failure.name, failure.text, failure.native_frames, failure.end_line),)
    return tuple(
        Subject(
            index,
            found.type,
            found.message,
            found.frames,
            (found.end_line or found.line) - sum(map(_lines, found.notes)),
        )
        for index, found in enumerate(failure.exceptions)
    )


def own_text(failure: Failure, record_text: str) -> str:
    """The text that a lone `log` condition is searched in: the record itself, not a traceback below it."""
    if record_text:
        return record_text
    return failure.header if failure.exceptions else "\n".join(part for part in (failure.header, failure.text) if part)


def holds(head: Head, index: int, test: Test, subject: Subject | None, context: Context) -> Held | None:
    """The condition with what it read; None when a key does not hold. Without a subject the record is the failure."""
    captures: dict[str, str] = {}
    evidence: list[Evidence] = []
    if subject is not None and not _subject_holds(test, subject, context, captures, evidence):
        return None
    if not all(_fact_holds(context, name, wanted, evidence) for name, wanted in test.fact):
        return None
    if test.log is not None:
        own, hit = _log_holds(head.id, index, test, context, alone=subject is None)
        if own is None:
            return None
        _take(captures, hit)
        evidence.append(own)
    if test.negate is not None and _refused(head.id, index, Test(*test.negate), subject, context):
        return None
    confidence = _lowered(test.confidence, _steps_down(head, context))
    return Held(confidence, tuple(captures.items()), tuple(dict.fromkeys(evidence)), test.keys, test.literal)


def type_holds(test: Test, printed: str | None, searcher: Searcher, *, quoted: bool = False) -> bool:
    """Whether an exception's name is the one asked for; the module is optional, and a quoted name often lost it."""
    if not printed:
        return False
    names = [printed]
    while "." in names[-1]:
        names.append(names[-1].split(".", 1)[1])
    if test.names is not None:
        wanted: Iterable[str] = test.names
        if quoted and "." not in printed:
            wanted = [name.rsplit(".", 1)[-1] for name in test.names]
        return any(name in wanted for name in names)
    return test.exception is not None and any(searcher.full(test.exception, name) for name in names)


def same_process(left: Process, right: Process) -> bool:
    """Whether two writers may be one: nothing known of them contradicts it."""
    if not left.known or not right.known:
        return True
    if left.host and right.host and left.host != right.host:
        return False
    if left.pid is not None and right.pid is not None:
        return left.pid == right.pid
    if left.name and right.name:
        return left.name == right.name
    return left.role == right.role and left.ranks == right.ranks


def contradicted(head: Head, facts: Facts) -> bool:
    """Whether a version that the log states lies outside the rule's range."""
    if not head.applies:
        return False
    from diagnoser.catalogue.versions import within

    for package, wanted in head.applies:
        stated = facts.get(f"{package.replace('-', '_')}_version")
        if stated is not None and within(str(stated.value), wanted) is False:
            return True
    return False


def ordered(found: Sequence[tuple[Head, Held, Match]]) -> list[Match]:
    """Best first: by confidence, then the more specific, then by id; what is outranked follows what outranks it."""
    waiting = sorted(
        found,
        key=lambda entry: (*entry[1].rank, entry[0].id, entry[2].exception or 0),
    )
    present = {head.id: set(head.outranks) for head, _, _ in waiting}
    done: list[Match] = []
    while waiting:
        ids = {head.id for head, _, _ in waiting}
        free = (
            position
            for position, (head, _, _) in enumerate(waiting)
            if not any(head.id in present[other] for other in ids if other != head.id)
        )
        # Rules that outrank each other in a circle keep the order that they have.
        done.append(waiting.pop(next(free, 0))[2])
    return done


def _both_ends(frames: tuple[Frame, ...]) -> Iterable[Frame]:
    """The frames innermost first; of very many those at the ends."""
    if len(frames) <= MOST_FRAMES:
        return reversed(frames)
    half = MOST_FRAMES // 2
    return (*reversed(frames[-half:]), *reversed(frames[:half]))


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _subject_holds(
    test: Test, subject: Subject, context: Context, captures: dict[str, str], evidence: list[Evidence]
) -> bool:
    """The keys about the exception."""
    search, failure = context.searcher.search, context.failure
    if test.exception is not None:
        if not type_holds(test, subject.type, context.searcher, quoted=failure.quoted):
            return False
        found = context.searcher.full(test.exception, subject.type or "") if "(?P<" in test.exception else None
        _take(captures, found)
    steps: tuple[tuple[Pattern | None, Callable[[], Iterable[tuple[str, Frame | None]]]], ...] = (
        (test.message, lambda: ((subject.message, None),)),
        (test.code, lambda: ((subject.code, subject.frames[-1]),) if subject.code else ()),
        (test.frame, lambda: Subject(None, None, "", subject.frames[-1:], 0).places()),
        (test.any_frame, subject.places),
    )
    for pattern, texts in steps:
        if pattern is None:
            continue
        for text, frame in texts():
            hit = search(pattern, text)
            if hit is not None:
                _take(captures, hit)
                code = pattern is test.code
                evidence.append(
                    _frame_evidence(context, frame, code) if frame else _message_evidence(context, subject, hit)
                )
                break
        else:
            return False
    if not evidence and test.exception is not None:
        evidence.append(_message_evidence(context, subject, Hit(0, 0)))
    return True


def _fact_holds(context: Context, name: str, wanted: str, evidence: list[Evidence]) -> bool:
    """One comparison; a fact that the log does not state does not hold."""
    from diagnoser.catalogue.versions import fact_holds

    fact = context.facts.get(name)
    if fact is None or not fact_holds(fact.value, wanted):
        return False
    evidence.append(Evidence(fact.source, fact.line, f"{name} = {fact.value}"))
    return True


def _log_holds(
    rule: str, index: int, test: Test, context: Context, *, alone: bool
) -> tuple[Evidence | None, Hit | None]:
    """The `log` key, on the failure's own record or on a record near it: the line that holds, None when none does."""
    assert test.log is not None
    hit = context.searcher.search(test.log, context.text) if context.text else None
    if hit is not None:
        return _record_evidence(context, hit), hit
    near = None if alone else _near(context, LogHit(rule, index), test.near, before=True)
    if near is None:
        return None, None
    record = near.record
    return Evidence(record.source, record.line, record.body), context.searcher.search(test.log, record.body)


def _near(context: Context, wanted: LogHit, near: str, *, before: bool) -> RecordHit | None:
    """The last record on which a `log` condition held: before the failure in its process, unless anywhere will do."""
    failure = context.failure
    speakers = (failure.process, failure.speaker)
    for found in reversed(context.logs.get(wanted, ())):
        if near == "anywhere":
            return found
        if before and found.order > failure.order:
            continue
        if any(same_process(found.record.process, speaker) for speaker in speakers):
            return found
    return None


def _refused(rule: str, index: int, test: Test, subject: Subject | None, context: Context) -> bool:
    """Whether any key of a `not` holds."""
    search = context.searcher.search
    if subject is not None:
        quoted = context.failure.quoted
        if test.exception is not None and type_holds(test, subject.type, context.searcher, quoted=quoted):
            return True
        raising = Subject(None, None, "", subject.frames[-1:], 0)
        if (
            (test.message is not None and search(test.message, subject.message))
            or (test.code is not None and search(test.code, subject.code))
            or (test.frame is not None and any(search(test.frame, place) for place, _ in raising.places()))
            or (test.any_frame is not None and any(search(test.any_frame, place) for place, _ in subject.places()))
        ):
            return True
    elif test.message is not None and search(test.message, context.text):
        return True
    if test.log is not None and (
        search(test.log, context.text) or _near(context, LogHit(rule, -1 - index), test.near, before=False) is not None
    ):
        return True
    return any(_fact_holds(context, name, wanted, []) for name, wanted in test.fact)


def _take(captures: dict[str, str], hit: Hit | None) -> None:
    """Keeps named groups; the key that was tried first wins."""
    for name, value in hit.groups if hit else ():
        captures.setdefault(name, value)


def _steps_down(head: Head, context: Context) -> int:
    """How far the confidence is lowered: a step for a quoted error, one for a version that has the fix already."""
    steps = int(context.failure.quoted)
    stated = context.facts.get("vllm_version") if head.fixed_in else None
    if stated is not None and head.fixed_in:
        from diagnoser.catalogue.versions import compare

        order = compare(str(stated.value), head.fixed_in)
        steps += order is not None and order >= 0
    return steps


def _lowered(confidence: Confidence, steps: int) -> Confidence:
    return CONFIDENCES[min(CONFIDENCES.index(confidence) + steps, len(CONFIDENCES) - 1)]


def _message_evidence(context: Context, subject: Subject, hit: Hit) -> Evidence:
    """The line of the message that a pattern held on, with the exception's name before its first line."""
    lines = subject.message.split("\n")
    row = subject.message.count("\n", 0, hit.start)
    text = lines[row]
    if row == 0 and subject.position is not None and subject.type:
        text = f"{subject.type}: {text}" if text else subject.type
    first = context.failure.line if subject.position is None else subject.line - len(lines) + 1
    return _placed(context, max(first, context.failure.line) + row, text)


def _frame_evidence(context: Context, frame: Frame, code: bool) -> Evidence:
    """The source line of a frame, or the line that names its place."""
    if code and frame.code:
        line = frame.log_line + 1 if frame.log_line is not None else context.failure.end_line
        return _placed(context, line, frame.code.split("\n")[0].strip())
    place = f'File "{frame.path}", line {frame.line}, in {frame.function}' if frame.function else frame.path
    return _placed(context, frame.log_line or context.failure.line, place)


def _record_evidence(context: Context, hit: Hit) -> Evidence:
    """The line of the failure's own record that a pattern held on."""
    row = context.text.count("\n", 0, hit.start)
    return _placed(context, context.failure.line + row, context.text.split("\n")[row])


def _placed(context: Context, line: int, text: str) -> Evidence:
    """Evidence at its line; among the failure's records the nearest one that holds the text says which line that is."""
    wanted = text.strip()
    holding = [record for record in context.records if wanted and wanted in record.body]
    best = min(holding, key=lambda record: abs(record.line - line), default=None)
    if best is not None:
        return Evidence(best.source, best.line, text)
    return Evidence(context.failure.source, line, text)


def literal_in(clause: tuple[str, ...], text: str) -> bool:
    """Whether a normalized text holds one of the literals; no literals ask for nothing."""
    return not clause or any(literal in text for literal in clause)


def normalized_places(subject: Subject) -> str:
    """All places of a subject in the form that literals are looked up in."""
    return normalize("\n".join(place for place, _ in subject.places()))
