"""Rule files that load, and what is said about those that don't."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.loader import key_lines, load, load_text
from diagnoser.errors import RuleErrors
from diagnoser.model import Condition, Reference, Remedy, Rule, Sample

COMPLETE = """
id        = "pool-too-small"
title     = "The pool has too few slots"
role      = "cause"
family    = "memory"
severity  = "capacity"
status    = "reported"
outranks  = ["pool-unknown"]
impact    = "startup"
check     = "memory"

cause = '''
The pool has {{ have }} slots.
'''

[applies]
vllm     = ">=0.6"
fixed_in = "0.21.1"

[[match]]
confidence = "likely"
exception  = 'PoolError'
message    = 'wants (?P<want>\\d+) of (?P<have>\\d+)'
near       = "anywhere"
log        = 'pool'
fact       = { tensor_parallel_size = ">1", enforce_eager = true, block_size = 16 }
not        = { message = 'warm', log = 'retry' }

[[match]]
code = 'self\\.pool is not None'

[[remedy]]
do     = "Raise the number of slots."
run    = "vllm serve {{ facts.model | shq }} --slots {{ want }}"
verify = "It starts."
why    = "Because."

[[reference]]
title = "Issue 1"
url   = "https://example.com/1"

[[sample]]
expect = "match"
log = '''
PoolError: wants 3 of 2
'''

