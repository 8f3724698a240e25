r"""The largest margin of separable rows, and the direction that gradient flow on the logistic loss takes.

With $z_i=y_ix_i$ the max-margin vector is $\hat w=\arg\min\|w\|^2$ subject to $\langle z_i,w\rangle\ge1$. Lawson and
Hanson's least distance programming finds it by non-negative least squares: if $u\ge0$ minimises
$\|\binom{Z^\top}{1^\top}u-e_{d+1}\|$ with residual $r\ne0$, then $\hat w=-r_{1..d}/r_{d+1}$; no $r$ means no solution.
Any $w$ and any $u\ge0$ enclose the margin:
$\min_i\frac{\langle z_i,w\rangle}{\|w\|}\le\gamma\le\frac{\|Z^\top u\|}{1^\top u}$.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import nnls

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Float

EXACT_ENTRIES = 20_000  # numbers of Z that are taken as fractions
CLOSE = 1e-9  # residual below which rows count as not separable


@dataclass(frozen=True, eq=False)
class Margin:
    """`w` with all products at least 1, the multipliers `u` of the rows, and the enclosure of the largest margin."""

    w: Float[np.ndarray, "d"]
    u: Float[np.ndarray, "n"]
    margin: Enclosure

    @property
    def direction(self) -> Float[np.ndarray, "d"]:
        return self.w / np.linalg.norm(self.w)

    @property
    def support(self) -> int:
        return int((self.u > 1e-9 * self.u.max(initial=0.0)).sum())


def max_margin(z: Float[np.ndarray, "n d"]) -> Margin | None:
    """The max-margin vector of the rows z_i = y_i x_i; None where no vector separates them."""
    scale = float(np.abs(z).max(initial=0.0))
    if scale == 0:
        return None
    rows = z / scale
    target = np.zeros(rows.shape[1] + 1)
    target[-1] = 1.0
    E = np.vstack([rows.T, np.ones(len(rows))])
    u, _ = nnls(E, target, maxiter=30 * max(E.shape))
    residual = E @ u - target
    if np.linalg.norm(residual) < CLOSE:
        return None
    w = -residual[:-1] / residual[-1] / scale
    least = float((z @ w).min())
    return None if least <= 0 else Margin(w / least, u, enclosed_margin(z, w, u))


def bring_into_range(z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Tiny rows times a power of two, which rounds nothing: the reciprocal of their margin is a float then. The same
    vectors separate them, and the same rows support the largest margin."""
    exponent = int(np.frexp(np.abs(z).max(initial=0.0))[1])
    return np.ldexp(z, max(0, -exponent))


def enclosed_margin(
    z: Float[np.ndarray, "n d"], w: Float[np.ndarray, "d"], u: Float[np.ndarray, "n"]
) -> Enclosure:
    """The largest margin between what w attains and what the multipliers u allow: in rationals, if there are few."""
    if z.size > EXACT_ENTRIES:
        lo = float((z @ w).min() / np.linalg.norm(w))
        hi = float(np.linalg.norm(z.T @ u) / u.sum())
        return Enclosure.between(min(lo, hi), max(lo, hi), Basis.FLOAT)
    Z, W, U = (_fractions(a) for a in (z, w[None], u[None]))
    least = min(sum((a * b for a, b in zip(row, W[0])), Fraction(0)) for row in Z)
    pulled = [sum((c * row[j] for c, row in zip(U[0], Z)), Fraction(0)) for j in range(z.shape[1])]
    total = sum(U[0], Fraction(0))
    lo = _root(least * abs(least) / sum(v * v for v in W[0])) if least > 0 else Enclosure.exact(0)
    hi = _root(sum((v * v for v in pulled), Fraction(0)) / total**2)
    return Enclosure.between(lo.lo, max(hi.hi, lo.lo))


def _fractions(a: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(v) for v in row] for row in a.tolist()]


def _root(q: Fraction) -> Enclosure:
    """The square root of a rational, enclosed."""
    small = max(0, q.denominator.bit_length() - q.numerator.bit_length())
    shift = 1 << 120 + small // 2
    whole = isqrt(int(q * shift * shift))
    return Enclosure.between(
        Enclosure.exact(Fraction(whole, shift)).lo, Enclosure.exact(Fraction(whole + 1, shift)).hi
    )


def separates(z: Float[np.ndarray, "n d"], w: Float[np.ndarray, "d"]) -> bool:
    """Whether w has a positive product with every row, decided in rationals where there are few."""
    if z.size > EXACT_ENTRIES:
        return bool((z @ w > 1e-9 * np.abs(z) @ np.abs(w)).all())
    W = [Fraction(v) for v in w.tolist()]
    return all(
        sum((Fraction(a) * b for a, b in zip(row, W)), Fraction(0)) > 0 for row in z.tolist()
    )


def logistic_flow(
    z: Float[np.ndarray, "n d"], until: float, points: int = 60
) -> tuple[Float[np.ndarray, "t"], Float[np.ndarray, "t d"]]:
    r"""Gradient flow of $\frac1n\sum_i\ln(1+e^{-\langle z_i,\theta\rangle})$ from 0 in the time $s=\ln(1+t)$.

    In $s$ the flow is $\frac{d\theta}{ds}=\frac1n\sum_iz_ie^{s-\ln(1+e^{\langle z_i,\theta\rangle})}$, of bounded
    speed: times like $e^{2000}$ are in reach. Returns the times $s$ and the parameters, one row each.
    """
    s = np.geomspace(min(0.5, until / 2), until, points)

    def speed(now: float, theta: np.ndarray) -> np.ndarray:
        return np.exp(now - np.logaddexp(0.0, z @ theta)) @ z / len(z)

    found = solve_ivp(
        speed, (0.0, until), np.zeros(z.shape[1]), "LSODA", t_eval=s, rtol=1e-9, atol=1e-10
    )
    return found.t, found.y.T


def direction_error(
    theta: Float[np.ndarray, "t d"], direction: Float[np.ndarray, "d"]
) -> Float[np.ndarray, "t"]:
    r"""$\|\theta/\|\theta\|-\hat w/\|\hat w\|\|$ for each row."""
    size = np.linalg.norm(theta, axis=-1, keepdims=True)
    unit = np.divide(theta, size, out=np.full_like(theta, inf), where=size > 0)
    return np.linalg.norm(unit - direction, axis=-1)
