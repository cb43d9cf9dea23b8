"""All cases, by operation, in the order in which data flows."""

from __future__ import annotations

from functools import cache

from pyslide.conformance.cases.hashing import hashing_cases
from pyslide.conformance.cases.keys import key_cases
from pyslide.conformance.cases.network import network_cases
from pyslide.conformance.cases.optimizing import optimizing_cases
from pyslide.conformance.cases.sampling import sampling_cases
from pyslide.conformance.cases.tables import table_cases
from pyslide.conformance.cases.trace import trace_cases
from pyslide.conformance.vectors import Case


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case."""
    return (
        *hashing_cases(),
        *key_cases(),
        *table_cases(),
        *sampling_cases(),
        *network_cases(),
        *optimizing_cases(),
        *trace_cases(),
    )
