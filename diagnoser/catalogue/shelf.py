"""A directory's rules, ready for use: the open index, and packed parts that are read when they are needed."""

import os
from binascii import crc32
from collections.abc import Callable

from diagnoser.catalogue import drawers
from diagnoser.catalogue import index as compact
from diagnoser.catalogue.index import Head, Index, Place
from diagnoser.model import Rule
from diagnoser.records import NamedTuple


class InMemory:
    """Parts that were just made from rule files."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, place: Place) -> bytes | None:
        """The part at a place."""
        return self.data[place[0] : place[0] + place[1]]


class InFile:
    """Parts in a cache file, which stays open: one that takes its place later does not disturb us."""

    def __init__(self, handle: int, start: int = 0) -> None:
        self.handle, self.start = handle, start

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # modules may be gone by then
        close(self.handle)

    def read(self, place: Place) -> bytes | None:
        """The part at a place; None when it is not what was written there."""
        offset, length, checksum = place
        try:
            if hasattr(os, "pread"):
                part = os.pread(self.handle, length, self.start + offset)
            else:
                os.lseek(self.handle, self.start + offset, os.SEEK_SET)
                part = os.read(self.handle, length)
        except OSError:
            return None
        return part if crc32(part) == checksum else None


class Shelf(NamedTuple):
    """The rules of one directory."""

    directory: str
    table: Index
    parts: InMemory | InFile

    @property
    def ids(self) -> list[str]:
        """The rules' ids in the order of their numbers."""
        return self.table.ids.split("\n") if self.table.ids else []

    def head(self, number: int) -> Head:
        """What matching needs of a rule."""
        part = self.parts.read(compact.place(self.table.heads, number))
        return compact.head(part) if part is not None else self._anew().head(number)

    def drawer(self, name: str | None) -> drawers.Drawer:
        """The candidates filed under an exception's name, or (None) under no name."""
        place = self.table.generic if name is None else self.table.types.get(name)
        if place is None:
            return drawers.Drawer()
        part = self.parts.read(place)
        return drawers.unpack(part) if part is not None else self._anew().drawer(name)

    def rule(self, number: int) -> Rule:
        """One whole rule, with its whole path: the packed one has the part below the directory, wherever that lies."""
        part = self.parts.read(compact.place(self.table.bodies, number))
        if part is None:
            return self._anew().rule(number)
        found = compact.rule(part)
        return found._replace(path=f"{self.directory}/{found.path}" if found.path else self.directory)

    def _anew(self) -> "Shelf":
        """The same from the rule files: what the cache file holds was damaged after it was opened."""
        return read_shelf(self.directory)


def read_shelf(directory: str) -> Shelf:
    """The rules of a directory, read from its files."""
    from diagnoser.catalogue.indexer import build
    from diagnoser.catalogue.loader import load

    index, parts = build(load([directory]), directory)
    return Shelf(directory, index, InMemory(parts))
