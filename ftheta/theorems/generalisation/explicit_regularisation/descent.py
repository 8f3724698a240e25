r"""Gradient descent and Adam with weight decay: the penalty $\gamma\|\theta\|^2$ inside the gradient, or a decay
$\theta\leftarrow\theta-2\gamma\tau\theta$ beside the step. They agree for gradient descent and differ for Adam, which
divides the penalty by the size of the gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from ftheta.training.adaptive import RATIONAL, Adam


def run_descent(X: np.ndarray, y: np.ndarray, tau: float, steps: int) -> np.ndarray:
    r"""$w_k$ of gradient descent from 0 on $\frac12\|Xw-y\|^2$ with step `tau`, after `steps` $k$."""
    w = np.zeros((X.shape[1], *y.shape[1:]))
    for _ in range(steps):
        w = w - tau * X.T @ (X @ w - y)
    return w


@dataclass(frozen=True)
class Decays:
    """The end points of two runs: with the `penalty` inside the gradient, and with the decay `beside` it."""

    penalty: Fraction
    beside: Fraction


def run_decays_in_rationals(steps: int = 3) -> tuple[Decays, Decays]:
    r"""$F(\theta)=3\theta$ from 4 with $\gamma=\frac1{20}$, $\tau=\frac1{10}$: gradient descent, and Adam with
    $\varepsilon=0$ and no memory, which moves by the sign of the gradient."""
    tau = Fraction(1, 10)
    rule = Adam(tau, Fraction(0), Fraction(0), Fraction(0))

    def descend(gradient: Fraction, t: int) -> Fraction:
        return -tau * gradient

    def adapt(gradient: Fraction, t: int) -> Fraction:
        return rule.step(gradient, t, rule.begin(0 * gradient), RATIONAL)[0]

    return _run_both(descend, tau, steps), _run_both(adapt, tau, steps)


def _run_both(move: Callable[[Fraction, int], Fraction], tau: Fraction, steps: int) -> Decays:
    gamma = Fraction(1, 20)
    slope = Fraction(3)
    penalty = Fraction(4)
    beside = Fraction(4)
    for t in range(1, steps + 1):
        penalty = penalty + move(slope + 2 * gamma * penalty, t)
        beside = beside + move(slope, t) - 2 * gamma * tau * beside
    return Decays(penalty, beside)


def run_decays(
    risk: Callable[[Any], Any], start: np.ndarray, gamma: float, tau: float, steps: int
) -> dict[str, list[np.ndarray]]:
    """Four runs on one loss, all points of each: gradient descent and Adam, with the penalty γ‖θ‖² and with decay."""
    slope = jax.jit(jax.grad(risk))
    rule = Adam(tau)
    runs: dict[str, list[np.ndarray]] = {}
    for method in ("descent", "Adam"):
        for kind in ("penalty", "decay"):
            theta = start
            memory = rule.begin(0 * start)
            points = [start]
            for t in range(1, steps + 1):
                g = np.asarray(slope(theta)) + (2 * gamma * theta if kind == "penalty" else 0.0)
                move = -tau * g
                if method == "Adam":
                    move, memory = rule.step(g, t, memory)
                theta = theta + move - (2 * gamma * tau * theta if kind == "decay" else 0.0)
                points.append(theta)
            runs[f"{method}, {kind}"] = points
    return runs
