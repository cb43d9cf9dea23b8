"""Decimal digits to numbers, for many tokens of a text at once.

Eight digits fit one 64-bit word, and three multiplications turn that word into the number it spells.  So a token of up
to eight digits costs one unaligned load and about ten integer operations, whatever its length, and NumPy does them for
all tokens of a block together.  Longer tokens take a second word.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

WORD = 8
"""Digits that one 64-bit word holds."""

MOST_DIGITS = 15
"""Digits whose number is below 2**53, so that float64 holds it exactly."""

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_HIGH_NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0)
_PAIRS = np.uint64(0x000000FF000000FF)
_POWERS = 10 ** np.arange(MOST_DIGITS + 1, dtype=np.int64)


def decimal_value(text: bytes) -> float | None:
    """Read one decimal number, strictly.

    Parameters
    ----------
    text : bytes
        ASCII: an optional sign, digits with an optional point, an optional exponent.

    Returns
    -------
    float or None
        The nearest float64 (infinite when it overflows); None when the text has another form.  Python's own
        ``float`` would also take "nan", "inf", "1_000" and surrounding blanks.
    """
    return float(text) if _DECIMAL.fullmatch(text) else None


def digit_runs(padded: Bytes, starts: Positions, ends: Positions) -> tuple[Words, Flags]:
    """Read runs of digits.

    Parameters
    ----------
    padded : array of uint8
        The text.  At least 16 bytes must precede the first token.
    starts, ends : arrays of int64, one entry a token
        Token i is ``padded[starts[i]:ends[i]]``.

    Returns
    -------
    numbers : array of uint64, one entry a token
        What the token spells; 0 for an empty token.
    plain : array of bool, one entry a token
        Whether the token is nothing but digits, at most 15 of them.  The number means nothing where this is False.
    """
    lengths = ends - starts
    numbers, plain = _short_runs(padded, ends, np.minimum(lengths, WORD))
    (long,) = np.nonzero(lengths > WORD)
    if long.size:
        head, head_plain = _short_runs(padded, ends[long] - WORD, np.minimum(lengths[long] - WORD, WORD))
        numbers[long] += head * np.uint64(10**WORD)
        plain[long] &= head_plain & (lengths[long] <= MOST_DIGITS)
    return numbers, plain


def _short_runs(padded: Bytes, ends: Positions, lengths: Positions) -> tuple[Words, Flags]:
    """Read runs of at most eight digits that end before ``ends``."""
    # One word starts at every byte: an overlapping view, not a copy.
    words: Words = np.ndarray((padded.size - WORD + 1,), "<u8", padded, strides=(1,))
    digits = words[ends - WORD] ^ _ZEROS
    # The first characters are the low bytes.  Those before the token become leading zeros.  An empty token would
    # shift by 64, which is undefined, so it shifts by 56 and is cleared afterwards.
    shift = (np.uint64(WORD) - np.maximum(lengths, 1).astype(np.uint64)) << np.uint64(3)
    digits = (digits >> shift) << shift
    digits *= lengths > 0
    plain = (((digits + _SIXES) | digits) & _HIGH_NIBBLES) == 0
    return _join(digits), plain


def _join(digits: Words) -> Words:
    """Turn eight digit bytes, first digit lowest, into the number: pairs first, then the four pairs at once."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    outer = (pairs & _PAIRS) * np.uint64(100 + (1_000_000 << 32))
    inner = ((pairs >> np.uint64(16)) & _PAIRS) * np.uint64(1 + (10_000 << 32))
    return (outer + inner) >> np.uint64(32)


def join_decimals(whole: Words, part: Words, part_digits: Positions) -> npt.NDArray[np.float64]:
    """Correctly rounded float64 of ``whole . part``.

    The digits together spell an integer below 2**53 and the power of ten is at most 10**15, so both are exact in
    float64 and the one division rounds once.  (Clinger, "How to read floating point numbers accurately", 1990.)

    Parameters
    ----------
    whole, part : arrays of uint64
        The digits before and after the point; at most 15 together.
    part_digits : array of int64
        How many digits stand after the point.

    Returns
    -------
    array of float64
    """
    powers = _POWERS[np.minimum(part_digits, MOST_DIGITS)]
    return (whole.astype(np.int64) * powers + part.astype(np.int64)) / powers.astype(np.float64)
