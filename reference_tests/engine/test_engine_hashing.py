"""Codes and keys of a batch are the spec's codes and keys of each row, exactly."""

import numpy as np
import pytest
import scipy.sparse as sparse
from building import name_of, vector_of
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyslide.conventions import PAPER, QUESTIONS
from pyslide.engine import hashing, keys
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.parameters import SimHashParameters
from pyslide.randomness import draw_family, draw_multipliers, draw_projections
from pyslide.settings import FAMILIES, Hashing
from pyslide.spec import hashing as spec_hashing
from pyslide.spec import keys as spec_keys
from pyslide.spec.vectors import SparseVector

DIMENSION = 12
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, -0.3, 1.0, 1e-45, -1e-45, 3e38, -3e38]),
    st.floats(-10, 10, width=32),
)
BATCHES = arrays(np.float32, (5, DIMENSION), elements=NUMBERS)
ANSWERS = [
    PAPER.replace(**{question.field: answer})
    for question in QUESTIONS
    if question.number in (1, 2, 4, 5, 6, 7, 8)
    for answer in question.answers
]


def family_of(name, conventions, seed=0):
    settings = Hashing(family=name, codes_per_table=3, tables=4, bin_size=5, kept=4, attempts=2)
    return draw_family(np.random.default_rng(seed), settings, DIMENSION, conventions)


def same_codes(batch, family, conventions):
    got = hashing.hash_codes(batch, family, conventions)
    for row in range(batch.shape[0]):
        expected = spec_hashing.hash_codes(vector_of(batch, row), family, conventions)
        assert got.codes[row].tolist() == expected.codes.tolist()
        assert got.failures[row] == expected.failures


def as_entries(dense):
    """Return a CSR array that stores every second coordinate, zeros included."""
    rows, columns = np.meshgrid(np.arange(dense.shape[0]), np.arange(0, dense.shape[1], 2), indexing="ij")
    values = dense[rows, columns].ravel()
    return sparse.csr_array((values, (rows.ravel(), columns.ravel())), shape=dense.shape)


@pytest.mark.parametrize("conventions", ANSWERS, ids=name_of)
@pytest.mark.parametrize("name", FAMILIES)
def test_all_families_and_answers(name, conventions):
    generator = np.random.default_rng(1)
    dense = np.round(generator.standard_normal((300, DIMENSION)), 1).astype(np.float32)
    dense[generator.random(dense.shape) < 0.5] = 0
    dense[:3] = [[0.0], [1.0], [-1.0]]
    for batch in (dense[:40], as_entries(dense)[:40], dense.astype(np.float64)[:40]):
        same_codes(batch, family_of(name, conventions), conventions)
    whole = hashing.hash_codes(dense, family_of(name, conventions), conventions)
    assert whole.codes.shape == (300, 12)
    parts = hashing.hash_codes(dense[170:180], family_of(name, conventions), conventions)
    assert whole.codes[170:180].tolist() == parts.codes.tolist()


@pytest.mark.parametrize("name", FAMILIES)
@given(batch=BATCHES)
def test_extreme_values(name, batch):
    family = family_of(name, PAPER)
    same_codes(batch, family, PAPER)
    same_codes(as_entries(batch), family, PAPER)


@given(batch=BATCHES)
@example(np.tile(np.float32([0.1, 0.2, -0.3]), (5, 4)))
@example(np.tile(np.float32([0.1, 0.2, -0.3, 0.0]), (5, 3)))
@example(np.full((5, DIMENSION), np.float32(3e38)))
def test_signs_of_dense_projections_are_exact(batch):
    """Every sum of all coordinates with all signs: near ties on purpose."""
    numbers = np.arange(0, 4096, 37)[:, None]
    signs = np.where((numbers >> np.arange(DIMENSION)) & 1, 1.0, -1.0)
    family = SimHashParameters(np.tile(np.arange(DIMENSION), (len(signs), 1)), signs, DIMENSION)
    same_codes(batch, family, PAPER)
    same_codes(batch.astype(np.float64), family, PAPER)


@pytest.mark.parametrize("projection", next(question.answers for question in QUESTIONS if question.number == 2))
def test_projection_sums_have_the_right_sign_and_size(projection):
    generator = np.random.default_rng(2)
    family = draw_projections(generator, 50, DIMENSION, projection)
    batch = np.round(generator.standard_normal((30, DIMENSION)), 1)
    got = hashing.projection_sums(batch, family)
    expected = np.array([spec_hashing.projection_sums(vector_of(batch, row), family) for row in range(30)])
    assert np.array_equal(np.sign(got), np.sign(expected))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    assert hashing.sign_bits(got, "one_above_zero").tolist() == (expected > 0).astype(int).tolist()


def test_a_very_wide_projection_is_kept_sparse():
    generator = np.random.default_rng(3)
    family = draw_projections(generator, 60, 300_000, "signs_without_replacement")
    batch = sparse.random_array((4, 300_000), density=1e-4, rng=generator, format="csr")
    same_codes(batch, family, PAPER)


class Own:
    """A family of a user's own: the sign of the sum of the entries, and their number modulo 3."""

    dimension, code_count, code_range = DIMENSION, 12, 3

    def codes(self, indices, values):
        return np.array([int(values.sum() > 0), indices.size % 3] * 6)


class OwnBatch(Own):
    """The same for a batch."""

    def batch_codes(self, rows):
        sums, sizes = np.asarray(rows.sum(axis=1)) > 0, np.diff(rows.indptr) % 3
        return np.stack([sums, sizes] * 6, axis=1).astype(int)


