"""Findings and rules are linked both ways."""

import ast
import re
from pathlib import Path

import pytest

import diagnoser.preflight
from diagnoser.catalogue import Catalogue
from diagnoser.preflight import checks

PACKAGE = Path(diagnoser.preflight.__file__).parent
FAMILIES = (
    "cuda|compile|config|hub|kv-transfer|memory|model|moe|mooncake|network|parallel|process|quantization|ray|versions"
)
RULE = re.compile(rf'"((?:{FAMILIES})-[a-z0-9-]+)"')


@pytest.fixture(scope="module")
def catalogue():
    return Catalogue.load((), strict=False)


def mentioned():
    """Every text in the package that has the form of a rule id."""
    return {name for path in PACKAGE.rglob("*.py") for name in RULE.findall(path.read_text())}


def check_names():
    """Names of checks, which have the form of rule ids too: what is assigned to `name`, and first arguments."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value
            elif isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                pairs = (
                    zip(target.elts, value.elts, strict=True)
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    else [(target, value)]
                )
                yield from (
                    given.value
                    for at, given in pairs
                    if getattr(at, "id", "") == "name" and isinstance(given, ast.Constant)
                )


def test_every_rule_that_a_finding_names_exists(catalogue):
    unknown = {name for name in mentioned() if name not in catalogue.rules}

    packages = {name for name in unknown if name.startswith("mooncake-transfer-engine")}
    assert unknown - set(check_names()) - set(checks.subject_names()) - packages == set()


def test_every_subject_that_a_rule_names_has_checks(catalogue):
    subjects = checks.subject_names()
    named = {rule.check for rule in catalogue.rules.values() if rule.check}

    assert {name for name in named if not any(checks.is_part_of(subject, name) for subject in subjects)} == set()


def test_every_subject_has_checks_and_says_what_it_is_about():
    for name in checks.subject_names():
        module = checks.subject_module(name)
        assert module.__doc__
        assert any(getattr(module, kind, ()) for kind in ("CHECKS", "PAIR_CHECKS", "GROUP_CHECKS"))
