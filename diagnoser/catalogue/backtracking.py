"""Finds patterns that take time out of proportion on some text: by their shape, and by trying texts made to hurt.

    danger(r"(\\w+\\s*)+:") == "a repetition inside a repetition can split the same text in many ways: …"
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.trees import REPEATS, endless, members_of, nested, parts

TRIAL_BUDGET = 0.1
"""Seconds of processor time that a pattern may take on one attack text; sane patterns take below a millisecond."""
ATTACK_LENGTH = 3_000
"""Characters of an attack text: a quadratic pattern stays inside the budget, a cubic or exponential one does not."""
MOST_ATTACKS = 48


def danger(pattern: str, length: int = ATTACK_LENGTH) -> str | None:
    """Why a pattern must not be used on texts of up to so many characters, or None."""
    parsed = tree(pattern)
    shape = nested(parsed)
    if shape:
        return shape
    slow = _slow_text(pattern, parsed, length)
    if slow is not None:
        return f"takes more than {TRIAL_BUDGET * 1000:.0f} ms on a text of {length} characters such as {slow!r}…"
    return None


def _slow_text(pattern: str, parsed: Any, length: int) -> str | None:
    """The start of an attack text on which the pattern takes too long."""
    import regex

    compiled = regex.compile(pattern, regex.V0)
    for attack in attacks(parsed, length):
        if _takes_long(compiled, attack):
            return attack[:40]
    return None


def _takes_long(compiled: Any, attack: str) -> bool:
    """Whether a search takes more than its budget of processor time, however busy the machine is."""
    for patience in (3, 30):
        start = time.process_time()
        try:
            compiled.search(attack, timeout=TRIAL_BUDGET * patience)
        except TimeoutError:
            if time.process_time() - start > TRIAL_BUDGET:
                return True
            continue  # it hardly ran: once more, with time to wait for others
        return time.process_time() - start > TRIAL_BUDGET
    return True


def attacks(parsed: Any, length: int = ATTACK_LENGTH) -> Iterator[str]:
    """Texts that start like a match, go on with what the repetitions like, and never end like one."""
    seen: set[str] = set()
    pumps = list(dict.fromkeys([*_pumps(parsed), "a", " ", "0", "("]))
    example = _example(parsed)
    # An engine gives up at once where a literal that it needs is absent, so these follow, out of place.
    tails = ("\x00", "\x00" + "\x00".join(example) + "\x00")
    for pump in pumps:
        for prefix in ("", example):
            for tail in tails:
                text = (prefix + pump * (length // max(1, len(pump))))[:length] + tail
                if text not in seen and len(seen) < MOST_ATTACKS:
                    seen.add(text)
                    yield text


def _pumps(parsed: Iterable[tuple[Any, Any]], before: str = "") -> Iterator[str]:
    """For each endless repetition a text that it takes again and again, alone and with what leads up to it."""
    start = before
    for op, value in parsed:
        name = str(op)
        if name in (*REPEATS, "POSSESSIVE_REPEAT") and endless(value):
            pump = _example(value[2]) or "a"
            yield pump
            if start:
                yield start[-40:] + pump
        for part in parts(name, value):
            yield from _pumps(part, start)
        start += _example([(op, value)])


def _example(parsed: Iterable[tuple[Any, Any]]) -> str:
    """A short text that the items match, roughly."""
    text = ""
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            text += chr(value)
        elif name in ("ANY", "NOT_LITERAL"):
            text += "a"
        elif name == "IN":
            options = members_of(value)
            text += next((character for character in "a0 -_.,:/" if character in options), min(options, default="a"))
        elif name == "SUBPATTERN":
            text += _example(value[3])
        elif name == "ATOMIC_GROUP":
            text += _example(value)
        elif name == "BRANCH":
            text += _example(value[1][0])
        elif name in (*REPEATS, "POSSESSIVE_REPEAT"):
            text += _example(value[2]) * max(1, min(int(value[0]), 64))
    return text
