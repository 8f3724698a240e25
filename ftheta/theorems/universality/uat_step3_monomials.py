"""Third step of the universality proof: difference quotients of one activation give every monomial."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.limits.universality import monomials as m
from ftheta.logic import AtMost, Basis, Enclosure, Evidence, Finding, Identity, Knob, Witness, hypothesis, theorem
from ftheta.subjects import Target

LEAST = Fraction(1, 2**40)


def smooth(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=tuple(m.SMOOTH))] = "exp",
) -> Target:
    return Target(activation, m.PROGRAMS[activation], (-1.0,), (1.0,))


def quadratic(rng: np.random.Generator) -> Target:
    return smooth(rng, activation="square")


@hypothesis(r"$\varrho$ is smooth and known to any precision", remedy="take one of the smooth activations by name")
def known_to_all_orders(rho: Target) -> Finding:
    return Finding.decide(m.name_of(rho.f) is not None, rho.name, "it is that very function", basis=Basis.EXACT)


@hypothesis(r"$\varrho^{(k)}(b)\ne0$", remedy="take another bias, or a ϱ that is no polynomial")
def derivative_at_the_bias(rho: Target, *, power: int, bias: float) -> Finding:
    if (name := m.name_of(rho.f)) is None:
        return Finding.failed("unknown")
    found = m.derivative_at(name, power, Fraction(bias))
    good = min(abs(found.lo), abs(found.hi)) >= LEAST and found.lo * found.hi > 0
    return Finding.decide(
        good, f"ϱ^({power})({bias:g}) = {found.middle:.6g}", "ball arithmetic", found, basis=Basis.EXACT
    )


@theorem(
    title="Monomials by difference quotients",
    sources=("seed 1", "leshno1993", "pinkus1999"),
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
    errata=r"""Seed 1 writes $\phi$ for $\varrho$ and has a factor $\frac1{k!}$: $\partial_a^k\varrho(ax+b)|_{a=0}$
    is $x^k\varrho^{(k)}(b)$ without it.""",
)
def uat_step3_monomials(
    rho: Target,
    rng: np.random.Generator,
    *,
    power: Annotated[int, Knob(1, 8, "the monomial x^k", "k", most=m.HIGHEST)] = 3,
    step: Annotated[float, Knob(1e-4, 1, "step of the differences", "h", log=True, least=1e-9, most=4)] = 0.01,
    bias: Annotated[float, Knob(-2, 2, "bias of every neuron", "b", least=-20, most=20)] = 0.0,
    radius: Annotated[float, Knob(0.25, 4, "for |x| up to", "R", least=0.01, most=20)] = 1.0,
) -> Evidence:
    r"""Let $\varrho\in C^\infty$ and $\varrho^{(k)}(b)\ne0$. Networks with $k+1$ neurons converge to a monomial,
    $$h^{-k}\sum_{j=0}^k(-1)^{k-j}\binom kj\varrho(jhx+b)\to\varrho^{(k)}(b)\,x^k,$$ uniformly for $|x|\le R$, with
    error $\le\frac k2hR^{k+1}\sup|\varrho^{(k+1)}|$. A smooth $\varrho$ that is no polynomial has such a $b$ for
    every $k$."""
    name, b, h, R = m.name_of(rho.f) or "square", Fraction(bias), Fraction(step), Fraction(radius)
    points = [R * Fraction(i, 8) for i in range(-8, 9)]
    quotients = {word: m.Quotient(name, b, power, h, word == "central") for word in ("forward", "central")}
    errors = {word: m.error_at(q, points) for word, q in quotients.items()}
    bounds = {word: m.bound_on(q, R) for word, q in quotients.items()}
    top, third = m.derivative_at(name, power, b), m.derivative_at("tanh", 3, Fraction(0))
    net, study = m.Quotient("exp", Fraction(0), power, h), m.study(name, b, power, R)
    size = Enclosure.between(min(abs(top.lo), abs(top.hi)), max(abs(top.lo), abs(top.hi)))
    witness = Witness({"b": bias}, Enclosure.exact(LEAST), size, "the power series in balls of 400 bits")
    made = m.value_at(net, Fraction(1))
    return Evidence(
        claims=(
            AtMost("2⁻⁴⁰ ≤ |ϱ^(k)(b)|", Enclosure.exact(LEAST), size, witness=witness),
            *(AtMost(f"{w} error for |x| ≤ R", errors[w], bounds[w]) for w in quotients),
            Identity("quotient of exp at x = 1: ((e^h − 1)/h)^k", made, m.power_of_exp(h, power, Fraction(1))),
            *study.rates(),
        ),
        charts=(study.chart(power),),
        numbers={"ϱ^(k)(b)": top, "tanh‴(0)": third, "quotient of exp at 1": made, "bound": bounds["forward"]},
        summary=f"{power + 1} neurons of {name}: {top.middle:.6g} x^{power} for |x| ≤ {radius:g} within "
        f"{bounds['forward'].hi:.3g} (met {errors['forward'].lo:.3g}), centrally within {bounds['central'].hi:.3g}",
    )
