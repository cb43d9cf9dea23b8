"""Packages that know nothing of us, as implementations under test; each is skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from peer_adapters import Datasketch, Faiss, ScikitLearn, SparseScikitLearn, Torch

from pyslide.conformance.library import read_files
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.random_claims import claims
from pyslide.conformance.verifying import Verifier
from pyslide.conventions import PAPER

VECTORS = read_files(Path(__file__).parents[1] / "vectors")
GAUSSIAN, SIGNS = PAPER.replace(projection="gaussian"), PAPER.replace(projection="dense_signs")


@pytest.mark.peers
@pytest.mark.parametrize(
    ("module", "implementation", "profile", "least"),
    [
        ("sklearn", ScikitLearn, GAUSSIAN, 15),
        ("sklearn", SparseScikitLearn, SIGNS, 15),
        ("datasketch", Datasketch, PAPER, 1),
        ("faiss", Faiss, GAUSSIAN, 3),
        ("torch", Torch, PAPER, 90),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else None,
)
def test_a_package_conforms_in_what_it_offers(module, implementation, profile, least):
    pytest.importorskip(module, reason=f"needs {module} (extra 'peers')")
    report = Verifier(profile=profile).verify(PythonAdapter(implementation()), VECTORS, claims(profile))
    wrong = [f"{one.case.id}: {one.difference or one.message}" for one in report.findings
             if one.status in ("failed", "errored")]  # fmt: skip
    assert wrong == []
    assert report.counts["passed"] >= least
