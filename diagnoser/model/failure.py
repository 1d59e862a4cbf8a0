"""What went wrong in one process."""


from diagnoser.model.log import Process
from diagnoser.model.paths import short_path
from diagnoser.model.words import FailureKind, LinkKind
from diagnoser.records import NamedTuple


class Frame(NamedTuple):
    """One entry of a traceback."""

    path: str
    line: int | None
    function: str | None
    code: str | None = None
    """The source text of the entry, lines joined by a newline; None when the log shows none."""
    log_line: int | None = None
    """Where the entry stands in the log."""

    @property
    def file(self) -> str:
        """The path from its package on (`vllm/…`)."""
        return short_path(self.path)


class ExceptionInfo(NamedTuple):
    """One exception as printed."""

    type: str | None
    """As printed, with its module if printed; None for a traceback whose end is missing."""
    message: str = ""
    """All lines joined by a newline."""
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    notes: tuple[str, ...] = ()
    link: LinkKind | None = None
    """How this exception leads to the NEXT one of the chain (the chain is in printed order, oldest first)."""
    process: Process | None = None
    """The writer, where it differs from the failure's own (the remote half of a RayTaskError)."""
    line: int = 0
    end_line: int = 0

    @property
    def frame(self) -> Frame | None:
        """The frame that raised."""
        return self.frames[-1] if self.frames else None

    @property
    def short_type(self) -> str | None:
        """The type without its module."""
        return self.type.rsplit(".", 1)[-1] if self.type else None


class Failure(NamedTuple):
    """Something that went wrong in one process."""

    kind: FailureKind
    process: Process
    source: str
    line: int
    end_line: int
    order: int = 0
    """Position in reading order over all sources."""
    time: str | None = None
    level: str | None = None
    site: str | None = None
    header: str = ""
    """Text of the log record that introduced it (`WorkerProc hit an exception.`); empty for bare text."""
    exceptions: tuple[ExceptionInfo, ...] = ()
    """Oldest first; the last one is what the process reported. Empty for kinds without exceptions."""
    primary: int = -1
    """Index in `exceptions` of the one this failure is about; -1 takes the last."""
    text: str = ""
    """What failed, in the log's words, for kinds without exceptions (all lines)."""
    name: str | None = None
    """Type-like word for kinds without exceptions: a signal (`SIGSEGV`), an exit (`exit code 1`), or None."""
    native_frames: tuple[Frame, ...] = ()
    """Frames of a native backtrace or faulthandler dump, outermost first."""
    outer: tuple[Process, ...] = ()
    fingerprint: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nothing here needs
    """How many equal failures of the same process this one stands for."""
    quoted: bool = False
    """True when it is known only from the text that another process quoted."""
    last: int | None = None
    """Reading order of the last of the equal failures that this one stands for."""

    @property
    def exception(self) -> ExceptionInfo | None:
        """The exception this failure is about."""
        return self.exceptions[self.primary] if self.exceptions else None

    @property
    def type(self) -> str | None:
        """Exception type as printed; the signal's or exit's name otherwise."""
        found = self.exception
        return found.type if found else self.name

    @property
    def message(self) -> str:
        """The whole message."""
        found = self.exception
        return found.message if found else self.text

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Outermost first."""
        found = self.exception
        return found.frames if found else self.native_frames

    @property
    def frame(self) -> Frame | None:
        """The frame that raised."""
        found = self.frames
        return found[-1] if found else None

    @property
    def speaker(self) -> Process:
        """Where the primary exception happened."""
        found = self.exception
        return (found.process if found else None) or self.process
