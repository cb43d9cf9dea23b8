"""Build the data set that pyslide ships, from the sources of the Python standard library.

A row is a function.  Its features are the words of its name, its arguments and its docstring; its labels are the
names of the functions that it calls.  The files in ``pyslide/shipped`` were made by CPython 3.11.7 and are frozen;
this script is the record of how, and a way to check them.

    python datasets/build_standard_library.py --describe   print the figures of the shipped files
    python datasets/build_standard_library.py --check      build again aside, compare the contents with the shipped ones
    python datasets/build_standard_library.py --write      replace the shipped files
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import json
import math
import platform
import re
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from pyslide.data import Dataset, load_standard_library, write_extreme
from pyslide.data.writing import written_aside

SHIPPED = Path(__file__).resolve().parents[1] / "pyslide" / "shipped"
PREFIX = "standard_library"
SPLITS = ("train", "test")
FEWEST_ROWS_OF_A_LABEL = 2
FEWEST_ROWS_OF_A_FEATURE = 2
ONE_IN = 8
"""One row in eight, by its hash, is a test row."""

LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__", "lib-dynload", "pydoc_data"}
LEFT_OUT_PREFIXES = ("config-", "_sysconfigdata")
"""Tests, other people's packages, and files that differ from machine to machine."""

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

LICENCE = """\
The files standard_library_*.txt.gz in this folder are derived from the source code of the CPython 3.11.7 standard
library: for each function, counts of the words of its name, arguments and docstring, and the names of the functions
that it calls.  No source text is contained.  Changes made: datasets/build_standard_library.py, which produced the
files, is the full description.

CPython is Copyright (c) 2001-2023 Python Software Foundation; All Rights Reserved.  It is licensed under the Python
Software Foundation License Version 2, whose text follows.  Some of its modules carry further licences and
acknowledgements, listed at https://docs.python.org/3.11/license.html

"""
LICENCE_BEGINS, LICENCE_ENDS = "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\n", "BEOPEN.COM LICENSE AGREEMENT"


@dataclass(frozen=True)
class Function:
    """One row before any column has a number."""

    digest: str
    words: Counter[str]
    calls: frozenset[str]

    @property
    def split(self) -> str:
        return "test" if int(self.digest[:16], 16) % ONE_IN == 0 else "train"


def source_files(library: Path) -> list[Path]:
    def wanted(path: Path) -> bool:
        parts = path.relative_to(library).parts
        return not any(part in LEFT_OUT or part.startswith(LEFT_OUT_PREFIXES) for part in parts)

    return sorted(path for path in library.rglob("*.py") if wanted(path))


def functions(library: Path) -> list[Function]:
    """All functions, in the order of their hashes, which is a fixed shuffle."""
    found = [
        function
        for path in source_files(library)
        for function in walk(ast.parse(path.read_bytes()), path.relative_to(library).as_posix())
    ]
    # Sorting is stable: functions of one name in one module keep their order.
    return sorted(found, key=lambda function: function.digest)


