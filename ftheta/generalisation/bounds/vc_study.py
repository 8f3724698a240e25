"""Labellings, complexities and uniform bounds shown on points, on laws and on a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from flint import ctx  # type: ignore[import-untyped]

from ftheta.estimates import binomial_interval
from ftheta.estimates.concentration import Law, deviation_tail
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Identity,
    Series,
    SubjectError,
    Table,
)

from .balls import BITS, ball
from .rademacher import linear_ball
from .shattering import Labellings, cover_count, halfspace_labellings, lifted, radon_weights, sauer_shelah, vc_dimension
from .table import TRAINING, RiskBounds, classes_known, risk_bounds, stochastic_risk
from .uniform import Units, finite_class_radius, finite_class_rows, uniform_coverage, vc_radius

ZERO, HALF = Enclosure.exact(0), Fraction(1, 2)
CLASSES = 200  # random classes behind the check of Sauer and Shelah
COVER_TO = 40  # dimensions in which Cover's half is checked
TRIALS = 400
Numbers = dict[str, Enclosure | float]


@dataclass(frozen=True)
class Asked:
    """A confidence, a sample size, a class of `hypotheses` predictors and the `radius` wanted of it, a ball of
    `norm`."""

    n: int
    delta: float
    hypotheses: int
    radius: float
    norm: float


def labelling_claims(x: np.ndarray, found: Labellings) -> tuple[Claim, ...]:
    """What halfspaces do to these points, counted with certificates, against Cover, Sauer and Shelah, and Radon."""
    m, d = x.shape
    claims: list[Claim] = [
        Identity("labellings by halfspaces", found.count, Enclosure.exact(cover_count(m, d + 1))),
        AtMost("labellings", found.count, Enclosure.exact(sauer_shelah(m, d + 1)), float(2**m)),
    ]
    if found.open == 0:
        largest = Enclosure.exact(vc_dimension(found.patterns))
        claims.append(Identity("largest subset that is shattered", largest, Enclosure.exact(min(m, d + 1))))
    if m >= d + 2 and found.open == 0:
        made = Enclosure.exact(radon_labellings(x[: d + 2], found.patterns))
        claims.append(Identity(f"halfspaces that make Radon's labelling of {d + 2} points", made, ZERO))
    return tuple(claims)


def radon_labellings(x: np.ndarray, patterns: np.ndarray) -> int:
    """How many of the patterns label the first points by the signs of their Radon weights."""
    weights = radon_weights(x)
    asked = [(i, u > 0) for i, u in enumerate(weights) if u != 0]
    return int(sum(all(row[i] == label for i, label in asked) for row in patterns))


def sauer_on_random_classes(rng: np.random.Generator, points: int = 6) -> AtMost:
    """The number of patterns over Sauer and Shelah's bound for their VC dimension, at worst over random classes."""
    worst = 0.0
    for _ in range(CLASSES):
        patterns = rng.random((rng.integers(1, 2**points), points)) < rng.random()
        size = len(np.unique(patterns, axis=0))
        worst = max(worst, size / sauer_shelah(points, vc_dimension(patterns)))
    return AtMost(
        "patterns / Σ C(m, i), random classes", Enclosure.at_least(worst, samples=CLASSES), Enclosure.exact(1)
    )


def cover_half() -> Identity:
    """Of 2d points, halfspaces through 0 make half of all labellings."""
    off = max(abs(Fraction(cover_count(2 * d, d), 4**d) - HALF) for d in range(1, COVER_TO + 1))
    return Identity(f"|C(2d, d)/2^(2d) − ½|, d ≤ {COVER_TO}", Enclosure.exact(off), ZERO)


def finite_class(asked: Asked) -> tuple[int, AtMost]:
    """The rows that suffice, and the exact chance that one of so many independent coins strays further all the same."""
    n = finite_class_rows(asked.hypotheses, asked.radius, asked.delta)
    coin = Law.of([0.0, 1.0], [0.5, 0.5])
    with ctx.workprec(BITS):
        one = ball(deviation_tail(coin, n, ball(asked.radius)))
        some = Enclosure.ball(1 - (1 - one) ** asked.hypotheses)
    return n, AtMost(f"P(one of {asked.hypotheses:,} strays by ε), n = {n:,}", some, Enclosure.exact(asked.delta))


