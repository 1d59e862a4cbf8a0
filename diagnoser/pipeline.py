"""The one module that knows the order of the stages.

    sources → envelopes → streams → parsers → catalogue → incidents → report

`Pipeline.feed` takes raw lines as they come, from a file, a pipe or a followed log alike; `finish` gives what
they add up to. Failures are matched at the end, all of them, before a root is chosen: a rule may depend on a
fact or a line that comes later, and a rule's role is what keeps a consequence from being taken for the cause.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diagnoser import incidents as incident_stage
from diagnoser.facts import FactReader
from diagnoser.intake import Accepts, Counted, Intake
from diagnoser.joining import joined
from diagnoser.keeping import Failures, Kept
from diagnoser.lifecycle import ACCESS, ACCESS_KINDS, ALL, Kinds, Moment, MomentKind, moments_of
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
from diagnoser.model.words import LOUD
from diagnoser.parsers import Block, Excess, failures
from diagnoser.parsers.messages import message_of, text_of
from diagnoser.peers import with_peers
from diagnoser.quotes import quotations
from diagnoser.records import NamedTuple
from diagnoser.repeats import Shapes
from diagnoser.roles import Case

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue, LogHit
    from diagnoser.sources import Source

MAX_HITS = 64
"""Records kept for one log condition."""


class Analysis(NamedTuple):
    """What all stages before the report found."""

    incidents: incident_stage.Outcome
    facts: dict[str, Any]
    cases: tuple[Case, ...]
    formats: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


class Pipeline:
    """Feed lines, then finish. One instance per run."""

    def __init__(self, catalogue: "Catalogue", *, accepts: Accepts | None = None, arrival: bool = False) -> None:
        """`accepts` tells which records may report failures (facts are taken from all); `arrival` says that lines of
        all sources come in the order in which they were written, as those of a running command do."""
        self.catalogue = catalogue
        self._arrival = arrival
        self._facts = FactReader()
        self._moments: list[Moment] = []
        self._failures = Failures()
        self._shapes = Shapes()
        self._intake = Intake(self._shapes, accepts, self._facts.feed)
        self._hits: dict[Any, list[Any]] = {}
        self._times: dict[int, str] = {}
        self._excess = Excess()

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
        return self._failures.seen

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
        for kept in (self._failures, self._shapes, self._hits):
            kept.clear()
        up = [moment for moment in self._moments if moment.kind in ("start", "ready")]
        self._moments = up[-2:]
        self._times = {moment.order: moment.time or "" for moment in self._moments}

    def finish(self, *, flush: bool = True) -> Analysis:
        """Matches all failures and joins them to incidents. May be called again after more lines."""
        if flush:
            self.flush()
        cases = [
            Case(failure := kept.counted(), tuple(self._match(failure, kept.records)), kept.marks)
            for kept in self._failures.all
        ]
        cases = [case for case in cases if case.matches or case.failure.kind != "message" or case.failure.level in LOUD]
        quoted = quotations(cases, self.catalogue.rules, self._shapes.run_of)
        cases += [Case(failure, tuple(self._match(failure))) for failure in quoted]
        notes: tuple[str, ...] = ()
        if dropped := self._failures.dropped:
            notes = (f"More than {len(self._failures)} different failures; {dropped} later ones were not analyzed.",)
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
            self._shapes.started(moment.order)
        elif moment.kind in ACCESS_KINDS:
            last = self._moments[-1] if self._moments else None
            if last is not None and last.kind == moment.kind and last.source == moment.source:
                # A process that says no more keeps its last block until the end of the log, when newer ones are known.
                if moment.kind == "refused" or moment.order < last.order:
                    return
                self._times.pop(self._moments.pop().order, None)
        elif moment.kind == "ready":
            run = self._shapes.run_of(moment.order)
            if self._shapes.ready_run == run:
                return
            self._shapes.ready_run = run
        self._moments.append(moment)
        self._times[moment.order] = self._intake.time_before(moment.source)

    def _block(self, block: Block) -> None:
        """Looks at a block; one that differs from many before it by numbers alone is only counted."""
        first, text = block.records[0], text_of(block)
        shape = self._shapes.of(first, block.order, text)
        if shape.settled or (shape.watched and frozenset(self.catalogue.scan(text)) == shape.hits):
            if kinds := self._shapes.kinds_left(shape, block.order):
                self._moments_of(block, kinds)
            shape.again(first.repeated, block.order)
            return
        marked = self._moments_of(block)
        if ACCESS in text:
            marked += ACCESS_KINDS
        stated = self._facts.feed_all(block.records)
        found = failures(block)
        self._excess.block(block, found)
        is_exception = bool(found) and found[0].kind == "exception"
        hits = self._hits_of(block, found[0].header if is_exception else text)
        kept = self._kept(block, text, found, hits)

        def by_numbers() -> bool:
            return not is_exception and self._by_numbers(text)

        shape.add(marked, kept, frozenset(hits), by_numbers)
        if not stated and not found and not hits:
            self._shapes.was_silent(shape, marked, by_numbers)

    def _by_numbers(self, text: str) -> bool:
        """Whether the numbers of a text decide what becomes of it; the status of an answer is part of its shape."""
        return ACCESS not in text and self.catalogue.asks_for_numbers(text)

    def _moments_of(self, block: Block, kinds: Kinds = ALL) -> list[MomentKind]:
        """Notes the moments that the block marks, of these kinds; returns theirs."""
        marked = moments_of(block.records, block.order, kinds)
        for moment in marked:
            self._moment(moment)
        return [moment.kind for moment in marked]

    def _hits_of(self, block: Block, spoken: str) -> Sequence["LogHit"]:
        """Notes the log conditions that the block satisfies, which are returned."""
        hits = self.catalogue.scan(spoken) if spoken else ()
        for hit in hits:
            self._hit(hit, block.records[0], block.order, spoken)
        return hits

    def _kept(self, block: Block, text: str, found: list[Failure], hits: Sequence["LogHit"]) -> list[Kept]:
        """Keeps what a block reports: the failures found in it, or its message; as far as there is room."""
        marks = frozenset(hit[0] for hit in hits if self.catalogue.stands_alone(hit))
        if not found and (block.records[0].level in LOUD or marks):
            found.append(message_of(block, text))
        return [kept for failure in found if (kept := self._keep(failure, marks, block)) is not None]

    def _hit(self, hit: Any, record: LogRecord, order: int, text: str) -> None:
        from diagnoser.catalogue import RecordHit

        kept = self._hits.setdefault(hit, [])
        if len(kept) < MAX_HITS:
            kept.append(RecordHit(record, order, text))
        else:
            kept[-1] = RecordHit(record, order, text)

    def _keep(self, failure: Failure, marks: frozenset[str], block: Block) -> Kept | None:
        """Keeps one of each different failure of a process and a run, with how often it came."""
        kept = self._failures.keep(failure, marks, block.records, self._shapes.run_of(failure.order))
        if kept is not None and kept.failure is failure:
            self._times[failure.order] = self._intake.time_before(failure.source)
        return kept

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
