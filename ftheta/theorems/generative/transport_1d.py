"""On the line the best plan moves quantiles to quantiles."""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from math import gcd, pi, sqrt
from typing import Annotated

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtri

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.theorems.samples import make_pair, names_of, samples_of, two_samples
from ftheta.transport import transport
from ftheta.transport.certificate import bound_below, join_bounds, transform
from ftheta.transport.distances import line_radius
from ftheta.transport.line import exact_line_cost, line_cost
from ftheta.transport.problems import LOST, read_problem
from ftheta.transport.rationals import solve_in_rationals

KINDS = ("three atoms", "uniform", "normal", "two steps")
COLUMNS = 32  # of the data that are looked at
PAIRS = 10**5  # that are drawn of the independent plan
LONGEST_PLAN = 10**6  # pairs of a random plan
EXACT_ROWS = 2000  # for which rationals are quick
DUAL_PAIRS = 10**7  # for which potentials are compared with all costs
ZERO = Enclosure.exact(0)
BRUTE_ROWS = 40  # for which all pairs are tried in rationals

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "three atoms",
    rows: Annotated[
        int, Knob(5, 2000, "rows of each sample", "n", log=True, least=2, most=10**6)
    ] = 200,
) -> Dataset:
    if kind == "three atoms":
        return make_pair(kind, np.array([0.0, 0, 1, 3]), np.array([0.5, 0.5, 2]))
    if kind == "two steps":
        return make_pair(kind, np.array([0.0, 1]), np.array([1.0, 2]))
    if kind == "uniform":
        return make_pair(
            "uniform on [0, 1] and on [½, 3/2]", rng.random(rows), rng.random(rows) + 0.5
        )
    return make_pair("N(0, 1) and N(1, 4)", rng.normal(size=rows), 1 + 2 * rng.normal(size=rows))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the cost $|x-y|^p$ is convex: $p\\ge1$",
    remedy="choose p from 1 on; concave costs are left to ft.transport",
)
def convex_cost(data: Dataset, *, power: float) -> Finding:
    return Finding.decide(power >= 1, f"p = {power:g}", "read off the knob", basis=Basis.EXACT)


