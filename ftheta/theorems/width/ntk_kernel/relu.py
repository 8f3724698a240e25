r"""Infinite width: the kernels that ReLU networks with independent Gaussian weights tend to.

In the tangent-kernel parametrisation the weights are standard Gaussian and the layers carry the scale:
$h_l=\sqrt{2g_l/m_l}\,\mathrm{ReLU}(W_lh_{l-1})$ and $f=a\cdot h_L$, with gains $g_l=1$ for He's scaling. The kernel of
outputs is $\Sigma_L$ (NNGP), that of gradients $\Theta_L$ (NTK).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Any

import jax
import numpy as np
from scipy import special

from ftheta.kernels.angles import arc_cosine_of_gap, gap_of_inputs, geometric_mean
from ftheta.networks import Description

# -- closed forms --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WideLimit:
    r"""The limit of ReLU networks with `first` = the entry variance of the first layer and one gain a hidden layer."""

    gains: tuple[float, ...]
    first: float = 1.0

    def kernels(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""$(\Sigma_L,\Theta_L)$ on the rows of `X`.

        With cosines $\rho$ and norms $q$ read off $\Sigma_l$: $\Sigma_{l+1}=g_lqq^\top\kappa_1(\rho)$ and
        $\Theta_{l+1}=\Sigma_{l+1}+g_l\Theta_l\kappa_0(\rho)$ entrywise, from $\Sigma_0=\Theta_0=$ `first` $XX^\top$.
        The relative error is a few roundings a layer at every angle (`angles`).
        """
        nngp = self.first * (X @ X.T)
        own = self.first * np.einsum("ic,ic->i", X, X)
        np.fill_diagonal(nngp, own)
        gap = gap_of_inputs(X, X, own, own, nngp)
        np.fill_diagonal(gap, 0.0)
        ntk = nngp
        for gain in self.gains:
            size = geometric_mean(own[:, None], own[None, :])
            share = np.divide(gap, size, out=np.ones_like(gap), where=size > 0)
            kappa = arc_cosine_of_gap(share, nngp >= 0)
            nngp = gain * size * kappa.k1
            ntk = nngp + gain * ntk * kappa.k0
            gap = gain * size * kappa.rest
            own = gain * own
        return nngp, ntk


def two_layer(angle: float) -> tuple[float, float, float]:
    r"""The NNGP kernel, $\mathbb E[\sigma'\sigma']=\frac{\pi-\varphi}{2\pi}$ and the NTK of unit inputs at that angle.

    The network is $\frac1{\sqrt m}\sum_ra_r\,\mathrm{ReLU}(w_r\cdot x)$: gain one half.
    """
    acute = angle <= pi / 2
    share = 2 * sin((angle if acute else pi - angle) / 2) ** 2
    kappa = arc_cosine_of_gap(np.array(share), np.array(acute))
    k0 = float(kappa.k0) / 2
    k1 = float(kappa.k1) / 2
    return k1, k0, k1 + cos(angle) * k0


