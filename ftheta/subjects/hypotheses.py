"""Hypotheses and measured constants that several theorems share."""

import jax
import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.spectra.classes import half_tanh_squared, tanh_curvature
from ftheta.spectra.compact import NetworkOnBall
from ftheta.spectra.curvature import sampled_curvature

from .kinds import Training
from .stated import stated_curvature, why_quadratic

SEGMENT_POINTS = 65


def curvature_of(run: Training) -> tuple[Enclosure, Enclosure]:
    """The range of curvature: that of the stated Hessian (a sample, unless F is shown to be that quadratic), else
    sampled on the segment from the start to the optimum and as far again beyond it (or, where no optimum is known,
    around the start)."""
    if run.hessian is not None:
        return stated_curvature(run)
    aim = np.zeros_like(run.start) if run.optimum is None else run.optimum
    t = np.linspace(0.0, 2.0, SEGMENT_POINTS).reshape(-1, *([1] * np.ndim(run.start)))
    return sampled_curvature(run.objective, run.start + t * (aim - run.start))


def claims_mu(run: Training) -> bool:
    """Whether μ is claimed, by itself or by a Hessian: no point refutes what a sample alone suggests."""
    return run.mu is not None or run.hessian is not None


def claims_smoothness(run: Training) -> bool:
    """Whether L is claimed, by itself or by a Hessian: no point refutes what a sample alone suggests."""
    return run.smoothness is not None or run.hessian is not None


def proved_range(run: Training) -> tuple[float, float, str]:
    """Curvatures between which all of F's lie, and why; the reason is empty where that is not known."""
    F = run.objective
    if F is half_tanh_squared:
        lo, hi = tanh_curvature()
        return lo.lo, hi.hi, "F″ = (1 − s)(1 − 3s) with s = tanh² in [0, 1)"
    if type(F) is NetworkOnBall:
        return F.constants[2], F.constants[1], "a product of bounds of the layers, rounded outward"
    lo, hi = curvature_of(run)
    return lo.lo, hi.hi, why_quadratic(run) or ""


def optimum_of(run: Training) -> tuple[np.ndarray, float]:
    r"""The minimiser and how far off it may be: $\|\hat\theta-\theta^*\|\le\|\nabla F(\hat\theta)\|/\mu$.

    Where it is not known, a trust-region Newton method finds it (small dimensions, strongly convex objectives).
    """
    if run.optimum is not None:
        return run.optimum, 0.0
    from scipy.optimize import minimize  # here, because it is slow to import and seldom needed

    gradient = jax.jit(jax.grad(run.objective))
    hessian = jax.jit(jax.hessian(run.objective))
    found = minimize(
        jax.jit(run.objective), run.start, jac=gradient, hess=hessian, method="trust-exact"
    ).x
    theta = (
        found
        - np.linalg.lstsq(np.asarray(hessian(found)), np.asarray(gradient(found)), rcond=None)[0]
    )
    mu = float(np.linalg.eigvalsh(np.asarray(hessian(theta)))[0])
    return theta, float(np.linalg.norm(gradient(theta))) / mu if mu > 0 else np.inf
