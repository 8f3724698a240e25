r"""Bias and variance of a spectral filter, exactly.

For $y=X\theta+\varepsilon$ with uncorrelated noise of variance $\sigma^2$ and $X=U\,\mathrm{diag}(\sqrt{s_i})V^\top$
the estimate $\hat w=V\,\mathrm{diag}(\varphi_i/\sqrt{s_i})U^\top y$ has, with $\theta_i=\langle v_i,\theta\rangle$, the
risk
$$\mathbb E\|\hat w-\theta\|^2=\sum_i(1-\varphi_i)^2\theta_i^2+\sigma^2\sum_i\frac{\varphi_i^2}{s_i}.$$
Ridge shrinks best where $\lambda\theta_i^2=\sigma^2$: if all $\theta_i^2$ are equal, $\lambda^*=\sigma^2/\theta_i^2$ is
best for every design, of risk $\sum_i\frac{\sigma^2\theta_i^2}{\sigma^2+s_i\theta_i^2}$. If they are not, every
$0<\lambda<2\sigma^2/\max_i\theta_i^2$ is still better than least squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.risks.filters import Filter, Spectrum


@dataclass(frozen=True, eq=False)
class Tradeoff:
    r"""$s_i$, $\theta_i^2$ (`signal`) and $\sigma^2$ (`noise`); fractions stay fractions."""

    values: Any
    signal: Any
    noise: Any

    @classmethod
    def on(cls, spectrum: Spectrum, theta: np.ndarray, noise: float) -> "Tradeoff":
        assert spectrum.right is not None
        return cls(spectrum.values, (spectrum.right.T @ theta) ** 2, noise)

    def bias(self, phi: Any) -> Any:
        return sum((1 - f) ** 2 * b for f, b in zip(phi, self.signal))

    def variance(self, phi: Any) -> Any:
        return sum(self.noise * f**2 / s for f, s in zip(phi, self.values))

    def risk(self, phi: Any) -> Any:
        r"""$\mathbb E\|\hat w-\theta\|^2$ on the span of the rows."""
        return self.bias(phi) + self.variance(phi)

    def spread(self, phi: Any) -> float:
        r"""The variance of $\|\hat w-\theta\|^2$ under Gaussian noise: $\sum_i2v_i^2+4v_i(1-\varphi_i)^2\theta_i^2$,
        $v_i=\sigma^2\varphi_i^2/s_i$."""
        each = [
            (self.noise * f**2 / s, (1 - f) ** 2 * b)
            for f, s, b in zip(phi, self.values, self.signal)
        ]
        return float(sum(2 * v**2 + 4 * v * bias for v, bias in each))

    def ridge(self, ridge: Any) -> list[Any]:
        return [s / (s + ridge) for s in self.values]

    def descent(self, tau: Any, steps: int) -> list[Any]:
        return [1 - (1 - tau * s) ** steps for s in self.values]

    @property
    def least_squares(self) -> Any:
        return self.risk([1] * len(self.values))

    @property
    def safe_ridge(self) -> Any:
        r"""$\sigma^2/\max_i\theta_i^2$: the ridge that is better than least squares whatever the other $\theta_i$."""
        largest = max(self.signal)
        return self.noise / largest if largest else None

    @property
    def oracle(self) -> Any:
        r"""The least risk of all filters, $\sum_i\frac{\sigma^2\theta_i^2}{\sigma^2+s_i\theta_i^2}$."""
        pairs = zip(self.values, self.signal)
        return sum(
            self.noise * b / (self.noise + s * b) if self.noise or b else 0 * b for s, b in pairs
        )


def simulate_risks(
    X: np.ndarray,
    theta: np.ndarray,
    noise: float,
    phi: Filter,
    rng: np.random.Generator,
    draws: int,
) -> np.ndarray:
    r"""$\|\hat w-\theta\|^2$ for `draws` independent samples of Gaussian noise."""
    y = (X @ theta)[:, None] + np.sqrt(noise) * rng.normal(size=(len(X), draws))
    found = Spectrum.of_rows(X).weights(y, phi)
    return ((found - theta[:, None]) ** 2).sum(0)


def compare_filters_in_rationals(
    values: Sequence[Fraction], tau: Fraction, steps: int
) -> tuple[list[Fraction], list[Fraction]]:
    r"""$w_k/w_\infty$ of gradient descent from 0 on $\frac12\sum_is_i(w_i-1)^2$, step by step, beside
    $1-(1-\tau s_i)^k$."""
    walked = [Fraction(0)] * len(values)
    for _ in range(steps):
        walked = [w - tau * s * (w - 1) for w, s in zip(walked, values)]
    return walked, Tradeoff(values, [Fraction(1)] * len(values), Fraction(0)).descent(tau, steps)
