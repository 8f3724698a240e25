r"""The constants of a loss along a training run: curvature, PL ratio, tangent kernel, step against $2/\lambda$."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int
from ftheta.training import fit
from ftheta.training.run import Fit

from .lanczos import extremes
from .objective import Objective

KERNEL = 512  # rows × outputs up to which the tangent kernel is diagonalised on the way


@dataclass(frozen=True, eq=False)
class Trajectory:
    r"""What was seen at the steps `at` of a run.

    `pl` are the ratios $\frac12\|\nabla\mathcal L\|^2/(\mathcal L-\mathcal L^*)$ with the given lower bound of
    $\mathcal L^*$ (so at most the true ratios); `lipschitz[i]` is
    $\|\nabla\mathcal L(\theta)-\nabla\mathcal L(\theta')\|/\|\theta-\theta'\|$ between two looks; `kernel` the least
    eigenvalue of the tangent kernel, empty where it is too large; `step` is $\tau$ where the optimiser has one number.
    """

    at: Int[np.ndarray, "k"]
    loss: Float[np.ndarray, "k"]
    gradient: Float[np.ndarray, "k"]
    top: Float[np.ndarray, "k"]
    pl: Float[np.ndarray, "k"]
    lipschitz: Float[np.ndarray, "m"]
    kernel: Float[np.ndarray, "k"]
    moved: Float[np.ndarray, "k"]
    step: float | None
    ended: str
    rows: list[Float[np.ndarray, "_"]]

    @property
    def edge(self) -> Float[np.ndarray, "k"]:
        r"""$\tau\lambda_{\max}$: gradient descent is locally stable below 2."""
        return self.top * (np.nan if self.step is None else self.step)


def along_training(
    objective: Objective,
    optimiser: Any = "gd",
    *,
    step: float | None = None,
    steps: int = 100,
    looks: int = 9,
    optimum: float = 0.0,
    seed: int = 0,
    tol: float = 1e-3,
) -> Trajectory:
    """Train for so many steps with all rows, and look `looks` times on the way, start and end included."""
    if objective.ridge:
        raise UsageError(
            "A run is followed without a ridge.",
            got=f"ridge={objective.ridge}",
            remedy="leave it out",
        )
    if looks < 2 or steps < 1:
        raise UsageError(
            "A trajectory needs two looks and a step.", got=f"looks={looks}, steps={steps}"
        )
    at = np.unique(np.linspace(0, steps, min(looks, steps + 1)).astype(int))
    model = objective.model
    data = (objective.examples.x, objective.examples.y)
    run = fit(
        (model.params, model.apply),
        data,
        objective.loss.of,
        optimiser,
        step=step,
        steps=0,
        seed=seed,
    )
    seen: list[tuple[float, ...]] = []
    rows: list[np.ndarray] = []
    for k in at:
        run = run.resume(int(k)) if k else run
        if run.steps < k:
            break
        rows.append(_row(run))
        seen.append(_look_at(objective, rows[-1], optimum, tol, seed))
    loss, gradient, top, pl, kernel = np.array(seen).T
    slopes = [objective.gradient(row) for row in rows]
    pairs = zip(zip(rows, slopes), zip(rows[1:], slopes[1:]))
    steep = [np.linalg.norm(g - f) / max(np.linalg.norm(b - a), 1e-300) for (a, f), (b, g) in pairs]
    usual = {"gd": 1e-2, "sgd": 1e-2}.get(str(optimiser)) if step is None else step
    return Trajectory(
        at=at[: len(rows)],
        loss=loss,
        gradient=gradient,
        top=top,
        pl=pl,
        lipschitz=np.array(steep),
        kernel=kernel if np.isfinite(kernel).all() else np.zeros(0),
        moved=np.array([np.linalg.norm(row - rows[0]) for row in rows]),
        step=usual,
        ended=run.stopped_by,
        rows=rows,
    )


def _row(run: Fit) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(run.params)]).astype(
        np.float64
    )


def _look_at(
    objective: Objective, row: np.ndarray, optimum: float, tol: float, seed: int
) -> tuple[float, float, float, float, float]:
    value, slope = objective.value_and_gradient(row)
    found = extremes(objective.hessian(row), 1, "largest", tol=tol, rng=np.random.default_rng(seed))
    excess = value - optimum
    ratio = float(slope @ slope) / 2 / excess if excess > 0 else np.nan
    return (
        value,
        float(np.linalg.norm(slope)),
        found.range[1],
        ratio,
        least_of_kernel(objective, row),
    )


def least_of_kernel(objective: Objective, row: Float[np.ndarray, "p"] | None = None) -> float:
    r"""$\lambda_{\min}(JJ^\top)$ of a kernel that is small enough, else NaN."""
    if len(objective.examples) * objective.outputs > KERNEL:
        return float("nan")
    kernel = objective.kernel_matrix(row)
    return float("nan") if kernel is None else float(np.linalg.eigvalsh(kernel)[0])
