"""The bytes that stages must move, beside the arrays of real steps."""

import numpy as np
import pytest
from bench_cases import PLAIN, TABLES, tiny_case

from pyslide.bench import bandwidth, traffic
from pyslide.bench.bandwidth import Bandwidth, measure_bandwidth
from pyslide.bench.contenders import CONTENDERS
from pyslide.bench.counts import Counts, mean_counts, next_counts
from pyslide.bench.roofline import beside_roofline, measure_roofline
from pyslide.bench.stages import REBUILD_STATIONS, STATIONS
from pyslide.bench.traffic import EVERY_ROW, REBUILD, STEP
from pyslide.engine.network import retrieve
from pyslide.engine.step import training_step

COUNTS = Counts(
    samples=16, features=140, touched_features=90, all_features=95, hidden=16, neurons=60, tables=5, retrieved=300,
    active=400,
    touched=55, number_bytes=4,
)  # fmt: skip


class Arrays:
    """The arrays of one step, ids in four bytes, by what they are."""

    def __init__(self):
        trainer = CONTENDERS["slide"](tiny_case()).trainer
        self.counts = next_counts(trainer)
        rows, conventions = trainer.row_order[:16], trainer.settings.conventions
        features = trainer.features[rows]
        state = trainer.streams["steps"].bit_generator.state
        draws = trainer.draws(16)
        trainer.streams["steps"].bit_generator.state = state
        result = training_step(
            trainer.network, features, trainer.labels[rows], draws, trainer.settings.optimizer, conventions
        )
        below, above = result.gradients
        first, last = trainer.network.layers
        output = result.batch_pass.layers[1]
        buckets = retrieve(output.inputs, last.tables, conventions)
        self.inputs = output.inputs
        self.places = np.empty(buckets.lengths.shape, dtype=np.int32)
        self.members = buckets.members.astype(np.int32)
        self.active = output.active.neurons.astype(np.int32)
        self.sums = output.sums
        self.error = above.left.data
        self.features, self.feature_ids = features.data, features.indices.astype(np.int32)
        self.touched, self.touched_features = above.rows.astype(np.int32), below.rows.astype(np.int32)
        self.rows = last.rows.values[above.rows]
        self.biases = last.biases[above.rows]
        self.feature_rows = first.rows.values[below.rows]
        self.hidden_sums = result.batch_pass.layers[0].sums
        self.hidden_biases = first.biases
        self.weights = last.weights
        self.keys = np.empty((last.neurons, last.tables.multipliers.size), dtype=np.int32)

    def bytes(self, *names):
        return sum(getattr(self, name).nbytes for name in names)


EXPECTED = {
    "hash inputs and read buckets": ["inputs", "places", "members", "members"],
    "choose active sets": ["members", "active"],
    "weights of random neurons": ["active", "sums"],
    "forward, all neurons": ["features", "feature_ids", "feature_rows", "hidden_sums"],
    "forward, active neurons": ["active", "rows", "biases", "inputs", "sums"],
    "softmax, targets, loss": ["sums", "sums", "sums"],
    "gradient factors, output": [*["error", "active"] * 2, "touched", "biases"],
    "gradient factors, input": [*["features", "feature_ids"] * 2, "touched_features"],
    "error of the layer below": ["error", "active", "inputs"],
    "join groups of samples": ["active", "sums", "sums", "sums", "error", "inputs"] * 2,
    "optimiser, weights": [
        "error", "active", "inputs", "features", "feature_ids", "hidden_sums", *["rows", "feature_rows"] * 6,
    ],
    "optimiser, biases": ["biases", "hidden_biases"] * 7,
    "rebuild: hash": ["weights", "keys"],
    "rebuild: tables": ["keys", "keys"],
}  # fmt: skip
"""What each stage reads and writes, a name for each time: Adam reads and writes three arrays."""


@pytest.fixture(scope="module")
def arrays():
    return Arrays()


@pytest.mark.parametrize("stage", EXPECTED)
def test_bytes_are_those_of_the_arrays(stage, arrays):
    assert {**STEP, **REBUILD}[stage].bytes_of(arrays.counts) == arrays.bytes(*EXPECTED[stage])


