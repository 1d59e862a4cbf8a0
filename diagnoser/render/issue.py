"""The report as the text of a bug report: what a maintainer asks for, and nothing else.

The first line is the title; the rest goes into the body. Only the first incident is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Incident, Report
from diagnoser.render import RenderOptions
from diagnoser.render._about import nothing_words, redaction_words
from diagnoser.render._markdown import code, fence, joined, plain, prose
from diagnoser.render._plain import cut_end, excerpt, one_line, printable
from diagnoser.render._prepare import prepared
from diagnoser.render._words import (
    IMPACT,
    also_on_words,
    best,
    failure_label,
    fold_symptoms,
    frame_place,
    headline,
    place,
    process_label,
    type_label,
)
from diagnoser.render.markdown import chain_list, traceback_text

_VERSIONS = {
    "vllm_version": "vLLM",
    "sglang_version": "SGLang",
    "mooncake_version": "Mooncake",
    "ray_version": "Ray",
    "torch_version": "PyTorch",
    "python_version": "Python",
    "cuda_version": "CUDA",
    "nccl_version": "NCCL",
    "driver_version": "GPU driver",
    "device": "Device",
}
_SETTINGS = (
    "model", "architecture", "dtype", "quantization", "kv_cache_dtype", "tensor_parallel_size",
    "pipeline_parallel_size", "data_parallel_size", "expert_parallel_size", "enable_expert_parallel", "max_model_len",
    "distributed_executor_backend", "attention_backend", "speculative_config", "kv_transfer_config",
)  # fmt: skip


def render(report: Report, options: RenderOptions) -> str:
    """Title, versions, command, traceback, chain and a minimal excerpt of the log."""
    report = prepared(report)
    if not report.incidents:
        return f"{plain(nothing_words(report))}: there is nothing to report.\n"
    return joined(_issue(report, report.incidents[0], options))


def _issue(report: Report, incident: Incident, options: RenderOptions) -> Iterator[str]:
    root, diagnosis = incident.root, best(incident)
    yield f"# {plain(options.title)}" if options.title else f"# [Bug]: {plain(_title(incident))}"
    yield ""
    if diagnosis:
        yield f"> A known cause fits ({diagnosis.confidence}): {plain(diagnosis.title)}."
        yield f"> Report it only if the steps of {code('diagnose explain ' + diagnosis.rule)} do not help."
        yield ""
    if incident.incomplete:
        yield "> The root cause is not in the log that this was made from. Collect this first:\n>"
        yield from (f"> - {prose(one_line(item))}" for item in incident.fetch if one_line(item))
        yield ""
    yield from ("### What happens", "")
    yield f"{plain(headline(incident))}: {IMPACT[incident.impact]}."
    if incident.also_on:
        yield f"The same failure occurs in {plain(also_on_words(incident))}."
    if root.count > 1:
        yield f"It occurs {root.count:,} times in this process."
    yield from _environment(report)
    yield from ("", "### Traceback" if root.frames else "### Message", "")
    yield fence(_failure(incident), limit=12_000)
    if incident.chain:
        yield from ("", "### How it was reported, outermost first", "", *chain_list(incident))
    excerpt_lines = _excerpt(incident)
    if excerpt_lines:
        yield from ("", "### Log excerpt", "", fence("\n".join(excerpt_lines)))
    yield from ("", "---", "")
    hidden = redaction_words(report)
    yield f"Written by Diagnoser {plain(report.tool.version)}; fingerprint {code(incident.fingerprint)}" + (
        f"; redacted: {plain(hidden)}" if hidden else ""
    )


def _title(incident: Incident) -> str:
    """What a maintainer searches for: type, message and the place that raised it."""
    root = incident.root
    what = failure_label(root)
    message = one_line(root.message.strip().split("\n", 1)[0][:500])
    if not message and root.frame and root.frame.code:
        message = one_line(root.frame.code)
    if not root.type:
        return what.strip('"')
    title = what + (f": {cut_end(message, 100)}" if message and message != what else "")
    return f"{title} in {one_line(root.frame.file)}" if root.frame else title


def _environment(report: Report) -> Iterator[str]:
    facts = {name: one_line(str(fact.value)) for name, fact in report.facts}
    versions = [f"- {label}: {code(facts[name])}" for name, label in _VERSIONS.items() if name in facts]
    settings = [
        f"- {name}: {code(cut_end(facts[name], 500))}"
        for name in _SETTINGS
        if facts.get(name) not in (None, "None", "")
    ]
    if versions or settings:
        yield from ("", "### Environment", "", *versions, *settings)
    command = facts.get("command") or facts.get("command_line") or facts.get("non_default_args")
    if command:
        title = (
            "### Command" if "command" in facts or "command_line" in facts else "### Arguments other than the defaults"
        )
        yield from ("", title, "", fence(command, "sh"))


def _failure(incident: Incident) -> str:
    root = incident.root
    if not root.frames:
        return root.message or failure_label(root)
    text = traceback_text(root, keep=25)
    if root.kind == "exception" and root.message:  # the last line in full
        text = text.rsplit("\n", 1)[0] + f"\n{one_line(root.type or '')}: {excerpt(root.message, 4_000)}"
    notes = root.exception.notes if root.exception else ()
    return "\n".join([text, *(excerpt(note, 1_000) for note in notes)])


def _excerpt(incident: Incident) -> list[str]:
    """The few lines that tell the story, in the order of the log: root, wrappers, evidence, first consequences."""
    root, diagnosis = incident.root, best(incident)
    lines: dict[tuple[str, int], str] = {}
    first = root.header or (f"at {frame_place(root.frame)}" if root.frame else "")
    lines[(root.source, root.line)] = f"{process_label(root.speaker)}: {first or type_label(root.type, root.message)}"
    for item in diagnosis.evidence if diagnosis else ():
        lines.setdefault((item.source, item.line), item.text)
    for link in incident.chain:
        lines.setdefault(
            (link.source, link.line), f"{process_label(link.process)}: {type_label(link.type, link.message)}"
        )
    for group in fold_symptoms(incident.symptoms)[:3]:
        lines.setdefault((group.source, group.line), f"{process_label(group.processes[0])}: {group.label}")
    chosen = sorted(lines.items())[:20]
    return [
        f"{place(source, line)}: {cut_end(one_line(printable(text[:4_000])), 300)}" for (source, line), text in chosen
    ]
