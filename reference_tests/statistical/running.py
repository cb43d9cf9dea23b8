"""Draw as often as each claim needs, and judge all of them within one budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.random import SeedSequence, default_rng

from pyslide.verification import Verdict, detectable, judge, sample_size
from pyslide.verification.counts import BUDGET
from reference_tests.statistical.claims import Claim, Count

SEED = 20_200_302
"""Fixed: the suite repeats itself."""


class Line(NamedTuple):
    """One line of the table."""

    layer: str
    alpha: float
    power: float
    verdict: Verdict


def run(claims: Sequence[Claim], replaced: dict[str, Count] | None = None) -> list[Line]:
    """Count and judge; ``replaced`` puts wrong samplers in the place of right ones."""
    alpha = BUDGET / len(claims)
    generators = [default_rng(child) for child in SeedSequence(SEED).spawn(len(claims))]
    trials = [sample_size(claim.check, alpha) for claim in claims]
    counts = [
        (replaced or {}).get(claim.check.name, claim.count)(number, generator)
        for claim, number, generator in zip(claims, trials, generators, strict=True)
    ]
    verdicts = judge([claim.check for claim in claims], trials, counts)
    return [
        Line(claim.layer, alpha, detectable(claim.check, number, alpha), verdict)
        for claim, number, verdict in zip(claims, trials, verdicts, strict=True)
    ]
