"""Which of the logs at hand are of one server, where several servers were given at once (prefill and decode, say).

A log in which a server starts is that server's; a log beside it in the same folder, without a start of its own, too.
What fails first in one server is the root of what then fails in the others: depth counts only within a server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from diagnoser.clock import seconds_of
from diagnoser.lifecycle import Moment
from diagnoser.roles import Played

_CONNECTIONS = ("kv-transfer-", "mooncake-", "network-")
"""What the names of rules on connections and transfers begin with: their family."""
_AT_ONCE = 2.0
"""Seconds between two lines that may have been written at the same time."""


class Servers:
    """Made for all moments of an input; `logs` gives the name that rotated pieces of one log have in common."""

    def __init__(self, moments: Sequence[Moment], logs: Mapping[str, str]) -> None:
        self._logs = logs
        self._started = {self.log_of(moment.source) for moment in moments if moment.kind == "start"}
        beside: dict[str, list[str]] = defaultdict(list)
        for log in sorted(self._started):
            beside[_folder(log)].append(log)
        self._of_folder = {folder: logs[0] for folder, logs in beside.items() if len(logs) == 1}

    @property
    def names(self) -> frozenset[str]:
        """The servers whose starts are in the logs."""
        return frozenset(self._started)

    def log_of(self, source: str) -> str:
        """The log that the source is a piece of."""
        return self._logs.get(source, source)

    def server_of(self, source: str) -> str | None:
        """The log that names the source's server; None when the source may belong to any."""
        log = self.log_of(source)
        return log if log in self._started else self._of_folder.get(_folder(log))

    def ends_before(self, end: str, start: str) -> bool:
        """Whether an end in the source `end` can be the end of the server that starts again in the source `start`.

        The end of another server, which has a start of its own, is not.
        """
        log = self.log_of(end)
        return log == self.log_of(start) or log not in self._started

    def first(self, candidates: list[Played], cases: Sequence[Played]) -> tuple[list[Played], str | None]:
        """The candidates of the server that failed first, and a sentence if there are others."""
        of, first = self.first_of(candidates, cases)
        if first is None:
            return candidates, None
        chosen = of[first] + of.get(None, [])
        servers = len(of.keys() - {None})
        return chosen, f"Of the {servers} servers whose logs are given, that of {first} failed first."

    def first_of(
        self, candidates: Sequence[Played], cases: Sequence[Played]
    ) -> tuple[dict[str | None, list[Played]], str | None]:
        """The candidates by server, and the server that failed first; None for fewer than two servers.

        A server that died goes before one that only failed requests: those are what its death brings about. Times are
        often whole seconds: a server that lost a connection does not go before one that died of its own at that time.
        """
        of: dict[str | None, list[Played]] = defaultdict(list)
        for item in candidates:
            of[self.server_of(item.failure.source)].append(item)
        named = [server for server in of if server is not None]
        if len(named) < 2:
            return of, None
        died = {self.server_of(item.failure.source) for item in cases if item.terminal}
        first = {server: min(of[server], key=lambda item: item.failure.order) for server in named}
        named.sort(key=lambda server: (server not in died, first[server].failure.order))
        earliest = first[named[0]]
        if _of_a_connection(earliest):
            for server in named[1:]:
                item = first[server]
                if server in died and item.causes and not _of_a_connection(item) and _at_once(earliest, item):
                    return of, server
        return of, named[0]


def _of_a_connection(item: Played) -> bool:
    """Whether the failure is explained by what happens between servers, which the end of another one brings about."""
    return bool(item.causes) and item.causes[0].rule.startswith(_CONNECTIONS)


def _at_once(one: Played, other: Played) -> bool:
    times = [seconds_of(item.failure.time) if item.failure.time else None for item in (one, other)]
    return times[0] is not None and times[1] is not None and abs(times[0] - times[1]) <= _AT_ONCE


def _folder(log: str) -> str:
    return log.rpartition("/")[0]
