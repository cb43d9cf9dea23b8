"""When two vectors share a code: measured against the law of each family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from pyslide import theory
from pyslide.arrays import FloatArray
from pyslide.conventions import PAPER
from pyslide.engine.hashing import hash_codes
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.tidy import by, column, groups
from pyslide.randomness import draw_distinct, draw_family, draw_uniforms, draw_weights, generators
from pyslide.settings import Hashing
from pyslide.verification.counts import two_sided_tail

DRAWS, QUICK_DRAWS = 3000, 400
BINS = 8
"""C of DWTA: an empty bin borrows from the others."""
MIXTURES = (0.0, 0.3, 0.6, 0.8, 0.9, 0.97)
"""How much of the second vector is the first."""
DENSE, SPARSE = 9, 24
"""Dimensions: of dense vectors, small enough for the exact law of sparse signs, and of sparse ones."""
FEW, MANY = 4, 10
"""Non-zeros of a sparse vector: few, so that bins are empty now and then, and many for sets that overlap."""


class Law(NamedTuple):
    """A family, the vectors that it is tried with, and the exact probability of equal codes."""

    hashing: Hashing
    projection: str
    dimension: int
    pair: Callable[[Generator, float], FloatArray]  # (2, d)
    probability: Callable[[FloatArray, FloatArray], float]


def dense_pair(generator: Generator, mixture: float) -> FloatArray:
    """Return two dense vectors, the second partly the first."""
    first, other = draw_weights(generator, (2, DENSE), 1.0, np.float64)
    return np.stack([first, mixture * first + np.sqrt(1 - mixture**2) * other])


def sparse_pair(generator: Generator, mixture: float, entries: int) -> FloatArray:
    """Return two sparse vectors with distinct positive values, the second with part of the first's entries."""
    places, shared = draw_distinct(generator, SPARSE, 2 * entries), round(mixture * entries)
    pair = np.zeros((2, SPARSE))
    pair[0, places[:entries]] = 1 + draw_uniforms(generator, (entries,))
    pair[1, places[entries - shared : 2 * entries - shared]] = 1 + draw_uniforms(generator, (entries,))
    pair[1, places[entries - shared : entries]] = pair[0, places[entries - shared : entries]]
    return pair


def gaussian_probability(x: FloatArray, y: FloatArray) -> float:
    """Return 1 - theta/pi."""
    return float(theory.simhash_collision_probability(x @ y / np.sqrt(x @ x * (y @ y))))


