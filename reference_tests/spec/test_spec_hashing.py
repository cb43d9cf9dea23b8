"""The hash families, against cases worked by hand, brute force and their invariances."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import ldexp

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from strategies import (
    densified_parameters,
    extreme,
    families,
    full_vectors,
    lattice,
    minhash_parameters,
    ordinary,
    simhash_parameters,
    sparse_vectors,
    winner_take_all_parameters,
)

from pyslide.conventions import PAPER
from pyslide.errors import DtypeError, NonFiniteError, OutOfRangeError, ShapeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    HashFamily,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec.hashing import (
    code_range,
    densified_winner_take_all_codes,
    first_members,
    hash_codes,
    hashed_entries,
    largest_coordinates,
    minhash_codes,
    occupied_codes,
    projection_sums,
    sign_bits,
    simhash_codes,
    winner_take_all_codes,
)
from pyslide.spec.vectors import SparseVector, from_dense, sparse_vector, to_dense

SIGN_ANSWERS = ["one_at_zero_or_above", "zero_at_zero_or_above", "one_above_zero"]


def dense(*values):
    return from_dense(np.array(values, dtype=float))


# SimHash

PROJECTIONS = SimHashParameters(
    np.array([[0, 1], [1, 2], [2, 2]]), np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]), dimension=3
)


def test_projection_sums_by_hand():
    # 2 - 3; 3 + 5; a coordinate drawn twice counts twice: 5 + 5
    np.testing.assert_array_equal(projection_sums(dense(2, 3, 5), PROJECTIONS), [-1, 8, 10])


@pytest.mark.parametrize(
    ("sign_bit", "bits"),
    [
        ("one_at_zero_or_above", [0, 1, 1, 1]),
        ("zero_at_zero_or_above", [1, 0, 0, 0]),
        ("one_above_zero", [0, 0, 0, 1]),
    ],
)
def test_polarity_and_ties(sign_bit, bits):
    codes = sign_bits(np.array([-1.0, 0.0, -0.0, 5e-324]), sign_bit)
    assert codes.dtype == np.int64
    np.testing.assert_array_equal(codes, bits)


def test_sum_is_exact_where_adding_in_order_gives_a_tie_or_the_wrong_sign():
    everything = SimHashParameters(np.array([[0, 1, 2]]), np.ones((1, 3)), dimension=3)
    assert projection_sums(dense(1e16, 1, -1e16), everything)[0] == 1  # from left to right: 0
    assert projection_sums(dense(1e300, -5e-324, -1e300), everything)[0] == -5e-324


def test_a_vector_without_features_ties_everywhere():
    nothing = sparse_vector([], [], 3)
    for sign_bit, bit in zip(SIGN_ANSWERS, [1, 0, 0], strict=True):
        np.testing.assert_array_equal(simhash_codes(nothing, PROJECTIONS, sign_bit), [bit] * 3)


@given(st.data(), st.integers(-300, 300))
def test_simhash_is_invariant_under_a_power_of_two(data, exponent):
    parameters = data.draw(simhash_parameters(5, 6))
    vector = data.draw(sparse_vectors(5, ordinary.map(lambda value: float(np.float32(value)))))
    assume(not ((vector.values != 0) & (np.abs(vector.values) < 1e-30)).any())
    scaled = SparseVector(vector.indices, np.ldexp(vector.values, exponent), 5)
    np.testing.assert_array_equal(
        projection_sums(scaled, parameters), np.ldexp(projection_sums(vector, parameters), exponent)
    )
    for sign_bit in SIGN_ANSWERS:
        np.testing.assert_array_equal(
            simhash_codes(scaled, parameters, sign_bit), simhash_codes(vector, parameters, sign_bit)
        )


@given(st.data(), st.integers(1, 1000))
def test_simhash_is_invariant_under_any_positive_factor_that_rounds_nothing(data, factor):
    parameters = data.draw(simhash_parameters(5, 6))
    vector = data.draw(sparse_vectors(5))
    scaled = SparseVector(vector.indices, vector.values * factor, 5)
    np.testing.assert_array_equal(
        simhash_codes(scaled, parameters, PAPER.sign_bit), simhash_codes(vector, parameters, PAPER.sign_bit)
    )


@given(st.data())
def test_opposite_vectors_have_opposite_bits_but_for_ties(data):
    parameters = data.draw(simhash_parameters(5, 6))
    vector = data.draw(sparse_vectors(5))
    opposite = SparseVector(vector.indices, -vector.values, 5)
    ties = projection_sums(vector, parameters) == 0
    same = simhash_codes(vector, parameters, PAPER.sign_bit) == simhash_codes(opposite, parameters, PAPER.sign_bit)
    np.testing.assert_array_equal(same, ties)


@given(st.data())
def test_simhash_against_fractions(data):
    parameters = data.draw(simhash_parameters(6, 4))
    vector = data.draw(sparse_vectors(6, extreme))
    values = [Fraction(value) for value in to_dense(vector)]
    for bit, row, signs in zip(
        simhash_codes(vector, parameters, "one_at_zero_or_above"),
        parameters.coordinates,
        parameters.coefficients,
        strict=True,
    ):
        exact = sum(values[coordinate] * int(sign) for coordinate, sign in zip(row, signs, strict=True))
        assert bit == (exact >= 0)


def test_sums_beyond_all_numbers_are_refused():
    parameters = SimHashParameters(np.array([[0, 1]]), np.ones((1, 2)), dimension=2)
    largest = float(np.finfo(np.float64).max)
    with pytest.raises(OverflowError):
        simhash_codes(dense(largest, largest), parameters, PAPER.sign_bit)


# Winner take all


def test_winner_take_all_by_hand():
    bins = np.array([[0, 1, 2], [3, 2, 1], [2, 3, 0]])
    parameters = WinnerTakeAllParameters(bins, dimension=4)
    # (1, 7, 5): place 1; (2, 5, 7): place 2; (5, 2, 1): place 0
    np.testing.assert_array_equal(winner_take_all_codes(dense(1, 7, 5, 2), parameters), [1, 2, 0])


def test_winner_take_all_takes_the_first_maximum():
    parameters = WinnerTakeAllParameters(np.array([[2, 0, 1]]), dimension=3)
    assert winner_take_all_codes(dense(4, 4, 4), parameters)[0] == 0
    assert winner_take_all_codes(dense(4, 4, 3), parameters)[0] == 1
    assert winner_take_all_codes(dense(-0.0, 0.0, -0.0), parameters)[0] == 0


def test_coordinates_without_an_entry_compete_with_zero_in_wta_only():
    bins = np.array([[0, 1, 2]])
    vector = sparse_vector([1], [-3.0], 3)
    assert winner_take_all_codes(vector, WinnerTakeAllParameters(bins, 3))[0] == 0
    parameters = DensifiedWinnerTakeAllParameters(bins, np.array([[0]]), 3)
    assert densified_winner_take_all_codes(vector, parameters, PAPER)[0][0] == 1


MAPS = [lambda x: 3 * x + 2, np.exp, np.cbrt, lambda x: x**3, np.arctan]


@given(st.data(), st.sampled_from(MAPS))
def test_winner_take_all_is_invariant_under_strictly_increasing_maps(data, rising):
    parameters = data.draw(winner_take_all_parameters(6, 5))
    vector = data.draw(full_vectors(6, lattice))
    mapped = from_dense(rising(vector.values))
    np.testing.assert_array_equal(
        winner_take_all_codes(mapped, parameters), winner_take_all_codes(vector, parameters)
    )


@given(st.data())
def test_winner_take_all_against_a_loop(data):
    parameters = data.draw(winner_take_all_parameters(6, 5))
    vector = data.draw(sparse_vectors(6, extreme))
    values = dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))
    expected = []
    for places in parameters.bins.tolist():
        best = 0
        for place, coordinate in enumerate(places):
            if values.get(coordinate, 0.0) > values.get(places[best], 0.0):
                best = place
        expected.append(best)
    np.testing.assert_array_equal(winner_take_all_codes(vector, parameters), expected)


def test_winner_take_all_codes_are_uniform_over_all_permutations():
    vector = dense(0.3, -1, 2, 0.7)
    bins = np.array(list(permutations(range(4))))[:, :3]
    codes = winner_take_all_codes(vector, WinnerTakeAllParameters(bins, 4))
    np.testing.assert_array_equal(np.bincount(codes), [8, 8, 8])


# Densified winner take all


@pytest.mark.parametrize(
    ("empty_bin", "occupied"),
    [
        ("no_entry_seen", [True, True, False, True]),
        ("maximum_is_zero", [True, False, False, True]),
        ("code_is_zero", [True, False, False, False]),
    ],
)
def test_when_a_bin_counts_as_empty(empty_bin, occupied):
    vector = sparse_vector([0, 1, 2, 6], [2.0, 0.0, -1.0, -5.0], 8)
    bins = np.array([[3, 0], [1, 2], [4, 5], [6, 7]])
    codes, filled = occupied_codes(vector, bins, empty_bin)
    np.testing.assert_array_equal(filled, occupied)
    np.testing.assert_array_equal(codes[:2], [1, 0])
    assert codes[3] == 0  # -5 wins: coordinate 7 has no entry and does not compete
    assert codes[2] == 0


def test_densified_codes_by_hand():
    bins = np.array([[0, 1], [2, 3], [5, 4]])
    vector = sparse_vector([1, 4], [1.0, 1.0], 6)  # bin 0 gives 1, bin 1 is empty, bin 2 gives 1
    parameters = DensifiedWinnerTakeAllParameters(bins, np.array([[2, 0], [1, 0], [0, 0]]), 6)
    codes, failures = densified_winner_take_all_codes(vector, parameters, PAPER)
    np.testing.assert_array_equal(codes, [1, 1, 1])
    assert failures == 0
    first = sparse_vector([0, 4], [1.0, 1.0], 6)
    np.testing.assert_array_equal(densified_winner_take_all_codes(first, parameters, PAPER)[0], [0, 0, 1])


@given(st.data())
def test_dwta_equals_wta_where_every_coordinate_is_an_entry(data):
    parameters = data.draw(densified_parameters(6, 5))
    vector = data.draw(full_vectors(6))
    codes, failures = hash_codes(vector, parameters, PAPER)
    np.testing.assert_array_equal(
        codes, winner_take_all_codes(vector, WinnerTakeAllParameters(parameters.bins, 6))
    )
    assert failures == 0


@given(st.data())
def test_dwta_borrows_only_where_no_entry_falls(data):
    parameters = data.draw(densified_parameters(6, 5))
    vector = data.draw(sparse_vectors(6, extreme))
    codes, failures = densified_winner_take_all_codes(vector, parameters, PAPER)
    entries = dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))
    failed = 0
    for code, places, asked in zip(codes, parameters.bins.tolist(), parameters.probes.tolist(), strict=True):
        own = [place for place, coordinate in enumerate(places) if coordinate in entries]
        if not own:
            lenders = [
                [place for place, coordinate in enumerate(parameters.bins[donor].tolist()) if coordinate in entries]
                for donor in asked
            ]
            lender = next((index for index, found in enumerate(lenders) if found), None)
            if lender is None:
                failed += 1
                assert code == 0
                continue
            own, places = lenders[lender], parameters.bins[asked[lender]].tolist()
        assert code == max(own, key=lambda place: (entries[places[place]], -place))
    assert failures == failed


# MinHash


def test_largest_coordinates_by_hand():
    vector = sparse_vector([0, 2, 3, 5], [1.0, 3.0, -2.0, 1.0], 7)
    np.testing.assert_array_equal(largest_coordinates(vector, 1), [2])
    np.testing.assert_array_equal(largest_coordinates(vector, 2), [0, 2])  # 0 and 5 are equal: the smaller id
    np.testing.assert_array_equal(largest_coordinates(vector, 3), [0, 2, 5])
    np.testing.assert_array_equal(largest_coordinates(vector, 9), [0, 2, 3, 5])  # entries, not coordinates
    np.testing.assert_array_equal(largest_coordinates(sparse_vector([], [], 7), 3), [])


@given(sparse_vectors(8, extreme), st.integers(1, 8))
def test_largest_coordinates_against_sorting(vector, kept):
    ranked = sorted(zip(-vector.values, vector.indices, strict=True))
    np.testing.assert_array_equal(largest_coordinates(vector, kept), sorted(index for _, index in ranked[:kept]))


def test_first_members_by_hand():
    parameters = MinHashParameters(np.array([[3, 0, 1], [4, 2, 0]]), np.array([[1], [0]]), kept=2, dimension=5)
    codes, occupied = first_members(np.array([1, 3]), parameters)
    np.testing.assert_array_equal(codes[:1], [0])  # the first place, not the smallest id: 3 stands at place 0
    np.testing.assert_array_equal(occupied, [True, False])
    codes, _ = first_members(np.array([0]), parameters)
    np.testing.assert_array_equal(codes, [1, 2])


def test_minhash_borrows():
    parameters = MinHashParameters(np.array([[3, 1], [4, 2]]), np.array([[1], [0]]), kept=1, dimension=5)
    codes, failures = minhash_codes(dense(0, 5, 1, 1, 1), parameters, PAPER)
    np.testing.assert_array_equal(codes, [1, 1])
    assert failures == 0


@given(st.data())
def test_minhash_is_invariant_under_relabelling_of_coordinates(data):
    parameters = data.draw(minhash_parameters(6, 4))
    vector = data.draw(full_vectors(6, st.just(0.0)))
    values = np.array(data.draw(st.permutations([-2.0, -1.0, 0.5, 1.0, 3.0, 9.0])))  # distinct: ties go by the name
    names = np.array(data.draw(st.permutations(range(6))))
    renamed_values = np.empty(6)
    renamed_values[names] = values
    renamed = MinHashParameters(names[parameters.bins], parameters.probes, parameters.kept, 6)
    before = minhash_codes(vector._replace(values=values), parameters, PAPER)
    after = minhash_codes(from_dense(renamed_values), renamed, PAPER)
    np.testing.assert_array_equal(after[0], before[0])
    assert after[1] == before[1]


@given(st.data())
def test_minhash_depends_on_the_set_of_largest_coordinates_alone(data):
    parameters = data.draw(minhash_parameters(6, 4))
    vector = data.draw(sparse_vectors(6))
    members = largest_coordinates(vector, parameters.kept)
    indicator = sparse_vector(members, np.ones(members.size), 6)
    np.testing.assert_array_equal(
        minhash_codes(vector, parameters, PAPER)[0], minhash_codes(indicator, parameters, PAPER)[0]
    )


def test_minhash_collides_with_the_jaccard_similarity_exactly_over_all_permutations():
    every = np.array(list(permutations(range(5))))
    parameters = MinHashParameters(every, np.zeros((len(every), 1), dtype=int), kept=3, dimension=5)
    one = minhash_codes(dense(9, 8, 7, 0, 0), parameters, PAPER)[0]  # {0, 1, 2}
    other = minhash_codes(dense(0, 8, 7, 9, 0), parameters, PAPER)[0]  # {1, 2, 3}
    assert Fraction(int((one == other).sum()), len(every)) == Fraction(2, 4)


# One door to all


@pytest.mark.parametrize(
    ("dense_input", "indices"), [("as_its_nonzeros", [1]), ("every_coordinate", [0, 1, 2])]
)
def test_dense_input(dense_input, indices):
    np.testing.assert_array_equal(hashed_entries(dense(0, -2, 0), dense_input).indices, indices)


def test_dense_input_changes_the_codes_of_sparse_families_only():
    bins, probes = np.array([[0, 1, 2]]), np.array([[0]])
    weights = dense(0, -2, 0)
    whole = PAPER.replace(dense_input="every_coordinate")
    densified = DensifiedWinnerTakeAllParameters(bins, probes, 3)
    assert hash_codes(weights, densified, PAPER).codes[0] == 1  # -2 is the only entry
    assert hash_codes(weights, densified, whole).codes[0] == 0  # 0 > -2
    minimum = MinHashParameters(bins, probes, 1, 3)
    assert hash_codes(weights, minimum, PAPER).codes[0] == 1
    assert hash_codes(weights, minimum, whole).codes[0] == 0
    plain = WinnerTakeAllParameters(bins, 3)
    assert hash_codes(weights, plain, PAPER).codes[0] == hash_codes(weights, plain, whole).codes[0] == 0


def test_original_convention_on_signs_goes_through_the_door():
    parameters = SimHashParameters(np.array([[0]]), np.array([[1.0]]), 1)
    for sign_bit, bit in zip(SIGN_ANSWERS, [1, 0, 0], strict=True):
        assert hash_codes(dense(0), parameters, PAPER.replace(sign_bit=sign_bit)).codes[0] == bit


@given(st.data())
def test_codes_of_any_family_lie_in_their_range(data):
    family = data.draw(families(5, 6))
    codes, failures = hash_codes(data.draw(sparse_vectors(5, extreme)), family, PAPER)
    assert codes.shape == (6,)
    assert ((codes >= 0) & (codes < code_range(family, PAPER))).all()
    assert 0 <= failures <= 6


@given(st.data())
def test_zero_entries_do_not_matter_in_the_papers_reading(data):
    family = data.draw(families(5, 6))
    vector = data.draw(sparse_vectors(5))
    np.testing.assert_array_equal(
        hash_codes(vector, family, PAPER).codes, hash_codes(from_dense(to_dense(vector)), family, PAPER).codes
    )


@given(sparse_vectors(6, st.sampled_from([0.0, -0.0, 1.0, -2.0])))
def test_hashed_entries_against_a_loop(vector):
    seen = hashed_entries(vector, "as_its_nonzeros")
    expected = [(i, x) for i, x in zip(vector.indices.tolist(), vector.values.tolist(), strict=True) if x != 0]
    assert list(zip(seen.indices.tolist(), seen.values.tolist(), strict=True)) == expected
    assert seen.dimension == 6
    assert hashed_entries(vector, "all_coordinates") is vector


@given(st.integers(2, 6), st.integers(1, 6), st.data())
def test_every_code_of_a_range_occurs(dimension, places, data):
    places = min(places, dimension)
    bins = np.array([data.draw(st.permutations(range(dimension)))[:places]])
    parameters = WinnerTakeAllParameters(bins, dimension)
    one_hot = np.eye(dimension)[bins[0]]
    codes = [hash_codes(from_dense(row), parameters, PAPER).codes[0] for row in one_hot]
    assert sorted(codes) == list(range(code_range(parameters, PAPER)))


@pytest.mark.parametrize("donor", ["undensified", "densified_so_far"])
def test_code_range_holds_codes_that_were_borrowed_in_a_chain(donor):
    # bin 1 asks itself, then 0: 0 + 2*2; bin 2 asks itself, then 1: where that may lend, 4 + 2*2
    parameters = DensifiedWinnerTakeAllParameters(
        np.array([[0, 1], [2, 3], [4, 5]]), np.array([[0, 0], [1, 0], [2, 1]]), 6
    )
    conventions = PAPER.replace(donor=donor, borrowed_code="shifted_by_attempt")
    codes = hash_codes(sparse_vector([0], [1.0], 6), parameters, conventions).codes
    np.testing.assert_array_equal(codes, [0, 4, 0] if donor == "undensified" else [0, 4, 8])
    assert codes.max() < code_range(parameters, conventions)


def test_code_range_of_each_family():
    bins, probes = np.array([[0, 1, 2]]), np.array([[0, 0]])
    shifted = PAPER.replace(borrowed_code="shifted_by_attempt")
    assert code_range(PROJECTIONS, shifted) == 2
    assert code_range(WinnerTakeAllParameters(bins, 3), shifted) == 3
    for family in (DensifiedWinnerTakeAllParameters(bins, probes, 3), MinHashParameters(bins, probes, 1, 3)):
        assert code_range(family, PAPER) == 3
        assert code_range(family, shifted) == 9  # 0..2 + 0, 3 or 6


class ParityFamily:
    """A user's own family: the parity of the number of entries, twice."""

    dimension, code_count, code_range = 4, 2, 2

    def codes(self, indices, values):
        return [len(indices) % 2, len(values) % 2]


