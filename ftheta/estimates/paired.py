"""Two models on the same rows."""

import numpy as np

from ftheta.lazy import special
from ftheta.shapes import Bool, Float

FLIPS = 1999


def mcnemar(first: Bool[np.ndarray, "n"], second: Bool[np.ndarray, "n"]) -> float:
    r"""The two-sided p-value of McNemar's exact test that both are right equally often (`mcnemar1947`).

    `first` and `second` say of each row whether a classifier is right. Of the $m=b+c$ rows on which one alone is, $b$
    the first, $B\sim\mathrm{Bin}(m,\tfrac12)$ under the hypothesis, and $p=\min(1,2\,P(B\le\min(b,c)))$.
    """
    b = int((first & ~second).sum())
    c = int((second & ~first).sum())
    if b == c:
        return 1.0
    return min(1.0, 2 * float(special.bdtr(min(b, c), b + c, 0.5)))


def sign_flip_test(
    differences: Float[np.ndarray, "n"], rng: np.random.Generator, flips: int = FLIPS
) -> float:
    """The two-sided p-value of the test that the losses of two models are exchangeable on every row.

    The mean of their `differences` is compared with those under random signs, the signs as they are being one of the
    draws: the level is exact.
    """
    if not np.isfinite(differences).all():
        raise ValueError("A sign-flip test needs finite differences.")
    sizes = differences / max(float(np.abs(differences).max(initial=0.0)), 1e-300)
    met = abs(float(sizes.sum()))
    beaten = 0
    block = max(1, (1 << 22) // max(len(sizes), 1))
    for begin in range(0, flips, block):
        signs = rng.integers(0, 2, (min(block, flips - begin), len(sizes))) * 2 - 1
        beaten += int((np.abs(signs @ sizes) >= met - 1e-12 * len(sizes)).sum())
    return (1 + beaten) / (flips + 1)
