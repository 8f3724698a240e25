r"""The loss $\mathcal L(a)=\frac12\tanh^2a$ of one tanh neuron, exactly.

With $t=\tanh a$, $\frac{dt}{da}=1-t^2$: every derivative of $\mathcal L$ is a polynomial in $t$ with rational
coefficients. Gradient flow can be integrated: $\frac1{\mathcal L'}=\frac{\cosh^3a}{\sinh a}=\coth a+\sinh a\cosh a$,
so that the way from $a_0$ down to $a_1$ takes the time $\frac12(\sinh^2a_0-\sinh^2a_1)+\ln\frac{\sinh a_0}
{\sinh a_1}$. Descent takes longer: above the inflexion the slope grows on the way down, and a step uses the slope of
its upper end.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.certify.curvature_sign import scalar_graph, value_at
from ftheta.logic import Enclosure

BITS = 256
MOST_STEPS = 200_000
COMPARED = np.linspace(-4.0, 4.0, 33)
LOSS = fmpq_poly([0, 0, fmpq(1, 2)])  # ½t²


def half_tanh_squared(a: Any) -> Any:
    r"""$\frac12\tanh^2a$."""
    return jnp.tanh(a) ** 2 / 2


def gap(f: Any) -> float:
    """How far f certainly is from ½ tanh² at some points; 0 where no difference is certain."""
    graphs = [scalar_graph(g) for g in (f, half_tanh_squared)]
    pairs = ([value_at(graph, float(a)) for graph in graphs] for a in COMPARED)
    return max(0.0, *(max(p.lo - q.hi, q.lo - p.hi) for p, q in pairs))


def derivative(p: Any) -> Any:
    r"""$\frac{d}{da}p(\tanh a)=(1-t^2)p'(t)$, as a polynomial in $t$."""
    return fmpq_poly([1, 0, -1]) * p.derivative()


def inflexion() -> Any:
    r"""The ball of $a^*=\mathrm{artanh}\frac1{\sqrt3}=\frac12\ln(2+\sqrt3)$."""
    return (2 + arb(3).sqrt()).log() / 2


@dataclass(frozen=True)
class Shape:
    """What rational polynomials of t (or of s = t²) say of the loss."""

    wrong_coefficients: int  # of L″ − (1 − t²)(1 − 3t²)
    critical_points: int  # with |t| < 1
    change: Fraction  # tanh² a* where the curvature changes its sign
    least_curvature: Fraction
    steepest_squared: Fraction  # square of the largest slope


def find_shape() -> Shape:
    """Curvature, critical points and extremes."""
    slope = derivative(LOSS)
    bend = derivative(slope)
    wrong = bend - fmpq_poly([1, 0, -1]) * fmpq_poly([1, 0, -3])
    in_s = fmpq_poly(bend.coeffs()[::2])  # L″ is even: a polynomial of s = t²
    vertex = _roots(in_s.derivative())[0]
    change = min(_roots(in_s))
    steepest = (fmpq_poly([0, 1]) * fmpq_poly([1, -1]) ** 2)(
        fmpq(change.numerator, change.denominator)
    )
    return Shape(
        wrong_coefficients=sum(c != 0 for c in wrong.coeffs()),
        critical_points=sum(abs(root) < 1 for root in _roots(slope)),
        change=change,
        least_curvature=Fraction(str(in_s(fmpq(vertex.numerator, vertex.denominator)))),
        steepest_squared=Fraction(str(steepest)),
    )


def _roots(p: Any) -> list[Fraction]:
    """The rational roots: those of the linear factors over the rationals."""
    linear = [factor for factor, _ in p.factor()[1] if factor.degree() == 1]
    return [Fraction(str(-f.coeffs()[0] / f.coeffs()[1])) for f in linear]


# ---- the plateau --------------------------------------------------------------------------------------------------


def flow_time(start: Any, end: Any) -> Any:
    """The time of gradient flow from one ball down to another."""
    a = start.sinh()
    b = end.sinh()
    return (a * a - b * b) / 2 + (a / b).log()


@dataclass(frozen=True, eq=False)
class Escape:
    """Descent from `start` in steps of `tau`: `steps` are taken until it is no longer above a*, `before` is the last
    point above. Without `steps` the budget was spent first."""

    start: Fraction
    tau: Fraction
    steps: int | None
    before: Any

    @property
    def time(self) -> Enclosure:
        """The time Kτ, from flow alone where the budget was spent."""
        with ctx.workprec(BITS):
            if self.steps is not None:
                return Enclosure.exact(self.steps * self.tau)
            return Enclosure.between(known(flow_time(_ball(self.start), inflexion())).lo, np.inf)

    @property
    def times(self) -> tuple[Enclosure, Enclosure, Enclosure]:
        r"""$T$, $(K-1)\tau$ and $T+\tau\ln\frac{\mathcal L'(a_{K-1})}{\mathcal L'(a_0)}$, with the time $T$ of flow.

        A step spends $\tau$ where flow spends between $\tau\,r$ and $\tau$, $r$ the ratio of the slopes at its ends,
        and $1-r\le-\ln r$: the three are in this order.
        """
        if self.steps is None:
            return Enclosure(), Enclosure(), Enclosure()
        if self.steps == 1:
            return Enclosure.exact(0), Enclosure.exact(0), Enclosure.exact(0)
        with ctx.workprec(BITS):
            flow = known(flow_time(_ball(self.start), self.before))
            extra = known(_ball(self.tau) * (_slope(self.before) / _slope(_ball(self.start))).log())
        return flow, Enclosure.exact((self.steps - 1) * self.tau), flow + extra

    @property
    def count(self) -> Enclosure:
        """K, from below by flow alone where the budget was spent."""
        return (
            self.time / Enclosure.exact(self.tau)
            if self.steps is None
            else Enclosure.exact(self.steps)
        )

    @property
    def ratio(self) -> Enclosure:
        r"""$K\cdot8\tau e^{-2a_0}$, which tends to 1."""
        with ctx.workprec(BITS):
            return self.time * known(8 * (-2 * _ball(self.start)).exp())


def _ball(q: Fraction) -> Any:
    return arb(fmpq(q.numerator, q.denominator))


def _slope(a: Any) -> Any:
    t = a.tanh()
    return t * (1 - t * t)


def escape(start: float, tau: float) -> Escape:
    """Descent in balls until a_k ≤ a* is certain."""
    q = Fraction(start)
    step = Fraction(tau)
    with ctx.workprec(BITS):
        a = _ball(q)
        t = _ball(step)
        star = inflexion()
        if float((2 * a).exp() / (8 * t)) > MOST_STEPS:
            return Escape(q, step, None, a)
        for k in range(1, 2 * MOST_STEPS):
            before = a
            a = a - t * _slope(a)
            if not a > star:
                return Escape(q, step, k if a <= star else None, before)
    return Escape(q, step, None, a)
