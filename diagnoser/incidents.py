"""From failures to incidents: which failure came first, what wraps it, what merely followed.

The order of DESIGN §2: drop noise, follow wrappers, set symptoms aside, then the deepest process and the
earliest line; native lines before a wrapper outrank the exception that reports them; equal failures on other
ranks are one root; when nothing but wrappers is left the answer is `incomplete`. Every step that decided
something leaves a sentence in `reasons`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from diagnoser.chains import chain_of, quotes, runners_up, shortened, symptoms_of, timeline_of
from diagnoser.lazy import lazy
from diagnoser.lifecycle import Moment
from diagnoser.model import Impact, Incident, Process, Rule
from diagnoser.picking import Picked, pick_root
from diagnoser.records import NamedTuple
from diagnoser.roles import Case, Played, depth, of_one_request, play
from diagnoser.servers import Servers

if TYPE_CHECKING:
    from diagnoser.no_crash import Found

_BETWEEN_SERVERS = frozenset({"kv-transfer", "mooncake", "network", "symptoms", "wrappers", "noise"})
"""Families of rules on what one server's death does to another."""
_AT_WORK = lazy(
    r"EngineCore encountered a fatal error|Unexpected error pre-processing request|Engine background task failed"
    r"|AsyncLLM output_handler failed|completion stream generator|Exception in ASGI application"
    r"|Engine process \(pid \d{1,10}\) died"
)
"""What vLLM says of the loop that serves requests. Source of the texts: vLLM 0.5 to 0.32."""
_MOST_TEXT = 500
MAX_INCIDENTS = 50
"""Incidents reported of one input."""


class Outcome(NamedTuple):
    """What the input held."""

    incidents: tuple[Incident, ...]
    stopped: bool
    """True when the deployment was told to stop and did."""
    notes: tuple[str, ...] = ()


class _Run(NamedTuple):
    """What happened between two starts of the deployment."""

    cases: list[Played]
    moments: list[Moment]
    servers: Servers


def build(
    cases: Sequence[Case],
    moments: Sequence[Moment],
    rules: Mapping[str, Rule],
    *,
    last: int | None = None,
    logs: Mapping[str, str] | None = None,
    ended: bool = True,
) -> Outcome:
    """Every incident, crashes before failed requests, in order of time otherwise.

    `last` is the reading order of the last line; it tells whether a wait that the log ends with was the end of all.
    `logs` gives the name that several sources have in common which are pieces of one log. `ended` False says that
    more may follow.
    """
    servers = Servers(moments, logs or {})
    played = [play(case, rules) for case in sorted(cases, key=lambda case: case.failure.order)]
    played = [item for item in played if item.part != "noise"]
    moments = sorted(moments, key=lambda moment: moment.order)
    if not any(moment.kind in ("ready", "served", "refused", "down") for moment in moments):
        played = [_without_server(item) for item in played]
    crashes: list[Incident] = []
    requests: list[Incident] = []
    stopped = False
    for run in [part for whole in _runs(played, moments, servers) for part in _of_each_server(whole, rules)]:
        ordered = _ordered_stop(run)
        stopped = ordered is not None
        if ordered is not None:
            run = run._replace(cases=[item for item in run.cases if item.failure.order < ordered.order])
        crash = _crash(run, rules, stopped=stopped)
        if crash is None and run.cases:
            crash, failed_requests = _without_crash(run, rules, last, ended=ended)
            requests += [failed_requests] if failed_requests is not None else []
        if crash is not None:
            crashes.append(crash)
            stopped = False
    notes: list[str] = []
    incidents = [*crashes, *requests]
    if len(incidents) > MAX_INCIDENTS:
        notes.append(f"{len(incidents)} incidents found; the first {MAX_INCIDENTS} are reported.")
    notes += dict.fromkeys(note for incident in incidents[:MAX_INCIDENTS] for note in shortened(incident))
    return Outcome(tuple(incidents[:MAX_INCIDENTS]), stopped, tuple(notes))


def _without_server(item: Played) -> Played:
    """A client's error that ended the program itself: there was no server to refuse it."""
    if item.part == "client" and item.failure.kind == "exception" and item.failure.level is None:
        return item._replace(part="candidate", terminal=True)
    return item


