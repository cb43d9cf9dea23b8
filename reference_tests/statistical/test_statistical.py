"""All claims hold within one budget, and wrong samplers are caught by the same plan."""

import numpy as np
import pytest

from pyslide import randomness
from pyslide.engine import tables as engine_tables
from pyslide.verification.counts import BUDGET, POWER
from reference_tests.statistical import claims as subject
from reference_tests.statistical.running import run

ALL = subject.claims()


@pytest.fixture(scope="module")
def lines():
    return run(ALL)


@pytest.mark.parametrize("place", range(len(ALL)), ids=lambda one: f"{ALL[one].layer}, {ALL[one].check.name}")
def test_claim(lines, place):
    assert not lines[place].verdict.rejected, lines[place]
    assert lines[place].power >= POWER


def test_names_are_unique_in_a_layer():
    assert len({(claim.layer, claim.check.name) for claim in ALL}) == len(ALL)


def biased_signs(trials, generator):
    return int((generator.random(trials) < 0.52).sum())


def one_over_n(trials, generator):
    uniforms = randomness.draw_uniforms(generator, (trials, 10))
    tables = engine_tables.insert_all(
        engine_tables.empty_tables(32), np.repeat(np.arange(trials), 10), np.tile(np.arange(10), trials), 3,
        uniforms.ravel(), "reservoir_one_over_n",
    )  # fmt: skip
    return int((tables.members == 9).sum())


def dropped_table(trials, generator):
    return int(subject.shared_keys(subject.ENGINE, trials, generator)[:, :-1].any(axis=1).sum())


def swapped_k_and_l(trials, generator):
    family = randomness.draw_projections(generator, trials * 12, 4, "gaussian")
    codes = [subject.codes_by(subject.ENGINE, family, vector).reshape(trials, 3, 4) for vector in subject.ANGLE]
    return int((codes[0] == codes[1]).all(axis=2).any(axis=1).sum())


def wrong_power(trials, generator):
    return int((generator.random((trials, 2)) < 2 / 3).all(axis=1).sum())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("fair signs", biased_signs),
        ("reservoir R=3 n=10, arrival 9", one_over_n),
        ("union of L tables", dropped_table),
        ("union of L tables", swapped_k_and_l),
        ("key of one table, p^K", wrong_power),
    ],
)
def test_wrong_samplers_are_caught(name, wrong):
    layer = subject.DRAWS if name == "fair signs" else subject.ENGINE
    one = [claim for claim in ALL if (claim.layer, claim.check.name) == (layer, name)]
    (verdict,) = (line.verdict for line in run(one, {name: wrong}))
    assert verdict.tail < BUDGET / len(ALL)  # rejected even with the share that it has among all claims
