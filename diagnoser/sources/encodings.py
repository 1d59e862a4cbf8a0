"""UTF-16 logs (PowerShell's `>` writes them), turned into UTF-8 on the way."""

from __future__ import annotations

import codecs

from .bytestreams import ByteStream


class Transcoded(ByteStream):
    """The UTF-8 form of a UTF-16 or UTF-32 stream; damage becomes U+FFFD."""

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._input = memoryview(bytearray(64 * 1024))
        self._rest = memoryview(b"")
        self._ended = False
        self.undecodable = 0

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        while not self._rest and not self._ended:
            read = self._stream.readinto(self._input)
            self._ended = not read
            text = self._decoder.decode(bytes(self._input[:read]), final=self._ended)
            self.undecodable += text.count("\ufffd")
            self._rest = memoryview(text.encode("utf-8", "replace"))
        if not self._rest:
            self.problem = self._stream.problem
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)

    def close(self) -> None:
        """See `ByteStream`."""
        self._stream.close()
