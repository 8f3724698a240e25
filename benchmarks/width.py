"""Kernels and measures of wide networks: ours beside plain Jacobian contraction, neural-tangents and torch.func.

Empirical tangent kernels on 256 rows of a dense network 10-512-512-1 and of a convolutional one (three 3×3×32 layers on
16×16×3 images, then dense), both with ReLU and in float64 everywhere; closed forms of 1,000 × 1,000 inputs at depth 10;
Barron's sampling and Frank–Wolfe, 10,000 neurons in 20 dimensions; a step of a million mean-field particles. Each
number is the smallest of a few rounds, in CPU seconds, which count every thread, without compilation. Errors are the
largest ones relative to the largest entry of our kernel. torch is run by this Python, or by the one that
FTHETA_TORCH_PYTHON names; neural-tangents, which needs an old JAX, by the one that FTHETA_TANGENTS_PYTHON names.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.kernels.dispatch import ntk
from ftheta.kernels.empirical.kernel import MEMORY
from ftheta.kernels.wide.closed_forms import closed_form, fully_connected
from ftheta.networks import random_mlp
from ftheta.particles.descent import RegressionTask
from ftheta.subjects import Network, Spectrum, Target

ROWS = 256
ROUNDS = 5
FEW = 100_000_000  # bytes of a small memory


def timed(run: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    """The smallest CPU seconds of a few rounds after one that compiles, and the result."""
    found = run()
    seconds = []
    for _ in range(rounds):
        before = time.process_time()
        found = run()
        seconds.append(time.process_time() - before)
    return min(seconds), found


# -- empirical kernels ---------------------------------------------------------------------------------


def dense(rng: np.random.Generator) -> tuple[Network, np.ndarray]:
    return Network.described(random_mlp(rng, (10, 512, 512, 1))), rng.normal(size=(ROWS, 10))


def convolutional(rng: np.random.Generator) -> tuple[Network, np.ndarray]:
    """Images and weights in the order of torch: channels first."""
    filters = [rng.normal(size=(32, c, 3, 3)) * np.sqrt(2 / (9 * c)) for c in (3, 32, 32)]
    weights = [*filters, rng.normal(size=(1, 32 * 256)) / np.sqrt(32 * 256)]

    def apply(p: Any, x: Any) -> Any:
        for W in p[:-1]:
            x = jax.nn.relu(jax.lax.conv(x[None], W, (1, 1), "SAME")[0])
        return p[-1] @ x.ravel()

    return Network("convolutional", apply, weights, (3, 16, 16)), rng.normal(size=(ROWS, 3, 16, 16))


def contraction(net: Network, x: np.ndarray) -> np.ndarray:
    """All Jacobians by vectorised reverse mode, and their product: what one writes without a library."""
    with jax.enable_x64(True):
        return np.asarray(
            _contraction(net.apply)(jax.tree.map(jnp.asarray, net.params), jnp.asarray(x))
        )


_compiled: dict[Any, Any] = {}


def _contraction(apply: Any) -> Any:
    def kernel(params: Any, x: Any) -> Any:
        rows = jax.vmap(jax.jacrev(lambda p, row: apply(p, row)[0]), (None, 0))(params, x)
        flat = [leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(rows)]
        return sum(J @ J.T for J in flat)

    return _compiled.setdefault(apply, jax.jit(kernel))


def peer(script: str, variable: str, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What another Python makes of the same arrays: seconds and kernels by method."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.npz"
        found = Path(folder) / "found.npz"
        np.savez(given, **arrays)  # type: ignore[arg-type]
        python = os.environ.get(variable, sys.executable)
        command = [
            python,
            str(Path(__file__).with_name(script)),
            name,
            str(given),
            str(found),
            str(ROUNDS),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["?"])[-1]
            print(f"   {script[7:-3]} was not run ({variable}): {why}")
            return {}
        return {key: (value, np.load(found)[key]) for key, value in json.loads(done.stdout).items()}


def empirical(name: str, net: Network, x: np.ndarray) -> None:
    seconds, kernel = timed(lambda: ntk(net, x))
    size = np.abs(kernel).max()
    print(f"{name}, {net.parameters:,} parameters, {len(x)} rows:")
    print(f"   {'ftheta':44} {1e3 * seconds:9.1f} ms")
    leaves = jax.tree.leaves(net.params)
    arrays = {"x": x} | {f"p{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    others: dict[str, Any] = {}
    others |= peer("_width_torch.py", "FTHETA_TORCH_PYTHON", name, arrays)
    if (
        name == "dense"
    ):  # XLA takes minutes and gigabytes for derivatives of convolutions, image by image, in float64
        others["Jacobian contraction, JAX"] = timed(lambda: contraction(net, x), 2)
        others |= peer("_width_tangents.py", "FTHETA_TANGENTS_PYTHON", name, arrays)
    for other, (cost, found) in others.items():
        error = np.abs(found - kernel).max() / size
        print(
            f"   {other:44} {1e3 * cost:9.1f} ms   error {error:.1e}   ftheta is {cost / seconds:.2f}× as fast"
        )


def many_rows() -> None:
    """2,048 rows in a process of its own, whose memory is that of the kernel and nothing else."""
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for memory in (MEMORY, FEW):
            seconds, more = pool.apply(many_rows_within, (memory,))
            allowed = f"{memory / 2**20:.0f} MiB allowed"
            print(
                f"   dense, 2,048 rows: {seconds:.2f} s, at most {more:.0f} MiB at a time, {allowed}"
            )


def many_rows_within(memory: int) -> tuple[float, float]:
    """CPU seconds, and by how many MiB the process has grown at most; compiled before, with what is free given back."""
    net, _ = dense(np.random.default_rng(0))
    x = np.random.default_rng(1).normal(size=(2048, 10))
    ntk(net, x, memory=memory)
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak of Linux starts anew
    before = resident("VmRSS")
    seconds, _ = timed(lambda: ntk(net, x, memory=memory).shape, 1)  # one kernel at a time
    return seconds, resident("VmHWM") - before


def resident(word: str) -> float:
    """MiB of memory: at present (VmRSS) or at the peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word)) / 2**10


