"""The machine that something is measured on: its processor, and the BLAS that multiplies its dense matrices."""

from __future__ import annotations

import importlib
import os
import platform
from pathlib import Path

import numpy as np

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Where a BLAS reads how many threads it may start."""


def processor_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return what the processor is called: by Linux, or else by Python, which may know its kind only."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine() or "unknown"


def blas() -> str:
    """Return the name of NumPy's BLAS, its version and its threads.

    `threadpoolctl` sees the library at work; where it is not installed NumPy tells with what it was built, and the
    environment how many threads it was allowed.
    """
    try:
        pools = importlib.import_module("threadpoolctl").threadpool_info()
    except ImportError:
        pools = []
    seen = [pool for pool in pools if pool["user_api"] == "blas"]
    if seen:
        return f"{seen[0]['internal_api']} {seen[0]['version']}, threads: {seen[0]['num_threads']}"
    built = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    allowed = [os.environ[name] for name in THREAD_VARIABLES if os.environ.get(name)]
    name = f"{built.get('name', 'unknown')} {built.get('version', '')}".strip()
    return f"{name}, threads: {allowed[0] if allowed else 'its own choice'}"


def machine() -> dict[str, str]:
    """Return what the machine is, by name."""
    return {"processor": processor_name(), "BLAS": blas()}
