"""Conditional minimisers shown: claims, figures and the noise floor of somebody's rows."""

from fractions import Fraction

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Histogram, Identity, Series, Table
from ftheta.logic.chart import Role

from .bayes import ConditionalLaw, Groups, entropy_slope, log_odds, logistic_bracket, logistic_minimiser, logistic_risk

ZERO = Enclosure.exact(0)
LOSSES = ("squared", "absolute", "zero-one")


def probability(y: np.ndarray, otherwise: float) -> Fraction:
    """Of the positive label, where the labels are two (0 and 1, or −1 and 1); else the given one."""
    binary = set(np.unique(y).tolist()) <= {0.0, 1.0} or set(np.unique(y).tolist()) <= {-1.0, 1.0}
    return Fraction(int((y > 0).sum()), len(y)) if binary else Fraction(str(otherwise))


def minimiser(law: ConditionalLaw, loss: str) -> Fraction:
    return {"squared": law.mean, "absolute": law.median[0], "zero-one": law.mode}[loss]


def law_claims(law: ConditionalLaw) -> tuple[Claim, ...]:
    r"""Optimality in rationals: $R(c)=\mathrm{Var}+(c-\mathbb EY)^2$ (two quadratics that agree at three points), the
    slopes beside a median, the largest probability. Then the risks that a search on the line reaches."""
    square = [law.risk("squared", law.mean + c) - law.variance - Fraction(c) ** 2 for c in (-1, 0, 1)]
    low, high = law.median
    half = Fraction(1, 2)
    sides = max(law.below(low, too=False) - half, half - law.below(low, too=True))
    sides = max(sides, law.below(high, too=False) - half, half - law.below(high, too=True))
    likeliest = max(law.weights) - (1 - law.risk("zero-one", law.mode))
    size = max(1.0, *(abs(float(v)) for v in law.values))
    searches = []
    for loss in LOSSES:
        gap = law.risk(loss, minimiser(law, loss)) - law.risk(loss, Fraction(law.searched(loss)))
        what = f"least {loss} risk − the risk where a search ends"
        searches.append(Identity(what, Enclosure.equal(float(gap)), ZERO, atol=1e-9 * size**2))
    return (
        Identity("R(c) − Var Y − (c − EY)² at three c, squared", Enclosure.exact(max(map(abs, square))), ZERO),
        AtMost("P(Y < m) − ½ and ½ − P(Y ≤ m) at both ends of the medians", Enclosure.exact(sides), ZERO),
        AtMost("largest P(Y = c) − P(Y = mode)", Enclosure.exact(likeliest), ZERO),
        *searches,
    )


def logistic_claims(p: Fraction, weights: tuple[Fraction, ...]) -> tuple[Claim, ...]:
    """The slope of the risk changes sign at the log-odds; at log-probabilities the gradient vanishes."""
    before, after = logistic_bracket(p)
    return (
        AtMost("slope of the logistic risk just below ln(p/(1 − p))", before, ZERO),
        AtMost("0 ≤ slope just above it", ZERO, after),
        Identity("gradient of the cross-entropy risk at ln p + 5", entropy_slope(weights), ZERO, atol=1e-30),
    )


def law_chart(law: ConditionalLaw) -> Histogram:
    """The conditional law with mean, median and mode."""
    values = np.array([float(v) for v in law.values])
    weights = np.array([float(w) for w in law.weights])
    width = min([0.04 * (values[-1] - values[0] or 1.0), *(0.8 * np.diff(values))])
    if len(values) > 60:
        heights, edges = np.histogram(values, bins=40, weights=weights)
    else:
        sides = np.sort(np.r_[values - width / 2, values + width / 2])
        edges = np.unique(sides)
        middle = (edges[1:] + edges[:-1]) / 2
        heights = [weights[np.abs(values - m) < width / 2].sum() for m in middle]
    top = 1.08 * max(heights)
    marks: list[tuple[str, Fraction, Role]]
    marks = [("mode", law.mode, "reference"), ("median", law.median[0], "bound"), ("mean", law.mean, "measured")]
    curves = [Series(f"{n} {float(v):.4g}", [float(v)] * 2, [top, 0.0], role) for n, v, role in marks]
    return Histogram(
        "the law of Y given x, and what three losses predict",
        Axis("y"),
        Axis("probability"),
        edges,
        heights,
        tuple(curves),
    )


