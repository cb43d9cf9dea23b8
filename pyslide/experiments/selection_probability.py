"""Figure 11: how likely a neuron is selected, theory beside counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.building import build_network, rebuild_layer
from pyslide.conventions import PAPER
from pyslide.engine.network import retrieve
from pyslide.engine.sampling import hard_threshold, union
from pyslide.engine.tables import Buckets
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.tidy import by, column, groups, where
from pyslide.randomness import generators
from pyslide.settings import Hashing, LayerSettings
from pyslide.theory import hard_threshold_inclusion, inclusion_after_tables, printed_hit_pattern_probability
from pyslide.verification.counts import two_sided_tail

COLLISIONS = np.round(np.linspace(0.5, 0.98, 25), 2)
"""p of each neuron: it lies at the angle pi * (1 - p) to the input."""
THRESHOLDS = {(1, 10): (3, 5, 7, 9), (9, 50): (1, 2, 5, 10)}
"""m by K and L; K=9 and L=50 are the paper's for Delicious-200K."""
TABLES_READ = {(1, 10): 2, (9, 50): 5}
"""tau by K and L."""
TRIALS, QUICK_TRIALS = 1000, 150
VANILLA = "vanilla"


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return trials with each K and L and each seed."""
    trials = QUICK_TRIALS if choices.quick else TRIALS
    return [
        {"codes_per_table": codes, "tables": tables, "trials": trials, "seed": seed}
        for codes, tables in THRESHOLDS
        for seed in range(choices.seeds)
    ]


def rules(codes: int, tables: int) -> dict[tuple[str, int], FloatArray]:
    """Return each rule, its threshold or the tables that it reads, and the theory for all neurons."""
    read = TABLES_READ[codes, tables]
    thresholds = {
        ("hard threshold", least): hard_threshold_inclusion(COLLISIONS, codes, tables, least)
        for least in THRESHOLDS[codes, tables]
    }
    return {(VANILLA, read): inclusion_after_tables(COLLISIONS, codes, read), **thresholds}


def measure(data: Data, codes_per_table: int, tables: int, trials: int, seed: int) -> list[Row]:
    """Draw hash functions again and again, and count which neurons are selected by which rule."""
    conventions = PAPER.replace(projection="gaussian")  # for which p is exact
    hashing = Hashing(
        family="simhash", codes_per_table=codes_per_table, tables=tables, capacity=max(1, COLLISIONS.size)
    )
    weights, functions, draws = generators(seed, 3)
    settings = (LayerSettings(neurons=COLLISIONS.size, hashing=hashing),)
    layer = build_network(settings, 2, conventions, weights, functions, np.float64).layers[0]
    angles = np.pi * (1 - COLLISIONS)
    layer.weights[:] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert layer.tables is not None
    selected = {rule: np.zeros(COLLISIONS.size, dtype=np.int64) for rule in rules(codes_per_table, tables)}
    for _ in range(trials):
        rebuild_layer(layer, hashing, conventions, draws, new_functions=True)
        buckets = retrieve(np.array([[1.0, 0.0]]), layer.tables, conventions)
        for (kind, number), times in selected.items():
            if kind == VANILLA:
                found = union(first_tables(buckets, number), layer.neurons)
            else:
                found = hard_threshold(buckets, number, "at_least", layer.neurons)
            times[found.neurons] += 1
    return [
        {"K": codes_per_table, "L": tables, "rule": kind, "number": number, "seed": seed, "p": float(p),
         "theory": float(exact), "selected": int(count), "trials": trials}
        for (kind, number), theory in rules(codes_per_table, tables).items()
        for p, exact, count in zip(COLLISIONS, theory, selected[kind, number], strict=True)
    ]  # fmt: skip


def first_tables(buckets: Buckets, read: int) -> Buckets:
    """Return one sample's buckets of the first tables."""
    lengths = buckets.lengths[:, :read]
    return Buckets(lengths, buckets.members[: lengths.sum()])


