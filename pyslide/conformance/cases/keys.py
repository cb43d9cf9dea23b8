"""Cases of keys."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.hashing import bins, bins_and_probes, projections
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
BASES = (2, 4, 8, 10, 3, 16, 32, 5)


def pack_cases() -> list[Case]:
    """Return the cases of packing."""
    name = "pack_key"

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"codes": one.integers(2 + number, BASES[number]), "base": BASES[number]}

    return [
        *plain_cases(name, 8, make),
        edge(name, "no-codes", "No codes at all", ("empty_input",), {"codes": [], "base": 8}),
        edge(name, "one-code", "One code", ("one_element",), {"codes": [5], "base": 8}),
        edge(name, "zeros", "All codes 0", ("all_zero",), {"codes": [0] * 6, "base": 8}),
        edge(name, "largest", "All codes the largest of base 8", ("known_bug",), {"codes": [7] * 6, "base": 8}),
        edge(name, "overlap", "Digits that collide where they get 2 bits in place of 3", ("known_bug",),
             {"codes": [0, 4, 0], "base": 8}),
        edge(name, "beyond-32-bits", "A key of 40 bits", ("overflow",), {"codes": [31] * 8, "base": 32}),
        edge(name, "all-63-bits", "The largest key", ("overflow", "edge_case"), {"codes": [7] * 21, "base": 8}),
        edge(name, "palindrome", "Codes that read the same from both ends", ("tie",), {"codes": [1, 2, 1], "base": 4}),
        edge(name, "base-9", "A base just above a power of two", ("edge_case",), {"codes": [8, 0, 7], "base": 9}),
        invalid(name, "too-wide", "A key of 64 bits", {"codes": [1] * 64, "base": 2}),
        invalid(name, "code-too-large", "A code is the base", {"codes": [1, 8], "base": 8}),
        invalid(name, "code-negative", "A code is negative", {"codes": [1, -1], "base": 8}),
        invalid(name, "failed-densification", "A code is -2^31", {"codes": [0, -(2**31)], "base": 8}),
        invalid(name, "base-one", "A base of 1", {"codes": [0, 0], "base": 1}),
    ]  # fmt: skip


def fold_cases() -> list[Case]:
    """Return the cases of folding."""
    name = "fold_key"

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"key": str(one.word() >> 1), "multiplier": one.odd_words(1)[0], "table_bits": 1 + 3 * number}

    good = {"key": "123456789012345", "multiplier": "11400714819323198485", "table_bits": 18}
    return [
        *plain_cases(name, 6, make),
        edge(name, "zero", "Key 0", ("all_zero",), with_changes(good, key="0")),
        edge(name, "one-bit", "A table of two buckets", ("edge_case",), with_changes(good, table_bits=1)),
        edge(name, "32-bits", "The largest table", ("edge_case",), with_changes(good, table_bits=32)),
        edge(name, "largest", "The largest key and multiplier", ("overflow",),
             with_changes(good, key=str(2**63 - 1), multiplier=str(2**64 - 1))),
        edge(name, "multiplier-one", "The smallest multiplier", ("edge_case",), with_changes(good, multiplier="1")),
        edge(name, "beyond-53-bits", "A key that float64 cannot hold", ("overflow",),
             with_changes(good, key=str(2**53 + 1))),
        invalid(name, "even", "An even multiplier", with_changes(good, multiplier="2")),
        invalid(name, "no-bits", "A table of one bucket", with_changes(good, table_bits=0)),
        invalid(name, "33-bits", "A table that is too large", with_changes(good, table_bits=33)),
    ]  # fmt: skip


def bucket_cases() -> list[Case]:
    """Return the cases of a layer's keys."""
    name = "bucket_keys"

    def make(one: Arbitrary, number: int) -> Inputs:
        base, digits, tables = BASES[number], 2 + number % 3, 3 + number % 2
        return {"codes": one.integers(digits * tables, base), "base": base, "codes_per_table": digits,
                "table_bits": 12 if number % 2 else 5, "multipliers": one.odd_words(tables)}  # fmt: skip

    some = Arbitrary("bucket keys")
    good: Inputs = {"codes": some.integers(12, 8), "base": 8, "codes_per_table": 3, "table_bits": 9,
            "multipliers": some.odd_words(4)}  # fmt: skip
    return [
        *plain_cases(name, 8, make),
        edge(name, "just-fits", "Keys as wide as the table are not folded", ("edge_case",), good),
        edge(name, "one-bit-too-wide", "Keys one bit wider than the table are folded", ("wide_key",),
             with_changes(good, table_bits=8)),
        edge(name, "published", "K = 6 codes of base 8 in a table of 18 bits", ("known_bug",),
             with_changes(good, codes=some.integers(24, 8), codes_per_table=6, table_bits=18)),
        edge(name, "base-5-fits-12", "Base 5: whole bits need 12, exact packing 10", ("edge_case",),
             with_changes(good, codes=some.integers(16, 5), base=5, codes_per_table=4, table_bits=10)),
        edge(name, "one-table", "One table", ("one_element",),
             with_changes(good, codes=[7, 0, 3], multipliers=good["multipliers"][:1])),
        edge(name, "simhash-nine-bits", "K = 9 bits", ("edge_case",),
             with_changes(good, codes=some.integers(36, 2), base=2, codes_per_table=9)),
        edge(name, "same-codes", "Equal codes in every table, folded by different multipliers", ("wide_key", "tie"),
             with_changes(good, codes=[7, 1, 4] * 4, table_bits=6)),
        invalid(name, "codes-missing", "A code less than K*L", with_changes(good, codes=good["codes"][1:])),
        invalid(name, "code-too-large", "A code is the base", with_changes(good, codes=[8, *good["codes"][1:]])),
        invalid(name, "failed-densification", "A code is -1", with_changes(good, codes=[-1, *good["codes"][1:]])),
        invalid(name, "even", "An even multiplier", with_changes(good, multipliers=["2", *good["multipliers"][1:]])),
        invalid(name, "too-wide", "Keys of 64 bits",
                with_changes(good, codes=[0] * 64, codes_per_table=16, base=16, multipliers=good["multipliers"])),
    ]  # fmt: skip


