"""WTA of correlated normal numbers against closed cases, orthants counted by SciPy, and a large sample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pyslide.errors import OutOfRangeError
from pyslide.theory import (
    correlated_winner_collision_probability,
    simhash_collision_probability,
    winner_take_all_collision_probability,
)
from pyslide.theory.correlated_winners import pair_distribution

CORRELATIONS = np.array([-1, -0.7, -0.2, 0, 0.3, 0.9, 0.999, 1])


def test_a_bin_of_two_is_a_sign():
    found = correlated_winner_collision_probability(CORRELATIONS, 2)
    np.testing.assert_allclose(found, simhash_collision_probability(CORRELATIONS), atol=1e-12)


@pytest.mark.parametrize("bin_size", [2, 3, 8, 33, 64])
def test_closed_cases(bin_size):
    found = correlated_winner_collision_probability([-1, 0, 1], bin_size)
    np.testing.assert_allclose(found, [0, 1 / bin_size, 1], atol=1e-6)
    assert np.all(np.diff(correlated_winner_collision_probability(CORRELATIONS, bin_size)) > 0)


@pytest.mark.parametrize("correlation", [-0.6, 0.2, 0.8])
def test_a_bin_of_three_is_an_orthant(correlation):
    """The first is largest in both where four differences are positive; SciPy integrates to 1e-5."""
    differences = np.kron([[2, 1], [1, 2]], [[1, correlation], [correlation, 1]])
    orthant = stats.multivariate_normal(cov=differences, seed=1, maxpts=10**6).cdf(np.zeros(4))
    assert correlated_winner_collision_probability(correlation, 3) == pytest.approx(3 * orthant, abs=2e-4)


def test_the_law_of_one_sample_of_vectors_is_near():
    """The mean of the exact law of 40 pairs of long vectors; five standard errors fail once in 80,000 runs."""
    generator = np.random.default_rng(2)
    law = []
    for _ in range(40):
        x, noise = generator.standard_normal((2, 1200))
        law.append(winner_take_all_collision_probability(x, 0.8 * x + 0.6 * noise, 8))
    error = np.std(law, ddof=1) / np.sqrt(len(law))
    assert abs(np.mean(law) - correlated_winner_collision_probability(0.8, 8)) < 5 * error < 0.02


@pytest.mark.parametrize(("x", "y"), [(0.0, 1.2), (0.0, -1.2), (-0.4, 0.0), (1.3, -0.2), (-1.0, -2.0)])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.5])
def test_the_distribution_of_a_pair(x, y, correlation):
    cov = [[1, correlation], [correlation, 1]]
    expected = stats.multivariate_normal(cov=cov).cdf([x, y])
    assert pair_distribution(np.array(x), np.array(y), correlation) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("correlation", "bin_size"), [(1.1, 8), (np.nan, 8), (0.5, 1), (0.5, 65)])
def test_refusals(correlation, bin_size):
    with pytest.raises(OutOfRangeError):
        correlated_winner_collision_probability(correlation, bin_size)
