"""Hypotheses and measured constants that several theorems share."""

import jax
import numpy as np

from ftheta.logic import Enclosure
from ftheta.spectra import eigenvalue_range, sampled_curvature

from .kinds import Training

SEGMENT_POINTS = 65
NEWTON_STEPS = 50


def curvature_of(run: Training) -> tuple[Enclosure, Enclosure]:
    """The range of curvature: exact for a quadratic, else sampled on the segment from the start to the optimum
    and as far again beyond it (or, where no optimum is known, around the start)."""
    if run.hessian is not None:
        return eigenvalue_range(run.hessian)
    aim = np.zeros_like(run.start) if run.optimum is None else run.optimum
    t = np.linspace(0.0, 2.0, SEGMENT_POINTS).reshape(-1, *([1] * np.ndim(run.start)))
    return sampled_curvature(run.objective, run.start + t * (aim - run.start))


def optimum_of(run: Training) -> tuple[np.ndarray, float]:
    r"""The minimiser and how far off it may be: $\|\hat\theta-\theta^*\|\le\|\nabla F(\hat\theta)\|/\mu$, found by Newton's
    method where it is not known (small dimensions, strongly convex objectives)."""
    if run.optimum is not None:
        return run.optimum, 0.0
    gradient, hessian = jax.jit(jax.grad(run.objective)), jax.jit(jax.hessian(run.objective))
    theta = np.asarray(run.start, np.float64)
    for _ in range(NEWTON_STEPS):
        theta = theta - np.linalg.lstsq(np.asarray(hessian(theta)), np.asarray(gradient(theta)), rcond=None)[0]
    mu = float(np.linalg.eigvalsh(np.asarray(hessian(theta)))[0])
    return theta, float(np.linalg.norm(gradient(theta))) / mu if mu > 0 else np.inf
