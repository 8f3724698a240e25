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

from ftheta.logic import UsageError
from ftheta.networks import ACTIVATIONS, activation
from ftheta.networks.activations import LEAK

from ..relu import arc_cosine

Pair: TypeAlias = tuple[np.ndarray, np.ndarray]
Scalar: TypeAlias = Callable[[Any], Any]

LEVELS = ((1000, 320), (4000, 1280))  # nodes of the Gauss–Hermite rule, and degree of the expansion
SMALL = 1e-13  # share of a second moment beyond the degree that asks for the next level
NEGLIGIBLE = 1e-16  # what the coefficients left out may add, relative to the largest own moment


@dataclass(frozen=True)
class Dual:
    """`moments(p, q, c)` is the pair of expectations, `own(p)` the same for $u=v$; `name` says of which activation."""

    name: str
    moments: Callable[[np.ndarray, np.ndarray, np.ndarray], Pair]
    own: Callable[[np.ndarray], Pair]


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
    raise UsageError("Unknown activation.", got=of, remedy=f"choose one of {known}, or give a scalar JAX function")


# -- closed forms --------------------------------------------------------------------------------


def _bent(leak: float) -> Dual:
    r"""$\sigma(u)=\max(u,0)+\ell\min(u,0)=\ell u+(1-\ell)u_+$, with $\mathbb E[uv_+]=c/2$ by Stein's identity."""
    both, one = leak**2 + leak * (1 - leak), (1 - leak) ** 2 / 2

    def moments(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> Pair:
        size = np.sqrt(p * q)  # exactly p where the two are the same point
        k0, k1 = arc_cosine(np.divide(c, size, out=np.zeros(np.shape(c)), where=size > 0))
        return both * c + one * size * k1, both + one * k0

    return Dual(f"leak {leak:g}", moments, lambda p: ((both + one) * p, np.full_like(p, both + one)))


def _erf_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> Pair:
    square = (1 + 2 * p) * (1 + 2 * q)
    values = 2 / np.pi * np.arcsin(np.clip(2 * c / np.sqrt(square), -1, 1))
    return values, 4 / np.pi / np.sqrt(square - 4 * c**2)


def _gelu_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> Pair:
    r"""$\mathbb E[uv\mathbf 1[z_1<u,z_2<v]]$ with fresh Gaussians $z$, by parts; then its derivative in $c$."""
    gap = np.sqrt((1 + p) * (1 + q) - c**2)
    both = 0.25 + np.arctan2(c, gap) / (2 * np.pi)  # that both are positive
    bend = 1 / (1 + p) + 1 / (1 + q) - 1
    square = p * q + bend * c**2
    values = c * both + square / (2 * np.pi * gap)
    return values, both + c * ((1 + 2 * bend) + square / gap**2) / (2 * np.pi * gap)


def _sine_moments(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> Pair:
    up, down = np.exp(c - (p + q) / 2) / 2, np.exp(-c - (p + q) / 2) / 2
    return up - down, up + down


def _same(moments: Callable[[np.ndarray, np.ndarray, np.ndarray], Pair], name: str) -> Dual:
    return Dual(name, moments, lambda p: moments(p, p, p))


CLOSED: dict[str, Dual] = {
    "identity": _bent(1.0),
    "relu": _bent(0.0),
    "leaky-relu": _bent(float(LEAK)),
    "abs": _bent(-1.0),
    "erf": _same(_erf_moments, "erf"),
    "gelu": _same(_gelu_moments, "gelu"),
    "sine": _same(_sine_moments, "sine"),
    "square": _same(lambda p, q, c: (p * q + 2 * c**2, 4 * c), "square"),
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

    def expanded(p: np.ndarray) -> tuple[_Expansion, _Expansion]:
        for level in LEVELS:
            z, weights = _rule(*level)
            at = np.sqrt(np.ravel(p))[:, None] * z
            with jax.enable_x64(True):
                values, slopes = np.asarray(sigma(at)), np.asarray(slope(at.ravel())).reshape(at.shape)
            found = (
                _Expansion(values @ weights, values**2 @ weights[:, 0]),
                _Expansion(slopes @ weights, slopes**2 @ weights[:, 0]),
            )
            if all(part.enough for part in found):
                break
        return found

    def own(p: np.ndarray) -> Pair:
        first, second = (part.moment.reshape(np.shape(p)) for part in expanded(p))
        return first, second

    def moments(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> Pair:
        size = np.sqrt(p * q)
        rho = np.clip(np.divide(c, size, out=np.zeros(np.shape(c)), where=size > 0), -1, 1)
        pairs = zip(expanded(p), expanded(q))
        first, second = (_mehler(a, b, np.shape(p), np.shape(q), rho) for a, b in pairs)
        return first, second

    return Dual(getattr(sigma, "__name__", "activation"), moments, own)


def _mehler(left: _Expansion, right: _Expansion, rows: tuple, columns: tuple, rho: np.ndarray) -> np.ndarray:
    """Horner's scheme in ρ, for variances of the shapes `rows` and `columns`."""
    a, b = left.coefficients, right.coefficients
    total = np.sqrt(left.rest).reshape(rows) * np.sqrt(right.rest).reshape(columns) * (rho > 0)
    for k in reversed(range(_needed(a, b))):
        total = total * rho + a[:, k].reshape(rows) * b[:, k].reshape(columns)
    return total


def _needed(a: np.ndarray, b: np.ndarray) -> int:
    """How many coefficients matter: by Cauchy–Schwarz those after them add less than `NEGLIGIBLE`, whatever ρ is."""
    after_a, after_b = (np.sqrt(np.cumsum(c[:, ::-1] ** 2, 1)[:, ::-1].max(0)) for c in (a, b))
    many = min(len(after_a), len(after_b))  # where one has fewer, it has no rest
    left_out = after_a[:many] * after_b[:many]  # from degree k on
    return int(np.count_nonzero(left_out > NEGLIGIBLE * max(left_out[0], 1e-300)))
