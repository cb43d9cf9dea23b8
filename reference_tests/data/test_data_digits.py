"""Vectorised digits against Python's own numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyslide.data.digits import decimal_value, digit_runs, join_decimals


def runs(tokens: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    text = b"\n" * 16 + b" ".join(tokens)
    lengths = np.array([len(token) for token in tokens], np.int64)
    ends = 16 + np.cumsum(lengths + 1) - 1
    return digit_runs(np.frombuffer(text, np.uint8), ends - lengths, ends)


@settings(deadline=None)
@given(st.lists(st.from_regex(rb"[0-9]{1,15}", fullmatch=True), min_size=1))
def test_digit_runs_are_integers(tokens: list[bytes]) -> None:
    numbers, plain = runs(tokens)
    assert plain.all()
    assert numbers.tolist() == [int(token) for token in tokens]


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1))
def test_only_digits_are_plain(tokens: list[bytes]) -> None:
    _, plain = runs(tokens)
    assert plain.tolist() == [len(token) <= 15 and all(byte in b"0123456789" for byte in token) for token in tokens]


def test_an_empty_token_is_zero() -> None:
    numbers, plain = runs([b"", b"7", b""])
    assert numbers.tolist() == [0, 7, 0]
    assert plain.all()


@given(st.integers(0, 10**15 - 1), st.integers(0, 15))
def test_decimals_are_correctly_rounded(digits: int, point: int) -> None:
    whole, part = divmod(digits, 10**point)
    got = join_decimals(np.array([whole], np.uint64), np.array([part], np.uint64), np.array([point], np.int64))
    assert got[0] == float(f"{whole}.{part:0{point}d}" if point else str(whole))


def test_decimal_value_is_strict() -> None:
    assert decimal_value(b"-1.5e3") == -1500.0
    for text in (b"", b".", b"-", b"1_0", b" 1", b"nan", b"inf", b"0x1", b"1e", b"e1", "\u0661".encode()):
        assert decimal_value(text) is None
