"""Made-up data of any width in which there is something to learn.

Every label owns a few characteristic features.  A row draws its labels from a Zipf-like law, as real label sets have
it, and its features from those that its labels own, plus noise.  A model that finds out who owns what predicts well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyslide.data.dataset import Dataset
from pyslide.data.rows import RowCollector, merge_repeats
from pyslide.data.tokens import ParsedRows
from pyslide.errors import OutOfRangeError

Integers = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class PlantedLabels:
    """Who owns what: draw rows from it as often as you like, for training and for testing.

    Attributes
    ----------
    owned : array of int32, (labels, owned features)
        The features of each label.
    law : array of float64, (labels,)
        Cumulated probability of the labels, in the order of ``by_frequency``.
    by_frequency : array of int32, (labels,)
        Label ids, the most frequent first.
    features : int
        Number of features.
    """

    owned: npt.NDArray[np.int32]
    law: npt.NDArray[np.float64]
    by_frequency: npt.NDArray[np.int32]
    features: int

    @classmethod
    def plant(
        cls, features: int, labels: int, generator: np.random.Generator, *, owned: int = 16, exponent: float = 1.0
    ) -> PlantedLabels:
        """Give every label its features.

        Parameters
        ----------
        features, labels : int
            The widths, at least 1.
        generator : numpy.random.Generator
            Where the draws come from.
        owned : int
            Features that a label owns.  Labels may share features.
        exponent : float
            The label of rank r (from 1) has a probability proportional to ``r ** -exponent``; 0 makes all equal.

        Returns
        -------
        PlantedLabels

        Raises
        ------
        OutOfRangeError
            When a size is below 1 or the exponent is negative.
        """
        _at_least_one(features=features, labels=labels, owned=owned)
        if not exponent >= 0:
            raise OutOfRangeError(f"exponent must be at least 0, got {exponent}")
        weights = np.arange(1, labels + 1, dtype=np.float64) ** -exponent
        law = np.cumsum(weights)
        return cls(
            owned=generator.integers(0, features, (labels, owned), dtype=np.int32),
            law=law / law[-1],
            by_frequency=generator.permutation(labels).astype(np.int32),
            features=features,
        )

    def rows(
        self,
        rows: int,
        generator: np.random.Generator,
        *,
        nonzeros_per_row: int = 76,
        labels_per_row: float = 5.0,
        noise: float = 0.2,
    ) -> Dataset:
        """Draw rows.

        Parameters
        ----------
        rows : int
            How many.
        generator : numpy.random.Generator
            Where the draws come from.
        nonzeros_per_row : int
            Features drawn for a row.  One that is drawn twice is one feature with a larger value, so that rows have
            somewhat fewer distinct features.
        labels_per_row : float
            Mean number of labels drawn for a row: one, and a Poisson number more.  Repeated draws count once.
        noise : float
            Probability that a drawn feature is any feature at all instead of one that a label of the row owns.

        Returns
        -------
        Dataset
            Every row has a label and a feature; rows of ``features`` have Euclidean length 1.

        Raises
        ------
        OutOfRangeError
            When a number lies outside its range.
        """
        _at_least_one(nonzeros_per_row=nonzeros_per_row, labels_per_row=labels_per_row)
        if rows < 0 or not 0 <= noise <= 1:
            raise OutOfRangeError(f"expected rows of at least 0 and noise in 0..1, got {rows} and {noise}")
        collector = RowCollector()
        for start in range(0, rows, _ROWS_AT_ONCE):
            count = min(_ROWS_AT_ONCE, rows - start)
            label_counts = 1 + generator.poisson(labels_per_row - 1, count).astype(np.int64)
            label_ids = self._draw_labels(int(label_counts.sum()), generator)
            feature_ids = self._draw_features(label_ids, label_counts, nonzeros_per_row, noise, generator)
            collector.add(_unit_rows(label_ids, label_counts, feature_ids, nonzeros_per_row, generator))
        return Dataset(*collector.matrices(self.features, self.owned.shape[0]), name="synthetic")

    def _draw_labels(self, count: int, generator: np.random.Generator) -> Integers:
        ranks = np.searchsorted(self.law, generator.random(count), side="right")
        return self.by_frequency[ranks].astype(np.int64)

    def _draw_features(
        self, label_ids: Integers, label_counts: Integers, each: int, noise: float, generator: np.random.Generator
    ) -> Integers:
        """Features of each row: of a random label of the row a random feature, or with ``noise`` any feature."""
        draws = label_counts.size * each
        counts = np.repeat(label_counts, each)
        firsts = np.repeat(np.cumsum(label_counts) - label_counts, each)
        owners = label_ids[firsts + (generator.random(draws) * counts).astype(np.int64)]
        features = self.owned[owners, generator.integers(0, self.owned.shape[1], draws)].astype(np.int64)
        (noisy,) = np.nonzero(generator.random(draws) < noise)
        features[noisy] = generator.integers(0, self.features, noisy.size)
        return features


def planted_dataset(
    rows: int,
    features: int,
    labels: int,
    generator: np.random.Generator,
    *,
    nonzeros_per_row: int = 76,
    labels_per_row: float = 5.0,
    noise: float = 0.2,
) -> Dataset:
    """Plant labels and draw rows in one go; the parameters are those of :class:`PlantedLabels`.

    Returns
    -------
    Dataset
    """
    planted = PlantedLabels.plant(features, labels, generator)
    return planted.rows(rows, generator, nonzeros_per_row=nonzeros_per_row, labels_per_row=labels_per_row, noise=noise)


def _unit_rows(
    label_ids: Integers, label_counts: Integers, feature_ids: Integers, each: int, generator: np.random.Generator
) -> ParsedRows:
    """Give the drawn features values, add up repeated ones, and scale every row to length 1."""
    values = generator.uniform(0.5, 1.5, feature_ids.size)
    drawn = np.full(label_counts.size, each, np.int64)
    feature_ids, feature_counts, values = merge_repeats(feature_ids, drawn, values)
    # Every row has a feature, so that no segment is empty.
    lengths = np.sqrt(np.add.reduceat(values * values, np.cumsum(feature_counts) - feature_counts))
    values /= np.repeat(lengths, feature_counts)
    return ParsedRows(label_counts, label_ids, feature_counts, feature_ids, values)


def _at_least_one(**sizes: float) -> None:
    for name, size in sizes.items():
        if not size >= 1:
            raise OutOfRangeError(f"{name} must be at least 1, got {size}")
