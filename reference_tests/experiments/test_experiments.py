"""The experiments: cells that are finished once, whatever happens, and what is written of them."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import SequentialBackend

from pyslide.cli import main
from pyslide.data import planted_dataset, write_extreme
from pyslide.engine.tables import Buckets
from pyslide.errors import FormatError, ShapeError
from pyslide.evaluation import evaluate
from pyslide.experiments import (
    batch_size,
    collision_laws,
    insertion_policies,
    learning,
    machine,
    plotting,
    retrieval_quality,
    selection_probability,
    time_to_accuracy,
)
from pyslide.experiments import cells as cell_files
from pyslide.experiments.catalogue import EXPERIMENTS
from pyslide.experiments.cells import finish_cell, identity_of, path_of
from pyslide.experiments.experiment import Choices, Experiment, Finding, Table
from pyslide.experiments.reporting import QUICK, environments_table
from pyslide.experiments.running import run_experiment
from pyslide.experiments.sources import data_of, digest_of, shipped, synthetic
from pyslide.settings import CandidateSampling, LayerSettings
from pyslide.training import Trainer

FEATURES, LABELS = 60, 40
SMALL = Choices(seeds=2, steps=6, hidden=(16,), batch_size=32, evaluations=3, evaluation_rows=50, tables=5, quick=True)
OPTIONS = {"steps": 6, "hidden": 16, "batch_size": 32, "evaluations": 2, "evaluation_rows": 50}


def planted(rows, seed):
    return planted_dataset(rows, FEATURES, LABELS, np.random.default_rng(seed), nonzeros_per_row=8, labels_per_row=2)


@pytest.fixture(scope="module")
def data():
    return data_of(planted(200, 0), planted(80, 1))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, rows, seed in (("train.txt", 200, 0), ("test.txt", 80, 1)):
        one = planted(rows, seed)
        write_extreme(folder / name, one.features, one.labels)
    return ["--train", str(folder / "train.txt"), "--test", str(folder / "test.txt")]


# A made-up experiment, whose cells write down that they were measured.


def measure(data, log, number, fault=""):
    with open(log, "a", encoding="utf-8") as stream:
        stream.write(f"{number}\n")
    if fault and Path(fault).exists() and number == 2:
        raise KeyboardInterrupt
    main_thread = threading.current_thread() is threading.main_thread()
    return [{"number": number, "square": np.int64(number**2), "main": main_thread}]


def made_up(log, count=4, fault=""):
    return Experiment(
        name="made-up",
        source="figure 0",
        title="Squares",
        explanation="Numbers are squared.",
        cells=lambda choices, data: [{"log": str(log), "number": one, "fault": str(fault)} for one in range(count)],
        measure=measure,
        table=lambda rows: Table(("number", "square"), [(str(row["number"]), str(row["square"])) for row in rows]),
        findings=lambda rows: [Finding("squares grow", f"up to {max(row['square'] for row in rows)}")],
        draw=lambda figure, rows: figure.subplots().plot([row["square"] for row in rows]),
        choices=("steps",),
    )


def measured(log):
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def run(experiment, data, out, **more):
    return run_experiment(experiment, Choices(), data, out, "pyslide experiment made-up", **more)


def test_finished_cells_are_not_repeated(data, tmp_path):
    log, told = tmp_path / "log", []
    first = run(made_up(log), data, tmp_path / "out", tell=told.append)
    again = run(made_up(log), data, tmp_path / "out", tell=told.append)
    assert measured(log) == [0, 1, 2, 3]
    assert first == again
    assert [row["square"] for row in first.rows] == [0, 1, 4, 9]
    assert told[0] == "made-up: 4 cells, 0 of them finished before"
    assert told[4] == "made-up: cell 4 of 4"
    assert told[5:] == ["made-up: 4 cells, 4 of them finished before"]
    more = run(made_up(log, count=6), data, tmp_path / "out")
    assert measured(log) == [0, 1, 2, 3, 4, 5]
    assert [row["number"] for row in more.rows] == list(range(6))


def test_ctrl_c_leaves_what_is_finished(data, tmp_path):
    log, fault = tmp_path / "log", tmp_path / "fault"
    fault.touch()
    with pytest.raises(KeyboardInterrupt):
        run(made_up(log, fault=fault), data, tmp_path / "out")
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 2
    fault.unlink()
    done = run(made_up(log, fault=fault), data, tmp_path / "out")
    assert measured(log) == [0, 1, 2, 2, 3]
    assert [row["number"] for row in done.rows] == [0, 1, 2, 3]


KILLED = """
import os, signal, sys
from pathlib import Path
import test_experiments as tests

