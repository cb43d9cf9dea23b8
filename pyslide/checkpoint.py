"""A run on disk: one ``.npz`` without pickle, written aside and renamed, from which training goes on bit for bit.

Tables are saved as they are: to build them again from weights that have moved since would give others.  What is no
array is JSON in UTF-8 bytes: ``description``, ``names``, and ``history`` with one row a line.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray, require_ids, require_rising, require_shape
from pyslide.building import layer_candidates
from pyslide.conventions import Conventions
from pyslide.data.writing import written_aside
from pyslide.engine.network import Layer, LayerTables, Network
from pyslide.engine.tables import Tables
from pyslide.engine.vectors import Batch, is_sparse
from pyslide.errors import CheckpointError, OutOfRangeError, PyslideError
from pyslide.history import Row
from pyslide.npz import read_arrays
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import STREAMS, Schedule, Trainer, TrainingSettings

SCHEMA = 2
"""The version of the layout below; another one is refused."""
FAMILIES: Mapping[str, type] = {
    "simhash": SimHashParameters,
    "wta": WinnerTakeAllParameters,
    "dwta": DensifiedWinnerTakeAllParameters,
    "minhash": MinHashParameters,
}
"""The parameters of each family that can be saved."""
FAMILY_NUMBERS = ("dimension", "kept")
"""Parameters of a family that are numbers and no arrays."""
LAYER_ARRAYS = (
    "weights", "biases", "weight_first", "weight_second", "bias_first", "bias_second", "touches", "bias_touches",
)  # fmt: skip
"""What a layer consists of beside its tables."""
TABLE_ARRAYS = ("addresses", "offsets", "members", "arrivals")
"""What the tables of a layer consist of."""
DESCRIPTION: Mapping[str, type] = {
    "version": str, "settings": dict, "steps": int, "epoch": int, "position": int, "rebuilds": int,
    "streams": dict, "data": dict,
}  # fmt: skip
"""What the description says beside the schema version; numbers count something."""
SETTING_KINDS: Mapping[str, type] = {"int": Integral, "float": Real, "str": str, "bool": bool}
"""What may stand for a setting, by the annotation of its field."""

Arrays = dict[str, npt.NDArray[Any]]


class Model(NamedTuple):
    """A trained network, for evaluation and prediction."""

    network: Network
    settings: TrainingSettings
    label_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    description: Mapping[str, Any]  # what `DESCRIPTION` lists


class Checkpoint(NamedTuple):
    """A run as it was saved: a model, and where the run stood."""

    model: Model
    epoch: int
    position: int  # rows of the epoch that were seen
    rebuilds: int
    row_order: IntArray  # (rows,)
    pools: tuple[IntArray, ...]  # for each layer (n,) with tables, (0,) without
    streams: Mapping[str, Any]  # state of each random stream
    data: Mapping[str, Any]  # the fingerprint of the data
    history: list[Row]


# --- settings as JSON


def settings_to_dict(settings: TrainingSettings) -> dict[str, Any]:
    """Return settings as what JSON can hold."""
    return dataclasses.asdict(settings)


def settings_from_dict(values: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings that `settings_to_dict` wrote.

    Raises
    ------
    CheckpointError
        If a setting is unknown or of another kind.
    PyslideError
        If a setting lies outside its range.
    """
    values = _mapping(values, "settings")
    layers = values.get("layers", ())
    if not isinstance(layers, list | tuple):
        raise CheckpointError(f"layers: expected a list of layers, got {layers!r}")
    values["layers"] = tuple(_layer_settings(layer) for layer in layers)
    for name, kind in (("optimizer", Optimizer), ("schedule", Schedule), ("conventions", Conventions)):
        if name in values:
            values[name] = _build(kind, values[name], name)
    settings: TrainingSettings = _build(TrainingSettings, values, "settings")
    return settings


def _layer_settings(values: Mapping[str, Any]) -> LayerSettings:
    values = _mapping(values, "layers")
    if values.get("hashing") is not None:
        hashing = _mapping(values["hashing"], "hashing")
        if "sampling" in hashing:
            hashing["sampling"] = _build(Sampling, hashing["sampling"], "sampling")
        values["hashing"] = _build(Hashing, hashing, "hashing")
    if values.get("candidates") is not None:
        values["candidates"] = _build(CandidateSampling, values["candidates"], "candidates")
    layer: LayerSettings = _build(LayerSettings, values, "layers")
    return layer


