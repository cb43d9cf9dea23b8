"""From settings and streams to a network: what is drawn, from which stream, and who is in the tables."""

import numpy as np
import pytest

from pyslide.building import build_network, rebuild_layer
from pyslide.conventions import PAPER
from pyslide.engine.network import neuron_keys
from pyslide.errors import OutOfRangeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.randomness import generators
from pyslide.settings import Hashing, LayerSettings

FAMILIES = {
    "dwta": DensifiedWinnerTakeAllParameters,
    "simhash": SimHashParameters,
    "wta": WinnerTakeAllParameters,
    "minhash": MinHashParameters,
}
FEATURES, HIDDEN, LABELS = 30, 12, 50


def tables(**changes):
    return Hashing(**{"codes_per_table": 2, "tables": 5, "bin_size": 4, "capacity": 3, **changes})


def network(hashing=None, conventions=PAPER, dtype="float32", seed=0, scale=0.1):
    layers = (LayerSettings(neurons=HIDDEN), LayerSettings(neurons=LABELS, hashing=hashing, initial_scale=scale))
    return build_network(layers, FEATURES, conventions, *generators(seed, 2), dtype)


def rebuilt(hashing, conventions=PAPER, new_functions=False):
    one = network(hashing, conventions)
    generator = np.random.default_rng(5)
    rebuild_layer(one.layers[1], hashing, conventions, generator, new_functions=new_functions)
    return one.layers[1]


def test_shapes_and_memory_order():
    hidden, output = network(tables()).layers
    assert (hidden.weights.shape, output.weights.shape) == ((HIDDEN, FEATURES), (LABELS, HIDDEN))
    assert hidden.weights.flags.f_contiguous
    assert output.weights.flags.c_contiguous
    assert (hidden.touches.size, output.touches.size) == (FEATURES, LABELS)
    for layer in (hidden, output):
        assert layer.rows.values.flags.c_contiguous
        for name in ("biases", "weight_first", "weight_second", "bias_first", "bias_second", "touches", "bias_touches"):
            assert not getattr(layer, name).any(), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_weights_with_tables_and_without(dtype):
    """A comparison of SLIDE with the full softmax starts from the same network."""
    plain = network(dtype=dtype)
    for hashing in (tables(), tables(family="simhash", tables=9)):
        other = network(hashing, dtype=dtype)
        for layer, twin in zip(plain.layers, other.layers, strict=True):
            assert layer.weights.dtype == twin.weights.dtype == dtype
            assert np.array_equal(layer.weights, twin.weights)


def test_seeds_and_scales():
    weights = network(scale=0.5).layers[1].weights
    assert np.array_equal(weights, network(scale=0.5).layers[1].weights)
    assert not np.array_equal(weights, network(scale=0.5, seed=1).layers[1].weights)
    np.testing.assert_allclose(weights, 5 * network(scale=0.1).layers[1].weights, rtol=1e-6)
    assert not network(scale=0).layers[1].weights.any()


@pytest.mark.parametrize("name", FAMILIES)
def test_families_by_name(name):
    built = network(tables(family=name)).layers[1].tables
    assert type(built.family) is FAMILIES[name]
    assert built.family.code_count == 10
    assert built.family.dimension == HIDDEN
    assert built.multipliers.shape == (5,)
    assert built.tables.members.size == 0
    hashed = network(tables(family=name), PAPER.replace(bias_hashing="hashed")).layers[1].tables
    assert hashed.family.dimension == HIDDEN + 1


def test_bins_wider_than_the_input_are_refused():
    with pytest.raises(OutOfRangeError, match="at most the 12 coordinates, got 13"):
        network(tables(bin_size=13))


def members_by_table(layer):
    held = layer.tables.tables
    table = np.repeat(held.addresses >> held.table_bits, held.sizes)
    return [sorted(held.members[table == number].tolist()) for number in range(5)]


def test_every_neuron_is_once_in_every_table():
    layer = rebuilt(tables(), PAPER.replace(bucket_policy="unlimited"))
    assert members_by_table(layer) == [list(range(LABELS))] * 5


def test_full_buckets_keep_the_newest():
    layer = rebuilt(tables())
    keys = neuron_keys(layer, layer.tables, PAPER)[0]
    held = layer.tables.tables
    for place, address in enumerate(held.addresses):
        table, key = divmod(int(address), 2**held.table_bits)
        wanted = np.flatnonzero(keys[:, table] == key)[-3:]
        assert held.members[held.offsets[place] : held.offsets[place + 1]].tolist() == wanted.tolist()
    assert held.arrivals.sum() == 5 * LABELS > held.members.size


@pytest.mark.parametrize(
    ("answers", "draws"),
    [
        ({}, 0),
        ({"bucket_policy": "reservoir"}, 1),
        ({"insertion_order": "given_order"}, 1),
    ],
)
def test_only_random_answers_draw(answers, draws):
    """Two rebuilds in a row, from one stream: other members if and only if something is drawn."""
    conventions, hashing = PAPER.replace(**answers), tables(capacity=2, codes_per_table=1)
    layer = network(hashing, conventions).layers[1]
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    rebuild_layer(layer, hashing, conventions, generator, new_functions=False)
    first = layer.tables.tables.members
    rebuild_layer(layer, hashing, conventions, generator, new_functions=False)
    assert (generator.bit_generator.state != before) == bool(draws)
    assert np.array_equal(first, layer.tables.tables.members) != bool(draws)


def test_new_functions_only_on_request():
    hashing = tables()
    layer = network(hashing).layers[1]
    family, multipliers = layer.tables.family, layer.tables.multipliers.copy()
    rebuild_layer(layer, hashing, PAPER, np.random.default_rng(0), new_functions=False)
    assert layer.tables.family is family
    rebuild_layer(layer, hashing, PAPER, np.random.default_rng(0), new_functions=True)
    assert not np.array_equal(layer.tables.family.bins, family.bins)
    assert np.array_equal(layer.tables.multipliers, multipliers)
