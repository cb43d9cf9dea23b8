"""The reader and writer of the Extreme Classification Repository's format."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pyslide.data import Dataset, read_extreme, write_extreme
from pyslide.data.tokens import parse_rows
from pyslide.errors import FormatError, OrderError, OutOfRangeError, ShapeError, TruncatedFileError

WIDTH = 1000
SAMPLE = b"""5 20 9
3,1 0:0.5 7:1 19:-0.25
 2:1e-3 4:.5
8:5. 9:+3
0,8

"""


def naive(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Dense features and labels, by a parser as short and as slow as can be."""
    header, *lines = text.split("\n")
    rows, features, labels = map(int, header.split())
    dense, truth = np.zeros((rows, features)), np.zeros((rows, labels))
    for row, line in enumerate(lines[:rows]):
        for token in line.split():
            if ":" in token:
                feature, value = token.split(":")
                dense[row, int(feature)] += float(value)
            else:
                truth[row, [int(label) for label in token.split(",")]] = 1
    return dense.astype(np.float32), truth.astype(np.float32)


def written(folder: Path, content: bytes, packed: bool = False) -> Path:
    path = folder / ("data.txt.gz" if packed else "data.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def matrix(dense: np.ndarray) -> csr_array:
    result = csr_array(dense.astype(np.float32))
    result.indices = result.indices.astype(np.int32)
    return result


def same(data: Dataset, dense: np.ndarray, truth: np.ndarray) -> None:
    np.testing.assert_array_equal(data.features.toarray(), dense)
    np.testing.assert_array_equal(data.labels.toarray(), truth)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 16, 1 << 20])
def test_reads_every_kind_of_row(tmp_path: Path, packed: bool, block_bytes: int) -> None:
    data = read_extreme(written(tmp_path, SAMPLE, packed), block_bytes=block_bytes)
    same(data, *naive(SAMPLE.decode()))
    assert data.features.dtype == data.labels.dtype == np.float32
    assert data.features.indices.dtype == data.labels.indices.dtype == np.int32
    counts = data.statistics()
    assert (counts.rows, counts.rows_without_features, counts.rows_without_labels) == (5, 2, 3)


def test_the_content_decides_what_is_gzip(tmp_path: Path) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress(SAMPLE))
    same(read_extreme(path), *naive(SAMPLE.decode()))


def test_last_newline_may_be_missing_and_lines_may_end_in_carriage_returns(tmp_path: Path) -> None:
    text = b"2 3 2\r\n0 1:2\r\n1 2:3"
    same(read_extreme(written(tmp_path, text)), *naive("2 3 2\n0 1:2\n1 2:3"))


def test_repeated_features_are_summed_and_repeated_labels_count_once(tmp_path: Path) -> None:
    data = read_extreme(written(tmp_path, b"2 9 9\n4,4,2 5:1 3:0.5 5:2 3:0.25\n1 1:1\n"))
    assert data.labels.indices.tolist() == [2, 4, 1]
    assert data.features.indices.tolist() == [3, 5, 1]
    assert data.features.data.tolist() == [0.75, 3.0, 1.0]


def test_the_fast_parser_reads_every_usual_line_itself() -> None:
    """Were it to give up too easily, all results would be right and reading a hundred times slower."""
    parsed = parse_rows(SAMPLE.partition(b"\n")[2] + b"1\t2:-1.25E+3 \r\n")
    assert parsed is not None
    assert parsed.label_counts.tolist() == [2, 0, 0, 2, 0, 1]
    assert parsed.feature_counts.tolist() == [3, 2, 2, 0, 0, 1]


def test_ids_with_many_leading_zeros_are_left_to_the_careful_parser(tmp_path: Path) -> None:
    line = b"00000000000000000000001,2 0000000000000000003:1.5 5:2"
    assert parse_rows(line + b"\n") is None
    data = read_extreme(written(tmp_path, b"2 9 9\n" + line + b"\n3 4:1\n"))
    assert data.labels.indices.tolist() == [1, 2, 3]
    assert data.features.indices.tolist() == [3, 5, 4]
    assert data.features.data.tolist() == [1.5, 2.0, 1.0]


def test_an_empty_set_is_a_set(tmp_path: Path) -> None:
    data = read_extreme(written(tmp_path, b"0 3 2\n"))
    assert data.features.shape == (0, 3)
    assert data.labels.shape == (0, 2)


def test_rows_without_anything_may_be_all_there_is(tmp_path: Path) -> None:
    assert read_extreme(written(tmp_path, b"2 0 0\n\n\n")).statistics().rows_without_labels == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"0", 0.0),
        (b"-0.0", -0.0),
        (b"123456789012345", 123456789012345.0),
        (b"1234567890123456789", 1234567890123456789.0),
        (b"0.1", 0.1),
        (b"0.123456789012345678901", 0.12345678901234568),
        (b"12345678.1234567", 12345678.1234567),
        (b"-12.5", -12.5),
        (b"+.5", 0.5),
        (b"7.", 7.0),
        (b"1E5", 1e5),
        (b"-1.5e-7", -1.5e-7),
        (b"1e-400", 0.0),
        (b"000000000000000000000001", 1.0),
    ],
)
def test_values(tmp_path: Path, text: bytes, value: float) -> None:
    got = read_extreme(written(tmp_path, b"1 1 1\n0 0:" + text + b"\n")).features.data[0]
    assert got == np.float32(value)
    assert np.signbit(got) == np.signbit(np.float32(value))


