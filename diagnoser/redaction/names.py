"""Secrets that only the name before them gives away: `--api-key …`, `HF_TOKEN=…`, `Authorization: …`.

Loaded when a text holds such a name at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.lazy import lazy
from diagnoser.redaction.tokens import Span

_WORD = lazy(
    r"(?:key|token|secret|passw(?:or)?d|passphrase|pwd|pass|credential|authorization|cookie|signature|sig)(?:s|_?b64)?(?!\w)",
    re.IGNORECASE,
)
_NAME = lazy(r"[\w.-]*")
_HUMP = lazy(r"(?<=[a-z0-9])(?=[A-Z])")

_STRONG = lazy(
    r"(?:^|_)(?:passw(?:or)?ds?|passphrase|secrets?|credentials?"
    r"|(?:api|access|secret|account|shared_access|private|signing|encryption|master|license|subscription|auth)_?keys?(?:_b64)?"
    r"|(?:hf|hub|hugging_?face|github|gh|gitlab|slack|access|auth|bearer|refresh|session|api|bot|deploy|secret|security"
    r"|vault|npm|pypi|oauth|jwt|csrf|xsrf|registry|docker|personal|private|wandb|id|service|ray)_?tokens?"
    r"|(?:amz|goog)_(?:signature|credential))$"
)
"""Names whose value is a secret whatever it looks like."""
_WEAK = lazy(r"(?:^|_)(?:key|token|pass|pwd|sig|signature)$")
"""Names whose value is a secret only if it looks like one: in this field `token` and `key` mean much else."""

_ASSIGN = lazy(r"""\\{0,3}["'`]?\s{0,4}(?:=>|=|:)\s{0,4}""")
_FLAG = lazy(r"""\\{0,3}["']?(?:,?\s{1,4}|=)""")
_PAIR = lazy(r"""\\{0,3}["'],\s{0,4}(?=b["'])""")
"""Between the parts of a header as ASGI servers print it, `(b'authorization', b'Bearer …')`."""
_BRACKET = lazy(r"[\[(]\s{0,4}")
_QUOTE = lazy(r"""b?(\\{0,3}["'`])""")
_COMMA = lazy(r"\s{0,4},\s{0,4}")
_BARE = lazy(r"""[^\s"'`,;&|(){}\[\]<>\\]+""")
_SCHEME = lazy(r"(?:Bearer|Basic|Token|Digest|Negotiate|AWS4-HMAC-SHA256)\s{1,4}", re.IGNORECASE)
_REST = lazy(r"[^\n\"'\\]+")
_COOKIE = lazy(r"[^\n\"'\\=]{1,64}=[^\n\"'\\]+")
LONGEST_QUOTED = 4096
"""Characters within which the end of a quoted value is looked for."""

