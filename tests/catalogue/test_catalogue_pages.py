"""Runbook pages, their Markdown, the JSON Schema of rule files, and drafts."""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from catalogue_helpers import exception_failure, record_failure
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.draft import draft, pattern_of
from diagnoser.catalogue.export import code, documents, escape, fence, markdown
from diagnoser.catalogue.linter import lint
from diagnoser.catalogue.loader import load_text
from diagnoser.catalogue.outline import outline, variants
from diagnoser.catalogue.rule import RULE_KEYS
from diagnoser.catalogue.runbook import page
from diagnoser.catalogue.schema import schema
from diagnoser.model import ExceptionInfo, Failure, Process

Maker = Callable[..., Catalogue]
BODY = """
cause = '''
The pool *has* {% if have %}{{ have }}{% else %}too few{% endif %} slots.
'''
[applies]
vllm = ">=0.6"
fixed_in = "0.21.1"
[[match]]
exception = 'PoolError'
message = 'of (?P<have>\\d+)'
log = 'pool `x`'
near = 'anywhere'
not = { message = 'warm' }
[[match]]
confidence = 'likely'
code = 'pool is not None'
fact = { tp = '>1', mode = 'x' }
[[remedy]]
do = "Add slots{% if facts.tp %} for {{ facts.tp }} ranks{% endif %}."
run = "vllm serve {{ facts.model | shq }} --slots {{ (have | int) * 2 }}"
verify = "It starts."
why = "More is better."
[[reference]]
title = "Issue [1]"
url = "https://example.com/1"
[[sample]]
expect = "match"
log = '''
PoolError: wants 3 of 2 <b>
'''
"""


@pytest.fixture
def catalogue(make_catalogue: Maker) -> Catalogue:
    return make_catalogue(
        {"pool": BODY, "tank": "[[match]]\nmessage = 'tank gone'"},
        roles={"tank": "wrapper"},
        extra={
            "pool": "severity = 'capacity'\nstatus = 'reported'\noutranks = ['tank', 'absent']\ncheck = 'memory'\n",
            "tank": "points_to = 'worker'\nfetch = 'The log of <the> worker.'\n",
        },
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("vllm serve {{ facts.model | shq }}", "vllm serve <model>"),
        ("{{ (a | int) * b // 2 }}", "<(a * b) // 2>"),
        ("{{ fits_max_len(need, have, maxlen | int) }}", "<fits_max_len(need, have, maxlen)>"),
        ("{% if a %}--x {{ a }}{% endif %}", "--x <a>"),
        ("{{ a | default(4) }} {{ facts['env.X'] }} {{ a or b }} {{ x ~ '/q' }} {{ [1, n] | max }}", "<a> <env.X> <a> <x/q> <1, n>"),
        ("{{ 'x' if a else 'y' }} {{ -n }}", "<x> <n>"),
        ("{% for n in a %}{{ n }}{% endfor %}", "<n>"),
        ("{{ broken", "{{ broken"),
    ],
)
def test_outlines(text: str, shown: str) -> None:
    assert outline(text) == shown


def test_variants_say_each_wording_once() -> None:
    text = "{% if a %}A is {{ a }}{% else %}no A{% endif %}"

    assert variants(text, [("a",), ("b",), ("a", "b")]) == ("A is <a>", "no A")
    assert variants("{{ a + 1 }}", [("a",)]) == ("<a + 1>",)
    assert variants("x", []) == ("x",)


def test_a_page_holds_what_a_person_needs(catalogue: Catalogue) -> None:
    shown = page(catalogue.rules["pool"], catalogue.rules)

    assert shown.causes == ("The pool *has* <have> slots.", "The pool *has* too few slots.")
    assert shown.steps == (("Add slots.", "vllm serve <model> --slots <have * 2>", "It starts.", "More is better."),)
    assert shown.signatures == (
        (
            "certain",
            (
                ("exception", "PoolError"),
                ("message", r"of (?P<have>\d+)"),
                ("log (anywhere in the log)", "pool `x`"),
                ("but not message", "warm"),
            ),
        ),
        ("likely", (("raising line", "pool is not None"), ("fact", "tp >1"), ("fact", "mode = x"))),
    )
    assert shown.versions == ("vllm >=0.6", "fixed in 0.21.1")
    assert (shown.before, shown.after) == (("tank",), ())
    assert page(catalogue.rules["tank"], catalogue.rules).after == ("pool",)
    assert shown.source == "not enough memory or devices"


