"""Traces by probes, power iteration, depth with skip connections, and what each penalty does to the test loss."""

import numpy as np

from ftheta.logic import Axis, Bars, Curves, Series, Table

from .ablations import Ablation
from .input_noise import Remainders
from .stacks import Stacks

ROUNDING = 1e-15  # below it all is rounding


def draw_probes(exact: np.ndarray, seen: np.ndarray) -> Curves:
    """The running mean of probes beside the exact trace."""
    per_draw = seen.mean(0)
    k = np.arange(1, len(per_draw) + 1)
    running = np.cumsum(per_draw) / k
    error = per_draw.std() / np.sqrt(k)
    series = (
        Series("exact", [1, len(k)], [float(exact.mean())] * 2, "reference"),
        Series(
            "running mean", k, running, "measured", lo=running - 2 * error, hi=running + 2 * error
        ),
    )
    return Curves(
        "‖J‖² by random probes", Axis("probes", "log"), Axis("mean ‖J‖² of the rows"), series
    )


def draw_power_iteration(error: np.ndarray, bound: np.ndarray) -> Curves:
    """The relative error of the largest singular value against the number of steps."""
    k = np.arange(len(error))
    seen = error > ROUNDING
    known = bound > ROUNDING
    series = (
        Series("error", k[seen], error[seen]),
        Series("bound", k[known], bound[known], "bound"),
    )
    return Curves(
        "power iteration on the first matrix", Axis("step k"), Axis("1 − θ_k/σ²", "log"), series
    )


def draw_stacks(found: Stacks) -> Curves:
    """Smallest singular values against depth."""
    depth = np.arange(1, len(found.floor) + 1)
    seen = found.plain > ROUNDING
    series = (
        Series("with skips", depth, found.skipped),
        Series("at least", depth, found.floor, "reference"),
        Series("without, ‖W‖ = 1", depth[seen], found.plain[seen], "other"),
    )
    axes = Axis("depth"), Axis("smallest singular value", "log")
    return Curves("smallest singular value of a stack of layers", *axes, series)


def draw_remainders(found: Remainders) -> Curves:
    """What the expansion leaves of the effect of noise."""
    s = found.spreads
    fourth = found.after_both[-1] * (s / s[-1]) ** 4
    series = (
        Series("after s²(‖J‖² + ⟨f − y, Δf⟩)", s, found.after_both),
        Series("after s²‖J‖² alone", s, found.alone, "other"),
        Series("order s⁴", s, fourth, "reference"),
    )
    return Curves(
        "what is left of the effect of noise",
        Axis("spread s", "log"),
        Axis("remainder", "log"),
        series,
    )


def draw_ablation(found: Ablation) -> Bars:
    """Training and test loss with each penalty."""
    values = (found.train.mean(1), found.test.mean(1))
    return Bars(
        "loss after training with each penalty",
        Axis("loss"),
        found.names,
        ("training", "test"),
        values,
    )


def tabulate_ablation(found: Ablation) -> Table:
    """Losses, their gap, and the mean squared Jacobian norm with each penalty."""
    columns = (
        "penalty",
        "training loss",
        "test loss",
        "±",
        "gap",
        "‖J‖² on fitted rows",
        "‖J‖² on others",
    )
    rows = []
    for i, name in enumerate(found.names):
        test = found.test[i]
        error = float(test.std(ddof=1) / np.sqrt(len(test))) if len(test) > 1 else 0.0
        gap = float((test - found.train[i]).mean())
        steepness = float(found.steepness[i].mean())
        elsewhere = float(found.steepness_elsewhere[i].mean())
        rows.append(
            (
                name,
                float(found.train[i].mean()),
                float(test.mean()),
                error,
                gap,
                steepness,
                elsewhere,
            )
        )
    return Table("trained with each penalty", columns, tuple(rows))
