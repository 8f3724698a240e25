"""The curse of dimension for fixed bases, and how networks that choose their neurons escape it."""

from collections.abc import Sequence
from functools import partial
from math import pi
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.approximation.goal import Goal, goal_of
from ftheta.estimates import fit_rate
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Target

from . import fixed_bases as bases
from . import sobolev
from .seminorms import Seminorm, enclose_seminorm, measure_seminorm

FUNCTIONS = {
    "Gaussian": (lambda x: jnp.exp(-x * x / 2), 12.0),
    "wave packet": (lambda x: jnp.exp(-x * x / 2) * jnp.cos(3 * x), 12.0),
    "wave": (lambda x: jnp.cos(x) + 0.5 * jnp.sin(2 * x), pi),
    "box": (lambda x: jnp.where(jnp.abs(x) < 1, 1.0, 0.0), 8.0),
}


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[
        str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))
    ] = "Gaussian",
) -> Target:
    f, half = FUNCTIONS[name]
    return Target(name, f, (-half,), (half,))


@hypothesis(
    r"$\|\nabla f\|_{L^2}<\infty$; $f$ decays, or is periodic, at the ends of its box, $d\le2$",
    remedy="take a smoother function, more samples, or a larger box",
)
def finite_seminorm(f: Target, *, points: int) -> Finding:
    if f.dimension > 2:
        return Finding.failed(f"{f.dimension} variables")
    found = measure_seminorm(goal_of(f, None), points)
    note = f"{found.below_half:.6g} up to Λ/2, {found.by_fourier:.6g} up to Λ = {found.spectral.cut:.4g}"
    ends = "decays at the ends" if found.spectral.quiet else "taken to be periodic"
    return (
        Finding.sampled(f"{ends}; {note}")
        if found.is_settled
        else Finding.failed(f"{note}: it grows with Λ")
    )


@theorem(
    title="Fixed bases suffer from dimension, networks do not",
    gist="Approximation from a fixed basis needs exponentially many terms in the dimension, while networks that choose "
    "their neurons for the function escape the curse of dimensionality on functions of finite Barron norm.",
    see_also=("barron-rate", "barron-norm", "measure-representation"),
    sources=("gribonval-slides", "peyre-notes", "barron1993", "devore1989", "mhaskar1996"),
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
    errata=r"""Peyré's notes leave out Parseval's constant $(2\pi)^{\pm d}$, and the quantity is the homogeneous
    seminorm $\|\nabla f\|_{L^2}$, not the norm of $W^{1,2}$.""",
)
def sobolev_vs_barron(
    f: Target,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(32, 1024, "samples per side", "N", log=True, most=2048)] = 512,
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
    goal = goal_of(f, None)
    found = measure_seminorm(goal, points)
    total = Enclosure.equal(found.by_fourier)
    other = Enclosure.equal(found.other_convention)
    norm = found.spectral.up_to(found.spectral.cut)
    return Evidence(
        claims=(
            Identity(
                "‖∇f‖²: Fourier coefficients and differences",
                total,
                found.by_differences,
                rtol=1e-3,
            ),
        ),
        examples=partial(_bases_and_networks, rng, dimension, subspace, smoothness, seeds),
        as_printed=(
            Identity("∫|ω|²|f̂|² = ‖∇f‖² without (2π)^d", other, total, _printed_again(goal)),
        ),
        charts=(_draw_shares(found, f.name),),
        numbers={
            "‖∇f‖²": total,
            "∫|ω|²|f̂|² without (2π)^d": other,
            "C_f": Enclosure.equal(norm),
            "κ": bases.KAPPA,
        },
        summary=f"{f.name}: ‖∇f‖² = {total.middle:.7g}, C_f = {norm:.6g}; in dimension {dimension} a grid of n cells "
        f"gains n^(−1/{dimension}), a network n^(−1/2)",
    )


def _printed_again(goal: Goal) -> Witness:
    """Both sides of the misprint for this function, from enclosures of its slopes."""
    seminorm = enclose_seminorm(goal)
    with ctx.workprec(128):
        constant = Enclosure.ball((2 * arb.pi()) ** goal.dimension)
    how = "slopes in intervals on cells that fill the box; the constant in balls"
    return Witness({"d": float(goal.dimension)}, constant * seminorm, seminorm, how)