def measure(data, log, number, fault=""):
    rows = tests.measure(data, log, number)
    if number == 2 and Path(fault).exists():
        Path(fault).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return rows

if __name__ == "__main__":
    import killed
    folder = Path(sys.argv[1])
    experiment = tests.replace(tests.made_up(folder / "log", fault=folder / "fault"), measure=killed.measure)
    data = tests.data_of(tests.planted(20, 0), tests.planted(20, 1))
    tests.run(experiment, data, folder / "out")
"""


def test_a_kill_costs_the_cell_that_it_hits(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    (tmp_path / "fault").touch()
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parent), *sys.path])
    command = [sys.executable, str(tmp_path / "killed.py"), str(tmp_path)]
    codes = [
        subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=False).returncode
        for _ in range(2)
    ]
    assert codes == [-9, 0]
    assert measured(tmp_path / "log") == [0, 1, 2, 2, 3]
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 4


def test_a_cell_is_whole_or_not_there(data, tmp_path, monkeypatch):
    identity = {"experiment": "made-up"}
    path = path_of(tmp_path, identity)

    def refuse(*names):
        raise OSError("no more room")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no more room"):
        finish_cell(lambda data: [{"number": 1}], data, {}, identity, path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    with pytest.raises(TypeError, match="plain values"):
        finish_cell(lambda data: [{"number": object()}], data, {}, identity, path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spoil", ["cut short", "of other settings", "rows lost", "no rows"])
def test_a_spoilt_cell_is_measured_again(data, tmp_path, spoil):
    log, cells = tmp_path / "log", tmp_path / "out" / "cells"
    whole = run(made_up(log), data, tmp_path / "out")
    paths = {json.loads(path.read_text())["identity"]["settings"]["number"]: path for path in cells.iterdir()}
    cell = json.loads(paths[1].read_text())
    if spoil == "cut short":
        paths[1].write_text(paths[1].read_text()[:-30])
    elif spoil == "of other settings":
        paths[1].write_text(paths[3].read_text())
    elif spoil == "rows lost":
        paths[1].write_text(json.dumps({key: value for key, value in cell.items() if key != "rows"}))
    else:
        paths[1].write_text(json.dumps({**cell, "rows": [4]}))
    with pytest.warns(UserWarning, match=paths[1].name):
        again = run(made_up(log), data, tmp_path / "out")
    assert measured(log) == [0, 1, 2, 3, 1]
    assert again == whole


def cell_paths(experiment, choices, data):
    code, cells = cell_files.code_digest(), experiment.cells(choices, data)
    return {path_of(Path(), identity_of(experiment, cell, data.digest, code)) for cell in cells}


@pytest.mark.parametrize("name", ["time-to-accuracy", "workers", "settings", "insertion-policies"])
def test_every_setting_is_in_the_digest(data, name):
    experiment = EXPERIMENTS[name]
    base = cell_paths(experiment, SMALL, data)
    assert len(base) == len(experiment.cells(SMALL, data))  # seeds and everything varied
    assert base == cell_paths(experiment, SMALL, data)
    other = {
        "steps": 7, "learning_rate": 0.1, "hidden": (17,), "batch_size": 16, "threads": 2, "evaluations": 4,
        "evaluation_rows": 40, "family": "simhash", "codes_per_table": 3, "tables": 6, "active_share": 0.3,
    }  # fmt: skip
    for choice in set(experiment.choices) & set(other):
        changed = cell_paths(experiment, replace(SMALL, **{choice: other[choice]}), data)
        assert changed != base, choice
    assert not base & cell_paths(experiment, SMALL, data._replace(digest="other"))

    assert not base & cell_paths(replace(experiment, measure=measure), SMALL, data)


def test_other_code_measures_anew(data, monkeypatch):
    experiment = EXPERIMENTS["collision-laws"]
    before = cell_paths(experiment, SMALL, data)
    monkeypatch.setattr(cell_files, "code_digest", lambda: "other")
    assert not before & cell_paths(experiment, SMALL, data)


def test_the_codes_digest_is_of_every_file(tmp_path, monkeypatch):
    (tmp_path / "room").mkdir()
    sources = [tmp_path / "__init__.py", tmp_path / "room" / "station.py"]
    for path in sources:
        path.write_text("x = 1")
    monkeypatch.setattr(cell_files.pyslide, "__file__", str(sources[0]))
    digests = [cell_files.code_digest()]
    for path in sources:
        path.write_text("x = 2")
        digests.append(cell_files.code_digest())
    assert len(set(digests)) == 3


def test_the_digest_of_data_sees_every_part(data):
    training = data.training
    values = training.features.copy()
    values.data[3] += 1
    fewer = training.labels.copy()
    fewer.data, fewer.indices = fewer.data[:-1], fewer.indices[:-1]
    fewer.indptr[-1] -= 1
    digests = {
        data.digest,
        digest_of(data.test, training),
        digest_of(replace(training, features=values), data.test),
        digest_of(replace(training, labels=fewer), data.test),
        digest_of(training),
    }
    assert len(digests) == 5
    assert data_of(planted(200, 0), planted(80, 1)).digest == data.digest


def test_an_experiment_without_data_does_not_depend_on_them(data):
    experiment = EXPERIMENTS["collision-laws"]
    assert cell_paths(experiment, SMALL, data) == cell_paths(experiment, SMALL, data._replace(digest="other"))


class AllInTheEnd(SequentialBackend):
    """A backend that can give no results as they come."""

    supports_return_generator = False


def test_any_backend_takes_the_grid(data, tmp_path):
    joblib.register_parallel_backend("all in the end", AllInTheEnd)
    with joblib.parallel_config(backend="all in the end"):
        ended = run(made_up(tmp_path / "log"), data, tmp_path / "one")
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threaded = run(made_up(tmp_path / "log"), data, tmp_path / "two")
    assert [row["square"] for row in ended.rows] == [row["square"] for row in threaded.rows] == [0, 1, 4, 9]
    assert not any(row["main"] for row in threaded.rows)


def test_processes_take_the_cells_of_an_experiment(files, tmp_path, capsys):
    words = ["experiment", "collision-laws", "--quick", *files, "--jobs", "2", "--out", str(tmp_path)]
    assert main(words) == 0
    assert "cell 5 of 5" in capsys.readouterr().err


def test_what_is_written(data, tmp_path):
    done = run(made_up(tmp_path / "log"), data, tmp_path / "out")
    assert [path.name for path in done.files] == ["made-up.csv", "made-up.md", "made-up.png", "made-up.svg"]
    with open(done.files[0], newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["square"] for row in rows] == ["0", "1", "4", "9"]
    page = done.files[1].read_text()
    for part in (
        "# made-up", "figure 0", "`pyslide experiment made-up`", "| squares grow | up to 9 |", "| 3 | 9 |",
        "![Squares](made-up.png)", "| seeds | 0, 1, 2 |", "200 rows", data.digest[:16], "joblib", np.__version__,
        str(os.cpu_count()), machine.processor_name(), machine.blas(), "Pictures by matplotlib",
    ):  # fmt: skip
        assert part in page, part
    assert done.files[2].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(done.files[3]).getroot().tag.endswith("svg")
    before = [path.read_bytes() for path in done.files]
    run(made_up(tmp_path / "log"), data, tmp_path / "out")
    assert [path.read_bytes() for path in done.files] == before


def test_without_matplotlib_the_rest_is_written(data, tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(plotting.importlib, "import_module", missing)
    told = []
    done = run(made_up(tmp_path / "log"), data, tmp_path / "out", tell=told.append)
    assert [path.name for path in done.files] == ["made-up.csv", "made-up.md"]
    assert "'pyslide-reference[plot]'" in told[-1]
    assert "png" not in done.files[1].read_text()


def test_the_environments_of_old_cells_are_reported(data, tmp_path):
    run(made_up(tmp_path / "log"), data, tmp_path / "out")
    path = next(iter((tmp_path / "out" / "cells").iterdir()))
    cell = json.loads(path.read_text())
    cell["environment"]["numpy"] = "1.99"
    path.write_text(json.dumps(cell))
    page = run(made_up(tmp_path / "log"), data, tmp_path / "out").files[1].read_text()
    assert "1.99" in page
    assert np.__version__ in page


def test_an_environment_may_lack_what_another_has():
    table = environments_table([{"numpy": "2.0"}, {"numpy": "2.1", "BLAS": "some"}])
    assert table.splitlines() == ["| numpy | BLAS |", "| --- | --- |", "| 2.0 | - |", "| 2.1 | some |"]


def test_a_report_says_whether_it_was_quick(data, tmp_path):
    for quick in (True, False):
        done = run_experiment(made_up(tmp_path / "log"), Choices(quick=quick), data, tmp_path / "out", "made up")
        page = done.files[1].read_text()
        assert page.startswith(f"# made-up\n\n{QUICK}\n\n") == quick
        assert (QUICK in page) == quick


# With what it is measured


def test_the_processor_has_a_name(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor : 0\nmodel name\t: Some Processor 3: X\n\nprocessor : 1\nmodel name\t: Other\n")
    assert machine.processor_name(listing) == "Some Processor 3: X"
    assert machine.processor_name(tmp_path / "missing") not in ("", "Some Processor 3: X")


class OnePool:
    """What threadpoolctl sees, made up."""

    @staticmethod
    def threadpool_info():
        openmp = {"user_api": "openmp", "internal_api": "gomp", "version": None, "num_threads": 9}
        return [openmp, {"user_api": "blas", "internal_api": "openblas", "version": "0.3", "num_threads": 3}]


def test_the_blas_and_its_threads_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", OnePool)
    assert machine.blas() == "openblas 0.3, threads: 3"
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)  # as if it were not installed
    for name in machine.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert machine.blas().startswith(f"{built} ")
    assert machine.blas().endswith("threads: its own choice")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    assert machine.blas().endswith("threads: 5")


# What is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0"], "seeds: expected at least 1"),
        (["--steps", "0"], "steps: expected at least 1"),
        (["--epochs", "0"], "epochs: expected at least 1"),
        (["--active-share", "0"], "active_share: expected above 0"),
        (["--active-share", "1.5"], "active_share: expected above 0"),
        (["--learning-rate", "-1"], "learning_rate: expected above 0"),
        (["--hidden", "0"], "hidden: expected widths"),
        (["--jobs", "0"], "jobs: expected"),
        (["--train", "here"], "expected both --train and --test"),
        (["--synthetic", "1"], "at least 2 labels"),
        (["--synthetic", "50", "--train", "a", "--test", "b"], "got both"),
    ],
)
def test_wrong_options_are_refused_before_any_work(words, message, tmp_path, capsys):
    code = main(["experiment", "time-to-accuracy", "--out", str(tmp_path / "out"), *words])
    assert code == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_option_that_does_not_matter_is_refused(capsys):
    assert main(["experiment", "collision-laws", "--learning-rate", "1"]) == 2
    assert main(["experiment", "no-such"]) == 2
    capsys.readouterr()


def test_a_file_is_no_folder(data, tmp_path, files, capsys):
    (tmp_path / "out").write_text("mine")
    assert main(["experiment", "collision-laws", "--quick", *files, "--out", str(tmp_path / "out")]) == 1
    assert "expected a folder" in capsys.readouterr().err
    with pytest.raises(FormatError, match="expected a folder"):
        run(made_up(tmp_path / "log"), data, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_data_that_do_not_fit_are_refused():
    narrow = planted_dataset(10, FEATURES, LABELS - 1, np.random.default_rng(0))
    with pytest.raises(ShapeError, match="label_count 40"):
        data_of(planted(10, 0), narrow)
    with pytest.raises(ShapeError, match="expected rows"):
        data_of(planted(10, 0), planted(0, 0))


# The sources and choices


def test_synthetic_data_are_always_the_same():
    one = synthetic(30, (50, 20))
    assert (one.training.rows, one.test.rows, one.labels) == (50, 20, 30)
    assert one.digest == synthetic(30, (50, 20)).digest != synthetic(31, (50, 20)).digest
    assert one.digest != data_of(one.test, one.training).digest


def test_the_shipped_data_are_the_default():
    assert shipped().training.rows == 11_742


def test_runs_of_other_batch_sizes_see_the_same_samples():
    assert Choices(steps=40, batch_size=128).steps_of(10**6, 32) == 160
    assert Choices(steps=40, batch_size=128).steps_of(10**6, 512) == 10
    assert Choices(epochs=3).steps_of(1000) == 3 * 8
    assert SMALL.some([1, 2, 3]) == [1, 3]
    assert replace(SMALL, quick=False).some([1, 2, 3]) == [1, 2, 3]


# Learning curves


def test_pauses_change_nothing_and_seconds_leave_them_out(data, monkeypatch):
    clock = [0.0]

    def slow_look(trainer, features, labels):
        clock[0] += 1000.0
        return learning.precision(trainer, features, labels)

    plain_step = Trainer.step

    def slow_step(trainer):
        clock[0] += 1.0
        return plain_step(trainer)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Trainer, "step", slow_step)
    training = learning.training_of(SMALL, learning.output_of(learning.SLIDE, SMALL, LABELS), seed=3)
    rows = learning.curve(data, {"method": "SLIDE"}, training, 9, 3, data.test.rows, slow_look)
    assert [row["step"] for row in rows] == [3, 6, 9]
    assert [row["seconds"] for row in rows] == [3.0, 6.0, 9.0]
    trainer = Trainer(training, data.training.features, data.training.labels)
    trainer.run(100, steps=9)
    metrics = evaluate(trainer.network, data.test.features, data.test.labels, training.conventions)
    assert rows[-1]["P@1"] == pytest.approx(100 * metrics["P@1"])
    assert rows[-1]["loss"] == pytest.approx(np.mean([record["loss"] for record in trainer.history[6:]]))
    assert rows[-1]["samples"] == sum(record["samples"] for record in trainer.history)
    assert {row["seed"] for row in rows} == {3}


def test_pauses_end_with_the_run():
    assert learning.pauses(10, 4) == [3, 5, 8, 10]
    assert learning.pauses(2, 20) == [1, 2]


def test_the_evaluation_takes_the_same_rows(data):
    rows = learning.fixed_rows(data.test, 10)
    assert rows.size == 10
    assert rows[0] == 0
    assert rows[-1] == data.test.rows - 1
    assert learning.fixed_rows(data.test, 10**6).tolist() == list(range(data.test.rows))


def test_methods_start_from_the_same_weights_with_equal_budgets(data):
    cells = time_to_accuracy.cells(replace(SMALL, active_share=0.25), data)
    starts = [
        Trainer(cell["training"], data.training.features, data.training.labels).network.layers
        for cell in cells
        if cell["training"].seed == 1
    ]
    for layers in starts[1:]:
        for one, other in zip(starts[0], layers, strict=True):
            np.testing.assert_array_equal(one.weights, other.weights)
    outputs = {cell["columns"]["method"]: cell["training"].layers[-1] for cell in cells}
    assert outputs["SLIDE"].hashing.sampling.minimum_active == 10
    assert outputs["sampled softmax"].candidates == CandidateSampling(distribution="log_uniform", count=10)
    assert outputs["full softmax"] == LayerSettings(neurons=LABELS)


# What is made of rows


def curve_rows(method, precisions, seed=0):
    return [
        {"method": method, "seed": seed, "step": 10 * turn, "seconds": 0.5 * turn, "P@1": value, "active_share": 0.1}
        for turn, value in enumerate(precisions, start=1)
    ]


def test_the_time_to_an_accuracy():
    rows = curve_rows("SLIDE", [10, 40, 36, 50]) + curve_rows("SLIDE", [10, 20, 39, 39], seed=1)
    assert time_to_accuracy.reached(rows[:4], 36, "step") == 20
    assert np.isnan(time_to_accuracy.reached(rows[:4], 51, "seconds"))
    assert time_to_accuracy.across_seeds(rows, 36, "step") == "25"
    assert time_to_accuracy.across_seeds(rows, 45, "seconds") == "2.00 (1 of 2 seeds)"
    assert time_to_accuracy.across_seeds(rows, 60, "step") == "never"
    rows += curve_rows("full softmax", [30, 20, 30, 40]) + curve_rows("sampled softmax", [1, 2, 3, 4])
    assert time_to_accuracy.goals(rows)[0.9] == pytest.approx(36)
    assert any("sampled softmax never" in finding.measured for finding in time_to_accuracy.findings(rows))


def test_the_time_of_a_thousand_samples():
    rows = [{"seconds": 2.0, "samples": 4000}, {"seconds": 4.0, "samples": 4000}]
    assert batch_size.per_thousand(rows) == pytest.approx(750)


def test_counts_agree_with_theory(data):
    choices = replace(SMALL, seeds=1)
    for module in (selection_probability, collision_laws):
        rows = [row for cell in module.cells(choices, data) for row in module.measure(data, **cell)]
        points = module.pooled(rows)
        assert min(row["tail"] for row in points) * len(points) > 1e-6
        off = {**rows[0], "theory": 0.5 * rows[0]["theory"]}
        assert module.pooled([off])[0]["tail"] < 1e-6  # counts as many as these notice half the probability


def test_pairs_are_told_from_unlike_to_alike(data):
    cells = [{**cell, "draws": 2} for cell in collision_laws.cells(SMALL, data)]
    lines = collision_laws.table([row for cell in cells for row in collision_laws.measure(data, **cell)]).lines
    assert list(dict.fromkeys(line[0] for line in lines)) == list(collision_laws.LAWS)
    for family in collision_laws.LAWS:
        theory = [float(line[1]) for line in lines if line[0] == family]
        assert len(theory) == len(collision_laws.MIXTURES)
        assert theory == sorted(theory)


def test_the_first_tables_of_a_sample():
    buckets = Buckets(np.array([[2, 0, 1, 3]]), np.array([4, 5, 6, 7, 8, 9]))
    for read, members in ((1, [4, 5]), (2, [4, 5]), (3, [4, 5, 6])):
        first = selection_probability.first_tables(buckets, read)
        assert first.lengths.tolist() == [buckets.lengths[0, :read].tolist()]
        assert first.members.tolist() == members


def test_the_seeds_of_a_law_draw_other_functions(data):
    cells = [cell for cell in collision_laws.cells(SMALL, data) if cell["family"] == "WTA"]
    one, other = (collision_laws.measure(data, **{**cell, "draws": 100}) for cell in cells)
    assert [row["theory"] for row in one] == [row["theory"] for row in other]
    assert [row["equal"] for row in one] != [row["equal"] for row in other]


def test_recalls_count_what_the_buckets_hold(data):
    hashing = replace(learning.hashing_of(SMALL, LABELS), codes_per_table=1, bin_size=2, tables=20)
    training = learning.training_of(SMALL, LayerSettings(neurons=LABELS, hashing=hashing), 0)
    trainer = Trainer(training, data.training.features, data.training.labels)
    features, labels = data.test.features, data.test.labels
    everyone = retrieval_quality.recalls(trainer, features, labels)
    assert everyone == {"retrieved": 100.0, "best_found": 100.0, "labels_found": 100.0}
    few = replace(hashing, codes_per_table=8, bin_size=8)
    training = learning.training_of(SMALL, LayerSettings(neurons=LABELS, hashing=few), 0)
    trainer = Trainer(training, data.training.features, data.training.labels)
    found = retrieval_quality.recalls(trainer, features, labels)
    assert found["best_found"] == pytest.approx(found["retrieved"])  # all neurons are among the best hundred
    assert 0 < found["retrieved"] < 100


def test_policies_keep_equally_many(data, monkeypatch):
    monkeypatch.setattr(insertion_policies, "CODES_PER_TABLE", 1)
    cells = insertion_policies.cells(replace(SMALL, seeds=1), data)
    rows = [row for cell in cells for row in insertion_policies.measure(data, **cell)]
    kept = {(row["policy"], row["capacity"], row["neurons"]): row["kept_share"] for row in rows}
    for (policy, *rest), share in kept.items():
        assert share == kept["fifo", *rest], policy
    assert min(kept.values()) < 1


# Every experiment


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_runs(name, files, tmp_path, capsys):
    experiment = EXPERIMENTS[name]
    matter = {option: value for option, value in OPTIONS.items() if option in experiment.choices}
    words = [f"--{option.replace('_', '-')}={value}" for option, value in matter.items()]
    assert main(["experiment", name, "--quick", *files, "--out", str(tmp_path), *words]) == 0
    printed = capsys.readouterr()
    assert str(tmp_path / f"{name}.svg") in printed.err
    with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert rows
    assert all(value != "" for row in rows for value in row.values())
    page = (tmp_path / f"{name}.md").read_text()
    assert "nan" not in page
    assert f"pyslide experiment {name} --train" in page
    assert printed.out.splitlines()[0].split()[0] == page.split("## Measurements\n\n| ")[1].split()[0]


def test_the_list(capsys):
    assert main(["experiment", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert "figure 11" in lines[list(EXPERIMENTS).index("selection-probability")]
    assert main(["experiment", "list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(EXPERIMENTS)


def test_ctrl_c_on_the_command_line(files, tmp_path, capsys, monkeypatch):
    plain_step = Trainer.step

    def interrupted_step(trainer):
        signal.raise_signal(signal.SIGINT)
        return plain_step(trainer)

    monkeypatch.setattr(Trainer, "step", interrupted_step)
    assert main(["experiment", "time-to-accuracy", "--quick", *files, "--out", str(tmp_path)]) == 1
    assert "the same command goes on" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["cells"]


def test_the_page_describes_every_experiment():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    for experiment in EXPERIMENTS.values():
        assert f"| `{experiment.name}` | {experiment.source.replace(' and', ',')} |".replace("|  |", "| |") in page
