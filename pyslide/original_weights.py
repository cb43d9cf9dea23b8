"""The weight files of the released C++ program: an ``.npz`` with four arrays a layer.

``w_layer_i`` (n, d) weights, ``b_layer_i`` (n,) biases, ``am_layer_i`` and ``av_layer_i`` (n, d) Adam's first and
second moments, float32, for i = 0, 1, ...
"""

from __future__ import annotations

import warnings
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.data.writing import written_aside
from pyslide.engine.network import Network, new_layer
from pyslide.errors import FormatError
from pyslide.npz import read_arrays


class OriginalLayer(NamedTuple):
    """One layer of a weight file."""

    weights: FloatArray  # (n, d)
    biases: FloatArray  # (n,)
    first: FloatArray  # (n, d)
    second: FloatArray  # (n, d)


class InitialBiasesWarning(UserWarning):
    """The file holds the biases that training started from, not the trained ones."""


def read_original(path: str | Path) -> tuple[OriginalLayer, ...]:
    """Read a weight file of the original program.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    tuple of OriginalLayer

    Raises
    ------
    FormatError
        If it is no such file, a layer lacks an array, or shapes do not fit.

    Warns
    -----
    InitialBiasesWarning
        Always: the program trains biases that each neuron keeps for itself and saves an array that it never updates.
        Adam's moments of the biases are not saved at all.
    """
    arrays = read_arrays(path, FormatError)
    layers = []
    for depth in count():
        if f"w_layer_{depth}" not in arrays:
            break
        layers.append(_layer(arrays, depth, path))
    if not layers:
        raise FormatError("expected arrays w_layer_0, b_layer_0, ..., found none", path)
    for depth, (below, above) in enumerate(pairwise(layers)):
        if above.weights.shape[1] != below.weights.shape[0]:
            raise FormatError(f"w_layer_{depth + 1} does not take what layer {depth} gives", path)
    warnings.warn(
        f"{path}: the original program saves the biases it started from, not the trained ones", InitialBiasesWarning,
        stacklevel=2,
    )
    return tuple(layers)


def _layer(arrays: dict[str, FloatArray], depth: int, path: str | Path) -> OriginalLayer:
    names = [f"{kind}_layer_{depth}" for kind in ("w", "b", "am", "av")]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise FormatError(f"expected an array {missing[0]}, found none", path)
    layer = OriginalLayer(*(arrays[name] for name in names))
    if layer.weights.ndim != 2:
        raise FormatError(f"{names[0]}: expected two dimensions, got {layer.weights.ndim}", path)
    shapes = (layer.weights.shape, layer.weights.shape[:1], layer.weights.shape, layer.weights.shape)
    for name, array, shape in zip(names, layer, shapes, strict=True):
        if array.shape != shape:
            raise FormatError(f"{name}: expected shape {shape}, got {array.shape}", path)
    return layer


def write_original(path: str | Path, network: Network) -> None:
    """Write a network as a weight file of the original program, with its trained biases.

    Parameters
    ----------
    path : str or Path
    network : Network
    """
    arrays = {}
    for depth, layer in enumerate(network.layers):
        parts = (layer.weights, layer.biases, layer.weight_first, layer.weight_second)
        for kind, part in zip(("w", "b", "am", "av"), parts, strict=True):
            arrays[f"{kind}_layer_{depth}"] = np.ascontiguousarray(part, dtype=np.float32)
    with written_aside(Path(path)) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def to_network(layers: tuple[OriginalLayer, ...]) -> Network:
    """Return the network of a weight file, without tables, to predict with or to compare.

    The steps that it was trained are not in the file.
    """
    built = []
    for layer in layers:
        fresh = new_layer(layer.weights.astype(np.float32), layer.biases.astype(np.float32), None)
        fresh.weight_first[:] = layer.first
        fresh.weight_second[:] = layer.second
        built.append(fresh)
    return Network(built)
