"""All operations, in the order in which data flows."""

from __future__ import annotations

from collections.abc import Mapping

from pyslide.conformance.operation import Operation
from pyslide.conformance.operations.hashing import HASHING
from pyslide.conformance.operations.keys import KEYS
from pyslide.conformance.operations.layers import LAYERS
from pyslide.conformance.operations.network import NETWORK
from pyslide.conformance.operations.optimizing import OPTIMIZING
from pyslide.conformance.operations.random_choices import RANDOM
from pyslide.conformance.operations.sampling import SAMPLING
from pyslide.conformance.operations.tables import TABLES
from pyslide.conformance.operations.trace import TRACE

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (*HASHING, *KEYS, *LAYERS, *TABLES, *SAMPLING, *NETWORK, *OPTIMIZING, *TRACE)
}
"""Every operation that has vectors, by its name."""
RANDOM_OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in RANDOM}
"""Operations of which the implementation makes the random choices; judged by counts."""
EVERY_OPERATION: Mapping[str, Operation] = {**OPERATIONS, **RANDOM_OPERATIONS}
"""All of them."""

__all__ = ["EVERY_OPERATION", "OPERATIONS", "RANDOM_OPERATIONS"]
