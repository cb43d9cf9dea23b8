"""K codes become the key of a bucket, for a batch and all tables at once."""

from __future__ import annotations

from math import floor, log

import numpy as np

from pyslide.arrays import IntArray, require_shape
from pyslide.errors import OutOfRangeError
from pyslide.spec.keys import key_limit as key_limit  # says something of a packing, not of a vector


def require_digits(digits: IntArray, base: int) -> None:
    """Refuse codes that are not digits of the base.

    Raises
    ------
    OutOfRangeError
        With the first such code.
    """
    if digits.size and (digits.min() < 0 or digits.max() >= base):
        outside = digits[(digits < 0) | (digits >= base)][0]
        raise OutOfRangeError(f"codes: expected 0..{base - 1}, got {outside}")


def weighted_digits(digits: IntArray, weight: int) -> IntArray:
    """Return the digits' value in base ``weight``, the first most significant, by Horner's rule.

    Parameters
    ----------
    digits : ndarray of int, shape (K, L, B)

    Returns
    -------
    ndarray of uint32 or int64, shape (L, B)
        The narrower where every value fits it: all keys of all neurons are computed at each rebuild.
    """
    narrow = weight ** digits.shape[0] <= 2**32
    keys = np.zeros(digits.shape[1:], dtype=np.uint32 if narrow else np.int64)
    for digit in digits:
        keys *= keys.dtype.type(weight)
        keys += digit.astype(keys.dtype)
    return keys


def positional_keys(digits: IntArray, base: int) -> IntArray:
    """Pack exactly, the first code most significant."""
    require_digits(digits, base)
    return weighted_digits(digits, base)


def positional_reversed_keys(digits: IntArray, base: int) -> IntArray:
    """Pack exactly, the first code least significant."""
    return positional_keys(digits[::-1], base)


def whole_bits_keys(digits: IntArray, base: int) -> IntArray:
    """Pack digits of ceil(log2 base) bits."""
    require_digits(digits, base)
    return weighted_digits(digits, 2 ** (base - 1).bit_length())


def natural_log_bits_keys(digits: IntArray, base: int) -> IntArray:
    """Pack as the original program does: digits of floor(ln base) bits that overlap, modulo 2^32."""
    bits = np.uint32(max(1, floor(log(base))))
    keys = np.zeros(digits.shape[1:], dtype=np.uint32)
    for digit in digits:
        keys <<= bits
        keys += digit.astype(np.uint32)  # both modulo 2^32
    return keys


PACKINGS = {
    "positional": positional_keys,
    "positional_reversed": positional_reversed_keys,
    "whole_bits": whole_bits_keys,
    "natural_log_bits": natural_log_bits_keys,
}
"""The packing functions, by the answer to question 3."""


def fold_keys(keys: IntArray, multipliers: IntArray, table_bits: int) -> IntArray:
    """Fold wide keys into tables of 2^table_bits buckets, one odd multiplier a table.

    Parameters
    ----------
    keys : ndarray of int, shape (L, B)
    multipliers : ndarray of uint64, shape (L,)
    """
    products = keys.astype(np.uint64) * multipliers.astype(np.uint64)[:, None]  # modulo 2^64
    return (products >> np.uint64(64 - table_bits)).astype(np.int64)


def bucket_keys(
    codes: IntArray, base: int, codes_per_table: int, table_bits: int, multipliers: IntArray, packing: str
) -> IntArray:
    """Return the L keys of every vector of a batch.

    Parameters
    ----------
    codes : ndarray of int, shape (B, K*L)
    base : int
        m, the number of values of a code.
    codes_per_table : int
        K.
    table_bits : int
    multipliers : ndarray of uint64, shape (L,)
    packing : str
        The answer to question 3.

    Returns
    -------
    ndarray of uint32 or int64, shape (B, L)

    Raises
    ------
    OutOfRangeError
        If the packing of K codes does not fit 63 bits, or a code is no digit.
    ShapeError
        If there are not K codes a table.
    """
    require_shape(codes, (None, codes_per_table * multipliers.size), "codes")
    limit = key_limit(codes_per_table, base, packing)
    if limit > 2**63:
        raise OutOfRangeError(f"keys: expected at most 63 bits, {codes_per_table} codes of base {base} need more")
    digits = codes.T.reshape(multipliers.size, codes_per_table, codes.shape[0]).swapaxes(0, 1)  # (K, L, B)
    keys = PACKINGS[packing](digits, base)
    if packing == "natural_log_bits":
        require_digits(keys, 2**table_bits)
    elif limit > 2**table_bits:
        keys = fold_keys(keys, multipliers, table_bits)
    return keys.T
