r"""First step of Leshno's proof: exponentials of linear forms, and a network for each of them.

$g(x)=\sum_kc_ke^{\langle v_k,x\rangle}$ with directions $v_k$ on a lattice and coefficients by least squares. On the
box $\langle v_k,x\rangle$ runs through $[a_k,b_k]$. The interpolant $p_k$ of $e^t$ there, with $n$ equal cells of
length $h$, is a network of $n$ ReLUs of $\langle v_k,x\rangle$, and

$$\sup|e^t-p_k|=e^{b_k-h}(1+s\ln s-s),\quad s=\tfrac{e^h-1}h,\qquad
\Big|f-\sum_kc_kp_k\Big|\le\sup|f-g|+\sum_k|c_k|\sup|e^t-p_k|.$$
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic import Axis, Bars, Curves, Enclosure, Heatmap, Series

from .approximation.certificate import certified
from .approximation.enclosed import Shallow
from .approximation.goal import Goal
from .suprema import Supremum, bounds_of, supremum

BITS = 200
FITTED = {1: 401, 2: 41, 3: 13}
PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
WORK = 5_000_000  # cells times neurons of a certificate
SIDE = 61


@dataclass(frozen=True, eq=False)
class Exponentials:
    r"""$\sum_kc_ke^{\langle v_k,x\rangle}$ with rows $v_k$ of `directions`."""

    directions: np.ndarray
    coefficients: np.ndarray

    def __call__(self, x: object) -> object:
        """At one point: a number for d = 1, an array above."""
        point = jnp.atleast_1d(jnp.asarray(x))
        return jnp.sum(self.coefficients * jnp.exp(jnp.asarray(self.directions) @ point))

    def values(self, rows: np.ndarray) -> np.ndarray:
        return np.exp(rows @ self.directions.T) @ self.coefficients

    def inside(self, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
        r"""The ranges $[a_k,b_k]$ of $\langle v_k,x\rangle$ on the box, a little enlarged."""
        middle, radius = self.directions @ goal.centre, np.abs(self.directions) @ goal.halves
        slack = 1e-9 * (1 + np.abs(middle) + radius)
        return middle - radius - slack, middle + radius + slack


def lattice(dimension: int, reach: int, spacing: float) -> np.ndarray:
    """All whole multiples of the spacing up to `reach` in every coordinate."""
    return spacing * np.array(list(product(range(-reach, reach + 1), repeat=dimension)), np.float64)


def fitted(goal: Goal, directions: np.ndarray, cells: int = 64) -> Exponentials:
    """Coefficients by least squares on a grid; of several penalties the one whose whole budget is the least."""
    rows = goal.grid(FITTED.get(goal.dimension, 3000))
    features, wanted = np.exp(rows @ directions.T), goal.values(rows)
    length = np.linalg.norm(features, axis=0)
    u, s, vt = np.linalg.svd(features / length, full_matrices=False)
    tries = []
    for penalty in PENALTIES:
        c = vt.T @ (s / (s * s + (penalty * s[0]) ** 2) * (u.T @ wanted)) / length
        c[np.abs(c) * length < 1e-7 * np.abs(c * length).max(initial=0.0)] = 0.0
        kept = c != 0 if c.any() else np.arange(len(c)) == 0
        made = Exponentials(directions[kept], c[kept])
        low, high = made.inside(goal)
        h = (high - low) / cells
        spent = float(np.abs(features @ c - wanted).max()) + float(np.abs(c[kept]) @ (np.exp(high) * h * h / 8))
        tries.append((spent, made))
    return min(tries, key=lambda pair: pair[0])[1]


def exp_interpolation_error(b: float, h: float) -> Enclosure:
    r"""$e^{b-h}(1+s\ln s-s)$: the error on the last cell, the largest."""
    with ctx.workprec(BITS):
        step = arb(h)
        s = step.expm1() / step
        return Enclosure.ball((arb(b) - step).exp() * (1 + s * s.log() - s))


@dataclass(frozen=True, eq=False)
class Budget:
    """The two stages: the error of the exponentials, and the share of each network, with the network of it all."""

    goal: Goal
    sums: Exponentials
    first: Supremum
    shares: tuple[Enclosure, ...]
    network: Shallow

    @property
    def second(self) -> Enclosure:
        total = Enclosure.exact(0)
        for share in self.shares:
            total = total + share
        return total

    @property
    def total(self) -> Enclosure:
        return self.first.value + self.second

    @cached_property
    def error(self) -> Enclosure:
        r"""$\sup|f-\sum_kc_kp_k|$ over the box, proved from both sides."""
        cells = max(2000, WORK // self.network.neurons)
        return certified(self.goal, self.network, self.total.hi, cells).error


def budget(goal: Goal, sums: Exponentials, cells: int) -> Budget:
    error = supremum(
        bounds_of(lambda x: goal.f(x) - sums(x), goal.dimension),
        goal.lo,
        goal.hi,
        relative=0.05,
        budget=min(20_000, 200_000 // len(sums.coefficients)),
    )
    low, high = sums.inside(goal)
    steps = (high - low) / cells
    shares = [
        Enclosure.exact(abs(c)) * exp_interpolation_error(float(b + 1e-9), float(h))
        if c and h > 0
        else Enclosure.exact(0)
        for c, b, h in zip(sums.coefficients.tolist(), high, steps)
    ]
    return Budget(goal, sums, error, tuple(shares), _network(sums, low, steps, cells))


def _network(sums: Exponentials, low: np.ndarray, steps: np.ndarray, cells: int) -> Shallow:
    """One hidden layer: for every exponential its interpolant, as ReLUs of the linear form."""
    weights, biases, outer, constant = [], [], [], 0.0
    for v, c, a, h in zip(sums.directions, sums.coefficients.tolist(), low, steps):
        if not c or not np.any(v):
            constant += c
            continue
        knots = a + h * np.arange(cells + 1)
        rises = np.diff(np.diff(np.exp(knots)) / h, prepend=0.0)
        constant += c * float(np.exp(a))
        weights += [v] * cells
        biases += (-knots[:-1]).tolist()
        outer += (c * rises).tolist()
    d = sums.directions.shape[1]
    shape = np.array(weights).reshape(-1, d) if weights else np.zeros((1, d))
    return Shallow("relu", shape, np.array(biases or [0.0]), np.array(outer or [0.0]), constant)


def separation(directions: np.ndarray) -> Enclosure:
    r"""The least singular value of the directions: zero exactly if some $x\ne y$ share all exponentials."""
    exact = [[fmpq(*Fraction(t).as_integer_ratio()) for t in row] for row in directions.tolist()]
    if fmpq_mat(exact).rank() < directions.shape[1]:
        return Enclosure.exact(0)
    return Enclosure.equal(float(np.linalg.svd(directions, compute_uv=False)[-1]))


def product_gap(first: Exponentials, second: Exponentials, x: Sequence[Fraction]) -> tuple[Enclosure, Enclosure]:
    r"""The product of two sums at a point, and the sum with exponents $v_k+w_l$ there, in balls."""
    pairs = [
        ([Fraction(s) + Fraction(t) for s, t in zip(v, w)], Fraction(c) * Fraction(e))
        for v, c in zip(first.directions.tolist(), first.coefficients.tolist())
        for w, e in zip(second.directions.tolist(), second.coefficients.tolist())
    ]
    with ctx.workprec(BITS):
        sides = [_at(_exact(sums), x) for sums in (first, second)]
        return Enclosure.ball(sides[0] * sides[1]), Enclosure.ball(_at(pairs, x))


def product_example(directions: np.ndarray) -> tuple[Enclosure, Enclosure]:
    """`product_gap` of two short sums with these directions, at a point."""
    rows = directions[::5][:3], directions[1::5][:3]
    first, second = (Exponentials(v, np.array([1.0, -0.5, 0.25])[: len(v)]) for v in rows)
    return product_gap(first, second, [Fraction(2 * j - 1, 3) for j in range(directions.shape[1])])


def cosh_by_two(x: Fraction, y: Fraction) -> tuple[Enclosure, Enclosure]:
    r"""$\cosh(x+y)$ and $\frac12e^{x+y}+\frac12e^{-x-y}$, in balls."""
    half = Fraction(1, 2)
    with ctx.workprec(BITS):
        one = [([Fraction(1)] * 2, half), ([Fraction(-1)] * 2, half)]
        return Enclosure.ball(_ball(x + y).cosh()), Enclosure.ball(_at(one, (x, y)))


def _exact(sums: Exponentials) -> list[tuple[list[Fraction], Fraction]]:
    rows = zip(sums.directions.tolist(), sums.coefficients.tolist())
    return [([Fraction(t) for t in v], Fraction(c)) for v, c in rows]


def _at(terms: Sequence[tuple[list[Fraction], Fraction]], x: Sequence[Fraction]) -> arb:
    return sum((_ball(c) * _ball(sum((s * t for s, t in zip(v, x)), Fraction(0))).exp() for v, c in terms), arb(0))


def _ball(q: Fraction) -> arb:
    return arb(fmpq(q.numerator, q.denominator))


def charts(made: Budget, cells: int) -> tuple[Bars, Curves, Heatmap | Curves]:
    """The two-stage budget; how it falls with the cells of the interpolants; and the error itself."""
    error, ladder = made.error, sorted({max(1, cells >> k) for k in range(5)})
    bars = Bars(
        "the budget and what is spent of it",
        Axis("error"),
        ("exponentials", "their networks", "whole bound", "error of the network"),
        ("sup error",),
        ((made.first.value.hi, made.second.hi, made.total.hi, error.hi),),
    )
    first, second = made.first.value.hi, [budget_of_networks(made, n) for n in ladder]
    series = (
        Series("their networks", ladder, second),
        Series("exponentials", ladder, [first] * len(ladder), "reference"),
        Series("whole bound", ladder, [first + s for s in second], "bound"),
    )
    falling = Curves("two-stage error budget", Axis("ReLUs an exponential", "log"), Axis("error", "log"), series)
    return bars, falling, _picture(made)


def budget_of_networks(made: Budget, cells: int) -> float:
    low, high = made.sums.inside(made.goal)
    pairs = zip(made.sums.coefficients.tolist(), high, (high - low) / cells)
    return sum(abs(c) * exp_interpolation_error(float(b), float(h)).hi for c, b, h in pairs if c and h > 0)


def _picture(made: Budget) -> Heatmap | Curves:
    goal = made.goal
    if goal.dimension == 1:
        x = np.linspace(goal.lo[0], goal.hi[0], 401)[:, None]
        error = made.network.values(x) - goal.values(x)
        return Curves("the error", Axis("x"), Axis("network − function"), (Series("error", x[:, 0], error),))
    sides = [np.linspace(goal.lo[j], goal.hi[j], SIDE) for j in (0, 1)]
    rows = np.tile(goal.centre, (SIDE * SIDE, 1))
    rows[:, 1], rows[:, 0] = (x.ravel() for x in np.meshgrid(sides[1], sides[0], indexing="ij"))
    error = (made.network.values(rows) - goal.values(rows)).reshape(SIDE, SIDE)
    extent = (goal.lo[0], goal.hi[0], goal.lo[1], goal.hi[1])
    return Heatmap("network − function", Axis("x₁"), Axis("x₂"), error, extent, "error")