def test_markdown_of_a_cause(catalogue: Catalogue) -> None:
    assert markdown(page(catalogue.rules["pool"], catalogue.rules)) == """\
# A title

`pool` · family test · capacity (not enough memory or devices) · vllm \\>=0.6 · fixed in 0.21.1 · reported

## Why

The pool \\*has\\* &lt;have\\> slots.

Or, depending on the log:

The pool \\*has\\* too few slots.

## What to do

1. Add slots.

    Why: More is better.

    ```sh
    vllm serve <model> --slots <have * 2>
    ```

    Verify: It starts.

## Recognized by

- certain: exception `PoolError`, message `of (?P<have>\\d+)`, log (anywhere in the log) `` pool `x` ``, but not message `warm`
- likely: raising line `pool is not None`, fact `tp >1`, fact `mode = x`

Goes before [tank](tank.md) where both hold.

`diagnose check` would have found it before launch (memory).

## Example

```text
PoolError: wants 3 of 2 <b>
```

## References

- [Issue \\[1\\]](https://example.com/1)
"""


def test_markdown_of_a_wrapper(catalogue: Catalogue) -> None:
    assert markdown(page(catalogue.rules["tank"], catalogue.rules)) == """\
# A title

`tank` · family test · draft

This only passes on a failure that happened elsewhere; its own text is never the cause.

## Where to look

In a worker process.

## What to collect

The log of &lt;the\\> worker.

## Recognized by

- certain: message `tank gone`

Comes after [pool](pool.md) where both hold.
"""


def test_documents_link_to_each_other_only() -> None:
    catalogue = Catalogue.load()
    files = documents(catalogue.rules, mkdocs=True)
    names = {name.removeprefix("docs/") for name in files}

    assert "mkdocs.yml" in files
    assert names == {f"{rule_id}.md" for rule_id in catalogue.rules} | {"index.md", "mkdocs.yml"}
    assert files["docs/index.md"].count("| [") == len(catalogue.rules)
    assert all(f"- {rule_id}.md\n" in files["mkdocs.yml"] for rule_id in catalogue.rules)
    assert set(documents(catalogue.rules)) == {name.removeprefix("docs/") for name in files} - {"mkdocs.yml"}


@given(st.text(st.sampled_from("ab<>&*_`[]()!#-+=|~\\\n 1.:{}\x1b\u202e"), max_size=40))
def test_texts_stay_texts_in_markdown(text: str) -> None:
    shown = escape(text)
    bare = re.sub(r"&(?:lt|amp|#124|#126);", "", shown).replace("\\\\", "")

    for character in "<>*_`[]#|~!&{}":
        assert bare.count(character) == bare.count("\\" + character)
    assert not any(line.lstrip().startswith(("- ", "+ ", "= ")) for line in shown.split("\n"))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    kept = text.replace("\n", " ").replace("\x1b", "").replace("\u202e", "")
    span = code(text.replace("\n", " "))
    if "<!" in kept:
        assert html.unescape(span.removeprefix("<code>").removesuffix("</code>")) == kept
    elif "`" not in kept:
        assert span == f"`{kept}`"
    lines = fence(text).split("\n")
    assert lines[-1] not in lines[1:-1]


def test_the_schema_accepts_every_built_in_rule() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    checked = 0
    for rule in Catalogue.load().rules.values():
        table = tomllib.loads(Path(rule.path).read_text(encoding="utf-8"))
        assert [error.message for error in validator.iter_errors(table)] == []
        checked += 1

    assert checked > 250


