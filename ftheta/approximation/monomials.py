r"""Monomials from $k+1$ neurons: finite differences in the weight.

$\partial_a^k\varrho(ax+b)\big|_{a=0}=x^k\varrho^{(k)}(b)$, and the difference quotients

$$h^{-k}\sum_{j=0}^k(-1)^{k-j}\binom kj\,\varrho(s_jhx+b),\qquad s_j=j\ \text{(forward)},\quad s_j=j-\tfrac k2\
\text{(central)},$$

are networks with $k+1$ neurons. They equal $x^k\,\mathbb E\,\varrho^{(k)}(b+hxS)$ where $S$ is a sum of $k$ independent
uniform variables on $[0,1]$, centred for the central one: mean $\frac k2$ or 0, variance $\frac k{12}$. Hence

$$|\text{forward}-x^k\varrho^{(k)}(b)|\le\frac k2\,h|x|^{k+1}\sup|\varrho^{(k+1)}|,\qquad
|\text{central}-x^k\varrho^{(k)}(b)|\le\frac k{24}\,h^2|x|^{k+2}\sup|\varrho^{(k+2)}|$$

with suprema over $b+hx[s_0,s_k]$. Everything is computed in balls, with derivatives from power series. In float64 the
sum cancels: rounding of size $u$ in $\varrho$ becomes $2^ku\,h^{-k}$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, inf
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb, arb_series, ctx, fmpq  # type: ignore[import-untyped]
from scipy import special

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.networks import ACTIVATIONS
from ftheta.shapes import Float

BITS = 400
HIGHEST = 12  # power
Element = Any  # a ball or a power series of balls


def _logistic(x: Element) -> Element:
    return 1 / (1 + (-x).exp())


def _normal(x: Element) -> Element:
    return (1 + (x / arb(2).sqrt()).erf()) / 2


SMOOTH: dict[str, Callable[[Element], Element]] = {
    "exp": lambda x: x.exp(),
    "tanh": lambda x: 2 * _logistic(2 * x) - 1,
    "sigmoid": _logistic,
    "softplus": lambda x: (1 + x.exp()).log(),
    "arctan": lambda x: x.atan(),
    "gelu": lambda x: x * _normal(x),
    "silu": lambda x: x * _logistic(x),
    "sin": lambda x: x.sin(),
    "square": lambda x: x * x,
}
"""Smooth activations on balls and on power series alike."""

FLOATS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "arctan": np.arctan,
    "sin": np.sin,
    "square": np.square,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * special.ndtr(x),
}
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{name: ACTIVATIONS[name].function for name in SMOOTH if name in ACTIVATIONS},
    "exp": jnp.exp,
    "sin": jnp.sin,
}


def name_of(function: Callable[[Any], Any]) -> str | None:
    """The smooth activation that this function is, if it is one of them."""
    return next((name for name, program in PROGRAMS.items() if program is function), None)


def derivative(name: str, order: int, at: Any) -> arb:
    r"""$\varrho^{(k)}$ at a ball: from the power series about it; all numbers where the ball is too wide for one."""
    before = ctx.cap
    ctx.cap = order + 1
    try:
        series = SMOOTH[name](arb_series([arb(at), 1], prec=order + 1))
        coefficients = series.coeffs()
    except ValueError:  # a denominator that contains 0
        return arb(0, arb("inf"))
    finally:
        ctx.cap = before
    return coefficients[order] * factorial(order) if order < len(coefficients) else arb(0)


@dataclass(frozen=True, slots=True)
class Quotient:
    """The network of the docstring above for one activation, bias, power and step."""

    name: str
    bias: Fraction
    power: int
    step: Fraction
    central: bool = False

    @property
    def shifts(self) -> list[Fraction]:
        return [
            Fraction(j) - (Fraction(self.power, 2) if self.central else 0)
            for j in range(self.power + 1)
        ]

    @property
    def signs(self) -> list[int]:
        return [(-1) ** (self.power - j) * comb(self.power, j) for j in range(self.power + 1)]

    def __call__(self, x: Fraction) -> arb:
        """Its value, in balls."""
        inner = [ball(s * self.step * x + self.bias) for s in self.shifts]
        return (
            sum((c * SMOOTH[self.name](t) for c, t in zip(self.signs, inner)), arb(0))
            / ball(self.step) ** self.power
        )

    def in_floats(self, x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Its values in float64, with the cancellation."""
        h = float(self.step)
        inner = [float(s) * h * x + float(self.bias) for s in self.shifts]
        return (
            np.asarray(sum(c * FLOATS[self.name](t) for c, t in zip(self.signs, inner)))
            / h**self.power
        )

    def limit(self, x: Fraction) -> arb:
        r"""$x^k\varrho^{(k)}(b)$."""
        return ball(x) ** self.power * derivative(self.name, self.power, ball(self.bias))

    def bound(self, x: Fraction) -> arb:
        """The bound of the docstring above at |x|, over both signs of x."""
        k = self.power
        order = 2 if self.central else 1
        reach = max(abs(s) for s in self.shifts) * self.step * abs(x)
        steep = abs(derivative(self.name, k + order, arb(ball(self.bias), ball(reach))))
        share = Fraction(k, 24) if self.central else Fraction(k, 2)
        return ball(share * self.step**order * abs(x) ** (k + order)) * steep


