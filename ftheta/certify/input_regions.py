"""Sets of inputs as a user writes them: a box of two arrays, a ball, or a box with linear constraints; one, or one per
row."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.sets import BallSet, BoxSet, InputSet, PolytopeSet
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

NORMS = (1, 2, inf)
NEAR = 1e-6  # to empty: a linear program in floats does not tell


@dataclass(frozen=True, eq=False)
class Ball:
    r"""All $x$ with $\|x-c\|_p\le r$ for the `centre` $c$, the `radius` $r$ and the `norm` $p\in\{1,2,\infty\}$.

    With one centre a row, the radius is one number for all of them or one each.
    """

    centre: ArrayLike
    radius: ArrayLike
    norm: float = inf


@dataclass(frozen=True, eq=False)
class Polytope:
    r"""All $x$ with $l\le x\le h$, entry by entry, and $Gx\le c$: `lo` $l$, `hi` $h$, `limits` $c$, and `rows` $G$ with
    one column for each entry of $x$. With one box a row, the constraints are those of all of them."""

    lo: ArrayLike
    hi: ArrayLike
    rows: ArrayLike
    limits: ArrayLike


Region: TypeAlias = tuple[ArrayLike, ArrayLike] | Ball | Polytope


def read_region(region: Region, shape: tuple[int, ...] | None) -> tuple[InputSet, bool]:
    """A batch of sets of inputs of this shape (None: as they come), and whether a batch was asked for."""
    if isinstance(region, Ball):
        return _read_ball(region, shape)
    if isinstance(region, Polytope):
        return _read_polytope(region, shape)
    if not isinstance(region, (tuple, list)) or len(region) != 2:
        raise UsageError(
            "A set of inputs is a box (lo, hi), a Ball or a Polytope.", got=type(region).__name__
        )
    lo, hi = (read_numbers(end, "an end of the box") for end in region)
    if lo.shape != hi.shape:
        raise UsageError("The ends of a box have one shape.", got=f"{lo.shape} and {hi.shape}")
    if not bool(np.all(lo <= hi)):
        place = tuple(int(k) for k in np.argwhere(~(lo <= hi))[0])
        raise UsageError(
            "The box is empty: lo ≤ hi at every entry.",
            got=f"{lo[place]} and {hi[place]} at {place}",
        )
    (lo, is_batch), (hi, _) = (_as_batch(end, shape) for end in (lo, hi))
    return BoxSet(Interval(lo, hi)), is_batch


def _read_ball(ball: Ball, shape: tuple[int, ...] | None) -> tuple[InputSet, bool]:
    if ball.norm not in NORMS:
        raise UsageError(
            "The norm of a ball is 1, 2 or infinity.", where="the norm of the ball", got=ball.norm
        )
    centre, is_batch = _as_batch(read_numbers(ball.centre, "the centre"), shape)
    radius = read_numbers(ball.radius, "the radius")
    if radius.shape not in ((), (len(centre),)) or not bool(np.all(radius >= 0)):
        raise UsageError(
            "The radius is a number ≥ 0, or one per row.",
            where="the radius of the ball",
            got=f"{radius} for {len(centre)} rows",
        )
    radius = np.broadcast_to(radius, (len(centre),))
    if ball.norm == inf:
        return BoxSet(
            Interval.around(centre, radius.reshape(-1, *[1] * (centre.ndim - 1)))
        ), is_batch
    return BallSet(centre, radius, int(ball.norm)), is_batch


def _read_polytope(polytope: Polytope, shape: tuple[int, ...] | None) -> tuple[InputSet, bool]:
    box, is_batch = read_region((polytope.lo, polytope.hi), shape)
    assert isinstance(box, BoxSet)
    inner = box.hull.shape[1:]
    rows = np.atleast_2d(read_numbers(polytope.rows, "the rows"))
    limits = np.atleast_1d(read_numbers(polytope.limits, "the limits"))
    if rows.ndim != 2 or rows.shape[1] != int(np.prod(inner)) or limits.shape != rows.shape[:1]:
        raise UsageError(
            "The rows of a polytope have one column for each entry of an input, and one limit each.",
            got=f"rows {rows.shape}, limits {limits.shape}, inputs {inner}",
        )
    if not (np.isfinite(rows).all() and np.isfinite(limits).all()):
        raise UsageError("The rows and limits of a polytope are finite numbers.", got="an infinity")
    _refuse_empty(box, rows, limits, is_batch)
    return PolytopeSet(box, rows.reshape(len(rows), *inner), limits), is_batch


def _refuse_empty(box: BoxSet, rows: np.ndarray, limits: np.ndarray, is_batch: bool) -> None:
    """Refuse polytopes that are shown to have no point."""
    lo, hi = (end.reshape(len(end), -1) for end in (box.hull.lo, box.hull.hi))
    for k in range(len(lo)):
        multipliers = _find_contradiction(lo[k], hi[k], rows, limits)
        if multipliers is not None and _contradict(multipliers, lo[k], hi[k], rows, limits):
            raise UsageError(
                "The polytope is empty: no input of the box meets all of its rows.",
                got=f"{f'box {k}, ' if is_batch else ''}rows {np.flatnonzero(multipliers)[:5].tolist()}",
                remedy="loosen the limits, or widen the box",
            )


def _find_contradiction(
    lo: np.ndarray, hi: np.ndarray, rows: np.ndarray, limits: np.ndarray
) -> np.ndarray | None:
    r"""Multipliers $\lambda\ge0$ with $\lambda^TGx>\lambda^Tc$ all over the box, as far as floats say: those of the
    least $t$ with $Gx-c\le t$ somewhere."""
    found = linprog(
        np.append(np.zeros(rows.shape[1]), 1.0),
        A_ub=np.column_stack([rows, -np.ones(len(rows))]),
        b_ub=limits,
        bounds=[*zip(lo, hi), (-1.0, None)],
    )
    return (
        np.maximum(-found.ineqlin.marginals, 0.0) if found.success and found.fun > -NEAR else None
    )


def _contradict(
    multipliers: np.ndarray, lo: np.ndarray, hi: np.ndarray, rows: np.ndarray, limits: np.ndarray
) -> bool:
    """Whether they do so in rationals."""
    chosen = np.flatnonzero(multipliers)
    weights = [Fraction(float(multipliers[i])) for i in chosen]
    least = -sum((q * Fraction(float(limits[i])) for q, i in zip(weights, chosen)), Fraction(0))
    for low, high, column in zip(lo.tolist(), hi.tolist(), rows[chosen].T.tolist()):
        slope = sum((q * Fraction(entry) for q, entry in zip(weights, column)), Fraction(0))
        end = low if slope > 0 else high
        if slope and not isfinite(end):
            return False
        least += slope * Fraction(end) if slope else 0
    return least > 0


def read_numbers(x: ArrayLike, what: str) -> Float[np.ndarray, "*shape"]:
    """The array, if it is one of numbers."""
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
        "The set of inputs does not fit the network.",
        got=f"arrays of shape {x.shape}",
        remedy=f"inputs are {shape}",
    )
