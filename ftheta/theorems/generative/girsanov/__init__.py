"""A score that is off by a little costs the reverse SDE the integral of its squared error, in nats."""

from collections.abc import Callable
from functools import partial
from math import inf, log
from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.estimates import binomial_interval
from ftheta.flows.diffusion.bounds import score_error
from ftheta.flows.diffusion.reversal import (
    backward_times,
    kl_to_normal,
    probability_flow,
    reverse_sde,
)
from ftheta.flows.mixtures import Mixture
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Histogram,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Network
from ftheta.subjects.roles import ask_role, measure_of_rows, values_at
from ftheta.theorems.knobs import BumpDistance, BumpSpread, Coordinates
from ftheta.theorems.laws import ROWS_ARE_A_LAW, mixture_of, place_bumps

from .gaussians import BITS, Coordinate

PROCESSES = ("reverse SDE", "probability flow")
EVENTS = 15  # half-lines on which the generated law is compared with the data
ENTRIES = 30_000_000  # of tables points × atoms × steps
Numbers = dict[str, Enclosure | float]


# ---- subjects --------------------------------------------------------------------------------------------------------


def bumps(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 4, "number of bumps", "k", most=64)] = 1,
    separation: BumpDistance = 2.0,
    spread: BumpSpread = 1.0,
    dimension: Coordinates = 1,
) -> Measure:
    atoms = place_bumps(components, separation, dimension)
    return Measure(
        f"{components} bumps of spread {spread:g}",
        atoms,
        np.full(components, 1 / components),
        spread,
    )


@hypothesis(
    "samples are made by the reverse SDE, not by the flow", remedy="set --process 'reverse SDE'"
)
def stochastic_process(given: Measure | Network, *, process: str) -> Finding:
    return Finding.decide(process == PROCESSES[0], process, "the knob itself", basis=Basis.EXACT)


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="What a wrong score costs (Girsanov)",
    gist="Samples of the reverse SDE are as good as the score it uses: their divergence from the data, in nats, is at "
    "most what is left at the horizon plus the squared error of the score, integrated over time. The deterministic "
    "flow has no such guarantee.",
    see_also=("diffusion-score", "score-matching", "sampler-orders"),
    sources=("song2021likelihood", "chen2023sampling", "anderson1982"),
    assumes=(ask_role("score"), stochastic_process),
    on=bumps,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "narrow data": {"spread": 0.25},
        "two bumps": {"components": 2, "spread": 0.5},
        "short horizon": {"horizon": 1.0, "spread": 0.5},
        "broken on purpose": {"process": "probability flow"},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def girsanov(
    given: Measure | Network,
    rng: np.random.Generator,
    *,
    error: Annotated[
        float, Knob(0, 1, "error of the score, in the first coordinate", "δ", most=10)
    ] = 0.1,
    horizon: Annotated[
        float, Knob(0.5, 10, "time at which everything has become noise", "T", least=0.1, most=20)
    ] = 6.0,
    stop: Annotated[
        float,
        Knob(
            0.001,
            0.5,
            "time at which the SDE of discrete data ends",
            "τ",
            log=True,
            least=1e-5,
            most=5,
        ),
    ] = 0.01,
    process: Annotated[str, Knob(says="how samples are made", choices=PROCESSES)] = "reverse SDE",
    samples: Annotated[
        int, Knob(200, 20_000, "points that are generated", "N", log=True, least=100)
    ] = 2000,
) -> Evidence:
    r"""Let $p_0$ diffuse by $dx=-x\,dt+\sqrt2\,dW$ and let $\hat p$ be what the reverse SDE with the score $s$ makes of
    $\gamma=\mathcal N(0,I)$ at time $T$. Then
    $$\mathrm{KL}(p_0\|\hat p)\le\mathrm{KL}(p_T\|\gamma)+\int_0^T\mathbb E_{p_t}|s-\nabla\log p_t|^2\,dt,$$
    and $\mathrm{KL}(p_T\|\gamma)\le e^{-2T}\mathrm{KL}(p_0\|\gamma)$. For the probability flow it is false: with the
    constant error $\delta$ on $p_0=\gamma$ it makes $\delta^2T^2/2$ of the bound $\delta^2T$."""
    if isinstance(given, Network):
        return _judge_network(given, rng, horizon, stop, samples, process)
    law = mixture_of(given)
    if len(law.atoms) == 1 and law.variance > 0:
        return _enclose(law, error, horizon, process)
    end = 0.0 if law.variance > 0 else min(stop, horizon / 2)
    squared = (
        Enclosure.exact(error)
        * Enclosure.exact(error)
        * Enclosure.around(horizon - end, 1e-15 * horizon)
    )

    def score(t: float, x: np.ndarray) -> np.ndarray:
        return law.score_at(t, x) + error * np.eye(x.shape[1])[0]

    return _compare(law, score, squared, horizon, end, samples, rng, process)


# ---- one Gaussian, in balls ------------------------------------------------------------------------------------------


