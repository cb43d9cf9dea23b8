"""pyslide: a vectorised, pure-Python reference implementation of SLIDE.

SLIDE (Chen et al., MLSys 2020, arXiv 1903.03129) trains wide networks on a small, input-dependent part of their
neurons, found in hash tables.  The public names, in the order in which data flows:

- data: `Dataset`, `load`, `load_standard_library`, and more in `pyslide.data`
- the choices: `Conventions` with the presets `PAPER` and `ORIGINAL_CPP`; `LayerSettings`, `Hashing`, `Sampling`,
  `CandidateSampling`; and `QUESTIONS`, on which implementations disagree
- the algorithm as a person reads it: `pyslide.spec`; the same for a batch: `pyslide.engine`
- training: `TrainingSettings`, `Trainer`, `Optimizer`, `Schedule`
- the same as a scikit-learn estimator: `SlideClassifier`
- predictions and what they are worth: `exact_top_k`, `sampled_top_k`, their `Ranking`, and `pyslide.metrics`
- the laws that the random steps obey: `pyslide.theory`
- what goes wrong, as one class: `PyslideError`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS, Conventions
from pyslide.data import Dataset, load, load_standard_library
from pyslide.errors import PyslideError
from pyslide.inference import Ranking, exact_top_k, sampled_top_k
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, Trainer, TrainingSettings

if TYPE_CHECKING:
    from pyslide.classifier import SlideClassifier

__version__ = "0.1.0"

__all__ = [
    "ORIGINAL_CPP",
    "PAPER",
    "QUESTIONS",
    "CandidateSampling",
    "Conventions",
    "Dataset",
    "Hashing",
    "LayerSettings",
    "Optimizer",
    "PyslideError",
    "Ranking",
    "Sampling",
    "Schedule",
    "SlideClassifier",
    "Trainer",
    "TrainingSettings",
    "exact_top_k",
    "load",
    "load_standard_library",
    "sampled_top_k",
]


def __getattr__(name: str) -> Any:
    """Import the classifier when it is asked for: it takes scikit-learn along where that is installed."""
    if name == "SlideClassifier":
        from pyslide.classifier import SlideClassifier

        return SlideClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
