r"""Gaussian mixtures with one variance, $\sum_iw_i\mathcal N(a_i,vI)$: densities, scores, and what noise makes of them.

Noising keeps the form: $dx=-x\,dt+\sqrt2\,dW$ shrinks the atoms to $e^{-t}a_i$ and takes the variance to
$1+(v-1)e^{-2t}$, adding $\sigma\xi$ adds $\sigma^2$, and the interpolation $(1-t)x_0+tx_1$ from a normal $x_0$ moves
the atoms to $ta_i$ with the variance $(1-t)^2+t^2v$. With $v=0$ a mixture is discrete data.
"""

from dataclasses import dataclass, replace
from math import exp, expm1, log, pi, sqrt

import numpy as np

from ftheta.lazy import special
from ftheta.shapes import Float

BLOCK = 1 << 21  # entries of the table points × atoms that are held at once


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""$\sum_iw_i\,\mathcal N(a_i,vI)$ with `atoms` $a_i$ (shape `(n, d)`), `weights` $w_i$ and `variance` $v\ge0$."""

    atoms: np.ndarray
    weights: np.ndarray
    variance: float

    def after(self, t: float) -> "Mixture":
        """The law at time t of the forward process."""
        return Mixture(
            exp(-t) * self.atoms, self.weights, self.variance * exp(-2 * t) - expm1(-2 * t)
        )

    def add_noise(self, sigma: float) -> "Mixture":
        r"""The law of $x_0+\sigma\xi$."""
        return replace(self, variance=self.variance + sigma**2)

    def interpolate(self, t: float) -> "Mixture":
        r"""The law of $(1-t)x_0+tx_1$ with $x_1$ from this law and $x_0$ standard normal, independent of it."""
        return Mixture(t * self.atoms, self.weights, (1 - t) ** 2 + t**2 * self.variance)

    def sample(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n d"]:
        """n independent draws, one per row."""
        which = rng.choice(len(self.atoms), n, p=self.weights / self.weights.sum())
        return self.atoms[which] + sqrt(self.variance) * rng.normal(size=(n, self.atoms.shape[1]))

    def score(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        r"""$\nabla\log p(x)=\frac1v(\sum_ir_ia_i-x)$ at the rows of `x`, with $r_i\propto w_ie^{-|x-a_i|^2/2v}$."""
        if self.variance == 0:
            return np.full(x.shape, np.nan)
        rows = max(1, BLOCK // len(self.atoms))
        centres = np.concatenate([self._centre(x[k : k + rows]) for k in range(0, len(x), rows)])
        return (centres - x) / self.variance

    def _centre(self, x: np.ndarray) -> np.ndarray:
        return self.responsibilities(x) @ self.atoms

    def score_at(self, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The score at time t of the forward process."""
        return self.after(t).score(x)

    def denoise(self, x: Float[np.ndarray, "n d"], sigma: float) -> Float[np.ndarray, "n d"]:
        r"""$\mathbb E[x_0\mid x_0+\sigma\xi=x]=\sum_ir_i\frac{\sigma^2a_i+vx}{\sigma^2+v}$."""
        centre = self.add_noise(sigma)._centre(x)
        return centre + self.variance / (self.variance + sigma**2) * (x - centre)

    def responsibilities(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        r"""$r_i(x)\propto w_ie^{-|x-a_i|^2/2v}$, of sum 1: the probability that `x` came from each atom."""
        shares = self._exponents(x)
        shares -= shares.max(1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(1, keepdims=True)
        return shares

    def _exponents(self, x: np.ndarray) -> np.ndarray:
        exponents = self.squares(x)
        exponents *= -1 / (2 * self.variance)
        exponents += self.log_weights()
        return exponents

    def log_density(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        r"""$\log p(x)$ at the rows of `x`."""
        exponents = self._exponents(x)
        top = exponents.max(1)
        d = x.shape[1]
        return (
            top
            + np.log(np.exp(exponents - top[:, None]).sum(1))
            - d / 2 * log(2 * pi * self.variance)
        )

    def scatter(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        r"""$\sum_ir_i|a_i-\bar a|^2$ with $\bar a=\sum_ir_ia_i$: the variance of the atom that `x` came from. So
        $\Delta\log p=\frac1{v^2}\sum_ir_i|a_i-\bar a|^2-\frac dv$."""
        shares = self.responsibilities(x)
        centre = shares @ self.atoms
        return np.maximum((shares * self.squares(x)).sum(1) - ((x - centre) ** 2).sum(1), 0.0)

    def log_weights(self) -> Float[np.ndarray, "k"]:
        """The logarithms of the weights; −∞ for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def squares(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        r"""$|x-a_i|^2$ of every row and atom."""
        total = np.zeros((len(x), len(self.atoms)))
        for j in range(x.shape[1]):
            total += np.square(x[:, j, None] - self.atoms[None, :, j])
        return total

    def score_rounding(self, x: np.ndarray) -> float:
        """What float64 may do to the score at these points: the exponents lose digits where atoms are far away."""
        exponents = float(self.squares(x).max()) / (2 * self.variance)
        size = float(np.abs(x).max() + np.abs(self.atoms).max()) / self.variance
        return size * (1e-12 + 64 * np.finfo(float).eps * exponents)

    def mean(self) -> np.ndarray:
        r"""$\sum_iw_ia_i$."""
        return self.weights @ self.atoms

    def variances(self) -> np.ndarray:
        """The variance of each coordinate."""
        return self.weights @ (self.atoms - self.mean()) ** 2 + self.variance

    def density(self, x: np.ndarray) -> np.ndarray:
        """The density of the first coordinate."""
        exponents = (x[:, None] - self.atoms[None, :, 0]) ** 2 / (2 * self.variance)
        return np.exp(-exponents) @ self.weights / sqrt(2 * pi * self.variance)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """The distribution function of the first coordinate."""
        return (
            special.ndtr((x[:, None] - self.atoms[None, :, 0]) / sqrt(self.variance)) @ self.weights
        )
