"""The words that all formats share: what a process, a failure, an impact and a degree of certainty are called."""

from collections.abc import Iterable, Sequence

from diagnoser.model import (
    Confidence,
    Diagnosis,
    Failure,
    Frame,
    Impact,
    Incident,
    Process,
    Remedy,
    Report,
    Symptom,
)
from diagnoser.records import NamedTuple
from diagnoser.render._plain import cut_end, one_line

UNNAMED = "unnamed process"

IMPACT: dict[Impact, str] = {
    "startup": "the server did not start",
    "crash": "the server died",
    "hang": "the server stopped answering",
    "requests": "the server stayed up, but requests failed",
}
CONFIDENCE: dict[Confidence, str] = {
    "certain": "The log proves it.",
    "likely": "The log fits this cause, but does not prove it.",
    "possible": "Worth checking first; the log says too little to be sure.",
}
NOT_IN_THIS_LOG = "The root cause is not in this log"

_KIND = {
    "exception": "Exception of unknown type",
    "native": "Native crash",
    "signal": "Signal",
    "exit": "Exit",
    "message": "Error message",
}
LABEL_LENGTH = 70
"""Characters of a message that stands for a failure without a type."""
_STDIN = ("-", "<stdin>", "stdin", "(stdin)")


def process_label(process: Process) -> str:
    """The process by the shortest name that tells it apart, for example `Worker_TP1`."""
    ranks = " ".join(f"{name} {number}" for name, number in process.ranks)
    if process.name:
        return one_line(process.name)
    if process.role:
        return one_line(f"{process.role} {ranks}".strip())
    if ranks:
        return ranks
    if process.pid is not None:
        return f"process {process.pid}"
    return UNNAMED


def process_with_pid(process: Process) -> str:
    """The process and its pid, for example `Worker_TP1 (pid 23011)`."""
    label = process_label(process)
    if process.pid is None or str(process.pid) in label:
        return label
    return f"{label} (pid {process.pid})"


def process_home(process: Process) -> str:
    """Where the process ran, for example `host node-a, pod decode-0`; empty when the log does not say."""
    places = (("host", process.host), ("pod", process.pod), ("container", process.container))
    return ", ".join(f"{word} {one_line(value)}" for word, value in places if value)


def process_list(processes: Sequence[Process], most: int = 4) -> str:
    """Names of the processes, those beyond `most` as a count."""
    labels = list(dict.fromkeys(process_label(process) for process in processes))
    if len(labels) <= most + 1:
        return join_words(labels)
    return f"{', '.join(labels[:most])} and {len(labels) - most:,} more"


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def place(source: str, line: int) -> str:
    """`worker.log:126`, or the source alone where no line is known."""
    return f"{one_line(source)}:{line}" if line else one_line(source)


def failure_label(failure: Failure) -> str:
    """What failed in one or a few words: the exception's type, the signal, or the kind in words."""
    if failure.type:
        return one_line(failure.type)
    first = _first_line(failure.message)
    return f'"{cut_end(first, LABEL_LENGTH)}"' if first else _KIND[failure.kind]


def _first_line(message: str) -> str:
    return one_line(message[:4000].strip().split("\n", 1)[0])


def is_told(failure: Failure) -> bool:
    """True when `failure_label` holds the whole message already."""
    return not failure.type and failure_label(failure) == f'"{one_line(failure.message[:4000])}"'


def type_label(type_name: str | None, message: str) -> str:
    """Type and first line of the message of a link, symptom or runner-up, whichever are there."""
    first = _first_line(message)
    name = one_line(type_name) if type_name else ""
    return f"{name}: {first}" if name and first else name or first or "no message"


def said(failure: Failure) -> str:
    """The failure in the log's own words: `type: message` for an exception, as Python prints it."""
    message = failure.message.strip("\n")
    if failure.kind != "exception" or not failure.type:
        return message or failure.type or ""
    return f"{failure.type}: {message}" if message else failure.type


