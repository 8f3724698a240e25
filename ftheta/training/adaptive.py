r"""Adam and AMSGrad as formulas, the same for floats, traced arrays, fractions and balls; what their steps can be; and
the online problem of Reddi, Kale and Kumar on which Adam goes the wrong way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq

from ftheta.logic import UsageError

BITS = 128


class Arithmetic(NamedTuple):
    """What the formulas need beside + − × /: a root, the larger of two, a quotient that is 0 where the scale is 0."""

    root: Callable[[Any], Any]
    larger: Callable[[Any, Any], Any]
    quotient: Callable[[Any, Any], Any]


def rational_root(q: Fraction) -> Fraction:
    """The square root of a square of a fraction; of no other."""
    top, bottom = isqrt(q.numerator), isqrt(q.denominator)
    if top * top != q.numerator or bottom * bottom != q.denominator:
        raise ValueError(f"{q} is not the square of a fraction.")
    return Fraction(top, bottom)


FLOATS = Arithmetic(np.sqrt, np.maximum, lambda a, b: np.divide(a, b, out=np.zeros_like(a), where=np.not_equal(b, 0)))
TRACED = Arithmetic(jnp.sqrt, jnp.maximum, lambda a, b: jnp.where(b == 0, 0.0, a / jnp.where(b == 0, 1.0, b)))
RATIONAL = Arithmetic(rational_root, max, lambda a, b: a / b if b else b)
BALLS = Arithmetic(lambda a: a.sqrt(), lambda a, b: a.max(b), lambda a, b: a / b)


def power(base: Any, t: Any) -> Any:
    r"""$\beta^t$ by squaring, lowest bit first: the order in which JAX multiplies, so that bits can be compared."""
    if not isinstance(t, int):
        return base**t
    found = base * 0 + 1
    while t:
        found = found * base if t & 1 else found
        base, t = base * base, t >> 1
    return found


class Moments(NamedTuple):
    first: Any
    second: Any
    largest: Any


@dataclass(frozen=True)
class Adam:
    r"""$m\leftarrow(1-\beta_1)g+\beta_1m$, $v\leftarrow(1-\beta_2)g^2+\beta_2v$, step
    $-\alpha\,\hat m/(\sqrt{\hat v}+\epsilon)$ with $\hat m=m/(1-\beta_1^t)$, $\hat v=v/(1-\beta_2^t)$.

    With `amsgrad` $\hat v$ is the largest met so far; without `corrected` $\hat m=m$ and $\hat v=v$.
    """

    alpha: Any = 1e-3
    beta1: Any = 0.9
    beta2: Any = 0.999
    epsilon: Any = 1e-8
    amsgrad: bool = False
    corrected: bool = True

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and 0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and self.epsilon >= 0):
            got = f"α = {self.alpha}, β₁ = {self.beta1}, β₂ = {self.beta2}, ε = {self.epsilon}"
            raise UsageError("Adam needs α > 0, β₁ and β₂ in [0, 1), ε ≥ 0.", got=got, remedy="α = 1e-3, 0.9, 0.999")

    def begin(self, zero: Any) -> Moments:
        return Moments(zero, zero, zero if self.amsgrad else ())

    def step(self, g: Any, t: Any, memory: Moments, how: Arithmetic = FLOATS) -> tuple[Any, Moments]:
        """The update of step t = 1, 2, … and the moments after it."""
        m = (1 - self.beta1) * g + self.beta1 * memory.first
        v = (1 - self.beta2) * (g * g) + self.beta2 * memory.second
        m_hat, v_hat = m, v
        if self.corrected:
            m_hat, v_hat = m / (1 - power(self.beta1, t)), v / (1 - power(self.beta2, t))
        largest = how.larger(memory.largest, v_hat) if self.amsgrad else memory.largest
        scale = how.root(largest if self.amsgrad else v_hat) + self.epsilon
        return -self.alpha * how.quotient(m_hat, scale), Moments(m, v, largest)

    def follow(self, gradients: Iterable[Any], theta: Any, how: Arithmetic = FLOATS) -> list[Any]:
        """The iterates from `theta` on a given sequence of gradients."""
        points, memory = [theta], self.begin(theta * 0)
        for t, g in enumerate(gradients, 1):
            update, memory = self.step(g, t, memory, how)
            points.append(points[-1] + update)
        return points

    def longest_step(self, t: int) -> float:
        r"""The largest $|\hat m_t|/\sqrt{\hat v_t}$ over all gradients, by Cauchy–Schwarz; the gradients
        $g_i=(\beta_1/\beta_2)^{t-i}$ attain it."""
        b1, b2 = float(self.beta1), float(self.beta2)
        series = sum((b1 * b1 / b2) ** j for j in range(t))
        corrections = sqrt(1 - b2**t) / (1 - b1**t) if self.corrected else 1.0
        return (1 - b1) / sqrt(1 - b2) * sqrt(series) * corrections

    def steepest_gradients(self, t: int) -> list[np.ndarray]:
        return [np.array([(self.beta1 / self.beta2) ** (t - i)]) for i in range(1, t + 1)]


@dataclass(frozen=True)
class Reddi:
    r"""$f_t(x)=Cx$ for $t\equiv1\pmod 3$, else $-x$, on $[-1,1]$: the sum over a cycle is $(C-2)x$, best at $-1$.

    The method is Adam without bias correction, $\beta_1=0$, $\beta_2=1/(1+C^2)$, steps $\alpha/\sqrt t$, projected.
    """

    C: Fraction = Fraction(4)
    alpha: Fraction = Fraction(1, 2)

    def rule(self, amsgrad: bool) -> Adam:
        return Adam(1, 0, 1 / (1 + float(self.C) ** 2), 0, amsgrad, corrected=False)

    def play(self, steps: int, amsgrad: bool) -> tuple[np.ndarray, np.ndarray]:
        r"""The points $x_1,\dots,x_{T+1}$ from $x_1=1$ and the average regret against $-1$ after each step."""
        rule, x, memory = self.rule(amsgrad), 1.0, Moments(0.0, 0.0, 0.0)
        C, alpha = float(self.C), float(self.alpha)
        how, points, regret = Arithmetic(sqrt, max, lambda a, b: a / b), [1.0], [0.0]
        for t in range(1, steps + 1):
            g = C if t % 3 == 1 else -1.0
            update, memory = rule.step(g, t, memory, how)
            regret.append(regret[-1] + g * (x + 1))
            x = min(1.0, max(-1.0, x + alpha / sqrt(t) * update))
            points.append(x)
        return np.array(points), np.array(regret[1:]) / np.arange(1, steps + 1)

    def cycles_away(self, cycles: int) -> int:
        """How many of the first cycles do not end with Adam at +1, in ball arithmetic (a doubtful one is counted)."""
        with ctx.workprec(BITS):
            C, one, away = arb(fmpq(self.C.numerator, self.C.denominator)), arb(1), 0
            beta2, x, v = 1 / (1 + C * C), one, arb(0)
            alpha = arb(fmpq(self.alpha.numerator, self.alpha.denominator))
            for t in range(1, 3 * cycles + 1):
                g = C if t % 3 == 1 else -one
                v = (1 - beta2) * (g * g) + beta2 * v
                x = (x - alpha * g / (arb(t).sqrt() * v.sqrt())).min(one).max(-one)
                away += t % 3 == 0 and not (x - 1).is_zero()
        return away
