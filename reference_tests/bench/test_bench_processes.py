"""Contenders in processes of their own: faults come home, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_cases import Served, broken

from pyslide.bench import processes
from pyslide.bench.processes import POOLS, ContenderError, come_to_rest, in_processes


def gone(process):
    """Return whether a process has ended and was waited for."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_each_has_a_process_and_the_threads_it_may_have(monkeypatch):
    monkeypatch.setenv(POOLS[0], "5")
    monkeypatch.delenv(POOLS[1], raising=False)
    with in_processes({"one": Served, "two": Served}, 3) as remotes:
        numbers = {remote.ask("number") for remote in remotes.values()}
        assert len(numbers | {os.getpid()}) == 3
        assert [remotes["two"].ask("environment", name) for name in POOLS] == ["3"] * len(POOLS)
    assert (os.environ[POOLS[0]], POOLS[1] in os.environ) == ("5", False)
    assert all(gone(number) for number in numbers)


def test_a_fault_comes_home_with_its_traceback():
    words = r"(?s)^two failed:\nTraceback.*in fail\n.*ValueError: one too many"
    with in_processes({"one": Served, "two": Served}, 1) as remotes:
        number = remotes["one"].ask("number")
        with pytest.raises(ContenderError, match=words):
            remotes["two"].ask("fail")
    assert gone(number)


def test_a_fault_while_building_comes_home():
    words = r"(?s)^sick failed:\nTraceback.*in broken\n.*KeyError"
    with pytest.raises(ContenderError, match=words), in_processes({"sick": broken}, 1):
        pass


def test_a_death_without_a_word_is_said():
    with in_processes({"mortal": Served}, 1) as remotes:
        for _ in range(2):  # told again, it is still dead
            with pytest.raises(ContenderError, match=r"mortal: its process ended without a word \(exit code 7\)"):
                remotes["mortal"].ask("die")


def test_the_resident_set_is_the_childs_own_and_its_largest():
    with in_processes({"large": Served, "small": Served}, 1) as remotes:
        numbers = 2**23
        before = remotes["large"].ask("allocate", 1)
        after = remotes["large"].ask("allocate", numbers)
        later = remotes["large"].ask("allocate", 1)
        other = remotes["small"].ask("allocate", 1)
    assert after - before > 0.9 * 8 * numbers
    assert later > after - 2**20 > other  # Linux counts pages in batches, by processor


def test_rest_is_when_no_thread_works(monkeypatch):
    used = iter([0.0, 1.0, 1.0, 1.5, 1.5, 1.5, 9.0, 9.0])
    slept = []
    monkeypatch.setattr(processes.time, "process_time", lambda: next(used))
    monkeypatch.setattr(processes.time, "sleep", slept.append)
    come_to_rest()
    assert len(slept) == 3
    assert list(used) == [9.0, 9.0]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")
def test_ctrl_c_ends_all():
    """Only the parent is told; its contenders, which would go on for an hour, are ended by it."""
    words = "bench --shape width-1000 --outputs 80 --steps 1000000 --active 9 --threads 1 --peers full"
    started = subprocess.Popen(
        [sys.executable, "-m", "pyslide", *words.split()],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        listing = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        while len(listing.read_text().split()) < 3:  # two contenders, and what keeps their resources
            assert started.poll() is None, started.stderr.read()
            time.sleep(0.05)
        os.kill(started.pid, signal.SIGINT)
        _, said = started.communicate(timeout=60)
    finally:
        started.kill()
    assert (started.returncode, said.splitlines()[-1]) == (1, "pyslide: interrupted")
    for _ in range(200):
        try:
            os.killpg(started.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGKILL)
    pytest.fail("somebody was left behind")
