"""Compares versions as releases print them; the comparison itself is the catalogue's."""

from __future__ import annotations


def at_least(version: str | None, wanted: str) -> bool | None:
    """Whether a version is `wanted` or later; None when there is no version to compare."""
    if not version:
        return None
    from diagnoser.catalogue.versions import compare

    order = compare(version, wanted)
    return None if order is None else order >= 0


def release(version: str | None) -> str:
    """The first two numbers of a version: `0.11` for `0.11.2.dev3+cu128`."""
    return ".".join((version or "").lstrip("v").split(".")[:2])


def compare(left: str, right: str) -> int | None:
    """-1, 0 or 1 as `left` is older than, equal to or newer than `right`; None when either is no version."""
    from diagnoser.catalogue.versions import compare as ordered

    return ordered(left, right)


def within(version: str, wanted: str) -> bool | None:
    """Whether a version lies in a range such as `>=0.6,<0.12`; None when that can't be told."""
    from diagnoser.catalogue.versions import within as lies

    return lies(version.partition("+")[0], wanted)
