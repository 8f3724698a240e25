"""Two samples of one law? A kernel statistic whose p-value is valid at every size."""

from fractions import Fraction
from itertools import combinations
from math import exp, sqrt
from typing import Annotated

import numpy as np
from scipy.integrate import dblquad

from ftheta.estimates import binomial_interval
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Histogram,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.theorems.samples import independent_rows, make_pair, names_of, samples_of, two_samples
from ftheta.transport.two_sample import (
    Statistic,
    deviation_threshold,
    kernel_block,
    median_distance,
    permutation_test,
)

KINDS = ("shifted normals", "four and four", "one law", "same mean")
KERNELS = ("gaussian", "energy", "linear")
MOST = 1000  # rows of each sample
FEW = 120  # pooled rows on which the level is simulated
SPLITS = 400  # random splits of the pooled rows
NULL = 39  # permutations for each of them
EIGHT = 8  # rows of which all relabellings are listed
COUNTINGS = ("all relabellings", "the others alone")

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "shifted normals",
    rows: Annotated[
        int, Knob(10, 1000, "rows of each sample", "n", log=True, least=2, most=10**4)
    ] = 100,
) -> Dataset:
    if kind == "four and four":
        return make_pair("{0, 1, 2, 3} and {4, 5, 6, 7}", np.arange(4.0), np.arange(4.0, 8.0))
    x = rng.normal(size=rows)
    if kind == "same mean":
        return make_pair("N(0, 1) and N(0, 9)", x, 3 * rng.normal(size=rows))
    shift = 0.0 if kind == "one law" else 1.0
    return make_pair(f"N(0, 1) and N({shift:g}, 1)", x, shift + rng.normal(size=rows))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the kernel tells all laws apart",
    remedy="a linear kernel sees means alone: use gaussian or energy",
)
def characteristic(data: Dataset, *, kernel: str) -> Finding:
    why = "e^(−|x−y|²/2h²) and −|x−y| are characteristic on all of space"
    return Finding.decide(kernel != "linear", f"{kernel} kernel", why)


@hypothesis(
    "the sample itself counts among its relabellings: the $+1$ of $p$",
    remedy="set --counting 'all relabellings'; without the +1 small p-values come too often",
)
def counts_itself(data: Dataset, *, counting: str) -> Finding:
    return Finding.decide(
        counting == COUNTINGS[0], counting, "read off the knob", basis=Basis.EXACT
    )