def _bases_and_networks(
    rng: np.random.Generator, dimension: int, subspace: int, smoothness: int, seeds: int
) -> Examples:
    """What every fixed subspace leaves over, what smoothness alone gains, and a wave by cubes and by networks."""
    exact = Enclosure.exact
    left = bases.leftover(rng, subspace)
    smooth = [sobolev.measure_errors(smoothness, d) for d in sobolev.DEGREES]
    contests = [bases.compare(rng, d, seeds) for d in sorted({1, 2, 4, 8, dimension})]
    chosen = next(contest for contest in contests if contest.d == dimension)
    side = 8
    bound = Enclosure.equal(bases.subspace_bound(dimension, side**dimension))
    worst = Enclosure.equal(bases.worst_wave(dimension, side))
    hidden = sobolev.find_unseen(rng, subspace, dimension)
    quarter = Enclosure.equal(subspace ** (-1 / dimension) / 4)
    return Examples(
        claims=(
            Identity("Σ‖eᵢ − Peᵢ‖² = n", exact(left.total), exact(subspace)),
            AtMost("½ ≤ max ‖eᵢ − Peᵢ‖²", exact(0.5), exact(left.largest)),
            AtMost("κ/d n^(−1/d) ≤ distance of a wave from 8^d cubes", bound, worst),
            _rate_of_cubes(chosen),
            _rate_of_networks(chosen),
            Identity("the n parameters of f, and of −f", exact(hidden.parameters), exact(0)),
            AtMost("¼ n^(−1/d) ≤ ‖f‖ with |∇f| ≤ 1", quarter, exact(hidden.size)),
            *(_rate_of_smoothness(line) for line in smooth),
        ),
        charts=(*_draw_contests(contests), _draw_smooth(smooth)),
    )


def _rate_of_cubes(contest: bases.Contest) -> Rate:
    cut = 4  # the first cubes are as long as the wave
    counts = contest.counts[cut:]
    errors = contest.cubes[cut:]
    slope = fit_rate(np.array(counts, float), np.array(errors))
    what = f"means over n cubes, d = {contest.d}"
    return Rate(what, 1 / contest.d, slope, counts, errors, slack=0.05, sharp=True)


def _rate_of_networks(contest: bases.Contest) -> Rate:
    slope = fit_rate(np.array(bases.NEURONS, float), np.array(contest.networks))
    what = f"network of n neurons, d = {contest.d}"
    return Rate(what, 0.5, slope, bases.NEURONS, contest.networks, slack=0.15, sharp=True)


def _rate_of_smoothness(line: sobolev.Smooth) -> Rate:
    slope = fit_rate(np.array(line.neurons, float), np.array(line.errors))
    what = f"n tanh neurons for s = {line.s}, d = {line.d}"
    return Rate(what, line.s / line.d, slope, line.neurons, line.errors, slack=0.25)


def _draw_contests(contests: Sequence[bases.Contest]) -> tuple[Curves, Curves]:
    """The same wave on grids that are fixed, and by neurons that are chosen for it."""
    cubes = []
    for contest in contests:
        kept = [(n, error) for n, error in zip(contest.counts, contest.cubes) if n <= 1e6]
        cubes.append(Series(f"d = {contest.d}", [n for n, _ in kept], [error for _, error in kept]))
    title = "a wave of Barron norm 2π, constant on n cubes"
    networks = {f"d = {contest.d}": contest.networks for contest in contests}
    return (
        Curves(title, Axis("cubes n", "log"), Axis("L² error", "log"), tuple(cubes)),
        draw_curves(
            "the same wave by n neurons",
            bases.NEURONS,
            x="neurons n",
            y="L² error",
            log="xy",
            measured=networks,
        ),
    )


def _draw_smooth(found: Sequence[sobolev.Smooth]) -> Curves:
    series = []
    for line in found:
        series.append(Series(f"d = {line.d}", line.neurons, line.errors, "measured"))
        guide = line.errors[-1] * (np.array(line.neurons) / line.neurons[-1]) ** (-line.s / line.d)
        series.append(Series(f"slope −{line.s / line.d:g}", line.neurons, guide, "reference"))
    title = (
        f"tanh networks for functions of {found[0].s} bounded derivative{'s' * (found[0].s > 1)}"
    )
    return Curves(title, Axis("neurons n", "log"), Axis("largest error", "log"), tuple(series))


def _draw_shares(found: Seminorm, name: str) -> Curves:
    """What is known of both norms up to a frequency."""
    spectral = found.spectral
    cuts = np.geomspace(max(spectral.cut / 1000, 0.05), spectral.cut, 60)
    squares = np.concatenate([[0.0], np.cumsum(spectral.terms**2)])
    whole = max(float(squares[-1]), 1e-300)
    total = max(spectral.up_to(spectral.cut), 1e-300)
    return draw_curves(
        f"{name}: shares of both norms",
        cuts,
        x="Λ",
        y="share",
        log="x",
        measured={
            "‖∇f‖² up to Λ": squares[np.searchsorted(spectral.frequencies, cuts, "right")] / whole
        },
        other={"Barron norm up to Λ": [spectral.up_to(float(cut)) / total for cut in cuts]},
    )
