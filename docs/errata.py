"""What is wrong or missing in the paper, and what goes wrong in implementations; with the evidence for each."""

from __future__ import annotations

from typing import NamedTuple


class Erratum(NamedTuple):
    """One statement and what shows it."""

    title: str
    text: str
    tests: tuple[str, ...] = ()  # file::test below reference_tests
    vectors: tuple[str, ...] = ()  # ids of the conformance kit
    mutants: tuple[str, ...] = ()  # names in the catalogue of wrong variants


THEORY, SPEC = "theory/test_theory_", "spec/test_spec_"

PAPER_ERRATA = (
    Erratum(
        "Algorithm 2 intersects the buckets",
        "It prints S = S ∩ Query: from the empty set nothing is ever found. Section 2 and the released program take "
        "the union, and so does `PAPER`; `query=\"intersection\"` is what is printed (question 21).",
        (SPEC + "sampling.py::test_union_and_the_printed_intersection",),
        ("union-plain-01",),
        ("spec-intersection", "engine-intersection"),
    ),
    Erratum(
        "The probability printed for vanilla sampling is that of one hit pattern",
        "Section 4.1 prints $(p^K)^\\tau (1 - p^K)^{L-\\tau}$: that $\\tau$ given tables hold the neuron and all "
        "others do not. After $\\tau$ tables a neuron is in with probability $1 - (1 - p^K)^\\tau$. For p = 0.8, K = "
        "9, L = 50 and $\\tau$ = 5 the first is 6.6e-8 and the second 0.514.",
        (
            THEORY + "retrieval.py::test_of_the_paper",
            THEORY + "retrieval.py::test_printed_pattern_is_no_inclusion_probability",
            THEORY + "retrieval.py::test_inclusion_is_the_share_of_hit_patterns_with_a_hit",
        ),
    ),
    Erratum(
        "Under a budget the number of tables read is random",
        "The formula takes $\\tau$ as given. Sampling stops when the budget is reached, so that $\\tau$ depends on "
        "what was found; `pyslide.theory.vanilla_inclusion` is the law.",
        (THEORY + "budgets.py::test_tables_read_and_inclusion_equal_the_enumeration",),
    ),
    Erratum(
        "One minus the angle over pi is not the law of sparse signs",
        "It is exact for Gaussian projections. For the signs +1 and -1 on d/3 coordinates that section 3.2 describes "
        "it is a limit, and an inner product of exactly zero, a tie, has a probability of its own (questions 1 and "
        "2).",
        (
            THEORY + "hashing.py::test_sparse_signs_equal_the_enumeration",
            THEORY + "hashing.py::test_is_the_share_of_gaussian_signs",
        ),
        ("simhash-codes-plain-02",),
        ("spec-tie-gives-zero",),
    ),
    Erratum(
        "The schedule's decay is not published",
        "The t-th rebuild is due at $\\sum_{i<t} N_0 e^{\\lambda i}$ with $N_0 = 50$, a real number, and $\\lambda$ "
        "is not given. Here it falls on the first step at or after it, and $\\lambda$ is 0 unless chosen.",
        (SPEC + "schedule.py::test_a_rebuild_falls_on_the_first_step_at_or_after_its_time",),
        (),
        ("spec-schedule-floor", "spec-schedule-off-by-one"),
    ),
)

FAULTS = (
    Erratum(
        "The softmax's maximum starts at 0",
        "Where all logits are very negative every exponential underflows and the outputs are 0 (question 23).",
        (SPEC + "forward.py::test_original_softmax_underflows_where_all_logits_are_negative",),
        ("softmax-all-negative",),
        ("spec-softmax-from-zero", "engine-softmax-from-zero"),
    ),
    Erratum(
        "A reservoir accepts with 1/n in place of R/n",
        "The original program does: early arrivals stay too often (question 10).",
        (SPEC + "tables.py::test_original_reservoir_favours_early_arrivals",),
        ("build-table-plain-01",),
        ("spec-reservoir-one-over-n", "engine-reservoir-one-over-n"),
    ),
    Erratum(
        "Digits of keys overlap",
        "floor(ln m) bits hold a digit in place of log2 m: 2 for m = 8, so that different codes give the same key "
        "(question 3).",
        (SPEC + "conventions.py::test_each_answer_by_hand",),
        ("pack-key-plain-02",),
        ("spec-natural-log-packing", "engine-natural-log-packing"),
    ),
    Erratum(
        "Not every bin can be a donor, or one past the end is",
        "The densification's probe takes the floor of log2 of the number of bins, which cuts the donors to a power of "
        "two; or it runs from 0 to the number of bins, both included.",
        (SPEC + "densification.py::test_every_bin_can_be_a_donor",),
        ("probe-table-every-bin-a-donor",),
        ("spec-donor-range-floored", "spec-donor-past-the-end"),
    ),
    Erratum(
        "WTA's running maximum is taken from the wrong element",
        "Each value is compared with the one before it in place of the largest so far.",
        (SPEC + "hashing.py::test_winner_take_all_takes_the_first_maximum",),
        ("wta-codes-plain-01",),
        ("engine-wta-wrong-maximum",),
    ),
    Erratum(
        "MinHash takes the maximum",
        "The largest index of a bin, or the last member, in place of the first in its order.",
        (THEORY + "hashing.py::test_whole_permutations_collide_with_the_jaccard_similarity",),
        ("minhash-codes-plain-01",),
        ("spec-minhash-maximum",),
    ),
    Erratum(
        "The last batch of an epoch is dropped",
        "If it is smaller than the others its rows are never trained on in this epoch.",
        ("training/test_training.py::test_every_row_is_seen_once_an_epoch_and_the_last_batch_is_smaller",),
        (),
        ("training-last-batch-dropped",),
    ),
    Erratum(
        "Trained biases are not saved",
        "A network that is loaded ranks otherwise than the one that was saved.",
        ("checkpoint/test_checkpoint.py::test_a_model_without_its_data",),
        (),
        ("checkpoint-biases-not-saved",),
    ),
)


def section(erratum: Erratum) -> list[str]:
    """Return the lines of one."""
    shown = [("tests", erratum.tests), ("vectors", erratum.vectors), ("wrong variants caught", erratum.mutants)]
    evidence = [f"- {kind}: {', '.join(f'`{name}`' for name in names)}" for kind, names in shown if names]
    return [f"### {erratum.title}", "", erratum.text, "", *evidence, ""]


def lines() -> list[str]:
    """Return both sections of the page."""
    paper = [line for one in PAPER_ERRATA for line in section(one)]
    faults = [line for one in FAULTS for line in section(one)]
    return [
        "## Errata of the paper", "",
        *paper,
        "## Faults of implementations", "",
        "Seen in public programs. Each is kept as a wrong variant of ours, which the tests have to notice.", "",
        *faults,
    ]  # fmt: skip
