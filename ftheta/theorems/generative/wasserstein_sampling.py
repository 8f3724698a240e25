"""How near samples come to their law in transport distance: like 1/√n on the line, hardly in many dimensions."""

from fractions import Fraction
from math import lgamma, log, pi, sqrt
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
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
from ftheta.transport import transport
from ftheta.transport.line import line_cost

KINDS = ("uniform", "normal", "Cauchy")
PROBES = 4000  # points of the box whose nearest rows are sought
LARGEST_HALF = 256
REPEATS = 4
MOST_PAIRED = 2000  # rows of which all pairs are looked at

# ---- subjects --------------------------------------------------------------------------------------------------------


def sample(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="law of the rows", choices=KINDS)] = "uniform",
    rows: Annotated[int, Knob(50, 5000, "rows", "n", log=True, least=10, most=10**5)] = 1000,
    dimension: Annotated[int, Knob(1, 16, "columns", "d", most=64)] = 3,
) -> Dataset:
    shape = (rows, dimension)
    draws = {"uniform": rng.random, "normal": rng.standard_normal, "Cauchy": rng.standard_cauchy}
    return Dataset(f"{kind} rows in dimension {dimension}", draws[kind](shape))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis("at least ten rows", remedy="give more rows: they are halved and halved again")
def enough_rows(data: Dataset) -> Finding:
    return Finding.decide(len(data) >= 10, f"{len(data):,} rows", "they are counted")


@hypothesis(
    "the rows live in a set of diameter $D$",
    remedy="state a larger --diameter, or 0 for the range of these rows; heavy tails have none",
)
def lives_in_a_ball(data: Dataset, *, diameter: float) -> Finding:
    x = _rows(data)
    across = _range_of(x)
    if diameter == 0:
        return Finding.proved(f"range of these rows: {across:.4g}", "the diagonal of their box")
    if across <= diameter:
        return Finding.proved(
            f"range of these rows: {across:.4g}; D = {diameter:g}", "the diagonal of their box"
        )
    if len(x) > MOST_PAIRED:
        some = x[:: -(-len(x) // MOST_PAIRED)]
        note = f"{len(some):,} of {len(x):,} rows are up to {farthest_apart(some).middle:.4g} apart; D = {diameter:g}"
        return Finding.failed(note) if farthest_apart(some).lo > diameter else Finding.sampled(note)
    apart = farthest_apart(x)
    note = f"rows are up to {apart.middle:.4g} apart; D = {diameter:g}"
    return Finding.decide(
        apart.hi <= diameter, note, "all pairs, rounded outward", apart, basis=Basis.EXACT
    )


@theorem(
    title="What a sample can resolve in transport distance",
    gist="In one dimension a sample approaches its law like the inverse root of its size; in many dimensions no set of "
    "points of that size comes near, so distances between samples say little below a floor that can be computed.",
    see_also=("transport-1d", "bures-and-fid", "mmd-test"),
    sources=("bobkov2019", "peyre2019", "santambrogio2015"),
    assumes=(enough_rows, lives_in_a_ball),
    on=sample,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "line": {"dimension": 1},
        "ten dimensions": {"dimension": 10},
        "normal": {"kind": "normal"},
        "no mean": {"kind": "Cauchy", "dimension": 1},
        "broken on purpose": {"kind": "Cauchy", "dimension": 1, "diameter": 1.0},
    },
)
def wasserstein_sampling(
    data: Dataset,
    rng: np.random.Generator,
    *,
    risk: Annotated[
        float, Knob(0.001, 0.2, "failure probability", "δ", log=True, least=1e-9, most=0.5)
    ] = 0.05,
    diameter: Annotated[
        float,
        Knob(
            0,
            10,
            "diameter of a set that the rows live in; 0 for the range of these rows",
            "D",
            most=1e9,
        ),
    ] = 0.0,
) -> Evidence:
    r"""For $n$ draws $U_n$ of the uniform law $U$ on $[0,1]$, $\mathbb E W_2^2(U_n,U)=\frac1{6n}$. Every $\nu$ on $n$
    atoms has $W_1(\nu,U[0,1]^d)\ge\frac d{d+1}(n\omega_d)^{-1/d}$, $\omega_d$ the volume of the unit ball: the distance
    to the nearest atom is at least that on average. Distances of samples of $n$ and $m$ rows in a set of diameter $D$
    differ from their means by at most $D\sqrt{\frac12\ln\frac2\delta(\frac1n+\frac1m)}$, except with probability
    $\delta$."""
    x = _rows(data)
    n, d = x.shape
    floor = least_distance(n, d)
    unit = _to_unit_box(x)
    nearest = _nearest(unit, rng)
    claims: list[Claim] = [
        AtMost(
            "floor ≤ mean distance of the box to the nearest row", Enclosure.equal(floor), nearest
        )
    ]
    sizes, halves = _measure_halves(x, rng)
    across = diameter or _range_of(x)
    spread = across * sqrt(0.5 * log(2 / risk) * 2 / sizes[-1])
    last = halves[-1]
    claims.append(
        AtMost(
            f"W₁ of two parts of {sizes[-1]} rows: largest − smallest of {REPEATS} ≤ twice the deviation",
            Enclosure.measured(float(np.ptp(last)), samples=REPEATS),
            Enclosure.equal(2 * spread),
        )
    )
    parts = rng.permutation(len(x))[: 2 * sizes[-1]]
    what = f"W₁ of two parts of {sizes[-1]} rows ≤ D = {across:.4g}"
    claims.append(AtMost(what, _distance(x[parts[::2]], x[parts[1::2]]), Enclosure.exact(across)))
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_halves(sizes, halves, d),),
        numbers={
            "floor": floor,
            "mean distance to the nearest row": nearest,
            "W₁ of the largest parts": float(last.mean()),
            "deviation": spread,
        },
        tables=(_tabulate(sizes, halves),),
        summary=f"two parts of {sizes[-1]} rows are {last.mean():.4g} apart though they have one law; {n:,} points of "
        f"a unit cube in dimension {d} stay {floor:.4g} or more away from its uniform law",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _rows(data: Dataset) -> np.ndarray:
    return data.x.reshape(len(data.x), -1).astype(float)


