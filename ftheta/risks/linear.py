r"""Linear models: least squares in rationals, logistic regression, Hessians and conditioning.

$E(\theta)=\frac1n\sum_i\ell(\langle x_i,\theta\rangle,y_i)$ has the Hessian $\frac1n\sum_i\ell''x_ix_i^\top$: for the
squared loss $\frac2nX^\top X$, for the logistic one $\frac1n\sum_i\sigma(m_i)\sigma(-m_i)x_ix_i^\top$, which is at most
$\frac1{4n}X^\top X$ because $\frac14-\sigma(1-\sigma)=(\frac12-\sigma)^2$.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import expit

from ftheta.relu.matrices import fraction, rational, rational_matrix
from ftheta.shapes import Float, Real, Shaped

EXACT_ROWS = 2000
EXACT_COLUMNS = 24
NEWTON = 100  # steps at most


def least_squares(
    x: Real[np.ndarray, "n d"], y: Real[np.ndarray, "n *k"]
) -> Float[np.ndarray, "d *k"]:
    """The minimum-norm least-squares parameters."""
    return np.linalg.lstsq(x, y, rcond=None)[0]


def exact_least_squares(
    x: Shaped[np.ndarray, "n d"], y: Shaped[np.ndarray, "n"], ridge: Fraction | float = 0
) -> tuple[Fraction, ...] | None:
    r"""$(X^\top X+\lambda I)^{-1}X^\top y$ in rationals; None where it is not unique, or the data are too many."""
    n, d = x.shape
    if n > EXACT_ROWS or d > EXACT_COLUMNS or y.ndim != 1:
        return None
    X = rational_matrix(x)
    Y = rational_matrix(y[:, None])
    gram = X.transpose() * X
    for i in range(d):
        gram[i, i] += rational(Fraction(ridge))
    try:
        theta = gram.solve(X.transpose() * Y)
    except ZeroDivisionError:
        return None
    return tuple(fraction(theta[i, 0]) for i in range(d))


def squared_hessian(x: Real[np.ndarray, "n d"]) -> Float[np.ndarray, "d d"]:
    r"""$\frac2nX^\top X$."""
    return 2 * x.T @ x / len(x)


def logistic_hessian(
    x: Real[np.ndarray, "n d"], theta: Real[np.ndarray, "d"]
) -> Float[np.ndarray, "d d"]:
    r"""$\frac1n\sum_i\sigma(m_i)\sigma(-m_i)x_ix_i^\top$; the labels do not enter."""
    m = x @ theta
    return (x * (expit(m) * expit(-m))[:, None]).T @ x / len(x)


def logistic_gradient(
    z: Real[np.ndarray, "n d"], theta: Real[np.ndarray, "d"]
) -> Float[np.ndarray, "d"]:
    r"""$-\frac1n\sum_i\sigma(-\langle z_i,\theta\rangle)z_i$ for $z_i=y_ix_i$."""
    return -expit(-(z @ theta)) @ z / len(z)


def logistic_value(z: Real[np.ndarray, "n d"], theta: Real[np.ndarray, "d"]) -> float:
    r"""$\frac1n\sum_i\ln(1+e^{-\langle z_i,\theta\rangle})$ for $z_i=y_ix_i$."""
    return float(np.mean(np.logaddexp(0, -(z @ theta))))


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The parameters that Newton's method reached, the loss there, and the size of the gradient left."""

    theta: Float[np.ndarray, "d"]
    loss: float
    gradient: float
    steps: int


def logistic_regression(
    z: Real[np.ndarray, "n d"], ridge: float = 0.0, tol: float = 1e-12
) -> LogisticFit:
    r"""Newton's method with halved steps on $\frac1n\sum_i\ln(1+e^{-\langle z_i,\theta\rangle})+\gamma\|\theta\|^2$.

    `z` are rows times labels ±1. On separable rows without ridge there is no minimiser: the steps run out.
    """
    theta = np.zeros(z.shape[1])
    value = logistic_value(z, np.zeros(z.shape[1]))
    scale = max(float(np.abs(z).max(initial=0.0)), 1e-300)
    taken = 0
    while taken < NEWTON:
        slope = logistic_gradient(z, theta) + 2 * ridge * theta
        if np.abs(slope).max() <= tol * scale:
            break
        move = -np.linalg.lstsq(
            logistic_hessian(z, theta) + 2 * ridge * np.eye(len(theta)), slope, rcond=None
        )[0]
        size = 1.0
        while size > 1e-10:
            after = logistic_value(z, theta + size * move) + ridge * float(
                np.sum((theta + size * move) ** 2)
            )
            if after <= value + 1e-4 * size * float(slope @ move):
                break
            size /= 2
        else:
            break
        theta = theta + size * move
        value = after
        taken = taken + 1
    left = logistic_gradient(z, theta) + 2 * ridge * theta
    return LogisticFit(theta, value, float(np.abs(left).max() / scale), taken)


def condition(x: Real[np.ndarray, "n d"]) -> float:
    r"""$\kappa(X^\top X)=(\sigma_{\max}/\sigma_{\min})^2$; infinite where columns depend."""
    values = np.linalg.svd(x, compute_uv=False)
    if len(x) < x.shape[1] or values[-1] <= values[0] * max(x.shape) * np.finfo(float).eps:
        return float("inf")
    return float((values[0] / values[-1]) ** 2)


def signs_of(y: Real[np.ndarray, "n *k"]) -> Real[np.ndarray, "n *k"] | None:
    """Labels ±1 where there are two of them, 0 and 1 or −1 and 1; else None."""
    found = set(np.unique(y).tolist())
    return np.where(y > 0, 1.0, -1.0) if found in ({0.0, 1.0}, {-1.0, 1.0}) else None


def feature_columns(x: Real[np.ndarray, "n d"]) -> list[int]:
    """The indices of the columns of `x` that are not constant."""
    return [j for j in range(x.shape[1]) if np.ptp(x[:, j]) > 0]
