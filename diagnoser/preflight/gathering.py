"""Turns a request into cases: the deployments that it names, each with what is known around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnoser.errors import InputError
from diagnoser.preflight.arguments import Request
from diagnoser.preflight.case import Case, Pair
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.inputs import ReadLog, from_command, from_file, from_log, launches_if_any
from diagnoser.preflight.sides import side_of
from diagnoser.preflight.surroundings import Surroundings
from diagnoser.records import NamedTuple


class Gathered(NamedTuple):
    """All cases of a request."""

    cases: tuple[tuple[str, Case], ...] = ()
    """Pairs of label and case; the label is empty when there is only one."""
    pair: Pair | None = None


def gather(request: Request, read_log: ReadLog | None = None) -> Gathered:
    """Reads everything that the request names.

    Raises InputError for an input that can't be read and UsageError for one that makes no sense.
    """
    around = Surroundings(request)
    if request.text("prefill") is not None:
        prefill = around.case(side_of("prefill", request.text("prefill") or "", read_log))
        decode = around.case(side_of("decode", request.text("decode") or "", read_log))
        return Gathered((("prefill", prefill), ("decode", decode)), Pair(prefill, decode))
    found = list(_deployments(request, around, read_log))
    if not found and request.files and request.flag("if_found"):
        return Gathered()
    if not found:
        found = [around.with_flags(Deployment("the options", environment_known=False))]
    cases = [around.case(deployment) for deployment in found]
    labels = [case.deployment.origin if len(cases) > 1 else "" for case in cases]
    return Gathered(tuple(zip(labels, cases, strict=True)), _pair_of(cases))


def _deployments(request: Request, around: Surroundings, read_log: ReadLog | None) -> Iterator[Deployment]:
    if request.command:
        yield around.with_flags(from_command(request.command, around.process))
    for path in request.files:
        launches = launches_if_any(path) if request.flag("if_found") else list(from_file(path))
        if not launches and not request.flag("if_found"):
            raise InputError(
                path, "no vLLM launch was found in it", expected="a script, a manifest or values with `vllm serve`"
            )
        for deployment in launches:
            yield around.with_flags(deployment)
    for path in request.many("from_log"):
        yield around.with_flags(from_log(path, read_log))


def _pair_of(cases: Sequence[Case]) -> Pair | None:
    """A producer and a consumer among the cases of one manifest."""
    roles = {str(case.deployment.kv_transfer.get("kv_role")): case for case in cases}
    if len(cases) == 2 and {"kv_producer", "kv_consumer"} <= set(roles):
        return Pair(roles["kv_producer"], roles["kv_consumer"])
    return None
