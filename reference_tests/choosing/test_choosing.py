"""The calculator against exact laws of whole buckets, a search of every K, L and bucket size, and real tables."""

from __future__ import annotations

import numpy as np
import pytest

from pyslide import theory
from pyslide.choosing import CAPACITIES, Collisions, OneTable, Wish, candidates, fewest, nearest_misses, table_bytes
from pyslide.conventions import PAPER
from pyslide.engine.tables import build_tables
from pyslide.errors import OutOfRangeError
from pyslide.randomness import draw_family
from pyslide.settings import Hashing

SIMHASH = Hashing(family="simhash")
WISH = Wish(neurons=400, hashing=SIMHASH, inputs=32, recall=0.8, active=60, tables=30)
COLLISIONS = Collisions.of(0.9, 0.6)


def wish(**changes):
    return Wish(**{"neurons": 10, "hashing": SIMHASH, "inputs": 32, "active": 5, **changes})


@pytest.mark.parametrize("capacity", [16, 1, 3])
@pytest.mark.parametrize("tables", [1, 4])
def test_recall_is_that_of_a_reservoir(capacity, tables):
    """Ten neurons, of which the first is wanted: the law of whole buckets, by convolution."""
    hits = np.array([0.9, *[0.7] * 9]) ** 2
    in_one = theory.reservoir_retrieval_probabilities(hits, capacity)[0]
    expected = float(theory.retrieved_from_any_table(in_one, tables))
    table = OneTable(wish(), Collisions.of(0.9, 0.7), 2, capacity)
    assert table.recall(tables) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("capacity", [1, 3])
def test_recall_is_that_of_fifo_at_any_place(capacity):
    others = [0.7**2] * 9
    places = [theory.fifo_retrieval_probabilities([*others[:n], 0.9**2, *others[n:]], capacity)[n] for n in range(10)]
    table = OneTable(wish(), Collisions.of(0.9, 0.7), 2, capacity)
    assert table.recall(1) == pytest.approx(np.mean(places), rel=1e-12)


@pytest.mark.parametrize("capacity", [None, 2])
def test_active_neurons_where_all_are_alike(capacity):
    """Keys are uniform, as if drawn: the exact count of theory, reached by another way."""
    hashing = Hashing(family="wta", bin_size=4)
    table = OneTable(wish(neurons=50, hashing=hashing), Collisions.of(0.25, 0.25), 2, capacity)
    assert table.active(7) == pytest.approx(theory.uniform_active_count(50, 16, 7, capacity, "reservoir"), rel=1e-12)


def test_each_input_has_its_own_bucket():
    """Where half of the inputs meet everybody, their buckets overflow and the others' do not."""
    both = Collisions(np.array([0.9, 0.9]), np.array([0, 1]), np.array([[1.0, 1.0], [0.1, 0.1]]))
    alone = [OneTable(WISH, Collisions.of(0.9, other), 2, 16) for other in (1.0, 0.1)]
    together = OneTable(WISH, both, 2, 16)
    assert together.recall(3) == pytest.approx(np.mean([one.recall(3) for one in alone]), rel=1e-12)
    assert together.active(3) == pytest.approx(np.mean([one.active(3) for one in alone]), rel=1e-12)
    overflow = 1 - np.array([one.loads[0] * one.kept[0] for one in alone]).sum() / sum(one.loads[0] for one in alone)
    assert together.candidate(3).overflow == pytest.approx(overflow, rel=1e-12)


def test_a_narrow_table_folds_keys():
    """With keys of 3 bits in 4 buckets one in four of the different keys lands in the same one."""
    table = OneTable(wish(hashing=Hashing(family="simhash", table_bits=2)), COLLISIONS, 3, None)
    assert table.key_hits(0.5) == pytest.approx(0.125 + 0.875 / 4)
    assert OneTable(wish(), COLLISIONS, 3, None).key_hits(0.5) == 0.125


def searched(wish, collisions):
    """Every K, L and bucket size that fulfils a wish, looked at one by one."""
    for codes in range(1, 30):
        for capacity in (*CAPACITIES, None):
            table = OneTable(wish, collisions, codes, capacity)
            for tables in range(1, wish.tables + 1):
                one = table.candidate(tables)
                yield one, one.recall >= wish.recall, one.active <= wish.active


