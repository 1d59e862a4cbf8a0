"""The cache of compact rules: valid or not believed, never harmful."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnoser import caching
from diagnoser.catalogue import Catalogue, shelf, store
from diagnoser.catalogue.index import restore
from diagnoser.errors import RuleErrors

RULE = "id='{0}'\ntitle='{1}'\nrole='cause'\nfamily='f'\n[[match]]\nlog='pool (?P<n>\\d+) lost'\n"


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIAGNOSER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "rules" / "f"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(RULE.format("a", "first"))
    return folder


def load(rules: Path) -> Catalogue:
    return Catalogue.load([str(rules.parent)], builtin=False)


def cache_file(rules: Path) -> Path:
    (found,) = (rules.parent.parent / "cache").glob("*.rules")
    return found


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: str) -> shelf.Shelf:
        raise AssertionError(f"read {directory} although its cache is valid")

    monkeypatch.setattr(store, "read_shelf", refuse)
    monkeypatch.setattr(shelf, "read_shelf", refuse)


def test_the_second_run_reads_no_toml_and_sees_the_same(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(rules)
    forbid_reading(monkeypatch)
    second = load(rules)

    assert dict(second.rules) == dict(first.rules)
    assert second.digest == first.digest
    assert second.scan("pool 3 lost") == first.scan("pool 3 lost") == (("a", 0),)


def test_errors_are_kept_too(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (rules / "b.toml").write_text("id='b'\nrole='no'\n")
    first = load(rules)
    forbid_reading(monkeypatch)

    assert [str(error) for error in load(rules).errors] == [str(error) for error in first.errors]
    assert first.errors


def test_a_changed_added_or_removed_file_is_seen(rules: Path) -> None:
    assert load(rules).rules["a"].title == "first"

    (rules / "a.toml").write_text(RULE.format("a", "second"))
    assert load(rules).rules["a"].title == "second"

    (rules / "b.toml").write_text(RULE.format("b", "other"))
    assert set(load(rules).rules) == {"a", "b"}

    (rules / "a.toml").unlink()
    assert set(load(rules).rules) == {"b"}


def test_installed_rules_are_looked_at_by_folder(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(rules.parent)
    first = store.open_shelf(folder, installed=True)
    with monkeypatch.context() as patch:
        forbid_reading(patch)
        assert store.open_shelf(folder, installed=True).rule(0) == first.rule(0)

    (rules / "b.toml").write_text(RULE.format("b", "new"))
    assert store.open_shelf(folder, installed=True).ids == ["a", "b"]

    (rules.parent / "more").mkdir()
    (rules.parent / "more" / "c.toml").write_text(RULE.format("c", "new"))
    assert store.open_shelf(folder, installed=True).ids == ["a", "b", "c"]


def test_a_single_file_may_stand_for_a_folder(rules: Path) -> None:
    path = rules / "a.toml"
    assert Catalogue.load([str(path)], builtin=False).rules["a"].title == "first"

    path.write_text(RULE.format("a", "other"))
    assert Catalogue.load([str(path)], builtin=False).rules["a"].title == "other"


def test_the_cache_belongs_to_its_user_alone(rules: Path) -> None:
    load(rules)
    path = cache_file(rules)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_cache_that_others_may_write_is_not_believed(rules: Path) -> None:
    load(rules)
    path = cache_file(rules)
    path.chmod(0o666)
    before = path.read_bytes()

    assert store._read(str(path), lambda key: True, str(rules.parent)) is None
    assert load(rules).rules["a"].title == "first"
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_cache_is_written_where_others_may_write(rules: Path) -> None:
    place = rules.parent.parent / "cache"
    place.mkdir()
    place.chmod(0o777)

    assert load(rules).rules["a"].title == "first"
    assert list(place.iterdir()) == []


def test_a_link_in_place_of_the_part_file_is_not_followed(rules: Path) -> None:
    load(rules)
    path = cache_file(rules)
    victim = rules.parent.parent / "victim"
    victim.write_text("precious")
    path.unlink()
    Path(f"{path}.{os.getpid()}.part").symlink_to(victim)

    assert load(rules).rules["a"].title == "first"
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no"])
def test_it_can_be_turned_off(rules: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", value)
    monkeypatch.chdir(rules)

    assert load(rules).rules["a"].title == "first"
    assert not (rules.parent.parent / "cache").exists()
    assert [entry.name for entry in rules.iterdir()] == ["a.toml"]


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DIAGNOSER_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert caching.directory() is None

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert caching.directory() is None

    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert caching.directory() == "/somewhere/diagnoser"


def test_a_cache_folder_that_can_not_be_made_is_no_error(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (rules.parent.parent / "file").write_text("")
    monkeypatch.setenv("DIAGNOSER_CACHE", str(rules.parent.parent / "file" / "cache"))

    assert load(rules).rules["a"].title == "first"


def test_old_cache_files_are_removed(rules: Path) -> None:
    place = rules.parent.parent / "cache"
    place.mkdir(mode=0o700)
    for number in range(store.MOST_FILES + 4):
        old = place / f"old-{number:02}.rules"
        old.write_bytes(b"x")
        os.utime(old, (number, number))

    load(rules)
    left = sorted(entry.name for entry in place.iterdir())

    assert len(left) == store.MOST_FILES
    assert "old-00.rules" not in left
    assert any(name.startswith("rules-") for name in left)


def test_a_cache_that_is_replaced_or_removed_does_not_disturb_a_run(rules: Path) -> None:
    load(rules)
    catalogue = load(rules)
    (rules / "a.toml").write_text(RULE.format("a", "newer"))
    assert load(rules).rules["a"].title == "newer"
    cache_file(rules).unlink()

    assert catalogue.scan("pool 3 lost") == (("a", 0),)
    assert catalogue.rules["a"].title == "first"


def test_what_is_damaged_under_a_run_is_read_from_the_rule_files(rules: Path) -> None:
    load(rules)
    path = cache_file(rules)
    content = path.read_bytes()
    for damage in (b"", content[:40], content[:-400] + bytes(400)):
        catalogue = load(rules)
        path.write_bytes(damage)  # in place, unlike us

        assert catalogue.scan("pool 3 lost") == (("a", 0),)
        assert catalogue.rules["a"].title == "first"
        path.write_bytes(content)


def test_no_handle_is_left_open(rules: Path) -> None:
    import gc

    load(rules)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("handles can't be counted here")
    gc.collect()
    before = len(list(folder.iterdir()))
    for _ in range(20):
        load(rules).scan("pool 3 lost")
    gc.collect()

    assert len(list(folder.iterdir())) == before


def test_a_prebuilt_file_of_another_version_is_ignored(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import marshal

    found_rules = shelf.read_shelf(str(rules.parent))
    assert isinstance(found_rules.parts, shelf.InMemory)
    path = rules.parent.parent / "rules.bin"
    for name, expected in ((store.__version__, True), ("0.0.0", False)):
        key = marshal.dumps((store.FORMAT, name), 2)
        path.write_bytes(store.encode(found_rules.table, found_rules.parts.data, key))
        found = store.prebuilt(str(path), str(rules.parent))
        assert (found is not None) is expected
        if found is not None:
            assert found.rule(0).title == "first"


def test_a_prebuilt_file_can_be_moved_and_is_the_same_every_time(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diagnoser.catalogue.prebuilding import content, main

    (rules / "b.toml").write_text(RULE.format("b", "two"))
    main(str(rules.parent), str(tmp_path / "rules.bin"))
    moved = tmp_path / "site" / "_rules"
    moved.parent.mkdir()
    rules.parent.rename(moved)

    assert (tmp_path / "rules.bin").read_bytes() == content(str(moved))

    monkeypatch.delenv("DIAGNOSER_CACHE")
    monkeypatch.delenv("HOME", raising=False)
    found = store.prebuilt(str(tmp_path / "rules.bin"), str(moved))
    assert found is not None
    assert [found.rule(number).path for number in (0, 1)] == [str(moved / "f" / "a.toml"), str(moved / "f" / "b.toml")]

    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    assert store.prebuilt(str(tmp_path / "rules.bin"), str(moved)) is None


def test_nothing_is_prebuilt_from_broken_rules(rules: Path) -> None:
    from diagnoser.catalogue.prebuilding import content

    (rules / "b.toml").write_text("id =")
    with pytest.raises(RuleErrors):
        content(str(rules.parent))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_never_believed_and_never_raises(rules: Path, data: st.DataObject) -> None:
    load(rules)
    path = cache_file(rules)
    content = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["cut", "flip", "grow"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if kind == "cut":
        del content[at:]
    elif kind == "flip":
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        content += bytes(at)
    path.write_bytes(content)

    catalogue = load(rules)

    assert catalogue.scan("pool 3 lost") == (("a", 0),)
    assert catalogue.rules["a"].title == "first"


@pytest.mark.parametrize("packed", [b"", b"x", b"N", b"(\x00\x00\x00\x00"])
def test_what_is_no_index_is_refused(packed: bytes) -> None:
    with pytest.raises((ValueError, EOFError, TypeError)):
        restore(packed)