def _mapping(values: Any, name: str) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise CheckpointError(f"{name}: expected settings by name, got {values!r}")
    return dict(values)


def _build(kind: type, values: Mapping[str, Any], name: str) -> Any:
    values = _mapping(values, name)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = set(values) - set(fields)
    if unknown:
        raise CheckpointError(f"{name}: unknown setting {', '.join(sorted(unknown))}")
    for key, value in values.items():
        wanted = SETTING_KINDS.get(str(fields[key].type), object)
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted not in (bool, object)):
            raise CheckpointError(f"{name}: expected {key} to be of type {fields[key].type}, got {value!r}")
    missing = [
        key for key, field in fields.items()
        if key not in values and field.default is field.default_factory is dataclasses.MISSING
    ]  # fmt: skip
    if missing:
        raise CheckpointError(f"{name}: expected a setting {missing[0]}, found none")
    return kind(**values)


# --- the data, recognised without being kept


def fingerprint(
    features: Batch, labels: sparse.csr_array, sample_weights: FloatArray | None = None
) -> dict[str, Any]:
    """Return what tells one data set from another: shapes, stored elements and a checksum."""
    checksum = 0
    weights = [] if sample_weights is None else [sample_weights]
    for array in (*_parts_of(features), *_parts_of(labels), *weights):
        checksum = zlib.crc32(np.ascontiguousarray(array).data.cast("B") if array.size else b"", checksum)
    return {
        "features": [int(length) for length in features.shape],
        "labels": [int(length) for length in labels.shape],
        "stored": [int(_parts_of(matrix)[-1].size) for matrix in (features, labels)],
        "crc32": checksum,
    }


def _parts_of(matrix: Batch) -> list[npt.NDArray[Any]]:
    if not is_sparse(matrix):
        return [matrix]
    # Index arrays are 32 or 64 bits wide as SciPy finds fit; that is no other data.
    return [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]


# --- writing


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
        If a layer hashes with a family of the user's own, there are too few or too many names, the history holds
        what JSON cannot, or the file's name asks for compression.
    """
    path = Path(path)
    if path.suffix == ".gz":
        raise CheckpointError("expected a name that ends in .npz, got .gz", path)
    try:
        arrays = _trainer_arrays(trainer)
        arrays["names"] = _text(_names(trainer, label_names, feature_names))
        arrays["description"] = _text(_description(trainer))
        arrays["history"] = _lines(trainer.history)
    except CheckpointError as fault:
        raise CheckpointError(str(fault), path) from fault
    except (TypeError, ValueError) as fault:
        raise CheckpointError(f"expected what JSON can hold: {fault}", path) from fault
    with written_aside(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _names(
    trainer: Trainer, label_names: Sequence[str] | None, feature_names: Sequence[str] | None
) -> dict[str, list[str] | None]:
    wanted = {"labels": trainer.network.layers[-1].neurons, "features": trainer.network.layers[0].weights.shape[1]}
    names = {"labels": _list(label_names), "features": _list(feature_names)}
    for kind, given in names.items():
        if given is not None and len(given) != wanted[kind]:
            raise CheckpointError(f"names of {kind}: expected {wanted[kind]}, got {len(given)}")
    return names


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]


def _trainer_arrays(trainer: Trainer) -> Arrays:
    arrays: Arrays = {"row_order": trainer.row_order}
    for depth, (layer, pool) in enumerate(zip(trainer.network.layers, trainer.pools, strict=True)):
        arrays |= _layer_arrays(layer, f"layer_{depth}_")
        arrays[f"layer_{depth}_pool"] = pool
    return arrays


def _layer_arrays(layer: Layer, prefix: str) -> Arrays:
    arrays: Arrays = {}
    for name in LAYER_ARRAYS:
        array = getattr(layer, name)
        # Layers whose neurons are all active are kept in Fortran order; their transposes keep it in a file.
        arrays[prefix + name] = array.T if array.ndim == 2 and not layer.sampled else array
    if layer.candidates is not None:
        arrays[prefix + "classes"] = layer.candidates.classes
    if layer.tables is not None:
        tables = layer.tables
        arrays |= {f"{prefix}tables_{name}": getattr(tables.tables, name) for name in TABLE_ARRAYS}
        arrays |= _family_arrays(tables.family, prefix)
        arrays[prefix + "multipliers"] = tables.multipliers
        arrays[prefix + "failures"] = np.array(tables.densification_failures)
    return arrays


def _family_arrays(family: Family, prefix: str) -> Arrays:
    names = [name for name, kind in FAMILIES.items() if type(family) is kind]  # a subclass may hash in another way
    if not names:
        raise CheckpointError(f"a family of the user's own ({type(family).__name__}) cannot be saved")
    fields = [field.name for field in dataclasses.fields(FAMILIES[names[0]])]
    parts = {f"{prefix}family_{field}": np.asarray(getattr(family, field)) for field in fields}
    return {f"{prefix}family": np.array(names[0]), **parts}


def _description(trainer: Trainer) -> dict[str, Any]:
    from pyslide import __version__  # the package imports its rooms, not they it

    return {
        "schema": SCHEMA,
        "version": __version__,
        "settings": settings_to_dict(trainer.settings),
        "steps": trainer.network.steps,
        "epoch": trainer.epoch,
        "position": trainer.position,
        "rebuilds": trainer.rebuilds,
        "streams": {name: generator.bit_generator.state for name, generator in trainer.streams.items()},
        "data": fingerprint(trainer.features, trainer.labels, trainer.sample_weights),
    }


def _plain(value: Any) -> Any:
    """Return a NumPy number as Python's, the same number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise CheckpointError(f"expected what JSON can hold, got {value!r}")