def pooled(rows: Sequence[Row]) -> list[Row]:
    """Return the counts of all seeds together, with their exact two-sided tails."""
    found: list[Row] = []
    for (codes, tables, kind, number, p), group in groups(rows, "K", "L", "rule", "number", "p").items():
        selected, trials = int(column(group, "selected").sum()), int(column(group, "trials").sum())
        theory = min(1.0, group[0]["theory"])
        tail = two_sided_tail(selected, trials, theory)
        line = f"{kind}, {'tables read' if kind == VANILLA else 'm'} = {number}"
        found.append(
            {"K": codes, "L": tables, "rule": kind, "line": line, "number": number, "p": p, "theory": theory,
             "selected": selected, "trials": trials, "frequency": selected / trials, "tail": tail}
        )  # fmt: skip
    return found


def table(rows: Sequence[Row]) -> Table:
    """Return some of the points."""
    lines = [
        (str(row["K"]), str(row["L"]), row["line"], f"{row['p']:.2f}", f"{row['theory']:.4f}",
         f"{row['frequency']:.4f}", f"{row['selected']} of {row['trials']}")
        for row in pooled(rows)
        if row["p"] in (0.6, 0.8, 0.9)
    ]  # fmt: skip
    return Table(("K", "L", "rule", "p", "theory", "measured", "selected"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the formulas of section 4.1 and Appendix B, judged by exact tails."""
    claims = {
        VANILLA: "vanilla: the paper prints (p^K)^tau (1-p^K)^(L-tau), the probability of one pattern of hits; "
        "inclusion after tau tables is 1-(1-p^K)^tau",
        "hard threshold": "hard threshold: the sum over i from m to L of C(L,i) (p^K)^i (1-p^K)^(L-i)",
    }
    found: list[Finding] = []
    for kind, claim in claims.items():
        points = where(pooled(rows), rule=kind)
        smallest = min(row["tail"] for row in points)
        off = max(abs(row["frequency"] - row["theory"]) for row in points)
        measured = (
            f"largest difference to the latter {off:.4f}" if kind == VANILLA else f"largest difference {off:.4f}"
        ) + f" over {len(points)} points; smallest exact two-sided tail {smallest:.2g}, times the points "
        measured += f"{min(1.0, smallest * len(points)):.2g}"
        if kind == VANILLA:
            measured += f"; the printed formula is off by up to {printed_error(points):.3f}"
        found.append(Finding(claim, measured))
    return found


def printed_error(points: Sequence[Row]) -> float:
    """Return how far the printed formula lies from the frequencies at most."""
    printed = [printed_hit_pattern_probability(row["p"], row["K"], row["L"], row["number"]) for row in points]
    return float(np.max(np.abs(np.array(printed) - column(points, "frequency"))))


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw theory as lines and counts as dots, a panel for each K and L."""
    panels = groups(pooled(rows), "K", "L")
    for axes, ((codes, tables), group) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for number, (name, points) in enumerate(by(group, "line").items()):
            across = column(points, "p")
            axes.plot(across, column(points, "theory"), color=plotting.colour(number))
            axes.plot(across, column(points, "frequency"), plotting.marker(number), color=plotting.colour(number),
                      markersize=4, label=name)  # fmt: skip
        axes.set(xlabel="p, one code collides", title=f"K={codes}, L={tables}: theory (lines), counts (dots)")
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
    figure.axes[0].set(ylabel="probability to be selected")


EXPERIMENT = Experiment(
    name="selection-probability",
    source="figure 11",
    title="How likely a neuron is selected by its code collision probability, theory beside counts",
    explanation="Neurons lie in the plane at angles at which one code of SimHash with Gaussian projections collides "
    "with probability p exactly. Hash functions are drawn again and again, tables rebuilt, buckets looked up and "
    "rules applied, all by the engine. Of the same draws all rules are counted.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=(),
    uses_data=False,
)
