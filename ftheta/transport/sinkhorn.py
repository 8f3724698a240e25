r"""Entropic transport: $\mathrm{OT}_\varepsilon=\min_P\langle C,P\rangle+\varepsilon\,\mathrm{KL}(P|a\otimes b)$ by
Sinkhorn's iteration.

The plan is $P_{ij}=a_ib_je^{(f_i+g_j-C_{ij})/\varepsilon}$. Potentials are found for large $\varepsilon$ first and
carried down (`schmitzer2019`). Between two logarithmic steps the iteration is one matrix–vector product a half-step
with the kernel at the potentials reached so far, into which the scalings are *absorbed* before they overflow; first in
single precision, which is exact enough to come near, then in double precision.
Over-relaxation (`thibault2021`) is chosen by the rate that is seen. Any $f$, $g$ bound the value from below, any
feasible plan from above."""

from dataclasses import dataclass
from math import fsum, log, sqrt

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Float

from .certificate import bound_below, join_bounds, transform
from .problems import LOST, Array, Problem, U, ensure_memory

TOLERANCE = 1e-6  # total mass in the wrong rows, at which the iteration ends
ITERATIONS = 2000
COARSE_TOLERANCE = 1e-2  # on the way to the wanted ε
SHRINK = 5.0  # from one ε to the next
SINGLE_TOLERANCE = 1e-5  # at which products in single precision have done their part
LARGEST_SCALING: dict[type, float] = {np.float32: 1e12, np.float64: 1e60}
LOOK = 10  # iterations between two looks at the error
MOST_RELAXATION = 1.97
GROWTH = 4.0  # of the error, between two looks, that a change of relaxation may cause


@dataclass(frozen=True, eq=False)
class Entropic:
    """Potentials `f`, `g`, the rounded `plan` (its marginals are a and b), the enclosure `value` of OT_ε and that of
    the optimal cost without penalty (`cost`); `error` is the mass in wrong rows before rounding."""

    f: Array
    g: Array
    plan: Array
    value: Enclosure
    cost: Enclosure
    error: float
    iterations: int


def solve_entropic(
    problem: Problem, epsilon: float, *, tolerance: float = TOLERANCE, most: int = ITERATIONS
) -> Entropic:
    """Iterate until the marginals are right to the tolerance, or so many times; either way the value is enclosed."""
    n = problem.n
    m = problem.m
    ensure_memory(
        40.0 * n * m, "leave epsilon out: exact transport needs memory for the points alone"
    )
    C = problem.table(slice(0, n), np.zeros(m))
    np.maximum(C, 0.0, out=C)
    state = _State(C, problem.a, problem.b)
    used = 0
    with np.errstate(all="ignore"):  # what overflows is looked for
        for stage in _stages(float(C.max()), epsilon):
            goal, limit = (SINGLE_TOLERANCE, most) if stage == epsilon else (COARSE_TOLERANCE, 200)
            used += state.iterate(stage, goal, limit, np.float32)
        used += state.iterate(epsilon, tolerance, most)
    plan = state.plan()
    sums = plan.sum(1)
    error = float(np.abs(sums - problem.a).sum())
    rounded = round_plan(plan, problem.a, problem.b)
    value = _enclose_value(problem, C, rounded, state, float(sums.sum()), epsilon)
    cost = enclose_cost(problem, C, rounded.plan, state.f)
    return Entropic(state.f, state.g, rounded.plan, value, cost, error, used)


def _stages(largest: float, epsilon: float) -> list[float]:
    stages = []
    stage = largest / SHRINK
    while stage > 2 * epsilon:
        stages.append(stage)
        stage /= SHRINK
    return [*stages, epsilon]


