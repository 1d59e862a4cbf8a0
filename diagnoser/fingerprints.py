"""A stable name for a failure: the same bug has the same fingerprint wherever and whenever it happens.

Type, masked message and own frames enter. Ranks, process ids, hosts, addresses, sizes, paths and line numbers
do not, so that two ranks, two hosts and two releases that differ by a few lines agree.
"""

from __future__ import annotations

import hashlib
import re

from diagnoser.model import Frame

_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "#"),
    (re.compile(r"\b\w+://[^\s'\"]+"), "<url>"),
    (re.compile(r"\[?[0-9a-fA-F]*:[0-9a-fA-F:]{3,}\]?(?::\d+)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"(?:/[\w.\-+@]+){2,}/?"), "<path>"),
    (re.compile(r"\b(?=\w*\d)[0-9a-f]{12,}\b"), "#"),
    (re.compile(r"\b(?:cmpl|chatcmpl|req)-[\w-]+"), "<request>"),
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
    (re.compile(r"\s+"), " "),
)
_OWN_FRAMES = 5
_FOREIGN = ("lib/python", "torch/", "asyncio/", "uvloop/", "ray/_private/", "<frozen")


def mask(text: str) -> str:
    """The text without what differs from run to run."""
    masked = text[:2000]
    for pattern, by in _MASKS:
        masked = pattern.sub(by, masked)
    return masked.strip()


def fingerprint(kind: str, name: str | None, message: str, frames: tuple[Frame, ...]) -> str:
    """16 hexadecimal digits."""
    own = [frame for frame in frames if not _foreign(frame)] or list(frames)
    parts = [kind, (name or "").rsplit(".", 1)[-1], mask(message)]
    parts += [f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}" for frame in own[-_OWN_FRAMES:]]
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _foreign(frame: Frame) -> bool:
    file = frame.file
    return file.startswith(_FOREIGN) or ("/lib/python3" in file and "site-packages" not in file)
