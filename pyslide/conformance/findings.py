"""What came of each case, and of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyslide.conformance.comparing import Difference
from pyslide.conformance.known_failures import KnownFailure
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.replies import Capabilities
from pyslide.conformance.vectors import Case

NOT_OFFERED = "not offered"
"""Why a case is skipped whose operation an implementation does not name."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What came of one case.

    Attributes
    ----------
    case : Case
    status : {"passed", "failed", "errored", "skipped"}
    difference : Difference, optional
        Of a failure.
    answers : list of dict
        The conventions that give what came, by question.
    explanations : list of str
        The same in words, and slips.
    message : str
        Of a skip or an error.
    known : KnownFailure, optional
    seconds : float
    """

    case: Case
    status: str
    difference: Difference | None = None
    answers: Sequence[dict[str, str]] = ()
    explanations: Sequence[str] = ()
    message: str = ""
    known: KnownFailure | None = None
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """Return the status, and apart from other skips that the operation is not offered."""
        return NOT_OFFERED if self.message == NOT_OFFERED else self.status

    @property
    def unexpected(self) -> bool:
        """Return whether it speaks against the implementation, known failures apart."""
        return self.status in ("failed", "errored") and self.known is None


@dataclass(frozen=True, eq=False)
class Report:
    """All findings on an implementation."""

    implementation: Capabilities
    findings: Sequence[Finding]
    profile: str = "PAPER"
    rerun: str = ""
    unmatched: Sequence[KnownFailure] = field(default=())

    @property
    def conforms(self) -> bool:
        """Return whether something was asked and nothing failed that is not known to."""
        asked = any(finding.status != "skipped" for finding in self.findings)
        return asked and not any(finding.unexpected for finding in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Return how many cases ended how."""
        counted = Counter(
            "known failure" if finding.known and finding.status != "passed" else finding.outcome
            for finding in self.findings
        )
        return dict(counted)

    @property
    def unexpected_passes(self) -> list[Finding]:
        """Return the cases that are listed as known failures and pass."""
        return [finding for finding in self.findings if finding.known is not None and finding.status == "passed"]

    def common_answers(self) -> dict[str, tuple[dict[str, str], int, int]]:
        """Return for each operation that fails the answers that explain most of its failures: how many, of how many."""
        result = {}
        for operation in EVERY_OPERATION:
            failed = [
                finding
                for finding in self.findings
                if finding.case.operation == operation and finding.status == "failed"
            ]
            votes = Counter(tuple(answers.items()) for finding in failed for answers in finding.answers)
            if votes:
                best, count = votes.most_common(1)[0]
                result[operation] = (dict(best), count, len(failed))
        return result
