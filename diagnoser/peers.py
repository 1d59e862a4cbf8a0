"""Which host died first, as the broken connections of the others tell.

    RuntimeError: […/tcp/pair.cc:553] Connection closed by peer [192.0.2.14]:3421
    [c10d] recvValue failed on SocketImpl(fd=71, addr=[node-b]:41234, remote=[node-a]:29500): Connection reset by peer
    NCCL WARN socketProgress: Connection closed by remote peer node-a<41234>

A reader of one host's log learns from them whose log to fetch; a reader of all learns that the root fits.
Sources of the formats: gloo `transport/tcp/pair.cc`, torch `TCPStore.cpp`, NCCL `misc/socket.cc`.
"""

from collections.abc import Collection, Mapping, Sequence

from diagnoser.clock import seconds_of
from diagnoser.lazy import lazy
from diagnoser.model import Failure, Incident
from diagnoser.records import NamedTuple
from diagnoser.roles import Case

SMALL_SKEW = 2.0
"""Seconds by which clocks may differ without being noticed."""
_HOST = r"[\w.:%-]*[A-Za-z0-9]"
_REMOTE = tuple(
    lazy(pattern)
    for pattern in (
        rf"[Cc]onnection (?:closed|reset) by (?:remote )?peer,? \[?(?P<host>{_HOST}?)(?:\]:\d+|<\d+>|:\d+\b)",
        rf"(?:Read error|[Ww]ritev?|[Rr]eadv?) \[(?P<host>{_HOST})\]:\d+: Connection",
        rf"remote=\[(?P<host>{_HOST})\]:\d+",
        rf"[Cc]all to (?:recv|send|connect)\w* (?:from|to) (?P<host>{_HOST})<\d+> failed",
        rf"\bunreachable peer (?P<host>{_HOST})\b",
        rf"remote (?:mooncake|p2p) session (?P<host>{_HOST}):\d+\S* is not alive",
        rf"Los(?:t|ing) connection with prefill instance \(bootstrap_addr: (?:https?://)?(?P<host>{_HOST}):\d+\)",
        rf"Sending to (?P<host>{_HOST}):\d+ failed \(ret=",
    )
)
_STATED = tuple(
    lazy(pattern)
    for pattern in (
        rf"(?:Bootstrap ?: Using|NET/Socket ?: Using) (?:\[\d+\])?[\w.-]+:(?P<host>{_HOST})<0>",
        rf"\brank=0 local_rank=\d+ distributed_init_method=tcp://\[?(?P<host>{_HOST}?)\]?:\d+",
        rf"Transfer Engine RPC using \S.{{0,40}}, listening on (?P<host>{_HOST}?):\d+",
    )
)
"""Lines of NCCL, vLLM (its first rank) and Mooncake that state their own host's address."""
_OWN = lazy(rf"\baddr=\[(?P<host>{_HOST})\]:\d+, remote=")
_HERE = lazy(r"127\.|localhost$|::1$|::ffff:127\.")
_FAMILIES = lazy(r"::ffff:")
_SHOWN = 3


class _Break(NamedTuple):
    """A connection that broke: who noticed it, and where it led."""

    failure: Failure
    host: str


def own_host(body: str) -> str | None:
    """The address of its own host that a line states, if it states one."""
    if "<0>" not in body and "tcp://" not in body and "istening on" not in body:
        return None
    for pattern in _STATED:
        found = pattern.search(body)
        if found:
            host = _plain(found["host"])
            return None if _HERE.match(host) or host in ("0.0.0.0", "::") else host
    return None


def with_peers(
    incidents: Sequence[Incident], cases: Sequence[Case], hosts: Mapping[str, set[str]], sources: Sequence[str]
) -> tuple[tuple[Incident, ...], list[str]]:
    """The incidents with what broken connections tell of them, and notes on clocks.

    `hosts` gives the hosts that each of the `sources` is known to be from.
    """
    breaks = _breaks(cases)
    known = {name: set(own) for name, own in hosts.items()}
    for case in cases:
        for found in _OWN.finditer(_text(case.failure)):
            known.setdefault(case.failure.source, set()).add(_plain(found["host"]))
    notes: list[str] = []
    result: list[Incident] = []
    for incident in incidents:
        about = [item for item in breaks if _belongs(item.failure, incident)]
        if incident.incomplete or incident.fetch:
            result.append(_missing(incident, about, known, sources))
            continue
        result.append(_confirmed(incident, about, known))
        notes += _clock_notes(incident, about)
    return tuple(result), notes


