"""K codes become the key of a bucket (section 3.2).

A table of 2^b buckets takes a key as it is where it fits, and folds a wider one.
"""

from __future__ import annotations

from math import floor, log

import numpy as np

from pyslide.arrays import IntArray, require_shape
from pyslide.errors import OutOfRangeError

WORD = 2**64
"""Keys are folded modulo 2^64."""


def require_digits(codes: IntArray, base: int) -> None:
    """Refuse codes that are not digits of the base (a failed densification can leave such ones).

    Raises
    ------
    OutOfRangeError
        With the first such code.
    """
    for place, code in enumerate(codes):
        if not 0 <= code < base:
            raise OutOfRangeError(f"code {place}: expected 0..{base - 1}, got {code}")


def positional_key(codes: IntArray, base: int) -> int:
    """Return sum_j codes[j] * base^(K-1-j): exact packing, the first code most significant."""
    require_digits(codes, base)
    key = 0
    for code in codes:
        key = key * base + int(code)
    return key


def positional_reversed_key(codes: IntArray, base: int) -> int:
    """Return sum_j codes[j] * base^j: exact packing, the first code least significant."""
    return positional_key(codes[::-1], base)


def whole_bits_key(codes: IntArray, base: int) -> int:
    """Return the codes as digits of ceil(log2 base) bits, the first most significant."""
    require_digits(codes, base)
    return positional_key(codes, 2 ** (base - 1).bit_length())


def natural_log_bits_key(codes: IntArray, base: int) -> int:
    """Return what the original program computes: digits shifted by floor(ln base) bits and added modulo 2^32.

    For base 8 that is 2 bits where 3 are needed, so that neighbouring digits overlap.  Its SimHash branch shifts by
    one bit, which is the minimum here.
    """
    bits = max(1, floor(log(base)))
    key = 0
    for place, code in enumerate(codes):
        key += (int(code) % 2**32) << ((len(codes) - 1 - place) * bits)
    return key % 2**32


PACKINGS = {
    "positional": positional_key,
    "positional_reversed": positional_reversed_key,
    "whole_bits": whole_bits_key,
    "natural_log_bits": natural_log_bits_key,
}
"""The packing functions, by the answer to question 3."""


def key_limit(codes_per_table: int, base: int, packing: str) -> int:
    """Return the number of keys that a packing of K digits can give, 0 to the limit minus 1."""
    if packing == "natural_log_bits":
        bits = max(1, floor(log(base)))
        return min(2**32, 1 + sum((base - 1) << (place * bits) for place in range(codes_per_table)))
    if packing == "whole_bits":
        return int(2 ** (base - 1).bit_length()) ** codes_per_table
    return int(base**codes_per_table)


def fold_key(key: int, multiplier: int, table_bits: int) -> int:
    """Return a wide key's bucket: the upper bits of multiplier * key modulo 2^64, the multiplier odd.

    Multiply-shift is 2-approximately universal (Dietzfelbinger et al. 1997): two keys meet with probability at most
    2 / 2^table_bits over the odd multipliers.
    """
    return (multiplier * key % WORD) >> (64 - table_bits)


def bucket_key(codes: IntArray, base: int, table_bits: int, multiplier: int, packing: str) -> int:
    """Return the bucket of K codes in a table of 2^table_bits buckets.

    Parameters
    ----------
    codes : ndarray of int, shape (K,)
    base : int
        m, the number of values of a code.
    table_bits : int
        1 to 32; folding happens only where keys can be wider.
    multiplier : int
        Odd, below 2^64.
    packing : str
        The answer to question 3.

    Raises
    ------
    OutOfRangeError
        If the packing of K codes does not fit 63 bits, or a code is no digit.
    """
    limit = key_limit(len(codes), base, packing)
    if limit > 2**63:
        raise OutOfRangeError(f"keys: expected at most 63 bits, {len(codes)} codes of base {base} need more")
    key = PACKINGS[packing](codes, base)
    if packing == "natural_log_bits":  # the program neither folds nor checks: an out-of-range key reads foreign memory
        if key >= 2**table_bits:
            raise OutOfRangeError(f"key: expected below 2^{table_bits}, got {key}; the original program reads past "
                                  "its table here")
        return key
    return key if limit <= 2**table_bits else fold_key(key, multiplier, table_bits)


def bucket_keys(
    codes: IntArray, base: int, codes_per_table: int, table_bits: int, multipliers: IntArray, packing: str
) -> IntArray:
    """Return the L keys of K*L codes: table t takes the codes t*K .. t*K+K-1.

    Returns
    -------
    ndarray of int64, shape (L,)

    Raises
    ------
    ShapeError
        If there are not K codes a table.
    """
    require_shape(codes, (codes_per_table * len(multipliers),), "codes")
    grouped = codes.reshape(-1, codes_per_table)  # (L, K)
    return np.array(
        [
            bucket_key(group, base, table_bits, int(multiplier), packing)
            for group, multiplier in zip(grouped, multipliers, strict=True)
        ],
        dtype=np.int64,
    )
