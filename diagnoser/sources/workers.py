"""Threads that work for one reader and end with it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence


class Workers:
    """Threads that share what `_changed` guards; they end when they find `_stopped`, at the latest with the program."""

    patience = 1.0
    """Seconds that `stop` waits for a thread; one that is stuck in a read ends with the program."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._stopped = False

    def stop(self) -> None:
        """Ends the threads, unless one is stuck in a read."""
        atexit.unregister(self.stop)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(self.patience)

    def _start(self, works: Sequence[Callable[[], None]]) -> None:
        atexit.register(self.stop)  # a thread in native code must not outlive the interpreter
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()
