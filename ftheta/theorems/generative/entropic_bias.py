"""What the entropic penalty costs: plans are dearer, fits shrink, and debiasing mends it."""

from math import log, sqrt
from typing import Annotated, Any

import numpy as np
from flint import arb, ctx
from scipy.optimize import minimize_scalar

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.subjects.pairs import split_samples
from ftheta.theorems.samples import make_pair, samples_of, two_samples
from ftheta.transport import Transport, transport
from ftheta.transport.gaussian import entropic_gaussian_cost
from ftheta.transport.sinkhorn import debias

KINDS = ("plane", "line")
MOST = 400  # rows of each sample
BITS = 128
FITS = 32  # variances that are tried

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "plane",
    rows: Annotated[
        int, Knob(5, 200, "rows of each sample", "n", log=True, least=2, most=400)
    ] = 60,
) -> Dataset:
    if kind == "line":
        return make_pair(
            "N(0, 1) and N(1, 4)", rng.normal(size=rows), 1 + 2 * rng.normal(size=rows)
        )
    return make_pair(
        "two clouds of the plane", rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2)) + 0.5
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "$\\varepsilon<2\\lambda$, $\\lambda$ the largest variance of the second sample",
    remedy="smaller ε: beyond, the best Gaussian fit of this sample is a single point",
)
def resolves(data: Dataset, *, epsilon: float) -> Finding:
    samples = split_samples(data)
    if samples is None:
        return Finding.undecided(two_samples.name)
    variance = largest_variance(samples[1])
    note = f"ε = {epsilon:g}, 2λ = {2 * variance:.4g}"
    return Finding.decide(epsilon < 2 * variance, note, "eigenvalues of the sample covariance")


