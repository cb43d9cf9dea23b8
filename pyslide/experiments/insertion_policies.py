"""Table 3: what it costs to fill the tables, FIFO and reservoir."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyslide import defaults
from pyslide.building import build_network, rebuild_layer
from pyslide.engine.network import neuron_keys
from pyslide.engine.tables import build_tables
from pyslide.engine.threads import Threads
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.learning import hashing_of
from pyslide.experiments.tidy import column, groups
from pyslide.randomness import draw_uniforms, generators
from pyslide.settings import Hashing, LayerSettings

POLICIES = ("fifo", "reservoir")
WIDTHS = (1, 4, 16)
"""Layers of so many times the labels of the data."""
CAPACITIES = (16, 128)
CODES_PER_TABLE = 3
"""K: few, so that buckets are full and the policies matter."""
REPETITIONS = 5


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return every policy with every width and capacity."""
    hashing = replace(hashing_of(choices, data.labels), codes_per_table=CODES_PER_TABLE)
    return [
        {
            "policy": policy,
            "hashing": replace(hashing, capacity=capacity),
            "neurons": times * data.labels,
            "dimension": choices.hidden[-1],
            "threads": choices.threads,
            "seed": seed,
        }
        for policy in POLICIES
        for capacity in CAPACITIES
        for times in choices.some(WIDTHS[:2] if choices.quick else WIDTHS)
        for seed in range(choices.seeds)
    ]


def measure(
    data: Data, policy: str, hashing: Hashing, neurons: int, dimension: int, threads: int, seed: int
) -> list[Row]:
    """Time insertion alone and the whole rebuild of one layer with random weights."""
    conventions = defaults.CONVENTIONS.replace(bucket_policy=policy)
    weights, functions, draws = generators(seed, 3)
    settings = (LayerSettings(neurons=neurons, hashing=hashing),)
    layer = build_network(settings, dimension, conventions, weights, functions).layers[0]
    crew = Threads(threads)
    rows: list[Row] = []
    assert layer.tables is not None
    for repetition in range(REPETITIONS):
        started = time.perf_counter()
        rebuild_layer(layer, hashing, conventions, draws, crew, new_functions=False)
        rebuilt = time.perf_counter()
        keys, _ = neuron_keys(layer, layer.tables, conventions)
        shape = (hashing.tables, neurons)
        uniforms = draw_uniforms(draws, shape) if policy == "reservoir" else np.broadcast_to(0.0, shape)
        begun = time.perf_counter()
        tables = build_tables(
            keys, np.arange(neurons), hashing.capacity, uniforms, policy, hashing.table_bits, crew
        )
        inserted = time.perf_counter()
        rows.append(
            {
                "policy": policy,
                "capacity": hashing.capacity,
                "neurons": neurons,
                "seed": seed,
                "repetition": repetition,
                "insertion_milliseconds": 1e3 * (inserted - begun),
                "rebuild_milliseconds": 1e3 * (rebuilt - started),
                "kept_share": tables.members.size / (neurons * hashing.tables),
            }
        )
    crew.close()
    return rows


def found(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return the medians by policy, capacity and width."""
    names = ("insertion_milliseconds", "rebuild_milliseconds", "kept_share")
    return {
        key: {name: float(np.median([row[name] for row in group])) for name in names}
        for key, group in groups(rows, "policy", "capacity", "neurons").items()
    }


def table(rows: Sequence[Row]) -> Table:
    """Return both times."""
    lines = [
        (policy, str(capacity), f"{neurons:,}", f"{one['insertion_milliseconds']:.1f}",
         f"{one['rebuild_milliseconds']:.1f}", f"{one['kept_share']:.1%}")
        for (policy, capacity, neurons), one in found(rows).items()
    ]  # fmt: skip
    return Table(("policy", "capacity", "neurons", "insertion, ms", "rebuild, ms", "entries kept"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what table 3 compares."""
    medians = found(rows)
    largest = max(neurons for _, _, neurons in medians)
    parts = []
    for capacity in sorted({capacity for _, capacity, _ in medians}):
        fifo, reservoir = (medians[policy, capacity, largest] for policy in POLICIES)
        insertion = reservoir["insertion_milliseconds"] / fifo["insertion_milliseconds"]
        whole = reservoir["rebuild_milliseconds"] / fifo["rebuild_milliseconds"]
        parts.append(f"capacity {capacity}: insertion {insertion:.2f} times, rebuild {whole:.2f} times")
    one = medians["fifo", max(CAPACITIES), largest]
    share = one["insertion_milliseconds"] / one["rebuild_milliseconds"]
    return [
        Finding(
            "a full bucket takes newcomers by reservoir sampling or by FIFO; the runs of section 5 use FIFO",
            f"what reservoir takes over FIFO with {largest:,} neurons: {'; '.join(parts)}",
        ),
        Finding(
            "a rebuild hashes all neurons and inserts them",
            f"insertion is {share:.0%} of a FIFO rebuild with {largest:,} neurons; the rest is hashing",
        ),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the medians of both times against the width."""
    medians: list[Row] = [
        {"line": f"{policy}, capacity {capacity}", "neurons": neurons, **one}
        for (policy, capacity, neurons), one in found(rows).items()
    ]
    left, right = figure.subplots(1, 2, sharey=True)
    plotting.lines(left, medians, "line", "neurons", "insertion_milliseconds")
    plotting.lines(right, medians, "line", "neurons", "rebuild_milliseconds")
    both = np.concatenate([column(medians, "insertion_milliseconds"), column(medians, "rebuild_milliseconds")])
    for axes, title in ((left, "insertion alone"), (right, "rebuild: hashing and insertion")):
        plotting.whole_decades(axes, both)
        plotting.ticks_at(axes, sorted({row["neurons"] for row in rows}))
        axes.set(xlabel="neurons", title=title)
    left.set(ylabel="milliseconds")
    plotting.legend_below(figure, left)


EXPERIMENT = Experiment(
    name="insertion-policies",
    source="table 3",
    title="Insertion time and full rebuild time of FIFO and reservoir buckets",
    explanation="A layer with random weights, as wide as the data has labels and wider, is put into its tables: "
    "insertion from keys that are known, and the whole rebuild, which hashes every neuron first. Random numbers for "
    "the reservoirs are drawn within the rebuild and not within the insertion. Medians of all repetitions.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=("hidden", "threads", "family", "tables"),
)
