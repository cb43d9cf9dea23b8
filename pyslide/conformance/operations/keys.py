"""Operations of section 3.2: K codes become the key of a bucket."""

from __future__ import annotations

from pyslide.arrays import require_shape
from pyslide.conformance.kinds import INTEGER, INTEGERS, WORD, WORDS, Field
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conventions import Conventions
from pyslide.errors import OutOfRangeError
from pyslide.spec.keys import PACKINGS, bucket_keys, fold_key, key_limit

BASE = Field("base", INTEGER, "m, the number of values of a code")
TABLE_BITS = Field("table_bits", INTEGER, "a table has 2^table_bits buckets, 1 to 32")


def require_at_least(value: int, least: int, name: str) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    OutOfRangeError
    """
    if value < least:
        raise OutOfRangeError(f"{name}: expected at least {least}, got {value}")


def require_table_bits(bits: int) -> None:
    """Refuse a table that is too small or too large.

    Raises
    ------
    OutOfRangeError
    """
    if not 1 <= bits <= 32:
        raise OutOfRangeError(f"table_bits: expected 1 to 32, got {bits}")


def require_odd(multiplier: int) -> None:
    """Refuse an even multiplier.

    Raises
    ------
    OutOfRangeError
    """
    if multiplier % 2 == 0:
        raise OutOfRangeError(f"multiplier: expected an odd number, got {multiplier}")


def compute_pack_key(given: Given, conventions: Conventions) -> Answer:
    """Return the packed codes."""
    codes, base = given["codes"], given["base"]
    require_at_least(base, 2, "base")
    if key_limit(codes.size, base, conventions.packing) > 2**63:
        raise OutOfRangeError(f"keys: expected at most 63 bits, {codes.size} codes of base {base} need more")
    return {"key": str(PACKINGS[conventions.packing](codes, base))}


def compute_fold_key(given: Given, conventions: Conventions) -> Answer:
    """Return the bucket of a wide key."""
    require_table_bits(given["table_bits"])
    require_odd(given["multiplier"])
    return {"bucket": fold_key(given["key"], given["multiplier"], given["table_bits"])}


def compute_bucket_keys(given: Given, conventions: Conventions) -> Answer:
    """Return the keys of L tables."""
    codes, per_table, multipliers = given["codes"], given["codes_per_table"], given["multipliers"]
    require_at_least(given["base"], 2, "base")
    require_at_least(per_table, 1, "codes_per_table")
    require_table_bits(given["table_bits"])
    require_shape(codes, (per_table * multipliers.size,), "codes")
    for multiplier in multipliers:
        require_odd(int(multiplier))
    return {"keys": bucket_keys(codes, given["base"], per_table, given["table_bits"], multipliers, conventions.packing)}


KEYS = (
    Operation(
        "pack_key",
        "3.2",
        "K codes packed into one integer, before it is folded",
        (Field("codes", INTEGERS, "(K,)"), BASE),
        (Field("key", WORD, "the packed codes, below 2^63"),),
        ("packing",),
        compute_pack_key,
        "key",
    ),
    Operation(
        "fold_key",
        "3.2",
        "A key wider than the table: the upper table_bits bits of multiplier * key modulo 2^64",
        (Field("key", WORD, "below 2^63"), Field("multiplier", WORD, "odd"), TABLE_BITS),
        (Field("bucket", INTEGER, "in 0..2^table_bits-1"),),
        (),
        compute_fold_key,
        "bucket",
    ),
    Operation(
        "bucket_keys",
        "3.2",
        "K*L codes become L keys; table t takes the codes t*K..t*K+K-1; folded only where base^K > 2^table_bits",
        (
            Field("codes", INTEGERS, "(K*L,)"),
            BASE,
            Field("codes_per_table", INTEGER, "K"),
            TABLE_BITS,
            Field("multipliers", WORDS, "(L,) odd, one a table"),
        ),
        (Field("keys", INTEGERS, "(L,)"),),
        ("packing",),
        compute_bucket_keys,
        "keys",
    ),
)
"""The operations, in the order in which data flows."""