def headline(incident: Incident) -> str:
    """What failed first and in which process, in one line without the message."""
    root = incident.root
    what = failure_label(root)
    what = what[:1].upper() + what[1:] if root.kind == "exit" else what
    return f"{what} in {process_with_pid(root.speaker)}" if root.speaker.known else what


def root_place(incident: Incident, most: int = 4) -> str:
    """Where and when the root stands in the log, where its process ran, and which processes failed alike."""
    root = incident.root
    said = [place(root.source, root.line), one_line(root.time or ""), process_home(root.speaker)]
    where = ", ".join(part for part in said if part)
    if root.count > 1:
        where += f"; {root.count:,} times"
    if incident.also_on:
        where += f"; the same failure in {also_on_words(incident, most)}"
    if root.quoted:
        where += "; known only from the text that another process quoted"
    return where


def also_on_words(incident: Incident, most: int = 4) -> str:
    """The other processes that failed alike; with their ids where a name is that of the root's own process."""
    own = process_label(incident.root.speaker)
    if all(process_label(process) == own for process in incident.also_on[:100]):
        return f"{plural(len(incident.also_on), 'other process', 'other processes')} of that name"
    return process_list([process for process in incident.also_on if process_label(process) != own], most)


def unknown_steps(incident: Incident, report: Report) -> tuple[Remedy, ...]:
    """What a reader can do about a failure that no rule explains."""
    root = incident.root
    words = one_line(root.message[:500].strip().split("\n", 1)[0])
    if len(words) < 12 and root.frame:  # too short to search for
        words = one_line(root.frame.code or f"{root.type} {root.frame.function}")
    search = cut_end(words, 120).replace("`", "'")
    package = root.frame.file.split("/", 1)[0] if root.frame and not root.frame.file.startswith(("/", "<")) else ""
    where = f"the issues of {one_line(package)}" if package else "the issues of the project that raised it"
    first = f"Search {where} for `{search}`." if search else "Read the log just before the line named above."
    if root.kind == "exit":  # the words are our own
        first = "Read the last lines that it printed: a plug-in, a licence check or a shell writes its reason there."
    command = _issue_command(report)
    if command is None:
        return Remedy(first), Remedy("If nobody has reported it, do; `--format issue` writes the text of the report.")
    return Remedy(first), Remedy("If nobody has reported it, do; this writes the text of the report:", run=command)


def _issue_command(report: Report) -> str | None:
    """The command that writes an upstream report of the same input; None when there are too many logs to name."""
    from shlex import quote

    names = [one_line(source.name) for source in report.sources]
    if len(names) == 1 and names[0] in _STDIN:
        return "diagnose --format issue < the-same-log"
    if not 0 < len(names) <= 4 or any(name in _STDIN or name.startswith("<") for name in names):
        return None
    return f"diagnose --format issue {' '.join(map(quote, names))}"


def frame_place(frame: Frame) -> str:
    """`vllm/config.py:12 in __init__`, with what is known of it."""
    text = one_line(frame.file)
    if frame.line is not None:
        text += f":{frame.line}"
    return f"{text} in {one_line(frame.function)}" if frame.function else text


def best(incident: Incident) -> Diagnosis | None:
    """The diagnosis that is shown as the cause."""
    return incident.diagnoses[0] if incident.diagnoses else None


class SymptomGroup(NamedTuple):
    """Consequences of one kind, counted together."""

    label: str
    total: int
    processes: tuple[Process, ...]
    source: str
    line: int
    because: str


def fold_symptoms(symptoms: Iterable[Symptom]) -> list[SymptomGroup]:
    """Symptoms of the same type and reason as one group, in the order of their first appearance."""
    groups: dict[tuple[str, str], tuple[Symptom, dict[Process, None], list[int]]] = {}
    for symptom in symptoms:
        kind = symptom.type or one_line(symptom.message)[:60]
        _, processes, counts = groups.setdefault((kind, symptom.because), (symptom, {}, []))
        processes[symptom.process] = None
        counts.append(symptom.count)
    return [
        SymptomGroup(
            type_label(first.type, first.message),
            sum(counts),
            tuple(processes),
            first.source,
            first.line,
            first.because,
        )
        for first, processes, counts in groups.values()
    ]
