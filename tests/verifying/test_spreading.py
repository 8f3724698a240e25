"""Questions and lists of instances shared out to workers: processes here, and a Dask cluster that loses one."""

import csv
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftheta as ft
from ftheta.certify.vnnlib import read_question
from ftheta.cli import run
from ftheta.networks.onnx.write import write
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from ftheta.verifying.networks import read_network
from ftheta.verifying.spreading import Tasks

from . import slow_tasks

distributed = pytest.importorskip("distributed")

BOX = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))\n" for i in (0, 1, 2))
DECLARED = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "X_2", "Y_0"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A random network, with questions about values that it never takes, and about one that it takes."""
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=shape) for shape in ((20, 3), (20, 20), (1, 20))]
    net = ReluNetwork.dense(weights, [rng.normal(size=len(W)) for W in weights])
    write(net, tmp_path / "net.onnx")
    least = float(net(rng.uniform(-1, 1, (20000, 3))).min())
    for name, bound in {"never": least - 5, "often": least + 0.5}.items():
        (tmp_path / f"{name}.vnnlib").write_text(f"{DECLARED}{BOX}(assert (<= Y_0 {bound:.6f}))\n")
    (tmp_path / "instances.csv").write_text(
        "net.onnx,never.vnnlib,5\nnet.onnx,often.vnnlib,5\nnone.onnx,never.vnnlib,5\nnet.onnx,never.vnnlib,5\n"
    )
    return tmp_path


def test_boxes_of_one_question_are_shared_out(cluster: Any, folder: Path) -> None:
    address = cluster.scheduler_address.replace("tcp://", "dask://")
    proved = ft.verify(str(folder / "net.onnx"), folder / "never.vnnlib", budget=60, on=address)
    assert proved.answer == "unsat" and "2 workers" in proved.method and proved.open == 0
    refuted = ft.verify(str(folder / "net.onnx"), folder / "often.vnnlib", budget=60, on=address)
    assert refuted.answer == "sat" and refuted.witness is not None
    net = read_network(str(folder / "net.onnx"))
    assert isinstance(net, ReluNetwork) and exact(net)(refuted.witness.x) == refuted.witness.y
    assert read_question(folder / "often.vnnlib").admits(refuted.witness.x, refuted.witness.y)


def test_a_list_of_instances_is_shared_out(cluster: Any, folder: Path) -> None:
    address = cluster.scheduler_address.replace("tcp://", "dask://")
    words = [
        "verify",
        "--instances",
        str(folder / "instances.csv"),
        "--out",
        str(folder / "results.csv"),
    ]
    assert run([*words, "--witnesses", str(folder / "points"), "--on", address]) == 1
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == ["unsat", "sat", "unknown", "unsat"]
    assert (
        "error" in rows[2]["verdict"] and (folder / "points" / "net_often.counterexample").exists()
    )


def test_a_lost_worker_costs_the_task_that_it_held(cluster: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with distributed.Client(cluster, set_as_default=False) as client:
        tasks = Tasks(slow_tasks.Squares(), client, 60.0)
        for k in range(12):
            tasks.add({"value": k, "log": str(log)})

        def kill_one() -> None:
            while not log.exists() or len(log.read_text().splitlines()) < 3:
                time.sleep(0.02)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        results = {settings["value"]: outcome.result for settings, outcome in tasks}
        killer.join()
        tasks.close()
    assert results == {k: {"square": k * k} for k in range(12)} and not tasks.waiting


def test_time_that_is_over_leaves_the_rest_open(folder: Path) -> None:
    """The largest output that ascent finds is 1263, and a proof of 1330 takes far longer than this."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((60, 8), (60, 60), (60, 60), (1, 60))]
    hard = ReluNetwork.dense(weights, [np.zeros(len(W)) for W in weights])
    found = ft.verify(hard, ft.Outputs(lambda y: y <= 1330).on([-1] * 8, [1] * 8), budget=4, on=1)
    assert found.answer in ("timeout", "unknown") and found.open > 0