@theorem(
    title="Transport on the line is sorting",
    gist="On the line the cheapest way to move one sample to another takes sorted values to sorted values, so a "
    "distance between two columns of data costs no more than sorting them.",
    see_also=("kantorovich-duality", "wasserstein-sampling", "gan-and-transport"),
    sources=("santambrogio2015", "massart1990"),
    assumes=(two_samples, convex_cost),
    on=samples,
    same_for_all={
        "cost of sorting − optimum": "both are rational numbers of these rows, and sorting is optimal"
    },
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "uniform": {"kind": "uniform"},
        "normal": {"kind": "normal"},
        "squares": {"kind": "normal", "power": 2.0},
        "large": {"kind": "normal", "rows": 2000},
        "broken on purpose": {"kind": "two steps", "power": 0.5},
    },
)
def transport_1d(
    data: Dataset,
    rng: np.random.Generator,
    *,
    power: Annotated[float, Knob(1, 4, "exponent of the cost", "p", least=0.1, most=16)] = 1.0,
    risk: Annotated[
        float, Knob(0.001, 0.2, "failure probability of the interval", "δ", log=True, least=1e-9)
    ] = 0.05,
) -> Evidence:
    r"""For $p\ge1$ and laws $\mu$, $\nu$ of the line with distribution functions $F$, $G$,
    $$W_p^p(\mu,\nu)=\int_0^1|F^{-1}(q)-G^{-1}(q)|^p\,dq:$$
    the monotone plan is optimal; of two samples of one size it takes the sorted rows to the sorted rows. If both laws
    live on a segment of length $D$, then with probability $1-\delta$ the distance $W_1$ of samples of $n$ and $m$
    independent rows errs by at most $D\big(\sqrt{\ln(4/\delta)/2n}+\sqrt{\ln(4/\delta)/2m}\big)$."""
    x, y = samples_of(data)
    columns = min(x.shape[1], COLUMNS)
    costs = [line_cost(x[:, k], y[:, k], p=power) for k in range(columns)]
    ranges = [
        float(max(x[:, k].max(), y[:, k].max()) - min(x[:, k].min(), y[:, k].min()))
        for k in range(columns)
    ]
    k = max(range(columns), key=lambda c: _in_ranges(costs[c], ranges[c], power))
    name = data.columns[k] if k < len(data.columns) else f"column {k}"
    s, t = x[:, k], y[:, k]
    claims = [_claim_optimal(s, t, power, costs[k], name, rng)]
    w1 = line_cost(s, t)
    radius = line_radius(len(s), len(t), ranges[k], risk)
    claims.append(_claim_means(s, t, w1, name))
    numbers: dict[str, Enclosure | float] = {"Wₚᵖ": costs[k], "W₁": w1, "radius": radius}
    if len(s) + len(t) <= EXACT_ROWS:
        numbers |= {
            f"W{'₁₂₃'[p - 1]} to the power {p}": Enclosure.exact(
                exact_line_cost(s.tolist(), t.tolist(), p=p)
            )
            for p in (1, 2, 3)
        }
    return Evidence(
        claims=tuple(claims),
        charts=(
            _draw_quantiles(s, t, name, names_of(data)),
            _draw_distributions(s, t, name, names_of(data)),
        ),
        numbers=numbers,
        tables=(_tabulate(data, costs, ranges, power),),
        summary=f"{name}: W₁ = {w1.middle:.6g}; if the rows are independent, of laws on a segment of length "
        f"{ranges[k]:.4g}: ± {radius:.3g} with probability {1 - risk:g}",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _in_ranges(cost: Enclosure, span: float, power: float) -> float:
    """Wₚ of a column in units of its range; 0 where all rows agree."""
    return cost.middle ** (1 / power) / span if span else 0.0


def _claim_optimal(
    s: np.ndarray, t: np.ndarray, power: float, cost: Enclosure, name: str, rng: np.random.Generator
) -> Identity | AtMost:
    """The monotone plan against the optimum over all plans in rationals, or against other plans."""
    few = len(s) * len(t) <= BRUTE_ROWS**2
    if few and power in (1, 2):
        problem = read_problem(s, t, cost="sqeuclidean" if power == 2 else "cityblock")
        excess = (
            exact_line_cost(s.tolist(), t.tolist(), p=int(power))
            - solve_in_rationals(problem, []).value
        )
        return Identity(
            "cost of sorting − optimum over all plans, in rationals", Enclosure.exact(excess), ZERO
        )
    if power in (1, 2) and len(s) * len(t) <= DUAL_PAIRS:
        found = transport(s, t, cost="sqeuclidean" if power == 2 else "cityblock")
        below = bound_below(found.problem, found.f, transform(found.problem, found.f))
        best = join_bounds(below, cost.hi)
        return Identity(
            f"cost of sorting = optimum over all plans, by duality ({name})", cost, best
        )
    if power < 1 and len(s) == len(t) <= 7:
        return AtMost(
            f"cost of sorting ≤ cost of every other assignment ({name})",
            cost,
            _best_assignment(s, t, power),
        )
    if len(s) * len(t) // gcd(len(s), len(t)) > LONGEST_PLAN:
        return AtMost(
            f"cost of sorting ≤ cost of the independent plan ({name})",
            cost,
            _independent_cost(s, t, power, rng),
        )
    shuffled = min(_random_cost(s, t, power, rng) for _ in range(20))
    what = f"cost of sorting ≤ the least of 20 random plans ({name})"
    return AtMost(what, cost, Enclosure.equal(shuffled), atol=LOST)


def _best_assignment(s: np.ndarray, t: np.ndarray, power: float) -> Enclosure:
    """The least mean cost of all assignments; powers and sums round by a few units in the last place."""
    costs = np.abs(s[:, None] - t) ** power
    best = min(
        sum(costs[i, j] for i, j in enumerate(order)) for order in permutations(range(len(t)))
    )
    return Enclosure.around(best / len(s), 1e-14 * max(best, 1e-300))


def _random_cost(s: np.ndarray, t: np.ndarray, power: float, rng: np.random.Generator) -> float:
    """The cost of a random plan: both samples repeated to one size and shuffled."""
    count = len(s) * len(t) // gcd(len(s), len(t))
    left = np.repeat(s, count // len(s))
    right = rng.permutation(np.repeat(t, count // len(t)))
    return float(np.mean(np.abs(left - right) ** power))


def _independent_cost(
    s: np.ndarray, t: np.ndarray, power: float, rng: np.random.Generator
) -> Enclosure:
    """The mean cost of independent rows, from drawn pairs."""
    reach = max(s.max() - t.min(), t.max() - s.min())
    costs = np.abs(rng.choice(s, PAIRS) - rng.choice(t, PAIRS)) ** power
    return mean(costs, within=(0.0, float(reach**power)))


def _claim_means(s: np.ndarray, t: np.ndarray, w1: Enclosure, name: str) -> AtMost:
    """The means differ by no more than W₁: x ↦ x is 1-Lipschitz."""
    what = f"|mean x − mean y| ≤ W₁ ({name})"
    if len(s) + len(t) > EXACT_ROWS:
        return AtMost(
            what, Enclosure.equal(abs(float(s.mean() - t.mean()))), Enclosure.equal(w1.middle)
        )
    means = [sum(map(Fraction, rows.tolist()), Fraction(0)) / len(rows) for rows in (s, t)]
    distance = exact_line_cost(s.tolist(), t.tolist())
    excess = distance - abs(means[0] - means[1])
    return AtMost(f"0 ≤ W₁ − |mean x − mean y| ({name})", ZERO, Enclosure.exact(excess))


def _examples() -> Examples:
    """Laws with closed forms, each beside its integral over quantiles."""
    exponential = lambda q: -np.log1p(-q)
    wide = lambda q: 1 + 2 * ndtri(q)
    square = _integrate(lambda q: (q - ndtri(q)) ** 2)
    numbers: dict[str, Enclosure | float] = {
        "W₂² of U(0,1) and N(0,1)": square,
        "W₂² of N(0,1) and Exp(1)": _integrate(lambda q: (ndtri(q) - exponential(q)) ** 2),
        "W₁ of N(0,1) and N(1,4)": _integrate(lambda q: abs(ndtri(q) - wide(q))),
    }
    closed = Enclosure.equal(4 / 3 - 1 / sqrt(pi))
    claims = [
        Identity(
            "W₂² of U(0,1) and N(0,1): integral and closed form", Enclosure.equal(square), closed
        )
    ]
    numbers["mean W₁ of ten uniform draws to their law"] = _expected_uniform(10)
    monotone = Enclosure.equal(1.0)
    best = Enclosure.equal(sqrt(2) / 2)
    concave = AtMost(
        "cost √|x−y|, {0, 1} → {1, 2}: the optimum is below that of sorting", best, monotone
    )
    return Examples(claims=(*claims, concave), numbers=numbers)


def _integrate(density: Callable[[float], float]) -> float:
    """Over the quantiles; the two quantile functions of the examples may cross at Φ(−1)."""
    return quad(density, 0, 1, points=[0.15865525393145707], limit=500, epsabs=1e-12)[0]


def _expected_uniform(n: int) -> Enclosure:
    r"""$\mathbb E\int_0^1|F_n-t|\,dt$, where $nF_n(t)$ is binomial: the integrals are those of polynomials."""
    total = Fraction(0)
    for k in range(n + 1):
        total += _integrate_piece(n, k)
    return Enclosure.exact(total)


def _integrate_piece(n: int, k: int) -> Fraction:
    r"""$\binom nk\int_0^1t^k(1-t)^{n-k}|\frac kn-t|\,dt$ in rationals."""
    from math import comb

    weights = [(k + i, Fraction((-1) ** i * comb(n - k, i) * comb(n, k))) for i in range(n - k + 1)]
    cut = Fraction(k, n)

    def primitive(t: Fraction) -> Fraction:
        """Of t^k (1−t)^(n−k) (k/n − t)."""
        return sum(
            (c * (cut * t ** (e + 1) / (e + 1) - t ** (e + 2) / (e + 2)) for e, c in weights),
            Fraction(0),
        )

    return 2 * primitive(cut) - primitive(Fraction(0)) - primitive(Fraction(1))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_quantiles(s: np.ndarray, t: np.ndarray, name: str, names: tuple[str, str]) -> Curves:
    """The monotone map, from the quantiles of one to those of the other."""
    q = (np.arange(200) + 0.5) / 200
    left = np.quantile(s, q, method="inverted_cdf")
    right = np.quantile(t, q, method="inverted_cdf")
    ends = [float(left.min()), float(left.max())]
    series = (
        Series("quantile map", left, right, mark="step"),
        Series("identity", ends, ends, "reference"),
    )
    return Curves(f"optimal map, {name}", Axis(names[0]), Axis(names[1]), series)


def _draw_distributions(s: np.ndarray, t: np.ndarray, name: str, names: tuple[str, str]) -> Curves:
    """Both distribution functions: W₁ is the area between them."""
    grid = np.unique(
        np.quantile(np.concatenate([s, t]), np.linspace(0, 1, 300), method="inverted_cdf")
    )
    share = lambda rows: np.searchsorted(np.sort(rows), grid, side="right") / len(rows)
    series = (
        Series(names[0], grid, share(s), mark="step"),
        Series(names[1], grid, share(t), "other", "step"),
    )
    return Curves(
        "W₁ is the area between the distribution functions",
        Axis(name),
        Axis("share of rows"),
        series,
    )


def _tabulate(data: Dataset, costs: list[Enclosure], ranges: list[float], power: float) -> Table:
    named = [data.columns[k] if k < len(data.columns) else f"column {k}" for k in range(len(costs))]
    rows = [
        (name, cost.middle, _in_ranges(cost, span, power))
        for name, cost, span in zip(named, costs, ranges)
    ]
    return Table("columns", ("column", "Wₚᵖ", "Wₚ in units of its range"), tuple(rows))
