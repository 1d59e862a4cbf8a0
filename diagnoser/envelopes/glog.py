"""glog, abseil and torch's C++ and Python loggers: `E0314 10:20:30.123456   77 file.cpp:12] text`.

The number is a thread id, or the process id in torch's Python loggers: it does not name the writer, because one
process has many threads.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import LEVELS, Envelope, Peeling
from diagnoser.processes import parse_process_name

_ELASTIC = "torch/distributed/elastic/"


def peel_glog(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read level, time and site."""
    letter, time, site, c10_letter, c10_time, c10_site = match.groups()
    peeling.level = LEVELS[letter or c10_letter]
    peeling.time = time or c10_time
    peeling.site = site or c10_site
    if peeling.site.find(_ELASTIC) >= 0 and not peeling.process.known:
        peeling.speak(parse_process_name("torchrun"))
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="glog",
    kind="record",
    order=20,
    heads="IWEFD[",
    pattern=(
        r"([DIWEF])((?:\d{4})?\d{4} \d\d:\d\d:\d{2,10}(?:\.\d{1,9})?) +\d{1,20} ([^\s\]]{1,300}:\d{1,7})\](?: |$)"
        r"|\[([DIWEF])(\d{3,8} \d\d:\d\d:\d\d(?:\.\d{1,9})?)? ([^\s\]]{1,300}\.\w{1,5}:\d{1,7})\](?: |$)"
    ),
    peel=peel_glog,
    samples=(
        "E0314 10:20:30.123456   77 transfer_metadata.cpp:1098] Local segment descriptor not found",
        "I20250314 10:20:30.123456    77 rpc_service.cpp:12] started",
        "F0314 10:20:30.059108 77 transfer_metadata_plugin.cpp:592] Unable to find metadata storage plugin",
        "W0314 10:20:30.355000 77 torch/distributed/elastic/multiprocessing/api.py:858] Sending process 78 signal 15",
        "E0000 00:00:1741947630.123456   77 cuda_dnn.cc:8310] Unable to register cuDNN factory",
        "[W314 10:20:30.780113206 utils.cpp:68] Warning: NUMA binding",
        "[E ProcessGroupNCCL.cpp:563] Watchdog caught collective operation timeout",
    ),
)
