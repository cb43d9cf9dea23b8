"""Operations of section 3.2 and Appendix A: a vector becomes codes."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import require_ids, require_shape
from pyslide.conformance.kinds import (
    INTEGER,
    INTEGER_ROWS,
    INTEGERS,
    NUMBER_ROWS,
    NUMBERS,
    TRUTHS,
    WORD,
    Field,
    nullable,
)
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conventions import Conventions
from pyslide.errors import OutOfRangeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec.hashing import (
    densified_winner_take_all_codes,
    densify,
    first_members,
    hashed_entries,
    largest_coordinates,
    minhash_codes,
    occupied_codes,
    probe_table,
    projection_sums,
    sign_bits,
    winner_take_all_codes,
)
from pyslide.spec.vectors import SparseVector, from_dense, sparse_vector

DIMENSION = Field("dimension", INTEGER, "d, the number of coordinates")
INDICES = Field(
    "indices",
    nullable(INTEGERS),
    "(entries,) strictly rising coordinates of a sparse vector's entries; null for a dense vector",
)
VALUES = Field(
    "values", NUMBERS, "(entries,) their values, which may be 0; for a dense vector all d coordinates in order"
)
VECTOR = (DIMENSION, INDICES, VALUES)
"""A vector to hash."""
BINS = Field("bins", INTEGER_ROWS, "(C, m) the coordinate at each place of each bin")
PROBES = Field("probes", INTEGER_ROWS, "(C, attempts) which bin an empty bin asks first, second, ...")
CODES = Field("codes", INTEGERS, "(C,) the codes")
FAILURES = Field("failures", INTEGER, "how many empty bins found no donor")
OCCUPIED = Field("occupied", TRUTHS, "(C,) which bins are not empty")
DENSIFICATION = ("donor", "borrowed_code", "densification_failure")
"""The questions on densification."""


def read_vector(given: Given) -> SparseVector:
    """Return the vector of the members ``dimension``, ``indices`` and ``values``."""
    if given["indices"] is None:
        require_shape(given["values"], (given["dimension"],), "values")
        return from_dense(given["values"])
    return sparse_vector(given["indices"], given["values"], given["dimension"])


def compute_probe_table(given: Given, conventions: Conventions) -> Answer:
    """Return which bin each bin asks."""
    bins, attempts = given["bins"], given["attempts"]
    if bins < 1 or attempts < 1 or bins * attempts > 2**32:
        raise OutOfRangeError(f"bins and attempts: expected at least 1, product at most 2^32; got {bins}, {attempts}")
    return {"probes": probe_table(bins, attempts, given["multiplier"], given["addend"])}


def compute_simhash(given: Given, conventions: Conventions) -> Answer:
    """Return the inner products and their signs."""
    parameters = SimHashParameters(given["coordinates"], given["coefficients"], given["dimension"])
    sums = projection_sums(read_vector(given), parameters)
    return {"sums": sums, "codes": sign_bits(sums, conventions.sign_bit)}


def compute_winner_take_all(given: Given, conventions: Conventions) -> Answer:
    """Return the places of the first maxima."""
    parameters = WinnerTakeAllParameters(given["bins"], given["dimension"])
    return {"codes": winner_take_all_codes(read_vector(given), parameters)}


def compute_densified(given: Given, conventions: Conventions) -> Answer:
    """Return which bins are occupied, and the densified codes."""
    parameters = DensifiedWinnerTakeAllParameters(given["bins"], given["probes"], given["dimension"])
    entries = hashed_entries(read_vector(given), conventions.dense_input)
    _, occupied = occupied_codes(entries, parameters.bins, conventions.empty_bin)
    codes, failures = densified_winner_take_all_codes(entries, parameters, conventions)
    return {"occupied": occupied, "codes": codes, "failures": failures}


def compute_minhash(given: Given, conventions: Conventions) -> Answer:
    """Return the set that is hashed, which bins are occupied, and the densified codes."""
    parameters = MinHashParameters(given["bins"], given["probes"], given["kept"], given["dimension"])
    entries = hashed_entries(read_vector(given), conventions.dense_input)
    members = largest_coordinates(entries, parameters.kept)
    _, occupied = first_members(members, parameters)
    codes, failures = minhash_codes(entries, parameters, conventions)
    return {"members": members, "occupied": occupied, "codes": codes, "failures": failures}


def compute_densify(given: Given, conventions: Conventions) -> Answer:
    """Return codes without empty bins."""
    codes, occupied, probes = given["codes"], given["occupied"], given["probes"]
    require_shape(occupied, codes.shape, "occupied")
    require_shape(probes, (codes.size, None), "probes")
    require_ids(probes, codes.size, "probes")
    require_ids(np.where(occupied, codes, 0), given["code_range"], "codes of occupied bins")
    filled, failures = densify(
        codes,
        occupied,
        probes,
        given["code_range"],
        **{question: getattr(conventions, question) for question in DENSIFICATION},
    )
    return {"codes": filled, "failures": failures}


HASHING = (
    Operation(
        "probe_table",
        "3.2",
        "Which bin each empty bin asks at each attempt, a universal hash of (bin, attempt)",
        (
            Field("bins", INTEGER, "C"),
            Field("attempts", INTEGER, "how many bins each asks"),
            Field("multiplier", WORD, "of the hash"),
            Field("addend", WORD, "of the hash"),
        ),
        (Field("probes", INTEGER_ROWS, "(C, attempts)"),),
        (),
        compute_probe_table,
        "probes",
    ),
    Operation(
        "densify",
        "3.2",
        "Empty bins borrow the code of the first occupied bin that they ask",
        (
            CODES,
            OCCUPIED,
            PROBES,
            Field("code_range", INTEGER, "m, the number of values of a code"),
        ),
        (CODES, FAILURES),
        DENSIFICATION,
        compute_densify,
        "codes",
    ),
    Operation(
        "simhash_codes",
        "3.2",
        "SimHash: signs of the inner products with projections",
        (
            *VECTOR,
            Field("coordinates", INTEGER_ROWS, "(C, s) the coordinates that each projection reads, repeats allowed"),
            Field("coefficients", NUMBER_ROWS, "(C, s) by what it multiplies them"),
        ),
        (Field("sums", NUMBERS, "(C,) the inner products, exactly summed"), CODES),
        ("sign_bit",),
        compute_simhash,
        "codes",
    ),
    Operation(
        "wta_codes",
        "3.2",
        "Winner-take-all: the place of the first maximum in each bin; absent coordinates compete with 0",
        (*VECTOR, BINS),
        (CODES,),
        (),
        compute_winner_take_all,
        "codes",
    ),
    Operation(
        "dwta_codes",
        "3.2",
        "Densified winner-take-all: only entries compete, empty bins borrow",
        (*VECTOR, BINS, PROBES),
        (OCCUPIED, CODES, FAILURES),
        ("empty_bin", *DENSIFICATION, "dense_input"),
        compute_densified,
        "codes",
    ),
    Operation(
        "minhash_codes",
        "3.2",
        "Densified one-permutation MinHash of the largest coordinates",
        (*VECTOR, BINS, PROBES, Field("kept", INTEGER, "k, how many of the largest entries are kept")),
        (
            Field("members", INTEGERS, "the ids that are kept, rising; of equal values the smaller id is kept"),
            OCCUPIED,
            CODES,
            FAILURES,
        ),
        (*DENSIFICATION, "dense_input"),
        compute_minhash,
        "codes",
    ),
)
"""The operations, in the order in which data flows."""