def signs_probability(x: FloatArray, y: FloatArray) -> float:
    """Return the exact law of d/3 random signs, ties included."""
    return theory.sparse_sign_collision(x, y, DENSE // 3).collision(PAPER.sign_bit)


LAWS = {
    "SimHash, Gaussian": Law(
        Hashing(family="simhash", codes_per_table=1, tables=1), "gaussian", DENSE, dense_pair, gaussian_probability
    ),
    "SimHash, d/3 signs": Law(
        Hashing(family="simhash", codes_per_table=1, tables=1), PAPER.projection, DENSE, dense_pair, signs_probability
    ),
    "WTA": Law(
        Hashing(family="wta", codes_per_table=1, tables=1, bin_size=4), PAPER.projection, DENSE, dense_pair,
        lambda x, y: theory.winner_take_all_collision_probability(x, y, 4),
    ),
    "DWTA": Law(  # more than half of the coordinates in a bin: every bin has a permutation of its own
        Hashing(family="dwta", codes_per_table=1, tables=BINS, bin_size=13), PAPER.projection, SPARSE,
        partial(sparse_pair, entries=FEW),
        lambda x, y: theory.densified_winner_take_all_collision_probability(x, y, 13, BINS),
    ),
    "MinHash": Law(  # the whole permutation
        Hashing(family="minhash", codes_per_table=1, tables=1, bin_size=SPARSE), PAPER.projection, SPARSE,
        partial(sparse_pair, entries=MANY),
        lambda x, y: theory.jaccard(np.flatnonzero(x), np.flatnonzero(y)),
    ),
}  # fmt: skip
"""The families with what is exact for each."""


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return draws of each family with each seed."""
    draws = QUICK_DRAWS if choices.quick else DRAWS
    return [{"family": name, "draws": draws, "seed": seed} for name in LAWS for seed in range(choices.seeds)]


def measure(data: Data, family: str, draws: int, seed: int) -> list[Row]:
    """Draw hash functions again and again, and count in how many of them the first codes of two vectors are equal."""
    law, conventions = LAWS[family], PAPER.replace(projection=LAWS[family].projection)
    (vectors,) = generators(0, 1)  # the same for all seeds
    (generator,) = generators(seed + 1, 1)
    pairs = np.stack([law.pair(vectors, mixture) for mixture in MIXTURES])  # (pairs, 2, d)
    batch, equal = pairs.reshape(-1, law.dimension), np.zeros(len(MIXTURES), dtype=np.int64)
    for _ in range(draws):
        functions = draw_family(generator, law.hashing, law.dimension, conventions)
        codes = hash_codes(batch, functions, conventions).codes[:, 0].reshape(-1, 2)
        equal += codes[:, 0] == codes[:, 1]
    return [
        {"family": family, "pair": number, "seed": seed, "theory": law.probability(*pair), "equal": int(count),
         "draws": draws}
        for number, (pair, count) in enumerate(zip(pairs, equal, strict=True))
    ]  # fmt: skip


def pooled(rows: Sequence[Row]) -> list[Row]:
    """Return the counts of all seeds together, with their exact two-sided tails; of each family by rising theory."""
    found: list[Row] = []
    for (family, pair), group in groups(rows, "family", "pair").items():
        equal, draws = int(column(group, "equal").sum()), int(column(group, "draws").sum())
        exact = min(1.0, group[0]["theory"])
        deviation = np.sqrt(exact * (1 - exact) / draws)
        off = (equal / draws - exact) / deviation if deviation > 0 else 0.0
        found.append(
            {"family": family, "pair": pair, "theory": exact, "equal": equal, "draws": draws,
             "frequency": equal / draws, "deviations": float(off), "tail": two_sided_tail(equal, draws, exact)}
        )  # fmt: skip
    return sorted(found, key=lambda row: (list(LAWS).index(row["family"]), row["theory"]))


def table(rows: Sequence[Row]) -> Table:
    """Return every pair, from unlike to alike."""
    lines = [
        (row["family"], f"{row['theory']:.4f}", f"{row['frequency']:.4f}", f"{row['equal']} of {row['draws']}",
         f"{row['tail']:.2g}")
        for row in pooled(rows)
    ]  # fmt: skip
    return Table(("family", "theory", "measured", "equal codes", "two-sided tail"), lines)


CLAIMS = {
    "SimHash, Gaussian": "1 - theta/pi for dense Gaussian projections, exactly",
    "SimHash, d/3 signs": "the paper's projections of d/3 signs; 1 - theta/pi is their limit, ties have weight",
    "WTA": "WTA: the place of the largest value in a bin of m",
    "DWTA": "DWTA: an empty bin borrows the code of another",
    "MinHash": "MinHash: the Jaccard similarity of the two sets",
}


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return how far each family is from its law."""
    points = pooled(rows)
    return [
        Finding(
            CLAIMS[family],
            f"largest difference to the exact law {max(abs(row['frequency'] - row['theory']) for row in group):.4f}; "
            f"smallest two-sided tail {min(row['tail'] for row in group):.2g}, times all {len(points)} pairs "
            f"{min(1.0, min(row['tail'] for row in group) * len(points)):.2g}",
        )
        for family, group in by(points, "family").items()
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the frequencies against theory, and their distance in standard deviations."""
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="gray", linewidth=1)
    right.axhspan(-2, 2, color="gray", alpha=0.15, linewidth=0)
    for number, (family, group) in enumerate(by(pooled(rows), "family").items()):
        style = {"marker": plotting.marker(number), "color": plotting.colour(number), "linestyle": "none"}
        left.plot(column(group, "theory"), column(group, "frequency"), label=family, markersize=5, **style)
        right.plot(column(group, "theory"), column(group, "deviations"), markersize=5, **style)
    left.set(xlabel="theory", ylabel="share of draws with equal codes", title="collisions")
    right.set(xlabel="theory", ylabel="standard deviations", ylim=(-5, 5), title="measured - theory")
    plotting.legend_below(figure, left, 5)


EXPERIMENT = Experiment(
    name="collision-laws",
    source="section 3.2",
    title="How often two vectors share a code, against the exact law of each family",
    explanation="Pairs of vectors, from unlike to alike, are hashed with functions drawn anew each time; of each draw "
    "the first code counts, so that counts are binomial. DWTA's law takes the hash that finds donors for ideal.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=(),
    uses_data=False,
)
