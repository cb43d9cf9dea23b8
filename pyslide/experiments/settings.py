"""Which settings let SLIDE learn as well as the full softmax, and which do not.

One change at a time: each variant differs from the first sampled one in what its name says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pyslide.conventions import Conventions
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.learning import curve_cell, learning_curve
from pyslide.experiments.tidy import by, column, mean
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import TrainingSettings

FULL, FIRST = "full softmax", "DWTA K=4 L=50, weighted padding to 20 %"
ALONE, UNWEIGHTED = "no padding", "padding not weighted"


class Variant(NamedTuple):
    """One way to train; ``hashing`` None is the full softmax."""

    name: str
    hashing: Hashing | None
    learning_rate: float = 2e-3
    initial_scale: float = 0.1
    conventions: Conventions = Conventions(padding_weight="inverse_probability")


def variants(labels: int) -> list[Variant]:
    """Return the variants for an output layer of so many neurons; at most a fifth of them active by padding."""
    base = Hashing(codes_per_table=4, tables=50, sampling=Sampling(minimum_active=labels // 5))
    plain = Conventions()
    never = replace(base, sampling=replace(base.sampling, strategy="hard_threshold", minimum_count=base.tables + 1))
    alone = replace(base, sampling=replace(base.sampling, minimum_active=0))
    few = replace(base, sampling=replace(base.sampling, minimum_active=labels // 20))
    first = Variant(FIRST, base)
    return [
        Variant(FULL, None),
        first,
        first._replace(name="weighted padding to 5 %", hashing=few),
        first._replace(name=UNWEIGHTED, conventions=plain),
        first._replace(name=ALONE, hashing=alone, conventions=plain),
        first._replace(name="padding shared by the batch",
                       conventions=first.conventions.replace(padding_draws="shared_by_batch")),
        first._replace(name="no padding, K=3", hashing=replace(alone, codes_per_table=3), conventions=plain),
        first._replace(name="random neurons only, weighted", hashing=never),
        first._replace(name="random neurons only, not weighted", hashing=never, conventions=plain),
        first._replace(name="L=20", hashing=replace(base, tables=20)),
        first._replace(name="SimHash K=9", hashing=replace(base, family="simhash", codes_per_table=9)),
        first._replace(name="WTA", hashing=replace(base, family="wta")),
        first._replace(name="MinHash K=2", hashing=replace(base, family="minhash", codes_per_table=2)),
        first._replace(name="full softmax, learning rate 1e-3", hashing=None, learning_rate=1e-3),
        first._replace(name="learning rate 1e-3", learning_rate=1e-3),
        first._replace(name="learning rate 4e-3", learning_rate=4e-3),
        first._replace(name="initial scale 0.02", initial_scale=0.02),
        first._replace(name="initial scale 0.3", initial_scale=0.3),
        first._replace(name="Adam on every weight", conventions=first.conventions.replace(adam_rows="every_weight")),
        first._replace(name="Adam with own steps", conventions=first.conventions.replace(adam_rows="touched_own_step")),
    ]  # fmt: skip


def training_of(variant: Variant, choices: Choices, labels: int, seed: int) -> TrainingSettings:
    """Return the training of a variant."""
    hidden = [LayerSettings(neurons=width, initial_scale=variant.initial_scale) for width in choices.hidden]
    output = LayerSettings(neurons=labels, initial_scale=variant.initial_scale, hashing=variant.hashing)
    return TrainingSettings(
        layers=(*hidden, output),
        batch_size=choices.batch_size,
        seed=seed,
        threads=choices.threads,
        optimizer=Optimizer(learning_rate=variant.learning_rate),
        conventions=variant.conventions,
    )


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return a run of every variant with each seed, evaluated in the end on all held-out rows."""
    chosen = variants(data.labels)
    return [
        {
            **curve_cell(choices, data, {"variant": variant.name}, training_of(variant, choices, data.labels, seed)),
            "evaluations": 1,
            "evaluation_rows": data.test.rows,
        }
        for variant in (chosen[:5] if choices.quick else chosen)
        for seed in range(choices.seeds)
    ]


def table(rows: Sequence[Row]) -> Table:
    """Return means, and how far the seeds' P@1 lie apart."""
    lines = [
        (name, *(f"{mean(group, f'P@{k}'):.2f}" for k in (1, 3, 5)), f"{np.ptp(column(group, 'P@1')):.2f}",
         f"{100 * mean(group, 'active_share'):.1f}", f"{mean(group, 'seconds'):.0f}")
        for name, group in by(rows, "variant").items()
    ]  # fmt: skip
    return Table(("variant", "P@1", "P@3", "P@5", "range of P@1", "active %", "seconds"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what the paper says of accuracy, beside what padding and weights do."""
    found = {name: f"{mean(group, 'P@1'):.2f} %" for name, group in by(rows, "variant").items()}
    return [
        Finding(
            "the softmax is normalised over the active set only, and learns as well per iteration as the full one",
            f"P@1 {found[ALONE]} with retrieved neurons alone, {found[FULL]} with all",
        ),
        Finding(
            "nothing is said of weights for the neurons that are not retrieved",
            f"with random neurons up to a fifth {found[UNWEIGHTED]}, with these weighted {found[FIRST]}",
        ),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the P@1 of every variant."""
    plotting.bars(figure, rows, "variant", "P@1", lambda name: int(name.startswith(FULL)))


EXPERIMENT = Experiment(
    name="settings",
    source="",
    title="Which settings let SLIDE learn as well as the full softmax",
    explanation="Every variant trains the same network and ranks all held-out rows with all neurons in the end. "
    "Variants differ from the second one in what their name says; their hashing and learning rate are their own.",
    cells=cells,
    measure=learning_curve,
    table=table,
    findings=findings,
    draw=draw,
    choices=("epochs", "steps", "hidden", "batch_size", "threads"),
)
