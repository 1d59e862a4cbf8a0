"""What a log should be read as, written down as JSON, and how a report falls short of it.

Keys, all optional: `verdict` (a word or a list of accepted ones), `impact`, `incidents` (their number, one by default),
`root` (`kind`, `type`, `message`, `file`, `function`, `process`; a list accepts any of its values; a message need only
be part of the root's; null says that there is none), `rule` (the best diagnosis; null says that none may be made),
`confidence` (of the best diagnosis), `also` (rules that must be among the diagnoses), `never` (rules that must not),
`certain` (the only rules that may be certain), `also_on` (names of the other processes), `fetch` (true: the report
must say what to collect).
"""

from __future__ import annotations

from typing import Any


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def shortfalls(report: Any, expected: dict[str, Any]) -> list[str]:
    """One line for each expectation that the report does not meet."""
    found = _plain(report, expected)
    if report.incidents:
        incident = report.incidents[0]
        found += _root(incident.root, expected.get("root", {}))
        found += _diagnoses(incident.diagnoses, expected)
        if "impact" in expected and incident.impact not in listed(expected["impact"]):
            found.append(f"impact {incident.impact}")
        if "also_on" in expected:
            names = [process.name for process in incident.also_on]
            if names != expected["also_on"]:
                found.append(f"also on {names}")
        if expected.get("fetch") and not incident.fetch:
            found.append("does not say what to collect")
    return found


def _plain(report: Any, expected: dict[str, Any]) -> list[str]:
    found = []
    if "verdict" in expected and report.verdict not in listed(expected["verdict"]):
        found.append(f"verdict {report.verdict}")
    calm = {"healthy", "shutdown"} & set(listed(expected.get("verdict", [])))
    wanted = listed(expected.get("incidents", [0, 1] if calm else 1))
    if len(report.incidents) not in wanted:
        found.append(f"{len(report.incidents)} incidents")
    return found


def _root(root: Any, expected: dict[str, Any]) -> list[str]:
    frame = root.frame
    actual = {
        "kind": root.kind,
        "type": root.type,
        "file": frame.file if frame else None,
        "function": frame.function if frame else None,
        "process": root.speaker.name,
    }
    found = [
        f"root {key} {actual[key]!r}" for key in actual if key in expected and actual[key] not in listed(expected[key])
    ]
    if "message" in expected and not any(_holds(root.message, text) for text in listed(expected["message"])):
        found.append(f"root message {root.message[:200]!r}")
    return found


def _holds(message: str, text: str) -> bool:
    return text in message if text else message == ""


def _diagnoses(diagnoses: Any, expected: dict[str, Any]) -> list[str]:
    rules = [(diagnosis.rule, diagnosis.confidence) for diagnosis in diagnoses]
    names = [name for name, _ in rules]
    best = rules[0] if rules else (None, None)
    found = []
    if "rule" in expected and best[0] not in listed(expected["rule"]):
        found.append(f"rules {rules}")
    if "confidence" in expected and best[1] not in listed(expected["confidence"]):
        found.append(f"confidence {best[1]}")
    if "certain" in expected:
        found += [f"certain {name}" for name, sure in rules if sure == "certain" and name not in expected["certain"]]
    found += [f"lacks {name}" for name in expected.get("also", []) if name not in names]
    found += [f"offers {name}" for name in expected.get("never", []) if name in names]
    return found
