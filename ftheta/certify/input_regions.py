"""Sets of inputs as a user writes them: a box of two arrays, or a ball; one of them, or one a row."""

from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear import BallSet, BoxSet, InputSet
from ftheta.logic.errors import UsageError

NORMS = (1, 2, inf)


@dataclass(frozen=True, eq=False)
class Ball:
    r"""All $x$ with $\|x-c\|_p\le r$ for the `centre` $c$, the `radius` $r$ and the `norm` $p\in\{1,2,\infty\}$.

    With one centre a row, the radius is one number for all of them or one each.
    """

    centre: ArrayLike
    radius: ArrayLike
    norm: float = inf


Region: TypeAlias = tuple[ArrayLike, ArrayLike] | Ball


def read_region(region: Region, shape: tuple[int, ...] | None) -> tuple[InputSet, bool]:
    """A batch of sets of inputs of this shape (None: as they come), and whether a batch was asked for."""
    if isinstance(region, Ball):
        return _read_ball(region, shape)
    if not isinstance(region, (tuple, list)) or len(region) != 2:
        raise UsageError(
            "A set of inputs is a box (lo, hi) or a Ball(centre, radius, norm).", got=type(region).__name__
        )
    lo, hi = (_numbers(end, "an end of the box") for end in region)
    if lo.shape != hi.shape:
        raise UsageError("The ends of a box have one shape.", got=f"{lo.shape} and {hi.shape}")
    if not bool(np.all(lo <= hi)):
        place = tuple(int(k) for k in np.argwhere(~(lo <= hi))[0])
        raise UsageError("The box is empty: lo ≤ hi at every entry.", got=f"{lo[place]} and {hi[place]} at {place}")
    (lo, is_batch), (hi, _) = (_as_batch(end, shape) for end in (lo, hi))
    return BoxSet(Interval(lo, hi)), is_batch


def _read_ball(ball: Ball, shape: tuple[int, ...] | None) -> tuple[InputSet, bool]:
    if ball.norm not in NORMS:
        raise UsageError("The norm of a ball is 1, 2 or infinity.", got=ball.norm)
    centre, is_batch = _as_batch(_numbers(ball.centre, "the centre"), shape)
    radius = _numbers(ball.radius, "the radius")
    if radius.shape not in ((), (len(centre),)) or not bool(np.all(radius >= 0)):
        raise UsageError("The radius is a number ≥ 0, or one a row.", got=f"{radius} for {len(centre)} rows")
    radius = np.broadcast_to(radius, (len(centre),))
    if ball.norm == inf:
        return BoxSet(Interval.around(centre, radius.reshape(-1, *[1] * (centre.ndim - 1)))), is_batch
    return BallSet(centre, radius, int(ball.norm)), is_batch


def _numbers(x: ArrayLike, what: str) -> np.ndarray:
    try:
        found = np.asarray(x, np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"An array of numbers is needed for {what}.", got=str(error)) from error
    if np.isnan(found).any():
        raise UsageError(f"There is a NaN in {what}.", got=found)
    return found


def _as_batch(x: np.ndarray, shape: tuple[int, ...] | None) -> tuple[np.ndarray, bool]:
    """An array (sets, *shape), and whether it came so. A set may be flat where the input is not."""
    if shape is None or x.shape == shape:
        return x[None], False
    size = int(np.prod(shape))
    if x.shape[1:] == shape or (x.ndim == 2 and x.shape[1] == size):
        return x.reshape(len(x), *shape), True
    if x.shape == (size,):
        return x.reshape(1, *shape), False
    raise UsageError(
        "The set of inputs does not fit the network.", got=f"arrays of shape {x.shape}", remedy=f"inputs are {shape}"
    )
