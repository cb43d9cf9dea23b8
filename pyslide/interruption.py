"""Ctrl-C that waits for the end of a step, so that weights and optimiser state fit together, and an orderly SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
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


@contextmanager
def held_back_interrupts() -> Iterator[None]:
    """Give a context that Ctrl-C waits for; processes that begin in it never hear of one.

    They inherit the mask of signals, which a handler could not give them: it would come after their start.  A system
    without masks has nothing like it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # the start of which would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def orderly_termination() -> Iterator[None]:
    """Give a context in which SIGTERM ends the program like `sys.exit`: what has to be removed in the end is removed.

    Without it the operating system ends the process at once, and its workers and their files stay.  A handler of the
    caller's own is left alone, as is every signal outside the main thread.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
