"""Drafts a rule from a failure that no rule explains: conditions, a sample and a near miss, ready to be completed.

What varies between deployments (numbers, names in quotes, paths, addresses) becomes a capture or a wildcard; what is
left of the text is matched as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnoser.model import Failure, Frame

LONGEST_SAMPLE = 80
"""Lines of the log that go into a sample."""
LONGEST_PATTERN = 200
TODO = "TODO"
"""Marks what a person has to write; the linter refuses a rule that still holds it."""

_VARYING = re.compile(
    r"(?P<hidden>\[redacted:[^\]\n]{0,80}\])"
    r"|(?P<hex>0x[0-9a-fA-F]+)"
    r"|(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"
    r"|(?P<quoted>(?<!\w)(?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\")(?!\w))"
    r"|(?P<path>(?<![\w.])/[\w.\-/]{3,})"
    r"|(?P<number>\d+(?:[.,]\d+)*)"
)
_FAMILIES = (
    ("mooncake", r"mooncake"),
    ("kv-transfer", r"kv_(?:connector|transfer)|nixl|lmcache"),
    ("moe", r"fused_moe|expert|eplb"),
    ("quantization", r"quantiz"),
    ("ray", r"\bray[./]"),
    ("compile", r"inductor|dynamo|triton|compilation"),
    ("memory", r"out of memory|kv_cache_utils"),
    ("cuda", r"CUDA|cublas|cudnn"),
    ("network", r"socket|zmq|Gloo|NCCL|c10d"),
    ("parallel", r"parallel"),
    ("hub", r"huggingface_hub|modelscope"),
    ("model", r"model_loader|models/|weight"),
    ("config", r"config|arg_utils"),
)
_FILL_WORDS = frozenset({"assert", "self", "the", "and", "for", "not", "is", "none", "error", "with", "must"})


def draft(
    failure: Failure, lines: Sequence[str], *, rule_id: str | None = None, family: str | None = None
) -> tuple[str, str]:
    """Id and TOML text of a rule for a failure; `lines` is the piece of log that shows it."""
    chosen = family or _family(failure)
    identifier = rule_id or _identifier(failure, chosen)
    sample = list(lines[:LONGEST_SAMPLE])
    condition = _condition(failure)
    captures = [name for text in condition.values() for name in re.findall(r"\(\?P<(\w+)>", text)]
    seen = f" The log says: {', '.join(f'{name} = {{{{ {name} }}}}' for name in captures)}." if captures else ""
    parts = [
        f'id       = "{identifier}"',
        f"title    = {_toml(f'{TODO}: what happened, in one line')}",
        'role     = "cause"',
        f'family   = "{chosen}"',
        "# config | capacity | environment | hardware | upstream-bug | client | operator",
        'severity = "config"',
        'status   = "draft"               # reproduced | reported | draft',
        "",
        "cause = '''",
        f"{TODO}: why this fails, in at most five sentences.{seen}",
        "'''",
        "",
        "[[match]]",
        'confidence = "likely"            # certain | likely | possible',
        *(f"{key:<10} = {_toml(text)}" for key, text in condition.items()),
        "",
        "[[remedy]]",
        f"do     = {_toml(f'{TODO}: the first step, the safest one.')}",
        f"verify = {_toml(f'{TODO}: what shows that it worked.')}",
        "",
        "[[sample]]",
        'expect = "match"',
        f"log = {_block(sample)}",
        "",
        "[[sample]]                       # looks alike, but is something else: make it as close as you can",
        'expect = "no-match"',
        f"log = {_block(near_miss(failure, sample))}",
    ]
    return identifier, "\n".join(parts) + "\n"


def near_miss(failure: Failure, lines: Sequence[str]) -> list[str]:
    """The sample with another text where the failure's own stood."""
    found = failure.exception
    texts = [part for part in failure.message.split("\n") if part.strip()]
    code = failure.frame.code if failure.frame else None
    keys = [*texts, *(code.split("\n") if code and "code" in _condition(failure) else [])]
    changed = []
    for line in lines:
        for key in keys:
            if key.strip() and key.strip() in line:
                line = line.replace(key.strip(), "something else went wrong")
        changed.append(line)
    if found and found.type and not texts:
        changed = [line.replace(found.type, f"{found.type}: something else went wrong") for line in changed]
    return changed


