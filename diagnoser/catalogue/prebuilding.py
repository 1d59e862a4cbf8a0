"""Makes the compact form of the built-in rules when a wheel is built, so that no user's run has to.

    python -m diagnoser.catalogue.prebuilding rules diagnoser/_rules.bin

Needs nothing beyond the standard library.
"""

from __future__ import annotations

import sys

from diagnoser.catalogue.shelf import InMemory, read_shelf
from diagnoser.catalogue.store import encode, prebuilt_key
from diagnoser.errors import RuleErrors


def content(rules: str) -> bytes:
    """The compact form of a folder of rules; raises RuleErrors when one of them is wrong."""
    from diagnoser.catalogue.index import errors

    shelf = read_shelf(rules)
    found = errors(shelf.table)
    if found:
        raise RuleErrors(found)
    assert isinstance(shelf.parts, InMemory)
    return encode(shelf.table, shelf.parts.data, prebuilt_key())


def main(rules: str, output: str) -> None:
    """Writes the file."""
    with open(output, "wb") as stream:
        stream.write(content(rules))


if __name__ == "__main__":
    main(*sys.argv[1:])
