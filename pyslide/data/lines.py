"""The careful parser: one line at a time, one clear message for each fault.

The vectorised parser in :mod:`pyslide.data.tokens` hands over every block that it is not sure of.  What this parser
says about a line is the definition of the format.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from pyslide.data.digits import decimal_value
from pyslide.data.tokens import ParsedRows, fit_float32, parse_rows, rises_in_rows
from pyslide.errors import FormatError

LARGEST = 2**31 - 1
"""Ids lie below this, so that int32 holds them and one more."""

_SHOWN = 40


@dataclass(frozen=True)
class Rules:
    """What a format allows.

    Attributes
    ----------
    features, labels : int
        Ids must lie below these.
    rising : bool
        Whether the feature ids of a row must rise strictly.
    first_feature : int
        The smallest feature id: 0, or 1 for files that count from one.
    """

    features: int = LARGEST
    labels: int = LARGEST
    rising: bool = False
    first_feature: int = 0


@dataclass(frozen=True)
class _Place:
    """Where a line stands, and what its format allows."""

    path: Path
    line: int
    rules: Rules

    def error(self, message: str) -> FormatError:
        return FormatError(message, self.path, self.line)


def obeys(parsed: ParsedRows, rules: Rules) -> bool:
    """Whether the rows that the vectorised parser read keep to the rules."""
    if parsed.label_ids.size and parsed.label_ids.max() >= rules.labels:
        return False
    if parsed.feature_ids.size == 0:
        return True
    if parsed.feature_ids.max() >= rules.features or parsed.feature_ids.min() < rules.first_feature:
        return False
    return not rules.rising or rises_in_rows(parsed.feature_ids, parsed.feature_counts)


def parse_block(block: bytes, path: Path, first_line: int, rules: Rules) -> ParsedRows:
    """Read the lines of a block: fast where they are plain, carefully where they are not.

    Parameters
    ----------
    block : bytes
        Whole lines.
    path : Path
        The file, for messages.
    first_line : int
        The number of the block's first line, counted from 1.
    rules : Rules
        What the format allows.

    Returns
    -------
    ParsedRows

    Raises
    ------
    FormatError
        At the first line with a fault; the message names file and line.
    """
    parsed = parse_rows(block)
    if parsed is not None and obeys(parsed, rules):
        return parsed
    return parse_rows_carefully(block, path, first_line, rules)


def parse_rows_carefully(block: bytes, path: Path, first_line: int, rules: Rules) -> ParsedRows:
    """Read the lines of a block one by one.

    Parameters
    ----------
    block : bytes
        Whole lines.
    path : Path
        The file, for messages.
    first_line : int
        The number of the block's first line, counted from 1.
    rules : Rules
        What the format allows.

    Returns
    -------
    ParsedRows

    Raises
    ------
    FormatError
        At the first line with a fault; the message names file and line.
    """
    texts = block.removesuffix(b"\n").split(b"\n")
    rows = [_parse_line(text, _Place(path, first_line + index, rules)) for index, text in enumerate(texts)]
    labels, features, values = (
        [entry for row in rows for entry in row[0]],
        [entry for row in rows for entry in row[1]],
        [entry for row in rows for entry in row[2]],
    )
    return ParsedRows(
        label_counts=np.array([len(row[0]) for row in rows], np.int64),
        label_ids=np.array(labels, np.int64),
        feature_counts=np.array([len(row[1]) for row in rows], np.int64),
        feature_ids=np.array(features, np.int64),
        values=np.array(values, np.float64),
    )


def _parse_line(text: bytes, place: _Place) -> tuple[list[int], list[int], list[float]]:
    strange = next((byte for byte in text if byte >= 127 or (byte < 32 and byte not in b"\t\r")), None)
    if strange is not None:
        raise place.error(f"expected printable ASCII text, got the byte 0x{strange:02x}")
    tokens = text.split()
    labels: list[int] = []
    # Labels stand at the very start of a line.  A first token with a colon is a feature of a row without labels.
    if tokens and not text[:1].isspace() and b":" not in tokens[0]:
        labels = [_identifier(token, "label", place.rules.labels, place) for token in tokens.pop(0).split(b",")]
    pairs = [_pair(token, place) for token in tokens]
    features = [feature for feature, _ in pairs]
    _check_rising(features, place)
    return labels, features, [value for _, value in pairs]


def _pair(token: bytes, place: _Place) -> tuple[int, float]:
    feature, colon, value = token.partition(b":")
    if not colon:
        raise place.error(f"expected feature:value, got {_show(token)}")
    if feature == b"qid":
        raise place.error("query ids (qid) belong to ranking data and are refused")
    number = _identifier(feature, "feature", place.rules.features, place)
    if number < place.rules.first_feature:
        raise place.error(f"expected feature ids from {place.rules.first_feature} up, got {number}")
    return number, _value(value, token, place)


def _value(text: bytes, token: bytes, place: _Place) -> float:
    if text.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
        raise place.error(f"expected a finite value, got {_show(token)}")
    value = decimal_value(text)
    if value is None:
        raise place.error(f"expected feature:value with a decimal value, got {_show(token)}")
    if not fit_float32(np.array([value])):
        raise place.error(f"expected a value that float32 can hold, got {_show(token)}")
    return value


def _identifier(text: bytes, what: str, limit: int, place: _Place) -> int:
    if text.startswith(b"-") and text[1:].isdigit():
        raise place.error(f"expected a {what} id of at least 0, got {_show(text)}")
    if not text.isdigit():
        raise place.error(f"expected a {what} id (digits only), got {_show(text)}")
    # Comparing lengths first keeps a line of a million digits from being turned into an integer.
    if len(text.lstrip(b"0")) > 10 or int(text) >= limit:
        raise place.error(f"expected a {what} id below {limit}, got {_show(text)}")
    return int(text)


def _check_rising(features: list[int], place: _Place) -> None:
    if not place.rules.rising:
        return
    for before, after in pairwise(features):
        if after <= before:
            raise place.error(f"expected feature ids that rise strictly, got {after} after {before}")


def _show(text: bytes) -> str:
    """Quote a token, shortened, so that a broken file cannot flood the message."""
    return repr(text.decode("ascii", "replace") if len(text) <= _SHOWN else text[:_SHOWN].decode("ascii") + "...")
