"""Who is measured: SLIDE, alone and with workers, the full and the sampled softmax in the same engine, and PyTorch's.

A contender is built from a case and has ``step()``, which trains on the batches of its turn.  PyTorch is the extra
``peers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib.externals.loky import get_reusable_executor

from pyslide.bench.cases import REBUILD_INTERVAL, Case
from pyslide.bench.counts import Counts, next_counts
from pyslide.building import classes_by_frequency, layer_candidates
from pyslide.engine.candidates import candidate_sets
from pyslide.engine.ragged import contains, distinct, spans
from pyslide.engine.sampling import label_sets
from pyslide.errors import MissingExtraError, OutOfRangeError
from pyslide.parallel import Workers, crew_of
from pyslide.randomness import draw_candidates, generators
from pyslide.settings import CandidateSampling, LayerSettings
from pyslide.shared_memory import put_tables_in_files
from pyslide.spec.candidates import candidate_log_weights
from pyslide.training import Schedule, Trainer, TrainingSettings

NEVER = Schedule(first_interval=1e12)
"""Rebuilds are measured by themselves."""


class Sizes(NamedTuple):
    """How much of the output layer a step has to do with."""

    active: float  # neurons a sample
    touched: float  # rows of the weights, or distinct active neurons, a batch


class Contender(Protocol):
    """What is measured."""

    steps_a_turn: int
    """Batches that one call of `step` trains on."""

    def step(self) -> None:
        """Train on the next batches."""

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

    steps_a_turn = 1

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


class WorkersContender(EngineContender):
    """SLIDE with an asynchronous worker a core, each a process with one thread.

    A turn is what workers do between two rebuilds.
    """

    steps_a_turn = REBUILD_INTERVAL

    def __init__(self, case: Case) -> None:
        super().__init__(case._replace(threads=1), hashing=case.hashing)
        self.ends = ExitStack()
        self.crew = self.ends.enter_context(crew_of(self.trainer, Workers(count=case.threads)))

    def step(self) -> None:
        """Train on the batches of a turn."""
        last = self.trainer.network.steps + self.steps_a_turn
        while self.trainer.network.steps < last:
            self.crew.interval(last)

    def rebuild(self) -> None:
        """Hash every neuron anew and rebuild the tables, where workers find them."""
        super().rebuild()
        put_tables_in_files(self.crew.shared)

    def close(self) -> None:
        """End the workers, which joblib would keep for the next who needs some, and remove their files."""
        try:
            self.ends.close()
        finally:
            get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def candidates_of(case: Case) -> CandidateSampling:
    """Return a sampled softmax with so many candidates as SLIDE's active sets are filled up to."""
    count = max(1, min(case.hashing.sampling.minimum_active, case.shape.labels))
    return CandidateSampling(distribution="log_uniform", count=count)


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


class TorchInput:
    """What PyTorch's contenders share: the next rows, and a hidden layer as an embedding bag with sparse gradients."""

    steps_a_turn = 1

    def __init__(self, case: Case) -> None:
        self.torch = import_torch()
        self.torch.set_num_threads(case.threads)
        self.data, self.shape, self.position = case.data, case.shape, 0
        self.normal = self.torch.Generator().manual_seed(0)
        self.embedding = self.torch.nn.EmbeddingBag(
            self.shape.features, self.shape.hidden, mode="sum", sparse=True
        )
        with self.torch.no_grad():
            self.embedding.weight.normal_(0, 0.1, generator=self.normal)

    def batch(self) -> tuple[Any, Any]:
        """Return the next rows of features and labels."""
        rows = np.arange(self.position, self.position + self.shape.batch) % self.data.rows
        return self.data.features[rows], self.data.labels[rows]

    def hidden(self, features: Any) -> Any:
        """Return the outputs of the hidden layer."""
        torch = self.torch
        return torch.relu(
            self.embedding(
                torch.from_numpy(features.indices.astype(np.int64)),
                torch.from_numpy(features.indptr[:-1].astype(np.int64)),
                per_sample_weights=torch.from_numpy(features.data),
            )
        )

    def loss(self, picked: Any, labels: Any) -> Any:
        """Return the mean loss of a batch from the log-probabilities of its labels, one after the other."""
        counts = np.diff(labels.indptr)
        shares = self.torch.from_numpy((1 / np.repeat(np.maximum(1, counts), counts)).astype(np.float32))
        return -(picked * shares).sum() / labels.shape[0]

    def descend(self, loss: Any, *optimizers: Any) -> None:
        """Move all weights, and on to the next rows."""
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        self.position += self.shape.batch


