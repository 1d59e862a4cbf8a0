"""Reads the launch line of vLLM, as its own parser would.

    vllm serve example-org/Example-8B -tp 8 --kv-transfer-config '{"kv_connector": "MooncakeConnector"}'

Underscores and dashes are the same, `--option=value`, `--option.key value`, unique beginnings of names and
`--config FILE` are understood. Nothing is run and vLLM need not be installed.
Source: utils/argparse_utils.py of vLLM 0.32.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnoser.errors import InputError
from diagnoser.preflight.deployment import Deployment, OptionProblem
from diagnoser.preflight.known_options import (
    HUMAN_NUMBERS,
    JSON_VALUES,
    LISTS,
    NUMBERS,
    SHORT,
    SWITCHES,
    VALUES,
    WHOLE_NUMBERS,
)
from diagnoser.preflight.numbers import whole

_NEGATIVE = re.compile(r"-\d+(\.\d+)?")
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_STRICT_JSON = JSON_VALUES - {"limit_mm_per_prompt", "compilation_config", "default_mm_loras", "ir_op_priority"}


def parse_arguments(
    arguments: Sequence[str], origin: str, environment: Mapping[str, str] | None = None, *, served: bool = True
) -> Deployment:
    """The deployment that these arguments describe; `served` is True when a bare word first is the model.

    What can't be understood is kept in `problems`, so that one mistake does not hide the others.
    """
    reader = _Reader()
    reader.read(list(arguments), served=served)
    options = reader.options
    model = options.pop("model", None) or reader.model
    tag = options.pop("model_tag", None)
    return Deployment(
        origin,
        str(model or tag) if model or tag else None,
        options,
        dict(environment or {}),
        problems=tuple(reader.problems),
    )


class _Reader:
    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.problems: list[OptionProblem] = []
        self.model: str | None = None

    def read(self, words: list[str], *, served: bool) -> None:
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            if not word.startswith("-") or word == "-" or _NEGATIVE.fullmatch(word):
                if served and self.model is None and word:
                    self.model = word
                elif word:
                    self.problems.append(OptionProblem("unknown", word, problem="stands alone"))
                continue
            name, written, attached, keys = split_option(word)
            values, position = self._values(name, attached, words, position)
            self._take(name, written, keys, values)

    def _values(self, name: str, attached: str | None, words: list[str], position: int) -> tuple[list[str] | None, int]:
        """The values of an option, and where the next one begins; None for a switch."""
        if attached is not None:
            return [attached], position
        if name in SWITCHES or (name not in VALUES and f"no_{name}" in SWITCHES):
            return None, position
        if name.startswith("no_") and name[3:] in SWITCHES:
            return None, position
        values: list[str] = []
        while position < len(words) and not _is_option(words[position]):
            values.append(words[position])
            position += 1
            if name not in LISTS:
                break
        return values or None, position

    def _take(self, name: str, written: str, keys: Sequence[str], values: list[str] | None) -> None:
        known = name in VALUES or name in SWITCHES or (name.startswith("no_") and name[3:] in SWITCHES)
        if name == "help" or name == "version":
            return
        if not known:
            self.problems.append(OptionProblem("unknown", written, " ".join(values or ()), suggestion=_closest(name)))
            return
        if name in SWITCHES:
            self.options[name] = values is None or values[0].lower() not in ("false", "0", "no")
        elif name not in VALUES:
            self.options[name[3:]] = False
        elif not values:
            self.problems.append(OptionProblem("missing-value", written))
        elif name == "config":
            self._pull(written, values[0])
        elif keys:
            self._set_key(name, keys, values[0])
        else:
            self._set(name, written, values)

    def _set(self, name: str, written: str, values: list[str]) -> None:
        if name in LISTS:
            self.options[name] = list(values)
            return
        value, problem = convert(name, values[0])
        if problem is not None:
            self.problems.append(problem._replace(option=written))
            return
        if isinstance(value, dict) and isinstance(self.options.get(name), dict):
            value = {**self.options[name], **value}
        self.options[name] = value

    def _set_key(self, name: str, keys: Sequence[str], text: str) -> None:
        table = self.options.setdefault(name, {})
        if not isinstance(table, dict):
            return
        for key in keys[:-1]:
            inner = table.setdefault(key, {})
            if not isinstance(inner, dict):
                return
            table = inner
        last = keys[-1]
        if last.endswith("+"):
            table.setdefault(last[:-1], []).extend(text.split(","))
        else:
            table[last] = loose_value(text)

    def _pull(self, written: str, path: str) -> None:
        """Options of `--config FILE`; those on the command line, before or after, win."""
        from diagnoser.preflight.reading import read_yaml_documents

        try:
            documents = read_yaml_documents(path)
        except InputError as failure:
            self.problems.append(OptionProblem("file", written, path, str(failure)))
            return
        given = dict(self.options)
        for document in documents[:1]:
            if isinstance(document, dict):
                self.read(list(words_of(document)), served=True)
        self.options.update(given)


def words_of(settings: Mapping[Any, Any]) -> Iterator[str]:
    """A settings file's keys and values as words of a command line."""
    for key, value in settings.items():
        option = f"--{key}"
        if isinstance(value, bool):
            yield option if value else f"--no-{key}"
        elif isinstance(value, list):
            yield option
            yield from (str(item) for item in value)
        elif isinstance(value, dict):
            yield option
            yield json.dumps(value)
        elif value is not None:
            yield option
            yield str(value)


