"""The format of the Extreme Classification Repository.

The first line is ``rows features labels``; every further line is one row, ``label,label feature:value feature:value``,
with ids counted from zero.  A row without labels begins with a blank or with its first ``feature:value``; a row without
features ends after its labels; a blank line is a row with neither.

Source: the README of the Extreme Classification Repository, http://manikvarma.org/downloads/XC/XMLRepository.html
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scipy.sparse import csr_array

from pyslide.data.blocks import BLOCK_BYTES, line_blocks
from pyslide.data.dataset import Dataset
from pyslide.data.lines import LARGEST, Rules, parse_block
from pyslide.data.rows import RowCollector
from pyslide.data.writing import text_rows, written_aside
from pyslide.errors import FormatError, TruncatedFileError

_HEADER = "expected the header 'rows features labels', three whole numbers"


def read_extreme(path: str | Path, *, block_bytes: int = BLOCK_BYTES) -> Dataset:
    """Read a file in the format of the Extreme Classification Repository.

    Parameters
    ----------
    path : str or Path
        A plain or gzipped file.
    block_bytes : int
        How much text to hold at once.

    Returns
    -------
    Dataset
        float32 values.  The values of a feature id that a row repeats are SUMMED (in float64, then rounded); a
        repeated label counts once.  Ids are sorted within each row.

    Raises
    ------
    TruncatedFileError
        When there are fewer rows than the header promises, or a gzip stream ends too early.
    FormatError
        At anything else that is wrong: no header, an id that is negative or not below its bound, a value that is not
        a finite decimal, bytes that are not text, a malformed token, more rows than promised.  The message and the
        attributes ``path`` and ``line`` (counted from 1) say where.
    """
    path = Path(path)
    blocks = line_blocks(path, block_bytes)
    (rows, features, labels), rest = _read_header(blocks, path)
    rules = Rules(features, labels)
    collector = RowCollector()
    last = 1
    for first_line, block in rest:
        parsed = parse_block(block, path, first_line, rules)
        collector.add(parsed)
        last = first_line + parsed.label_counts.size - 1
        if collector.rows > rows:
            raise FormatError(f"expected the end of the file after the {rows} rows of its header", path, rows + 2)
    if collector.rows < rows:
        raise TruncatedFileError(f"expected {rows} rows, the file ends after {collector.rows}", path, last)
    return Dataset(*collector.matrices(features, labels), name=path.name)


def _read_header(
    blocks: Iterator[tuple[int, bytes]], path: Path
) -> tuple[tuple[int, int, int], Iterator[tuple[int, bytes]]]:
    """Read the first line; give back what follows it."""
    _, block = next(blocks, (1, b""))
    header, _, rest = block.partition(b"\n")
    sizes = parse_header(header)
    if sizes is None:
        shown = header[:60].decode("ascii", "replace")
        raise FormatError(f"{_HEADER}, got {shown!r}", path, 1)
    return sizes, _chain(rest, blocks)


def _chain(rest: bytes, blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    if rest:
        yield 2, rest
    yield from blocks


def parse_header(line: bytes) -> tuple[int, int, int] | None:
    """Read ``rows features labels``.

    Parameters
    ----------
    line : bytes
        The first line of a file.

    Returns
    -------
    (rows, features, labels) or None
        None when the line is no header.
    """
    words = line.split()
    if len(words) != 3 or not all(word.isdigit() and len(word) <= 12 for word in words):
        return None
    rows, features, labels = (int(word) for word in words)
    return (rows, features, labels) if max(features, labels) <= LARGEST else None


def write_extreme(path: str | Path, features: csr_array, labels: csr_array) -> None:
    """Write a file in the format of the Extreme Classification Repository.

    Parameters
    ----------
    path : str or Path
        Where to; a name that ends in ``.gz`` is compressed.  The file is written aside and renamed, so that it is
        either whole or not there.
    features : csr_array of float32, (rows, features)
        Finite values, indices that rise strictly in every row.
    labels : csr_array of float32, (rows, labels)
        Ones; indices as for ``features``.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, OrderError, NonFiniteError
        When the matrices are not what :class:`pyslide.data.Dataset` takes.

    Notes
    -----
    Values are the shortest decimals that read back as the same float32, so reading gives exactly what was written.
    """
    data = Dataset(features, labels)
    with written_aside(Path(path)) as stream:
        stream.write(f"{data.rows} {data.feature_count} {data.label_count}\n".encode("ascii"))
        for text in text_rows(data):
            stream.write(text)
