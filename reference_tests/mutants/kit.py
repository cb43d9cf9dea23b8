"""Put wrong variants to the conformance kit as if they were somebody else's: is the right operation named?

The mutant lives in a tree of its own behind JSON lines; the kit that judges it is ours, unchanged.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from reference_tests.mutants.catalogue import Mutant
from reference_tests.mutants.running import ROOT

NETWORK = ("preactivations", "relu", "softmax", "log_weights", "targets", "cross_entropy", "output_error", "backward")
ROOMS = (
    ("hashing/simhash", ("simhash_codes",)),
    ("hashing/winner_take_all", ("wta_codes",)),
    ("hashing/densified_winner_take_all", ("dwta_codes",)),
    ("hashing/minhash", ("minhash_codes",)),
    ("hashing/densification", ("probe_table", "densify", "dwta_codes", "minhash_codes")),
    ("hashing/family", ("dwta_codes", "minhash_codes", "neuron_keys")),
    ("vectors", ("simhash_codes", "wta_codes", "dwta_codes", "minhash_codes", "neuron_keys", *NETWORK)),
    ("keys", ("pack_key", "fold_key", "bucket_keys")),
    ("tables", ("build_table", "insert_all", "delete", "move", "query_table", "training_trace")),
    ("ragged", ("build_table", "insert_all", "union", "top_k", "vanilla", "training_trace")),
    ("sampling", ("union", "vanilla", "top_k", "hard_threshold", "force_labels", "pad", "active_set", "log_weights")),
    ("candidates", ()),
    ("forward", (*NETWORK, "training_trace")),
    ("loss", NETWORK),
    ("backward", (*NETWORK, "training_trace")),
    ("optimizer", ("adam", "sgd", "update_rows")),
    ("schedule", ("rebuild_steps", "rebuilds_due")),
    ("network", ("neuron_keys", "training_trace")),
    ("step", ("training_trace",)),
)
"""The operations that a fault in a file may show in; the first room whose name the file ends with counts.  A fault
between several tables or samples shows in a trace first: all other operations have one of them."""
LAYERS = {"spec": "pyslide.conformance.own:Specification", "engine": "pyslide.conformance.own_engine:Engine"}
"""What is put to the kit, by the layer that is wrong."""
OTHER = "concerns an answer that is not the paper's"
BASELINE = "concerns the sampled softmax, which is not SLIDE and no operation takes"
UNSEEN = {
    "spec-polarity": OTHER,
    "spec-empty-by-value": OTHER,
    "spec-shift-from-zero": OTHER,
    "spec-weight-not-logarithm": OTHER,
    "engine-weight-wrong-population": OTHER,
    "engine-weight-of-nobody": OTHER,
    "spec-bias-not-hashed": OTHER,
    "spec-weights-forgotten": "concerns weights of samples, which no operation takes",
    "engine-weights-by-their-sum": "concerns weights of samples, which no operation takes",
    "spec-candidates-uncorrected": BASELINE,
    "spec-candidates-negatives-only": BASELINE,
    "spec-candidates-ranked-by-id": BASELINE,
    "spec-candidates-tries-forgotten": BASELINE,
    "spec-candidates-repeats-expected": BASELINE,
    "spec-candidates-labels-not-joined": BASELINE,
    "spec-candidates-hits-twice": BASELINE,
    "engine-candidates-uncorrected": BASELINE,
    "engine-candidates-labels-not-joined": BASELINE,
    "engine-candidates-hits-twice": BASELINE,
    "engine-candidates-ranked-by-id": BASELINE,
    "engine-stale-functions": "needs functions that are drawn anew",
    "engine-overflow-trusted": "needs sums that overflow float32, but not float64",
    "engine-upcast": "changes the type, not the numbers",
}
"""Mutants that no operation shows, and why."""


class Diagnosis(NamedTuple):
    """What the kit says of a mutant."""

    mutant: Mutant
    operations: tuple[str, ...]  # with failures, in the order in which data flows
    explanation: str  # of the first failure

    @property
    def expected(self) -> tuple[str, ...]:
        """Return the operations of the file that is wrong."""
        stem = self.mutant.file.removesuffix(".py")
        return next(operations for room, operations in ROOMS if stem.endswith(f"/{room}"))

    @property
    def right(self) -> bool:
        """Return whether the first operation that fails is one of the file's."""
        return bool(self.operations) and self.operations[0] in self.expected


def concerned(mutant: Mutant) -> bool:
    """Return whether a mutant is in a layer that the kit reaches."""
    return mutant.layer in LAYERS


def diagnose(mutant: Mutant, tree: Path) -> Diagnosis:
    """Return what the kit says of a mutant that is applied in a tree of its own, and put the tree right again."""
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        report = verified(LAYERS[mutant.layer], tree)
    finally:
        path.write_text(text, encoding="utf-8")
    failures = [finding for finding in report["findings"] if finding["status"] in ("failed", "errored")]
    operations = tuple(dict.fromkeys(finding["operation"] for finding in failures))
    return Diagnosis(mutant, operations, sentence(failures[0]) if failures else "")


def sentence(finding: dict[str, object]) -> str:
    """Return the first thing that the kit says of a failure."""
    explanations = finding.get("explanations") or []
    assert isinstance(explanations, list)
    return str(explanations[0] if explanations else finding.get("difference") or finding.get("message"))


def verified(implementation: str, tree: Path) -> dict[str, list[dict[str, object]]]:
    """Return the kit's report on a layer of another tree."""
    # ``python -m`` finds the package in the working directory before all others
    serve = f"cd {tree} && exec {sys.executable} -B -m pyslide.conformance.serve {implementation}"
    harness = f"sh -c {shlex.quote(serve)}"
    command = [sys.executable, "-m", "pyslide", "verify", "--adapter", harness, "--report", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    vectors = str(ROOT / "reference_tests" / "vectors")
    done = subprocess.run(
        [*command, "--vectors", vectors], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the kit ended with {done.returncode}: {done.stderr[-500:]}")
    return dict(json.loads(done.stdout))
