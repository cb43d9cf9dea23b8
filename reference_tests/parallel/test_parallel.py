"""Workers: one gives what the plain trainer gives, several learn, faults surface, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pyslide import checkpoint, parallel, shared_memory
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.engine.network import neuron_keys
from pyslide.engine.tables import empty_tables
from pyslide.errors import NonFiniteError, OutOfRangeError
from pyslide.evaluation import evaluate
from pyslide.parallel import WorkerDiedError, Workers, crew_of, hash_in_workers, hash_share, run_asynchronously
from pyslide.randomness import generators
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, Trainer, TrainingSettings

HASHING = Hashing(codes_per_table=2, tables=8, bin_size=4, sampling=Sampling(minimum_active=20))
LAYERS = (LayerSettings(neurons=16), LayerSettings(neurons=60, hashing=HASHING))
SETTINGS = TrainingSettings(
    layers=LAYERS, batch_size=16, seed=4, optimizer=Optimizer(learning_rate=5e-3), schedule=Schedule(first_interval=7)
)


def planted(rows=600, seed=1):
    (generator,) = generators(seed, 1)
    return planted_dataset(rows, 80, 60, generator, nonzeros_per_row=12, labels_per_row=2.0)


@pytest.fixture(scope="module")
def data():
    return planted()


def trainer_on(data, settings=SETTINGS):
    return Trainer(settings, data.features, data.labels)


def same(one, other):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.network.layers, other.network.layers, strict=True)
        for name in ("weights", "biases", "weight_first", "weight_second", "bias_first", "touches")
    )


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Return where the files of workers, and of joblib, would be left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shared_memory, "shared_folder", lambda size: str(tmp_path))
    return tmp_path


def left_behind(folder):
    return [path for path in folder.rglob("*") if "pyslide" in path.name or "joblib" in path.name]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_one_worker_is_the_plain_trainer_bit_for_bit(data, kind):
    plain, worked = trainer_on(data), trainer_on(data)
    plain.run(2)
    assert run_asynchronously(worked, 2, Workers(count=1, kind=kind))
    assert same(plain, worked)
    assert (worked.epoch, worked.position, worked.rebuilds) == (plain.epoch, plain.position, plain.rebuilds)
    losses = [[row["loss"] for row in one.history] for one in (plain, worked)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_one_worker_with_a_sampled_softmax_is_the_plain_trainer_bit_for_bit(data, kind):
    """Two draw the same candidates for a batch, whoever trains on it."""
    output = LayerSettings(neurons=60, candidates=CandidateSampling(distribution="log_uniform", count=12))
    settings = TrainingSettings(**{**vars(SETTINGS), "layers": (LAYERS[0], output)})
    plain, worked, shared = (trainer_on(data, settings) for _ in range(3))
    plain.run(2)
    assert run_asynchronously(worked, 2, Workers(count=1, kind=kind))
    assert same(plain, worked)
    assert run_asynchronously(shared, 2, Workers(count=2, kind=kind))
    assert [row["active_share"] for row in shared.history] == [row["active_share"] for row in plain.history]


def test_processes_one_batch_at_a_time_are_the_plain_trainer_bit_for_bit(data):
    """One worker needs no other process; with a rebuild after every step a batch at a time goes to one of two."""
    settings = TrainingSettings(**{**vars(SETTINGS), "schedule": Schedule(first_interval=1)})
    plain, worked = trainer_on(data, settings), trainer_on(data, settings)
    plain.run(1)
    run_asynchronously(worked, 1, Workers(count=2, kind="processes"))
    assert same(plain, worked)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_what_is_saved_on_the_way_goes_on_to_the_same_end(data, kind, tmp_path):
    """Step 10 is in the midst of the second interval of seven steps."""

    def save(trainer, record):
        if record.step == 10:
            checkpoint.save(tmp_path / "on_the_way.npz", trainer)

    worked = trainer_on(data)
    run_asynchronously(worked, 1, Workers(count=1, kind=kind), [save])
    resumed = checkpoint.resume(tmp_path / "on_the_way.npz", data.features, data.labels)
    resumed.run(1)
    assert resumed.network.steps == worked.network.steps == 38
    assert [row["step"] for row in resumed.history] == list(range(1, 39))
    assert same(worked, resumed)


def test_rebuilt_tables_replace_the_older_ones_in_the_files_of_workers(data, folders):
    counted = []
    worked = trainer_on(data)
    run_asynchronously(
        worked,
        1,
        Workers(count=2, kind="processes"),
        [lambda trainer, record: counted.append(sum(path.is_file() for path in folders.rglob("*")))],
    )
    assert worked.rebuilds == 5
    assert len(set(counted)) == 1
    assert not isinstance(worked.network.layers[1].tables.tables.members, np.memmap)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_the_run_goes_on_where_workers_left_off(data, kind):
    plain, worked = trainer_on(data), trainer_on(data)
    plain.run(1)
    run_asynchronously(worked, 1, Workers(count=1, kind=kind), steps=9)
    assert worked.network.steps == 9
    worked.run(1)
    assert same(plain, worked)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_workers_take_every_batch_once_and_change_the_trainers_own_network(data, kind, folders):
    worked = trainer_on(data)
    network, layers = worked.network, list(worked.network.layers)
    before = [layer.weights.copy(order="K") for layer in layers]
    seen = []
    assert run_asynchronously(worked, 1, Workers(count=2, kind=kind), [lambda _, record: seen.append(record.step)])
    assert seen == list(range(1, 39))  # 600 rows in batches of 16
    assert worked.network.steps == 38
    assert worked.network is network
    for layer, mine, old in zip(network.layers, layers, before, strict=True):
        assert layer is mine
        assert type(layer.weights) is np.ndarray
        assert layer.weights.strides == old.strides
        assert not np.array_equal(layer.weights, old)
    assert left_behind(folders) == []


@pytest.fixture
def crew(data):
    """Return two processes that share a trainer's network, its tables still empty."""
    worked = trainer_on(data)
    with crew_of(worked, Workers(count=2, kind="processes")) as crew:
        layer = worked.network.layers[1]
        layer.tables.tables = empty_tables(layer.tables.table_bits)
        yield crew