class TorchFullSoftmax(TorchInput):
    """PyTorch's full softmax with dense Adam on the output and sparse Adam on the input layer."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.output = self.torch.nn.Linear(self.shape.hidden, self.shape.labels)
        with self.torch.no_grad():
            self.output.weight.normal_(0, 0.1, generator=self.normal)
        self.sparse_adam = self.torch.optim.SparseAdam(list(self.embedding.parameters()), lr=1e-3)
        self.adam = self.torch.optim.Adam(self.output.parameters(), lr=1e-3)

    def sizes(self) -> Sizes:
        """Return the sizes of any step."""
        return Sizes(self.shape.labels, self.shape.labels)

    def step(self) -> None:
        """Train on one batch."""
        features, labels = self.batch()
        log_probabilities = self.torch.log_softmax(self.output(self.hidden(features)), dim=1)
        rows, classes = (self.torch.from_numpy(one.astype(np.int64)) for one in labels.nonzero())
        self.descend(self.loss(log_probabilities[rows, classes], labels), self.adam, self.sparse_adam)


class TorchSampledSoftmax(TorchInput):
    """PyTorch's sampled softmax with sparse gathers and sparse Adam everywhere: corrected log-uniform candidates.

    The candidates are multiplied with all hidden outputs at once, and each label with its own row's.
    """

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        frequencies = np.bincount(case.data.labels.indices, minlength=case.shape.labels)
        self.drawn = layer_candidates(candidates_of(case), classes_by_frequency(frequencies))
        (self.generator,) = generators(0, 1)
        self.weights = self.torch.nn.Embedding(self.shape.labels, self.shape.hidden, sparse=True)
        self.biases = self.torch.nn.Embedding(self.shape.labels, 1, sparse=True)
        with self.torch.no_grad():
            self.weights.weight.normal_(0, 0.1, generator=self.normal)
            self.biases.weight.zero_()
        layers = (self.embedding, self.weights, self.biases)
        self.sparse_adam = self.torch.optim.SparseAdam([layer.weight for layer in layers], lr=1e-3)

    def sizes(self) -> Sizes:
        """Return the sizes of the step that comes next."""
        candidates, _ = self.draw(deepcopy(self.generator))
        active = candidate_sets(candidates, label_sets(self.batch()[1]))
        return Sizes(active.neurons.size / self.shape.batch, distinct(active.neurons).size)

    def draw(self, generator: np.random.Generator) -> tuple[Any, int]:
        """Return the sorted candidates of a batch, and the tries."""
        candidates, tries = draw_candidates(generator, self.drawn.distribution, self.drawn.count, self.drawn.classes)
        return np.sort(candidates), tries

    def logits(self, hidden: Any, candidates: Any, rows: Any, classes: Any, tries: int) -> tuple[Any, Any]:
        """Return the corrected logits of the candidates (B, S), and of the labels, one after the other."""
        torch, both = self.torch, np.concatenate([candidates, classes])
        ranks, drawn = self.drawn.ranks[both], self.drawn
        corrections = candidate_log_weights(ranks, drawn.distribution, drawn.count, tries, self.shape.labels)
        weights = self.weights(torch.from_numpy(both))
        biases = self.biases(torch.from_numpy(both))[:, 0] + torch.from_numpy(corrections.astype(np.float32))
        size = candidates.size
        return (
            hidden @ weights[:size].T + biases[:size],
            (hidden[torch.from_numpy(rows)] * weights[size:]).sum(dim=1) + biases[size:],
        )

    def step(self) -> None:
        """Train on one batch."""
        torch = self.torch
        features, labels = self.batch()
        candidates, tries = self.draw(self.generator)
        rows, classes = (one.astype(np.int64) for one in labels.nonzero())
        others, own = self.logits(self.hidden(features), candidates, rows, classes, tries)
        hits = np.flatnonzero(contains(candidates, classes))  # candidates that are labels are labels
        mask = torch.zeros(others.shape, dtype=torch.bool)
        mask[torch.from_numpy(rows[hits]), torch.from_numpy(np.searchsorted(candidates, classes[hits]))] = True
        counts = np.diff(labels.indptr)
        places = (torch.from_numpy(rows), torch.from_numpy(spans(np.zeros_like(counts), counts)))
        padded = torch.full((labels.shape[0], int(counts.max(initial=1))), -torch.inf).index_put(places, own)
        logits = torch.cat([padded, others.masked_fill(mask, -torch.inf)], dim=1)
        picked = torch.log_softmax(logits, dim=1)[places]
        self.descend(self.loss(picked, labels), self.sparse_adam)


Builder = Callable[[Case], Contender]

CONTENDERS: Mapping[str, Builder] = {
    "slide": lambda case: EngineContender(case, hashing=case.hashing),
    "asynchronous slide": WorkersContender,
    "full softmax": EngineContender,
    "sampled softmax": lambda case: EngineContender(case, candidates=candidates_of(case)),
    "torch full softmax": TorchFullSoftmax,
    "torch sampled softmax": TorchSampledSoftmax,
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
