"""Tells what a model or its users wrote from what the server has to say.

    {"choices": [{"message": {"role": "assistant", "content": "Traceback (most recent call last):\\n …"}}]}

Prompts and answers are often about errors. An answer printed into the log, a request's body, or a line of a token
stream is data: whatever it quotes did not happen here.
"""

from __future__ import annotations

import re

from diagnoser.lazy import lazy

HEADER = "Traceback (most recent call last)"
_REACH = 4096
"""Characters in which the names are looked for."""
_HEADS = ("{", "[", '"', "'", "data: ")
_NAMES = r"prompt|messages|choices|delta|completion|generated[ _]text|reasoning(?:_content)?|output_text"
_OBJECT = lazy(
    rf"""['"](?:{_NAMES})['"]\s{{0,4}}:|['"]role['"]\s{{0,4}}:\s{{0,4}}['"](?:assistant|user|system|tool|developer)['"]"""
)
"""What an object of the OpenAI or a similar interface holds."""
_MEMBER = lazy(rf"""['"](?:content|text|arguments|{_NAMES})['"]\s{{0,4}}:\s{{0,4}}['"]""")
"""A line of such an object that is printed over several lines."""
_OPENED = lazy(rf"""\b(?:content|{_NAMES})['"]?\s{{0,4}}[:=]\s{{0,4}}[brfu]?\\?['"]""", re.IGNORECASE)
"""Text of that kind begins, in the notation of Python or JSON; case does not count."""


def is_quotation(body: str) -> bool:
    """True for a line of prompts or answers, of which nothing may be taken for a failure."""
    start = body.lstrip(" \t")
    if start.startswith("Prompt: ") and "Generated text: " in start:  # as vLLM's examples of offline use print it
        return True
    if start.startswith(_HEADS):
        if start[0] in "'\"":
            return _MEMBER.match(start, 0, _REACH) is not None
        if _OBJECT.search(start, 0, _REACH) is not None:
            return True
    at = body.find(HEADER)
    return at > 0 and _OPENED.search(body, 0, at) is not None
