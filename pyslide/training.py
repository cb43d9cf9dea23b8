"""The training loop: batch, active sets, forward, backward, update, rebuild (Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.random import Generator

from pyslide.arrays import FloatArray, IntArray, index_dtype, require_finite, require_shape
from pyslide.building import build_network, rebuild_layer
from pyslide.conventions import Conventions
from pyslide.engine.network import HashNeurons, Layer, Network
from pyslide.engine.ragged import segment_reduce
from pyslide.engine.step import BatchPass, Draws, training_step
from pyslide.engine.threads import Threads
from pyslide.engine.vectors import Batch, checked_batch
from pyslide.errors import NonFiniteError, OutOfRangeError, ShapeError
from pyslide.history import Row
from pyslide.inference import require_features
from pyslide.interruption import DeferredInterrupt
from pyslide.randomness import draw_candidates, draw_permutation, draw_starts, draw_table_orders, generators
from pyslide.settings import LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.schedule import rebuild_step, rebuilds_due

STREAMS = ("weights", "functions", "rows", "steps", "tables")
"""The independent random streams of a run, spawned from its seed in this order."""


LARGEST_GROWTH = 10.0
"""With it every interval is 22,000 times as long as the one before; beyond, their sums overflow."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When tables are rebuilt (section 4.2), and when their hash functions are redrawn (question 22).

    Attributes
    ----------
    first_interval : float
        N0, the steps before the first rebuild.
    growth : float
        lambda: each interval is exp(lambda) times as long as the one before.
    redraw_every : int
        New functions at every so many rebuilds; 0 for never.
    """

    first_interval: float = 50.0
    growth: float = 0.0
    redraw_every: int = 0

    def __post_init__(self) -> None:
        """Refuse a schedule that never moves on."""
        if not 0 < self.first_interval < np.inf:
            raise OutOfRangeError(f"first_interval: expected a positive number of steps, got {self.first_interval}")
        if not 0 <= self.growth <= LARGEST_GROWTH:
            raise OutOfRangeError(f"growth: expected 0 to {LARGEST_GROWTH}, got {self.growth}")
        if self.redraw_every < 0:
            raise OutOfRangeError(f"redraw_every: expected at least 0, got {self.redraw_every}")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Everything that determines a run, with the data.

    Attributes
    ----------
    layers : tuple of LayerSettings
        The hidden layers and the output.
    batch_size : int
    seed : int
    dtype : {"float32", "float64"}
    threads : int
        Cores for one batch; the result does not depend on it.
    optimizer : Optimizer
    schedule : Schedule
    conventions : Conventions
    """

    layers: tuple[LayerSettings, ...]
    batch_size: int = 128
    seed: int = 0
    dtype: str = "float32"
    threads: int = 1
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)
    conventions: Conventions = field(default_factory=Conventions)

    def __post_init__(self) -> None:
        """Refuse settings outside their range."""
        if not self.layers:
            raise OutOfRangeError("layers: expected at least an output layer, got none")
        for depth, layer in enumerate(self.layers[:-1]):
            if layer.candidates is not None:
                raise OutOfRangeError(f"layers: expected candidates in the output layer only, layer {depth} has some")
        if self.batch_size < 1:
            raise OutOfRangeError(f"batch_size: expected at least 1, got {self.batch_size}")
        if self.threads < 1:
            raise OutOfRangeError(f"threads: expected at least 1, got {self.threads}")
        if self.seed < 0:
            raise OutOfRangeError(f"seed: expected at least 0, got {self.seed}")
        if self.dtype not in ("float32", "float64"):
            raise OutOfRangeError(f"dtype: expected 'float32' or 'float64', got {self.dtype!r}")


class StepRecord(NamedTuple):
    """What a step did."""

    step: int
    epoch: int
    samples: int
    loss: float  # mean over the batch, over the active set, each sample's multiplied by its weight
    precision_at_1: float  # of the best active neuron, before the update
    active_share: float  # active output neurons a sample, as a share of all
    seconds: float

    def row(self) -> Row:
        """Return the record as a row of a history."""
        return {"kind": "step", **self._asdict()}


Callback = Callable[["Trainer", StepRecord], Row | None]
"""Called after every step; what it returns joins the history."""