@theorem(
    title="Kernel two-sample test with a valid p-value",
    gist="Whether two data sets come from one law can be tested by comparing mean similarities, and counting random "
    "relabellings gives a p-value that is valid for any number of rows.",
    see_also=("gan-and-transport", "bures-and-fid", "wasserstein-sampling"),
    sources=("gretton2012", "szekely2013"),
    assumes=(two_samples, characteristic, counts_itself, independent_rows),
    on=samples,
    breaks_on="broken on purpose",
    same_for_all={
        "P(p ≤ α) over all": "ranks are all there is of rows whose statistics have no ties"
    },
    presets={
        "textbook": {},
        "four and four": {"kind": "four and four"},
        "one law": {"kind": "one law"},
        "energy": {"kernel": "energy", "kind": "same mean"},
        "large": {"rows": 1000},
        "broken on purpose": {"counting": COUNTINGS[1]},
    },
)
def mmd_test(
    data: Dataset,
    rng: np.random.Generator,
    *,
    kernel: Annotated[str, Knob(says="kernel", symbol="k", choices=KERNELS)] = "gaussian",
    bandwidth: Annotated[
        float, Knob(0, 4, "bandwidth of the kernel; 0 for the median distance", "h", most=1e6)
    ] = 0.0,
    permutations: Annotated[
        int, Knob(99, 4999, "random relabellings", "B", log=True, least=19, most=10**5)
    ] = 999,
    level: Annotated[
        float, Knob(0.01, 0.2, "level of the test", "α", log=True, least=1e-6, most=0.5)
    ] = 0.05,
    counting: Annotated[
        str, Knob(says="what a p-value counts", choices=COUNTINGS)
    ] = "all relabellings",
) -> Evidence:
    r"""For $w=\frac1n$ on $x$, $-\frac1m$ on $y$ let $\mathrm{MMD}^2=w^\top Kw$. If all rows have one law, then among
    $B$ random relabellings $p=\frac{1+\#\{\mathrm{MMD}_b\ge\mathrm{MMD}\}}{1+B}$ satisfies $P(p\le\alpha)\le\alpha$ at
    every $n$, $m$, $B$; and with $0\le k\le K$ and $m$ rows each,
    $P\big(\mathrm{MMD}>\sqrt{2K/m}(1+\sqrt{2\ln\tfrac1\alpha})\big)\le\alpha$. If the kernel is characteristic and the
    laws differ, the power tends to 1."""
    x, y = (rows[:MOST] for rows in samples_of(data))
    pooled = np.concatenate([x, y])
    h = bandwidth or median_distance(pooled)
    chosen: Statistic = kernel  # type: ignore[assignment]
    found = permutation_test(x, y, chosen, bandwidth=h, permutations=permutations, rng=rng)
    threshold = deviation_threshold(min(len(x), len(y)), level)
    claims: list[Claim] = [
        _claim_positive(found.statistic, pooled, chosen, h),
        *_claim_level(pooled, chosen, h, level, rng),
    ]
    if len(pooled) >= EIGHT:
        claims.append(_claim_level_of_eight(pooled, chosen, h, level, counting, rng))
    root = sqrt(max(found.statistic, 0.0))
    numbers: dict[str, Enclosure | float] = {"MMD": root, "p-value": found.p_value, "bandwidth": h}
    if kernel == "gaussian":
        numbers["threshold"] = threshold
    sort = "all" if found.exact else f"{permutations:,} random"
    first, second = names_of(data)
    verdict = "differ" if found.p_value <= level else "are not told apart"
    return Evidence(
        claims=tuple(claims),
        charts=(
            _draw_null(found.null, found.statistic, threshold if kernel == "gaussian" else None),
        ),
        numbers=numbers,
        summary=f"{first} and {second} {verdict} at level {level:g}: p = {found.p_value:.4g} from {sort} relabellings",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _claim_positive(statistic: float, pooled: np.ndarray, kernel: Statistic, h: float) -> AtMost:
    """Up to the rounding of a sum, which is relative to the entries of K."""
    size = float(np.abs(kernel_block(pooled, pooled, kernel, h)).max())
    what = f"0 ≤ wᵀKw ({kernel} kernel)"
    return AtMost(what, Enclosure.exact(0), Enclosure.equal(statistic), atol=1e-12 * max(size, 1.0))


def _claim_level(
    pooled: np.ndarray, kernel: Statistic, h: float, level: float, rng: np.random.Generator
) -> list[Claim]:
    """Random halves of the pooled rows have one law: how often is p ≤ α there? All are products with one kernel."""
    some = pooled if len(pooled) <= FEW else pooled[rng.choice(len(pooled), FEW, replace=False)]
    n = len(some) // 2
    first = np.concatenate([np.full(n, 1 / n), np.full(len(some) - n, -1 / (len(some) - n))])
    weights = rng.permuted(np.tile(first[:, None], SPLITS * (NULL + 1)), axis=0)
    K = kernel_block(some, some, kernel, h)
    values = np.einsum("kb,kb->b", weights, K @ weights).reshape(SPLITS, NULL + 1)
    p = (values >= values[:, :1] - 1e-12 * np.abs(K).max()).mean(1)
    rejected = int((p <= level).sum())
    share = binomial_interval(rejected, SPLITS)
    what = f"P(p ≤ α) under one law ≤ α (random halves of {len(some)} of the pooled rows, {rejected} rejected)"
    return [AtMost(what, share, Enclosure.exact(level))]


def _claim_level_of_eight(
    pooled: np.ndarray,
    kernel: Statistic,
    h: float,
    level: float,
    counting: str,
    rng: np.random.Generator,
) -> AtMost:
    """Eight of the pooled rows in all ways to split them in four and four: how many of them have p ≤ α?"""
    rows = pooled[rng.choice(len(pooled), EIGHT, replace=False)]
    K = kernel_block(rows, rows, kernel, h)
    signs = np.array(
        [[1 if i in first else -1 for i in range(EIGHT)] for first in combinations(range(EIGHT), 4)]
    )
    values = np.einsum("bi,ij,bj->b", signs, K, signs)
    near = 1e-9 * float(np.abs(K).max())
    above = (values[None, :] >= values[:, None] - near).sum(1)
    itself = counting == COUNTINGS[0]
    count = len(values)
    p = [Fraction(int(k), count) if itself else Fraction(int(k) - 1, count - 1) for k in above]
    rejected = sum(value <= Fraction(level) for value in p)
    what = f"P(p ≤ α) over all {count} relabellings of {EIGHT} rows ≤ α ({rejected} rejected)"
    return AtMost(what, Enclosure.exact(Fraction(rejected, count)), Enclosure.exact(level))


def _examples() -> Examples:
    """Closed forms: two normals, and eight numbers."""
    closed = 2 / sqrt(3) * (1 - exp(-1 / 6))
    density = lambda s, t: exp(-(s**2 + t**2) / 2) / (2 * np.pi)
    mean = lambda shift: dblquad(
        lambda s, t: density(s, t) * exp(-((s - t - shift) ** 2) / 2), -9, 9, -9, 9
    )[0]
    integral = 2 * mean(0.0) - 2 * mean(1.0)
    eight = permutation_test(np.arange(4.0)[:, None], np.arange(4.0, 8.0)[:, None])
    claims = (
        Identity(
            "MMD² of N(0, 1) and N(1, 1), h = 1",
            Enclosure.equal(integral),
            Enclosure.equal(closed),
            rtol=1e-7,
        ),
        Identity(
            "p of {0..3} against {4..7}",
            Enclosure.equal(eight.p_value),
            Enclosure.exact(Fraction(1, 35)),
        ),
    )
    return Examples(
        claims=claims,
        numbers={"MMD² of N(0,1) and N(1,1)": closed, "p of eight numbers": eight.p_value},
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_null(null: np.ndarray, statistic: float, threshold: float | None) -> Histogram:
    """Statistics of the relabellings, with the one of the samples and the threshold that needs none."""
    heights, edges = np.histogram(null, 40)
    top = float(heights.max())
    curves = [Series("these samples", [statistic, statistic], [0.0, top], "measured")]
    if threshold is not None:
        curves.append(Series("large-deviation threshold", [threshold**2] * 2, [0.0, top], "bound"))
    return Histogram(
        "the statistic under relabelling",
        Axis("wᵀKw"),
        Axis("relabellings"),
        edges,
        heights,
        tuple(curves),
    )
