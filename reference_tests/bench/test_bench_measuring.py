"""What is counted, and who has a turn; how fast anything is, is no matter of tests."""

import threading
import time
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from bench_cases import PLAIN, TABLES, TINY, tiny_case

from pyslide import shared_memory
from pyslide.bench import SHAPES, ladder, measure, stages, workers
from pyslide.bench.cases import (
    COUNTED,
    MOST_BATCHES,
    PROFILED,
    WARM_UP,
    rows_needed,
    shape_of,
    some_rows,
    synthetic_rows,
)
from pyslide.bench.contenders import CONTENDERS, EngineContender, peers_named
from pyslide.bench.counts import next_counts
from pyslide.bench.memory import peak_copies
from pyslide.bench.run import REBUILD_INTERVAL, Measured, amortised, take_turns
from pyslide.bench.stages import REBUILD_STATIONS, STATIONS, Stopwatch, median_seconds, station, station_seconds
from pyslide.engine import ragged
from pyslide.engine.network import input_keys, neuron_keys
from pyslide.errors import OutOfRangeError


def slide(**settings):
    return CONTENDERS["slide"](tiny_case(**settings))


def test_contenders_side_by_side():
    tables, full = measure(tiny_case(), ["slide", "full softmax"], 3)
    assert tables.rebuild_milliseconds > 0 == full.rebuild_milliseconds
    assert tables.amortised_milliseconds == pytest.approx(tables.step_milliseconds + tables.rebuild_milliseconds / 50)
    assert tables.samples_per_second == pytest.approx(1e3 * 16 / tables.amortised_milliseconds)
    assert (full.active_neurons, full.touched_rows) == (60, 60)
    assert 20 <= tables.active_neurons < tables.touched_rows <= 60
    low, high = tables.quartiles_milliseconds
    assert low <= tables.step_milliseconds <= high
    assert tables.spread_milliseconds == high - low
    slowest = max(tables.amortised_milliseconds, full.amortised_milliseconds)
    assert tables.times_as_fast == pytest.approx(slowest / tables.amortised_milliseconds)
    assert min(tables.peak_megabytes, full.peak_megabytes) > 10  # an interpreter alone
    assert {"forward, active neurons", "optimiser, weights"} <= set(tables.stages) <= set(STATIONS.values())


def test_workers_beside_the_others():
    """Their turn is an interval between two rebuilds, and what it takes is shared by its steps."""
    crew, alone = measure(tiny_case(threads=2), ["asynchronous slide", "slide"], 1)
    assert crew.rebuild_milliseconds > 0
    assert crew.stages == {}  # they are in other processes
    assert 20 <= crew.active_neurons < crew.touched_rows <= 60
    assert alone.stages != {}


def test_a_turn_of_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_memory, "shared_folder", lambda size: str(tmp_path))
    measured = Measured("asynchronous slide", tiny_case(threads=2))
    contender = measured.contender
    before = contender.trainer.network.layers[1].weights.copy()
    try:
        assert len(list(tmp_path.iterdir())) == 1
        started = time.perf_counter()
        spent = measured.step()
        assert REBUILD_INTERVAL * spent <= time.perf_counter() - started
        assert contender.trainer.network.steps == REBUILD_INTERVAL
        assert contender.trainer.epoch == 1
        members = contender.trainer.network.layers[1].tables.tables.members.copy()
        measured.rebuild()
        tables = contender.trainer.network.layers[1].tables.tables
        assert all(shared_memory.is_mapped(array) for array in tables.arrays().values())
        assert not np.array_equal(tables.members, members)
    finally:
        measured.close()
    assert list(tmp_path.iterdir()) == []
    assert not np.array_equal(contender.trainer.network.layers[1].weights, before)


def test_an_interrupted_run_of_workers_is_no_measurement(monkeypatch):
    monkeypatch.setattr(workers, "run_asynchronously", lambda *arguments: False)
    with pytest.raises(KeyboardInterrupt):
        workers.measure_workers(tiny_case(), [2])


def test_a_rebuild_is_shared_by_the_steps_of_an_interval():
    assert amortised(10.0, 100.0, REBUILD_INTERVAL) == 12.0


def test_turns_alternate_and_the_first_are_not_timed():
    asked = []

    class Recorder:
        def __init__(self, name):
            self.name = name

        def ask(self, method):
            asked.append((self.name, method))
            return len(asked)

    seconds = take_turns({name: Recorder(name) for name in "abc"}, 2)
    assert asked == [(name, "step") for _ in range(WARM_UP + 2) for name in "abc"]
    assert seconds == {name: [3 * WARM_UP + place, 3 * WARM_UP + 3 + place] for place, name in enumerate("abc", 1)}


