"""How fast Sinkhorn's iteration converges: three rates, and the one that is seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, tanh
from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.subjects.pairs import split_samples
from ftheta.theorems.samples import make_pair, samples_of, two_samples

KINDS = ("two points", "plane", "line")
MOST = 300  # different rows of each sample
LIMIT = 3000  # iterations towards the fixed point
BITS = 96
BALL_STEPS = 20  # iterations in balls
NOISE = 1e-9  # distances below this are rounding

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "two points",
    rows: Annotated[
        int, Knob(5, 200, "rows of each sample", "n", log=True, least=2, most=300)
    ] = 40,
) -> Dataset:
    if kind == "two points":
        return make_pair(
            "two points with masses (.3, .7) and (.6, .4)",
            np.repeat([0.0, 1], [3, 7]),
            np.repeat([0.0, 1], [6, 4]),
        )
    if kind == "line":
        return make_pair("uniform draws of the line", rng.random(rows), rng.random(rows))
    return make_pair(
        "two clouds of the plane", rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2)) + 0.5
    )


@dataclass(frozen=True, eq=False)
class _Setting:
    """Costs between different points, their masses, and ε as it is used."""

    C: np.ndarray
    a: np.ndarray
    b: np.ndarray
    epsilon: float

    @property
    def diameter(self) -> float:
        r"""$\Delta=\ln\max\frac{K_{ik}K_{jl}}{K_{jk}K_{il}}$ of $K=e^{-C/\varepsilon}$."""
        gaps = [(self.C - row).max(1) - (self.C - row).min(1) for row in self.C]
        return float(max(gap.max() for gap in gaps)) / self.epsilon


def _set_up(data: Dataset, epsilon: float, unit: str) -> _Setting:
    sides = []
    for rows in samples_of(data):
        points, counts = np.unique(rows, axis=0, return_counts=True)
        sides.append((points[:MOST], counts[:MOST] / counts[:MOST].sum()))
    (x, a), (y, b) = sides
    C = ((x[:, None] - y) ** 2).sum(-1)
    return _Setting(
        C, a, b, epsilon * (float(np.median(C)) or 1.0 if unit == "median cost" else 1.0)
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "no entry of $e^{-C/\\varepsilon}$ underflows to zero",
    remedy="larger ε; ft.transport works with logarithms there",
)
def positive_kernel(data: Dataset, *, epsilon: float, unit: str) -> Finding:
    if split_samples(data) is None:
        return Finding.undecided(two_samples.name)
    setting = _set_up(data, epsilon, unit)
    smallest = float(np.exp(-setting.C.max() / setting.epsilon))
    return Finding.decide(
        smallest > 0,
        f"smallest entry {smallest:.3g}",
        "every entry is evaluated",
        Enclosure.equal(smallest),
    )


@theorem(
    title="Rates of Sinkhorn's iteration",
    gist="Sinkhorn's iteration for entropic transport converges geometrically, at a rate that worsens quickly as the "
    "penalty shrinks; three bounds say how many iterations are enough.",
    see_also=("entropic-bias", "kantorovich-duality", "transport-1d"),
    sources=("franklin1989", "peyre2019", "altschuler2017", "cuturi2013"),
    assumes=(two_samples, positive_kernel),
    on=samples,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "plane": {"kind": "plane", "epsilon": 1.0},
        "line": {"kind": "line", "epsilon": 0.1},
        "at the edge": {"kind": "plane", "epsilon": 0.1},
        "broken on purpose": {"epsilon": 1e-4},
    },
)
def sinkhorn_rate(
    data: Dataset,
    rng: np.random.Generator,
    *,
    epsilon: Annotated[
        float, Knob(0.02, 5, "entropic penalty", "ε", log=True, least=1e-6, most=1e6)
    ] = 0.5,
    unit: Annotated[str, Knob(says="unit of ε", choices=("cost", "median cost"))] = "cost",
    steps: Annotated[
        int, Knob(5, 200, "iterations that are looked at", "ℓ", log=True, most=2000)
    ] = 60,
) -> Evidence:
    r"""Let $u^k$, $v^k$ be Sinkhorn's scalings of $K=e^{-C/\varepsilon}$,
    $P^k=\operatorname{diag}(u^k)K\operatorname{diag}(v^k)$ after each update of $v$, and
    $\Delta=\ln\max\frac{K_{ik}K_{jl}}{K_{jk}K_{il}}$. In Hilbert's metric
    $d_H(u,u')=\max\ln\frac u{u'}-\min\ln\frac u{u'}$,
    $$d_H(u^{k+1},u^*)\le\tanh^2(\tfrac\Delta4)\,d_H(u^k,u^*),\qquad
    \min_{k<\ell}\mathrm{KL}(a\|P^k1)\le\tfrac1\ell\mathrm{KL}(P^*\|P^0),$$
    and asymptotically the error falls by $\sigma_2^2$, $\sigma_2$ the second singular value of
    $D_a^{-1/2}P^*D_b^{-1/2}$."""
    setting = _set_up(data, epsilon, unit)
    run = _iterate(setting, steps)
    bound = tanh(setting.diameter / 4) ** 2
    optimum = run.optimum
    value = float((setting.C * optimum).sum()) + setting.epsilon * _divergence(
        optimum, np.outer(setting.a, setting.b)
    )
    needed = log(1e-6) / log(run.rate) if 0 < run.rate < 1 else 1.0
    return Evidence(
        claims=(*_claims(run, bound), _claim_marginals(setting, run)),
        charts=(_draw_errors(run, bound),),
        numbers={
            "P₁₁": float(optimum[0, 0]),
            "entropic cost": value,
            "asymptotic rate": run.rate,
            "contraction factor": bound,
            "Δ": setting.diameter,
        },
        tables=(_tabulate(run),),
        summary=f"asymptotic rate {run.rate:.6g} (contraction bound {bound:.6g}): about {needed:,.0f} iterations for "
        "six digits",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Run:
    """Distances of the iterates from the fixed point, divergences of their row sums, and what is known at the limit."""

    distances: np.ndarray
    divergences: np.ndarray
    start: float
    optimum: np.ndarray
    rate: float
    last_step: float


def _iterate(setting: _Setting, steps: int) -> _Run:
    """The iteration in logarithms: the fixed point first, then so many iterations from the start."""
    logs = -setting.C / setting.epsilon
    log_a, log_b = np.log(setting.a), np.log(setting.b)
    iterates = [np.zeros(len(log_a))]
    for _ in range(LIMIT):
        v = log_b - _log_sums(logs.T + iterates[-1])
        u = log_a - _log_sums(logs + v)
        iterates.append(u)
        if len(iterates) > steps and _hilbert(u, iterates[-2]) < 1e-15:
            break
    last = iterates[-1]
    plans = [_plan(logs, log_b, u) for u in iterates[: steps + 1]]
    optimum = _plan(logs, log_b, last)
    return _Run(
        np.array([_hilbert(u, last) for u in iterates[: steps + 1]]),
        np.array([_divergence(setting.a, plan.sum(1)) for plan in plans]),
        _divergence(optimum, plans[0]),
        optimum,
        float(
            np.linalg.svd(optimum / np.sqrt(np.outer(setting.a, setting.b)), compute_uv=False)[
                1:2
            ].sum()
            ** 2
        ),
        _hilbert(last, iterates[-2]),
    )


def _log_sums(exponents: np.ndarray) -> np.ndarray:
    top = exponents.max(1)
    return top + np.log(np.exp(exponents - top[:, None]).sum(1))


def _plan(logs: np.ndarray, log_b: np.ndarray, u: np.ndarray) -> np.ndarray:
    """P after the update of v that follows u: its columns sum to b."""
    v = log_b - _log_sums(logs.T + u)
    return np.exp(logs + u[:, None] + v)


def _hilbert(u: np.ndarray, w: np.ndarray) -> float:
    return float(np.ptp(u - w))


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), 0.0)
    return float(max(terms.sum() - p.sum() + q.sum(), 0.0))


def _claims(run: _Run, bound: float) -> list[Claim]:
    known = run.distances > NOISE * max(run.distances[0], 1.0)
    pairs = known[1:] & known[:-1]
    ratios = run.distances[1:][pairs] / run.distances[:-1][pairs]
    claims: list[Claim] = []
    if len(ratios):
        what = f"largest d_H(uᵏ⁺¹, u*) / d_H(uᵏ, u*) of {len(ratios)} iterations"
        claims.append(
            AtMost(
                what,
                Enclosure.equal(float(ratios.max())),
                Enclosure.equal(bound),
                trivial=1.0,
                rtol=1e-6,
            )
        )
        values = tuple(Enclosure.equal(float(r)) for r in ratios)
        scales = tuple(float(k + 1) for k in np.flatnonzero(pairs))
        within = max(0.05, 0.2 * run.rate)
        claims.append(
            Converges(
                "d_H(uᵏ⁺¹, u*) / d_H(uᵏ, u*) → σ₂²",
                Enclosure.equal(run.rate),
                values,
                scales,
                within,
            )
        )
    best = np.minimum.accumulate(run.divergences)
    counts = np.arange(1, len(best) + 1)
    k = int((best * counts).argmax())
    what = f"ℓ · min KL(a‖Pᵏ1) ≤ KL(P*‖P⁰), worst of {len(best)} numbers ℓ (ℓ = {k + 1})"
    claims.append(
        AtMost(
            what,
            Enclosure.equal(float(best[k] * counts[k])),
            Enclosure.equal(run.start),
            atol=1e-13,
        )
    )
    return claims


def _claim_marginals(setting: _Setting, run: _Run) -> Claim:
    """The limit is a plan: its rows sum to a. Where entries of the kernel are zero, there may be none."""
    K = np.exp(-setting.C / setting.epsilon)
    if K.min() > 0:
        what = "largest |P*1 − a| − step of the last iteration"
        off = float(np.abs(run.optimum.sum(1) - setting.a).max())
        return AtMost(what, Enclosure.equal(off - run.last_step), Enclosure.exact(0), atol=1e-9)
    what = f"largest |Pᵏ1 − a| = 0 after {BALL_STEPS} iterations with the kernel as float64 has it"
    return Identity(what, _enclose_marginals(K, setting), Enclosure.exact(0))


def _enclose_marginals(K: np.ndarray, setting: _Setting) -> Enclosure:
    """How far the rows of a plan are from summing to a, in balls: the numbers of the kernel as they are stored."""
    with ctx.workprec(BITS):
        rows = [[arb(v) for v in row] for row in K.tolist()]
        columns = list(zip(*rows))
        a, b = ([arb(v) for v in masses.tolist()] for masses in (setting.a, setting.b))
        u = [arb(1)] * len(a)
        v = b
        for _ in range(BALL_STEPS):
            v = [mass / _dot(column, u) for mass, column in zip(b, columns)]
            plan_rows = [p * _dot(row, v) for p, row in zip(u, rows)]
            u = [mass / _dot(row, v) for mass, row in zip(a, rows)]
        off = max(
            (abs(total - mass) for total, mass in zip(plan_rows, a)),
            key=lambda ball: float(ball.mid()),
        )
        return Enclosure.ball(off)


def _dot(row: Sequence[arb], other: Sequence[arb]) -> arb:
    return sum((p * q for p, q in zip(row, other)), arb(0))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_errors(run: _Run, bound: float) -> Curves:
    k = np.arange(len(run.distances))
    seen = np.maximum(run.distances, 1e-16)
    first = seen[0]
    known = np.flatnonzero(run.distances > NOISE)
    anchor = int(known[-1]) if len(known) else 0
    asymptote = seen[anchor] * np.power(max(run.rate, 1e-12), k - anchor, dtype=float)
    series = (
        Series("d_H(uᵏ, u*)", k, seen),
        Series("contraction bound", k, np.maximum(first * bound**k, 1e-16), "bound"),
        Series("asymptotic rate σ₂²", k, np.clip(asymptote, 1e-16, 1e3 * first), "reference"),
        Series("KL(P*‖P⁰)/ℓ", k[1:], run.start / k[1:], "other"),
        Series(
            "min KL(a‖Pᵏ1)",
            k,
            np.maximum(np.minimum.accumulate(run.divergences), 1e-17),
            "other",
            "points",
        ),
    )
    return Curves(
        "convergence of Sinkhorn's iteration", Axis("iteration"), Axis("error", "log"), series
    )


def _tabulate(run: _Run) -> Table:
    shown = range(0, len(run.distances), max(1, len(run.distances) // 10))
    rows = tuple((k, float(run.distances[k]), float(run.divergences[k])) for k in shown)
    return Table("iterations", ("k", "d_H(uᵏ, u*)", "KL(a‖Pᵏ1)"), rows)
