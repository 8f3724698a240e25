r"""Dual activations: $\mathbb E[\sigma(u)\sigma(v)]$ and $\mathbb E[\sigma'(u)\sigma'(v)]$ of a pair of Gaussians.

$(u,v)$ is centred with variances $p,q$ and covariance $c$. Closed forms for ReLU and its kin (arc-cosine kernels), erf,
GELU, sine and the square; every other activation by its Hermite coefficients. All act entry by entry on arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import jax
import numpy as np
from scipy import special

from ftheta.kernels.angles import arc_cosine_of_gap, gap_by_difference, geometric_mean
from ftheta.logic.errors import UsageError
from ftheta.networks import ACTIVATIONS, activation
from ftheta.networks.activations import LEAK
from ftheta.shapes import Float

Pair: TypeAlias = tuple[np.ndarray, np.ndarray]
Moments: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray | None]
Scalar: TypeAlias = Callable[[Any], Any]

LEVELS = ((1000, 320), (4000, 1280))  # nodes of the Gauss–Hermite rule, and degree of the expansion
SMALL = 1e-13  # share of a second moment beyond the degree that asks for the next level
NEGLIGIBLE = 1e-16  # what the coefficients left out may add, relative to the largest own moment


@dataclass(frozen=True)
class Dual:
    r"""`through(p, q, c, gap)` are the two expectations and the gap of the first, None where it is not known better
    than by a difference; `own(p)` the two for $u=v$; `name` says of which activation.

    `gap` is $\sqrt{pq}-|c|$ (see `angles`).
    """

    name: str
    through: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Moments]
    own: Callable[[np.ndarray], Pair]

    def moments(
        self,
        p: Float[np.ndarray, "*#shape"],
        q: Float[np.ndarray, "*#shape"],
        c: Float[np.ndarray, "*#shape"],
    ) -> Pair:
        """The two expectations, from the covariance alone."""
        first, second, _ = self.through(p, q, c, gap_by_difference(p, q, c))
        return first, second


def dual(of: str | Scalar) -> Dual:
    """The dual of an activation: its name, or any scalar JAX function."""
    if not isinstance(of, str):
        return _by_hermite(of)
    name = of.lower().replace("_", "-")
    if name in CLOSED:
        return CLOSED[name]
    if name in ACTIVATIONS:
        return _by_hermite(activation(name).function)
    known = ", ".join(sorted({*CLOSED, *ACTIVATIONS}))
    raise UsageError(
        "Unknown activation.",
        got=of,
        remedy=f"choose one of {known}, or give a scalar JAX function",
    )


# -- closed forms --------------------------------------------------------------------------------


def _bent(leak: float) -> Dual:
    r"""$\sigma(u)=\max(u,0)+\ell\min(u,0)=\ell u+(1-\ell)u_+$, with $\mathbb E[uv_+]=c/2$ by Stein's identity.

    The new covariance is $\ell c+\frac12(1-\ell)^2\sqrt{pq}\,\kappa_1$, its gap
    $\ell(\sqrt{pq}-c)+\frac12(1-\ell)^2\sqrt{pq}(1-\kappa_1)$ where that covariance is positive, and the same with
    both signs turned where it is not. $|u|$, the leak $-1$, does not see the sign of $c$.
    """
    both = leak**2 + leak * (1 - leak)
    one = (1 - leak) ** 2 / 2

    def through(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Moments:
        size = geometric_mean(p, q)
        share = np.divide(gap, size, out=np.ones(np.shape(gap)), where=size > 0)
        acute = c >= 0
        kappa = arc_cosine_of_gap(share, acute)
        values = both * c + one * size * kappa.k1
        if leak == -1:
            apart = arc_cosine_of_gap(share, np.ones_like(acute)).rest
            return values, both + one * kappa.k0, 2 * size * apart - gap
        away = 2 * size - gap
        below = both * np.where(acute, gap, away) + one * size * kappa.rest
        above = both * np.where(acute, away, gap) + one * size * (1 + kappa.k1)
        return values, both + one * kappa.k0, np.where(values >= 0, below, above)

    return Dual(
        f"leak {leak:g}", through, lambda p: ((both + one) * p, np.full_like(p, both + one))
    )


def _determinant(p: np.ndarray, q: np.ndarray, gap: np.ndarray) -> np.ndarray:
    r"""$pq-c^2=(\sqrt{pq}-|c|)(\sqrt{pq}+|c|)$."""
    return gap * (2 * geometric_mean(p, q) - gap)


def _erf_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Pair:
    rest = np.sqrt(1 + 2 * (p + q) + 4 * _determinant(p, q, gap))
    return 2 / np.pi * np.arctan2(2 * c, rest), 4 / np.pi / rest


def _gelu_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Pair:
    r"""$\mathbb E[uv\mathbf 1[z_1<u,z_2<v]]$ with fresh Gaussians $z$, by parts; then its derivative in $c$.

    With $r^2=(1+p)(1+q)-c^2$ and $e=\frac1{1+p}+\frac1{1+q}$ the terms are
    $pq-c^2+ec^2$ over $2\pi r$, and $c(e+r^{-2})$ over the same.
    """
    determinant = _determinant(p, q, gap)
    rest = np.sqrt(1 + p + q + determinant)
    both = np.arctan2(rest, -c) / (2 * np.pi)  # that both are positive
    share = 1 / (1 + p) + 1 / (1 + q)
    values = c * both + (determinant + share * c**2) / (2 * np.pi * rest)
    return values, both + c * (share + rest**-2) / (2 * np.pi * rest)


def _sine_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Pair:
    """E sin u sin v and E cos u cos v, from the laws of u − v and u + v."""
    # of the smaller variance of the two
    near = np.exp(-((np.sqrt(p) - np.sqrt(q)) ** 2) / 2 - gap) / 2
    share = np.exp(-2 * np.abs(c))
    return np.sign(c) * near * -np.expm1(-2 * np.abs(c)), near * (1 + share)


def _square_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Pair:
    return p * q + 2 * c**2, 4 * c


def _smooth(
    moments: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Pair], name: str
) -> Dual:
    """An activation whose expectations are smooth in the covariance."""
    through = lambda p, q, c, gap: (*moments(p, q, c, gap), None)
    return Dual(name, through, lambda p: moments(p, p, p, np.zeros_like(p)))


CLOSED: dict[str, Dual] = {
    "identity": _bent(1.0),
    "relu": _bent(0.0),
    "leaky-relu": _bent(float(LEAK)),
    "abs": _bent(-1.0),
    "erf": _smooth(_erf_moments, "erf"),
    "gelu": _smooth(_gelu_moments, "gelu"),
    "sine": _smooth(_sine_moments, "sine"),
    "square": _smooth(_square_moments, "square"),
}


# -- any activation ------------------------------------------------------------------------------


@lru_cache(8)
def _rule(nodes: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes $z_i$, and $w_ih_k(z_i)$ for the orthonormal Hermite polynomials $h_0,\dots$, one column a degree.

    The recursion starts at $\sqrt{w_i}$ and multiplies the other root at the end: the polynomials alone overflow.
    """
    z, w = special.roots_hermitenorm(nodes)
    root = np.sqrt(w / w.sum())
    columns = [root, z * root]
    for k in range(1, degree):
        columns.append((z * columns[-1] - np.sqrt(k) * columns[-2]) / np.sqrt(k + 1))
    return z, np.stack(columns, 1) * root[:, None]


