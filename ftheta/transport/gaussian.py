r"""Transport between Gaussians, in closed form (`gelbrich1990`, `takatsu2011`).

$W_2^2(\mathcal N(m,\Sigma),\mathcal
N(m',\Sigma'))=|m-m'|^2+\operatorname{tr}(\Sigma+\Sigma'-2(\Sigma^{1/2}\Sigma'\Sigma^{1/2})^{1/2})$. Between any two
laws with these moments $W_2^2$ is at least that: the Fréchet distance of two samples is this number of their moments.
"""

import numpy as np

from ftheta.shapes import Float, Real


def matrix_root(S: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    r"""$S^{1/2}$ of a symmetric matrix; eigenvalues that are rounding count as zero: their roots would not be small."""
    values, vectors = np.linalg.eigh(S)
    noise = len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    return vectors * np.sqrt(np.where(values > noise, values, 0.0)) @ vectors.T


def gaussian_distance(
    mean: Float[np.ndarray, "d"],
    covariance: Float[np.ndarray, "d d"],
    other_mean: Float[np.ndarray, "d"],
    other_covariance: Float[np.ndarray, "d d"],
) -> float:
    r"""$W_2^2$ of two Gaussians with means $m$, $m'$ and covariances $\Sigma$, $\Sigma'$."""
    cross = np.linalg.svd(
        matrix_root(covariance) @ matrix_root(other_covariance), compute_uv=False
    ).sum()
    spread = np.trace(covariance) + np.trace(other_covariance) - 2 * cross
    return float(((mean - other_mean) ** 2).sum() + max(spread, 0.0))


def gaussian_map(
    covariance: Float[np.ndarray, "d d"], other_covariance: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "d d"]:
    r"""The symmetric $T=\Sigma^{-1/2}(\Sigma^{1/2}\Sigma'\Sigma^{1/2})^{1/2}\Sigma^{-1/2}$, with $T\Sigma T=\Sigma'$:
    the optimal map is $x\mapsto m'+T(x-m)$."""
    half = matrix_root(covariance)
    inverse = np.linalg.pinv(half, hermitian=True)
    return inverse @ matrix_root(half @ other_covariance @ half) @ inverse


def sample_moments(
    x: Real[np.ndarray, "n d"], weights: Float[np.ndarray, "n"] | None = None, *, ddof: int = 0
) -> tuple[Float[np.ndarray, "d"], Float[np.ndarray, "d d"]]:
    r"""Mean and covariance of rows with weights that sum to 1; divided by $n-$`ddof` where all count alike."""
    n = len(x)
    shares = np.full(n, 1 / n) if weights is None else weights
    mean = shares @ x
    centred = x - mean
    covariance = (centred * shares[:, None]).T @ centred
    return mean, covariance * (n / (n - ddof) if weights is None and n > ddof else 1.0)


def entropic_gaussian_cost(s: float, t: float, shift: float, epsilon: float) -> float:
    r"""$\mathrm{OT}_\varepsilon$ of $\mathcal N(0,s^2)$ and $\mathcal N(\delta,t^2)$ with `shift` $\delta$, cost
    $|x-y|^2$ and penalty $\varepsilon\,\mathrm{KL}(P|a\otimes b)$: the optimal plan has covariance
    $\kappa=-\frac\varepsilon4+\sqrt{\frac{\varepsilon^2}{16}+s^2t^2}$."""
    kappa = entropic_covariance(s, t, epsilon)
    information = -0.5 * np.log1p(-(kappa**2) / (s * t) ** 2)
    return float(shift**2 + s**2 + t**2 - 2 * kappa + epsilon * information)


def entropic_covariance(s: float, t: float, epsilon: float) -> float:
    r"""$\kappa=-\frac\varepsilon4+\sqrt{\frac{\varepsilon^2}{16}+s^2t^2}$, without cancellation."""
    product = (s * t) ** 2
    return float(product / (epsilon / 4 + np.sqrt(epsilon**2 / 16 + product)))
