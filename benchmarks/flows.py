"""A neural ODE, forwards and its gradient: ours (on diffrax) beside torchdiffeq, same field, rows and tolerance.

The field is a tanh network 16-64-16, 64 rows in float64, time 1, adaptive Dormand-Prince steps of order 5 at the same
tolerance. Compilation is shown apart. Each number is the smallest of some rounds, in CPU milliseconds and on the clock.
torchdiffeq is run by this Python, or by the one that FTHETA_TORCH_PYTHON names; on one thread and on two.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.theorems.depth.adjoint_method.adjoints import solve

ROUNDS = 20
TOLERANCE = 1e-6
ROWS = 64
SIZE = 16
WIDTH = 64


def problem() -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    W1 = rng.normal(size=(WIDTH, SIZE)) / np.sqrt(SIZE)
    W2 = rng.normal(size=(SIZE, WIDTH)) / np.sqrt(WIDTH)
    return [2 * W1, rng.normal(size=WIDTH), 2 * W2, rng.normal(size=SIZE)], rng.normal(
        size=(ROWS, SIZE)
    )


def field(theta: Any, x: Any) -> Any:
    W1, b1, W2, b2 = theta
    return jnp.tanh(x @ W1.T + b1) @ W2.T + b2


def timed(run: Any, *arguments: Any) -> tuple[float, float, float, Any]:
    """Compiling (CPU), then CPU and wall seconds of the best round, and the value."""
    begun = time.process_time()
    value = jax.block_until_ready(run(*arguments))
    compiling = time.process_time() - begun
    cpu = np.inf
    wall = np.inf
    for _ in range(ROUNDS):
        clock = time.perf_counter()
        used = time.process_time()
        value = jax.block_until_ready(run(*arguments))
        cpu = min(cpu, time.process_time() - used)
        wall = min(wall, time.perf_counter() - clock)
    return compiling, cpu, wall, value


def ours() -> dict[str, tuple[float, float, float, float, float]]:
    """Compiling, CPU, clock, size of the result, norm of the gradient."""
    weights, x = problem()
    found = {}
    for name, stored in {"ftheta": True, "ftheta, adjoint": False}.items():
        end = lambda theta, x, stored=stored: solve(
            field, theta, x, TOLERANCE, stored=stored, solver="Dopri5"
        )
        loss = lambda theta, x, end=end: jnp.sum(end(theta, x) ** 2)
        compiling, cpu, wall, value = timed(jax.jit(end), weights, x)
        found[f"{name}|forward"] = (compiling, cpu, wall, float(jnp.sum(value**2)), 0.0)
        compiling, cpu, wall, (value, slopes) = timed(jax.jit(jax.value_and_grad(loss)), weights, x)
        norm = float(np.sqrt(sum(float(jnp.sum(g**2)) for g in slopes)))
        found[f"{name}|gradient"] = (compiling, cpu, wall, float(value), norm)
    return found


def theirs() -> dict[str, tuple[float, float, float, float, float]]:
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    weights, x = problem()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problem.npz")
        held: dict[str, Any] = {f"w{k}": w for k, w in enumerate(weights)}
        np.savez(path, x=x, tolerance=TOLERANCE, rounds=ROUNDS, **held)
        run = subprocess.run(
            [python, str(Path(__file__).with_name("_flows_torch.py")), str(path)],
            capture_output=True,
            text=True,
        )
    if run.returncode:
        return {}
    return {
        name: (0.0, cpu, wall, size, norm)
        for name, (cpu, wall, _, size, norm) in json.loads(run.stdout.splitlines()[-1]).items()
    }


def main() -> None:
    with jax.enable_x64(True):
        mine = ours()
    rows = {**mine, **theirs()}
    print(
        f"tanh field {SIZE}-{WIDTH}-{SIZE}, {ROWS} rows, float64, tolerance {TOLERANCE:g}; CPU time, and on the clock"
    )
    print(
        f"{'solver':32} {'what':9} {'compile s':>9} {'CPU ms':>8} {'÷ ours':>7} {'clock':>8} {'÷ ours':>7}"
        f" {'‖x(1)‖²':>12} {'‖∇‖':>12}"
    )
    for name, (compiling, cpu, wall, size, norm) in rows.items():
        who, what = name.split("|")
        base = mine[f"ftheta, adjoint|{what}" if "adjoint" in who else f"ftheta|{what}"]
        print(
            f"{who:32} {what:9} {compiling:9.2f} {1e3 * cpu:8.2f} {cpu / base[1]:7.2f} {1e3 * wall:8.2f}"
            f" {wall / base[2]:7.2f} {size:12.6g} {norm:12.6g}"
        )
    if len(rows) == len(mine):
        print(
            "torchdiffeq is not installed: pip install torchdiffeq beside torch, or set FTHETA_TORCH_PYTHON"
        )


if __name__ == "__main__":
    main()
