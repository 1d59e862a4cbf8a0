"""The headers of `tail` and `head` over several files: what follows comes from another file, hence another writer."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling


def peel_tail_header(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Note the file for the lines that follow; the header itself stays as text."""
    peeling.section = match.group(1)
    peeling.done = True
    return None


ENVELOPE = Envelope(
    name="tail-header",
    kind="collector",
    order=20,
    heads="=",
    needle="==> ",
    pattern=r"==> ([^\n]{1,400}) <==\s{0,8}$",
    peel=peel_tail_header,
    samples=("==> worker_1.log <==",),
)