@dataclass(frozen=True, eq=False)
class _Expansion:
    r"""`coefficients` $a_k(p)$, one row a variance, the `moment` $\mathbb E\sigma^2$ and the `rest` $t$ of it."""

    coefficients: np.ndarray
    moment: np.ndarray

    @property
    def rest(self) -> np.ndarray:
        return np.maximum(self.moment - (self.coefficients**2).sum(1), 0)

    @property
    def enough(self) -> bool:
        return bool((self.rest <= SMALL * np.maximum(self.moment, 1e-300)).all())


@lru_cache(64)
def _by_hermite(sigma: Scalar) -> Dual:
    r"""Mehler: $\mathbb E[\sigma(u)\sigma(v)]=\sum_ka_k(p)a_k(q)\rho^k$, $a_k(p)=\mathbb E[\sigma(\sqrt pz)h_k(z)]$.

    The same holds for $\sigma'$. The coefficients are found by Gauss–Hermite quadrature. Beyond the degree $D$ kept,
    Cauchy–Schwarz bounds the rest by $|\rho|^{D+1}\sqrt{t(p)t(q)}$ with
    $t=\mathbb E\sigma^2-\sum_{k\le D}a_k^2$; it is added for $\rho>0$, where it makes $\rho=1$ exact.
    """
    slope = jax.vmap(jax.grad(sigma))

    def expand(p: np.ndarray) -> tuple[_Expansion, _Expansion]:
        for level in LEVELS:
            z, weights = _rule(*level)
            at = np.sqrt(np.ravel(p))[:, None] * z
            with jax.enable_x64(True):
                values = np.asarray(sigma(at))
                slopes = np.asarray(slope(at.ravel())).reshape(at.shape)
            found = (
                _Expansion(values @ weights, values**2 @ weights[:, 0]),
                _Expansion(slopes @ weights, slopes**2 @ weights[:, 0]),
            )
            if all(part.enough for part in found):
                break
        return found

    def own(p: np.ndarray) -> Pair:
        first, second = (part.moment.reshape(np.shape(p)) for part in expand(p))
        return first, second

    def through(p: np.ndarray, q: np.ndarray, c: np.ndarray, gap: np.ndarray) -> Moments:
        size = geometric_mean(p, q)
        rho = np.clip(np.divide(c, size, out=np.zeros(np.shape(c)), where=size > 0), -1, 1)
        pairs = zip(expand(p), expand(q))
        first, second = (_mehler(a, b, np.shape(p), np.shape(q), rho) for a, b in pairs)
        return first, second, None

    return Dual(getattr(sigma, "__name__", "activation"), through, own)


def _mehler(
    left: _Expansion, right: _Expansion, rows: tuple, columns: tuple, rho: np.ndarray
) -> np.ndarray:
    """Horner's scheme in ρ, for variances of the shapes `rows` and `columns`."""
    a = left.coefficients
    b = right.coefficients
    total = np.sqrt(left.rest).reshape(rows) * np.sqrt(right.rest).reshape(columns) * (rho > 0)
    for k in reversed(range(_count_needed(a, b))):
        total = total * rho + a[:, k].reshape(rows) * b[:, k].reshape(columns)
    return total


def _count_needed(a: np.ndarray, b: np.ndarray) -> int:
    """How many coefficients matter: by Cauchy–Schwarz those after them add less than `NEGLIGIBLE`, whatever ρ is."""
    after_a, after_b = (np.sqrt(np.cumsum(c[:, ::-1] ** 2, 1)[:, ::-1].max(0)) for c in (a, b))
    many = min(len(after_a), len(after_b))  # where one has fewer, it has no rest
    left_out = after_a[:many] * after_b[:many]  # from degree k on
    return int(np.count_nonzero(left_out > NEGLIGIBLE * max(left_out[0], 1e-300)))
