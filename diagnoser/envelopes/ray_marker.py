"""What a Ray worker writes first into its own log file: `:actor_name:RayWorkerWrapper` names all that follows."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.processes import parse_process_name


def peel_ray_marker(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Note the actor for the lines that follow; the marker itself stays as text."""
    kind, name = match.groups()
    if kind == "actor_name" and name:
        peeling.writer = parse_process_name(name)
    peeling.done = True
    return None


ENVELOPE = Envelope(
    name="ray-marker",
    kind="collector",
    order=20,
    heads=":",
    pattern=r":(actor_name|task_name|job_id):([\w.:-]{0,200})\s{0,8}$",
    peel=peel_ray_marker,
    samples=(":actor_name:RayWorkerWrapper", ":job_id:01000000"),
)
