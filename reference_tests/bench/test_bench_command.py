"""``pyslide bench``: what is printed, written and drawn."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest
from bench_cases import TINY

from pyslide.bench import contenders, ladder, plots
from pyslide.bench.cases import synthetic_rows
from pyslide.bench.contenders import CONTENDERS
from pyslide.bench.ladder import Rung
from pyslide.bench.run import Measurement
from pyslide.cli import bench, build_parser, main
from pyslide.conventions import ORIGINAL_CPP
from pyslide.data import write_extreme
from pyslide.defaults import CONVENTIONS

SMALL = ["bench", "--shape", "width-1000", "--outputs", "80", "--steps", "2", "--active", "9", "--threads", "1"]


def measured(name, step, **others):
    figures = {
        "spread_milliseconds": 3.0, "quartiles_milliseconds": (step - 1, step + 2), "rebuild_milliseconds": 100.0,
        "amortised_milliseconds": step + 2, "samples_per_second": 1.0, "active_neurons": 7.0, "touched_rows": 30.0,
        "peak_megabytes": 90.0, "times_as_fast": 1.0, "stages": {},
    }  # fmt: skip
    return Measurement(name, step, **{**figures, **others})


def options_of(*words):
    return build_parser().parse_args(["bench", *words])


@pytest.fixture
def nothing_runs(monkeypatch):
    """Fail where anything is measured."""

    def never(*arguments):
        raise AssertionError("measured")

    for name in ("measure", "climb", "measure_workers", "measure_roofline", "case_of"):
        monkeypatch.setattr(bench, name, never)


def test_a_table(capsys):
    assert main([*SMALL, "--peers", "full softmax", "--stages"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-6:] == ["touched", "peak", "MB", "times", "as", "fast"]
    assert lines[1].startswith("slide")
    assert lines[2].startswith("full softmax")
    assert any(line.startswith("slide: optimiser, weights") for line in lines)


def test_json_csv_and_a_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is the extra `plot`")
    paths = ["--csv", str(tmp_path / "out.csv"), "--plot", str(tmp_path / "out.svg")]
    assert main([*SMALL, "--json", "--memory", *paths]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert parsed["labels"] == 80
    assert parsed["peak_copies"] > 3  # weights and two moments
    (one,) = parsed["results"]
    assert (one["name"], one["times_as_fast"]) == ("slide", 1.0)
    assert 9 <= one["active_neurons"] < one["touched_rows"] <= 80
    with (tmp_path / "out.csv").open(encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    low, high = one["quartiles_milliseconds"]
    assert (float(row["lower_quartile_milliseconds"]), float(row["upper_quartile_milliseconds"])) == (low, high)
    assert {column for column in row if column.startswith("stage ")} == {f"stage {name}" for name in one["stages"]}
    assert ElementTree.parse(tmp_path / "out.svg").getroot().tag.endswith("svg")


def test_a_file_is_measured_as_it_is(tmp_path, capsys):
    data = synthetic_rows(TINY, 8)
    write_extreme(tmp_path / "rows.txt", data.features, data.labels)
    assert main(["bench", "--data", str(tmp_path / "rows.txt"), "--steps", "2", "--active", "20", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["features"], said["labels"]) == (TINY.features, TINY.labels)
    assert said["shape"] == str(tmp_path / "rows.txt")


def test_the_ladder_climbs(monkeypatch, capsys, tmp_path):
    small = {"width-1000": TINY, "width-10000": TINY._replace(labels=10_000)}
    monkeypatch.setattr(ladder, "SHAPES", small)
    monkeypatch.setattr(bench, "RUNGS", tuple(small))
    arguments = ["bench", "--ladder", "--steps", "1", "--active", "20", "--csv", str(tmp_path / "ladder.csv")]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["60", "10,000"]
    assert lines[2].split()[3] == "1.00"
    assert len((tmp_path / "ladder.csv").read_text().splitlines()) == 3


def test_the_roofline(capsys):
    assert main([*SMALL, "--roofline"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bandwidth: copy")
    assert [name for name in ("optimiser, weights", "rebuild: hash", "rebuild: tables") if name not in out] == []


def test_workers_are_measured_beside_one(capsys):
    assert main(["bench", "--quick", "--workers", "2", "--steps", "2", "--outputs", "300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["workers"], row["kind"]) for row in rows] == [(1, "-"), (2, "processes"), (2, "threads")]
    assert rows[0]["times_one"] == 1
    assert all(row["step_milliseconds"] > 0 for row in rows)
    assert rows[1]["times_one"] == pytest.approx(rows[0]["step_milliseconds"] / rows[1]["step_milliseconds"])


def test_quick_is_small(monkeypatch):
    chosen = []
    monkeypatch.setattr(bench, "run_comparison", lambda options, case: chosen.append((options, case)) or 0)
    monkeypatch.setattr(bench, "climb", lambda names, *others: chosen.append(names) or [])
    monkeypatch.setattr(bench, "report", lambda *anything: 0)
    monkeypatch.setattr(bench.reports, "ladder_table", lambda rungs: "")
    assert main(["bench", "--quick"]) == 0
    options, case = chosen.pop()
    assert (case.shape.labels, options.steps) == (10_000, 5)
    assert bench.contenders_of(options) == ["slide", "full softmax"]
    assert main(["bench", "--quick", "--ladder"]) == 0
    assert tuple(chosen.pop()) == ("width-1000", "width-10000", "width-100000")


def test_peers_are_named_with_ease():
    everybody = [name for name in CONTENDERS if name != "slide"]
    of_torch = [name for name in everybody if name.startswith("torch ")]
    assert bench.contenders_of(options_of()) == ["slide"]
    assert bench.contenders_of(options_of("--peers", "all")) == ["slide", *everybody]
    assert bench.contenders_of(options_of("--peers", "torch")) == ["slide", *of_torch]
    twice = options_of("--peers", "full softmax", "torch", "--peers", "full softmax")
    assert bench.contenders_of(twice) == ["slide", "full softmax", *of_torch]


def test_tables_and_conventions_are_those_of_training():
    small = ["--shape", "width-1000", "--steps", "1"]
    case = bench.case_of(options_of(*small, "-K", "6", "--convention", "packing=natural_log_bits"))
    assert case.conventions == CONVENTIONS.replace(packing="natural_log_bits")
    assert (case.hashing.codes_per_table, case.hashing.sampling.minimum_active) == (6, 1000)
    words = ["--preset", "ORIGINAL_CPP", "--family", "simhash", "--capacity", "7", "--active", "3", "--threads", "2"]
    case = bench.case_of(options_of(*small, *words))
    assert case.conventions == ORIGINAL_CPP
    assert (case.hashing.family, case.hashing.capacity, case.hashing.sampling.minimum_active) == ("simhash", 7, 3)
    assert case.threads == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--peers", "nobody"], 2, "torch full softmax"),
        (["--ladder", "--roofline"], 2, "not allowed with"),
        (["--plot", "out.jpeg"], 1, "out.jpeg: expected a name that ends in .png or .svg"),
        (["--plot", "no/such/folder/out.png"], 1, "folder that exists"),
        (["--csv", "no/such/folder/out.csv"], 1, "folder that exists"),
        (["--plot", "out.png", "--roofline"], 1, "--plot"),
        (["--steps", "0"], 1, "--steps"),
        (["--threads", "0"], 1, "--threads"),
    ],
)
def test_bad_options_are_refused_before_any_measuring(nothing_runs, capsys, words, code, message):
    assert main(["bench", *words]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "no-such-file.txt"], "no-such-file.txt"),
        (["--convention", "packing"], "FIELD=ANSWER"),
        (["--convention", "packing=loose"], "loose"),
        (["--shape", "width-1000", "-K", "0"], "codes_per_table"),
    ],
)
def test_bad_input_is_a_message(capsys, words, message):
    assert main(["bench", *words]) == 1
    assert message in capsys.readouterr().err


def test_missing_extras_are_named_before_any_measuring(nothing_runs, monkeypatch, capsys):
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    assert main(["bench", "--peers", "torch"]) == 1
    assert "pyslide-reference[peers]" in capsys.readouterr().err
    assert main(["bench", "--plot", "out.png"]) == 1
    assert "pyslide-reference[plot]" in capsys.readouterr().err


def test_bars_are_as_long_as_what_was_measured():
    pytest.importorskip("matplotlib", reason="matplotlib is the extra `plot`")
    rows = [measured("slide", 10.0, stages={"hash": 4.0, "forward": 6.0}), measured("torch full softmax", 50.0)]
    sides, stages = plots.draw_comparison(rows).axes
    assert [patch.get_width() for patch in sides.patches] == [10.0, 50.0, 2.0, 2.0]
    assert [patch.get_x() for patch in sides.patches] == [0.0, 0.0, 10.0, 50.0]
    (segments,) = (lines.get_segments() for lines in sides.collections)
    assert [tuple(segment[:, 0]) for segment in segments] == [(9.0, 12.0), (49.0, 52.0)]  # quartiles
    assert [label.get_text() for label in sides.get_yticklabels()] == ["slide", "torch full softmax"]
    assert [patch.get_width() for patch in stages.patches] == [4.0, 6.0]
    assert stages.get_title() == "slide"


def test_the_ladders_lines_and_files(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is the extra `plot`")
    rungs = [Rung(1000, measured("width-1000", 10.0)), Rung(10_000, measured("width-10000", 15.0))]
    figure = plots.draw_ladder(rungs)
    (axes,) = figure.axes
    step, amortised = axes.lines
    assert (list(step.get_xdata()), list(step.get_ydata())) == ([1000, 10_000], [10.0, 15.0])
    assert list(amortised.get_ydata()) == [12.0, 17.0]
    band = axes.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (9.0, 17.0)
    plots.save(figure, tmp_path / "ladder.png")
    assert (tmp_path / "ladder.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileNotFoundError):
        plots.save(figure, tmp_path / "nowhere" / "ladder.png")
