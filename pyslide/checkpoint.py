"""A run on disk: one ``.npz`` without pickle, written aside and renamed, from which training goes on bit for bit.

Tables are saved as they are: to build them again from weights that have moved since would give others.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.conventions import Conventions
from pyslide.data.writing import written_aside
from pyslide.engine.network import Layer, LayerTables, Network
from pyslide.engine.tables import Tables
from pyslide.engine.vectors import Batch, is_sparse
from pyslide.errors import CheckpointError, PyslideError
from pyslide.npz import read_arrays
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, Trainer, TrainingSettings

SCHEMA = 1
"""The version of the layout below; another one is refused."""
FAMILIES: Mapping[str, type] = {
    "simhash": SimHashParameters,
    "wta": WinnerTakeAllParameters,
    "dwta": DensifiedWinnerTakeAllParameters,
    "minhash": MinHashParameters,
}
"""The parameters of each family that can be saved."""
LAYER_ARRAYS = (
    "weights", "biases", "weight_first", "weight_second", "bias_first", "bias_second", "touches", "bias_touches",
)  # fmt: skip
"""What a layer consists of beside its tables."""
TABLE_ARRAYS = ("addresses", "offsets", "members", "arrivals")
"""What the tables of a layer consist of."""

Arrays = dict[str, npt.NDArray[Any]]


class Model(NamedTuple):
    """A trained network, for evaluation and prediction."""

    network: Network
    settings: TrainingSettings
    label_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    description: Mapping[str, Any]  # epoch, steps, data fingerprint, version


def settings_to_dict(settings: TrainingSettings) -> dict[str, Any]:
    """Return settings as what JSON can hold."""
    return dataclasses.asdict(settings)


def _build(kind: type, values: Mapping[str, Any], name: str) -> Any:
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = set(values) - known
    if unknown:
        raise CheckpointError(f"{name}: unknown setting {', '.join(sorted(unknown))}")
    return kind(**values)


def settings_from_dict(values: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings that `settings_to_dict` wrote.

    Raises
    ------
    CheckpointError
        If a setting is unknown.
    PyslideError
        If a setting lies outside its range.
    """
    values = dict(values)
    values["layers"] = tuple(_layer_settings(layer) for layer in values.get("layers", ()))
    for name, kind in (("optimizer", Optimizer), ("schedule", Schedule), ("conventions", Conventions)):
        if name in values:
            values[name] = _build(kind, values[name], name)
    settings: TrainingSettings = _build(TrainingSettings, values, "settings")
    return settings


def _layer_settings(values: Mapping[str, Any]) -> LayerSettings:
    values = dict(values)
    if values.get("hashing") is not None:
        hashing = dict(values["hashing"])
        if "sampling" in hashing:
            hashing["sampling"] = _build(Sampling, hashing["sampling"], "sampling")
        values["hashing"] = _build(Hashing, hashing, "hashing")
    layer: LayerSettings = _build(LayerSettings, values, "layers")
    return layer


def fingerprint(features: Batch, labels: sparse.csr_array) -> dict[str, Any]:
    """Return what tells one data set from another: shapes, stored elements and checksums."""
    arrays = [*(_parts(features)), *_parts(labels)]
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).tobytes(), checksum)
    return {"features": list(features.shape), "labels": list(labels.shape), "crc32": checksum}


def _parts(matrix: Batch) -> list[npt.NDArray[Any]]:
    if not is_sparse(matrix):
        return [matrix]
    return [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]


def _family_arrays(family: Family, prefix: str) -> Arrays:
    for name, kind in FAMILIES.items():
        if isinstance(family, kind):
            values = {field: np.asarray(value) for field, value in vars(family).items()}
            parts = {f"{prefix}family_{field}": value for field, value in values.items()}
            return {f"{prefix}family": np.array(name), **parts}
    raise CheckpointError(f"a family of the user's own ({type(family).__name__}) cannot be saved")


def _layer_arrays(layer: Layer, prefix: str) -> Arrays:
    arrays: Arrays = {}
    for name in LAYER_ARRAYS:
        array = getattr(layer, name)
        # Layers without tables are kept in Fortran order; their transposes keep it in a file.
        arrays[prefix + name] = array.T if array.ndim == 2 and layer.tables is None else array
    if layer.tables is not None:
        tables = layer.tables
        arrays |= {f"{prefix}tables_{name}": getattr(tables.tables, name) for name in TABLE_ARRAYS}
        arrays |= _family_arrays(tables.family, prefix)
        arrays[prefix + "multipliers"] = tables.multipliers
        arrays[prefix + "failures"] = np.array(tables.densification_failures)
    return arrays


def _trainer_arrays(trainer: Trainer) -> Arrays:
    arrays: Arrays = {"row_order": trainer.row_order}
    for depth, (layer, pool) in enumerate(zip(trainer.network.layers, trainer.pools, strict=True)):
        arrays |= _layer_arrays(layer, f"layer_{depth}_")
        arrays[f"layer_{depth}_pool"] = pool
    return arrays


def _description(trainer: Trainer) -> dict[str, Any]:
    from pyslide import __version__

    return {
        "schema": SCHEMA,
        "version": __version__,
        "settings": settings_to_dict(trainer.settings),
        "steps": trainer.network.steps,
        "epoch": trainer.epoch,
        "position": trainer.position,
        "rebuilds": trainer.rebuilds,
        "streams": {name: generator.bit_generator.state for name, generator in trainer.streams.items()},
        "data": fingerprint(trainer.features, trainer.labels),
        "history": trainer.history,
    }