def kernel_flow(K: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
    r"""$f_t=(I-e^{-tK})y$: the outputs at time $t$ of $\dot f=K(y-f)$ from $f_0=0$."""
    values, vectors = np.linalg.eigh(K)
    return vectors @ (-np.expm1(-t * values) * (vectors.T @ y))


# -- networks ------------------------------------------------------------------------------------


def he_network(params: Sequence[Any], x: Any) -> Any:
    r"""The network with all gains 1: `params` are $W_1,\dots,W_L$ and the output weights $a$."""
    for W in params[:-1]:
        x = sqrt(2 / len(W)) * jax.nn.relu(W @ x)
    return params[-1] @ x


def he_params(rng: np.random.Generator, inputs: int, width: int, layers: int) -> list[np.ndarray]:
    """Independent standard Gaussian weights for `he_network`."""
    return [rng.normal(size=(width, width if k else inputs)) for k in range(layers)] + [
        rng.normal(size=width)
    ]


def sign_params(width: int, layers: int) -> list[np.ndarray]:
    """Weights ±1 that are not random at all: the columns of every layer alternate in sign ever more slowly.

    With two inputs the rows of the first layer run through the four sign vectors: mean and covariance of each row are
    those of standard Gaussians.
    """
    row = np.arange(width)[:, None]
    matrices = [
        1.0 - 2.0 * (row >> np.minimum(np.arange(width if k else 2), 62) & 1) for k in range(layers)
    ]
    return [*matrices, 1.0 - 2.0 * (row[:, 0] & 1)]


def rescale(
    description: Description,
) -> tuple[Callable[[Any, Any], Any], list[np.ndarray], WideLimit] | None:
    """A fully connected ReLU network without biases in the tangent-kernel parametrisation; None for any other.

    Returned are the function that multiplies each standard deviation back, the weights divided by it, and the limit.
    """
    layers = description.layers
    plain = (
        all(layer.activation == "relu" for layer in layers[:-1])
        and layers[-1].activation == "identity"
    )
    if len(layers) < 2 or not plain or any(layer.bias.any() for layer in layers):
        return None
    sizes = [root_mean_square(layer.weight) for layer in layers]
    if min(sizes) == 0:
        return None

    def apply(params: Sequence[Any], x: Any) -> Any:
        for W, size in zip(params[:-1], sizes):
            x = jax.nn.relu(size * (W @ x))
        return sizes[-1] * (params[-1] @ x)

    gains = tuple(
        size * size * layer.weight.shape[1] / 2 for size, layer in zip(sizes[1:], layers[1:])
    )
    return (
        apply,
        [layer.weight / size for layer, size in zip(layers, sizes)],
        WideLimit(gains, sizes[0] * sizes[0]),
    )


def root_mean_square(W: np.ndarray) -> float:
    """Of the entries, none of which need have a square that is a float."""
    largest = float(np.abs(W).max(initial=0.0))
    return largest * sqrt(float(np.mean((W / largest) ** 2))) if largest else 0.0


def gaussian_p_value(weights: Any) -> tuple[float, str]:
    r"""How likely independent centred Gaussians are to look at least as unlike themselves as these arrays, and where.

    Of every array the mean, the tails (Geary's $\mathbb E|z|=\sqrt{2/\pi}$), the distribution (Kolmogorov–Smirnov) and,
    for a matrix $(r,c)$, the largest singular value are tested, the last by
    $\mathbb P(\sigma_{\max}>\sqrt r+\sqrt c+s)\le e^{-s^2/2}$. The least p-value is multiplied by the number of tests.
    """
    found = [(1.0, "nothing to test")]
    for i, given in enumerate(np.asarray(leaf) for leaf in jax.tree.leaves(weights)):
        if given.size < 32 or not given.any():
            continue
        array = given / np.abs(given).max()  # no square of it overflows, or all of them underflow
        size = float(np.sqrt(np.mean(array**2)))
        z = np.sort(array.ravel()) / size
        found.append((float(special.erfc(abs(z.mean()) * sqrt(z.size / 2))), f"mean of array {i}"))
        geary = abs(float(np.abs(z).mean()) - sqrt(2 / np.pi)) / sqrt((1 - 3 / np.pi) / z.size)
        found.append((float(special.erfc(geary / sqrt(2))), f"tails of array {i}"))
        steps = np.arange(z.size + 1) / z.size
        cdf = special.ndtr(z)
        gap = float(max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max()))
        found.append((float(special.kolmogorov(gap * sqrt(z.size))), f"distribution of array {i}"))
        if array.ndim == 2:
            excess = max(
                0.0,
                _largest_singular_value(array / size) - sqrt(array.shape[0]) - sqrt(array.shape[1]),
            )
            found.append((float(np.exp(-(excess**2) / 2)), f"largest singular value of array {i}"))
    p, where = min(found)
    return min(1.0, p * len(found)), where


def _largest_singular_value(W: np.ndarray, rounds: int = 30) -> float:
    """From below, by power iteration: a test statistic that rejects no more often than the value itself."""
    v = np.cos(np.arange(W.shape[1])) + 1e-3
    for _ in range(rounds):
        v = W.T @ (W @ (v / np.linalg.norm(v)))
    return float(np.sqrt(np.linalg.norm(v)))