@pytest.mark.parametrize("dense_input", ["as_its_nonzeros", "every_coordinate"])
@pytest.mark.parametrize("family", [Own(), OwnBatch()], ids=["vector by vector", "batch"])
def test_a_family_of_ones_own(family, dense_input):
    generator = np.random.default_rng(4)
    dense = generator.integers(-2, 3, (9, DIMENSION)).astype(np.float32)
    conventions = PAPER.replace(dense_input=dense_input)
    same_codes(dense, family, conventions)
    same_codes(as_entries(dense), family, conventions)


@pytest.mark.parametrize("family", [Own(), OwnBatch()], ids=["vector by vector", "batch"])
@given(batch=arrays(np.float32, (5, DIMENSION), elements=st.integers(-2, 2)))
def test_a_family_of_ones_own_sees_any_values(family, batch):
    expected = [[int(row[row != 0].sum() > 0), np.count_nonzero(row) % 3] * 6 for row in batch]
    assert hashing.hash_codes(batch, family, PAPER).codes.tolist() == expected


def test_another_dimension_is_refused():
    with pytest.raises(ShapeError, match="dimension 12, got 3"):
        hashing.hash_codes(np.ones((2, 3)), family_of("dwta", PAPER), PAPER)


def test_no_vectors_have_no_codes():
    assert hashing.hash_codes(np.ones((0, DIMENSION)), family_of("dwta", PAPER), PAPER).codes.shape == (0, 12)


@pytest.mark.parametrize("donor", ["undensified", "densified_so_far"])
@pytest.mark.parametrize("borrowed_code", ["as_is", "shifted_by_attempt"])
@given(data=st.data())
def test_densify(donor, borrowed_code, data):
    codes = data.draw(arrays(np.int64, (6, 4), elements=st.integers(0, 3)))
    occupied = data.draw(arrays(bool, (6, 4)))
    probes = data.draw(arrays(np.int64, (6, 3), elements=st.integers(0, 5)))
    answers = {"donor": donor, "borrowed_code": borrowed_code, "densification_failure": "minus_one"}
    got, failures = hashing.densify(codes, occupied, probes, 4, **answers)
    for column in range(4):
        expected, failed = spec_hashing.densify(codes[:, column], occupied[:, column], probes, 4, **answers)
        assert got[:, column].tolist() == expected.tolist()
        assert failures[column] == failed


@given(columns=arrays(np.float64, (7, 3), elements=st.sampled_from([-1.0, 0.0, 2.0])), seed=st.integers(0, 99))
def test_first_maxima_are_numpys(columns, seed):
    bins = np.argsort(np.random.default_rng(seed).random((5, 7)), axis=1)[:, :4]
    codes, maxima = hashing.first_maxima(columns, bins)
    assert codes.tolist() == np.argmax(columns[bins], axis=1).tolist()
    assert maxima.tolist() == columns[bins].max(axis=1).tolist()


@given(dense=arrays(np.float64, (4, 6), elements=st.sampled_from([-np.inf, -1.0, 0.0, 2.0])), kept=st.integers(1, 7))
def test_largest_coordinates(dense, kept):
    members = hashing.largest_coordinates(dense, kept)
    for row, member in zip(dense, members, strict=True):
        places = np.flatnonzero(row > -np.inf)
        vector = SparseVector(places, row[places], 6)
        assert np.flatnonzero(member).tolist() == spec_hashing.largest_coordinates(vector, kept).tolist()


@pytest.mark.parametrize("packing", next(question.answers for question in QUESTIONS if question.number == 3))
@pytest.mark.parametrize(("base", "count", "table_bits"), [(2, 9, 12), (8, 3, 9), (8, 6, 18), (5, 4, 6), (3, 2, 3)])
def test_keys(base, count, table_bits, packing):
    generator = np.random.default_rng(5)
    multipliers = draw_multipliers(generator, 4)
    codes = generator.integers(0, base, (50, 4 * count))
    try:
        got = keys.bucket_keys(codes, base, count, table_bits, multipliers, packing)
    except OutOfRangeError:
        with pytest.raises(OutOfRangeError):
            [spec_keys.bucket_keys(row, base, count, table_bits, multipliers, packing) for row in codes]
        return
    expected = [spec_keys.bucket_keys(row, base, count, table_bits, multipliers, packing).tolist() for row in codes]
    assert got.tolist() == expected


@pytest.mark.parametrize("packing", next(question.answers for question in QUESTIONS if question.number == 3))
@given(base=st.integers(2, 9), count=st.integers(1, 4), table_bits=st.integers(1, 20), data=st.data())
def test_any_keys(packing, base, count, table_bits, data):
    multipliers = draw_multipliers(np.random.default_rng(7), 2)
    codes = data.draw(arrays(np.int64, (3, 2 * count), elements=st.integers(0, base - 1)))
    if data.draw(st.booleans()):
        codes[-1, -1] = data.draw(st.sampled_from([-1, base]))
    try:
        expected = [spec_keys.bucket_keys(row, base, count, table_bits, multipliers, packing).tolist() for row in codes]
    except OutOfRangeError:
        with pytest.raises(OutOfRangeError):
            keys.bucket_keys(codes, base, count, table_bits, multipliers, packing)
    else:
        assert keys.bucket_keys(codes, base, count, table_bits, multipliers, packing).tolist() == expected


def test_keys_that_fit_nothing():
    multipliers = draw_multipliers(np.random.default_rng(6), 1)
    with pytest.raises(OutOfRangeError, match="63 bits"):
        keys.bucket_keys(np.zeros((1, 22), int), 8, 22, 18, multipliers, "positional")
    for code in (-1, 8):
        with pytest.raises(OutOfRangeError, match=str(code)):
            keys.bucket_keys(np.full((1, 2), code), 8, 2, 18, multipliers, "whole_bits")
    with pytest.raises(ShapeError, match="codes"):
        keys.bucket_keys(np.zeros((1, 3), int), 8, 2, 18, multipliers, "positional")
