"""Memory that several workers read and write: the arrays of a trainer, in mapped files where they are processes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from mmap import mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.network import Layer, LayerTables, Network
from pyslide.engine.tables import Tables
from pyslide.engine.vectors import Batch, is_sparse
from pyslide.training import Trainer, TrainingSettings

SPARE = 8
"""A file that rebuilds write again has room for an eighth more than it was first needed for."""


class Data(NamedTuple):
    """What workers train on."""

    features: Batch
    labels: Any
    sample_weights: FloatArray | None
    settings: TrainingSettings
    process: int  # of the trainer
    stop: np.ndarray  # (1,) whether nobody shall begin another batch


class Shared(NamedTuple):
    """What all workers see."""

    network: Network
    data: Data
    folder: Path | None  # with their files; None where they are threads
    spaces: dict[str, np.memmap[Any, Any]]  # files that each rebuild writes again


def shared_folder(size: int) -> str | None:
    """Return a folder in memory with room for so many bytes, None for the ordinary place of temporary files."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 2 * size:
        return str(memory)
    return None


def mapped(array: Any, path: Path) -> np.ndarray:
    """Return a copy of an array in a new file that is mapped into memory, in the same order."""
    if array.size == 0:
        return np.asarray(array)  # an empty file cannot be mapped
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    copy = new_file(path, array.shape, array.dtype, order)
    copy[...] = array
    return copy


def new_file(path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike, order: str = "C") -> np.memmap[Any, Any]:
    """Return an array in a new mapped file.

    Raises
    ------
    OSError
        If there is no room for it: to write to a file that was promised more than there is would end the process.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    new: np.memmap[Any, Any] = np.memmap(path, dtype=dtype, mode="r+", shape=shape, order=order)  # type: ignore[call-overload]
    return new


def remove(path: Path) -> None:
    """Remove a file that may be mapped still, where the system allows that; else the folder goes with it in the end."""
    with suppress(PermissionError):
        path.unlink(missing_ok=True)


def unmapped(array: np.ndarray) -> np.ndarray:
    """Return an array as it is, or a copy in memory where it is mapped, whose file is then removed."""
    if not is_mapped(array):
        return array
    copy = np.array(array)  # in the same order
    filename = getattr(array, "filename", None)  # of a mapped file, and of a view of one
    if filename is not None:
        remove(Path(filename))  # its memory is free before the next is copied
    return copy


def space_for(shared: Shared, name: str, size: int, dtype: npt.DTypeLike) -> np.ndarray:
    """Return so many numbers of a mapped file that is kept under a name: its pages need not be cleared each time.

    A larger file takes its place where it is too small.
    """
    assert shared.folder is not None
    space = shared.spaces.get(name)
    if space is None or space.size < size or space.dtype != dtype:
        path = shared.folder / name
        remove(path)
        room = size + size // SPARE  # the next rebuild may fill a few buckets more
        space = shared.spaces[name] = new_file(path, (room,), dtype)
    return space[:size]


def is_mapped(array: np.ndarray) -> bool:
    """Return whether an array lies in a mapped file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap)


def names_of_arrays(layer: Layer) -> list[str]:
    """Return the names of the arrays of a layer that training changes."""
    return [field.name for field in fields(layer) if isinstance(getattr(layer, field.name), np.ndarray)]


def bytes_of_batch(batch: Batch) -> int:
    """Return how much memory a batch takes."""
    arrays = (batch.data, batch.indices, batch.indptr) if is_sparse(batch) else (batch,)
    return sum(array.nbytes for array in arrays)


def bytes_of(network: Network) -> int:
    """Return how much memory a network, its tables and the keys of a rebuild take."""
    size = 0
    for layer in network.layers:
        size += sum(getattr(layer, name).nbytes for name in names_of_arrays(layer))
        if layer.tables is not None:
            size += sum(array.nbytes for array in layer.tables.tables.arrays().values())
            size += layer.neurons * layer.tables.multipliers.size * np.dtype(np.uint32).itemsize  # the next keys
        if layer.candidates is not None:
            size += layer.candidates.ranks.nbytes + layer.candidates.classes.nbytes
    return size


