"""LibSVM text, with scikit-learn as an independent witness."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pyslide.data import Dataset, load, read_extreme, read_libsvm, write_extreme, write_libsvm
from pyslide.errors import ConventionError, FormatError, OutOfRangeError

SAMPLE = b"""# made by hand
1,3 2:0.5 7:-1   # a comment

 1:2
   # nothing
0
4 9:1e-3
"""
FEATURES, LABELS = 12, 6


def matrix(dense: np.ndarray) -> csr_array:
    result = csr_array(dense.astype(np.float32))
    result.indices = result.indices.astype(np.int32)
    return result


def sample(seed: int, rows: int = 40) -> Dataset:
    generator = np.random.default_rng(seed)
    dense = generator.standard_normal((rows, FEATURES)) * (generator.random((rows, FEATURES)) < 0.4)
    truth = generator.random((rows, LABELS)) < 0.3
    truth[~truth.any(axis=1), 0] = True
    dense[0, [0, -1]] = truth[0, -1] = 1
    return Dataset(matrix(dense), matrix(truth))


def label_lists(data: Dataset) -> list[tuple[int, ...]]:
    ends = data.labels.indptr
    return [tuple(data.labels.indices[begin:end].tolist()) for begin, end in pairwise(ends)]


def assert_same(one: Dataset, other: Dataset) -> None:
    np.testing.assert_array_equal(one.features.toarray(), other.features.toarray())
    np.testing.assert_array_equal(one.labels.toarray(), other.labels.toarray())


@pytest.mark.parametrize("block_bytes", [1, 5, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("zero_based", [True, False, "auto"])
def test_reads_what_scikit_learn_reads(tmp_path: Path, zero_based: bool | str, packed: bool, block_bytes: int) -> None:
    sklearn = pytest.importorskip("sklearn.datasets")
    path = tmp_path / ("sample.gz" if packed else "sample.txt")
    path.write_bytes(gzip.compress(SAMPLE) if packed else SAMPLE)
    expected, labels = sklearn.load_svmlight_file(str(path), multilabel=True, zero_based=zero_based, dtype=np.float32)
    got = read_libsvm(path, zero_based=zero_based, block_bytes=block_bytes)  # type: ignore[arg-type]
    np.testing.assert_array_equal(got.features.toarray(), expected.toarray())
    assert label_lists(got) == [tuple(int(label) for label in row) for row in labels]


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("comment", [None, "two\nlines"])
def test_reads_what_scikit_learn_writes(tmp_path: Path, zero_based: bool, comment: str | None) -> None:
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sample(1)
    path = tmp_path / "dumped.txt"
    truth = data.labels.toarray().astype(int)
    sklearn.dump_svmlight_file(
        data.features.toarray(), truth, str(path), zero_based=zero_based, comment=comment, multilabel=True
    )
    assert_same(read_libsvm(path, zero_based=zero_based), data)
    assert_same(load(path), data)


@pytest.mark.parametrize("zero_based", [True, False])
def test_scikit_learn_reads_what_we_write(tmp_path: Path, zero_based: bool) -> None:
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sample(2)
    write_libsvm(tmp_path / "ours.txt", data, zero_based=zero_based)
    features, labels = sklearn.load_svmlight_file(
        str(tmp_path / "ours.txt"), multilabel=True, zero_based=zero_based, dtype=np.float32
    )
    np.testing.assert_array_equal(features.toarray(), data.features.toarray())
    assert [tuple(int(label) for label in row) for row in labels] == label_lists(data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), zero_based=st.booleans(), block_bytes=st.integers(1, 300))
def test_round_trip(tmp_path: Path, seed: int, zero_based: bool, block_bytes: int) -> None:
    data = sample(seed, rows=5)
    write_libsvm(tmp_path / "round.txt.gz", data, zero_based=zero_based)
    again = read_libsvm(
        tmp_path / "round.txt.gz",
        zero_based=zero_based,
        features=FEATURES,
        labels=LABELS,
        block_bytes=block_bytes,
    )
    assert_same(again, data)


FAULTS = [
    (b"1 1:1\n2 qid:3 1:1\n", 2, "qid"),
    (b"1 3:1 2:1\n", 1, "rise strictly, got 2 after 3"),
    (b"#\n\n1 3:1 3:1\n", 3, "rise strictly"),
    (b"1.5 1:1\n", 1, "label id"),
    (b"-1 1:1\n", 1, "at least 0"),
    (b"1 1:1 # x\n1 1:x # y\n", 2, "decimal value"),
    (b"1 1:nan\n", 1, "finite"),
    (b"1 2147483647:1\n", 1, "feature id below"),
    (b"1 1:1\n\xc3\xa9 1:1\n", 2, "0xc3"),
]


@pytest.mark.parametrize("block_bytes", [3, 1 << 20])
@pytest.mark.parametrize(("content", "line", "message"), FAULTS)
def test_faults_name_file_and_line(tmp_path: Path, content: bytes, line: int, message: str, block_bytes: int) -> None:
    path = tmp_path / "fault.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_libsvm(path, block_bytes=block_bytes)
    assert (caught.value.path, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("content", "zero_based", "line"),
    [(b"1 1:1\n1 0:1\n", False, 2), (b"1 4:1\n1 5:1\n", False, 2), (b"1 4:1\n", True, 1), (b"1 5:1\n", "auto", 1)],
)
def test_indices_outside_the_given_width(tmp_path: Path, content: bytes, zero_based: bool, line: int) -> None:
    path = tmp_path / "wide.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="feature id") as caught:
        read_libsvm(path, zero_based=zero_based, features=4)
    assert caught.value.line == line


def test_a_width_that_no_way_of_counting_allows(tmp_path: Path) -> None:
    path = tmp_path / "both.txt"
    path.write_bytes(b"1 0:1 4:1\n")
    with pytest.raises(FormatError, match="below 4, counted from 0"):
        read_libsvm(path, features=4)


def test_labels_outside_the_given_width(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(b"3 0:1\n")
    with pytest.raises(FormatError, match="label id below 3"):
        read_libsvm(path, labels=3)


def test_zero_based_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(ConventionError, match="zero_based"):
        read_libsvm(tmp_path / "any", zero_based="yes")  # type: ignore[arg-type]


def test_a_row_with_nothing_cannot_be_written(tmp_path: Path) -> None:
    data = Dataset(matrix(np.array([[1], [0]])), matrix(np.array([[1], [0]])))
    with pytest.raises(OutOfRangeError, match="row 1 has neither"):
        write_libsvm(tmp_path / "out.txt", data)
    assert not (tmp_path / "out.txt").exists()


def test_an_empty_file_is_an_empty_set(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_bytes(b"# nothing but a comment\n")
    assert read_libsvm(path).features.shape == (0, 0)
    path.write_bytes(b"")
    assert read_libsvm(path).features.shape == (0, 0)


def test_load_recognises_the_format(tmp_path: Path) -> None:
    data = sample(3)
    write_extreme(tmp_path / "extreme.gz", data.features, data.labels)
    write_libsvm(tmp_path / "libsvm.gz", data)
    assert_same(load(tmp_path / "extreme.gz"), read_extreme(tmp_path / "extreme.gz"))
    assert_same(load(tmp_path / "libsvm.gz"), data)
