"""All experiments, by name."""

from __future__ import annotations

from collections.abc import Mapping

from pyslide.experiments import (
    batch_size,
    collision_laws,
    insertion_policies,
    k_l_sweep,
    retrieval_quality,
    sampled_softmax,
    sampling_strategies,
    selection_probability,
    settings,
    staleness,
    time_and_iterations,
    time_to_accuracy,
    workers,
)
from pyslide.experiments.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        sampling_strategies,
        time_and_iterations,
        time_to_accuracy,
        sampled_softmax,
        batch_size,
        workers,
        selection_probability,
        insertion_policies,
        k_l_sweep,
        retrieval_quality,
        collision_laws,
        settings,
        staleness,
    )
}
"""The paper's figures and tables first, in its order."""
