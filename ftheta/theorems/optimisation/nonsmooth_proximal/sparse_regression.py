r"""LASSO and least absolute deviations on data, with their least values certified by duality."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.certify.norms import spectral_norm
from ftheta.logic import Enclosure, SubjectError
from ftheta.training.descent import Path, descend, walk
from ftheta.training.methods import accelerated_gradient, proximal, steepest
from ftheta.training.rates import accelerated_bound, largest_ratio

from .prox import soft_threshold

POLISH = 4000  # steps of FISTA before the active set is solved for


@dataclass(frozen=True, eq=False)
class Lasso:
    r"""$F(\theta)=\frac12\|A\theta-b\|^2+\lambda\|\theta\|_1$ from $\theta_0=0$; `weight` is $\lambda$."""

    A: np.ndarray
    b: np.ndarray
    weight: float

    @cached_property
    def smoothness(self) -> float:
        r"""$L=\|A\|_2^2$, rounded outward."""
        return float((spectral_norm(self.A) * spectral_norm(self.A)).hi)

    def smooth(self, theta: Any) -> Any:
        """The smooth part, ½‖Aθ − b‖²."""
        return jnp.sum((jnp.asarray(self.A) @ theta - self.b) ** 2) / 2

    def value(self, theta: Any) -> Any:
        return self.smooth(theta) + self.weight * jnp.sum(jnp.abs(theta))

    def prox(self, theta: Any, step: Any) -> Any:
        return soft_threshold(theta, step * self.weight)

    def dual(self, theta: np.ndarray) -> float:
        r"""$\frac12\|b\|^2-\frac12\|b-\nu\|^2\le F^*$ for $\nu\propto b-A\theta$ with
        $\|A^\top\nu\|_\infty\le\lambda$."""
        residual = self.b - self.A @ theta
        steepest_slope = float(np.abs(self.A.T @ residual).max())
        nu = residual * min(1.0, self.weight / steepest_slope if steepest_slope > 0 else 1.0)
        return float(self.b @ self.b - (self.b - nu) @ (self.b - nu)) / 2

    @cached_property
    def solution(self) -> np.ndarray:
        """FISTA, then the equations of its support where they give a smaller gap."""
        method = accelerated_gradient(1 / self.smoothness, self.prox)
        theta = descend(
            method, self.smooth, np.zeros(self.A.shape[1]), POLISH, total=self.value
        ).points[-1]
        on = theta != 0
        polished = np.zeros_like(theta)
        if on.any():
            B = self.A[:, on]
            polished[on] = np.linalg.lstsq(
                B.T @ B, B.T @ self.b - self.weight * np.sign(theta[on]), rcond=None
            )[0]
        return min(theta, polished, key=self.gap)

    def gap(self, theta: np.ndarray) -> float:
        """The duality gap."""
        return float(self.value(theta)) - self.dual(theta)

    def run(self, step: float, steps: int) -> "BoundedRuns":
        r"""Forward–backward, $\tau=\frac hL$, bounded by $\frac{LR^2}{2kh}$, and FISTA, by $\frac{2LR^2}{(k+1)^2}$.

        Both hold against every point $z$ in place of $\theta^*$. With $z$ the solution found and $D\le F^*$ its dual
        value, $F_k-D$ is at most the bound with $R=\|\theta_0-z\|$ plus the gap $F(z)-D$.
        """
        L = self.smoothness
        z = self.solution
        k = np.arange(steps + 1)
        R = float(np.linalg.norm(z))
        start = np.zeros(self.A.shape[1])
        methods = (proximal(step / L, self.prox), accelerated_gradient(1 / L, self.prox))
        paths = [descend(m, self.smooth, start, steps, total=self.value) for m in methods]
        bounds = {
            "forward–backward: LR²/(2kh)": L * R**2 / (2 * np.maximum(k, 1) * step),
            "FISTA: 2LR²/(k+1)²": accelerated_bound(L, R, k),
        }
        return BoundedRuns(
            paths, bounds, least=self.dual(z), slack=self.gap(z), size=float(self.b @ self.b)
        )


@dataclass(frozen=True, eq=False)
class BoundedRuns:
    r"""Runs on one problem, a bound on each by name, a lower bound `least` $\le F^*$, the `slack` that it leaves, and
    the `size` of the values, of which rounding is a share."""

    paths: list[Path]
    bounds: dict[str, np.ndarray]
    least: float
    slack: float
    size: float

    def ratio(self, i: int) -> Enclosure:
        """The largest (F_k − F*) / bound of run i over k ≥ 1, with the slack added to the bound."""
        bound = list(self.bounds.values())[i]
        return largest_ratio(
            (self.paths[i].values - self.least)[1:], bound[1:] + self.slack, self.size
        )


@dataclass(frozen=True, eq=False)
class AbsoluteDeviations:
    r"""$F(\theta)=\frac1n\|A\theta-b\|_1$: convex with kinks, and $G$-Lipschitz with $G=\|A\|_2/\sqrt n$."""

    A: np.ndarray
    b: np.ndarray

    def value(self, theta: np.ndarray) -> float:
        return float(np.abs(self.A @ theta - self.b).mean())

    def subgradient(self, theta: np.ndarray) -> np.ndarray:
        return self.A.T @ np.sign(self.A @ theta - self.b) / len(self.b)

    @cached_property
    def best(self) -> tuple[np.ndarray, float]:
        r"""A minimiser by linear programming, and a lower bound of $F^*$ from the dual: $b^\top\nu$ for
        $A^\top\nu=0$, $|\nu_i|\le\frac1n$ (projected and scaled into that set)."""
        from scipy.optimize import linprog

        n, d = self.A.shape
        cost = np.concatenate([np.zeros(d), np.ones(n) / n])
        rows = np.block([[self.A, -np.eye(n)], [-self.A, -np.eye(n)]])
        found = linprog(
            cost,
            rows,
            np.concatenate([self.b, -self.b]),
            bounds=[(None, None)] * d + [(0, None)] * n,
        )
        if found.status != 0:
            raise SubjectError(
                "The linear program of least absolute deviations is not solved in float64.",
                got=found.message,
                remedy="scale rows and labels: their sizes are too different",
            )
        nu = found.ineqlin.marginals[n:] - found.ineqlin.marginals[:n]
        nu = nu - self.A @ np.linalg.lstsq(self.A, nu, rcond=None)[0]
        nu = nu / max(1.0, float(np.abs(nu).max()) * n)
        return found.x[:d], abs(float(self.b @ nu))

    def run(self, steps: int) -> BoundedRuns:
        r"""$\min_{i<k}F_i-F^*\le\frac{R^2+G^2\sum\tau^2}{2\sum\tau}$ with $\tau_i=\frac R{G\sqrt{i+1}}$."""
        z, least = self.best
        R = float(np.linalg.norm(z))
        G = float(spectral_norm(self.A).hi) / np.sqrt(len(self.b))
        tau = R / (G * np.sqrt(np.arange(1, steps + 1)))
        path = walk(
            steepest(lambda k: tau[k], "sub-gradient"),
            self.value,
            self.subgradient,
            np.zeros_like(z),
            steps,
        )
        best = np.minimum.accumulate(path.values[:-1])
        bound = (R**2 + G**2 * np.cumsum(tau**2)) / (2 * np.cumsum(tau))
        shown = Path(
            "best value of the sub-gradient method",
            path.points,
            np.r_[path.values[0], best],
            path.slopes,
        )
        bounds = {"(R² + G²Στ²)/(2Στ)": np.r_[bound[0], bound]}
        return BoundedRuns(
            [shown], bounds, least, slack=self.value(z) - least, size=self.value(np.zeros_like(z))
        )
