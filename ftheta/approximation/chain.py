r"""Bernstein's polynomial, written as a network of difference quotients: the proof of Leshno et al. as a chain.

$$|f-g|\le\underbrace{|f-B_nf|}_{\text{Bernstein}}+\underbrace{\textstyle\sum_k|c_k|\,|x^k-q_k(x)|}_{\text{monomials}}+
\underbrace{\textstyle\sum_i|\delta v_i||\varrho|+|v_i|\,\mathrm{Lip}\,|\delta z_i|}_{\text{weights in float64}}$$

with every term proved; the last one includes the rounding of an evaluation in float64, which large weights of both
signs make visible.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, isfinite

import numpy as np
from flint import fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure
from ftheta.networks import ACTIVATIONS
from ftheta.shapes import Float

from .bernstein import Approximant, rational
from .certificate import Certificate
from .constructions import Task
from .enclosed import UNIT, VALUES, Shallow
from .monomials import HIGHEST, Compiled, compile_polynomial

STEPS = tuple(Fraction(1, 2**k) for k in range(8))
SAYS = "Bernstein's error by interval arithmetic + difference quotients in balls + weights in float64, outward rounding"


@dataclass(frozen=True, eq=False)
class Chained(Shallow):
    """A network with the certificate of its chain: the three terms in order."""

    terms: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def certificate(self) -> Certificate:
        total = Enclosure.exact(0)
        for term in self.terms:
            total = total + Enclosure.between(0.0, term)
        return Certificate(Enclosure.between(0.0, total.hi), (), 0, SAYS)


def monomial_networks(task: Task, most: int) -> Iterator[Chained]:
    """Degrees 1, 2, … as far as the quotients go; the step with the least bound for each."""
    goal = task.goal
    name = task.activation
    for n in range(1, HIGHEST + 1):
        polynomial = Approximant.of(goal.f, goal.lo[0], goal.hi[0], n)
        first = polynomial.error().value.hi
        made = [
            c
            for c in (_compile(power_form(polynomial.values), name, h) for h in STEPS)
            if isfinite(c.error.hi)
        ]
        found = [_in_floats(task, c, first) for c in made if c.neurons]
        if not found or min(net.neurons for net in found) > most:
            return
        yield min(found, key=lambda net: sum(net.terms))


def power_form(values: Float[np.ndarray, "n"]) -> list[Fraction]:
    r"""The coefficients in $u=2t-1$ of $\sum_kv_k\binom nkt^k(1-t)^{n-k}$, exactly."""
    n = len(values) - 1
    half = fmpq(1, 2)
    t = fmpq_poly([half, half])
    rest = fmpq_poly([half, -half])
    total = fmpq_poly([0])
    for k, v in enumerate(map(Fraction, values.tolist())):
        total += fmpq(v.numerator, v.denominator) * comb(n, k) * t**k * rest ** (n - k)
    return [rational(c) for c in total.coeffs()] or [Fraction(0)]


def _compile(coefficients: list[Fraction], name: str, step: Fraction) -> Compiled:
    return compile_polynomial(coefficients, name, Fraction(1), step)


def _in_floats(task: Task, made: Compiled, first: float) -> Chained:
    """The compiled network with weights in float64, as a function of x = mid + half·u."""
    goal = task.goal
    lipschitz = Fraction(ACTIVATIONS[task.activation].lipschitz.hi)
    mid = Fraction(float(goal.centre[0]))
    half = Fraction(float(goal.halves[0]))
    far = max(abs(Fraction(goal.lo[0])), abs(Fraction(goal.hi[0])))
    weights = []
    biases = []
    outer = []
    loss = Fraction(0)
    for v, w, b in made.rows:
        slope = w / half
        start = b - w * mid / half
        W = float(slope)
        B = float(start)
        V = float(v)
        moved = abs(Fraction(W) - slope) * far + abs(Fraction(B) - start)
        size = Fraction(float(np.abs(VALUES[task.activation](float(b))))) + lipschitz * (
            abs(w) + Fraction(1, 10**6)
        )
        rounding = 16 * Fraction(UNIT) * (size + lipschitz * (abs(slope) * far + abs(start) + 1))
        turned = Fraction(Enclosure.ball(abs(v - V)).hi)
        loss += turned * size + abs(Fraction(V)) * (lipschitz * moved + rounding)
        weights.append([W])
        biases.append(B)
        outer.append(V)
    constant = float(made.constant)
    loss = loss * (1 + len(outer) * Fraction(UNIT)) + abs(Fraction(constant) - made.constant)
    terms = (first, made.error.hi, Enclosure.exact(loss).hi)
    return Chained(
        task.activation, np.array(weights), np.array(biases), np.array(outer), constant, terms
    )