FAULTS = [
    (b"", FormatError, 1, "header"),
    (b"1 2\n", FormatError, 1, "header"),
    (b"0 1:2\n", FormatError, 1, "header"),
    (b"1 2 x\n", FormatError, 1, "header"),
    (b"-1 2 3\n", FormatError, 1, "header"),
    (b"1 9999999999 3\n\n", FormatError, 1, "header"),
    (b"\xff\xfe1 2 3\n", FormatError, 1, "header"),
    (b"3 4 4\n1 1:1\n2 2:1\n", TruncatedFileError, 3, "3 rows.*after 2"),
    (b"1 4 4\n", TruncatedFileError, 1, "after 0"),
    (b"1 4 4\n1 1:1\n2 2:1\n", FormatError, 3, "end of the file after the 1 rows"),
    (b"1 4 4\n1 1:1\n\n", FormatError, 3, "end of the file"),
    (b"2 4 4\n1 1:1\n1 4:1\n", FormatError, 3, "feature id below 4, got '4'"),
    (b"2 4 4\n4 1:1\n1 1:1\n", FormatError, 2, "label id below 4, got '4'"),
    (b"2 4 4\n1 1:1\n1 99999999999999999999:1\n", FormatError, 3, "feature id below 4"),
    (b"1 4 4\n-1 1:1\n", FormatError, 2, "label id of at least 0, got '-1'"),
    (b"1 4 4\n1 -1:1\n", FormatError, 2, "feature id of at least 0, got '-1'"),
    (b"1 4 4\n1 +1:1\n", FormatError, 2, "digits only"),
    (b"1 4 4\n1.0 1:1\n", FormatError, 2, "label id"),
    (b"1 4 4\n1 1.0:1\n", FormatError, 2, "feature id"),
    (b"1 4 4\n1 1:nan\n", FormatError, 2, "finite"),
    (b"1 4 4\n1 1:-inf\n", FormatError, 2, "finite"),
    (b"1 4 4\n1 1:1e39\n", FormatError, 2, "float32"),
    (b"1 4 4\n1 1:1e999\n", FormatError, 2, "float32"),
    (b"1 4 4\n1 1:1_0\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:.\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:-\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:--1\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:1.2.3\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:1:2\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:0x1\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1:1,2\n", FormatError, 2, "decimal value"),
    (b"1 4 4\n1 1 : 1\n", FormatError, 2, "feature:value, got '1'"),
    (b"1 4 4\n1 2\n", FormatError, 2, "feature:value, got '2'"),
    (b"1 4 4\n 1 2:1\n", FormatError, 2, "feature:value, got '1'"),
    (b"1 4 4\n1, 2:1\n", FormatError, 2, "label id"),
    (b"1 4 4\n,1 2:1\n", FormatError, 2, "label id"),
    (b"1 4 4\n1,,2 2:1\n", FormatError, 2, "label id"),
    (b"1 4 4\n1 :1\n", FormatError, 2, "feature id"),
    (b"1 4 4\n1 1:1\xe9\n", FormatError, 2, "0xe9"),
    (b"1 4 4\n1\x00 1:1\n", FormatError, 2, "0x00"),
    (b"1 4 4\nx" + b"y" * 500 + b" 1:1\n", FormatError, 2, r"label id.*yyy\.\.\."),
]


