r"""Numbers of a bound as Arb balls: what is called an upper bound is rounded up.

$\mathrm{kl}(q\|p)=q\ln\frac qp+(1-q)\ln\frac{1-q}{1-p}$ is the divergence of two coins. Its inverse
$\mathrm{kl}^{-1}(q,c)=\sup\{p:\mathrm{kl}(q\|p)\le c\}$ turns a bound of the divergence into one of the risk, and is
never worse than Pinsker's $q+\sqrt{c/2}$.
"""

from fractions import Fraction
from math import inf, nextafter
from typing import Any

from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError

BITS = 128
STEPS = 64  # bisections of [q, 1]


def ball(x: "Fraction | float | int | Enclosure") -> Any:
    """A number exactly, or an enclosure as a ball that contains it."""
    if isinstance(x, Enclosure):
        return arb(x.lo).union(arb(x.hi))
    q = Fraction(x)
    return arb(fmpq(q.numerator, q.denominator))


def above(x: Any) -> float:
    """A float that no number of the ball exceeds."""
    return nextafter(float(x.upper()), inf)


def log_over(delta: float, factor: float | Fraction = 1) -> Any:
    r"""$\ln(\text{factor}/\delta)$."""
    with ctx.workprec(BITS):
        return (ball(factor) / ball(check_probability(delta))).log()


def check_probability(delta: float) -> float:
    """`delta` itself, refused unless it lies strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise UsageError(
            "A failure probability lies between 0 and 1.",
            where="delta",
            got=delta,
            remedy="try 0.05",
        )
    return delta


def kl(q: Fraction, p: Any) -> Any:
    r"""$\mathrm{kl}(q\|p)$ for a rational $q\in[0,1]$ and a ball $p\subset(0,1)$."""
    with ctx.workprec(BITS):
        first = ball(q) * (ball(q) / p).log() if q > 0 else arb(0)
        return first + (ball(1 - q) * (ball(1 - q) / (1 - p)).log() if q < 1 else arb(0))


def kl_inverse(q: Fraction, c: Any) -> float:
    r"""$\sup\{p:\mathrm{kl}(q\|p)\le c\}$, rounded up: the float returned exceeds the supremum, by a hair."""
    if q >= 1:
        return 1.0
    with ctx.workprec(BITS):
        lo = Fraction(q)
        hi = Fraction(1)
        for _ in range(STEPS):
            middle = (lo + hi) / 2
            if kl(q, ball(middle)) > c:  # certainly: so the supremum is below
                hi = middle
            else:
                lo = middle
        return above(ball(hi))
