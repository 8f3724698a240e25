"""The curse of dimension for fixed bases, and how networks that choose their neurons escape it."""

from math import pi
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.limits.universality import smoothness as s
from ftheta.limits.universality import sobolev
from ftheta.limits.universality.approximation.goal import goal_of
from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Target

FUNCTIONS = {
    "Gaussian": (lambda x: jnp.exp(-x * x / 2), 12.0),
    "wave packet": (lambda x: jnp.exp(-x * x / 2) * jnp.cos(3 * x), 12.0),
    "wave": (lambda x: jnp.cos(x) + 0.5 * jnp.sin(2 * x), pi),
    "box": (lambda x: jnp.where(jnp.abs(x) < 1, 1.0, 0.0), 8.0),
}


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "Gaussian",
) -> Target:
    f, half = FUNCTIONS[name]
    return Target(name, f, (-half,), (half,))


@hypothesis(
    r"$\|\nabla f\|_{L^2}<\infty$; $f$ dies out, or closes up, at the ends of its box, $d\le2$",
    remedy="take a smoother function, more samples, or a larger box",
)
def finite_seminorm(f: Target, *, points: int) -> Finding:
    if f.dimension > 2:
        return Finding.failed(f"{f.dimension} variables")
    found = s.seminorm(goal_of(f, None), points)
    note = f"{found.below_half:.6g} up to Λ/2, {found.by_fourier:.6g} up to Λ = {found.spectral.cut:.4g}"
    ends = "dies out" if found.spectral.quiet else "taken to be periodic"
    return Finding.sampled(f"{ends}; {note}") if found.settled else Finding.failed(f"{note}: it grows with Λ")


@theorem(
    title="Fixed bases suffer from dimension, networks do not",
    sources=("seed 1", "seed 4", "barron1993", "devore1989", "mhaskar1996"),
    assumes=(finite_seminorm,),
    on=functions,
    breaks_on=lambda rng: functions(rng, name="box"),
    presets={
        "textbook": {},
        "wave packet": {"name": "wave packet"},
        "sixteen dimensions": {"dimension": 16, "smoothness": 3},
        "at the edge": {"name": "wave", "points": 128, "dimension": 1, "subspace": 1},
        "broken on purpose": {"name": "box"},
    },
    unbreakable="sums over a grid contradict one another for a function that jumps; their own error has no bound",
    errata=r"""Seed 4 leaves out Parseval's constant $(2\pi)^{\pm d}$, and the quantity is the homogeneous seminorm
    $\|\nabla f\|_{L^2}$, not the norm of $W^{1,2}$.""",
)
def sobolev_vs_barron(
    f: Target,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(32, 1024, "samples a side", "N", log=True, most=2048)] = 512,
    dimension: Annotated[int, Knob(1, 8, "dimension of the experiment", "d", most=20)] = 4,
    subspace: Annotated[int, Knob(1, 12, "dimension of a subspace", "n", most=24)] = 6,
    smoothness: Annotated[int, Knob(1, 3, "bounded derivatives", "s", most=4)] = 2,
    seeds: Annotated[int, Knob(8, 400, "networks drawn for each n", "S", log=True)] = 200,
) -> Evidence:
    r"""$\int|\omega|^2|\hat f|^2d\omega=(2\pi)^{-d}\|\nabla f\|_{L^2}^2$. With $n$ continuously chosen parameters the
    unit ball of $W^{s,\infty}([0,1]^d)$ costs $n^{-s/d}$ (DeVore, Howard, Micchelli; attained, Mhaskar). Every fixed
    $n$-dimensional subspace of $L^2([0,1]^d)$ has $$\sup_{C_f\le C}\mathrm{dist}(f,X_n)\ge\frac\kappa d\,C\,n^{-1/d},
    \qquad\kappa=\frac1{8\pi e^{\pi-1}},$$ as it leaves one of $2n$ orthonormal vectors at squared distance
    $\ge\frac12$; while $n$ neurons chosen for $f$ reach $2rC\,n^{-1/2}$ in every dimension."""
    goal, exact = goal_of(f, None), Enclosure.exact
    found, left = s.seminorm(goal, points), s.leftover(rng, subspace)
    smooth = [sobolev.measured(smoothness, d) for d in sobolev.DEGREES]
    races = [s.race(rng, d, seeds) for d in sorted({1, 2, 4, 8, dimension})]
    chosen, cubes = next(r for r in races if r.d == dimension), 8
    bound, worst = s.subspace_bound(dimension, cubes**dimension), s.worst_wave(dimension, cubes)
    total, equal = Enclosure.equal(found.by_fourier), Enclosure.equal
    norm = found.spectral.up_to(found.spectral.cut)
    return Evidence(
        claims=(
            Identity("‖∇f‖²: Fourier coefficients and differences", total, found.by_differences, rtol=1e-3),
            Identity("Σ‖eᵢ − Peᵢ‖² = n", exact(left.total), exact(subspace)),
            AtMost("½ ≤ max ‖eᵢ − Peᵢ‖²", exact(0.5), exact(left.largest)),
            AtMost("κ/d n^(−1/d) ≤ distance of a wave from 8^d cubes", equal(bound), equal(worst)),
            *chosen.rates(),
            *sobolev.unseen(rng, subspace, dimension).claims(),
            *(line.rate() for line in smooth),
        ),
        as_printed=(Identity("∫|ω|²|f̂|² = ‖∇f‖² without (2π)^d", equal(found.other_convention), total),),
        charts=(*s.charts(races), sobolev.chart(smooth), s.spectrum_chart(found, f.name)),
        numbers={"‖∇f‖²": total, "seed 4's ∫|ω|²|f̂|²": equal(found.other_convention), "C_f": equal(norm), "κ": s.KAPPA},
        summary=f"{f.name}: ‖∇f‖² = {total.middle:.7g}, C_f = {norm:.6g}; in dimension {dimension} a grid of n cells "
        f"gains n^(−1/{dimension}), a network n^(−1/2)",
    )
