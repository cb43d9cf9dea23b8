"""Judging random steps: counts against exact probabilities, one false-alarm budget, a stated power."""

from pyslide.verification.counts import Check, Verdict, detectable, judge, power, region, sample_size, two_sided_tail

__all__ = ["Check", "Verdict", "detectable", "judge", "power", "region", "sample_size", "two_sided_tail"]
