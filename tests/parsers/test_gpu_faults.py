"""What the ROCm runtime prints before it aborts a process."""

from __future__ import annotations

import pytest

from diagnoser import diagnose


@pytest.mark.parametrize(
    "line",
    [
        "Memory access fault by GPU node-3 (Agent handle: 0x13e80000) on address 0x77d400000000. Reason: Unknown.",
        "HW Exception by GPU node-1 (Agent handle: 0x3c7a0000) reason :GPU Hang",
        "Abort was called at 287 line in file:",
        ":0:rocdevice.cpp            :2984: 77 us: Callback: Queue 0x7f00 aborting with error : HSA_STATUS_ERROR_EXCEPTION: x",
    ],
)
def test_a_fault_of_the_gpu_outranks_the_death_that_follows(line: str) -> None:
    died = "(EngineCore pid=77) ERROR 03-14 10:20:30 [multiproc_executor.py:280] Worker proc VllmWorker-3 died unexpectedly."
    (incident,) = diagnose(f"{line}\n{died}\n").incidents
    assert (incident.root.kind, incident.root.text) == ("native", line)


def test_talk_of_a_fault_is_none() -> None:
    quoted = "INFO 03-14 10:20:30 [a.py:1] Received prompt: 'Memory access fault by GPU node-3 (Agent handle: 0x1)'"
    assert diagnose(quoted + "\n").incidents == ()