def ball(q: Fraction | int) -> arb:
    """A rational as a ball of the working precision."""
    q = Fraction(q)
    return arb(fmpq(q.numerator, q.denominator))


def error_at(quotient: Quotient, points: Sequence[Fraction]) -> Enclosure:
    """The largest error met at the points."""
    with ctx.workprec(BITS):
        met = max(Enclosure.ball(abs(quotient(x) - quotient.limit(x))).lo for x in points)
    return Enclosure.at_least(max(met, 0.0), samples=len(points))


def bound_on(quotient: Quotient, radius: Fraction) -> Enclosure:
    """The bound for all |x| ≤ radius, as it grows with |x|; infinite where the series has no bound on the ball."""
    with ctx.workprec(BITS):
        found = quotient.bound(radius)
        above = Enclosure.ball(found).hi if found.is_finite() else inf
    return Enclosure.between(above, above)


def value_at(quotient: Quotient, x: Fraction) -> Enclosure:
    """The network at a point, enclosed."""
    with ctx.workprec(BITS):
        return Enclosure.ball(quotient(x))


def derivative_at(name: str, order: int, bias: Fraction) -> Enclosure:
    r"""$\varrho^{(k)}(b)$ of the smooth activation `name`, enclosed; `order` is $k$."""
    with ctx.workprec(BITS):
        return Enclosure.ball(derivative(name, order, ball(bias)))


def bias_for(name: str, power: int, least: float = 1e-3) -> Fraction:
    r"""A bias, in quarters, at which $\varrho^{(k)}$ is at least `least` in size."""
    for i in range(33):
        for b in (Fraction(i, 4), Fraction(-i, 4)):
            found = derivative_at(name, power, b)
            if min(abs(found.lo), abs(found.hi)) >= least and found.lo * found.hi > 0:
                return b
    raise UsageError(
        f"No bias found with a derivative of order {power}.",
        got=name,
        remedy="take a non-polynomial ϱ",
    )


@dataclass(frozen=True, eq=False)
class Compiled:
    r"""A polynomial as one hidden layer $c+\sum_iv_i\varrho(w_ix+b_i)$: rows $(v_i,w_i,b_i)$, and its proved error."""

    constant: Fraction
    rows: tuple[tuple[arb, Fraction, Fraction], ...]
    error: Enclosure

    @property
    def neurons(self) -> int:
        return len(self.rows)


def compile_polynomial(
    coefficients: Sequence[Fraction], name: str, radius: Fraction, step: Fraction
) -> Compiled:
    r"""The network of $\sum_kc_kx^k$ for $|x|\le$ radius by central quotients, each with its own bias."""
    if name not in SMOOTH or len(coefficients) > HIGHEST + 1:
        raise UsageError(
            "Polynomials are compiled for a smooth activation and up to a degree.",
            got=f"{name}, degree {len(coefficients) - 1}",
            remedy=f"choose one of {', '.join(SMOOTH)}, and degree {HIGHEST} at most",
        )
    rows = []
    error = Enclosure.exact(0)
    with ctx.workprec(BITS):
        for k, c in enumerate(coefficients):
            if k and c:
                q = Quotient(name, bias_for(name, k), k, step, True)
                scale = ball(c) / (derivative(name, k, ball(q.bias)) * ball(step) ** k)
                rows += [(scale * sign, s * step, q.bias) for sign, s in zip(q.signs, q.shifts)]
                share = abs(ball(c) / derivative(name, k, ball(q.bias))) * q.bound(radius)
                error = error + Enclosure.between(
                    0.0, Enclosure.ball(share).hi if share.is_finite() else inf
                )
    return Compiled(Fraction(coefficients[0]), tuple(rows), error)


def evaluate(net: Compiled, name: str, x: Fraction) -> Enclosure:
    """The value of a compiled network at a point, in balls."""
    with ctx.workprec(BITS):
        inner = ((v, ball(w * x + b)) for v, w, b in net.rows)
        return Enclosure.ball(sum((v * SMOOTH[name](t) for v, t in inner), ball(net.constant)))