def _text(value: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, default=_plain).encode(), dtype=np.uint8)


def _lines(rows: Sequence[Row]) -> npt.NDArray[np.uint8]:
    lines = [json.dumps(dict(row), default=_plain) + "\n" for row in rows]
    return np.frombuffer("".join(lines).encode(), dtype=np.uint8)


# --- reading


class _Parts:
    """The parts of a checkpoint, each checked as it is taken out."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.arrays = read_arrays(path, CheckpointError)

    def damage(self, name: str, message: str) -> CheckpointError:
        """Return the error for a part."""
        return CheckpointError(f"part {name!r}: {message}", self.path)

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn what is found wrong in a block into the error for a part."""
        try:
            yield
        except (PyslideError, ValueError, TypeError, KeyError, OverflowError) as fault:
            raise self.damage(name, str(fault)) from fault

    def array(self, name: str, shape: tuple[int | None, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a part of a shape and of a type of number, exact or abstract."""
        if name not in self.arrays:
            raise CheckpointError(f"expected a part {name!r}, found none", self.path)
        array = self.arrays[name]
        fits = array.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = str(shape).replace("None", "any")
            raise self.damage(name, f"expected shape {wanted}, got {array.shape}")
        if not np.issubdtype(array.dtype, dtype):
            raise self.damage(name, f"expected numbers of type {getattr(dtype, '__name__', dtype)}, got {array.dtype}")
        return array

    def whole_numbers(self, name: str, shape: tuple[int | None, ...]) -> IntArray:
        """Return a part that holds integers."""
        array = self.array(name, shape, np.generic)
        if array.dtype.kind not in "iu":
            raise self.damage(name, f"expected integers, got {array.dtype}")
        return array

    def order(self, name: str, count: int) -> IntArray:
        """Return a part that holds each of 0..count-1 once."""
        order = self.whole_numbers(name, (count,))
        if not np.array_equal(np.sort(order), np.arange(count)):
            raise self.damage(name, f"expected each of 0..{count - 1} once")
        return order

    def bytes(self, name: str) -> bytes:
        """Return a part that holds text."""
        return self.array(name, (None,), np.uint8).tobytes()

    def json(self, name: str) -> dict[str, Any]:
        """Return a part that holds one JSON object."""
        text = self.bytes(name)
        try:
            value = json.loads(text)
        except ValueError as fault:
            raise self.damage(name, f"damaged: {fault}") from fault
        if not isinstance(value, dict):
            raise self.damage(name, f"expected a JSON object, got {type(value).__name__}")
        return value


def load_model(path: str | Path) -> Model:
    """Read a trained network, without the data that it was trained on.

    Raises
    ------
    CheckpointError
        If the file is no checkpoint, has another schema version, is damaged, or lacks a part.
    FileNotFoundError
        If there is no such file.
    """
    return _model(_Parts(path))


def load(path: str | Path) -> Checkpoint:
    """Read all that was saved of a run; `resume` is what goes on with it.

    Raises
    ------
    CheckpointError
        If the file is no checkpoint, has another schema version, is damaged, or lacks a part.
    FileNotFoundError
        If there is no such file.
    """
    parts = _Parts(path)
    model = _model(parts)
    said = model.description
    row_order = parts.order("row_order", parts.whole_numbers("row_order", (None,)).size)
    if said["position"] >= row_order.size:
        raise parts.damage("description", f"position: expected less than {row_order.size}, got {said['position']}")
    if set(said["streams"]) != set(STREAMS):
        raise parts.damage("description", f"streams: expected {', '.join(STREAMS)}, got {', '.join(said['streams'])}")
    pools = tuple(
        parts.order(f"layer_{depth}_pool", 0 if layer.tables is None else layer.neurons)
        for depth, layer in enumerate(model.network.layers)
    )
    return Checkpoint(
        model, said["epoch"], said["position"], said["rebuilds"], row_order, pools, said["streams"], said["data"],
        _history(parts),
    )  # fmt: skip


def resume(
    path: str | Path, features: Batch, labels: sparse.csr_array, sample_weights: FloatArray | None = None
) -> Trainer:
    """Return the run that was saved, to go on as if it had never stopped.

    Parameters
    ----------
    path : str or Path
    features, labels, sample_weights
        The data of the run, with weights if it had some.

    Raises
    ------
    CheckpointError
        If the file is no whole checkpoint, or the data are not the run's.
    """
    saved = load(path)
    _require_own_data(saved, {"features": list(features.shape), "labels": list(labels.shape)}, path)
    trainer = Trainer(saved.model.settings, features, labels, saved.model.network, sample_weights)
    _require_own_data(saved, fingerprint(trainer.features, trainer.labels, trainer.sample_weights), path)
    trainer.epoch, trainer.position, trainer.rebuilds = saved.epoch, saved.position, saved.rebuilds
    trainer.row_order, trainer.pools, trainer.history = saved.row_order, list(saved.pools), saved.history
    for name, state in saved.streams.items():
        try:
            trainer.streams[name].bit_generator.state = state
        except (ValueError, TypeError, KeyError, OverflowError) as fault:
            raise CheckpointError(f"part 'description': stream {name!r}: {fault}", path) from fault
    return trainer


def _require_own_data(saved: Checkpoint, found: Mapping[str, Any], path: str | Path) -> None:
    for name, value in found.items():
        if saved.data.get(name) != value:
            raise CheckpointError(f"expected the run's own data {dict(saved.data)}, got {dict(found)}", path)


def _model(parts: _Parts) -> Model:
    description = _described(parts)
    with parts.reading("description, settings"):
        settings = settings_from_dict(description["settings"])
    network = _network(parts, settings, description["steps"])
    names = parts.json("names")
    labels = _names_of(parts, names, "labels", network.layers[-1].neurons)
    features = _names_of(parts, names, "features", network.layers[0].weights.shape[1])
    return Model(network, settings, labels, features, description)


def _described(parts: _Parts) -> dict[str, Any]:
    description = parts.json("description")
    schema = description.get("schema")
    if schema != SCHEMA:
        raise CheckpointError(f"expected schema version {SCHEMA}, got {schema}", parts.path)
    for name, kind in DESCRIPTION.items():
        value = description.get(name)
        negative = isinstance(value, int) and value < 0
        if negative or not isinstance(value, kind) or isinstance(value, bool):
            wanted = "a count" if kind is int else kind.__name__
            raise parts.damage("description", f"{name}: expected {wanted}, got {value!r}")
    return description


def _names_of(parts: _Parts, names: Mapping[str, Any], kind: str, count: int) -> tuple[str, ...] | None:
    found = names.get(kind)
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != count or not all(isinstance(name, str) for name in found):
        raise parts.damage("names", f"{kind}: expected {count} names")
    return tuple(found)


def _history(parts: _Parts) -> list[Row]:
    try:
        rows = [json.loads(line) for line in parts.bytes("history").splitlines()]
    except ValueError as fault:
        raise parts.damage("history", f"damaged: {fault}") from fault
    if not all(isinstance(row, dict) for row in rows):
        raise parts.damage("history", "expected a JSON object in each line")
    return rows


def _network(parts: _Parts, settings: TrainingSettings, steps: int) -> Network:
    layers = [_layer(parts, f"layer_{depth}_", settings, layer) for depth, layer in enumerate(settings.layers)]
    for depth, (below, above) in enumerate(pairwise(layers)):
        if above.weights.shape[1] != below.neurons:
            raise CheckpointError(f"layer {depth + 1} does not take what layer {depth} gives", parts.path)
    return Network(layers, steps)


def _layer(parts: _Parts, prefix: str, settings: TrainingSettings, layer: LayerSettings) -> Layer:
    sampled, neurons = layer.sampled, layer.neurons
    stored = parts.array(prefix + "weights", (neurons, None) if sampled else (None, neurons), settings.dtype).shape
    inputs = stored[1 if sampled else 0]
    column, touched = (neurons,), stored[:1]  # an optimiser's rows come first in the file, too
    shapes = (stored, column, stored, stored, column, column, touched, column)
    arrays: dict[str, Any] = {
        name: parts.array(prefix + name, shape, np.int64 if name.endswith("touches") else settings.dtype)
        for name, shape in zip(LAYER_ARRAYS, shapes, strict=True)
    }
    if layer.candidates is not None:
        classes = parts.order(prefix + "classes", neurons)
        return Layer(**arrays, tables=None, candidates=layer_candidates(layer.candidates, classes))
    if layer.hashing is None:
        return Layer(**{name: array.T if array.ndim == 2 else array for name, array in arrays.items()}, tables=None)
    vector = inputs + (settings.conventions.bias_hashing == "hashed")
    return Layer(**arrays, tables=_layer_tables(parts, prefix, layer.hashing, neurons, vector))


def _layer_tables(parts: _Parts, prefix: str, hashing: Hashing, neurons: int, dimension: int) -> LayerTables:
    return LayerTables(
        _family(parts, prefix, hashing, dimension),
        hashing.codes_per_table,
        hashing.table_bits,
        parts.array(prefix + "multipliers", (hashing.tables,), np.uint64),
        hashing.capacity,
        hashing.sampling,
        _tables(parts, prefix + "tables_", hashing, neurons),
        int(parts.whole_numbers(prefix + "failures", ())),
    )


def _tables(parts: _Parts, prefix: str, hashing: Hashing, neurons: int) -> Tables:
    arrays = {name: parts.whole_numbers(prefix + name, (None,)) for name in TABLE_ARRAYS}
    tables = Tables(**arrays, table_bits=hashing.table_bits)
    buckets = tables.addresses.size
    with parts.reading(prefix + "addresses"):
        require_ids(tables.addresses, hashing.tables << hashing.table_bits, "addresses")
        require_rising(tables.addresses, "addresses")
    with parts.reading(prefix + "offsets"):
        require_shape(tables.offsets, (buckets + 1,), "offsets")
        if tables.offsets[0] != 0 or tables.offsets[-1] != tables.members.size or (tables.sizes < 0).any():
            raise OutOfRangeError(f"offsets: expected them to rise from 0 to {tables.members.size}")
    with parts.reading(prefix + "members"):
        require_ids(tables.members, neurons, "members")
    with parts.reading(prefix + "arrivals"):
        require_shape(tables.arrivals, (buckets,), "arrivals")
    return tables


def _family(parts: _Parts, prefix: str, hashing: Hashing, dimension: int) -> Family:
    name = str(parts.array(prefix + "family", (), np.str_))
    if name not in FAMILIES:
        raise parts.damage(prefix + "family", f"expected one of {', '.join(FAMILIES)}, got {name!r}")
    values: dict[str, Any] = {}
    for field in dataclasses.fields(FAMILIES[name]):
        part = f"{prefix}family_{field.name}"
        if field.name in FAMILY_NUMBERS:
            values[field.name] = int(parts.whole_numbers(part, ()))
        else:
            values[field.name] = parts.array(part, (None, None), np.number)
    with parts.reading(prefix + "family"):
        family: Family = FAMILIES[name](**values)
    found, wanted = (family.code_count, family.dimension), (hashing.codes_per_table * hashing.tables, dimension)
    if found != wanted:
        raise parts.damage(prefix + "family", f"expected (codes, dimension) {wanted}, got {found}")
    return family
