"""Which of many failures is the root: the order of DESIGN §2, each deciding step with a sentence.

Part of the incident stage; `incidents` splits the log into runs and calls this for each.
"""

from diagnoser.lifecycle import Moment
from diagnoser.model import CONFIDENCES, Process
from diagnoser.records import NamedTuple
from diagnoser.roles import DEPTHS, Played, depth
from diagnoser.servers import Servers

_QUOTED = "The process that failed is not in this log; its error is known from the text that another process quoted."


class Picked(NamedTuple):
    """The root, why it is, and whether it is only the nearest thing to a root that the log holds."""

    root: Played
    reasons: list[str]
    incomplete: bool = False


def pick_root(cases: list[Played], moments: list[Moment], servers: Servers) -> Picked:
    """The root, why, and whether it is only the nearest thing to one."""
    candidates = [item for item in cases if item.part == "candidate" and item.loud and not item.failure.quoted]
    candidates = [item for item in candidates if item.failure.kind != "message" or item.causes or item.roles]
    candidates = _not_torn(_latest_stretch(candidates, cases, moments, servers), cases)
    if candidates:
        candidates, why = servers.first(candidates, cases)
        picked = _pick(candidates, cases)
        return picked._replace(reasons=[*picked.reasons, why]) if why else picked
    quoted = [item for item in cases if item.failure.quoted and item.part == "candidate"]
    explained = any(item.causes for item in cases)
    if quoted and (any(item.causes for item in quoted) or not explained):
        best = min(quoted, key=lambda item: (not item.causes, item.failure.order))
        return Picked(best, [_QUOTED])
    handled = [item for item in cases if item.part == "candidate" and not item.loud and item.causes]
    if handled and any(item.terminal for item in cases):
        best = min(handled, key=lambda item: (-depth(item.failure), item.failure.order))
        return Picked(best, ["Nothing louder explains the end of the run; this warning does."])
    fallback = [item for item in cases if item.causes and item.part in ("wrapper", "symptom")]
    told = min((item.failure.order for item in cases if item.innermost and item.terminal), default=None)
    if fallback and (told is None or any(item.failure.order <= told for item in fallback)):
        best = min(
            fallback,
            key=lambda item: (CONFIDENCES.index(item.causes[0].confidence), -depth(item.failure), item.failure.order),
        )
        return Picked(best, ["No original exception is in this log; this is the earliest report of the death itself."])
    nearest = min(cases, key=lambda item: (item.part == "candidate", -_nearness(item), item.failure.order))
    reason = "Only reports of another process's failure are in this log; the original failure is not."
    return Picked(nearest, [reason], incomplete=nearest.part != "candidate")


def _not_torn(candidates: list[Played], cases: list[Played]) -> list[Played]:
    """Drops tracebacks that break off, where nothing else is left and a process at least as deep had told all before.

    A process prints the same traceback by its logger and once more as it ends; a paste often stops within the second.
    """
    if not all(_broken_off(item) for item in candidates):
        return candidates
    told = [
        item
        for item in cases
        if item.terminal and (item.part == "symptom" or (item.part == "wrapper" and item.failure.exceptions))
    ]
    return [
        item
        for item in candidates
        if not any(
            (whole.innermost or whole.failure.order < item.failure.order)
            and depth(whole.failure) >= depth(item.failure)
            for whole in told
        )
    ]


def _nearness(item: Played) -> float:
    """How near to the failure a report of it is: the line of nobody that tells of a dead child is the launcher's."""
    if item.innermost and item.failure.exceptions:
        return DEPTHS["Worker"]
    if item.part == "wrapper" and item.failure.kind == "message" and item.failure.speaker.role is None:
        return DEPTHS["launcher"]
    return depth(item.failure)


def _latest_stretch(
    candidates: list[Played], cases: list[Played], moments: list[Moment], servers: Servers
) -> list[Played]:
    """Drops candidates that the run survived, when a later one explains its end.

    What one server serves does not tell that another one lives.
    """
    since: dict[str | None, int] = {}
    for server in {servers.server_of(item.failure.source) for item in candidates}:
        others = frozenset() if server is None else servers.names - {server}
        ends = [
            item.failure.order
            for item in cases
            if item.terminal and servers.server_of(item.failure.source) not in others
        ]
        end = max(ends, default=-1)
        served = (
            moment.order
            for moment in moments
            if moment.kind == "served" and moment.order < end and servers.server_of(moment.source) not in others
        )
        since[server] = max(served, default=-1)
    later = [item for item in candidates if item.failure.order > since[servers.server_of(item.failure.source)]]
    return later or candidates


