"""What vouches for a test's expectation: something that does not know our code, or, for the engine, the plain spec."""

from __future__ import annotations

import re

BY_HAND = "worked by hand"
"""The witness of a case whose expected numbers stand in the test."""
MASKED = "a dense, masked network in plain NumPy"
LOOP = "a plain loop over the definition"
WITNESSES = (
    (r"gradients/.*central_differences", "central finite differences"),
    (r"gradients/.*(automatic_differentiation|sparse_adam|is_adam|is_sgd|one_adam)", "PyTorch"),
    (r"gradients/.*(masked_network|dense_network|touched|samples|logits|labels|original|mean)", MASKED),
    (r"gradients/.*(one_number_at_a_time|velocity|epsilon|do_what_their_parts_do)", "one number at a time"),
    (r"estimators/", "enumeration of all draws"),
    (r"theory/test_theory_meets_spec", "closed forms, themselves held to exact fractions"),
    (r"spec/.*against_fractions", "exact fractions"),
    (r"spec/.*against_scipy", "SciPy"),
    (r"spec/.*by_a_dense_product", MASKED),
    (r"spec/.*(gradients_of_the_past|geometric_sum)", "another formula for the same"),
    (r"spec/.*(against_\w+|all_permutations|exactly|upper_bits|what_the_tables_give)", LOOP),
    (r"spec/.*runTest", "a naive model"),
    (r"spec/", BY_HAND),
    (r"engine/.*(numpys|spans|segments|packing_pairs|order_of_arrival)", LOOP),
    (r"engine/.*(pairs_of_wide|groups_of_active|in_two_steps|by_counting)", LOOP),
    (r"engine/.*(order_of_the_samples|precision|threads|dense_features|refused|bad_batches|stays_as_it_is)", ""),
    (r"engine/", "the spec"),
    (r"training/test_dense_training", MASKED),
)
"""The first pattern that a test's id matches counts."""


def witness_of(test: str) -> str:
    """Return what vouches for a test's expectation, "" for nothing."""
    return next((witness for pattern, witness in WITNESSES if re.search(pattern, test)), "")
