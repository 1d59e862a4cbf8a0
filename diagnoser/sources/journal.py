"""The export of systemd's journal (`journalctl -o export`), read as the lines that `journalctl` would print.

    __REALTIME_TIMESTAMP=1741947630000000
    _HOSTNAME=node-a
    SYSLOG_IDENTIFIER=vllm
    MESSAGE=Out of memory

Source of the format: https://systemd.io/JOURNAL_EXPORT_FORMATS/. Line numbers are those of the printed lines.
"""

from __future__ import annotations

import time

from .bytestreams import ByteStream

_WANTED = frozenset(
    (b"__REALTIME_TIMESTAMP", b"_HOSTNAME", b"SYSLOG_IDENTIFIER", b"_COMM", b"_PID", b"SYSLOG_PID", b"MESSAGE")
)
_READ_BYTES = 256 * 1024
_LARGEST_FIELD = 1024 * 1024


class JournalExport(ByteStream):
    """The printed lines of an export."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._input = memoryview(bytearray(_READ_BYTES))
        self._pending = b""
        self._ready = b""
        self._entry: dict[bytes, bytes] = {}
        self._ended = False

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        while not self._ready and not self._ended:
            self._fill()
        part = self._ready[: len(buffer)]
        buffer[: len(part)] = part
        self._ready = self._ready[len(part) :]
        return len(part)

    def close(self) -> None:
        """See `ByteStream`."""
        self._stream.close()

    def _fill(self) -> None:
        read = self._stream.readinto(self._input)
        if not read:
            self._ended, self.problem = True, self._stream.problem
            if self._pending:
                self._field(self._pending)
                self._pending = b""
            self._print()
            return
        data, at = self._pending + bytes(self._input[:read]), 0
        while (end := data.find(b"\n", at)) >= 0:
            line = data[at:end]
            if line in _WANTED or (line and b"=" not in line):  # a binary field: its size and its bytes follow
                size = int.from_bytes(data[end + 1 : end + 9], "little")
                if size <= _LARGEST_FIELD and len(data) < end + 9 + size + 1:
                    break
                self._entry[line] = data[end + 9 : end + 9 + size]
                at = min(end + 9 + size + 1, len(data))
                continue
            self._field(line)
            at = end + 1
        self._pending = data[at:] if len(data) - at <= 2 * _LARGEST_FIELD else b""

    def _field(self, line: bytes) -> None:
        name, found, value = line.partition(b"=")
        if found and name in _WANTED:
            self._entry[name] = value
        elif not line:
            self._print()

    def _print(self) -> None:
        """The lines of the entry that is complete."""
        entry, self._entry = self._entry, {}
        message = entry.get(b"MESSAGE")
        if message is None:
            return
        stamp = entry.get(b"__REALTIME_TIMESTAMP", b"")
        micros = int(stamp) if stamp.isdigit() and len(stamp) < 18 else 0
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1_000_000)).encode()
        unit = entry.get(b"SYSLOG_IDENTIFIER") or entry.get(b"_COMM") or b"unknown"
        pid = entry.get(b"_PID") or entry.get(b"SYSLOG_PID")
        who = b"%s[%s]" % (unit, pid) if pid else unit
        head = b"%s.%06dZ %s %s: " % (when, micros % 1_000_000, entry.get(b"_HOSTNAME") or b"localhost", who)
        self._ready += b"".join(head + line + b"\n" for line in message.split(b"\n"))
