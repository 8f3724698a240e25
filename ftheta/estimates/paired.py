"""Two classifiers on the same rows."""

import numpy as np

from ftheta.lazy import special
from ftheta.shapes import Bool


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
