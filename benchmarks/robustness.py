"""Certified and attacked accuracy of 1,000 rows of a 784-256-256-10 network at eight radii: processor seconds and gaps.
Smoothing of a small convolutional network beside its plain evaluation.

The rows are scikit-learn's digits, enlarged to 28 × 28; the networks are trained on the others, by
interval bounds, by small boxes, and plainly.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.networks import random_mlp
from ftheta.subjects import Dataset
from ftheta.training import RobustLoss

from .lipschitz import BOXES, FOLDER, find_network, read_box

ROWS = 1000
EPS = np.linspace(0.01, 0.08, 8)


def enlarge(x: np.ndarray) -> np.ndarray:
    """Images of 8 × 8 as ones of 28 × 28, between the pixels linearly."""
    at = np.linspace(0, 7, 28)
    weights = np.maximum(0.0, 1 - np.abs(at[:, None] - np.arange(8)))
    return np.einsum("ai,nij,bj->nab", weights, x.reshape(-1, 8, 8), weights).reshape(-1, 784)


TRAININGS: dict[str, RobustLoss | None] = {
    "interval bounds": RobustLoss("ibp", 0.05, clip=(0, 1), ramp=(100, 500)),
    "small boxes": RobustLoss("small-box", 0.05, clip=(0, 1), ramp=(100, 500)),
    "plain": None,
}
"""The radii of a plainly trained network are half as large."""


def main() -> None:
    compare_smoothing()
    compare_images()
    compare_curves()


def compare_smoothing() -> None:
    """Noisy copies of one image through a network of two convolutions, and as many copies without noise."""
    draws = 100_000
    batch = 1000
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 0.3, (8, 1, 3, 3)), rng.normal(0, 0.1, (16, 8, 3, 3))
    last = rng.normal(0, 0.05, (16 * 7 * 7, 10))

    def classify(x: jax.Array) -> jax.Array:
        state = x.reshape(1, 1, 28, 28)
        for kernel in (first, second):
            state = jax.nn.relu(
                jax.lax.conv_general_dilated(state, jnp.asarray(kernel, x.dtype), (2, 2), "SAME")
            )
        return state.reshape(-1) @ jnp.asarray(last, x.dtype)

    smoothed = ft.smooth(ft.Network.of(classify, example=(28, 28), name="two convolutions"), 0.25)
    x = rng.random((28, 28))
    with jax.enable_x64(True):
        rows = jnp.asarray(rng.random((batch, 28, 28)))
        evaluate = jax.jit(lambda rows: jnp.argmax(jax.vmap(classify)(rows), axis=1))

        def evaluate_all() -> None:
            for _ in range(draws // batch):
                evaluate(rows).block_until_ready()

        noisy, plain = (_time(call) for call in (lambda: smoothed.count(x, draws), evaluate_all))
    print(
        f"smoothing, {draws:,} copies: {noisy[0]:.2f} s of processor time, {noisy[0] / plain[0]:.2f}× plain "
        f"evaluation; by the clock {noisy[1]:.2f} s, {noisy[1] / plain[1]:.2f}×",
        flush=True,
    )


def _time(call: Callable[[], Any]) -> tuple[float, float]:
    """Processor time and time by the clock, the least of three, after one call for the compiler."""
    call()
    spent = []
    for _ in range(3):
        begun = time.process_time(), time.perf_counter()
        call()
        spent.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    return min(s[0] for s in spent), min(s[1] for s in spent)


def compare_images() -> None:
    """The network of VNN-COMP on the images that come with it: the centres of its boxes, labelled by the network."""
    path = find_network("mnist_fc", "mnist-net_256x2.onnx")
    if path is None:
        print(f"images of VNN-COMP: no networks in {FOLDER} (set FTHETA_VNNCOMP)")
        return
    net: Any = ft.load(str(path))
    images = []
    for k in range(BOXES):
        low, high = read_box(FOLDER / "mnist_fc" / "vnnlib" / f"prop_{k}_0.03.vnnlib.gz")
        images.append(np.where(low > 0, low + 0.03, high - 0.03))
    x = np.clip(images, 0, 1)
    print(f"{path.name}, images of VNN-COMP")
    _draw_curves(net, x, np.asarray(net(x)).argmax(1), np.linspace(0.01, 0.08, 8))


def _draw_curves(net: Any, x: np.ndarray, y: np.ndarray, eps: np.ndarray) -> None:
    """Both curves, as much processor time for each row as a minute of two cores has for a thousand."""
    ft.robustness(net, (x[:1], y[:1]), eps[:1], clip=(0, 1), budget="1s")  # for the compiler
    begun = time.process_time()
    found = ft.robustness(net, (x, y), eps, clip=(0, 1), budget=0.06 * len(x), threads=2)
    between = (found.certified > 0.2) & (found.attacked < 0.8)
    gap = np.max((found.attacked - found.certified)[between], initial=0.0)
    spent = time.process_time() - begun
    print(found)
    print(
        f"largest gap where both are between 20 and 80 %: {gap:.1%}; {spent:.1f} s of processor time",
        flush=True,
    )


def compare_curves() -> None:
    digits = ft.load("digits")
    assert isinstance(digits, Dataset)
    x, y = (
        np.clip(enlarge(np.asarray(digits.x, float)), 0, 1),
        np.asarray(digits.y).ravel().astype(int),
    )
    start = random_mlp(np.random.default_rng(0), (784, 256, 256, 10), "relu", bias=0.0)
    rest = (x[ROWS:], y[ROWS:])
    for name, robust in TRAININGS.items():
        trained = ft.fit(
            start, rest, "cross-entropy", step=0.002, steps=700, batch=64, robust=robust
        ).network
        net = ft.Network.described(trained, f"784-256-256-10, trained by {name}")
        print(net.name)
        _draw_curves(net, x[:ROWS], y[:ROWS], EPS if robust else EPS / 2)