class _State:
    """Potentials, and the kernel with the scalings that are not absorbed yet."""

    def __init__(self, C: Array, a: Array, b: Array) -> None:
        self.C = C
        self.a = a
        self.b = b
        self.f = np.zeros(len(a))
        self.g = np.zeros(len(b))
        self.kernel = np.empty_like(C)
        self.buffer = np.empty_like(C)

    def iterate(
        self, epsilon: float, tolerance: float, most: int, precision: type = np.float64
    ) -> int:
        """Half-steps in turn, the products with the kernel in this precision; the number of iterations. Single
        precision ends where it underflows."""
        self._absorb(epsilon, precision)
        largest_log = log(LARGEST_SCALING[precision])
        a, b = self.a.astype(precision), self.b.astype(precision)
        u, v = np.ones_like(a), np.ones_like(b)
        relaxation = 1.0
        before = np.inf
        for k in range(1, most + 1):
            rows = self.kernel @ (b * v)
            if k % LOOK == 0:
                error = float(np.abs(a * (u * rows - 1)).sum())
                if error <= tolerance:
                    break
                relaxation = _choose_relaxation(error, before, relaxation)
                before = error
            u = u * (1 / (u * rows)) ** precision(relaxation)
            v = v * (1 / (v * (self.kernel.T @ (a * u)))) ** precision(relaxation)
            if not max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) < largest_log:
                self._keep(u, v, epsilon)
                self._absorb(epsilon, precision)
                if precision is np.float32 and not (self.kernel.T @ a).all():
                    break
                u, v = np.ones_like(a), np.ones_like(b)
                relaxation = 1.0
        self._end(u, a, epsilon)
        return k

    def _end(self, u: Array, a: Array, epsilon: float) -> None:
        """A plain step, after which the columns of the plan are right: by the kernel, or in logarithms where that has a
        column of zeros."""
        v = 1 / (self.kernel.T @ (a * u))
        if np.isfinite(u).all() and np.isfinite(v).all():
            self._keep(u, v, epsilon)
            self.kernel *= u[:, None]
            self.kernel *= v
            return
        self.g = _soft_transform(self.C.T, self.f, self.a, epsilon)
        self.kernel = np.exp((self.f[:, None] + self.g - self.C) / epsilon)

    def _keep(self, u: Array, v: Array, epsilon: float) -> None:
        """Scalings as part of the potentials; where one is no number, a step in logarithms in place of them."""
        if np.isfinite(u).all() and np.isfinite(v).all():
            self.f += epsilon * np.log(u.astype(float))
            self.g += epsilon * np.log(v.astype(float))
        else:
            self.g = _soft_transform(self.C.T, self.f, self.a, epsilon)

    def _absorb(self, epsilon: float, precision: type) -> None:
        r"""The kernel $e^{(f_i+g_j-C_{ij})/\varepsilon}$ after a logarithmic step
        $f_i=-\varepsilon\ln\sum_jb_je^{(g_j-C_{ij})/\varepsilon}$: one exponential for both, and none overflows."""
        np.subtract(self.g, self.C, out=self.buffer)
        top = self.buffer.max(1)
        self.buffer -= top[:, None]
        # differences first: single precision is relative to their size
        self.kernel = self.buffer.astype(precision)
        self.kernel *= precision(1 / epsilon)
        np.exp(self.kernel, out=self.kernel)
        sums = self.kernel @ self.b.astype(precision)
        self.kernel /= sums[:, None]
        self.f = -(top + epsilon * np.log(sums.astype(float)))

    def plan(self) -> Array:
        """The plan of the last iteration, in place of the kernel."""
        self.kernel *= self.a[:, None]
        self.kernel *= self.b
        return self.kernel


def _soft_transform(C: Array, g: Array, b: Array, epsilon: float) -> Array:
    r"""$f_i=-\varepsilon\ln\sum_jb_je^{(g_j-C_{ij})/\varepsilon}$."""
    exponents = (g - C) / epsilon
    top = exponents.max(1)
    return -epsilon * (top + np.log(np.exp(exponents - top[:, None]) @ b))


def _choose_relaxation(error: float, before: float, relaxation: float) -> float:
    r"""$\omega=2/(1+\sqrt{1-\eta})$, where $\eta$ is the rate of plain steps: relaxed steps whose error falls by
    $\lambda$ have $(\lambda+\omega-1)^2=\lambda\omega^2\eta$. Where the error grows much, plain steps again."""
    if not np.isfinite(before):
        return 1.0
    if not error < GROWTH * before:
        return 1.0
    fall = min((error / before) ** (1 / LOOK), 0.999)
    if fall <= relaxation - 1:  # no slower than the best relaxation allows
        return relaxation
    rate = (fall + relaxation - 1) ** 2 / (fall * relaxation**2)
    return min(MOST_RELAXATION, 2 / (1 + sqrt(max(1 - rate, 0.0)))) if rate > 0.5 else 1.0


@dataclass(frozen=True, eq=False)
class Rounded:
    r"""A plan with marginals a and b, $XPY+\frac{rc^\top}t$: rows and columns of P cut to size by the factors in
    `rows` and `columns`, and what is then missing in them, r and c of sum t, spread (`altschuler2017`)."""

    plan: Array
    rows: Array
    columns: Array
    missing_rows: Array
    missing_columns: Array


