"""SimHash: when do two vectors share a sign? (section 3.2, Appendix A)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, fsum

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray
from pyslide.errors import ConventionError, OutOfRangeError
from pyslide.theory.checks import as_count, as_vector_pair, require_work

COSINE_ROUNDING = 1e-12
"""How far a computed cosine may lie outside [-1, 1]."""
ENUMERATION_LIMIT = 3**13
"""Sign patterns, or pairs of sums, that an exact law is ready to visit."""
BITS = {
    "one_at_zero_or_above": np.array([False, True, True]),
    "zero_at_zero_or_above": np.array([True, False, False]),
    "one_above_zero": np.array([False, False, True]),
}
"""The bit of a negative, a zero and a positive inner product, by the answer to question 1."""


def simhash_collision_probability(cosine: npt.ArrayLike) -> FloatArray:
    """Return 1 - theta/pi, the probability that two vectors share the sign of a Gaussian projection.

    Exact for projections of independent normal numbers (Goemans and Williamson 1995, Lemma 3.2; Charikar 2002,
    section 3); for sparse signs +-1 a limit, see `sparse_sign_collision`.

    Parameters
    ----------
    cosine : array_like of float
        cos(theta), in [-1, 1] up to rounding.

    Returns
    -------
    ndarray of float64, the shape of ``cosine``

    Raises
    ------
    OutOfRangeError
        If a cosine is NaN or lies outside [-1, 1] by more than 1e-12.
    """
    given = np.asarray(cosine, dtype=np.float64)
    inside = np.abs(given) <= 1 + COSINE_ROUNDING
    if not inside.all():
        raise OutOfRangeError(f"cosine: expected numbers in [-1, 1], got {given[~inside][0]}")
    return np.arccos(np.clip(-given, -1, 1)) / np.pi  # 1 - arccos(c)/pi = arccos(-c)/pi, accurate near 0


@dataclass(frozen=True)
class SignLaw:
    """The joint law of the signs of two vectors' inner products with one projection.

    Attributes
    ----------
    joint : ndarray of float64, shape (3, 3)
        By the sign of the first vector's product (rows) and of the second's (columns): negative, zero, positive.
    """

    joint: FloatArray

    @property
    def both_positive(self) -> float:
        """Both products are > 0."""
        return float(self.joint[2, 2])

    @property
    def both_negative(self) -> float:
        """Both products are < 0."""
        return float(self.joint[0, 0])

    @property
    def differ(self) -> float:
        """One product is > 0 and the other < 0."""
        return float(self.joint[0, 2] + self.joint[2, 0])

    @property
    def only_first_zero(self) -> float:
        """The first product is a tie, the second is not."""
        return float(self.joint[1, 0] + self.joint[1, 2])

    @property
    def only_second_zero(self) -> float:
        """The second product is a tie, the first is not."""
        return float(self.joint[0, 1] + self.joint[2, 1])

    @property
    def both_zero(self) -> float:
        """Both products are ties."""
        return float(self.joint[1, 1])

    def collision(self, sign_bit: str = "one_at_zero_or_above") -> float:
        """Return the probability of equal bits under an answer to question 1.

        The two answers that look at >= 0 name the bits differently and collide equally.

        Raises
        ------
        ConventionError
            If there is no such answer.
        """
        if sign_bit not in BITS:
            raise ConventionError(f"sign_bit: expected one of {', '.join(BITS)}; got {sign_bit!r}")
        bit = BITS[sign_bit]
        return float(self.joint[bit[:, None] == bit[None, :]].sum())


def sparse_sign_collision(x: npt.ArrayLike, y: npt.ArrayLike, nonzeros_per_projection: int) -> SignLaw:
    """Return the exact law of the signs of two vectors under a sparse projection (section 3.2).

    The projection has s distinct coordinates, every set of s equally likely, each with an independent fair sign +-1;
    s = d is the dense projection of signs.  Only the u coordinates at which x or y is not zero matter: a given
    pattern of {-1, 0, +1} on them with j non-zeros has the probability C(d-u, s-j) / C(d, s) / 2^j.  All 3^u are
    visited, and inner products that are zero are told from those that are nearly zero by exact summation.

    Parameters
    ----------
    x, y : array_like of float, shape (d,)
        With at most 13 coordinates at which either is not zero.
    nonzeros_per_projection : int
        s, in 1..d; ceil(d/3) in the paper.

    Returns
    -------
    SignLaw

    Raises
    ------
    ShapeError, NonFiniteError
        If the vectors differ in length or are not finite.
    OutOfRangeError
        If s lies outside 1..d or there are too many patterns.
    """
    first, second = as_vector_pair(x, y)
    chosen = as_count(nonzeros_per_projection, "nonzeros_per_projection", 1, first.size)
    used = (first != 0) | (second != 0)
    require_work(3 ** int(used.sum()), ENUMERATION_LIMIT, "sign patterns")
    patterns = np.array(list(product((-1.0, 0.0, 1.0), repeat=int(used.sum()))))  # (3^u, u)
    weights = _pattern_weights(patterns, first.size, chosen)
    cells = 3 * (exact_signs(patterns, first[used]) + 1) + exact_signs(patterns, second[used]) + 1
    joint = np.bincount(cells, weights=weights, minlength=9).astype(np.float64)
    return SignLaw(joint.reshape(3, 3))


def repeated_sign_collision(x: npt.ArrayLike, y: npt.ArrayLike, nonzeros_per_projection: int) -> SignLaw:
    """Return the exact law of the signs where a projection's s coordinates are drawn with replacement (question 2).

    The pair of inner products is a sum of s independent steps, each (+-x_i, +-y_i) with i and the sign uniform; its
    law is convolved step by step in exact fractions.

    Parameters
    ----------
    x, y : array_like of float, shape (d,)
    nonzeros_per_projection : int
        s, in 1..d.

    Returns
    -------
    SignLaw

    Raises
    ------
    ShapeError, NonFiniteError
        If the vectors differ in length or are not finite.
    OutOfRangeError
        If s lies outside 1..d or there are too many paths.
    """
    first, second = as_vector_pair(x, y)
    chosen = as_count(nonzeros_per_projection, "nonzeros_per_projection", 1, first.size)
    pairs = [(Fraction(one), Fraction(other)) for one, other in zip(first.tolist(), second.tolist(), strict=True)]
    steps = Counter((sign * one, sign * other) for one, other in pairs for sign in (-1, 1))
    law = Counter({(Fraction(0), Fraction(0)): 1})
    for _ in range(chosen):
        require_work(len(law) * len(steps), ENUMERATION_LIMIT, "sums")
        longer: Counter[tuple[Fraction, Fraction]] = Counter()
        for (one, other), paths in law.items():
            for (step, other_step), ways in steps.items():
                longer[one + step, other + other_step] += paths * ways
        law = longer
    joint = np.zeros((3, 3))
    for (one, other), paths in law.items():
        joint[(one > 0) - (one < 0) + 1, (other > 0) - (other < 0) + 1] += paths / (2 * first.size) ** chosen
    return SignLaw(joint)


def exact_signs(patterns: FloatArray, vector: FloatArray) -> npt.NDArray[np.int64]:
    """Return the sign of each pattern's inner product: -1, 0 or 1.

    A sum that rounding could have moved across zero is taken again exactly with `math.fsum`; u additions of numbers
    below max|v| err by less than u^2 * eps * max|v|.
    """
    sums = patterns @ vector
    signs = np.sign(sums).astype(np.int64)
    bound = vector.size**2 * np.finfo(np.float64).eps * np.abs(vector).max(initial=0)
    for row in np.flatnonzero(np.abs(sums) <= bound):
        signs[row] = np.sign(fsum(patterns[row] * vector))
    return signs


def _pattern_weights(patterns: FloatArray, dimension: int, chosen: int) -> FloatArray:
    """Return the probability of each pattern: shape (3^u,)."""
    used = patterns.shape[1]
    by_nonzeros = np.zeros(used + 1)
    for count in range(min(used, chosen) + 1):
        by_nonzeros[count] = comb(dimension - used, chosen - count) / (comb(dimension, chosen) * 2**count)
    return by_nonzeros[np.count_nonzero(patterns, axis=1)]
