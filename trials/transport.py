"""Transport and two-sample tests: plans that float64 cannot tell apart, forbidden pairs, ties, p-values that come too
small."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from flint import arb, ctx
from scipy import stats

from ftheta.transport import transport
from ftheta.transport.distances import distance, line_test
from ftheta.transport.two_sample import permutation_test

from . import Trial

# tests of one law: a case is wrong if the binomial test of how often it rejects says so
REPEATS = 120
FALSE_ALARM = 1e-9
BITS = 200


def _draw_costs(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Ties, forbidden pairs, costs that differ in the last bit, and costs so large that their sums are rounded."""
    whole = rng.integers(0, 4, (n, m)).astype(float)
    kinds = {
        "ties": whole,
        "forbidden": rng.choice([0.0, 1.0, 2.5, 1e32], (n, m)),
        "last bit": 1 + whole * 2.0**-52,
        "huge": 2.0**53 + 2 * whole,
        "all sizes": rng.random((n, m)) * 10.0 ** rng.integers(-12, 12, (n, m)),
    }
    return kinds[str(rng.choice(list(kinds)))]


def _draw_masses(rng: np.random.Generator, total: int) -> list[int]:
    """Whole masses of this sum, some of them zero."""
    cuts = np.sort(rng.integers(0, total + 1, int(rng.integers(0, 4))))
    return np.diff([0, *cuts.tolist(), total]).tolist()


def least_cost(C: np.ndarray, a: list[int], b: list[int]) -> Fraction:
    """The least cost of all assignments of units of mass, in rationals: one of them is an optimal plan."""
    rows = [i for i, count in enumerate(a) for _ in range(count)]
    columns = [j for j, count in enumerate(b) for _ in range(count)]
    exact = [[Fraction(c) for c in row] for row in C.tolist()]
    return min(
        sum((exact[i][j] for i, j in zip(rows, order)), Fraction(0))
        for order in set(permutations(columns))
    )


def try_small(rng: np.random.Generator) -> str | None:
    """Small problems with whole masses: the value in rationals, and the enclosure that is said to be proved."""
    total = int(rng.integers(1, 6))
    a, b = _draw_masses(rng, total), _draw_masses(rng, total)
    C = _draw_costs(rng, len(a), len(b))
    best = least_cost(C, a, b)
    found = transport(np.arange(len(a)), np.arange(len(b)), a, b, cost=C)
    told = f"C {C.tolist()}, a {a}, b {b}"
    if found.exact() != best:
        return f"{told}: {found.exact()} in rationals, {best} by all assignments"
    return (
        None
        if best in found.value
        else f"{told}: {best} not in [{found.value.lo!r}, {found.value.hi!r}]"
    )


def try_points(rng: np.random.Generator) -> str | None:
    """Duplicated points, far from the origin or spread over many sizes."""
    n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    scale = 10.0 ** rng.integers(-6, 7)
    shift = float(rng.choice([0.0, 1e3, 1e8])) * scale
    x, y = (rng.integers(0, 3, (n, d)) * scale + shift for _ in range(2))
    cost = str(rng.choice(["sqeuclidean", "cityblock"]))
    exact = [[_exact_cost(p, q, cost) for q in y.tolist()] for p in x.tolist()]
    best = (
        min(
            sum((exact[i][j] for i, j in enumerate(order)), Fraction(0))
            for order in permutations(range(n))
        )
        / n
    )
    found = transport(x, y, cost=cost)
    told = f"{cost}, x {x.tolist()}, y {y.tolist()}"
    if found.exact() != best:
        return f"{told}: {found.exact()} in rationals, {best} by all assignments"
    return (
        None
        if best in found.value
        else f"{told}: {best} not in [{found.value.lo!r}, {found.value.hi!r}]"
    )


def _exact_cost(p: list[float], q: list[float], cost: str) -> Fraction:
    steps = [Fraction(s) - Fraction(t) for s, t in zip(p, q)]
    return sum((s * s if cost == "sqeuclidean" else abs(s) for s in steps), Fraction(0))


def try_entropic(rng: np.random.Generator) -> str | None:
    r"""Two points and two: the plan solves a quadratic equation, and $\mathrm{OT}_\varepsilon$ is known in balls."""
    C = rng.random((2, 2)) * 10.0 ** rng.integers(-2, 3)
    a, b = (float(rng.uniform(0.05, 0.95)) for _ in range(2))
    epsilon = float(C.max()) * 10.0 ** rng.uniform(-2, 1)
    truth = _entropic_cost(C.tolist(), a, b, epsilon)
    found = transport(
        np.arange(2), np.arange(2), [a, 1 - a], [b, 1 - b], cost=C, epsilon=epsilon
    ).value
    if found.lo <= float(truth.upper()) and float(truth.lower()) <= found.hi:
        return None
    return f"C {C.tolist()}, a {a}, b {b}, ε {epsilon}: {truth} not in [{found.lo!r}, {found.hi!r}]"


