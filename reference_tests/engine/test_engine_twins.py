"""Every public function of the engine is named here with the test that holds it to its twin in the spec."""

import importlib
import inspect
import pkgutil

import pytest

import pyslide.engine

HASHING, TABLES, SAMPLING = "test_engine_hashing", "test_engine_tables", "test_engine_sampling"
STATIONS, STEPS = "test_engine_stations", "test_engine_steps"
CANDIDATES = "test_engine_candidates"

TWINS = {
    "hashing.densification": {"densify": HASHING, "borrow": HASHING, "fill_from_undensified": HASHING,
                              "fill_in_order": HASHING},
    "hashing.densified_winner_take_all": {"densified_winner_take_all_codes": HASHING, "occupied_codes": HASHING},
    "hashing.family": {"hash_codes": HASHING, "chunk_codes": HASHING, "own_family_codes": HASHING},
    "hashing.minhash": {"minhash_codes": HASHING, "first_members": HASHING, "largest_coordinates": HASHING},
    "hashing.simhash": {"simhash_codes": HASHING, "projection_sums": HASHING, "exact_sums": HASHING,
                        "keep_sign": HASHING, "doubtful": HASHING, "projection_matrix": HASHING},
    "hashing.winner_take_all": {"winner_take_all_codes": HASHING, "first_maxima": HASHING},
    "keys": dict.fromkeys(["bucket_keys", "positional_keys", "positional_reversed_keys", "whole_bits_keys",
                           "natural_log_bits_keys", "fold_keys", "weighted_digits", "require_digits"], HASHING),
    "tables": dict.fromkeys(["build_tables", "insert_all", "delete", "move", "query_tables", "empty_tables", "hold_all",
                             "in_buckets", "keep_newest", "merge_addresses", "place", "join", "addresses_of",
                             "fifo_slots", "find_buckets", "reservoir_slots", "one_over_n_slots",
                             "in_order_of_arrival"], TABLES),
    "ragged": dict.fromkeys(["offsets_of", "spans", "segment_reduce", "pack", "unpack", "pack_sets", "distinct",
                             "group_starts", "contains", "join_sets", "ranks_in_groups"], TABLES),
    "sampling": dict.fromkeys(["active_sets", "are_members", "counts", "first_in_time", "first_occurrences",
                               "force_labels",
                               "hard_threshold", "intersection", "label_sets", "log_weights", "nobody", "pad", "sample",
                               "select", "share", "top_k", "union", "vanilla", "within_budget"], SAMPLING),
    "candidates": dict.fromkeys(["candidate_sets", "candidate_log_weights"], CANDIDATES),
    "forward": dict.fromkeys(["all_preactivations", "preactivations", "dense_products", "sparse_products", "gathered",
                              "sample_blocks", "relu", "hidden_output", "softmax", "stable_softmax",
                              "softmax_from_zero"], STATIONS),
    "loss": dict.fromkeys(["targets", "log_softmax", "cross_entropy"], STATIONS),
    "backward": dict.fromkeys(["output_error", "sampled_gradient", "full_gradient", "touched_columns",
                               "sampled_input_error", "full_input_error", "dense_input_errors", "sparse_input_errors",
                               "through_relu"], STATIONS),
    "optimizer": dict.fromkeys(["adam", "sgd", "update_rows", "update_chunk", "update_biases", "gradient_rows",
                                "as_items", "fetch", "store",
                                "spread"], STATIONS),
    "schedule": dict.fromkeys(["rebuild_times", "rebuild_steps"], STATIONS),
    "vectors": dict.fromkeys(["append_coordinate", "checked_batch", "entries", "is_sparse", "row_slices"], STATIONS),
    "network": dict.fromkeys(["new_layer", "keys_of", "neuron_keys", "input_keys", "rebuild", "retrieve"], STEPS),
    "step": dict.fromkeys(["backward", "gradients_from", "hidden_forward", "join_errors", "join_passes",
                           "output_errors", "choose_for_batch", "pass_layer", "sample_groups", "there_and_back",
                           "choice_log_weights", "choose_active", "error_below", "everyone", "finish_pass", "forward",
                           "layer_backward", "layer_forward", "training_step", "update_layer"], STEPS),
    "threads": {},
}  # fmt: skip


def modules():
    """Return the engine's modules by their name inside the package."""
    root = pyslide.engine.__name__ + "."
    found = pkgutil.walk_packages(pyslide.engine.__path__, root)
    return {one.name.removeprefix(root): importlib.import_module(one.name) for one in found if not one.ispkg}


def functions(module):
    """Return the public functions that a module defines."""
    return {
        name
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if value.__module__ == module.__name__ and not name.startswith("_")
    }


def test_no_module_is_forgotten():
    assert set(modules()) == set(TWINS)


@pytest.mark.parametrize("name", TWINS)
def test_no_function_is_without_its_test(name):
    assert functions(modules()[name]) == set(TWINS[name])


@pytest.mark.parametrize("test", [HASHING, TABLES, SAMPLING, CANDIDATES, STATIONS, STEPS])
def test_the_tests_exist(test):
    assert any(name.startswith("test_") for name in vars(importlib.import_module(test)))
