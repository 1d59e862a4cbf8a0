"""What the first bytes of a file say it is. The readers of each kind are imported when one is met."""

from __future__ import annotations

HEAD_BYTES = 512
"""How many first bytes are looked at."""

_COMPRESSIONS = (
    (b"\x1f\x8b\x08", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x2a\x4d\x18", "zstd"),  # behind one byte: a skippable frame before the data
)
_WIDE_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SAMPLE_BYTES = 128


def compression_of(head: bytes) -> str | None:
    """gzip, bzip2, xz or zstd."""
    for magic, name in _COMPRESSIONS:
        if head.startswith(magic) or (len(magic) == 3 and name == "zstd" and head[1:4] == magic and head[0] >> 4 == 5):
            return name
    return None


def is_zip(head: bytes) -> bool:
    """True for a zip archive, also an empty one."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_tar(head: bytes) -> bool:
    """True when the first 512 bytes are the header of a tar entry."""
    return len(head) >= HEAD_BYTES and head[257:262] == b"ustar"


def wide_encoding(head: bytes) -> str | None:
    """The 16-bit or 32-bit encoding that the first bytes show, by a byte order mark or by their zero bytes."""
    for mark, name in _WIDE_MARKS:
        if head.startswith(mark):
            return name
    sample = head[: len(head) & ~1][:_SAMPLE_BYTES]
    if len(sample) >= 8:
        characters, even, odd = len(sample) // 2, sample[::2].count(0), sample[1::2].count(0)
        if not even and odd * 10 >= characters * 8:
            return "utf-16-le"
        if not odd and even * 10 >= characters * 8:
            return "utf-16-be"
    return None


def looks_binary(head: bytes) -> bool:
    """True when the first bytes are no text in any encoding that is known here."""
    if wide_encoding(head) is not None:
        return False
    return b"\0" in head or sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head) * 20 > len(head)
