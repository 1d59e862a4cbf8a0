"""What Kubernetes knows of pods: their logs, those of the containers before, their events, how they ended.

Everything is asked through the user's own `kubectl`, so that contexts, credentials and proxies are theirs. How a
container ended and what was noted of it become lines of text, which the rules for deaths of processes read.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from diagnoser.errors import InputError, UsageError
from diagnoser.live.endings import Ending
from diagnoser.model import Process
from diagnoser.records import NamedTuple
from diagnoser.sources.bytestreams import ByteStream
from diagnoser.sources.source import Source

_ASK_SECONDS = 60
_MAX_EVENTS = 200
_START_SECONDS = 1800.0
_ORDERED = frozenset({0, 143})
_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 137: "SIGKILL", 139: "SIGSEGV"}


class Kubectl(NamedTuple):
    """The program, and the options that say which cluster and namespace."""

    program: str
    options: tuple[str, ...] = ()

    def ask(self, *arguments: str) -> dict[str, Any]:
        """The JSON that it answers.

        Raises InputError with its own words when it refuses, UsageError when there is no such program.
        """
        command = [self.program, *self.options, *arguments, "-o", "json"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_ASK_SECONDS, check=False)
        except FileNotFoundError:
            raise UsageError(f"{self.program} was not found; it is needed to reach the cluster") from None
        except subprocess.TimeoutExpired:
            raise InputError("kubectl", f"no answer within {_ASK_SECONDS} seconds to: {' '.join(arguments)}") from None
        except OSError as error:
            raise UsageError(f"{self.program} can't be run: {error.strerror or error}") from None
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            raise InputError("kubectl", words or f"exited with {done.returncode}")
        try:
            answer: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise InputError("kubectl", f"no JSON came back for: {' '.join(arguments)}") from None
        return answer


class _LogStream(ByteStream):
    """What `kubectl logs` prints, begun when it is read."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdout is not None
        self._output: IO[bytes] = self._process.stdout
        self._ended = False

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        if self._ended:
            return 0
        data: bytes = self._output.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(data)] = data
        if not data:
            self._end()
        return len(data)

    def close(self) -> None:
        """See `ByteStream`."""
        if not self._ended:
            self._process.kill()
            self._ended = True
            self._process.communicate()

    def _end(self) -> None:
        self._ended = True
        _, said = self._process.communicate()
        if self._process.returncode:
            words = said.decode("utf-8", "replace").strip().split("\n")[-1]
            self.problem = f"kubectl logs: {words or f'exited with {self._process.returncode}'}"


class Pod(NamedTuple):
    """A pod as the API server describes it."""

    name: str
    status: Mapping[str, Any]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Pod:
        """The pod that `kubectl get pod -o json` describes."""
        metadata = item.get("metadata") or {}
        return cls(str(metadata.get("name")), item.get("status") or {})

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """The status of each container, those that prepare the others first."""
        kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        return [status for kind in kinds for status in self.status.get(kind) or ()]

    def process(self, container: str | None = None) -> Process:
        """The pod or its container as the writer of a line."""
        return Process(pod=self.name, container=container)


def find_pods(kubectl: Kubectl, names: Sequence[str], selector: str | None) -> list[Pod]:
    """The pods of those names, of the workloads of those names (`deploy/vllm`), and those that the selector fits.

    Raises InputError when there are none.
    """
    items: list[Any] = []
    for name in names:
        found = kubectl.ask("get", name if "/" in name else f"pod/{name}")
        labels = ((found.get("spec") or {}).get("selector") or {}).get("matchLabels")
        if found.get("kind", "Pod") == "Pod":
            items.append(found)
        elif labels:
            chosen = ",".join(f"{key}={value}" for key, value in labels.items())
            items += kubectl.ask("get", "pods", "-l", chosen).get("items") or ()
        else:
            raise InputError(name, f"a {found.get('kind')} has no pods of its own", expected="a pod or a workload")
    if selector is not None:
        items += kubectl.ask("get", "pods", "-l", selector).get("items") or ()
    pods = list(dict.fromkeys(_key(item) for item in items))
    if not pods:
        raise InputError(selector or " ".join(names), "no pods found")
    by_key = {_key(item): Pod.of(item) for item in items}
    return [by_key[key] for key in pods]


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = item.get("metadata") or {}
    return str(metadata.get("namespace")), str(metadata.get("name"))