def _condition(failure: Failure) -> dict[str, str]:
    """The keys of the one `[[match]]`."""
    if not failure.exceptions:
        key = "log" if failure.kind == "message" or not failure.name else "message"
        text = next((part for part in failure.text.split("\n") if part.strip()), "")
        return {key: pattern_of(text)}
    keys: dict[str, str] = {}
    kind = failure.type
    if kind:
        keys["exception"] = re.escape(kind.rsplit(".", 1)[-1])
    first = next((part for part in failure.message.split("\n") if part.strip()), "")
    if first:
        keys["message"] = pattern_of(first)
    frame = failure.frame
    if frame and frame.code and (not first or len(first) < 24):
        keys["code"] = _squeezed(frame.code.split("\n")[0])
    if frame and frame.function and ("code" in keys or not first):
        keys["frame"] = _place(frame)
    return keys


def pattern_of(text: str) -> str:
    """A pattern for a text of this kind: what varies is captured or skipped, the rest stands as it is."""
    pieces: list[str] = []
    position = number = 0
    for found in _VARYING.finditer(text):
        pieces.append(_squeezed(text[position : found.start()]))
        kind = found.lastgroup
        if kind == "number":
            number += 1
            digits = r"[\d.,]+" if re.search(r"[.,]", found[0]) else r"\d+"
            pieces.append(f"(?P<number{number}>{digits})")
        elif kind == "quoted":
            mark = found[0][0]
            pieces.append(f"{mark}[^{mark}]*{mark}")
        else:
            pieces.append(r"\S+" if kind != "hex" else "0x[0-9a-fA-F]+")
        position = found.end()
        if sum(map(len, pieces)) > LONGEST_PATTERN:
            break
    else:
        pieces.append(_squeezed(text[position:]))
    return "".join(pieces).strip()


def _squeezed(text: str) -> str:
    """The text as a pattern, easy to read: only what has a meaning is escaped."""
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text.strip("\n")[:LONGEST_PATTERN])


def _place(frame: Frame) -> str:
    name = frame.file.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{_squeezed(name)}:{_squeezed(frame.function or '')}$"


def _family(failure: Failure) -> str:
    """The family whose words stand in the failure."""
    places = " ".join(f"{frame.file}:{frame.function}" for frame in failure.frames[-6:])
    text = f"{failure.message[:2000]} {places} {failure.frame.code if failure.frame else ''}"
    return next((family for family, words in _FAMILIES if re.search(words, text, re.IGNORECASE)), "process")


def _identifier(failure: Failure, family: str) -> str:
    """An id from the family and the first telling words of the failure."""
    code = failure.frame.code if failure.frame else None
    source = failure.message or code or failure.type or "failure"
    words = [word for word in re.findall(r"[a-z]+", source.lower()) if len(word) > 2 and word not in _FILL_WORDS]
    return "-".join([family, *words[:4]] if words else [family, "unknown"])


def _toml(text: str) -> str:
    """A one-line TOML string, literal where it can be."""
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    if text.isprintable() and "'''" not in text and not text.startswith("'") and not text.endswith("'"):
        return f"'''{text}'''"
    import json

    return json.dumps(text, ensure_ascii=False)


def _block(lines: Sequence[str]) -> str:
    """A TOML text of several lines."""
    text = "\n".join("".join(c for c in line if c == "\t" or c.isprintable()) for line in lines)
    if "'''" not in text:
        return f"'''\n{text}\n'''"
    return '"""\n' + text.replace("\\", "\\\\").replace('"""', '""\\"') + '\n"""'
