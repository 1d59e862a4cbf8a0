"""Reports as text in every output format: one module of this folder per format.

A format is a file `<format>.py` here with a function `render(report, options) -> str`; dropping one in adds it,
there is no list to keep. Modules whose names start with an underscore are helpers of the formats.

    >>> "json" in FORMATS
    True
"""

import os

from diagnoser.errors import UsageError
from diagnoser.model import Report
from diagnoser.records import NamedTuple

__all__ = ["FORMATS", "RenderOptions", "render"]

MINIMUM_WIDTH, MAXIMUM_WIDTH = 40, 200


class RenderOptions(NamedTuple):
    """How a report is to look; what it says does not depend on these, but for `verbosity`."""

    width: int = 80
    """Columns of the terminal; values outside 40 to 200 are brought into that range."""
    color: bool = False
    verbosity: int = 0
    """-1 one line per incident, 0 the usual, 1 everything."""
    unicode: bool = True
    """False for terminals and encodings that hold ASCII only: affects bullets and lines, not quoted text."""
    title: str = ""
    """Heading of formats that have one; the report's own words when empty."""
    command: str = ""
    """The command line that made the report, for formats that say how to repeat it."""


def _format_names() -> tuple[str, ...]:
    """Names of the modules in this folder that are formats, sorted."""
    try:
        names = [name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py")]
    except OSError:  # inside a zip file
        import pkgutil

        names = [module.name for module in pkgutil.iter_modules(__path__)]
    return tuple(sorted(name for name in names if not name.startswith("_")))


FORMATS: tuple[str, ...] = _format_names()
"""Every format that `render` knows."""


def render(report: Report, format: str, options: RenderOptions | None = None) -> str:  # noqa: A002 (the option's name)
    """The report as text that ends with a newline.

    Raises UsageError for a format that does not exist.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; the formats are {', '.join(FORMATS)}")
    from importlib import import_module

    chosen = options or RenderOptions()
    width = min(max(chosen.width, MINIMUM_WIDTH), MAXIMUM_WIDTH)
    text: str = import_module(f"{__name__}.{format}").render(report, chosen._replace(width=width))
    return text if text.endswith("\n") else text + "\n"