def family_inputs(some: Arbitrary, family: str, dimension: int, digits: int, tables: int) -> Inputs:
    """Return the hash functions of a layer, of any family."""
    parts: Inputs = dict.fromkeys(("coordinates", "coefficients", "bins", "probes", "kept"))
    count = digits * tables
    if family == "simhash":
        parts |= projections(some, count, dimension)
    elif family == "wta":
        parts |= bins(some, count, 4, dimension)
    else:
        parts |= bins_and_probes(some, count, 4, dimension)
    if family == "minhash":
        parts["kept"] = 3
    return {"family": family, "dimension": dimension, **parts, "codes_per_table": digits, "table_bits": 6,
            "multipliers": some.odd_words(tables)}  # fmt: skip


def neuron_cases() -> list[Case]:
    """Return the cases of neurons' keys."""
    name = "neuron_keys"
    families = ("simhash", "wta", "dwta", "minhash")

    def make(one: Arbitrary, number: int) -> Inputs:
        weights = [[0.0 if one.below(5) == 0 else value for value in row] for row in one.rows(6, 8)]
        functions = family_inputs(one, families[number % 4], 8, 2 + number // 4, 3)
        return {"weights": weights, "biases": one.numbers(6), **functions}

    some = Arbitrary("neuron keys")
    good = {"weights": some.rows(3, 8), "biases": some.numbers(3), **family_inputs(some, "dwta", 8, 2, 3)}
    return [
        *plain_cases(name, 8, make),
        edge(name, "zero-weights", "Neurons without weights", ("all_zero", "dense_input", "densification_fails"),
             with_changes(good, weights=[[0.0] * 8] * 3)),
        edge(name, "large-biases", "The bias is not hashed", ("known_bug",), with_changes(good, biases=[1e6, -1e6, 0.0])),
        edge(name, "equal-neurons", "Equal weights give equal keys", ("tie",),
             with_changes(good, weights=[good["weights"][0]] * 3)),
        invalid(name, "not-a-number", "A weight is NaN",
                with_changes(good, weights=[["NaN", *good["weights"][0][1:]], *good["weights"][1:]])),
        invalid(name, "dimension", "Functions of another dimension", with_changes(good, dimension=9)),
        invalid(name, "too-few-functions", "Fewer than K*L functions", with_changes(good, codes_per_table=3)),
    ]  # fmt: skip


def key_cases() -> list[Case]:
    """Return all cases of keys."""
    return [*pack_cases(), *fold_cases(), *bucket_cases(), *neuron_cases()]
