"""Likelihoods of discrete data: the chain rule, and what noise between the levels costs."""

from typing import Annotated

import numpy as np
from flint import acb, arb, ctx
from scipy.special import log_ndtr

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
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

MOST_LEVELS = 1024
MOST_ROWS = 2000
MOST_ENTRIES = 256
BITS = 128
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def levels(
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(50, 2000, "rows of data", "n", log=True, most=20_000)] = 500,
    entries: Annotated[int, Knob(1, 8, "entries per row", "d", most=64)] = 3,
    count: Annotated[int, Knob(2, 64, "levels of an entry", "k", log=True, most=256)] = 17,
    whole: Annotated[bool, Knob(says="entries are whole numbers")] = True,
) -> Dataset:
    """Correlated Gaussians, rounded to levels."""
    common = rng.normal(size=(rows, 1))
    x = (count - 1) / 2 + (count / 6) * (common + rng.normal(size=(rows, entries))) / np.sqrt(2)
    return Dataset(
        f"{rows} rows with {count} levels", np.clip(np.round(x), 0, count - 1) if whole else x
    )


def _rows(data: Dataset) -> np.ndarray:
    """The rows in units of their step between levels: whole numbers from 0, where there is a step."""
    x = np.asarray(data.x, np.float64).reshape(len(data), -1)[:MOST_ROWS, :MOST_ENTRIES]
    gaps = np.diff(np.unique(x))
    step = float(gaps.min()) if len(gaps) else 1.0
    return (x - x.min()) / step


@hypothesis(
    "entries take evenly spaced levels",
    remedy="give pixels or counts; measurements are not discrete",
)
def has_levels(data: Dataset) -> Finding:
    x = _rows(data)
    off = float(np.abs(x - np.round(x)).max())
    count = int(x.max()) + 1
    note = f"{count:,} levels; entries are off them by {off:.2g} of a step"
    return Finding.decide(
        off < 1e-6 and 2 <= count <= MOST_LEVELS, note, "every entry", Enclosure.equal(off)
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the density is that of the entries plus uniform noise",
    remedy="set --dequantised true; a density at the levels themselves bounds no probability",
)
def has_noise(data: Dataset, *, dequantised: bool) -> Finding:
    note = "uniform noise is added" if dequantised else "no noise is added"
    return Finding.decide(dequantised, note, "read off the knob", basis=Basis.EXACT)


