"""Training runs that are watched, two at a time."""

import numpy as np

from ftheta.risks.watching import Recipe, WatchedRows, run_side_by_side, start, watch


def train(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 3))
    both = WatchedRows.of(x, np.eye(2)[(x[:, 0] > 0).astype(int)])
    return watch(start(rng, (3, 5, 2)), both, both, Recipe(), (1, 20)).train_loss


def test_runs_side_by_side_have_the_bits_of_runs_alone():
    together = run_side_by_side(train, range(3))
    assert np.array_equal(together, [train(seed) for seed in range(3)])
