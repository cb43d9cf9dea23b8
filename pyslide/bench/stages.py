"""Where the time of a step goes: the seconds that the engine's stations take."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

STATIONS = {
    "network.retrieve": "hash inputs and read buckets",
    "sampling.active_sets": "choose active sets",
    "sampling.log_weights": "weights of random neurons",
    "forward.all_preactivations": "forward, all neurons",
    "forward.preactivations": "forward, active neurons",
    "step.finish_pass": "softmax, targets, loss",
    "step.error_below": "error of the layer below",
    "step.join_passes": "join groups of samples",
    "step.join_errors": "join groups of samples",
    "backward.sampled_gradient": "gradient factors, output",
    "backward.full_gradient": "gradient factors, input",
    "optimizer.update_rows": "optimiser, weights",
    "optimizer.update_biases": "optimiser, biases",
}
"""The functions of `pyslide.engine`, by file, that are stations of a step, and what they do."""
REBUILD_STATIONS = {
    "network.neuron_keys": "rebuild: hash",
    "tables.build_tables": "rebuild: tables",
}
"""Those of a rebuild."""


class Stopwatch:
    """Seconds by station.  What threads do side by side counts by their share of the time that passes meanwhile.

    Parameters
    ----------
    threads : int
        How many there are besides the caller, which waits for them.
    """

    def __init__(self, threads: int) -> None:
        self.threads, self.caller = threads, threading.get_ident()
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, station: str, seconds: float) -> None:
        """Add what one call took in this thread."""
        share = 1 if threading.get_ident() == self.caller else self.threads
        with self._lock:
            self.seconds[station] = self.seconds.get(station, 0.0) + seconds / share

    def watched(self, station: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same under the watch."""

        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.add(station, time.perf_counter() - started)

        return timed


def station(name: str) -> Callable[..., Any]:
    """Return the engine's function of a name such as ``network.retrieve``."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"pyslide.engine.{module}"), function)
    return found


@contextmanager
def replaced(function: Callable[..., Any], other: Callable[..., Any]) -> Iterator[None]:
    """Give a context in which every module of the engine has another function in a function's place."""
    modules = [module for name, module in sys.modules.items() if name.startswith("pyslide.engine.")]
    places = [(module, key) for module in modules for key, value in vars(module).items() if value is function]
    for module, key in places:
        setattr(module, key, other)
    try:
        yield
    finally:
        for module, key in places:
            setattr(module, key, function)


def station_seconds(action: Callable[[], None], stations: Mapping[str, str], threads: int) -> dict[str, float]:
    """Return the seconds that an action spends in each station that it calls, by description, in the stations' order.

    Parameters
    ----------
    action : callable
    stations : mapping of str to str
        From the engine's functions to descriptions; functions may share one.
    threads : int
        Of the action.
    """
    watch = Stopwatch(threads)
    with ExitStack() as stack:
        for name, description in stations.items():
            stack.enter_context(replaced(station(name), watch.watched(description, station(name))))
        action()
    return {name: watch.seconds[name] for name in stations.values() if name in watch.seconds}


def median_seconds(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return each station's median; where one was not called it took no time."""
    names = dict.fromkeys(name for one in measured for name in one)
    return {name: float(np.median([one.get(name, 0.0) for one in measured])) for name in names}
