"""Where hosts, pods, addresses and users stand in a text, for reports that leave the house.

What a diagnosis needs stays: loopback and wildcard addresses, `localhost`, ports, version numbers, public sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.lazy import lazy
from diagnoser.model import Process, Report
from diagnoser.redaction.names import PROSE, is_harmless
from diagnoser.redaction.tokens import Span, merged

_IPV4 = lazy(
    r"(?<![\w.=-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\.\d|\w)|(?<=[a-z]=)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\.\d|\w)"
)
_VERSION_BEFORE = lazy(r"(?i)(?:==|version\W{0,3}|\bv|cudnn\W{0,3}|driver\W{0,3}|release\W{0,3})\Z")
_IPV6 = lazy(
    r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    r"|(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6})?::(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6})?)(?![\w:])"
)
_KEPT_ADDRESSES = frozenset(("0.0.0.0", "127.0.0.1", "127.0.1.1", "255.255.255.255", "::", "::1"))
_URL_HOST = lazy(
    r"(?<=://)(?:[^\s/@\"'<>]{0,256}@)?([A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(?=[:/\s\"'<>,;)\]?#]|\Z)"
)
_NAMED_HOST = lazy(
    r"(?<![A-Za-z0-9])(?:(host|pod|node)(?:_?name)?|master_addr|server_address|local_hostname|server_name)(?![A-Za-z0-9])"
    r"(\\?[\"']?\s{0,3}(?:=\s{0,3}|:\s{1,3}|:(?=\\?[\"']))\\?[\"']?)"
    r"([A-Za-z0-9][A-Za-z0-9-]{1,62}+(?:\.[A-Za-z0-9-]{1,62}+){0,8}+)(?![A-Za-z0-9_(])",
    re.IGNORECASE,
)
_INTERNAL = lazy(
    r"(?<![\w.-])(?:(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:svc|internal|intranet|lan|corp|localdomain|home\.arpa)"
    r"|(?:[A-Za-z0-9-]{1,63}\.){2,8}local|[A-Za-z0-9]{1,63}-[A-Za-z0-9-]{1,63}\.local)(?![\w-])"
)
_USER = lazy(r"(?:(?<=/home/)|(?<=/Users/)|(?<=\\Users\\))([A-Za-z0-9._-]{1,64})(?=[/\\\s\"':]|\Z)")
_WORD = lazy(r"[\w-]+(?:\.[\w-]+)*")
_KEPT_NAMES = frozenset(
    {"localhost", "none", "null", "true", "false", "root", "ubuntu", "shared", "vllm", "ray", "runner"}
    | {"host", "hostname", "port", "pid", "ip", "node", "pod", "x.x.x.x"}
)
_PUBLIC = lazy(
    r"(?i)(?:^|\.)(?:github\.com|githubusercontent\.com|gitlab\.com|huggingface\.co|hf\.co|pytorch\.org|nvidia\.com|ray\.io"
    r"|vllm\.ai|kubernetes\.io|docker\.com|docker\.io|python\.org|pypi\.org|readthedocs\.io|modelscope\.cn|w3\.org"
    r"|pydantic\.dev|openai\.com|anyscale\.com)$"
)


def named_hosts(report: Report) -> dict[str, str]:
    """Hosts, pods and containers that the report names as such, and what each is."""
    names: dict[str, str] = {}
    for process in _processes(report):
        for kind, value in (("host", process.host), ("pod", process.pod), ("container", process.container)):
            if value and len(value) >= 3 and value.lower() not in _KEPT_NAMES and not is_harmless(value):
                names.setdefault(value, kind)
    return names


def _processes(value: Any) -> Iterator[Process]:
    if isinstance(value, Process):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _processes(part)


class Hosts:
    """Finds hosts in texts, those named by the report among them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def find(self, text: str, *, code: bool = False) -> list[Span]:
        """Every address, host, pod, container and user in the text, in order; `code` as for secrets."""
        return merged([*self._shaped(text), *(() if code else self._named(text))])

    def _shaped(self, text: str) -> Iterator[Span]:
        if self.names:
            yield from self._by_name(text)
        if "." in text:
            for match in _IPV4.finditer(text):
                if _is_address(text, match) and match.group() not in _KEPT_ADDRESSES:
                    yield Span(*match.span(), "ip")
            yield from (Span(*match.span(), "host") for match in _INTERNAL.finditer(text))
        if "::" in text or text.count(":") >= 7:
            yield from (Span(*m.span(), "ip") for m in _IPV6.finditer(text) if _is_ipv6(m.group()))
        if "://" in text:
            for match in _URL_HOST.finditer(text):
                if not _PUBLIC.search(match.group(1)):
                    yield from _host(match, 1, "host")
        for match in _USER.finditer(text):
            if match.group(1).lower() not in _KEPT_NAMES:
                yield Span(*match.span(1), "user")

    def _named(self, text: str) -> Iterator[Span]:
        if "=" in text or ":" in text:
            for match in _NAMED_HOST.finditer(text):
                prose = match.group(2)[-1].isspace() and PROSE.match(text, match.start(3))
                if not prose:
                    yield from _host(match, 3, "pod" if (match.group(1) or "").lower() == "pod" else "host")

    def _by_name(self, text: str) -> Iterator[Span]:
        """Names that the report knows, alone, as a word, or as the first label of a longer name."""
        if text in self.names:
            yield Span(0, len(text), self.names[text])
            return
        for match in _WORD.finditer(text):
            for name in (match.group(), match.group().split(".", 1)[0]):
                if name in self.names:
                    yield Span(match.start(), match.start() + len(name), self.names[name])
                    break


def _is_address(text: str, match: re.Match[str]) -> bool:
    """False for versions of four numbers and for numbers above 255."""
    before = text[max(match.start() - 12, 0) : match.start()]
    return all(int(part) < 256 for part in match.group().split(".")) and not _VERSION_BEFORE.search(before)


def _is_ipv6(text: str) -> bool:
    """False for loopback and for what is more likely a C++ name, such as `c10::`."""
    return text not in _KEPT_ADDRESSES and not (text.endswith("::") and text.count(":") == 2)


def _host(match: re.Match[str], group: int, kind: str) -> Iterator[Span]:
    """The span of a host's name, unless it is one that tells nothing or an address that is handled elsewhere."""
    name = match.group(group)
    if name.lower() not in _KEPT_NAMES and not re.fullmatch(r"[\d.]+", name):
        yield Span(*match.span(group), kind)
