"""The kinds of which a network consists, and the keys of its neurons (Algorithm 1, line 6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyslide.arrays import require_finite, require_shape
from pyslide.conformance.kinds import (
    INTEGER,
    INTEGER_ROWS,
    NUMBER_ROWS,
    NUMBERS,
    WORDS,
    Field,
    choice_of,
    nullable,
    record_of,
)
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conformance.operations.keys import TABLE_BITS, require_at_least, require_odd, require_table_bits
from pyslide.conformance.operations.sampling import BUDGET, MINIMUM_ACTIVE, MINIMUM_COUNT
from pyslide.conformance.operations.tables import CAPACITY, POLICY
from pyslide.conventions import Conventions
from pyslide.errors import ConventionError, ShapeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.settings import FAMILIES, STRATEGIES
from pyslide.spec.network import Layer, LayerTables, neuron_keys, new_layer
from pyslide.spec.sampling import Sampling

FAMILY = (
    Field("family", choice_of(*FAMILIES), "which of the hash families"),
    Field("dimension", INTEGER, "d"),
    Field("coordinates", nullable(INTEGER_ROWS), "(C, s) of SimHash, else null"),
    Field("coefficients", nullable(NUMBER_ROWS), "(C, s) of SimHash, else null"),
    Field("bins", nullable(INTEGER_ROWS), "(C, m) of the other families, null for SimHash"),
    Field("probes", nullable(INTEGER_ROWS), "(C, attempts) of DWTA and MinHash, else null"),
    Field("kept", nullable(INTEGER), "k of MinHash, else null"),
    Field("codes_per_table", INTEGER, "K"),
    TABLE_BITS,
    Field("multipliers", WORDS, "(L,) odd"),
)
"""All that leads from a vector to its keys."""
TABLES_OF_A_LAYER = record_of(
    (
        *FAMILY,
        CAPACITY,
        POLICY,
        Field("strategy", choice_of(*STRATEGIES), "how buckets are read"),
        BUDGET,
        MINIMUM_COUNT,
        MINIMUM_ACTIVE,
    ),
    "the tables of a layer",
)
"""The tables of a layer, empty yet."""
LAYER = record_of(
    (
        Field("weights", NUMBER_ROWS, "(n, d)"),
        Field("biases", NUMBERS, "(n,)"),
        Field("tables", nullable(TABLES_OF_A_LAYER), "null where all neurons are always active"),
    ),
    "a layer",
)
"""A layer before training."""


def _present(given: Given, name: str) -> Any:
    if given[name] is None:
        raise ConventionError(f"{name}: expected for the family {given['family']}, got null")
    return given[name]


def read_family(given: Given) -> Family:
    """Return the hash functions among the inputs."""
    dimension = given["dimension"]
    match given["family"]:
        case "simhash":
            return SimHashParameters(_present(given, "coordinates"), _present(given, "coefficients"), dimension)
        case "wta":
            return WinnerTakeAllParameters(_present(given, "bins"), dimension)
        case "dwta":
            return DensifiedWinnerTakeAllParameters(_present(given, "bins"), _present(given, "probes"), dimension)
        case _:
            bins, probes = _present(given, "bins"), _present(given, "probes")
            return MinHashParameters(bins, probes, _present(given, "kept"), dimension)


def read_sampling(given: Given) -> Sampling:
    """Return how a layer's active sets are chosen."""
    names = ("strategy", "budget", "minimum_count", "minimum_active")
    return Sampling(**{name: given[name] for name in names})


def require_codes(family: Family, count: int) -> None:
    """Refuse a family that has not K*L functions.

    Raises
    ------
    ShapeError
    """
    if family.code_count != count:
        raise ShapeError(f"family: expected K*L = {count} functions, got {family.code_count}")


def read_tables(given: Given, sampling: Sampling, capacity: int) -> LayerTables:
    """Return the empty tables of a layer."""
    family = read_family(given)
    require_at_least(given["codes_per_table"], 1, "codes_per_table")
    require_codes(family, given["codes_per_table"] * given["multipliers"].size)
    require_table_bits(given["table_bits"])
    require_at_least(capacity, 1, "capacity")
    for multiplier in given["multipliers"]:
        require_odd(int(multiplier))
    return LayerTables(
        family, given["codes_per_table"], given["table_bits"], given["multipliers"], capacity, sampling, ()
    )


def read_layer(given: Given) -> Layer:
    """Return a layer before training, its tables empty."""
    require_finite(given["weights"], "weights")
    require_shape(given["biases"], (given["weights"].shape[0],), "biases")
    tables = given["tables"]
    read = None if tables is None else read_tables(tables, read_sampling(tables), tables["capacity"])
    return new_layer(given["weights"], given["biases"], read)


def compute_neuron_keys(given: Given, conventions: Conventions) -> Answer:
    """Return the keys of all neurons."""
    layer = new_layer(given["weights"], given["biases"], None)
    require_shape(given["biases"], (given["weights"].shape[0],), "biases")
    require_finite(given["weights"], "weights")
    tables = read_tables(given, Sampling(), 1)
    return {"keys": np.asarray(neuron_keys(layer, tables, conventions))}


LAYERS = (
    Operation(
        "neuron_keys",
        "3.1",
        "The keys of all neurons, each by the hash of its weights; the bias is not hashed",
        (Field("weights", NUMBER_ROWS, "(N, d)"), Field("biases", NUMBERS, "(N,)"), *FAMILY),
        (Field("keys", INTEGER_ROWS, "(N, L)"),),
        ("sign_bit", "packing", "empty_bin", "donor", "borrowed_code", "dense_input", "densification_failure"),
        compute_neuron_keys,
        "keys",
    ),
)
"""The operations, in the order in which data flows."""
