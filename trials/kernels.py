"""Kernels of infinitely wide networks in many digits, where angles are hardest to tell from a cosine."""

from collections.abc import Callable

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.kernels.angles import arc_cosine
from ftheta.kernels.wide.closed_forms import closed_form, fully_connected
from ftheta.networks.activations import LEAK
from ftheta.theorems.width.ntk_kernel.relu import WideLimit

from . import Trial

BITS = 800  # nearly opposite inputs have kernels of 1e-45
BENT = {"relu": 0.0, "leaky-relu": float(LEAK), "abs": -1.0, "identity": 1.0}
NOTHING = 1e-80  # what is left of zero in so many digits, relative to √(pq)
ALLOWED = 1e-13  # relative to the terms that are added, to depth 10
Exact = tuple[arb, arb, arb, arb]


def hard_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of very different sizes, nearly parallel, nearly opposite, exactly so, or neither."""
    d = int(rng.integers(2, 8))
    x = rng.normal(size=d) * 10.0 ** rng.uniform(-60, 60)
    if rng.random() < 0.2:
        return x, rng.normal(size=d) * 10.0 ** rng.uniform(-60, 60)
    sign = rng.choice([-1.0, 1.0])
    if rng.random() < 0.1:
        return x, sign * x * 2.0 ** int(rng.integers(-40, 40))
    away = 10.0 ** rng.uniform(-15, 0)
    return x, sign * x * 10.0 ** rng.uniform(-5, 5) * (1 + away * rng.normal(size=d))


def exact_kernels(name: str, depth: int, w: float, b: float, x: np.ndarray, y: np.ndarray) -> Exact:
    """K and Θ with the sizes of the terms that are added in each, by the recursion on angles in many digits.

    The radii of the balls are dropped: those of angles that are zero would double at every layer.
    """
    leak = arb(BENT[name])
    bend = (1 - leak) ** 2 / 2
    first, second = ([arb(float(v)) for v in row] for row in (x, y))
    dot = lambda u, v: sum((s * t for s, t in zip(u, v)), arb(0)) / len(u)
    p, q, c = (
        arb(w) * dot(u, v) + arb(b) for u, v in ((first, first), (second, second), (first, second))
    )
    theta = c
    size_k = size_theta = abs(c)
    for _ in range(depth):
        size = (p * q).sqrt()
        sine = (p * q - c**2).mid().max(arb(0)).sqrt().mid() / size
        cosine = c / size
        turn = arb.atan2(sine, -cosine) if cosine < 0 else arb.pi() - arb.atan2(sine, cosine)
        k0 = turn / arb.pi()
        k1 = (sine + turn * cosine) / arb.pi()
        values = leak * c + bend * size * k1
        slopes = leak + bend * k0
        size_k = w * (abs(leak) * size_k + bend * size * (abs(k1) + NOTHING)) + b
        size_theta = size_k + w * size_theta * (abs(leak) + bend * k0)
        p, q, c = (
            (arb(w) * v + arb(b)).mid() for v in ((leak + bend) * p, (leak + bend) * q, values)
        )
        theta = c + arb(w) * theta * slopes
    return c, theta, size_k, size_theta


def relative_error(ours: float, truth: arb, size: arb) -> float:
    return float((abs(arb(ours) - truth) / size).upper())


def try_closed_form(rng: np.random.Generator) -> str | None:
    name = str(rng.choice(list(BENT)))
    depth = int(rng.integers(1, 11))
    w = float(rng.choice([0.5, 1.0, 2.0]))
    b = float(rng.choice([0.0, 0.0, 0.1, 1.0]))
    x, y = hard_pair(rng)
    found = closed_form(fully_connected(name, depth, weight=w, bias=b), x[None], y[None])
    with ctx.workprec(BITS):
        k, theta, size_k, size_theta = exact_kernels(name, depth, w, b, x, y)
        for what, ours, truth, size in (
            ("K", found.nngp, k, size_k),
            ("Θ", found.ntk, theta, size_theta),
        ):
            if not relative_error(float(ours[0, 0]), truth, size) <= ALLOWED:
                told = f"{what} of {name}, depth {depth}, w = {w}, b = {b}, x = {x.tolist()}, y = {y.tolist()}"
                return f"{told}: {float(ours[0, 0])!r}, true {truth.str(17, radius=False)}"
    return None


def try_wide_limit(rng: np.random.Generator) -> str | None:
    x, y = hard_pair(rng)
    layers = int(rng.integers(1, 8))
    nngp, ntk = WideLimit((1.0,) * layers).kernels(np.stack([x, y]))
    with ctx.workprec(BITS):
        k, theta, size_k, size_theta = exact_kernels("relu", layers, 2.0, 0.0, x, y)
        # the recursion above divides by the dimension and starts with a weight of 2
        scale = arb(len(x)) / 2
        for what, ours, truth, size in (("K", nngp, k, size_k), ("Θ", ntk, theta, size_theta)):
            if not relative_error(float(ours[0, 1]), scale * truth, scale * size) <= ALLOWED:
                return f"{what}, {layers} layers, x = {x.tolist()}, y = {y.tolist()}: {float(ours[0, 1])!r}"
    return None


def try_arc_cosine(rng: np.random.Generator) -> str | None:
    away = 10.0 ** rng.uniform(-17, 0)
    cosine = float(np.clip(rng.choice([1.0, -1.0]) * (1 - away), -1, 1))
    k0, k1 = (float(k) for k in arc_cosine(np.array(cosine)))
    with ctx.workprec(BITS):
        turn = arb.pi() - arb(cosine).acos()
        truths = (
            turn / arb.pi(),
            ((1 - arb(cosine) ** 2).max(arb(0)).sqrt() + turn * cosine) / arb.pi(),
        )
        for ours, truth in zip((k0, k1), truths):
            if not relative_error(ours, truth, abs(truth) + NOTHING) <= 2e-15:
                return f"cosine {cosine!r}: {ours!r}, true {truth.str(17, radius=False)}"
    return None


def _trial(
    name: str, says: str, attempt: Callable[[np.random.Generator], str | None], few: int
) -> Trial:
    return Trial(f"kernels: {name}", says, attempt, few)


TRIALS = (
    _trial(
        "closed forms",
        "a kernel off by more than 1e-13 of the terms it is a sum of",
        try_closed_form,
        60,
    ),
    _trial(
        "wide limit",
        "a kernel off by more than 1e-13 of the terms it is a sum of",
        try_wide_limit,
        30,
    ),
    _trial("arc-cosine", "κ₀ or κ₁ off by more than 2e-15 of itself", try_arc_cosine, 100),
)
