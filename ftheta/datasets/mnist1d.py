r"""MNIST-1D (Greydanus & Kobak 2024): ten strokes of 12 numbers, each padded, stretched, scaled, moved, noised, sheared
and sampled at 40 places.

The package `mnist1d` imports a plotting and a network library and seeds NumPy's global generator. This generator draws
the same numbers in the same order from a generator of its own, so that a seed gives the rows of `make_dataset`.
"""

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .named_arrays import Data

STROKES = np.array(
    [
        [5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5],
        [5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5],
        [5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5],
        [5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5],
        [5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5],
        [5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5],
        [5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5],
        [5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5],
    ]
)
"""The digits 0 to 9, before they are centred."""
STROKE = 12
LEAST_PADDING = 36
MOST_PADDING = 60
LENGTH = 40
WIDE = STROKE + MOST_PADDING


def templates() -> Float[np.ndarray, "k length"]:
    """The strokes, each of mean 0 and deviation 1, moved so that they begin at 0."""
    x = STROKES - STROKES.mean(1, keepdims=True)
    x = x / x.std(1, keepdims=True)
    return (x - x[:, :1]) / 6


def mnist1d(seed: int = 42, n: int = 5000) -> Data:
    """`n` rows of 40 numbers (a tenth of them each digit, so that `n` is rounded down to tens), in random order, with
    mean 0 and deviation 1 over all. The seed 42 and 5000 rows are the published set; its first 4000 rows are the
    training set, the other 1000 the test set."""
    if n < 10:
        raise UsageError("There is at least one row a digit.", got=n, remedy="n=10 or more")
    state = np.random.RandomState(seed)  # the stream of the published set
    y = np.repeat(np.arange(10), n // 10)
    x = np.stack([_draw(stroke, state) for stroke in templates()[y] + 1e-8])
    order = state.permutation(len(y))
    x = x[order]
    names = tuple(f"t{k}" for k in range(LENGTH))
    return Data("mnist1d", (x - x.mean()) / x.std(), y[order], names, tuple(map(str, range(10))))


def _draw(stroke: np.ndarray, state: np.random.RandomState) -> np.ndarray:
    padding = LEAST_PADDING + int(state.rand() * (MOST_PADDING - LEAST_PADDING + 1))
    x = _resample(np.concatenate([stroke, np.zeros(padding)]), WIDE)
    x *= 1 + 0.4 * (state.rand() - 0.5)
    x = np.roll(x, state.choice(48))
    silent = x == 0
    # here, because it is slow to import and seldom needed
    from scipy.ndimage import gaussian_filter

    correlated = gaussian_filter(0.25 * state.randn(WIDE), 2)
    x = np.where(silent, correlated, x) + 0.02 * state.randn(WIDE)
    shear = 0.75 * (state.rand() - 0.5)
    return _resample(x - shear * np.linspace(-0.5, 0.5, WIDE), LENGTH)


def _resample(x: np.ndarray, n: int) -> np.ndarray:
    return np.interp(np.linspace(0, 1, n), np.linspace(0, 1, len(x)), x)
