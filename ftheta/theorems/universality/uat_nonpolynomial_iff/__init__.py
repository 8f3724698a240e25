"""One hidden layer is dense exactly when its activation is no polynomial: Leshno, Lin, Pinkus and Schocken."""

from fractions import Fraction
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation.jumps import find_jumps
from ftheta.logic import (
    AtMost,
    Curves,
    Enclosure,
    Evidence,
    Exists,
    Finding,
    Knob,
    Table,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS
from ftheta.networks.sheets import THRESHOLD, sheet
from ftheta.subjects import Target
from ftheta.subjects.continuity import continuous_everywhere, not_a_polynomial

from . import density

CHOICES = {
    **{name: a.function for name, a in ACTIVATIONS.items()},
    "step": lambda x: jnp.where(x > 0.0, 1.0, 0.0),
}
FLOOR_DEGREE = 2
WIDTHS = (2, 4, 8, 16, 32, 64)  # of the chart


def activation(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=tuple(CHOICES))] = "tanh",
) -> Target:
    return Target(name, CHOICES[name], (-8.0,), (8.0,))


def polynomial(rng: np.random.Generator) -> Target:
    return activation(rng, name="square")


@hypothesis(
    r"$\varrho$ is continuous off a closed null set and locally bounded",
    remedy="take a function of one variable",
)
def nearly_continuous(rho: Target) -> Finding:
    if rho.dimension != 1:
        return Finding.failed(f"a function of {rho.dimension} variables")
    if continuous_everywhere(rho):
        return Finding.proved(
            "no part of its program can jump", "its operations are continuous and have no poles"
        )
    found = find_jumps(rho.f, rho.lo[0], rho.hi[0])
    places = ", ".join(f"{height:.3g} at x = {x:.4g}" for x, height in found) or "none"
    return Finding.sampled(f"jumps found on [{rho.lo[0]:g}, {rho.hi[0]:g}]: {places}")


@theorem(
    title="Universal if and only if not a polynomial",
    gist="One hidden layer can approximate every continuous function exactly when its activation is not a polynomial: "
    "the weakest condition under which networks are universal.",
    see_also=(
        "uat-cybenko-hornik",
        "uat-step1-ridge-exponentials",
        "uat-step2-mollification",
        "uat-step3-monomials",
    ),
    sources=("gribonval-slides", "murari-slides", "leshno1993"),
    assumes=(nearly_continuous, not_a_polynomial),
    on=activation,
    breaks_on=polynomial,
    presets={
        "textbook": {},
        "rectifiers": {"name": "relu", "width": 32},
        "with a jump": {"name": "step", "width": 64},
        "at the edge": {"name": "softplus", "width": 2, "degree": 1},
        "broken on purpose": {"name": "square"},
    },
    errata=r"""The slides of Gribonval, Garivier and Pustelnik state the equivalence for one given compact $K$. That
    needs $K$ infinite: on $K=\{0,1\}$ the identity activation is already dense.""",
)
def uat_nonpolynomial_iff(
    rho: Target,
    rng: np.random.Generator,
    *,
    degree: Annotated[int, Knob(1, 30, "no polynomial up to this degree", "r", most=100)] = 5,
    width: Annotated[int, Knob(2, 64, "neurons of the fit of |x|", "p", log=True, most=128)] = 24,
) -> Evidence:
    r"""Let $\varrho$ be continuous (or locally bounded, and continuous off a closed null set). The networks
    $$\Sigma(\varrho)=\Big\{\sum_kc_k\,\varrho(\langle w_k,x\rangle+b_k)\Big\}$$ are dense in $C(K)$ for every compact
    $K\subset\mathbb R^d$ iff $\varrho$ is not a polynomial (almost everywhere). With a polynomial of degree $r$ they
    are polynomials of degree $r$: for $r=2$ none comes closer to $|x|$ on $[-1,1]$ than $\frac18$."""
    exact = Enclosure.exact
    floor = density.polynomial_floor(FLOOR_DEGREE)
    found = sheet(rho.name, rho.f, rho.lo[0], rho.hi[0], degree, 0.0)
    fit = density.best_fit(rho.f, rng, width)
    error = fit.supremum().value
    bent = f"2⁻⁴⁰ ≤ relative difference of order {degree + 1}"
    two = density.affine_on_two_points((Fraction(3), Fraction(-1)))
    jumps = find_jumps(rho.f, rho.lo[0], rho.hi[0])
    return Evidence(
        claims=(
            AtMost(bent, exact(THRESHOLD), found.difference.size, witness=found.witness),
            Exists(
                "a network closer to |x| than every parabola",
                {"neurons": float(width)},
                error,
                exact(floor),
            ),
        ),
        as_printed=(
            AtMost(
                "printed for K = {0, 1}: 1/8 ≤ error of the identity activation",
                exact(floor),
                exact(two),
            ),
        ),
        charts=(_draw_fits(rho, rng, float(floor)),),
        tables=(Table("jumps", ("x", "height"), tuple(jumps)),) if jumps else (),
        numbers={
            "floor of parabolas": exact(floor),
            "error": error,
            "difference": found.difference.size,
        },
        summary=f"{rho.name}: {found.density}; {width} neurons follow |x| within {error.hi:.4g} everywhere, "
        f"no parabola within less than {float(floor):g}",
    )


def _draw_fits(rho: Target, rng: np.random.Generator, floor: float) -> Curves:
    """The least error for |x| met up to each width, for this activation, ReLU and the square."""
    programs = {rho.name: rho.f}
    programs.setdefault("relu", CHOICES["relu"])
    programs.setdefault("square", CHOICES["square"])
    errors = {}
    for name, program in programs.items():
        found = [density.best_fit(program, rng, width).error for width in WIDTHS]
        errors[name] = np.maximum(np.minimum.accumulate(found), 1e-16)
    return draw_curves(
        "fits of |x| by one hidden layer",
        WIDTHS,
        x="neurons",
        y="sup error",
        log="xy",
        measured=errors,
        bound={f"floor of degree {FLOOR_DEGREE}": [floor] * len(WIDTHS)},
    )
