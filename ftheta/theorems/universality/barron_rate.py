"""Barron: p steps approximate a function of finite spectral norm to within 2rC/√p, in every dimension."""

from math import isfinite
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate
from ftheta.limits.barron import dimension_chart
from ftheta.limits.universality.spectral_norm import problem_of
from ftheta.logic import AtMost, Enclosure, Evidence, Exists, Finding, Identity, Knob, Rate, hypothesis, theorem
from ftheta.subjects import Spectrum, Target


def gaussian(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 50, "dimension of the domain", "d", log=True, most=100)] = 1,
    radius: Annotated[float, Knob(0.1, 10, "radius of the ball", "r", log=True, least=1e-3, most=100)] = 1.0,
    claimed: Annotated[float, Knob(0.05, 1, "part of the true C_f that is claimed", "C/C_f", least=1e-3)] = 1.0,
) -> Target:
    true = Spectrum.gaussian(dimension)
    spectrum = Spectrum(true.sample, Enclosure.equal(true.first_moment.middle * claimed))
    f = lambda x: jnp.exp(-jnp.vdot(x, x) / 2)
    return Target(f"Gaussian, d = {dimension}", f, (-radius,) * dimension, (radius,) * dimension, spectrum=spectrum)


def norm_claimed_too_small(rng: np.random.Generator) -> Target:
    return gaussian(rng, dimension=1, radius=1.0, claimed=0.1)


@hypothesis(r"$C_f=\int|\omega||\hat f|d\omega<\infty$", remedy="give the true `Spectrum` of f")
def finite_spectral_norm(f: Target) -> Finding:
    if f.spectrum is None or not isfinite(f.spectrum.first_moment.hi):
        return Finding.failed("no spectrum is known" if f.spectrum is None else "the first moment is infinite")
    problem = problem_of(f, np.random.default_rng(0), 16)
    off = problem.mismatch(np.random.default_rng(1))
    note = f"C_f = {problem.moment:.6g}; the spectrum misses f by {off:.3g} of the sampling error"
    return Finding.sampled(note, f.spectrum.first_moment) if off <= 1 else Finding.failed(note, f.spectrum.first_moment)


@theorem(
    title="Barron's rate",
    sources=("seed 0", "seed 4", "barron1993"),
    assumes=(finite_spectral_norm,),
    on=gaussian,
    breaks_on=norm_claimed_too_small,
    presets={
        "textbook": {},
        "twenty dimensions": {"dimension": 20, "p": 2000},
        "at the edge": {"p": 1},
        "broken on purpose": {"claimed": 0.1},
    },
    errata=r"""Seed 0: the bound is for the normalised $L^2$ norm (else times $|\Omega|^{1/2}$), a sigmoidal $\sigma$
    with biases and an offset, and every $p$, not only large ones; greedy steps make it constructive. Seed 4 lacks the
    factor $2R$, and with its transform $(2\pi)^{-d}$.""",
)
def barron_rate(
    f: Target,
    rng: np.random.Generator,
    *,
    p: Annotated[int, Knob(1, 1000, "number of neurons", "p", log=True, most=10_000)] = 100,
    seeds: Annotated[int, Knob(8, 200, "networks drawn for each p", "S", log=True)] = 64,
    points: Annotated[int, Knob(16, 1000, "points that carry the norm", "m", log=True)] = 256,
) -> Evidence:
    r"""Let $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$, $C_f=\int|\omega||\hat f|\,d\omega<\infty$.
    For every probability $\mu$ on $|x-x_0|\le r$, every sigmoidal $\sigma$ and every $p\ge1$ there are neurons with
    $$\Big\|f-f(x_0)-\sum_{k\le p}c_k\,\sigma(\langle a_k,\cdot\rangle+b_k)\Big\|_{L^2(\mu)}\le
    \frac{2rC_f}{\sqrt p},\qquad\sum_k|c_k|\le2rC_f.$$ Steps drawn from the spectrum do it on average:
    $p\,\mathbb E\|f-f_p\|^2=\mathbb E\|cH\|^2-\|f-f(x_0)\|^2$."""
    problem = problem_of(f, rng, points)
    found, (ratio, worst) = problem.study(rng, p, seeds), problem.growth()
    error, bound, scales, roots = found.squares[-1], Enclosure.equal(problem.bound(p)), found.scales, found.roots
    claims = [
        AtMost("largest |f − f(x₀)| / (C_f |x − x₀|)", ratio, Enclosure.exact(1), witness=worst),
        AtMost("E‖f − f_p‖²", error, bound, trivial=problem.size),
        Identity("p E‖f − f_p‖² = E‖cH‖² − ‖f − f(x₀)‖²", error * p, found.constant),
        Exists("p neurons with ‖f − f_p‖² ≤ (2rC_f)²/p", {"p": float(p)}, Enclosure.equal(found.best), bound),
    ]
    if len(scales) > 2:
        slope = fit_rate(np.array(scales), np.array(roots))
        claims.append(Rate("‖f − f_p‖", 0.5, slope, scales, roots, slack=0.15, sharp=True))
    return Evidence(
        claims=tuple(claims),
        charts=(found.chart(), dimension_chart(rng, p)),
        numbers=found.numbers,
        summary=f"p = {p}: " + ", ".join(f"{name} {number.middle:.7g}" for name, number in found.numbers.items()),
    )
