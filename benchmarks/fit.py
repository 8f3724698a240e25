"""Training one network: `ft.fit` beside a hand-written `lax.scan`, PyTorch eager and `torch.compile`.

20-128-128-1, Adam, batch 64, float32. Compilation is shown apart and included in the total. Each number is the smallest
of a few rounds, in CPU seconds: every loop here runs on one core, and CPU time does not count what others do there.
PyTorch is run by this Python, or by the one that FTHETA_TORCH_PYTHON names, where torch can be imported.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.networks import random_mlp
from ftheta.training import Batches, fit
from ftheta.training.machine import _compiled

STEPS, ROWS, EXAMPLES, WIDTHS, ROUNDS = 10_000, 64, 10_000, (20, 128, 128, 1), 3
NET = random_mlp(np.random.default_rng(0), WIDTHS)
X = np.random.default_rng(1).normal(size=(EXAMPLES, WIDTHS[0])).astype(np.float32)
Y = np.sin(X[:, :1])


def ours() -> tuple[float, float]:
    """CPU seconds of compilation and of training."""
    jax.clear_caches()
    _compiled.cache_clear()
    before = time.process_time()
    batches = Batches(ROWS, last="drop")  # as the other loops do
    trained = fit(NET, (X, Y), "squared", "adam", step=1e-3, steps=STEPS, batch=batches, dtype=np.float32)
    total = time.process_time() - before
    before = time.process_time()
    again = fit(NET, (X, Y), "squared", "adam", step=1e-3, steps=STEPS, batch=batches, dtype=np.float32)
    training = time.process_time() - before  # compiled already
    assert np.array_equal(trained.history.loss, again.history.loss)
    return max(total - training, 0.0), training


def by_hand() -> tuple[float, float]:
    jax.clear_caches()
    optimiser = optax.adam(1e-3)

    def loss(params, x, y):
        return jnp.mean(jnp.sum((NET.apply(params, x) - y) ** 2, axis=-1))

    def step(state, rows):
        params, memory = state
        value, gradient = jax.value_and_grad(loss)(params, x[rows], y[rows])
        updates, memory = optimiser.update(gradient, memory, params)
        return (optax.apply_updates(params, updates), memory), value

    rng = np.random.default_rng(0)
    x, y = jnp.asarray(X), jnp.asarray(Y)
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), NET.params)
    per_epoch = EXAMPLES // ROWS
    epochs = [rng.permutation(EXAMPLES)[: per_epoch * ROWS].reshape(-1, ROWS) for _ in range(STEPS // per_epoch + 1)]
    rows = np.concatenate(epochs)[:STEPS].astype(np.int32)
    state = (params, optimiser.init(params))
    begun = time.process_time()
    train = jax.jit(lambda state, rows: jax.lax.scan(step, state, rows), donate_argnums=0).lower(state, rows).compile()
    compiled = time.process_time()
    jax.block_until_ready(train(state, rows))
    return compiled - begun, time.process_time() - compiled


def smallest(times: list[tuple[float, float]]) -> tuple[float, float]:
    """Of compilation and training: the smallest training, and what the smallest total has beyond it."""
    training, total = min(t[1] for t in times), min(sum(t) for t in times)
    return total - training, training


def with_torch() -> dict[str, tuple[float, float]]:
    """CPU seconds of compilation and training of each loop in PyTorch; nothing where it is not installed."""
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    script = Path(__file__).with_name("_fit_torch.py")
    fresh = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    run = subprocess.run([python, str(script), str(STEPS)], capture_output=True, text=True, env=fresh)
    if run.returncode:
        return {}
    found = json.loads(run.stdout.splitlines()[-1])
    return {name: (compiling[1], training[1]) for name, (compiling, training) in found.items()}


def main() -> None:
    rounds: dict[str, list[tuple[float, float]]] = {}
    loops: dict[str, Callable[[], Any]] = {"ft.fit": ours, "hand-written lax.scan": by_hand}
    for _ in range(ROUNDS):
        for name, loop in loops.items():
            rounds.setdefault(name, []).append(loop())
        for name, times in with_torch().items():
            rounds.setdefault(name, []).append(times)
    best = {name: smallest(times) for name, times in rounds.items()}
    mine = best["ft.fit"]
    print(f"{STEPS:,} steps of {'-'.join(map(str, WIDTHS))}, batch {ROWS}, Adam, float32; CPU seconds")
    print(f"{'loop':26} {'compile':>8} {'train':>8} {'total':>8} {'train ÷ ft.fit':>15} {'total ÷ ft.fit':>15}")
    for name, (compiling, training) in best.items():
        ratios = training / mine[1], (compiling + training) / sum(mine)
        print(
            f"{name:26} {compiling:8.2f} {training:8.2f} {compiling + training:8.2f}"
            + "".join(f" {r:15.2f}" for r in ratios)
        )
    if len(best) == len(loops):
        print("PyTorch is not installed: pip install 'ftheta[torch]', or set FTHETA_TORCH_PYTHON")