def test_workers_hash_what_one_alone_does(crew, monkeypatch):
    """A half of the neurons each, a few at a time; the bins of a sparse neuron find no donor."""
    layer = crew.trainer.network.layers[1]
    layer.weights[:, :] = np.where(layer.weights > 0.15, layer.weights, 0)
    layer.weights[[3, 40]] = 0
    conventions = replace(PAPER, dense_input="as_its_nonzeros")
    keys, failures = neuron_keys(layer, layer.tables, conventions)
    monkeypatch.setattr(parallel, "NEURONS_AT_A_TIME", 7)  # in this process only
    for _ in range(2):  # the second time into the same file
        found, failed = hash_in_workers(crew.pool, crew.shared, 2, layer, layer.tables, conventions)
        assert np.array_equal(found, keys)
        assert failed == failures > 0
        assert shared_memory.is_mapped(found)
    whole = np.zeros((8, 60), dtype=np.uint32)
    assert hash_share(layer, layer.tables, conventions, whole, slice(0, 60), os.getpid()) == failures
    assert np.array_equal(whole.T, keys)


def test_where_a_worker_dies_while_it_hashes_tables_stay_whole(crew, monkeypatch):
    def dying(*arguments):
        raise WorkerDiedError("a worker ended while it hashed neurons")

    monkeypatch.setattr(parallel, "in_workers", dying)
    layer = crew.trainer.network.layers[1]
    with pytest.warns(RuntimeWarning, match="hashed in this process"):
        found, _ = hash_in_workers(crew.pool, crew.shared, 2, layer, layer.tables, PAPER)
    assert np.array_equal(found, neuron_keys(layer, layer.tables, PAPER)[0])


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system reserves no room for files")
def test_no_room_for_a_file_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(OSError, match=r"File too large|No space left"):
        shared_memory.new_file(tmp_path / "large", (2**59,), np.float32)


def test_all_arrays_of_workers_are_mapped_and_none_is_kept_besides(data):
    worked = trainer_on(data)
    first = weakref.ref(worked.network.layers[1].weights)
    with shared_memory.shared_memory(worked, "processes") as shared:
        assert shared.network is worked.network
        shared_memory.put_tables_in_files(shared)
        for layer in shared.network.layers:
            names = shared_memory.names_of_arrays(layer)
            assert {"weights", "weight_first", "weight_second", "touches", "biases"} <= set(names)
            assert all(shared_memory.is_mapped(getattr(layer, name)) for name in names)
        assert first() is None
        tables = shared.network.layers[1].tables.tables.arrays()
        assert all(shared_memory.is_mapped(array) for array in tables.values())


def test_a_file_is_written_again_until_it_is_too_small(data):
    with shared_memory.shared_memory(trainer_on(data), "processes") as shared:
        first = shared_memory.space_for(shared, "space", 80, np.int32)
        first[:] = 7
        again = shared_memory.space_for(shared, "space", 90, np.int32)
        assert again.size == 90
        assert np.shares_memory(first, again)
        larger = shared_memory.space_for(shared, "space", 91, np.int32)
        assert larger.size == 91
        assert not np.shares_memory(first, larger)
        assert not np.shares_memory(larger, shared_memory.space_for(shared, "space", 5, np.int64))
        assert (first == 7).all()


def test_two_workers_are_as_accurate_within_a_stated_bound(data):
    """P@1 of three seeds, synchronous and by two processes, on the same 600 rows.

    HOGWILD with two workers is one batch stale: the means of three seeds are within 5 points here if nothing is wrong,
    while a worker whose updates are lost altogether learns from half of the rows.
    """
    scores = {"plain": [], "workers": []}
    for seed in (1, 2, 3):
        settings = TrainingSettings(**{**vars(SETTINGS), "seed": seed})
        plain, worked = trainer_on(data, settings), trainer_on(data, settings)
        plain.run(6)
        run_asynchronously(worked, 6, Workers(count=2, kind="processes"))
        for name, one in (("plain", plain), ("workers", worked)):
            scores[name].append(evaluate(one.network, data.features, data.labels, PAPER)["P@1"])
    assert np.mean(scores["plain"]) > 0.3
    assert np.mean(scores["workers"]) > np.mean(scores["plain"]) - 0.05


