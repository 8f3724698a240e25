"""What a loss asks for: the mean, a median, the mode, the log-odds."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

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
    Histogram,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.logic.chart import Role
from ftheta.risks.bayes import (
    ConditionalLaw,
    Groups,
    entropy_slope,
    log_odds,
    logistic_bracket,
    logistic_minimiser,
    logistic_risk,
)
from ftheta.subjects import Dataset
from ftheta.training.study import first_rows

KINDS = ("three values", "skewed", "two values", "a sine with noise", "one class")
ZERO = Enclosure.exact(0)
LOSSES = ("squared", "absolute", "zero-one")


def conditional_law(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three values",
) -> Dataset:
    if kind == "three values":
        y = np.repeat([0.0, 1.0, 10.0], [8, 7, 5])
        return Dataset("0, 1 and 10 with weights .4, .35, .25", np.ones((20, 1)), y)
    if kind == "one class":
        return Dataset("label 1 in every row", np.ones((10, 1)), np.ones(10))
    if kind == "two values":
        return Dataset("0 and 1, one to four", np.ones((10, 1)), np.repeat([0.0, 1.0], [2, 8]))
    if kind == "skewed":
        return Dataset(
            "rounded log-normal values",
            np.ones((400, 1)),
            np.round(4 * np.exp(rng.normal(size=400))) / 4,
        )
    x = np.repeat(np.arange(16.0), 8)
    return Dataset(
        "16 points, 8 noisy values at each", x[:, None], np.sin(x / 3) + 0.3 * rng.normal(size=128)
    )


def one_class(rng: np.random.Generator) -> Dataset:
    return conditional_law(rng, kind="one class")


@hypothesis("every row has one target", remedy="give data with one label per row")
def one_target(data: Dataset) -> Finding:
    got = 0 if data.y is None else data.y[0].size
    return Finding.decide(
        got == 1, f"{len(data):,} rows, targets per row: {got}", "counted", basis=Basis.EXACT
    )


@hypothesis(
    r"$0<p<1$",
    remedy="give data with both classes: with one alone the logistic risk has no minimiser",
)
def both_classes(data: Dataset, *, p: float) -> Finding:
    if data.y is None:
        return Finding.failed("there are no labels")
    chance = _positive_probability(data.y.ravel(), p)
    return Finding.decide(
        0 < chance < 1,
        f"p = {float(chance):.6g}",
        "in rationals",
        Enclosure.exact(chance),
        basis=Basis.EXACT,
    )


@theorem(
    title="What each loss estimates",
    gist="Which number a model learns to predict depends on the loss: the squared loss asks for the mean, the absolute "
    "loss for a median, the zero-one loss for the mode, the logistic loss for the log-odds.",
    see_also=(
        "loss-zoo",
        "mle-interpretations",
        "population-and-empirical-risk",
        "error-decomposition",
    ),
    same_for_all={
        "R(c) − Var Y": "an identity, evaluated in rationals on the given labels: nothing is left over",
        "P(Y < m) − ½": "of two labels the median is the commoner one, and none lies below or above both",
        "largest P(Y = c) − P(Y = mode)": "attained by the mode itself",
        "least squared risk": "the search on these labels ends where the formula says, to the last bit",
        "least absolute risk": "the search on these labels ends where the formula says, to the last bit",
        "least zero-one risk": "the search on these labels ends where the formula says, to the last bit",
        "gradient of the cross-entropy risk": "zero within the radius of the balls, which depends on their precision "
        "alone",
    },
    sources=("gribonval-slides", "scaman-slides"),
    assumes=(one_target, both_classes),
    on=conditional_law,
    breaks_on=one_class,
    presets={
        "textbook": {},
        "skewed": {"kind": "skewed"},
        "noise floor": {"kind": "a sine with noise"},
        "at the edge": {"kind": "two values"},
        "broken on purpose": {"kind": "one class"},
    },
)
def bayes_predictors(
    data: Dataset,
    rng: np.random.Generator,
    *,
    p: Annotated[
        float, Knob(0.01, 0.99, "probability of the positive label", "p", least=1e-9, most=1 - 1e-9)
    ] = 0.8,
) -> Evidence:
    r"""Pointwise minimisers of the conditional risk $c\mapsto\mathbb E[\ell(c,Y)\mid X=x]$: the squared loss asks for
    $\mathbb E[Y|X]$, and its least value is the conditional variance; the absolute loss for any conditional median; the
    zero-one loss for the mode; the logistic loss for $$\log\frac p{1-p},\qquad p=P(Y=1|X=x)\in(0,1);$$ the
    cross-entropy for the logarithms of the probabilities, up to a common constant."""
    x, y = first_rows(data, flat=True)
    y = y[:, 0]
    groups = Groups.of(x, y)
    law = groups.laws[int(groups.sizes.argmax())]
    chance = _positive_probability(y, p)
    logistic = _logistic_claims(chance)
    claims = (*_law_claims(law), *_cross_entropy_claims(law.weights), *_floor_claims(groups, x, y))
    charts = (_draw_law(law), _draw_risks(law))
    log_odds_numbers = {
        "log-odds": log_odds(chance),
        "log-odds by search": Enclosure.equal(logistic_minimiser(chance)),
    }
    examples = partial(Examples, logistic, (_draw_logistic_risk(chance),), numbers=log_odds_numbers)
    if _has_two_classes(y):
        claims = (*claims, *logistic)
        charts = (*charts, _draw_logistic_risk(chance))
        examples = None
    exact = {
        "mean": law.mean,
        "variance": law.variance,
        "median": law.median[0],
        "min MAE": law.risk("absolute", law.median[0]),
        "mode": law.mode,
        "noise floor": groups.floor("squared"),
    }
    numbers: dict[str, Enclosure | float] = {
        name: Enclosure.exact(value) for name, value in exact.items()
    }
    if examples is None:
        numbers |= log_odds_numbers
    summary = (
        f"{len(groups.laws):,} different x, {groups.repeated_rows:,} of {len(x):,} rows repeated; "
        f"mean {float(law.mean):.6g}, median {float(law.median[0]):.6g}, mode {float(law.mode):.6g}; "
        f"noise floor {float(groups.floor('squared')):.6g}"
    )
    return Evidence(
        claims, charts, numbers, (_floor_table(groups),), summary=summary, examples=examples
    )


def _has_two_classes(y: np.ndarray) -> bool:
    """Whether the labels are 0 and 1, or −1 and 1 (or one of them alone)."""
    found = set(np.unique(y).tolist())
    return found <= {0.0, 1.0} or found <= {-1.0, 1.0}


def _positive_probability(y: np.ndarray, otherwise: float) -> Fraction:
    """The frequency of the positive label where there are two classes; else the given probability."""
    return Fraction(int((y > 0).sum()), len(y)) if _has_two_classes(y) else Fraction(str(otherwise))


def _minimiser(law: ConditionalLaw, loss: str) -> Fraction:
    return {"squared": law.mean, "absolute": law.median[0], "zero-one": law.mode}[loss]


def _law_claims(law: ConditionalLaw) -> tuple[Claim, ...]:
    r"""Optimality in rationals: $R(c)=\mathrm{Var}+(c-\mathbb EY)^2$ (two quadratics that agree at three points), the
    slopes beside a median, the largest probability. Then the risks that a search on the line reaches."""
    square = [
        law.risk("squared", law.mean + c) - law.variance - Fraction(c) ** 2 for c in (-1, 0, 1)
    ]
    low, high = law.median
    half = Fraction(1, 2)
    sides = max(law.below(low, too=False) - half, half - law.below(low, too=True))
    sides = max(sides, law.below(high, too=False) - half, half - law.below(high, too=True))
    likeliest = max(law.weights) - (1 - law.risk("zero-one", law.mode))
    size = max(1.0, *(abs(float(v)) for v in law.values))
    searches = []
    for loss in LOSSES:
        gap = law.risk(loss, _minimiser(law, loss)) - law.risk(
            loss, Fraction(law.search_minimiser(loss))
        )
        what = f"least {loss} risk − the risk where a search ends"
        searches.append(Identity(what, Enclosure.equal(float(gap)), ZERO, atol=1e-9 * size**2))
    return (
        Identity(
            "R(c) − Var Y − (c − EY)² at three c, squared",
            Enclosure.exact(max(map(abs, square))),
            ZERO,
        ),
        AtMost(
            "P(Y < m) − ½ and ½ − P(Y ≤ m) at both ends of the medians",
            Enclosure.exact(sides),
            ZERO,
        ),
        AtMost("largest P(Y = c) − P(Y = mode)", Enclosure.exact(likeliest), ZERO),
        *searches,
    )


def _logistic_claims(p: Fraction) -> tuple[Claim, ...]:
    """The slope of the logistic risk changes sign at the log-odds."""
    before, after = logistic_bracket(p)
    return (
        AtMost("slope of the logistic risk just below ln(p/(1 − p))", before, ZERO),
        AtMost("0 ≤ slope just above it", ZERO, after),
    )


def _cross_entropy_claims(weights: tuple[Fraction, ...]) -> tuple[Claim, ...]:
    """At the logarithms of the probabilities the gradient vanishes."""
    return (
        Identity(
            "gradient of the cross-entropy risk at ln p + 5",
            entropy_slope(weights),
            ZERO,
            atol=1e-30,
        ),
    )


def _draw_logistic_risk(p: Fraction) -> Curves:
    s = np.linspace(-6, 6, 241)
    curve = Series(f"p = {float(p):.4g}", s, logistic_risk(p, s))
    at = log_odds(p).middle
    mark = Series(
        f"ln(p/(1 − p)) = {at:.4g}", [at], [float(logistic_risk(p, at))], "bound", "points"
    )
    return Curves("conditional logistic risk", Axis("score s"), Axis("risk"), (curve, mark))


def _draw_law(law: ConditionalLaw) -> Histogram:
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
    marks = [
        ("mode", law.mode, "reference"),
        ("median", law.median[0], "bound"),
        ("mean", law.mean, "measured"),
    ]
    curves = [
        Series(f"{n} {float(v):.4g}", [float(v)] * 2, [top, 0.0], role) for n, v, role in marks
    ]
    return Histogram(
        "the law of Y given x, and what three losses predict",
        Axis("y"),
        Axis("probability"),
        edges,
        heights,
        tuple(curves),
    )


def _draw_risks(law: ConditionalLaw) -> Curves:
    """The three conditional risks, each relative to its least value."""
    lo = float(law.values[0])
    hi = float(law.values[-1])
    c = np.linspace(lo - 0.1 * (hi - lo or 1), hi + 0.1 * (hi - lo or 1), 301)
    series = []
    for loss in ("squared", "absolute"):
        risk = law.float_risk(loss, c)
        best = _minimiser(law, loss)
        least = float(law.risk(loss, best))
        series.append(Series(f"{loss}, least at {float(best):.4g}", c, risk / (least or 1.0)))
    values = np.array([float(v) for v in law.values])
    floor = float(law.risk("zero-one", law.mode)) or 1.0
    series.append(
        Series(
            "zero-one, at the values",
            values,
            law.float_risk("zero-one", values) / floor,
            "bound",
            "points",
        )
    )
    return Curves(
        "conditional risk of predicting c, over the least",
        Axis("prediction c"),
        Axis("risk / least risk"),
        tuple(series),
    )


def _floor_claims(groups: Groups, x: np.ndarray, y: np.ndarray) -> tuple[Claim, ...]:
    """No function of x goes below the noise floor: least squares with an offset does not."""
    A = np.column_stack([x.reshape(len(x), -1), np.ones(len(x))])
    theta = np.linalg.lstsq(A, y, rcond=None)[0]
    reached = Enclosure.equal(float(np.mean((A @ theta - y) ** 2)))
    size = float(np.mean(y**2))
    return (
        AtMost(
            "noise floor ≤ risk of least squares",
            Enclosure.exact(groups.floor("squared")),
            reached,
            atol=1e-12 * size,
        ),
    )


def _floor_table(groups: Groups) -> Table:
    rows = [(loss, float(groups.floor(loss))) for loss in LOSSES]
    extra = (
        (("variance of the noise, unbiased", groups.noise_variance()),)
        if groups.repeated_rows
        else ()
    )
    return Table(
        "least risk of any function of x on these rows", ("loss", "noise floor"), (*rows, *extra)
    )
