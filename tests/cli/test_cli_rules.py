"""`diagnose rules …` and `diagnose explain`, as a person calls them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.cli.main import run

GOOD = """
id       = "acme-pool-lost"
title    = "The Acme pool is gone"
role     = "cause"
family   = "acme"
severity = "operator"
status   = "draft"
cause    = "Acme took pool {{ name }} away."
[[match]]
exception = 'AcmePoolError'
message   = 'pool (?P<name>\\w+) was taken'
[[remedy]]
do  = "Ask Acme."
run = "acme pools --name {{ name | shq }}"
[[sample]]
expect = "match"
log = '''
(Worker_TP1 pid=4242) ERROR 03-14 10:20:30 [multiproc_executor.py:870] Traceback (most recent call last):
(Worker_TP1 pid=4242) ERROR 03-14 10:20:30 [multiproc_executor.py:870]   File "/opt/acme/pool.py", line 3, in take
(Worker_TP1 pid=4242) ERROR 03-14 10:20:30 [multiproc_executor.py:870]     raise AcmePoolError(name)
(Worker_TP1 pid=4242) ERROR 03-14 10:20:30 [multiproc_executor.py:870] acme.AcmePoolError: pool blue was taken
'''
[[sample]]
expect = "no-match"
log = '''
Traceback (most recent call last):
  File "/opt/acme/pool.py", line 3, in take
    raise AcmePoolError(name)
acme.AcmePoolError: pool blue is full
'''
"""
CRASH = """\
(EngineCore pid=4100) ERROR 03-14 10:20:30 [core.py:1140] EngineCore failed to start.
(EngineCore pid=4100) ERROR 03-14 10:20:30 [core.py:1140] Traceback (most recent call last):
(EngineCore pid=4100) ERROR 03-14 10:20:30 [core.py:1140]   File "/opt/acme/lake.py", line 81, in fill
(EngineCore pid=4100) ERROR 03-14 10:20:30 [core.py:1140]     raise AcmeLakeError(n, token)
(EngineCore pid=4100) ERROR 03-14 10:20:30 [core.py:1140] acme.AcmeLakeError: lake wants 96 streams, token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Keeps these tests away from the user's cache, yet reads the built-in rules only once."""
    cache.chmod(0o700)
    monkeypatch.setenv("DIAGNOSER_CACHE", str(cache))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "acme-pool-lost.toml").write_text(GOOD)
    return folder


