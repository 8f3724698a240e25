"""A sweep of a function on this machine: the same table whatever the order, the workers, the cuts and the crashes."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.processes.environment import worker_environment
from ftheta.processes.worker import program
from ftheta.sweeps import Pool, Store, sweep
from ftheta.sweeps.grid import Cell
from ftheta.sweeps.identity import code_digest
from ftheta.sweeps.pool import Event, Payload
from ftheta.sweeps.store import Outcome

from . import trainings

GRID = {"a": [0.1, 0.2, 0.3, 0.7], "b": [0.0, 1e-9]}


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as found:
        yield found


@pytest.fixture(scope="module")
def undisturbed(pool):
    return sweep(trainings.wave, GRID, 3, on=pool).table()


def test_the_table_is_what_the_function_returns_in_the_order_of_the_grid(undisturbed):
    rows = list(undisturbed.rows())
    assert undisturbed.names == ["a", "b", "seed", "mean", "high", "word"] and len(rows) == 24
    assert [(r["a"], r["b"], r["seed"]) for r in rows] == [
        (a, b, s) for a in GRID["a"] for b in GRID["b"] for s in range(3)
    ]
    for row in rows:
        expected = trainings.wave(row["seed"], row["a"], row["b"])
        assert all(row[name] == expected[name] for name in ("mean", "high", "word"))


def test_workers_order_and_cuts_change_no_bit(pool, undisturbed, tmp_path):
    assert sweep(trainings.wave, GRID, 3, on=1).table().same(undisturbed)
    store = tmp_path / "runs.db"
    turned = {"b": GRID["b"][::-1], "a": GRID["a"][::-1]}
    sweep(trainings.wave, turned, [2, 0], on=pool, store=store).close()
    again = sweep(trainings.wave, GRID, 3, on=pool, store=store)
    assert again.table().same(undisturbed)
    assert [tuple(a) for a in again.arrays("draws")] == [
        tuple(trainings.wave(r["seed"], r["a"], r["b"])["draws"]) for r in undisturbed.rows()
    ]
    again.close()


def test_what_is_in_the_store_is_not_done_again(pool, tmp_path):
    store = tmp_path / "runs.db"
    log = tmp_path / "log"
    settings = {"a": [1, 2], "log": str(log), "pause": 0.0}
    sweep(trainings.slow, settings, 2, on=pool, store=store).close()
    sweep(trainings.slow, settings | {"a": [1, 2, 3]}, 3, on=pool, store=store).close()
    found = log.read_text().splitlines()
    assert sorted(found) == sorted(f"{a} {s}" for a in (1, 2, 3) for s in range(3))


def test_a_failing_cell_is_recorded_and_the_others_go_on(pool, tmp_path):
    found = sweep(trainings.moody, {"a": [0, 1, 2, 3, 4, 5]}, on=pool, store=tmp_path / "runs.db")
    table = found.table()
    assert found.counts.done == 3 and found.counts.failed == 3 and not found.complete
    first, error = found.failures()[0]
    assert f"a = {first.settings['a']}, seed = {first.seed}: " in str(found)
    assert error.splitlines()[-1][:40] in str(found) and "2 more in .failures()" in str(found)
    assert (
        table["value"][0] == 0.0 and math.isnan(table["value"][2]) and table["value"][5] == math.inf
    )
    errors = {cell.settings["a"]: error for cell, error in found.failures()}
    assert "ValueError: one is not welcome" in errors[1] and "trainings.py" in errors[1]
    assert "cannot be kept" in errors[3] and "SystemExit" in errors[4]
    found.close()


def test_failed_cells_are_done_again_when_asked(pool, tmp_path):
    store = tmp_path / "runs.db"
    mark = tmp_path / "mark"

    def fails_once(seed, path):
        if not os.path.exists(path):  # noqa: PTH110
            open(path, "w").close()  # noqa: PTH123
            raise RuntimeError("not yet")
        return 1.0

    settings = {"path": str(mark)}
    assert sweep(fails_once, settings, on=pool, store=store).counts.failed == 1
    assert sweep(fails_once, settings, on=pool, store=store).counts.failed == 1
    assert sweep(fails_once, settings, on=pool, store=store, retry_failed=True).complete


@pytest.mark.parametrize("store", [None, "runs.db"])
def test_a_cell_that_kills_its_worker_is_tried_again_and_then_given_up(pool, tmp_path, store):
    grid = {"a": [0, 1, 2, 3, 4], "marks": str(tmp_path)}
    path = store and tmp_path / store
    found = sweep(trainings.deadly, grid, 2, on=pool, store=path, retries=1)
    table = found.table(timing=True)
    assert found.counts.failed == 2
    for row in table.rows():
        assert row["value"] == 10.0 * row["a"] if row["a"] != 1 else "SIGKILL" in row["error"]
        assert row["attempts"] == (2 if row["a"] in (1, 2) else 1)


def test_closures_and_functions_of_a_script_run_in_the_workers(pool):
    offset = 3.5
    found = sweep(
        lambda seed, a: {"y": a + offset, "pid": os.getpid()}, {"a": [1, 2]}, on=pool
    ).table()
    assert found["y"].tolist() == [4.5, 5.5] and os.getpid() not in found["pid"]
    script = """
        import ftheta as ft
        def train(seed, a): return a * 2
        print(ft.sweep(train, {"a": [1, 2]}, on=1).table()["value"].tolist())
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
    )
    assert run.stdout.strip() == "[2, 4]", run.stderr