_HARMLESS = lazy(
    r"(?i)(?:none|null|nil|true|false|empty|undefined|unset|yes|no|str|string|bytes|int|any|optional|union|list|dict"
    r"|secretstr|required|missing|invalid|auto|default|redacted|hidden|masked|x+|\*+|\.+|-+|-?[0-9]{1,3}|%s|\$\{?\w+\}?"
    r"|<.*>|\[?redacted:[a-z-]{1,30}:[0-9]{1,9}\]?)"
)
_DOTTED = lazy(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
PROSE = lazy(r"[A-Za-z][a-z]*[.,:]?(?= +[A-Za-z(])")
"""A word that a sentence goes on after."""
_RANDOM = lazy(r"[A-Za-z0-9_.~+=%-]{16,}")
_HASH = lazy(r"[0-9a-f-]+")


def is_secret_name(name: str) -> bool:
    """True for names such as `api_key`, whose value is a secret whatever it looks like."""
    return bool(_STRONG.search(_normal(name)))


def looks_random(value: str) -> bool:
    """True for values that nobody would type as a word, a name or a number; hashes and encoded paths do not count."""
    if not _RANDOM.fullmatch(value) or _HASH.fullmatch(value) or "%2f" in value[:-3].lower():
        return False
    return sum(char.isalpha() for char in value) >= 4 and sum(char.isdigit() for char in value) >= 3


def is_harmless(value: str) -> bool:
    """True for what stands in the place of a secret without being one: `None`, `EMPTY`, `***`, `$HF_TOKEN`."""
    return not value or bool(_HARMLESS.fullmatch(value))


def _normal(name: str) -> str:
    """`apiKey`, `--api-key` and `API_KEY` as `api_key`."""
    name = name if name.isupper() else _HUMP.sub("_", name)
    return name.replace("-", "_").replace(".", "_").lower().strip("_")


def named_secrets(text: str, code: bool) -> Iterator[Span]:
    """Values that stand behind a telling name, in every notation that logs use; `code` as for `find_secrets`."""
    position = 0
    while match := _WORD.search(text, position):
        position = match.end()
        before = _NAME.match(text[max(match.start() - 64, 0) : match.start()][::-1])
        name = text[match.start() - (before.end() if before else 0) : match.end()]
        normal = _normal(name)
        if normal.endswith(("authorization", "cookie", "cookies")):
            found = _header(text, match.end(), "authorization" if normal.endswith("n") else "cookie")
        else:
            found = _values(text, match.end(), name, normal, code)
        for span in found:
            yield span
            position = max(position, span.end)


def _values(text: str, at: int, name: str, normal: str, code: bool) -> Iterator[Span]:
    strong, flag = bool(_STRONG.search(normal)), name.startswith("-")
    if not strong and not _WEAK.search(normal):
        return
    separator = _ASSIGN.match(text, at) or (strong and (_FLAG if flag else _PAIR).match(text, at))
    if not separator:
        return
    # `DB_PASS=…` is a password, while `pass` in lower case is mostly a verb or a stage.
    certain = strong or (name.isupper() and normal.endswith("_pass") and "=" in separator.group())
    for start, end, quoted in _literals(text, separator.end()):
        value = text[start:end]
        if is_harmless(value) or _normal(value) == normal:
            continue
        if not quoted and (code or _is_words(text, start, end, separator.group())):
            continue
        if certain or looks_random(value):
            yield Span(start, end, _kind(normal))


def _is_words(text: str, start: int, end: int, separator: str) -> bool:
    """True for an unquoted value that is a program's expression, a sentence's next word, or the next flag."""
    value = text[start:end]
    if value.startswith("--") or _DOTTED.fullmatch(value) or text[end : end + 1] in ("(", "["):
        return True
    return separator[-1:].isspace() and bool(PROSE.match(text, start))


def _kind(normal: str) -> str:
    """The word for a secret of that name."""
    if "pass" in normal or normal.endswith("pwd"):
        return "password"
    if "token" in normal:
        return "token"
    return "key" if "key" in normal else "secret"


def _literals(text: str, at: int) -> Iterator[tuple[int, int, bool]]:
    """The value at that place, or the values of a list of quoted ones: start, end and whether it is quoted."""
    bracket = _BRACKET.match(text, at)
    at = bracket.end() if bracket else at
    opened = _QUOTE.match(text, at)
    bare = None if opened else _BARE.match(text, at)
    if bare:
        yield *bare.span(), False
    while opened:
        start, quote = opened.end(), opened.group(1)
        closing = text.find(quote, start, start + LONGEST_QUOTED)
        if closing < 0 or "\n" in text[start:closing]:  # not closed: the value ends with its word
            bare = _BARE.match(text, start)
            yield start, bare.end() if bare else start, True
            return
        yield start, closing, True
        comma = _COMMA.match(text, closing + len(quote)) if bracket else None
        opened = _QUOTE.match(text, comma.end()) if comma else None


def _header(text: str, at: int, kind: str) -> Iterator[Span]:
    """The value of an Authorization or Cookie header, in a request, a dictionary or a list of pairs."""
    separator = _ASSIGN.match(text, at) or _PAIR.match(text, at)
    if not separator:
        return
    opened = _QUOTE.match(text, separator.end())
    start = opened.end() if opened else separator.end()
    if kind == "cookie":
        value = _COOKIE.match(text, start)
    else:
        scheme = _SCHEME.match(text, start)
        start = scheme.end() if scheme else start
        several = scheme and scheme.group()[0] in "DdAa"  # Digest and AWS4 list several values
        value = (_REST if opened or several else _BARE).match(text, start)
        if value and not (scheme or opened or looks_random(value.group())):
            return
    if value and not is_harmless(value.group()):
        yield Span(*value.span(), kind)
