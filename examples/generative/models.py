"""What the five models share: a record of the training, layers, pictures, and how copies are counted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.flows.mixtures import Mixture
from ftheta.logic.chart import Axis, Chart, Curves, Heatmap, Series

ROWS = 20_000  # draws of the bumps
SHOWN = 600  # samples in the plane
Params = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """What was trained: the losses on the way, what they cannot fall below, samples, and what is worth saying."""

    name: str
    steps: np.ndarray
    losses: np.ndarray
    floors: dict[str, float]
    pictures: list[Chart]
    seconds: float
    says: str
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def last(self) -> float:
        """The mean loss over the last tenth of the steps."""
        return mean_of_the_end(self.losses)

    def draw_loss(self) -> Curves:
        """Means of the loss over stretches of steps, and the least."""
        width = max(1, len(self.losses) // 40)
        count = len(self.losses) // width
        smooth = self.losses[: count * width].reshape(count, width).mean(1)
        at = self.steps[: count * width].reshape(count, width).mean(1)
        least = [
            Series(name, [0, at[-1]], [value] * 2, "bound") for name, value in self.floors.items()
        ]
        return Curves(
            f"{self.name}: loss", Axis("step"), Axis("loss"), (Series("loss", at, smooth), *least)
        )


# ---- what all of them share ------------------------------------------------------------------------------------------


def mean_of_the_end(losses: np.ndarray) -> float:
    """Over the last tenth."""
    return float(losses[-max(1, len(losses) // 10) :].mean())


def eight_bumps() -> Mixture:
    """Eight Gaussians on a circle of radius 2."""
    turn = 2 * np.pi * np.arange(8) / 8
    return Mixture(2 * np.stack([np.cos(turn), np.sin(turn)], 1), np.full(8, 1 / 8), 0.2**2)


def digits() -> np.ndarray:
    """Rows of 64 pixels from 0 to 1."""
    return np.asarray(ft.load("digits").x, np.float64).reshape(-1, 64)


def start_layers(
    rng: np.random.Generator, sizes: Sequence[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of dense layers."""
    return [(rng.normal(size=(n, m)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]


def run_layers(layers: Any, x: Any) -> Any:
    """Dense layers with tanh between them."""
    for W, b in layers[:-1]:
        x = jnp.tanh(W @ x + b)
    W, b = layers[-1]
    return W @ x + b


def train(
    params: Params, apply: Callable, data: tuple, loss: Any, steps: int, how: Any, batch: int = 250
) -> Any:
    """The run, in single precision, and its processor time; `how` is a step of Adam or an optimiser."""
    began = time.process_time()
    optimiser, step = ("adam", how) if isinstance(how, float) else (how, None)
    run = ft.fit(
        (params, apply),
        data,
        loss,
        optimiser,
        step=step,
        steps=steps,
        batch=batch,
        dtype=np.float32,
        progress=False,
    )
    return run, time.process_time() - began


def draw_samples(name: str, made: np.ndarray, rows: np.ndarray) -> Curves:
    """Samples among the rows, in the plane."""
    series = (
        Series("data", rows[:SHOWN, 0], rows[:SHOWN, 1], "reference", "points"),
        Series("samples", made[:SHOWN, 0], made[:SHOWN, 1], "measured", "points"),
    )
    return Curves(f"{name}: samples", Axis("x₁"), Axis("x₂"), series)


def draw_digits(name: str, made: np.ndarray) -> Heatmap:
    """Thirty-six digits, twelve in a line."""
    tiles = np.zeros((3, 12, 9, 9))
    tiles[:, :, :8, :8] = np.clip(made[:36].reshape(3, 12, 8, 8), 0, 1)
    picture = tiles.transpose(0, 2, 1, 3).reshape(27, 108)
    return Heatmap(name, Axis(), Axis(), picture[::-1], (0, 108, 0, 27))


def count_copies(made: np.ndarray, rows: np.ndarray) -> float:
    """The share of samples that are three times as near to one row as to all others."""
    return ft.diffuse(rows).copies(made)
