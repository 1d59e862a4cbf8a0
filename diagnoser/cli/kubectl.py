"""`kubectl diagnose POD`: a plugin of kubectl that reads everything that the cluster has on a pod."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from diagnoser.cli.options import output_options, rule_options
from diagnoser.cli.settings import Settings, catalogue_of, deliver
from diagnoser.errors import InputError

if TYPE_CHECKING:
    from diagnoser.live.pods import Kubectl, Pod
    from diagnoser.pipeline import Analysis
    from diagnoser.sources import Source

_GLOBAL = ("namespace", "context", "kubeconfig", "cluster", "user", "as")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--namespace", "-n", metavar="NAME", help="Namespace of the pods, as for kubectl.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig to use.")
@click.option("--cluster", metavar="NAME", help="Cluster of the kubeconfig to use.")
@click.option("--user", metavar="NAME", help="User of the kubeconfig to use.")
@click.option("--as", metavar="NAME", help="User to impersonate.")
@click.option("--selector", "-l", metavar="LABELS", help="All pods with these labels, for example app=vllm.")
@click.option("--container", "-c", metavar="NAME", help="Only this container; all of them unless given.")
@click.option("--since", metavar="DURATION", help="Only the newer part of current logs, for example 1h.")
@output_options
@rule_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.argument("pods", nargs=-1, metavar="[POD]...")
def kubectl(pods: tuple[str, ...], selector: str | None, exit_zero: bool, **options: Any) -> int:
    """Diagnose pods: the logs of all containers and of those before them, events, and how they ended.

    POD is the name of a pod or of a workload such as deploy/vllm. Uses the kubectl on the PATH, or $KUBECTL.
    """
    from diagnoser.live.pods import Kubectl, find_pods

    if not pods and selector is None:
        raise click.UsageError("name a pod, or choose pods with -l")
    settings = Settings.of(options)
    chosen = tuple(f"--{name}={options[name]}" for name in _GLOBAL if options[name])
    program = Kubectl(os.environ.get("KUBECTL") or "kubectl", chosen)
    found = find_pods(program, pods, selector)
    return _diagnose(program, found, settings, options, exit_zero=exit_zero)


def _diagnose(
    program: Kubectl, pods: list[Pod], settings: Settings, options: dict[str, Any], *, exit_zero: bool
) -> int:
    """Reads everything on the pods, delivers the report and returns the exit status."""
    from diagnoser.live.pods import log_sources, unready
    from diagnoser.pipeline import report_of, run

    events = [_events(program, pod) for pod in pods]
    sources: list[Source] = []
    for pod, lines in zip(pods, events, strict=True):
        logs = log_sources(program, pod, only=options["container"], since=options["since"])
        earlier = [source for source in logs if source.name.endswith(" (previous)")]
        sources += [*earlier, *_told(pod, lines), *logs[len(earlier) :]]
    notes = [sentence for pod, lines in zip(pods, events, strict=True) for sentence in unready(pod, lines)]
    analysis = _with_ending(run(sources, catalogue := catalogue_of(settings)), pods)
    report = report_of(analysis, sources, catalogue, runbook_url=settings.runbook_url, notes=notes)
    report = settings.prepare(report)
    deliver(report, settings)
    if exit_zero:
        return 0
    if catalogue.errors:
        return 2
    return report.exit_code or (3 if notes else 0)


def _events(program: Kubectl, pod: Pod) -> list[str]:
    """The events of the pod; a user who may not read them gets the rest."""
    from diagnoser.live.pods import event_lines

    try:
        return event_lines(program, pod)
    except InputError as error:
        print(f"diagnose: events of {pod.name}: {error.problem}", file=sys.stderr)
        return []


def _told(pod: Pod, events: list[str]) -> list[Source]:
    """What Kubernetes tells of the pod, as logs."""
    from diagnoser.live.pods import state_lines
    from diagnoser.sources import text_source

    told = [(f"{pod.name} (events)", events, pod.process())]
    for container, line in state_lines(pod):
        oom = "OOMKilled" in line  # tells of a process inside, any other state of the container as a whole
        process = pod.process(container)
        told.append((f"{pod.name}/{container} (state)", [line], process if oom else process._replace(role="launcher")))
    sources: list[Source] = []
    for name, lines, process in told:
        if lines:
            source = text_source("".join(f"{line}\n" for line in lines), name)
            source.process = process
            sources.append(source)
    return sources


def _with_ending(analysis: Analysis, pods: list[Pod]) -> Analysis:
    """The analysis; where nothing in it explains that a container ended, that end is its incident."""
    from diagnoser.live.endings import with_ending
    from diagnoser.live.pods import ending_of

    outcome = analysis.incidents
    if outcome.stopped or any(incident.impact != "requests" for incident in outcome.incidents):
        return analysis
    for pod in pods:
        ending = ending_of(pod, f"{pod.name} (state)")
        if ending is not None:
            return with_ending(analysis, ending)
    return analysis
