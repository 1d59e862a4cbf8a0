"""Log lines that are JSON objects: vLLM's and python-json-logger's, docker's, journald's, and exports of log stores."""

from __future__ import annotations

import re
from typing import Any

from diagnoser.envelopes._base import SYSTEM_UNITS, Envelope, Peeling, level_name
from diagnoser.model import Process
from diagnoser.processes import parse_process_name

_TEXT_KEYS = (
    "message", "msg", "log", "MESSAGE", "line", "textPayload", "jsonPayload", "event", "text", "body", "Body", "fields",
)  # fmt: skip
_SIGNS = frozenset((
    "asctime", "levelname", "level", "lvl", "severity", "severity_text", "SeverityText", "time", "timestamp", "ts",
    "@timestamp", "date", "stream", "logger", "PRIORITY", "__REALTIME_TIMESTAMP", "insertId", "logName", "labels",
    "kubernetes", "vllm_process_name", "processName", "exc_info", "container_name", "SYSLOG_IDENTIFIER", "Timestamp",
))  # fmt: skip
"""Keys that a log line has and an answer of the API or a configuration printed into the log has not."""
_TRACE_KEYS = (
    "exc_info", "exc_text", "exception", "stack_trace", "stacktrace", "traceback", "stack", "exception.stacktrace",
    "stack_info",
)  # fmt: skip
_TIME_KEYS = ("asctime", "time", "timestamp", "@timestamp", "ts", "date", "Timestamp", "receiveTimestamp")
_LEVEL_KEYS = ("levelname", "level", "severity", "lvl", "severity_text", "SeverityText", "log.level")
_EXPORT_KEYS = frozenset(("textPayload", "insertId", "labels", "line", "MESSAGE", "kubernetes"))
_PLACES = (
    ("kubernetes",), ("labels",), ("resource", "labels"), ("fields",), ("attrs",), ("kubernetes", "pod"),
    ("kubernetes", "container"),
)  # fmt: skip
_PODS = ("pod_name", "pod", "podName")
_CONTAINERS = ("container_name", "container", "containerName", "CONTAINER_NAME")
_HOSTS = ("hostname", "host", "_HOSTNAME", "node_name", "nodename")
_HAVE_TRACE = frozenset(_TRACE_KEYS)
_HAVE_PLACE = frozenset((*(path[0] for path in _PLACES), *_PODS, *_CONTAINERS, *_HOSTS, "SYSLOG_IDENTIFIER"))
"""Most objects have none of these keys, which is found out at once."""
_LIMIT = 4 * 1024 * 1024

Document = dict[str, Any]