def _entropic_cost(C: list[list[float]], a: float, b: float, epsilon: float) -> arb:
    """P₁₁ from the one equation P₁₁P₂₂ = r P₁₂P₂₁ with r = exp((C₁₂ + C₂₁ − C₁₁ − C₂₂)/ε), by bisection in balls."""
    with ctx.workprec(BITS):
        e = arb(epsilon)
        r = ((arb(C[0][1]) + arb(C[1][0]) - arb(C[0][0]) - arb(C[1][1])) / e).exp()
        left, right = [arb(a), arb(1 - a)], [arb(b), arb(1 - b)]
        lo, hi = max(0.0, a + b - 1), min(a, b)
        low, high = arb(lo), arb(hi)
        for _ in range(BITS):
            p = (low + high) / 2
            excess = p * (1 - left[0] - right[0] + p) - r * (left[0] - p) * (right[0] - p)
            low, high = (low, p.mid()) if excess > 0 else (p.mid(), high)
        plan = [[p, left[0] - p], [right[0] - p, 1 - left[0] - right[0] + p]]
        total = arb(0)
        for i in range(2):
            for j in range(2):
                ratio = plan[i][j] / (left[i] * right[j])
                total += arb(C[i][j]) * plan[i][j] + e * plan[i][j] * ratio.log()
        return total + arb(0, 1e-12 * (max(map(max, C)) + epsilon))


def _rejects_too_often(p: list[float], told: str) -> str | None:
    for level in (0.05, 0.1, 0.25, 0.5):
        rejected = sum(value <= level for value in p)
        if stats.binom.sf(rejected - 1, REPEATS, level) <= FALSE_ALARM:
            return f"{told}: {rejected} of {REPEATS} p-values are at most {level}"
    return None


def try_levels(rng: np.random.Generator) -> str | None:
    """Rows of one law, with ties or without, few or many: p ≤ α no more often than α."""
    n, m = int(rng.integers(2, 12)), int(rng.integers(2, 12))
    levels = int(rng.choice([0, 2, 3]))
    statistic = str(rng.choice(["gaussian", "energy", "linear", "w1"]))
    count = int(rng.choice([9, 19, 39]))
    p = []
    for _ in range(REPEATS):
        rows = (
            rng.integers(0, levels, (n + m, 1)).astype(float)
            if levels
            else rng.standard_cauchy((n + m, 1))
        )
        if statistic == "w1":
            p.append(line_test(rows[:n, 0], rows[n:, 0], permutations=count, rng=rng).p_value)
        else:
            kind: Any = statistic
            test = permutation_test(rows[:n], rows[n:], kind, permutations=count, rng=rng)
            p.append(test.p_value)
    return _rejects_too_often(
        p, f"{statistic}, {n} and {m} rows, {levels} levels, {count} relabellings"
    )


def try_intervals(rng: np.random.Generator) -> str | None:
    """W₁ of two laws with few atoms: how often the interval for the laws misses it."""
    atoms = np.sort(rng.random(int(rng.integers(2, 5))))
    atoms[0], atoms[-1] = 0.0, 1.0
    laws = [rng.dirichlet(np.ones(len(atoms))) for _ in range(2)]
    truth = float((np.abs(np.cumsum(laws[0] - laws[1]))[:-1] * np.diff(atoms)).sum())
    n, m = (int(10 ** rng.uniform(0.7, 2.3)) for _ in range(2))
    level = float(rng.choice([0.5, 0.8, 0.95]))
    missed = 0
    for _ in range(REPEATS):
        x, y = (rng.choice(atoms, size, p=law) for size, law in zip((n, m), laws))
        # what the interval assumes: a segment as long as the range
        spans = np.ptp(np.concatenate([x, y])) == 1
        missed += bool(spans) and truth not in distance(x, y, "w1", level).interval
    if stats.binom.sf(missed - 1, REPEATS, 1 - level) > FALSE_ALARM:
        return None
    tried = f"atoms {atoms.tolist()}, laws {[law.tolist() for law in laws]}, {n} and {m} rows"
    return f"{tried}: {missed} missed at {level}"


TRIALS = (
    Trial(
        "transport: small problems",
        "an optimum in rationals, or its enclosure, that is none",
        try_small,
        40,
    ),
    Trial(
        "transport: points",
        "an optimum in rationals, or its enclosure, that is none",
        try_points,
        20,
    ),
    Trial("transport: entropic", "an entropic cost outside of its enclosure", try_entropic, 20),
    Trial(
        "two samples: levels", "p-values at most α more often than α under one law", try_levels, 2
    ),
    Trial(
        "two samples: intervals", "W₁ of two laws missed more often than stated", try_intervals, 2
    ),
)