def _enclose(law: Mixture, error: float, horizon: float, process: str) -> Evidence:
    """Divergence and bound in closed form."""
    parts = [
        Coordinate(a, float(np.sqrt(law.variance)), error if j == 0 else 0.0)
        for j, a in enumerate(law.atoms[0].tolist())
    ]
    with ctx.workprec(BITS):
        truth = Enclosure.ball(_total(parts, lambda c: c.divergence(horizon, process)))
        first = _total(parts, lambda c: c.start_term(horizon))
        bound = Enclosure.ball(first + arb(error) ** 2 * arb(horizon))
        decayed = _ball((-2 * arb(horizon)).exp() * _total(parts, lambda c: c.start_term(0.0)))
    claims = (
        AtMost(f"KL(p₀‖p̂) of the {process} ≤ KL(p_T‖γ) + δ²T", truth, bound),
        AtMost(f"KL(p_T‖γ) ≤ e^(−2T) KL(p₀‖γ) at T = {horizon:g}", _ball(first), decayed),
    )
    return Evidence(
        claims=claims,
        charts=(_draw_divergences(parts, error, max(horizon, 1.0)),),
        numbers={"KL": truth, "bound": bound, "KL at the horizon": _ball(first)},
        summary=f"KL(p₀‖p̂) = {truth.middle:.6g} nats by the {process}; the bound is {bound.middle:.6g}",
    )


def _ball(x: arb) -> Enclosure:
    return Enclosure.exact(0) if x.is_zero() else Enclosure.ball(x)


def _total(parts: list[Coordinate], term: Callable[[Coordinate], arb]) -> arb:
    return sum((term(part) for part in parts), arb(0))


def _draw_divergences(parts: list[Coordinate], error: float, longest: float) -> Curves:
    """Both processes and the bound against the horizon."""
    horizons = np.linspace(0.2, longest, 24)
    curves = {
        name: [
            float(_total(parts, partial(Coordinate.divergence, horizon=T, process=name)).mid())
            for T in horizons.tolist()
        ]
        for name in PROCESSES
    }
    first = np.array(
        [
            float(_total(parts, partial(Coordinate.start_term, horizon=T)).mid())
            for T in horizons.tolist()
        ]
    )
    lines = [Series(name, horizons, values) for name, values in curves.items()]
    bound = Series("bound", horizons, first + error**2 * horizons, "bound")
    return Curves(
        "divergence of the samples from the data", Axis("horizon T"), Axis("nats"), (*lines, bound)
    )


# ---- any law, from samples -------------------------------------------------------------------------------------------


def _judge_network(
    net: Network, rng: np.random.Generator, horizon: float, stop: float, samples: int, process: str
) -> Evidence:
    """The bound of a score network from draws, and its samples."""
    assert net.law is not None
    law = mixture_of(measure_of_rows(net.law))
    end = min(stop, horizon / 2)

    def score(t: float, x: np.ndarray) -> np.ndarray:
        return values_at(net, x, t)

    squared = score_error(law, score, end, horizon, rng)
    return _compare(law, score, squared, horizon, end, samples, rng, process)


def _compare(
    law: Mixture,
    score: Callable[[float, np.ndarray], np.ndarray],
    squared: Enclosure,
    horizon: float,
    end: float,
    samples: int,
    rng: np.random.Generator,
    process: str,
) -> Evidence:
    """Samples of the process against the law at its end: what half-lines tell of the divergence, and the bound."""
    first = kl_to_normal(law.after(horizon))
    bound = squared + Enclosure.equal(first)
    steps = 100
    n = int(min(samples, max(200, ENTRIES // (law.atoms.size * steps))))
    times = backward_times(law, horizon, steps, end)
    start = rng.normal(size=(n, law.atoms.shape[1]))
    stochastic = process == PROCESSES[0]
    x = (
        reverse_sde(score, start, times, rng, law.variance)
        if stochastic
        else probability_flow(score, start, times)
    )
    target = law.after(end)
    seen = _divergence_at_least(x[:, 0], target)
    claim = AtMost(
        f"KL(p₀‖p̂) of the {process}, as {EVENTS} half-lines see it, ≤ bound", seen, bound
    )
    return Evidence(
        claims=(claim,),
        charts=(_draw_samples(x[:, 0], target),),
        numbers={"bound": bound, "KL at the horizon": Enclosure.at_most(first), "KL seen": seen},
        summary=f"KL(p₀‖p̂) ≤ {bound.middle:.4g} nats; {n:,} samples show at least {seen.lo:.3g}"
        + (f" (data with noise of time {end:g})" if end else ""),
    )


def _divergence_at_least(x: np.ndarray, target: Mixture) -> Enclosure:
    """The largest divergence of any of the half-lines, by data processing a lower bound of the whole."""
    confidence = 1 - 1e-3 / EVENTS
    grid = np.linspace(target.atoms[:, 0].min() - 2, target.atoms[:, 0].max() + 2, 4001)
    edges = np.interp(np.linspace(0, 1, EVENTS + 2)[1:-1], target.cdf(grid), grid)
    least = 0.0
    for edge, p in zip(edges.tolist(), target.cdf(edges).tolist()):
        found = binomial_interval(int((x <= edge).sum()), len(x), confidence)
        if not found.lo <= p <= found.hi:
            least = max(least, _binary_divergence(p, found.lo if p < found.lo else found.hi))
    return Enclosure(least, inf, Basis.SAMPLED, len(x), 0.999)


def _binary_divergence(p: float, q: float) -> float:
    terms = [a * log(a / b) if a > 0 and b > 0 else 0.0 for a, b in ((p, q), (1 - p, 1 - q))]
    return max(sum(terms), 0.0)


def _draw_samples(x: np.ndarray, target: Mixture) -> Histogram:
    heights, edges = np.histogram(x[np.isfinite(x)], 60, density=True)
    grid = np.linspace(edges[0], edges[-1], 400)
    curve = Series("data, noised as at the end", grid, target.density(grid), "reference")
    return Histogram(
        "generated points, first coordinate", Axis("x₁"), Axis("density"), edges, heights, (curve,)
    )
