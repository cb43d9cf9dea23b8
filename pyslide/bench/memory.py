"""Memory: what NumPy holds at most, in copies of the output weights, and what a whole process does."""

from __future__ import annotations

import re
import sys
import tracemalloc
from functools import partial
from pathlib import Path

from pyslide.bench.cases import Case
from pyslide.bench.contenders import EngineContender
from pyslide.bench.processes import in_processes

STATUS = Path("/proc/self/status")
"""Where Linux says what a process uses."""


class Traced:
    """SLIDE under `tracemalloc`, to which NumPy reports its arrays; the data are not counted."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def peak_copies(self) -> float:
        """Return the largest memory of building, three steps and a rebuild, over that of the output weights."""
        tracemalloc.start()
        try:
            contender = EngineContender(self.case, hashing=self.case.hashing)
            for _ in range(3):
                contender.step()
            contender.rebuild()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return peak / contender.trainer.network.layers[-1].weights.nbytes


def peak_copies(case: Case) -> float:
    """Return the peak memory of SLIDE's arrays in copies of the output weights, measured in a process of its own."""
    with in_processes({"slide": partial(Traced, case)}, case.threads) as remotes:
        return float(remotes["slide"].ask("peak_copies"))


def peak_resident_bytes() -> int:
    """Return the largest resident set that this process ever had.

    Linux's own ``ru_maxrss`` of a new process starts at what its parent had; the status of its memory does not.
    """
    if STATUS.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return 1024 * int(found[1])
    import resource  # not on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
