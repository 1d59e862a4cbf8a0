"""One report of each format in docs/samples, made from a log of samples/ and kept fresh by this test."""

import sys
from pathlib import Path

import pytest
from golden import check

import diagnoser
from diagnoser.model import Report, ToolInfo
from diagnoser.render import FORMATS, RenderOptions, render

ROOT = Path(__file__).parents[2]
LOG = "samples/kv-heads-tp3/worker.log"
NAMES = {
    "text": "report.txt",
    "json": "report.json",
    "markdown": "report.md",
    "issue": "issue.md",
    "html": "report.html",
    "junit": "junit.xml",
    "github": "github.txt",
    "termination": "termination.txt",
}


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    """The report of the sample log; the size of the catalogue, which changes with every rule, is fixed."""
    monkeypatch.chdir(ROOT)
    found = diagnoser.diagnose(Path(LOG))
    return found._replace(tool=ToolInfo(diagnoser.__version__, 300, "sha256:0123456789ab"))


@pytest.mark.parametrize("format_name", FORMATS)
def test_sample_report(report: Report, format_name: str) -> None:
    check(ROOT / "docs" / "samples" / NAMES[format_name], render(report, format_name, RenderOptions()))


def test_sample_of_quiet(report: Report) -> None:
    check(ROOT / "docs" / "samples" / "quiet.txt", render(report, "text", RenderOptions(verbosity=-1)))


def test_sample_of_kubectl_describe(report: Report) -> None:
    """What `kubectl describe pod` makes of the termination message: the lines after the first are not indented."""
    message = render(report, "termination").rstrip("\n")
    shown = (
        "    Last State:     Terminated\n"
        "      Reason:       Error\n"
        f"      Message:      {message}\n"
        "      Exit Code:    1\n"
        "      Started:      Sat, 14 Mar 2026 03:07:02 +0000\n"
        "      Finished:     Sat, 14 Mar 2026 03:07:35 +0000\n"
    )

    check(ROOT / "docs" / "samples" / "kubectl-describe.txt", shown)


def test_formats_of_people_are_made_without_a_template_engine(report: Report) -> None:
    """Start-up time: text and JSON never load Jinja2."""
    import subprocess

    code = (
        "import sys; from diagnoser.render import render; from diagnoser.model import *;"
        "report = Report('healthy', 'x', ToolInfo('0'));"
        "[render(report, name) for name in ('text', 'json', 'termination', 'github', 'junit', 'markdown', 'issue')];"
        "print([name for name in ('jinja2', 'markupsafe', 'click', 'textwrap', 'dataclasses') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "[]\n"
