"""How a function bends: the range of its Hessian's eigenvalues."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float


def eigenvalue_range(hessian: Float[np.ndarray, "n n"]) -> tuple[Enclosure, Enclosure]:
    r"""Enclosures of $\lambda_{\min}$ and $\lambda_{\max}$ of a symmetric matrix, computed in float64.

    The backward error of the symmetric eigensolver is at most a modest multiple of $n\,u\,\|H\|$; the entries of
    a diagonal matrix are its eigenvalues exactly.
    """
    if np.array_equal(hessian, np.diag(np.diag(hessian))):
        entries = np.diag(hessian)
        return Enclosure.exact(float(entries.min())), Enclosure.exact(float(entries.max()))
    values = np.linalg.eigvalsh(hessian)
    error = 16 * len(values) * np.finfo(float).eps * float(np.abs(values).max())
    lo = float(values[0])
    hi = float(values[-1])
    return (
        Enclosure.between(lo - error, lo + error, Basis.FLOAT),
        Enclosure.between(hi - error, hi + error, Basis.FLOAT),
    )


def sampled_curvature(
    objective: Callable[[Any], Any], points: Float[np.ndarray, "n *shape"]
) -> tuple[Enclosure, Enclosure]:
    """The least and the largest Hessian eigenvalue met among the points (small dimensions)."""
    hessians = np.asarray(call_compiled(jax.vmap(jax.hessian(objective)), points))
    if not np.isfinite(hessians).all():
        at = points[int(np.argmin(np.isfinite(hessians.reshape(len(points), -1)).all(1)))]
        raise SubjectError(
            "The objective has no finite second derivatives where they are asked for.",
            got=f"θ = {np.ravel(at)[:4].tolist()}",
            remedy="start where it is smooth; state its `hessian`",
        )
    values = np.linalg.eigvalsh(hessians.reshape(len(points), points[0].size, points[0].size))
    return (
        Enclosure.measured(float(values.min()), samples=len(points)),
        Enclosure.measured(float(values.max()), samples=len(points)),
    )
