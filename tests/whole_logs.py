"""The logs under `samples/`, the collectors that may have carried them, and what must not change when one did."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from diagnoser.catalogue import Catalogue
from diagnoser.pipeline import analyse
from diagnoser.sources import text_source

FOLDER = Path(__file__).parent.parent / "samples"
SAMPLES = sorted(path.parent.name for path in FOLDER.glob("*/expected.json"))
HEALTHY = sorted(path.stem for path in (FOLDER / "healthy").glob("*.log"))
CALM = (
    "(Worker_TP0 pid=4150) INFO 03-14 10:22:51 [topk_topp_sampler.py:59] Using FlashInfer for top-p & top-k sampling."
)
"""A healthy line that says nothing of how far the server has come."""
BUSY = "(APIServer pid=4100) INFO 03-14 10:22:51 [loggers.py:271] Engine 000: Avg prompt throughput: 812.4 tokens/s, Avg generation throughput: 233.1 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 11.9%"
"""A healthy line of a server at work."""


@cache
def catalogue():
    return Catalogue.load()


def read(path):
    return path.read_bytes().decode("utf-8")


def sample_logs(name):
    """File name to text, in order of name."""
    return {path.name: read(path) for path in sorted((FOLDER / name).glob("*.log"))}


def sample_expectation(name):
    return json.loads(read(FOLDER / name / "expected.json"))


def healthy_log(name):
    return read(FOLDER / "healthy" / f"{name}.log")


def report_of(logs, **how):
    """The report of a text, of lines, or of several texts by name; `how` goes to the sources."""
    if isinstance(logs, list):
        logs = "\n".join(logs) + "\n"
    texts = {"server.log": logs} if isinstance(logs, str) else logs
    return analyse([text_source(text, name, **how) for name, text in texts.items()], catalogue())


def gist(report):
    """What of a report may not depend on how the log was carried."""
    return (report.verdict, [gist_of(incident) for incident in report.incidents])


def gist_of(incident):
    root = incident.root
    return {
        "impact": incident.impact,
        "fingerprint": incident.fingerprint,
        "root": (root.kind, root.type, root.message, root.speaker.name, root.frame.function if root.frame else None),
        "also_on": sorted(process.name or "" for process in incident.also_on),
        "diagnoses": [(diagnosis.rule, diagnosis.confidence) for diagnosis in incident.diagnoses],
        "chain": [(link.link, link.type) for link in incident.chain],
    }


def lines_of(text):
    """Physical lines without their line feeds; a carriage return before one stays."""
    return text.removesuffix("\n").split("\n")


def _json_file(number, line):
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": f"2026-03-14T10:20:30.{number:09d}Z"})


COLLECTORS = {
    "docker compose": lambda number, line: f"vllm-1  | {line}",
    "docker json-file": _json_file,
    "kubernetes node": lambda number, line: f"2026-03-14T10:20:30.{number:09d}Z stderr F {line}",
    "kubectl --prefix": lambda number, line: f"[pod/llm-decode-0/vllm] {line}",
    "kubectl --timestamps": lambda number, line: f"2026-03-14T10:20:30.{number:09d}Z {line}",
    "journald": lambda number, line: f"Mar 14 10:20:30 gpu-node-7 vllm[812]: {line}",
    "grep -n": lambda number, line: f"{number}:{line}",
    "compose in a node's log": lambda number, line: f"2026-03-14T10:20:30.{number:09d}Z stdout F vllm-1  | {line}",
}


def carried(text, collector):
    """The text as a collector would have written it."""
    wrap = COLLECTORS[collector]
    return "\n".join(wrap(number, line) for number, line in enumerate(lines_of(text), 1)) + "\n"
