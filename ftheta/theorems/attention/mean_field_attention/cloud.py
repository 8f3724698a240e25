"""A cloud of tokens as a measure: nodes with weights, and the Gaussian that has its mean and covariance."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from ftheta.logic import SubjectError

from .mean_field import ORDERS, Gaussian, hermite, moments


class Bumps(NamedTuple):
    r"""$\sum_kw_k\,\mathcal N(a_k,s^2I)$: `atoms` $a_k$, `weights` $w_k$, `spread` $s$."""

    atoms: np.ndarray
    weights: np.ndarray
    spread: float


@dataclass(frozen=True, eq=False)
class Cloud:
    """A measure by nodes and weights, and the Gaussian with its mean and covariance.

    The nodes stand for `bumps`, the measure as it is; without them for the Gaussian `law`, or they are a sample of it.
    """

    nodes: np.ndarray
    weights: np.ndarray
    law: Gaussian
    bumps: Bumps | None = None

    @property
    def is_sample(self) -> bool:
        """Whether the nodes are draws, whose attention is that of the law within O(n^-1/2) alone."""
        return self.bumps is None and self.law.dimension not in ORDERS

    @classmethod
    def mixture(cls, atoms: np.ndarray, weights: np.ndarray, spread: float) -> "Cloud":
        """Bumps of one width: a Gauss–Hermite rule for each, up to three dimensions."""
        d = atoms.shape[1]
        bumps = Bumps(atoms, weights, spread)
        parts = (
            [hermite(atom, spread * np.eye(d)) for atom in atoms]
            if d in ORDERS and spread > 0
            else []
        )
        if not parts:
            return cls(atoms, weights, moments(atoms, weights), bumps)
        nodes = np.concatenate([p[0] for p in parts])
        w = np.concatenate([v * p[1] for v, p in zip(weights, parts)])
        return cls(nodes, w, moments(nodes, w), bumps)

    @classmethod
    def surrogate(cls, rows: np.ndarray) -> "Cloud":
        """The Gaussian with the mean and the covariance of data stands for them."""
        law = moments(rows, np.full(len(rows), 1 / len(rows)))
        if law.largest <= 0:
            raise SubjectError(
                "Tokens that are all equal have no Gaussian.", remedy="give tokens that differ"
            )
        nodes, weights = (
            law.quadrature()
            if law.dimension in ORDERS
            else (rows, np.full(len(rows), 1 / len(rows)))
        )
        return cls(nodes, weights, law)


def normality_p_value(rows: np.ndarray) -> tuple[float, int]:
    """The p-value of Jarque and Bera's test along the principal directions, the worst of them (Bonferroni), and how
    many directions there are."""
    centred = rows - rows.mean(0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    scores = (centred @ directions.T)[:, values > 1e-9 * values[0]]
    least = min(float(np.asarray(stats.jarque_bera(column))[1]) for column in scores.T)
    return min(1.0, least * scores.shape[1]), scores.shape[1]
