"""Multi-label LibSVM text, by scikit-learn's convention.

A line is ``label,label index:value index:value``; ``#`` begins a comment; lines with nothing else are skipped; indices
rise strictly in every row and count from zero or from one.

Source: ``sklearn.datasets.load_svmlight_file(multilabel=True)`` and ``dump_svmlight_file``, which read and write the
same files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np

from pyslide.data.blocks import BLOCK_BYTES, line_blocks
from pyslide.data.dataset import Dataset
from pyslide.data.lines import LARGEST, Rules, parse_block
from pyslide.data.rows import RowCollector
from pyslide.data.tokens import ParsedRows
from pyslide.data.writing import text_rows, written_aside
from pyslide.errors import ConventionError, FormatError, OutOfRangeError

_COMMENT = re.compile(rb"#[^\n]*")

ZeroBased = bool | Literal["auto"]


def read_libsvm(
    path: str | Path,
    *,
    zero_based: ZeroBased = "auto",
    features: int | None = None,
    labels: int | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Dataset:
    """Read a multi-label LibSVM file.

    Parameters
    ----------
    path : str or Path
        A plain or gzipped file.
    zero_based : bool or "auto"
        Whether feature indices count from zero.  "auto" takes a file without the index 0 as counting from one.  For a
        test set give the answer that held for its training set.
    features, labels : int, optional
        The widths; by default the largest id plus one.  Label ids are taken as they are, from zero.
    block_bytes : int
        How much text to hold at once.

    Returns
    -------
    Dataset
        float32 values.

    Raises
    ------
    FormatError, TruncatedFileError
        When the file is wrong; with its path and line.  Query ids (``qid:``), indices that do not rise strictly, and
        labels that are not whole numbers are refused.
    ConventionError
        When ``zero_based`` is none of True, False and "auto".
    """
    path = Path(path)
    collector = _collect(path, _rules(zero_based, features, labels), block_bytes)
    smallest = collector.smallest_feature()
    first = int(zero_based is False or (zero_based == "auto" and smallest is not None and smallest > 0))
    try:
        return Dataset(*collector.matrices(features, labels, first), name=path.name)
    except OutOfRangeError as error:
        # Only "auto" gets here: the file uses index 0, and the index `features` as well.
        raise FormatError(f"expected feature ids below {features}, counted from {first}", path) from error


def _rules(zero_based: ZeroBased, features: int | None, labels: int | None) -> Rules:
    if zero_based not in (True, False, "auto"):
        raise ConventionError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    # Counting from one, the largest id is the width itself.
    limit = LARGEST if features is None else features + (zero_based is not True)
    return Rules(limit, LARGEST if labels is None else labels, rising=True, first_feature=int(zero_based is False))


def _collect(path: Path, rules: Rules, block_bytes: int) -> RowCollector:
    collector = RowCollector()
    for first_line, block in line_blocks(path, block_bytes):
        text = _COMMENT.sub(b"", block) if b"#" in block else block
        collector.add(_without_blank_lines(parse_block(text, path, first_line, rules)))
    return collector


def _without_blank_lines(parsed: ParsedRows) -> ParsedRows:
    kept = (parsed.label_counts > 0) | (parsed.feature_counts > 0)
    return ParsedRows(
        label_counts=parsed.label_counts[kept],
        label_ids=parsed.label_ids,
        feature_counts=parsed.feature_counts[kept],
        feature_ids=parsed.feature_ids,
        values=parsed.values,
    )


def write_libsvm(path: str | Path, data: Dataset, *, zero_based: bool = True) -> None:
    """Write a multi-label LibSVM file.

    Parameters
    ----------
    path : str or Path
        Where to; a name that ends in ``.gz`` is compressed.  Written aside and renamed.
    data : Dataset
        What to write; values are the shortest decimals that read back as the same float32.
    zero_based : bool
        Whether feature indices count from zero.

    Raises
    ------
    OutOfRangeError
        When a row has neither features nor labels: its line would be blank, and readers skip blank lines.
    """
    nothing = (np.diff(data.features.indptr) == 0) & (np.diff(data.labels.indptr) == 0)
    if nothing.any():
        raise OutOfRangeError(
            f"row {int(nothing.argmax())} has neither features nor labels; LibSVM text cannot hold such a row"
        )
    with written_aside(Path(path)) as stream:
        for text in text_rows(data, first_feature=int(not zero_based)):
            stream.write(text)
