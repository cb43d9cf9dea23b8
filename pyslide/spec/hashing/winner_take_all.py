"""Winner-take-all hashing (Yagnik et al. 2011; section 3.2): where in its bin is the largest coordinate?"""

from __future__ import annotations

import numpy as np

from pyslide.arrays import IntArray
from pyslide.parameters import WinnerTakeAllParameters
from pyslide.spec.vectors import SparseVector, to_dense


def winner_take_all_codes(vector: SparseVector, parameters: WinnerTakeAllParameters) -> IntArray:
    """Return the C codes of a vector: the place of the first maximum in each bin.

    Coordinates without an entry compete with the value 0.
    """
    values = to_dense(vector)[parameters.bins]  # (C, m)
    return np.argmax(values, axis=1)
