"""The exact output of every format over a handful of reports."""

from pathlib import Path

import pytest
from golden import check, without_assets
from report_samples import SAMPLES

from diagnoser.render import FORMATS, RenderOptions, render

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"json": "json", "markdown": "md", "issue": "issue.md", "html": "html", "junit": "xml"}
REPORTS = ("diagnosed", "unknown", "incomplete", "requests", "two_incidents", "healthy", "shutdown", "findings")
VARIANTS = {
    "60 columns": RenderOptions(width=60),
    "200 columns": RenderOptions(width=200),
    "color": RenderOptions(color=True),
    "ascii": RenderOptions(unicode=False),
    "quiet": RenderOptions(verbosity=-1),
    "verbose": RenderOptions(verbosity=1),
}


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_output(format_name: str, name: str) -> None:
    text = render(SAMPLES[name](), format_name, RenderOptions())
    ending = ENDINGS.get(format_name, f"{format_name}.txt")

    check(GOLDEN / f"{name}.{ending}", without_assets(text) if format_name == "html" else text)


@pytest.mark.parametrize("name", ["diagnosed", "unknown", "two_incidents", "findings"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_text_variants(variant: str, name: str) -> None:
    check(GOLDEN / f"{name}.{variant.replace(' ', '-')}.txt", render(SAMPLES[name](), "text", VARIANTS[variant]))


def test_a_thousand_workers_take_no_more_lines_than_three() -> None:
    lines = render(SAMPLES["many_workers"](), "text").splitlines()

    assert len(lines) < 60
    assert max(len(line) for line in lines if "$ " not in line and "diagnose check" not in line) <= 80
