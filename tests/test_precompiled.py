"""Compiled patterns from the cache are those that `re` makes."""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser import caching, precompiled

PATTERNS = (
    ("a", 0),
    (r"(?P<host>[\w.-]+):(?P<port>\d{1,5})(?:/(?P<path>.*))?", 0),
    (r"(?i)cuda error: (out of memory|an illegal [a-z]+)", re.MULTILINE),
    (r"^\s*(?=\S)(?<!x)(a|b)+?\1$", re.MULTILINE | re.DOTALL),
    ("[^\u00e9-\u4e00]{2,}", re.IGNORECASE),
    (r"(?x) a # comment", 0),
)
TEXTS = ("", "a", "10.20.0.7:8998/kv", "CUDA error: Out of memory", "  abab\nb", "ÉÉé中文", " a # comment")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("DIAGNOSER_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    forget()


def forget() -> None:
    precompiled._kept = None
    precompiled._new.clear()
    precompiled._used.clear()


def cache_file(place: Path) -> Path:
    (found,) = place.iterdir()
    return found


def results(pattern: re.Pattern[str]) -> list[object]:
    return [[(m.span(), m.groupdict(), m.groups()) for m in pattern.finditer(text)] for text in TEXTS]


def test_a_later_run_gets_equal_patterns(own_cache: Path) -> None:
    for source, flags in PATTERNS:
        precompiled.compile_pattern(source, flags)
    precompiled.keep()
    forget()

    for source, flags in PATTERNS:
        usual, loaded = re.compile(source, flags), precompiled.compile_pattern(source, flags)
        assert loaded == usual
        assert (loaded.groups, loaded.groupindex, loaded.pattern) == (usual.groups, usual.groupindex, source)
        assert results(loaded) == results(usual)
    assert precompiled._new == set()  # all of them came from the cache


@pytest.mark.filterwarnings("ignore::FutureWarning")  # sets that look nested
@given(st.text("ab(|)[]*+?.^$\\d{1,2}<>=!:Pi", max_size=12))
def test_any_pattern_that_python_takes_is_equal_or_not_kept(source: str) -> None:
    try:
        usual = re.compile(source)
    except re.error:
        with pytest.raises(re.error):
            precompiled.compile_pattern(source)
        precompiled._new.discard((source, 0))
        return
    parts = precompiled._taken_apart(source, 0)
    assert parts is not None
    assert results(precompiled._loaded(source, parts)) == results(usual)


def test_nothing_is_written_when_nothing_is_new(own_cache: Path) -> None:
    precompiled.keep()
    assert not own_cache.exists()
    precompiled.compile_pattern("a")
    precompiled.keep()
    before = cache_file(own_cache).stat().st_mtime_ns
    forget()
    precompiled.compile_pattern("a")
    precompiled.keep()
    assert cache_file(own_cache).stat().st_mtime_ns == before


def test_a_pattern_that_is_wrong_is_not_kept(own_cache: Path) -> None:
    with pytest.raises(re.error):
        precompiled.compile_pattern("(")
    precompiled.keep()
    assert not own_cache.exists()


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_damaged_file_is_not_believed(own_cache: Path, at: int) -> None:
    precompiled.compile_pattern("(?P<x>a+)b")
    precompiled.keep()
    path = cache_file(own_cache)
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
    forget()

    assert precompiled.compile_pattern("(?P<x>a+)b") == re.compile("(?P<x>a+)b")


@pytest.mark.parametrize(
    "parts",
    [(32, b"\xff" * 8, 0, (), (None,)), (32, b"123", 0, (), (None,)), (32, b"", 0, (), ()), (), ("x",) * 5],
)
def test_code_that_the_engine_refuses_is_compiled_anew(own_cache: Path, parts: Any) -> None:
    for kept in (marshal.dumps(parts), marshal.dumps(parts)[:-1], b"", parts):
        caching.keep(precompiled._NAME, precompiled._key(), {("a+", 0): kept})
        forget()

        assert precompiled.compile_pattern("a+") == re.compile("a+")


def test_what_no_run_needs_any_more_goes_when_there_is_no_room(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "MOST_PATTERNS", 4)
    kept = []
    for needed in ("abcd", "ab", "ae", "fghijk", "a"):
        for source in needed:
            precompiled.compile_pattern(source)
        precompiled.keep()
        forget()
        kept.append("".join(sorted(source for source, _ in precompiled._read())))
    assert kept == ["abcd", "abcd", "ae", "fghi", "a"]


def test_what_another_user_could_have_written_is_not_read(own_cache: Path) -> None:
    precompiled.compile_pattern("a")
    precompiled.keep()
    cache_file(own_cache).chmod(0o666)
    forget()
    precompiled.compile_pattern("a")
    assert precompiled._new == {("a", 0)}


def test_without_a_cache_patterns_are_compiled(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setenv("DIAGNOSER_CACHE", "off")
    assert precompiled.compile_pattern("a") == re.compile("a")
    precompiled.keep()
    assert not own_cache.exists()
