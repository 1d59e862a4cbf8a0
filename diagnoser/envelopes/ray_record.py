"""Records of Ray's own loggers.

Python prints `time LEVEL file.py:12 -- text`; Serve puts the level first; the C++ core prints
`[time E pid tid] file.cc:1: text`.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling, level_name
from diagnoser.processes import parse_process_name

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


def peel_ray_record(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, level and site; the core's component names the writer when no prefix did."""
    core_time, letter, component, core_site, time, level, site, serve_level, serve_time, serve_site = match.groups()
    peeling.time = core_time or time or serve_time
    peeling.level = level_name(letter or level or serve_level)
    peeling.site = core_site or site or serve_site
    if component and not peeling.process.known:
        peeling.speak(parse_process_name(component))
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="ray-record",
    kind="record",
    order=30,
    heads="[0123456789DIWEC",
    pattern=(
        rf"\[({_TIME}) ([DIWEFC]) \d{{1,10}} \d{{1,20}}\] (?:\((\w{{1,40}})\) )?"
        r"(?:([\w./-]{1,120}\.(?:cc|h|cpp):\d{1,6}): ?)?"
        rf"|({_TIME})[\t ]{{1,12}}([A-Z]{{4,8}})[\t ]{{1,12}}([\w./-]{{1,120}}:\d{{1,6}}) -- "
        rf"|(DEBUG|INFO|WARNING|ERROR|CRITICAL) ({_TIME}) "
        r"([\w.:-]{1,120} [\w-]{1,40}(?: [\w./-]{1,80}:\d{1,6})?) --? "
    ),
    peel=peel_ray_record,
    samples=(
        "2025-03-14 10:20:30,123\tINFO worker.py:2038 -- Started a local Ray instance.",
        "2025-03-14 10:20:30,123 WARNING worker.py:439 -- text",
        "2025-03-14 10:20:30,123       ERROR worker.py:427 -- Unhandled error: ray::Worker.run() (pid=91)",
        "[2025-03-14 10:20:30,123 E 94 94] (raylet) node_manager.cc:3007: 1 Workers killed due to memory pressure",
        "[2025-03-14 10:20:30,123 W 94 95] gcs_client.cc:210: Couldn't connect",
        "ERROR 2025-03-14 10:20:30,123 controller 93 -- text",
        "ERROR 2025-03-14 10:20:30,123 default_LLM k3j4h2 replica.py:12 -- text",
    ),
)
