r"""How far what a deployed network computes may be from the real function with its weights.

The program computes every affine step $z=Wh+b$ in a floating-point type with unit roundoff $u$, in any order of
summation, with fused products or without, or more precisely. A row with $t$ terms (products whose weight is not
zero, and the offset if it is not) sends no term through more than $t$ roundings, so that
$$|\tilde z_r-(W\tilde h+b)_r|\le E_r=\gamma_t\Bigl(\sum_j|W_{rj}||\tilde h_j|+|b_r|\Bigr)+\lambda(\dots),\qquad
\gamma_t=\frac{tu}{1-tu},$$
where the last term covers underflow, gradual or flushed to zero ($\lambda$ is the least normal number). A ReLU is
exact, and $\max(\tilde z,0)-\max(z,0)=s\,(\tilde z-z)$ for an $s\in[0,1]$, which is 0 or 1 where both have one sign.

So the deviation $\tilde h-h$ is a zonotope over a box: each $E_r$ adds a generator, and a neuron of undecided sign
halves its row and adds half of what the row reaches. Rows of a question are applied to it at the end: what cancels in
them, cancels. All of it is computed in float64; `slack` carries the rounding of these computations.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float, Int

from .goals import Array, Goal
from .neurons.enclosing import enclose
from .neurons.frames import BeyondRange
from .neurons.inputs import Inputs

U = 2.0**-53
MOST_ENTRIES = 8_000_000  # of generators; beyond them errors are added up without signs


@dataclass(frozen=True)
class FloatType:
    """A binary floating-point type: its name, unit roundoff, least normal and largest number."""

    name: str
    unit: float
    least: float
    largest: float
    dtype: type

    def gamma(self, terms: Int[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """$γ_t$, rounded up; infinite where so many terms are beyond it."""
        product = terms * self.unit
        return np.where(
            product < 0.5, product / (1.0 - np.minimum(product, 0.5)) * (1.0 + 8.0 * U), np.inf
        )


FLOAT_TYPES = {
    "float32": FloatType(
        "float32", 2.0**-24, 2.0**-126, float(np.finfo(np.float32).max), np.float32
    ),
    "float64": FloatType(
        "float64", 2.0**-53, 2.0**-1022, float(np.finfo(np.float64).max), np.float64
    ),
}


def require_weights(net: ReluNetwork, kind: FloatType) -> None:
    """Raise unless all weights are numbers of this type."""
    for k, step in enumerate(net.steps):
        matrix = step.dense()
        with np.errstate(over="ignore"):
            is_held = all(
                (part == part.astype(kind.dtype).astype(np.float64)).all()
                for part in (matrix, step.offset)
            )
        if not is_held or step.long_rows:
            raise SubjectError(
                f"The network has weights that are no {kind.name} numbers.",
                where=f"layer {k + 1}",
                remedy=f"store it in {kind.name}, or ask about the real function (--real)",
            )


@dataclass(frozen=True, eq=False)
class Deviation:
    """Of all states at one place: `generators`, one column each, and what is added to them without a sign."""

    generators: Float[np.ndarray, "n k"]
    slack: Float[np.ndarray, "n"]

    @property
    def radius(self) -> Float[np.ndarray, "n"]:
        """A bound of each deviation."""
        columns = self.generators.shape[1]
        return (np.abs(self.generators).sum(1) * (1.0 + 4.0 * (columns + 4) * U) + self.slack) * (
            1.0 + 4.0 * U
        )


def bound_deviations(
    net: ReluNetwork, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"], kind: FloatType
) -> tuple[Deviation, Float[np.ndarray, "m"]] | None:
    """The deviation of the outputs over a box of inputs, and bounds of their absolute values as computed.

    None where numbers may overflow, or where nothing is known of them.
    """
    try:
        bounds = enclose(net, Inputs(low, high))[1]
    except BeyondRange:
        return None
    sizes = np.maximum(np.abs(low), np.abs(high))
    deviation = Deviation(np.zeros((len(low), 0)), np.zeros(len(low)))
    for k, step in enumerate(net.steps):
        matrix = step.dense()
        errors, reach = _errors_of_step(matrix, step.offset, sizes, kind)
        if not np.all(reach + errors < 0.99 * kind.largest):
            return None
        deviation = _apply(matrix, errors, deviation)
        if k == len(net.steps) - 1:
            return deviation, (reach + errors) * (1.0 + 4.0 * U)
        under, above = bounds[k]
        radius = deviation.radius
        lowest = under - radius - 4.0 * U * (np.abs(under) + radius)
        highest = above + radius + 4.0 * U * (np.abs(above) + radius)
        is_off = step.rectified & (highest <= 0)
        is_open = step.rectified & ~is_off & (lowest < 0)
        deviation = _rectify(deviation, is_off, is_open)
        sizes = np.where(
            step.rectified, np.maximum(highest, 0.0), np.maximum(np.abs(lowest), np.abs(highest))
        )
    return None


def _errors_of_step(
    matrix: Array, offset: Array, sizes: Array, kind: FloatType
) -> tuple[Array, Array]:
    r"""$E$ for every row, and $\sum_j|W_{rj}||h_j|+|b_r|$, both rounded up."""
    magnitudes = np.abs(matrix)
    is_term = magnitudes != 0
    products = is_term.sum(1)
    terms = products + (offset != 0)
    rounding = 1.0 + 4.0 * (matrix.shape[1] + 8) * U
    reach = (magnitudes @ sizes + np.abs(offset)) * rounding
    # one product by 1 or −1 and nothing to add is no computation at all
    is_copy = (terms == 1) & (products == 1) & (magnitudes.max(1, initial=0.0) == 1.0)
    relative = np.where(is_copy, 0.0, kind.gamma(terms))
    flushed = kind.least * (2.0 * terms + 1.0 + magnitudes.sum(1) + is_term @ sizes) * rounding
    return (relative * reach + 2.0 * flushed) * (1.0 + 4.0 * U), reach


def _apply(matrix: Array, errors: Array, deviation: Deviation) -> Deviation:
    """The deviation behind an affine map that errs by `errors` itself."""
    magnitudes = np.abs(matrix)
    given = np.abs(deviation.generators).sum(1)
    rounding = 4.0 * (matrix.shape[1] + deviation.generators.shape[1] + 8) * U
    slack = (magnitudes @ (deviation.slack + rounding * given)) * (1.0 + rounding)
    rows, columns = len(errors), deviation.generators.shape[1]
    if rows * (columns + rows) > MOST_ENTRIES:  # without signs from here on
        return Deviation(
            np.zeros((rows, 0)), slack + (magnitudes @ given) * (1.0 + rounding) + errors
        )
    return Deviation(np.hstack([matrix @ deviation.generators, np.diag(errors)]), slack)


def _rectify(deviation: Deviation, is_off: Array, is_open: Array) -> Deviation:
    half = 0.5 * deviation.radius
    factor = np.where(is_off, 0.0, np.where(is_open, 0.5, 1.0))
    fresh = np.flatnonzero(is_open)
    more = np.zeros((len(factor), len(fresh)))
    more[fresh, np.arange(len(fresh))] = half[fresh] * (1.0 + 4.0 * U)
    generators = factor[:, None] * deviation.generators
    if generators.size + more.size > MOST_ENTRIES:
        return Deviation(generators, factor * deviation.slack + more.sum(1))
    return Deviation(np.hstack([generators, more]), factor * deviation.slack)


def widen_rows(
    goal: Goal, deviation: Deviation, sizes: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "r"]:
    """By how much the excess of each row, at the outputs as computed, may be smaller than that of the real function.

    `sizes` bound these outputs. The rows themselves are meant exactly.
    """
    columns = deviation.generators.shape[1]
    magnitudes = np.abs(goal.outputs)
    rounding = 4.0 * (goal.outputs.shape[1] + columns + 8) * U
    along = np.abs(goal.outputs @ deviation.generators).sum(1) * (1.0 + rounding)
    unsigned = magnitudes @ deviation.slack + rounding * (
        magnitudes @ np.abs(deviation.generators).sum(1)
    )
    return (along + unsigned * (1.0 + rounding)) * (1.0 + 8.0 * U) + 8.0 * U * (magnitudes @ sizes)