def log_sources(kubectl: Kubectl, pod: Pod, *, only: str | None = None, since: str | None = None) -> list[Source]:
    """The logs of the pod's containers: first those of the containers before, then the current ones."""
    earlier: list[Source] = []
    current: list[Source] = []
    for status in pod.containers:
        name = str(status.get("name"))
        if only not in (None, name):
            continue
        if _terminated(status, "lastState"):
            earlier.append(_source(kubectl, pod, name, since, previous=True))
        if not (status.get("state") or {}).get("waiting"):  # then the last log is that of the container before
            current.append(_source(kubectl, pod, name, since, previous=False))
    return earlier + current


def _source(kubectl: Kubectl, pod: Pod, container: str, since: str | None, *, previous: bool) -> Source:
    command = [kubectl.program, *kubectl.options, "logs", pod.name, "-c", container]
    command += ["--previous"] if previous else []
    command += [f"--since={since}"] if since and not previous else []
    name = f"{pod.name}/{container}" + (" (previous)" if previous else "")
    return Source(name, lambda: _LogStream(command), process=pod.process(container))


def _terminated(status: Mapping[str, Any], state: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (status.get(state) or {}).get("terminated") or {}
    return found


def state_lines(pod: Pod) -> list[tuple[str, str]]:
    """How the containers ended, as pairs of container and line, in the words of `kubectl describe`."""
    lines: list[tuple[str, str]] = []
    for status in pod.containers:
        for state, words in (("lastState", "Last State"), ("state", "State")):
            ended = _terminated(status, state)
            if ended and ended.get("exitCode") not in _ORDERED:
                when = ended.get("finishedAt")
                what = f"{words}: Terminated, Reason: {ended.get('reason')}, Exit Code: {ended.get('exitCode')}"
                lines.append((str(status.get("name")), f"{when} {what}" if when else what))
    return lines


def event_lines(kubectl: Kubectl, pod: Pod) -> list[str]:
    """The warnings that Kubernetes noted of the pod, and the containers that it stopped, oldest first."""
    answer = kubectl.ask("get", "events", "--field-selector", f"involvedObject.name={pod.name}")
    found = []
    for event in answer.get("items") or ():
        when = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or ""
        if event.get("type") != "Normal" or event.get("reason") == "Killing":
            text = " ".join(str(event.get("message") or "").split())
            found.append((str(when), f"{when} {event.get('reason')}: {text}".strip()))
    return [line for _, line in sorted(found)[-_MAX_EVENTS:]]


def unready(pod: Pod, events: Sequence[str]) -> Iterator[str]:
    """What keeps the pod from running, in a sentence each."""
    for status in pod.containers:
        waiting = (status.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            message = f": {waiting['message']}" if waiting.get("message") else ""
            yield f"Container {status.get('name')} of {pod.name} waits ({waiting['reason']}{message})."
    for condition in _unscheduled(pod):
        yield f"{pod.name} is {pod.status.get('phase')}: {condition}"
    if pod.status.get("phase") == "Failed" and pod.status.get("reason"):
        yield f"{pod.name} failed ({pod.status['reason']}): {pod.status.get('message') or 'no message'}"
    if pod.status.get("phase") == "Pending":
        yield from (f"{pod.name}: {line}" for line in events[-3:])


def _unscheduled(pod: Pod) -> Iterator[str]:
    """The conditions that say why a pod is not scheduled."""
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield f"{condition.get('reason')}: {condition.get('message')}"


def ending_of(pod: Pod, source: str) -> Ending | None:
    """The latest end of a container that was none in order; None without one."""
    latest: tuple[str, str, Mapping[str, Any]] | None = None
    for status in pod.containers:
        for state in ("lastState", "state"):
            ended = _terminated(status, state)
            if ended and ended.get("exitCode") not in _ORDERED:
                found = (str(ended.get("finishedAt") or ""), str(status.get("name")), ended)
                latest = found if latest is None or found[0] >= latest[0] else latest
    if latest is None:
        return None
    _, container, ended = latest
    code = int(ended.get("exitCode") or 0)
    sentence = f"Container {container} ended with exit code {code} ({ended.get('reason')})."
    said = str(ended.get("message") or "").strip()
    words = "\nIts termination message:" + "".join(f"\n  {line}" for line in said.split("\n")) if said else ""
    name = _SIGNALS.get(code, f"exit code {code}")
    process = pod.process(container)._replace(role="launcher")
    return Ending(sentence, name, process, source, last_words=words, up=_ran_long(ended))


def _ran_long(ended: Mapping[str, Any]) -> bool:
    """True when the container ran for longer than a start takes."""
    from diagnoser.clock import seconds_of

    begun, done = (seconds_of(str(ended.get(key) or "")) for key in ("startedAt", "finishedAt"))
    return begun is not None and done is not None and done - begun > _START_SECONDS
