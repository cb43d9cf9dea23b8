"""Hypothesis profiles: HYPOTHESIS_PROFILE chooses.

``ci`` repeats itself, ``deep`` searches for a night, and ``first`` does not make a failure smaller.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

SLOW_MACHINES = [HealthCheck.too_slow]

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40, suppress_health_check=SLOW_MACHINES)
settings.register_profile("deep", deadline=None, max_examples=5000, suppress_health_check=SLOW_MACHINES)
settings.register_profile("first", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
