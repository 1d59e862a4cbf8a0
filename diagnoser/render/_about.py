"""The words around the incidents: what was deployed, what was read and hidden, what checks found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnoser.model import Fact, Finding, Report
from diagnoser.render._plain import one_line
from diagnoser.render._words import join_words, plural

_FACT_LABELS = {
    "vllm_version": "vLLM",
    "sglang_version": "SGLang",
    "mooncake_version": "Mooncake",
    "ray_version": "Ray",
    "torch_version": "torch",
    "cuda_version": "CUDA",
    "nccl_version": "NCCL",
    "driver_version": "driver",
    "python_version": "Python",
    "device": "",
    "model": "",
    "tensor_parallel_size": "TP",
    "pipeline_parallel_size": "PP",
    "data_parallel_size": "DP",
    "expert_parallel_size": "EP",
    "decode_context_parallel_size": "DCP",
    "quantization": "quantization",
    "dtype": "dtype",
    "max_model_len": "max_model_len",
    "kv_role": "KV role",
    "kv_connector": "KV connector",
}
"""Facts that a reader wants at a glance, in the order they are shown, with what stands before the value."""
_UNSAID = ("1", "None", "none", "False", "auto")
"""Values of a fact that are not worth a word in the short list."""


def fact_words(facts: Iterable[tuple[str, Fact]]) -> tuple[str, ...]:
    """The facts a reader wants at a glance, as short phrases."""
    values = {name: fact.value for name, fact in facts}
    found = []
    for name, label in _FACT_LABELS.items():
        if name in values:
            value = one_line(str(values[name]))
            if len(value) <= 80 and (value not in _UNSAID or name == "tensor_parallel_size"):
                found.append(f"{label} {value}".strip())
    return tuple(found)


def coverage_words(report: Report) -> tuple[str, ...]:
    """What was read and what was not, most important first; the second and later ones are caveats."""
    coverage = report.coverage
    names = [one_line(source.name) for source in report.sources]
    said = []
    if names or coverage.lines_read:
        of = f" of {join_words(names)}" if 0 < len(names) <= 3 else f" of {len(names):,} sources" if names else ""
        skipped = ""
        if coverage.lines_skipped:
            skipped = f", {plural(coverage.lines_skipped, 'healthy line')} skipped"
        elif coverage.lines_skipped is None:
            skipped = ", healthy stretches skipped"
        said.append(f"{plural(coverage.lines_read, 'line')} read{of}{skipped}")
    if coverage.lines_cut:
        said.append(f"{plural(coverage.lines_cut, 'overlong line')} cut")
    if coverage.undecodable_bytes:
        said.append(f"{plural(coverage.undecodable_bytes, 'byte')} could not be decoded")
    said.extend(one_line(note).rstrip(".") for note in coverage.notes)
    return tuple(said)


def redaction_words(report: Report) -> str:
    """How many secrets of which kind were hidden; empty when none."""
    if not report.redactions:
        return ""
    return ", ".join(f"{count:,} {kind}" for kind, count in report.redactions)


def finding_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings worst first, otherwise as given."""
    order = {"error": 0, "warning": 1, "skipped": 2, "ok": 3}
    return sorted(findings, key=lambda finding: order[finding.status])


def finding_counts(findings: Sequence[Finding]) -> str:
    """`1 error, 2 warnings, 5 passed, 1 skipped`."""
    counts: dict[str, int] = {"error": 0, "warning": 0, "ok": 0, "skipped": 0}
    for finding in findings:
        counts[finding.status] += 1
    said = []
    if counts["error"]:
        said.append(plural(counts["error"], "error"))
    if counts["warning"]:
        said.append(plural(counts["warning"], "warning"))
    said.append(f"{counts['ok']:,} passed")
    if counts["skipped"]:
        said.append(f"{counts['skipped']:,} skipped")
    return ", ".join(said)


def nothing_words(report: Report) -> str:
    """The verdict of a log without an incident, as a sentence without its period."""
    default = "Ordered shutdown, no failure" if report.verdict == "shutdown" else "No failure found"
    return one_line(report.summary).rstrip(".") or default