def _runs(cases: list[Played], moments: list[Moment], servers: Servers) -> list[_Run]:
    """Splits at each start that follows the end of the run before it."""
    boundaries: list[int] = []
    ends = [(item.failure.order, item.failure.source) for item in cases if item.terminal]
    ends += [(moment.order, moment.source) for moment in moments if moment.kind in ("stop", "down")]
    last = -1
    for moment in moments:
        if moment.kind == "start" and any(
            last < order < moment.order and servers.ends_before(source, moment.source) for order, source in ends
        ):
            boundaries.append(moment.order)
            last = moment.order
    edges = [-1, *boundaries, 1 << 62]
    runs = [
        _Run(
            [item for item in cases if low <= item.failure.order < high],
            [moment for moment in moments if low <= moment.order < high],
            servers,
        )
        for low, high in pairwise(edges)
    ]
    return [run for run in runs if run.cases or run.moments]


def _of_each_server(run: _Run, rules: Mapping[str, Rule]) -> list[_Run]:
    """The run, and apart from it what belongs to other servers that died of causes of their own.

    What is explained by a rule on connections and transfers may be another server's doing, and so may what no rule
    explains: that stays together.
    """
    by_server: dict[str | None, list[Played]] = {}
    for item in run.cases:
        by_server.setdefault(run.servers.server_of(item.failure.source), []).append(item)
    named = [server for server in by_server if server is not None]
    if len(named) < 2:
        return [run]
    _, first = run.servers.first_of([item for item in run.cases if item.part == "candidate"], run.cases)
    parts: list[_Run] = []
    apart: set[str] = set()
    for server in named:
        cases = [item for item in by_server[server] if item.part != "client"]
        if server == first or not any(item.terminal for item in cases):
            continue
        root = pick_root(cases, run.moments, run.servers).root
        rule = rules.get(root.causes[0].rule) if root.part == "candidate" and root.causes else None
        if rule is not None and rule.family not in _BETWEEN_SERVERS:
            moments = [moment for moment in run.moments if run.servers.server_of(moment.source) == server]
            parts.append(_Run(by_server[server], moments, run.servers))
            apart.add(server)
    rest = [item for item in run.cases if run.servers.server_of(item.failure.source) not in apart]
    moments = [moment for moment in run.moments if run.servers.server_of(moment.source) not in apart]
    return [run._replace(cases=rest, moments=moments), *parts]


def _ordered_stop(run: _Run) -> Moment | None:
    """The order to stop, if the run was still alive when it came."""
    stop = next((moment for moment in run.moments if moment.kind == "stop"), None) or _finished_job(run)
    if stop is None or any(item.terminal and item.failure.order < stop.order for item in run.cases):
        return None
    return stop


def _finished_job(run: _Run) -> Moment | None:
    """The last batch of an offline job, where nothing but the end of its helpers is reported after it."""
    if any(moment.kind in ("ready", "refused") for moment in run.moments):
        return None
    batch = next((moment for moment in reversed(run.moments) if moment.text.startswith("Processed prompts")), None)
    if batch is None:
        return None
    later = [item for item in run.cases if item.failure.order > batch.order and item.loud]
    helpers = all(
        item.failure.kind == "message"
        and item.part in ("wrapper", "symptom")
        and all(match.confidence == "possible" for match in item.causes)
        for item in later
    )
    return batch if later and helpers else None


def _crash(run: _Run, rules: Mapping[str, Rule], *, stopped: bool) -> Incident | None:
    """The incident that ended the run, if one did."""
    cases = [item for item in run.cases if item.part != "client"]
    served = any(
        moment.kind == "served" and all(moment.order > item.failure.order for item in cases) for moment in run.moments
    )
    alive = stopped or served
    terminal = [item for item in cases if item.terminal and not (served and _mentioned(item))]
    if not terminal and (alive or not any(item.loud and not of_one_request(item) for item in cases)):
        return None
    if alive and all(map(_only_printed, terminal)) and not _came_up_after(terminal, run.moments):
        return None
    if not cases:
        return None
    if not terminal and all(_harmless(item) for item in cases):
        return None
    picked = pick_root(cases, run.moments, run.servers)
    return _incident(picked, cases, run, rules, _impact(picked.root, terminal, run, rules))


def _only_printed(item: Played) -> bool:
    """True for a bare traceback that nothing else confirms: text in the log may quote one, or it was handled."""
    failure = item.failure
    return failure.kind == "exception" and failure.level is None and item.part == "candidate" and not failure.header


def _came_up_after(terminal: Sequence[Played], moments: Sequence[Moment]) -> bool:
    """Whether a server came up after what ended the one before: then those that it served prove nothing."""
    last = max((item.failure.order for item in terminal), default=-1)
    return any(moment.kind in ("start", "ready") and moment.order > last for moment in moments)


