"""The same sweep on a Dask cluster of local workers, one of which is killed."""

import os
import signal
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest

from ftheta.logic import SubjectError, UsageError
from ftheta.sweeps import Networks, Pool, sweep
from ftheta.sweeps.pool import NoWorkers

from . import trainings

distributed = pytest.importorskip("distributed")

GRID = {"a": [0.1 * k for k in range(40)], "log": os.devnull}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None, processes=True
    ) as found:
        yield found


def test_a_cluster_gives_the_table_of_this_machine_bit_for_bit(cluster):
    address = cluster.scheduler_address.replace("tcp://", "dask://")
    there = sweep(trainings.wave, {"a": GRID["a"]}, 2, on=address).table()
    assert there.same(sweep(trainings.wave, {"a": GRID["a"]}, 2, on=1).table())


def test_networks_are_trained_there_with_the_same_bits(cluster):
    nets = Networks(trainings.made(0, 12)[:2], widths=5, steps=20)
    with distributed.Client(cluster, set_as_default=False) as client:
        there = sweep(nets, {}, 2, on=client).table()
        assert client.status == "running"  # a client that is handed in stays open
    assert there.same(sweep(nets, {}, 2, on=1).table())


@pytest.mark.nightly
def test_a_killed_dask_worker_costs_nothing_but_time(cluster, tmp_path):
    log = tmp_path / "log"
    settings = GRID | {"log": str(log), "pause": 0.05}
    with distributed.Client(cluster, set_as_default=False) as client:

        def kill_one():
            while not log.exists() or len(log.read_text().splitlines()) < 8:
                time.sleep(0.02)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        found = sweep(trainings.slow, settings, on=client, store=tmp_path / "runs.db")
        killer.join()
    plain = sweep(trainings.slow, settings | {"pause": 0.0}, on=1)
    assert found.complete and found.table()["mean"].tolist() == plain.table()["mean"].tolist()
    found.close()


def test_a_cell_that_kills_its_process_is_given_up_and_the_cluster_lives(cluster, tmp_path):
    found = sweep(trainings.deadly, {"a": [0, 1, 3], "marks": str(tmp_path)}, on=cluster, retries=1)
    assert found.counts.done == 2 and "SIGKILL" in found.failures()[0][1]


def test_no_scheduler_is_an_error_in_words(monkeypatch):
    import ftheta.sweeps.cluster as module

    monkeypatch.setattr(module, "PATIENCE", 0.3)
    with pytest.raises(SubjectError, match="no Dask scheduler"):
        sweep(trainings.tiny, {"a": [1]}, on="dask://127.0.0.1:9")


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="ftheta\\[distributed\\]"):
        sweep(trainings.tiny, {"a": [1]}, on="dask://127.0.0.1:9")


def test_a_cluster_without_workers_is_said_and_left_after_a_stated_time(monkeypatch, capsys):
    import ftheta.sweeps.cluster as module

    monkeypatch.setattr(module, "SILENCE", 0.2)
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address=None
    ) as empty:
        found = sweep(trainings.tiny, {"a": [1, 2]}, on=empty, wait=1.5)
    assert found.counts.done == 0 and not found.interrupted and not found.complete
    assert "no worker" in found.stopped and "1.5 s" in str(found)
    assert "the Dask cluster has no workers; the sweep ends after 1.5 s" in capsys.readouterr().err


class Flapping:
    """A client of a cluster whose workers are new at every look; `last` is the time after which they stay."""

    def __init__(self, clock, last=float("inf")):
        self.clock = clock
        self.last = last

    def scheduler_info(self, n_workers):
        name = "the one that stays" if self.clock.now > self.last else f"worker {self.clock.now}"
        return {"workers": {name: {"nthreads": 1}}}


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.mark.parametrize("last, ends", [(float("inf"), True), (30.0, False)])
def test_workers_that_die_quickly_are_left_after_a_stated_time(monkeypatch, last, ends):
    import ftheta.sweeps.cluster as module

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    backend = module.DaskBackend(Flapping(clock, last), ours=False, wait=60.0)
    said = set()
    with pytest.raises(NoWorkers, match="60 s") if ends else nullcontext():
        for clock.now in range(600):
            backend._watch(result=False)
            said.add(backend.note)
    assert clock.now == (61 if ends else 599)
    assert "workers of the Dask cluster do not last; the sweep ends after 60 s without one" in said


def test_a_pool_never_waits_for_workers(pool_of_one):
    assert pool_of_one.note == ""
    waits: list[Any] = [0, -1, True, "soon", float("nan")]
    for wait in waits:
        with pytest.raises(UsageError, match="wait"):
            sweep(trainings.tiny, {"a": [1]}, on=pool_of_one, wait=wait)


@pytest.fixture
def pool_of_one():
    with Pool(1) as pool:
        yield pool
