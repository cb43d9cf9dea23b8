"""No reply breaks the kit: whatever comes is judged and reported."""

import random

import numpy as np
import pytest

from pyslide.conformance.library import computed
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.random_claims import claims
from pyslide.conformance.replies import Capabilities, HarnessError, Reply
from pyslide.conformance.reports import REPORTS
from pyslide.conformance.verifying import Verifier, selected

LEAVES = [None, True, False, 0, -1, 10**400, -(10**400), 1e308, "NaN", "Infinity", "x", "-1", str(2**70), 0.5, "\x1b"]


class Junk:
    """An implementation that answers anything to everything."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def anything(self, depth=0):
        kind = self.random.random()
        if depth < 3 and kind < 0.35:
            return [self.anything(depth + 1) for _ in range(self.random.randrange(4))]
        if depth < 3 and kind < 0.45:
            return {self.random.choice("abc"): self.anything(depth + 1)}
        return self.random.choice(LEAVES)

    def start(self):
        return Capabilities("junk", tuple(EVERY_OPERATION))

    def run(self, case_id, operation, inputs):
        if self.random.random() < 0.05:
            return Reply("refused", error=self.random.choice([None, "x", "ShapeError"]))
        names = [field.name for field in EVERY_OPERATION[operation].outputs]
        names = names or ["step1.layer0.weights", "build0.layer1.keys", "step9.nothing"]
        return Reply("outputs", {name: self.anything() for name in names if self.random.random() < 0.9})

    def stop(self):
        pass


@pytest.mark.parametrize("seed", [1, 2])
def test_junk_is_judged_and_reported(seed):
    vectors = computed()
    report = Verifier().verify(Junk(seed), vectors, claims())
    assert len(report.findings) == len(vectors) + len(claims())
    wrong = [one for one in report.findings if one.status in ("failed", "errored")]
    assert len(wrong) > 0.9 * len(report.findings)  # what has to be refused is sometimes refused
    for form in REPORTS.values():
        assert form(report)


class AcceptsAll:
    """Answers what nobody should: inputs that have to be refused."""

    def start(self):
        return Capabilities("accepts all", ("wta_codes", "top_k", "build_table"))

    def run(self, case_id, operation, inputs):
        return Reply("outputs", {EVERY_OPERATION[operation].primary: [0]})

    def stop(self):
        pass


def test_answers_to_inputs_that_have_to_be_refused_are_failures():
    invalid = [vector for vector in computed() if vector.case.kind == "invalid"]
    report = Verifier().verify(AcceptsAll(), invalid)
    asked = [one for one in report.findings if one.outcome != "not offered"]
    assert asked
    assert {one.status for one in asked} == {"failed"}


@pytest.mark.parametrize(
    "answer",
    [object(), {1, 2}, np.array([object()]), b"x", {"outputs": {1}}, 1 + 2j, range(3)],
    ids=lambda one: type(one).__name__,
)
def test_a_python_class_may_return_anything(answer):
    class Odd:
        def relu(self, *, sums):
            return answer

    vectors = selected(computed(), ["relu"])[:1]
    (finding,) = Verifier().verify(PythonAdapter(Odd()), vectors).findings
    assert finding.status == "errored"
    assert "expected numbers" in finding.message


def test_a_precision_that_is_none_is_refused():
    class Half:
        precision = "float16"

        def relu(self, *, sums):
            return sums

    with pytest.raises(HarnessError, match="float16"):
        Verifier().verify(PythonAdapter(Half()), [])
