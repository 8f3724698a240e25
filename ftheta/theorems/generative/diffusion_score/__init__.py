"""Noise can be turned back into data by following the score, which denoising gives."""

from math import inf, pi, sqrt
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.flows.diffusion.reversal import backward_times, kl_to_normal
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
    Identity,
    Knob,
    Motion,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure
from ftheta.theorems.charts_generative import FRAMES, follow_reverse_sde, score_arrows
from ftheta.theorems.knobs import BumpSpread
from ftheta.theorems.laws import ROWS_ARE_A_LAW, place_on_ring
from ftheta.transport.line import line_cost

from .diffusion import (
    farthest_from_normal,
    forward,
    gap_to_normal,
    generate,
    kolmogorov_distance,
    memorise,
    posterior_mean,
    sampling_radius,
    score_by_differentiation,
    tweedie,
)

NOISED = 2.0  # time at which the moving picture turns
MISMATCH = 0.01  # total variation allowed between the law at the horizon and the normal law


def gaussian_mixture(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 8, "number of bumps", "k", most=64)] = 2,
    separation: Annotated[
        float, Knob(0, 5, "distance of the outer bumps from 0", "a", most=100)
    ] = 2.0,
    spread: BumpSpread = 0.5,
    dimension: Annotated[int, Knob(1, 2, "number of coordinates", "d", most=4)] = 1,
) -> Measure:
    atoms = place_on_ring(components, separation, dimension)
    name = f"{components} bumps of spread {spread:g}"
    return Measure(name, atoms, np.full(components, 1 / components), spread)


def distant_bumps(rng: np.random.Generator) -> Measure:
    """The negative control: too far away for the horizon."""
    return gaussian_mixture(rng, separation=1000.0)


def _law_of(measure: Measure) -> Mixture:
    return Mixture(measure.atoms, measure.weights, measure.spread**2)


@hypothesis(
    r"$p_t$ has a density: $s_t^2>0$",
    remedy="look at a later time, or give the data a positive spread",
)
def density_exists(measure: Measure, *, time: float) -> Finding:
    v = _law_of(measure).after(time).variance
    return Finding.decide(
        v > 1e-12, f"s_t² = {v:.6g} at t = {time:g}", "closed form", Enclosure.equal(v)
    )


@hypothesis(
    r"$\mathrm{KL}(p_T\|\mathcal N(0,I))\le2\cdot10^{-4}$",
    remedy="lengthen the horizon, or scale the data down",
)
def horizon_long_enough(measure: Measure, *, horizon: float) -> Finding:
    bound = float(np.sqrt(kl_to_normal(_law_of(measure).after(horizon)) / 2))
    note = f"√(KL/2) is at most {bound:.4g} at T = {horizon:g}"
    return Finding.decide(
        bound <= MISMATCH, note, "KL is convex: a closed form per atom", Enclosure.at_most(bound)
    )


