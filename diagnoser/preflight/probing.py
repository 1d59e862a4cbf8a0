"""Connects to the addresses of a configuration, and to no others, to see whether they answer.

Every attempt is bounded in time, sends at most one short request, changes nothing at the other end, and is listed in
`Probe.contacted`.
"""

from __future__ import annotations

import socket
import time
from typing import Literal

from diagnoser.preflight.addresses import HostPort
from diagnoser.records import NamedTuple

Outcome = Literal["up", "refused", "timeout", "unresolved", "unreachable", "nonsense"]
LONGEST_ANSWER = 64 << 10
TIMEOUT = 2.0
"""Seconds for each step, unless told otherwise."""


class Probe(NamedTuple):
    """What became of one attempt."""

    outcome: Outcome
    contacted: str
    """The address and how it was asked."""
    detail: str = ""
    seconds: float = 0.0


def resolve(host: str, contacted: str = "") -> tuple[list[str], Probe | None]:
    """The addresses of a name, or the probe that says it has none. The resolver's own time-out applies."""
    try:
        entries = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as failure:
        return [], Probe("unresolved", contacted or f"DNS {host}", str(failure))
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries)), None


def tcp(target: HostPort, timeout: float = TIMEOUT) -> Probe:
    """Whether something listens there."""
    contacted = f"TCP {target.host}:{target.port}"
    _, problem = resolve(target.host, contacted)
    if problem is not None:
        return problem
    started = time.monotonic()
    try:
        with _connect(target, timeout):
            return Probe("up", contacted, seconds=time.monotonic() - started)
    except OSError as failure:
        return _failed(contacted, failure, started)


def http(target: HostPort, path: str, timeout: float = TIMEOUT, *, expect: tuple[int, ...] = ()) -> Probe:
    """A GET without proxy or redirects; `expect` names the status codes that show the right server, all if empty."""
    contacted = f"HTTP http://{target.host}:{target.port}{path}"
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n"
        "User-Agent: diagnoser-check\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    answer, problem = _ask(target, request.encode("ascii", "replace"), contacted, timeout, _http_status_read)
    if problem is not None:
        return problem
    first = answer.split(b"\r\n", 1)[0].decode("latin-1")
    parts = first.split(" ")
    if not first.startswith("HTTP/") or len(parts) < 2 or not parts[1].isdigit():
        return Probe("nonsense", contacted, f"it answered {_shown(answer)}")
    status = int(parts[1])
    if expect and status not in expect:
        return Probe("nonsense", contacted, f"it answered with status {status}")
    return Probe("up", contacted, f"status {status}")


def redis(target: HostPort, timeout: float = TIMEOUT) -> Probe:
    """PING; a server that wants a password is up too."""
    contacted = f"Redis PING {target.host}:{target.port}"
    answer, problem = _ask(target, b"*1\r\n$4\r\nPING\r\n", contacted, timeout, _line_read)
    if problem is not None:
        return problem
    if answer.startswith(b"+PONG"):
        return Probe("up", contacted, "PONG")
    if answer.startswith((b"-NOAUTH", b"-DENIED", b"-LOADING")):
        return Probe("up", contacted, answer.split(b"\r\n", 1)[0][1:].decode("latin-1"))
    return Probe("nonsense", contacted, f"it answered {_shown(answer)}")


def etcd(target: HostPort, timeout: float = TIMEOUT) -> Probe:
    """GET /version, which every etcd answers with its release."""
    contacted = f"etcd http://{target.host}:{target.port}/version"
    request = (
        f"GET /version HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n"
        "User-Agent: diagnoser-check\r\nConnection: close\r\n\r\n"
    )
    answer, problem = _ask(target, request.encode("ascii", "replace"), contacted, timeout, None)
    if problem is not None:
        return problem
    if b"etcdserver" in answer:
        return Probe("up", contacted, answer.rpartition(b"\r\n\r\n")[2][:120].decode("latin-1"))
    return Probe("nonsense", contacted, f"it answered {_shown(answer)}")


def _connect(target: HostPort, timeout: float) -> socket.socket:
    return socket.create_connection((target.host.strip("[]"), target.port), timeout=timeout)


def _ask(
    target: HostPort, request: bytes, contacted: str, timeout: float, complete: object
) -> tuple[bytes, Probe | None]:
    """Sends one request and reads the answer until `complete` says so, the peer closes, or the time is up."""
    _, problem = resolve(target.host, contacted)
    if problem is not None:
        return b"", problem
    started, answer = time.monotonic(), b""
    try:
        with _connect(target, timeout) as connection:
            connection.sendall(request)
            while len(answer) < LONGEST_ANSWER and not (callable(complete) and complete(answer)):
                left = timeout - (time.monotonic() - started)
                if left <= 0:
                    raise TimeoutError
                connection.settimeout(left)
                part = connection.recv(4096)
                if not part:
                    break
                answer += part
    except OSError as failure:
        if not answer or not isinstance(failure, TimeoutError):
            return b"", _failed(contacted, failure, started)
    if not answer:
        return b"", Probe("nonsense", contacted, "it closed the connection without an answer")
    return answer, None


def _http_status_read(answer: bytes) -> bool:
    return b"\r\n" in answer


def _line_read(answer: bytes) -> bool:
    return answer.endswith(b"\r\n")


def _failed(contacted: str, failure: OSError, started: float) -> Probe:
    seconds = time.monotonic() - started
    if isinstance(failure, TimeoutError):
        return Probe("timeout", contacted, f"no answer within {seconds:.1f} s", seconds)
    if isinstance(failure, ConnectionRefusedError):
        return Probe("refused", contacted, "connection refused", seconds)
    if isinstance(failure, ConnectionError):
        return Probe("nonsense", contacted, failure.strerror or "connection reset", seconds)
    return Probe("unreachable", contacted, failure.strerror or str(failure), seconds)


def _shown(answer: bytes) -> str:
    return repr(answer[:60].decode("latin-1"))
