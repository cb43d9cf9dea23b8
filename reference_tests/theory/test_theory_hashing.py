"""Collision laws against enumeration of every projection, permutation and bin, in exact fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, cos, pi

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from pyslide.errors import ConventionError, DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError
from pyslide.theory import (
    densified_winner_take_all_bin_law,
    jaccard,
    minhash_bin_law,
    repeated_sign_collision,
    simhash_collision_probability,
    sparse_sign_collision,
    winner_take_all_collision_probability,
)

FEW_VALUES = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 1.5])


@st.composite
def vector_pairs(draw, most=6):
    dimension = draw(st.integers(1, most))
    pair = [draw(st.lists(FEW_VALUES, min_size=dimension, max_size=dimension)) for _ in range(2)]
    return np.array(pair[0]), np.array(pair[1]), draw(st.integers(1, dimension))


def sign(number):
    return (number > 0) - (number < 0)


def enumerated_signs(x, y, chosen):
    """Count the pairs of signs over all sets of coordinates and all signs."""
    x, y = [Fraction(value) for value in x], [Fraction(value) for value in y]
    counts, cases = Counter(), 0
    for coordinates in combinations(range(len(x)), chosen):
        for signs in product((-1, 1), repeat=chosen):
            sums = [sum(s * v[i] for s, i in zip(signs, coordinates, strict=True)) for v in (x, y)]
            counts[sign(sums[0]), sign(sums[1])] += 1
            cases += 1
    return {pair: Fraction(count, cases) for pair, count in counts.items()}


def first_winner(entries, coordinates):
    """Return the first place of the largest entry, None where there is no entry."""
    present = [(place, entries[i]) for place, i in enumerate(coordinates) if i in entries]
    largest = max((value for _, value in present), default=None)
    return next((place for place, value in present if value == largest), None)


def enumerated_bins(first, second, dimension, bin_size):
    """Return the law of a bin over all ordered tuples of coordinates; the vectors are dicts from id to value."""
    counts, cases = Counter(), 0
    for coordinates in permutations(range(dimension), bin_size):
        a, b = first_winner(first, coordinates), first_winner(second, coordinates)
        both = "equal" if a == b else "differ"
        event = {(True, True): "both_empty", (True, False): "only_first_empty", (False, True): "only_second_empty"}
        counts[event.get((a is None, b is None), both)] += 1
        cases += 1
    names = ("equal", "differ", "only_first_empty", "only_second_empty", "both_empty")
    return {name: Fraction(counts[name], cases) for name in names}


def assert_law(law, expected):
    for name, probability in expected.items():
        assert getattr(law, name) == pytest.approx(float(probability), abs=1e-14), name


class TestSimHash:
    def test_known_angles(self):
        np.testing.assert_allclose(
            simhash_collision_probability([1.0, 0.5, 0.0, -0.5, -1.0]), [1, 2 / 3, 1 / 2, 1 / 3, 0], atol=1e-15
        )

    @pytest.mark.parametrize("theta", [1e-3, 0.4, 2.9])
    def test_is_one_minus_the_angle_over_pi(self, theta):
        assert simhash_collision_probability(cos(theta)) == pytest.approx(1 - theta / pi, rel=1e-12)

    def test_is_the_share_of_gaussian_signs(self):
        # Six standard deviations: false alarms are rarer than 1e-8, and the seed is fixed.
        draws = np.random.default_rng(3).standard_normal((100_000, 2))
        x, y = np.array([1.0, 0.0]), np.array([0.6, 0.8])
        share = np.mean((draws @ x >= 0) == (draws @ y >= 0))
        expected = float(simhash_collision_probability(0.6))
        assert abs(share - expected) < 6 * np.sqrt(expected * (1 - expected) / 100_000)

    def test_rounded_cosines_are_accepted(self):
        assert simhash_collision_probability(1 + 1e-15) == 1

    @pytest.mark.parametrize("cosine", [1.1, -1.01, np.nan])
    def test_refuses_what_is_no_cosine(self, cosine):
        with pytest.raises(OutOfRangeError, match="cosine"):
            simhash_collision_probability(cosine)

    @given(vector_pairs(most=5))
    @settings(max_examples=60, deadline=None)
    def test_sparse_signs_equal_the_enumeration(self, case):
        x, y, chosen = case
        law, expected = sparse_sign_collision(x, y, chosen), enumerated_signs(x, y, chosen)
        for first, second in product((-1, 0, 1), repeat=2):
            probability = float(expected.get((first, second), 0))
            assert law.joint[first + 1, second + 1] == pytest.approx(probability, abs=1e-14)
        total = law.both_positive + law.both_negative + law.differ
        ties = law.only_first_zero + law.only_second_zero + law.both_zero
        assert total + ties == pytest.approx(1)

    @given(vector_pairs(most=5))
    @settings(max_examples=60, deadline=None)
    def test_collisions_under_each_convention(self, case):
        x, y, chosen = case
        law, expected = sparse_sign_collision(x, y, chosen), enumerated_signs(x, y, chosen)
        at_zero = sum(p for (a, b), p in expected.items() if (a >= 0) == (b >= 0))
        above = sum(p for (a, b), p in expected.items() if (a > 0) == (b > 0))
        assert law.collision() == pytest.approx(float(at_zero))
        assert law.collision("zero_at_zero_or_above") == pytest.approx(float(at_zero))
        assert law.collision("one_above_zero") == pytest.approx(float(above))
        assert law.both_positive == pytest.approx(law.both_negative)  # flipping all signs
        # Ties lean on one side, and by that symmetry on either side equally.
        assert law.collision() == pytest.approx(law.collision("one_above_zero"))

    def test_coordinates_without_values_dilute(self):
        # d = 6, s = 2, one coordinate used by both: it is chosen with probability 1/3, else both are ties.
        law = sparse_sign_collision([1, 0, 0, 0, 0, 0], [-1, 0, 0, 0, 0, 0], 2)
        assert law.differ == pytest.approx(1 / 3)
        assert law.both_zero == pytest.approx(2 / 3)
        assert law.collision() == pytest.approx(2 / 3)

    def test_many_dimensions_few_values(self):
        x, y = np.zeros(9000), np.zeros(9000)
        x[[5, 70]], y[[70, 8000]] = [1.0, 2.0], [3.0, -1.0]
        law = sparse_sign_collision(x, y, 3000)
        assert law.both_zero == pytest.approx(float(Fraction(comb(8997, 3000), comb(9000, 3000))), rel=1e-12)

    def test_near_ties_are_no_ties(self):
        # In floats 0.1 + 0.2 - 0.3 adds up to 5.6e-17; its exact value is 2.8e-17, and that of the second is 0.
        expected = enumerated_signs([0.1, 0.2, -0.3], [0.5, 0.25, -0.75], 3)
        law = sparse_sign_collision([0.1, 0.2, -0.3], [0.5, 0.25, -0.75], 3)
        assert law.only_second_zero == float(expected[1, 0] + expected[-1, 0]) == 0.25
        assert law.only_first_zero == 0

    @pytest.mark.parametrize("values", [[1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [1e16, -1e16, 1.0]])
    def test_absorbed_values_still_break_ties(self, values):
        # In whatever order floats are added, one of the three loses its 1 and looks like a tie.
        assert sparse_sign_collision(values, [1.0, 2.0, 4.0], 3).only_first_zero == 0

    def test_refusals(self):
        with pytest.raises(ShapeError, match="y"):
            sparse_sign_collision([1.0, 2.0], [1.0], 1)
        with pytest.raises(NonFiniteError, match="x"):
            sparse_sign_collision([np.nan], [1.0], 1)
        with pytest.raises(OutOfRangeError, match="at most 2, got 3"):
            sparse_sign_collision([1.0, 2.0], [1.0, 1.0], 3)
        with pytest.raises(OutOfRangeError, match="sign patterns"):
            sparse_sign_collision(np.ones(14), np.ones(14), 5)
        with pytest.raises(ConventionError, match="sign_bit"):
            sparse_sign_collision([1.0], [1.0], 1).collision("sometimes")


class TestWinnerTakeAll:
    @given(vector_pairs())
    @settings(max_examples=80, deadline=None)
    def test_equals_the_enumeration_with_ties(self, case):
        x, y, bin_size = case
        expected = enumerated_bins(dict(enumerate(x)), dict(enumerate(y)), x.size, bin_size)
        collision = winner_take_all_collision_probability(x, y, bin_size)
        assert collision == pytest.approx(float(expected["equal"]), abs=1e-14)

    @given(st.permutations(range(7)), st.integers(1, 7))
    @settings(max_examples=40, deadline=None)
    def test_is_the_published_sum_for_distinct_values(self, order, bin_size):
        x, y = np.arange(7.0), np.array(order, dtype=np.float64)
        below = [sum(x[j] < x[i] and y[j] < y[i] for j in range(7)) for i in range(7)]
        expected = Fraction(sum(comb(count, bin_size - 1) for count in below), comb(7, bin_size))
        assert winner_take_all_collision_probability(x, y, bin_size) == pytest.approx(float(expected))

    def test_pairs_are_concordant_pairs(self):
        # m = 2: the share of pairs of coordinates that both vectors order alike (Kendall's tau, rescaled).
        x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0])
        assert winner_take_all_collision_probability(x, y, 2) == pytest.approx(2 / 3)

    def test_limits(self):
        x = np.array([3.0, 1.0, 2.0])
        assert winner_take_all_collision_probability(x, x, 3) == 1
        assert winner_take_all_collision_probability(x, -x, 3) == 0
        assert winner_take_all_collision_probability(x, -x, 1) == 1
        assert winner_take_all_collision_probability(np.zeros(4), np.ones(4), 3) == 1

    def test_monotone_transforms_change_nothing(self):
        generator = np.random.default_rng(1)
        x, y = generator.standard_normal((2, 300))
        assert winner_take_all_collision_probability(x, y, 8) == winner_take_all_collision_probability(np.exp(x), y, 8)

    def test_independent_vectors_meet_one_time_in_m(self):
        x, y = np.arange(5.0), np.arange(5.0)
        chances = [winner_take_all_collision_probability(x, y[list(order)], 3) for order in permutations(range(5))]
        assert np.mean(chances) == pytest.approx(1 / 3)

    def test_refusals(self):
        with pytest.raises(OutOfRangeError, match="bin_size"):
            winner_take_all_collision_probability([1.0, 2.0], [1.0, 2.0], 3)
        with pytest.raises(DtypeError, match="bin_size"):
            winner_take_all_collision_probability([1.0, 2.0], [1.0, 2.0], 1.5)
        with pytest.raises(ShapeError, match="bin_size"):
            winner_take_all_collision_probability([1.0, 2.0], [1.0, 2.0], [1, 2])


class TestDensifiedWinnerTakeAll:
    @given(vector_pairs())
    @settings(max_examples=80, deadline=None)
    def test_bin_law_equals_the_enumeration(self, case):
        x, y, bin_size = case
        entries = [{i: value for i, value in enumerate(vector) if value != 0} for vector in (x, y)]
        expected = enumerated_bins(entries[0], entries[1], x.size, bin_size)
        assert_law(densified_winner_take_all_bin_law(x, y, bin_size), expected)

    def test_without_zeros_it_is_winner_take_all(self):
        x, y = np.random.default_rng(5).standard_normal((2, 40))
        law = densified_winner_take_all_bin_law(x, y, 4)
        assert law.equal == winner_take_all_collision_probability(x, y, 4)
        assert law.only_first_empty == law.only_second_empty == law.both_empty == 0

    def test_many_dimensions(self):
        x = np.zeros(200_000)
        x[:70] = np.arange(1, 71)
        law = densified_winner_take_all_bin_law(x, 2 * x, 8)
        assert law.differ == pytest.approx(0, abs=1e-12)
        assert law.equal == pytest.approx(1 - law.both_empty, rel=1e-9)


class TestMinHash:
    @given(st.integers(1, 6), st.data())
    @settings(max_examples=80, deadline=None)
    def test_bin_law_equals_the_enumeration(self, dimension, data):
        ids = st.sets(st.integers(0, dimension - 1))
        a, b, bin_size = data.draw(ids), data.draw(ids), data.draw(st.integers(1, dimension))
        expected = enumerated_bins(dict.fromkeys(a, 1), dict.fromkeys(b, 1), dimension, bin_size)
        assert_law(minhash_bin_law(sorted(a), sorted(b), dimension, bin_size), expected)

    @given(st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
    @settings(max_examples=50, deadline=None)
    def test_whole_permutations_collide_with_the_jaccard_similarity(self, a, b):
        assume(a | b)
        similarity = jaccard(list(a), list(b))
        assert similarity == len(a & b) / len(a | b)
        if a and b:
            assert minhash_bin_law(list(a), list(b), 9, 9).equal == pytest.approx(similarity)

    def test_refusals(self):
        with pytest.raises(OutOfRangeError, match="two empty sets"):
            jaccard([], [])
        with pytest.raises(OrderError, match="a: expected distinct"):
            jaccard([1, 1], [2])
        with pytest.raises(DtypeError, match="b: expected integers"):
            jaccard([1], [0.5])
        with pytest.raises(OutOfRangeError, match=r"b: expected ids in 0\.\.3"):
            minhash_bin_law([1], [4], 4, 2)
        with pytest.raises(OutOfRangeError, match="bin_size"):
            minhash_bin_law([1], [2], 4, 5)


@pytest.mark.parametrize("chosen", [1, 2, 3])
@pytest.mark.parametrize(
    ("x", "y"), [([1.0, 1.0, -1.0], [1.0, 0.0, 2.0]), ([0.0, 3.0, 0.0], [1.0, 1.0, 1.0]), ([0.1, 0.2, 0.3], [0.3] * 3)]
)
def test_signs_of_repeated_coordinates_against_all_draws(x, y, chosen):
    counted = Counter()
    for draw in product(range(len(x)), (-1, 1), repeat=chosen):
        terms = list(zip(draw[::2], draw[1::2], strict=True))
        sums = [sum(Fraction(vector[place]) * turned for place, turned in terms) for vector in (x, y)]
        counted[sign(sums[0]), sign(sums[1])] += 1
    joint = repeated_sign_collision(x, y, chosen).joint
    for (first, second), count in counted.items():
        assert joint[first + 1, second + 1] == pytest.approx(count / (2 * len(x)) ** chosen, rel=1e-14)
    assert joint.sum() == pytest.approx(1, rel=1e-14)
