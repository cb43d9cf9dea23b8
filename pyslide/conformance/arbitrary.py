"""Arbitrary numbers for vectors: always the same, whatever the machine and the version of NumPy.

They are no random draws: nothing is estimated from them.  Each is a hash (SplitMix64, Steele et al. 2014) of a name
and a count, so that a new vector changes no other.  Real numbers are multiples of 1/16: sums and products of a few of
them are exact in float32 and float64, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

WORD = 2**64
"""All arithmetic is modulo 2^64."""


def mixed(state: int) -> int:
    """Return the finaliser of SplitMix64."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % WORD
    return state ^ (state >> 31)


class Arbitrary:
    """A sequence of arbitrary numbers that belongs to a name."""

    def __init__(self, name: str) -> None:
        self.state = mixed(crc32(name.encode()))

    def word(self) -> int:
        """Return a number of 0..2^64-1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        return mixed(self.state)

    def below(self, bound: int) -> int:
        """Return a number of 0..bound-1."""
        return (self.word() >> 32) * bound >> 32

    def integers(self, count: int, bound: int) -> list[int]:
        """Return numbers of 0..bound-1."""
        return [self.below(bound) for _ in range(count)]

    def odd_words(self, count: int) -> list[str]:
        """Return odd numbers below 2^64, as decimal strings."""
        return [str(self.word() | 1) for _ in range(count)]

    def order(self, count: int) -> list[int]:
        """Return 0..count-1 in an arbitrary order (Fisher and Yates)."""
        places = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            places[last], places[other] = places[other], places[last]
        return places

    def some(self, count: int, bound: int) -> list[int]:
        """Return distinct numbers of 0..bound-1, rising."""
        return sorted(self.order(bound)[:count])

    def numbers(self, count: int, largest: int = 2) -> list[float]:
        """Return multiples of 1/16 of -largest..largest."""
        return [(self.below(32 * largest + 1) - 16 * largest) / 16 for _ in range(count)]

    def rows(self, count: int, width: int, largest: int = 2) -> list[list[float]]:
        """Return a matrix of multiples of 1/16."""
        return [self.numbers(width, largest) for _ in range(count)]

    def uniforms(self, count: int) -> list[float]:
        """Return multiples of 1/1024 of [0, 1)."""
        return [self.below(1024) / 1024 for _ in range(count)]

    def signs(self, count: int, width: int) -> list[list[float]]:
        """Return a matrix of signs."""
        return [[float(2 * self.below(2) - 1) for _ in range(width)] for _ in range(count)]

    def bins(self, count: int, size: int, dimension: int) -> list[list[int]]:
        """Return bins of distinct coordinates, cut from permutations as long as they last."""
        cut: list[list[int]] = []
        while len(cut) < count:
            permutation = self.order(dimension)
            cut += [permutation[start : start + size] for start in range(0, dimension - size + 1, size)]
        return cut[:count]

    def buckets(self, tables: int, largest: int, population: int) -> list[list[int]]:
        """Return buckets of up to ``largest`` distinct neurons."""
        return [self.order(population)[: self.below(largest + 1)] for _ in range(tables)]

    def one_of(self, choices: Sequence[int]) -> int:
        """Return one of several numbers."""
        return choices[self.below(len(choices))]