[[sample]]
expect = "no-match"
log = "nothing"
"""


def test_every_key_arrives() -> None:
    rule, errors = load_text(COMPLETE, "pool-too-small.toml")

    assert errors == []
    assert rule == Rule(
        id="pool-too-small",
        title="The pool has too few slots",
        role="cause",
        family="memory",
        severity="capacity",
        status="reported",
        matches=(
            Condition(
                confidence="likely",
                exception="PoolError",
                message=r"wants (?P<want>\d+) of (?P<have>\d+)",
                log="pool",
                near="anywhere",
                fact=(("tensor_parallel_size", ">1"), ("enforce_eager", "true"), ("block_size", "16")),
                negate=Condition(message="warm", log="retry", near="anywhere"),
            ),
            Condition(code=r"self\.pool is not None"),
        ),
        cause="The pool has {{ have }} slots.",
        remedies=(
            Remedy(
                "Raise the number of slots.", "vllm serve {{ facts.model | shq }} --slots {{ want }}", "It starts.", "Because."
            ),
        ),
        references=(Reference("Issue 1", "https://example.com/1"),),
        samples=(Sample("match", "PoolError: wants 3 of 2\n"), Sample("no-match", "nothing")),
        outranks=("pool-unknown",),
        impact="startup",
        applies=(("vllm", ">=0.6"),),
        fixed_in="0.21.1",
        check="memory",
        path="pool-too-small.toml",
    )  # fmt: skip


GOOD = "id='x'\ntitle='t'\nrole='cause'\nfamily='f'\n[[match]]\nmessage='some text'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id = 'x'\nbroken", "x.toml:2: not TOML: Expected '=' after a key in a key/value pair"),
        ("id = '", "x.toml:1: not TOML: Expected \"'\""),
        ("a = " + "[" * 5000, "x.toml: not TOML: nested too deeply"),
        ("id='x'\ntitle='t'\nrole='cause'\nfamily='f'", "x.toml:1: match: is missing"),
        (GOOD.replace("id='x'", "id='X_y'"), "x.toml:1: id: 'X_y' is not kebab-case (lower-case words joined by hyphens)"),
        (GOOD.replace("id='x'", "id='y'"), "x.toml:1: id: 'y' must be the file's name without .toml ('x')"),
        (GOOD.replace("title='t'", "title=3"), "x.toml:2: title: expected a text, found a number"),
        (GOOD.replace("'cause'", "'reason'"), "x.toml:3: role: 'reason' is none of cause, wrapper, symptom, noise"),
        (GOOD.replace("family", "famly"), "x.toml:4: famly: unknown key; did you mean family?"),
        ("match = 3\n" + GOOD.partition("[[")[0], "x.toml:1: match: expected [[match]] tables"),
        (GOOD + "colour='x'", "x.toml:7: match[0].colour: unknown key; known are confidence, exception, message,"),
        (GOOD + "code='('", "x.toml:7: match[0].code: not a regular expression: missing ), unterminated subpattern"),
        (GOOD + "code='(?:a){e<=1}'", "x.toml:7: match[0].code: write \\{ for a literal brace (at 5)"),
        (GOOD + "near='far'", "x.toml:7: match[0].near: 'far' is none of process, anywhere"),
        (GOOD + "confidence='sure'", "x.toml:7: match[0].confidence: 'sure' is none of certain, likely, possible"),
        (GOOD + "fact='x'", "x.toml:7: match[0].fact: expected a table such as"),
        (GOOD + "fact={ a = [1] }", "x.toml:7: match[0].fact.a: expected a text, a number or a boolean, found a list"),
        (GOOD + "fact={ a = '~(' }", "x.toml:7: match[0].fact.a: not a regular expression"),
        (GOOD + "not='x'", "x.toml:7: match[0].not: expected a table such as { message = '…' }"),
        (GOOD + "not={ messag = 'x' }", "x.toml:7: match[0].not.messag: unknown key; did you mean message?"),
        (GOOD + "not={ message = '[' }", "x.toml:7: match[0].not.message: not a regular expression"),
        (GOOD + "[[match]]\nconfidence='certain'", "x.toml:7: match[1]: needs at least one of exception, message, code"),
        (GOOD + "[[remedy]]\nrun='x'", "x.toml:7: remedy[0].do: is missing"),
        (GOOD + "[[remedy]]\ndo='x'\nhow='y'", "x.toml:9: remedy[0].how: unknown key"),
        (GOOD + "[[reference]]\ntitle='x'", "x.toml:7: reference[0].url: is missing"),
        (GOOD + "[[sample]]\nlog='x'", "x.toml:7: sample[0].expect: is missing"),
        (GOOD + "[[sample]]\nexpect='maybe'\nlog='x'", "x.toml:8: sample[0].expect: 'maybe' is none of match, no-match"),
        (GOOD + "[applies]\nvllm=3", "x.toml:8: applies.vllm: expected a text, found a number"),
        ("applies=3\n" + GOOD, "x.toml:1: applies: expected a table, found a number"),
        ("outranks='y'\n" + GOOD, "x.toml:1: outranks: expected a list of rule ids"),
        ("cause='''\n[[match]]\nfake=1\n'''\nrols=1\n" + GOOD, "x.toml:5: rols: unknown key; did you mean role?"),
    ],
)
def test_errors_name_file_line_and_key(text: str, said: str) -> None:
    rule, errors = load_text(text, "x.toml")

    assert rule is None
    assert any(str(error).startswith(said) for error in errors), [str(error) for error in errors]


def test_all_errors_of_a_file_are_collected() -> None:
    _, errors = load_text("id='x'\nrole='no'\nfamily=1\n[[match]]\nmessage='('\n", "x.toml")

    assert [error.key for error in errors] == ["title", "role", "family", "match[0].message"]
    assert [error.line for error in errors] == [1, 2, 3, 5]


def test_lines_of_keys_are_found_behind_texts_that_look_like_tables() -> None:
    text = "id = 'x'\ncause = '''\n[[match]]\nmessage = 1\n'''\n\n[[match]]\n\"message\" = 'a'\n\n[[match]]\ncode = 'b'\n"

    assert key_lines(text) == {
        "id": 1, "cause": 2, "match": 7, "match[0]": 7, "match[0].message": 8, "match[1]": 10, "match[1].code": 11,
    }  # fmt: skip


def test_a_broken_file_costs_only_its_own_rule(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "x.toml").write_text(GOOD)
    (tmp_path / "one" / "broken.toml").write_text("id=")
    (tmp_path / "one" / "bytes.toml").write_bytes(b"id='x'\n\xff\xfe")
    (tmp_path / "large.toml").write_text("#" * 1_100_000)
    (tmp_path / ".hidden.toml").write_text("id=")
    (tmp_path / "_private").mkdir()
    (tmp_path / "_private" / "y.toml").write_text("id=")
    (tmp_path / "notes.txt").write_text("not a rule")

    catalogue = Catalogue.of_directory(str(tmp_path))

    assert list(catalogue.rules) == ["x"]
    assert [(Path(error.path).name, error.line) for error in catalogue.errors] == [
        ("large.toml", None), ("broken.toml", 1), ("bytes.toml", 2)
    ]  # fmt: skip


def test_strict_raises_all_errors_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    (tmp_path / "a.toml").write_text("id=")
    (tmp_path / "b.toml").write_text("id=")

    with pytest.raises(RuleErrors) as caught:
        Catalogue.load([str(tmp_path)], builtin=False, strict=True)

    assert len(caught.value.errors) == 2


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")

    catalogue = Catalogue.load([str(tmp_path / "missing")], builtin=False)

    assert [str(error) for error in catalogue.errors] == [f"{tmp_path / 'missing'}: can't be read: No such file or directory"]


def test_an_id_that_is_used_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    for folder in ("a", "b", "c/d"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.toml").write_text(GOOD.replace("'t'", f"'{folder}'"))

    together = load([str(tmp_path)])
    apart = Catalogue.load([str(tmp_path / "a"), str(tmp_path / "b")], builtin=False)

    assert [rule.title for rule in together.rules] == ["a"]
    assert [error.key for error in together.errors] == ["id", "id"]
    assert apart.rules["x"].title == "a"
    assert [str(error) for error in apart.errors] == [f"{tmp_path / 'b' / 'x.toml'}:1: id: x is already defined elsewhere"]


def test_a_hidden_duplicate_never_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    for folder, text in (("a", "pool"), ("b", "tank")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.toml").write_text(GOOD.replace("message='some text'", f"log='{text} lost'"))
    catalogue = Catalogue.load([str(tmp_path / "a"), str(tmp_path / "b")], builtin=False)

    assert [hit.rule_id for hit in catalogue.scan("pool lost")] == ["x"]
    assert catalogue.scan("tank lost") == ()


def test_a_rule_can_not_outrank_itself(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("outranks=['x']\n" + GOOD)

    assert [error.key for error in load([str(tmp_path)]).errors] == ["outranks"]


def test_the_digest_depends_on_the_contents_and_not_on_the_place(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.toml").write_text(GOOD)
    same = [load([str(tmp_path / folder)]).digest for folder in ("a", "b")]
    (tmp_path / "b" / "x.toml").write_text(GOOD + "# more\n")

    assert same[0] == same[1]
    assert same[0].startswith("sha256:")
    assert load([str(tmp_path / "b")]).digest != same[0]
