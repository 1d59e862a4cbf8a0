"""The one module that knows the order of the stages.

    sources → envelopes → streams → parsers → catalogue → incidents → report

`Pipeline.feed` takes raw lines as they come, from a file, a pipe or a followed log alike; `finish` gives what
they add up to. Failures are matched at the end, all of them, before a root is chosen: a rule may depend on a
fact or a line that comes later, and a rule's role is what keeps a consequence from being taken for the cause.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from diagnoser import incidents as incident_stage
from diagnoser.facts import FactReader
from diagnoser.fingerprints import mask, short_key
from diagnoser.intake import Accepts, Counted, Intake
from diagnoser.joining import joined
from diagnoser.lifecycle import ACCESS, ACCESS_KINDS, ALL, Kinds, Moment, MomentKind, kinds_of, moments_of
from diagnoser.model import (
    Coverage,
    Failure,
    LogRecord,
    Match,
    Process,
    RawLine,
    Report,
    SourceInfo,
    ToolInfo,
)
from diagnoser.parsers import Block, Excess, failures
from diagnoser.parsers.messages import message_of, text_of
from diagnoser.peers import with_peers
from diagnoser.quotes import quotations
from diagnoser.roles import Case
from diagnoser.scattered import Scattered

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.sources import Source

MAX_FAILURES = 4_000
"""Different failures kept; later ones are counted only."""
MAX_MESSAGES = 1_500
"""Failures kept until which one may be a mere message that no rule knows: a flood must not crowd out exceptions."""
MAX_HITS = 64
"""Records kept for one log condition."""
MAX_VARIANTS = 8
"""Blocks that differ by numbers alone are looked at this often, then only counted."""
MAX_SHAPES = 20_000
"""Different shapes of blocks remembered at once."""
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdef"
"""What calm lines may differ by: request ids."""
_CALM = frozenset({"DEBUG", "INFO"})
_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL"})


class Analysis(NamedTuple):
    """What all stages before the report found."""

    incidents: incident_stage.Outcome
    facts: dict[str, Any]
    cases: tuple[Case, ...]
    formats: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


class _Shape:
    """What is known of blocks that differ by numbers alone."""

    __slots__ = ("kept", "kinds", "marked", "only_ready", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.kept: list[object] = []
        """Keys of the failures that the newest of them reports."""
        self.marked: set[MomentKind] = set()
        self.kinds: Kinds = ()
        """The moments that such blocks may mark."""
        self.only_ready = False
        """True when they say that the server is up, and nothing else."""

    def add(self, marked: Iterable[MomentKind], kept: list[object]) -> None:
        """One more such block was looked at."""
        self.seen += 1
        self.kept = kept
        self.marked.update(marked)
        if self.seen == MAX_VARIANTS:
            self.kinds = kinds_of(self.marked)
            self.only_ready = self.marked == {"ready"}


class Pipeline:
    """Feed lines, then finish. One instance per run."""

    def __init__(self, catalogue: "Catalogue", *, accepts: Accepts | None = None, arrival: bool = False) -> None:
        """`accepts` tells which records may report failures (facts are taken from all); `arrival` says that lines of
        all sources come in the order in which they were written, as those of a running command do."""
        self.catalogue = catalogue
        self._arrival = arrival
        self._facts = FactReader()
        self._intake = Intake(accepts, self._facts.feed)
        self._moments: list[Moment] = []
        self._failures: dict[object, Failure] = {}
        self._counts: dict[object, int] = {}
        self._last: dict[object, int] = {}
        self._shapes: dict[object, _Shape] = {}
        self._marks: dict[object, frozenset[str]] = {}
        self._hits: dict[Any, list[Any]] = {}
        self._times: dict[int, str] = {}
        self._starts: list[int] = []
        self._ready_run = -1
        self._dropped = 0
        self._excess = Excess()
        self._scattered = Scattered()

    @property
    def order(self) -> int:
        """Reading order of the last line."""
        return self._intake.order

    @property
    def moments(self) -> Sequence[Moment]:
        """What marked the deployment's life so far."""
        return self._moments

    @property
    def kept(self) -> int:
        """How many different failures are kept."""
        return len(self._failures)

    @property
    def seen(self) -> int:
        """How many failures were seen, repeated ones included; grows when there is something new."""
        return sum(self._counts.values()) + self._dropped

    def feed(self, raw: RawLine, process: Process | None = None) -> None:
        """Takes the next line of a source; `process` is what the source's path tells about the writer."""
        for block in self._intake.feed(raw, process):
            self._block(block)

    def end_source(self, name: str) -> None:
        """Says that a source has ended, so that its last lines are not held back."""
        for block in self._intake.end_source(name):
            self._block(block)

    def flush(self, quiet: int | None = None, unfinished: int | None = None) -> None:
        """Closes open blocks, for a source that has gone quiet; see `Intake.flush`."""
        for block in self._intake.flush(quiet, unfinished):
            self._block(block)

    def forget(self) -> None:
        """Starts anew with what the log told of the deployment: for a log that never ends."""
        for kept in (self._failures, self._counts, self._last, self._shapes, self._marks, self._hits, self._times):
            kept.clear()
        self._scattered.clear()
        up = [moment for moment in self._moments if moment.kind in ("start", "ready")]
        self._moments = up[-2:]
        self._times = {moment.order: moment.time or "" for moment in self._moments}
        self._dropped = 0

    def finish(self, *, flush: bool = True) -> Analysis:
        """Matches all failures and joins them to incidents. May be called again after more lines."""
        if flush:
            self.flush()
        found = [
            failure._replace(count=self._counts[key], last=self._last.get(key))
            for key, failure in self._failures.items()
        ]
        cases = [
            Case(failure, tuple(self._match(failure, self._scattered.of(key))), marks)
            for key, failure, marks in zip(self._failures, found, self._marks.values(), strict=True)
        ]
        cases = [
            case for case in cases if case.matches or case.failure.kind != "message" or case.failure.level in _LOUD
        ]
        quoted = quotations(cases, self.catalogue.rules, self._run_of)
        cases += [Case(failure, tuple(self._match(failure))) for failure in quoted]
        notes: tuple[str, ...] = ()
        if self._dropped:
            notes = (f"More than {len(found)} different failures; {self._dropped} later ones were not analyzed.",)
        moments, clock_notes = self._moments, list[str]()
        if not self._arrival:
            cases, moments, clock_notes = joined(cases, self._moments, self._times)
        outcome = incident_stage.build(
            cases, moments, self.catalogue.rules, last=self.order, logs=self._logs(), ended=flush
        )
        incidents, more = with_peers(outcome.incidents, cases, self._intake.hosts, list(self._intake.formats))
        outcome = outcome._replace(incidents=incidents)
        clock_notes += more
        return Analysis(
            outcome,
            dict(self._facts.facts),
            tuple(cases),
            self._intake.formats,
            (*notes, *self._excess.notes(), *self._intake.notes, *clock_notes, *outcome.notes),
        )

    def _logs(self) -> dict[str, str]:
        """The log that each source is a piece of."""
        names = list(self._intake.formats)
        if len(names) < 2:
            return {}
        from diagnoser.sources.paths import log_name

        return {name: log_name(name) for name in names}

    def _moment(self, moment: Moment) -> None:
        if moment.kind == "start":
            insort(self._starts, moment.order)
        elif moment.kind in ACCESS_KINDS:
            last = self._moments[-1] if self._moments else None
            if last is not None and last.kind == moment.kind and last.source == moment.source:
                if moment.kind == "refused":
                    return
                self._times.pop(self._moments.pop().order, None)
        elif moment.kind == "ready":
            run = self._run_of(moment.order)
            if self._ready_run == run:
                return
            self._ready_run = run
        self._moments.append(moment)
        self._times[moment.order] = self._intake.time_before(moment.source)

    def _run_of(self, order: int) -> int:
        """How often the deployment had started by then; a block may be complete only after the next start."""
        return bisect_right(self._starts, order)

    def _block(self, block: Block) -> None:
        """Looks at a block; one that differs from many before it by numbers alone is only counted."""
        first = block.records[0]
        text = text_of(block)
        run = self._run_of(block.order)
        key = (
            run,
            first.source,
            first.process,
            first.level,
            short_key(text.encode("utf-8", "surrogatepass").translate(None, _HEX if first.level in _CALM else _DIGITS)),
        )
        shape = self._shapes.get(key)
        if shape is not None and shape.seen >= MAX_VARIANTS:
            if shape.kinds and not (shape.only_ready and self._ready_run == run):
                self._moments_of(block, shape.kinds)
            for kept in shape.kept:
                self._counts[kept] += first.repeated
                self._last[kept] = block.order
            return
        marked = self._moments_of(block)
        for record in block.records:
            self._facts.feed(record)
        kept_keys = self._failures_of(block, text)
        if shape is None:
            if len(self._shapes) >= MAX_SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = _Shape()
        shape.add(marked if ACCESS not in text else (*marked, *ACCESS_KINDS), kept_keys)

    def _moments_of(self, block: Block, kinds: Kinds = ALL) -> list[MomentKind]:
        """Notes the moments that the block marks, of these kinds; returns theirs."""
        marked = moments_of(block.records, block.order, kinds)
        for moment in marked:
            self._moment(moment)
        return [moment.kind for moment in marked]

    def _failures_of(self, block: Block, text: str) -> list[object]:
        """Keeps the failures of a block and the log conditions that it satisfies."""
        found = failures(block)
        self._excess.block(block, found)
        first = block.records[0]
        spoken = text if not found or found[0].kind != "exception" else found[0].header
        hits = self.catalogue.scan(spoken) if spoken else ()
        for hit in hits:
            self._hit(hit, first, block.order, spoken)
        marks = frozenset(hit[0] for hit in hits if self.catalogue.stands_alone(hit))
        if not found and (first.level in _LOUD or marks):
            found = [message_of(block, text)]
        return [key for failure in found if (key := self._keep(failure, marks, block)) is not None]

    def _hit(self, hit: Any, record: LogRecord, order: int, text: str) -> None:
        from diagnoser.catalogue import RecordHit

        kept = self._hits.setdefault(hit, [])
        if len(kept) < MAX_HITS:
            kept.append(RecordHit(record, order, text))
        else:
            kept[-1] = RecordHit(record, order, text)

    def _keep(self, failure: Failure, marks: frozenset[str], block: Block) -> object | None:
        """Keeps one of each different failure of a process and a run, with how often it came; returns its key."""
        process = failure.process
        place = (failure.source, process.host, process.pod, process.pid or process.name or process.role)
        what = failure.text if failure.kind == "message" else failure.fingerprint
        key = (self._run_of(failure.order), place, what, failure.level, mask(failure.header)[:200])
        if key in self._failures:
            self._counts[key] += failure.count
            self._last[key] = failure.order
        elif len(self._failures) < (MAX_FAILURES if failure.kind != "message" or marks else MAX_MESSAGES):
            self._failures[key], self._marks[key], self._counts[key] = failure, marks, failure.count
            self._scattered.keep(key, block.records)
            self._times[failure.order] = self._intake.time_before(failure.source)
        else:
            self._dropped += 1
            return None
        return key

    def _match(self, failure: Failure, records: Sequence[LogRecord] = ()) -> list[Match]:
        return self.catalogue.match(failure, self._facts.facts, self._hits, records=records)