def walk(node: ast.AST, name: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = f"{name}.{child.name}" if named else name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            digest = hashlib.sha256(inner.encode()).hexdigest()
            yield Function(digest, words_of(child), calls_of(child))
        yield from walk(child, inner)


def words_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Counter[str]:
    parts = function.args
    arguments = [*parts.posonlyargs, *parts.args, *parts.kwonlyargs, parts.vararg, parts.kwarg]
    texts = [function.name, *(argument.arg for argument in arguments if argument), ast.get_docstring(function) or ""]
    return Counter(word.lower() for text in texts for word in WORD.findall(text) if len(word) > 1)


def calls_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names called in the body: ``name(...)`` and the last part of ``value.name(...)``."""
    calls = (node.func for line in function.body for node in ast.walk(line) if isinstance(node, ast.Call))
    names = (call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", None) for call in calls)
    return frozenset(name for name in names if name)


def frequent(rows: list[Function], entries: Callable[[Function], frozenset[str]], fewest: int) -> list[str]:
    counts = Counter(entry for row in rows if row.split == "train" for entry in entries(row))
    return sorted(entry for entry, count in counts.items() if count >= fewest)


def calls(row: Function) -> frozenset[str]:
    return row.calls


def words(row: Function) -> frozenset[str]:
    return frozenset(row.words)


def settle(rows: list[Function]) -> tuple[list[Function], list[str], list[str]]:
    """Drop rare labels and features and the rows left without either, until nothing changes any more."""
    while True:
        labels = frequent(rows, calls, FEWEST_ROWS_OF_A_LABEL)
        features = frequent(rows, words, FEWEST_ROWS_OF_A_FEATURE)
        kept_labels, kept_features = frozenset(labels), frozenset(features)
        kept = [row for row in rows if row.calls & kept_labels and kept_features & row.words.keys()]
        if len(kept) == len(rows):
            return kept, features, labels
        rows = kept


def feature_matrix(rows: list[Function], features: list[str], documents: Counter[str], total: int) -> csr_array:
    """(1 + ln tf) * ln(N / df), scaled to length 1, four decimals; what rounds to zero is left out."""
    columns = {word: column for column, word in enumerate(features)}
    cells: list[tuple[int, int, float]] = []
    for index, row in enumerate(rows):
        weights = {
            columns[word]: (1 + math.log(row.words[word])) * math.log(total / documents[word])
            for word in sorted(columns.keys() & row.words.keys())
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        cells += [(index, column, round(weight / length, 4)) for column, weight in weights.items()]
    return matrix([cell for cell in cells if cell[2] > 0], (len(rows), len(features)))


def label_matrix(rows: list[Function], labels: list[str]) -> csr_array:
    columns = {name: column for column, name in enumerate(labels)}
    cells = [
        (index, column, 1.0)
        for index, row in enumerate(rows)
        for column in sorted(columns[name] for name in row.calls if name in columns)
    ]
    return matrix(cells, (len(rows), len(labels)))


def matrix(cells: list[tuple[int, int, float]], shape: tuple[int, int]) -> csr_array:
    rows = np.array([cell[0] for cell in cells])
    columns = np.array([cell[1] for cell in cells], np.int32)
    values = np.array([cell[2] for cell in cells], np.float32)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(np.int32)
    return csr_array((values, columns, ends), shape=shape)


def build(folder: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    rows, features, labels = settle(functions(library))
    training = [row for row in rows if row.split == "train"]
    documents = Counter(word for row in training for word in row.words)
    statistics = {}
    for split in SPLITS:
        chosen = [row for row in rows if row.split == split]
        data = Dataset(feature_matrix(chosen, features, documents, len(training)), label_matrix(chosen, labels))
        write_extreme(folder / f"{PREFIX}_{split}.txt.gz", data.features, data.labels)
        statistics[split] = vars(data.statistics())
    write_names(folder / f"{PREFIX}_features.txt.gz", features)
    write_names(folder / f"{PREFIX}_labels.txt.gz", labels)
    (folder / f"{PREFIX}_LICENCE.txt").write_text(LICENCE + licence_text(library), "utf-8")
    describe_files(folder, statistics)


def licence_text(library: Path) -> str:
    text = (library / "LICENSE.txt").read_text("utf-8")
    return text[text.index(LICENCE_BEGINS) : text.index(LICENCE_ENDS)].rstrip() + "\n"


def write_names(path: Path, names: list[str]) -> None:
    with written_aside(path) as stream:
        stream.write("".join(f"{name}\n" for name in names).encode())


def describe_files(folder: Path, statistics: dict[str, dict[str, float]]) -> None:
    description = {
        "name": "standard-library",
        "source": f"standard library of CPython {platform.python_version()}, without tests",
        "licence": "Python Software Foundation License Version 2, see standard_library_LICENCE.txt",
        "made_by": "datasets/build_standard_library.py",
        "split": f"test where the SHA-256 of module path and qualified name is divisible by {ONE_IN} (first 64 bits)",
        "statistics": statistics,
        "sha256": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob(f"{PREFIX}_*.gz"))
        },
    }
    with written_aside(folder / f"{PREFIX}.json") as stream:
        stream.write((json.dumps(description, indent=2) + "\n").encode())


def check() -> None:
    """Build aside and compare what is inside the files: another zlib may pack the same text differently."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        for path in sorted(SHIPPED.glob(f"{PREFIX}_*.gz")):
            same = gzip.decompress(path.read_bytes()) == gzip.decompress((Path(folder) / path.name).read_bytes())
            print(f"{path.name}: {'the same' if same else 'DIFFERENT'}")


def describe() -> None:
    """Print the figures that datasets/README.md shows."""
    train, test = load_standard_library("train"), load_standard_library("test")
    print("| split | rows | features | labels | non-zeros a row | labels a row |\n|---|---|---|---|---|---|")
    for split, data in (("train", train), ("test", test)):
        counts = data.statistics()
        print(
            f"| {split} | {counts.rows:,} | {counts.features:,} | {counts.labels:,} "
            f"| {counts.nonzeros_per_row:.2f} | {counts.labels_per_row:.2f} |"
        )
    sizes = np.asarray(train.labels.sum(axis=0)).ravel()
    centroids = (train.features.T @ train.labels).tocsc()
    lengths = np.sqrt(np.asarray(centroids.multiply(centroids).sum(axis=0))).ravel()
    likeness = (test.features @ centroids).toarray() / np.maximum(lengths, 1e-12)
    print(f"\nmost frequent labels, P@1/3/5: {precisions(np.tile(sizes, (test.rows, 1)), test.labels)}")
    print(f"nearest centroid, P@1/3/5: {precisions(likeness, test.labels)}")
    print(f"size of all files: {sum(path.stat().st_size for path in SHIPPED.glob(f'{PREFIX}*')):,} bytes")


def precisions(scores: np.ndarray, truth: csr_array) -> str:
    """Precision at 1, 3 and 5 in percent; ties go to the smaller id."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    hits = np.take_along_axis(truth.toarray(), best, axis=1)
    return "/".join(f"{100 * hits[:, :k].mean():.2f}" for k in (1, 3, 5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--describe", action="store_const", dest="action", const=describe)
    action.add_argument("--check", action="store_const", dest="action", const=check)
    action.add_argument("--write", action="store_const", dest="action", const=lambda: build(SHIPPED))
    parser.parse_args().action()


if __name__ == "__main__":
    main()
