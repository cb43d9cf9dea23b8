"""Black-box judgement: an implementation that makes its own random choices is counted against exact laws.

Each claim is one probability, and an error of a stated size must not escape: from that follows how many draws it
asks for (`pyslide.verification`).  All claims of a run share one false-alarm budget.  What is rejected is held against
the laws of known faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from pyslide.conformance.comparing import Difference
from pyslide.conformance.findings import NOT_OFFERED, Finding
from pyslide.conformance.random_claims import Claim
from pyslide.conformance.replies import Adapter, Capabilities, Reply
from pyslide.verification import judge, sample_size, two_sided_tail
from pyslide.verification.counts import BUDGET

REQUEST = 1000
"""Draws that one request asks for."""
FITS = 1e-3
"""A known fault is named if its law gives a count at least as far out as this often."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What an implementation's draws gave for a claim."""

    claim: Claim
    trials: int
    count: int
    seconds: float


def requests(trials: int) -> list[int]:
    """Return how many draws each request asks for."""
    return [min(REQUEST, trials - start) for start in range(0, trials, REQUEST)]


def ask(adapter: Adapter, claim: Claim, trials: int, seed: int) -> Counted | Reply:
    """Return what an implementation's draws gave, or the reply that is none."""
    begun, total, drawn = perf_counter(), 0, 0
    for number, wanted in enumerate(requests(trials)):
        inputs = {**claim.inputs, "count": wanted, "seed": seed + number}
        reply = adapter.run(claim.id, claim.operation, inputs)
        if reply.status != "outputs":
            return reply
        try:
            successes, draws = claim.successes(reply.outputs)
        except (KeyError, TypeError, ValueError, IndexError) as fault:
            return Reply("errored", message=f"expected {claim.operation}'s outputs: {type(fault).__name__} {fault}")
        if draws != wanted:
            return Reply("errored", message=f"expected {wanted} draws, got {draws}")
        total, drawn = total + successes, drawn + draws
    return Counted(claim, drawn, total, perf_counter() - begun)


def explanations(claim: Claim, trials: int, count: int) -> list[str]:
    """Return the known faults whose law gives such a count."""
    return [
        f"what is expected of this: {words} ({probability:.4g})"
        for words, probability in claim.faults.items()
        if two_sided_tail(count, trials, probability) > FITS
    ]


def findings(adapter: Adapter, capabilities: Capabilities, wanted: Sequence[Claim], seed: int) -> list[Finding]:
    """Return a finding for every claim, judged together.

    Parameters
    ----------
    adapter : Adapter
        Started.
    capabilities : Capabilities
    wanted : sequence of Claim
    seed : int
        From which the requests' seeds are counted.
    """
    offered = [claim for claim in wanted if claim.operation in capabilities.operations]
    results: list[Finding] = [
        Finding(claim.case, "skipped", message=NOT_OFFERED) for claim in wanted if claim not in offered
    ]
    counted = []
    for place, claim in enumerate(offered):
        trials = sample_size(claim.check, BUDGET / len(offered))
        answer = ask(adapter, claim, trials, seed + 10_000 * place)
        if isinstance(answer, Counted):
            counted.append(answer)
        else:
            status = "errored" if answer.status == "refused" else answer.status
            results.append(Finding(claim.case, status, message=answer.message))
    return results + judged(counted)


def judged(counted: Sequence[Counted]) -> list[Finding]:
    """Return the findings on what was counted."""
    checks = [one.claim.check for one in counted]
    verdicts = judge(checks, [one.trials for one in counted], [one.count for one in counted])
    results = []
    for one, verdict in zip(counted, verdicts, strict=True):
        if not verdict.rejected:
            results.append(Finding(one.claim.case, "passed", seconds=one.seconds))
            continue
        difference = Difference(
            verdict.check.name,
            f"probability {verdict.check.probability:.4f}",
            f"{one.count} of {one.trials}, {one.count / one.trials:.4f}, which chance would give once in "
            f"{1 / max(verdict.tail, 1e-300):.0e} runs",
        )
        named = explanations(one.claim, one.trials, one.count)
        results.append(Finding(one.claim.case, "failed", difference, explanations=named, seconds=one.seconds))
    return results
