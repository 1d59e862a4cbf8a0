"""Kubernetes' own log files (containerd, CRI-O): `time stream tag text`; tag `P` marks a piece of a longer line."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling


def peel_cri(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the time and whether more of the line follows."""
    peeling.time, peeling.stream = match.group(1), match.group(2)
    peeling.partial = match.group(3).startswith("P")
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="cri",
    kind="collector",
    order=20,
    heads=DIGITS,
    needle=" std",
    pattern=(
        r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:Z|[+-]\d\d:\d\d)) "
        r"(stdout|stderr) ([FP](?::[\w:]{1,20})?)(?: |$)"
    ),
    peel=peel_cri,
    samples=(
        "2025-03-14T10:20:30.123456789Z stderr F (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "2025-03-14T10:20:30.123456789+01:00 stdout F   File \"x.py\", line 1, in f",
    ),
)