@theorem(
    title="Autoregressive likelihoods and dequantisation",
    gist="A density fitted to pixels plus uniform noise bounds the probability of the pixels from below; without the "
    "noise its likelihood grows without bound and means nothing.",
    see_also=("normalising-flows", "vae-elbo"),
    sources=("theis2016",),
    assumes=(has_levels, has_noise),
    on=levels,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "two levels": {"count": 2},
        "many entries": {"entries": 8},
        "broken on purpose": {"dequantised": False},
    },
)
def autoregressive_dequantised(
    data: Dataset,
    rng: np.random.Generator,
    *,
    ridge: Annotated[
        float, Knob(1e-4, 1, "penalty of the regressions", "λ", log=True, least=1e-9, most=1e3)
    ] = 1e-2,
    dequantised: Annotated[bool, Knob(says="uniform noise is added to the levels")] = True,
) -> Evidence:
    r"""Every law factorises, $\log p(x)=\sum_i\log p(x_i\mid x_{<i})$, and so does the divergence,
    $\mathrm{KL}(p\|q)=\sum_i\mathbb E\,\mathrm{KL}\big(p(\cdot|x_{<i})\|q(\cdot|x_{<i})\big)$. For levels $k$ and a
    density $p$ with $P(k)=\int_0^1p(k+u)\,du$,
    $$\log P(k)\ge\int_0^1\log p(k+u)\,du,$$
    so the likelihood of $x$ plus uniform noise is a lower bound of that of $x$. Without noise nothing is bounded."""
    x = _rows(data)
    means, deviations, weights = _fit_regressions(x, ridge)
    exact = _log_masses(x, means, deviations)
    noisy = _mean_log_density(x, means, deviations, dequantised)
    per_row, bound = float(exact.sum(1).mean()), float(noisy.sum(1).mean())
    gaps = exact - noisy
    worst = np.unravel_index(int(gaps.argmin()), gaps.shape)
    bits = -per_row / x.shape[1] / np.log(2)
    claims: list[Claim] = [
        AtMost(
            "mean log-density with uniform noise ≤ mean log P, per row",
            Enclosure.equal(bound),
            Enclosure.equal(per_row),
        ),
        AtMost(
            f"∫ log p(k + u) du ≤ log P(k), tightest of {gaps.size:,} entries",
            Enclosure.equal(float(noisy[worst])),
            Enclosure.equal(float(exact[worst])),
            witness=None
            if dequantised
            else _check_again(x[worst], means[worst], deviations[worst[1]]),
            atol=1e-9,
        ),
        _claim_chain_rule(x, means, deviations, weights),
    ]
    numbers: Numbers = {
        "bits per entry": bits,
        "bits per entry, bound": -bound / x.shape[1] / np.log(2),
    }
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_bits(exact, noisy),),
        numbers=numbers,
        summary=f"{bits:.4g} bits per entry by an autoregressive Gaussian; the bound with noise is "
        f"{numbers['bits per entry, bound']:.4g}",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _fit_regressions(x: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every entry a Gaussian, its mean linear in the entries before it: the means at every row, the deviations, and
    the weights, a row for each entry that begins with its constant."""
    y = x + 0.5
    d = y.shape[1]
    means = np.empty_like(y)
    deviations = np.empty(d)
    weights = np.zeros((d, d + 1))
    for i in range(d):
        past = np.column_stack([np.ones(len(y)), x[:, :i]])
        weights[i, : i + 1] = np.linalg.solve(
            past.T @ past + ridge * len(y) * np.eye(i + 1), past.T @ y[:, i]
        )
        means[:, i] = past @ weights[i, : i + 1]
        deviations[i] = np.sqrt(((y[:, i] - means[:, i]) ** 2).mean() + 1 / 12)
    return means, deviations, weights


def _log_masses(x: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    r"""$\log P(k)$ of every entry, from the tail in which it does not cancel."""
    low = (x - means) / deviations
    high = (x + 1 - means) / deviations
    flip = low > 0
    a = np.where(flip, -high, low)
    b = np.where(flip, -low, high)
    return log_ndtr(b) + np.log1p(-np.exp(log_ndtr(a) - log_ndtr(b)))


def _mean_log_density(
    x: np.ndarray, means: np.ndarray, deviations: np.ndarray, dequantised: bool
) -> np.ndarray:
    r"""$\int_0^1\log p(k+u)\,du$ of every entry: a quadratic in u, integrated in closed form; without noise
    $\log p(k+\frac12)$."""
    off = x + 0.5 - means
    spread = 1 / 12 if dequantised else 0.0
    return -(off**2 + spread) / (2 * deviations**2) - np.log(deviations) - np.log(2 * np.pi) / 2


def _check_again(level: float, mean: float, deviation: float) -> Witness:
    """The log-density in the middle of a level and its log-probability, in balls."""
    with ctx.workprec(BITS):
        m, s = arb(float(mean)), arb(float(deviation))
        low, high = ((arb(float(level)) + end - m) / s for end in (0, 1))
        middle = (low + high) / 2
        density = -(middle**2) / 2 - s.log() - (2 * arb.pi()).log() / 2
        mass = (((high / arb(2).sqrt()).erf() - (low / arb(2).sqrt()).erf()) / 2).log()
    at = {"level": float(level), "mean": float(mean), "deviation": float(deviation)}
    return Witness(
        at, Enclosure.ball(density), Enclosure.ball(mass), "density and probability in balls"
    )


def _claim_chain_rule(
    x: np.ndarray, means: np.ndarray, deviations: np.ndarray, weights: np.ndarray
) -> Claim:
    r"""The sum of the conditional log-densities of a row against the joint Gaussian: $y=c+By+\varepsilon$ has the mean
    $(I-B)^{-1}c$ and the covariance $(I-B)^{-1}\mathrm{diag}(\sigma^2)(I-B)^{-\top}$."""
    d = len(deviations)
    B = weights[:, 1:]
    mixing = np.linalg.inv(np.eye(d) - B)
    covariance = mixing * deviations**2 @ mixing.T
    y = x[0] + 0.5
    off = y - mixing @ (weights[:, 0] - B.sum(1) / 2)
    joint = (
        -(off @ np.linalg.solve(covariance, off) + np.linalg.slogdet(2 * np.pi * covariance)[1]) / 2
    )
    logs = -(((y - means[0]) / deviations) ** 2) / 2 - np.log(deviations) - np.log(2 * np.pi) / 2
    what = "log-density of the first row: sum of conditionals = joint Gaussian"
    return Identity(
        what, Enclosure.equal(float(logs.sum())), Enclosure.equal(float(joint)), rtol=1e-6
    )


def _examples() -> Examples:
    """The standard normal law and the level 0, in balls."""
    with ctx.workprec(96):
        mass = (arb(1) / arb(2).sqrt()).erf() / 2
        exact = Enclosure.ball(mass.log())
        integral = acb.integral(lambda u, _: -u * u / 2, 0, 1).real - (2 * arb.pi()).log() / 2
        bound = Enclosure.ball(integral)
    claim = AtMost("N(0, 1), k = 0: ∫ log p ≤ log P(0)", bound, exact)
    numbers = {"log P(0) of N(0, 1)": exact, "its bound": bound}
    return Examples(claims=(claim,), numbers=numbers)


def _draw_bits(exact: np.ndarray, noisy: np.ndarray) -> Curves:
    k = np.arange(1, exact.shape[1] + 1)
    lines = (
        Series("log P", k, -exact.mean(0) / np.log(2)),
        Series("bound with noise", k, -noisy.mean(0) / np.log(2), "bound"),
    )
    return Curves("bits of each entry given those before it", Axis("entry"), Axis("bits"), lines)