def risk_chart(law: ConditionalLaw) -> Curves:
    """The three conditional risks, each relative to its least value."""
    lo, hi = float(law.values[0]), float(law.values[-1])
    c = np.linspace(lo - 0.1 * (hi - lo or 1), hi + 0.1 * (hi - lo or 1), 301)
    series = []
    for loss in ("squared", "absolute"):
        risk, best = law.float_risk(loss, c), minimiser(law, loss)
        least = float(law.risk(loss, best))
        series.append(Series(f"{loss}, least at {float(best):.4g}", c, risk / (least or 1.0)))
    values = np.array([float(v) for v in law.values])
    floor = float(law.risk("zero-one", law.mode)) or 1.0
    series.append(
        Series("zero-one, at the values", values, law.float_risk("zero-one", values) / floor, "bound", "points")
    )
    return Curves(
        "conditional risk of predicting c, over the least",
        Axis("prediction c"),
        Axis("risk / least risk"),
        tuple(series),
    )


def floor_claims(groups: Groups, x: np.ndarray, y: np.ndarray) -> tuple[Claim, ...]:
    """No function of x goes below the noise floor: least squares with an offset does not."""
    A = np.column_stack([x.reshape(len(x), -1), np.ones(len(x))])
    theta = np.linalg.lstsq(A, y, rcond=None)[0]
    reached = Enclosure.equal(float(np.mean((A @ theta - y) ** 2)))
    size = float(np.mean(y**2))
    return (
        AtMost(
            "noise floor ≤ risk of least squares", Enclosure.exact(groups.floor("squared")), reached, atol=1e-12 * size
        ),
    )


def floor_table(groups: Groups) -> Table:
    rows = [(loss, float(groups.floor(loss))) for loss in LOSSES]
    told = (("variance of the noise, unbiased", groups.noise_variance()),) if groups.repeated else ()
    return Table("least risk of any function of x on these rows", ("loss", "noise floor"), (*rows, *told))


def bayes_evidence(x: np.ndarray, y: np.ndarray, p: float) -> Evidence:
    """Everything of the largest group of equal x; the noise floor of all rows."""
    groups = Groups.of(x, y)
    law = groups.laws[int(groups.sizes.argmax())]
    chance = probability(y, p)
    claims = (*law_claims(law), *logistic_claims(chance, law.weights), *floor_claims(groups, x, y))
    numbers = {"mean": law.mean, "variance": law.variance, "median": law.median[0]}
    numbers |= {
        "min MAE": law.risk("absolute", law.median[0]),
        "mode": law.mode,
        "noise floor": groups.floor("squared"),
    }
    told = {name: Enclosure.exact(value) for name, value in numbers.items()} | {"log-odds": log_odds(chance)}
    told["log-odds by search"] = Enclosure.equal(logistic_minimiser(chance))
    s = np.linspace(-6, 6, 241)
    curve = Series(f"p = {float(chance):.4g}", s, logistic_risk(chance, s))
    at = log_odds(chance).middle
    mark = Series(f"ln(p/(1 − p)) = {at:.4g}", [at], [float(logistic_risk(chance, at))], "bound", "points")
    logistic = Curves("conditional logistic risk", Axis("score s"), Axis("risk"), (curve, mark))
    summary = (
        f"{len(groups.laws):,} different x, {groups.repeated:,} of {len(x):,} rows repeated; "
        f"mean {float(law.mean):.6g}, median {float(law.median[0]):.6g}, mode {float(law.mode):.6g}; "
        f"noise floor {float(groups.floor('squared')):.6g}"
    )
    return Evidence(claims, (law_chart(law), risk_chart(law), logistic), told, (floor_table(groups),), summary=summary)
