r"""How far two networks of one shape are apart on a box at most, layer by layer, rounded outward.

Let $|\delta x|\le s$ entrywise before a step. A neuron that is kept moves by at most $|A|s$, as ReLU is 1-Lipschitz;
one that is replaced by a constant within $e$ of its output is off by $e$; one that is 0 on the box and is dropped is
off by nothing. With rounded weights $\hat A=A+\delta A$, $\hat b=b+\delta b$ the sum moves by at most
$|A|s+|\delta A||\hat x|+|\delta b|$ where $|\hat x|$ is bounded on the box.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ftheta.lazy import is_sparse
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Bool, Float

from .network import ReluNetwork, Step

U = 2.0**-53
TINY = 1e-300
LEAST = 2.0**-1022  # more than a number below it is off by


def multiply_up(matrix: Any, x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "m"]:
    r"""No less than $|A|x$ for $x\ge0$ and a dense or sparse matrix, of numbers that may each be off by a unit in the
    last place."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(np.abs(matrix) @ x).ravel()
    # 0 · ∞: nothing is known
    found = np.where(np.isnan(found), np.inf, found)
    terms = np.asarray(
        (matrix != 0) @ (x != 0).astype(np.float64)
    ).ravel()  # products that are not 0
    return np.where(terms > 0, found * (1 + 4 * (matrix.shape[1] + 4) * U) + TINY, 0.0)


def bound_replacement(
    net: ReluNetwork,
    kept: Sequence[Bool[np.ndarray, "_n"]],
    errors: Sequence[Float[np.ndarray, "_n"]],
) -> Float[np.ndarray, "outputs"]:
    """The deviation of each output at most, if of each hidden step the neurons that are not `kept` are replaced by
    constants which their outputs are within `errors` of."""
    off = np.zeros(net.widths[0])
    for step, stays, error in zip(net.steps, kept, errors):
        off = np.where(stays, multiply_up(step.matrix, off), error)
    return multiply_up(net.steps[-1].matrix, off)


def bound_rounding(
    net: ReluNetwork, rounded: ReluNetwork, sizes: Sequence[Float[np.ndarray, "_n"]]
) -> Float[np.ndarray, "outputs"]:
    """The deviation of each output at most from the network with `rounded` weights; `sizes` bound the states of that
    one, the inputs first."""
    off = np.zeros(net.widths[0])
    for step, other, size in zip(net.steps, rounded.steps, sizes):
        off = (multiply_up(step.matrix, off) + _bound_shift(step, other, size)) * (1 + 4 * U)
    return off


def _bound_shift(step: Step, rounded: Step, size: np.ndarray) -> np.ndarray:
    r"""No less than $|\delta A||x|+|\delta b|$ for $|x|\le$ `size`. A float64 number less its float32 one is exact; a
    row that float64 cannot hold is off by half a unit more, or by a subnormal number."""
    is_long = np.zeros(len(step.offset), bool)
    is_long[list(step.long_rows)] = True
    weights = multiply_up(step.matrix - rounded.matrix, size)
    offsets = np.abs(step.offset - rounded.offset)
    if is_long.any():
        lost = LEAST * (1 + size.sum())
        more = 2 * U * (multiply_up(step.matrix, size) + np.abs(step.offset)) + lost
        offsets = offsets + np.where(is_long, more, 0.0)
    return (weights + offsets) * (1 + 8 * U)


def to_precision(net: ReluNetwork, dtype: str) -> ReluNetwork:
    """The network with its weights rounded to the nearest float32 or float64 numbers."""

    def convert(array: Any) -> Any:
        with np.errstate(over="ignore"):
            found = array.astype(dtype).astype(np.float64)
        if not np.isfinite(found.data if is_sparse(found) else found).all():
            raise SubjectError(
                "A weight does not fit the precision.", got=dtype, remedy="use float64"
            )
        return found

    steps = [Step(convert(step.matrix), convert(step.offset), step.rectified) for step in net.steps]
    return ReluNetwork(tuple(steps), net.rounded)
