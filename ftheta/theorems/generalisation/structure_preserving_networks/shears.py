r"""Maps of phase space $(q,p)\in\mathbb R^{2n}$ that keep $\Omega=\begin{pmatrix}0&I\\-I&0\end{pmatrix}$.

A shear $p\mapsto p+g(q)$ with $g=\nabla G$ has the Jacobian $\begin{pmatrix}I&0\\S&I\end{pmatrix}$ with symmetric $S$,
and $J^\top\Omega J=\Omega+\begin{pmatrix}S-S^\top&0\\0&0\end{pmatrix}=\Omega$. So do shears of $q$, and compositions: a
step of leapfrog, and SympNets (`jin2020`), whose $g(q)=K^\top\mathrm{diag}(a)\sigma(Kq+b)$ has $S=K^\top\mathrm{diag}
(a\,\sigma')K$. Euler's step moves both at once, and does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.activations import activation
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.network import ExactNetwork, ExactStep

Matrix = list[list[Fraction]]


# ---- SympNets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SympNet:
    """Shears of p and of q by turns, `apply(params, x)`; `params` are triples (K, a, b)."""

    hidden: str = "relu"

    def __call__(self, params: Any, x: Any) -> Any:
        sigma = activation(self.hidden).function
        n = x.shape[0] // 2
        q = x[:n]
        p = x[n:]
        for k, (K, a, b) in enumerate(params):
            if k % 2 == 0:
                p = p + K.T @ (a * sigma(K @ q + b))
            else:
                q = q + K.T @ (a * sigma(K @ p + b))
        return jnp.concatenate([q, p])


def draw_shears(
    rng: np.random.Generator, pairs: int, neurons: int, shears: int
) -> list[tuple[np.ndarray, ...]]:
    """Weights of a SympNet; every a is 1 or −1, so that $K^T\\mathrm{diag}(a)$ is exact in floats."""
    found = []
    for _ in range(shears):
        K = rng.integers(-16, 17, (neurons, pairs)) / 16.0
        a = rng.choice([-1.0, 1.0], neurons)
        found.append((K, a, rng.normal(size=neurons)))
    return found


def exact_map(params: Sequence[Sequence[np.ndarray]]) -> ExactNetwork:
    """A SympNet of ReLUs as steps with rational weights."""
    net = None
    for k, (K, a, b) in enumerate(params):
        m, n = K.shape
        read, moved = (0, n) if k % 2 == 0 else (n, 0)
        up = np.zeros((m + 2 * n, 2 * n))
        up[:m, read : read + n] = K
        up[m:] = np.eye(2 * n)
        down = np.hstack([np.zeros((2 * n, m)), np.eye(2 * n)])
        down[moved : moved + n, :m] = K.T * a
        offset = np.r_[b, np.zeros(2 * n)].tolist()
        steps = (
            ExactStep(up, offset, np.arange(m + 2 * n) < m),  # type: ignore[arg-type]
            ExactStep(down, [0] * (2 * n), np.zeros(2 * n, bool)),  # type: ignore[arg-type]
        )
        net = ExactNetwork(steps) if net is None else ExactNetwork(steps) @ net
    assert net is not None
    return net


# ---- the test --------------------------------------------------------------------------------------------------------


def omega(n: int) -> np.ndarray:
    r"""$\Omega$ of n pairs (q, p)."""
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


def defect(J: np.ndarray) -> float:
    r"""The largest entry of $|J^\top\Omega J-\Omega|$, in floats."""
    W = omega(len(J) // 2)
    return float(np.abs(J.T @ W @ J - W).max())


def exact_defect(J: Sequence[Sequence[Any]]) -> Fraction:
    """The same in rationals."""
    M = [[fraction(rational(v)) for v in row] for row in J]
    n = len(M) // 2
    d = len(M)
    worst = Fraction(0)
    for i in range(d):
        for j in range(d):
            form = sum(
                (M[k][i] * M[k + n][j] - M[k + n][i] * M[k][j] for k in range(n)), Fraction(0)
            )
            worst = max(worst, abs(form - ((j == i + n) - (i == j + n))))
    return worst


# ---- the oscillator, q′ = p, p′ = −q, in rationals -------------------------------------------------------------------


def leapfrog_matrix(h: Fraction) -> Matrix:
    """Half a kick, a drift, half a kick."""
    kick = [[Fraction(1), Fraction(0)], [-h / 2, Fraction(1)]]
    drift = [[Fraction(1), h], [Fraction(0), Fraction(1)]]
    return product(kick, product(drift, kick))


def euler_matrix(h: Fraction) -> Matrix:
    """Position and momentum moved at once."""
    return [[Fraction(1), h], [-h, Fraction(1)]]


def product(A: Matrix, B: Matrix) -> Matrix:
    """AB."""
    return [
        [sum((a * b for a, b in zip(row, column)), Fraction(0)) for column in zip(*B)] for row in A
    ]


def determinant(A: Matrix) -> Fraction:
    """Of a 2 × 2 matrix."""
    return A[0][0] * A[1][1] - A[0][1] * A[1][0]


def energy_after(A: Matrix, steps: int) -> Fraction:
    r"""$|z_k|^2/|z_0|^2$ from $z_0=(1,0)$."""
    z = [[Fraction(1)], [Fraction(0)]]
    for _ in range(steps):
        z = product(A, z)
    return z[0][0] ** 2 + z[1][0] ** 2


def energy_forms(h: Fraction) -> tuple[Matrix, Matrix]:
    r"""Leapfrog keeps $p^2+(1-\frac{h^2}4)q^2$: the quadratic form before and after a step."""
    form = [[1 - h * h / 4, Fraction(0)], [Fraction(0), Fraction(1)]]
    M = leapfrog_matrix(h)
    return form, product([list(column) for column in zip(*M)], product(form, M))


# ---- trajectories of the pendulum, H = p²/2 − cos q ------------------------------------------------------------------


def trace_pendulum(method: str, h: float, steps: int, q: float, p: float) -> np.ndarray:
    """Rows (q, p) of all steps."""
    path = [(q, p)]
    for _ in range(steps):
        if method == "leapfrog":
            p -= h / 2 * np.sin(q)
            q += h * p
            p -= h / 2 * np.sin(q)
        else:
            q, p = q + h * p, p - h * np.sin(q)
        path.append((q, p))
    return np.array(path)


def pendulum_energy(path: np.ndarray) -> np.ndarray:
    r"""$H=\frac{p^2}2-\cos q$ at every row."""
    return path[:, 1] ** 2 / 2 - np.cos(path[:, 0])
