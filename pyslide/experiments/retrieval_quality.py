"""What the tables find, over training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from pyslide.engine.network import retrieve
from pyslide.engine.ragged import contains, pack, pack_sets
from pyslide.engine.sampling import label_sets, union
from pyslide.engine.vectors import Batch
from pyslide.experiments import plotting
from pyslide.experiments.experiment import (
    EVALUATING,
    TRAINING,
    Choices,
    Data,
    Experiment,
    Finding,
    Row,
    Settings,
    Table,
)
from pyslide.experiments.learning import curve, curve_cells, hashing_of, precision
from pyslide.experiments.tidy import by, ends, mean, where
from pyslide.inference import exact_top_k, hidden
from pyslide.settings import LayerSettings
from pyslide.training import Trainer

BEST = 100
"""How many of the largest exact logits should be found."""
TABLES_OF: Mapping[str, Mapping[str, Any]] = {
    "DWTA, K=4": {"family": "dwta", "codes_per_table": 4},
    "DWTA, K=3": {"family": "dwta", "codes_per_table": 3},
    "SimHash, K=9": {"family": "simhash", "codes_per_table": 9},
    "SimHash, K=6": {"family": "simhash", "codes_per_table": 6},
}


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return a run with each kind of tables and each seed."""
    base = hashing_of(choices, data.labels)
    outputs = [
        ({"tables": name}, LayerSettings(neurons=data.labels, hashing=replace(base, **TABLES_OF[name])))
        for name in choices.some(list(TABLES_OF))
    ]
    return curve_cells(choices, data, outputs)


def recalls(trainer: Trainer, features: Batch, labels: sparse.csr_array) -> Row:
    """Return how much the tables give for held-out rows, and how much of what matters is in it.

    Returns
    -------
    mapping
        In per cent: the share of the neurons that the buckets' union holds, of the exact best ones that are in it, and
        of the rows' labels.
    """
    network, layer = trainer.network, trainer.network.layers[-1]
    assert layer.tables is not None
    inputs = hidden(network, features)
    found = union(retrieve(inputs, layer.tables, trainer.settings.conventions), layer.neurons)
    packed = pack_sets(found, layer.neurons)
    best = exact_top_k(network, features, min(BEST, layer.neurons)).labels
    wanted = pack_sets(label_sets(labels), layer.neurons)
    return {
        "retrieved": 100 * float(found.sizes.mean()) / layer.neurons,
        "best_found": 100 * float(contains(packed, pack(np.arange(len(best))[:, None], best, layer.neurons)).mean()),
        "labels_found": 100 * float(contains(packed, wanted).mean()) if wanted.size else 0.0,
    }


def recalls_and_precision(trainer: Trainer, features: Batch, labels: sparse.csr_array) -> Row:
    """Return `recalls`, and the precision with all neurons."""
    return {**recalls(trainer, features, labels), **precision(trainer, features, labels)}


def measure(data: Data, **run: Any) -> list[Row]:
    """Return a curve with recalls and precision at every pause."""
    return curve(data, look=recalls_and_precision, **run)


def table(rows: Sequence[Row]) -> Table:
    """Return the first and the last pause."""
    lines = [
        (name, f"{mean(when, 'step'):.0f}", f"{mean(when, 'retrieved'):.2f}",
         f"{mean(when, 'best_found'):.2f}", f"{mean(when, 'labels_found'):.2f}", f"{mean(when, 'P@1'):.2f}")
        for name, group in by(rows, "tables").items()
        for when in (where(group, step=min(row["step"] for row in group)), ends(group, "tables"))
    ]  # fmt: skip
    return Table(("tables", "step", "retrieved %", f"of the best {BEST}, %", "of the labels, %", "P@1 %"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what SLIDE rests on."""
    last = by(ends(rows, "tables"), "tables")
    best = "; ".join(
        f"{name}: {mean(group, 'best_found'):.1f} % of the best {BEST} and {mean(group, 'labels_found'):.1f} % of the "
        f"labels among {mean(group, 'retrieved'):.1f} % of the neurons"
        for name, group in last.items()
    )
    return [
        Finding(
            "what buckets give is enough to learn from: about 1,000 of 205,443 and 3,000 of 670,091 output neurons",
            f"at the end of training, for held-out rows: {best}",
        )
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the recalls and the share that is retrieved, against steps."""
    panels = figure.subplots(1, 3, sharey=True)
    titles = {"best_found": f"best {BEST} found", "labels_found": "labels found", "retrieved": "neurons retrieved"}
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        plotting.curves(axes, rows, "tables", "step", name)
        axes.set(xlabel="steps", title=title)
    panels[0].set(ylabel="%", ylim=(0, None))
    plotting.legend_below(figure, panels[0])


EXPERIMENT = Experiment(
    name="retrieval-quality",
    source="",
    title="What the tables find over training: the exact best 100 and the labels",
    explanation="At every pause the buckets of held-out rows are looked up, without labels and without random "
    "neurons. Neurons chosen at random would hold as large a share of the best and of the labels as they are of all "
    "neurons.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=(*TRAINING, *EVALUATING, "tables", "active_share"),
)
