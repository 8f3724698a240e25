"""Moments bound transport from below, and decide it between Gaussians: what the Fréchet distance does and does not
say."""

from fractions import Fraction
from math import exp, lgamma, sqrt
from typing import Annotated

import numpy as np
from flint import arb, ctx
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
    Witness,
    hypothesis,
    theorem,
)
from ftheta.logic.chart import Role
from ftheta.subjects import Dataset
from ftheta.subjects.pairs import split_samples
from ftheta.theorems.samples import make_pair, names_of, samples_of, two_samples
from ftheta.transport import transport
from ftheta.transport.gaussian import gaussian_distance, gaussian_map, sample_moments

KINDS = ("two ellipses", "normal", "same moments", "two sizes")
DIVISORS = ("n", "n − 1")
BITS = 128
MOST = 1500  # rows of each sample for which transport is solved
HALVES = 20  # random halves of the first sample

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "two ellipses",
    rows: Annotated[
        int, Knob(10, 2000, "rows of each sample", "n", log=True, least=4, most=10**5)
    ] = 200,
    dimension: Annotated[
        int, Knob(1, 32, "columns of normal samples", "d", log=True, most=256)
    ] = 4,
) -> Dataset:
    if kind == "two ellipses":
        first = _with_moments(np.zeros(2), np.array([[2.0, 1], [1, 2]]))
        return make_pair(kind, first, _with_moments(np.array([1.0, -1]), np.diag([1.0, 4])))
    if kind == "same moments":
        q = (np.arange(rows) + 0.5) / rows
        standard = lambda z: (z - z.mean()) / z.std()
        return make_pair("normal and uniform quantiles", standard(ndtri(q)), standard(q))
    if kind == "two sizes":
        return make_pair("±1, two and four rows", np.array([-1.0, 1]), np.array([-1.0, -1, 1, 1]))
    x = rng.normal(size=(rows, dimension))
    return make_pair("N(0, I) and N(0, 4 I)", x, 2 * rng.normal(size=(rows, dimension)))


