"""An export of systemd's journal reads like what journalctl prints."""

from __future__ import annotations

from diagnoser.sources import text_source


def entry(number: int, *fields: bytes) -> bytes:
    return (
        b"__CURSOR=s=%d\n__REALTIME_TIMESTAMP=%d\n_HOSTNAME=node-a\n" % (number, 1_741_947_630_000_000 + number)
        + b"".join(fields)
        + b"\n"
    )


def lines(data: bytes) -> list[str]:
    return [line.text for line in text_source(data).lines()]


UNIT = b"SYSLOG_IDENTIFIER=vllm\n_PID=4021\n"


def test_entries_become_lines() -> None:
    data = entry(1, UNIT, b"MESSAGE=one = two\n") + entry(2, b"_COMM=kernel\nMESSAGE=\n") + entry(3, b"PRIORITY=6\n")

    assert lines(data) == [
        "2025-03-14T10:20:30.000001Z node-a vllm[4021]: one = two",
        "2025-03-14T10:20:30.000002Z node-a kernel: ",
    ]


def test_messages_of_several_lines_are_binary_fields() -> None:
    text = "Traceback:\n  größer\n\n=end".encode()
    data = entry(1, UNIT, b"MESSAGE\n" + len(text).to_bytes(8, "little") + text + b"\n", b"X=1\n") + entry(
        2, UNIT, b"MESSAGE=next\n"
    )

    assert [line.partition("]: ")[2] for line in lines(data)] == ["Traceback:", "  größer", "", "=end", "next"]


def test_an_export_that_breaks_off_gives_what_is_whole() -> None:
    data = entry(1, UNIT, b"MESSAGE=one\n") + entry(2, UNIT, b"MESSAGE=two\n")[:-1]

    assert [line.partition("]: ")[2] for line in lines(data)] == ["one", "two"]
    assert [line.partition("]: ")[2] for line in lines(data[:-2])] == ["one", "tw"]


def test_large_exports_are_read_in_pieces() -> None:
    data = b"".join(entry(number, UNIT, b"MESSAGE=line %d\n" % number) for number in range(20_000))
    found = [line.text for line in text_source(data, skip=False).lines()]

    assert (len(found), found[-1].partition("]: ")[2]) == (20_000, "line 19999")


def test_a_field_of_absurd_size_does_not_stop_it() -> None:
    data = entry(1, UNIT, b"MESSAGE\n" + b"\xff" * 8 + b"short\n") + entry(2, UNIT, b"MESSAGE=next\n")

    assert lines(data)[0] == "2025-03-14T10:20:30.000001Z node-a vllm[4021]: short"
