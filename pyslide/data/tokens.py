"""A block of text lines to labels, feature ids and values, without a Python loop over lines or tokens.

Every byte that can end a token (blank, newline, comma, colon, point) is found; the pair of separators around a token
says what the token is; then all tokens are read as digits together.  This parser answers only where it is sure.  At
anything odd it gives up the block, and :mod:`pyslide.data.lines` reads that block line by line, and is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyslide.data.digits import (
    MOST_DIGITS,
    Bytes,
    Flags,
    Positions,
    Words,
    decimal_value,
    digit_runs,
    join_decimals,
)

_BLANK, _NEWLINE, _COMMA, _COLON, _POINT, _OTHER = range(6)
_LABEL, _FEATURE, _VALUE, _WHOLE, _PART, _NOTHING, _BAD = range(7)
_PADDING = b"\n" * 16


@dataclass(frozen=True)
class ParsedRows:
    """The rows of one block, before repeated ids are merged.

    Attributes
    ----------
    label_counts, feature_counts : arrays of int64, one entry a row
        How many labels and features each row lists.
    label_ids, feature_ids : arrays of int64
        The ids, row after row, in the order of the file.
    values : array of float64
        One value for each entry of ``feature_ids``; all finite in float32.
    """

    label_counts: npt.NDArray[np.int64]
    label_ids: npt.NDArray[np.int64]
    feature_counts: npt.NDArray[np.int64]
    feature_ids: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


def _separator_table() -> Bytes:
    table = np.full(256, _OTHER, np.uint8)
    for characters, kind in ((b" \t\r", _BLANK), (b"\n", _NEWLINE), (b",", _COMMA), (b":", _COLON), (b".", _POINT)):
        table[list(characters)] = kind
    return table


def _kind_table() -> npt.NDArray[np.uint8]:
    """What a token is, by whether it is empty and by the separators before and after it."""
    table = np.full((2, 5, 5), _BAD, np.uint8)
    empty, filled = 1, 0
    ends = (_BLANK, _NEWLINE)
    for after in ends:
        table[filled, _NEWLINE, after] = table[filled, _COMMA, after] = _LABEL
        table[filled, _COLON, after] = _VALUE
        table[:, _POINT, after] = _PART
        table[filled, after, _COLON] = _FEATURE
        table[empty, ends, after] = _NOTHING
    table[filled, _NEWLINE, _COMMA] = table[filled, _COMMA, _COMMA] = _LABEL
    table[:, _COLON, _POINT] = _WHOLE
    return table.ravel()


_SEPARATORS = _separator_table()
_KINDS = _kind_table()


def parse_rows(block: bytes) -> ParsedRows | None:
    """Read the lines of a block.

    Parameters
    ----------
    block : bytes
        Whole lines, the last one ending in a newline.

    Returns
    -------
    ParsedRows or None
        None when anything in the block needs a closer look: it may be wrong, or only unusual.
    """
    padded = np.frombuffer(_PADDING + block, np.uint8)
    classes = _SEPARATORS[padded]
    (ends,) = np.nonzero(classes != _OTHER)
    starts = ends[len(_PADDING) - 1 : -1] + 1
    ends = ends[len(_PADDING) :]
    kinds = _token_kinds(classes, starts, ends)
    if (kinds == _BAD).any():
        return None
    return _read_tokens(padded, starts, ends, kinds, classes[ends] == _NEWLINE)


def _token_kinds(classes: Bytes, starts: Positions, ends: Positions) -> npt.NDArray[np.uint8]:
    pairs = classes[starts - 1] * np.uint8(5) + classes[ends]
    pairs += np.uint8(25) * (starts == ends)
    return _KINDS[pairs]


def _read_tokens(
    padded: Bytes, starts: Positions, ends: Positions, kinds: npt.NDArray[np.uint8], closes_row: Flags
) -> ParsedRows | None:
    (features,) = np.nonzero(kinds == _FEATURE)
    (labels,) = np.nonzero(kinds == _LABEL)
    (lasts,) = np.nonzero(closes_row)
    # A value follows its feature id at once; every _FEATURE has one, or a _BAD token would have been seen.
    negative = _skip_signs(padded, starts, ends, features + 1)
    numbers, plain = digit_runs(padded, starts, ends)
    values = _values(padded, starts, ends, kinds, features + 1, numbers, plain, negative)
    if values is None or not (plain[labels].all() and plain[features].all()):
        return None
    return ParsedRows(
        label_counts=_counts(labels, lasts),
        label_ids=numbers[labels].astype(np.int64),
        feature_counts=_counts(features, lasts),
        feature_ids=numbers[features].astype(np.int64),
        values=values,
    )


def _counts(tokens: Positions, lasts: Positions) -> npt.NDArray[np.int64]:
    """How many of the tokens lie in each row, given the last token of every row."""
    return np.diff(np.searchsorted(tokens, lasts, side="right"), prepend=0).astype(np.int64)


def _skip_signs(padded: Bytes, starts: Positions, ends: Positions, tokens: Positions) -> Flags:
    """Move ``starts`` past the sign of a value, in place, and say which values are negative."""
    first = padded[starts[tokens]]
    negative = first == ord("-")
    signed = tokens[negative | (first == ord("+"))]
    starts[signed] += 1
    return negative


def _values(
    padded: Bytes,
    starts: Positions,
    ends: Positions,
    kinds: npt.NDArray[np.uint8],
    tokens: Positions,
    numbers: Words,
    plain: Flags,
    negative: Flags,
) -> npt.NDArray[np.float64] | None:
    """The value that begins at each of the tokens; None when one is malformed or does not fit float32."""
    pointed = kinds[tokens] == _WHOLE
    parts = tokens + pointed
    lengths = ends - starts
    part_digits = lengths[parts] * pointed
    digits = lengths[tokens] + part_digits
    values = join_decimals(numbers[tokens], numbers[parts] * pointed, part_digits)
    np.negative(values, out=values, where=negative)
    easy = plain[tokens] & plain[parts] & (digits <= MOST_DIGITS) & (digits > 0)
    for index in np.nonzero(~easy)[0]:
        begin = starts[tokens[index]] - (padded[starts[tokens[index]] - 1] in b"+-")
        value = decimal_value(padded[begin : ends[parts[index]]].tobytes())
        if value is None:
            return None
        values[index] = value
    return values if fit_float32(values) else None


def fit_float32(values: npt.NDArray[np.float64]) -> bool:
    """Whether every value stays finite when rounded to float32."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(values.astype(np.float32)).all())


def rises_in_rows(ids: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> bool:
    """Whether the ids of every row rise strictly."""
    rises = ids[1:] > ids[:-1]
    boundaries = np.cumsum(counts[:-1])
    rises[boundaries[(boundaries > 0) & (boundaries < ids.size)] - 1] = True
    return bool(rises.all())
