"""Google Cloud's text export: `INFO time [resource.labels.containerName: vllm] text`; its level is not the line's."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.lazy import lazy

_LABEL = lazy(r"\[resource\.labels\.(\w{1,60}): ([^\]]{1,253})\]")


def peel_google_cloud(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time and labels."""
    peeling.time = match.group(1)
    for key, value in _LABEL.findall(match.group(2)):
        word = key.lower().replace("_", "")
        if word.startswith("pod"):
            peeling.pod = value
        elif word.startswith("container"):
            peeling.container = value
        elif word.startswith(("node", "instance", "host")):
            peeling.host = value
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="google-cloud",
    kind="collector",
    order=20,
    heads="DINWECAF",
    needle="[resource.labels.",
    pattern=(
        r"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY) "
        r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) "
        r"((?:\[resource\.labels\.\w{1,60}: [^\]]{1,253}\] ?){1,8})"
    ),
    peel=peel_google_cloud,
    samples=(
        "INFO 2025-03-14T10:20:30Z [resource.labels.containerName: vllm] (EngineCore pid=43) boom",
    ),
)
