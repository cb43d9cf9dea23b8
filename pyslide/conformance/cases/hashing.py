"""Cases of hashing."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
TINY = 5e-324
"""The smallest denormal number."""


def sparse(some: Arbitrary, dimension: int, entries: int) -> Inputs:
    """Return an arbitrary sparse vector."""
    return {"dimension": dimension, "indices": some.some(entries, dimension), "values": some.numbers(entries)}


def dense(some: Arbitrary, dimension: int) -> Inputs:
    """Return an arbitrary dense vector, a quarter of it zeros."""
    values = [0.0 if some.below(4) == 0 else value for value in some.numbers(dimension)]
    return {"dimension": dimension, "indices": None, "values": values}


def vector(some: Arbitrary, number: int, dimension: int) -> Inputs:
    """Return sparse and dense vectors by turns."""
    return dense(some, dimension) if number % 2 else sparse(some, dimension, 2 + some.below(dimension // 2))


def projections(some: Arbitrary, count: int, dimension: int) -> Inputs:
    """Return sparse sign projections."""
    width = -(-dimension // 3)
    return {
        "coordinates": [some.some(width, dimension) for _ in range(count)],
        "coefficients": some.signs(count, width),
    }


def bins(some: Arbitrary, count: int, size: int, dimension: int) -> Inputs:
    """Return the bins of winner-take-all."""
    return {"bins": some.bins(count, size, dimension)}


def bins_and_probes(some: Arbitrary, count: int, size: int, dimension: int, attempts: int = 6) -> Inputs:
    """Return the bins of DWTA and MinHash, and whom empty ones ask."""
    return {**bins(some, count, size, dimension), "probes": [some.integers(attempts, count) for _ in range(count)]}


def bad_vectors(operation: str, good: Inputs) -> list[Case]:
    """Return vectors that every family has to refuse; ``good`` is sparse with at least two entries."""
    indices, values = good["indices"], good["values"]
    top = good["dimension"]
    return [
        invalid(operation, "unsorted", "Indices fall", with_changes(good, indices=indices[::-1])),
        invalid(operation, "repeated", "An index occurs twice",
                with_changes(good, indices=[indices[0], indices[0], *indices[2:]])),
        invalid(operation, "index-too-large", "An index is the dimension",
                with_changes(good, indices=[*indices[:-1], top])),
        invalid(operation, "index-negative", "An index is negative", with_changes(good, indices=[-1, *indices[1:]])),
        invalid(operation, "not-a-number", "A value is NaN", with_changes(good, values=["NaN", *values[1:]])),
        invalid(operation, "infinite", "A value is infinite", with_changes(good, values=["Infinity", *values[1:]])),
        invalid(operation, "lengths", "Fewer values than indices", with_changes(good, values=values[1:])),
    ]  # fmt: skip


def edge_vectors(operation: str, functions: Inputs, dimension: int) -> list[Case]:
    """Return vectors at the edges of every family."""
    some = Arbitrary(f"{operation} edges")
    rising = sorted({abs(value) + 0.0625 for value in some.numbers(dimension)})

    def case(name: str, summary: str, flags: tuple[str, ...], indices: list[int] | None, values: list[float]) -> Case:
        parts = {"dimension": dimension, "indices": indices, "values": values}
        return edge(operation, name, summary, flags, {**parts, **functions})

    ids = some.some(5, dimension)
    everything = list(range(dimension))
    return [
        case("no-entries", "A sparse vector without entries", ("empty_input", "tie", "empty_bin"), [], []),
        case("one-entry", "A single positive entry", ("one_element", "empty_bin"), ids[:1], [1.5]),
        case("one-negative-entry", "A single negative entry", ("one_element", "all_negative", "known_bug"),
             ids[:1], [-1.5]),
        case("first-coordinate", "Only coordinate 0", ("edge_case", "empty_bin"), [0], [0.5]),
        case("last-coordinate", "Only the last coordinate", ("edge_case", "empty_bin"), [dimension - 1], [0.5]),
        case("one-explicit-zero", "A single entry of 0", ("explicit_zero", "tie"), ids[:1], [0.0]),
        case("zero-among-positive", "Entries of 0 among positive ones", ("explicit_zero",), ids,
             [1.0, 0.0, 0.5, 0.0, 2.0]),
        case("zero-among-negative", "Entries of 0 among negative ones", ("explicit_zero", "all_negative"), ids,
             [-1.0, 0.0, -0.5, 0.0, -2.0]),
        case("dense-zero", "A dense vector of zeros", ("all_zero", "dense_input", "tie"), None, [0.0] * dimension),
        case("dense-equal", "A dense vector of ones", ("tie", "dense_input"), None, [1.0] * dimension),
        case("dense-negative", "A dense vector of negative numbers", ("all_negative", "dense_input", "known_bug"), None,
             [-1 - value / 16 for value in range(dimension)]),
        case("dense-mostly-zero", "A dense vector with two non-zeros", ("dense_input", "empty_bin"), None,
             [0.75 if place in ids[:2] else 0.0 for place in everything]),
        case("dense-negative-and-zero", "Negative numbers and zeros", ("dense_input", "all_negative", "known_bug"), None,
             [-1.0 if place % 3 else 0.0 for place in everything]),
        case("all-entries-equal", "A sparse vector of equal entries", ("tie",), ids, [0.25] * 5),
        case("all-negative", "A sparse vector of negative entries", ("all_negative", "known_bug"), ids,
             [-0.5, -0.25, -0.5, -1.0, -0.25]),
        case("every-entry", "A sparse vector with an entry everywhere", ("edge_case",), everything,
             [rising[place % len(rising)] for place in everything]),
        case("denormal", "Entries of the smallest denormal", ("denormal", "needs_float64"), ids,
             [TINY, 2 * TINY, -TINY, 3 * TINY, TINY]),
        case("large", "Entries near 1e300", ("overflow", "needs_float64"), ids, [1e300, -1e300, 2e300, 1e300, -3e300]),
        case("negative-zero", "Entries of -0.0 and 0.0", ("explicit_zero", "tie"), ids, [-0.0, 0.0, -0.0, 0.0, 0.0]),
    ]  # fmt: skip


def simhash_cases() -> list[Case]:
    """Return the cases of SimHash."""
    name = "simhash_codes"
    some = Arbitrary("simhash functions")
    functions = projections(some, 8, 12)
    good = {**sparse(some, 12, 4), **functions}
    twice = with_changes(good, coordinates=[[3, 3, 5, 7]] * 2, coefficients=[[1.0, -1.0, 1.0, 1.0], [1.0] * 4],
                         indices=[3, 5, 9], values=[1.0, -2.0, 4.0])  # fmt: skip
    cancelling = {"dimension": 3, "indices": None, "values": [1.0, 2.0**-60, -1.0],
                  "coordinates": [[0, 1, 2], [0, 1, 2]], "coefficients": [[1.0] * 3, [1.0, -1.0, 1.0]]}  # fmt: skip
    gaussian = {"coordinates": [list(range(12))] * 4, "coefficients": some.rows(4, 12)}
    return [
        *plain_cases(name, 8, lambda one, number: {**vector(one, number, 12), **projections(one, 8, 12)}),
        *edge_vectors(name, functions, 12),
        edge(name, "repeated-coordinates", "A projection reads a coordinate twice", ("repeated",), twice),
        edge(name, "real-coefficients", "Coefficients that are no signs", ("edge_case",), {**dense(some, 12), **gaussian}),
        edge(name, "cancelling", "A sum that vanishes if it is rounded on the way", ("underflow", "needs_float64"),
             cancelling),
        edge(name, "exact-ties", "Sums that are exactly 0", ("tie", "known_bug"),
             {"dimension": 6, "indices": [0, 1, 2], "values": [1.0, 1.0, -2.0],
              "coordinates": [[0, 1], [0, 2], [3, 4], [0, 1]],
              "coefficients": [[1.0, -1.0], [1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]]}),
        *bad_vectors(name, good),
        invalid(name, "coordinates-outside", "A projection reads a coordinate that is not there",
                with_changes(good, coordinates=[[12, *row[1:]] for row in good["coordinates"]])),
        invalid(name, "coefficients-shape", "Fewer coefficients than coordinates",
                with_changes(good, coefficients=good["coefficients"][1:])),
        invalid(name, "dense-too-short", "A dense vector with a coordinate less",
                with_changes(good, indices=None, values=[1.0] * 11)),
    ]  # fmt: skip


def winner_take_all_cases() -> list[Case]:
    """Return the cases of winner-take-all."""
    name = "wta_codes"
    some = Arbitrary("wta functions")
    functions = bins(some, 9, 4, 12)
    good = {**sparse(some, 12, 4), **functions}
    return [
        *plain_cases(name, 8, lambda one, number: {**vector(one, number, 12), **bins(one, 9, 4, 12)}),
        *edge_vectors(name, functions, 12),
        edge(name, "bins-of-two", "The smallest bins", ("edge_case",), {**dense(some, 12), **bins(some, 8, 2, 12)}),
        edge(name, "bins-of-all", "Bins that are whole permutations", ("edge_case",),
             {**dense(some, 12), **bins(some, 5, 12, 12)}),
        *bad_vectors(name, good),
        invalid(name, "bins-repeat", "A bin holds a coordinate twice",
                with_changes(good, bins=[[0, 0, 1, 2], *good["bins"][1:]])),
        invalid(name, "bins-outside", "A bin holds a coordinate that is not there",
                with_changes(good, bins=[[0, 1, 2, 12], *good["bins"][1:]])),
        invalid(name, "bins-ragged", "A bin is smaller than the others",
                with_changes(good, bins=[[0, 1, 2], *good["bins"][1:]])),
    ]  # fmt: skip


def densified_cases() -> list[Case]:
    """Return the cases of densified winner-take-all."""
    name = "dwta_codes"
    some = Arbitrary("dwta functions")
    functions = bins_and_probes(some, 9, 4, 12)
    good = {**sparse(some, 12, 4), **functions}
    selfish = {**good, "probes": [[place] * 6 for place in range(9)]}
    chain = {"dimension": 8, "indices": [0], "values": [1.0], "bins": [[1, 0], [2, 3], [4, 5], [6, 7]],
             "probes": [[0, 0], [0, 0], [1, 0], [2, 1]]}  # fmt: skip
    return [
        *plain_cases(name, 12, lambda one, number: {**vector(one, number, 12), **bins_and_probes(one, 9, 4, 12)}),
        *edge_vectors(name, functions, 12),
        edge(name, "no-donor", "Empty bins ask only themselves", ("densification_fails", "empty_bin", "known_bug"),
             with_changes(selfish, indices=[good["indices"][0]], values=[1.0])),
        edge(name, "chain", "A bin's first donor is empty itself", ("empty_bin",), chain),
        edge(name, "occupied-with-code-zero", "An occupied bin whose code is 0", ("known_bug",),
             {"dimension": 4, "indices": [0, 3], "values": [1.0, 2.0], "bins": [[0, 1], [2, 3]],
              "probes": [[1, 0], [0, 1]]}),
        edge(name, "last-donor", "The only donor is the last bin", ("empty_bin", "known_bug"),
             {"dimension": 8, "indices": [7], "values": [2.0], "bins": [[0, 1], [2, 3], [4, 5], [6, 7]],
              "probes": [[1, 3], [3, 0], [2, 3], [0, 1]]}),
        *bad_vectors(name, good),
        invalid(name, "probes-outside", "A bin asks one that is not there",
                with_changes(good, probes=[[9] * 6, *good["probes"][1:]])),
        invalid(name, "probes-shape", "Fewer rows of probes than bins", with_changes(good, probes=good["probes"][1:])),
    ]  # fmt: skip


def minhash_cases() -> list[Case]:
    """Return the cases of MinHash."""
    name = "minhash_codes"
    some = Arbitrary("minhash functions")
    functions = {**bins_and_probes(some, 9, 4, 12), "kept": 3}
    good = {**sparse(some, 12, 5), **functions}
    return [
        *plain_cases(
            name, 8, lambda one, number: {**vector(one, number, 12), **bins_and_probes(one, 9, 4, 12), "kept": 3}
        ),
        *edge_vectors(name, functions, 12),
        edge(name, "tie-at-the-cut", "Equal values at the cut of the top-k", ("tie",),
             with_changes(good, indices=[1, 4, 6, 9], values=[0.5, 1.0, 0.5, 0.5], kept=2)),
        edge(name, "kept-one", "Only the largest coordinate", ("edge_case", "empty_bin"), with_changes(good, kept=1)),
        edge(name, "kept-more-than-entries", "More are kept than there are", ("edge_case",), with_changes(good, kept=50)),
        edge(name, "whole-permutations", "Bins that are whole permutations", ("edge_case",),
             with_changes(good, **bins_and_probes(some, 4, 12, 12))),
        edge(name, "no-donor", "Empty bins ask only themselves", ("densification_fails", "empty_bin"),
             with_changes(good, kept=1, probes=[[place] * 6 for place in range(9)])),
        *bad_vectors(name, good),
        invalid(name, "kept-none", "No coordinate is kept", with_changes(good, kept=0)),
    ]  # fmt: skip


def densify_cases() -> list[Case]:
    """Return the cases of densification alone."""
    name = "densify"

    def make(one: Arbitrary, number: int) -> Inputs:
        occupied = [one.below(3) > 0 for _ in range(8)]
        codes = [one.below(4) if full else 0 for full in occupied]
        return {"codes": codes, "occupied": occupied, "code_range": 4,
                "probes": [one.integers(5, 8) for _ in range(8)]}  # fmt: skip

    nobody = {"codes": [0] * 4, "occupied": [False] * 4, "code_range": 4, "probes": [[1, 2], [2, 3], [3, 0], [0, 1]]}
    good = {"codes": [3, 0, 1, 2], "occupied": [True, False, True, True], "code_range": 4,
            "probes": [[1, 2], [1, 3], [3, 0], [0, 1]]}  # fmt: skip
    return [
        *plain_cases(name, 8, make),
        edge(name, "all-empty", "Every bin is empty", ("densification_fails", "empty_bin"), nobody),
        edge(name, "all-occupied", "No bin is empty", ("edge_case",), with_changes(good, occupied=[True] * 4)),
        edge(name, "second-attempt", "A bin asks itself first", ("empty_bin",), good),
        edge(name, "one-donor", "All borrow from one", ("empty_bin",),
             with_changes(nobody, codes=[0, 3, 0, 0], occupied=[False, True, False, False])),
        edge(name, "code-of-an-empty-bin-is-not-read", "An empty bin holds a leftover code", ("empty_bin", "known_bug"),
             with_changes(good, codes=[3, 99, 1, 2])),
        edge(name, "one-bin", "A single bin, empty", ("one_element", "densification_fails"),
             {"codes": [0], "occupied": [False], "code_range": 2, "probes": [[0]]}),
        invalid(name, "code-too-large", "An occupied bin's code is no place of it",
                with_changes(good, codes=[4, 0, 1, 2])),
        invalid(name, "probes-outside", "A bin asks one that is not there",
                with_changes(good, probes=[[1, 4], [1, 3], [3, 0], [0, 1]])),
        invalid(name, "occupied-shape", "Fewer flags than codes", with_changes(good, occupied=[True])),
    ]  # fmt: skip


def probe_cases() -> list[Case]:
    """Return the cases of the probe table."""
    name = "probe_table"

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"bins": 3 + 2 * number, "attempts": 2 + number, "multiplier": str(one.word()), "addend": str(one.word())}

    good = {"bins": 6, "attempts": 4, "multiplier": str(2**63 + 12345), "addend": "1"}
    largest = str(2**64 - 1)
    return [
        *plain_cases(name, 5, make),
        edge(name, "overflow", "Multiplier and addend are the largest words", ("overflow",),
             with_changes(good, multiplier=largest, addend=largest)),
        edge(name, "zero-multiplier", "Every bin asks the same", ("edge_case",), with_changes(good, multiplier="0")),
        edge(name, "one-bin", "One bin, one attempt", ("one_element",), with_changes(good, bins=1, attempts=1)),
        edge(name, "every-bin-a-donor", "A number of bins that is no power of two", ("known_bug",),
             with_changes(good, bins=7, attempts=12, multiplier="11400714819323198485")),
        invalid(name, "no-bins", "No bins", with_changes(good, bins=0)),
        invalid(name, "no-attempts", "No attempts", with_changes(good, attempts=0)),
    ]  # fmt: skip


def hashing_cases() -> list[Case]:
    """Return all cases of hashing."""
    return [
        *probe_cases(),
        *densify_cases(),
        *simhash_cases(),
        *winner_take_all_cases(),
        *densified_cases(),
        *minhash_cases(),
    ]
