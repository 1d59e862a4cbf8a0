"""The JSON Schema of rule files, for editors that complete and check TOML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diagnoser.catalogue.rule import (
    CHOICES,
    CONDITION_KEYS,
    EXPECTATIONS,
    FORBIDDEN_IN_NOT,
    NEAR,
    PATTERN_KEYS,
    REMEDY_KEYS,
    REQUIRED,
    RULE_KEYS,
)
from diagnoser.model import CONFIDENCES

_WORDS = {
    "id": "The file's name without .toml; kebab-case; never used again for something else.",
    "title": "One line that says what happened; no full stop.",
    "role": "cause explains a failure; wrapper passes one on; symptom follows from one; noise is none.",
    "family": "The folder that the file lies in.",
    "severity": "Whose problem it is; cause rules need it.",
    "status": "reproduced in a real run, reported (public report or source), or draft.",
    "fetch": "Wrapper and symptom rules: what to collect when the root is not in this log.",
    "points_to": "Wrapper rules that quote nothing: where the root stands.",
    "impact": "Overrides the computed impact.",
    "cause": "Why it fails; a template.",
    "check": "Subject of `diagnose check` that would have found it before launch.",
    "outranks": "Ids of rules that this one goes before where both hold.",
    "match": "Alternatives: one suffices; inside one, all keys must hold.",
    "remedy": "Ordered steps.",
    "reference": "Where a reader finds more.",
    "sample": "Pieces of log that must, or must not, match.",
    "applies": "Version ranges per package, for example vllm = '>=0.6'; and fixed_in.",
    "fixed_in": "The version that brought the fix.",
    "confidence": "How sure a match is; certain unless given.",
    "exception": "Regular expression for the whole name of the exception; its module may be left out.",
    "message": "Regular expression searched in the message.",
    "code": "Regular expression searched in the source line that raised.",
    "frame": "Regular expression searched in file:function of the frame that raised.",
    "any_frame": "Regular expression searched in file:function of every frame.",
    "log": "Regular expression searched in log records; alone, the record is itself the failure.",
    "near": "Where the log record may stand: in the same process before the failure, or anywhere.",
    "fact": "What the log says of the deployment: a value, or a comparison such as '>1', '==auto', '~regex'.",
    "not": "The same keys, none of which may hold.",
    "do": "What to do; a template.",
    "run": "The command, with values quoted by `| shq`; left out when a value is missing.",
    "verify": "What shows that it worked.",
    "why": "The reason, where it is not plain.",
}


def schema() -> dict[str, Any]:
    """The schema of one rule file (JSON Schema 2020-12)."""
    condition = _object(_condition_properties(), {})
    condition["anyOf"] = [{"required": [key]} for key in PATTERN_KEYS]
    properties: dict[str, Any] = {key: _text(key, CHOICES.get(key)) for key in RULE_KEYS}
    properties["id"]["pattern"] = "^[a-z0-9]+(-[a-z0-9]+)*$"
    properties["outranks"] = {"type": "array", "items": {"type": "string"}, "description": _WORDS["outranks"]}
    properties["applies"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": _WORDS["applies"],
    }
    remedy = _object({key: _text(key) for key in REMEDY_KEYS}, {"required": ["do"]})
    reference = _object({"title": {"type": "string"}, "url": {"type": "string"}}, {"required": ["url"]})
    sample = _object(
        {"expect": {"enum": list(EXPECTATIONS)}, "log": {"type": "string"}}, {"required": ["expect", "log"]}
    )
    for key, items in (("match", condition), ("remedy", remedy), ("reference", reference), ("sample", sample)):
        properties[key] = {"type": "array", "items": items, "description": _WORDS[key]}
    properties["match"]["minItems"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Diagnoser rule",
        "description": "One rule of the catalogue: rules/<family>/<id>.toml",
        **_object(properties, {"required": list(REQUIRED)}),
    }


def _condition_properties() -> dict[str, Any]:
    properties = {key: _text(key) for key in PATTERN_KEYS}
    properties["confidence"] = _text("confidence", CONFIDENCES)
    properties["near"] = _text("near", NEAR)
    properties["fact"] = {
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean"]},
        "description": _WORDS["fact"],
    }
    inner = {key: properties[key] for key in CONDITION_KEYS if key not in FORBIDDEN_IN_NOT}
    properties["not"] = _object(inner, {"minProperties": 1, "description": _WORDS["not"]})
    return properties


def _text(key: str, choices: Sequence[str] | None = None) -> dict[str, Any]:
    kind: dict[str, Any] = {"enum": list(choices)} if choices else {"type": "string"}
    return {**kind, "description": _WORDS[key]} if key in _WORDS else kind


def _object(properties: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}
