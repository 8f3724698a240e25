"""The observed order of convergence to a limit, as a claim."""

from typing import Any

import numpy as np

from ftheta.estimates import fit_rate, largest
from ftheta.logic import Enclosure, Rate


def observed_order(
    what: str, order: float, scales: Any, errors: Any, *, sharp: bool = False, slack: float = 0.1
) -> tuple[Rate, ...]:
    r"""The claim $e(n)=O(n^{-\text{order}})$ fitted to the positive `errors`, if they are three or more.

    An error that is not finite speaks against it: then nothing is known of the slope.
    """
    n = np.asarray(scales, np.float64)
    e = np.asarray(errors, np.float64)
    if not np.isfinite(e).all():
        return (
            Rate(
                what,
                order,
                Enclosure(),
                tuple(n.tolist()),
                tuple(largest(v) for v in e),
                slack,
                sharp,
            ),
        )
    usable = e > 0
    if usable.sum() < 3:
        return ()
    n = n[usable]
    e = e[usable]
    return (Rate(what, order, fit_rate(n, e), tuple(n.tolist()), tuple(e.tolist()), slack, sharp),)
