"""Max-pooling of signals: made of ReLUs, and how far it can move two signals apart."""

import numpy as np


def relu_pooling_gap(signals: np.ndarray, kernel: int = 3) -> int:
    r"""The largest difference between max-pooling rows of integers and the same by $\max(a,b)=a+r(b-a)$."""
    windows = np.lib.stride_tricks.sliding_window_view(signals, kernel, axis=1)
    pooled = windows[..., 0]
    for k in range(1, kernel):
        pooled = pooled + np.maximum(windows[..., k] - pooled, 0)
    return int(np.abs(pooled - windows.max(-1)).max())


def pooling_stretch(x: np.ndarray, y: np.ndarray, kernel: int = 3) -> float:
    r"""The largest $\|\mathrm{pool}\,x-\mathrm{pool}\,y\|_\infty/\|x-y\|_\infty$ over rows of `x` and `y`."""
    pool = lambda z: np.lib.stride_tricks.sliding_window_view(z, kernel, axis=1).max(-1)
    return float((np.abs(pool(x) - pool(y)).max(1) / np.abs(x - y).max(1)).max())
