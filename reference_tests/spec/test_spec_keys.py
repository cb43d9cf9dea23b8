"""Keys: exact packing, the packings seen in the wild, and folding."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from strategies import words

from pyslide.errors import OutOfRangeError
from pyslide.spec.keys import (
    PACKINGS,
    bucket_key,
    bucket_keys,
    fold_key,
    key_limit,
    natural_log_bits_key,
    positional_key,
    positional_reversed_key,
    require_digits,
    whole_bits_key,
)

INJECTIVE = ["positional", "positional_reversed", "whole_bits"]


def codes(*digits):
    return np.array(digits, dtype=np.int64)


@pytest.mark.parametrize(
    ("packing", "digits", "base", "key"),
    [
        ("positional", (1, 2, 3), 10, 123),
        ("positional", (2, 0, 1), 3, 19),
        ("positional", (7, 7, 7), 8, 511),
        ("positional", (5,), 6, 5),
        ("positional_reversed", (1, 2, 3), 10, 321),
        ("positional_reversed", (2, 0, 1), 3, 11),
        ("whole_bits", (2, 0, 1), 3, 0b10_00_01),  # 2 bits for base 3
        ("whole_bits", (1, 2, 3), 10, 0x123),  # 4 bits for base 10
        ("whole_bits", (1, 2, 3), 8, 0o123),  # 3 bits for base 8, not 4
        ("whole_bits", (1, 0, 1), 2, 0b101),
        ("natural_log_bits", (1, 2, 3), 8, 16 + 8 + 3),  # floor(ln 8) = 2 bits
        ("natural_log_bits", (7, 7, 7), 8, 112 + 28 + 7),
        ("natural_log_bits", (1, 0, 1), 2, 0b101),  # floor(ln 2) = 0, at least one
        ("natural_log_bits", (1, 2), 21, (1 << 3) + 2),  # ln 21 = 3.04
        ("natural_log_bits", (1, 2), 20, (1 << 2) + 2),  # ln 20 = 2.996
    ],
)
def test_packing_by_hand(packing, digits, base, key):
    assert PACKINGS[packing](codes(*digits), base) == key
    assert type(PACKINGS[packing](codes(*digits), base)) is int


def test_overlapping_digits_collide():
    assert natural_log_bits_key(codes(0, 1, 0), 8) == natural_log_bits_key(codes(0, 0, 4), 8) == 4
    keys = {natural_log_bits_key(codes(*digits), 8) for digits in product(range(8), repeat=3)}
    assert keys == set(range(148))  # 148 keys for 512 triples


def test_original_packing_is_modulo_two_to_the_thirty_two():
    assert natural_log_bits_key(codes(1, *[0] * 16), 8) == 0  # 1 << 32
    assert natural_log_bits_key(codes(-(2**31), 3), 8) == 3  # a failed densification leaves the word
    assert natural_log_bits_key(codes(0, -1), 8) == 2**32 - 1


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from(INJECTIVE))
def test_packing_is_injective_and_below_its_limit(base, length, packing):
    keys = [PACKINGS[packing](codes(*digits), base) for digits in product(range(base), repeat=length)]
    assert len(set(keys)) == len(keys)
    assert min(keys) == 0
    limit = key_limit(length, base, packing)
    assert max(keys) < limit
    if packing != "whole_bits":
        assert sorted(keys) == list(range(limit))


@given(st.integers(2, 30), st.lists(st.integers(0, 29), min_size=1, max_size=20))
def test_positional_keys_give_their_digits_back(base, digits):
    digits = [digit % base for digit in digits]
    key, reversed_key = positional_key(codes(*digits), base), positional_reversed_key(codes(*digits), base)
    read, read_reversed = [], []
    for _ in digits:
        key, digit = divmod(key, base)
        read.append(digit)
        reversed_key, digit = divmod(reversed_key, base)
        read_reversed.append(digit)
    assert (key, reversed_key) == (0, 0)
    assert read[::-1] == read_reversed == digits


@given(st.integers(1, 40), st.lists(st.integers(0, 39), min_size=1, max_size=20))
def test_whole_bits_against_a_string_of_bits(base, digits):
    digits = [digit % base for digit in digits]
    width = len(f"{base - 1:b}") if base > 1 else 0
    written = "".join(f"{digit:0{width}b}" for digit in digits) if width else "0"
    assert whole_bits_key(codes(*digits), base) == int(written, 2)


@pytest.mark.parametrize(
    ("packing", "length", "base", "limit"),
    [
        ("positional", 3, 8, 512),
        ("positional_reversed", 2, 5, 25),
        ("whole_bits", 2, 5, 64),
        ("whole_bits", 3, 8, 512),
        ("natural_log_bits", 3, 8, 148),
        ("natural_log_bits", 9, 2, 512),
        ("natural_log_bits", 16, 8, 2**32),  # 7 * (4^16 - 1) / 3 is beyond the word
        ("natural_log_bits", 17, 8, 2**32),
        ("natural_log_bits", 32, 2, 2**32),
        ("natural_log_bits", 33, 2, 2**32),
    ],
)
def test_key_limits(packing, length, base, limit):
    assert key_limit(length, base, packing) == limit


@given(st.integers(2, 9), st.lists(st.integers(0, 8), min_size=1, max_size=20))
def test_original_keys_stay_below_their_limit(base, digits):
    digits = [digit % base for digit in digits]
    assert natural_log_bits_key(codes(*digits), base) < key_limit(len(digits), base, "natural_log_bits")


def test_fold_by_hand():
    assert fold_key(2**60, 1, 4) == 1
    assert fold_key(5, 2**60 + 1, 4) == 5  # the upper 4 bits of 5 * 2^60 + 5
    assert fold_key(2**63, 3, 1) == 1  # 3 * 2^63 modulo 2^64 is 2^63
    assert fold_key(2**63 - 1, 2**64 - 1, 32) == 2**31  # -(2^63 - 1) = 2^63 + 1 modulo 2^64


@given(st.integers(0, 2**63 - 1), words, st.integers(1, 32))
def test_fold_takes_the_upper_bits(key, word, table_bits):
    multiplier = word | 1
    bucket = fold_key(key, multiplier, table_bits)
    assert 0 <= bucket < 2**table_bits
    binary = f"{multiplier * key:0200b}"[-64:]
    assert bucket == int(binary[:table_bits], 2)


def test_folded_keys_rarely_meet():
    random = np.random.default_rng(7)
    multipliers = [int(word) * 2 + 1 for word in random.integers(0, 2**63, 4000)]
    for one, other in [(1, 2), (3, 2**40 + 3), (2**62, 2**62 + 2**61), (511, 513)]:
        meetings = sum(fold_key(one, word, 6) == fold_key(other, word, 6) for word in multipliers)
        assert meetings <= 2 / 64 * 4000 + 6 * (2 / 64 * 4000) ** 0.5


def test_narrow_keys_are_not_folded_and_wide_ones_are():
    multiplier = 0x9E3779B97F4A7C15
    assert bucket_key(codes(7, 7, 7), 8, 9, multiplier, "positional") == 511
    folded = bucket_key(codes(7, 7, 7), 8, 8, multiplier, "positional")
    assert folded == (511 * multiplier % 2**64) >> 56
    # base 5 in whole bits needs 6 bits for 2 digits although there are only 25 keys
    assert bucket_key(codes(4, 4), 5, 6, multiplier, "whole_bits") == 0b100100
    assert bucket_key(codes(4, 4), 5, 5, multiplier, "whole_bits") == (0b100100 * multiplier % 2**64) >> 59
    assert bucket_key(codes(4, 4), 5, 5, multiplier, "positional") == 24


def test_original_program_neither_folds_nor_checks():
    assert bucket_key(codes(7, 7, 7), 8, 8, 1, "natural_log_bits") == 147
    assert bucket_key(codes(1, 2, 3), 8, 7, 1, "natural_log_bits") == 27  # others would not fit, this one does
    with pytest.raises(OutOfRangeError, match="below 2\\^7, got 147"):
        bucket_key(codes(7, 7, 7), 8, 7, 1, "natural_log_bits")
    with pytest.raises(OutOfRangeError, match="got 4294967295"):
        bucket_key(codes(0, -1), 8, 18, 1, "natural_log_bits")


def test_the_widest_keys():
    assert bucket_key(codes(*[7] * 21), 8, 32, 1, "positional") == (2**63 - 1) >> 32
    with pytest.raises(OutOfRangeError, match="at most 63 bits, 22 codes of base 8"):
        bucket_key(codes(*[0] * 22), 8, 32, 1, "positional")
    with pytest.raises(OutOfRangeError, match="at most 63 bits"):
        bucket_key(codes(*[0] * 16), 17, 32, 1, "whole_bits")  # 16 * 5 bits
    assert bucket_key(codes(*[0] * 15), 17, 32, 1, "positional") == 0


@pytest.mark.parametrize("packing", INJECTIVE)
@pytest.mark.parametrize("digits", [(0, 3), (3, 0), (-1, 0), (-(2**31), 0)])
def test_what_is_no_digit(packing, digits):
    with pytest.raises(OutOfRangeError, match=r"expected 0\.\.2"):
        bucket_key(codes(*digits), 3, 8, 1, packing)


def test_the_first_bad_digit_is_named():
    with pytest.raises(OutOfRangeError, match=r"code 1: expected 0\.\.2, got 5"):
        require_digits(codes(2, 5, 9), 3)
    require_digits(codes(2, 0, 1), 3)


def test_each_table_takes_its_own_codes_and_multiplier():
    multipliers = np.array([1, 2**63 + 1, 2**64 - 1], dtype=np.uint64)
    keys = bucket_keys(codes(0, 1, 1, 0, 1, 1), 2, 2, 2, multipliers, "positional")
    assert keys.dtype == np.int64
    np.testing.assert_array_equal(keys, [1, 2, 3])
    # 1 bit: 1 * 1 -> 0; 2^63 + 1 times 2 is 2 -> 0; -3 modulo 2^64 -> 1
    np.testing.assert_array_equal(bucket_keys(codes(0, 1, 1, 0, 1, 1), 2, 2, 1, multipliers, "positional"), [0, 0, 1])


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 12), st.lists(words, min_size=1, max_size=4), st.data())
def test_keys_of_tables_against_whole_numbers(base, length, table_bits, multipliers, data):
    digits = data.draw(st.lists(st.integers(0, base - 1), min_size=length * len(multipliers),
                                max_size=length * len(multipliers)))
    odd = np.array([word | 1 for word in multipliers], dtype=np.uint64)
    keys = bucket_keys(codes(*digits), base, length, table_bits, odd, "positional")
    for table, multiplier in enumerate(odd.tolist()):
        own = digits[table * length : (table + 1) * length]
        packed = sum(digit * base**place for place, digit in enumerate(reversed(own)))
        wide = base**length > 2**table_bits
        assert keys[table] == ((multiplier * packed % 2**64) // 2 ** (64 - table_bits) if wide else packed)


@given(st.integers(2, 5), st.lists(st.integers(-2, 6), min_size=1, max_size=5))
def test_exactly_the_digits_of_a_base_are_taken(base, digits):
    if all(0 <= digit < base for digit in digits):
        require_digits(codes(*digits), base)
    else:
        with pytest.raises(OutOfRangeError):
            require_digits(codes(*digits), base)