def _pick(candidates: list[Played], cases: list[Played]) -> Picked:
    reasons: list[str] = []
    wrapped = sum(1 for item in cases if item.part == "wrapper")
    if wrapped:
        one = "1 report only wraps another process's error and was followed inward."
        more = f"{wrapped} reports only wrap another process's error and were followed inward."
        reasons.append(one if wrapped == 1 else more)
    followed = sum(item.failure.count for item in cases if item.part == "symptom")
    if followed:
        one = "1 failure of the kind that follows from another process's death was set aside."
        more = f"{followed} failures of the kind that follows from another process's death were set aside."
        reasons.append(one if followed == 1 else more)
    candidates, why = _weighed(candidates)
    reasons.extend(why)
    counts: dict[str, int] = {}
    for item in candidates:
        counts[item.failure.fingerprint] = counts.get(item.failure.fingerprint, 0) + 1
    deepest = max(depth(item.failure) for item in candidates)
    level = [item for item in candidates if depth(item.failure) == deepest]
    root = min(level, key=lambda item: (item.failure.order, counts[item.failure.fingerprint]))
    if len(level) < len(candidates):
        reasons.append(
            f"It happened in {_name(root.failure.speaker)}, the deepest process that reports an error of its own."
        )
    different = {item.failure.fingerprint for item in level} - {root.failure.fingerprint}
    if different:
        reasons.append(f"It is the earliest of {len(different) + 1} different errors there.")
    if len(candidates) == 1 and not reasons:
        reasons.append("It is the only failure in this log that is not a report of another one.")
    return Picked(root, reasons)


def _weighed(candidates: list[Played]) -> tuple[list[Played], list[str]]:
    """Drops what another kind of evidence outweighs.

    A native line (a compiler's error, a device assert, glog) before an exception that no rule explains, or that the
    same rule does, names the fault that the exception reports. An exception outweighs a log message otherwise.
    """
    exceptions = [item for item in candidates if item.failure.kind not in ("message", "native")]
    natives = [item for item in candidates if is_native(item) and item.causes]
    told = {match.rule for item in natives for match in item.causes}
    reports = [item for item in exceptions if not item.causes or item.soft or item.causes[0].rule in told]
    if natives and (
        not exceptions or (reports == exceptions and natives[0].failure.order < exceptions[0].failure.order)
    ):
        reason = ["A native line before the exception that reports it names the fault itself."] if exceptions else []
        return natives, reason
    spoken = [item for item in candidates if item.failure.kind != "message"] or candidates
    said = [item for item in candidates if item.failure.kind == "message" and item.causes]
    if said and all(_broken_off(item) and item.failure.order > said[0].failure.order for item in spoken):
        return said, ["A traceback that breaks off before its exception tells less than the line before it."]
    whole = [item for item in spoken if not _broken_off(item)]
    since = min(
        (item.failure.order for item in whole if item.failure.kind == "exception" and item.causes), default=None
    )
    if since is None or len(whole) == len(spoken):
        return spoken, []
    # Behind an exception that is known, a traceback that was cut is most often its second print.
    kept = [item for item in spoken if not _broken_off(item) or item.failure.order < since]
    cut = ["A traceback that breaks off before its exception tells less than the one before it, which is whole."]
    return kept, cut if len(kept) < len(spoken) else []


def _broken_off(item: Played) -> bool:
    """True for a traceback whose exception was cut off, as at the end of a paste."""
    failure = item.failure
    return bool(failure.exceptions) and failure.exceptions[failure.primary].type is None


def is_native(item: Played) -> bool:
    """True for what native code printed: an abort, or a line of its own logger."""
    failure = item.failure
    if failure.kind == "native":
        return True
    return failure.kind == "message" and any(ending in str(failure.site or "") for ending in (".c", ".h:", ".hpp:"))


def _name(process: Process) -> str:
    return process.name or process.role or "the process without a name"
