"""Several cores for one batch: independent parts of a station run side by side.

NumPy and SciPy release the interpreter's lock inside gathers, products and sorts.  Parts write to places of their own
and are cut in the same way whatever the number of threads, so that it does not change a single bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Threads:
    """So many threads, kept from one station to the next; one thread is none besides the caller's.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
        """Return the results for all parts, in their order.

        An error in one of them is raised here, once no part is worked on any more.  A single part stays in the caller's
        thread.
        """
        parts = list(parts)
        if self._pool is None or len(parts) == 1:
            return list(map(function, parts))
        begun = [self._pool.submit(function, part) for part in parts]
        try:
            return [one.result() for one in begun]
        except BaseException:
            for one in begun:
                one.cancel()
            wait(begun)
            raise

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        """Let a copy have as many threads of its own."""
        return Threads, (self.count,)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


SERIAL = Threads(1)
"""Everything in the caller's thread."""