class Trainer:
    """A run: the network, its random streams, and where it stands in the data.

    Parameters
    ----------
    settings : TrainingSettings
    features : csr_array or ndarray, shape (rows, d)
    labels : csr_array, shape (rows, n) of the output layer
        Stored elements are labels.
    network : Network, optional
        One that was trained before, with its tables; without it a new one is drawn.  The schedule goes on from its
        steps.
    sample_weights : ndarray, shape (rows,), optional
        What each row's loss is multiplied by; 1 unless given.

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        If features, labels and weights do not fit each other, the network or the output layer, or if the network is
        not one of the settings' layers and precision.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        features: Batch,
        labels: sparse.csr_array,
        network: Network | None = None,
        sample_weights: FloatArray | None = None,
    ) -> None:
        self.settings = settings
        self.threads = Threads(settings.threads)
        self.hash_neurons: HashNeurons | None = None
        self.features, self.labels = checked_data(settings, features, labels)
        self.sample_weights = checked_weights(settings, sample_weights, self.features.shape[0])
        streams = generators(settings.seed, len(STREAMS))
        self.streams: dict[str, Generator] = dict(zip(STREAMS, streams, strict=True))
        self.epoch = 0
        self.position = 0  # rows of the epoch that were seen
        self.rebuilds = 0
        self.history: list[Row] = []
        self.row_order: IntArray = draw_permutation(self.streams["rows"], self.features.shape[0])
        self.pools: list[IntArray] = []
        if network is not None:
            require_layers(network, settings)
        self.network = network or self.new_network()
        require_features(self.network, self.features)
        if network is None:
            self.rebuild(new_functions=False)
        else:
            schedule = settings.schedule
            self.rebuilds = rebuilds_due(network.steps, schedule.first_interval, schedule.growth)
            self.shuffle_pools()

    def turn_to(
        self, features: Batch, labels: sparse.csr_array, sample_weights: FloatArray | None = None
    ) -> None:
        """Go on with other rows, or with the same ones: an epoch begins.

        An order that was drawn for as many rows and not begun stays, so that to go on with the same rows at the end of
        an epoch changes nothing.

        Raises
        ------
        ShapeError, NonFiniteError, OutOfRangeError
            If features, labels and weights do not fit each other or the network.
        """
        features, labels = checked_data(self.settings, features, labels)
        weights = checked_weights(self.settings, sample_weights, features.shape[0])
        require_features(self.network, features)
        self.features, self.labels, self.sample_weights = features, labels, weights
        if self.position or self.row_order.size != features.shape[0]:
            self.position, self.row_order = 0, draw_permutation(self.streams["rows"], features.shape[0])

    def new_network(self) -> Network:
        """Draw a network's weights and hash functions; its tables are still empty."""
        return build_network(
            self.settings.layers,
            self.features.shape[1],
            self.settings.conventions,
            self.streams["weights"],
            self.streams["functions"],
            self.settings.dtype,
            np.bincount(self.labels.indices, minlength=self.labels.shape[1]),
        )

    def rebuild(self, *, new_functions: bool) -> None:
        """Hash every neuron anew, rebuild all tables and shuffle the neurons that paddings are cut from."""
        generator = self.streams["tables"]
        for layer, settings in zip(self.network.layers, self.settings.layers, strict=True):
            if settings.hashing is not None:
                conventions = self.settings.conventions
                rebuild_layer(
                    layer,
                    settings.hashing,
                    conventions,
                    generator,
                    self.threads,
                    new_functions=new_functions,
                    hash_neurons=self.hash_neurons,
                )
        self.shuffle_pools()

    def shuffle_pools(self) -> None:
        """Shuffle the neurons that paddings are cut from; a layer without tables is never padded."""
        self.pools = [
            draw_permutation(self.streams["tables"], layer.neurons if layer.tables is not None else 0)
            for layer in self.network.layers
        ]

    def rebuild_if_due(self) -> None:
        """Rebuild after the step at which the schedule says so."""
        schedule = self.settings.schedule
        if self.network.steps < rebuild_step(self.rebuilds + 1, schedule.first_interval, schedule.growth):
            return
        self.rebuilds += 1
        redraw = schedule.redraw_every > 0 and self.rebuilds % schedule.redraw_every == 0
        self.rebuild(new_functions=redraw or self.settings.conventions.rebuild == "new_functions")

    def draws(self, samples: int) -> list[Draws]:
        """Draw what a step needs.

        For a layer with tables their orders, and a window of the shuffled neurons for each sample's padding; for one
        with a sampled softmax the candidates.
        """
        return [
            layer_draws(self.streams["steps"], layer, pool, samples, self.settings.conventions.padding_draws)
            for layer, pool in zip(self.network.layers, self.pools, strict=True)
        ]

    def step(self) -> StepRecord:
        """Train on the next batch of the epoch; the last one may be smaller.

        Raises
        ------
        NonFiniteError
            If the loss is no longer finite; weights are then useless.
        """
        started = time.perf_counter()
        rows = self.row_order[self.position : self.position + self.settings.batch_size]
        result = training_step(
            self.network,
            self.features[rows],
            self.labels[rows],
            self.draws(rows.size),
            self.settings.optimizer,
            self.settings.conventions,
            self.threads,
            None if self.sample_weights is None else self.sample_weights[rows],
        )
        if not np.isfinite(result.loss):
            raise NonFiniteError(
                f"loss: expected a finite number, got {result.loss} at step {self.network.steps}; "
                "a smaller learning rate or initial scale may help"
            )
        self.rebuild_if_due()
        record = self.record(result.batch_pass, rows.size, result.loss, time.perf_counter() - started)
        self.advance(rows.size)
        return record

    def record(self, batch_pass: BatchPass, samples: int, loss: float, seconds: float) -> StepRecord:
        """Return the record of a step."""
        share = batch_pass.active.neurons.size / samples / self.network.layers[-1].neurons
        precision = precision_at_1(batch_pass)
        return StepRecord(self.network.steps, self.epoch, samples, loss, precision, share, seconds)

    def advance(self, samples: int) -> None:
        """Move on in the epoch, or to the next one in a new order."""
        self.position += samples
        if self.position >= self.features.shape[0]:
            self.epoch, self.position = self.epoch + 1, 0
            self.row_order = draw_permutation(self.streams["rows"], self.features.shape[0])

    def run(self, epochs: int, callbacks: Sequence[Callback] = (), steps: int | None = None) -> bool:
        """Train up to an epoch, or so many steps if that comes first.

        Parameters
        ----------
        epochs : int
            The epochs of the whole run, those before a resumption included.
        callbacks : sequence of Callback
        steps : int, optional
            The steps of the whole run.

        Returns
        -------
        bool
            Whether the run came to its end; False after Ctrl-C, with everything in the state after a whole step.
        """
        with DeferredInterrupt() as interrupt:
            for _ in count():
                if self.epoch >= epochs or (steps is not None and self.network.steps >= steps):
                    return True
                if interrupt.requested:
                    return False
                record = self.step()
                self.history.append(record.row())
                for callback in callbacks:
                    row = callback(self, record)
                    if row is not None:
                        self.history.append(row)
        raise AssertionError("unreachable: the loop ends by returning")


