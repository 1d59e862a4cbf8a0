"""Where secrets stand in a text: tokens by their shape, other values by the name that stands before them.

Every search is linear in the text: patterns are anchored at a literal, and what follows a name is read once. Texts
without any of the literals cost a few substring searches and no regular expression.
"""

import re
from collections.abc import Iterator
from functools import cache

from diagnoser.lazy import lazy
from diagnoser.records import NamedTuple


class Span(NamedTuple):
    """A part of a text that must not be shown."""

    start: int
    end: int
    kind: str
    """What it is, kebab-case, for example `hf-token`."""


_TOKENS: tuple[tuple[str, tuple[str, ...], str], ...] = (
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
"""Kind, what the text in lower case must hold, and pattern; compiled when first needed, for the sake of start-up."""
_URL = r"(?<=://)([^\s/@:\"'<>]{0,256})(:[^\s/\"'<>]{1,1024}|)@(?=[\w\[])"
"""`user:password@` or `token@` after `scheme://`."""

_BEARER = r"(?i)(?<![A-Za-z])Bearer\s{1,4}([A-Za-z0-9_.~+/=-]{16,})"
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
        for match in _pattern(pattern).finditer(text)
    ]
    if "://" in lowered and "@" in lowered:
        spans.extend(_in_urls(text))
    if "bearer" in lowered:
        spans.extend(Span(*match.span(1), "authorization") for match in _pattern(_BEARER).finditer(text))
    if any(needle in lowered for needle in _NEEDLES):
        from diagnoser.redaction.names import named_secrets

        spans.extend(named_secrets(text, code))
    return merged(spans)


def may_be_secret_name(name: str) -> bool:
    """False for names that are none for sure, at the cost of a few substring searches."""
    lowered = name.lower()
    return any(needle in lowered for needle in _NEEDLES)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return lazy(text)


def _in_urls(text: str) -> Iterator[Span]:
    from diagnoser.redaction.names import is_harmless, looks_random

    for match in _pattern(_URL).finditer(text):
        user, password = match.group(1), match.group(2)[1:]
        if password and not is_harmless(password):
            yield Span(match.start(2) + 1, match.end(2), "url-password")
        elif user and not password and looks_random(user):
            yield Span(*match.span(1), "url-password")


def merged(spans: list[Span]) -> list[Span]:
    """Spans in order; of two that overlap the earlier one grows over both, of two equal ones the first found stays."""
    if len(spans) < 2:
        return spans
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            if span.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=span.end)
        else:
            merged.append(span)
    return merged
