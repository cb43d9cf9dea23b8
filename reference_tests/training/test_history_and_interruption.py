"""What a run leaves behind, on disk and in the process: histories that are whole or absent, and Ctrl-C given back."""

import csv
import json
import math
import os
import signal
import threading

import pytest

from pyslide.history import write_history
from pyslide.interruption import DeferredInterrupt

ROWS = [{"kind": "step", "loss": 0.1, "note": 'a "comma", caf\u00e9\nand a line'}, {"kind": "evaluation", "P@1": 1 / 3}]


def test_text_and_numbers_come_back(tmp_path):
    write_history(tmp_path / "run.csv", ROWS)
    with (tmp_path / "run.csv").open(newline="", encoding="utf-8") as stream:
        first, second = csv.DictReader(stream)
    assert first["note"] == ROWS[0]["note"]
    assert float(second["P@1"]) == 1 / 3
    write_history(tmp_path / "run.jsonl", ROWS)
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    write_history(tmp_path / "run.jsonl", [{"loss": math.inf}])
    assert json.loads((tmp_path / "run.jsonl").read_text()) == {"loss": math.inf}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_empty_history(tmp_path, ending):
    write_history(tmp_path / f"run.{ending}", [])
    assert (tmp_path / f"run.{ending}").read_text().strip() == ""


def test_nothing_is_half_written(tmp_path):
    path = tmp_path / "run.jsonl"
    write_history(path, ROWS)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="JSON"):
        write_history(path, [*reversed(ROWS), {"kind": object()}])  # other rows than are there
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_the_first_signal_waits_and_the_second_does_not():
    with DeferredInterrupt() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_own_comes_back():
    seen = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with pytest.raises(ValueError, match="inside"), DeferredInterrupt():
            raise ValueError("inside")
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [signal.SIGINT]


def test_other_threads_leave_ctrl_c_alone():
    requested = []

    def work():
        with DeferredInterrupt() as interrupt:
            requested.append(interrupt.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert requested == [False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
