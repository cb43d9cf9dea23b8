"""Which settings let SLIDE learn as well as the full softmax, and which do not.

``python -m pyslide.experiments.settings_study [TRAIN TEST]`` trains every variant with several seeds and prints the
mean of P@1, P@3, P@5, and how far the seeds lie apart; without files, on the data set that ships.  One change at a
time: each variant differs from the first sampled one in what its name says.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from pyslide.conventions import Conventions
from pyslide.data import Dataset, load, load_standard_library
from pyslide.inference import exact_top_k
from pyslide.metrics import precision_at_k
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

RANKS = (1, 3, 5)
"""The k of P@k."""


class Variant(NamedTuple):
    """One way to train; ``hashing`` None is the full softmax."""

    name: str
    hashing: Hashing | None
    learning_rate: float = 2e-3
    initial_scale: float = 0.1
    conventions: Conventions = Conventions(padding_weight="inverse_probability")


class Result(NamedTuple):
    """What one run gave."""

    precisions: tuple[float, ...]
    active_share: float
    seconds: float


def variants(labels: int) -> list[Variant]:
    """Return the variants for an output layer of so many neurons; at most a fifth of them active by padding."""
    base = Hashing(codes_per_table=4, tables=50, sampling=Sampling(minimum_active=labels // 5))
    plain = Conventions()
    never = replace(base, sampling=replace(base.sampling, strategy="hard_threshold", minimum_count=base.tables + 1))
    alone = replace(base, sampling=replace(base.sampling, minimum_active=0))
    few = replace(base, sampling=replace(base.sampling, minimum_active=labels // 20))
    first = Variant("DWTA K=4 L=50, weighted padding to 20 %", base)
    return [
        Variant("full softmax", None),
        first,
        first._replace(name="weighted padding to 5 %", hashing=few),
        first._replace(name="padding not weighted", conventions=plain),
        first._replace(name="no padding", hashing=alone, conventions=plain),
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
    ]


def train(variant: Variant, training: Dataset, test: Dataset, epochs: int, seed: int) -> Result:
    """Train one variant with one seed and rank the held-out rows with all neurons."""
    layers = (
        LayerSettings(neurons=128, initial_scale=variant.initial_scale),
        LayerSettings(
            neurons=training.label_count, initial_scale=variant.initial_scale, hashing=variant.hashing
        ),
    )
    optimizer = Optimizer(learning_rate=variant.learning_rate)
    settings = TrainingSettings(layers=layers, seed=seed, optimizer=optimizer, conventions=variant.conventions)
    started = time.perf_counter()
    trainer = Trainer(settings, training.features, training.labels)
    trainer.run(epochs)
    seconds = time.perf_counter() - started
    ranking = exact_top_k(trainer.network, test.features, max(RANKS))
    precisions = tuple(100 * precision_at_k(ranking.labels, test.labels, k) for k in RANKS)
    return Result(precisions, float(np.mean([row["active_share"] for row in trainer.history])), seconds)


def line(variant: Variant, results: Sequence[Result]) -> str:
    """Return one line of the table: means, and how far the seeds' P@1 lie apart."""
    means = np.mean([result.precisions for result in results], axis=0)
    spread = np.ptp([result.precisions[0] for result in results])
    share = 100 * np.mean([result.active_share for result in results])
    figures = " | ".join(f"{mean:.2f}" for mean in means)
    seconds = np.mean([result.seconds for result in results])
    return f"| {variant.name} | {figures} | {spread:.2f} | {share:.1f} | {seconds:.0f} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m pyslide.experiments.settings_study", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="TRAIN TEST")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    if len(options.files) not in (0, 2):
        parser.error("expected no file, or TRAIN and TEST")
    if options.files:
        training, test = load(options.files[0]), load(options.files[1])
    else:
        training, test = load_standard_library("train"), load_standard_library("test")
    print("| variant | P@1 | P@3 | P@5 | range of P@1 | active % | seconds |\n|---|---|---|---|---|---|---|")
    for variant in variants(training.label_count):
        run = delayed(train)
        results = Parallel(n_jobs=options.jobs)(
            run(variant, training, test, options.epochs, seed) for seed in range(options.seeds)
        )
        print(line(variant, results), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