def failures_of(text: str, catalogue: "Catalogue") -> list[tuple[Failure, list[Match]]]:
    """Every failure in a text with every rule that holds for it; what rule tests are made of."""
    from diagnoser.sources import text_source

    pipeline = Pipeline(catalogue)
    source = text_source(text, "<text>")
    for raw in source.lines():
        pipeline.feed(raw)
    pipeline.end_source("<text>")
    return [(case.failure, list(case.matches)) for case in pipeline.finish().cases]


def run(sources: "Iterable[Source]", catalogue: "Catalogue", *, accepts: Accepts | None = None) -> Analysis:
    """Reads all sources in order and returns what they add up to; failures only of records that are accepted."""
    pipeline = Pipeline(catalogue, accepts=accepts)
    for source in sources:
        process = source.process
        for raw in source.lines():
            pipeline.feed(raw, process)
        pipeline.end_source(source.name)
    return pipeline.finish()


def analyse(
    sources: "Sequence[Source]", catalogue: "Catalogue", *, runbook_url: str | None = None, notes: Sequence[str] = ()
) -> Report:
    """Reads all sources and makes the report; nothing is redacted yet."""
    analysis = run(sources, catalogue)
    return report_of(analysis, sources, catalogue, runbook_url=runbook_url, notes=notes)


