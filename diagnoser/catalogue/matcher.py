"""Decides which conditions hold for a failure. Knows what the keys of a rule mean; knows no rule.

Every key that a condition gives must hold, and none of the keys of its `not`. Keys about an exception are tried on each
exception of the failure by itself: its own type, message and frames.
"""

from collections.abc import Callable, Iterable, Sequence

from diagnoser.catalogue.evidence import frame_evidence, line_evidence, message_evidence, record_evidence
from diagnoser.catalogue.index import Head, Test
from diagnoser.catalogue.search import Hit, Pattern, Searcher, expression
from diagnoser.catalogue.subjects import Context, LogHit, RecordHit, Subject
from diagnoser.model import CONFIDENCES, Confidence, Evidence, Facts, Frame, Match, Process
from diagnoser.records import NamedTuple

_ANY_TEXT = "?"
"""A pattern that finds itself in this asks for no words at all."""


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
    """Whether an exception's name is the one asked for; the module is optional, and a quoted name often lost it.

    Most wrappers quote the message alone; then the type is taken as given, unless the rule knows nothing but the type.
    """
    if not printed:
        return quoted and test.message is not None and searcher.search(test.message, _ANY_TEXT) is None
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


def _subject_holds(
    test: Test, subject: Subject, context: Context, captures: dict[str, str], evidence: list[Evidence]
) -> bool:
    """The keys about the exception."""
    search, failure = context.searcher.search, context.failure
    if test.exception is not None:
        if not type_holds(test, subject.type, context.searcher, quoted=failure.quoted):
            return False
        if "(?P<" in expression(test.exception):
            _take(captures, context.searcher.full(test.exception, subject.type or ""))
    steps: tuple[tuple[Pattern | None, Callable[[], Iterable[tuple[str, Frame | None]]]], ...] = (
        (test.message, lambda: ((subject.message, None),)),
        (test.code, lambda: ((subject.code, subject.frames[-1]),) if subject.code else ()),
        (test.frame, lambda: Subject(None, None, "", subject.frames[-1:], 0, 0).places()),
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
                    frame_evidence(context, frame, code) if frame else message_evidence(context, subject, hit)
                )
                break
        else:
            return False
    if not evidence and test.exception is not None:
        evidence.append(message_evidence(context, subject, Hit(0, 0)))
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
        return record_evidence(context, hit), hit
    near = None if alone else _near(context, LogHit(rule, index), test.near, before=True)
    if near is None:
        return None, None
    text = near.text or near.record.body
    hit = context.searcher.search(test.log, text)
    return line_evidence(near.record.source, near.record.line, text, hit.start if hit else 0), hit


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
        # A quotation that lost its type may be of any: that excludes nothing.
        quoted = context.failure.quoted and subject.type is not None
        if test.exception is not None and type_holds(test, subject.type, context.searcher, quoted=quoted):
            return True
        raising = Subject(None, None, "", subject.frames[-1:], 0, 0)
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
