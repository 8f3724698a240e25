r"""Kernels and kernel ridge regression, with the features in reach where there are finitely many.

$\min_f\frac1n\sum_i(f(x_i)-y_i)^2+\gamma\|f\|^2$ has the solution $f=\sum_i\alpha_ik(x_i,\cdot)$ with
$\alpha=(K+\lambda I)^{-1}y$, $\lambda=n\gamma$. Leaving row $i$ out changes its residual to
$y_i-f_{-i}(x_i)=\alpha_i/\big((K+\lambda I)^{-1}\big)_{ii}$: no second fit is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial, prod, sqrt
from typing import Any

import numpy as np
from flint import fmpq_mat  # type: ignore[import-untyped]
from scipy.linalg import cho_factor, cho_solve

from ftheta.logic.errors import UsageError
from ftheta.relu.matrices import fraction, rational, rational_matrix
from ftheta.shapes import Float, Real

EXACT_ROWS = 40
KernelFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """`of(X, Z)` is the matrix of k(x, z); `features(X)` are φ(x), where there are finitely many."""

    name: str
    of: KernelFunction
    features: Callable[[np.ndarray], np.ndarray] | None = None
    # known to be positive semi-definite, known not to be, or not known
    positive: bool | None = True


NAMES = ("linear", "polynomial", "Gaussian", "Laplace", "minus distance")


def kernel(name: str | KernelFunction, *, degree: int = 2, width: float = 1.0) -> Kernel:
    r"""linear $\langle x,z\rangle$ · polynomial $(1+\langle x,z\rangle)^p$ · Gaussian $e^{-\|x-z\|^2/2s^2}$ ·
    Laplace $e^{-\|x-z\|_1/s}$ · minus distance $-\|x-z\|$, which is no kernel; or a function of two arrays of rows."""
    if callable(name):
        return Kernel(getattr(name, "__name__", "kernel"), name, positive=None)
    match name:
        case "linear":
            return Kernel(name, lambda X, Z: X @ Z.T, lambda X: X)
        case "polynomial":
            return Kernel(
                name, lambda X, Z: (1 + X @ Z.T) ** degree, lambda X: monomials(X, degree)
            )
        case "Gaussian":
            return Kernel(name, lambda X, Z: np.exp(-_squares(X, Z) / (2 * width**2)))
        case "Laplace":
            return Kernel(name, lambda X, Z: np.exp(-np.abs(X[:, None] - Z[None]).sum(-1) / width))
        case "minus distance":
            return Kernel(name, lambda X, Z: -np.sqrt(_squares(X, Z)), positive=False)
    remedy = f"choose one of {', '.join(NAMES)}, or give a function of two arrays of rows"
    raise UsageError("Unknown kernel.", got=name, remedy=remedy)


def _squares(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return ((X[:, None] - Z[None]) ** 2).sum(-1)


def exponents(d: int, degree: int) -> list[tuple[int, ...]]:
    """The monomials of degree at most `degree` in d variables, as exponents."""
    chosen = (c for k in range(degree + 1) for c in combinations_with_replacement(range(d), k))
    return [tuple(c.count(j) for j in range(d)) for c in chosen]


def multinomial(exponent: tuple[int, ...], degree: int) -> int:
    r"""The coefficient of $x^a$ in $(1+x_1+\dots+x_d)^p$."""
    return factorial(degree) // (factorial(degree - sum(exponent)) * prod(map(factorial, exponent)))


def monomials(X: Float[np.ndarray, "n d"], degree: int) -> Float[np.ndarray, "n p"]:
    r"""$\varphi(x)=\big(\sqrt{c_a}\,x^a\big)_a$ with $\langle\varphi(x),\varphi(z)\rangle=(1+\langle x,z\rangle)^p$."""
    columns = [
        sqrt(multinomial(a, degree)) * np.prod(X ** np.array(a), axis=1)
        for a in exponents(X.shape[1], degree)
    ]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class KernelRidge:
    r"""$f=\sum_i\alpha_ik(x_i,\cdot)$; `alpha` has one column an output, `residuals_left_out` is $y_i-f_{-i}(x_i)$."""

    kernel: Kernel
    X: Float[np.ndarray, "n d"]
    alpha: Float[np.ndarray, "n *k"]
    fitted: Float[np.ndarray, "n *k"]
    residuals_left_out: Float[np.ndarray, "n *k"]

    def predict(self, X: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m *k"]:
        return self.kernel.of(X, self.X) @ self.alpha


def kernel_ridge(
    X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n *k"], kernel: Kernel, ridge: float
) -> KernelRidge:
    r"""The fit with $\lambda$ = `ridge` $=n\gamma>0$."""
    if not ridge > 0:
        raise UsageError("Kernel ridge needs a ridge λ > 0.", got=ridge)
    K = kernel.of(X, X)
    shifted = K + ridge * np.eye(len(X))
    try:
        inverse = cho_solve(cho_factor(shifted), np.eye(len(X)))
    except np.linalg.LinAlgError:  # a kernel that is not positive
        inverse = np.linalg.pinv(shifted)
    alpha = inverse @ y
    left = alpha / np.diag(inverse).reshape(-1, *([1] * (y.ndim - 1)))
    return KernelRidge(kernel, X, alpha, K @ alpha, left)


def ridge_primal(
    features: Float[np.ndarray, "n p"], y: Float[np.ndarray, "n *k"], ridge: float
) -> Float[np.ndarray, "p *k"]:
    r"""$\theta=(\Phi^\top\Phi+\lambda I)^{-1}\Phi^\top y$, by a least-squares problem with rows $\sqrt\lambda I$."""
    d = features.shape[1]
    rows = np.vstack([features, sqrt(ridge) * np.eye(d)])
    return np.linalg.lstsq(rows, np.concatenate([y, np.zeros((d, *y.shape[1:]))]), rcond=None)[0]


@dataclass(frozen=True)
class ExactRidge:
    """Both sides in rationals: weights of the monomials (scaled by √c), dual coefficients, both predictions, and the
    residuals with each row left out, by the shortcut and by fitting again."""

    theta: tuple[Fraction, ...]
    alpha: tuple[Fraction, ...]
    primal: tuple[Fraction, ...]
    dual: tuple[Fraction, ...]
    shortcut: tuple[Fraction, ...]
    again: tuple[Fraction, ...]


def exact_ridge(
    X: Real[np.ndarray, "n d"],
    y: Real[np.ndarray, "n *k"],
    kernel: Kernel,
    ridge: float,
    degree: int = 1,
) -> ExactRidge | None:
    r"""Linear and polynomial kernels on few rows. With $\Phi$ the plain monomials and $C$ their coefficients,
    $K=\Phi C\Phi^\top$, and the primal weights minimise $\|\Phi\theta-y\|^2+\lambda\theta^\top C^{-1}\theta$."""
    if kernel.name not in ("linear", "polynomial") or len(X) > EXACT_ROWS or y.ndim != 1:
        return None
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    powers = [tuple(int(j == k) for j in range(X.shape[1])) for k in range(X.shape[1])]
    weights = [1] * len(powers)
    if kernel.name == "polynomial":
        powers = exponents(X.shape[1], degree)
        weights = [multinomial(a, degree) for a in powers]
    table = [
        [prod((v**e for v, e in zip(row, a)), start=Fraction(1)) for a in powers] for row in rows
    ]
    if len(powers) > EXACT_ROWS:
        return None
    P = _exact(table)
    Y = rational_matrix(y[:, None])
    lam = Fraction(ridge)
    C = _exact(
        [
            [Fraction(w) if i == j else Fraction(0) for j in range(len(weights))]
            for i, w in enumerate(weights)
        ]
    )
    K = P * C * P.transpose()
    theta = (P.transpose() * P + _identity(len(powers), lam) * C.inv()).solve(P.transpose() * Y)
    inverse = (K + _identity(len(X), lam)).inv()
    alpha = inverse * Y
    n = range(len(X))
    return ExactRidge(
        _read(theta),
        _read(alpha),
        _read(P * theta),
        _read(K * alpha),
        tuple(fraction(alpha[i, 0] / inverse[i, i]) for i in n),
        tuple(_left_out(K, Y, lam, i) for i in n),
    )


def _left_out(K: Any, Y: Any, ridge: Fraction, i: int) -> Fraction:
    """The residual of row i under a fit to the others."""
    rest = [j for j in range(K.nrows()) if j != i]
    if not rest:
        return fraction(Y[i, 0])
    pick = lambda rows, columns: type(K)([[K[a, b] for b in columns] for a in rows])
    alpha = (pick(rest, rest) + _identity(len(rest), ridge)).solve(
        type(K)([[Y[j, 0]] for j in rest])
    )
    return fraction(Y[i, 0] - (pick([i], rest) * alpha)[0, 0])


def _exact(rows: list[list[Fraction]]) -> Any:
    return fmpq_mat([[rational(v) for v in row] for row in rows])


def _identity(n: int, scale: Fraction) -> Any:
    return _exact([[scale if i == j else Fraction(0) for j in range(n)] for i in range(n)])


def _read(column: Any) -> tuple[Fraction, ...]:
    return tuple(fraction(v) for v in column.entries())
