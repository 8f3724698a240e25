r"""Physics-informed fits of $u'=-u$, $u(0)=1$ on $[0,1]$, solved by $e^{-t}$, and constraints that cannot break.

The loss is the mean of the squared residual $r=u'+u$ at collocation points, and the square of $u(0)-1$. For every $u$
$(u-e^{-t})'=-(u-e^{-t})+r$, so that $|u(t)-e^{-t}|\le e^{-t}|u(0)-1|+(1-e^{-t})\sup|r|$: the residual certifies the
fit, where it is small *between* the points too. A loss of zero says that it is small at the points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import jax
import numpy as np
from flint import arb, fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.estimates.rational_maxima import largest_quotient, polynomial
from ftheta.logic import Basis, Enclosure, UsageError
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.relu.matrices import fraction, rational
from ftheta.training import fit

GRID = 20_001
MOST_DEGREE = 24
STEEPEST = 4 / (3 * sqrt(3))  # of the slope of tanh: max|tanh″|


def solution(t: float = 1.0) -> Enclosure:
    r"""$e^{-t}$."""
    return Enclosure.ball((-arb(t)).exp())


# ---- polynomials, exactly --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Collocated:
    r"""$u(t)=1+\sum_{k=1}^nc_kt^k$ with residual 0 at $t=\frac1n,\dots,1$: a loss of exactly zero."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def of(cls, degree: int) -> "Collocated":
        if not 1 <= degree <= MOST_DEGREE:
            raise UsageError(
                "The degree is out of its range.", got=degree, remedy=f"1 to {MOST_DEGREE}"
            )
        points = [Fraction(k, degree) for k in range(1, degree + 1)]
        rows = [[rational(k * t ** (k - 1) + t**k) for k in range(1, degree + 1)] for t in points]
        found = fmpq_mat(rows).solve(fmpq_mat([[fmpq(-1)]] * degree))
        return cls((Fraction(1), *(fraction(found[k, 0]) for k in range(degree))))

    def __call__(self, t: Fraction) -> Fraction:
        return sum((c * t**k for k, c in enumerate(self.coefficients)), Fraction(0))

    @property
    def residual(self) -> tuple[Fraction, ...]:
        """The coefficients of u′ + u."""
        c = self.coefficients
        slope = [*((k + 1) * a for k, a in enumerate(c[1:])), Fraction(0)]
        return tuple(a + b for a, b in zip(slope, c))

    @property
    def loss(self) -> Fraction:
        """At the points and at 0."""
        n = len(self.coefficients) - 1
        at = lambda t: sum((r * t**k for k, r in enumerate(self.residual)), Fraction(0))
        return (
            sum((at(Fraction(k, n)) ** 2 for k in range(1, n + 1)), Fraction(0)) / n
            + (self(Fraction(0)) - 1) ** 2
        )

    @property
    def largest_residual(self) -> Enclosure:
        return largest_quotient(polynomial(*self.residual), polynomial(1), Fraction(0), Fraction(1))


# ---- networks --------------------------------------------------------------------------------------------------------


def train_informed(rng: np.random.Generator, width: int, points: int, steps: int) -> Description:
    """A network of tanh with one hidden layer, trained on the residual at equidistant points and the value at 0."""
    start = random_mlp(rng, (1, width, 1), "tanh", gain=2.0, bias=0.5)

    def apply(params: Any, row: Any) -> Any:
        u = lambda t: start.apply(params, t[None])[0]
        residual = jax.grad(u)(row[0]) + u(row[0])
        return jax.numpy.where(row[1] > 0, u(row[0]) - 1, residual)[None]

    rows = np.vstack([np.column_stack([np.linspace(0, 1, points), np.zeros(points)]), [[0.0, 1.0]]])
    data = (rows, np.zeros((len(rows), 1)))
    run = fit(
        (start.params, apply), data, steps=steps, step=0.01, every=max(steps, 1), progress=False
    )
    layers = zip(start.layers, run.params)
    return Description(
        tuple(Dense(np.asarray(W), np.asarray(b), layer.activation) for layer, (W, b) in layers)
    )


@dataclass(frozen=True, eq=False)
class FittedSolution:
    """Values of u and of its residual on a grid of [0, 1]; `residual` encloses the largest |u′ + u|."""

    t: np.ndarray
    u: np.ndarray
    r: np.ndarray
    residual: Enclosure

    @property
    def bound(self) -> Enclosure:
        r"""Of $|u(1)-e^{-1}|$."""
        e = solution()
        return e * Enclosure.equal(abs(self.u[0] - 1)) + (Enclosure.exact(1) - e) * self.residual

    @property
    def error(self) -> Enclosure:
        r"""$|u(1)-e^{-1}|$."""
        return Enclosure.equal(abs(float(self.u[-1]) - solution().middle))


def measure_residual(f: Callable[[Any], Any], layers: Description | None) -> FittedSolution:
    """Any function of one number; for one hidden layer of tanh the residual is bounded between the points too."""
    t = np.linspace(0, 1, GRID)
    with jax.enable_x64(True):
        scalar = lambda s: jax.numpy.ravel(f(s[None]))[0]
        u, slope = (np.asarray(v, np.float64) for v in jax.vmap(jax.value_and_grad(scalar))(t))
    r = u + slope
    top = float(np.abs(r).max())
    if layers is None or [layer.activation for layer in layers.layers] != ["tanh", "identity"]:
        return FittedSolution(t, u, r, Enclosure.at_least(top, samples=GRID))
    w = layers.layers[0].weight[:, 0]
    a = layers.layers[1].weight[0]
    steep = float(np.abs(a) @ (w**2 * STEEPEST + np.abs(w)))  # |r′| ≤ |u″| + |u′|
    return FittedSolution(
        t, u, r, Enclosure.between(top, top + steep * (t[1] - t[0]) / 2, Basis.FLOAT)
    )


# ---- constraints -----------------------------------------------------------------------------------------------------


def project(A: list[list[Fraction]], b: list[Fraction], y: list[Fraction]) -> list[Fraction]:
    r"""$y-A^\top(AA^\top)^{-1}(Ay-b)$: the nearest point with $Ax=b$, whatever a network said; in rationals."""
    M = fmpq_mat([[rational(v) for v in row] for row in A])
    point = fmpq_mat([[rational(v)] for v in y])
    right = fmpq_mat([[rational(v)] for v in b])
    moved = point - M.transpose() * (M * M.transpose()).solve(M * point - right)
    return [fraction(moved[k, 0]) for k in range(len(y))]


def violation(A: list[list[Fraction]], b: list[Fraction], x: list[Fraction]) -> Fraction:
    r"""The largest entry of $|Ax-b|$."""
    return max(abs(sum((a * v for a, v in zip(row, x)), -t)) for row, t in zip(A, b))