def test_candidates_are_what_a_search_finds():
    fulfilled = [one for one, finds, few in searched(WISH, COLLISIONS) if finds and few]
    smallest: dict = {}
    for one in sorted(fulfilled, key=lambda one: (one.tables, one.capacity or 10**9)):
        smallest.setdefault((one.codes_per_table, one.capacity), one)
    unique: dict = {}
    for one in smallest.values():
        unique.setdefault((one.codes_per_table, one.tables), one)
    found = candidates(WISH, COLLISIONS)
    assert len(found) > 3
    assert set(found) == set(unique.values())
    assert found == sorted(found, key=lambda one: (one.sample_reads, one.active))


@pytest.mark.parametrize("active", [20, 5])
def test_what_is_missed_is_the_nearest(active):
    tight = Wish(neurons=400, hashing=SIMHASH, inputs=32, recall=0.95, active=active, tables=4)
    assert candidates(tight, COLLISIONS) == []
    looked_at = list(searched(tight, COLLISIONS))
    misses = nearest_misses(tight, COLLISIONS)
    assert misses["active"].active == min(one.active for one, finds, _ in looked_at if finds)
    assert misses["recall"].recall == max(one.recall for one, _, few in looked_at if few)
    more = misses["tables"]
    assert (more.recall >= 0.95, more.active <= active, more.tables > 4) == (True, True, True)
    fewer = Wish(neurons=400, hashing=SIMHASH, inputs=32, recall=0.95, active=active, tables=more.tables - 1)
    assert candidates(fewer, COLLISIONS) == []
    enough = Wish(neurons=400, hashing=SIMHASH, inputs=32, recall=0.95, active=active, tables=more.tables)
    assert more in candidates(enough, COLLISIONS)


def test_those_no_more_alike_than_others_cannot_be_told_apart():
    assert candidates(WISH, Collisions.of(0.6, 0.6)) == []
    assert "tables" not in nearest_misses(WISH, Collisions.of(0.6, 0.6))


@pytest.mark.parametrize(("codes", "capacity"), [(2, 16), (6, 16), (9, None)])
def test_memory_is_that_of_real_tables(codes, capacity):
    keys = np.random.default_rng(1).integers(0, 2**codes, size=(5000, 3))
    policy = "unlimited" if capacity is None else "fifo"
    built = build_tables(keys, np.arange(5000), capacity or 1, np.zeros((3, 5000)), policy, 18)
    real = sum(array.nbytes for array in (built.addresses, built.offsets, built.members, built.arrivals))
    bound = 3 * table_bytes(wish(neurons=5000), codes, capacity)
    assert real <= bound + 8  # one offset more than buckets
    assert real > 0.7 * bound  # addresses of few tables are 4 bytes wide, not 8


@pytest.mark.parametrize("family", ["simhash", "wta", "dwta", "minhash"])
def test_reads_are_those_of_a_drawn_family(family):
    hashing = Hashing(family=family, codes_per_table=3, tables=5, bin_size=4)
    drawn = draw_family(np.random.default_rng(0), hashing, 32, PAPER)
    read = drawn.coordinates if family == "simhash" else drawn.bins
    one = OneTable(wish(hashing=hashing), COLLISIONS, 3, None).candidate(5)
    assert (one.sample_reads, one.rebuild_reads) == (read.size, 10 * read.size)


def test_fewest_is_the_first_that_reaches():
    assert fewest(lambda n: n * n, 10, 9) == 4
    assert fewest(lambda n: n * n, 1, 9) == 1
    assert fewest(lambda n: n * n, 82, 9) is None


@pytest.mark.parametrize(
    "changes", [{"neurons": 1}, {"recall": 1.0}, {"recall": 0.0}, {"active": 0}, {"active": 11}, {"tables": 0}]
)
def test_impossible_wishes_are_refused(changes):
    with pytest.raises(OutOfRangeError):
        wish(**changes)


def test_what_are_no_collisions_is_refused():
    with pytest.raises(OutOfRangeError):
        Collisions.of(1.5, 0.5)
    with pytest.raises(OutOfRangeError):
        Collisions(np.array([0.5]), np.array([1]), np.array([[0.5]]))
    with pytest.raises(OutOfRangeError):
        Collisions(np.array([]), np.array([], dtype=int), np.array([[0.5]]))
