"""TorchServe: what a model worker writes comes as `time [LEVEL] worker MODEL_LOG - text`, whose level says nothing."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling, level_name
from diagnoser.processes import parse_process_name


def peel_torchserve(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, level, thread; a model worker's own text may hold further prefixes."""
    time, level, thread, logger = match.groups()
    peeling.time = time
    if logger == "MODEL_LOG":
        peeling.speak(parse_process_name(thread.removesuffix("-stdout").removesuffix("-stderr")))
    else:
        peeling.level, peeling.site = level_name(level), logger
        peeling.done = True
    peeling.prefixed = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="torchserve",
    kind="record",
    order=20,
    heads=DIGITS,
    needle=" - ",
    pattern=(
        r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}) \[([A-Z]{4,5}) {0,2}\] ([\w.-]{1,120}) "
        r"(MODEL_LOG|[a-zA-Z_]\w{0,60}(?:\.\w{1,60}){1,10}) -(?: |$)"
    ),
    peel=peel_torchserve,
    samples=(
        "2025-03-14T10:20:30,123 [INFO ] W-9000-m_1.0-stdout MODEL_LOG - Traceback (most recent call last):",
        "2025-03-14T10:20:30,123 [ERROR] epollEventLoopGroup-5-1 org.pytorch.serve.wlm.WorkerThread - Unknown",
    ),
)