def test_another_code_default_or_version_is_another_study(pool, tmp_path):
    def one(seed, a, k=1):
        """Some words."""
        return a + k

    def two(seed, a, k=1):
        """Other words."""  # and a comment
        return a + k

    two.__qualname__ = one.__qualname__
    assert code_digest(one) == code_digest(two)
    two.__defaults__ = (2,)
    assert code_digest(one) != code_digest(two)
    three = lambda k: lambda seed, a: a + k
    assert code_digest(three(1)) != code_digest(three(2)) and code_digest(
        three(np.ones(2))
    ) != code_digest(three(1))
    from fractions import Fraction

    assert code_digest(three(Fraction(1, 2))) != code_digest(three(Fraction(1, 3)))
    for function, version in ((one, ""), (two, ""), (one, "2"), (one, "")):
        sweep(function, {"a": [1]}, on=pool, store=tmp_path / "runs.db", version=version).close()
    with Store(tmp_path / "runs.db") as store:
        assert [study["done"] for study in store.studies()] == [1, 1, 1]


def test_what_a_function_reads_and_calls_in_its_module_counts():
    def digest_of(source):
        names: dict = {"__name__": "somewhere"}
        exec(textwrap.dedent(source), names)
        return code_digest(names["train"])

    base = """
        RATE = 0.1
        CACHE = object()
        def helper(a): return a * RATE if a else helper(a - 1)
        def train(seed, a): return [helper(a) for _ in range(2)]
    """
    assert (
        digest_of(base)
        == digest_of(base.replace("object()", "print"))
        == digest_of(base + "\n        OTHER = 3\n")
    )
    assert digest_of(base) != digest_of(base.replace("0.1", "0.2"))
    assert digest_of(base) != digest_of(base.replace("a * RATE", "a + RATE"))


def test_results_that_differ_from_cell_to_cell_give_one_table_in_any_order(pool, tmp_path):
    forth = sweep(trainings.crowded, {"a": [0, 1]}, on=pool, store=tmp_path / "a.db")
    back = sweep(trainings.crowded, {"a": [1]}, on=pool, store=tmp_path / "b.db")
    back = sweep(trainings.crowded, {"a": [0, 1]}, on=pool, store=tmp_path / "b.db")
    assert forth.table().same(back.table()) and forth.table().names == [
        "a",
        "seed",
        "early",
        "late",
        "x",
    ]
    assert np.isnan(forth.table()["x"][1]) and len(forth.table({"a": 1})) == 1


def test_two_clients_share_a_sweep_and_do_nothing_twice(undisturbed, tmp_path):
    store = tmp_path / "runs.db"
    log = tmp_path / "log"
    found = {}
    settings = {"a": [float(a) for a in range(12)], "log": str(log)}

    def client(name):
        found[name] = sweep(trainings.slow, settings, 3, on=1, store=store).table()

    def in_a_thread(name):  # SQLite's connections stay with their thread
        thread = threading.Thread(target=client, args=(name,))
        thread.start()
        return thread

    for thread in [in_a_thread("one"), in_a_thread("two")]:
        thread.join()
    assert found["one"].same(found["two"]) and len(found["one"]) == 36
    done = log.read_text().splitlines()
    assert len(done) == len(set(done)) == 36
    assert not list(tmp_path.glob("*.client"))


