"""The same random problem for the spec and for the engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.conventions import Conventions
from pyslide.engine import network as engine_network
from pyslide.engine import step as engine_step
from pyslide.engine.tables import empty_tables
from pyslide.randomness import draw_family, draw_multipliers, draw_table_orders, draw_uniforms
from pyslide.settings import Hashing
from pyslide.spec import network as spec_network
from pyslide.spec import step as spec_step
from pyslide.spec.sampling import Sampling
from pyslide.spec.vectors import sparse_vector

SAMPLES = 6
TABLES = 5


class Pair(NamedTuple):
    """A network twice, and a batch."""

    spec: spec_network.Network
    engine: engine_network.Network
    features: sparse.csr_array
    labels: sparse.csr_array


def hashing(family, strategy, conventions):
    """Return small tables whose buckets overflow, and whose keys have to be folded where that is possible."""
    return Hashing(
        family=family,
        codes_per_table=2,
        tables=TABLES,
        bin_size=4,
        kept=5,
        attempts=3,
        capacity=3,
        table_bits=12 if conventions.packing == "natural_log_bits" else 3,
        sampling=Sampling(strategy=strategy, budget=8, minimum_count=2, minimum_active=5),
    )


def batch(generator, features, labels, dtype):
    """Return sparse rows with an empty one, one without labels, and a stored zero."""
    rows = sparse.random_array((SAMPLES, features), density=0.3, rng=generator, format="csr")
    rows.data -= 0.3
    rows.data[0] = 0.0
    targets = sparse.random_array((SAMPLES, labels), density=0.1, rng=generator, format="csr")
    for matrix, empty in ((rows, 2), (targets, 4)):
        matrix.data[matrix.indptr[empty] : matrix.indptr[empty + 1]] = np.nan
    rows, targets = (without_nan(matrix) for matrix in (rows, targets))
    return rows.astype(dtype), targets.astype(dtype)


def without_nan(matrix):
    """Return a CSR array without the entries that were marked."""
    kept = ~np.isnan(matrix.data)
    samples = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[kept]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(samples, minlength=matrix.shape[0]))])
    result = sparse.csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape)
    result.sort_indices()
    return result


def layer_pair(generator, neurons, inputs, settings, conventions, dtype):
    """Return the same layer for the spec and for the engine, tables built."""
    weights = generator.standard_normal((neurons, inputs)).astype(dtype)
    weights[0] = 0
    weights[1] = weights[2]
    biases = generator.standard_normal(neurons).astype(dtype)
    exact = weights.astype(np.float64), biases.astype(np.float64)
    if settings is None:
        return spec_network.new_layer(*exact, None), engine_network.new_layer(weights, biases, None)
    family = draw_family(generator, settings, inputs, conventions)
    multipliers = draw_multipliers(generator, TABLES)
    uniforms, order = draw_uniforms(generator, (TABLES, neurons)), generator.permutation(neurons)
    fixed = (family, 2, settings.table_bits, multipliers, settings.capacity, settings.sampling)
    plain = spec_network.new_layer(*exact, spec_network.LayerTables(*fixed, ()))
    fast = engine_network.new_layer(
        weights, biases, engine_network.LayerTables(*fixed, empty_tables(settings.table_bits))
    )
    engine_network.rebuild(fast, order, uniforms, conventions)
    return spec_network.rebuild(plain, order, uniforms, conventions), fast


def pair(seed, conventions, family="dwta", strategy="union", tabled=(False, True), dtype=np.float64):
    """Return a random problem; ``tabled`` says which layers have tables."""
    generator = np.random.default_rng(seed)
    sizes = [*[20, 16, 18][: len(tabled)], 30]
    features, labels = batch(generator, sizes[0], sizes[-1], dtype)
    settings = hashing(family, strategy, conventions)
    layers = [
        layer_pair(generator, above, below, settings if has_tables else None, conventions, dtype)
        for below, above, has_tables in zip(sizes, sizes[1:], tabled, strict=False)
    ]
    plain, fast = zip(*layers, strict=True)
    return Pair(spec_network.Network(plain, 0), engine_network.Network(list(fast)), features, labels)


def draws(generator, network):
    """Return the same draws for the spec and for the engine."""
    fast = [
        engine_step.Draws(
            draw_table_orders(generator, SAMPLES, TABLES),
            np.array([generator.permutation(layer.neurons)[:12] for _ in range(SAMPLES)]),
        )
        for layer in network.layers
    ]
    plain = [[spec_step.Draws(one.orders[i], one.candidates[i]) for i in range(SAMPLES)] for one in fast]
    return plain, fast


def samples_of(features, labels):
    """Return the rows of a batch as samples of the spec."""
    return [spec_step.Sample(vector_of(features, row), label_ids(labels, row)) for row in range(features.shape[0])]


def vector_of(matrix, row):
    """Return one row of a CSR or dense array as a sparse vector."""
    if not sparse.issparse(matrix):
        return sparse_vector(np.arange(matrix.shape[1]), matrix[row], matrix.shape[1])
    span = slice(*matrix.indptr[row : row + 2])
    return sparse_vector(matrix.indices[span], matrix.data[span], matrix.shape[1])


def label_ids(labels, row):
    """Return the labels of one row."""
    return labels.indices[slice(*labels.indptr[row : row + 2])].astype(np.int64)


def every_convention():
    """Return `PAPER` with each answer of each question in turn, and every preset."""
    from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS

    changed = [
        PAPER.replace(**{question.field: answer})
        for question in QUESTIONS
        for answer in question.answers
        if getattr(PAPER, question.field) != answer
    ]
    return [PAPER, ORIGINAL_CPP, *changed]


def name_of(conventions: Conventions) -> str:
    """Return what a set of conventions is called in a test's id."""
    from pyslide.conventions import ORIGINAL_CPP, PAPER

    if conventions == ORIGINAL_CPP:
        return "ORIGINAL_CPP"
    changes = {key: value for key, value in conventions.as_dict().items() if getattr(PAPER, key) != value}
    return ",".join(f"{key}={value}" for key, value in changes.items()) or "PAPER"