def peel_json(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the object; its message and its traceback become the lines."""
    document = _load(peeling.text)
    if document is None or _SIGNS.isdisjoint(document):
        return False
    text = _text_of(document)
    trace = _trace_of(document)
    if text is None and trace is None:
        return False
    _read_place(document, peeling)
    is_collector = _read_docker(document, peeling, text)
    if not is_collector and not _is_export(document):
        _read_record(document, peeling)
    body = (text or "").removesuffix("\n").removesuffix("\r")
    if trace and trace not in body:
        body = f"{body}\n{trace}" if body else trace
    peeling.bodies = body.split("\n")
    return None


def _load(text: str) -> Document | None:
    if len(text) > _LIMIT:
        return None
    import json

    try:
        document = json.loads(text.strip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _text_of(document: Document) -> str | None:
    for key in _TEXT_KEYS:
        value = document.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and (inner := _text_of(value)) is not None:
            return inner
        if isinstance(value, list) and key == "MESSAGE":
            return _text_of_bytes(value)
    return None


def _text_of_bytes(values: list[Any]) -> str | None:
    """journald writes a message that is not clean text as a list of its bytes."""
    if not all(isinstance(byte, int) and 0 <= byte < 256 for byte in values):
        return None
    return bytes(values).decode("utf-8", "replace")


def _trace_of(document: Document) -> str | None:
    if _HAVE_TRACE.isdisjoint(document):
        return None
    for key in _TRACE_KEYS:
        value = document.get(key)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = "\n".join(part.rstrip("\n") for part in value)
        if isinstance(value, dict):
            value = value.get("stacktrace") or value.get("stack")
        if isinstance(value, str) and value.strip() and value != "NoneType: None":
            return value.rstrip("\n")
    return None


def _first(document: Document, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if key not in document:
            continue
        value = document[key]
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return None


def _is_export(document: Document) -> bool:
    """True for a log store's export, whose level is the store's guess and whose name is the store's."""
    return "levelname" not in document and not _EXPORT_KEYS.isdisjoint(document)


def _read_docker(document: Document, peeling: Peeling, text: str | None) -> bool:
    """docker's json-file driver cuts lines at 16 KiB: a piece without a newline goes on in the next object."""
    if not ("log" in document and "stream" in document):
        return False
    peeling.time = _first(document, _TIME_KEYS)
    if set(document) <= {"log", "stream", "time", "attrs"}:
        peeling.stream = _first(document, ("stream",))
        peeling.partial = not (text or "").endswith("\n")
    return True


def _read_place(document: Document, peeling: Peeling) -> None:
    """Host, pod and container, in the words of Kubernetes, journald, Loki and Google Cloud."""
    if _HAVE_PLACE.isdisjoint(document):
        return
    places = [document]
    for path in _PLACES:
        value: Any = document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict):
            places.append(value)
    for place in places:
        peeling.pod = _first(place, _PODS) or peeling.pod
        peeling.container = _first(place, _CONTAINERS) or peeling.container
        peeling.host = _first(place, _HOSTS) or peeling.host
    if len(places) == 1 and not peeling.container:
        unit, pid = document.get("SYSLOG_IDENTIFIER"), document.get("_PID")
        if unit in SYSTEM_UNITS:
            peeling.speak(parse_process_name(unit))
            peeling.prefixed = True
        elif isinstance(unit, str):
            peeling.container = f"{unit}[{pid}]" if pid else unit


def _read_record(document: Document, peeling: Peeling) -> None:
    """A logger's own object: writer, level, time, site."""
    peeling.level = level_name(_first(document, _LEVEL_KEYS)) or peeling.level
    peeling.time = _first(document, _TIME_KEYS) or peeling.time
    file, line = document.get("filename") or document.get("file"), document.get("lineno") or document.get("line")
    if isinstance(file, str) and isinstance(line, int):
        peeling.site = f"{file.rpartition('/')[2]}:{line}"
    else:
        peeling.site = _first(document, ("name", "logger", "logger_name", "target")) or peeling.site
    name = _first(document, ("vllm_process_name", "processName", "process_name"))
    pid = document.get("process", document.get("pid"))
    number = pid if isinstance(pid, int) and not isinstance(pid, bool) else None
    if name:
        peeling.speak(parse_process_name(name, number))
    elif number is not None:
        peeling.speak(Process(pid=number))
    peeling.prefixed = bool(peeling.level or name or number is not None)
    peeling.done = "vllm_process_name" in document or "levelname" in document


ENVELOPE = Envelope(
    name="json",
    kind="record",
    order=10,
    heads="{",
    needle='"',
    pattern=r'\{\s{0,8}"',
    peel=peel_json,
    samples=(
        '{"asctime": "2025-03-14 10:20:30,911", "levelname": "ERROR", "name": "vllm.v1.engine.core", "process": 43, '
        '"filename": "core.py", "lineno": 842, "message": "EngineCore failed to start.", "exc_info": '
        '"Traceback (most recent call last):\\n  File \\"x.py\\", line 1, in f", '
        '"vllm_process_name": "EngineCore_DP0"}',
        '{"log":"(EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom\\n","stream":"stderr",'
        '"time":"2025-03-14T10:20:30.123456789Z"}',
        '{"MESSAGE":"boom","_PID":"77","_HOSTNAME":"host-a","SYSLOG_IDENTIFIER":"vllm","PRIORITY":"3"}',
        '{"level":"error","ts":1741947630.1,"msg":"boom"}',
        '{"textPayload":"boom","severity":"ERROR","resource":{"labels":{"pod_name":"vllm-0","container_name":"vllm"}},'
        '"timestamp":"2025-03-14T10:20:30Z"}',
        '{"timestamp":"2025-03-14T10:20:30Z","level":"ERROR","fields":{"message":"Shard 0 failed to start"},'
        '"target":"text_generation_launcher"}',
    ),
)
