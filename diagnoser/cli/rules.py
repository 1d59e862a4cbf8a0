"""`diagnose rules`: what a person who writes rules needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from diagnoser.errors import RuleError, UsageError

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Failure, Rule

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
    outcome = samples.check(catalogue.rules, wanted, lambda text: failures_of(text, catalogue), mutate=mutation)
    errors = [*_own_errors(catalogue, directories), *outcome.errors]
    if directories:
        errors += samples.cross(catalogue.rules, wanted, lambda text: failures_of(text, catalogue))
    _print_errors(errors)
    for pattern, count in catalogue.timeouts.items():
        print(f"took too long {count} times: {pattern}", file=sys.stderr)
    print(f"{_number(outcome.rules, 'rule')}, {_number(outcome.samples, 'sample')}: {_count(errors)}")
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
    print(f"{_number(len(wanted), 'rule')}: {_count(errors)}")
    return 2 if errors else 0


@rules.command("new")
@click.option("--from", "log", required=True, metavar="LOG", help="The log of the crash; - reads standard input.")
@click.option("--id", "rule_id", metavar="ID", help="The rule's id; made from the failure's words unless given.")
@click.option("--family", metavar="NAME", help="The rule's family; guessed unless given.")
@click.option("--rules", "directories", multiple=True, metavar="DIR", help="Also use the rules of DIR.")
@click.option("--output", "-o", metavar="DIR", default=".", help="Where to write <id>.toml; - prints it.")
def new_rule(log: str, rule_id: str | None, family: str | None, directories: Sequence[str], output: str) -> int:
    """Draft a rule from the crash in a log: conditions, a sample and a near miss; the texts are left to you."""
    from diagnoser.catalogue.draft import draft

    catalogue = _catalogue(directories)
    failure, lines, known = _root_of(log, catalogue)
    if known:
        print(f"note: {known} already explains this failure", file=sys.stderr)
    identifier, text = draft(*_without_secrets(failure, lines), rule_id=rule_id, family=family)
    problem = _refused(identifier, text)
    if problem:
        raise problem
    if output == "-":
        sys.stdout.write(text)
        return 0
    path = os.path.join(output, f"{identifier}.toml")
    if os.path.exists(path):
        raise UsageError(f"{path} exists; give another --id")
    from diagnoser.writing import write_atomically

    os.makedirs(output, exist_ok=True)
    write_atomically(path, text)
    print(f"wrote {path}: replace each TODO, then run")
    print(f"  diagnose rules lint --rules {output} {identifier}")
    print(f"  diagnose rules test --rules {output} {identifier}")
    return 0


@rules.command("export")
@_DIRECTORIES
@click.option("--output", "-o", required=True, metavar="DIR", help="Folder to write to; created if needed.")
@click.option("--mkdocs", is_flag=True, help="Write an MkDocs project: mkdocs.yml and docs/.")
def export_rules(directories: Sequence[str], output: str, mkdocs: bool) -> int:
    """Write one runbook page per rule (Markdown) and an index."""
    from diagnoser.catalogue.export import documents
    from diagnoser.writing import write_atomically

    catalogue = _catalogue(directories)
    files = documents(catalogue.rules, mkdocs=mkdocs)
    for name, content in files.items():
        path = os.path.join(output, name)
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        except OSError as error:
            raise UsageError(f"{output}: {error.strerror or error}") from None
        write_atomically(path, content)
    print(f"wrote {len(files)} files to {output}")
    return 2 if catalogue.errors else 0


@rules.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of rule files, for editors."""
    import json

    from diagnoser.catalogue.schema import schema

    print(json.dumps(schema(), indent=2))


def _root_of(log: str, catalogue: Catalogue) -> tuple[Failure, list[str], str | None]:
    """The failure that a log is about, the log's lines, and the rule that explains it already, if one does."""
    from diagnoser.pipeline import analyse
    from diagnoser.sources import open_sources, text_source

    sources, problems = open_sources([log], skip=False)
    if problems:
        raise problems[0]
    lines: list[str] = []
    for source in sources:
        lines += [raw.text for raw in source.lines()]
    report = analyse([text_source("\n".join(lines), log)], catalogue)
    if not report.incidents:
        raise UsageError(f"{log}: no failure found in it ({report.verdict})")
    incident = report.incidents[0]
    known = incident.diagnoses[0].rule if incident.diagnoses else None
    return incident.root, lines, known


def _without_secrets(failure: Failure, lines: Sequence[str]) -> tuple[Failure, list[str]]:
    """The failure and its lines with equal placeholders for equal secrets."""
    from diagnoser.redaction import Redactor

    redactor = Redactor()
    clean: Failure = redactor.walk(failure, redactor.text)
    return clean, [redactor.text(line, False) for line in lines[max(0, failure.line - 1) : failure.end_line]]


def _refused(identifier: str, text: str) -> RuleError | None:
    """Why a drafted file would not load: an id that the user gave, say."""
    from diagnoser.catalogue.loader import load_text

    _, errors = load_text(text, f"{identifier}.toml")
    return errors[0] if errors else None


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
    return any(os.path.abspath(path).startswith(os.path.abspath(directory)) for directory in directories)


def unknown_rule(rule_id: str, known: Iterable[str]) -> str:
    """What to say when there is no such rule, with the ids that come close."""
    import difflib

    close = difflib.get_close_matches(rule_id, known, n=3) or [name for name in known if rule_id in name][:3]
    hint = f"did you mean {' or '.join(close)}?" if close else "`diagnose rules list` names them"
    return f"there is no rule {rule_id!r}; {hint}"


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
    print(f"\n{_number(len(found), 'rule')}" if found else "no rule fits")


def _print_errors(errors: Iterable[RuleError]) -> None:
    for error in errors:
        print(error, file=sys.stderr)


def _count(errors: Sequence[RuleError]) -> str:
    return _number(len(errors), "problem") if errors else "no problems"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
