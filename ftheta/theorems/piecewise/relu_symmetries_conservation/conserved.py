r"""What gradient descent does to $D_i=\|w_i\|^2+b_i^2-\|a_i\|^2$, which gradient flow conserves.

$D_i$ is a quadratic form $\theta^\top B_i\theta$ with $\theta^\top B_i\nabla F(\theta)=0$, because $F$ does not change
along the rescaling of neuron $i$. So one step of descent moves it by exactly $\tau^2\,\nabla F^\top B_i\nabla F$, and
the implicit midpoint rule, whose step is $-\tau\nabla F$ at $(\theta+\theta^+)/2$, does not move it at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.networks.description import Description
from ftheta.relu.symmetry.symmetries import imbalance

ROWS = 128  # of the data
POWER_STEPS = 30
FIXED_POINT_STEPS = 40
Descent = Callable[[Callable[[Any], Any], np.ndarray, float, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Flow:
    r"""The mean squared loss of a network on the rows `x`, `y`, as a function of its numbers in one vector."""

    layers: Description
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def of(
        cls,
        layers: Description,
        x: np.ndarray | None,
        y: np.ndarray | None,
        rng: np.random.Generator,
    ) -> "Flow":
        """On the data, as far as they fit; otherwise on random inputs with smooth labels."""
        d = layers.widths[0]
        m = layers.widths[-1]
        rows = (
            rng.normal(size=(ROWS, d))
            if x is None
            else np.asarray(x, np.float64).reshape(len(x), -1)[:ROWS]
        )
        given = None if x is None or y is None else np.asarray(y)[:ROWS]
        if given is not None and given.size == len(rows) * m:
            return cls(layers, rows, given.reshape(len(rows), m).astype(np.float64))
        if (
            given is not None
            and given.ndim == 1
            and given.dtype.kind in "iu"
            and 0 <= given.min() <= given.max() < m
        ):
            return cls(layers, rows, np.eye(m)[given])
        return cls(layers, rows, np.sin(rows @ rng.normal(size=(d, m))))

    @property
    def start(self) -> np.ndarray:
        return np.concatenate([part.ravel() for pair in self.layers.params for part in pair])

    def split(self, theta: Any) -> list[tuple[Any, Any]]:
        """Weights and biases from one vector."""
        found = []
        at = 0
        for layer in self.layers.layers:
            W = layer.weight.shape
            b = layer.bias.size
            size = layer.weight.size
            found.append((theta[at : at + size].reshape(W), theta[at + size : at + size + b]))
            at += size + b
        return found

    def __call__(self, theta: Any) -> jax.Array:
        return (
            jnp.mean(jnp.sum((self.layers.apply(self.split(theta), self.x) - self.y) ** 2, axis=1))
            / 2
        )

    @cached_property
    def gradient(self) -> Callable[[Any], Any]:
        return jax.jit(jax.grad(self))

    def invariants(self, theta: np.ndarray) -> np.ndarray:
        """$D_i$ of all hidden neurons."""
        return np.concatenate([np.zeros(0), *imbalance(self.split(theta))])

    @cached_property
    def curvature(self) -> float:
        """The largest eigenvalue of the Hessian at the start in absolute value, by power iteration."""
        product = jax.jit(lambda v: jax.jvp(jax.grad(self), (self.start,), (v,))[1])
        v = np.ones_like(self.start) / np.sqrt(self.start.size)
        size = 0.0
        for _ in range(POWER_STEPS):
            w = np.asarray(product(v))
            size = float(np.linalg.norm(w))
            if not size > 0:
                break
            v = w / size
        return max(size, 1e-300)

    def law(self, theta: np.ndarray) -> tuple[float, float]:
        r"""The largest $|\theta^\top B_i\nabla F|$ over the neurons, and the size of the terms that cancel."""
        pairs = list(zip(self.split(theta), self.split(np.asarray(self.gradient(theta)))))
        worst = 0.0
        size = 0.0
        for ((W, b), (G, g)), ((A, _), (H, _)) in pairwise(pairs):
            terms = ((W * G).sum(axis=1) + b * g, (A * H).sum(axis=0))
            worst = largest(worst, np.abs(terms[0] - terms[1]))
            size = max(
                size,
                float(
                    (np.abs(W * G).sum(axis=1) + np.abs(b * g) + np.abs(A * H).sum(axis=0)).max(
                        initial=0
                    )
                ),
            )
        return worst, size

    def one_step(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        r"""The change of every $D_i$ in one step from the start, and $\tau^2\nabla F^\top B_i\nabla F$."""
        g = np.asarray(self.gradient(self.start))
        moved = self.invariants(self.start - tau * g) - self.invariants(self.start)
        return moved, tau**2 * self.invariants(g)

    def midpoint(self, tau: float, steps: int) -> np.ndarray:
        r"""Iterates of $\theta^+=\theta-\tau\nabla F((\theta+\theta^+)/2)$, each step by a fixed-point iteration."""
        gradient = jax.grad(self)

        def advance(theta, _):
            new = jax.lax.fori_loop(
                0,
                FIXED_POINT_STEPS,
                lambda _, t: theta - tau * gradient((theta + t) / 2),
                theta - tau * gradient(theta),
            )
            return new, new

        roll = jax.jit(lambda theta: jax.lax.scan(advance, theta, length=steps)[1])
        return np.concatenate([self.start[None], np.asarray(roll(self.start))])


@dataclass(frozen=True, eq=False)
class Drifts:
    """Runs of descent over one horizon with smaller and smaller steps."""

    flow: Flow
    taus: tuple[float, ...]
    runs: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, flow: Flow, descent: Descent, share: float, steps: Sequence[int]) -> "Drifts":
        r"""`share` is the largest step as a part of $1/\lambda$, the inverse curvature at the start."""
        horizon = share / flow.curvature * steps[0]
        taus = tuple(horizon / k for k in steps)
        return cls(
            flow, taus, tuple(descent(flow, flow.start, tau, k) for tau, k in zip(taus, steps))
        )

    @cached_property
    def over_horizon(self) -> list[float]:
        """The largest change of a $D_i$ at the end of each run."""
        before = self.flow.invariants(self.flow.start)
        return [
            float(np.abs(self.flow.invariants(run[-1]) - before).max(initial=0))
            for run in self.runs
        ]

    @cached_property
    def in_one_step(self) -> list[float]:
        return [float(np.abs(self.flow.one_step(tau)[0]).max(initial=0)) for tau in self.taus]

    @property
    def summary(self) -> str:
        (most, *_, least), (large, *_, small) = self.over_horizon, self.taus
        return f"the worst invariant moves by {most:.3g} at τ = {large:.3g}, by {least:.3g} at τ = {small:.3g}"
