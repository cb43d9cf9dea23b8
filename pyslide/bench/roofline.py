"""How far each stage of SLIDE is from the speed at which this machine moves the bytes that the stage must move."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from pyslide.bench.bandwidth import Bandwidth, measure_bandwidth
from pyslide.bench.cases import COUNTED, WARM_UP, Case
from pyslide.bench.contenders import EngineContender
from pyslide.bench.counts import Counts, mean_counts
from pyslide.bench.processes import in_processes
from pyslide.bench.stages import REBUILD_STATIONS, STATIONS, median_seconds, station_seconds
from pyslide.bench.traffic import EVERY_ROW, REBUILD, STEP, Stage


class StageRoofline(NamedTuple):
    """One stage beside the roofline."""

    stage: str
    milliseconds: float
    megabytes: float  # 10^6 bytes, that it must move
    bandwidth: str  # which of the measured ones
    roofline_milliseconds: float  # for the megabytes, at that bandwidth
    times_roofline: float


class Roofline(NamedTuple):
    """A step and a rebuild beside the roofline."""

    bandwidth: Bandwidth
    counts: Counts
    stages: list[StageRoofline]


class Profiled:
    """SLIDE that says where its time goes, in a process of its own."""

    def __init__(self, case: Case) -> None:
        self.contender = EngineContender(case, hashing=case.hashing)

    def step(self) -> None:
        """Train on one batch."""
        self.contender.step()

    def profile_step(self) -> dict[str, float]:
        """Return the seconds of the stages of a step."""
        return station_seconds(self.contender.step, STATIONS, self.contender.threads)

    def count_step(self) -> Counts:
        """Return the counts of a step, which is not timed: counting brings into the cache what it would fetch."""
        counts = self.contender.counts()
        self.contender.step()
        return counts

    def profile_rebuild(self) -> dict[str, float]:
        """Return the seconds of the stages of a rebuild."""
        return station_seconds(self.contender.rebuild, REBUILD_STATIONS, self.contender.threads)


def measure_roofline(case: Case, steps: int) -> Roofline:
    """Measure the machine's bandwidth and SLIDE's stages in one run.

    Parameters
    ----------
    case : Case
    steps : int
        Profiled steps, after three that are not, and as many rebuilds, five at most.

    Raises
    ------
    ContenderError
        If SLIDE fails.
    """
    bandwidth = measure_bandwidth(case.threads)
    with in_processes({"slide": partial(Profiled, case)}, case.threads) as remotes:
        slide = remotes["slide"]
        for _ in range(WARM_UP):
            slide.ask("step")
        profiles = [slide.ask("profile_step") for _ in range(steps)]
        counts = mean_counts([slide.ask("count_step") for _ in range(COUNTED)])
        rebuilds = [slide.ask("profile_rebuild") for _ in range(min(steps, 5))]
    seconds = {**median_seconds(profiles), **median_seconds(rebuilds)}
    everything = case.conventions.adam_rows == "every_weight"
    return Roofline(bandwidth, counts, beside_roofline(seconds, counts, bandwidth, everything=everything))


def beside_roofline(
    seconds: Mapping[str, float], counts: Counts, bandwidth: Bandwidth, *, everything: bool = False
) -> list[StageRoofline]:
    """Return every measured stage beside what its bytes take, in the order of a step, then of a rebuild.

    Parameters
    ----------
    seconds : mapping of str to float
        By stage.
    counts : Counts
    bandwidth : Bandwidth
    everything : bool
        Whether the optimiser moves all weights of both layers, not the touched rows only.
    """
    stages = {**STEP, **REBUILD}
    everyone = counts._replace(touched=counts.neurons, touched_features=counts.all_features)
    return [
        stage_roofline(name, seconds[name], stage, everyone if everything and name in EVERY_ROW else counts, bandwidth)
        for name, stage in stages.items()
        if name in seconds
    ]


def stage_roofline(
    name: str, seconds: float, stage: Stage, counts: Counts, bandwidth: Bandwidth
) -> StageRoofline:
    """Return one stage beside the time that its bytes take."""
    moved = stage.bytes_of(counts)
    least = moved / float(getattr(bandwidth, stage.kind))
    return StageRoofline(name, 1e3 * seconds, moved / 1e6, stage.kind, 1e3 * least, float(np.divide(seconds, least)))