def split_option(word: str) -> tuple[str, str, str | None, tuple[str, ...]]:
    """Canonical name, the option as written, the value attached with `=`, and the keys after dots.

    >>> split_option("--eplb-config.num_redundant_experts=2")
    ('eplb_config', '--eplb-config.num_redundant_experts', '2', ('num_redundant_experts',))
    """
    written, equals, attached = word.partition("=")
    value = attached if equals else None
    if not word.startswith("--"):
        return _short(written, value)
    name, *keys = written[2:].split(".")
    name = name.replace("-", "_")
    return _whole_name(name), written, value, tuple(keys)


def _short(written: str, value: str | None) -> tuple[str, str, str | None, tuple[str, ...]]:
    name, *keys = written[1:].split(".")
    if name in SHORT:
        return SHORT[name], written, value, tuple(keys)
    if name[:1] == "O":
        return "optimization_level", "-O", value if value is not None else name[1:], ()
    return name, written, value, tuple(keys)


def _whole_name(name: str) -> str:
    """The option that a unique beginning stands for."""
    if name in VALUES or name in SWITCHES or name in ("help", "version"):
        return name
    bare = name.removeprefix("no_")
    if bare in SWITCHES:
        return name
    found = [known for known in (*VALUES, *SWITCHES) if known.startswith(name)]
    return found[0] if len(found) == 1 else name


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NEGATIVE.fullmatch(word)


def _closest(name: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, (*VALUES, *SWITCHES), n=1, cutoff=0.86)
    return f"--{found[0].replace('_', '-')}" if found else ""


def convert(name: str, text: str) -> tuple[Any, OptionProblem | None]:
    """The value of an option in its own type, or what is wrong with it."""
    if name in WHOLE_NUMBERS:
        return _whole_number(name, text)
    if name in NUMBERS:
        try:
            return float(text), None
        except ValueError:
            return None, OptionProblem("value", name, text, "is not a number", "a number")
    if name in JSON_VALUES:
        return _json(name, text)
    return text, None


def _whole_number(name: str, text: str) -> tuple[Any, OptionProblem | None]:
    number = whole(text)
    if number is None and name in HUMAN_NUMBERS:
        if text.lower() == "auto":
            return -1, None
        if found := _HUMAN.fullmatch(text.strip()):
            base = 1024 if found[2].isupper() else 1000
            return int(float(found[1]) * base ** ("kmgt".index(found[2].lower()) + 1)), None
    if number is None:
        return None, OptionProblem("value", name, text, "is not a whole number", "a whole number")
    return number, None


def _json(name: str, text: str) -> tuple[Any, OptionProblem | None]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as failure:
        if name not in _STRICT_JSON:
            return text, None
        where = f"{failure.msg} at character {failure.pos + 1}"
        return None, OptionProblem("json", name, text, where, _json_hint(text))
    except RecursionError:
        return None, OptionProblem("json", name, text[:200], "nested too deeply", "")
    except ValueError:
        return None, OptionProblem("json", name, text[:200], "holds a number that is too long", "")
    if not isinstance(value, dict) and name in _STRICT_JSON:
        return None, OptionProblem("json", name, text, "is valid JSON, but no object", 'an object: {"key": "value"}')
    return value, None


def _json_hint(text: str) -> str:
    if text.lstrip().startswith("{'") or re.match(r"\{\s*\w+\s*:", text):
        return "JSON needs double quotes around names and texts; put single quotes around the whole value in a shell"
    if text.count("{") > text.count("}"):
        return "a closing brace is missing; an unquoted value ends at the first blank"
    return ""


def loose_value(text: str) -> Any:
    """A value that may be JSON, a size such as `80g`, or plain text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if found := _HUMAN.fullmatch(text.strip()[:40]):
        base = 1024 if found[2].isupper() else 1000
        return int(float(found[1]) * base ** ("kmgt".index(found[2].lower()) + 1))
    return text
