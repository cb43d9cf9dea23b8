"""What a network looks like before a random number is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyslide.errors import OutOfRangeError
from pyslide.spec.sampling import Sampling

FAMILIES = ("dwta", "simhash", "wta", "minhash")
"""The hash families that can be asked for by name."""
STRATEGIES = ("union", "vanilla", "top_k", "hard_threshold")
"""The sampling strategies of section 4.1 and the plain union."""
DISTRIBUTIONS = ("uniform", "log_uniform")
"""The distributions from which a sampled softmax draws its candidates."""


def _require(condition: bool, name: str, expected: str, value: object) -> None:
    if not condition:
        raise OutOfRangeError(f"{name}: expected {expected}, got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Hashing:
    """The tables of a layer.

    Attributes
    ----------
    family : {"dwta", "simhash", "wta", "minhash"}
    codes_per_table : int
        K.
    tables : int
        L.
    bin_size : int
        m, the places of a bin (all families but SimHash).
    kept : int
        k of MinHash's top-k binarisation.
    attempts : int
        How many donors an empty bin asks (DWTA, MinHash).
    table_bits : int
        A table has 2^table_bits buckets.
    capacity : int
        R, the slots of a bucket.
    sampling : Sampling
    """

    family: str = "dwta"
    codes_per_table: int = 3
    tables: int = 50
    bin_size: int = 8
    kept: int = 32
    attempts: int = 100
    table_bits: int = 18
    capacity: int = 128
    sampling: Sampling = field(default_factory=Sampling)

    def __post_init__(self) -> None:
        """Refuse settings outside their range."""
        _require(self.family in FAMILIES, "family", f"one of {', '.join(FAMILIES)}", self.family)
        for name in ("codes_per_table", "tables", "kept", "attempts", "capacity"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        _require(self.bin_size >= 2, "bin_size", "at least 2", self.bin_size)
        _require(1 <= self.table_bits <= 32, "table_bits", "1 to 32", self.table_bits)
        sampling = self.sampling
        _require(sampling.strategy in STRATEGIES, "strategy", f"one of {', '.join(STRATEGIES)}", sampling.strategy)
        if sampling.strategy in ("vanilla", "top_k"):
            _require(sampling.budget >= 1, "budget", f"at least 1 for {sampling.strategy}", sampling.budget)
        _require(sampling.minimum_count >= 0, "minimum_count", "at least 0", sampling.minimum_count)
        _require(sampling.minimum_active >= 0, "minimum_active", "at least 0", sampling.minimum_active)


@dataclass(frozen=True, kw_only=True)
class CandidateSampling:
    """A sampled softmax: for each batch, random classes compete with the labels in place of all classes.

    Attributes
    ----------
    distribution : {"uniform", "log_uniform"}
        Every class alike, or the frequent ones more often, about as Zipf's law has it.
    count : int
        S, the candidates of a batch.
    correction : bool
        Whether the logarithm of a class's expected count in the draw is subtracted from its logit.
    """

    distribution: str
    count: int
    correction: bool = True

    def __post_init__(self) -> None:
        """Refuse settings outside their range."""
        expected = f"one of {', '.join(DISTRIBUTIONS)}"
        _require(self.distribution in DISTRIBUTIONS, "distribution", expected, self.distribution)
        _require(self.count >= 1, "count of candidates", "at least 1", self.count)


@dataclass(frozen=True, kw_only=True)
class LayerSettings:
    """One layer: how many neurons, how they start, and how those that are active are chosen.

    Attributes
    ----------
    neurons : int
    initial_scale : float
        Standard deviation of the first weights.
    hashing : Hashing, optional
        Tables, SLIDE's own way.
    candidates : CandidateSampling, optional
        A sampled softmax in place of tables, for an output layer.  Without either all neurons are active.
    """

    neurons: int
    initial_scale: float = 0.1
    hashing: Hashing | None = None
    candidates: CandidateSampling | None = None

    @property
    def sampled(self) -> bool:
        """Return whether only some neurons are active, found in tables or drawn as candidates."""
        return self.hashing is not None or self.candidates is not None

    def __post_init__(self) -> None:
        """Refuse an empty layer, a negative scale, and candidates that are too many or beside tables."""
        _require(self.neurons >= 1, "neurons", "at least 1", self.neurons)
        _require(self.initial_scale >= 0, "initial_scale", "at least 0", self.initial_scale)
        if self.candidates is not None:
            _require(self.hashing is None, "candidates", "no hashing beside them", self.hashing)
            most, count = self.neurons, self.candidates.count
            _require(count <= most, "count of candidates", f"at most the {most} neurons", count)
