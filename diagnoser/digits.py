"""Texts that differ by their digits alone.

A log repeats itself with other times, sizes and ids. A pattern that asks for digits, but for no certain ones, says the
same of two texts that are equal once their digits are made equal.
"""

_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def zeroed(text: str) -> bytes:
    """The text, as UTF-8, with zeros for digits; it is as long as before, so that places in it stay the same."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS)


def without_digits(text: str) -> str:
    """The text without its digits."""
    return text.translate(_NO_DIGITS)