@pytest.mark.parametrize("layout", ["per_sample", "union_of_batch"])
def test_counts_are_those_of_the_next_step(layout):
    contender = slide(conventions=PLAIN.replace(active_set=layout))
    trainer = contender.trainer
    for _ in range(3):
        counts = contender.counts()
        rows = trainer.row_order[trainer.position : trainer.position + 16]
        before = [layer.weights.copy() for layer in trainer.network.layers]
        record = trainer.step()
        moved = [layer.weights != old for layer, old in zip(trainer.network.layers, before, strict=True)]
        assert counts.samples == record.samples
        assert counts.active == round(record.active_share * 60 * 16)
        assert counts.touched == moved[1].any(axis=1).sum() < counts.active
        assert counts.features == trainer.features[rows].nnz
        assert counts.touched_features == moved[0].any(axis=0).sum() < counts.features
        assert (counts.hidden, counts.neurons, counts.tables, counts.number_bytes) == (16, 60, 5, 4)


def test_counting_changes_nothing():
    plain, counted = slide(), slide()
    for _ in range(3):
        counted.counts()
        counted.step()
        plain.step()
    for ours, theirs in zip(plain.trainer.network.layers, counted.trainer.network.layers, strict=True):
        assert np.array_equal(ours.weights, theirs.weights)


def test_retrieved_members_are_counted_with_repeats():
    trainer = slide().trainer
    tables, conventions = trainer.network.layers[1].tables, trainer.settings.conventions
    first = trainer.network.layers[0]
    features = trainer.features[trainer.row_order[:16]]
    hidden = np.maximum(features @ first.weights.T + first.biases, 0)
    inputs = input_keys(hidden, tables, conventions)  # (B, L)
    neurons = neuron_keys(trainer.network.layers[1], tables, conventions)[0]  # (N, L)
    assert next_counts(trainer).retrieved == (inputs[:, None] == neurons[None]).sum() > 0


def test_contenders_say_how_large_a_step_is():
    case = tiny_case()
    assert tuple(Measured("full softmax", case).contender.sizes()) == (60, 60)
    contender = slide()
    counts = contender.counts()
    assert tuple(contender.sizes()) == (counts.active / 16, counts.touched)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_station_exists_and_is_seen_in_a_step(threads):
    """Renamed, moved, or called by another thread, a station fails here."""
    case = tiny_case(threads=threads)
    with_tables, without = EngineContender(case, hashing=case.hashing), EngineContender(case)
    names = {name: name for name in STATIONS}
    seen = {**station_seconds(with_tables.step, names, threads), **station_seconds(without.step, names, threads)}
    assert set(seen) == set(STATIONS)
    assert all(seconds > 0 for seconds in seen.values())
    rebuilt = station_seconds(with_tables.rebuild, REBUILD_STATIONS, threads)
    assert list(rebuilt) == list(REBUILD_STATIONS.values())


def test_functions_are_themselves_again():
    before = [station(name) for name in STATIONS]
    with pytest.raises(ZeroDivisionError):
        station_seconds(lambda: 1 / 0, STATIONS, 1)
    assert [station(name) for name in STATIONS] == before
    with pytest.raises(AttributeError, match="no_such_station"):
        station_seconds(lambda: None, {"forward.no_such_station": ""}, 1)


def test_what_threads_do_side_by_side_is_shared_out():
    watch = Stopwatch(4)
    watch.add("station", 1.0)
    other = threading.Thread(target=watch.add, args=("station", 2.0))
    other.start()
    other.join()
    assert watch.seconds == {"station": 1.5}


def test_functions_that_share_a_description_are_added_up(monkeypatch):
    clock = iter([0, 1, 10, 12])
    monkeypatch.setattr(stages.time, "perf_counter", lambda: next(clock))
    twice = {"ragged.offsets_of": "offsets", "ragged.group_starts": "offsets"}

    def action():
        ragged.offsets_of(np.arange(3))
        ragged.group_starts(np.arange(3))

    assert station_seconds(action, twice, 1) == {"offsets": 3}


def test_a_station_that_was_not_called_took_no_time():
    assert median_seconds([{"a": 3.0}, {"a": 1.0, "b": 5.0}, {"a": 2.0}]) == {"a": 2.0, "b": 0.0}


@pytest.mark.peers
def test_pytorch_computes_what_we_do():
    """Three steps from the same weights move the output layer alike.

    Not to the last digit: PyTorch's hidden layer has no biases here, and ours moves them by 1e-3 a step.
    """
    pytest.importorskip("torch", reason="PyTorch is the extra `peers`")
    case = tiny_case()
    ours = CONTENDERS["full softmax"](case)
    theirs = CONTENDERS["torch full softmax"](case)
    ours.trainer.row_order = np.arange(case.data.rows)
    torch = theirs.torch
    first, last = ours.trainer.network.layers
    with torch.no_grad():
        theirs.embedding.weight.copy_(torch.from_numpy(first.weights.T.copy()))
        theirs.output.weight.copy_(torch.from_numpy(np.ascontiguousarray(last.weights)))
        theirs.output.bias.zero_()
    theirs.adam.param_groups[0]["lr"] = ours.trainer.settings.optimizer.learning_rate
    for _ in range(3):
        ours.step()
        theirs.step()
    np.testing.assert_allclose(theirs.output.bias.detach().numpy(), last.biases, rtol=0.2, atol=2e-4)
    moved = theirs.output.weight.detach().numpy()
    assert np.corrcoef(moved.ravel(), last.weights.ravel())[0, 1] > 0.999
    assert tuple(theirs.sizes()) == (60, 60)