def round_plan(
    plan: Float[np.ndarray, "n m"], a: Float[np.ndarray, "n"], b: Float[np.ndarray, "m"]
) -> Rounded:
    """A plan with marginals a and b near this one, which is overwritten."""
    sums = plan.sum(1)
    rows = np.minimum(1.0, np.divide(a, sums, out=np.zeros_like(a), where=sums > 0))
    sums = rows @ plan
    columns = np.minimum(1.0, np.divide(b, sums, out=np.zeros_like(b), where=sums > 0))
    plan *= rows[:, None]
    plan *= columns
    missing_rows = np.maximum(a - plan.sum(1), 0.0)
    missing_columns = np.maximum(b - sums * columns, 0.0)
    missing = missing_rows.sum()
    if missing > 0:
        plan += np.outer(missing_rows, missing_columns / missing)
    return Rounded(plan, rows, columns, missing_rows, missing_columns)


def _enclose_value(
    problem: Problem, C: Array, rounded: Rounded, state: _State, mass: float, epsilon: float
) -> Enclosure:
    """OT_ε between the dual value of the potentials and the objective of the rounded plan, in float64; `mass` is that
    of the plan before it was rounded."""
    dual = float(problem.a @ state.f + problem.b @ state.g) - epsilon * (mass - 1)
    primal = _objective(problem, C, rounded, state, epsilon)
    size = float(problem.a @ np.abs(state.f) + problem.b @ np.abs(state.g)) + epsilon
    slack = 1e-12 * size + problem.table_error(np.zeros(1))
    return Enclosure.between(dual - slack, primal + slack, Basis.FLOAT)


def _objective(
    problem: Problem, C: Array, rounded: Rounded, state: _State, epsilon: float
) -> float:
    r"""$\langle C,P\rangle+\varepsilon\mathrm{KL}(P|a\otimes b)$ of the rounded plan, or a little more. Of the part
    $XPY$ logarithms and costs cancel but for those of factors and potentials; the part of mass t that was spread adds
    its cost and at most $\varepsilon t(1+\mathrm{KL}(\frac{rc^\top}{t^2}|a\otimes b))$, as KL is convex."""
    r, c = rounded.missing_rows, rounded.missing_columns
    rows = epsilon * _logs(rounded.rows) + state.f
    columns = epsilon * _logs(rounded.columns) + state.g
    value = float((problem.a - r) @ rows + (problem.b - c) @ columns)
    t = float(r.sum())
    if t == 0:
        return value
    r, c = r / t, c / max(float(c.sum()), 1e-300)
    divergence = float(r @ _logs(r / problem.a) + c @ _logs(c / problem.b))
    return value + t * float(r @ (C @ c)) + epsilon * t * (1 + divergence)


def _logs(x: Array) -> Array:
    """Logarithms, and 0 in place of that of 0: it is multiplied by 0."""
    return np.log(x, out=np.zeros_like(x), where=x > 0)


def enclose_cost(
    problem: Problem,
    C: Float[np.ndarray, "n m"],
    plan: Float[np.ndarray, "n m"],
    f: Float[np.ndarray, "n"],
) -> Enclosure:
    """The optimal cost without penalty between the dual value of the c-transform of `f` and the cost of the plan,
    rounded outward."""
    wrong = float(np.abs(plan.sum(1) - problem.a).sum() + np.abs(plan.sum(0) - problem.b).sum())
    sums = (problem.n + problem.m + 16) * U  # of rows and of columns, in any order
    entries = problem.table_error(np.zeros(1)) + problem.relative_error * problem.largest_cost
    cost = fsum(np.einsum("ij,ij->i", C, plan))
    above = cost * (1 + sums) + entries * 2 + (wrong + sums) * problem.largest_cost + LOST
    return join_bounds(bound_below(problem, f, transform(problem, f)), above)


def debias(between: Enclosure, within_x: Enclosure, within_y: Enclosure) -> Enclosure:
    r"""The Sinkhorn divergence
    $\mathrm{OT}_\varepsilon(x,y)-\frac12\mathrm{OT}_\varepsilon(x,x)-\frac12\mathrm{OT}_\varepsilon(y,y)$
    (`feydy2019`)."""
    return between - within_x * 0.5 - within_y * 0.5
