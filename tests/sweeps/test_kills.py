"""Kill the client and its workers at random moments, again and again; the table is that of an undisturbed run."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ftheta.sweeps import Store, sweep
from ftheta.sweeps.grid import Grid

from . import trainings

CELLS = [0.01 * a for a in range(60)]
SEEDS = 2
KILLS = 4
CLIENT = """
import sys
from tests.sweeps import trainings
from ftheta.sweeps import sweep
grid = {"a": [0.01 * a for a in range(60)], "log": sys.argv[2]}
found = sweep(trainings.slow, grid, 2, on=int(sys.argv[3]), store=sys.argv[1], retries=100)
print(found.complete)
"""


def children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def kept(path: Path) -> set[str]:
    """Which cells are in the store."""
    if not path.exists():
        return set()
    with Store(path) as store:
        study = store.study("", "", {})  # to have the store's connection at hand
        tables = study._db.execute("SELECT id FROM studies WHERE digest <> ''").fetchall()
        rows = [
            row for (n,) in tables for row in study._db.execute(f"SELECT a, seed FROM cells_{n}")
        ]
    return {f"{a} {seed}" for a, seed in rows}


@pytest.mark.parametrize(
    "luck", [0, 1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, 30))]
)
def test_random_kills_lose_nothing_and_nothing_is_done_twice(luck, tmp_path):
    chance = random.Random(luck)
    store = tmp_path / "runs.db"
    log = tmp_path / "log"
    done = set()
    kills = 0
    for _ in range(60):
        log.write_text("")
        command = [sys.executable, "-c", CLIENT, str(store), str(log), str(chance.choice([1, 2]))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if kills < KILLS:
            while process.poll() is None and len(log.read_text().splitlines()) < chance.randint(
                1, 25
            ):
                time.sleep(0.01)
            for _ in range(chance.randint(0, 2)):  # some workers first, which are replaced
                for child in children(process.pid)[: chance.randint(0, 2)]:
                    os.kill(child, signal.SIGKILL)
                time.sleep(chance.random() * 0.1)
            process.kill()
            kills += 1
        out, _ = process.communicate(timeout=120)
        begun = log.read_text().splitlines()
        assert not done & set(begun), "a finished cell was done again"
        before = done
        done = kept(store)
        assert before <= done, "a finished cell was lost"
        if out.strip() == "True":
            break
    assert kills == KILLS and len(done) == len(CELLS) * SEEDS
    found = sweep(trainings.slow, {"a": CELLS, "log": str(log)}, SEEDS, on=1, store=store)
    plain = sweep(trainings.slow, {"a": CELLS, "log": str(log), "pause": 0.0}, SEEDS, on=1)
    compared = [found.table(), plain.table()]
    assert all(
        compared[0][name].tolist() == compared[1][name].tolist()
        for name in ("a", "seed", "mean", "high", "word")
    )
    assert [
        a.tolist() for a in found.arrays("draws") if a is not None
    ] == [  # arrays were written with their cells
        trainings.wave(cell.seed, cell.settings["a"])["draws"].tolist()
        for cell in map(Grid({"a": CELLS}, SEEDS).__getitem__, range(len(CELLS) * SEEDS))
    ]
    found.close()


def test_a_disk_that_fills_up_stops_the_sweep_in_words_and_the_next_run_completes_it(tmp_path):
    store = tmp_path / "runs.db"
    log = tmp_path / "log"
    limited = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))
sys.argv[3] = "1"
"""
    command = [sys.executable, "-c", limited + CLIENT, str(store), str(log), "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode and "cannot grow" in run.stderr and "make room" in run.stderr
    before = kept(store)
    assert 0 < len(before) < len(CELLS) * SEEDS
    log.write_text("")
    found = sweep(trainings.slow, {"a": CELLS, "log": str(log)}, SEEDS, on=1, store=store)
    assert found.complete and not before & set(log.read_text().splitlines())
    found.close()


def test_workers_end_with_their_client(tmp_path):
    command = [sys.executable, "-c", CLIENT, str(tmp_path / "runs.db"), str(tmp_path / "log"), "2"]
    process = subprocess.Popen(command)
    end = time.monotonic() + 60
    while not (tmp_path / "log").exists() and time.monotonic() < end:
        time.sleep(0.02)
    workers = children(process.pid)
    assert workers
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() and not zombie(pid) for pid in workers):
        assert time.monotonic() < end, "a worker outlived its client"
        time.sleep(0.05)


def zombie(pid: int) -> bool:
    try:
        return ") Z" in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
