"""Who is measured: SLIDE, the full softmax in the same engine, and PyTorch's full and sampled softmax.

A contender is built from a shape and has ``step()``, which trains on the next batch.  PyTorch is the extra ``peers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from pyslide.bench.shapes import Shape
from pyslide.conventions import Conventions
from pyslide.data import Dataset
from pyslide.errors import MissingExtraError
from pyslide.settings import Hashing, LayerSettings
from pyslide.training import Schedule, Trainer, TrainingSettings

NEVER = Schedule(first_interval=1e12)
"""Rebuilds are measured by themselves."""


class Contender(Protocol):
    """What is measured."""

    def step(self) -> None:
        """Train on one batch."""


class EngineContender:
    """A network of ours, with tables or without."""

    def __init__(self, data: Dataset, shape: Shape, hashing: Hashing | None, threads: int) -> None:
        layers = (LayerSettings(neurons=shape.hidden), LayerSettings(neurons=shape.labels, hashing=hashing))
        settings = TrainingSettings(
            layers=layers, batch_size=shape.batch, schedule=NEVER, conventions=Conventions(), threads=threads
        )
        self.trainer = Trainer(settings, data.features, data.labels)
        self.active: list[float] = []

    def step(self) -> None:
        """Train on one batch."""
        record = self.trainer.step()
        self.active.append(record.active_share * self.trainer.network.layers[-1].neurons)

    def rebuild(self) -> None:
        """Hash every neuron anew and rebuild the tables."""
        self.trainer.rebuild(new_functions=False)


def import_torch() -> Any:
    """Return PyTorch.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import torch
    except ImportError as missing:
        raise MissingExtraError("torch", "peers", "comparing with PyTorch") from missing
    return torch


class TorchFullSoftmax:
    """PyTorch's full softmax with dense Adam on the output and sparse Adam on the input layer."""

    def __init__(self, data: Dataset, shape: Shape, threads: int) -> None:
        self.torch = import_torch()
        self.torch.set_num_threads(threads)
        self.data, self.shape, self.position = data, shape, 0
        generator = self.torch.Generator().manual_seed(0)
        self.embedding = self.torch.nn.EmbeddingBag(shape.features, shape.hidden, mode="sum", sparse=True)
        self.output = self.torch.nn.Linear(shape.hidden, shape.labels)
        with self.torch.no_grad():
            self.embedding.weight.normal_(0, 0.1, generator=generator)
            self.output.weight.normal_(0, 0.1, generator=generator)
        self.sparse_adam = self.torch.optim.SparseAdam(list(self.embedding.parameters()), lr=1e-3)
        self.adam = self.torch.optim.Adam(self.output.parameters(), lr=1e-3)

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


Builder = Callable[[Dataset, Shape, Hashing, int], Contender]

CONTENDERS: Mapping[str, Builder] = {
    "slide": EngineContender,
    "full softmax": lambda data, shape, hashing, threads: EngineContender(data, shape, None, threads),
    "torch full softmax": lambda data, shape, hashing, threads: TorchFullSoftmax(data, shape, threads),
}
"""How each contender is built."""
