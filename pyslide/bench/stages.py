"""Where the time of a step goes: cumulative seconds of the engine's stations, from Python's own profiler."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pyslide import engine

STATIONS = {
    "network.retrieve": "hash inputs and read buckets",
    "sampling.active_sets": "choose active sets",
    "sampling.log_weights": "weights of random neurons",
    "forward.all_preactivations": "forward, all neurons",
    "forward.preactivations": "forward, active neurons",
    "step.finish_pass": "softmax, targets, loss",
    "backward.sampled_gradient": "gradient factors, output",
    "backward.full_gradient": "gradient factors, input",
    "step.error_below": "error of the layer below",
    "optimizer.update_rows": "optimiser, weights",
    "optimizer.update_biases": "optimiser, biases",
}
"""The functions of `pyslide.engine`, by file, that are stations of a step, and what they do."""
REBUILD_STATIONS = {
    "network.neuron_keys": "rebuild: hash",
    "tables.build_tables": "rebuild: tables",
}
"""Those of a rebuild."""
ENGINE = Path(engine.__file__).parent


def station_seconds(action: Callable[[], None], stations: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds that an action spends in each station that it calls, by description, in the stations' order.

    The profiler sees the calling thread only, which waits while others work, so that the times are wall time.
    """
    profile = cProfile.Profile()
    profile.enable()
    action()
    profile.disable()
    seconds: dict[str, float] = {}
    for (path, _, function), figures in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        station = f"{Path(path).stem}.{function}"
        if station in stations and Path(path).parent == ENGINE:
            name = stations[station]
            seconds[name] = seconds.get(name, 0.0) + figures[3]
    return {name: seconds[name] for name in stations.values() if name in seconds}


def median_seconds(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return each station's median; where one was not called it took no time."""
    names = dict.fromkeys(name for one in measured for name in one)
    return {name: float(np.median([one.get(name, 0.0) for one in measured])) for name in names}
