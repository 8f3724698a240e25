r"""Flow matching with exact velocities: from noise to a Gaussian mixture or to data along straight lines.

With $x_t=(1-t)x_0+tx_1$, $x_0$ standard normal and $x_1$ of $\sum_iw_i\mathcal N(a_i,vI)$ independent, $x_t$ has the
law $\sum_iw_i\mathcal N(ta_i,VI)$, $V=(1-t)^2+t^2v$, and
$$v_t(x)=\mathbb E[x_1-x_0\mid x_t=x]=\sum_ir_i(x)\big(a_i+c(x-ta_i)\big),\qquad c=\frac{tv-(1-t)}V.$$
"""

import numpy as np

from ftheta.shapes import Float

from .mixtures import Mixture


def slope(law: Mixture, t: float) -> float:
    r"""$c=\frac{tv-(1-t)}{(1-t)^2+t^2v}$."""
    return (t * law.variance - (1 - t)) / _variance(law, t)


def _variance(law: Mixture, t: float) -> float:
    return (1 - t) ** 2 + t**2 * law.variance


def velocity(law: Mixture, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    r"""$v_t(x)$ at the rows of `x`; of discrete data ($v=0$) for $t<1$."""
    c = slope(law, t)
    centre = law.interpolate(t).responsibilities(x) @ law.atoms
    return centre + c * (x - t * centre)


def scatter_of_atoms(law: Mixture, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
    r"""$\sum_ir_i|a_i-\bar a|^2$ with $\bar a=\sum_ir_ia_i$ at the rows of `x`."""
    shares = law.interpolate(t).responsibilities(x)
    middle = law.mean()
    centre = shares @ law.atoms - middle
    return np.maximum(shares @ ((law.atoms - middle) ** 2).sum(1) - (centre**2).sum(1), 0.0)


def divergence(law: Mixture, t: float, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
    r"""$\mathrm{tr}\,Dv_t=cd+(1-ct)\frac tV\sum_ir_i|a_i-\bar a|^2$."""
    c = slope(law, t)
    return c * x.shape[1] + (1 - c * t) * t / _variance(law, t) * scatter_of_atoms(law, t, x)


def conditional_variance(
    law: Mixture, t: float, x: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n"]:
    r"""$\mathrm{Var}(x_1-x_0\mid x_t=x)=\frac{dv}V+(1-ct)^2\sum_ir_i|a_i-\bar a|^2$: its mean is the least loss."""
    c = slope(law, t)
    within = x.shape[1] * law.variance / _variance(law, t)
    return within + (1 - c * t) ** 2 * scatter_of_atoms(law, t, x)


def draw_pairs(
    law: Mixture, rng: np.random.Generator, n: int
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
    """Noise and data, independent: `n` rows of each."""
    return rng.normal(size=(n, law.atoms.shape[1])), law.sample(rng, n)
