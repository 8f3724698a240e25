"""Second step of the universality proof: a smoothed activation is a limit of networks of the activation itself."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.limits.universality import mollified as m
from ftheta.logic import AtMost, Basis, Enclosure, Evidence, Finding, Identity, Knob, Witness, hypothesis, theorem
from ftheta.networks import ACTIVATIONS
from ftheta.networks.sheets import THRESHOLD
from ftheta.networks.slopes import Difference, differences_of, enclosed_difference
from ftheta.subjects import Target
from ftheta.subjects.continuity import not_a_polynomial

NAMES = ("relu", "leaky-relu", "tanh", "sigmoid", "softplus", "square")


def activation(
    rng: np.random.Generator, *, name: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=NAMES)] = "relu"
) -> Target:
    return Target(name, ACTIVATIONS[name].function, (-2.0,), (2.0,))


def polynomial(rng: np.random.Generator) -> Target:
    return activation(rng, name="square")


def bend_of(net: m.Smoothed, lo: float, hi: float, degree: int) -> Difference:
    return differences_of(None, net, degree + 1, lo, hi)


@hypothesis(r"$\varrho:\mathbb R\to\mathbb R$ is Lipschitz where it is needed", remedy="take ReLU, tanh or the like")
def lipschitz_here(rho: Target, *, width: float) -> Finding:
    if rho.dimension != 1:
        return Finding.failed(f"a function of {rho.dimension} variables")
    steep = m.steepest_on(rho.f, rho.lo[0] - width, rho.hi[0] + width)
    number = Enclosure.between(0.0, steep)
    note = f"Lipschitz constant at most {steep:.6g}"
    return Finding.decide(
        steep < np.inf, note, "slopes on cells that fill it, rounded outward", number, basis=Basis.EXACT
    )


@theorem(
    title="Smoothed activations are limits of networks",
    sources=("seed 1", "leshno1993"),
    assumes=(lipschitz_here, not_a_polynomial),
    on=activation,
    breaks_on=polynomial,
    presets={
        "textbook": {},
        "smooth kernel": {"kernel": "bump", "width": 1.0, "neurons": 64},
        "at the edge": {"neurons": 1},
        "broken on purpose": {"name": "square"},
    },
    errata=r"""Seed 1 leaves out that $\psi$ has to be chosen so that $\varrho*\psi$ is no polynomial. There is such a
    $\psi$: if all were polynomials their degrees would be bounded, and $\varrho$ itself would be one.""",
)
def uat_step2_mollification(
    rho: Target,
    rng: np.random.Generator,
    *,
    width: Annotated[float, Knob(0.05, 1, "half-width of the kernel", "ε", log=True, least=1e-3, most=4)] = 0.5,
    neurons: Annotated[int, Knob(1, 64, "neurons of the network", "M", log=True, most=128)] = 16,
    kernel: Annotated[str, Knob(says="the kernel", symbol="ψ", choices=("box", "bump"))] = "box",
    degree: Annotated[int, Knob(1, 10, "no polynomial up to this degree", "r", most=20)] = 3,
) -> Evidence:
    r"""For $\psi\ge0$ of mass 1 on $[-\varepsilon,\varepsilon]$, $\sigma=\varrho*\psi$ is a uniform limit of networks
    of $\varrho$: with cells of width $\Delta=2\varepsilon/M$, centres $y_j$ and masses $w_j$,
    $$\Big|\sigma(x)-\sum_{j\le M}w_j\,\varrho(x-y_j)\Big|\le\tfrac\Delta2\,\mathrm{Lip}(\varrho).$$ For $\psi\in
    C_c^\infty$ it is smooth, and some $\psi$ makes it no polynomial if $\varrho$ is none. ReLU and the box:
    $\sigma(x)=\frac{(x+\varepsilon)^2}{4\varepsilon}$ on $[-\varepsilon,\varepsilon]$."""
    lo, hi, eps = rho.lo[0], rho.hi[0], Fraction(width)
    made = m.smoothed(rho.f, lo, hi, width, kernel, neurons)
    found, bend = m.study(made, lo, hi), bend_of(made, lo, hi, degree)
    bound, rate, exact = Enclosure.equal(made.bound()), found.rate(), Enclosure.exact
    closed = exact(m.rectified_box(eps, Fraction(0)))
    what, witness = f"2⁻⁴⁰ ≤ relative difference of order {degree + 1} of the network", None
    if bend.size.hi < THRESHOLD:
        again = enclosed_difference(made, degree + 1, lo, hi)
        witness = Witness({"x": float(bend.start)}, exact(THRESHOLD), again, "the differences in intervals")
    claims = [
        AtMost("largest |σ − network| ≤ Δ/2 Lip", found.error, bound),
        AtMost(what, exact(THRESHOLD), bend.size, witness=witness),
        Identity(
            "ReLU and box: network − closed form at ends of cells", exact(m.exact_at_ends(eps, neurons)), exact(0)
        ),
    ]
    return Evidence(
        claims=(*claims, rate) if rate else tuple(claims),
        charts=found.charts(rho.name),
        numbers={"ReLU smoothed at 0": closed, "bound": bound, "error": found.error},
        summary=f"{neurons} neurons of {rho.name} follow its smoothed version within {bound.hi:.4g} (met "
        f"{found.met:.3g}); ReLU smoothed by the box is {closed.middle:g} at 0",
    )
