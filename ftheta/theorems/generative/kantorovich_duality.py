"""The cheapest plan costs as much as the best potentials earn; both together prove what transport costs."""

from fractions import Fraction
from math import inf
from typing import Annotated

import numpy as np

from ftheta.datasets import dataset_of_words
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Chart,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Motion,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.logic.chart import Handle, Role
from ftheta.subjects import Dataset
from ftheta.subjects.pairs import split_samples
from ftheta.theorems.samples import make_pair, names_of, samples_of, two_samples
from ftheta.transport import Transport, transport
from ftheta.transport.certificate import bound_below, transform
from ftheta.transport.gaussian import gaussian_distance, sample_moments
from ftheta.transport.problems import COSTS, Problem, read_problem
from ftheta.transport.rationals import order_pairs, solve_in_rationals

KINDS = ("plane", "ring and disc", "digits 3 and 8", "one point")
EXACT_PAIRS = 3000
DRAGGED = 4.0  # how far the second sample is moved at most by dragging
MASSES = ("shares", "counts")
ROUNDING = 1e-12  # of costs and moments in float64, in units of the largest cost
ZERO = Enclosure.exact(0)

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "plane",
    rows: Annotated[
        int, Knob(5, 2000, "rows of the first sample", "n", log=True, least=2, most=10**4)
    ] = 40,
) -> Dataset:
    if kind == "digits 3 and 8":
        digits = dataset_of_words("digits")
        assert digits is not None and digits.y is not None
        pixels = 16 * digits.x.reshape(len(digits.x), -1)  # levels 0 to 16, as they were scanned
        return make_pair(
            "handwritten digits, 3 against 8", pixels[digits.y == 3], pixels[digits.y == 8]
        )
    if kind == "ring and disc":
        turn = 2 * np.pi * rng.random(rows)
        ring = 3 * np.stack([np.cos(turn), np.sin(turn)], 1)
        return make_pair(kind, ring, rng.normal(size=(rows, 2)))
    x = rng.normal(size=(rows, 2))
    if kind == "one point":
        return make_pair(kind, x, np.array([[2.0, 1.0]]))
    return make_pair(
        "two clouds of the plane",
        x,
        rng.normal(size=(max(2, rows * 3 // 4), 2)) * [1, 0.5] + [2, 1],
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "both samples have the same mass",
    remedy="set --masses shares: each row of a sample of n has the mass 1/n",
)
def equal_masses(data: Dataset, *, masses: str) -> Finding:
    samples = split_samples(data)
    if samples is None:
        return Finding.undecided(two_samples.name)
    n, m = (len(rows) for rows in samples)
    sums = (n, m) if masses == "counts" else (1, 1)
    return Finding.decide(
        sums[0] == sums[1], f"{sums[0]:,} and {sums[1]:,}", "rows are counted", basis=Basis.EXACT
    )


@theorem(
    title="Kantorovich duality: plans and potentials certify the cost of transport",
    gist="Any plan bounds the cost of transport from above and any potential from below, and the best of both agree, "
    "so the cost between two data sets can be proved rather than trusted.",
    see_also=("transport-1d", "bures-and-fid", "sinkhorn-rate"),
    sources=("peyre2019", "santambrogio2015", "cunningham1976"),
    assumes=(two_samples, equal_masses),
    on=samples,
    same_for_all={
        "primal − dual": "both are rational numbers of these rows, and duality says that they agree",
        "largest slack": "complementary slackness, in rationals",
    },
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "distances": {"cost": "euclidean"},
        "city block": {"cost": "cityblock"},
        "ring and disc": {"kind": "ring and disc", "rows": 200},
        "digits": {"kind": "digits 3 and 8"},
        "at the edge": {"kind": "one point"},
        "large": {"rows": 2000},
        "broken on purpose": {"masses": "counts"},
    },
)
def kantorovich_duality(
    data: Dataset,
    rng: np.random.Generator,
    *,
    cost: Annotated[
        str, Knob(says="cost of moving a row", symbol="c", choices=COSTS)
    ] = "sqeuclidean",
    most: Annotated[
        int,
        Knob(
            100, 4000, "most rows of each sample that are used", log=True, least=2, most=2 * 10**4
        ),
    ] = 2000,
    masses: Annotated[
        str,
        Knob(
            says="mass of a row: shares of one for each sample, or one for each row", choices=MASSES
        ),
    ] = "shares",
    across: Annotated[
        float,
        Knob(
            -DRAGGED,
            DRAGGED,
            "how far the second sample is moved along its first column",
            "u",
            least=-1e6,
            most=1e6,
        ),
    ] = 0.0,
    up: Annotated[
        float,
        Knob(
            -DRAGGED,
            DRAGGED,
            "how far it is moved along its second column",
            "v",
            least=-1e6,
            most=1e6,
        ),
    ] = 0.0,
) -> Evidence:
    r"""For masses $a$, $b$ of equal sum and costs $c_{ij}\ge0$,
    $$\min_{P\ge0,\;P1=a,\;P^\top1=b}\sum_{ij}c_{ij}P_{ij}=\max_{f_i+g_j\le c_{ij}}\sum_ia_if_i+\sum_jb_jg_j,$$
    and for optimal ones $P_{ij}>0$ only where $f_i+g_j=c_{ij}$. So any $f$ with its $c$-transform
    $g_j=\min_ic_{ij}-f_i$ bounds the optimum from below, and any plan from above."""
    x, y = (_choose(rows, most, rng) for rows in samples_of(data))
    y = y + np.array([across, up, *[0.0] * y.shape[1]])[: y.shape[1]]
    found = transport(x, y, cost=cost)
    claims, exact = _claims(found, rng)
    if masses == "counts":
        claims.append(_claim_of_counts(found.problem))
    gelbrich = _bound_by_moments(found.problem) if cost == "sqeuclidean" else None
    if gelbrich is not None:
        rounding = ROUNDING * (found.problem.largest_cost or 1.0)
        claims.append(
            AtMost(
                "bound by the moments ≤ W₂²", Enclosure.equal(gelbrich), found.value, atol=rounding
            )
        )
    numbers: dict[str, Enclosure | float] = {"optimal cost": found.value, "relative gap": found.gap}
    if gelbrich is not None:
        numbers["bound by the moments"] = gelbrich
    moved = f"second sample moved by ({across:g}, {up:g}): " if across or up else ""
    said = f" = {exact}" if exact is not None and exact.denominator < 10**9 else ""
    return Evidence(
        claims=tuple(claims),
        charts=_draw(found, names_of(data), (across, up)),
        numbers=numbers,
        tables=(_tabulate(found),),
        summary=f"{moved}optimal cost {found.value.middle:.12g}{said}, proved to a relative {found.gap:.1e}; "
        f"{len(x):,} and {len(y):,} rows, {found.iterations:,} pivots",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _choose(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """All rows, or so many of them."""
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _claims(found: Transport, rng: np.random.Generator) -> tuple[list[Claim], Fraction | None]:
    """Weak duality for potentials and plans that are not optimal, strong duality for those that are."""
    problem = found.problem
    claims: list[Claim] = []
    for name, f in (
        ("f = 0", np.zeros(problem.n)),
        ("a random f", rng.normal(size=problem.n) * found.value.middle),
    ):
        dual = bound_below(problem, f, transform(problem, f))
        claims.append(
            AtMost(f"dual value of {name} ≤ optimum", Enclosure.between(dual, dual), found.value)
        )
    independent = _independent_cost(found)
    rounding = ROUNDING * (problem.largest_cost or 1.0)
    claims.append(
        AtMost("optimum ≤ cost of the independent plan", found.value, independent, atol=rounding)
    )
    exact = None
    if problem.n * problem.m <= EXACT_PAIRS and problem.kind != COSTS.index("euclidean"):
        near = order_pairs(found.plan.rows, found.plan.columns, found.plan.masses)
        best = solve_in_rationals(problem, near)
        exact = best.value
        dual = sum(best.f, Fraction(0)) / problem.n + sum(best.g, Fraction(0)) / problem.m
        slack = max(problem.exact_cost(i, j) - best.f[i] - best.g[j] for i, j in best.plan)
        claims.append(Identity("primal − dual, in rationals", Enclosure.exact(exact - dual), ZERO))
        claims.append(
            Identity(
                "largest slack where the plan has mass, in rationals", Enclosure.exact(slack), ZERO
            )
        )
    what = "cost of the plan − dual value of its potentials, in units of the largest cost"
    claims.append(AtMost(what, _enclose_gap(found), Enclosure.exact(1e-9)))
    return claims, exact


def _enclose_gap(found: Transport) -> Enclosure:
    """The optimum over plans less that over potentials, zero by the theorem: what is known of it from these two."""
    known = Enclosure.exact(found.value.hi) - Enclosure.exact(found.value.lo)
    unit = Enclosure.exact(found.problem.largest_cost or 1.0)
    return Enclosure.between(0.0, max((known / unit).hi, 0.0))


def _claim_of_counts(problem: Problem) -> Claim:
    """Weak duality with a mass of one for each of n and m rows. A constant f = h has the transform min c − h and a dual
    value of at least (n − m)h, as costs are not negative: more than any plan costs, if h is large."""
    most = (
        max(problem.n, problem.m) * Fraction(problem.largest_cost) * Fraction(1_000_001, 1_000_000)
    )
    height = (most + 1) * (1 if problem.n > problem.m else -1)
    dual = Enclosure.between(Enclosure.exact((problem.n - problem.m) * height).lo, inf)
    what = f"dual value of f = {float(height):.4g} ≤ largest cost of {max(problem.n, problem.m):,} rows, one each"
    return AtMost(what, dual, Enclosure.exact(most))


def _independent_cost(found: Transport) -> Enclosure:
    """The cost of a⊗b, in float64."""
    problem = found.problem
    total = 0.0
    for start in range(0, problem.n, 256):
        rows = slice(start, min(start + 256, problem.n))
        total += float(problem.a[rows] @ problem.table(rows, np.zeros(problem.m)) @ problem.b)
    return Enclosure.equal(total)


def _bound_by_moments(problem: Problem) -> float:
    """From rows about their common centre: moments far from the origin would be rounded."""
    return gaussian_distance(
        *sample_moments(problem.x - problem.centre), *sample_moments(problem.y - problem.centre)
    )


def _examples() -> Examples:
    """Three points against three with costs from a text, and pairs that are forbidden by a cost of 10³²."""
    C = np.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]])
    problem = read_problem(
        np.zeros(12), np.zeros(12), cost=np.repeat(np.repeat(C, [6, 4, 2], 0), [3, 3, 6], 1)
    )
    best = solve_in_rationals(problem, [])
    forbidden = np.full((6, 6), 1e32)
    forbidden[np.arange(6), (np.arange(6) + 1) % 6] = 57.543
    found = transport(np.zeros(6), np.zeros(6), cost=forbidden)
    claims = (
        Identity(
            "costs (4 1 3; 2 0 5; 3 2 2), a = (½, ⅓, ⅙), b = (¼, ¼, ½)",
            Enclosure.exact(best.value),
            Enclosure.exact(2),
        ),
        AtMost(
            "all but one pair for each point forbidden: the plan avoids them",
            found.value,
            Enclosure.equal(57.543),
        ),
    )
    return Examples(claims=claims, numbers={"three points": Enclosure.exact(best.value)})


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw(
    found: Transport, names: tuple[str, str], shift: tuple[float, float]
) -> tuple[Chart, ...]:
    return (_draw_motion(found, names, shift), _draw_potentials(found, names))


def _draw_motion(found: Transport, names: tuple[str, str], shift: tuple[float, float]) -> Motion:
    """The displacement interpolation in the first two coordinates; the heaviest pairs alone where there are many. The
    point that can be dragged moves the second sample."""
    heavy = np.argsort(-found.plan.masses, kind="stable")[:400]
    start = found.x[found.plan.rows[heavy]]
    end = found.y[found.plan.columns[heavy]]
    times = np.linspace(0, 1, 11)
    place = lambda k: [(1 - t) * start[:, k] + t * end[:, k] for t in times]
    flat = [np.zeros(len(heavy))] * len(times)
    return Motion(
        f"mass on its way from {names[0]} to {names[1]}",
        Axis("first coordinate"),
        Axis("second coordinate"),
        times,
        place(0),
        place(1) if found.x.shape[1] > 1 else flat,
        lines=_corners(found, shift),
        handle=Handle("across", "up", shift) if found.x.shape[1] > 1 else None,
    )


def _corners(
    found: Transport, shift: tuple[float, float]
) -> tuple[tuple[tuple[float, float], ...], ...]:
    """Two corners of a frame that has room for the second sample wherever it is dragged, so that axes stay."""
    if found.x.shape[1] < 2:
        return ()
    still = found.y[:, :2] - np.array(shift)
    low = np.minimum(found.x[:, :2].min(0), still.min(0) - DRAGGED)
    high = np.maximum(found.x[:, :2].max(0), still.max(0) + DRAGGED)
    return tuple(((float(a), float(b)),) for a, b in (low, high))


def _draw_potentials(found: Transport, names: tuple[str, str]) -> Curves:
    """Potentials in the order of the first coordinate: what a unit of mass pays where it starts and where it ends."""
    series = []
    parts: tuple[tuple[str, np.ndarray, np.ndarray, Role], ...] = (
        (names[0], found.x, found.f, "measured"),
        (names[1], found.y, found.g, "other"),
    )
    for name, rows, values, role in parts:
        order = np.argsort(rows[:, 0], kind="stable")
        series.append(Series(name, rows[order, 0], values[order], role, "points"))
    return Curves("potentials", Axis("first coordinate"), Axis("potential"), tuple(series))


def _tabulate(found: Transport) -> Table:
    heavy = np.argsort(-found.plan.masses, kind="stable")[:10]
    costs = found.problem.costs_of(found.plan.rows[heavy], found.plan.columns[heavy])
    rows = [
        (int(found.plan.rows[k]), int(found.plan.columns[k]), float(found.plan.masses[k]), float(c))
        for k, c in zip(heavy, costs)
    ]
    return Table(
        "heaviest pairs of the plan", ("row of x", "row of y", "mass", "cost"), tuple(rows)
    )
