"""Verification: every case is put to an implementation, and what differs is diagnosed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from pyslide.conformance import black_box
from pyslide.conformance.comparing import difference_of
from pyslide.conformance.diagnosis import describe, matching_answers, slips
from pyslide.conformance.faults import matching_faults
from pyslide.conformance.findings import NOT_OFFERED, Finding, Report
from pyslide.conformance.known_failures import KnownFailure, find, without_match
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.random_claims import Claim
from pyslide.conformance.replies import Adapter, Capabilities, Reply
from pyslide.conformance.vectors import Case, Outcome, Vector, outcome
from pyslide.conventions import PAPER, Conventions


@dataclass(frozen=True, eq=False)
class Verifier:
    """How an implementation is judged.

    Attributes
    ----------
    profile : Conventions
        Whose answers are right.
    profile_name : str
    precision : str, optional
        In which the implementation computes, if it does not say so itself.
    known : sequence of KnownFailure
    rerun : str
        The command that reruns one case, its id to be appended.
    seed : int
        Of the requests for random choices.
    """

    profile: Conventions = PAPER
    profile_name: str = "PAPER"
    precision: str | None = None
    known: Sequence[KnownFailure] = ()
    rerun: str = ""
    seed: int = 0

    def verify(self, adapter: Adapter, vectors: Sequence[Vector], claims: Sequence[Claim] = ()) -> Report:
        """Put every vector to an implementation, and count its own random choices against every claim.

        Raises
        ------
        HarnessError
            If it cannot be reached.
        """
        try:
            capabilities = adapter.start()
            findings = [self.judge(adapter, capabilities, vector) for vector in vectors]
            findings += [
                replace(finding, known=find(self.known, finding.case.id))
                for finding in black_box.findings(adapter, capabilities, claims, self.seed)
            ]
        finally:
            adapter.stop()
        unmatched = without_match(self.known, (finding.case.id for finding in findings))
        return Report(capabilities, findings, self.profile_name, self.rerun, unmatched)

    def judge(self, adapter: Adapter, capabilities: Capabilities, vector: Vector) -> Finding:
        """Put one vector to it."""
        case, known = vector.case, find(self.known, vector.case.id)
        precision = self.precision or capabilities.precision
        reason = self.reason_to_skip(case, capabilities, precision)
        if reason:
            return Finding(case, "skipped", message=reason, known=known)
        expected = vector.paper if self.profile == PAPER else outcome(case, self.profile)
        if expected.outputs is None and case.kind != "invalid":
            return Finding(case, "skipped", message=f"nothing is defined here: {expected.message}", known=known)
        begun = perf_counter()
        reply = adapter.run(case.id, case.operation, case.inputs)
        return self.compared(case, expected, reply, precision, perf_counter() - begun, known)

    @staticmethod
    def reason_to_skip(case: Case, capabilities: Capabilities, precision: str) -> str:
        """Return why a case is not put to an implementation, or nothing."""
        if case.operation not in capabilities.operations:
            return NOT_OFFERED
        if precision == "float32" and "needs_float64" in case.flags:
            return "its numbers need float64"
        return ""

    def compared(
        self,
        case: Case,
        expected: Outcome,
        reply: Reply,
        precision: str,
        seconds: float,
        known: KnownFailure | None,
    ) -> Finding:
        """Return the finding on a reply."""
        if reply.status in ("skipped", "errored"):
            return Finding(case, reply.status, message=reply.message, known=known, seconds=seconds)
        operation = OPERATIONS[case.operation]
        difference = difference_of(operation, case.inputs, expected, reply, precision)
        if difference is None:
            return Finding(case, "passed", known=known, seconds=seconds)
        answers = matching_answers(case, reply, precision, self.profile)
        explanations = [f"what {describe(one)} gives" for one in answers]
        explanations += matching_faults(case, reply, precision)
        explanations += slips(operation, dict(expected.outputs or {}), reply, precision)
        return Finding(case, "failed", difference, answers, explanations, known=known, seconds=seconds)


def selected(vectors: Sequence[Vector], operations: Sequence[str], case_id: str | None = None) -> list[Vector]:
    """Return the vectors of some operations (all if none is named), or the one of an id."""
    return [
        vector
        for vector in vectors
        if (not operations or vector.case.operation in operations) and (case_id is None or vector.case.id == case_id)
    ]