# -- the others ------------------------------------------------------------------------------------------


def closed_forms() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 20))
    for activation in ("relu", "erf", "gelu"):
        layers = fully_connected(activation, 10, weight=2.0, bias=0.1)
        seconds, _ = timed(lambda: closed_form(layers, x), 2)  # noqa: B023
        print(f"   {activation:5} {seconds:6.2f} s")


def constructions() -> None:
    """As one calls them: 10,000 neurons for a Gaussian on a cube of the unit ball, with all the smaller networks."""
    d = 20
    half = (d**-0.5,) * d
    f = Target(
        "Gaussian",
        lambda x: jnp.exp(-jnp.vdot(x, x) / 2),
        tuple(-t for t in half),
        half,
        spectrum=Spectrum.gaussian(d),
    )
    for method in ("barron", "frank-wolfe"):
        ask = partial(ft.approximate, f, None, 1e-9, norm="L2", method=method)
        seconds, made = timed(partial(ask, neurons=10_000, seconds=1e6), 1)
        print(
            f"   {method:12} {seconds:5.2f} s, {made.neurons:,} neurons, L² error at most {made.error.hi:.3e}"
        )


def particles() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 10))
    task = RegressionTask(x, np.sin(x[:, 0]))
    theta = rng.normal(size=(1, 1_000_000, 11))
    seconds, _ = timed(lambda: theta + 0.1 * task.velocity(theta, task.outputs(theta)), 2)
    print(f"   1,000,000 ReLU neurons, 100 rows of 10 numbers: {seconds:.2f} s a step")


def main() -> None:
    for name, make in (("dense", dense), ("convolutional", convolutional)):
        empirical(name, *make(np.random.default_rng(0)))
    many_rows()
    print("closed forms, 1,000 × 1,000 inputs, depth 10:")
    closed_forms()
    print("constructions in 20 dimensions:")
    constructions()
    print("mean field:")
    particles()


if __name__ == "__main__":
    main()