@pytest.mark.parametrize("block_bytes", [5, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("content", "error", "line", "message"), FAULTS)
def test_faults_name_file_and_line(
    tmp_path: Path, content: bytes, error: type[FormatError], line: int, message: str, packed: bool, block_bytes: int
) -> None:
    path = written(tmp_path, content, packed)
    with pytest.raises(error, match=message) as caught:
        read_extreme(path, block_bytes=block_bytes)
    assert type(caught.value) is error
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_fault_far_into_a_file_has_its_line(tmp_path: Path) -> None:
    lines = [b"1 1:0.5"] * 5000
    lines[4321] = b"1 1:0.5 oops"
    with pytest.raises(FormatError, match="oops") as caught:
        read_extreme(written(tmp_path, b"5000 2 2\n" + b"\n".join(lines)), block_bytes=1000)
    assert caught.value.line == 4323


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    rows = b"".join(b"1 %d:0.%d\n" % (row % 9, row * 7919) for row in range(2000))
    path.write_bytes(gzip.compress(b"2000 9 9\n" + rows)[:-2000])
    with pytest.raises(TruncatedFileError, match="gzip stream ends too early") as caught:
        read_extreme(path, block_bytes=1000)
    assert caught.value.line is not None
    assert caught.value.line > 1


@pytest.mark.parametrize("place", [12, -6])
def test_damaged_gzip(tmp_path: Path, place: int) -> None:
    content = bytearray(gzip.compress(SAMPLE * 20))
    content[place] ^= 0xFF
    path = tmp_path / "damaged.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        read_extreme(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_extreme(tmp_path / "nothing")


def test_a_block_holds_something(tmp_path: Path) -> None:
    with pytest.raises(OutOfRangeError, match="block_bytes"):
        read_extreme(written(tmp_path, SAMPLE), block_bytes=0)


# -- round trips and the naive witness ---------------------------------------------------------------------------

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda value: value != 0)
ROWS = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, WIDTH - 1), VALUES, max_size=6), st.sets(st.integers(0, WIDTH - 1), max_size=4)
    ),
    max_size=8,
)
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(rows=ROWS, packed=st.booleans(), block_bytes=st.integers(1, 200))
def test_what_is_written_reads_back_exactly(tmp_path: Path, rows: list, packed: bool, block_bytes: int) -> None:
    dense = np.zeros((len(rows), WIDTH), np.float32)
    truth = np.zeros((len(rows), WIDTH), np.float32)
    for row, (features, labels) in enumerate(rows):
        dense[row, list(features)] = list(features.values())
        truth[row, list(labels)] = 1
    path = tmp_path / ("round.txt.gz" if packed else "round.txt")
    write_extreme(path, matrix(dense), matrix(truth))
    same(read_extreme(path, block_bytes=block_bytes), dense, truth)


NUMBER = st.from_regex(r"[+-]?([0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,12}|[0-9]{1,20})([eE][+-]?[0-9])?", fullmatch=True)
BLANK = st.sampled_from([" ", "  ", "\t"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    labels = ",".join(map(str, draw(st.lists(st.integers(0, 8), max_size=4))))
    cells = [f"{draw(BLANK)}{draw(st.integers(0, 19))}:{draw(NUMBER)}" for _ in range(draw(st.integers(0, 5)))]
    return labels + "".join(cells) + draw(st.sampled_from(["", " "]))


@QUICK
@given(text=st.lists(lines(), max_size=6), block_bytes=st.integers(1, 100))
def test_agrees_with_a_naive_parser(tmp_path: Path, text: list[str], block_bytes: int) -> None:
    content = "\n".join([f"{len(text)} 20 9", *text]) + "\n"
    path = tmp_path / "naive.txt"
    path.write_bytes(content.encode("ascii"))
    same(read_extreme(path, block_bytes=block_bytes), *naive(content))


@QUICK
@given(line=st.text(alphabet="0123.,: -e\t\r", max_size=14).map(str.encode), block_bytes=st.sampled_from([3, 1 << 16]))
def test_fast_and_careful_parsers_accept_the_same_lines(tmp_path: Path, line: bytes, block_bytes: int) -> None:
    """A second, broken line sends the block to the careful parser: it must still complain about that line."""
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    plain.write_bytes(b"1 4 4\n" + line + b"\n")
    broken.write_bytes(b"2 4 4\n" + line + b"\nbroken\n")
    with pytest.raises(FormatError) as caught:
        read_extreme(broken)
    if caught.value.line == 3:
        read_extreme(plain, block_bytes=block_bytes)
    else:
        with pytest.raises(FormatError) as again:
            read_extreme(plain, block_bytes=block_bytes)
        assert again.value.line == 2


# -- writing ------------------------------------------------------------------------------------------------------


def test_the_text_that_is_written(tmp_path: Path) -> None:
    features = matrix(np.array([[0, 0.1, 0], [0, 0, 0], [-2, 0, 1e-5], [0, 0, 0]]))
    labels = matrix(np.array([[1, 1], [0, 1], [0, 0], [0, 0]]))
    write_extreme(tmp_path / "out.txt", features, labels)
    assert (tmp_path / "out.txt").read_bytes() == b"4 3 2\n0,1 1:0.1\n1\n 0:-2.0 2:1e-05\n\n"


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.gz", tmp_path / "two.gz"
    for path in (one, two):
        write_extreme(path, matrix(np.eye(3)), matrix(np.eye(3)))
    assert one.read_bytes() == two.read_bytes()


def test_many_rows_cross_the_writers_own_blocks(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    dense = generator.standard_normal((9000, 3)) * (generator.random((9000, 3)) < 0.5)
    truth = generator.random((9000, 4)) < 0.3
    write_extreme(tmp_path / "many.txt", matrix(dense), matrix(truth))
    same(read_extreme(tmp_path / "many.txt"), dense.astype(np.float32), truth)


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_extreme(path, matrix(np.eye(2)), matrix(np.eye(2)))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_wrong_matrices_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with pytest.raises(ShapeError, match="3 rows and labels 2"):
        write_extreme(path, matrix(np.eye(3)), matrix(np.eye(2)))
    unsorted = csr_array((np.ones(2, np.float32), np.array([1, 0], np.int32), np.array([0, 2], np.int32)), shape=(1, 2))
    with pytest.raises(OrderError):
        write_extreme(path, unsorted, matrix(np.ones((1, 1))))
    assert not path.exists()
