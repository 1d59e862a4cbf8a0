"""Tracebacks made short: frames of libraries folded, the frames that matter kept."""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import Frame

_LIBRARIES = lazy(
    r"""(?x)
    (?:^|/)(?:asyncio|concurrent|multiprocessing|threading\.py|contextlib\.py|runpy\.py|functools\.py|importlib|socket\.py|selectors\.py
      |subprocess\.py|queue\.py|typing\.py|json|ssl\.py|http|urllib|pickle\.py|inspect\.py)(?:/|$)
    |^(?:torch|uvloop|uvicorn|starlette|fastapi|anyio|click|typer|ray|pydantic|pydantic_core|numpy|requests|urllib3|httpx|httpcore
      |aiohttp|huggingface_hub|tqdm|cloudpickle|zmq|prometheus_client|prometheus_fastapi_instrumentator|gunicorn|h11)(?:/|$)
    |^<(?:frozen|string|eval)
    |/lib/python3\.\d+/(?!(?:site|dist)-packages/)
    """
)
"""The standard library and what every deployment runs on top of: where an error passes through, not where it begins."""


def is_library(frame: Frame) -> bool:
    """True for frames of the standard library and of general libraries."""
    return bool(_LIBRARIES.search(frame.file) or _LIBRARIES.search(frame.path))


def fold_frames(frames: Sequence[Frame], keep: int = 6) -> list[Frame | int]:
    """The raising frame and the last own frames, outermost first; a number stands for that many folded frames."""
    shown: set[int] = set()
    for index in range(len(frames) - 1, -1, -1):
        if len(shown) >= keep:
            break
        if index == len(frames) - 1 or not is_library(frames[index]):
            shown.add(index)
    folded: list[Frame | int] = []
    for index, frame in enumerate(frames):
        if index in shown:
            folded.append(frame)
        elif folded and isinstance(folded[-1], int):
            folded[-1] += 1
        else:
            folded.append(1)
    return folded