def coverage(asked: Asked, rng: np.random.Generator) -> tuple[AtMost, np.ndarray]:
    """How often some half-line strays by more than the VC radius, in an experiment."""
    trials = max(40, min(TRIALS, 4_000_000 // asked.n))
    exceeded, deviations = uniform_coverage(asked.n, asked.delta, trials, rng)
    trivial = 0.0 if vc_radius(2, asked.n, asked.delta) >= 1 else 1.0
    seen = binomial_interval(exceeded, trials)
    return AtMost("P(some half-line strays by the VC radius)", seen, Enclosure.exact(asked.delta), trivial), deviations


def rademacher_claims(x: np.ndarray, norm: float, rng: np.random.Generator) -> tuple[tuple[Claim, ...], Numbers]:
    found, unit = linear_ball(x, norm, rng), linear_ball(np.eye(16), 1.0, rng)
    closed = Enclosure.equal(found.at_most)
    claims = (
        AtMost("Rademacher complexity of the ball", found.complexity, closed),
        AtMost("B √Σ|x|²/n", closed, Enclosure.equal(found.by_radius)),
        AtMost("1/√2 of that (Khintchine, Kahane)", Enclosure.equal(found.at_least), found.complexity),
        Identity("Rademacher complexity of 16 orthonormal rows", unit.complexity, Enclosure.exact(Fraction(1, 4))),
    )
    numbers: Numbers = {
        "Rademacher of the ball": found.complexity,
        "Rademacher of the ball at most": found.at_most,
        "Rademacher of 16 orthonormal rows": unit.complexity,
    }
    return claims, numbers


def points_evidence(x: np.ndarray, every: np.ndarray, asked: Asked, rng: np.random.Generator) -> Evidence:
    """The points `x` are labelled; the ball of linear functions is judged on `every` row."""
    m, d = x.shape
    found = halfspace_labellings(lifted(x))
    rows, finite = finite_class(asked)
    covered, deviations = coverage(asked, rng)
    complexity, numbers = rademacher_claims(every, asked.norm, rng)
    claims = (*labelling_claims(x, found), sauer_on_random_classes(rng), cover_half(), finite, covered, *complexity)
    numbers |= {
        "labellings": found.count,
        "labellings by Cover": Enclosure.exact(cover_count(m, d + 1)),
        "Sauer–Shelah": Enclosure.exact(sauer_shelah(m, d + 1)),
        "VC dimension of halfspaces": Enclosure.exact(d + 1),
        "share of 2(d+1) points": Enclosure.exact(Fraction(cover_count(2 * d + 2, d + 1), 4 ** (d + 1))),
        "rows for the finite class": Enclosure.exact(rows),
        "VC radius": vc_radius(d + 1, asked.n, asked.delta),
    }
    if found.open == 0:
        numbers["largest shattered subset"] = Enclosure.exact(vc_dimension(found.patterns))
    where = f"{m} point{'s' * (m > 1)} in {d} dimension{'s' * (d > 1)}"
    told = f"{where}: halfspaces make {found.count.lo:g} of {2**m:,} labellings, decided by {found.programs} linear "
    told += f"programs; {rows:,} rows for {asked.hypotheses:,} predictors; VC radius {numbers['VC radius']:.4g} "
    told += f"at n = {asked.n:,}, largest deviation met {deviations.max():.4g}"
    return Evidence(
        claims,
        (growth_chart(found.patterns, d), radii_chart(d, asked, rng)),
        numbers,
        (architectures_table(asked),),
        summary=told,
    )


def growth_chart(patterns: np.ndarray, d: int) -> Curves:
    """Growth functions: all labellings, Sauer and Shelah, halfspaces by Cover, and the count on the points."""
    last = max(min(3 * d + 5, 24), patterns.shape[1] + 2)
    m = np.arange(1, last + 1)
    counted = [len(np.unique(patterns[:, :k], axis=0)) for k in range(1, patterns.shape[1] + 1)]
    return Curves(
        f"labellings of m points by halfspaces in {d} dimension{'s' * (d > 1)}",
        Axis("points m"),
        Axis("labellings", "log"),
        (
            Series("all, 2ᵐ", m, 2.0**m, "reference"),
            Series(f"Sauer–Shelah, VC = {d + 1}", m, [float(sauer_shelah(int(k), d + 1)) for k in m], "bound"),
            Series("Cover", m, [float(cover_count(int(k), d + 1)) for k in m], "other"),
            Series("counted", m[: len(counted)], counted, "measured", "points"),
        ),
    )


def radii_chart(d: int, asked: Asked, rng: np.random.Generator) -> Curves:
    """Radii against the sample size, and what half-lines (VC dimension 2) do in an experiment."""
    n = np.unique(np.geomspace(max(10, asked.n // 50), asked.n * 50, 40).astype(int))
    one = [finite_class_radius(1, int(k), asked.delta) for k in n]
    many = [finite_class_radius(asked.hypotheses, int(k), asked.delta) for k in n]
    vc = [vc_radius(d + 1, int(k), asked.delta) for k in n]
    sizes = np.unique(np.geomspace(n[0], asked.n, 5).astype(int))
    trials = [max(40, min(200, 1_000_000 // int(k))) for k in sizes]
    seen = [uniform_coverage(int(k), asked.delta, t, rng)[1] for k, t in zip(sizes, trials)]
    met = [float(np.quantile(v, 1 - asked.delta, method="higher")) for v in seen]
    return Curves(
        "radius within which all predictors of a class stay",
        Axis("sample size n", "log"),
        Axis("|R_n − R|", "log"),
        (
            Series(f"VC dimension {d + 1}", n, vc, "bound"),
            Series(f"{asked.hypotheses:,} predictors", n, many, "other"),
            Series("one predictor", n, one, "other"),
            Series("vacuous", n, np.ones(len(n)), "reference"),
            Series("half-lines, measured", sizes, met, "measured", "points"),
        ),
    )


ARCHITECTURES = ((2, 16, 1), (64, 32, 32, 10), (784, 256, 256, 10), (784, *[1024] * 9, 10))


def architectures_table(asked: Asked) -> Table:
    """VC dimensions of ReLU networks, and the rows from which the bound says something."""
    rows = []
    for widths in ARCHITECTURES:
        units = units_of_widths(widths)
        some = units.vc_of_some_network()
        at_most = units.vc_at_most()
        rows.append(
            (
                "-".join(map(str, widths)) if len(widths) < 6 else f"784-{len(widths) - 2}×1024-10",
                units.weights,
                units.depth,
                at_most,
                units.vc_closed_form(),
                "–" if some is None else some,
                vc_radius(at_most, asked.n, asked.delta),
                rows_to_say_something(at_most, asked.delta),
            )
        )
    title = "VC dimension of ReLU networks: some network of that size reaches the lower bound, none the upper"
    columns = ("widths", "W", "L", "VC at most", "closed form", "some has at least", f"radius, n = {asked.n:,}", "rows")
    return Table(title, (*columns[:-1], "rows for a radius < 1"), tuple(rows))


def units_of_widths(widths: Sequence[int]) -> Units:
    sizes = np.cumsum([a * b + b for a, b in pairwise(widths)])
    return Units((*widths[1:-1], max(1, comb(widths[-1], 2))), tuple(sizes.tolist()))


def rows_to_say_something(d: int, delta: float) -> int:
    """The least n with a VC radius below 1."""
    lo, hi = 1, 2
    while vc_radius(d, hi, delta) >= 1:
        lo, hi = hi, 2 * hi
    while hi - lo > 1:
        middle = (lo + hi) // 2
        lo, hi = (lo, middle) if vc_radius(d, middle, delta) < 1 else (middle, hi)
    return hi


def network_evidence(net: Any, asked: Asked, rng: np.random.Generator, draws: int) -> Evidence:
    """Half of the rows are the sample of the uniform bounds; the other half says what the risk is."""
    if classes_known(net):
        raise SubjectError("This needs a classifier with rows.", where=net.name, got=classes_known(net))
    order = rng.permutation(len(net.data))
    half = len(order) // 2
    pair = lambda rows: (net.data.x[rows], net.data.y[rows])
    sample, others = pair(order[:half]), pair(order[half:])
    found = risk_bounds(net, sample, others, delta=asked.delta, draws=draws)
    errors = round(float(found.test_risk or 0) * len(others[0]))
    risk = binomial_interval(errors, len(others[0]))
    claims = [
        AtMost(f"risk, by {b.name}", risk, Enclosure.exact(b.value), 1.0) for b in found.bounds if b.assumes == TRAINING
    ]
    numbers: Numbers = {"risk on held-out rows": risk, "risk on the sample": float(found.train_risk or 0)}
    if found.randomised is not None:
        scattered = stochastic_risk(net, others, found.randomised.spread, draws=min(draws, found.randomised.draws))
        bound = Enclosure.exact(found.randomised.seeger)
        claims.append(AtMost("risk with random weights, by PAC-Bayes", scattered, bound, 1.0))
        numbers["risk with random weights, held-out rows"] = scattered
    numbers |= {b.name: Enclosure.at_most(b.value, Basis.EXACT) for b in found.bounds}
    told = ", ".join(f"{b.name} {b.value:.4g}{' (vacuous)' if b.vacuous else ''}" for b in found.bounds)
    return Evidence(tuple(claims), (bounds_chart(found),), numbers, (found.table,), summary=f"risk at most: {told}")


def bounds_chart(found: RiskBounds) -> Bars:
    names = tuple(f"{b.name}{' (vacuous)' if b.vacuous else ''}" for b in found.bounds)
    values = (tuple(b.value for b in found.bounds),)
    return Bars("upper bounds of the risk", Axis("risk at most", "log"), names, ("bound",), values)
