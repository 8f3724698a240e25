"""The worst entry of a comparison that is claimed for all of them: no entry is left out, and NaN is the worst."""

import numpy as np
from numpy.typing import ArrayLike


def largest(*values: ArrayLike) -> float:
    """The largest entry of all arrays; infinite where one is not a number, 0 where there is none."""
    found = [
        float(np.max(np.nan_to_num(v, nan=np.inf, posinf=np.inf)))
        for v in map(np.asarray, values)
        if v.size
    ]
    return max(found, default=0.0)


@np.errstate(all="ignore")
def worst_ratio(values: ArrayLike, bounds: ArrayLike, rounding: ArrayLike = 0.0) -> float:
    """The largest values[k] / (bounds[k] + rounding[k]) over all k, for values that are claimed to be at most `bounds`.

    `rounding` bounds the error of values[k] and bounds[k] together. A bound of 0 leaves nothing out: a value at most 0
    is within it, any other is beyond it by an infinite factor. So is what is not a number, what is infinite, and
    everything whose rounding is not bounded.
    """
    given = (np.asarray(part, np.float64) for part in (values, bounds, rounding))
    v, bound, error = np.broadcast_arrays(*given)
    room = bound + error
    ratio = np.where(
        v <= room,
        np.where(room > 0, np.maximum(v, 0.0) / room, 0.0),
        np.where(room > 0, v / room, np.inf),
    )
    known = np.isfinite(v) & np.isfinite(error)
    return largest(np.where(known, ratio, np.inf))