def report_of(
    analysis: Analysis,
    sources: Sequence[Counted],
    catalogue: "Catalogue",
    *,
    runbook_url: str | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """The report of an analysis."""
    from diagnoser import __version__
    from diagnoser import report as report_stage
    from diagnoser.catalogue.versions import compare

    skipped = [source.lines_skipped for source in sources]
    read = sum(source.lines_read for source in sources)
    all_notes = [*notes, *analysis.notes, *(note for source in sources for note in source.notes)]
    all_notes += [
        f"A pattern of the catalogue ran out of time and was not tried again: {pattern}"
        for pattern in catalogue.timeouts
    ]
    coverage = Coverage(
        read,
        None if any(count is None for count in skipped) else sum(count or 0 for count in skipped),
        sum(source.lines_cut for source in sources),
        sum(source.undecodable_bytes for source in sources),
        tuple(all_notes),
    )
    infos = [
        SourceInfo(
            source.name,
            None if source.lines_skipped is None else source.lines_read + source.lines_skipped,
            source.bytes,
            analysis.formats.get(source.name, ()),
        )
        for source in sources
    ]
    texts = report_stage.Texts(_filler(), compare, runbook_url, _filler(command=True))
    return report_stage.build(
        analysis.incidents.incidents,
        stopped=analysis.incidents.stopped,
        rules=catalogue.rules,
        facts=analysis.facts,
        sources=infos,
        coverage=coverage,
        tool=ToolInfo(__version__, len(catalogue.rules), catalogue.digest),
        texts=texts,
    )


def _filler(*, command: bool = False) -> Callable[[str, Mapping[str, Any]], str | None]:
    def fill(text: str, variables: Mapping[str, Any]) -> str | None:
        if "{" not in text:
            return text
        try:
            from diagnoser.catalogue.templates import render
        except ImportError:
            return text

        return render(text, variables, command=command)

    return fill