def test_list_shows_rules_by_family(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list", "--rules", str(pack), "--family", "acme"]) == 0
    assert capsys.readouterr().out == "acme\n  acme-pool-lost  The Acme pool is gone\n\n1 rule\n"


def test_list_filters(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything = Catalogue.load([str(pack)])
    for options, wanted in (
        (["--role", "noise"], lambda rule: rule.role == "noise"),
        (["--severity", "operator"], lambda rule: rule.severity == "operator"),
        (["--status", "draft"], lambda rule: rule.status == "draft"),
        (["Pool", "acme"], lambda rule: rule.id == "acme-pool-lost"),
    ):
        assert run(["rules", "list", "--rules", str(pack), "--format", "json", *options]) == 0
        found = [entry["id"] for entry in json.loads(capsys.readouterr().out)]
        assert sorted(found) == sorted(rule.id for rule in everything.rules.values() if wanted(rule))
        assert found

    assert run(["rules", "list", "no-such-rule-anywhere"]) == 0
    assert capsys.readouterr().out == "no rule fits\n"


def test_list_as_json_tells_where_a_rule_is_from(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["rules", "list", "--rules", str(pack), "--family", "acme", "-f", "json"])

    assert json.loads(capsys.readouterr().out) == [
        {
            "id": "acme-pool-lost", "title": "The Acme pool is gone", "role": "cause", "family": "acme",
            "severity": "operator", "status": "draft", "applies": {}, "fixed_in": None, "outranks": [], "check": None,
            "samples": 2, "references": [], "path": str(pack / "acme-pool-lost.toml"),
        }
    ]  # fmt: skip


def test_test_and_lint_pass_a_good_pack(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", "--rules", str(pack)]) == 0
    assert run(["rules", "lint", "--rules", str(pack)]) == 0
    assert capsys.readouterr() == ("1 rule, 2 samples: no problems\n1 rule: no problems\n", "")


def test_test_and_lint_name_what_is_wrong(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack / "acme-pool-lost.toml"
    path.write_text(GOOD.replace("was taken'", "is full'").replace("{{ name }} away", "{{ nome }} away"))
    (pack / "broken.toml").write_text("id = 3\n")

    assert run(["rules", "test", "--rules", str(pack)]) == 2
    out, err = capsys.readouterr()
    assert out == "1 rule, 2 samples: 7 problems\n"
    assert f"{path}:17: sample[0]: must match, but does not; found: acme.AcmePoolError: pool blue was taken" in err
    assert f"{path}:25: sample[1]: must not match, but does: line 4, 'acme.AcmePoolError: pool blue is full'" in err
    assert f"{pack / 'broken.toml'}:1: id: expected a text, found a number" in err

    assert run(["rules", "lint", "--rules", str(pack)]) == 2
    out, err = capsys.readouterr()
    assert f"{path}:8: cause: unknown variable nome" in err


def test_single_rules_and_families_can_be_tested(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", "--rules", str(pack), "acme-pool-lost"]) == 0
    assert run(["rules", "test", "--rules", str(pack), "--no-mutation", "--family", "acme"]) == 0
    assert run(["rules", "lint", "--rules", str(pack), "--family", "nothing"]) == 0
    assert capsys.readouterr().out == (
        "1 rule, 2 samples: no problems\n1 rule, 2 samples: no problems\n0 rules: no problems\n"
    )


@pytest.mark.parametrize("command", [["rules", "test"], ["rules", "lint"], ["explain"]])
def test_an_unknown_rule_is_named_with_its_neighbours(
    pack: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run([*command, "--rules", str(pack), "acme-pool-lots"]) == 2
    assert capsys.readouterr().err == "diagnose: there is no rule 'acme-pool-lots'; did you mean acme-pool-lost?\n"


def test_new_drafts_a_rule_that_passes_its_own_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crash.log").write_text(CRASH)
    monkeypatch.chdir(tmp_path)

    assert run(["rules", "new", "--from", "crash.log", "--id", "acme-lake-dry", "--family", "acme", "-o", "mine"]) == 0
    out, err = capsys.readouterr()
    assert out == (
        f"wrote mine{os.sep}acme-lake-dry.toml: replace each TODO, then run\n"
        "  diagnose rules lint --rules mine acme-lake-dry\n"
        "  diagnose rules test --rules mine acme-lake-dry\n"
    )
    assert err == ""
    text = (tmp_path / "mine" / "acme-lake-dry.toml").read_text()
    assert "exception  = 'AcmeLakeError'" in text
    assert r"message    = 'lake wants (?P<number1>\d+) streams, token" in text
    assert "hf_abcdef" not in text

    assert run(["rules", "test", "--rules", "mine"]) == 0
    assert run(["rules", "lint", "--rules", "mine"]) == 2
    assert "title: is still to be written" in capsys.readouterr().err


def test_new_refuses_to_overwrite_and_logs_without_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crash.log").write_text(CRASH)
    (tmp_path / "fine.log").write_text("INFO 03-14 10:20:30 [x.py:1] all is well\n")
    monkeypatch.chdir(tmp_path)
    assert run(["rules", "new", "--from", "crash.log", "--id", "a-b"]) == 0

    assert run(["rules", "new", "--from", "crash.log", "--id", "a-b"]) == 2
    assert run(["rules", "new", "--from", "fine.log"]) == 2
    assert run(["rules", "new", "--from", "absent.log"]) == 2
    assert run(["rules", "new", "--from", "crash.log", "--id", "Not Kebab"]) == 2
    err = capsys.readouterr().err
    assert "a-b.toml exists; give another --id" in err
    assert "fine.log: no failure found in it (healthy)" in err
    assert "absent.log" in err
    assert "'Not Kebab' is not kebab-case" in err


def test_new_says_when_a_rule_exists(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "crash.log"
    log.write_text(CRASH.replace("AcmeLakeError: lake wants 96 streams", "AcmePoolError: pool red was taken"))

    assert run(["rules", "new", "--from", str(log), "--rules", str(pack), "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith('id       = "')
    assert err == "note: acme-pool-lost already explains this failure\n"


@pytest.mark.parametrize("mkdocs", [False, True])
def test_export_writes_a_page_per_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str], mkdocs: bool) -> None:
    folder = tmp_path / "out"

    assert run(["rules", "export", "-o", str(folder), *(["--mkdocs"] if mkdocs else [])]) == 0

    pages = folder / "docs" if mkdocs else folder
    rules = Catalogue.load().rules
    assert {path.name for path in pages.glob("*.md")} == {f"{rule_id}.md" for rule_id in rules} | {"index.md"}
    assert (folder / "mkdocs.yml").exists() is mkdocs
    assert capsys.readouterr().out == f"wrote {len(rules) + 1 + mkdocs} files to {folder}\n"


def test_export_to_where_nothing_can_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    assert run(["rules", "export", "-o", str(tmp_path / "file" / "sub")]) == 2
    assert "Not a directory" in capsys.readouterr().err


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Diagnoser rule"


def test_explain_shows_the_page(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--rules", str(pack), "--width", "60", "acme-pool-lost"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        """\
acme-pool-lost
The Acme pool is gone

acme | cause | operator (an operator's action) | draft

WHY
  Acme took pool <name> away.

WHAT TO DO
  1. Ask Acme.
       acme pools --name <name>

RECOGNIZED BY
  certain
    exception: AcmePoolError
    message: pool (?P<name>\\w+) was taken

EXAMPLE
"""
    )


def test_explain_in_other_formats(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--rules", str(pack), "acme-pool-lost", "-f", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# The Acme pool is gone\n")

    assert run(["explain", "--rules", str(pack), "acme-pool-lost", "-f", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["causes"] == ["Acme took pool <name> away."]
    assert shown["remedies"] == [
        {"do": "Ask Acme.", "run": "acme pools --name <name>", "verify": None, "why": None}
    ]


def test_explain_lets_no_escape_through(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack / "acme-pool-lost.toml"
    path.write_text(GOOD.replace('"Ask Acme."', '"Ask \\u001b]0;x\\u0007 Acme."'))

    assert run(["explain", "--rules", str(pack), "acme-pool-lost"]) == 0
    out = capsys.readouterr().out
    assert "Ask ]0;x Acme." in out
    assert "\x1b" not in out


@pytest.mark.parametrize("rule_id", sorted(Catalogue.load().rules)[::9])
def test_every_built_in_page_can_be_shown(rule_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "markdown", "json"):
        assert run(["explain", rule_id, "-f", form]) == 0
        out = capsys.readouterr().out
        assert rule_id in out
        assert "{{" not in out.split("EXAMPLE")[0].split("## Example")[0].split('"recognized_by"')[0]
