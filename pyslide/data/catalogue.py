"""The public data sets of extreme classification, and what is published about their sizes.

None of them is shipped.  Whoever has downloaded one can check that the copy is the one that papers speak of.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyslide.data.dataset import Dataset
from pyslide.data.files import file_sizes, load
from pyslide.errors import ConventionError

Split = Literal["train", "test"]

REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"
"""The Extreme Classification Repository (Bhatia et al., 2016), bag-of-words features."""


@dataclass(frozen=True)
class PublishedSet:
    """Published sizes of one data set.

    Attributes
    ----------
    name : str
        Its name, with the rounded number of labels.
    features, labels : int
        The widths.
    train_rows, test_rows : int
        The rows of the published split.
    source : str
        Where the figures stand.
    """

    name: str
    features: int
    labels: int
    train_rows: int
    test_rows: int
    source: str = REPOSITORY

    def rows(self, split: Split) -> int:
        """Rows of one half of the split."""
        return self.train_rows if split == "train" else self.test_rows


@dataclass(frozen=True)
class Finding:
    """One comparison of a published figure with what is there.

    Attributes
    ----------
    what : str
        "rows", "features" or "labels".
    expected, got : int
        The published figure, and that of the data.
    ok : bool
        Whether they are equal.
    """

    what: str
    expected: int
    got: int

    @property
    def ok(self) -> bool:
        """Whether the two figures are equal."""
        return self.expected == self.got


CATALOGUE: dict[str, PublishedSet] = {
    published.name: published
    for published in (
        PublishedSet("Mediamill", 120, 101, 30_993, 12_914),
        PublishedSet("Bibtex", 1_836, 159, 4_880, 2_515),
        PublishedSet("Delicious", 500, 983, 12_920, 3_185),
        PublishedSet("EURLex-4K", 5_000, 3_993, 15_539, 3_809),
        PublishedSet("AmazonCat-13K", 203_882, 13_330, 1_186_239, 306_782),
        PublishedSet("Wiki10-31K", 101_938, 30_938, 14_146, 6_616),
        PublishedSet("Delicious-200K", 782_585, 205_443, 196_606, 100_095),
        PublishedSet("WikiLSHTC-325K", 1_617_899, 325_056, 1_778_351, 587_084),
        PublishedSet("Wiki-500K", 2_381_304, 501_070, 1_813_391, 783_743),
        PublishedSet("Amazon-670K", 135_909, 670_091, 490_449, 153_025),
    )
}
"""The sets, by name, from few labels to many."""


def check_against(data: Dataset | str | Path, name: str, split: Split = "train") -> list[Finding]:
    """Compare data with the published sizes of a public set.

    Parameters
    ----------
    data : Dataset or path
        A data set, or a file.  Of a file with a header only the header is read: reading the whole file, which
        :func:`pyslide.data.load` does, also checks that the header is true.
    name : str
        A key of :data:`CATALOGUE`.
    split : "train" or "test"
        Which half of the published split it is.

    Returns
    -------
    list of Finding
        Rows, features and labels, in this order.

    Raises
    ------
    ConventionError
        When there is no set of that name, or the split is neither of the two.
    FormatError
        When a file has no header and is not LibSVM text either.
    """
    if name not in CATALOGUE:
        raise ConventionError(f"no data set {name!r} in the catalogue; there are: {', '.join(CATALOGUE)}")
    if split not in ("train", "test"):
        raise ConventionError(f"split must be 'train' or 'test', got {split!r}")
    published = CATALOGUE[name]
    rows, features, labels = _sizes(data)
    return [
        Finding("rows", published.rows(split), rows),
        Finding("features", published.features, features),
        Finding("labels", published.labels, labels),
    ]


def _sizes(data: Dataset | str | Path) -> tuple[int, int, int]:
    if not isinstance(data, Dataset):
        sizes = file_sizes(data)
        if sizes is not None:
            return sizes
        data = load(data)
    return data.rows, data.feature_count, data.label_count
