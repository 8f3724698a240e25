"""What float64 suggests, evaluated again with an error bound: rates of the energy in intervals, layers in balls."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure
from ftheta.particles.tokens.sphere import UNNORMALISED

BITS = 512  # a layer may widen the balls by some factor


def energy_rates(
    x: np.ndarray, beta: float, kind: str, attraction: float
) -> tuple[Enclosure, Enclosure]:
    r"""$\dot E$ and $\sum_iz_i|\dot x_i|^2/n^2$ at the tokens `x`, in intervals rounded outward."""
    n = len(x)

    def energy(x: Any, beta: Any) -> Any:
        return jnp.sum((jnp.exp(beta * (x @ x.T)) - 1) / beta) / (2 * n**2)

    def velocity(x: Any, beta: Any, attraction: Any) -> tuple[Any, Any]:
        weights = jnp.exp(beta * (x @ x.T))
        z = jnp.full(n, float(n)) if kind == UNNORMALISED else jnp.sum(weights, 1)
        pull = attraction * (weights @ x) / z[:, None]
        return pull - jnp.sum(x * pull, 1, keepdims=True) * x, z

    def by_derivative(x: Any, beta: Any, attraction: Any) -> Any:
        v = velocity(x, beta, attraction)[0]
        return jax.jvp(lambda x: energy(x, beta), (x,), (v,))[1]

    def by_velocities(x: Any, beta: Any, attraction: Any) -> Any:
        v, z = velocity(x, beta, attraction)
        return jnp.sum(z * jnp.sum(v * v, 1)) / n**2

    at = (x, float(beta), float(attraction))
    return enclose_number(by_derivative, *at), enclose_number(by_velocities, *at)


def orthonormal_pair_error(steps: Sequence[Fraction]) -> Enclosure:
    r"""$|\langle x_1,x_2\rangle-\tanh1|$ in balls, after layers with these steps from $x_i=e_i$, at $\beta=0$.

    At $\beta=0$ every token is pulled towards the mean of all, and the flow of two orthonormal tokens has the cosine
    $\tanh t$.
    """
    with ctx.workprec(BITS):
        one = [arb(1), arb(0)]
        other = [arb(0), arb(1)]
        for step in steps:
            middle = [(a + b) / 2 for a, b in zip(one, other)]
            length = arb(step.numerator) / step.denominator
            one = _move(one, middle, length)
            other = _move(other, middle, length)
        return Enclosure.ball(abs(_product(one, other) - arb(1).tanh()))


def _move(x: list[arb], pull: list[arb], step: arb) -> list[arb]:
    """A layer: a step along the tangent part of the pull, then back onto the sphere."""
    along = _product(x, pull)
    moved = [a + step * (p - along * a) for a, p in zip(x, pull)]
    size = _product(moved, moved).sqrt()
    return [a / size for a in moved]


def _product(x: list[arb], y: list[arb]) -> arb:
    return sum((a * b for a, b in zip(x, y)), arb(0))