def _range_of(x: np.ndarray) -> float:
    """The diagonal of the box around the rows, rounded up."""
    return float(np.linalg.norm(np.ptp(x, axis=0))) * (1 + 1e-12)


def farthest_apart(x: np.ndarray) -> Enclosure:
    """The largest distance of two rows, rounded outward; exact on the line, up to rounding."""
    from scipy.spatial.distance import pdist

    if x.shape[1] == 1:
        ends = [Fraction(float(end)) for end in (x.min(), x.max())]
        return Enclosure.exact(ends[1] - ends[0])
    largest = float(pdist(x).max())
    return Enclosure.around(largest, (x.shape[1] + 8) * 2.0**-53 * largest)


def least_distance(n: int, d: int) -> float:
    r"""$\frac d{d+1}(n\omega_d)^{-1/d}$: $n$ balls cover the cube best where they do not overlap."""
    log_ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
    return d / (d + 1) * float(np.exp(-(log(n) + log_ball) / d))


def _to_unit_box(x: np.ndarray) -> np.ndarray:
    lo = x.min(0)
    side = np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    return (x - lo) / side


def _nearest(unit: np.ndarray, rng: np.random.Generator) -> Enclosure:
    """The mean distance of uniform points of the cube to the nearest row, which no transport undercuts."""
    from scipy.spatial import KDTree

    probes = rng.random((PROBES, unit.shape[1]))
    distances, _ = KDTree(unit).query(probes)
    return mean(distances, within=(0.0, sqrt(unit.shape[1])))


def _measure_halves(x: np.ndarray, rng: np.random.Generator) -> tuple[list[int], list[np.ndarray]]:
    """W₁ between disjoint parts of the rows, of growing sizes."""
    largest = min(LARGEST_HALF, len(x) // 2)
    sizes = sorted({max(2, largest >> k) for k in range(6)})
    found = []
    for size in sizes:
        draws = []
        for _ in range(REPEATS):
            rows = x[rng.choice(len(x), 2 * size, replace=False)]
            draws.append(_distance(rows[:size], rows[size:]).middle)
        found.append(np.array(draws))
    return sizes, found


def _distance(x: np.ndarray, y: np.ndarray) -> Enclosure:
    if x.shape[1] == 1:
        return line_cost(x[:, 0], y[:, 0])
    return transport(x, y, cost="euclidean").value


def _examples() -> Examples:
    """Uniform draws of the line: W₂² to their law by its integral over quantiles, on average 1/6n."""
    rng = np.random.default_rng(0)
    n = 10
    ordered = np.sort(rng.random((20_000, n)), axis=1)
    edges = np.arange(n + 1) / n
    cubes = (edges[1:] - ordered) ** 3 - (edges[:-1] - ordered) ** 3
    draws = cubes.sum(1) / 3
    found = mean(draws, within=(0.0, 1.0))
    claim = Identity(
        "mean W₂² of ten uniform draws to their law = 1/60", found, Enclosure.equal(1 / (6 * n))
    )
    numbers = {
        "floor of 1000 points in dimension 3": least_distance(1000, 3),
        "floor of 1000 points in dimension 10": least_distance(1000, 10),
    }
    return Examples(claims=(claim,), numbers=numbers)


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_halves(sizes: list[int], halves: list[np.ndarray], d: int) -> Curves:
    at = np.array(sizes, float)
    seen = np.array([draws.mean() for draws in halves])
    slope = 1 / max(d, 2)
    series = (
        Series(
            "W₁ of two parts", at, seen, lo=[h.min() for h in halves], hi=[h.max() for h in halves]
        ),
        Series(
            f"n to the power −1/{max(d, 2)}", at, seen[-1] * (at / at[-1]) ** -slope, "reference"
        ),
    )
    return Curves(
        "distance of two parts of one sample",
        Axis("rows of each part", "log"),
        Axis("W₁", "log"),
        series,
    )


def _tabulate(sizes: list[int], halves: list[np.ndarray]) -> Table:
    rows = tuple(
        (size, float(h.mean()), float(h.min()), float(h.max())) for size, h in zip(sizes, halves)
    )
    return Table("W₁ of two parts", ("rows of each", "mean", "smallest", "largest"), rows)
