"""The questions on which SLIDE implementations disagree, and the answers that a run is made with.

One frozen dataclass, one field a question.  A function of ``spec`` or ``engine`` whose result depends on such a
question takes the answer as an argument; nothing is decided silently.  `PAPER` is what this project takes the
paper to mean.  `ORIGINAL_CPP` is what the released C++ program (commit c928349) really does, faults included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyslide.errors import ConventionError


class Question(NamedTuple):
    """One question, its possible answers and what each answer means."""

    number: int
    field: str
    text: str
    answers: Mapping[str, str]


QUESTIONS: tuple[Question, ...] = (
    Question(1, "sign_bit", "SimHash: which inner product gives the bit 1, and what does an exact tie give?", {
        "one_at_zero_or_above": "bit 1 if the inner product is >= 0; a tie gives 1",
        "zero_at_zero_or_above": "bit 0 if the inner product is >= 0; a tie gives 0",
        "one_above_zero": "bit 1 if the inner product is > 0; a tie gives 0",
    }),
    Question(2, "projection", "SimHash: how are the projection vectors drawn?", {
        "signs_without_replacement": "ceil(d/3) distinct coordinates, each with a sign +-1",
        "signs_with_replacement": "ceil(d/3) coordinates that may repeat, each with a sign +-1",
        "dense_signs": "a sign +-1 for each of the d coordinates",
        "gaussian": "d independent standard normal numbers",
    }),
    Question(3, "packing", "How are K codes packed into the key of a table?", {
        "positional": "digits in base m, the first code most significant",
        "positional_reversed": "digits in base m, the first code least significant",
        "whole_bits": "ceil(log2 m) bits a digit, the first code most significant",
        "natural_log_bits": "floor(ln m) bits a digit (at least one), overlapping digits added modulo 2^32",
    }),
    Question(4, "empty_bin", "DWTA: when does a bin count as empty?", {
        "no_entry_seen": "no entry of the sparse vector falls into it",
        "maximum_is_zero": "no entry falls into it, or its largest entry is 0 (one with only negative entries is "
                           "occupied)",
        "code_is_zero": "its code is 0, whatever led to it",
    }),
    Question(5, "donor", "Densification: from which array is a code borrowed?", {
        "undensified": "from the codes before densification",
        "densified_so_far": "from the array that is being densified, bins in ascending order",
    }),
    Question(6, "borrowed_code", "Densification: what does the borrowing bin get?", {
        "as_is": "the donor's code",
        "shifted_by_attempt": "the donor's code plus attempt * m, so that codes borrowed at different attempts differ",
    }),
    Question(7, "dense_input", "How is a dense vector (a neuron's weights) hashed by WTA's sparse relatives?", {
        "as_its_nonzeros": "as the sparse vector of its non-zeros; zeros that a sparse vector lists are left out, too",
        "every_coordinate": "with every coordinate as an entry; zeros that a sparse vector lists compete, too",
    }),
    Question(8, "densification_failure", "What code has a bin for which every attempt found an empty donor?", {
        "code_zero": "0, and the failure is counted",
        "minus_one": "-1, which no table can hold",
        "smallest_integer": "-2^31, which no table can hold",
    }),
    Question(9, "insertion_order", "In which order do neurons enter a table?", {
        "ascending_id": "by id",
        "given_order": "in an order that is an argument (a thread race, recorded)",
    }),
    Question(10, "bucket_policy", "What happens when a bucket is full?", {
        "fifo": "the oldest member leaves",
        "reservoir": "Algorithm R: the n-th arrival replaces a uniform slot with probability R/n",
        "unlimited": "buckets have no capacity",
        "reservoir_one_over_n": "the n-th arrival replaces a uniform slot with probability 1/n",
    }),
    Question(11, "vanilla_stop", "Vanilla sampling: where does reading stop?", {
        "whole_buckets": "after the first whole bucket at which the budget is reached",
        "cut_at_budget": "inside a bucket, at the budget exactly",
        "all_tables": "never: every table is read",
    }),
    Question(12, "padding", "Are too small active sets filled up with random neurons?", {
        "up_to_minimum": "from given draws, up to the minimum",
        "up_to_budget": "from given draws, up to the sampling budget",
        "none": "no",
    }),
    Question(13, "threshold", "Hard threshold: which counts are kept?", {
        "at_least": "counts >= m",
        "more_than": "counts > m",
    }),
    Question(14, "label_forcing", "When do a sample's labels enter the active set of the output layer?", {
        "after_sampling": "after sampling, always; padding comes last",
        "before_sampling": "before sampling, so that they count towards vanilla sampling's budget",
        "never": "only if they are retrieved",
    }),
    Question(15, "active_set", "Whose is the active set?", {
        "per_sample": "each sample has its own",
        "union_of_batch": "all samples of a batch share the union of theirs",
    }),
    Question(16, "adam_rows", "Which weights does the optimiser touch, and with which step number?", {
        "touched_global_step": "touched rows only, the global step number (torch.optim.SparseAdam)",
        "touched_own_step": "touched rows only, the number of times that the row was touched",
        "every_weight": "every weight at every step, the global step number (torch.optim.Adam)",
    }),
    Question(17, "adam_epsilon", "Adam: to what is epsilon added?", {
        "corrected": "to the root of the bias-corrected second moment",
        "uncorrected": "to the root of the second moment before correction",
    }),
    Question(18, "batch_reduction", "How do the samples of a batch add up?", {
        "mean": "the gradient is divided by the number of samples in the batch",
        "sum": "it is not",
    }),
    Question(19, "bias_hashing", "Is a neuron's bias hashed with its weights?", {
        "not_hashed": "no",
        "hashed": "yes: weights get the bias, inputs a 1, as one more coordinate",
    }),
    Question(20, "inference", "Which neurons are computed at inference?", {
        "all_neurons": "all",
        "sampled": "those that the tables give, without labels",
    }),
    Question(21, "query", "How do the buckets of the L tables combine?", {
        "union": "union",
        "intersection": "intersection, as Algorithm 2 prints it (an erratum)",
    }),
    Question(22, "rebuild", "What does a rebuild of the tables renew?", {
        "same_functions": "the neurons' codes; the functions stay",
        "new_functions": "the functions too",
    }),
    Question(23, "softmax", "How is the softmax of the active neurons computed?", {
        "stable": "maximum over the active logits subtracted, normalised by the exact sum",
        "maximum_from_zero": "maximum of 0 and the logits, 1e-7 added to the sum; the error is target - output even "
                             "where labels are missing",
    }),
    Question(24, "padding_weight", "With what weight do random padding neurons enter the softmax?", {
        "one": "with the same as any other active neuron",
        "inverse_probability": "with 1 / (their probability of being drawn), so that they stand for all that was not "
                               "retrieved and the normaliser is an unbiased estimate of the full one",
    }),
    Question(25, "padding_draws", "Whose random neurons fill up small active sets?", {
        "per_sample": "each sample draws its own",
        "shared_by_batch": "the samples of a batch take them from one draw, so that a batch touches fewer rows",
    }),
)  # fmt: skip
"""Questions 1 to 22 stand in the comparison of implementations; 23 is a fault of the original forward
pass, 24 a correction that sampled softmax methods make and the paper does not, 25 what those methods usually do."""


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """One answer to each question of `QUESTIONS`; the defaults are the preset `PAPER`.

    Raises
    ------
    ConventionError
        If an answer is not among the question's answers, or if two answers exclude each other.
    """

    sign_bit: str = "one_at_zero_or_above"
    projection: str = "signs_without_replacement"
    packing: str = "positional"
    empty_bin: str = "no_entry_seen"
    donor: str = "undensified"
    borrowed_code: str = "as_is"
    dense_input: str = "as_its_nonzeros"
    densification_failure: str = "code_zero"
    insertion_order: str = "ascending_id"
    bucket_policy: str = "fifo"
    vanilla_stop: str = "whole_buckets"
    padding: str = "up_to_minimum"
    threshold: str = "at_least"
    label_forcing: str = "after_sampling"
    active_set: str = "per_sample"
    adam_rows: str = "touched_global_step"
    adam_epsilon: str = "corrected"
    batch_reduction: str = "mean"
    bias_hashing: str = "not_hashed"
    inference: str = "all_neurons"
    query: str = "union"
    rebuild: str = "same_functions"
    softmax: str = "stable"
    padding_weight: str = "one"
    padding_draws: str = "per_sample"

    def __post_init__(self) -> None:
        """Refuse an unknown answer before anything is computed with it."""
        for question in QUESTIONS:
            answer = getattr(self, question.field)
            if answer not in question.answers:
                raise ConventionError(
                    f"question {question.number} ({question.field}): expected one of "
                    f"{', '.join(question.answers)}; got {answer!r}"
                )
        if self.active_set == "union_of_batch" and self.padding_weight == "inverse_probability":
            raise ConventionError(
                "questions 15 and 24: expected padding_weight='one' with active_set='union_of_batch', got "
                "'inverse_probability'; what other samples retrieved is no random draw"
            )

    def replace(self, **answers: str) -> Conventions:
        """Return a copy with some answers changed.

        Raises
        ------
        ConventionError
            If a name is not a question or an answer is unknown.
        """
        unknown = set(answers) - {question.field for question in QUESTIONS}
        if unknown:
            raise ConventionError(f"no such question: {', '.join(sorted(unknown))}")
        return dataclasses.replace(self, **answers)

    def as_dict(self) -> dict[str, str]:
        """Return the answers by field name, in the order of the questions."""
        return {question.field: getattr(self, question.field) for question in QUESTIONS}

    @classmethod
    def from_dict(cls, answers: Mapping[str, Any]) -> Conventions:
        """Return the conventions that `as_dict` wrote; a missing answer is the paper's."""
        return cls().replace(**answers)


PAPER = Conventions()
"""What this project takes the paper to mean."""

ORIGINAL_CPP = Conventions(
    sign_bit="zero_at_zero_or_above",
    packing="natural_log_bits",
    dense_input="every_coordinate",
    densification_failure="smallest_integer",
    insertion_order="given_order",
    vanilla_stop="all_tables",
    threshold="more_than",
    label_forcing="before_sampling",
    adam_rows="every_weight",
    adam_epsilon="uncorrected",
    softmax="maximum_from_zero",
)
"""What the released C++ program does with its default mode (DWTA or SimHash, mode 4, FIFO buckets, Adam)."""

PRESETS: Mapping[str, Conventions] = {"PAPER": PAPER, "ORIGINAL_CPP": ORIGINAL_CPP}
"""The named presets."""
