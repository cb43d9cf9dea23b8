"""Closed forms: what the random steps of SLIDE should do, to be compared with what an implementation does.

1. `~pyslide.theory.simhash`, `~pyslide.theory.winner_take_all`, `~pyslide.theory.minhash`: two vectors share a code
   (`~pyslide.theory.correlated_winners`: given no more than their cosine)
2. `~pyslide.theory.densification`: they share a borrowed code
3. `~pyslide.theory.tables`: a bucket is full
4. `~pyslide.theory.retrieval`: a neuron is in the buckets of L tables
5. `~pyslide.theory.budgets`: it is selected under a budget
6. `~pyslide.theory.schedule`: tables are rebuilt

`~pyslide.theory.bins` derives the law that WTA, DWTA and MinHash share.
"""

from pyslide.theory.bins import BinLaw
from pyslide.theory.budgets import (
    selected_count_law,
    topk_inclusion,
    vanilla_inclusion,
    vanilla_tables_read_distribution,
)
from pyslide.theory.correlated_winners import correlated_winner_collision_probability
from pyslide.theory.densification import densified_collision_given_codes
from pyslide.theory.minhash import jaccard, minhash_bin_law
from pyslide.theory.retrieval import (
    expected_active_count,
    hard_threshold_inclusion,
    inclusion_after_tables,
    meta_hash_probability,
    printed_hit_pattern_probability,
    union_inclusion,
)
from pyslide.theory.schedule import schedule_iterations
from pyslide.theory.simhash import (
    SignLaw,
    repeated_sign_collision,
    simhash_collision_probability,
    sparse_sign_collision,
)
from pyslide.theory.tables import (
    expected_bucket_load,
    expected_load_met,
    fifo_retained,
    fifo_retrieval_probabilities,
    reservoir_retention_probability,
    reservoir_retrieval_probabilities,
    retrieved_from_any_table,
    uniform_active_count,
)
from pyslide.theory.winner_take_all import (
    densified_winner_take_all_bin_law,
    densified_winner_take_all_collision_probability,
    winner_take_all_collision_probability,
)

__all__ = [
    "BinLaw",
    "SignLaw",
    "correlated_winner_collision_probability",
    "densified_collision_given_codes",
    "densified_winner_take_all_bin_law",
    "densified_winner_take_all_collision_probability",
    "expected_active_count",
    "expected_bucket_load",
    "expected_load_met",
    "fifo_retained",
    "fifo_retrieval_probabilities",
    "hard_threshold_inclusion",
    "inclusion_after_tables",
    "jaccard",
    "meta_hash_probability",
    "minhash_bin_law",
    "printed_hit_pattern_probability",
    "repeated_sign_collision",
    "reservoir_retention_probability",
    "reservoir_retrieval_probabilities",
    "retrieved_from_any_table",
    "schedule_iterations",
    "selected_count_law",
    "simhash_collision_probability",
    "sparse_sign_collision",
    "topk_inclusion",
    "uniform_active_count",
    "union_inclusion",
    "vanilla_inclusion",
    "vanilla_tables_read_distribution",
    "winner_take_all_collision_probability",
]
