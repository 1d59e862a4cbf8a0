"""Paths name processes only where they truly do."""

from __future__ import annotations

import pytest

from diagnoser.model import UNKNOWN_PROCESS, Process
from diagnoser.sources.hints import process_of

UID = "0a1b2c3d-1111-2222-3333-444455556666"
HEX = "56d0c0ffee56d0c0ffee56d0c0ffee56d0c0ffee56d0c0ffeeaabbcc"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/var/log/pods/serving_vllm-decode-0_{UID}/vllm/0.log", Process(pod="vllm-decode-0", container="vllm")),
        (f"serving_vllm-0_{UID}/vllm/0.log.20260101-101010.gz", Process(pod="vllm-0", container="vllm")),
        (
            f"/var/log/containers/vllm-0_serving_engine-{'ab' * 32}.log",
            Process(pod="vllm-0", container="engine"),
        ),
        (f"/tmp/ray/session_latest/logs/worker-{HEX}-01000000-4711.out", Process(pid=4711)),
        (f"logs/worker-{HEX}-ffffffff-31.err", Process(pid=31)),
        (f"logs/python-core-driver-{HEX}_4700.log", Process(pid=4700, role="driver")),
        (f"logs/python-core-worker-{HEX}_4701.log", Process(pid=4701)),
        ("logs/raylet.out", Process(name="raylet", role="raylet")),
        ("logs/gcs_server.out", Process(name="gcs_server", role="gcs_server")),
        ("run_x/attempt_0/3/stderr.log", Process(ranks=(("rank", 3),))),
        ("bundle.tgz!run_x/attempt_0/3/error.json", Process(ranks=(("rank", 3),))),
        ("worker-3.log", Process(name="worker-3", role="Worker")),
        ("crash/rank2.log.gz", Process(ranks=(("rank", 2),))),
        ("node1-rank0.log", Process(host="node1", ranks=(("rank", 0),))),
        ("llama-tp8.log", UNKNOWN_PROCESS),
        ("worker.log", UNKNOWN_PROCESS),
        ("frank2.log", UNKNOWN_PROCESS),
        ("monitoring/log.txt", UNKNOWN_PROCESS),
        ("rank" + "9" * 5000 + ".log", UNKNOWN_PROCESS),
        ("", UNKNOWN_PROCESS),
    ],
)
def test_process_of(path: str, expected: Process) -> None:
    assert process_of(path) == expected
