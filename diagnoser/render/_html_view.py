"""What the HTML templates show, made from the report: short lists with a count of what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from diagnoser.model import Failure, Frame, Incident, Report
from diagnoser.records import NamedTuple
from diagnoser.render._frames import fold_frames
from diagnoser.render._plain import excerpt
from diagnoser.render._timeline import drawing
from diagnoser.render._words import (
    CONFIDENCE,
    IMPACT,
    best,
    fold_symptoms,
    headline,
    place,
    process_label,
    root_place,
    said,
    type_label,
    unknown_steps,
)

MOST = {
    "incidents": 10,
    "brief": 200,
    "diagnoses": 4,
    "evidence": 30,
    "chain": 20,
    "symptoms": 12,
    "runners_up": 5,
    "reasons": 20,
    "timeline": 60,
    "frames": 80,
    "facts": 80,
    "sources": 50,
    "notes": 50,
    "findings": 300,
    "copies": 24,
}
"""How many entries of each list a page shows."""
MESSAGE_LENGTH, TEXT_LENGTH, CODE_LENGTH = 16_000, 2_000, 1_000


class Cut(NamedTuple):
    """A list that may be shorter than what it was made from."""

    items: tuple[Any, ...]
    more: int
    """Entries that are not shown."""


def cut(items: Iterable[Any], name: str) -> Cut:
    """The first entries, as many as `MOST` allows, and how many more there are."""
    everything = tuple(items)
    return Cut(everything[: MOST[name]], max(len(everything) - MOST[name], 0))


class FrameView(NamedTuple):
    """A frame, or a run of folded ones."""

    frame: Frame | None
    folded: tuple[Frame, ...]
    last: bool


def incident_view(incident: Incident, report: Report, number: int) -> dict[str, Any]:
    """Everything a template needs to draw one incident."""
    root, diagnosis = incident.root, best(incident)
    steps = diagnosis.remedies if diagnosis else () if incident.incomplete else unknown_steps(incident, report)
    return {
        "id": f"incident-{number}",
        "number": number,
        "incident": incident,
        "root": root,
        "diagnosis": diagnosis,
        "headline": headline(incident),
        "impact": IMPACT[incident.impact],
        "certainty": CONFIDENCE[diagnosis.confidence] if diagnosis else "",
        "said": excerpt(said(root), MESSAGE_LENGTH),
        "notes": [excerpt(note, TEXT_LENGTH) for note in (root.exception.notes[:20] if root.exception else ())],
        "where": root_place(incident, MOST["copies"]),
        "steps": steps,
        "others": cut(incident.diagnoses[1:], "diagnoses"),
        "evidence": cut(diagnosis.evidence if diagnosis else (), "evidence"),
        "chain": cut(incident.chain, "chain"),
        "root_label": excerpt(type_label(root.type, root.message), TEXT_LENGTH),
        "root_process": process_label(root.speaker),
        "frames": frame_views(root),
        "frames_more": max(len(root.frames) - MOST["frames"], 0),
        "reasons": cut(incident.reasons, "reasons"),
        "symptoms": cut(fold_symptoms(incident.symptoms), "symptoms"),
        "symptom_total": sum(symptom.count for symptom in incident.symptoms),
        "runners_up": cut(incident.runners_up, "runners_up"),
        "drawing": drawing(incident),
        "timeline": cut(incident.timeline, "timeline"),
    }


def frame_views(root: Failure) -> list[FrameView]:
    """The traceback with runs of library frames folded; only the innermost frames when it is very long."""
    frames = root.frames[-MOST["frames"] :]
    views: list[FrameView] = []
    at = 0
    for item in fold_frames(frames, keep=10):
        if isinstance(item, int):
            views.append(FrameView(None, tuple(frames[at : at + item]), False))
            at += item
        else:
            at += 1
            views.append(FrameView(item, (), at == len(frames)))
    return views


def brief(incidents: Sequence[Incident]) -> Cut:
    """One line each for the incidents that are not drawn whole."""
    return cut(
        (
            (
                headline(incident),
                incident.diagnoses[0].title if incident.diagnoses else "",
                place(incident.root.source, incident.root.line),
            )
            for incident in incidents
        ),
        "brief",
    )
