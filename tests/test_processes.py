from __future__ import annotations

import pytest

from diagnoser.model import Process
from diagnoser.processes import parse_process_name

NAMES: list[tuple[str, str | None, dict[str, int]]] = [
    ("APIServer", "APIServer", {}),
    ("ApiServer_0", "APIServer", {}),
    ("APIServer_DP1", "APIServer", {"dp": 1}),
    ("APIServer_DPRank_1", "APIServer", {"dp": 1}),
    ("DPSupervisor", "DPSupervisor", {}),
    ("VLLM_DP_Coordinator", "DPCoordinator", {}),
    ("MainProcess", "launcher", {}),
    ("SpawnProcess-3", None, {}),
    ("EngineCore", "EngineCore", {}),
    ("EngineCore_0", "EngineCore", {"dp": 0}),
    ("EngineCore_DP1", "EngineCore", {"dp": 1}),
    ("EngineCoreActor", "EngineCore", {}),
    ("DPMoEEngineCoreActor", "EngineCore", {}),
    ("Worker", "Worker", {}),
    ("Worker_TP0", "Worker", {"tp": 0}),
    ("Worker_DP0_PP1_TP3_EP3", "Worker", {"dp": 0, "ep": 3, "pp": 1, "tp": 3}),
    ("Worker_DP0_PP1_PCP0_TP3_DCP0_EP3", "Worker", {"dcp": 0, "dp": 0, "ep": 3, "pcp": 0, "pp": 1, "tp": 3}),
    ("VllmWorker rank=1", "Worker", {"rank": 1}),
    ("VllmWorker TP0", "Worker", {"tp": 0}),
    ("VllmWorker-2", "Worker", {"rank": 2}),
    ("VllmWorkerProcess", "Worker", {}),
    ("RayWorkerWrapper", "Worker", {}),
    ("RayWorkerProc", "Worker", {}),
    ("ServeReplica:default:LLM", "ServeReplica", {}),
    ("ServeController", "ServeController", {}),
    ("raylet", "raylet", {}),
    ("rank3", "Worker", {"rank": 3}),
    ("default0", "Worker", {"rank": 0}),
    ("TP2", "Worker", {"tp": 2}),
    ("DP1 TP0 EP1", "Worker", {"dp": 1, "ep": 1, "tp": 0}),
    ("W-9000-m_1.0", "Worker", {}),
    ("VLLM::Worker_TP1", "Worker", {"tp": 1}),
    ("VLLM::EngineCore", "EngineCore", {}),
    ("sglang::scheduler_TP0", "Worker", {"tp": 0}),
]


@pytest.mark.parametrize(("name", "role", "ranks"), NAMES)
def test_role_and_ranks_are_read_from_the_name(name: str, role: str | None, ranks: dict[str, int]) -> None:
    assert parse_process_name(name, 7, "node-a") == Process(name, role, 7, "node-a", ranks=tuple(sorted(ranks.items())))


def test_no_name_is_just_a_pid() -> None:
    assert parse_process_name(None, 91) == Process(pid=91)
    assert parse_process_name("") == Process()
