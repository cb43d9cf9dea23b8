"""A deterministic simulator of HOGWILD: what workers without locks do, event by event.

Every batch has three events: it *reads* the weights (active sets, forward, backward), it *gathers* the rows that it is
about to move, with their moments, and it *writes* them back.  An interleaving says in which order the events of all
batches happen.  A batch that reads before others have written computes a stale gradient; one that gathers before
another writes the same row overwrites that update: it is lost.  Losses can be given besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.random import Generator

from pyslide.arrays import IntArray
from pyslide.conventions import Conventions
from pyslide.engine.backward import Gradient
from pyslide.engine.network import Layer, Network
from pyslide.engine.step import Draws, backward, forward, update_layer
from pyslide.engine.vectors import Batch
from pyslide.errors import OrderError, OutOfRangeError
from pyslide.randomness import draw_turns, draw_uniforms
from pyslide.spec.optimizer import Optimizer


class Act(Enum):
    """What a batch does at an event."""

    READ = "read"
    GATHER = "gather"
    WRITE = "write"


class Event(NamedTuple):
    """One thing that one batch does."""

    batch: int
    act: Act


ACTS = (Act.READ, Act.GATHER, Act.WRITE)
"""The events of a batch, in their order."""


class Loss(NamedTuple):
    """Rows of a layer that a batch fails to write."""

    layer: int
    rows: frozenset[int]  # neurons in a sampled layer, input coordinates in another


@dataclass(frozen=True)
class Interleaving:
    """The order in which the events of some batches happen.

    Attributes
    ----------
    events : tuple of Event
        Each batch 0, 1, ... reads, gathers and writes once, in this order.
    lost : mapping
        By batch, what it fails to write besides.

    Raises
    ------
    OrderError
        If an event is missing, comes twice, or before the one that has to precede it.
    OutOfRangeError
        If something is lost by a batch that is not there.
    """

    events: tuple[Event, ...]
    lost: Mapping[int, tuple[Loss, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no interleaving."""
        done: dict[int, list[Act]] = {}
        for event in self.events:
            done.setdefault(event.batch, []).append(event.act)
        for batch in range(max(done, default=-1) + 1):
            if tuple(done.get(batch, ())) != ACTS:
                raise OrderError(f"batch {batch}: expected read, gather, write; got {done.get(batch, [])}")
        unknown = sorted(set(self.lost) - set(done))
        if unknown:
            raise OutOfRangeError(f"lost: expected batches below {len(done)}, got {unknown[0]}")

    @property
    def batches(self) -> int:
        """Return how many batches there are."""
        return len(self.events) // len(ACTS)

    def staleness(self) -> IntArray:
        """Return how many batches wrote between each batch's reading and its writing, shape (batches,)."""
        place = {event: number for number, event in enumerate(self.events)}
        writes = np.array([place[Event(batch, Act.WRITE)] for batch in range(self.batches)], dtype=np.int64)
        reads = np.array([place[Event(batch, Act.READ)] for batch in range(self.batches)], dtype=np.int64)
        between = (writes > reads[:, None]) & (writes < writes[:, None])  # (batch, other)
        return np.asarray(between.sum(axis=1))


def serialised(batches: int) -> Interleaving:
    """Return the interleaving of a single worker: one batch after the other."""
    return Interleaving(tuple(Event(batch, act) for batch in range(batches) for act in ACTS))


def with_staleness(batches: int, staleness: int) -> Interleaving:
    """Return the interleaving in which every batch misses the writes of so many batches before it, and none is lost.

    Batch k reads when batch k - s - 1 has written, and gathers just before it writes.
    """
    events: list[Event] = []
    for batch in range(batches + staleness):
        if batch < batches:
            events.append(Event(batch, Act.READ))
        if batch >= staleness:
            events += [Event(batch - staleness, Act.GATHER), Event(batch - staleness, Act.WRITE)]
    return Interleaving(tuple(events))


def random_interleaving(generator: Generator, batches: int, workers: int) -> Interleaving:
    """Return an interleaving of so many workers, who take the batches in turn and are equally likely to move next.

    Parameters
    ----------
    generator : Generator
    batches, workers : int
    """
    shares = [list(range(start, batches, workers)) for start in range(workers)]
    waiting = [[Event(batch, act) for batch in share for act in ACTS][::-1] for share in shares]
    turns = draw_turns(generator, np.array([len(events) for events in waiting]))
    return Interleaving(tuple(waiting[worker].pop() for worker in turns))


def bounded_interleaving(generator: Generator, batches: int, staleness: int) -> Interleaving:
    """Return a random interleaving in which no batch misses more than so many writes.

    Batches read in their order.  What happens next is equally likely anything that keeps the bound within reach.

    Parameters
    ----------
    generator : Generator
    batches : int
    staleness : int
        The most batches that write between a batch's reading and its writing.

    Raises
    ------
    OutOfRangeError
        If the staleness is negative.
    """
    if staleness < 0:
        raise OutOfRangeError(f"staleness: expected at least 0, got {staleness}")
    events: list[Event] = []
    missed: dict[int, int] = {}  # by batch under way, the writes since it read
    gathered: set[int] = set()
    for uniform in draw_uniforms(generator, (len(ACTS) * batches,)):
        begun = len(missed) + sum(event.act is Act.WRITE for event in events)
        possible = possible_events(missed, gathered, staleness)
        if begun < batches and within_reach([*missed.values(), 0], staleness):
            possible.append(Event(begun, Act.READ))
        batch, act = possible[int(uniform * len(possible))]
        events.append(Event(batch, act))
        if act is Act.READ:
            missed[batch] = 0
        elif act is Act.GATHER:
            gathered.add(batch)
        else:
            del missed[batch]
            missed = {other: writes + 1 for other, writes in missed.items()}
    return Interleaving(tuple(events))