def put_in_files(layer: Layer, folder: Path, name: str) -> None:
    """Move the arrays of a layer to mapped files, one after the other: never are two of them in memory twice."""
    for field in names_of_arrays(layer):
        setattr(layer, field, mapped(getattr(layer, field), folder / f"{name}-{field}"))
    if layer.candidates is not None:
        orders = layer.candidates.ranks, layer.candidates.classes
        ranks, classes = (mapped(order, folder / f"{name}-order{place}") for place, order in enumerate(orders))
        layer.candidates = replace(layer.candidates, ranks=ranks, classes=classes)


def take_out_of_files(layer: Layer) -> None:
    """Move the arrays of a layer and its tables back to the memory of this process."""
    for field in names_of_arrays(layer):
        setattr(layer, field, unmapped(getattr(layer, field)))
    if layer.candidates is not None:
        orders = layer.candidates.ranks, layer.candidates.classes
        layer.candidates = replace(layer.candidates, ranks=unmapped(orders[0]), classes=unmapped(orders[1]))
    if layer.tables is not None:
        tables = layer.tables.tables
        arrays = {name: unmapped(array) for name, array in tables.arrays().items()}
        layer.tables.tables = Tables(**arrays, table_bits=tables.table_bits)


def space_of_keys(shared: Shared, layer: Layer, tables: LayerTables) -> IntArray:
    """Return the mapped memory for the keys of a rebuild, shape (L, N): that of the members, which take their place."""
    shape = (tables.multipliers.size, layer.neurons)
    name = f"tables{shared.network.layers.index(layer)}-members"
    return space_for(shared, name, shape[0] * shape[1], np.int32).view(np.uint32).reshape(shape)


def put_tables_in_files(shared: Shared) -> None:
    """Move tables that were rebuilt to mapped files, in place of the older ones."""
    if shared.folder is None:
        return
    for depth, layer in enumerate(shared.network.layers):
        if layer.tables is not None:
            tables = layer.tables.tables
            arrays = tables.arrays().items()
            files = {name: in_space(shared, f"tables{depth}-{name}", array) for name, array in arrays}
            layer.tables.tables = Tables(**files, table_bits=tables.table_bits)


def in_space(shared: Shared, name: str, array: np.ndarray) -> np.ndarray:
    """Return an array of rebuilt tables as it is where it is mapped already, else a copy in the file of that name."""
    if array.size == 0 or is_mapped(array):
        return array
    copy = space_for(shared, name, array.size, array.dtype)
    copy[...] = array
    return copy


def batch_in_files(batch: Batch, folder: Path, name: str) -> Batch:
    """Return a batch whose arrays are mapped files."""
    if not is_sparse(batch):
        return mapped(batch, folder / name)
    arrays = [mapped(getattr(batch, part), folder / f"{name}-{part}") for part in ("data", "indices", "indptr")]
    return sparse.csr_array(tuple(arrays), shape=batch.shape)


def data_of(trainer: Trainer) -> Data:
    """Return what a trainer trains on."""
    stop = np.zeros(1, dtype=bool)
    return Data(trainer.features, trainer.labels, trainer.sample_weights, trainer.settings, os.getpid(), stop)


def data_in_files(data: Data, folder: Path) -> Data:
    """Return the data with arrays that are mapped files."""
    weights = data.sample_weights
    return data._replace(
        features=batch_in_files(data.features, folder, "features"),
        labels=batch_in_files(data.labels, folder, "labels"),
        sample_weights=None if weights is None else mapped(weights, folder / "sample_weights"),
        stop=mapped(data.stop, folder / "stop"),
    )


@contextmanager
def shared_memory(trainer: Trainer, kind: str) -> Iterator[Shared]:
    """Give a network whose arrays all workers can write to, and the data; the trainer has what they wrote in the end.

    Threads have the arrays of the trainer.  For processes these are moved to mapped files, and back in the end,
    whatever happens: meanwhile the network has other arrays.
    """
    network, data = trainer.network, data_of(trainer)
    if kind == "threads":
        yield Shared(network, data, None, {})
        return
    size = bytes_of(network) + sum(bytes_of_batch(batch) for batch in (data.features, data.labels))
    size += size // SPARE
    with tempfile.TemporaryDirectory(prefix="pyslide-workers-", dir=shared_folder(size)) as name:
        folder = Path(name)
        try:
            for depth, layer in enumerate(network.layers):
                put_in_files(layer, folder, f"layer{depth}")
            yield Shared(network, data_in_files(data, folder), folder, {})
        finally:
            for layer in network.layers:
                take_out_of_files(layer)