@theorem(
    title="Diffusion models: score, denoising, time reversal",
    gist="Adding noise to data can be reversed by following the score, which is what a denoiser estimates; with the "
    "exact score of a finite sample the reversal only copies the sample.",
    see_also=("unet", "neural-ode-limit", "flow-diffeomorphism"),
    sources=(
        "scaman-slides",
        "peyre-notes",
        "anderson1982",
        "efron2011",
        "song2021",
        "massart1990",
    ),
    assumes=(density_exists, horizon_long_enough),
    on=gaussian_mixture,
    breaks_on=distant_bumps,
    presets={
        "textbook": {},
        "eight sharp bumps": {
            "components": 8,
            "separation": 4.0,
            "spread": 0.1,
            "samples": 10_000,
            "steps": 400,
        },
        "a ring in the plane": {"components": 6, "separation": 3.0, "spread": 0.3, "dimension": 2},
        "at the edge": {"spread": 0.0, "components": 5},
        "broken on purpose": {"horizon": 0.5},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def diffusion_score(
    measure: Measure,
    rng: np.random.Generator,
    *,
    time: Annotated[float, Knob(0, 3, "time of the forward process", "t", most=20)] = 1.0,
    noise: Annotated[float, Knob(0.05, 3, "noise to be removed", "σ", least=1e-3, most=100)] = 1.0,
    probe: Annotated[
        float,
        Knob(-5, 5, "point where score and denoiser are looked at", "x", least=-1e4, most=1e4),
    ] = 0.7,
    horizon: Annotated[
        float, Knob(0.1, 10, "time at which everything has become noise", "T", most=20)
    ] = 6.0,
    samples: Annotated[
        int, Knob(500, 20_000, "points that are generated", "N", log=True, least=100)
    ] = 4000,
    steps: Annotated[
        int, Knob(50, 1000, "steps of the backward process", "K", log=True, most=2000)
    ] = 200,
) -> Evidence:
    r"""Let $p_0=\sum_iw_i\mathcal N(a_i,s^2I)$ diffuse by $dx=-x\,dt+\sqrt2\,dW$. Then
    $p_t=\sum_iw_i\mathcal N(e^{-t}a_i,s_t^2I)$ with $s_t^2=1+(s^2-1)e^{-2t}$, and
    $\mathbb E[x_0\mid x_0+\sigma\xi=x]=x+\sigma^2\nabla\log p_\sigma(x)$ (Tweedie). The reverse SDE
    $$dx=(x+2\nabla\log p_{T-t})\,dt+\sqrt2\,dW\quad\text{and the flow}\quad\dot x=x+\nabla\log p_{T-t}$$
    have the same marginals and carry $p_T$ to $p_0$, hence $\mathcal N(0,I)$ to $p_0$ within
    $\sqrt{\mathrm{KL}(p_T\|\mathcal N(0,I))/2}$ in total variation. The score of a finite sample leads back to it."""
    p = _law_of(measure)
    n, d = measure.atoms.shape
    q = p.after(time)
    N = min(samples, max(100, 40_000_000 // (n * steps)))
    x = np.concatenate([np.full((1, d), probe), q.sample(rng, max(1, min(32, 10_000 // n)))])
    start = start_claim(p, horizon, MISMATCH)
    draws = forward(p, rng, N, time)
    runs = generate(p, rng, N, horizon, steps)
    end = p.after(backward_times(p, horizon, 1)[-1])
    copies, data, far = memorise(p, rng, horizon)
    by_flow, by_sde = (reach_claim(*r, end, start.left.hi) for r in runs)
    flow, sde = (points for _, points, _ in runs)
    found = Enclosure.measured(far.max(), samples=len(far))
    scale = Enclosure.equal(1e-3 * p.variances().sum() ** 0.5)
    memory = AtMost("distance of copies to the sample", found, scale, atol=1e-12)
    known = np.isfinite(flow[:, 0]).all() and np.isfinite(sde[:, 0]).all()
    apart = line_cost(flow[:, 0], sde[:, 0]).middle if known else inf
    w1 = Enclosure.measured(apart, samples=N)
    return Evidence(
        claims=(
            *pointwise_claims(p, time, noise, x),
            *moment_claims(q, draws),
            start,
            by_flow,
            by_sde,
            memory,
        ),
        charts=(
            _draw_motion(p, time, rng),
            _draw_histogram("generated by the reverse SDE", sde, end),
            _draw_forward_densities(p, (0.0, 0.1, 0.5, 1.0, 2.0)),
            _draw_histogram("generated by the score of a finite sample", copies, p, data),
        ),
        numbers={
            "mean at t": q.mean()[0],
            "variance at t": q.variances()[0],
            "score at x": q.score(x)[0, 0],
        }
        | {
            "denoised x": tweedie(p, noise, x)[0, 0],
            "W₁ of flow and SDE": w1,
            "√(KL/2)": start.left.hi,
        },
        summary=f"Kolmogorov distance of {N} generated points to p₀: {by_sde.left.lo:.3g} (SDE), {by_flow.left.lo:.3g} "
        f"(flow); allowed: {by_sde.right.hi:.3g}",
    )


def equality_claim(what: str, left: np.ndarray, right: np.ndarray, rounding: float) -> Identity:
    """The claim that two arrays are equal, shown where they differ most; nothing is known where they are not finite."""
    worst = np.unravel_index(
        int(np.nan_to_num(np.abs(left - right), nan=np.inf).argmax()), left.shape
    )
    one, other = (
        Enclosure.equal(float(a[worst])) if np.isfinite(a[worst]) else Enclosure()
        for a in (left, right)
    )
    return Identity(what, one, other, atol=rounding)


def pointwise_claims(
    mixture: Mixture, t: float, sigma: float, x: np.ndarray
) -> tuple[Identity, ...]:
    """At the rows of `x`: Tweedie's formula against Bayes' rule, the score at time t against a derivative."""
    law = mixture.after(t)
    clean = tweedie(mixture, sigma, x)
    rounding = sigma**2 * mixture.add_noise(sigma).score_rounding(x)
    denoised = equality_claim(
        "Tweedie's formula and Bayes' rule", clean, posterior_mean(mixture, sigma, x), rounding
    )
    if law.variance == 0:
        return (denoised,)
    derivative = score_by_differentiation(law, x)
    rounding = law.score_rounding(x)
    return denoised, equality_claim(
        "score, formula and derivative", law.score(x), derivative, rounding
    )


def moment_claims(law: Mixture, draws: np.ndarray) -> tuple[Identity, ...]:
    r"""The draws have the mean and variance of the law, and $\mathbb E[x\cdot\nabla\log p]=-d$ (Stein).

    By the last, denoising and explicit score matching differ by a constant.
    """
    centre = float(law.mean()[0])
    size = Enclosure.equal(law.variances()[0])
    around = (law.atoms[:, 0] - centre) ** 2
    fourth = float(law.weights @ (around**2 + 6 * around * law.variance + 3 * law.variance**2))
    off = draws[:, 0] - centre
    first = Identity(
        "mean of x_t", mean(draws[:, 0], variance=size.hi), Enclosure.equal(centre), atol=1e-9
    )
    squares = mean(off**2, variance=max(fourth - size.hi**2, 0.0))
    second = Identity("variance of x_t", squares, size, atol=1e-9)
    if law.variance == 0:
        return first, second
    stein = mean((draws * law.score(draws)).sum(1))
    return first, second, Identity("E x·∇log p_t = −d", stein, Enclosure.exact(-draws.shape[1]))


def start_claim(mixture: Mixture, horizon: float, allowed: float) -> AtMost:
    r"""The claim that noise may stand for the law at the horizon: their total variation is at most `allowed`.

    It lies between the Kolmogorov distance of the first coordinates and $\sqrt{\mathrm{KL}/2}$ (Pinsker). Both backward
    processes hand it on: the flow exactly, as it is invertible.
    """
    law = mixture.after(horizon)
    at, gap = farthest_from_normal(law)
    known = Enclosure.between(gap, max(gap, sqrt(kl_to_normal(law) / 2)), Basis.FLOAT)
    witness = Witness(
        {"x": at},
        gap_to_normal(mixture, horizon, at),
        Enclosure.exact(allowed),
        "in ball arithmetic",
    )
    return AtMost(
        "total variation, generated law to p₀", known, Enclosure.exact(allowed), 1.0, witness
    )


def reach_claim(
    what: str, points: np.ndarray, coarse: np.ndarray, mixture: Mixture, mismatch: float
) -> AtMost:
    """The claim that independent points follow the mixture in the first coordinate.

    Allowed are the radius of the sample, the mismatch at the start and, as an estimate of the error of the integration,
    the change with half the steps.
    """
    found, other = (kolmogorov_distance(x[:, 0], mixture) for x in (points, coarse))
    allowed = sampling_radius(len(points)) + mismatch + abs(other - found)
    measured = Enclosure.measured(found, samples=len(points))
    return AtMost(f"Kolmogorov distance, {what} to p₀", measured, Enclosure.equal(allowed), 1.0)


def _draw_forward_densities(mixture: Mixture, times: tuple[float, ...]) -> Curves:
    """The density of the first coordinate at several times of the forward process."""
    laws = {t: mixture.after(t) for t in times if mixture.after(t).variance > 0}
    x = _grid_over(list(laws.values()), 400)
    lines = tuple(Series(f"t = {t:g}", x, law.density(x), "other") for t, law in laws.items())
    normal = Series("normal", x, np.exp(-(x**2) / 2) / sqrt(2 * pi), "reference")
    return Curves("forward densities", Axis("x₁"), Axis("density"), (*lines, normal))


def _draw_motion(p: Mixture, time: float, rng: np.random.Generator) -> Motion:
    """Draws of the law that are noised until the time NOISED and denoised by the reverse SDE; arrows are the score at
    the time t of the knob."""
    n, d = p.atoms.shape
    count = int(max(20, min(120, 2_000_000 // (n * d))))
    x = p.sample(rng, count)
    clock = np.linspace(0, NOISED, FRAMES // 2 + 1)
    fade = np.exp(-float(clock[1]))
    forward = [x]
    for _ in clock[1:]:
        forward.append(fade * forward[-1] + np.sqrt(1 - fade**2) * rng.normal(size=x.shape))
    down = np.concatenate([clock[:0:-1], backward_times(p, NOISED, 1)[-1:]])
    course = np.concatenate([np.stack(forward), follow_reverse_sde(p, forward[-1], down, rng)[1:]])
    times = np.concatenate([clock, NOISED + clock[1:]])
    reach = float(np.quantile(np.abs(course), 0.995))
    q = p.after(time)
    heights = (np.arange(count) + 0.5) / count
    if d == 1:
        arrows = score_arrows(q, reach, np.array([-0.06, 1.06])) if q.variance > 0 else ()
        across, up = course[:, :, 0], np.tile(heights, (len(times), 1))
        axes = (Axis("x₁"), Axis())
    else:
        arrows = score_arrows(q, reach) if q.variance > 0 else ()
        across, up = course[:, :, 0], course[:, :, 1]
        axes = (Axis("x₁"), Axis("x₂"))
    title = f"noised until {NOISED:g}, then denoised; arrows: score at t = {time:g}"
    return Motion(title, *axes, times, across, up, lines=arrows, ways=False, clock="time")


def _draw_histogram(
    title: str, samples: np.ndarray, mixture: Mixture, points: np.ndarray | None = None
) -> Histogram:
    """The first coordinates of the samples, with the density they should follow or the data they return to."""
    heights, edges = np.histogram(samples[np.isfinite(samples[:, 0]), 0], 60, density=True)
    curves = (
        (Series("data", points[:, 0], np.zeros(len(points)), "reference", "points"),)
        if points is not None
        else ()
    )
    if mixture.variance:
        x = _grid_over([mixture], 400)
        curves += (Series("density", x, mixture.density(x), "reference"),)
    return Histogram(title, Axis("x₁"), Axis("density"), edges, heights, curves)


def _grid_over(laws: list[Mixture], points: int) -> np.ndarray:
    ends = [law.atoms[:, 0].min() - 4 * sqrt(law.variance) for law in laws]
    tops = [law.atoms[:, 0].max() + 4 * sqrt(law.variance) for law in laws]
    return np.linspace(min(ends), max(tops), points)
