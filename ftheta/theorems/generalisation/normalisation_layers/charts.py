"""Weights that grow along gradient descent, and batches against running statistics."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ftheta.logic import Axis, Curves, Series, Table
from ftheta.training.descent import Path, descend
from ftheta.training.methods import steepest

from .normalisation import Block


def draw_growth(
    objective: Callable[[Any], Any], w: np.ndarray, tau: float, steps: int, path: Path
) -> tuple[Curves, Curves]:
    """Squared lengths for three steps with what the slopes add up to, and the step that the direction feels."""
    lengths = []
    felt = []
    at = []
    sums = []
    for t in (tau / 4, tau, 4 * tau):
        run = path if t == tau else descend(steepest(t), objective, w, steps)
        squares = (run.points**2).sum(1)[1:]
        k = np.arange(1, len(run))
        added = float(w @ w) + t**2 * np.cumsum(run.slopes[:-1])
        some = np.unique(np.geomspace(1, len(k), 8).astype(int)) - 1
        at.extend(k[some])
        sums.extend(added[some] / (w @ w))
        lengths.append(Series(f"τ = {t:.3g}", k, squares / (w @ w)))
        felt.append(Series(f"τ = {t:.3g}", k, t / squares))
    lengths.append(Series("‖w₀‖² + τ²Σ‖∇L‖²", at, sums, "reference", "points"))
    steps_axis = Axis("step k", "log")
    return (
        Curves("weights grow", steps_axis, Axis("‖w_k‖² / ‖w₀‖²", "log"), tuple(lengths)),
        Curves(
            "the step that the direction feels", steps_axis, Axis("τ / ‖w_k‖²", "log"), tuple(felt)
        ),
    )


def draw_batch_effect(sizes: np.ndarray, apart: np.ndarray) -> Curves:
    """Training against evaluation, and its closed form for large batches."""
    series = (
        Series("measured", sizes, apart, "measured", "points"),
        Series("√(3/(2m))", sizes, np.sqrt(1.5 / sizes), "reference"),
    )
    title = "batch normalisation: training against evaluation"
    return Curves(
        title, Axis("rows per batch m", "log"), Axis("root mean square difference", "log"), series
    )


def tabulate_blocks(kept: Sequence[Block], rest: Sequence[Block]) -> Table:
    """Which parameters the loss ignores the size of."""
    rows = [(b.name, "no" if b in rest else "yes", b.change) for b in (*kept, *rest)][:40]
    return Table(
        "does the loss ignore the size?",
        ("parameters", "ignored", "largest relative change"),
        tuple(rows),
    )