def test_every_stage_has_its_bytes():
    assert set(STEP) == set(STATIONS.values())
    assert set(REBUILD) == set(REBUILD_STATIONS.values())
    assert set(EXPECTED) == {*STEP, *REBUILD}
    assert {stage.kind for stage in (*STEP.values(), *REBUILD.values())} == set(Bandwidth._fields)


def test_double_precision_doubles_the_numbers_and_not_the_ids():
    double = COUNTS._replace(number_bytes=8)
    assert traffic.update_biases(double) == 2 * traffic.update_biases(COUNTS)
    assert traffic.active_sets(double) == traffic.active_sets(COUNTS)
    assert traffic.log_weights(double) == 12 * COUNTS.active


def test_a_stage_beside_the_roofline():
    speeds = Bandwidth(copy=1e9, gather=2e9, update=4e9)
    seconds = {"rebuild: tables": 1e-3, "choose active sets": 1e-3, "forward, active neurons": 1e-3}
    chosen, active, rebuilt = beside_roofline(seconds, COUNTS, speeds)
    assert [chosen.stage, active.stage, rebuilt.stage] == list(seconds)[1:] + list(seconds)[:1]
    assert (chosen.milliseconds, chosen.megabytes, chosen.bandwidth) == (1.0, 2800 / 1e6, "copy")
    assert chosen.roofline_milliseconds == pytest.approx(2.8e-3)
    assert chosen.times_roofline == pytest.approx(1 / 2.8e-3)
    assert active.roofline_milliseconds == pytest.approx(1e3 * traffic.active_forward(COUNTS) / 2e9)


def test_where_every_weight_moves_all_rows_are_counted():
    seconds, speeds = dict.fromkeys({*STEP, *REBUILD}, 1.0), Bandwidth(1e9, 1e9, 1e9)
    some, all_ = (beside_roofline(seconds, COUNTS, speeds, everything=everything) for everything in (False, True))
    grown = {one.stage for one, other in zip(some, all_, strict=True) if other.megabytes > one.megabytes}
    assert grown == set(EVERY_ROW)
    weights = next(one for one in all_ if one.stage == EVERY_ROW[0])
    assert weights.megabytes == traffic.update_rows(COUNTS._replace(touched=60, touched_features=95)) / 1e6


def test_means_of_counts_are_whole():
    mean = mean_counts([COUNTS, COUNTS._replace(active=403)])
    assert mean == COUNTS._replace(active=402)  # 401.5 to even
    assert all(type(value) is int for value in mean)


def test_measured_in_one_run():
    case = tiny_case(conventions=PLAIN)
    measured = measure_roofline(case, 2)
    assert all(speed > 0 for speed in measured.bandwidth)
    assert measured.counts.tables == TABLES.tables
    names = {name for name in STEP if name != "weights of random neurons"}  # all weigh one in the paper
    assert {stage.stage for stage in measured.stages} == names | set(REBUILD)
    assert all(stage.milliseconds > 0 and stage.megabytes > 0 for stage in measured.stages)


@pytest.mark.parametrize("threads", [1, 2])
def test_bandwidth_counts_bytes_read_and_bytes_written(monkeypatch, threads):
    """With a second for everything, a bandwidth is its bytes: copied ones are read and written, gathered ones read."""
    seen = []

    def once(action):
        action()
        seen.append(action)
        return 1.0

    monkeypatch.setattr(bandwidth, "median_time", once)
    rows = 5000
    size = rows * 128 * 4
    assert measure_bandwidth(threads, rows) == (2 * size, size, 3 * size)
    assert len(seen) == 3


def test_time_is_a_median_after_a_first_that_is_not_timed(monkeypatch):
    clock = iter([0, 5, 10, 11, 20, 22, 30, 39, 40, 43])
    monkeypatch.setattr(bandwidth.time, "perf_counter", lambda: next(clock))
    calls = []
    assert bandwidth.median_time(lambda: calls.append(0)) == 3
    assert len(calls) == 6
