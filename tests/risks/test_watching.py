"""Training runs that are watched, two at a time."""

import numpy as np
import pytest

from ftheta.risks import watching
from ftheta.risks.watching import Recipe, WatchedRows, run_side_by_side, start, watch


def train(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 3))
    both = WatchedRows.of(x, np.eye(2)[(x[:, 0] > 0).astype(int)])
    return watch(start(rng, (3, 5, 2)), both, both, Recipe(), (1, 20)).train_loss


def test_runs_side_by_side_have_the_bits_of_runs_alone():
    together = run_side_by_side(train, range(3))
    assert np.array_equal(together, [train(seed) for seed in range(3)])


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6])
def test_runs_begin_from_both_ends_and_answer_in_the_order_given(count, monkeypatch):
    """The smallest and the largest compile their programs at the same time."""
    monkeypatch.setattr(watching, "cpu_count", lambda: 1)
    begun = []
    found = run_side_by_side(lambda k: begun.append(k) or 10 * k, range(count))
    assert found == [10 * k for k in range(count)] and sorted(begun) == list(range(count))
    assert begun[:2] == [0, count - 1][:count]
