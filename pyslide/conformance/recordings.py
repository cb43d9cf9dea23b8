"""Recordings: the weights of a training run after every step, ours with what they may be off, theirs from files."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.conformance.drift import LayerDrift, Off, after_step, at_first
from pyslide.conformance.kinds import decode_fields
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.operations.optimizing import read_optimizer
from pyslide.conformance.operations.trace import build, read_draws, read_network, read_samples, with_policy
from pyslide.conventions import PAPER, Conventions
from pyslide.data.writing import written_aside
from pyslide.errors import FormatError
from pyslide.npz import read_arrays
from pyslide.original_weights import InitialBiasesWarning, read_original
from pyslide.spec.network import Network
from pyslide.spec.step import training_step

NAME = re.compile(r"step(?P<step>\d+)\.layer(?P<layer>\d+)\.(?P<kind>weights|biases)")
"""The name of an array of a recording."""
NUMBERED = re.compile(r"(\d+)\.npz$")
"""A weight file of the original program, with the step in its name."""
Arrays = Mapping[str, FloatArray]
"""Arrays by name."""


class Step(NamedTuple):
    """The weights after a step, by name, and what they may be off."""

    number: int
    arrays: Arrays
    allowed: Arrays


@dataclass(frozen=True, eq=False)
class Departure:
    """The first array that is further off than rounding can explain."""

    step: int
    name: str
    place: tuple[int, ...]
    expected: float
    got: float
    allowed: float

    def __str__(self) -> str:
        """Return it as text."""
        where = "".join(f"[{place}]" for place in self.place)
        return (
            f"first departs at {self.name}{where}: expected {self.expected!r}, got {self.got!r}; "
            f"off by {abs(self.got - self.expected):.3g}, rounding allows {self.allowed:.3g}"
        )


def read_inputs(path: Path) -> dict[str, Any]:
    """Return the inputs of a run: those of ``training_trace`` as JSON, bare or as a line of ``inputs.jsonl``.

    Raises
    ------
    FormatError
        If the file holds no such inputs.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as fault:
        raise FormatError(f"expected the inputs of training_trace as JSON, in one object: {fault}", path) from fault
    inputs = content.get("inputs", content) if isinstance(content, dict) else content
    return decode_fields(OPERATIONS["training_trace"].inputs, inputs, "training_trace")


def recorded(
    given: Mapping[str, Any], conventions: Conventions = PAPER, unit: float = 2.0**-24, theirs: Arrays | None = None
) -> Iterator[Step]:
    """Yield the weights before training and after every step, as the spec trains.

    With somebody's weights every step starts from theirs, so that only what one step does to them is judged: what they
    may be off grows with the optimiser's moments, which a recording does not hold, and not from step to step.

    Parameters
    ----------
    given : mapping
        Decoded inputs of ``training_trace``.
    conventions : Conventions
    unit : float
        u of the precision in which the other run was computed, for what may be off.
    theirs : mapping, optional
        Somebody's weights by name.
    """
    conventions = with_policy(given, conventions)
    network = read_network(given)
    optimizer = read_optimizer(given["optimizer"], given["optimizer"]["rule"])
    builds = {one["after_step"]: one for one in given["builds"]}
    drifts = [at_first(layer, unit) for layer in network.layers]
    for number in range(len(given["steps"]) + 1):
        if number > 0:
            one = given["steps"][number - 1]
            samples = read_samples(one, network.layers[0].weights.shape[1])
            result = training_step(network, samples, read_draws(one), optimizer, conventions)
            drifts = after_step(network.layers, drifts, result, optimizer, conventions, unit)
            network = result.network
        weights = [(layer.weights, layer.biases) for layer in network.layers]
        yield Step(number, by_name(number, weights), by_name(number, [allowed_of(drift) for drift in drifts]))
        network, drifts = taken_over(network, drifts, theirs or {}, number)
        if number in builds:
            network = build(network, builds[number], conventions)


