"""Rule packs are found by their entry point, and nothing of them is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.packs import installed_packs

RULE = "id='{0}'\ntitle='t'\nrole='cause'\nfamily='acme'\n[[match]]\nlog='acme pool lost'\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing"), *sys.path])
    return tmp_path


def install(site: Path, name: str, entry_points: str) -> Path:
    package = site / name / "rules"
    package.mkdir(parents=True)
    (site / name / "__init__.py").write_text("raise SystemExit('a pack was imported')")
    information = site / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "entry_points.txt").write_text(entry_points)
    return package


def test_the_rules_of_a_pack_are_loaded_and_its_code_is_not(site: Path) -> None:
    folder = install(site, "acme_runbooks", "[console_scripts]\nx = y:z\n[diagnoser.rules]\n# words\nacme = acme_runbooks:rules\n")
    (folder / "acme-pool.toml").write_text(RULE.format("acme-pool"))

    catalogue = Catalogue.load(builtin=False, packs=True)

    assert catalogue.errors == ()
    assert [hit.rule_id for hit in catalogue.scan("acme pool lost")] == ["acme-pool"]
    assert "acme_runbooks" not in sys.modules


def test_packs_are_off_unless_asked_for(site: Path) -> None:
    folder = install(site, "acme_runbooks", "[diagnoser.rules]\nacme = acme_runbooks:rules\n")
    (folder / "acme-pool.toml").write_text(RULE.format("acme-pool"))

    assert "acme-pool" not in Catalogue.load(builtin=False).rules


def test_a_pack_without_its_folder_is_named_and_stops_no_other(site: Path) -> None:
    install(site, "broken_pack", "[diagnoser.rules]\nbroken = broken_pack:nowhere\nworse = ../../etc:x\n")
    folder = install(site, "good_pack", "[diagnoser.rules]\ngood = good_pack.rules [extra]\n")
    (folder / "good-rule.toml").write_text(RULE.format("good-rule"))
    (folder / "bad-rule.toml").write_text("id=")

    catalogue = Catalogue.load(builtin=False, packs=True)

    assert list(catalogue.rules) == ["good-rule"]
    file = site / "broken_pack-1.0.dist-info" / "entry_points.txt"
    assert [str(error) for error in catalogue.errors] == [
        f"{file}: broken: rule pack 'broken': no folder 'broken_pack:nowhere' is installed",
        f"{file}: worse: rule pack 'worse': no folder '../../etc:x' is installed",
        f"{folder / 'bad-rule.toml'}:1: not TOML: Invalid value",
    ]


def test_packs_come_in_the_order_of_their_names(site: Path) -> None:
    for name in ("zeta", "alpha"):
        install(site, f"{name}_pack", f"[diagnoser.rules]\n{name} = {name}_pack:rules\n")

    packs, errors = installed_packs()

    assert [pack.name for pack in packs if pack.name in ("alpha", "zeta")] == ["alpha", "zeta"]
    assert errors == []


def test_the_folder_one_stands_in_brings_no_packs(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    folder = install(here, "sneaky_pack", "[diagnoser.rules]\nsneaky = sneaky_pack:rules\n")
    (folder / "sneaky.toml").write_text(RULE.format("sneaky"))
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])

    assert "sneaky" not in Catalogue.load(builtin=False, packs=True).rules


def test_packs_are_remembered_until_something_is_installed(
    site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from diagnoser.catalogue import packs

    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("DIAGNOSER_CACHE", str(cache))
    monkeypatch.setattr(sys, "path", [str(site)])
    install(site, "first_pack", "[diagnoser.rules]\nfirst = first_pack:rules\n")
    names = [pack.name for pack in installed_packs()[0]]
    looked = []
    real = packs._all_entries
    monkeypatch.setattr(packs, "_all_entries", lambda roots: looked.append(1) or real(roots))

    assert [pack.name for pack in installed_packs()[0]] == names
    assert looked == []

    install(site, "second_pack", "[diagnoser.rules]\nsecond = second_pack:rules\n")
    assert {pack.name for pack in installed_packs()[0]} == {*names, "second"}
    assert looked == [1]

    for damage in (b"", b"garbage", (cache / "packs").read_bytes()[:-3]):
        (cache / "packs").write_bytes(damage)
        assert {pack.name for pack in installed_packs()[0]} == {*names, "second"}
