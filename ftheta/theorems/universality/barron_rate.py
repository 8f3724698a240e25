"""Barron: p steps approximate a function of finite spectral norm to within 2rC/√p, in every dimension."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, sqrt
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation.barron import Problem, gaussian_problem, scales_up_to
from ftheta.approximation.spectral_norm import problem_of
from ftheta.estimates import fit_rate, mean
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Spectrum, Target


def gaussian(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 50, "dimension of the domain", "d", log=True, most=100)] = 1,
    radius: Annotated[
        float, Knob(0.1, 10, "radius of the ball", "r", log=True, least=1e-3, most=100)
    ] = 1.0,
    claimed: Annotated[
        float, Knob(0.05, 1, "part of the true C_f that is claimed", "C/C_f", least=1e-3)
    ] = 1.0,
) -> Target:
    true = Spectrum.gaussian(dimension)
    spectrum = Spectrum(true.sample, Enclosure.equal(true.first_moment.middle * claimed))
    f = lambda x: jnp.exp(-jnp.vdot(x, x) / 2)
    return Target(
        f"Gaussian, d = {dimension}",
        f,
        (-radius,) * dimension,
        (radius,) * dimension,
        spectrum=spectrum,
    )


def norm_claimed_too_small(rng: np.random.Generator) -> Target:
    return gaussian(rng, dimension=1, radius=1.0, claimed=0.1)


@hypothesis(r"$C_f=\int|\omega||\hat f|d\omega<\infty$", remedy="give the true `Spectrum` of f")
def finite_spectral_norm(f: Target) -> Finding:
    if f.spectrum is None or not isfinite(f.spectrum.first_moment.hi):
        return Finding.failed(
            "no spectrum is known" if f.spectrum is None else "the first moment is infinite"
        )
    problem = problem_of(f, np.random.default_rng(0), 16)
    off = problem.mismatch(np.random.default_rng(1))
    note = f"C_f = {problem.moment:.6g}; the spectrum misses f by {off:.3g} of the sampling error"
    return (
        Finding.sampled(note, f.spectrum.first_moment)
        if off <= 1
        else Finding.failed(note, f.spectrum.first_moment)
    )


@theorem(
    title="Barron's rate",
    gist="One hidden layer approximates every function of finite Barron norm with an error that falls with the square "
    "root of the number of neurons in every dimension: no curse of dimensionality for such functions.",
    see_also=("barron-norm", "sobolev-vs-barron", "measure-representation"),
    sources=("peyre-slides", "gribonval-slides", "scaman-slides", "peyre-notes", "barron1993"),
    assumes=(finite_spectral_norm,),
    on=gaussian,
    breaks_on=norm_claimed_too_small,
    presets={
        "textbook": {},
        "twenty dimensions": {"dimension": 20, "p": 2000},
        "at the edge": {"p": 1},
        "broken on purpose": {"claimed": 0.1},
    },
    errata=r"""Peyré's slides: the bound is for the normalised $L^2$ norm (else times $|\Omega|^{1/2}$), a sigmoidal
    $\sigma$ with biases and an offset, and every $p$, not only large ones; greedy steps make it constructive. His notes
    lack the factor $2R$, and with their transform $(2\pi)^{-d}$.""",
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
    found = _draw_networks(problem, rng, p, seeds)
    ratio, worst = problem.growth()
    error = found.squares[-1]
    bound = Enclosure.equal(problem.bound(p))
    scales = found.scales
    roots = found.roots
    claims = [
        AtMost("largest |f − f(x₀)| / (C_f |x − x₀|)", ratio, Enclosure.exact(1), witness=worst),
        AtMost("E‖f − f_p‖²", error, bound, trivial=problem.size),
        Identity("p E‖f − f_p‖² = E‖cH‖² − ‖f − f(x₀)‖²", error * p, found.constant),
        Exists(
            "p neurons with ‖f − f_p‖² ≤ (2rC_f)²/p",
            {"p": float(p)},
            Enclosure.equal(found.best),
            bound,
        ),
    ]
    if len(scales) > 2:
        slope = fit_rate(np.array(scales), np.array(roots))
        claims.append(Rate("‖f − f_p‖", 0.5, slope, scales, roots, slack=0.15, sharp=True))
    return Evidence(
        claims=tuple(claims),
        examples=partial(_gaussians_in_many_dimensions, rng.spawn(1)[0], p),
        charts=(_draw_errors(found),),
        numbers=found.numbers,
        summary=f"p = {p}: "
        + ", ".join(f"{name} {number.middle:.7g}" for name, number in found.numbers.items()),
    )


@dataclass(frozen=True, eq=False)
class _Networks:
    r"""Squared errors: means at each of the `scales`, of the `greedy` network with $1,2,\dots$ neurons, the `best`.

    `constant` is $\mathbb E\|cH\|^2-\|f-f(x_0)\|^2$.
    """

    problem: Problem
    scales: tuple[int, ...]
    squares: tuple[Enclosure, ...]
    greedy: np.ndarray
    best: float
    constant: Enclosure

    @property
    def roots(self) -> tuple[float, ...]:
        return tuple(sqrt(e.middle) for e in self.squares)

    @property
    def numbers(self) -> dict[str, Enclosure]:
        return {
            "C_f": Enclosure.equal(self.problem.moment),
            "bound": Enclosure.equal(sqrt(self.problem.bound(self.scales[-1]))),
            "error": Enclosure.measured(self.roots[-1], samples=self.squares[-1].samples or 0),
            "greedy error": Enclosure.equal(float(np.sqrt(self.greedy[-1]))),
        }


def _draw_networks(problem: Problem, rng: np.random.Generator, p: int, seeds: int) -> _Networks:
    """Networks with p neurons and fewer drawn from the spectrum, and the greedy one."""
    scales = scales_up_to(p)
    drawn = [problem.errors(rng, n, seeds) for n in scales]
    greedy = problem.greedy(rng, p)
    best = min(float(drawn[-1].min()), float(greedy[-1]))
    largest = (2 * problem.ball.radius * problem.moment) ** 2  # of |cH|² anywhere
    constant = mean(problem.energies(rng, 20_000), within=(0.0, largest)) - problem.size
    return _Networks(problem, tuple(scales), tuple(mean(e) for e in drawn), greedy, best, constant)


def _draw_errors(found: _Networks) -> Curves:
    """Root mean square errors with their confidence band, the bound, and the greedy network."""
    # a logarithmic axis has no zero
    low = tuple(sqrt(max(e.lo, e.middle / 100)) for e in found.squares)
    high = tuple(sqrt(e.hi) for e in found.squares)
    bounds = tuple(sqrt(found.problem.bound(p)) for p in found.scales)
    every = max(1, len(found.greedy) // 100)
    shown = [k for k, e in enumerate(found.greedy) if e > 0 and (k < 20 or k % every == 0)]
    greedy = tuple(float(np.sqrt(found.greedy[k])) for k in shown)
    series = (
        Series("bound 2rC/√p", found.scales, bounds, "bound"),
        Series("drawn at random", found.scales, found.roots, "measured", lo=low, hi=high),
        Series("greedy", tuple(k + 1 for k in shown), greedy, "other"),
    )
    return Curves(
        "error against neurons", Axis("neurons p", "log"), Axis("‖f − f_p‖", "log"), series
    )


def _gaussians_in_many_dimensions(
    rng: np.random.Generator, p: int, dimensions: Sequence[int] = (1, 5, 20)
) -> Examples:
    """Errors for the Gaussian on unit balls with their bounds: the slope does not see the dimension."""
    scales = tuple(scales_up_to(p))
    errors = {}
    bounds = {}
    for d in dimensions:
        problem = gaussian_problem(rng, d)
        errors[f"d = {d}"] = [float(np.sqrt(problem.errors(rng, n, 16).mean())) for n in scales]
        bounds[f"bound, d = {d}"] = [sqrt(problem.bound(n)) for n in scales]
    chart = draw_curves(
        "Gaussian on the unit ball: root mean square error over 16 networks",
        scales,
        x="neurons p",
        y="‖f − f_p‖",
        log="xy",
        measured=errors,
        bound=bounds,
    )
    return Examples(claims=(), charts=(chart,))
