"""Where a function of one variable jumps, as far as samples tell."""

import numpy as np

from .suprema import Scalar, ranges

BISECTIONS = 40


def find_jumps(rho: Scalar, lo: float, hi: float, points: int = 4097) -> list[tuple[float, float]]:
    """Places and heights of jumps: where a step between neighbours stays when the gap is halved again and again."""
    x = np.linspace(lo, hi, points)
    value = lambda t: ranges(rho, np.atleast_1d(t)[:, None], np.atleast_1d(t)[:, None]).lo
    y = value(x)
    steps = np.abs(np.diff(y))
    large = np.flatnonzero(steps > 16 * np.median(steps) + 1e-9)
    some = large[np.argsort(-steps[large])][:16]
    a = x[some]
    b = x[some + 1]
    fa = y[some]
    fb = y[some + 1]
    for _ in range(
        BISECTIONS if len(some) else 0
    ):  # all places at once: a program is traced anew at every call
        m = (a + b) / 2
        fm = value(m)
        left = np.abs(fm - fa) > np.abs(fb - fm)
        a = np.where(left, a, m)
        b = np.where(left, m, b)
        fa = np.where(left, fa, fm)
        fb = np.where(left, fm, fb)
    real = np.abs(fb - fa) > steps[some] / 2
    return sorted(zip(b[real].tolist(), (fb - fa)[real].tolist()))
