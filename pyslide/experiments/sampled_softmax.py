"""Figure 7: SLIDE beside sampled softmax with several sample sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyslide.experiments import plotting
from pyslide.experiments.experiment import (
    EVALUATING,
    TABLES,
    TRAINING,
    Choices,
    Data,
    Experiment,
    Finding,
    Row,
    Settings,
    Table,
)
from pyslide.experiments.learning import FULL, SAMPLED, SLIDE, curve_cells, learning_curve, output_of
from pyslide.experiments.tidy import ends, groups, mean, where
from pyslide.settings import DISTRIBUTIONS, CandidateSampling, LayerSettings

SHARES = (0.01, 0.05, 0.2, 0.5)


def candidate_layer(labels: int, count: int, distribution: str, correction: bool) -> LayerSettings:
    """Return an output layer with drawn candidates."""
    candidates = CandidateSampling(distribution=distribution, count=count, correction=correction)
    return LayerSettings(neurons=labels, candidates=candidates)


def variant(distribution: str, correction: bool) -> str:
    """Return what the rows call a way to draw."""
    return f"{distribution.replace('_', '-')}, {'corrected' if correction else 'not corrected'}"


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return SLIDE, the full softmax, and every way to draw with every sample size."""
    labels = data.labels
    outputs: list[tuple[dict[str, Any], LayerSettings]] = [
        ({"method": SLIDE, "variant": SLIDE, "share": choices.active_share}, output_of(SLIDE, choices, labels)),
        ({"method": FULL, "variant": FULL, "share": 1.0}, output_of(FULL, choices, labels)),
    ]
    outputs += [
        (
            {"method": SAMPLED, "variant": variant(distribution, correction), "share": share},
            candidate_layer(labels, choices.active(labels, share), distribution, correction),
        )
        for distribution in DISTRIBUTIONS
        for correction in (True, False)
        for share in choices.some(SHARES)
    ]
    return curve_cells(choices, data, outputs)


def table(rows: Sequence[Row]) -> Table:
    """Return where each variant ends."""
    lines = [
        (name, f"{share:.0%}", *(f"{mean(group, column):.2f}" for column in ("P@1", "P@5", "seconds")))
        for (name, share), group in groups(ends(rows, "variant", "share"), "variant", "share").items()
    ]
    return Table(("variant", "share of the labels", "P@1 %", "P@5 %", "seconds"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the claims of section 5."""
    last = ends(rows, "variant", "share")
    slide = mean(where(last, method=SLIDE), "P@1")
    share = where(last, method=SLIDE)[0]["active_share"]
    sampled = groups(where(last, method=SAMPLED), "variant", "share")
    enough = [size for (_, size), group in sampled.items() if mean(group, "P@1") >= slide]
    best = max(sampled, key=lambda key: mean(sampled[key], "P@1"))
    smallest = f"from {min(enough):.0%} of the labels on" if enough else "with no sample size tried"
    return [
        Finding(
            "sampled softmax needs about 20 % of the classes for a decent accuracy",
            f"it is at least as good as SLIDE with {share:.1%} active ({slide:.2f} %) {smallest}",
        ),
        Finding(
            "it saturates lower than SLIDE",
            f"its best variant ({best[0]}, {best[1]:.0%}) ends at {mean(sampled[best], 'P@1'):.2f} %",
        ),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the final P@1 against the sample size, and SLIDE and the full softmax as levels."""
    axes = figure.subplots()
    last = ends(rows, "variant", "share")
    percent = [{**row, "percent": 100 * row["share"]} for row in where(last, method=SAMPLED)]
    plotting.lines(axes, percent, "variant", "percent", "P@1")
    for method, style in ((SLIDE, "--"), (FULL, ":")):
        level = mean(where(last, method=method), "P@1")
        share = 100 * mean(where(last, method=method), "active_share")
        axes.axhline(level, color="black", linestyle=style, label=f"{method}, {share:.0f} % active")
    axes.set(xlabel="candidates, % of the labels", ylabel="P@1, %", title="P@1 in the end")
    plotting.ticks_at(axes, sorted({row["percent"] for row in percent}))
    plotting.legend_below(figure, axes, 3)


EXPERIMENT = Experiment(
    name="sampled-softmax",
    source="figure 7",
    title="Sampled softmax with several sample sizes, distributions and corrections, beside SLIDE",
    explanation="Sampled softmax draws one set of candidates a batch without looking at the inputs: uniformly, or "
    "log-uniformly over the labels by falling frequency; corrected, each logit is lowered by the logarithm of how "
    "often its label is expected among the candidates, which under the uniform distribution lowers all alike. SLIDE's "
    "random neurons are weighted by the inverse of their probability, its labels and retrieved neurons are not.",
    cells=cells,
    measure=learning_curve,
    table=table,
    findings=findings,
    draw=draw,
    choices=(*TRAINING, *EVALUATING, *TABLES),
)
