r"""A ReLU network far out on a ray $t\mapsto x+tv$.

Beyond the last time $t_0$ at which a neuron switches, a ReLU network is $\alpha t+\beta$. Layer by layer the state is
affine beyond some time; a neuron $st+c$ switches later at $-c/s$, if it does, and then is $st+c$ (for $s>0$) or 0.
One pass over the weights gives $t_0,\alpha,\beta$, in rationals, however many pieces lie before $t_0$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.logic import UsageError, nearest_float
from ftheta.relu.matrices import fraction, vector
from ftheta.relu.network import ExactNetwork, ReluNetwork

ZERO = fmpq(0)
# rows of flat inputs to rows of flat outputs, in float64
Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Ray:
    """From `point` in `direction`, with its name."""

    name: str
    point: np.ndarray
    direction: np.ndarray

    def at(self, t: Sequence[float] | np.ndarray) -> np.ndarray:
        """The points $x+tv$, one row per time."""
        return self.point + np.asarray(t)[:, None] * self.direction


def choose_rays(
    x: np.ndarray | None, dimension: int, rng: np.random.Generator, many: int
) -> list[Ray]:
    """On the line both ways from 0; else from the mean of the rows through some of them, or in random directions."""
    if dimension == 1:
        return [
            Ray("to the right", np.zeros(1), np.ones(1)),
            Ray("to the left", np.zeros(1), -np.ones(1)),
        ]
    if x is None or (x == x[0]).all():
        ways = rng.normal(size=(many, dimension))
        return [
            Ray(f"ray {k + 1}", np.zeros(dimension), way / np.linalg.norm(way))
            for k, way in enumerate(ways)
        ]
    flat = x.reshape(len(x), -1).astype(np.float64)
    centre = flat.mean(0)
    rows = [k for k in rng.permutation(len(flat)) if (flat[k] != centre).any()]
    return [Ray(f"through row {k}", centre, flat[k] - centre) for k in rows[:many]]


@dataclass(frozen=True)
class ExactAsymptote:
    r"""$f(x+tv)=\alpha t+\beta$ for $t\ge t_0$: `slope` α, `offset` β; `last` is the last $t\ge0$ at which a neuron
    switches, or 0."""

    last: Fraction
    slope: tuple[Fraction, ...]
    offset: tuple[Fraction, ...]

    def __call__(self, t: Fraction) -> tuple[Fraction, ...]:
        return tuple(a * t + b for a, b in zip(self.slope, self.offset))

    def in_floats(self) -> "Asymptote":
        """The same numbers rounded to float64."""
        slope = np.array(list(map(nearest_float, self.slope)))
        offset = np.array(list(map(nearest_float, self.offset)))
        return Asymptote(nearest_float(self.last), slope, offset)


@dataclass(frozen=True, eq=False)
class Asymptote:
    r"""The same in float64. `last` is infinite where the network only tends to its asymptote."""

    last: float
    slope: np.ndarray
    offset: np.ndarray

    def at(self, t: float) -> np.ndarray:
        r"""$\alpha t+\beta$."""
        return self.slope * t + self.offset


def find_exact_asymptote(
    net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any]
) -> ExactAsymptote:
    r"""The network on the ray from `point` in `direction`, beyond its last breakpoint, in rationals."""
    if len(point) != net.widths[0] or len(direction) != net.widths[0]:
        raise UsageError(
            "A ray has the dimension of the inputs.", got=f"{len(point)}, {len(direction)} numbers"
        )
    slope = vector(direction)
    offset = vector(point)
    last = ZERO
    for step in net.steps:
        slope = step.matrix.apply(slope)
        offset = tuple(c + b for c, b in zip(step.matrix.apply(offset), step.offset))
        last = max([last, *(-c / s for s, c, r in zip(slope, offset, step.rectified) if r and s)])
        on = [
            not r or s > 0 or (s == 0 and c > 0) for s, c, r in zip(slope, offset, step.rectified)
        ]
        slope = tuple(s if kept else ZERO for s, kept in zip(slope, on))
        offset = tuple(c if kept else ZERO for c, kept in zip(offset, on))
    return ExactAsymptote(fraction(last), tuple(map(fraction, slope)), tuple(map(fraction, offset)))


def find_asymptote(net: ReluNetwork, point: np.ndarray, direction: np.ndarray) -> Asymptote:
    r"""$t_0,\alpha,\beta$ in float64, for networks too large for rationals."""
    slope = np.asarray(direction, np.float64)
    offset = np.asarray(point, np.float64)
    last = 0.0
    for step in net.steps:
        slope = np.ravel(step.matrix @ slope)
        offset = np.ravel(step.matrix @ offset) + step.offset
        moving = step.rectified & (slope != 0)
        last = max(last, float((-offset[moving] / slope[moving]).max(initial=0.0)))
        off = step.rectified & ((slope < 0) | ((slope == 0) & (offset <= 0)))
        slope = np.where(off, 0.0, slope)
        offset = np.where(off, 0.0, offset)
    return Asymptote(last, slope, offset)


def second_difference(
    net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any], after: Fraction
) -> Fraction:
    r"""The largest $|f(t)-2f(t+1)+f(t+2)|$ over the outputs at $t=$ `after`, by evaluating the network in rationals."""
    x = [fraction(q) for q in vector(point)]
    v = [fraction(q) for q in vector(direction)]
    a, b, c = (net([p + (after + k) * w for p, w in zip(x, v)]) for k in range(3))
    return max(abs(p - 2 * q + r) for p, q, r in zip(a, b, c))


def count_weights(net: ReluNetwork) -> int:
    """Weights that are stored: those of sparse matrices are the non-zero ones."""
    return sum(
        step.matrix.nnz if sparse.issparse(step.matrix) else step.matrix.size for step in net.steps
    )


def make_evaluator(f: Callable[[Any], Any], shape: tuple[int, ...]) -> Values:
    """`f`, which takes an input of this shape, on rows of flat inputs in float64."""
    compiled = jax.jit(jax.vmap(f))

    def evaluate(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            y = np.asarray(compiled(np.asarray(x, np.float64).reshape(len(x), *shape)), np.float64)
        return y.reshape(len(x), -1)

    return evaluate
