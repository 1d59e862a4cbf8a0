"""Forms of addresses that settings may hold: host and port, URLs of metadata servers, loopback names."""

from __future__ import annotations

import re

from diagnoser.records import NamedTuple

_HOST_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/\[\]@?#]+)):(?P<port>\d{1,5})")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
P2P = "P2PHANDSHAKE"


class HostPort(NamedTuple):
    """A host and a port."""

    host: str
    port: int


def host_port(text: str) -> HostPort | None:
    """`host:port` or `[address]:port` with a port from 1 to 65535; None for anything else."""
    found = _HOST_PORT.fullmatch(text.strip())
    if not found or not 0 < int(found["port"]) < 65536:
        return None
    return HostPort(found["six"] or found["host"], int(found["port"]))


def split_url(text: str) -> tuple[str, str] | None:
    """Scheme, in lower case, and what follows `://`; None for a text without a scheme."""
    found = _URL.fullmatch(text.strip())
    return (found["scheme"].lower(), found["rest"]) if found else None


def targets(text: str, default_port: int) -> list[HostPort]:
    """The hosts and ports of a URL's authority; several are separated by `;` or `,` as etcd takes them."""
    url = split_url(text)
    found: list[HostPort] = []
    for entry in re.split(r"[;,]", url[1] if url else text):
        part = entry.strip().removeprefix("http://").removeprefix("https://")
        part = part.split("/", 1)[0].split("?", 1)[0].rpartition("@")[2]
        if not part:
            continue
        pair = host_port(part) or (host_port(f"{part}:{default_port}") if ":" not in part else None)
        if pair is not None:
            found.append(pair)
    return found


def is_loopback(host: str) -> bool:
    """Whether a host reaches only itself under this name."""
    bare = host.strip("[]").lower()
    return bare in ("localhost", "::1", "0:0:0:0:0:0:0:1") or bare.startswith("127.") or bare.endswith(".localhost")


def is_any(host: str) -> bool:
    """Whether this is the address that stands for all interfaces, which nobody can connect to from afar."""
    return host.strip("[]") in ("0.0.0.0", "::", "0")
