"""Data: sparse features, sets of labels, and where they come from."""

from pyslide.data.catalogue import CATALOGUE, Finding, PublishedSet, check_against
from pyslide.data.dataset import Dataset, Statistics
from pyslide.data.extreme import read_extreme, write_extreme
from pyslide.data.files import file_sizes, load
from pyslide.data.libsvm import read_libsvm, write_libsvm
from pyslide.data.shipped import load_standard_library, standard_library_description
from pyslide.data.synthetic import PlantedLabels, planted_dataset

__all__ = [
    "CATALOGUE",
    "Dataset",
    "Finding",
    "PlantedLabels",
    "PublishedSet",
    "Statistics",
    "check_against",
    "file_sizes",
    "load",
    "load_standard_library",
    "planted_dataset",
    "read_extreme",
    "read_libsvm",
    "standard_library_description",
    "write_extreme",
    "write_libsvm",
]
