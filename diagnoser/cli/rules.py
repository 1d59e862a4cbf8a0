"""`diagnose rules`: what a person who writes rules needs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from diagnoser.errors import RuleError, UsageError

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Rule

_DIRECTORIES = click.option("--rules", "directories", multiple=True, metavar="DIR", help="Also use the rules of DIR.")
_FAMILY = click.option("--family", multiple=True, metavar="NAME", help="Only rules of this family; may be repeated.")
_ROLES = click.Choice(["cause", "wrapper", "symptom", "noise"])
_ROLE = click.option("--role", multiple=True, type=_ROLES, help="Only rules of this role.")


@click.group()
def rules() -> None:
    """List, test, check, draft and export the rules of the catalogue."""


@rules.command("list")
@_DIRECTORIES
@_FAMILY
@_ROLE
@click.option("--severity", multiple=True, metavar="NAME", help="Only rules of this severity.")
@click.option("--status", multiple=True, metavar="NAME", help="Only rules of this status.")
@click.option("--format", "-f", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("words", nargs=-1)
def list_rules(
    directories: Sequence[str], family: Sequence[str], role: Sequence[str], severity: Sequence[str],
    status: Sequence[str], form: str, words: Sequence[str],
) -> int:  # fmt: skip
    """Show the rules, those with all WORDS in id or title if any are given."""
    catalogue = _catalogue(directories)
    found = [
        rule
        for rule in sorted(catalogue.rules.values(), key=lambda rule: (rule.family, rule.id))
        if (not family or rule.family in family)
        and (not role or rule.role in role)
        and (not severity or rule.severity in severity)
        and (not status or rule.status in status)
        and all(word.lower() in f"{rule.id} {rule.title}".lower() for word in words)
    ]
    if form == "json":
        import json

        print(json.dumps([_summary(rule) for rule in found], indent=2, ensure_ascii=False))
    else:
        _print_list(found)
    return 2 if catalogue.errors else 0


@rules.command("test")
@_DIRECTORIES
@_FAMILY
@click.option("--mutation/--no-mutation", default=True, help="Drop the lines that a match rests on: it must be lost.")
@click.argument("rule_ids", nargs=-1, metavar="[RULE]...")
def test_rules(directories: Sequence[str], family: Sequence[str], mutation: bool, rule_ids: Sequence[str]) -> int:
    """Run the samples: matches, near misses, and that no two causes hold for one failure without an order.

    With --rules only the rules of those directories are tested, against all others.
    """
    from diagnoser.catalogue import samples
    from diagnoser.pipeline import failures_of

    catalogue = _catalogue(directories, quiet=True)
    wanted = _wanted(catalogue, directories, family, rule_ids)
    outcome = samples.check(
        catalogue.rules, wanted, lambda text: failures_of(text, catalogue), mutate=mutation
    )
    errors = [*_own_errors(catalogue, directories), *outcome.errors]
    if directories:
        errors += samples.cross(catalogue.rules, wanted, lambda text: failures_of(text, catalogue))
    _print_errors(errors)
    for pattern, count in catalogue.timeouts.items():
        print(f"took too long {count} times: {pattern}", file=sys.stderr)
    print(f"{outcome.rules} rules, {outcome.samples} samples: {_count(errors)}")
    return 2 if errors or catalogue.timeouts else 0


@rules.command("lint")
@_DIRECTORIES
@_FAMILY
@click.argument("rule_ids", nargs=-1, metavar="[RULE]...")
def lint_rules(directories: Sequence[str], family: Sequence[str], rule_ids: Sequence[str]) -> int:
    """Check rule files: keys, patterns that are too general or too slow, texts, versions, order, missing samples.

    With --rules only the rules of those directories are checked.
    """
    from diagnoser.catalogue.linter import lint

    catalogue = _catalogue(directories, quiet=True)
    wanted = _wanted(catalogue, directories, family, rule_ids)
    errors = [*_own_errors(catalogue, directories), *lint(catalogue.rules, wanted)]
    _print_errors(errors)
    print(f"{len(wanted)} rules: {_count(errors)}")
    return 2 if errors else 0


def _catalogue(directories: Sequence[str], *, quiet: bool = False) -> Catalogue:
    """The catalogue with further directories; files that can't be used are named on standard error."""
    from diagnoser.catalogue import Catalogue

    catalogue = Catalogue.load(directories, packs=True)
    if not quiet:
        _print_errors(catalogue.errors)
    return catalogue


def _wanted(
    catalogue: Catalogue, directories: Sequence[str], family: Sequence[str], rule_ids: Sequence[str]
) -> list[str]:
    """Ids of the rules that a command is about; raises UsageError for an id that does not exist."""
    if rule_ids:
        for rule_id in rule_ids:
            if rule_id not in catalogue.rules:
                raise UsageError(unknown_rule(rule_id, catalogue.rules))
        return list(dict.fromkeys(rule_ids))
    return [
        rule.id
        for rule in catalogue.rules.values()
        if (not directories or _inside(rule.path, directories)) and (not family or rule.family in family)
    ]


def _own_errors(catalogue: Catalogue, directories: Sequence[str]) -> list[RuleError]:
    """Loader errors of the directories that a command is about."""
    return [error for error in catalogue.errors if not directories or _inside(error.path, directories)]


def _inside(path: str, directories: Sequence[str]) -> bool:
    import os

    return any(os.path.abspath(path).startswith(os.path.abspath(directory)) for directory in directories)  # noqa: PTH100


def unknown_rule(rule_id: str, known: Iterable[str]) -> str:
    """What to say when there is no such rule, with the ids that come close."""
    import difflib

    close = difflib.get_close_matches(rule_id, known, n=3) or [name for name in known if rule_id in name][:3]
    return f"there is no rule {rule_id!r}" + (f"; did you mean {' or '.join(close)}?" if close else "")


def _summary(rule: Rule) -> dict[str, Any]:
    """What `list --format json` tells of a rule."""
    return {
        "id": rule.id,
        "title": rule.title,
        "role": rule.role,
        "family": rule.family,
        "severity": rule.severity,
        "status": rule.status,
        "applies": dict(rule.applies),
        "fixed_in": rule.fixed_in,
        "outranks": list(rule.outranks),
        "check": rule.check,
        "samples": len(rule.samples),
        "references": [reference._asdict() for reference in rule.references],
        "path": rule.path,
    }


def _print_list(found: Sequence[Rule]) -> None:
    """One rule per line, grouped by family."""
    width = max((len(rule.id) for rule in found), default=0)
    family = None
    for rule in found:
        if rule.family != family:
            print(f"{'' if family is None else chr(10)}{rule.family}")
            family = rule.family
        role = "" if rule.role == "cause" else f"  ({rule.role})"
        print(f"  {rule.id:<{width}}  {rule.title}{role}")
    print(f"\n{len(found)} rules" if found else "no rule fits")


def _print_errors(errors: Iterable[RuleError]) -> None:
    for error in errors:
        print(error, file=sys.stderr)


def _count(errors: Sequence[RuleError]) -> str:
    return f"{len(errors)} problem{'s' if len(errors) != 1 else ''}" if errors else "no problems"
