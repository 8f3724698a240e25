"""Fitted rates with confidence intervals."""

import numpy as np

from ftheta.lazy import special
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Real

GAUSSIAN_LINE = "log errors Gaussian about a line"


def fit_rate(
    scales: Real[np.ndarray, "n"], errors: Float[np.ndarray, "n"], confidence: float = 0.99
) -> Enclosure:
    r"""Slope $b$ of the least-squares line $\log e=a+b\log n$, with its Student-t interval.

    `scales` are the $n$, `errors` the $e>0$; at least three pairs are needed. The level holds if the $\log e$ are
    independent Gaussians of one variance about a line, which is said with the interval and never shown.
    """
    pairs = np.stack([np.asarray(scales, np.float64), np.asarray(errors, np.float64)])
    n = pairs.shape[1]
    if n < 3 or not (np.isfinite(pairs).all() and (pairs > 0).all()):
        raise ValueError(
            f"A rate needs at least three positive finite pairs, got {n}: {list(errors)}."
        )
    x, y = np.log(pairs)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    residual = y - y.mean() - slope * x
    spread = float(np.sqrt(residual @ residual / (n - 2) / (x @ x)))
    error = float(special.stdtrit(n - 2, (1 + confidence) / 2)) * spread
    return Enclosure.estimate(
        slope, error, samples=n, confidence=confidence, assuming=GAUSSIAN_LINE
    )