@pytest.mark.peers
def test_pytorch_computes_our_sampled_softmax():
    """Three steps from the same weights with the same candidates; as close as the full softmax, for the same reason."""
    pytest.importorskip("torch", reason="PyTorch is the extra `peers`")
    case = tiny_case()
    ours, theirs = CONTENDERS["sampled softmax"](case), CONTENDERS["torch sampled softmax"](case)
    ours.trainer.row_order = np.arange(case.data.rows)
    theirs.generator = deepcopy(ours.trainer.streams["steps"])
    torch = theirs.torch
    first, last = ours.trainer.network.layers
    before = last.weights.copy()
    with torch.no_grad():
        theirs.embedding.weight.copy_(torch.from_numpy(first.weights.T.copy()))
        theirs.weights.weight.copy_(torch.from_numpy(before))
    theirs.sparse_adam.param_groups[0]["lr"] = ours.trainer.settings.optimizer.learning_rate
    for _ in range(3):
        assert tuple(theirs.sizes()) == tuple(ours.sizes())
        ours.step()
        theirs.step()
    moved = theirs.weights.weight.detach().numpy()
    assert np.array_equal((moved != before).any(axis=1), (last.weights != before).any(axis=1))
    np.testing.assert_allclose(theirs.biases.weight.detach().numpy()[:, 0], last.biases, rtol=0.2, atol=2e-4)
    assert np.corrcoef((moved - before).ravel(), (last.weights - before).ravel())[0, 1] > 0.99


def test_a_sampled_softmax_draws_as_many_as_slide_is_filled_up_to():
    sampled = CONTENDERS["sampled softmax"](tiny_case())
    assert 20 <= sampled.sizes().active < 30
    assert sampled.sizes().touched < 60
    assert not sampled.has_tables


def test_peers_by_name():
    everybody = tuple(name for name in CONTENDERS if name != "slide")
    assert peers_named("all") == everybody
    assert peers_named("torch") == tuple(name for name in everybody if name.startswith("torch "))
    assert peers_named("full softmax") == ("full softmax",)
    for word in ("slide", "tor", "torch full softmax 2", ""):
        with pytest.raises(OutOfRangeError, match="torch full softmax"):
            peers_named(word)


def test_every_step_has_rows_of_its_own():
    assert rows_needed(TINY, 60) == 16 * (WARM_UP + 60 + PROFILED + COUNTED)
    assert rows_needed(TINY, 4) == 16 * REBUILD_INTERVAL  # those of a turn of workers
    one, two = synthetic_rows(TINY, 4), synthetic_rows(TINY, 4)
    assert one.rows == rows_needed(TINY, 4)
    assert rows_needed(TINY, 10**6) == 16 * MOST_BATCHES
    assert (one.features != two.features).nnz == 0


def test_some_rows_of_a_file():
    data = synthetic_rows(TINY, 4)
    shape = shape_of(data)
    assert (shape.features, shape.labels, shape.nonzeros) == (200, 60, round(data.features.nnz / data.rows))
    part = some_rows(data, 50)
    assert part.rows == 50
    rows = {row.tobytes() for row in data.features.toarray()}
    chosen = [row.tobytes() for row in part.features.toarray()]
    assert set(chosen) <= rows
    assert len(set(chosen)) == 50
    assert (some_rows(data, 10**6).features != data.features).nnz == 0


def test_peak_memory_counts_the_largest_moment():
    case = tiny_case()
    wide, narrow = (peak_copies(case._replace(hashing=replace(TABLES, tables=tables))) for tables in (200, 2))
    assert wide > narrow > 3  # weights and two moments


@pytest.mark.parametrize(
    ("family", "bin_size", "neurons", "codes"),
    [("dwta", 8, 10**4, 4), ("dwta", 8, 10**6, 6), ("dwta", 8, 8**5, 5), ("dwta", 8, 8**5 - 1, 4), ("wta", 4, 3, 1),
     ("simhash", 8, 1024, 10)],
)  # fmt: skip
def test_codes_that_fit_a_width(family, bin_size, neurons, codes):
    tables = replace(TABLES, family=family, bin_size=bin_size)
    assert ladder.fitting_codes(tables, neurons) == replace(tables, codes_per_table=codes)


def test_rungs_take_turns(monkeypatch):
    small = {"width-1000": TINY, "width-10000": TINY._replace(labels=100), "width-100000": TINY._replace(labels=200)}
    monkeypatch.setattr(ladder, "SHAPES", small)
    monkeypatch.setattr(ladder, "BASE", 100)
    rungs = ladder.climb(dict.fromkeys(small, TABLES), PLAIN, 1, 1)
    assert [rung.outputs for rung in rungs] == [60, 100, 200]
    steps = [rung.measurement.step_milliseconds for rung in rungs]
    assert ladder.times_base(rungs) == [steps[0] / steps[1], 1.0, steps[2] / steps[1]]
    assert ladder.times_base(rungs[2:]) == [1.0]
    assert tuple(SHAPES[name].labels for name in ladder.RUNGS) == (10**3, 10**4, 10**5, 10**6)
