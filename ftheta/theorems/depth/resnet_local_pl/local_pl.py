r"""Training residual networks that are linear in their weights: $\dot x_i=V_t\varphi(x_i)$, in $T$ steps of $1/T$.

The gradient with respect to $V$ in $L^2[0,1]$ is $G_k=\frac1N\sum_ip_i(k+1)\varphi(x_i(k))^\top$, $p_i$ being
the adjoint, so that with the kernel matrices $K_k=(\langle\varphi(x_i(k)),\varphi(x_j(k))\rangle)_{ij}$
$$\lambda_{\min}(K_k)\sum_i|p_i|^2\le N^2\|G_k\|^2\le\lambda_{\max}(K_k)\sum_i|p_i|^2.$$
The network runs in $\mathbb R^D$ between two linear maps that are not trained: the states start at $Aa_i$ for inputs
$a_i$, the outputs are $Bx_i$. Adjoints change by factors within $1\pm\frac\kappa T\|V_k\|$ a layer and end at
$B^\top(Bx_i-y_i)$, whose squares sum to between $2N\mathcal L$ times the extreme eigenvalues of $BB^\top$. Hence
$m\,\mathcal L\le\|\nabla\mathcal L\|^2\le M\,\mathcal L$ with $m$ and $M$ below.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, sqrt

import numpy as np

HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Fourier:
    r"""$\varphi(x)=q^{-1/2}(\cos\Omega x,\sin\Omega x)$ with $q$ normal rows of deviation `scale`: $|\varphi|=1$."""

    omega: np.ndarray
    scale: float

    @classmethod
    def draw(
        cls, dimension: int, features: int, scale: float, rng: np.random.Generator
    ) -> "Fourier":
        return cls(scale * rng.normal(size=(features, dimension)), scale)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The features of every row."""
        u = x @ self.omega.T
        return np.concatenate([np.cos(u), np.sin(u)], 1) / sqrt(len(self.omega))

    def pull_back(self, phi: np.ndarray, w: np.ndarray) -> np.ndarray:
        r"""$D\varphi(x)^\top w$ for every row, from the features `phi` at $x$."""
        q = len(self.omega)
        return (phi[:, :q] * w[:, q:] - phi[:, q:] * w[:, :q]) @ self.omega

    @property
    def lipschitz(self) -> float:
        r"""$\kappa=q^{-1/2}\|\Omega\|_2$, exactly: $D\varphi^\top D\varphi=\frac1q\Omega^\top\Omega$ everywhere."""
        return float(np.linalg.norm(self.omega, 2)) / sqrt(len(self.omega))

    def least_eigenvalue(self, separation: float, points: int) -> float:
        r"""$1-(N-1)e^{-s^2\delta^2/2}$, for $\delta$-separated points and $q\to\infty$ (Gershgorin)."""
        return max(0.0, 1 - (points - 1) * exp(-((self.scale * separation) ** 2) / 2))


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Rows `x` in $\mathbb R^D$, inputs after $A$, to be moved until the `decoder` $B$ reads `y` off them.

    Without a decoder, $B$ takes the first coordinates.
    """

    phi: Fourier
    x: np.ndarray
    y: np.ndarray
    decoder: np.ndarray | None = None

    @cached_property
    def B(self) -> np.ndarray:
        """The decoder as a matrix, a row per output."""
        return np.eye(self.y.shape[1], self.x.shape[1]) if self.decoder is None else self.decoder

    @cached_property
    def decoder_range(self) -> tuple[float, float]:
        r"""The extreme eigenvalues of $BB^\top$."""
        eigen = np.linalg.eigvalsh(self.B @ self.B.T)
        return max(0.0, float(eigen[0])), float(eigen[-1])

    @property
    def separation(self) -> float:
        """δ: the smallest distance between two inputs."""
        apart = np.linalg.norm(self.x[:, None] - self.x[None], axis=2)
        return (
            float(apart[~np.eye(len(self.x), dtype=bool)].min(initial=inf))
            if len(self.x) > 1
            else inf
        )

    @property
    def least_eigenvalue(self) -> float:
        """The least eigenvalue of the kernel matrix of the inputs."""
        phi = self.phi(self.x)
        return float(np.linalg.eigvalsh(phi @ phi.T)[0])

    @property
    def limit_of_least_eigenvalue(self) -> float:
        r"""The least eigenvalue of $(e^{-s^2|x_i-x_j|^2/2})_{ij}$, the kernel matrix of the inputs as $q\to\infty$."""
        apart = np.linalg.norm(self.x[:, None] - self.x[None], axis=2)
        return max(0.0, float(np.linalg.eigvalsh(np.exp(-((self.phi.scale * apart) ** 2) / 2))[0]))

    def loss(self, V: np.ndarray) -> float:
        """At the weights `V` of shape (T, d, 2q)."""
        x = self.x
        for weight in V:
            x = x + self.phi(x) @ weight.T / len(V)
        return float(np.sum((x @ self.B.T - self.y) ** 2)) / (2 * len(x))

    def measure(self, V: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
        """The gradient at the weights `V` of shape (T, d, 2q), and: loss, squared norm, bounds."""
        T = len(V)
        N = len(self.x)
        x = self.x
        features = []
        for weight in V:
            features.append(self.phi(x))
            x = x + features[-1] @ weight.T / T
        gradient = np.empty_like(V)
        sizes = np.empty(T)
        residual = x @ self.B.T - self.y
        loss = float(np.sum(residual**2)) / (2 * N)
        p = residual @ self.B
        for k in reversed(range(T)):
            gradient[k] = p.T @ features[k] / N
            sizes[k] = np.sum(p**2)
            p = p + self.phi.pull_back(features[k], p @ V[k]) / T
        phi = np.array(features)
        eigen = np.linalg.eigvalsh(phi @ phi.transpose(0, 2, 1))
        least, most = self.decoder_range
        steep = self.phi.lipschitz * np.linalg.norm(V, 2, axis=(1, 2)) / T
        shrinks = np.prod(np.maximum(1 - steep, 0.0))
        grows = np.prod(1 + steep)
        return gradient, {
            "loss": loss,
            "square": float(np.sum(gradient**2)) / T,
            "low": float(np.mean(eigen[:, 0] * sizes)) / N**2,
            "high": float(np.mean(eigen[:, -1] * sizes)) / N**2,
            "least": float(eigen[:, 0].min()),
            "m": 2 / N * least * float(eigen[:, 0].min() * shrinks**2),
            "M": 2 / N * most * float(eigen[:, -1].max() * grows**2),
            "norm": sqrt(float(np.sum(V**2)) / T),
        }


@dataclass(frozen=True, eq=False)
class Trained:
    """What was seen along gradient descent: one number per step under each name."""

    problem: Problem
    seen: dict[str, np.ndarray]

    @property
    def path_length(self) -> float:
        """The length of the path of the weights."""
        return float((self.seen["step"] * np.sqrt(self.seen["square"])).sum())

    @cached_property
    def ratio(self) -> np.ndarray:
        r"""$\|\nabla\mathcal L\|^2/\mathcal L$ at every step."""
        return self.seen["square"] / np.maximum(self.seen["loss"], 1e-300)

    @property
    def least(self) -> float:
        """The smallest m on the way."""
        return float(self.seen["m"].min())

    @property
    def alive(self) -> np.ndarray:
        """The steps at which the loss is more than rounding."""
        return self.seen["loss"] > 1e-20 * max(self.seen["loss"][0], 1e-300)

    def repeated_row(self) -> int | None:
        """A row that is the same as an earlier one: then two rows of K are the same and K is singular, exactly."""
        _, first = np.unique(self.problem.x, axis=0, return_index=True)
        copies = sorted(set(range(len(self.problem.x))) - set(first.tolist()))
        return copies[0] if copies else None

    def promised_losses(self) -> np.ndarray:
        """The loss if every step gained what m promises."""
        factors = 1 - (self.seen["step"] * self.seen["m"])[:-1] / 2
        return float(self.seen["loss"][0]) * np.concatenate([[1.0], np.cumprod(factors)])


def train(problem: Problem, depth: int, steps: int) -> Trained:
    r"""Gradient descent in $L^2$ from $V=0$; a step is halved until it gains $\frac12\tau\|\nabla\mathcal L\|^2$."""
    V = np.zeros((depth, problem.x.shape[1], 2 * len(problem.phi.omega)))
    rows = list[dict[str, float]]()
    tau = None
    for _ in range(steps):
        gradient, here = problem.measure(V)
        tau = 2 * tau if tau is not None else 1 / max(here["M"], 1e-300)
        for _ in range(HALVINGS):
            if problem.loss(V - tau * gradient) <= here["loss"] - tau / 2 * here["square"]:
                break
            tau /= 2
        rows.append({**here, "step": tau})
        V = V - tau * gradient
    return Trained(problem, {name: np.array([row[name] for row in rows]) for name in rows[0]})
