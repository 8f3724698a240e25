r"""Adam and AMSGrad as formulas, the same for floats, traced arrays and fractions; how long their steps can be."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import UsageError


class Arithmetic(NamedTuple):
    """What the formulas need beside + − × /: a root, the larger of two, a quotient that is 0 where the scale is 0."""

    root: Callable[[Any], Any]
    larger: Callable[[Any, Any], Any]
    quotient: Callable[[Any, Any], Any]


def rational_root(q: Fraction) -> Fraction:
    """The square root of a square of a fraction; of no other."""
    top = isqrt(q.numerator)
    bottom = isqrt(q.denominator)
    if top * top != q.numerator or bottom * bottom != q.denominator:
        raise ValueError(f"{q} is not the square of a fraction.")
    return Fraction(top, bottom)


FLOATS = Arithmetic(
    np.sqrt,
    np.maximum,
    lambda a, b: np.divide(a, b, out=np.zeros_like(a), where=np.not_equal(b, 0)),
)
TRACED = Arithmetic(
    jnp.sqrt, jnp.maximum, lambda a, b: jnp.where(b == 0, 0.0, a / jnp.where(b == 0, 1.0, b))
)
RATIONAL = Arithmetic(rational_root, max, lambda a, b: a / b if b else b)


def power(base: Any, t: Any) -> Any:
    r"""$\beta^t$ by squaring, lowest bit first: the order in which JAX multiplies, so that bits can be compared."""
    if not isinstance(t, int):
        return base**t
    found = base * 0 + 1
    while t:
        found = found * base if t & 1 else found
        base = base * base
        t = t >> 1
    return found


class Moments(NamedTuple):
    r"""The moving averages $m$ of $g$ and $v$ of $g^2$, and for AMSGrad the largest $\hat v$ so far."""

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
        if not (
            self.alpha > 0 and 0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and self.epsilon >= 0
        ):
            got = f"α = {self.alpha}, β₁ = {self.beta1}, β₂ = {self.beta2}, ε = {self.epsilon}"
            raise UsageError(
                "Adam needs α > 0, β₁ and β₂ in [0, 1), ε ≥ 0.",
                got=got,
                remedy="α = 1e-3, 0.9, 0.999",
            )

    def begin(self, zero: Any) -> Moments:
        """The moments before the first step; `zero` is a zero of the shape of the gradients."""
        return Moments(zero, zero, zero if self.amsgrad else ())

    def step(
        self, g: Any, t: Any, memory: Moments, how: Arithmetic = FLOATS
    ) -> tuple[Any, Moments]:
        """The update of step t = 1, 2, … and the moments after it."""
        m = (1 - self.beta1) * g + self.beta1 * memory.first
        v = (1 - self.beta2) * (g * g) + self.beta2 * memory.second
        m_hat = m
        v_hat = v
        if self.corrected:
            m_hat = m / (1 - power(self.beta1, t))
            v_hat = v / (1 - power(self.beta2, t))
        largest = how.larger(memory.largest, v_hat) if self.amsgrad else memory.largest
        scale = how.root(largest if self.amsgrad else v_hat) + self.epsilon
        return -self.alpha * how.quotient(m_hat, scale), Moments(m, v, largest)

    def follow(self, gradients: Iterable[Any], theta: Any, how: Arithmetic = FLOATS) -> list[Any]:
        """The iterates from `theta` on a given sequence of gradients."""
        points = [theta]
        memory = self.begin(theta * 0)
        for t, g in enumerate(gradients, 1):
            update, memory = self.step(g, t, memory, how)
            points.append(points[-1] + update)
        return points

    def longest_step(self, t: int) -> float:
        r"""The largest $|\hat m_t|/\sqrt{\hat v_t}$ over all gradients, by Cauchy–Schwarz; the gradients
        $g_i=(\beta_1/\beta_2)^{t-i}$ attain it."""
        b1 = float(self.beta1)
        b2 = float(self.beta2)
        series = sum((b1 * b1 / b2) ** j for j in range(t))
        corrections = sqrt(1 - b2**t) / (1 - b1**t) if self.corrected else 1.0
        return (1 - b1) / sqrt(1 - b2) * sqrt(series) * corrections

    def steepest_gradients(self, t: int) -> list[np.ndarray]:
        r"""The gradients $g_i=(\beta_1/\beta_2)^{t-i}$, $i=1,\dots,t$, whose last step is the longest possible."""
        return [np.array([(self.beta1 / self.beta2) ** (t - i)]) for i in range(1, t + 1)]