SIGN = "PYSLIDE_TEST_SIGN"
"""The variable that names the files by which workers say that they are at work."""


class Odd(Exception):
    """Something that no worker expects."""


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_fault_surfaces_with_its_words_and_nothing_is_left(kind, folders):
    worked = trainer_on(planted())
    worked.features.data[:] = np.nan  # behind the back of the check, in the memory that workers read
    with pytest.raises((NonFiniteError, ValueError), match="finite") as raised:
        run_asynchronously(worked, 1, Workers(count=2, kind=kind))
    words = "".join(traceback.format_exception(raised.value))
    assert "in train_task\n" in words
    assert left_behind(folders) == []


def test_after_a_fault_nobody_writes_any_more(data, monkeypatch):
    def odd_at_first(network, share, task, real=parallel.train_task):
        if task.step == 1:
            raise Odd("the first is odd")
        time.sleep(0.05)
        return real(network, share, task)

    monkeypatch.setattr(parallel, "train_task", odd_at_first)
    worked = trainer_on(data)
    started = time.perf_counter()
    with pytest.raises(Odd, match="the first is odd"):
        run_asynchronously(worked, 1, Workers(count=2, kind="threads"))
    assert time.perf_counter() - started < 10
    before = [layer.weights.copy() for layer in worked.network.layers]
    time.sleep(0.3)
    assert all(np.array_equal(layer.weights, old) for layer, old in zip(worked.network.layers, before, strict=True))


SCRIPT = """
import sys
from pyslide import parallel, shared_memory
from pyslide.parallel import Workers, run_asynchronously
sys.path.insert(0, {here!r})
import test_parallel as subject

parallel.tempfile.tempdir = {folder!r}
shared_memory.shared_folder = lambda size: {folder!r}
if __name__ == "__main__":
    worked = subject.trainer_on(subject.planted())
    parallel.train_tasks = getattr(subject, {what!r} + "_share")
    print("started", flush=True)
    print("ended", run_asynchronously(worked, 50, Workers(count=2, kind="processes")), worked.network.steps, flush=True)
"""


def failing_share(network, data, tasks):
    raise Odd("this share is odd")


def dying_share(network, data, tasks):
    os._exit(9)


def slow_share(network, data, tasks):
    Path(f"{os.environ[SIGN]}-{os.getpid()}").touch()
    records = parallel.train_tasks(network, data, tasks)  # the real one: nobody has replaced it in the worker
    time.sleep(0.3)
    return records


def sleeping_share(network, data, tasks):
    Path(f"{os.environ[SIGN]}-{os.getpid()}").touch()
    time.sleep(60)


def process(folder, what):
    script = Path(folder) / "script.py"
    script.write_text(SCRIPT.format(here=str(Path(__file__).parent), folder=str(folder), what=what))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, SIGN: f"{folder}.sign"}
    return subprocess.Popen([sys.executable, str(script)], **pipes, env=environment, start_new_session=True)


def wait_for_workers(folder, running):
    """Wait until both workers are at work; how long their processes take to start is the machine's affair."""
    while len(list(Path(folder).parent.glob(f"{Path(folder).name}.sign-*"))) < 2:
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.05)


@pytest.mark.parametrize(("what", "words"), [("failing", "this share is odd"), ("dying", "WorkerDiedError")])
def test_a_crash_surfaces_at_once(tmp_path, what, words):
    running = process(tmp_path, what)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert words in err
    assert "ended" not in out
    assert left_behind(tmp_path) == []


def test_ctrl_c_ends_the_run_after_the_interval(tmp_path):
    running = process(tmp_path, "slow")
    assert running.stdout.readline() == "started\n"
    wait_for_workers(tmp_path, running)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert out.startswith("ended False")
    assert left_behind(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")
def test_ctrl_c_does_not_reach_workers_that_begin(tmp_path):
    running = process(tmp_path, "slow")
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while len(children.read_text().split()) < 2:  # what keeps their resources, and the first of them
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "ended False" in out
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "times", "code"),
    [(signal.SIGINT, 2, -signal.SIGINT), (signal.SIGTERM, 1, 128 + signal.SIGTERM)],
    ids=["second-ctrl-c", "sigterm"],
)
def test_what_ends_a_run_at_once_leaves_neither_files_nor_workers(tmp_path, number, times, code):
    running = process(tmp_path, "sleeping")
    assert running.stdout.readline() == "started\n"
    wait_for_workers(tmp_path, running)
    for _ in range(times):
        os.kill(running.pid, number)
        time.sleep(0.2)
    running.communicate(timeout=20)  # which waits for the workers, too: they hold the other ends
    assert running.returncode == code
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(("settings", "words"), [({"count": 0}, "at least 1"), ({"kind": "fibres"}, "threads")])
def test_workers_that_cannot_be(settings, words):
    with pytest.raises(OutOfRangeError, match=words):
        Workers(**settings)
