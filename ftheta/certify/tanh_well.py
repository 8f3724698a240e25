r"""The loss $\mathcal L(a)=\frac12\tanh^2a$ of one tanh neuron, exactly.

With $t=\tanh a$, $\frac{dt}{da}=1-t^2$: every derivative of $\mathcal L$ is a polynomial in $t$ with rational
coefficients. Gradient flow can be integrated: $\frac1{\mathcal L'}=\frac{\cosh^3a}{\sinh a}=\coth a+\sinh a\cosh a$,
so that the way from $a_0$ down to $a_1$ takes the time $\frac12(\sinh^2a_0-\sinh^2a_1)+\ln\frac{\sinh a_0}
{\sinh a_1}$. Descent takes longer: above the inflexion the slope grows on the way down, and a step uses the slope of
its upper end.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.logic import AtMost, Axis, Curves, Enclosure, Evidence, Identity, Series

from .balls import known
from .curvature_sign import Stretch, curvature_signs, scalar_graph, value_at

BITS = 256
MOST_STEPS, MOST_DRAWN = 200_000, 20_000
BRACKET = 1e-9
COMPARED = np.linspace(-4.0, 4.0, 33)
LOSS = fmpq_poly([0, 0, fmpq(1, 2)])  # ½t²


def half_tanh_squared(a: Any) -> Any:
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


def shape_claims() -> tuple[Identity, ...]:
    """Curvature, critical points and extremes, all in rational polynomials of t (or of s = t²)."""
    slope = derivative(LOSS)
    bend = derivative(slope)
    wrong = bend - fmpq_poly([1, 0, -1]) * fmpq_poly([1, 0, -3])
    inside = [r for r in _roots(slope) if abs(r) < 1]
    in_s = fmpq_poly(bend.coeffs()[::2])  # L″ is even: a polynomial of s = t²
    vertex = _roots(in_s.derivative())[0]
    change = min(_roots(in_s))
    steepest = (fmpq_poly([0, 1]) * fmpq_poly([1, -1]) ** 2)(fmpq(change.numerator, change.denominator))
    least = Fraction(str(in_s(fmpq(vertex.numerator, vertex.denominator))))
    agree = lambda what, left, right: Identity(what, Enclosure.exact(left - right), Enclosure.exact(0))
    return (
        agree("coefficients of L″ − (1 − t²)(1 − 3t²) that are not 0", sum(c != 0 for c in wrong.coeffs()), 0),
        agree("critical points with |t| < 1, less 1", len(inside), 1),
        agree("tanh²a* − 1/3 where the curvature changes its sign", change, Fraction(1, 3)),
        agree("L(a*) − 1/6", change / 2, Fraction(1, 6)),
        agree("least curvature + 1/3", least, Fraction(-1, 3)),
        agree("square of the largest slope − 4/27", Fraction(str(steepest)), Fraction(4, 27)),
    )


def _roots(p: Any) -> list[Fraction]:
    """The rational roots: those of the linear factors over the rationals."""
    linear = [factor for factor, _ in p.factor()[1] if factor.degree() == 1]
    return [Fraction(str(-f.coeffs()[0] / f.coeffs()[1])) for f in linear]


def shape_numbers() -> dict[str, Enclosure]:
    with ctx.workprec(BITS):
        third = arb(1) / 3
        return {
            "a*": known(inflexion()),
            "L(a*)": known(inflexion().tanh() ** 2 / 2),
            "least curvature": Enclosure.exact(Fraction(-1, 3)),
            "largest slope": known(2 * third.sqrt() * third),
        }


def interval_claims(f: Any, reach: float) -> tuple[tuple[AtMost, ...], tuple[Stretch, ...]]:
    """The sign of the curvature of f, proved on intervals: positive from 0 up to a*, negative from there to `reach`."""
    stretches = curvature_signs(f, -reach, reach)
    convex = next((s for s in stretches if s.sign > 0 and s.lo <= 0 <= s.hi), None)
    concave = next((s for s in stretches if s.sign < 0 and s.lo > 0), None)
    begins = Enclosure.exact(concave.lo).hi if concave else inf
    change = Enclosure.between(Enclosure.exact(convex.hi).lo if convex else 0.0, begins)
    holds_to = Enclosure.between(Enclosure.exact(concave.hi).lo if concave else 0.0, inf)
    star = known(inflexion())
    return (
        AtMost("a* − 10⁻⁹ ≤ where F″ > 0 ends", star - BRACKET, change),
        AtMost("where F″ > 0 ends ≤ a* + 10⁻⁹", change, star + BRACKET),
        AtMost("F″ < 0 from there up to", Enclosure.exact(reach), holds_to),
    ), stretches


# ---- the plateau --------------------------------------------------------------------------------------------------


def flow_time(start: Any, end: Any) -> Any:
    """The time of gradient flow from one ball down to another."""
    a, b = start.sinh(), end.sinh()
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
    def claims(self) -> tuple[AtMost, AtMost]:
        r"""$T\le(K-1)\tau\le T+\tau\ln\frac{\mathcal L'(a_{K-1})}{\mathcal L'(a_0)}$, with the time $T$ of flow.

        A step spends $\tau$ where flow spends between $\tau\,r$ and $\tau$, $r$ the ratio of the slopes at its ends,
        and $1-r\le-\ln r$.
        """
        with ctx.workprec(BITS):
            if self.steps is None:
                flow = extra = spent = Enclosure()
            elif self.steps == 1:
                flow = extra = spent = Enclosure.exact(0)
            else:
                flow = known(flow_time(_ball(self.start), self.before))
                extra = known(_ball(self.tau) * (_slope(self.before) / _slope(_ball(self.start))).log())
                spent = Enclosure.exact((self.steps - 1) * self.tau)
        return (
            AtMost("time of flow down to a_{K−1} ≤ (K − 1)τ", flow, spent),
            AtMost(
                "(K − 1)τ ≤ time of flow + τ ln(L′(a_{K−1})/L′(a₀))", spent, flow + extra if self.steps != 1 else flow
            ),
        )

    @property
    def count(self) -> Enclosure:
        """K, from below by flow alone where the budget was spent."""
        return self.time / Enclosure.exact(self.tau) if self.steps is None else Enclosure.exact(self.steps)

    @property
    def ratio(self) -> Enclosure:
        r"""$K\cdot8\tau e^{-2a_0}$, which tends to 1."""
        with ctx.workprec(BITS):
            return self.time * known(8 * (-2 * _ball(self.start)).exp())


def law_chart(start: float, tau: float) -> Curves:
    """Steps that descent needs to leave the plateau, by where it starts."""
    a = np.linspace(0.75, max(start, 1.5), 16)
    needed = [(x, escape(float(x), tau).steps) for x in a if np.exp(2 * x) / (8 * tau) < MOST_DRAWN]
    fine = np.linspace(a[0], a[-1], 100)
    series = (
        Series("exp(2a₀)/8τ", fine, np.exp(2 * fine) / (8 * tau), "reference"),
        Series("steps K", [x for x, _ in needed], [k or inf for _, k in needed], mark="points"),
    )
    return Curves("how long the plateau holds descent", Axis("start a₀"), Axis("steps until a_k ≤ a*", "log"), series)


def _ball(q: Fraction) -> Any:
    return arb(fmpq(q.numerator, q.denominator))


def _slope(a: Any) -> Any:
    t = a.tanh()
    return t * (1 - t * t)


def escape(start: float, tau: float) -> Escape:
    """Descent in balls until a_k ≤ a* is certain."""
    q, step = Fraction(start), Fraction(tau)
    with ctx.workprec(BITS):
        a, t, star = _ball(q), _ball(step), inflexion()
        if float((2 * a).exp() / (8 * t)) > MOST_STEPS:
            return Escape(q, step, None, a)
        for k in range(1, 2 * MOST_STEPS):
            before, a = a, a - t * _slope(a)
            if not a > star:
                return Escape(q, step, k if a <= star else None, before)
    return Escape(q, step, None, a)


def well_chart(stretches: tuple[Stretch, ...]) -> Curves:
    """The loss, the stretches where negative curvature was proved, and the curvature."""
    lo, hi = float(stretches[0].lo), float(stretches[-1].hi)
    a = np.linspace(lo, hi, 481)
    loss, t = np.tanh(a) ** 2 / 2, np.tanh(a)
    proved = np.zeros(a.shape, bool)
    for s in (s for s in stretches if s.sign < 0):
        proved |= (float(s.lo) <= a) & (a <= float(s.hi))
    series = (
        Series("curvature L″", a, (1 - t**2) * (1 - 3 * t**2), "reference"),
        Series("loss L", a, loss),
        Series("concave, proved", a, np.where(proved, loss, inf), "bound"),  # infinite values are gaps
    )
    return Curves("½ tanh² and the sign of its curvature", Axis("a"), Axis("L(a), L″(a)"), series)


def well_evidence(f: Any, start: float, tau: float, reach: float) -> Evidence:
    """The shape of ½ tanh², the curvature of f itself on intervals, and the way down from `start` in steps of `tau`."""
    (claims, stretches), descent = interval_claims(f, reach), escape(start, tau)
    steps = f"{descent.steps:,} steps" if descent.steps else "more steps than the budget allows"
    return Evidence(
        claims=(*shape_claims(), *claims, *descent.claims),
        charts=(well_chart(stretches), law_chart(start, tau)),
        numbers=shape_numbers() | {"steps K": descent.count, "K·8τe^(−2a₀)": descent.ratio},
        summary=f"concave beyond |a| = 0.6584789…; from a₀ = {start:g} it takes {steps} of τ = {tau:g} to get there",
    )
