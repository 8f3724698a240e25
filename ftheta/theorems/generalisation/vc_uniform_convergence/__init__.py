"""A class that labels few points in all ways learns from few examples."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    SubjectError,
    hypothesis,
    theorem,
)
from ftheta.risks.bounds.table import TRAINING, classes_known, risk_bounds, stochastic_risk
from ftheta.risks.bounds.uniform import finite_class_rows, vc_radius
from ftheta.subjects import Dataset, Network

from .charts import draw_bounds, draw_growth, draw_radii, tabulate_architectures
from .rademacher import LinearBall, linear_ball
from .shattering import (
    MOST_POINTS,
    Labellings,
    append_one,
    count_radon_labellings,
    cover_count,
    dependent_rows,
    halfspace_labellings,
    sauer_shelah,
    vc_dimension,
)
from .uniform_experiments import (
    Coverage,
    Setting,
    largest_distance_from_half,
    largest_sauer_ratio,
    probability_that_one_strays,
    try_half_lines,
)

ZERO = Enclosure.exact(0)
CLASSES = 200  # random classes behind the check of Sauer and Shelah
COVER_TO = 40  # dimensions in which Cover's half is checked
ORTHONORMAL = 16  # rows of an example
Numbers = dict[str, Enclosure | float]
POSITIONS = ("general", "on a line")


def draw_points(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 4, "dimension of the points", "d", most=8)] = 2,
    position: Annotated[str, Knob(says="how the points lie", choices=POSITIONS)] = "general",
) -> Dataset:
    x = rng.normal(size=(MOST_POINTS, dimension))
    if position == "on a line":
        x = np.arange(MOST_POINTS)[:, None] * np.ones(dimension)
    return Dataset(f"points in {dimension} dimensions, {position}", x)


def draw_collinear_points(rng: np.random.Generator) -> Dataset:
    return draw_points(rng, position="on a line")


def first_points(data: Dataset, points: int) -> np.ndarray:
    """The first rows that differ."""
    flat = data.x.reshape(len(data), -1).astype(float)
    _, where = np.unique(flat, axis=0, return_index=True)
    return flat[np.sort(where)[:points]]


@hypothesis(
    "the points are in general position; for a network, there are rows with classes",
    remedy="move the points a little; a classifier needs --data with one class per row",
    name="points in general position",
)
def general_position(subject: Dataset | Network, *, points: int) -> Finding:
    if isinstance(subject, Network):
        why = classes_known(subject)
        return (
            Finding.failed(why)
            if why
            else Finding.assumed("the rows are independent and unseen in training")
        )
    rows = dependent_rows(append_one(first_points(subject, points)))
    note = (
        "no minor vanishes"
        if rows is None
        else f"the points {', '.join(map(str, rows))} lie on a hyperplane"
    )
    return Finding.decide(rows is None, note, "every minor in rationals", basis=Basis.EXACT)


@theorem(
    title="Shattering, VC dimension and uniform convergence",
    gist="A class of predictors that can label only few points in all ways has training errors close to true errors "
    "for all its members at once; for real networks such bounds are often larger than 1 and say nothing.",
    see_also=("hoeffding-chebyshev", "error-decomposition", "double-descent", "no-free-lunch"),
    sources=(
        "gribonval-slides",
        "vapnik1971",
        "sauer1972",
        "cover1965",
        "bartlett2019",
        "bartlett2002",
    ),
    assumes=(general_position,),
    on=draw_points,
    breaks_on=draw_collinear_points,
    presets={
        "textbook": {},
        "four dimensions": {"dimension": 4, "points": 8},
        "many rows": {"n": 100_000, "hypotheses": 1_000_000, "radius": 0.01},
        "at the edge": {"dimension": 3, "points": 4, "n": 10},
        "broken on purpose": {"position": "on a line"},
    },
)
def vc_uniform_convergence(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(1, 10, "points that are labelled", "m", most=12)] = 5,
    n: Annotated[int, Knob(10, 10**6, "sample size", "n", log=True, most=10**7)] = 1000,
    delta: Annotated[
        float, Knob(0.001, 0.5, "failure probability", "δ", log=True, least=1e-9, most=0.999)
    ] = 0.05,
    hypotheses: Annotated[
        int, Knob(1, 10**6, "predictors of the finite class", "|H|", log=True, most=10**9)
    ] = 1000,
    radius: Annotated[
        float, Knob(0.01, 0.5, "deviation allowed", "ε", log=True, least=1e-3, most=1)
    ] = 0.1,
    norm: Annotated[
        float, Knob(0.1, 10, "radius of the ball of linear functions", "B", log=True, most=1e6)
    ] = 1.0,
    draws: Annotated[
        int, Knob(1000, 50_000, "random networks drawn", "T", log=True, most=10**6)
    ] = 20_000,
) -> Evidence:
    r"""A class of VC dimension $d$ labels $m$ points in at most $\sum_{i\le d}\binom mi$ ways; halfspaces of $\mathbb
    R^d$ have dimension $d+1$, and make $2\sum_{k\le d}\binom{m-1}k$ labellings of $m$ points in general position. With
    probability at least $1-\delta$ no predictor $h$ of the class has $|R_n(h)-R(h)|$ above
    $$\sqrt{\frac{\ln(2|H|/\delta)}{2n}}\quad\text{or}\quad\sqrt{\frac8n\Big(d\ln\frac{2en}d+\ln\frac4\delta\Big)}.$$
    ReLU networks with $W$ weights in $L$ layers: $c\,WL\log\frac WL\le\mathrm{VC}\le C\,WL\log W$. The Rademacher
    complexity of $\{\langle w,\cdot\rangle:|w|\le B\}$ on points with $|x_i|\le R$ is at most $BR/\sqrt n$."""
    setting = Setting(n, delta, hypotheses, radius, norm)
    if isinstance(subject, Network):
        return _bound_risk(subject, setting, rng, draws)
    return _label_points(
        first_points(subject, points),
        subject.x.reshape(len(subject), -1).astype(float),
        setting,
        rng,
    )


def _label_points(
    x: np.ndarray, every: np.ndarray, setting: Setting, rng: np.random.Generator
) -> Evidence:
    """The points `x` are labelled; the ball of linear functions is judged on `every` row."""
    m, d = x.shape
    found = halfspace_labellings(append_one(x))
    tried = try_half_lines(setting, rng)
    ball = linear_ball(every, setting.norm, rng)
    unit = linear_ball(np.eye(ORTHONORMAL), 1.0, rng)
    rows = finite_class_rows(setting.hypotheses, setting.radius, setting.delta)
    radius = vc_radius(d + 1, setting.n, setting.delta)
    numbers: Numbers = {
        "Rademacher of the ball": ball.complexity,
        "Rademacher of the ball at most": ball.at_most,
        "labellings": found.count,
        "labellings by Cover": Enclosure.exact(cover_count(m, d + 1)),
        "Sauer–Shelah": Enclosure.exact(sauer_shelah(m, d + 1)),
        "VC dimension of halfspaces": Enclosure.exact(d + 1),
        "VC radius": radius,
    }
    if found.open == 0:
        numbers["largest shattered subset"] = Enclosure.exact(vc_dimension(found.patterns))
    where = f"{m} point{'s' * (m > 1)} in {d} dimension{'s' * (d > 1)}"
    told = f"{where}: halfspaces make {found.count.lo:g} of {2**m:,} labellings, decided by {found.programs} linear "
    told += (
        f"programs; {rows:,} rows for {setting.hypotheses:,} predictors; VC radius {radius:.4g} "
    )
    told += f"at n = {setting.n:,}, largest deviation met {tried.deviations.max():.4g}"
    seed = rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    return Evidence(
        claims=(*_claim_labellings(x, found), *_claim_complexity(ball)),
        charts=(draw_growth(found.patterns, d),),
        numbers=numbers,
        tables=(tabulate_architectures(setting),),
        summary=told,
        examples=partial(_examples, seed, d, setting, tried, unit),
    )


def _bound_risk(net: Network, setting: Setting, rng: np.random.Generator, draws: int) -> Evidence:
    """Half of the rows are the sample of the uniform bounds; the other half says what the risk is."""
    unknown = classes_known(net)
    if unknown or net.data is None or net.data.y is None:
        raise SubjectError("This needs a classifier with rows.", where=net.name, got=unknown)
    order = rng.permutation(len(net.data))
    half = len(order) // 2
    sample = (net.data.x[order[:half]], net.data.y[order[:half]])
    others = (net.data.x[order[half:]], net.data.y[order[half:]])
    found = risk_bounds(net, sample, others, delta=setting.delta, draws=draws)
    errors = round(float(found.test_risk or 0) * len(others[0]))
    risk = binomial_interval(errors, len(others[0]))
    claims = [
        AtMost(f"risk, by {b.name}", risk, Enclosure.exact(b.value), 1.0)
        for b in found.bounds
        if b.assumes == TRAINING
    ]
    numbers: Numbers = {
        "risk on held-out rows": risk,
        "risk on the sample": float(found.train_risk or 0),
    }
    if found.randomised is not None:
        scattered = stochastic_risk(
            net, others, found.randomised.spread, draws=min(draws, found.randomised.draws)
        )
        bound = Enclosure.exact(found.randomised.seeger)
        claims.append(AtMost("risk with random weights, by PAC-Bayes", scattered, bound, 1.0))
        numbers["risk with random weights, held-out rows"] = scattered
    numbers |= {
        b.name: Enclosure(0.0, b.value, Basis.SAMPLED, b.rows, 1 - b.delta, assuming=b.assumes)
        for b in found.bounds
    }
    told = ", ".join(
        f"{b.name} {b.value:.4g}{' (vacuous)' if b.vacuous else ''}" for b in found.bounds
    )
    return Evidence(
        tuple(claims),
        (draw_bounds(found),),
        numbers,
        (found.table,),
        summary=f"risk at most: {told}",
    )


# ---- claims about points --------------------------------------------------------------------------------------------


def _claim_labellings(x: np.ndarray, found: Labellings) -> list[Claim]:
    """What halfspaces do to these points, counted with certificates, against Cover, Sauer and Shelah, and Radon."""
    m, d = x.shape
    claims: list[Claim] = [
        Identity("labellings by halfspaces", found.count, Enclosure.exact(cover_count(m, d + 1))),
        AtMost("labellings", found.count, Enclosure.exact(sauer_shelah(m, d + 1)), float(2**m)),
    ]
    if found.open == 0:
        largest = Enclosure.exact(vc_dimension(found.patterns))
        claims.append(
            Identity("largest subset that is shattered", largest, Enclosure.exact(min(m, d + 1)))
        )
    if m >= d + 2 and found.open == 0:
        made = Enclosure.exact(count_radon_labellings(x[: d + 2], found.patterns))
        claims.append(
            Identity(f"halfspaces that make Radon's labelling of {d + 2} points", made, ZERO)
        )
    return claims


def _claim_complexity(found: LinearBall) -> list[Claim]:
    """The Rademacher complexity of a ball of linear functions on the rows, between its bounds."""
    closed = Enclosure.equal(found.at_most)
    return [
        AtMost("Rademacher complexity of the ball", found.complexity, closed),
        AtMost("B √Σ|x|²/n", closed, Enclosure.equal(found.by_radius)),
        AtMost(
            "1/√2 of that (Khintchine, Kahane)", Enclosure.equal(found.at_least), found.complexity
        ),
    ]


# ---- examples -------------------------------------------------------------------------------------------------------


def _examples(
    seed: np.random.SeedSequence,
    dimension: int,
    setting: Setting,
    tried: Coverage,
    unit: LinearBall,
) -> Examples:
    """Random classes, Cover's half, a finite class of coins, half-lines, and a ball on orthonormal rows."""
    rng = np.random.default_rng(seed)
    worst = largest_sauer_ratio(rng, CLASSES)
    off_half = largest_distance_from_half(COVER_TO)
    rows = finite_class_rows(setting.hypotheses, setting.radius, setting.delta)
    strays = probability_that_one_strays(setting, rows)
    exceeded = binomial_interval(tried.exceeded, tried.trials)
    delta = Enclosure.exact(setting.delta)
    trivial = 0.0 if vc_radius(2, setting.n, setting.delta) >= 1 else 1.0
    orthonormal = f"Rademacher complexity of {ORTHONORMAL} orthonormal rows"
    claims = (
        AtMost(
            "patterns / Σ C(m, i), random classes",
            Enclosure.at_least(worst, samples=CLASSES),
            Enclosure.exact(1),
        ),
        Identity(f"|C(2d, d)/2^(2d) − ½|, d ≤ {COVER_TO}", Enclosure.exact(off_half), ZERO),
        AtMost(f"P(one of {setting.hypotheses:,} strays by ε), n = {rows:,}", strays, delta),
        AtMost("P(some half-line strays by the VC radius)", exceeded, delta, trivial),
        Identity(orthonormal, unit.complexity, Enclosure.exact(Fraction(1, 4))),
    )
    d = dimension
    numbers = {
        "Rademacher of 16 orthonormal rows": unit.complexity,
        "share of 2(d+1) points": Enclosure.exact(
            Fraction(cover_count(2 * d + 2, d + 1), 4 ** (d + 1))
        ),
        "rows for the finite class": Enclosure.exact(rows),
    }
    return Examples(claims, (draw_radii(dimension, setting, rng),), numbers=numbers)
