"""Where `follow` and `--live` get their bytes from: growing files, or a pipe that may have to be passed on."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from diagnoser.live.backlog import GAP, STDOUT
from diagnoser.live.feed import Feed, FeedReader
from diagnoser.live.following import MAX_TURN_BYTES, GrowingFile
from diagnoser.live.passing import CHUNK_BYTES, Passage
from diagnoser.live.session import Session
from diagnoser.records import NamedTuple
from diagnoser.sources import paths
from diagnoser.sources.hints import process_of

TURN_SECONDS = 0.1
_SEARCH_TURNS = 20
STDIN_NAME = "<stdin>"


Tick = Callable[[], None]
"""Called now and then, at least every `TURN_SECONDS` while nothing comes; raises `Stop` to end it all."""


class Stop(Exception):
    """Enough was seen."""


class Input(Protocol):
    """`feed` feeds the session until there is no more, and calls `tick` between times."""

    def feed(self, session: Session, tick: Tick) -> None:
        """Feeds what comes."""


class Files(NamedTuple):
    """Files, folders and patterns; files that appear later are found too."""

    names: Sequence[str]

    def feed(self, session: Session, tick: Tick) -> None:
        """See `Input`; never ends by itself."""
        files: dict[str, GrowingFile] = {}
        pause = threading.Event()
        turn, caught_up = 0, False
        while True:
            if turn % _SEARCH_TURNS == 0:
                for path in self._paths():
                    files.setdefault(path, GrowingFile(path))
            turn += 1
            read = [_fed(session, file) for file in files.values()]
            if not any(read):
                pause.wait(TURN_SECONDS)
            caught_up = caught_up or all(size < MAX_TURN_BYTES for size in read)
            if caught_up:  # what is there when we come must be read before the first judgment
                tick()

    def _paths(self) -> Iterator[str]:
        for name in self.names:
            if os.path.isdir(name):
                yield from (path for path in paths.in_folder(name) if paths.may_be_log(path))
            elif paths.has_magic(name) and not os.path.lexists(name):
                import glob

                yield from sorted(glob.glob(name, recursive=True), key=paths.natural)
            else:
                yield name


def _fed(session: Session, file: GrowingFile) -> int:
    """Feeds what is new in the file; returns how many bytes that were."""
    size = 0
    session.stream(file.path, process_of(file.path))
    for news in file.news():
        if news.anew:
            session.restart(file.path)
        session.feed(file.path, news.data)
        size += len(news.data)
    return size


class Pipe(NamedTuple):
    """Standard input."""

    fd: int = 0

    def feed(self, session: Session, tick: Tick) -> None:
        """See `Input`."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while True:
            if poll.poll(TURN_SECONDS * 1000):
                data = os.read(self.fd, CHUNK_BYTES)
                if not data:
                    session.end(STDIN_NAME, tail=True)
                    return
                session.feed(STDIN_NAME, data)
            tick()


class Tee:
    """Standard input that is also passed through to standard output, without waiting for the analysis."""

    def __init__(self, fd: int = 0, target: int = 1) -> None:
        self.reader_gone = False
        """True when nobody read the standard output any more."""
        self._fd, self._target = fd, target

    def feed(self, session: Session, tick: Tick) -> None:
        """See `Input`."""
        reading, writing = os.pipe()
        never, held_open = os.pipe()
        feed = Feed(writing)
        feed.start()
        passage = Passage(self._fd, self._target, lambda data: feed.put(STDOUT, data), never)
        passage.start()
        threading.Thread(target=_close_after, args=(passage, feed), daemon=True).start()
        reader = FeedReader(reading)
        for kind, size in reader.frames(tick, TURN_SECONDS):
            if kind == GAP:
                values = reader.values(size)
                session.gap(STDIN_NAME, values["size"], values["newlines"])
            else:
                session.take(STDIN_NAME, size, reader.read_into)
        self.reader_gone = passage.reader_gone
        for fd in (reading, never, held_open):
            os.close(fd)
        session.end(STDIN_NAME, tail=True)


def _close_after(passage: Passage, feed: Feed) -> None:
    passage.join()
    feed.close()
