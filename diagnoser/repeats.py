"""Tells blocks that differ from many before them by numbers alone: these are only counted.

What a block says decides what becomes of it; the numbers in it do so hardly ever. After `MAX_VARIANTS` of a shape
were looked at, the next ones count as the newest of these did. Two kinds of numbers do matter: those that a rule asks
for (`exited with code 137`), for which such blocks are watched; and the status of an answer, part of the shape.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Sequence

from diagnoser.fingerprints import short_key
from diagnoser.keeping import Kept
from diagnoser.lifecycle import ACCESS, Kinds, MomentKind, kinds_of, marked_by
from diagnoser.model import LogRecord, Process

MAX_VARIANTS = 8
"""Blocks of one shape that are looked at."""
MAX_SHAPES = 20_000
"""Different shapes remembered at once."""
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdef"
"""What calm lines may differ by: request ids."""
_CALM = frozenset({"DEBUG", "INFO"})
_STATUS = 3
"""Digits of an HTTP status."""


class Shape:
    """What is known of such blocks."""

    __slots__ = ("hits", "kept", "kinds", "label", "marked", "only_ready", "seen", "settled", "watched")

    def __init__(self, label: object = None) -> None:
        self.label = label
        """Level and text without numbers."""
        self.seen = 0
        self.settled = False
        """True when further ones are only counted."""
        self.watched = False
        """True when they are only counted as long as the same conditions of rules hold for them, `hits`."""
        self.hits: frozenset[object] = frozenset()
        self.kept: Sequence[Kept] = ()
        """The failures that the newest of them reports."""
        self.marked: set[MomentKind] = set()
        self.kinds: Kinds = ()
        """The moments that such blocks may mark."""
        self.only_ready = False
        """True when they say that the server is up, and nothing else."""

    def add(
        self,
        marked: Iterable[MomentKind],
        kept: Sequence[Kept],
        hits: frozenset[object],
        by_numbers: Callable[[], bool],
    ) -> None:
        """One more such block was looked at. `by_numbers` tells whether a rule asks for certain numbers in it."""
        self.seen += 1
        self.kept, self.hits = kept, hits
        self.marked.update(marked)
        if self.seen == MAX_VARIANTS:
            self.watched = by_numbers()
            self.settled = not self.watched
            self.kinds = kinds_of(self.marked)
            self.only_ready = self.marked == {"ready"}

    def again(self, count: int, order: int) -> None:
        """One more came and was not looked at; it stands for `count`."""
        for kept in self.kept:
            kept.again(count, order)


class Shapes:
    """All shapes of a run."""

    def __init__(self) -> None:
        self.version = 0
        """Changes whenever `settled` may give another shape than before."""
        self.ready_run = -1
        """The last run in which the server was seen to be up."""
        self._known: dict[object, Shape] = {}
        self._silent: dict[object, Shape] = {}
        """By label: blocks that said nothing that matters, whoever wrote them."""
        self._starts: list[int] = []

    def started(self, order: int) -> None:
        """The deployment started at this reading order: what happens from there on is another run's."""
        insort(self._starts, order)
        self.version += 1

    def run_of(self, order: int) -> int:
        """How often the deployment had started by then; a block may be complete only after the next start."""
        return bisect_right(self._starts, order)

    def of(self, record: LogRecord, order: int, text: str) -> Shape:
        """The shape of a block with this text and this first record."""
        label = _label(record.level, text)
        key = self.run_of(order), record.source, record.process, label
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) >= MAX_SHAPES:
                self.clear()
            shape = self._known[key] = self._settled_silent(label) or Shape(label)
        return shape

    def was_silent(self, shape: Shape, marked: Iterable[MomentKind], by_numbers: Callable[[], bool]) -> None:
        """One more block of the shape had no fact, no failure and no condition of a rule in it.

        So it will be in other processes and runs: they need not learn it anew.
        """
        if len(self._silent) >= MAX_SHAPES:
            self._silent.clear()
        silent = self._silent.setdefault(shape.label, Shape(shape.label))
        if not silent.settled:
            silent.add(marked, (), frozenset(), by_numbers)

    def settled(self, source: str, process: Process, level: str | None, text: str, order: int) -> Shape | None:
        """The shape of a block of one record, if enough were looked at."""
        label = _label(level, text)
        shape = self._known.get((self.run_of(order), source, process, label))
        if shape is None:
            return self._settled_silent(label)
        return shape if shape.settled else None

    def kinds_left(self, shape: Shape, order: int) -> Kinds:
        """The moments that a block of the reading order `order` may mark and that are not known yet."""
        return () if shape.only_ready and self.ready_run == self.run_of(order) else shape.kinds

    def marks_nothing(self, shape: Shape, body: str, order: int) -> bool:
        """Whether a settled block of one record, of the reading order `order`, marks no moment that is not known."""
        return marked_by(body, self.kinds_left(shape, order)) is None

    def _settled_silent(self, label: object) -> Shape | None:
        """What all processes share, once enough were looked at; it is not changed any more."""
        silent = self._silent.get(label)
        return silent if silent is not None and silent.settled else None

    def clear(self) -> None:
        """Starts anew."""
        self._known.clear()
        self._silent.clear()
        self.version += 1


def _label(level: str | None, text: str) -> object:
    """What blocks of one shape have in common, whoever wrote them."""
    return level, short_key(without_numbers(text, level))


def without_numbers(text: str, level: str | None) -> bytes:
    """The text without what blocks of one shape may differ by."""
    plain = text.encode("utf-8", "surrogatepass").translate(None, _HEX if level in _CALM else _DIGITS)
    if ACCESS in text:
        at = text.find('" ', text.find(ACCESS)) + 2
        return plain + text[at : at + _STATUS].encode("utf-8", "surrogatepass")
    return plain
