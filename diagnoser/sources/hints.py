"""What a log's path tells about the process that wrote it.

Layouts: kubelet (`/var/log/pods/<namespace>_<pod>_<uid>/<container>/<restart>.log` and
`/var/log/containers/<pod>_<namespace>_<container>-<id>.log`), Ray's session folder (`worker-<id>-<job>-<pid>.out`,
`raylet.out`, `gcs_server.out`), torchrun's `--log-dir` (`<run>/attempt_<n>/<local rank>/stderr.log`), and files that
people name after ranks (`worker-3.log`, `rank2.log`, `node1-rank0.log`). `tp8` in a name is mostly a size: not used.
"""

from __future__ import annotations

import re

from diagnoser.model import UNKNOWN_PROCESS, Process

# the patterns are compiled when a path has the word that they need: most paths have none
_POD = r"(?:^|/)[a-z0-9.-]+_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{32,36}/(?P<container>[^/]+)/\d+\.log[^/]*$"
_CONTAINER = r"(?:^|/)(?P<pod>[a-z0-9.-]+)_[a-z0-9.-]+_(?P<container>[a-z0-9.-]+)-[0-9a-f]{64}\.log[^/]*$"
_RAY_WORKER = r"(?:^|/)worker-[0-9a-f]{20,}-(?:[0-9a-f]+-)?(?P<pid>\d{1,10})\.(?:out|err)[^/]*$"
_RAY_CORE_WORKER = r"(?:^|/)python-core-(?P<kind>worker|driver)-[0-9a-f]+_(?P<pid>\d{1,10})\.log[^/]*$"
_RAY_DAEMON = (
    r"(?:^|/)(?P<name>raylet|gcs_server|monitor|dashboard|dashboard_agent|runtime_env_agent|log_monitor)"
    r"\.(?:\d+\.)?(?:out|err|log)[^/]*$"
)
_RAY_DAEMON_WORDS = ("raylet", "gcs_server", "monitor", "dashboard", "_agent")
_TORCHRUN = r"(?:^|/)attempt_\d+/(?P<rank>\d{1,6})/(?:stdout|stderr|error)\.(?:log|json)[^/]*$"
_RANK = r"(?:^|[-_.])(?P<key>worker|rank|node|host)[-_]?(?P<number>\d{1,5})(?=[-_.]|$)"
_RANK_WORDS = ("worker", "rank", "node", "host")
_SUFFIX = r"(?:\.(?:log|out|err|txt|gz|bz2|xz|zst|\d+))+$"
_LONGEST_PATH = 4096


def process_of(path: str) -> Process:
    """The writer as far as the path names it; `UNKNOWN_PROCESS` when it tells nothing."""
    path = path.replace("\\", "/").rpartition("!")[2]
    if len(path) > _LONGEST_PATH:
        return UNKNOWN_PROCESS
    if path.count("_") > 1 and (found := re.search(_POD, path) or re.search(_CONTAINER, path)):
        return Process(pod=found["pod"], container=found["container"])
    name = path.rpartition("/")[2]
    if "worker-" in name and (found := re.search(_RAY_WORKER, path)):
        return Process(pid=int(found["pid"]))
    if "python-core-" in name and (found := re.search(_RAY_CORE_WORKER, path)):
        return Process(pid=int(found["pid"]), role="driver" if found["kind"] == "driver" else None)
    if any(word in name for word in _RAY_DAEMON_WORDS) and (found := re.search(_RAY_DAEMON, path)):
        return Process(name=found["name"], role=found["name"])
    if "attempt_" in path and (found := re.search(_TORCHRUN, path)):
        return Process(ranks=(("rank", int(found["rank"])),))
    if any(word in name.lower() for word in _RANK_WORDS):
        return _named_after_ranks(name)
    return UNKNOWN_PROCESS


def _named_after_ranks(name: str) -> Process:
    ranks: tuple[tuple[str, int], ...] = ()
    host = label = role = None
    for found in re.finditer(_RANK, re.sub(_SUFFIX, "", name, flags=re.IGNORECASE), re.IGNORECASE):
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
