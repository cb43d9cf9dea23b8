"""Objects in processes of their own, which do something when told and are silent else.

In one process PyTorch's threads, which go on spinning after their work is done, would take the cores from whoever has
the next turn.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from pyslide.errors import PyslideError
from pyslide.interruption import DeferredInterrupt, orderly_termination

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Where libraries for linear algebra read how many threads they may start."""
SECONDS_TO_END = 15.0
"""After which a process that was told to end is killed."""
MOMENT = 0.005
"""Seconds; a process that used less than a fifth of them has come to rest."""
PATIENCE = 200
"""Moments after which nobody waits any longer for a process to come to rest."""


class ContenderError(PyslideError):
    """A contender failed in its process, with its traceback, or its process ended without a word."""


class Failure(NamedTuple):
    """What went wrong in another process, as text: not every exception survives the way home."""

    text: str


def come_to_rest() -> None:
    """Wait until no thread of this process works any more, so that the next to have a turn is alone."""
    for _ in range(PATIENCE):
        before = time.process_time()
        time.sleep(MOMENT)
        if time.process_time() - before < MOMENT / 5:
            return


def serve(connection: Connection) -> None:
    """Build an object, call its methods one after the other and send what they return, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    try:
        with orderly_termination(), ExitStack() as ends:
            served = connection.recv()()
            if hasattr(served, "close"):  # it holds more than memory
                ends.callback(served.close)
            connection.send(None)
            while True:
                method, arguments = connection.recv()
                answer = getattr(served, method)(*arguments)
                come_to_rest()
                connection.send(answer)
    except (EOFError, ConnectionError):  # the other end was closed
        return
    except Exception:
        connection.send(Failure(traceback.format_exc()))


class Remote:
    """The near end of an object in another process."""

    def __init__(self, name: str) -> None:
        self.name = name
        context = get_context("spawn")
        self.connection, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far,))  # a daemon could have no workers of its own
        self.process.start()
        far.close()

    def build(self, builder: Callable[[], Any]) -> None:
        """Build the object; what it is built from travels when an interruption already ends the process."""
        self.send(builder)
        self.answer()

    def answer(self) -> Any:
        """Wait for an answer.

        Raises
        ------
        ContenderError
            If there was a fault, or there is nobody to answer.
        """
        try:
            answer = self.connection.recv()
        except (EOFError, ConnectionError) as end:
            self.process.join(SECONDS_TO_END)
            raise ContenderError(
                f"{self.name}: its process ended without a word (exit code {self.process.exitcode}), as the operating "
                "system ends one that takes too much memory"
            ) from end
        if isinstance(answer, Failure):
            raise ContenderError(f"{self.name} failed:\n{answer.text}")
        return answer

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return what a method of the object returns."""
        self.send((method, arguments))
        return self.answer()

    def send(self, message: Any) -> None:
        """Send something; that the process has ended, and why, comes with the answer."""
        with suppress(ConnectionError):
            self.connection.send(message)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.terminate()
        try:
            self.process.join(SECONDS_TO_END)
        finally:  # an impatient Ctrl-C leaves nobody behind
            self.process.kill()
            self.process.join()
        self.connection.close()
        self.process.close()


@contextmanager
def limited_pools(threads: int) -> Iterator[None]:
    """Give a context in which new processes find the number of threads in their environment."""
    before = {name: os.environ.get(name) for name in POOLS}
    os.environ.update(dict.fromkeys(POOLS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def in_processes(builders: Mapping[str, Callable[[], Any]], threads: int) -> Iterator[dict[str, Remote]]:
    """Give objects that were built in processes of their own, one after the other; all end with the context.

    Parameters
    ----------
    builders : mapping of str to callable
        Each can be pickled, and builds the object in its process.  What has a method ``close`` is closed in the end.
    threads : int
        For linear algebra, in each.

    Raises
    ------
    ContenderError
        If one could not be built.
    """
    remotes = {}
    with orderly_termination(), ExitStack() as ends:
        for name, build in builders.items():
            with DeferredInterrupt() as interrupt, limited_pools(threads):  # no process that nobody would end
                remotes[name] = Remote(name)
                ends.callback(remotes[name].end)
            if interrupt.requested:
                raise KeyboardInterrupt
            remotes[name].build(build)
        yield remotes
