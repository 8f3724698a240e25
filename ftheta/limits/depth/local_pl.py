r"""Training residual networks that are linear in their weights: $\dot x_i=V_t\varphi(x_i)$, in $T$ steps of $1/T$.

The gradient with respect to $V$ in $L^2[0,1]$ is $G_k=\frac1N\sum_ip_i(k+1)\varphi(x_i(k))^\top$, $p_i$ being
the adjoint, so that with the kernel matrices $K_k=(\langle\varphi(x_i(k)),\varphi(x_j(k))\rangle)_{ij}$
$$\lambda_{\min}(K_k)\sum_i|p_i|^2\le N^2\|G_k\|^2\le\lambda_{\max}(K_k)\sum_i|p_i|^2.$$
Adjoints change by factors within $1\pm\frac\kappa T\|V_k\|$ a layer and end at $Bx_i-y_i$, whose squares sum to
$2N\mathcal L$. Hence $m\,\mathcal L\le\|\nabla\mathcal L\|^2\le M\,\mathcal L$ with $m$ and $M$ below.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, Witness

TINY = 1e-12
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Fourier:
    r"""$\varphi(x)=q^{-1/2}(\cos\Omega x,\sin\Omega x)$ with $q$ normal rows of deviation `scale`: $|\varphi|=1$."""

    omega: np.ndarray
    scale: float

    @classmethod
    def drawn(cls, dimension: int, features: int, scale: float, rng: np.random.Generator) -> "Fourier":
        return cls(scale * rng.normal(size=(features, dimension)), scale)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The features of every row."""
        u = x @ self.omega.T
        return np.concatenate([np.cos(u), np.sin(u)], 1) / sqrt(len(self.omega))

    def pulled(self, phi: np.ndarray, w: np.ndarray) -> np.ndarray:
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
    r"""Rows `x` in $\mathbb R^d$ to be moved until their first coordinates, which a decoder reads off, are `y`."""

    phi: Fourier
    x: np.ndarray
    y: np.ndarray

    @property
    def separation(self) -> float:
        """δ: the smallest distance between two inputs."""
        apart = np.linalg.norm(self.x[:, None] - self.x[None], axis=2)
        return float(apart[~np.eye(len(self.x), dtype=bool)].min(initial=inf)) if len(self.x) > 1 else inf

    @property
    def least_eigenvalue(self) -> float:
        """The least eigenvalue of the kernel matrix of the inputs."""
        phi = self.phi(self.x)
        return float(np.linalg.eigvalsh(phi @ phi.T)[0])

    def loss(self, V: np.ndarray) -> float:
        x = self.x
        for weight in V:
            x = x + self.phi(x) @ weight.T / len(V)
        return float(np.sum((x[:, : self.y.shape[1]] - self.y) ** 2)) / (2 * len(x))

    def measure(self, V: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
        """The gradient at the weights `V` of shape (T, d, 2q), and: loss, squared norm, bounds."""
        T, N, outputs = len(V), len(self.x), self.y.shape[1]
        x, features = self.x, []
        for weight in V:
            features.append(self.phi(x))
            x = x + features[-1] @ weight.T / T
        p, gradient, sizes = np.zeros_like(x), np.empty_like(V), np.empty(T)
        p[:, :outputs] = x[:, :outputs] - self.y
        loss = float(np.sum(p**2)) / (2 * N)
        for k in reversed(range(T)):
            gradient[k], sizes[k] = p.T @ features[k] / N, np.sum(p**2)
            p = p + self.phi.pulled(features[k], p @ V[k]) / T
        phi = np.array(features)
        eigen = np.linalg.eigvalsh(phi @ phi.transpose(0, 2, 1))
        steep = self.phi.lipschitz * np.linalg.norm(V, 2, axis=(1, 2)) / T
        return gradient, {
            "loss": loss,
            "square": float(np.sum(gradient**2)) / T,
            "low": float(np.mean(eigen[:, 0] * sizes)) / N**2,
            "high": float(np.mean(eigen[:, -1] * sizes)) / N**2,
            "least": float(eigen[:, 0].min()),
            "m": 2 / N * float(eigen[:, 0].min() * np.prod(np.maximum(1 - steep, 0.0)) ** 2),
            "M": 2 / N * float(eigen[:, -1].max() * np.prod(1 + steep) ** 2),
            "norm": sqrt(float(np.sum(V**2)) / T),
        }


@dataclass(frozen=True, eq=False)
class Trained:
    """What was seen along gradient descent: one number a step under each name."""

    problem: Problem
    seen: dict[str, np.ndarray]

    @property
    def moved(self) -> float:
        """The length of the path of the weights."""
        return float((self.seen["step"] * np.sqrt(self.seen["square"])).sum())

    @cached_property
    def ratio(self) -> np.ndarray:
        return self.seen["square"] / np.maximum(self.seen["loss"], 1e-300)

    @property
    def least(self) -> float:
        """The smallest m on the way."""
        return float(self.seen["m"].min())

    @property
    def alive(self) -> np.ndarray:
        """The steps at which the loss is more than rounding."""
        return self.seen["loss"] > 1e-20 * max(self.seen["loss"][0], 1e-300)

    def _singular_kernel(self) -> Witness | None:
        """Two rows that are the same make two rows of K the same: its least eigenvalue is 0 exactly."""
        _, first = np.unique(self.problem.x, axis=0, return_index=True)
        copies = sorted(set(range(len(self.problem.x))) - set(first.tolist()))
        if not copies:
            return None
        floor = Enclosure.exact(TINY * len(self.problem.x))
        return Witness(
            {"row": float(copies[0])}, floor, Enclosure.exact(0), "an earlier row is the same, so K is singular"
        )

    def claims(self) -> tuple[Any, ...]:
        n, N, loss = len(self.ratio), len(self.problem.x), self.seen["loss"]
        # 10⁻²⁰ of the first value are granted to rounding: where the loss is smaller it is nothing else
        worst = lambda small, large: worst_ratio(small, large, 1e-20 * float(np.abs(large[0])))
        seen, one = self.seen, Enclosure.exact(1)
        gained = loss - seen["step"] / 2 * seen["square"]
        quotients = {
            "m L / ‖∇L‖²": worst(seen["m"] * loss, seen["square"]),
            "‖∇L‖² / (M L)": worst(seen["square"], seen["M"] * loss),
            "N⁻² ∫ λ_min(K) Σ|p|² / ‖∇L‖²": worst(seen["low"], seen["square"]),
            "‖∇L‖² / (N⁻² ∫ λ_max(K) Σ|p|²)": worst(seen["square"], seen["high"]),
            "next loss / (loss − ½ τ ‖∇L‖²)": worst(loss[1:], gained[:-1]),
        }
        found: list[Any] = [AtMost(what, Enclosure.measured(q, samples=n), one) for what, q in quotients.items()]
        found.append(
            AtMost(
                "10⁻¹² N below λ_min(K): no spurious critical points",
                Enclosure.exact(TINY * N),
                Enclosure.measured(float(seen["least"].min()), samples=n),
                witness=self._singular_kernel(),
            )
        )
        length = 4 * sqrt(float(loss[0]) / self.least) if self.least > 0 else inf
        found.append(
            AtMost(
                "ball test: length of the path ≤ 4√(L₀/m)",
                Enclosure.measured(self.moved, samples=n),
                Enclosure.equal(length),
            )
        )
        return tuple(found)

    def numbers(self) -> dict[str, float]:
        seen, loss, N = self.seen, self.seen["loss"], len(self.problem.x)
        delta = min(self.problem.separation, 1e300)  # one row is infinitely far from all others
        return {
            "separation δ": delta,
            "κ": self.problem.phi.lipschitz,
            "largest ‖V‖": float(seen["norm"].max()),
            "least m": self.least,
            "m at V = 0, infinitely many features": 2 / N * self.problem.phi.least_eigenvalue(min(delta, 1e9), N),
            "‖∇L‖²/L at V = 0": float(self.ratio[0]),
            "first loss": float(loss[0]),
            "last loss": float(loss[-1]),
            "promised rate a step": float((seen["step"] * seen["m"]).min()) / 2,
            "observed rate a step": log(max(loss[0], 1e-300) / max(loss[-1], 1e-300)) / len(loss),
        }

    def predicted(self) -> np.ndarray:
        """The loss if every step gained what m promises."""
        factors = 1 - (self.seen["step"] * self.seen["m"])[:-1] / 2
        return float(self.seen["loss"][0]) * np.concatenate([[1.0], np.cumprod(factors)])

    def charts(self) -> tuple[Curves, Curves]:
        alive = np.cumprod(self.alive) > 0  # beyond, the loss is rounding
        k, ratio = np.flatnonzero(alive), self.ratio[alive]
        seen = {name: values[alive] for name, values in self.seen.items()}
        loss, promised = np.maximum(seen["loss"], 1e-18), np.maximum(self.predicted()[alive], 1e-18)
        low, high = seen["low"] / seen["loss"], seen["high"] / seen["loss"]
        band = Curves(
            "the band of the squared gradient",
            Axis("step"),
            Axis("‖∇L‖² / L", "log"),
            (
                Series("measured", k, ratio),
                Series("kernel bounds", k, np.sqrt(low * high), "other", "line", np.maximum(low, 1e-12), high),
                Series("m", k, np.maximum(seen["m"], 1e-12), "bound"),
                Series("M", k, seen["M"], "bound"),
            ),
        )
        drop = Curves(
            "the loss falls at the promised rate or faster",
            Axis("step"),
            Axis("L", "log"),
            (Series("measured", k, loss), Series("promised by m", k, promised, "bound")),
        )
        return band, drop


def train(problem: Problem, depth: int, steps: int) -> Trained:
    r"""Gradient descent in $L^2$ from $V=0$; a step is halved until it gains $\frac12\tau\|\nabla\mathcal L\|^2$."""
    V = np.zeros((depth, problem.x.shape[1], 2 * len(problem.phi.omega)))
    rows, tau = list[dict[str, float]](), None
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


def conditioning(problem: Problem, depths: tuple[int, ...], size: float, rng: np.random.Generator) -> Curves:
    """M/m against depth, at weights of one norm that do not change from layer to layer."""
    shape = (problem.x.shape[1], 2 * len(problem.phi.omega))
    direction = rng.normal(size=shape)
    direction *= size / np.linalg.norm(direction)
    found = [problem.measure(np.broadcast_to(direction, (T, *shape)))[1] for T in depths]
    kept = [(T, f["M"] / f["m"], f["high"] / f["low"]) for T, f in zip(depths, found) if f["m"] > 0 and f["low"] > 0]
    T, wide, narrow = zip(*kept) if kept else ((), (), ())
    curves = (Series("M/m", T, wide, "bound"), Series("kernel bounds", T, narrow, "measured"))
    title = f"conditioning against depth, ‖V‖ = {size:.3g}"
    return Curves(title, Axis("layers T", "log"), Axis("upper over lower bound", "log"), curves)


def one_datum(rng: np.random.Generator) -> Identity:
    r"""One row, one layer: $\frac12\|\nabla\mathcal L\|^2=\|\varphi\|^2\mathcal L$."""
    phi = Fourier.drawn(2, 5, 1.0, rng)
    problem = Problem(phi, rng.normal(size=(1, 2)), rng.normal(size=(1, 2)))
    found, size = problem.measure(np.zeros((1, 2, 10)))[1], float(np.sum(phi(problem.x) ** 2))
    left, right = Enclosure.equal(found["square"] / 2), Enclosure.equal(size * found["loss"])
    return Identity("½‖∇L‖² = ‖φ‖² L for one datum and one layer", left, right)


def random_instances(rng: np.random.Generator, count: int = 10) -> AtMost:
    r"""$N^{-2}\int\lambda_{\min}(K_t)\sum|p_i|^2dt\le\|\nabla\mathcal L\|^2$ at random weights and data."""
    worst = []
    for _ in range(count):
        problem = Problem(Fourier.drawn(3, 16, 1.0, rng), rng.normal(size=(5, 3)), rng.normal(size=(5, 3)))
        found = problem.measure(rng.normal(size=(8, 3, 32)))[1]
        worst.append(worst_ratio(found["low"], found["square"]))
    seen = Enclosure.measured(largest(worst), samples=count)
    return AtMost(f"the same on {count} random instances", seen, Enclosure.exact(1))
