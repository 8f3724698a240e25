"""Training one network: `ft.fit` beside a hand-written `lax.scan`, PyTorch eager and `torch.compile`.

20-128-128-1, Adam, batch 64, float32, from the same weights over the same rows in the same order. Compilation is shown
apart and included in the total. Each number is the smallest of a few rounds, in CPU seconds and on the clock: only the
first can be trusted on a machine with other work. PyTorch is run by this Python, or by the one that
FTHETA_TORCH_PYTHON names, where torch can be imported; on one thread and on two, of which the better counts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.networks import random_mlp
from ftheta.training import Batches, fit
from ftheta.training.machine import _compile

STEPS = 10_000
ROWS = 64
EXAMPLES = 10_000
WIDTHS = (20, 128, 128, 1)
ROUNDS = 3
NET = random_mlp(np.random.default_rng(0), WIDTHS)
X = np.random.default_rng(1).normal(size=(EXAMPLES, WIDTHS[0])).astype(np.float32)
Y = np.sin(X[:, :1])
BATCHES = Batches(ROWS, last="drop")


class Times(NamedTuple):
    """CPU and wall seconds."""

    cpu: float
    wall: float

    def __add__(self, other: "Times") -> "Times":  # type: ignore[override]
        return Times(self.cpu + other.cpu, self.wall + other.wall)

    def __sub__(self, other: "Times") -> "Times":
        return Times(self.cpu - other.cpu, self.wall - other.wall)

    @classmethod
    def least(cls, many: "list[Times]") -> "Times":
        return cls(min(t.cpu for t in many), min(t.wall for t in many))


class Round(NamedTuple):
    compiling: Times
    training: Times
    loss: float


def now() -> Times:
    return Times(time.process_time(), time.perf_counter())


def order() -> np.ndarray:
    """The rows of every step, as `fit` draws them from seed 0."""
    firsts = range(0, STEPS, BATCHES.capacity)
    parts = [
        BATCHES.rows(EXAMPLES, 0, k, min(BATCHES.capacity, STEPS - k)).numbers[: STEPS - k]
        for k in firsts
    ]
    return np.concatenate(parts)


def ours() -> Round:
    jax.clear_caches()
    _compile.cache_clear()
    options: dict[str, Any] = {"step": 1e-3, "steps": STEPS, "batch": BATCHES, "dtype": np.float32}
    begun = now()
    trained = fit(NET, (X, Y), "squared", "adam", **options)
    first = now()
    again = fit(NET, (X, Y), "squared", "adam", **options)  # compiled already
    assert np.array_equal(trained.history.loss, again.history.loss)
    training = now() - first
    return Round(first - begun - training, training, float(trained.history.loss[-1]))


def by_hand() -> Round:
    jax.clear_caches()
    optimiser = optax.adam(1e-3)

    def loss(params, x, y):
        return jnp.mean(jnp.sum((NET.apply(params, x) - y) ** 2, axis=-1))

    def step(state, rows):
        params, memory = state
        value, gradient = jax.value_and_grad(loss)(params, x[rows], y[rows])
        updates, memory = optimiser.update(gradient, memory, params)
        return (optax.apply_updates(params, updates), memory), value

    x = jnp.asarray(X)
    y = jnp.asarray(Y)
    rows = order()
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), NET.params)
    state = (params, optimiser.init(params))
    begun = now()
    train = (
        jax.jit(lambda state, rows: jax.lax.scan(step, state, rows), donate_argnums=0)
        .lower(state, rows)
        .compile()
    )
    compiled = now()
    losses = jax.block_until_ready(train(state, rows))[1]
    return Round(compiled - begun, now() - compiled, float(losses[-1]))


def with_torch() -> dict[str, Round]:
    """The loops in PyTorch; nothing where it is not installed."""
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    script = Path(__file__).with_name("_fit_torch.py")
    fresh = {**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder, "problem.npz")
        held: dict[str, Any] = {"x": X, "y": Y, "rows": order().astype(np.int64)}
        held |= {
            f"leaf{k}": np.asarray(leaf, np.float32)
            for k, leaf in enumerate(jax.tree.leaves(NET.params))
        }
        np.savez(problem, **held)
        run = subprocess.run(
            [python, str(script), str(problem)], capture_output=True, text=True, env=fresh
        )
    if run.returncode:
        return {}
    found = json.loads(run.stdout.splitlines()[-1])
    return {
        name: Round(Times(*c[::-1]), Times(*t[::-1]), loss) for name, (c, t, loss) in found.items()
    }


def main() -> None:
    rounds: dict[str, list[Round]] = {}
    for _ in range(ROUNDS):
        for name, loop in {"ft.fit": ours, "hand-written lax.scan": by_hand}.items():
            rounds.setdefault(name, []).append(loop())
        for name, found in with_torch().items():
            rounds.setdefault(name, []).append(found)
    print(
        f"{STEPS:,} steps of {'-'.join(map(str, WIDTHS))}, batch {ROWS}, Adam, float32; CPU seconds, and on the clock"
    )
    print(
        f"{'loop':36} {'compile':>8} {'train':>8} {'total':>8} {'÷ ft.fit':>9}"
        f" {'clock':>8} {'÷ ft.fit':>9} {'last loss':>10}"
    )
    mine = Times.least([r.compiling + r.training for r in rounds["ft.fit"]])
    for name, many in rounds.items():
        training = Times.least([r.training for r in many])
        total = Times.least([r.compiling + r.training for r in many])
        print(
            f"{name:36} {total.cpu - training.cpu:8.2f} {training.cpu:8.2f} {total.cpu:8.2f}"
            f" {total.cpu / mine.cpu:9.2f} {total.wall:8.2f} {total.wall / mine.wall:9.2f} {many[0].loss:10.2e}"
        )
    if len(rounds) == 2:
        print("PyTorch is not installed: pip install 'ftheta[torch]', or set FTHETA_TORCH_PYTHON")
