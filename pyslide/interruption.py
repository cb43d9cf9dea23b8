"""Ctrl-C that waits for the end of a step, so that weights and optimiser state fit together."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class DeferredInterrupt:
    """A context in which the first Ctrl-C only sets `requested`; a second one interrupts at once.

    Outside the main thread, where Python delivers no signals, nothing is deferred.
    """

    def __init__(self) -> None:
        self.requested = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __enter__(self) -> DeferredInterrupt:
        """Take over Ctrl-C."""
        self._in_main_thread = threading.current_thread() is threading.main_thread()
        if self._in_main_thread:
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        """Give Ctrl-C back."""
        if self._in_main_thread:
            signal.signal(signal.SIGINT, self._previous)
