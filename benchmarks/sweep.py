"""Sweeps: 64 networks beside PyTorch, one core and two, bookkeeping, a store of a million rows, Dask, a crowd.

Training is counted in CPU seconds of the busiest core, which is the wall time of a machine that has nothing else to do;
wall times are printed beside where they are what matters. PyTorch is run by this Python, or by the one that
FTHETA_TORCH_PYTHON names, where torch can be imported.
"""

import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ftheta.sweeps import Grid, Networks, Pool, Store, sweep
from ftheta.sweeps.grid import Cell
from ftheta.sweeps.pool import Event, Payload
from ftheta.sweeps.store import Outcome

NETWORKS = 64
STEPS = 2000
CELLS = 10_000
ROWS = 1_000_000
SHAPES = (((2, 64, 64, 1), 256), ((20, 128, 1), 512))


def main() -> None:
    for widths, rows in SHAPES:
        training(widths, rows)
    bookkeeping()
    million()
    dask()
    crowd()


def training(widths: tuple[int, ...], rows: int) -> None:
    one = ours(widths, rows, 1)
    two = ours(widths, rows, 2)
    print(
        f"\n{NETWORKS} × {'-'.join(map(str, widths))}, {rows} rows, {STEPS:,} steps of Adam, float32; compiling in full"
    )
    print(f"{'':24} {'compile s':>10} {'ms a step':>10} {'total s':>8} {'÷ two cores':>12}")
    lines = {"ftheta, two cores": two, "ftheta, one core": one} | with_torch(widths, rows)
    total = {name: compiling + STEPS * step / 1e3 for name, (compiling, step) in lines.items()}
    for name, (compiling, step) in lines.items():
        print(f"{name:24} {compiling:10.1f} {step:10.2f} {total[name]:8.1f} {step / two[1]:12.1f}")
    if len(lines) == 2:
        print("PyTorch is not installed: pip install 'ftheta[torch]', or set FTHETA_TORCH_PYTHON")
    print(f"two cores ÷ one: {one[1] / two[1]:.2f}×")


def ours(widths: tuple[int, ...], rows: int, workers: int) -> tuple[float, float]:
    """CPU seconds of start and compilation, and milliseconds of a step of all networks, on the busiest core."""
    x = np.random.default_rng(0).normal(size=(rows, widths[0]))
    nets = Networks((x, np.sin(x[:, :1])), widths=widths[1:-1], steps=STEPS)
    with Pool(workers) as pool:
        sweep(nets, {"steps": [2]}, 16 * workers, on=pool)  # both compile
        begun = [cpu(pid) for pid in pool.processes]
        sweep(nets, {}, NETWORKS, on=pool)
        spent = [cpu(pid) - before for pid, before in zip(pool.processes, begun)]
    return max(begun), 1e3 * max(spent) / STEPS


