"""The container, the synthetic sets, the shipped set and the catalogue."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from pyslide.data import (
    CATALOGUE,
    Dataset,
    PlantedLabels,
    check_against,
    load,
    load_standard_library,
    planted_dataset,
    shipped,
    standard_library_description,
    write_libsvm,
)
from pyslide.errors import (
    ConventionError,
    DtypeError,
    FormatError,
    NonFiniteError,
    OrderError,
    OutOfRangeError,
    ShapeError,
)


def matrix(dense: list[list[float]]) -> csr_array:
    result = csr_array(np.array(dense, np.float32))
    result.indices = result.indices.astype(np.int32)
    return result


def raw(indices: list[int], ends: list[int], width: int, value: float = 1.0) -> csr_array:
    values = np.full(len(indices), value, np.float32)
    result = csr_array((len(ends) - 1, width), dtype=np.float32)
    result.data, result.indices, result.indptr = values, np.array(indices, np.int32), np.array(ends, np.int32)
    return result


GOOD = matrix([[1, 0, 2], [0, 0, 0]])
TRUTH = matrix([[1, 0], [1, 1]])


def test_statistics() -> None:
    data = Dataset(GOOD, TRUTH, label_names=("a", "b"), feature_names=("x", "y", "z"), name="tiny")
    counts = data.statistics()
    assert (data.rows, data.feature_count, data.label_count) == (2, 3, 2)
    assert (counts.nonzeros_per_row, counts.labels_per_row) == (1.0, 1.5)
    assert (counts.rows_without_features, counts.rows_without_labels) == (1, 0)


@pytest.mark.parametrize(
    ("features", "labels", "error", "message"),
    [
        (GOOD, matrix([[1]]), ShapeError, "2 rows and labels 1"),
        (GOOD.toarray(), TRUTH, DtypeError, "csr_array, got ndarray"),
        (csc_array(GOOD), TRUTH, DtypeError, "csr_array, got csc_array"),
        (GOOD.astype(np.float64), TRUTH, DtypeError, "float32, got float64"),
        (GOOD, matrix([[2, 0], [1, 1]]), OutOfRangeError, "ones"),
        (matrix([[np.nan], [0]]), TRUTH, NonFiniteError, "NaN"),
        (raw([1, 0], [0, 2, 2], 3), TRUTH, OrderError, "rise strictly"),
        (raw([1, 1], [0, 2, 2], 3), TRUTH, OrderError, "rise strictly"),
        (raw([3], [0, 1, 1], 3), TRUTH, OutOfRangeError, "outside 0..2"),
        (raw([-1], [0, 1, 1], 3), TRUTH, OutOfRangeError, "outside 0..2"),
    ],
)
def test_a_dataset_checks_its_matrices(
    features: csr_array, labels: csr_array, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Dataset(features, labels)


def test_a_dataset_checks_index_types_and_names() -> None:
    wide = GOOD.copy()
    wide.indices = wide.indices.astype(np.int64)
    with pytest.raises(DtypeError, match="int32, got int64"):
        Dataset(wide, TRUTH)
    with pytest.raises(ShapeError, match="2 label names"):
        Dataset(GOOD, TRUTH, label_names=("a",))
    with pytest.raises(ShapeError, match="3 feature names"):
        Dataset(GOOD, TRUTH, feature_names=("a",))


def test_indices_may_fall_from_row_to_row() -> None:
    assert Dataset(raw([2, 0], [0, 1, 2], 3), TRUTH).rows == 2


# -- synthetic ----------------------------------------------------------------------------------------------------


def test_planted_rows_have_what_was_asked_for() -> None:
    data = planted_dataset(5000, 3000, 400, np.random.default_rng(1), nonzeros_per_row=30, labels_per_row=3.0)
    counts = data.statistics()
    assert (counts.rows, counts.features, counts.labels) == (5000, 3000, 400)
    assert counts.rows_without_features == counts.rows_without_labels == 0
    assert 15 < counts.nonzeros_per_row <= 30
    assert 2.0 < counts.labels_per_row <= 3.1
    lengths = np.sqrt(data.features.multiply(data.features).sum(axis=1))
    np.testing.assert_allclose(lengths, 1, rtol=1e-6)


def test_the_same_seed_gives_the_same_rows() -> None:
    one, two, other = (planted_dataset(50, 60, 20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.features.toarray(), two.features.toarray())
    np.testing.assert_array_equal(one.labels.toarray(), two.labels.toarray())
    assert (one.features.toarray() != other.features.toarray()).any()


def test_without_noise_all_features_belong_to_the_labels_of_the_row() -> None:
    generator = np.random.default_rng(3)
    planted = PlantedLabels.plant(500, 50, generator, owned=4)
    data = planted.rows(200, generator, nonzeros_per_row=10, noise=0.0)
    for row in range(data.rows):
        labels = data.labels.indices[slice(*data.labels.indptr[row : row + 2])]
        features = data.features.indices[slice(*data.features.indptr[row : row + 2])]
        assert set(features) <= set(planted.owned[labels].ravel())


def test_labels_follow_the_law() -> None:
    """The most frequent of 100 labels under 1/rank has probability 1 / H_100 = 0.1928; tolerance 6 deviations."""
    generator = np.random.default_rng(4)
    planted = PlantedLabels.plant(50, 100, generator)
    data = planted.rows(20_000, generator, nonzeros_per_row=2, labels_per_row=1.0)
    share = data.labels.sum(axis=0)[planted.by_frequency[0]] / data.rows
    assert abs(share - 0.19278) < 6 * np.sqrt(0.1928 * 0.8072 / 20_000)


def test_as_wide_as_amazon_670k() -> None:
    started = time.process_time()
    data = planted_dataset(1000, 135_909, 670_091, np.random.default_rng(5))
    assert (data.feature_count, data.label_count) == (135_909, 670_091)
    assert time.process_time() - started < 10


def test_no_rows() -> None:
    assert planted_dataset(0, 3, 2, np.random.default_rng(6)).rows == 0


@pytest.mark.parametrize(
    "change", [{"nonzeros_per_row": 0}, {"labels_per_row": 0.5}, {"noise": 1.5}, {"noise": float("nan")}]
)
def test_impossible_rows_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(OutOfRangeError):
        planted_dataset(3, 3, 3, np.random.default_rng(7), **change)


@pytest.mark.parametrize("sizes", [(0, 3, {}), (3, 0, {}), (3, 3, {"owned": 0}), (3, 3, {"exponent": -1.0})])
def test_impossible_plants_are_refused(sizes: tuple[int, int, dict[str, float]]) -> None:
    with pytest.raises(OutOfRangeError):
        PlantedLabels.plant(sizes[0], sizes[1], np.random.default_rng(8), **sizes[2])


# -- shipped ------------------------------------------------------------------------------------------------------


def test_shipped_files_have_their_checksums_and_are_small() -> None:
    folder = files("pyslide") / "shipped"
    recorded = standard_library_description()["sha256"]
    assert len(recorded) == 4
    for name, checksum in recorded.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == checksum
    parts = [entry for entry in folder.iterdir() if entry.name.startswith("standard_library")]
    assert len(parts) == 6
    assert sum(len(part.read_bytes()) for part in parts) < 1_000_000


@pytest.mark.parametrize("split", ["train", "test"])
def test_shipped_rows_have_the_recorded_statistics(split: str) -> None:
    data = load_standard_library(split)  # type: ignore[arg-type]
    assert vars(data.statistics()) == standard_library_description()["statistics"][split]
    assert data.label_names is not None
    assert data.feature_names is not None
    assert len(data.label_names) == 3731
    assert list(data.feature_names) == sorted(set(data.feature_names))
    lengths = np.sqrt(data.features.multiply(data.features).sum(axis=1))
    np.testing.assert_allclose(lengths, 1, atol=1e-3)


def test_shipped_sizes() -> None:
    train, test = load_standard_library("train"), load_standard_library("test")
    assert (train.rows, test.rows, train.feature_count) == (11_742, 1_695, 4_854)
    assert train.label_names == test.label_names
    assert train.labels.sum(axis=0).min() >= 2
    assert np.bincount(train.features.indices, minlength=4_854).min() >= 1


def test_the_readme_shows_the_shipped_figures() -> None:
    readme = (Path(__file__).parents[2] / "datasets" / "README.md").read_text("utf-8")
    for split, counts in standard_library_description()["statistics"].items():
        assert f"| {split} | {counts['rows']:,} | {counts['features']:,} | {counts['labels']:,} |" in readme
    for published in CATALOGUE.values():
        assert f"| {published.name} | {published.features:,} | {published.labels:,} |" in readme


def test_an_unknown_half_is_refused() -> None:
    with pytest.raises(ConventionError, match="'train' or 'test'"):
        load_standard_library("validation")  # type: ignore[arg-type]


def test_a_changed_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for entry in (files("pyslide") / "shipped").iterdir():
        (tmp_path / entry.name).write_bytes(entry.read_bytes())
    recorded = json.loads((tmp_path / "standard_library.json").read_text())
    recorded["sha256"]["standard_library_test.txt.gz"] = "0" * 64
    (tmp_path / "standard_library.json").write_text(json.dumps(recorded))
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    assert load_standard_library("train").rows == 11_742
    with pytest.raises(FormatError, match="SHA-256"):
        load_standard_library("test")


# -- catalogue ----------------------------------------------------------------------------------------------------


def test_the_catalogue_agrees_with_the_paper() -> None:
    delicious, amazon = CATALOGUE["Delicious-200K"], CATALOGUE["Amazon-670K"]
    assert (delicious.features, delicious.labels) == (782_585, 205_443)
    assert (delicious.rows("train"), delicious.rows("test")) == (196_606, 100_095)
    assert (amazon.features, amazon.labels) == (135_909, 670_091)
    assert (amazon.rows("train"), amazon.rows("test")) == (490_449, 153_025)


def test_a_header_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"490449 135909 670091\n")
    assert all(finding.ok for finding in check_against(path, "Amazon-670K"))
    rows, features, labels = check_against(path, "Amazon-670K", "test")
    assert (rows.what, rows.expected, rows.got, rows.ok) == ("rows", 153_025, 490_449, False)
    assert features.ok
    assert labels.ok


def test_data_and_files_without_a_header_are_compared(tmp_path: Path) -> None:
    data = planted_dataset(20, 120, 101, np.random.default_rng(9))
    write_libsvm(tmp_path / "data.txt", data)
    for given in (data, tmp_path / "data.txt", str(tmp_path / "data.txt")):
        assert check_against(given, "Mediamill")[0].got == 20
    assert [finding.ok for finding in check_against(data, "Mediamill")] == [False, True, True]


def test_unknown_names_are_refused() -> None:
    data = Dataset(GOOD, TRUTH)
    with pytest.raises(ConventionError, match="Amazon-670K"):
        check_against(data, "Amazon")
    with pytest.raises(ConventionError, match="split"):
        check_against(data, "Bibtex", "dev")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["empty.txt", "empty.txt.gz"])
def test_an_empty_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    with pytest.raises(FormatError, match="empty file"):
        load(path)
