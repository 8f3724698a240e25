"""Second step of the universality proof: a smoothed activation is a limit of networks of the activation itself."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.approximation.suprema import ranges
from ftheta.estimates import fit_rate
from ftheta.graph.certain import polynomial_degree
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
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
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS
from ftheta.networks.sheets import THRESHOLD
from ftheta.networks.slopes import differences_of, enclosed_difference
from ftheta.subjects import Target
from ftheta.subjects.continuity import not_a_polynomial

from . import mollified as m

NAMES = ("relu", "leaky-relu", "tanh", "sigmoid", "softplus", "square")


def activation(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=NAMES)] = "relu",
) -> Target:
    return Target(name, ACTIVATIONS[name].function, (-2.0,), (2.0,))


def polynomial(rng: np.random.Generator) -> Target:
    return activation(rng, name="square")


@hypothesis(
    r"$\varrho:\mathbb R\to\mathbb R$ is Lipschitz where it is needed",
    remedy="take ReLU, tanh or the like",
)
def lipschitz_here(rho: Target, *, width: float) -> Finding:
    if rho.dimension != 1:
        return Finding.failed(f"a function of {rho.dimension} variables")
    steep = m.steepest_on(rho.f, rho.lo[0] - width, rho.hi[0] + width)
    number = Enclosure.between(0.0, steep)
    note = f"Lipschitz constant at most {steep:.6g}"
    return Finding.decide(
        steep < np.inf,
        note,
        "slopes on cells that fill it, rounded outward",
        number,
        basis=Basis.EXACT,
    )


@theorem(
    title="Smoothed activations are limits of networks",
    gist="An activation smoothed by a kernel is a limit of networks of the activation itself, so in proofs of "
    "universality one may assume that the activation is smooth.",
    see_also=("uat-step1-ridge-exponentials", "uat-step3-monomials", "uat-nonpolynomial-iff"),
    sources=("gribonval-slides", "leshno1993"),
    assumes=(lipschitz_here, not_a_polynomial),
    on=activation,
    breaks_on=polynomial,
    presets={
        "textbook": {},
        "smooth kernel": {"kernel": "bump", "width": 1.0, "neurons": 64},
        "at the edge": {"neurons": 1},
        "broken on purpose": {"name": "square"},
    },
    errata=r"""The slides of Gribonval, Garivier and Pustelnik leave out that $\psi$ has to be chosen so that
    $\varrho*\psi$ is no polynomial. There is such a $\psi$: if all were polynomials their degrees would be bounded, and
    $\varrho$ itself would be one.""",
)
def uat_step2_mollification(
    rho: Target,
    rng: np.random.Generator,
    *,
    width: Annotated[
        float, Knob(0.05, 1, "half-width of the kernel", "ε", log=True, least=1e-3, most=4)
    ] = 0.5,
    neurons: Annotated[int, Knob(1, 64, "neurons of the network", "M", log=True, most=128)] = 16,
    kernel: Annotated[str, Knob(says="the kernel", symbol="ψ", choices=("box", "bump"))] = "box",
    degree: Annotated[int, Knob(1, 10, "no polynomial up to this degree", "r", most=20)] = 3,
) -> Evidence:
    r"""For $\psi\ge0$ of mass 1 on $[-\varepsilon,\varepsilon]$, $\sigma=\varrho*\psi$ is a uniform limit of networks
    of $\varrho$: with cells of width $\Delta=2\varepsilon/M$, centres $y_j$ and masses $w_j$,
    $$\Big|\sigma(x)-\sum_{j\le M}w_j\,\varrho(x-y_j)\Big|\le\tfrac\Delta2\,\mathrm{Lip}(\varrho).$$ For $\psi\in
    C_c^\infty$ it is smooth, and some $\psi$ makes it no polynomial if $\varrho$ is none. ReLU and the box:
    $\sigma(x)=\frac{(x+\varepsilon)^2}{4\varepsilon}$ on $[-\varepsilon,\varepsilon]$."""
    lo = rho.lo[0]
    hi = rho.hi[0]
    eps = Fraction(width)
    made = m.smooth(rho.f, lo, hi, width, kernel, neurons)
    found = m.measure_errors(made, lo, hi)
    bound = Enclosure.equal(made.bound())
    return Evidence(
        claims=(
            AtMost("largest |σ − network| ≤ Δ/2 Lip", found.error, bound),
            _claim_no_polynomial(rho, made, degree),
            *_rate(found),
        ),
        examples=partial(_relu_and_box, eps, neurons),
        charts=(_draw_smoothing(found, rho.name), _draw_errors(found)),
        numbers={"bound": bound, "error": found.error},
        summary=f"{neurons} neuron{'s' * (neurons > 1)} of {rho.name} for its smoothed version: error at most "
        f"{bound.hi:.4g} (found {found.met:.3g})",
    )


def _claim_no_polynomial(rho: Target, made: m.Smoothed, degree: int) -> AtMost | Exists:
    """The smoothed activation is no polynomial. On one interval it may be one although ϱ is none (ReLU beside its
    kink): that refutes nothing, unless ϱ is a polynomial everywhere, and with it all that is made of it."""
    lo = rho.lo[0]
    hi = rho.hi[0]
    bend = differences_of(None, made, degree + 1, lo, hi)
    least = Enclosure.exact(THRESHOLD)
    what = f"2⁻⁴⁰ ≤ relative difference of order {degree + 1} of the network"
    if polynomial_degree(rho.f, (lo + hi) / 2) is None:
        return Exists(what, {"ε": made.width, "x": float(bend.start)}, least, bend.size)
    again = enclosed_difference(made, degree + 1, lo, hi)
    how = "the differences in intervals"
    witness = Witness({"x": float(bend.start)}, least, again, how)
    return AtMost(what, least, bend.size, witness=witness)


def _rate(found: m.Errors) -> tuple[Rate, ...]:
    rounding = 1e-13 * float(np.abs(found.truth).max())
    if len(found.counts) < 4 or min(found.errors) <= rounding:
        return ()
    slope = fit_rate(np.array(found.counts), np.array(found.errors))
    return (Rate("largest error", 1.0, slope, found.counts, found.errors),)


def _relu_and_box(width: Fraction, neurons: int) -> Examples:
    what = "ReLU and box: network − closed form at ends of cells"
    gap = m.exact_at_ends(width, neurons)
    claim = Identity(what, Enclosure.exact(gap), Enclosure.exact(0))
    return Examples(
        (claim,),
        numbers={"ReLU smoothed at 0": Enclosure.exact(m.rectified_box(width, Fraction(0)))},
    )


def _draw_smoothing(found: m.Errors, name: str) -> Curves:
    plain = ranges(found.made.rho, found.x[:, None], found.x[:, None]).lo
    network = f"network, {found.made.neurons} neuron{'s' * (found.made.neurons > 1)}"
    return draw_curves(
        "an activation, smoothed",
        found.x,
        x="x",
        y="value",
        reference={name: plain},
        measured={network: found.values},
        other={"smoothed": found.truth},
    )


def _draw_errors(found: m.Errors) -> Curves:
    kept = [(n, e) for n, e in zip(found.counts, found.errors) if e > 0]
    bounds = [found.made.steepest * found.made.width / n for n in found.counts]
    series = (
        Series("largest error on a grid", [n for n, _ in kept], [e for _, e in kept]),
        Series("Δ/2 · Lip", found.counts, bounds, "bound"),
    )
    return Curves("error against neurons", Axis("neurons M", "log"), Axis("error", "log"), series)
