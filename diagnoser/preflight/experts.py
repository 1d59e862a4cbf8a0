"""Which rank owns an expert, and the guards of a MoE worker, for services and tests that want them in code.

vLLM keeps a map from global expert numbers to local places, -1 for experts of other ranks. `expert_id % num_local` is
no such map: of 256 experts on 8 ranks it sends 1,792 of 2,048 pairs to a wrong expert.
Source: fused_moe/expert_map_manager.py of vLLM 0.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from diagnoser.errors import PreflightError
from diagnoser.preflight.shapes import experts_per_rank

Placement = Literal["linear", "round_robin"]


def expert_owner(expert_id: int, num_experts: int, ep_size: int, placement: Placement = "linear") -> tuple[int, int]:
    """The rank that holds an expert and its place there.

    Linear gives each rank a run of neighbours, the first ranks one more when the split is uneven; round robin deals
    the experts out one by one.

    >>> expert_owner(86, 256, 3)
    (1, 0)

    Raises PreflightError for an expert that does not exist and for sizes that make no sense.
    """
    problems = _size_problems(num_experts, ep_size, placement)
    if not problems and not 0 <= expert_id < num_experts:
        problems.append(f"Expert {expert_id} does not exist: there are {num_experts}, numbered from 0.")
    if problems:
        raise PreflightError(problems)
    if placement == "round_robin":
        return expert_id % ep_size, expert_id // ep_size
    base, more = divmod(num_experts, ep_size)
    wide = more * (base + 1)
    if expert_id < wide:
        return divmod(expert_id, base + 1)
    rank, place = divmod(expert_id - wide, base)
    return more + rank, place


def safe_expert_dispatch(
    expert_id: int, num_experts: int, ep_size: int = 1, rank: int = 0, placement: Placement = "linear"
) -> int | None:
    """The local place of an expert on a rank; None when another rank holds it, where vLLM's map has -1.

    Raises PreflightError for an expert or a rank that does not exist. An id is never folded into range.
    """
    if not 0 <= rank < max(ep_size, 1):
        raise PreflightError([f"Rank {rank} does not exist: there are {ep_size}, numbered from 0."])
    owner, place = expert_owner(expert_id, num_experts, ep_size, placement)
    return place if owner == rank else None


def check_moe_worker_invariants(
    num_experts: int,
    *,
    ep_size: int = 1,
    rank: int = 0,
    placement: Placement = "linear",
    local_experts: int | None = None,
    expert_map: Sequence[int] | None = None,
    expert_ids: Iterable[int] = (),
    top_k: int | None = None,
) -> None:
    """Checks what must hold in a MoE worker: its share of the experts, its map, and the ids that a router chose.

    Raises PreflightError with everything that does not hold.
    """
    problems = _size_problems(num_experts, ep_size, placement)
    if not problems and not 0 <= rank < ep_size:
        problems.append(f"Rank {rank} does not exist: there are {ep_size}, numbered from 0.")
    if problems:
        raise PreflightError(problems)
    expected = experts_per_rank(num_experts, ep_size)[rank]
    if local_experts is not None and local_experts != expected:
        problems.append(f"Rank {rank} holds {local_experts} experts and should hold {expected} of {num_experts}.")
    if expert_map is not None:
        problems += _map_problems(expert_map, num_experts, ep_size, rank, placement)
    odd = sorted({expert for expert in expert_ids if not 0 <= expert < num_experts})
    if odd:
        shown = ", ".join(map(str, odd[:8]))
        problems.append(f"The router chose experts that do not exist ({shown}); there are {num_experts}.")
    if top_k is not None and not 0 < top_k <= num_experts:
        problems.append(f"{top_k} experts per token can't be chosen out of {num_experts}.")
    if problems:
        raise PreflightError(problems)


def _map_problems(
    expert_map: Sequence[int], num_experts: int, ep_size: int, rank: int, placement: Placement
) -> list[str]:
    if len(expert_map) != num_experts:
        return [f"The expert map has {len(expert_map)} entries for {num_experts} experts."]
    for expert, place in enumerate(expert_map):
        owned = safe_expert_dispatch(expert, num_experts, ep_size, rank, placement)
        if place != (-1 if owned is None else owned):
            return [
                f"The expert map of rank {rank} sends expert {expert} to {place}; "
                f"it belongs to {'another rank (-1)' if owned is None else f'place {owned}'}."
            ]
    return []


def _size_problems(num_experts: int, ep_size: int, placement: str) -> list[str]:
    problems: list[str] = []
    if num_experts < 1:
        problems.append(f"The number of experts is {num_experts}, expected at least 1.")
    if ep_size < 1:
        problems.append(f"The number of expert-parallel ranks is {ep_size}, expected at least 1.")
    if placement not in ("linear", "round_robin"):
        problems.append(f"The placement {placement!r} does not exist; it is linear or round_robin.")
    return problems
