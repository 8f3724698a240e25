r"""A ReLU network over a box of inputs, as relaxations need it: no dead neurons, and error terms for every sum.

Step $k$ maps $h_{k-1}$ to $z_k=W_kh_{k-1}+b_k$, and $h_k$ is $z_k$ with a ReLU on some coordinates. Over the box,
$l\le z_k\le u$ for all neurons; those with $u\le0$ are zero and left out, those of undecided sign stand first.

**Rounding.** Let $|h_{k-1}|\le H$ and $M_r=\sum_j|W_{rj}|H_j+|b_r|$. A row $a$ of coefficients of $z_k$ is taken back
to $a'=\mathrm{fl}(aW_k)$; with $\gamma=2n\,2^{-53}$ for sums of fewer than $n$ terms in any order,
$$\Bigl|\sum_ja'_jh_j+\mathrm{fl}(ab)-az_k\Bigr|\le\gamma\sum_r|a_r|M_r$$
over the whole box. `Layer.error` is $\gamma M$. Weights that float64 cannot hold are off by at most one part in
$2^{53}$ each, which adds a few units of $2^{-53}M_r$ to their rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.lazy import is_sparse
from ftheta.relu.network import ReluNetwork, Step
from ftheta.shapes import Bool, Float, Int

from .inputs import Inputs
from .kernels import HUGE, TINY, U

Array = np.ndarray


class BeyondRange(ArithmeticError):
    """Magnitudes for which nothing is said in float64."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A hidden step over the box: `kept` are its neurons that are not zero, the `undecided` ones first.

    Of the kept neurons, `weight`, `bias` and `error`; of the undecided ones their bounds `low` and `high` and the line
    `slope`, `offset` above their ReLUs. Their parameters stand from column `first` on. `rough` and `rough_bias` are
    the weights in single precision, for the optimiser.
    """

    weight: Any
    bias: Float[np.ndarray, "n"]
    error: Float[np.ndarray, "n"]
    kept: Int[np.ndarray, "n"]
    undecided: int
    first: int
    low: Float[np.ndarray, "u"]
    high: Float[np.ndarray, "u"]
    slope: Float[np.ndarray, "u"]
    offset: Float[np.ndarray, "u"]
    gamma: float
    rough: Any
    rough_bias: Float[np.ndarray, "n"]


@dataclass(frozen=True, eq=False)
class States:
    """What enters a step: which states are not zero, an interval around each."""

    kept: Int[np.ndarray, "n"]
    low: Float[np.ndarray, "n"]
    high: Float[np.ndarray, "n"]

    @property
    def size(self) -> Float[np.ndarray, "n"]:
        return np.maximum(np.abs(self.low), np.abs(self.high))


@dataclass(frozen=True, eq=False)
class Sums:
    """The affine map of one step from the states that are not zero: `reach` is $M$, `error` is $γM$ with long weights,
    `slack` what long weights alone are off by."""

    weight: Any
    bias: Float[np.ndarray, "m"]
    reach: Float[np.ndarray, "m"]
    error: Float[np.ndarray, "m"]
    slack: Float[np.ndarray, "m"]
    gamma: float


def take_step(step: Step, states: States) -> Sums:
    """The sums of a step, with the errors that their terms can make."""
    weight = step.matrix[:, states.kept]
    if not is_sparse(weight):
        weight = np.ascontiguousarray(weight)
    gamma = 2.0 * (sum(weight.shape) + 32) * U
    reach = (abs(weight) @ states.size + np.abs(step.offset)) * 1.01 + TINY
    if not np.all(reach < HUGE):
        raise BeyondRange
    slack = np.zeros(len(reach))
    for r in step.long_rows:
        slack[r] = 4.0 * U * reach[r]
    return Sums(weight, step.offset, reach, gamma * reach + slack, slack, gamma)


def enclose_sums(
    sums: Sums, states: States
) -> tuple[Float[np.ndarray, "m"], Float[np.ndarray, "m"]]:
    """Interval arithmetic, rounded outward."""
    centre = 0.5 * states.low + 0.5 * states.high
    radius = np.maximum(states.high - centre, centre - states.low)
    middle = sums.weight @ centre + sums.bias
    spread = abs(sums.weight) @ radius + 4.0 * sums.error + TINY
    return middle - spread, middle + spread


def make_layer(
    step: Step, sums: Sums, low: Float[np.ndarray, "m"], high: Float[np.ndarray, "m"], first: int
) -> tuple[Layer, States]:
    """The layer with bounds of all its sums, and what enters the next step."""
    rectified = step.rectified
    is_open = rectified & (low < 0) & (high > 0)
    is_on = ~rectified | (low >= 0)
    kept = np.concatenate([np.flatnonzero(is_open), np.flatnonzero(is_on)])
    count = int(is_open.sum())
    bottom = low[kept[:count]]
    top = high[kept[:count]]
    slope = np.minimum(1.0, top / (top - bottom))
    # above max(−s·bottom, (1−s)·top) for every slope s within a unit of rounding of `slope`
    offset = (
        np.maximum(-slope * bottom, (1.0 - slope) * top) * (1.0 + 16.0 * U)
        + 8.0 * U * slope * top
        + TINY
    )
    weight = (
        sums.weight[kept] if is_sparse(sums.weight) else np.ascontiguousarray(sums.weight[kept])
    )
    with np.errstate(
        over="ignore"
    ):  # what single precision does not hold is of no use to the optimiser
        rough = weight.astype(np.float32), sums.bias[kept].astype(np.float32)
    layer = Layer(
        weight, sums.bias[kept], sums.error[kept], kept, count, first, bottom, top, slope, offset, sums.gamma,
        *rough,
    )  # fmt: skip
    after_low = np.where(rectified, np.maximum(low, 0.0), low)[kept]
    after_high = np.where(rectified, np.maximum(high, 0.0), high)[kept]
    return layer, States(kept, after_low, after_high)


@dataclass(frozen=True, eq=False)
class Frame:
    """The inputs and the hidden layers over them, in order, with the map `last` to the outputs."""

    inputs: Inputs
    layers: tuple[Layer, ...]
    last: Sums

    @property
    def neurons(self) -> int:
        """How many have an undecided sign."""
        return sum(layer.undecided for layer in self.layers)

    def spell_out(
        self, net: ReluNetwork, sign: Int[np.ndarray, "u"]
    ) -> tuple[Int[np.ndarray, "n"], Bool[np.ndarray, "n"]]:
        """For all neurons of the network, step by step: the signs where those of undecided neurons are `sign`, else 0,
        and whether they pass on what enters."""
        signs = [np.zeros(len(step.rectified), np.int8) for step in net.steps]
        passes = [np.zeros(len(step.rectified), bool) for step in net.steps[:-1]]
        for k, layer in enumerate(self.layers):
            own = sign[layer.first : layer.first + layer.undecided]
            signs[k][layer.kept[: layer.undecided]] = own
            passes[k][layer.kept] = True
            passes[k][layer.kept[: layer.undecided]] = own > 0
        return np.concatenate(signs), np.concatenate(
            [*passes, np.ones(len(net.steps[-1].rectified), bool)]
        )

    def gather(self, name: str) -> Float[np.ndarray, "u"]:
        """`low`, `high`, `slope` or `offset` of all undecided neurons."""
        parts = [getattr(layer, name)[: layer.undecided] for layer in self.layers]
        return np.concatenate([np.zeros(0), *parts])


def times(rows: Float[np.ndarray, "n m"], weight: Any) -> Float[np.ndarray, "n k"]:
    """The product of rows with a dense or a sparse matrix, as a contiguous array."""
    if is_sparse(weight):
        return np.ascontiguousarray((weight.T @ rows.T).T)
    return rows @ weight


def enter_box(inputs: Inputs) -> States:
    """The inputs as states: each its own coordinate, between the ends of the box."""
    return States(np.arange(len(inputs.low)), inputs.low, inputs.high)
