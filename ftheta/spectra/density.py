r"""The whole spectrum in outline: its trace and its density, from products with random vectors.

For a random $v$ with $\mathbb E\,vv^\top=I$, $\mathbb E\,v^\top g(A)v=\operatorname{tr}g(A)$ (Hutchinson). Some Lanczos
steps from $v$ give the Gauss quadrature of $v^\top g(A)v$: nodes $\vartheta_k$ and weights (`ubaru2017`).
"""

from dataclasses import dataclass

import numpy as np

from ftheta.estimates import mean
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .operators import Operator


@dataclass(frozen=True, eq=False)
class Density:
    """Gauss rules of the spectral measure, one per probe: `nodes` and `weights` (of sum 1) have a row for each."""

    nodes: Float[np.ndarray, "probes k"]
    weights: Float[np.ndarray, "probes k"]
    size: int

    def moment(self, power: int) -> Enclosure:
        r"""$\frac1p\operatorname{tr}A^k$ with its confidence interval; the rule is exact for $k<2m$ steps."""
        return mean((self.weights * self.nodes**power).sum(axis=1))

    @property
    def trace(self) -> Enclosure:
        r"""$\operatorname{tr}A$ with its confidence interval."""
        return self.moment(1) * Enclosure.exact(self.size)

    def curve(
        self, points: int = 400, width: float = 0.01
    ) -> tuple[Float[np.ndarray, "points"], Float[np.ndarray, "points"]]:
        """The density smoothed by a Gaussian of `width` times the range: eigenvalues and heights, of integral 1."""
        lo = float(self.nodes.min())
        hi = float(self.nodes.max())
        spread = width * (hi - lo) or 1e-12 + abs(hi) * 1e-6
        grid = np.linspace(lo - 4 * spread, hi + 4 * spread, points)
        bumps = np.exp(-((grid[:, None, None] - self.nodes) ** 2) / (2 * spread**2)) / (
            spread * np.sqrt(2 * np.pi)
        )
        return grid, (bumps * self.weights).sum(axis=-1).mean(axis=-1)


def spectral_density(
    operator: Operator, *, probes: int = 8, steps: int = 40, rng: np.random.Generator | None = None
) -> Density:
    """Stochastic Lanczos quadrature with `probes` random sign vectors and `steps` products for each."""
    if probes < 2 or steps < 1:
        raise UsageError(
            "A density needs at least two probes and one step.",
            got=f"{probes} probes, {steps} steps",
        )
    rng = rng or np.random.default_rng(0)
    m = min(steps, operator.size)
    nodes, weights = np.zeros((2, probes, m))
    for i in range(probes):
        found, heavy = _gauss_rule(operator, rng.choice([-1.0, 1.0], operator.size), m)
        nodes[i, : len(found)], weights[i, : len(found)] = found, heavy
        nodes[i, len(found) :] = found[-1]
    return Density(nodes, weights, operator.size)


def trace(
    operator: Operator, *, probes: int = 32, rng: np.random.Generator | None = None
) -> Enclosure:
    r"""$\operatorname{tr}A$ with its confidence interval: the mean of $v^\top Av$ over random sign vectors $v$."""
    rng = rng or np.random.default_rng(0)
    draws = rng.choice([-1.0, 1.0], (probes, operator.size))
    return mean(np.array([v @ operator.product(v) for v in draws]))


def _gauss_rule(operator: Operator, v: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the measure of v: eigenvalues of T, squares of its eigenvectors' first entries."""
    V = np.zeros((steps, operator.size))
    alphas = []
    betas = []
    V[0] = v / np.linalg.norm(v)
    for j in range(steps):
        w = np.array(operator.product(V[j]), np.float64)
        size = float(np.linalg.norm(w))
        alphas.append(float(V[j] @ w))
        for _ in range(2):
            w -= (V[: j + 1] @ w) @ V[: j + 1]
        beta = float(np.linalg.norm(w))
        if j + 1 == steps or beta <= 1e-13 * size:
            break
        betas.append(beta)
        V[j + 1] = w / beta
    values, S = np.linalg.eigh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))
    return values, S[0] ** 2
