"""Lines and who wrote them."""

from diagnoser.records import NamedTuple


class RawLine(NamedTuple):
    """One physical line as it was read, without its line end."""

    text: str
    source: str
    number: int
    offset: int = 0
    """Bytes before the line in its (decompressed) source."""


class Process(NamedTuple):
    """Who wrote a line. Any part may be unknown; two values are equal when they name the same writer."""

    name: str | None = None
    """As printed, for example `Worker_TP1`."""
    role: str | None = None
    """`Worker`, `EngineCore`, `APIServer`, `launcher`, `raylet`, a Ray actor class, …"""
    pid: int | None = None
    host: str | None = None
    pod: str | None = None
    container: str | None = None
    ranks: tuple[tuple[str, int], ...] = ()
    """Sorted pairs such as `("tp", 1)`; keys: dp, pp, tp, ep, pcp, dcp, rank (the global rank)."""

    @property
    def known(self) -> bool:
        """True when anything at all is known of the writer."""
        return bool(self.name or self.pid is not None or self.role or self.ranks)


UNKNOWN_PROCESS = Process()


class LogRecord(NamedTuple):
    """One physical line after every prefix was taken off."""

    body: str
    source: str
    line: int
    process: Process = UNKNOWN_PROCESS
    time: str | None = None
    level: str | None = None
    """DEBUG, INFO, WARNING, ERROR, CRITICAL or FATAL; None when the line states none."""
    site: str | None = None
    """The logger's place as printed, for example `multiproc_executor.py:597`."""
    format: str = "plain"
    """Name of the innermost envelope that was taken off."""
    repeated: int = 1
    """How many equal lines this one stands for (Ray's `[repeated 3x across cluster]`)."""
    prefixed: bool = False
    """True when an envelope named the writer or the level; False for bare text."""
    outer: tuple[Process, ...] = ()
    """Writers named by outer prefixes, outermost first (`(EngineCore …) (RayWorkerWrapper …)`)."""