def _text(value: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def save(
    path: str | Path,
    trainer: Trainer,
    label_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Save a run; the file is whole or not there.

    Parameters
    ----------
    path : str or Path
        Should end in ``.npz``.
    trainer : Trainer
    label_names, feature_names : sequence of str, optional
        Go along for predictions.

    Raises
    ------
    CheckpointError
        If a layer hashes with a family of the user's own.
    """
    arrays = _trainer_arrays(trainer)
    arrays["description"] = _text(_description(trainer))
    arrays["names"] = _text({"labels": _list(label_names), "features": _list(feature_names)})
    with written_aside(Path(path)) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _json(arrays: Arrays, name: str, path: str | Path) -> Any:
    try:
        return json.loads(arrays[name].tobytes())
    except KeyError as fault:
        raise CheckpointError(f"expected a checkpoint, found no part {name!r}", path) from fault
    except ValueError as fault:
        raise CheckpointError(f"part {name!r} is damaged: {fault}", path) from fault


def _described(arrays: Arrays, path: str | Path) -> dict[str, Any]:
    description: dict[str, Any] = _json(arrays, "description", path)
    if description.get("schema") != SCHEMA:
        raise CheckpointError(f"expected schema version {SCHEMA}, got {description.get('schema')}", path)
    return description


def _family(arrays: Arrays, prefix: str) -> Family:
    kind = FAMILIES[str(arrays[prefix + "family"])]
    values = {field.name: arrays[f"{prefix}family_{field.name}"] for field in dataclasses.fields(kind)}
    family: Family = kind(**{name: int(value) if value.ndim == 0 else value for name, value in values.items()})
    return family


def _layer_tables(arrays: Arrays, prefix: str, hashing: Hashing) -> LayerTables:
    parts = {name: arrays[f"{prefix}tables_{name}"] for name in TABLE_ARRAYS}
    return LayerTables(
        _family(arrays, prefix),
        hashing.codes_per_table,
        hashing.table_bits,
        arrays[prefix + "multipliers"],
        hashing.capacity,
        hashing.sampling,
        Tables(**parts, table_bits=hashing.table_bits),
        int(arrays[prefix + "failures"]),
    )


def _layer(arrays: Arrays, depth: int, settings: LayerSettings, path: str | Path) -> Layer:
    prefix = f"layer_{depth}_"
    parts = {name: arrays[prefix + name] for name in LAYER_ARRAYS}
    tables = None if settings.hashing is None else _layer_tables(arrays, prefix, settings.hashing)
    if tables is None:
        parts = {name: part.T if part.ndim == 2 else part for name, part in parts.items()}
    neurons, inputs = parts["weights"].shape
    shapes = {
        "weights": (settings.neurons, inputs),
        "biases": (settings.neurons,),
        "weight_first": (neurons, inputs),
        "weight_second": (neurons, inputs),
        "bias_first": (neurons,),
        "bias_second": (neurons,),
        "touches": (neurons if tables is not None else inputs,),
        "bias_touches": (neurons,),
    }
    for name, shape in shapes.items():
        if parts[name].shape != shape:
            raise CheckpointError(f"part {prefix + name!r}: expected shape {shape}, got {parts[name].shape}", path)
    return Layer(**parts, tables=tables)


def _network(arrays: Arrays, settings: TrainingSettings, steps: int, path: str | Path) -> Network:
    try:
        layers = [_layer(arrays, depth, layer, path) for depth, layer in enumerate(settings.layers)]
    except KeyError as fault:
        raise CheckpointError(f"expected a part {fault.args[0]!r}, found none", path) from fault
    for depth, (below, above) in enumerate(pairwise(layers)):
        if above.weights.shape[1] != below.neurons:
            raise CheckpointError(f"layer {depth + 1} does not take what layer {depth} gives", path)
    return Network(layers, steps)


def _settings(description: Mapping[str, Any], path: str | Path) -> TrainingSettings:
    try:
        return settings_from_dict(description["settings"])
    except (PyslideError, KeyError, TypeError) as fault:
        raise CheckpointError(f"settings: {fault}", path) from fault


def load_model(path: str | Path) -> Model:
    """Read a trained network, without the data that it was trained on.

    Raises
    ------
    CheckpointError
        If the file is no checkpoint, has another schema version, is damaged, or lacks a part.
    FileNotFoundError
        If there is no such file.
    """
    arrays = read_arrays(path, CheckpointError)
    description = _described(arrays, path)
    settings = _settings(description, path)
    names = _json(arrays, "names", path)
    network = _network(arrays, settings, description["steps"], path)
    return Model(network, settings, _tuple(names["labels"]), _tuple(names["features"]), description)


def resume(path: str | Path, features: Batch, labels: sparse.csr_array) -> Trainer:
    """Return the run that was saved, to go on as if it had never stopped.

    Parameters
    ----------
    path : str or Path
    features, labels
        The data of the run.

    Raises
    ------
    CheckpointError
        If the file is no whole checkpoint, or the data are not the run's.
    """
    arrays = read_arrays(path, CheckpointError)
    description = _described(arrays, path)
    settings = _settings(description, path)
    network = _network(arrays, settings, description["steps"], path)
    trainer = Trainer(settings, features, labels, network)
    found = fingerprint(trainer.features, trainer.labels)
    if found != description["data"]:
        raise CheckpointError(f"expected the run's own data {description['data']}, got {found}", path)
    trainer.epoch, trainer.position = description["epoch"], description["position"]
    trainer.rebuilds, trainer.history = description["rebuilds"], description["history"]
    trainer.row_order = arrays["row_order"]
    trainer.pools = [arrays[f"layer_{depth}_pool"] for depth in range(len(settings.layers))]
    for name, state in description["streams"].items():
        trainer.streams[name].bit_generator.state = state
    return trainer
