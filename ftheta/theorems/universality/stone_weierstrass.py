"""Polynomials come as close as wanted to every continuous function: Weierstrass, Bernstein, Stone."""

from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation import bernstein as b
from ftheta.approximation.suprema import Oscillation, ranges
from ftheta.logic import (
    Adapter,
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Target
from ftheta.subjects.continuity import continuous, target_of

FUNCTIONS = {
    "|x|": jnp.abs,
    "x": lambda x: x,
    "wave": lambda x: jnp.sin(6 * x),
    "bump": lambda x: 1 / (1 + 9 * x * x),
}
GENERATORS = {"1, x": (lambda x: 1.0, lambda x: x), "1, x²": (lambda x: 1.0, lambda x: x * x)}
USUAL = list(GENERATORS["1, x"])
POINTS = 257  # on which generators are compared


def algebra(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "|x|",
    generators: Annotated[
        str, Knob(says="what generates the algebra", choices=tuple(GENERATORS))
    ] = "1, x",
) -> Family:
    f = Target(f"{name} on [−1, 1]", FUNCTIONS[name], (-1.0,), (1.0,))
    made = GENERATORS[generators]
    return Family(
        f"{f.name}, algebra of {generators}", lambda k, _: made[k], f, tuple(range(len(made)))
    )


def even_powers(rng: np.random.Generator) -> Family:
    return algebra(rng, name="x", generators="1, x²")


def polynomials_for(f: Target) -> Family:
    """A function alone: it is approximated by polynomials."""
    return Family(f.name, lambda k, _: USUAL[k], f, tuple(range(len(USUAL))))


def generators_of(subject: Family) -> list:
    rng = np.random.default_rng(0)
    return [subject.member(k, rng) for k in subject.scales]


@hypothesis(
    r"$\mathcal A$ separates points and vanishes nowhere",
    remedy="add a generator, such as $x$ or 1",
)
def separating(subject: Family) -> Finding:
    f = target_of(subject)
    generators = generators_of(subject)
    pairs = b.find_unseparated(generators, f.lo[0], f.hi[0], POINTS)
    if pairs:
        return Finding.failed(
            "all generators vanish or agree at x = {:g}, y = {:g}".format(*pairs[0])
        )
    if generators == USUAL:
        return Finding.proved(
            "the constant 1 and x itself", "x ≠ y where x and y differ, and 1 ≠ 0"
        )
    return Finding.sampled(f"no two of {POINTS} points agree, neighbours within rounding aside")


@theorem(
    title="Weierstrass, Bernstein and Stone",
    gist="Polynomials approximate every continuous function on an interval as closely as one likes, and so does every "
    "algebra of functions that separates points: the tool behind most universality proofs.",
    see_also=("uat-step1-ridge-exponentials", "uat-cybenko-hornik", "yarotsky-square"),
    sources=("gribonval-slides", "murari-slides", "popoviciu1935", "stone1948"),
    assumes=(continuous, separating),
    adapters=(Adapter(Target, polynomials_for),),
    on=algebra,
    breaks_on=even_powers,
    presets={
        "textbook": {},
        "a wave": {"name": "wave", "n": 200, "eps": 0.5},
        "at the edge": {"name": "x", "n": 1},
        "broken on purpose": {"name": "x", "generators": "1, x²"},
    },
)
def stone_weierstrass(
    subject: Family,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(1, 200, "degree", "n", log=True, most=500)] = 40,
    eps: Annotated[float, Knob(0.01, 1, "error wanted", "ε", log=True, least=1e-3, most=100)] = 0.1,
) -> Evidence:
    r"""For continuous $f$ on $[0,1]$ let $B_nf(x)=\sum_kf(\frac kn)\binom nkx^k(1-x)^{n-k}$. Then
    $$\|B_nf-f\|_\infty\le\tfrac32\,\omega_f(n^{-1/2}),\qquad B_n(x^2)-x^2=\frac{x(1-x)}n,$$ so polynomials are dense
    in $C[a,b]$. For compact $K$ a sub-algebra of $C(K)$ is dense iff it separates points and vanishes nowhere."""
    f = target_of(subject)
    generators = generators_of(subject)
    lo = f.lo[0]
    hi = f.hi[0]
    made = b.Approximant.of(f.f, lo, hi, n)
    spread = Oscillation.of(f.f, lo, hi)
    found = made.error()
    bound = b.popoviciu(spread, hi - lo, n)
    pairs = b.find_unseparated(generators, lo, hi, POINTS)
    missed = b.distance_below(f.f, pairs)
    degree = b.degree_for(spread, hi - lo, eps)
    polynomials = generators == USUAL
    # of another algebra the points that it does not separate tell how far it is at least
    distance = (
        Enclosure.between(0.0, found.value.hi)
        if polynomials
        else Enclosure.at_least(missed, samples=POINTS)
    )
    witness = b.too_far(f.f, generators, pairs, bound) if missed > bound.hi else None
    return Evidence(
        claims=(
            AtMost(
                "sup |B_n f − f| ≤ 3/2 ω(n^−½)",
                found.value,
                bound,
                trivial=spread.modulus(hi - lo).hi,
            ),
            AtMost(
                "distance of f from the algebra ≤ 3/2 ω(n^−½)", distance, bound, witness=witness
            ),
        ),
        examples=partial(_examples, n),
        charts=_draw_approximants(f, made, spread),
        numbers={"error": found.value, "bound": bound},
        summary=f"sup |B_{n} f − f| in [{found.value.lo:.4g}, {found.value.hi:.4g}], bound {bound.hi:.4g}; "
        + (
            f"the bound promises {eps:g} from degree {degree}"
            if degree
            else f"no degree promises {eps:g}: f jumps"
        ),
    )


def _examples(n: int) -> Examples:
    """Bernstein polynomials of x² and of |x − ½|."""
    gap, half = b.square_identity(n)
    what = "sum of |coefficients| of B_n(x²) − x² − x(1 − x)/n"
    return Examples(
        claims=(Identity(what, Enclosure.exact(gap), Enclosure.exact(0)),),
        numbers={
            "B_n |x − ½| at ½": Enclosure.exact(b.vee_at_half(n)),
            "B_n x² − x² at ½": Enclosure.exact(half),
        },
    )


def _draw_approximants(
    f: Target, made: b.Approximant, spread: Oscillation
) -> tuple[Curves, Curves]:
    """The function with a few approximants; and the error on a grid against the degree, with its bound."""
    x = np.linspace(made.lo, made.hi, 401)
    truth = ranges(f.f, x[:, None], x[:, None]).lo
    degrees = sorted({max(1, made.n >> k) for k in range(7)})
    ladder = {n: b.Approximant.of(f.f, made.lo, made.hi, n)(x) for n in degrees}
    shown = sorted({degrees[0], degrees[len(degrees) // 2], degrees[-1]})
    curves = (
        Series(f.name, x, truth, "reference"),
        *(Series(f"n = {n}", x, ladder[n]) for n in shown),
    )
    errors = draw_curves(
        "error against degree",
        degrees,
        x="degree n",
        y="sup error",
        log="xy",
        measured={
            "largest error on a grid": [
                max(float(np.abs(ladder[n] - truth).max()), 1e-17) for n in degrees
            ]
        },
        bound={
            "3/2 ω(n^−½)": [
                max(b.popoviciu(spread, made.hi - made.lo, n).hi, 1e-17) for n in degrees
            ]
        },
    )
    return Curves("Bernstein polynomials", Axis("x"), Axis("value"), curves), errors
