"""Noise can be turned back into data by following the score, which denoising gives."""

from typing import Annotated

import numpy as np

from ftheta.generative import diffusion as process
from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Measure

MISMATCH = 0.01  # total variation allowed between the law at the horizon and the normal law


def gaussian_mixture(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 8, "number of bumps", "k", most=64)] = 2,
    separation: Annotated[float, Knob(0, 5, "distance of the outer bumps from 0", "a", most=100)] = 2.0,
    spread: Annotated[float, Knob(0, 2, "standard deviation of each bump; 0 is discrete data", "s", most=100)] = 0.5,
    dimension: Annotated[int, Knob(1, 2, "number of coordinates", "d", most=4)] = 1,
) -> Measure:
    atoms, name = process.ring(components, separation, dimension), f"{components} bumps of spread {spread:g}"
    return Measure(name, atoms, np.full(components, 1 / components), spread)


def law(measure: Measure) -> process.Mixture:
    return process.Mixture(measure.atoms, measure.weights, measure.spread**2)


@hypothesis(r"$p_t$ has a density: $s_t^2>0$", remedy="look at a later time, or give the data a positive spread")
def density_exists(measure: Measure, *, time: float) -> Finding:
    v = law(measure).after(time).variance
    return Finding.decide(v > 1e-12, f"s_t² = {v:.6g} at t = {time:g}", "closed form", Enclosure.equal(v))


@hypothesis(
    r"$\mathrm{KL}(p_T\|\mathcal N(0,I))\le2\cdot10^{-4}$", remedy="lengthen the horizon, or scale the data down"
)
def horizon_long_enough(measure: Measure, *, horizon: float) -> Finding:
    bound = float(np.sqrt(process.kl_to_normal(law(measure).after(horizon)) / 2))
    note = f"√(KL/2) is at most {bound:.4g} at T = {horizon:g}"
    return Finding.decide(bound <= MISMATCH, note, "KL is convex: a closed form an atom", Enclosure.at_most(bound))


@theorem(
    title="Diffusion models: score, denoising, time reversal",
    sources=("seed 3", "seed 4", "anderson1982", "efron2011", "song2021", "massart1990"),
    assumes=(density_exists, horizon_long_enough),
    on=gaussian_mixture,
    breaks_on=lambda rng: gaussian_mixture(rng, separation=1000.0),
    presets={
        "textbook": {},
        "eight sharp bumps": {"components": 8, "separation": 4.0, "spread": 0.1, "samples": 10_000, "steps": 400},
        "a ring in the plane": {"components": 6, "separation": 3.0, "spread": 0.3, "dimension": 2},
        "at the edge": {"spread": 0.0, "components": 5},
        "broken on purpose": {"horizon": 0.5},
    },
)
def diffusion_score(
    measure: Measure,
    rng: np.random.Generator,
    *,
    time: Annotated[float, Knob(0, 3, "time of the forward process", "t", most=20)] = 1.0,
    noise: Annotated[float, Knob(0.05, 3, "noise to be removed", "σ", least=1e-3, most=100)] = 1.0,
    probe: Annotated[
        float, Knob(-5, 5, "point where score and denoiser are looked at", "x", least=-1e4, most=1e4)
    ] = 0.7,
    horizon: Annotated[float, Knob(0.1, 10, "time at which everything has become noise", "T", most=20)] = 6.0,
    samples: Annotated[int, Knob(500, 20_000, "points that are generated", "N", log=True, least=100)] = 4000,
    steps: Annotated[int, Knob(50, 1000, "steps of the backward process", "K", log=True, most=2000)] = 200,
) -> Evidence:
    r"""Let $p_0=\sum_iw_i\mathcal N(a_i,s^2I)$ diffuse by $dx=-x\,dt+\sqrt2\,dW$. Then
    $p_t=\sum_iw_i\mathcal N(e^{-t}a_i,s_t^2I)$ with $s_t^2=1+(s^2-1)e^{-2t}$, and
    $\mathbb E[x_0\mid x_0+\sigma\xi=x]=x+\sigma^2\nabla\log p_\sigma(x)$ (Tweedie). The reverse SDE
    $$dx=(x+2\nabla\log p_{T-t})\,dt+\sqrt2\,dW\quad\text{and the flow}\quad\dot x=x+\nabla\log p_{T-t}$$
    have the same marginals and carry $p_T$ to $p_0$, hence $\mathcal N(0,I)$ to $p_0$ within
    $\sqrt{\mathrm{KL}(p_T\|\mathcal N(0,I))/2}$ in total variation. The score of a finite sample leads back to it."""
    p, (n, d) = law(measure), measure.atoms.shape
    q, N = p.after(time), min(samples, max(100, 40_000_000 // (n * steps)))
    x = np.concatenate([np.full((1, d), probe), q.sample(rng, max(1, min(32, 10_000 // n)))])
    start, draws = process.matches_start(p, horizon, MISMATCH), process.forward(p, rng, N, time)
    runs = process.generate(p, rng, N, horizon, steps)
    end, (copies, data, far) = p.after(process.backward_times(p, horizon, 1)[-1]), process.memorise(p, rng, horizon)
    (by_flow, by_sde), (flow, sde) = [process.reaches(*r, end, start.left.hi) for r in runs], [r[1] for r in runs]
    found, scale = Enclosure.measured(far.max(), samples=len(far)), Enclosure.equal(1e-3 * p.variances().sum() ** 0.5)
    memory = AtMost("distance of copies to the sample", found, scale, atol=1e-12)
    w1 = Enclosure.measured(process.wasserstein1(flow[:, 0], sde[:, 0]), samples=N)
    return Evidence(
        claims=(*process.pointwise(p, time, noise, x), *process.moments(q, draws), start, by_flow, by_sde, memory),
        charts=(
            process.histogram("generated by the reverse SDE", sde, end),
            process.forward_densities(p, (0.0, 0.1, 0.5, 1.0, 2.0)),
            process.histogram("generated by the score of a finite sample", copies, p, data),
        ),
        numbers={"mean at t": q.mean()[0], "variance at t": q.variances()[0], "score at x": q.score(x)[0, 0]}
        | {"denoised x": process.tweedie(p, noise, x)[0, 0], "W₁ of flow and SDE": w1, "√(KL/2)": start.left.hi},
        summary=f"Kolmogorov distance of {N} generated points to p₀: {by_sde.left.lo:.3g} (SDE), {by_flow.left.lo:.3g} "
        f"(flow); allowed: {by_sde.right.hi:.3g}",
    )