def test_a_family_of_the_users_own():
    family = ParityFamily()
    assert isinstance(family, HashFamily)
    np.testing.assert_array_equal(hash_codes(dense(0, 1, 0, 0), family, PAPER).codes, [1, 1])
    np.testing.assert_array_equal(
        hash_codes(dense(0, 1, 0, 0), family, PAPER.replace(dense_input="every_coordinate")).codes, [0, 0]
    )
    assert code_range(family, PAPER) == 2
    with pytest.raises(ShapeError):
        hash_codes(dense(1, 2), family, PAPER)


@given(st.data())
def test_a_vector_of_another_dimension_is_refused(data):
    family = data.draw(families(5, 2))
    with pytest.raises(ShapeError, match=r"vector to hash: expected shape \(5\), got \(4,\)"):
        hash_codes(data.draw(sparse_vectors(4)), family, PAPER)


INTEGERS = np.array([[0, 1]])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: SimHashParameters(np.array([0, 1]), np.ones(2), 2), ShapeError),
        (lambda: SimHashParameters(INTEGERS, np.ones((2, 1)), 2), ShapeError),
        (lambda: SimHashParameters(INTEGERS, np.ones((1, 2)), 1), OutOfRangeError),
        (lambda: SimHashParameters(INTEGERS, np.array([[1.0, np.nan]]), 2), NonFiniteError),
        (lambda: SimHashParameters(INTEGERS * 1.0, np.ones((1, 2)), 2), DtypeError),
        (lambda: WinnerTakeAllParameters(np.array([0]), 2), ShapeError),
        (lambda: WinnerTakeAllParameters(np.array([[0, 0]]), 2), OutOfRangeError),
        (lambda: WinnerTakeAllParameters(np.array([[0, -1]]), 2), OutOfRangeError),
        (lambda: WinnerTakeAllParameters(INTEGERS * 1.0, 2), DtypeError),
        (lambda: DensifiedWinnerTakeAllParameters(INTEGERS, np.array([[1]]), 2), OutOfRangeError),
        (lambda: DensifiedWinnerTakeAllParameters(INTEGERS, np.array([[0], [0]]), 2), ShapeError),
        (lambda: DensifiedWinnerTakeAllParameters(INTEGERS, np.array([[0.0]]), 2), DtypeError),
        (lambda: MinHashParameters(INTEGERS, np.array([[0]]), 0, 2), OutOfRangeError),
        (lambda: MinHashParameters(np.array([[1, 1]]), np.array([[0]]), 1, 2), OutOfRangeError),
    ],
)
def test_parameters_that_make_no_family(make, error):
    with pytest.raises(error):
        make()


def test_a_family_counts_its_functions():
    assert PROJECTIONS.code_count == 3


def test_tiny_products_of_gaussian_projections_are_ties():
    parameters = SimHashParameters(np.array([[0]]), np.array([[-0.25]]), 1)
    assert projection_sums(dense(ldexp(1.0, -1074)), parameters)[0] == 0  # the product is rounded, as promised