def _mentioned(item: Played) -> bool:
    """True for the name of an exception that somebody printed: no traceback, no process, no level.

    Weaker than `_only_printed`: whatever part it plays and whatever came after, it is no end of a server that served.
    """
    failure = item.failure
    return failure.kind == "exception" and not failure.frames and failure.level is None and not failure.speaker.known


def _without_crash(
    run: _Run, rules: Mapping[str, Rule], last: int | None, *, ended: bool
) -> tuple[Incident | None, Incident | None]:
    """What ended the run without a failure that says so, or else the requests that failed while it stayed up."""
    from diagnoser import no_crash  # most logs that people ask about hold a crash

    found = no_crash.quiet_end(run.cases, run.moments, rules, last)
    if found is None and ended:
        found = no_crash.excerpt(run.cases, run.moments, rules, last)
    if found is not None:
        return _incident_of(found, run, rules), None
    found = no_crash.refused_requests(run.cases, run.moments, rules)
    return None, _incident_of(found, run, rules) if found is not None else None


def _incident_of(found: "Found", run: _Run, rules: Mapping[str, Rule]) -> Incident:
    impact = found.impact or _impact(found.picked.root, [], run, rules)
    return _incident(found.picked, found.cases, run, rules, impact)


def _harmless(item: Played) -> bool:
    """True for an unexplained message without a traceback, and for what the program logged as a warning."""
    return not item.loud or (item.failure.kind == "message" and not item.causes)


def _impact(root: Played, terminal: list[Played], run: _Run, rules: Mapping[str, Rule]) -> Impact:
    for match in (*root.causes, *root.roles):
        rule = rules.get(match.rule)
        if rule is not None and rule.impact is not None:
            return rule.impact
    if not terminal and any(moment.kind == "refused" for moment in run.moments):
        return "requests"
    up = any(moment.kind in ("ready", "served") and moment.order < root.failure.order for moment in run.moments)
    return "crash" if up or any(_had_work(item) for item in run.cases) else "startup"


def _had_work(item: Played) -> bool:
    """True for what is said of an engine only that had come up, in a log whose beginning may be missing."""
    failure = item.failure
    if failure.type is not None and failure.type.endswith("EngineDeadError"):
        return True
    return _AT_WORK.search((failure.header or failure.text)[:_MOST_TEXT]) is not None


def _incident(picked: Picked, cases: list[Played], run: _Run, rules: Mapping[str, Rule], impact: Impact) -> Incident:
    root, reasons, incomplete = picked
    copies = [item for item in cases if item is not root and item.failure.fingerprint == root.failure.fingerprint]
    also_on = _other_writers(root.failure.speaker, [item.failure.speaker for item in copies])
    if also_on:
        others = "1 other process" if len(also_on) == 1 else f"{len(also_on)} other processes"
        reasons.append(f"The same error appears in {others}; it is reported once.")
    told = {id(root), *map(id, copies)}
    rest = [item for item in cases if id(item) not in told]
    chain = chain_of(root, rest, rules)
    if any(quotes(item, root.failure) for item in rest):
        reasons.append("A wrapper in another process quotes its text.")
    causes = root.causes
    return Incident(
        root.failure,
        impact,
        root.failure.fingerprint,
        chain,
        symptoms_of(root, rest, rules),
        tuple(also_on),
        tuple(reasons),
        timeline_of(root, copies, rest, run.moments),
        runners_up(root, rest, rules),
        causes,
        (),
        incomplete,
        _fetch(cases, rules) if incomplete or root.part != "candidate" else (),
    )


def _other_writers(root: Process, speakers: Sequence[Process]) -> list[Process]:
    """Each process other than the root's, once: a quotation of it may know less of its place than its own lines."""
    found: list[Process] = []
    hosts: dict[object, set[str | None]] = {_writer_key(root): {root.host}}
    for speaker in speakers:
        if not speaker.known:
            continue
        known = hosts.setdefault(_writer_key(speaker), set())
        if not known or not (speaker.host is None or None in known or speaker.host in known):
            found.append(speaker)
        known.add(speaker.host)
    return found


def _writer_key(process: Process) -> object:
    return (process.pid, process.name) if process.pid is not None else process


def _fetch(cases: list[Played], rules: Mapping[str, Rule]) -> tuple[str, ...]:
    wanted: list[str] = []
    for item in sorted(cases, key=lambda item: (not item.innermost, -depth(item.failure))):
        for match in item.roles:
            rule = rules.get(match.rule)
            if rule is not None and rule.fetch and rule.fetch.strip() not in wanted:
                wanted.append(rule.fetch.strip())
    return tuple(wanted[:3])
