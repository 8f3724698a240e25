r"""Slopes of a ReLU network over a box: of its outputs with respect to its inputs, and to the outputs of its neurons.

Let step $k$ be $h_k=D_k(W_kh_{k-1}+b_k)$ with a diagonal $D_k$ of zeros and ones where there are ReLUs. Over a box, a
neuron of known sign has a known entry of $D_k$, any other one an entry in $[0,1]$. So $\partial y/\partial h_k=
W_LD_{L-1}\cdots D_{k+1}W_{k+1}$ is enclosed entry by entry, from the outputs on, with an error term for every sum.

- **Monotone.** The network is locally Lipschitz, so it grows with $x_i$ on a box if $\partial y/\partial x_i\ge0$
  almost everywhere there.
- **Convex.** If $\partial y/\partial h_k\ge0$ at all neurons that may switch on the box, for all choices of $D$, then
  $y$ is convex: for biases in general position one neuron switches at a time, and the gradient jumps by
  $\frac{\partial y}{\partial h}\nabla z$ towards $z>0$; any network is the limit of such. It is a condition near every
  point, so it may be shown part by part if a neuron counts as known only where $z\ne0$ on the closed part. Parts may
  also be those where the signs of some neurons are given: a point with $z=0$ is in both, so that both entries of $D$
  are looked at there, and the condition is asked of these neurons too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.shapes import Bool, Float

Array = np.ndarray
U = 2.0**-53
TINY = 1e-290  # more than all underflows of one sum


@dataclass(frozen=True, eq=False)
class Signs:
    """Of the neurons of one step over a part of a box: which are `on` (or have no ReLU), which are `open`; the others
    are off. The signs of some may be `given`: these are not open, but switch where the part ends."""

    on: Bool[Array, "width"]
    open: Bool[Array, "width"]
    given: Bool[Array, "width"] | None = None

    @property
    def switches(self) -> Bool[Array, "width"]:
        """Which neurons may switch on the part or at its border."""
        return self.open if self.given is None else self.open | self.given


@dataclass(frozen=True, eq=False)
class Slopes:
    """`low ≤ ∂y/∂h ≤ high` for rows `y` of the outputs and every entry `h` of a state."""

    low: Float[Array, "rows width"]
    high: Float[Array, "rows width"]


class SlopeRules:
    """The matrices of a network, split by sign once."""

    def __init__(self, net: ReluNetwork) -> None:
        dense = [step.dense() for step in net.steps]
        self._positive = [np.maximum(W, 0.0) for W in dense]
        self._negative = [np.minimum(W, 0.0) for W in dense]
        self._has_positive = [(W > 0).astype(np.float64) for W in dense]
        self._has_negative = [(W < 0).astype(np.float64) for W in dense]

    def enclose(self, rows: Float[Array, "rows outputs"], signs: Sequence[Signs]) -> list[Slopes]:
        """Slopes of rows of the outputs at every state: first the inputs, then the outputs of each hidden step."""
        slopes = Slopes(rows, rows)
        found = []
        for k in reversed(range(len(self._positive))):
            if k < len(signs):
                found.append(slopes)
                slopes = _pass_neurons(slopes, signs[k])
            slopes = self._pass_step(slopes, k)
        return [slopes, *reversed(found)]

    def _pass_step(self, slopes: Slopes, k: int) -> Slopes:
        """From the slopes at the outputs of an affine map to those at its inputs."""
        return Slopes(
            self._sum_below(slopes.low, slopes.high, k),
            -self._sum_below(-slopes.high, -slopes.low, k),
        )

    def _sum_below(self, low: Array, high: Array, k: int) -> Array:
        """Numbers below $aW_k$ for all `low ≤ a ≤ high`; sums of zeros stay exact."""
        up, down = self._positive[k], self._negative[k]
        gamma = 4.0 * (len(up) + 4) * U
        size = np.abs(low) @ up - np.abs(high) @ down
        has_terms = (low != 0).astype(np.float64) @ self._has_positive[k] + (
            high != 0
        ) @ self._has_negative[k] > 0
        found = low @ up + high @ down - (gamma * size + TINY * has_terms)
        # beyond the range of floats: ∞ − ∞ and 0 · ∞ say nothing
        return np.where(np.isnan(found), -np.inf, found)


def _pass_neurons(slopes: Slopes, signs: Signs) -> Slopes:
    """From the slopes at the outputs of neurons to those at their inputs."""
    low = np.where(signs.on, slopes.low, np.where(signs.open, np.minimum(slopes.low, 0.0), 0.0))
    high = np.where(signs.on, slopes.high, np.where(signs.open, np.maximum(slopes.high, 0.0), 0.0))
    return Slopes(low, high)


def exact_slopes(
    net: ExactNetwork, rows: Float[Array, "rows outputs"], signs: Sequence[Signs]
) -> list[list[Fraction]]:
    """The slopes at the inputs where all signs are known, in rationals."""
    found = []
    for row in rows:
        slope = {j: Fraction(float(c)) for j, c in enumerate(row) if c}
        for k in reversed(range(len(net.steps))):
            if k < len(signs):
                slope = {j: c for j, c in slope.items() if signs[k].on[j]}
            before = dict[int, Fraction]()
            for j, c in slope.items():
                for i, w in net.steps[k].matrix.rows[j].items():
                    before[i] = before.get(i, Fraction(0)) + c * fraction(w)
            slope = before
        found.append([slope.get(i, Fraction(0)) for i in range(net.widths[0])])
    return found