def _breaks(cases: Sequence[Case]) -> list[_Break]:
    found: list[_Break] = []
    for case in cases:
        if not any(match.role in ("symptom", "wrapper") for match in case.matches):
            continue
        text = _text(case.failure)
        for pattern in _REMOTE:
            found += [_Break(case.failure, _plain(match["host"])) for match in pattern.finditer(text)]
    return [item for item in dict.fromkeys(found) if not _HERE.match(item.host)]


def _text(failure: Failure) -> str:
    return f"{failure.header}\n{failure.message}"


def _plain(host: str) -> str:
    return _FAMILIES.sub("", host.partition("%")[0]).strip("[]")


def _belongs(failure: Failure, incident: Incident) -> bool:
    """True when the failure is the incident's root, or stands in its timeline."""
    root = incident.root
    places = {(entry.source, entry.line) for entry in incident.timeline}
    return (failure.source, failure.line) == (root.source, root.line) or any(
        (failure.source, line) in places for line in range(failure.line, failure.end_line + 1)
    )


def _missing(
    incident: Incident, about: list[_Break], known: Mapping[str, set[str]], sources: Sequence[str]
) -> Incident:
    """Says whose log to fetch, when the root is in none of those at hand."""
    given = set().union(*known.values()) if known else set()
    wanted = [host for host in dict.fromkeys(item.host for item in about) if not _same_host(host, given)]
    if not wanted:
        return incident
    hosts = _listed(wanted)
    reason = f"The connections that broke led to {hosts}: what failed first is in a log of that host"
    if all(_names_itself(known.get(source, ()), wanted[0]) for source in sources):
        reason += ", which you did not give"
    fetch = f"The logs of {hosts}: the other end of the broken connections was there."
    return incident._replace(reasons=(*incident.reasons, f"{reason}."), fetch=(fetch, *incident.fetch)[:4])


def _names_itself(own: Collection[str], host: str) -> bool:
    """True when a log says which host it is from in the same way, by address or by name, as `host` is given."""
    return any(_is_address(name) == _is_address(host) for name in own)


def _confirmed(incident: Incident, about: list[_Break], known: Mapping[str, set[str]]) -> Incident:
    """Adds that the broken connections of others lead to the host where the root is, if they do."""
    root = incident.root
    there = set(known.get(root.source, ())) | ({root.speaker.host} if root.speaker.host else set())
    pointing = [item for item in about if _same_host(item.host, there) and item.failure.source != root.source]
    if not pointing:
        return incident
    count = len({(item.failure.source, item.failure.line) for item in pointing})
    what = "A broken connection elsewhere led" if count == 1 else f"{count} broken connections elsewhere led"
    return incident._replace(
        reasons=(*incident.reasons, f"{what} to {_listed([pointing[0].host])}, where it happened.")
    )


def _same_host(host: str, others: set[str]) -> bool:
    """True for the same name, or the same with and without its domain."""
    short = host if _is_address(host) else host.partition(".")[0]
    return any(host == other or (not _is_address(other) and short == other.partition(".")[0]) for other in others)


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _listed(hosts: Sequence[str]) -> str:
    shown = ", ".join(hosts[:_SHOWN])
    return shown if len(hosts) <= _SHOWN else f"{shown} and {len(hosts) - _SHOWN} more"


def _clock_notes(incident: Incident, about: list[_Break]) -> list[str]:
    """Connections that broke before the failure that broke them: the clocks of the hosts differ."""
    root = incident.root
    failed = seconds_of(root.time) if root.time else None
    notes: list[str] = []
    for source in dict.fromkeys(item.failure.source for item in about):
        times = [seconds_of(item.failure.time) for item in about if item.failure.source == source and item.failure.time]
        stated = [time for time in times if time is not None]
        if source == root.source or failed is None or not stated or failed - min(stated) <= SMALL_SKEW:
            continue
        notes.append(
            f"{source} dates connections that broke {failed - min(stated):.0f} s before the failure in {root.source} "
            "that broke them: the clocks of the two hosts seem to differ by that or more."
        )
    return notes