def _with_moments(m: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The fewest points with this mean and covariance that lie symmetrically."""
    arms = sqrt(len(m)) * np.linalg.cholesky(S).T
    return np.concatenate([m + arms, m - arms])


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis("each sample has at least two rows", remedy="one row has no covariance")
def has_covariances(data: Dataset) -> Finding:
    samples = split_samples(data)
    if samples is None:
        return Finding.undecided(two_samples.name)
    fewest = min(len(rows) for rows in samples)
    return Finding.decide(fewest >= 2, f"{fewest:,} rows in the smaller sample", "they are counted")


@hypothesis(
    "the covariances are those of the samples: sums of squares are divided by $n$",
    remedy="set --divisor n; with n − 1 the moments are those of no plan between the samples",
)
def own_moments(data: Dataset, *, divisor: str) -> Finding:
    return Finding.decide(
        divisor == DIVISORS[0], f"divided by {divisor}", "read off the knob", basis=Basis.EXACT
    )


@theorem(
    title="Bures distance and FID: what moments say of transport",
    gist="The Fréchet distance between two sets of features compares only means and covariances: it is exact for "
    "Gaussians, never above the transport distance otherwise, zero for some laws that differ, and too large on average "
    "for small samples.",
    see_also=("kantorovich-duality", "mmd-test", "wasserstein-sampling"),
    sources=("gelbrich1990", "takatsu2011", "heusel2017"),
    assumes=(two_samples, has_covariances, own_moments),
    on=samples,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "normal": {"kind": "normal"},
        "same moments": {"kind": "same moments"},
        "few rows, many columns": {"kind": "normal", "rows": 20, "dimension": 32},
        "large": {"kind": "normal", "rows": 1000},
        "broken on purpose": {"kind": "two sizes", "divisor": DIVISORS[1]},
    },
)
def bures_and_fid(
    data: Dataset,
    rng: np.random.Generator,
    *,
    divisor: Annotated[str, Knob(says="divisor of the covariances", choices=DIVISORS)] = "n",
) -> Evidence:
    r"""For Gaussians,
    $W_2^2=|m-m'|^2+\operatorname{tr}\big(\Sigma+\Sigma'-2(\Sigma^{1/2}\Sigma'\Sigma^{1/2})^{1/2}\big)$, and the
    optimal map is $x\mapsto m'+T(x-m)$ with $T\Sigma T=\Sigma'$, $T$ symmetric and positive. For all laws with these
    moments $W_2^2$ is at least that (Gelbrich): the Fréchet distance of samples (FID), this number of their moments,
    is a lower bound. Of $n$ draws of $\mathcal N(0,1)$ against the law itself, with sums of squares divided by $n-1$,
    its mean is $\frac1n+2(1-c_4(n))$ instead of 0, $c_4(n)$ the mean of their standard deviation."""
    x, y = samples_of(data)
    lost = DIVISORS.index(divisor)
    (m, S), (w, V) = (sample_moments(rows, ddof=lost) for rows in (x, y))
    frechet = gaussian_distance(m, S, w, V)
    T = gaussian_map(S, V)
    claims: list[AtMost | Identity] = [
        AtMost(
            "|m − m′|² ≤ Fréchet distance",
            Enclosure.equal(float(((m - w) ** 2).sum())),
            Enclosure.equal(frechet),
        )
    ]
    scale = float(np.abs(V).max()) or 1.0
    if np.linalg.eigvalsh(S)[0] > 1e-9 * np.trace(S):
        error = float(np.abs(T @ S @ T - V).max()) / scale
        what = "largest entry of TΣT − Σ′, relative"
        claims.append(Identity(what, Enclosure.equal(error), Enclosure.exact(0), atol=1e-7))
    numbers: dict[str, Enclosure | float] = {"Fréchet distance": frechet}
    if max(len(x), len(y)) <= MOST:
        value = transport(x, y).value
        numbers["W₂² of the samples"] = value
        claims.append(
            AtMost(
                "Fréchet distance ≤ W₂² of the samples",
                Enclosure.equal(frechet),
                value,
                witness=_check_again(x[:, 0], y[:, 0], lost, value) if x.shape[1] == 1 else None,
                atol=1e-12 * scale,
            )
        )
    halves = _halves(x, rng)
    numbers["mean Fréchet distance of two random halves of x"] = halves
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_ellipses(x, y, names_of(data)),),
        numbers=numbers,
        tables=(_tabulate(S, V),),
        summary=f"Fréchet distance {frechet:.6g}; of two random halves of the first sample, which have one law, "
        f"{halves.middle:.3g} on average: differences below that are noise",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _check_again(x: np.ndarray, y: np.ndarray, lost: int, value: Enclosure) -> Witness:
    """The Fréchet distance of two columns in balls, from their moments in rationals."""
    means = []
    deviations = []
    with ctx.workprec(BITS):
        for rows in (x, y):
            exact = [Fraction(v) for v in rows.tolist()]
            mean = sum(exact, Fraction(0)) / len(exact)
            square = sum(((v - mean) ** 2 for v in exact), Fraction(0)) / (len(exact) - lost)
            means.append(mean)
            deviations.append((arb(square.numerator) / arb(square.denominator)).sqrt())
        apart = (means[0] - means[1]) ** 2
        step = deviations[0] - deviations[1]
        # powers of balls around 0 are NaN
        distance = arb(apart.numerator) / arb(apart.denominator) + step * step
    at = {"deviations": tuple(float(s.mid()) for s in deviations)}
    return Witness(
        at, Enclosure.ball(distance), value, "moments in rationals, their roots in balls"
    )


def _halves(x: np.ndarray, rng: np.random.Generator) -> Enclosure:
    """The distance of two halves of one sample, over random halves: what is left where there is no difference."""
    values = []
    for _ in range(HALVES):
        order = rng.permutation(len(x))
        first, second = x[order[: len(x) // 2]], x[order[len(x) // 2 :]]
        values.append(gaussian_distance(*sample_moments(first), *sample_moments(second)))
    return mean(np.array(values))


def bias_of_one_sample(n: int) -> float:
    r"""$\frac1n+2(1-c_4(n))$, $c_4(n)=\sqrt{\frac2{n-1}}\,\Gamma(\frac n2)/\Gamma(\frac{n-1}2)$: the mean of a
    standard deviation."""
    c4 = sqrt(2 / (n - 1)) * exp(lgamma(n / 2) - lgamma((n - 1) / 2))
    return 1 / n + 2 * (1 - c4)


def _examples() -> Examples:
    """Closed forms of one dimension, and two laws that their moments do not tell apart."""
    pair = gaussian_distance(np.zeros(1), np.eye(1), np.array([3.0]), 4 * np.eye(1))
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(20_000, 10))
    plug_in = mean(draws.mean(1) ** 2 + (draws.std(1, ddof=1) - 1) ** 2)
    hidden = quad(lambda q: (ndtri(q) - sqrt(3) * (2 * q - 1)) ** 2, 0, 1, epsabs=1e-12)[0]
    claims = (
        Identity("W₂² of N(0, 1) and N(3, 4)", Enclosure.equal(pair), Enclosure.exact(10)),
        Identity(
            "mean Fréchet distance of ten draws to their law",
            plug_in,
            Enclosure.equal(bias_of_one_sample(10)),
        ),
        AtMost(
            "N(0, 1) and U(±√3): W₂² is positive where the Fréchet distance is 0",
            Enclosure.exact(0.045),
            Enclosure.equal(hidden),
        ),
    )
    return Examples(
        claims=claims,
        numbers={
            "W₂² of N(0,1) and N(3,4)": pair,
            "bias at n = 10": bias_of_one_sample(10),
            "W₂² of N(0,1) and U(±√3)": hidden,
        },
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_ellipses(x: np.ndarray, y: np.ndarray, names: tuple[str, str]) -> Curves:
    """Rows and ellipses of one standard deviation in the first two coordinates; of one column, the density curves."""
    if x.shape[1] == 1:
        return _draw_densities(x[:, 0], y[:, 0], names)
    turn = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    series = []
    parts: tuple[tuple[np.ndarray, str, Role], ...] = (
        (x, names[0], "measured"),
        (y, names[1], "other"),
    )
    for rows, name, role in parts:
        m, S = sample_moments(rows[:, :2])
        values, vectors = np.linalg.eigh(S)
        ellipse = m[:, None] + vectors * np.sqrt(np.maximum(values, 0)) @ circle
        some = rows[:300]
        series.append(Series(name, some[:, 0], some[:, 1], role, "points"))
        series.append(Series(f"{name}: one standard deviation", ellipse[0], ellipse[1], role))
    return Curves(
        "moments of both samples",
        Axis("first coordinate"),
        Axis("second coordinate"),
        tuple(series),
    )


def _draw_densities(s: np.ndarray, t: np.ndarray, names: tuple[str, str]) -> Curves:
    q = (np.arange(200) + 0.5) / 200
    series = []
    parts: tuple[tuple[np.ndarray, str, Role], ...] = (
        (s, names[0], "measured"),
        (t, names[1], "other"),
    )
    for rows, name, role in parts:
        series.append(Series(name, q, np.quantile(rows, q), role))
        series.append(
            Series(f"{name}: Gaussian", q, rows.mean() + rows.std() * ndtri(q), "reference")
        )
    return Curves(
        "quantiles, and those of Gaussians with the same moments",
        Axis("q"),
        Axis("quantile"),
        tuple(series),
    )


def _tabulate(S: np.ndarray, V: np.ndarray) -> Table:
    first, second = (np.linalg.eigvalsh(M)[::-1][:8] for M in (S, V))
    rows = tuple((k, float(a), float(b)) for k, (a, b) in enumerate(zip(first, second)))
    return Table("largest variances", ("number", "of x", "of y"), rows)