def possible_events(missed: Mapping[int, int], gathered: set[int], staleness: int) -> list[Event]:
    """Return what the batches under way can do next without that one of them has to miss too many writes."""
    events = [Event(batch, Act.GATHER) for batch in missed if batch not in gathered]
    events += [
        Event(batch, Act.WRITE)
        for batch in missed
        if batch in gathered
        and within_reach([writes + 1 for other, writes in missed.items() if other != batch], staleness)
    ]
    return events


def within_reach(missed: Iterable[int], staleness: int) -> bool:
    """Return whether batches that have missed so many writes can all write in time: who has missed most goes first."""
    return all(writes + turn <= staleness for turn, writes in enumerate(sorted(missed, reverse=True)))


@dataclass(frozen=True, eq=False)
class BatchData:
    """A batch and what was drawn for it.

    Attributes
    ----------
    features : Batch, shape (B, d)
    labels : csr_array, shape (B, n)
    draws : sequence of Draws, one a layer
    """

    features: Batch
    labels: sparse.csr_array
    draws: Sequence[Draws]


class Gathered(NamedTuple):
    """What a batch is about to write: layers of its own, moved, and the rows of each that it moved."""

    layers: list[Layer]
    gradients: tuple[Gradient, ...]


def own_copy(network: Network) -> Network:
    """Return a network with arrays of its own, in the same order, and the same tables."""
    layers = []
    for layer in network.layers:
        twin = copy(layer)
        for name in (one.name for one in fields(layer)):
            array = getattr(layer, name)
            if isinstance(array, np.ndarray):
                setattr(twin, name, array.copy(order="K"))
        layers.append(twin)
    return Network(layers, network.steps)


def replay(
    network: Network,
    batches: Sequence[BatchData],
    interleaving: Interleaving,
    optimizer: Optimizer,
    conventions: Conventions,
) -> list[float]:
    """Train a network in place as the interleaving says, and return each batch's loss.

    The optimiser's t is the batch's place in the order of the batches, whoever writes first.

    Parameters
    ----------
    network : Network
        Its tables stay as they are.
    batches : sequence of BatchData
    interleaving : Interleaving
    optimizer : Optimizer
    conventions : Conventions

    Raises
    ------
    OutOfRangeError
        If the interleaving is of another number of batches.
    """
    if interleaving.batches != len(batches):
        raise OutOfRangeError(f"interleaving: expected {len(batches)} batches, got {interleaving.batches}")
    first, losses = network.steps, [0.0] * len(batches)
    read: dict[int, tuple[Gradient, ...]] = {}
    gathered: dict[int, Gathered] = {}
    for batch, act in interleaving.events:
        if act is Act.READ:
            one = batches[batch]
            done = forward(network, one.features, one.labels, one.draws, conventions)
            losses[batch] = float(done.losses.mean())
            read[batch] = backward(network, done, conventions)
        elif act is Act.GATHER:
            gathered[batch] = gather(network, read.pop(batch), first + batch + 1, optimizer, conventions)
        else:
            write(network, gathered.pop(batch), interleaving.lost.get(batch, ()), conventions)
            network.steps += 1
    return losses


def gather(
    network: Network, gradients: tuple[Gradient, ...], step: int, optimizer: Optimizer, conventions: Conventions
) -> Gathered:
    """Return what a batch is about to write, from the weights as they are now."""
    own = own_copy(network)
    for layer, gradient in zip(own.layers, gradients, strict=True):
        update_layer(layer, gradient, step, optimizer, conventions)
    return Gathered(own.layers, gradients)


def write(network: Network, gathered: Gathered, lost: Sequence[Loss], conventions: Conventions) -> None:
    """Write the rows that a batch moved, but those that are lost; a lost neuron's bias is lost with it."""
    everything = conventions.adam_rows == "every_weight"
    for depth, (layer, moved, gradient) in enumerate(
        zip(network.layers, gathered.layers, gathered.gradients, strict=True)
    ):
        gone = np.array(sorted(row for loss in lost if loss.layer == depth for row in loss.rows), dtype=np.int64)
        rows = np.arange(layer.rows.values.shape[0]) if everything else gradient.rows
        write_rows(layer.rows, moved.rows, rows[~np.isin(rows, gone)])
        neurons = np.arange(layer.neurons) if everything else gradient.neurons
        kept = neurons[~np.isin(neurons, gone)] if layer.sampled else neurons
        write_rows(layer.bias_rows, moved.bias_rows, kept)


def write_rows(targets: Sequence[np.ndarray], sources: Sequence[np.ndarray], rows: IntArray) -> None:
    """Write some rows of weights, moments and counts."""
    for target, source in zip(targets, sources, strict=True):
        target[rows] = source[rows]
