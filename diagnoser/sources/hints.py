"""What a log's path tells about the process that wrote it.

Layouts: kubelet (`/var/log/pods/<namespace>_<pod>_<uid>/<container>/<restart>.log` and
`/var/log/containers/<pod>_<namespace>_<container>-<id>.log`), Ray's session folder (`worker-<id>-<job>-<pid>.out`,
`raylet.out`, `gcs_server.out`), torchrun's `--log-dir` (`<run>/attempt_<n>/<local rank>/stderr.log`), and files that
people name after ranks (`worker-3.log`, `rank2.log`, `node1-rank0.log`). `tp8` in a name is mostly a size: not used.
"""

from __future__ import annotations

import re

from diagnoser.model import UNKNOWN_PROCESS, Process

_POD = re.compile(r"(?:^|/)[a-z0-9.-]+_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{32,36}/(?P<container>[^/]+)/\d+\.log[^/]*$")
_CONTAINER = re.compile(r"(?:^|/)(?P<pod>[a-z0-9.-]+)_[a-z0-9.-]+_(?P<container>[a-z0-9.-]+)-[0-9a-f]{64}\.log[^/]*$")
_RAY_WORKER = re.compile(r"(?:^|/)worker-[0-9a-f]{20,}-(?:[0-9a-f]+-)?(?P<pid>\d+)\.(?:out|err)[^/]*$")
_RAY_CORE_WORKER = re.compile(r"(?:^|/)python-core-(?P<kind>worker|driver)-[0-9a-f]+_(?P<pid>\d+)\.log[^/]*$")
_RAY_DAEMON = re.compile(
    r"(?:^|/)(?P<name>raylet|gcs_server|monitor|dashboard|dashboard_agent|runtime_env_agent|log_monitor)"
    r"\.(?:\d+\.)?(?:out|err|log)[^/]*$"
)
_TORCHRUN = re.compile(r"(?:^|/)attempt_\d+/(?P<rank>\d+)/(?:stdout|stderr|error)\.(?:log|json)[^/]*$")
_RANK = re.compile(r"(?:^|[-_.])(?P<key>worker|rank|node|host)[-_]?(?P<number>\d{1,5})(?=[-_.]|$)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:\.(?:log|out|err|txt|gz|bz2|xz|zst|\d+))+$", re.IGNORECASE)


def process_of(path: str) -> Process:
    """The writer as far as the path names it; `UNKNOWN_PROCESS` when it tells nothing."""
    path = path.replace("\\", "/").rpartition("!")[2]
    if found := _POD.search(path) or _CONTAINER.search(path):
        return Process(pod=found["pod"], container=found["container"])
    if found := _RAY_WORKER.search(path):
        return Process(pid=int(found["pid"]))
    if found := _RAY_CORE_WORKER.search(path):
        return Process(pid=int(found["pid"]), role="driver" if found["kind"] == "driver" else None)
    if found := _RAY_DAEMON.search(path):
        return Process(name=found["name"], role=found["name"])
    if found := _TORCHRUN.search(path):
        return Process(ranks=(("rank", int(found["rank"])),))
    return _named_after_ranks(path.rpartition("/")[2])


def _named_after_ranks(name: str) -> Process:
    ranks: tuple[tuple[str, int], ...] = ()
    host = label = role = None
    for found in _RANK.finditer(_SUFFIX.sub("", name)):
        text = found[0].lstrip("-_.")
        match found["key"].lower():
            case "rank":
                ranks = (("rank", int(found["number"])),)
            case "worker":
                label, role = text, "Worker"
            case _:
                host = text
    if not (ranks or host or label):
        return UNKNOWN_PROCESS
    return Process(name=label, role=role, host=host, ranks=ranks)
