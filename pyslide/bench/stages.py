"""Where the time of a step goes: cumulative seconds of the engine's stations, from Python's own profiler."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

STATIONS = {
    "retrieve": "hash inputs and read buckets",
    "active_sets": "choose active sets",
    "all_preactivations": "forward, all neurons",
    "preactivations": "forward, active neurons",
    "finish_pass": "softmax, targets, loss",
    "sampled_gradient": "gradient factors, output",
    "full_gradient": "gradient factors, input",
    "error_below": "error of the layer below",
    "update_rows": "optimiser, weights",
    "update_biases": "optimiser, biases",
}
"""The functions of `pyslide.engine` that are stations of a step, and what they do."""


def stage_seconds(step: Callable[[], None], repetitions: int) -> dict[str, float]:
    """Return the seconds that a step spends in each station, by its description, averaged over repetitions.

    The profiler sees the calling thread only, which waits while others work, so that the times are wall time.
    """
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(repetitions):
        step()
    profile.disable()
    seconds: dict[str, float] = {}
    for (path, _, function), figures in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if function in STATIONS and "engine" in path:
            name = STATIONS[function]
            seconds[name] = seconds.get(name, 0.0) + figures[3] / repetitions
    return seconds
