"""What `diagnose check` found, for a terminal: what needs attention first, with its steps."""

from __future__ import annotations

from diagnoser.model import Finding
from diagnoser.render._about import finding_counts, finding_order
from diagnoser.render._page import Page
from diagnoser.render._plain import cut_end, one_line, wrap


def show_findings(page: Page, findings: tuple[Finding, ...]) -> None:
    """One paragraph per finding, and how many there are of each kind."""
    margin = " " * 9
    for finding in finding_order(findings):
        missing = f" (not checked; missing: {one_line(finding.missing)})" if finding.missing else ""
        text = f"{one_line(finding.title)}{missing} [{one_line(finding.check)}]"
        first, *rest = wrap(text, page.prose_width, margin)
        page.lines.append(f"{page.style.status(finding.status, f'{finding.status:<7}')}  {first.lstrip(' ')}")
        page.lines.extend(rest)
        if finding.status in ("ok", "skipped") and not page.verbose:
            continue
        if finding.message.strip():
            page.prose(finding.message.strip(), margin)
        if finding.inputs:
            read = ", ".join(f"{one_line(name)}={one_line(value)}" for name, value in finding.inputs)
            page.prose(f"Read: {cut_end(read, 2_000)}", margin, margin + "  ", "aside")
        page.steps(finding.suggestions, margin)
        if finding.rule:
            page.prose(f"diagnose explain {one_line(finding.rule)}", margin, meaning="aside")
    page.section(finding_counts(findings))
