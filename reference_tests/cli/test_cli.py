"""The command line: results on stdout, messages on stderr, exit codes 0, 1 and 2."""

import json
import os
import signal

import numpy as np
import pytest

from pyslide.checkpoint import load_model
from pyslide.cli import build_parser, main
from pyslide.cli.settings import settings_of
from pyslide.conventions import QUESTIONS
from pyslide.data import load, planted_dataset, write_extreme
from pyslide.defaults import default_training
from pyslide.inference import exact_top_k, recall_against, sampled_top_k

SMALL = ["--hidden", "16", "-K", "2", "-L", "5", "--epochs", "2", "--quiet", "--threads", "1"]


@pytest.fixture
def files(tmp_path):
    data = planted_dataset(200, 60, 30, np.random.default_rng(0), nonzeros_per_row=8, labels_per_row=2)
    paths = tmp_path / "train.txt", tmp_path / "test.txt.gz"
    write_extreme(paths[0], data.features[:150], data.labels[:150])
    write_extreme(paths[1], data.features[150:], data.labels[150:])
    return [str(path) for path in paths]


def test_train_prints_a_table(run, files):
    code, out, err = run("train", *files, *SMALL)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["method", "P@1", "%", "P@3", "%", "P@5", "%", "active", "%", "steps", "seconds"]
    assert lines[1].startswith("SLIDE")
    assert lines[2].startswith("most frequent labels")


@pytest.mark.parametrize("labels", [30, 3731, 100_000])
def test_python_trains_with_the_settings_of_the_command_line(labels):
    options = build_parser().parse_args(["train", "--threads", "1"])
    assert settings_of(options, labels) == default_training(labels)


def test_compare_and_json(run, files):
    code, out, _ = run("train", *files, *SMALL, "--compare", "full", "--json", "--all-metrics")
    results = json.loads(out)["results"]
    assert code == 0
    assert [one["method"] for one in results] == ["SLIDE", "full softmax", "most frequent labels"]
    assert results[1]["active_share"] == 1.0
    assert {"P@1", "nDCG@3", "R@5", "PSP@1"} <= set(results[0])
    assert results[0]["steps"] == results[1]["steps"] == 4


def test_a_sampled_softmax_beside_the_full_one(run, files, tmp_path):
    model = tmp_path / "model.npz"
    sampled = ("--sampled-softmax", "log_uniform", "--candidates", "6", "--no-correction")
    code, out, _ = run("train", *files, *SMALL, *sampled, "--compare", "full", "--json", "--save", model)
    results = json.loads(out)["results"]
    assert code == 0
    assert [one["method"] for one in results] == ["sampled softmax", "full softmax", "most frequent labels"]
    assert 6 / 30 <= results[0]["active_share"] < 0.5 < results[1]["active_share"] == 1.0
    assert "6 log_uniform, uncorrected" in run("info", model)[1]
    assert run("train", files[0], *SMALL, "--resume", model, "--epochs", "3")[0] == 0


def test_a_fifth_of_the_labels_are_candidates(run, files):
    out = run("train", *files, *SMALL, "--sampled-softmax", "uniform", "--json")[1]
    assert 6 / 30 <= json.loads(out)["results"][0]["active_share"] <= 9 / 30


@pytest.mark.parametrize("words", [("--candidates", "5"), ("--no-correction",)])
def test_options_of_a_sampled_softmax_without_one(run, files, words):
    code, _, err = run("train", *files, *SMALL, *words)
    assert code == 1
    assert f"{words[0]}: expected --sampled-softmax" in err


def test_the_data_set_that_ships(run):
    code, out, err = run("train", "--steps", "2", "--hidden", "8", "--threads", "1")
    assert code == 0
    assert "11742 rows, 3731 labels" in err
    assert "step 2/2" in err
    assert "step" not in out.splitlines()[1]


