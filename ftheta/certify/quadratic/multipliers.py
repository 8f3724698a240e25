r"""Multipliers of quadratic constraints that exclude all points, by a primal-dual interior-point method in floats.

Wanted are multipliers $\theta$ of symmetric matrices $C_j$ with $\sum_j\theta_jC_j\succ0$, where $\theta_j\ge0$ for
inequalities $v^\top C_jv\le0$, without a sign for equations, and with sum 1 for the rows of a question. With
$E=e_0e_0^\top$ the least $s$ with $\sum_j\theta_jC_j+sE\succeq0$ is sought: as soon as it is negative, no $v$ with
$v_0=1$ meets all constraints. Else the dual solution is a matrix of moments $E[vv^\top]$ of a relaxed counter-example.
Directions are those of Helmberg, Rendl, Vanderbei and Wolkowicz with Mehrotra's corrector. Nothing here is a proof.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Array = np.ndarray

STEPS = 40
CLOSED = -1e-7  # s below this excludes all points
FEASIBLE = 1e-6  # residual of the moments
DECIDED = 1e-7  # of their value, above which s cannot become negative
SAFE = 0.95  # of the way to the boundary
RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class Found:
    """`multipliers` that seem to exclude all points, or else None, and the `moments` of a relaxed counter-example."""

    multipliers: Array | None
    moments: Array


@np.errstate(all="ignore")
def find_multipliers(matrices: Array, rows: int, signed: int, diagonal: Array) -> Found:
    """Of the matrices, the first are `rows` of a question, the first `signed` ones inequalities; `diagonal` are the
    numbers of those that bound the variables beyond the first, one for each."""
    try:
        return _Iteration(matrices, rows, signed, diagonal).run()
    except (LinAlgError, np.linalg.LinAlgError, ValueError):
        n = matrices.shape[1]
        return Found(None, np.eye(n))


class _Iteration:
    """The multiplier of the last row is 1 less those of the others; the last unknown is s."""

    def __init__(self, matrices: Array, rows: int, signed: int, diagonal: Array) -> None:
        n = matrices.shape[1]
        self.last = rows - 1
        self.base = matrices[self.last]
        corner = np.zeros((1, n, n))
        corner[0, 0, 0] = 1.0
        self.G = np.concatenate([matrices[: self.last] - self.base, matrices[rows:], corner])
        self.flat = self.G.reshape(len(self.G), -1)
        self.tall = self.G.reshape(-1, n)
        self.signed = signed - 1
        self.wanted = np.zeros(len(self.G))
        self.wanted[-1] = 1.0
        self.y = self._begin(diagonal - 1)
        self.S = self.base + self._sum(self.y)
        self.z = self._slack(self.y)
        self.z[-1] += 1.0
        self.X = np.eye(n)
        self.x = np.full(self.signed + 1, 0.1)
        self.degree = n + self.signed + 1

    def _begin(self, diagonal: Array) -> Array:
        """A point inside: multipliers of the bounds make the matrix dominated by its diagonal, s its first entry."""
        y = np.zeros(len(self.G))
        y[: self.signed] = 0.1
        y[: self.last] = 1 / (self.last + 1)
        y[diagonal] = 0.0
        M = self.base + self._sum(y)
        y[diagonal] = np.abs(M[1:, 1:]).sum(1) + 0.1
        M = self.base + self._sum(y)
        least = float(M[0, 1:] @ np.linalg.solve(M[1:, 1:], M[0, 1:]) - M[0, 0])
        y[-1] = max(1.1 * least, 0.0) + 0.5
        return y

    def _sum(self, y: Array) -> Array:
        return (y @ self.flat).reshape(self.G.shape[1:])

    def _slack(self, y: Array) -> Array:
        """What changes with y of the multipliers that have a sign."""
        return np.append(y[: self.signed], -y[: self.last].sum())

    def _gather(self, x: Array) -> Array:
        """The transpose of `_slack`."""
        found = np.zeros(len(self.G))
        found[: self.signed] = x[:-1]
        found[: self.last] -= x[-1]
        return found

    def run(self) -> Found:
        for _ in range(STEPS):
            self._advance()
            if self.y[-1] < CLOSED:
                return Found(self._multipliers(), self.X)
            residual = np.abs(self.flat @ self.X.ravel() + self._gather(self.x) - self.wanted).max()
            value = -(self.base * self.X).sum() - self.x[-1]
            if residual < FEASIBLE and (value > DECIDED or self.y[-1] - value < DECIDED):
                break
        return Found(None, self.X / self.X[0, 0])

    def _multipliers(self) -> Array:
        own = self.y[:-1]
        return np.concatenate([own[: self.last], [1 - own[: self.last].sum()], own[self.last :]])

    def _advance(self) -> None:
        moments, slack = _Root.of(self.X), _Root.of(self.S)
        inverse = slack.inverse.T @ slack.inverse
        gap = ((self.X * self.S).sum() + self.x @ self.z) / self.degree
        solve = self._factorise(moments, slack)
        nothing = np.zeros_like(self.x)
        _, dS, dz, dX, dx = self._direct(solve, inverse, 0.0, np.zeros_like(self.X), nothing)
        primal = min(1.0, moments.reach(dX), _reach_of_vector(self.x, dx))
        dual = min(1.0, slack.reach(dS), _reach_of_vector(self.z, dz))
        left = ((self.X + primal * dX) * (self.S + dual * dS)).sum() + (self.x + primal * dx) @ (
            self.z + dual * dz
        )
        centring = min(1.0, (left / self.degree / gap) ** 2) * gap
        second = dX @ dS @ inverse
        dy, dS, dz, dX, dx = self._direct(
            solve, inverse, centring, (second + second.T) / 2, dx * dz / self.z
        )
        primal = min(1.0, SAFE * moments.reach(dX), SAFE * _reach_of_vector(self.x, dx))
        dual = min(1.0, SAFE * slack.reach(dS), SAFE * _reach_of_vector(self.z, dz))
        self.y = self.y + dual * dy
        self.S = self.S + dual * dS
        self.z = self.z + dual * dz
        self.X = self.X + primal * dX
        self.x = self.x + primal * dx

    def _factorise(self, moments: "_Root", slack: "_Root") -> Callable[[Array], Array]:
        """The Schur complement of the system, ready to be solved."""
        n = len(self.X)
        # tr(GᵢXGⱼS⁻¹) are scalar products of C⁻¹GᵢR, where X = RRᵀ and S = CCᵀ: a product that takes half the work
        right = (self.tall @ moments.factor).reshape(-1, n, n)
        spread = (slack.inverse @ right).reshape(-1, n * n)
        H = spread @ spread.T
        ratio = self.x / self.z
        at = np.arange(self.signed)
        H[at, at] += ratio[:-1]
        H[: self.last, : self.last] += ratio[-1]
        scale = 1 / np.sqrt(np.diagonal(H))
        H = H * scale * scale[:, None]
        H[np.diag_indices_from(H)] += RIDGE
        factor = cho_factor(H)
        return lambda right: scale * cho_solve(factor, scale * right)

    def _direct(
        self,
        solve: Callable[[Array], Array],
        inverse: Array,
        centring: float,
        second: Array,
        beside: Array,
    ) -> tuple[Array, Array, Array, Array, Array]:
        """The direction to complementary products `centring`, with second-order terms."""
        R = centring * inverse - second
        r = centring / self.z - beside
        dy = solve(self.flat @ R.ravel() + self._gather(r) - self.wanted)
        dS = self._sum(dy)
        dz = self._slack(dy)
        dX = R - self.X - self.X @ dS @ inverse
        dx = r - self.x - self.x / self.z * dz
        return dy, dS, dz, (dX + dX.T) / 2, dx


@dataclass(frozen=True, eq=False)
class _Root:
    """The factor of Cholesky of a positive definite matrix, and its inverse."""

    factor: Array
    inverse: Array

    @classmethod
    def of(cls, P: Array) -> "_Root":
        factor = np.linalg.cholesky(P)
        return cls(factor, np.linalg.inv(factor))

    def reach(self, direction: Array) -> float:
        """The step in a direction at which the matrix is no longer definite."""
        least = float(np.linalg.eigvalsh(self.inverse @ direction @ self.inverse.T)[0])
        return np.inf if least >= 0 else -1 / least


def _reach_of_vector(p: Array, direction: Array) -> float:
    falls = direction < 0
    return float((-p[falls] / direction[falls]).min(initial=np.inf))
