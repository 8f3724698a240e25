r"""The diagonal network $\beta=u^2-v^2$ on $\frac12\|X\beta-y\|^2$, and what it minimises without being asked.

Gradient flow from $u=v=\alpha1$ keeps $uv=\alpha^2$, and $\mathrm{arcsinh}\frac\beta{2\alpha^2}$ in the row space of
$X$. So its limit solves (Woodworth et al. 2020)
$$\min_\beta\ \sum_i\alpha^2q(\beta_i/\alpha^2)\ \text{ subject to }X\beta=y,\qquad
q(z)=2-\sqrt{4+z^2}+z\,\mathrm{arcsinh}\tfrac z2,$$
the least $\ell_1$ norm for $\alpha\to0$ and the least $\ell_2$ norm for $\alpha\to\infty$. The program is solved by
Newton's method for its dual, $\min_\nu\sum_i2\alpha^2\cosh(X^\top\nu)_i-\langle y,\nu\rangle$, with
$\beta=2\alpha^2\sinh X^\top\nu$.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

NEWTON = 200
EVALUATIONS = 60_000
SMALL = 64
SOLVED = 1e-11  # relative residual of Xβ = y


def potential(z: np.ndarray) -> np.ndarray:
    r"""$q(z)=2-\sqrt{4+z^2}+z\,\mathrm{arcsinh}\frac z2$."""
    return 2 - np.sqrt(4 + z**2) + z * np.arcsinh(z / 2)


@dataclass(frozen=True, eq=False)
class Program:
    """Rows X of full rank and targets y."""

    X: np.ndarray
    y: np.ndarray

    def value(self, beta: np.ndarray, alpha: float) -> float:
        return float((alpha**2 * potential(beta / alpha**2)).sum())

    def solutions(self, alphas: np.ndarray) -> np.ndarray:
        """The minimisers, one row an α; each Newton iteration starts from the solution of the next larger α."""
        order = np.argsort(alphas)[::-1]
        found = np.empty((len(alphas), self.X.shape[1]))
        beta = self.least_norm()
        for k in order:
            alpha = float(alphas[k])
            nu = np.linalg.lstsq(self.X.T, np.arcsinh(beta / (2 * alpha**2)), rcond=None)[0]
            beta = self._newton(nu, alpha)
            found[k] = beta
        return found

    def _newton(self, nu: np.ndarray, alpha: float) -> np.ndarray:
        X = self.X
        y = self.y
        scale = 2 * alpha**2
        size = max(float(np.linalg.norm(y)), 1e-300)
        dual = lambda v: float(scale * np.cosh(X.T @ v).sum() - y @ v)
        for _ in range(NEWTON):
            s = X.T @ nu
            slope = X @ (scale * np.sinh(s)) - y
            if np.linalg.norm(slope) <= SOLVED * size:
                break
            H = (X * (scale * np.cosh(s))) @ X.T
            # the weights may span many orders of magnitude
            H += 1e-15 * np.trace(H) * np.eye(len(y))
            step = -np.linalg.solve(H, slope)
            t = 1.0
            now = dual(nu)
            while not dual(nu + t * step) <= now + 1e-4 * t * float(slope @ step) and t > 1e-12:
                t /= 2
            nu = nu + t * step
        return scale * np.sinh(X.T @ nu)

    def residual(self, beta: np.ndarray) -> float:
        return float(np.linalg.norm(self.X @ beta - self.y)) / max(
            float(np.linalg.norm(self.y)), 1e-300
        )

    def least_norm(self) -> np.ndarray:
        """The solution of least ℓ₂ norm."""
        return np.linalg.lstsq(self.X, self.y, rcond=None)[0]

    def least_sum(self) -> np.ndarray:
        """A solution of least ℓ₁ norm, by linear programming."""
        d = self.X.shape[1]
        found = linprog(
            np.ones(2 * d), A_eq=np.hstack([self.X, -self.X]), b_eq=self.y, method="highs"
        )
        return found.x[:d] - found.x[d:] if found.success else np.full(d, inf)

    def train(self, alpha: float, times: float = 60.0) -> np.ndarray | None:
        """The limit of gradient flow in (u, v); None where the budget of evaluations does not reach it."""
        X = self.X
        y = self.y
        d = self.X.shape[1]
        size = max(float(np.linalg.norm(y)), 1e-300)
        spent = 0

        def speed(_: float, w: np.ndarray) -> np.ndarray:
            nonlocal spent
            spent += 1
            if spent > EVALUATIONS:
                raise _Spent
            u = w[:d]
            v = w[d:]
            pull = X.T @ (X @ (u * u - v * v) - y)
            return np.concatenate([-2 * u * pull, 2 * v * pull])

        def residual_excess(_: float, w: np.ndarray) -> float:
            return float(np.linalg.norm(X @ (w[:d] ** 2 - w[d:] ** 2) - y)) - 1e-10 * size

        residual_excess.terminal = True  # type: ignore[attr-defined]
        # of the linear problem; u and v add their size
        slowest = float(np.linalg.svd(X, compute_uv=False)[-1]) ** 2
        horizon = times * (1 + np.log1p(1 / alpha)) / (slowest * (alpha**2 + 1e-3))
        start = np.full(2 * d, alpha)
        method = "LSODA" if d <= SMALL else "RK45"
        try:
            found = solve_ivp(
                speed, (0.0, horizon), start, method, events=residual_excess, rtol=1e-10, atol=1e-13
            )
        except _Spent:
            return None
        return found.y[:d, -1] ** 2 - found.y[d:, -1] ** 2 if found.t_events[0].size else None


class _Spent(Exception):
    """The budget of evaluations is spent."""
