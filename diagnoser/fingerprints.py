"""A stable name for a failure: the same bug has the same fingerprint wherever and whenever it happens.

Type, masked message and own frames enter. Ranks, process ids, hosts, addresses, sizes, paths and line numbers
do not, so that two ranks, two hosts and two releases that differ by a few lines agree.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 2 ms
except ImportError:
    from hashlib import blake2b

from diagnoser.lazy import lazy
from diagnoser.model import Frame

_VARIABLE = lazy(
    r"(?P<n>0x[0-9a-fA-F]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<url>\b\w+://[^\s'\"]+)"
    r"|(?P<address>\[?[0-9a-fA-F]*:[0-9a-fA-F:]{3,}\]?(?::\d+)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"
    r"|(?P<path>(?:/[\w.\-+@]+){2,}/?)"
    r"|(?P<hash>\b(?=\w*\d)[0-9a-f]{12,}\b)"
    r"|(?P<request>\b(?:cmpl|chatcmpl|req)-[\w-]+)"
    r"|(?P<number>\d+(?:\.\d+)?)"
)
"""What differs from run to run, by kind."""
_MASKS = {"url": "<url>", "address": "<address>", "path": "<path>", "request": "<request>"}
_OWN_FRAMES = 5
_LONG = 256
_FOREIGN = ("lib/python", "torch/", "asyncio/", "uvloop/", "ray/_private/", "<frozen")


def mask(text: str) -> str:
    """The text without what differs from run to run."""
    masked = _VARIABLE.sub(lambda found: _MASKS.get(found.lastgroup or "", "#"), text[:2000])
    return " ".join(masked.split())


def fingerprint(kind: str, name: str | None, message: str, frames: tuple[Frame, ...]) -> str:
    """16 hexadecimal digits."""
    own = [frame for frame in frames if not _foreign(frame)] or list(frames)
    parts = [kind, (name or "").rsplit(".", 1)[-1], mask(message)]
    parts += [f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}" for frame in own[-_OWN_FRAMES:]]
    return blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _foreign(frame: Frame) -> bool:
    file = frame.file
    return file.startswith(_FOREIGN) or ("/lib/python3" in file and "site-packages" not in file)


def short_key(data: bytes) -> bytes:
    """A stand-in of fixed size for long data that is compared only; many of them are kept in a flood."""
    return data if len(data) <= _LONG else blake2b(data, digest_size=16).digest()
