"""Where secrets stand in a text: tokens by their shape, other values by the name that stands before them.

Every search is linear in the text: patterns are anchored at a literal, and what follows a name is read once. Texts
without any of the literals cost a few substring searches and no regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """A part of a text that must not be shown."""

    start: int
    end: int
    kind: str
    """What it is, kebab-case, for example `hf-token`."""


_TOKENS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, needles, re.compile(pattern))
    for kind, needles, pattern in (
        ("hf-token", ("hf_", "api_org_"), r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{20,}"),
        (
            "api-key",
            ("sk-", "gsk_", "nvapi-", "xai-", "r8_", "pplx-", "k_live_", "sg."),
            r"(?<![A-Za-z0-9_-])(?:sk-(?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{16,}|gsk_[A-Za-z0-9]{20,}"
            r"|(?:nvapi|xai|pplx)-[A-Za-z0-9_-]{20,}|r8_[A-Za-z0-9]{30,}|[sr]k_live_[A-Za-z0-9]{16,}"
            r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
        ),
        (
            "aws-key",
            ("akia", "asia", "abia", "acca"),
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        ),
        (
            "gcp-key",
            ("aiza", "ya29.", "gocspx-"),
            r"(?<![A-Za-z0-9_-])(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})",
        ),
        (
            "azure-key",
            ("q~",),
            r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        ),
        (
            "github-token",
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        ),
        ("gitlab-token", ("gl",), r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_-]{20,}"),
        (
            "slack-token",
            ("xox", "xapp-", "hooks.slack.com"),
            r"(?<![A-Za-z0-9])(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})"
            r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}",
        ),
        (
            "registry-token",
            ("dckr_pat_", "npm_", "pypi-"),
            r"(?<![A-Za-z0-9])(?:dckr_pat_[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36}|pypi-Ag[A-Za-z0-9_-]{40,})",
        ),
        ("jwt", ("eyj",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?"),
        (
            "private-key",
            ("private key-----", "mii"),
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z0-9 ]{0,40}-----)?"
            r"|(?<![A-Za-z0-9+/])MII[A-Za-z0-9+/]{45,}={0,2}",
        ),
    )
)
_URL = re.compile(r"(?<=://)([^\s/@:\"'<>]{0,256})(:[^\s/\"'<>]{1,1024}|)@(?=[\w\[])")
"""`user:password@` or `token@` after `scheme://`."""

_WORD = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|passphrase|pwd|pass|credential|authorization|cookie|signature|sig)(?:s|_?b64)?(?!\w)",
    re.IGNORECASE,
)
_NEEDLES = (
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "_pass",
    "credential",
    "authorization",
    "cookie",
    "sig",
)
_NAME = re.compile(r"[\w.-]*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_STRONG = re.compile(
    r"(?:^|_)(?:passw(?:or)?ds?|passphrase|secrets?|credentials?"
    r"|(?:api|access|secret|account|shared_access|private|signing|encryption|master|license|subscription|auth)_?keys?(?:_b64)?"
    r"|(?:hf|hub|hugging_?face|github|gh|gitlab|slack|access|auth|bearer|refresh|session|api|bot|deploy|secret|security"
    r"|vault|npm|pypi|oauth|jwt|csrf|xsrf|registry|docker|personal|private|wandb|id|service|ray)_?tokens?"
    r"|(?:amz|goog)_(?:signature|credential))$"
)
"""Names whose value is a secret whatever it looks like."""
_WEAK = re.compile(r"(?:^|_)(?:key|token|pass|pwd|sig|signature)$")
"""Names whose value is a secret only if it looks like one: in this field `token` and `key` mean much else."""

_ASSIGN = re.compile(r"""\\{0,3}["'`]?\s{0,4}(?:=>|=|:)\s{0,4}""")
_FLAG = re.compile(r"""\\{0,3}["']?(?:,?\s{1,4}|=)""")
_PAIR = re.compile(r"""\\{0,3}["'],\s{0,4}(?=b["'])""")
"""Between the parts of a header as ASGI servers print it, `(b'authorization', b'Bearer …')`."""
_BRACKET = re.compile(r"[\[(]\s{0,4}")
_QUOTE = re.compile(r"""b?(\\{0,3}["'`])""")
_COMMA = re.compile(r"\s{0,4},\s{0,4}")
_BARE = re.compile(r"""[^\s"'`,;&|(){}\[\]<>\\]+""")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Digest|Negotiate|AWS4-HMAC-SHA256)\s{1,4}", re.IGNORECASE)
_REST = re.compile(r"[^\n\"'\\]+")
_COOKIE = re.compile(r"[^\n\"'\\=]{1,64}=[^\n\"'\\]+")
_BEARER = re.compile(r"(?<![A-Za-z])Bearer\s{1,4}([A-Za-z0-9_.~+/=-]{16,})", re.IGNORECASE)
LONGEST_QUOTED = 4096
"""Characters within which the end of a quoted value is looked for."""

_HARMLESS = re.compile(
    r"(?i)(?:none|null|nil|true|false|empty|undefined|unset|yes|no|str|string|bytes|int|any|optional|union|list|dict"
    r"|secretstr|required|missing|invalid|auto|default|redacted|hidden|masked|x+|\*+|\.+|-+|-?[0-9]{1,3}|%s|\$\{?\w+\}?"
    r"|<.*>|\[?redacted:[a-z-]{1,30}:[0-9]{1,9}\]?)"
)
_DOTTED = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
PROSE = re.compile(r"[A-Za-z][a-z]*[.,:]?(?= +[A-Za-z(])")
"""A word that a sentence goes on after."""
_RANDOM = re.compile(r"[A-Za-z0-9_.~+=%-]{16,}")
_HASH = re.compile(r"[0-9a-f-]+")


def find_secrets(text: str, *, code: bool = False) -> list[Span]:
    """Every secret in the text, in order, none overlapping another.

    `code` says that the text is a line of a program: there, only quoted values count, since what is not quoted is
    the name of a variable.
    """
    lowered = text.lower()
    spans = [
        Span(*match.span(), kind)
        for kind, needles, pattern in _TOKENS
        if any(needle in lowered for needle in needles)
        for match in pattern.finditer(text)
    ]
    if "://" in lowered and "@" in lowered:
        spans.extend(_in_urls(text))
    if "bearer" in lowered:
        spans.extend(Span(*match.span(1), "authorization") for match in _BEARER.finditer(text))
    if any(needle in lowered for needle in _NEEDLES):
        spans.extend(_named(text, code))
    return merged(spans)


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


def _in_urls(text: str) -> Iterator[Span]:
    for match in _URL.finditer(text):
        user, password = match.group(1), match.group(2)[1:]
        if password and not is_harmless(password):
            yield Span(match.start(2) + 1, match.end(2), "url-password")
        elif user and not password and looks_random(user):
            yield Span(*match.span(1), "url-password")


def _named(text: str, code: bool) -> Iterator[Span]:
    """Values that stand behind a telling name, in every notation that logs use."""
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


def merged(spans: list[Span]) -> list[Span]:
    """Spans in order; of two that overlap the earlier one grows over both, of two equal ones the first found stays."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            if span.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=span.end)
        else:
            merged.append(span)
    return merged
