"""The line that shows how far a long read is."""

from __future__ import annotations

import io

import pytest

from diagnoser.cli.progress import Progress
from diagnoser.sources import open_sources


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"INFO fine\n" * 400_000)
    return path


def shown(sources, read):
    """What is on the terminal after each second, when the sources have told that they read so much."""
    clock, stream = Clock(), io.StringIO()
    line = Progress(sources, stream, clock)
    lines = []
    for size in read:
        sources[0].progress(size)
        lines.append(stream.getvalue().rpartition("\r\x1b[K")[2])
        clock.now += 1
    line.close()
    return lines, stream.getvalue()


def test_bytes_rate_and_time_left(log):
    sources, _ = open_sources([str(log)])
    lines, everything = shown(sources, [0, 400_000, 1_000_000, 4_000_000])

    assert lines == [
        "",
        "read 400 KB of 4 MB, 400 KB/s, 9 s left",
        "read 1 MB of 4 MB, 500 KB/s, 6 s left",
        "read 4 MB of 4 MB, 1 MB/s",
    ]
    assert everything.endswith("\r\x1b[K")


def test_without_a_known_size_there_is_no_time_left(log):
    sources, _ = open_sources([str(log)])
    log.unlink()

    assert shown(sources, [0, 1_000])[0] == ["", "read 1 KB, 1 KB/s"]


def test_a_short_read_shows_nothing(log):
    sources, _ = open_sources([str(log)])

    assert shown(sources, [4_000_000]) == ([""], "")


def test_the_sources_tell_how_far_they_are(log):
    sources, _ = open_sources([str(log), str(log)])
    read = []
    sources[0].progress = read.append
    list(sources[0].lines())

    assert read == sorted(read)
    assert read[-1] == 4_000_000


def test_long_times_are_in_minutes(log):
    sources, _ = open_sources([str(log)])

    assert shown(sources, [0, 20_000])[0][1] == "read 20 KB of 4 MB, 20 KB/s, 3 min 19 s left"
