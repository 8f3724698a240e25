"""Many runs as one program."""

import numpy as np
import optax
import pytest

from ftheta.training import races
from ftheta.training.losses import squared
from ftheta.training.races import train_all


def descend(start: np.ndarray, x: np.ndarray, y: np.ndarray, steps: int, step: float) -> np.ndarray:
    """Gradient descent on the mean squared error of a linear model, written out."""
    for _ in range(steps):
        start = start - step * 2 * ((x @ start.T - y).T @ x) / len(x)
    return start


@pytest.mark.parametrize("short", [races.SHORT, 0.0], ids=["in a hurry", "thoroughly"])
def test_races_are_gradient_descent_however_they_are_compiled(monkeypatch, short):
    monkeypatch.setattr(races, "SHORT", short)
    rng = np.random.default_rng(0)
    runs = [
        (rng.normal(size=(1, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 1)))
        for _ in range(2)
    ]
    found = train_all(lambda weights, row: weights @ row, squared, optax.sgd, runs, 25, 0.05)
    expected = [descend(*run, 25, 0.05) for run in runs]
    np.testing.assert_allclose(found.params, expected, rtol=1e-12)
