"""Blocks of parsed rows to two sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pyslide.data.tokens import ParsedRows, rises_in_rows

Integers = npt.NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)


@dataclass
class RowCollector:
    """Gathers blocks of rows and joins them at the end.

    Ids are kept as int32 and values as float32 from the first block on, so that the peak is twice the final size.
    """

    rows: int = 0
    _labels: list[npt.NDArray[np.int32]] = field(default_factory=list)
    _label_counts: list[Integers] = field(default_factory=list)
    _features: list[npt.NDArray[np.int32]] = field(default_factory=list)
    _feature_counts: list[Integers] = field(default_factory=list)
    _values: list[npt.NDArray[np.float32]] = field(default_factory=list)

    def add(self, parsed: ParsedRows) -> None:
        """Take the rows of the next block; ids must fit int32."""
        labels, label_counts, _ = merge_repeats(parsed.label_ids, parsed.label_counts, np.ones(parsed.label_ids.size))
        features, feature_counts, values = merge_repeats(parsed.feature_ids, parsed.feature_counts, parsed.values)
        self.rows += label_counts.size
        self._labels.append(labels.astype(np.int32))
        self._label_counts.append(label_counts)
        self._features.append(features.astype(np.int32))
        self._feature_counts.append(feature_counts)
        self._values.append(values.astype(np.float32))

    def smallest_feature(self) -> int | None:
        """The smallest feature id, or None without any."""
        return min((int(part.min()) for part in self._features if part.size), default=None)

    def matrices(self, features: int | None, labels: int | None, first_feature: int = 0) -> tuple[csr_array, csr_array]:
        """Join the blocks.

        Parameters
        ----------
        features, labels : int or None
            The widths; None takes the largest id plus one.
        first_feature : int
            Subtracted from every feature id.

        Returns
        -------
        features, labels : csr_array of float32
            (rows, features) and (rows, labels), indices rising in each row; labels hold ones.
        """
        feature_ids, label_ids = _join(self._features, np.int32), _join(self._labels, np.int32)
        feature_ids -= np.int32(first_feature)
        values = _join(self._values, np.float32)
        ones = np.ones(label_ids.size, np.float32)
        return (
            _matrix(values, feature_ids, _join(self._feature_counts, np.int64), features),
            _matrix(ones, label_ids, _join(self._label_counts, np.int64), labels),
        )


def merge_repeats(
    ids: Integers, counts: Integers, values: npt.NDArray[np.float64]
) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    """Sort the ids of every row and sum the values of repeated ones, in float64 and in the order of the file.

    Parameters
    ----------
    ids, values : arrays, one entry a non-zero
        Row after row.
    counts : array of int64, one entry a row
        How many entries each row has.

    Returns
    -------
    ids, counts, values
        The same, with rising ids in every row.
    """
    if rises_in_rows(ids, counts):
        return ids, counts, values
    rows = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((ids, rows))
    ids, rows, values = ids[order], rows[order], values[order]
    first = np.ones(ids.size, np.bool_)
    first[1:] = (ids[1:] != ids[:-1]) | (rows[1:] != rows[:-1])
    sums = np.bincount(np.cumsum(first) - 1, weights=values).astype(np.float64)
    return ids[first], np.bincount(rows[first], minlength=counts.size).astype(np.int64), sums


def _join(parts: list[npt.NDArray[Number]], kind: type[Number]) -> npt.NDArray[Number]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _matrix(
    values: npt.NDArray[np.float32], ids: npt.NDArray[np.int32], counts: Integers, width: int | None
) -> csr_array:
    ends = np.concatenate([[0], np.cumsum(counts)])
    if width is None:
        width = int(ids.max()) + 1 if ids.size else 0
    starts = ends.astype(np.int32) if ends[-1] < 2**31 else ends
    return csr_array((values, ids, starts), shape=(counts.size, width))
