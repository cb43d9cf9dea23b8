"""Figures 4 and 12: what the sampling strategies cost."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyslide.engine import sampling as engine
from pyslide.engine.network import retrieve
from pyslide.engine.tables import Buckets
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.learning import hashing_of, run_to, training_of
from pyslide.experiments.tidy import by, column, groups, mean
from pyslide.inference import hidden
from pyslide.randomness import draw_table_orders, generators
from pyslide.settings import LayerSettings
from pyslide.spec import sampling as spec
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

BUDGETS = (0.005, 0.01, 0.02, 0.05, 0.1)
"""beta of vanilla and TopK, as shares of the neurons."""
THRESHOLDS = (6, 4, 3, 2, 1)
"""m of hard threshold."""
CODES_PER_TABLE = 2
"""K: few, so that buckets hold enough neurons to choose from."""
TRAINED, QUICK_TRAINED = 50, 10
"""Steps before the strategies choose."""
REPETITIONS = 7
STRATEGIES = {"vanilla": "vanilla", "top_k": "TopK", "hard_threshold": "hard threshold"}
ONE_BY_ONE, AT_ONCE = "one sample at a time", "a batch at once"


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return every strategy with every budget or threshold, on a network of each seed."""
    few = min(CODES_PER_TABLE, choices.codes_per_table)
    layer = LayerSettings(
        neurons=data.labels, hashing=replace(hashing_of(choices, data.labels), codes_per_table=few)
    )
    steps = QUICK_TRAINED if choices.quick else TRAINED
    asked: list[dict[str, Any]] = [
        {"strategy": strategy, "budget": choices.active(data.labels, share), "minimum_count": 1}
        for strategy in ("vanilla", "top_k")
        for share in BUDGETS
    ]
    asked += [
        {"strategy": "hard_threshold", "budget": 0, "minimum_count": count}
        for count in THRESHOLDS
        if count <= choices.tables
    ]
    return [
        {"sampling": Sampling(**one), "training": training_of(choices, layer, seed), "steps": steps}
        for one in asked
        for seed in range(choices.seeds)
    ]


def least_milliseconds(work: Callable[[], object]) -> float:
    """Return the shortest of several times of some work: what else the machine does can only add."""
    return 1e3 * min(timeit.repeat(work, repeat=REPETITIONS, number=1))


def separate(buckets: Buckets, samples: int) -> list[list[Any]]:
    """Return the L buckets of the first samples, as the spec takes them."""
    ends = np.cumsum(buckets.lengths.ravel())
    parts = np.split(buckets.members, ends[:-1])
    tables = buckets.lengths.shape[1]
    return [parts[sample * tables : (sample + 1) * tables] for sample in range(samples)]


def measure(data: Data, sampling: Sampling, training: TrainingSettings, steps: int) -> list[Row]:
    """Train a little, look up a batch's buckets, and time one strategy on them, in engine and spec."""
    trainer = Trainer(training, data.training.features, data.training.labels)
    run_to(trainer, steps)
    network, conventions = trainer.network, training.conventions
    layer = network.layers[-1]
    assert layer.tables is not None
    inputs = hidden(network, trainer.features[trainer.row_order[: training.batch_size]])
    buckets = retrieve(inputs, layer.tables, conventions)
    samples, tables = buckets.lengths.shape
    (generator,) = generators(training.seed, 1)
    orders, nobody = draw_table_orders(generator, samples, tables), engine.nobody(samples)
    single = separate(buckets, samples)

    def one_by_one() -> None:
        for sample in range(samples):
            spec.sample(single[sample], orders[sample], spec.NOBODY, sampling, conventions)

    def at_once() -> Any:
        return engine.sample(buckets, orders, nobody, sampling, conventions, layer.neurons)

    row = {
        "strategy": STRATEGIES[sampling.strategy],
        "budget": sampling.budget,
        "minimum_count": sampling.minimum_count,
        "seed": training.seed,
        "active": float(at_once().sizes.mean()),
        "candidates": float(buckets.lengths.sum() / samples),
    }
    return [
        {**row, "implementation": name, "milliseconds": least_milliseconds(work) / samples}
        for name, work in ((ONE_BY_ONE, one_by_one), (AT_ONCE, at_once))
    ]


def table(rows: Sequence[Row]) -> Table:
    """Return the time of a sample."""
    lines = [
        (implementation, strategy, str(budget) if budget else f"m = {count}", f"{mean(group, 'active'):.0f}",
         f"{1e3 * mean(group, 'milliseconds'):.1f}")
        for (implementation, strategy, budget, count), group in groups(
            rows, "implementation", "strategy", "budget", "minimum_count"
        ).items()
    ]  # fmt: skip
    header = ("implementation", "strategy", "budget or threshold", "active neurons", "microseconds a sample")
    return Table(header, lines)


def times(rows: Sequence[Row]) -> str:
    """Return the range of the microseconds of each strategy."""
    parts = []
    for strategy, group in by(rows, "strategy").items():
        micro = 1e3 * column(group, "milliseconds")
        parts.append(f"{strategy} {micro.min():.0f} to {micro.max():.0f}")
    return ", ".join(parts)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the claim of section 4.1, for both implementations."""
    claim = "vanilla is by far the fastest, TopK the slowest, orders of magnitude apart"
    found = by(rows, "implementation")
    single, batch = times(found[ONE_BY_ONE]), times(found[AT_ONCE])
    return [
        Finding(claim, f"{ONE_BY_ONE}, each strategy as it reads, microseconds a sample: {single}"),
        Finding(claim, f"{AT_ONCE}, vectorised, where every strategy is given all L buckets and sorts them: {batch}"),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the time of a sample against the number of active neurons."""
    for axes, (name, group) in zip(figure.subplots(1, 2, sharey=True), by(rows, "implementation").items(), strict=True):
        for number, (strategy, points) in enumerate(by(group, "strategy").items()):
            tries = [
                (mean(one, "active"), 1e3 * mean(one, "milliseconds"))
                for one in groups(points, "budget", "minimum_count").values()
            ]
            across, up = zip(*sorted(tries), strict=True)
            axes.plot(across, up, marker=plotting.marker(number), color=plotting.colour(number), label=strategy)
        plotting.whole_decades(axes, 1e3 * column(rows, "milliseconds"))
        axes.set(xscale="log", xlabel="active neurons", title=name)
    figure.axes[0].set(ylabel="microseconds a sample")
    plotting.legend_below(figure, axes)


EXPERIMENT = Experiment(
    name="sampling-strategies",
    source="figures 4 and 12",
    title="Time of vanilla, TopK and hard threshold sampling by the number of active neurons",
    explanation="A network is trained for a few steps with K=2, so that buckets are well filled; then the buckets of "
    "one batch are looked up, and each strategy chooses from the same buckets, in the spec (one sample at a time; "
    "vanilla stops at its budget, and forms the union of what it has read anew before every bucket) and in the engine "
    "(a batch at once). Hashing and lookup are not counted: they are the same. The shortest of several times counts.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=("learning_rate", "hidden", "batch_size", "threads", "family", "codes_per_table", "tables"),
)