def require_layers(network: Network, settings: TrainingSettings) -> None:
    """Refuse a network that has not the layers and the precision of the settings.

    Raises
    ------
    ShapeError
        With the first difference.
    """
    if len(network.layers) != len(settings.layers):
        raise ShapeError(f"network: expected {len(settings.layers)} layers, got {len(network.layers)}")
    for number, (layer, wanted) in enumerate(zip(network.layers, settings.layers, strict=True)):
        expected = (wanted.neurons, wanted.hashing is not None, wanted.candidates is not None, settings.dtype)
        found = (layer.neurons, layer.tables is not None, layer.candidates is not None, layer.weights.dtype.name)
        for name, one, other in zip(("neurons", "tables", "candidates", "dtype"), expected, found, strict=True):
            if one != other:
                raise ShapeError(f"network, layer {number}: expected {name} {one} as the settings say, got {other}")


def checked_data(
    settings: TrainingSettings, features: Batch, labels: sparse.csr_array
) -> tuple[Batch, sparse.csr_array]:
    """Return the data in the run's precision.

    Raises
    ------
    ShapeError, NonFiniteError
        If they do not fit each other or the output layer.
    """
    features = checked_batch(features, settings.dtype, "features")
    labels = checked_batch(sparse.csr_array(labels, copy=True), settings.dtype, "labels")  # the caller's keep zeros
    labels.eliminate_zeros()
    wanted = (features.shape[0], settings.layers[-1].neurons)
    if labels.shape != wanted:
        raise ShapeError(f"labels: expected shape {wanted} (rows, output neurons), got {labels.shape}")
    if features.shape[0] == 0:
        raise ShapeError("features: expected at least one row, got none")
    return features, labels


def checked_weights(settings: TrainingSettings, weights: FloatArray | None, rows: int) -> FloatArray | None:
    """Return the samples' weights in the run's precision; None stands for ones.

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        If there is not one a row, finite and not negative.
    """
    if weights is None:
        return None
    checked = np.asarray(weights, dtype=settings.dtype)
    require_shape(checked, (rows,), "sample_weights")
    require_finite(checked, "sample_weights")
    if (checked < 0).any():
        row = int(np.argmax(checked < 0))
        raise OutOfRangeError(f"sample_weights: expected at least 0, got {checked[row]} in row {row}")
    return checked


def layer_draws(generator: Generator, layer: Layer, pool: IntArray, samples: int, padding_draws: str) -> Draws:
    """Draw one layer's random choices for a batch; nothing for a layer without tables and candidates."""
    if layer.candidates is not None:
        drawn = layer.candidates
        candidates, tries = draw_candidates(generator, drawn.distribution, drawn.count, drawn.classes)
        return Draws(np.empty((samples, 0), dtype=np.int64), candidates, tries)
    if layer.tables is None:
        return Draws(np.empty((samples, 0), dtype=np.int64), np.empty((samples, 0), dtype=np.int64))
    orders = draw_table_orders(generator, samples, layer.tables.multipliers.size)
    starts = draw_starts(generator, samples, layer.neurons, padding_draws)
    sampling = layer.tables.sampling
    width = min(layer.neurons, max(sampling.minimum_active, sampling.budget))
    places = (starts[:, None] + np.arange(width)) % layer.neurons
    return Draws(orders, pool[places].astype(index_dtype(layer.neurons)))  # half as much to send to a worker


def precision_at_1(batch_pass: BatchPass) -> float:
    """Return the share of samples whose active neuron with the largest logit is a label."""
    offsets, logits = batch_pass.active.offsets, batch_pass.layers[-1].sums.ravel()  # without padding weights
    best = segment_reduce(np.maximum, logits, offsets, np.inf)
    labels = np.flatnonzero(batch_pass.wanted)
    samples = np.searchsorted(offsets, labels, side="right") - 1
    right = np.zeros(best.size, dtype=bool)
    right[samples[logits[labels] == best[samples]]] = True
    return float(right.mean())
