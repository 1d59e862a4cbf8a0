"""What the keys of a rule look at: one exception of a failure, or a record, and what stands around it."""

from collections.abc import Iterable, Mapping, Sequence

from diagnoser.catalogue.search import Searcher, normalize
from diagnoser.model import Facts, Failure, Frame, LogRecord
from diagnoser.records import NamedTuple

MOST_FRAMES = 400
"""Different frames of one exception that `any_frame` looks at, from both ends."""


class RecordHit(NamedTuple):
    """A log record on which a `log` condition held."""

    record: LogRecord
    order: int
    """Position in reading order over all sources."""
    text: str = ""
    """All lines of the record, where it has several; `record` is the first."""


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
    """Where the message starts in the log."""
    end_line: int

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

    def normalized_places(self) -> str:
        """All places in the form that literals are looked up in."""
        return normalize("\n".join(place for place, _ in self.places()))


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


def subjects(failure: Failure) -> tuple[Subject, ...]:
    """Each exception of a failure; the failure itself when it has none."""
    if not failure.exceptions:
        return (Subject(None, failure.name, failure.text, failure.native_frames, failure.line, failure.end_line),)
    return tuple(
        Subject(index, found.type, found.message, found.frames, found.line or failure.line, found.end_line)
        for index, found in enumerate(failure.exceptions)
    )


def own_text(failure: Failure, record_text: str) -> str:
    """The text that a lone `log` condition is searched in: the record itself, not a traceback below it."""
    if record_text:
        return record_text
    return failure.header if failure.exceptions else "\n".join(part for part in (failure.header, failure.text) if part)


def _both_ends(frames: tuple[Frame, ...]) -> Iterable[Frame]:
    """The frames innermost first; of very many those at the ends."""
    if len(frames) <= MOST_FRAMES:
        return reversed(frames)
    half = MOST_FRAMES // 2
    return (*reversed(frames[-half:]), *reversed(frames[:half]))