def taken_over(
    network: Network, drifts: list[LayerDrift], theirs: Arrays, number: int
) -> tuple[Network, list[LayerDrift]]:
    """Return the network with somebody's weights after a step, which are off by nothing."""
    layers, known = list(network.layers), list(drifts)
    for depth in range(len(layers)):
        weights, biases = (theirs.get(f"step{number}.layer{depth}.{kind}") for kind in ("weights", "biases"))
        if weights is not None:
            layers[depth] = replace(layers[depth], weights=np.asarray(weights, dtype=np.float64))
            known[depth] = replace(known[depth], weights=settled(known[depth].weights))
        if biases is not None:
            layers[depth] = replace(layers[depth], biases=np.asarray(biases, dtype=np.float64))
            known[depth] = replace(known[depth], biases=settled(known[depth].biases))
    return replace(network, layers=tuple(layers)), known


def settled(off: Off) -> Off:
    """Return what moments may be off whose weights are known."""
    return off._replace(values=np.zeros_like(off.values))


def allowed_of(drift: LayerDrift) -> tuple[FloatArray, FloatArray]:
    """Return what a layer's weights and biases may be off."""
    return drift.weights.values, drift.biases.values


def by_name(number: int, layers: list[tuple[FloatArray, FloatArray]]) -> dict[str, FloatArray]:
    """Return the weights and biases of all layers by name."""
    named: dict[str, FloatArray] = {}
    for depth, (weights, biases) in enumerate(layers):
        named[f"step{number}.layer{depth}.weights"] = weights
        named[f"step{number}.layer{depth}.biases"] = biases
    return named


def write_recording(path: Path, steps: Iterator[Step]) -> None:
    """Write a recording as an ``.npz`` file; whole or not there."""
    arrays = {name: array for step in steps for name, array in step.arrays.items()}
    with written_aside(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_recording(path: Path) -> dict[str, FloatArray]:
    """Return somebody's weights by name.

    Parameters
    ----------
    path : Path
        An ``.npz`` file with arrays such as ``step1.layer0.weights``, or a directory of the original program's weight
        files whose names end with the number of the step (``weights_1.npz``): biases, which it does not save as
        trained, are left out.

    Raises
    ------
    FormatError
        If there are no such arrays or files.
    """
    if path.is_dir():
        return read_original_files(path)
    arrays = read_arrays(path, FormatError)
    unknown = [name for name in arrays if not NAME.fullmatch(name)]
    if unknown or not arrays:
        raise FormatError(f"expected arrays named like step1.layer0.weights, got {unknown[:3] or 'none'}", path)
    return arrays


def read_original_files(directory: Path) -> dict[str, FloatArray]:
    """Return the weights of the original program's files by name."""
    named: dict[str, FloatArray] = {}
    for path in sorted(directory.glob("*.npz")):
        number = NUMBERED.search(path.name)
        if number is None:
            raise FormatError("expected a name that ends with the number of the step, such as weights_1.npz", path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InitialBiasesWarning)
            layers = read_original(path).layers
        for depth, layer in enumerate(layers):
            named[f"step{int(number[1])}.layer{depth}.weights"] = layer.weights
    if not named:
        raise FormatError("expected weight files, found none", directory)
    return named


def first_departure(steps: Iterator[Step], theirs: Arrays) -> Departure | None:
    """Return where somebody's weights are first further off than rounding explains, None for nowhere.

    Raises
    ------
    FormatError
        If an array has another shape than ours, or theirs has arrays that ours has not.
    """
    known: set[str] = set()
    for step in steps:
        known.update(step.arrays)
        for name, ours in step.arrays.items():
            if name in theirs:
                departure = departs(step, name, ours, np.asarray(theirs[name], dtype=np.float64))
                if departure is not None:
                    return departure
    unknown = sorted(set(theirs) - known)
    if unknown:
        raise FormatError(f"expected arrays of the run's steps and layers, got {unknown[0]}")
    return None


def departs(step: Step, name: str, ours: FloatArray, theirs: FloatArray) -> Departure | None:
    """Return the worst element of an array that is too far off, None if none is."""
    if theirs.shape != ours.shape:
        raise FormatError(f"{name}: expected shape {ours.shape}, got {theirs.shape}")
    excess = np.abs(theirs - ours) - step.allowed[name]
    if (excess <= 0).all():  # a NaN is not
        return None
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), excess.shape)
    numbers = (float(array[place]) for array in (ours, theirs, step.allowed[name]))
    return Departure(step.number, name, tuple(int(one) for one in place), *numbers)
