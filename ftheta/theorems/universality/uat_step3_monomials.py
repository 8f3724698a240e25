"""Third step of the universality proof: difference quotients of one activation give every monomial."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np
from flint import ctx  # type: ignore[import-untyped]
from scipy.interpolate import BSpline

from ftheta.approximation import monomials as m
from ftheta.estimates import fit_rate
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
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
    hypothesis,
    theorem,
)
from ftheta.subjects import Target

LEAST = Fraction(1, 2**1000)  # no derivative that is not 0 comes near it
NODES = 24  # of Gauss's rule on a piece


def smooth(
    rng: np.random.Generator,
    *,
    activation: Annotated[
        str, Knob(says="the activation", symbol="ϱ", choices=tuple(m.SMOOTH))
    ] = "exp",
) -> Target:
    return Target(activation, m.PROGRAMS[activation], (-1.0,), (1.0,))


def quadratic(rng: np.random.Generator) -> Target:
    return smooth(rng, activation="square")


@hypothesis(
    r"$\varrho$ is smooth and known to any precision",
    remedy="take one of the smooth activations by name",
)
def known_to_all_orders(rho: Target) -> Finding:
    return Finding.decide(
        m.name_of(rho.f) is not None, rho.name, "it is that very function", basis=Basis.EXACT
    )


@hypothesis(r"$\varrho^{(k)}(b)\ne0$", remedy="take another bias, or a ϱ that is no polynomial")
def derivative_at_the_bias(rho: Target, *, power: int, bias: float) -> Finding:
    name = m.name_of(rho.f)
    if name is None:
        return Finding.failed("unknown")
    found = m.derivative_at(name, power, Fraction(bias))
    good = found.lo >= LEAST or found.hi <= -LEAST
    return Finding.decide(
        good,
        f"ϱ^({power})({bias:g}) = {found.middle:.6g}",
        "ball arithmetic",
        found,
        basis=Basis.EXACT,
    )


@theorem(
    title="Monomials by difference quotients",
    gist="Difference quotients in the weights turn a few neurons of a smooth activation into every monomial, hence "
    "into every polynomial: the last step of the proof of universality.",
    see_also=(
        "uat-step1-ridge-exponentials",
        "uat-step2-mollification",
        "uat-nonpolynomial-iff",
        "yarotsky-square",
    ),
    sources=("gribonval-slides", "leshno1993", "pinkus1999"),
    assumes=(known_to_all_orders, derivative_at_the_bias),
    on=smooth,
    breaks_on=quadratic,
    presets={
        "textbook": {},
        "third power of tanh": {"activation": "tanh", "power": 3, "bias": 0.0},
        "high power": {"activation": "softplus", "power": 8, "bias": 0.25},
        "at the edge": {"power": 1, "step": 1.0},
        "broken on purpose": {"activation": "square"},
    },
    errata=r"""The slides of Gribonval, Garivier and Pustelnik write $\phi$ for $\varrho$ and have a factor
    $\frac1{k!}$: $\partial_a^k\varrho(ax+b)|_{a=0}$ is $x^k\varrho^{(k)}(b)$ without it.""",
)
def uat_step3_monomials(
    rho: Target,
    rng: np.random.Generator,
    *,
    power: Annotated[int, Knob(1, 8, "the monomial x^k", "k", most=m.HIGHEST)] = 3,
    step: Annotated[
        float, Knob(1e-4, 1, "step of the differences", "h", log=True, least=1e-9, most=4)
    ] = 0.01,
    bias: Annotated[float, Knob(-2, 2, "bias of every neuron", "b", least=-20, most=20)] = 0.0,
    radius: Annotated[float, Knob(0.25, 4, "for |x| up to", "R", least=0.01, most=20)] = 1.0,
) -> Evidence:
    r"""Let $\varrho\in C^\infty$ and $\varrho^{(k)}(b)\ne0$. Networks with $k+1$ neurons converge to a monomial,
    $$h^{-k}\sum_{j=0}^k(-1)^{k-j}\binom kj\varrho(jhx+b)\to\varrho^{(k)}(b)\,x^k,$$ uniformly for $|x|\le R$, with
    error $\le\frac k2hR^{k+1}\sup|\varrho^{(k+1)}|$: by Peano's representation the left side is
    $x^k\int_0^kB_k(s)\,\varrho^{(k)}(b+shx)\,ds$ with the B-spline $B_k\ge0$, $\int B_k=1$. A smooth $\varrho$ that
    is no polynomial has such a $b$ for every $k$."""
    name = m.name_of(rho.f) or "square"
    b = Fraction(bias)
    h = Fraction(step)
    R = Fraction(radius)
    points = [R * Fraction(i, 8) for i in range(-8, 9)]
    quotients = {
        word: m.Quotient(name, b, power, h, word == "central") for word in ("forward", "central")
    }
    errors = {word: m.error_at(q, points) for word, q in quotients.items()}
    bounds = {word: m.bound_on(q, R) for word, q in quotients.items()}
    top = m.derivative_at(name, power, b)
    against_step = errors_against_step(name, b, power, R)
    size = Enclosure.between(min(abs(top.lo), abs(top.hi)), max(abs(top.lo), abs(top.hi)))
    witness = Witness(
        {"b": bias}, Enclosure.exact(LEAST), size, "the power series in balls of 400 bits"
    )
    return Evidence(
        claims=(
            AtMost("2⁻¹⁰⁰⁰ ≤ |ϱ^(k)(b)|", Enclosure.exact(LEAST), size, witness=witness),
            *(AtMost(f"{w} error for |x| ≤ R", errors[w], bounds[w]) for w in quotients),
            _claim_peano(quotients["forward"], min(R, 1 / h)),
            *rates_in_the_step(against_step),
        ),
        examples=partial(_quotient_of_exp, h, power),
        charts=(_draw_errors(against_step, power),),
        numbers={"ϱ^(k)(b)": top, "bound": bounds["forward"]},
        summary=f"{power + 1} neurons of {name}: {top.middle:.6g} x^{power} for |x| ≤ {radius:g} within "
        f"{bounds['forward'].hi:.3g} (found {errors['forward'].lo:.3g}), centrally within {bounds['central'].hi:.3g}",
    )


def peano_integral(name: str, bias: Fraction, power: int, shift: Fraction) -> tuple[float, float]:
    r"""$\int_0^kB_k(s)\,\varrho^{(k)}(b+s\,\mathrm{shift})\,ds$ by Gauss's rule on each piece of the B-spline; the
    derivative of $\varrho$ is a ball of 400 bits at each node. Also the integral of its absolute value, to which
    rounding is to be compared."""
    spline = BSpline.basis_element(np.arange(power + 1.0), extrapolate=False)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    places = np.concatenate([piece + (nodes + 1) / 2 for piece in range(power)])
    slopes = np.array(
        [m.derivative_at(name, power, bias + shift * Fraction(s)).middle for s in places.tolist()]
    )
    density = np.tile(weights / 2, power) * spline(places)
    return float(density @ slopes), float(density @ np.abs(slopes))


def _claim_peano(quotient: m.Quotient, x: Fraction) -> Identity:
    """The forward quotient at x and its representation by an integral over the derivative. With hx ≤ 1 the derivative
    changes slowly on each piece, and Gauss's rule is exact but for rounding."""
    made = m.value_at(quotient, x)
    integral, size = peano_integral(quotient.name, quotient.bias, quotient.power, quotient.step * x)
    scale = float(x) ** quotient.power
    represented = Enclosure.measured(scale * integral, samples=NODES * quotient.power)
    what = f"Peano: quotient at x = {float(x):g} and x^{quotient.power} ∫ B ϱ^({quotient.power})(b + shx) ds"
    return Identity(what, represented, made, atol=1e-12 * scale * size)


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors against the step, in balls and in float64."""

    steps: tuple[float, ...]
    forward: tuple[float, ...]
    central: tuple[float, ...]
    rounded: tuple[float, ...]


def errors_against_step(name: str, bias: Fraction, power: int, radius: Fraction) -> Errors:
    """The largest errors at nine points of [−radius, radius] for steps 1/2, …, 2⁻²⁰."""
    points = [radius * Fraction(i, 4) for i in range(-4, 5)]
    steps = [Fraction(1, 2**i) for i in range(1, 21)]
    x = np.array([float(t) for t in points])
    forward = []
    central = []
    rounded = []
    with ctx.workprec(m.BITS):
        wanted = np.array([float(m.Quotient(name, bias, power, steps[0]).limit(t)) for t in points])
    for h in steps:
        plain = m.Quotient(name, bias, power, h)
        forward.append(m.error_at(plain, points).lo)
        central.append(m.error_at(m.Quotient(name, bias, power, h, True), points).lo)
        rounded.append(float(np.abs(plain.in_floats(x) - wanted).max()))
    return Errors(tuple(map(float, steps)), tuple(forward), tuple(central), tuple(rounded))


def rates_in_the_step(found: Errors) -> tuple[Rate, ...]:
    """Order 1 of the forward quotient and order 2 of the central one, fitted to the six smallest steps."""
    rates = []
    for name, errors, order in (("forward", found.forward, 1.0), ("central", found.central, 2.0)):
        kept = [(1 / h, e) for h, e in zip(found.steps, errors) if e > 0][-6:]
        if len(kept) > 3:
            scales, values = (np.array(column) for column in zip(*kept))
            slope = fit_rate(scales, values)
            rates.append(
                Rate(f"{name} error, as h falls", order, slope, tuple(scales), tuple(values))
            )
    return tuple(rates)


def power_of_exp(step: Fraction, power: int, x: Fraction) -> Enclosure:
    r"""$((e^{hx}-1)/h)^k$: what the forward quotient of exp at $b=0$ is."""
    with ctx.workprec(m.BITS):
        return Enclosure.ball((m.ball(step * x).expm1() / m.ball(step)) ** power)


def _quotient_of_exp(step: Fraction, power: int) -> Examples:
    made = m.value_at(m.Quotient("exp", Fraction(0), power, step), Fraction(1))
    closed = power_of_exp(step, power, Fraction(1))
    third = m.derivative_at("tanh", 3, Fraction(0))
    return Examples(
        claims=(Identity("quotient of exp at x = 1: ((e^h − 1)/h)^k", made, closed),),
        numbers={"quotient of exp at 1": made, "tanh‴(0)": third},
    )


def _draw_errors(found: Errors, power: int) -> Curves:
    """Largest errors against the step: truncation in 400 bits, and the cancellation of float64."""
    lines = {
        "forward, 400 bits": found.forward,
        "central, 400 bits": found.central,
        "forward, float64": found.rounded,
    }
    series = []
    for name, errors in lines.items():
        kept = [(h, e) for h, e in zip(found.steps, errors) if e > 0]
        role = "bound" if name.endswith("float64") else "measured"
        if kept:
            series.append(Series(name, [h for h, _ in kept], [e for _, e in kept], role))
    title = f"error of x^{power} against the step"
    return Curves(title, Axis("step h", "log"), Axis("largest error", "log"), tuple(series))
