"""Top Hessian eigenvalues of one loss: ours beside hessian-eigenthings and pyhessian, and our cost against k and size.

A tanh network of 105,354 parameters on 2,000 rows. Each number is the smallest of a few rounds, in CPU seconds, which
count every thread; our compilation is shown apart. The error is the largest relative one of the five eigenvalues,
against a run with residuals of 1e-9. The peers are run by this Python, or by the one that FTHETA_TORCH_PYTHON names,
where they can be imported.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.networks import random_mlp
from ftheta.spectra import Extremes, Objective, extremes

WIDTHS = (20, 256, 256, 128, 10)
ROWS = 2000
K = 5
ROUNDS = 3


def problem(
    widths: tuple[int, ...], rows: int, dtype: Any
) -> tuple[Objective, dict[str, np.ndarray]]:
    """A loss that has been trained on for a little while would look the same: random weights and smooth targets."""
    rng = np.random.default_rng(0)
    net = random_mlp(rng, widths, "tanh", gain=1.0)
    x = rng.normal(size=(rows, widths[0]))
    y = np.sin(x @ rng.normal(size=(widths[0], widths[-1])))
    arrays = {
        f"{part}{i}": a for i, pair in enumerate(net.params) for part, a in zip("Wb", pair)
    } | {"x": x, "y": y}
    return Objective.of(net, (x, y), "squared", dtype=dtype), {
        name: a.astype(dtype) for name, a in arrays.items()
    }


def ours(objective: Objective, k: int, tol: float) -> Extremes:
    return extremes(objective.hessian(), k, "largest", tol=tol, products=2000)


def timed(objective: Objective, k: int = K, tol: float = 1e-3) -> tuple[float, Extremes]:
    seconds = []
    found = None
    for _ in range(ROUNDS):
        before = time.process_time()
        found = ours(objective, k, tol)
        seconds.append(time.process_time() - before)
    assert found is not None
    return min(seconds), found


def peers(arrays: dict[str, np.ndarray], steps: int) -> dict[str, dict[str, Any]]:
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    script = Path(__file__).with_name("_spectra_torch.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        command = [python, str(script), str(path), str(K), str(steps), str(ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"   the peers were not run: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        return {}
    return json.loads(done.stdout)


def beside_peers(dtype: Any) -> None:
    objective, arrays = problem(WIDTHS, ROWS, dtype)
    before = time.process_time()
    ours(objective, K, 1e-3)
    first = time.process_time() - before
    seconds, found = timed(objective)
    truth = ours(problem(WIDTHS, ROWS, np.float64)[0], K, 1e-9).largest.values
    error = lambda values: np.abs(np.sort(values)[::-1] / truth - 1).max()
    print(f"{objective.size:,} parameters, {ROWS:,} rows, top {K}, {np.dtype(dtype).name}:")
    told = f"{found.products} products, compiled in {max(first - seconds, 0):.2f} s"
    print(f"   {'ftheta':36} {seconds:7.2f} s   error {error(found.largest.values):.1e}   {told}")
    for name, other in peers(arrays, found.products).items():
        ratio = f"ftheta is {other['seconds'] / seconds:.2f}× as fast"
        print(
            f"   {name:36} {other['seconds']:7.2f} s   error {error(other['values']):.1e}   {ratio}"
        )


def against_k() -> None:
    objective, _ = problem(WIDTHS, ROWS, np.float64)
    ours(objective, 1, 1e-3)
    for k in (1, 5, 20):
        seconds, found = timed(objective, k)
        print(f"   top {k:2}: {seconds:6.2f} s, {found.products} products")


def against_size() -> None:
    for width in (64, 256, 1000):
        objective, _ = problem((20, width, width, 10), 500, np.float64)
        ours(objective, K, 1e-3)
        seconds, found = timed(objective)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        cost = f"{seconds:6.2f} s, {found.products} products"
        print(
            f"   {objective.size:9,} parameters: {cost}, peak memory of the process {peak:,.0f} MB"
        )


def main() -> None:
    for dtype in (np.float64, np.float32):
        beside_peers(dtype)
    print("our cost against the number of eigenvalues:")
    against_k()
    print("our cost against the number of parameters, 500 rows:")
    against_size()


if __name__ == "__main__":
    main()
