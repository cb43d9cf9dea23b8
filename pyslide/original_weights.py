"""The weight files of the released C++ program: an ``.npz`` with four arrays a layer.

``w_layer_i`` (n, d) weights, ``b_layer_i`` (n,) biases, ``am_layer_i`` and ``av_layer_i`` (n, d) Adam's first and
second moments, float32, uncompressed, for i = 0, 1, ...
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray
from pyslide.data.writing import written_aside
from pyslide.engine.network import Network, new_layer
from pyslide.errors import FormatError
from pyslide.npz import read_arrays

KINDS = ("w", "b", "am", "av")
"""How the program names a layer's weights, biases, first and second moments."""


class OriginalLayer(NamedTuple):
    """One layer of a weight file."""

    weights: FloatArray  # (n, d)
    biases: FloatArray  # (n,)
    first: FloatArray  # (n, d)
    second: FloatArray  # (n, d)


@dataclass(frozen=True, eq=False)
class OriginalWeights:
    """What a weight file holds, from the first layer to the output."""

    layers: tuple[OriginalLayer, ...]


class InitialBiasesWarning(UserWarning):
    """The file holds the biases that training started from, not the trained ones."""


def read_original(path: str | Path) -> OriginalWeights:
    """Read a weight file of the original program (commit c928349).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    OriginalWeights

    Raises
    ------
    FormatError
        If it is no such file, a layer lacks an array, shapes do not fit, or numbers are not finite.
    FileNotFoundError
        If there is no such file.

    Warns
    -----
    InitialBiasesWarning
        Always: the program trains biases that each neuron keeps for itself and saves an array that it never updates.
        Adam's moments of the biases are not saved at all.
    """
    arrays = read_arrays(path, FormatError)
    layers = tuple(_layer(arrays, depth, path) for depth in range(_depth(arrays, path)))
    for depth, (below, above) in enumerate(pairwise(layers)):
        if above.weights.shape[1] != below.weights.shape[0]:
            raise FormatError(
                f"w_layer_{depth + 1}: expected shape (any, {below.weights.shape[0]}), as layer {depth} has that many "
                f"neurons; got {above.weights.shape}",
                path,
            )
    warnings.warn(
        f"{path}: the original program saves the biases it started from, not the trained ones, and no Adam moments "
        "of biases", InitialBiasesWarning, stacklevel=2,
    )  # fmt: skip
    return OriginalWeights(layers)


def _depth(arrays: dict[str, npt.NDArray[Any]], path: str | Path) -> int:
    """The number of layers, by the highest of all arrays: a layer that is missing in between is then noticed."""
    matches = [re.fullmatch(rf"(?:{'|'.join(KINDS)})_layer_(\d+)", name) for name in arrays]
    depths = [int(match[1]) for match in matches if match]
    if not depths:
        raise FormatError("expected arrays w_layer_0, b_layer_0, ..., found none", path)
    if max(depths) >= len(arrays):  # a huge number must not cost a loop
        raise FormatError(f"expected layers 0, 1, ..., got one numbered {max(depths)} in {len(arrays)} arrays", path)
    return max(depths) + 1


def _layer(arrays: dict[str, npt.NDArray[Any]], depth: int, path: str | Path) -> OriginalLayer:
    names = [f"{kind}_layer_{depth}" for kind in KINDS]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise FormatError(f"expected an array {missing[0]}, found none", path)
    layer = OriginalLayer(*(arrays[name] for name in names))
    if layer.weights.ndim != 2 or layer.weights.size == 0:
        raise FormatError(f"{names[0]}: expected two dimensions (neurons, inputs), got {layer.weights.shape}", path)
    shapes = (layer.weights.shape, layer.weights.shape[:1], layer.weights.shape, layer.weights.shape)
    for name, array, shape in zip(names, layer, shapes, strict=True):
        if array.shape != shape:
            raise FormatError(f"{name}: expected shape {shape}, got {array.shape}", path)
        if array.dtype != np.float32:
            raise FormatError(f"{name}: expected float32, got {array.dtype}", path)
        if not np.isfinite(array).all():
            raise FormatError(f"{name}: expected finite numbers, got NaN or infinity", path)
    return layer


def write_original(path: str | Path, network: Network) -> None:
    """Write a network as a weight file of the original program, with its trained biases; whole or not there.

    Tables, the moments of biases and the number of steps have no place in such a file.

    Parameters
    ----------
    path : str or Path
    network : Network

    Raises
    ------
    FormatError
        If the file's name asks for compression, which the original program cannot read.
    """
    path = Path(path)
    if path.suffix == ".gz":
        raise FormatError("expected a name that ends in .npz, got .gz", path)
    arrays = {}
    for depth, layer in enumerate(network.layers):
        parts = (layer.weights, layer.biases, layer.weight_first, layer.weight_second)
        for kind, part in zip(KINDS, parts, strict=True):
            arrays[f"{kind}_layer_{depth}"] = np.ascontiguousarray(part, dtype=np.float32)
    with written_aside(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def to_network(weights: OriginalWeights, steps: int = 0) -> Network:
    """Return the network of a weight file, without tables, to predict with, to compare or to train on.

    Parameters
    ----------
    weights : OriginalWeights
    steps : int
        How many steps it was trained; that is not in the file, and Adam's bias correction depends on it.
    """
    built = []
    for layer in weights.layers:
        fresh = new_layer(layer.weights.copy(), layer.biases.copy(), None)
        fresh.weight_first[:] = layer.first
        fresh.weight_second[:] = layer.second
        built.append(fresh)
    return Network(built, steps)