def cpu(pid: int) -> float:
    """Seconds of user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def with_torch(widths: tuple[int, ...], rows: int) -> dict[str, tuple[float, float]]:
    """CPU seconds of compilation and milliseconds a step of each; nothing where torch is not installed."""
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    script = Path(__file__).with_name("_sweep_torch.py")
    fresh = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    words = [python, str(script), json.dumps(widths), str(rows)]
    run = subprocess.run(words, capture_output=True, text=True, env=fresh)
    if run.returncode:
        return {}
    return {
        name: (pair[0] / 1e3, pair[1])
        for name, pair in json.loads(run.stdout.splitlines()[-1]).items()
    }


def tiny(seed: int, a: int) -> float:
    return a + 0.5 * seed


def busy(seed: int, a: int) -> float:
    """About 20 ms of work."""
    end = time.process_time() + 0.02
    total = 0.0
    while time.process_time() < end:
        total += 1.0
    return float(a)


def bookkeeping() -> None:
    with tempfile.TemporaryDirectory() as folder, Pool(1) as pool:
        sweep(tiny, {"a": [0]}, on=pool)
        wall = time.perf_counter()
        mine = time.process_time()
        its = cpu(pool.processes[0])
        sweep(tiny, {"a": range(CELLS)}, on=pool, store=Path(folder) / "runs.db").close()
        spent = time.process_time() - mine + cpu(pool.processes[0]) - its
        wall = time.perf_counter() - wall
    told = f"{1e3 * spent / CELLS:.3f} ms of CPU a cell, {1e3 * wall / CELLS:.3f} ms of wall"
    print(f"\n{CELLS:,} cells that do nothing: {told}")


def million() -> None:
    grid = Grid({"width": range(100), "step": [0.1 * k for k in range(100)]}, ROWS // 10_000)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.db") as store:
        study = store.study("benchmark", "benchmark", {}, grid.names)
        begun = time.process_time()
        for first in range(0, ROWS, 1000):
            places = range(first, first + 1000)
            study.commit(
                [(grid.key(p), grid[p], Outcome({"loss": p / 7}, None, 0.1)) for p in places]
            )
        spent = time.process_time() - begun
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        print(
            f"\na store of {ROWS:,} rows: {1e6 * spent / ROWS:.0f} µs a row to write, {size:.0f} MB"
        )
        asked = {
            "how many are done, how many failed": lambda: study.counts(),
            "one cell": lambda: list(study.rows({"width": 31, "step": 0.1 * 7, "seed": 5})),
            "the seeds of one setting": lambda: list(study.rows({"width": 31, "step": 0.1 * 7})),
            "one value of a setting (1 %)": lambda: list(study.rows({"width": 31})),
        }
        for what, ask in asked.items():
            print(f"  {what:36} {1e3 * least(ask):8.1f} ms")


def least(f, rounds: int = 3) -> float:
    """CPU seconds, the smallest of a few."""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        f()
        found.append(time.process_time() - begun)
    return min(found)


def dask() -> None:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("\nDask is not installed: pip install 'ftheta[distributed]'")
        return
    with (
        LocalCluster(4, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        Pool(4) as pool,
    ):
        local = seconds(pool)
        there = seconds(client)
    print(
        "\nfour workers on this machine, wall seconds (smallest of three): the pool, Dask, Dask ÷ pool"
    )
    for name, a, b in zip(("2,000 cells of nothing", "400 cells of 20 ms"), local, there):
        print(f"  {name:24} {a:8.2f} {b:8.2f} {b / a:8.2f}")
    print(
        f"  overhead of Dask: {1e3 * there[0] / 2000:.2f} ms a cell, of the pool {1e3 * local[0] / 2000:.2f} ms"
    )


def seconds(on) -> tuple[float, float]:
    sweep(tiny, {"a": range(64)}, on=on)  # started and warm
    found = []
    for _ in range(3):
        marks = [time.perf_counter()]
        for train, cells in ((tiny, 2000), (busy, 400)):
            sweep(train, {"a": range(cells)}, on=on)
            marks.append(time.perf_counter())
        found.append((marks[1] - marks[0], marks[2] - marks[1]))
    return min(f[0] for f in found), min(f[1] for f in found)


class SimulatedWorkers:
    """Workers that wait instead of computing: the client, its store and its clock are real.

    As with Dask each holds two tasks, and the outcomes of a task come together at its end, after a `delay` on the way
    there and back.
    """

    def __init__(self, count: int, cell: float, delay: float) -> None:
        self.note = ""
        self.size = count
        self.cell = cell
        self.delay = delay
        self.busy = 0.0  # seconds of work that were done
        self._free = [0.0] * count  # when each will have done what it holds
        self._ends: list[tuple[float, int, int]] = []  # when, which task, how many cells

    def room(self) -> bool:
        return len(self._ends) < 2 * self.size

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        begun = max(time.perf_counter() + self.delay, heapq.heappop(self._free))
        end = begun + self.cell * len(cells)
        heapq.heappush(self._free, end)
        heapq.heappush(self._ends, (end + self.delay, task, len(cells)))

    def events(self, timeout: float) -> list[Event]:
        if self._ends:
            time.sleep(max(0.0, min(timeout, self._ends[0][0] - time.perf_counter())))
        heard: list[Event] = []
        while self._ends and self._ends[0][0] <= time.perf_counter():
            _, task, count = heapq.heappop(self._ends)
            self.busy += self.cell * count
            outcome = Outcome({"value": 1.0}, None, self.cell)
            heard += [Event("cell", task, k, outcome) for k in range(count)]
            heard.append(Event("end", task))
        return heard

    def stop(self) -> None:
        self._ends.clear()


def crowd(workers: int = 100, cell: float = 0.05, delay: float = 0.005) -> None:
    """The share of their time that many workers have something to do, and what the client takes for it."""
    cells = int(10 * workers / cell)
    crew = SimulatedWorkers(workers, cell, delay)
    with tempfile.TemporaryDirectory() as folder:
        begun = (time.perf_counter(), time.process_time())
        sweep(tiny, {"a": range(cells)}, on=crew, store=Path(folder) / "runs.db").close()
        wall = time.perf_counter() - begun[0]
        client = time.process_time() - begun[1]
    print(
        f"\n{workers} simulated workers, {cells:,} cells of {1e3 * cell:.0f} ms, {1e3 * delay:.0f} ms on the way: "
        f"busy {crew.busy / (workers * wall):.1%} of the time; the client {1e3 * client / cells:.3f} ms of CPU a cell"
    )
