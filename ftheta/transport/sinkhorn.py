r"""Entropic transport: $\mathrm{OT}_\varepsilon=\min_P\langle C,P\rangle+\varepsilon\,\mathrm{KL}(P|a\otimes b)$ by
Sinkhorn's iteration.

The plan is $P_{ij}=a_ib_je^{(f_i+g_j-C_{ij})/\varepsilon}$. Potentials are found for large $\varepsilon$ first and
carried down (`schmitzer2019`). Between two logarithmic steps the iteration is one matrix–vector product a half-step
with the kernel at the potentials reached so far, into which the scalings are *absorbed* before they overflow.
Over-relaxation (`thibault2021`) is chosen by the rate that is seen. Any $f$, $g$ bound the value from below, any
feasible plan from above."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Float

from .certificate import bound_below, transform
from .problems import Array, Problem, U, ensure_memory

TOLERANCE = 1e-6  # total mass in the wrong rows, at which the iteration ends
ITERATIONS = 2000
COARSE_TOLERANCE = 1e-2  # on the way to the wanted ε
SHRINK = 5.0  # from one ε to the next
LARGEST_SCALING = 1e60
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
    ensure_memory(40.0 * n * m, "leave epsilon out: exact transport needs memory for the points alone")
    C = problem.table(slice(0, n), np.zeros(m))
    np.maximum(C, 0.0, out=C)
    state = _State(C, problem.a, problem.b)
    used = 0
    for stage in _stages(float(C.max()), epsilon):
        last = stage == epsilon
        used += state.iterate(stage, tolerance if last else COARSE_TOLERANCE, most if last else 200)
    plan = state.plan(epsilon)
    error = float(np.abs(plan.sum(1) - problem.a).sum())
    rounded = round_plan(plan, problem.a, problem.b)
    value = _enclose_value(problem, C, rounded, state, plan, epsilon)
    return Entropic(state.f, state.g, rounded, value, enclose_cost(problem, C, rounded, state.f), error, used)


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

    def iterate(self, epsilon: float, tolerance: float, most: int) -> int:
        """Half-steps in turn; the number of iterations."""
        self._absorb(epsilon)
        u = np.ones(len(self.a))
        v = np.ones(len(self.b))
        relaxation = 1.0
        before = np.inf
        for k in range(1, most + 1):
            rows = self.kernel @ (self.b * v)
            if k % LOOK == 0:
                error = float(np.abs(self.a * (u * rows - 1)).sum())
                if error <= tolerance:
                    break
                relaxation = _choose_relaxation(error, before, relaxation)
                before = error
            u = u * (1 / (u * rows)) ** relaxation
            columns = self.kernel.T @ (self.a * u)
            v = v * (1 / (v * columns)) ** relaxation
            largest = max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max())
            if not largest < log(LARGEST_SCALING):
                if np.isfinite(u).all() and np.isfinite(v).all():
                    self.f += epsilon * np.log(u)
                    self.g += epsilon * np.log(v)
                self._absorb(epsilon)
                u = np.ones(len(self.a))
                v = np.ones(len(self.b))
                relaxation = 1.0
        self.f += epsilon * np.log(u)
        self.g += epsilon * np.log(v)
        self.g = _soft_transform(self.C.T, self.f, self.a, epsilon)
        return k

    def _absorb(self, epsilon: float) -> None:
        """The kernel at the present potentials, after a logarithmic step that no exponential overflows in."""
        self.f = _soft_transform(self.C, self.g, self.b, epsilon)
        self._fill_kernel(epsilon)

    def _fill_kernel(self, epsilon: float) -> None:
        np.subtract(self.f[:, None], self.C, out=self.kernel)
        self.kernel += self.g
        self.kernel *= 1 / epsilon
        np.exp(self.kernel, out=self.kernel)

    def plan(self, epsilon: float) -> Array:
        self._fill_kernel(epsilon)
        self.kernel *= self.a[:, None]
        self.kernel *= self.b
        return self.kernel


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


def _soft_transform(C: Array, g: Array, b: Array, epsilon: float) -> Array:
    r"""$f_i=-\varepsilon\ln\sum_jb_je^{(g_j-C_{ij})/\varepsilon}$."""
    exponents = g - C
    exponents *= 1 / epsilon
    top = exponents.max(1)
    exponents -= top[:, None]
    np.exp(exponents, out=exponents)
    return -epsilon * (top + np.log(exponents @ b))


def round_plan(
    plan: Float[np.ndarray, "n m"], a: Float[np.ndarray, "n"], b: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "n m"]:
    """A plan with marginals a and b near this one: rows and columns are cut to size, the rest is spread
    (`altschuler2017`)."""
    rows = plan.sum(1)
    cut = plan * np.minimum(1.0, np.divide(a, rows, out=np.zeros_like(a), where=rows > 0))[:, None]
    columns = cut.sum(0)
    cut *= np.minimum(1.0, np.divide(b, columns, out=np.zeros_like(b), where=columns > 0))
    missing_rows = np.maximum(a - cut.sum(1), 0.0)
    missing_columns = np.maximum(b - cut.sum(0), 0.0)
    missing = missing_rows.sum()
    if missing > 0:
        cut += np.outer(missing_rows, missing_columns / missing)
    return cut


def _enclose_value(problem: Problem, C: Array, rounded: Array, state: _State, plan: Array, epsilon: float) -> Enclosure:
    """OT_ε between the dual value of the potentials and the objective of the rounded plan, in float64."""
    dual = problem.a @ state.f + problem.b @ state.g - epsilon * (plan.sum() - 1)
    ratio = np.divide(rounded, np.outer(problem.a, problem.b))
    divergence = (rounded * np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)).sum()
    primal = (C * rounded).sum() + epsilon * divergence
    slack = 1e-12 * (abs(dual) + epsilon) + problem.table_error(np.zeros(1))
    return Enclosure.between(min(dual, primal) - slack, max(dual, primal) + slack, Basis.FLOAT)


def enclose_cost(
    problem: Problem, C: Float[np.ndarray, "n m"], plan: Float[np.ndarray, "n m"], f: Float[np.ndarray, "n"]
) -> Enclosure:
    """The optimal cost without penalty between the dual value of the c-transform of `f` and the cost of the plan,
    rounded outward."""
    lo = max(0.0, bound_below(problem, f, transform(problem, f)))
    wrong = float(np.abs(plan.sum(1) - problem.a).sum() + np.abs(plan.sum(0) - problem.b).sum())
    sums = (plan.size.bit_length() + 300 + len(problem.a)) * U
    entries = problem.table_error(np.zeros(1)) + problem.relative_error * problem.largest_cost
    hi = float((C * plan).sum()) * (1 + sums) + entries * 2 + (wrong + sums) * problem.largest_cost
    return Enclosure.between(min(lo, hi), hi)


def debias(between: Enclosure, within_x: Enclosure, within_y: Enclosure) -> Enclosure:
    r"""The Sinkhorn divergence
    $\mathrm{OT}_\varepsilon(x,y)-\frac12\mathrm{OT}_\varepsilon(x,x)-\frac12\mathrm{OT}_\varepsilon(y,y)$
    (`feydy2019`)."""
    return between - within_x * 0.5 - within_y * 0.5
