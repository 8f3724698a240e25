r"""The whole proof of Leshno, Lin, Pinkus and Schocken as one construction, with the error of every step.

$$f\ \to\ \sum_kc_ke^{\langle v_k,x\rangle}\ \to\ \text{Taylor, degree }D\ \to\ \text{quotients of }\sigma=\varrho*\psi\
\to\ \text{sums of }\varrho.$$

With $t=\langle v_k,x\rangle=m+\rho u$, $|u|\le1$: (1) $\sup|f-\sum_kc_ke^t|$ by interval arithmetic; (2) the rest of
$e^m\sum_j\rho^ju^j/j!$ is at most $e^{m+\rho}\rho^{D+1}/(D+1)!$; (3) $u^j$ by the central quotient of $\sigma$ with
step $h$, error $\frac{jh^2}{24}\sup|\varrho^{(j+2)}|/|\sigma^{(j)}(b_j)|$; (4) $\sigma$, smoothed by the box of
half-width $\varepsilon$, by the mean of $M$ shifted $\varrho$, error $\frac{\Delta^2}{24}\sup|\varrho''|$,
$\Delta=2\varepsilon/M$, times $2^jh^{-j}$. Steps (2)–(4) are in balls. The last factor is why this is a proof and no
way to build networks.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.logic.chart import Axis, Bars
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .goal import Goal, goal_of
from .monomials import BITS, SMOOTH, ball, bias_for, derivative
from .ridge_exponentials import Exponentials, fit_exponentials, lattice
from .suprema import bounds_of, supremum

STEPS = ("exponentials", "polynomials", "monomials", "smoothing")
PARTS = 16  # of an interval on which a derivative is bounded
MOST_BALLS = 200_000  # neurons evaluated at one point


@dataclass(frozen=True, eq=False)
class Chain:
    """The construction for one function; `terms` are the proved bounds of the four steps."""

    goal: Goal
    sums: Exponentials
    activation: str
    degree: int
    step: Fraction
    width: Fraction
    cells: int
    terms: tuple[Enclosure, Enclosure, Enclosure, Enclosure]

    @property
    def bound(self) -> Enclosure:
        """The budget of the whole chain."""
        first, *rest = self.terms
        for term in rest:
            first = first + term
        return first

    @property
    def neurons(self) -> int:
        """Of the one hidden layer."""
        exponentials = sum(
            bool(c) and bool(np.any(v))
            for v, c in zip(self.sums.directions, self.sums.coefficients)
        )
        return exponentials * sum(j + 1 for j in range(1, self.degree + 1)) * self.cells

    def __call__(self, x: Float[np.ndarray, "d"]) -> Enclosure:
        """The network at a point, in balls."""
        if self.neurons > MOST_BALLS:
            remedy = "take fewer cells, exponentials or degrees"
            raise UsageError(
                "The network is too large to be evaluated in balls.",
                got=self.neurons,
                remedy=remedy,
            )
        with ctx.workprec(BITS):
            total = arb(0)
            for v, c in zip(self.sums.directions.tolist(), self.sums.coefficients.tolist()):
                t = sum(
                    (Fraction(s) * Fraction(float(y)) for s, y in zip(v, np.atleast_1d(x))),
                    Fraction(0),
                )
                m, rho = _interval(self.goal, v)
                total += ball(Fraction(c)) * (
                    _exponential(self, t, m, rho) if rho else ball(m).exp()
                )
            return Enclosure.ball(total)

    def chart(self) -> Bars:
        """The bounds of the four steps beside their sum."""
        values = tuple(term.hi for term in (*self.terms, self.bound))
        return Bars(
            "error budget of the chain",
            Axis("error", "log"),
            (*STEPS, "whole bound"),
            ("sup error",),
            (values,),
        )


def _interval(goal: Goal, v: list[float]) -> tuple[Fraction, Fraction]:
    """Centre and radius of ⟨v, x⟩ on the box, exactly."""
    ends = [(Fraction(s), Fraction(a), Fraction(b)) for s, a, b in zip(v, goal.lo, goal.hi)]
    return sum((s * (a + b) / 2 for s, a, b in ends), Fraction(0)), sum(
        (abs(s) * (b - a) / 2 for s, a, b in ends), Fraction(0)
    )


def _smoothed_derivative(name: str, order: int, b: Fraction, width: Fraction) -> arb:
    r"""$\sigma^{(j)}(b)=\frac{\varrho^{(j-1)}(b+\varepsilon)-\varrho^{(j-1)}(b-\varepsilon)}{2\varepsilon}$."""
    high, low = (derivative(name, order - 1, ball(b + s * width)) for s in (1, -1))
    return (high - low) / ball(2 * width)


def _exponential(chain: Chain, t: Fraction, m: Fraction, rho: Fraction) -> arb:
    """The network for e^t, at one t."""
    u = (t - m) / rho
    total = arb(1)
    for j in range(1, chain.degree + 1):
        b = bias_for(chain.activation, j)
        scale = ball(rho**j / factorial(j)) / (
            _smoothed_derivative(chain.activation, j, b, chain.width) * ball(chain.step) ** j
        )
        inner = [(Fraction(i) - Fraction(j, 2)) * chain.step * u + b for i in range(j + 1)]
        signs = [(-1) ** (j - i) * comb(j, i) for i in range(j + 1)]
        total += scale * sum((s * _mean(chain, z) for s, z in zip(signs, inner)), arb(0))
    return ball(m).exp() * total


def _mean(chain: Chain, z: Fraction) -> arb:
    shifts = (
        chain.width * Fraction(2 * i + 1 - chain.cells, chain.cells) for i in range(chain.cells)
    )
    return sum((SMOOTH[chain.activation](ball(z - y)) for y in shifts), arb(0)) / chain.cells


def leshno_chain(
    f: object,
    domain: object = None,
    *,
    activation: str = "tanh",
    reach: int = 2,
    degree: int = 6,
    step: float = 0.03125,
    width: float = 0.125,
    cells: int = 4096,
) -> Chain:
    """Every step of the proof for a function on a box: a network of `activation`, with its error budget.

    `reach` bounds the lattice of exponents, `degree` their Taylor polynomials, `step` the difference quotients, `width`
    the kernel of the smoothing and `cells` its sum.
    """
    if (
        activation not in SMOOTH
        or activation == "square"
        or not (1 <= degree <= 10 and cells >= 1 and reach >= 1)
    ):
        known = ", ".join(name for name in SMOOTH if name != "square")
        raise UsageError(
            "The chain takes a smooth activation that is no polynomial, degrees up to 10, and positive sizes.",
            got=f"{activation}, degree {degree}, cells {cells}, reach {reach}",
            remedy=f"choose one of {known}",
        )
    goal = goal_of(f, domain)
    sums = fit_exponentials(goal, lattice(goal.dimension, reach, 1 / float(goal.halves.max())))
    difference = lambda x: goal.f(x) - sums(x)
    first = supremum(
        bounds_of(difference, goal.dimension), goal.lo, goal.hi, relative=0.05, budget=20_000
    ).value
    h = Fraction(step)
    eps = Fraction(width)
    rest = [Enclosure.exact(0)] * 3
    for v, c in zip(sums.directions.tolist(), sums.coefficients.tolist()):
        m, rho = _interval(goal, v)
        if c and rho:
            shares = _shares(activation, m, rho, degree, h, eps, cells)
            rest = [term + Enclosure.exact(abs(c)) * share for term, share in zip(rest, shares)]
    return Chain(goal, sums, activation, degree, h, eps, cells, (first, *rest))  # type: ignore[arg-type]


def _shares(
    name: str, m: Fraction, rho: Fraction, degree: int, h: Fraction, eps: Fraction, cells: int
) -> list[Enclosure]:
    """What the three steps after the exponentials cost one exponential."""
    with ctx.workprec(BITS):
        top = ball(m).exp()
        taylor = (ball(m + rho)).exp() * ball(rho ** (degree + 1) / factorial(degree + 1))
        quotients = arb(0)
        smoothing = arb(0)
        for j in range(1, degree + 1):
            b = bias_for(name, j)
            reach = h * Fraction(j, 2) + eps
            size = abs(_smoothed_derivative(name, j, b, eps))
            bend, curve = (_largest(name, k, b, reach) for k in (j + 2, 2))
            share = ball(rho**j / factorial(j)) / size
            quotients += share * ball(Fraction(j, 24) * h * h) * bend
            smoothing += share * ball((2 / h) ** j * (2 * eps / cells) ** 2 / 24) * curve
        return [_at_most(term) for term in (taylor, top * quotients, top * smoothing)]


def _largest(name: str, order: int, b: Fraction, reach: Fraction) -> arb:
    """The largest derivative of that order within `reach` of b: small balls, as wide ones overestimate it."""
    radius = reach / PARTS
    centres = (b - reach + (2 * i + 1) * radius for i in range(PARTS))
    found = [abs(derivative(name, order, arb(ball(c), ball(radius)))) for c in centres]
    unknown = [term for term in found if not term.is_finite()]
    return unknown[0] if unknown else max(found, key=lambda term: float(term.upper()))


def _at_most(term: arb) -> Enclosure:
    return Enclosure.between(0.0, Enclosure.ball(term).hi if term.is_finite() else float("inf"))