def test_same_seed_same_result(run, files):
    first, second = (json.loads(run("train", *files, *SMALL, "--json")[1])["results"][0] for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert first == second


def test_save_evaluate_predict_info_resume(run, files, tmp_path):
    model = tmp_path / "model.npz"
    code, out, _ = run("train", *files, *SMALL, "--save", model, "--json")
    trained = json.loads(out)["results"][0]
    assert code == 0
    code, out, _ = run("evaluate", model, files[1], "--json", "--train", files[0])
    evaluated = json.loads(out)
    assert evaluated["P@1"] == trained["P@1"]
    assert "PSP@5" in evaluated
    sampled = json.loads(run("evaluate", model, files[1], "--sampled", "--json")[1])
    best = load_model(str(model)).network, load(str(files[1])).features, 3
    found = recall_against(exact_top_k(*best), sampled_top_k(*best, load_model(str(model)).settings.conventions)).mean()
    assert sampled["found@3"] == found < 1
    assert "found@1" not in evaluated
    code, out, _ = run("predict", model, files[1], "-k", "2")
    assert len(out.splitlines()) == 50
    assert len(out.splitlines()[0].split("\t")) == 2
    first = json.loads(run("predict", model, files[1], "-k", "2", "--json", "--sampled")[1].splitlines()[0])
    assert first["row"] == 0
    facts = json.loads(run("info", model, "--json")[1])
    assert (facts["kind"], facts["steps"], facts["layers"]) == ("model", 4, "16, 30")
    assert "dwta K=2 L=5" in run("info", model)[1]
    longer = run("train", *files, *SMALL, "--epochs", "3", "--resume", model, "--json")[1]
    whole = run("train", *files, *SMALL, "--epochs", "3", "--json")[1]
    assert json.loads(longer)["results"][0]["P@1"] == json.loads(whole)["results"][0]["P@1"]


def test_history_evaluations_and_checkpoints_on_the_way(run, files, tmp_path):
    history, model = tmp_path / "run.jsonl", tmp_path / "model.npz"
    words = ["--history", history, "--save", model, "--checkpoint-every", "1", "--evaluate-every", "2"]
    assert run("train", *files, *SMALL, *words)[0] == 0
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["step", "step", "evaluation"] * 2
    assert "P@1" in rows[2]
    assert sorted(os.listdir(tmp_path)) == ["model.npz", "run.jsonl", "test.txt.gz", "train.txt"]


def test_ctrl_c_saves_and_says_how_to_go_on(run, files, tmp_path, monkeypatch):
    from pyslide.cli import train

    class Press(train.Saves):
        def __call__(self, trainer, record):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(train, "Saves", Press)
    model = tmp_path / "model.npz"
    words = [word for word in SMALL if word != "--quiet"]
    code, out, err = run("train", *files, *words, "--save", model, "--checkpoint-every", "1")
    assert (code, out) == (1, "")
    assert f"interrupted after step 1; to go on: --resume {model}" in err
    assert json.loads(run("info", model, "--json")[1])["steps"] == 1


def test_configuration_files(run, files, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        'hidden = "16"\ncodes_per_table = 2\ntables = 5\nepochs = 5\nquiet = true\nfull = false\njson = true\n'
        'convention = ["padding_weight=one", "sign_bit=one_above_zero"]\n'
    )
    result = json.loads(run("train", *files, "--config", path)[1])["results"][0]
    assert result["steps"] == 10
    result = json.loads(run("train", *files, "--config", path, "--epochs", "1")[1])["results"][0]
    assert result["steps"] == 2
    path.write_text("colour = 3")
    code, out, err = run("train", *files, "--config", path)
    assert (code, out) == (2, "")
    assert "colour" in err
    for text in ("= broken", "[table]\nepochs = 3"):
        path.write_text(text)
        code, _, err = run("train", *files, "--config", path)
        assert code == 1
        assert str(path) in err


def test_data_check(run, files):
    assert run("data", "check", files[0])[0] == 0
    code, out, _ = run("data", "check", files[0], "--as", "amazon-670k")
    assert code == 1
    assert "expected 490449" in out
    findings = json.loads(run("data", "check", files[0], "--as", "Bibtex", "--json")[1])["findings"]
    assert not all(finding["ok"] for finding in findings)


def test_data_convert_and_synthesize(run, tmp_path):
    paths = [tmp_path / name for name in ("a.txt", "b.svm", "c.txt.gz")]
    words = ["--rows", "40", "--features", "30", "--labels", "9", "--nonzeros-per-row", "5", "--seed", "3"]
    code, out, err = run("data", "synthesize", paths[0], *words)
    assert (code, out) == (0, "")
    assert "wrote 40 rows" in err
    assert run("data", "convert", paths[0], paths[1], "--to", "libsvm")[0] == 0
    assert run("data", "convert", paths[1], paths[2], "--to", "extreme")[0] == 0
    first, last = load(paths[0]), load(paths[2])
    shared = min(first.features.shape[1], last.features.shape[1])
    assert np.array_equal(first.features[:, :shared].toarray(), last.features[:, :shared].toarray())
    assert json.loads(run("info", paths[0], "--json")[1])["rows"] == 40


def test_conventions(run):
    out = run("conventions")[1]
    assert "* one_at_zero_or_above" in out
    assert "* zero_at_zero_or_above" in run("conventions", "--preset", "ORIGINAL_CPP")[1]
    parsed = json.loads(run("conventions", "--json")[1])
    assert [one["number"] for one in parsed] == [question.number for question in QUESTIONS]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "required"),
        (("dance",), 2, "invalid choice"),
        (("train", "--nope"), 2, "--nope"),
        (("train", "missing.txt"), 1, "missing.txt"),
        (("train", "--family", "md5"), 2, "md5"),
        (("train", "--convention", "sign_bit"), 1, "FIELD=ANSWER"),
        (("train", "--convention", "sign_bit=maybe"), 1, "maybe"),
        (("train", "--batch-size", "0"), 1, "batch_size"),
        (("train", "--save", "no/such/folder/model.npz"), 1, "folder that exists"),
        (("train", "--history", "run.xml"), 1, ".csv or .jsonl"),
        (("train", "--checkpoint-every", "3"), 1, "--save"),
        (("evaluate", "missing.npz"), 1, "missing.npz"),
    ],
)
def test_failures_are_said_in_a_line(run, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    got, out, err = run(*words)
    assert (got, out) == (code, "")
    assert message in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_broken_line_is_named(run, tmp_path, files):
    path = tmp_path / "broken.txt"
    path.write_text("2 3 4\n1 0:1\n1 7:1\n")
    code, _, err = run("train", path)
    assert code == 1
    assert f"{path}:3:" in err
    path.write_text("1 3 4\n1 0:1\n")
    assert "feature_count" in run("train", files[0], path)[2]


def test_a_model_for_other_labels(run, files, tmp_path):
    run("train", *files, *SMALL, "--save", tmp_path / "model.npz")
    code, _, err = run("evaluate", tmp_path / "model.npz")
    assert code == 1
    assert "expected 30 labels" in err


def test_help_has_examples_and_the_version_is_printed(run):
    for command in ("train", "evaluate", "predict", "info", "conventions"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "example" in out
    assert run("--version")[1].startswith("pyslide ")


def test_python_dash_m():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "pyslide", "conventions"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "SimHash" in done.stdout


def test_workers_train_and_bad_ones_are_refused_before_any_work(capsys):
    assert main(["train", "--workers", "0"]) == 1
    said = capsys.readouterr()
    assert "workers: expected at least 1" in said.err
    assert "rows" not in said.err
    few = ["--epochs", "1", "--steps", "4", "--quiet"]
    assert main(["train", "--workers", "2", "--worker-kind", "threads", *few]) == 0
    assert "SLIDE" in capsys.readouterr().out