def tables() -> Iterator[dict[str, Any]]:
    good: dict[str, Any] = tomllib.loads("id='x'\ntitle='t'\nrole='cause'\nfamily='f'\n[[match]]\nmessage='some text'\n")
    yield good
    for key in RULE_KEYS:
        for value in ("text", "cause", 3, [], {}, ["y"], [{}], [{"x": 1}], True):
            yield {**good, key: value}
    yield {**good, "colour": "x"}
    for key in ("confidence", "near", "exception", "fact", "not", "colour"):
        for value in ("process", "likely", 3, {}, {"message": "x"}, {"a": 1}, {"a": []}, {"not": {"message": "x"}}, {"near": "anywhere"}):
            yield {**good, "match": [{"message": "some text", key: value}]}
    yield {**good, "match": [{"near": "process"}]}
    yield {**good, "sample": [{"expect": "match", "log": "x"}]}
    yield {**good, "sample": [{"expect": "maybe", "log": "x"}]}
    yield {**good, "reference": [{"url": "x"}]}
    yield {**good, "remedy": [{"do": "x", "run": 3}]}


def test_the_schema_and_the_loader_agree() -> None:
    from diagnoser.catalogue import patterns
    from diagnoser.catalogue.rule import RuleReader

    validator = jsonschema.Draft202012Validator(schema())
    count = 0
    for table in tables():
        reader = RuleReader(table, patterns.trouble)
        reader.read()
        assert (not reader.problems) == validator.is_valid(table), (table, reader.problems)
        count += 1

    assert count > 200


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("pool wants 96 slots of 1,024.", r"pool wants (?P<number1>\d+) slots of (?P<number2>[\d.,]+)\."),
        ("can't read '/srv/x' (2)", r"can't read '[^']*' \((?P<number1>\d+)\)"),
        ("no route to 192.0.2.7:8000 at 0xdeadbeef", r"no route to \S+ at 0x[0-9a-fA-F]+"),
        ("open /srv/models/m/x.bin failed [x]", r"open \S+ failed \[x\]"),
        ('"a" and 中文', '"[^"]*" and 中文'),
    ],
)
def test_what_varies_is_not_drafted(text: str, pattern: str) -> None:
    assert pattern_of(text) == pattern


@given(st.text(st.sampled_from("ab 1.,'\"/\\(){}[]?*+|^$-x0f:\n"), min_size=1, max_size=80))
def test_a_drafted_pattern_matches_what_it_was_drafted_from(text: str) -> None:
    import regex

    line = next((part for part in text.split("\n") if part.strip()), "")
    pattern = pattern_of(line)

    assert not pattern or regex.search(pattern, line, regex.V0)


@pytest.mark.parametrize(
    "failure",
    [
        exception_failure("acme.PoolError", "pool 'x' wants 96 slots"),
        exception_failure("AssertionError", "", code="assert self.total_num_kv_heads % tp_size == 0"),
        exception_failure("KeyError", "'x'", code="pool[name]"),
        record_failure("E0314 10:20:30 pool.cpp:7] pool gone for '''w1'''"),
        Failure("native", Process(), "a.log", 10, 11, text="*** SIGSEGV (@0x0)\nmore", name="SIGSEGV"),
        Failure("exception", Process(), "a.log", 10, 10, exceptions=(ExceptionInfo(None, ""),), text=""),
    ],
)
def test_a_draft_loads_and_only_lacks_its_words(failure: Failure) -> None:
    lines = ["first", "'''quoted''' \\ \x1b[31m", failure.message or "AssertionError"]

    identifier, text = draft(failure, lines)
    rule, errors = load_text(text, f"{identifier}.toml")

    if failure.type is None and not failure.text:
        assert rule is None  # nothing to go by: the person has to write the condition
        return
    assert errors == []
    assert rule is not None
    assert [sample.expect for sample in rule.samples] == ["match", "no-match"]
    left = [error.problem for error in lint({rule.id: rule})]
    assert {problem for problem in left if not problem.startswith("too general")} == {"is still to be written"}


def test_the_id_and_the_family_of_a_draft_can_be_given() -> None:
    identifier, text = draft(exception_failure("KeyError", "pool"), ["x"], rule_id="my-id", family="ray")

    assert identifier == "my-id"
    assert tomllib.loads(text)["family"] == "ray"


def test_schema_is_json() -> None:
    assert json.loads(json.dumps(schema())) == schema()
