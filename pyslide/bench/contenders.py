"""Who is measured: SLIDE, the full softmax in the same engine, and PyTorch's full and sampled softmax.

A contender is built from a case and has ``step()``, which trains on the next batch.  PyTorch is the extra ``peers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from pyslide.bench.cases import Case
from pyslide.bench.counts import Counts, next_counts
from pyslide.errors import MissingExtraError, OutOfRangeError
from pyslide.settings import LayerSettings
from pyslide.training import Schedule, Trainer, TrainingSettings

NEVER = Schedule(first_interval=1e12)
"""Rebuilds are measured by themselves."""


class Sizes(NamedTuple):
    """How much of the output layer a step has to do with."""

    active: float  # neurons a sample
    touched: float  # rows of the weights, or distinct active neurons, a batch


class Contender(Protocol):
    """What is measured."""

    def step(self) -> None:
        """Train on one batch."""

    def sizes(self) -> Sizes:
        """Return the sizes of the step that comes next."""


class EngineContender:
    """A network of ours.

    Parameters
    ----------
    case : Case
    choice : mapping of str to object
        How the output layer's active neurons are chosen, as `LayerSettings` takes it; nothing for all of them.
    """

    def __init__(self, case: Case, **choice: Any) -> None:
        shape = case.shape
        self.all_active, self.threads = not choice, case.threads
        settings = TrainingSettings(
            layers=(LayerSettings(neurons=shape.hidden), LayerSettings(neurons=shape.labels, **choice)),
            batch_size=shape.batch,
            schedule=NEVER,
            conventions=case.conventions,
            threads=case.threads,
        )
        self.trainer = Trainer(settings, case.data.features, case.data.labels)

    @property
    def has_tables(self) -> bool:
        """Return whether its output layer has tables."""
        return self.trainer.network.layers[-1].tables is not None

    def step(self) -> None:
        """Train on one batch."""
        self.trainer.step()

    def rebuild(self) -> None:
        """Hash every neuron anew and rebuild the tables."""
        self.trainer.rebuild(new_functions=False)

    def counts(self) -> Counts:
        """Return the counts of the step that comes next."""
        return next_counts(self.trainer)

    def sizes(self) -> Sizes:
        """Return the sizes of the step that comes next."""
        if self.all_active:
            neurons = self.trainer.network.layers[-1].neurons
            return Sizes(neurons, neurons)
        counts = self.counts()
        return Sizes(counts.active / counts.samples, counts.touched)


def require_torch() -> None:
    """Refuse to go on without PyTorch, which is not imported for that.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "peers", "comparing with PyTorch")


def import_torch() -> Any:
    """Return PyTorch.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    require_torch()
    import torch

    return torch


class TorchFullSoftmax:
    """PyTorch's full softmax with dense Adam on the output and sparse Adam on the input layer."""

    def __init__(self, case: Case) -> None:
        self.torch = import_torch()
        self.torch.set_num_threads(case.threads)
        self.data, self.shape, self.position = case.data, case.shape, 0
        generator = self.torch.Generator().manual_seed(0)
        self.embedding = self.torch.nn.EmbeddingBag(
            self.shape.features, self.shape.hidden, mode="sum", sparse=True
        )
        self.output = self.torch.nn.Linear(self.shape.hidden, self.shape.labels)
        with self.torch.no_grad():
            self.embedding.weight.normal_(0, 0.1, generator=generator)
            self.output.weight.normal_(0, 0.1, generator=generator)
        self.sparse_adam = self.torch.optim.SparseAdam(list(self.embedding.parameters()), lr=1e-3)
        self.adam = self.torch.optim.Adam(self.output.parameters(), lr=1e-3)

    def sizes(self) -> Sizes:
        """Return the sizes of any step."""
        return Sizes(self.shape.labels, self.shape.labels)

    def batch(self) -> tuple[Any, Any]:
        """Return the next rows of features and labels."""
        rows = np.arange(self.position, self.position + self.shape.batch) % self.data.rows
        self.position += self.shape.batch
        return self.data.features[rows], self.data.labels[rows]

    def step(self) -> None:
        """Train on one batch."""
        torch = self.torch
        features, labels = self.batch()
        hidden = torch.relu(
            self.embedding(
                torch.from_numpy(features.indices.astype(np.int64)),
                torch.from_numpy(features.indptr[:-1].astype(np.int64)),
                per_sample_weights=torch.from_numpy(features.data),
            )
        )
        log_probabilities = torch.log_softmax(self.output(hidden), dim=1)
        counts = np.diff(labels.indptr)
        rows = torch.from_numpy(np.repeat(np.arange(labels.shape[0]), counts))
        shares = torch.from_numpy((1 / np.repeat(np.maximum(1, counts), counts)).astype(np.float32))
        picked = log_probabilities[rows, torch.from_numpy(labels.indices.astype(np.int64))]
        loss = -(picked * shares).sum() / labels.shape[0]
        self.adam.zero_grad(set_to_none=True)
        self.sparse_adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        self.sparse_adam.step()


Builder = Callable[[Case], Contender]

CONTENDERS: Mapping[str, Builder] = {
    "slide": lambda case: EngineContender(case, hashing=case.hashing),
    "full softmax": EngineContender,
    "torch full softmax": TorchFullSoftmax,
}
"""How each contender is built."""


def peers_named(word: str) -> tuple[str, ...]:
    """Return the contenders beside SLIDE that a word means: all, one by its name, or all whose names begin with it.

    Raises
    ------
    OutOfRangeError
        If it means nobody.
    """
    peers = [name for name in CONTENDERS if name != "slide"]
    if word == "all":
        return tuple(peers)
    if word in peers:
        return (word,)
    found = tuple(name for name in peers if name.startswith(f"{word} "))
    if not found:
        raise OutOfRangeError(f"peers: expected all, torch or one of {', '.join(peers)}; got {word!r}")
    return found


def require_installed(names: Sequence[str]) -> None:
    """Refuse to go on where a contender's library is missing.

    Raises
    ------
    MissingExtraError
        If one is.
    """
    if any(name.startswith("torch ") for name in names):
        require_torch()