@theorem(
    title="Bias of entropic transport and its removal",
    gist="An entropic penalty makes transport easy to compute but blurs it: the cost is too high by at most the "
    "penalty times an entropy, models fitted to it shrink, and subtracting the costs of each sample to "
    "itself removes that.",
    see_also=("sinkhorn-rate", "kantorovich-duality", "mmd-test"),
    sources=("peyre2019", "feydy2019", "cuturi2013"),
    assumes=(two_samples, resolves),
    on=samples,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "line": {"kind": "line"},
        "sharp": {"epsilon": 0.05},
        "blurred": {"epsilon": 1.5},
        "broken on purpose": {"epsilon": 20.0},
    },
)
def entropic_bias(
    data: Dataset,
    rng: np.random.Generator,
    *,
    epsilon: Annotated[
        float, Knob(0.02, 4, "entropic penalty", "ε", log=True, least=1e-4, most=1e4)
    ] = 0.5,
) -> Evidence:
    r"""Let $P_\varepsilon$ minimise $\langle C,P\rangle+\varepsilon\,\mathrm{KL}(P|a\otimes b)$, of value
    $\mathrm{OT}_\varepsilon$. Then
    $$0\le\langle C,P_\varepsilon\rangle-\mathrm{OT}\le\varepsilon\min(H(a),H(b)).$$
    For $\mathcal N(0,s^2)$ and $\mathcal N(0,t^2)$ the plan has covariance
    $-\frac\varepsilon4+\sqrt{\frac{\varepsilon^2}{16}+s^2t^2}$, and $\mathrm{OT}_\varepsilon$ is least at
    $t^2=(s^2-\frac\varepsilon2)_+$ instead of $s^2$. The debiased
    $S_\varepsilon(\mu,\nu)=\mathrm{OT}_\varepsilon(\mu,\nu)-\frac12\mathrm{OT}_\varepsilon(\mu,\mu)-\frac12\mathrm{OT}_\varepsilon(\nu,\nu)$
    is not negative, and zero for $\mu=\nu$ alone."""
    x, y = (rows[:MOST] for rows in samples_of(data))
    exact = transport(x, y).value
    found = transport(x, y, epsilon=epsilon)
    spent = _cost_of(found)
    divergence = debias(
        found.value, transport(x, x, epsilon=epsilon).value, transport(y, y, epsilon=epsilon).value
    )
    allowed = epsilon * min(log(len(x)), log(len(y)))
    atol = 1e-6 * max(exact.middle, epsilon)
    claims: tuple[Claim, ...] = (
        AtMost("OT ≤ ⟨C, P_ε⟩", exact, Enclosure.equal(spent), atol=atol),
        AtMost(
            "⟨C, P_ε⟩ − OT ≤ ε min(H(a), H(b))",
            Enclosure.equal(spent) - exact,
            Enclosure.equal(allowed),
            atol=atol,
        ),
        AtMost("0 ≤ debiased S_ε", Enclosure.exact(0), divergence, atol=atol),
        AtMost("OT ≤ OT_ε", exact, found.value, atol=atol),
        _claim_fit(largest_variance(y), epsilon),
    )
    return Evidence(
        claims=claims,
        charts=(_draw_costs(x, y, epsilon, exact), _draw_fit()),
        numbers={
            "OT": exact,
            "OT_ε": found.value.middle,
            "⟨C, P_ε⟩": spent,
            "S_ε": divergence.middle,
            "largest bias": allowed,
        },
        summary=f"ε = {epsilon:g} adds {spent - exact.middle:.4g} to the cost {exact.middle:.6g} "
        f"(at most {allowed:.4g}); debiased: {divergence.middle:.6g}",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _cost_of(found: Transport) -> float:
    costs = found.problem.costs_of(found.plan.rows, found.plan.columns)
    return float(found.plan.masses @ costs)


def best_spread(s: float, epsilon: float) -> float:
    r"""$t^2=(s^2-\frac\varepsilon2)_+$, with which $\mathcal N(0,t^2)$ is nearest to $\mathcal N(0,s^2)$ in
    $\mathrm{OT}_\varepsilon$."""
    return max(s**2 - epsilon / 2, 0.0)


def largest_variance(rows: np.ndarray) -> float:
    """The largest variance of the rows in any direction."""
    return float(np.linalg.eigvalsh(np.atleast_2d(np.cov(rows.T, bias=True)))[-1])


def _claim_fit(variance: float, epsilon: float) -> Claim:
    r"""A Gaussian is nearer to $\mathcal N(0,\lambda)$ than a single point is: the nearest of a grid of variances and
    the best one, $\lambda-\frac\varepsilon2$ where that is positive; to a point $\mathrm{OT}_\varepsilon=\lambda$."""
    with ctx.workprec(BITS):
        v, e = arb(variance), arb(epsilon)
        grid = [v * k / FITS for k in range(1, FITS + 1)]
        best = v - e / 2
        candidates = [*grid, best] if best > 0 else grid
        costs = [_entropic_cost(v, t, e) for t in candidates]
        nearest = min(costs, key=lambda cost: float(cost.mid()))
        what = f"least OT_ε(N(0, λ), N(0, t²)) of {len(costs)} variances t² > 0 ≤ OT_ε(N(0, λ), a point), λ = "
        return AtMost(f"{what}{variance:.4g}", Enclosure.ball(nearest), Enclosure.exact(variance))


def _entropic_cost(v: arb, t: arb, e: arb) -> arb:
    """OT_ε of two centred Gaussians with the variances v and t."""
    covariance = v * t / (e / 4 + (e**2 / 16 + v * t).sqrt())
    return v + t - 2 * covariance - e / 2 * (1 - covariance**2 / (v * t)).log()


def _examples() -> Examples:
    """Gaussians of the line, where everything has a closed form."""
    value = entropic_gaussian_cost(1, 2, 1, 0.5)
    itself = [entropic_gaussian_cost(s, s, 0, 0.5) for s in (1.0, 2.0)]
    fit: Any = minimize_scalar(
        lambda t: entropic_gaussian_cost(1, t, 0, 0.5), bounds=(0.1, 2), method="bounded"
    )
    claims = (
        Identity(
            "t² with the least OT_ε(N(0, 1), N(0, t²)), ε = ½",
            Enclosure.equal(float(fit.x) ** 2),
            Enclosure.equal(best_spread(1, 0.5)),
            rtol=1e-4,
        ),
    )
    numbers = {
        "OT_ε of N(0,1) and N(1,4)": value,
        "S_ε of N(0,1) and N(1,4)": value - sum(itself) / 2,
    }
    return Examples(claims=claims, numbers=numbers)


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_costs(x: np.ndarray, y: np.ndarray, epsilon: float, exact: Enclosure) -> Curves:
    """Costs against ε around the one that is used."""
    grid = epsilon * np.array([0.5, 1.0, 2.0, 4.0])
    some = slice(0, 100)
    found = [transport(x[some], y[some], epsilon=float(e)) for e in grid]
    best = transport(x[some], y[some]).value.middle
    spent = np.array([_cost_of(one) for one in found])
    allowed = best + grid * log(min(len(x[some]), len(y[some])))
    series = (
        Series("⟨C, P_ε⟩", grid, spent),
        Series("OT + ε min(H(a), H(b))", grid, allowed, "bound"),
        Series("OT", grid, np.full(len(grid), best), "reference"),
    )
    return Curves("cost of the entropic plan", Axis("ε", "log"), Axis("cost"), series)


def _draw_fit() -> Curves:
    """The spread of the best Gaussian fit to N(0, 1), with and without debiasing."""
    grid = np.linspace(0.0, 3.0, 61)
    spreads = [sqrt(best_spread(1.0, e)) for e in grid]
    series = (
        Series("OT_ε", grid, spreads),
        Series("debiased", grid, np.ones(len(grid)), "reference"),
    )
    return Curves(
        "spread of the best Gaussian fit to N(0, 1)", Axis("ε"), Axis("standard deviation"), series
    )