def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(tmp_path):
    store = tmp_path / "runs.db"
    log = tmp_path / "log"
    script = f"""
        import signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from tests.sweeps import trainings
        from ftheta.sweeps import sweep
        grid = {{"a": list(range(200)), "log": {str(log)!r}, "pause": 0.05}}
        found = sweep(trainings.slow, grid, on=2, store={str(store)!r})
        print(found, found.interrupted)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    wait_for(lambda: log.exists() and len(log.read_text().splitlines()) > 10)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert "interrupted True" in out and process.returncode == 0
    with Store(store) as home:
        kept = home.studies()[0]["done"]
    assert 0 < kept < 200


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_a_million_cells_are_not_listed_before_they_are_needed(pool, monkeypatch):
    started = time.process_time()
    grid = {"a": range(1000), "b": range(1000)}
    from ftheta.sweeps.grid import Grid
    from ftheta.sweeps.schedule import Schedule
    from ftheta.sweeps.trains import Calls

    monkeypatch.setattr(Grid, "key", lambda self, place: pytest.fail("no cell was asked for"))
    monkeypatch.setattr(
        Grid, "__getitem__", lambda self, place: pytest.fail("no cell was asked for")
    )
    cells = Grid(grid)
    todo = Schedule(Calls(trainings.wave), cells, range(len(cells)), 0)
    assert todo.left == 10**6 and len(todo.next(2)) <= 256
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    "train, grid, how, part",
    [
        (trainings.wave, {"c": [1]}, {}, "does not take"),
        (trainings.wave, {"b": [1]}, {}, "does not take"),
        (lambda a: a, {"a": [1]}, {}, "does not take"),
        (3, {"a": [1]}, {}, "cannot be swept"),
        (trainings.wave, {"a": [1]}, {"on": 0}, "between 1"),
        (trainings.wave, {"a": [1]}, {"on": True}, "not clear where"),
        (trainings.wave, {"a": [1]}, {"on": "moon"}, "not clear where"),
        (trainings.wave, {"a": [1]}, {"on": object()}, "not clear where"),
        (trainings.wave, {"a": [1]}, {"retries": -1}, "retries"),
        (trainings.wave, {"a": [1]}, {"retries": True}, "retries"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(train, grid, how, part):
    with pytest.raises(UsageError, match=part):
        ft.sweep(train, grid, **how)


def test_what_cannot_travel_is_refused():
    lock = threading.Lock()
    with pytest.raises(UsageError, match="pickled"):
        sweep(lambda seed: lock.locked(), {}, on=1)


def test_a_module_that_the_workers_do_not_have_is_an_error_not_a_loop(pool, tmp_path, monkeypatch):
    (tmp_path / "vanishing.py").write_text("def train(seed): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import vanishing  # type: ignore[import-not-found]

    (tmp_path / "vanishing.py").unlink()
    with pytest.raises(SubjectError, match="cannot load"):
        sweep(vanishing.train, {}, on=pool)


def test_progress_says_how_much_is_left(capsys):
    sweep(trainings.slow, {"a": list(range(30)), "log": os.devnull}, on=1, progress=True)
    words = capsys.readouterr().err
    assert "of 30 cells" in words and "left" in words and "cells/s" in words


def test_a_worker_whose_client_is_gone_ends_quietly():
    command = [sys.executable, *program("ftheta.sweeps.worker")]
    pipe = subprocess.PIPE
    worker = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=worker_environment()
    )
    assert worker.stdout is not None and worker.stderr is not None and worker.stdin is not None
    worker.stdout.close()  # nobody hears that it is ready
    assert worker.wait(60) == 0 and worker.stderr.read() == b""
    worker.stdin.close()
    worker.stderr.close()


class Crew:
    """Workers of somebody else: what was handed out last is done first, and all of it at once."""

    size = 3
    note = ""

    def __init__(self) -> None:
        self.held: list[tuple[int, list[Cell]]] = []
        self.seen: list[int] = []

    def room(self) -> bool:
        return len(self.held) < 2 * self.size

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        self.held.append((task, cells))

    def events(self, timeout: float) -> list[Event]:
        task, cells = self.held.pop()
        values = [cell.settings["a"] for cell in cells]
        self.seen += values
        done = [
            Event("cell", task, k, Outcome({"value": 2.0 * a}, None, 0.01))
            for k, a in enumerate(values)
        ]
        return [*done, Event("end", task)]

    def stop(self) -> None:
        self.held.clear()


def test_workers_of_ones_own_get_every_cell_once():
    crew = Crew()
    found = sweep(trainings.tiny, {"a": range(40)}, on=crew)
    assert sorted(crew.seen) == list(range(40))
    assert list(found.table()["value"]) == [2.0 * a for a in range(40)]
