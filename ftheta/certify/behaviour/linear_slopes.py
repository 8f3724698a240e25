r"""Slopes of a ReLU network along single inputs, by linear bounds: tighter than entry by entry, at one pass back.

Along input $i$ the change of step $k$ is $v_k=W_kD_{k-1}v_{k-1}$, from $v_0=W_0e_i$ on. Where the sign of a neuron is
open, $\min(0,v)\le dv\le\max(0,v)$ for its entry $d\in[0,1]$ of $D$; with $l\le v\le u$ the first is above the line
through $(l,\min(0,l))$ and $(u,\min(0,u))$, the second below its mirror image. Taken back from the outputs to the
changes of the first step, which are numbers, such lines bound $\partial y/\partial x_i$ over all choices of $D$.

**Rounding.** The offsets of lines hold for the slopes that were computed. Every sum errs by at most $\gamma$ times that
of the absolute values of its terms, all of which are at most $|W_L|\cdots|W_0|$ over the neurons that are not off. A
coefficient errs besides by what its products lose to underflow, which counts as much as the change that it stands
before is large.
"""

from collections.abc import Sequence

import numpy as np

from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float, Int

from .slopes import TINY, Signs, Slopes, U

Array = np.ndarray
AT_ONCE = 2_000_000  # entries of one array
LEAST = 2.0**-1022  # more than one product loses to underflow


class LinearSlopes:
    """The matrices of a network of at least one hidden step."""

    def __init__(self, net: ReluNetwork) -> None:
        self._matrices = [step.dense() for step in net.steps]
        terms = sum(sum(W.shape) + 8 for W in self._matrices)
        self._doubt = 16.0 * (len(self._matrices) + 2) * terms * U

    def enclose(
        self,
        rows: Float[Array, "rows outputs"],
        signs: Sequence[Signs],
        inputs: Int[Array, "inputs"],
    ) -> Slopes:
        """Slopes of rows of the outputs along the inputs."""
        found = Slopes(*(np.empty((len(rows), len(inputs))) for _ in range(2)))
        widest = max(len(W) for W in self._matrices)
        size = max(1, AT_ONCE // (2 * len(rows) * widest))
        for begin in range(0, len(inputs), size):
            part = slice(begin, begin + size)
            found.low[:, part], found.high[:, part] = self._enclose(rows, signs, inputs[part])
        return found

    def _enclose(self, rows: Array, signs: Sequence[Signs], inputs: Array) -> tuple[Array, Array]:
        changes, sizes = self._go_forth(signs, inputs)
        both = np.concatenate([rows, -rows]) @ self._matrices[-1]
        A = np.repeat(both[:, None], len(inputs), axis=1)
        value = np.zeros(A.shape[:2])
        for W, known, (low, high) in reversed(list(zip(self._matrices, signs, changes))[1:]):
            slope, drop = _line_below(low, high, known)
            mirrored, fall = _line_below(-high, -low, known)
            is_up = A > 0
            value += np.where(is_up, A * drop, -A * fall).sum(2)
            A = (A * np.where(is_up, slope, mirrored)) @ W
        least, most = _pass_changes(*changes[0], signs[0])
        value += np.where(A > 0, A * least.T, A * most.T).sum(2)
        error = self._doubt * (np.abs(rows) @ np.abs(self._matrices[-1]) @ sizes[-1]) + TINY
        error = error + self._underflow(sizes)
        low, high = value[: len(rows)] - error, -value[len(rows) :] + error
        # a coefficient beyond the range of floats says nothing, however small the change is that it stands before
        return (np.where(np.isfinite(low), low, -np.inf), np.where(np.isfinite(high), high, np.inf))

    def _underflow(self, sizes: Sequence[Array]) -> Float[Array, "inputs"]:
        """What coefficients before changes of these sizes can lose: in the product with the slope of a line, and in
        those of the sum over the next step."""
        lost = [
            2 * (len(W) + 2) * LEAST * size.sum(0) for W, size in zip(self._matrices[1:], sizes)
        ]
        return np.sum(lost, axis=0) + TINY

    def _go_forth(
        self, signs: Sequence[Signs], inputs: Array
    ) -> tuple[list[tuple[Array, Array]], list[Array]]:
        """Intervals around the changes of every hidden step, one column an input; and what their absolute values add up
        to at most, where the neurons are not off."""
        first = self._matrices[0][:, inputs]
        low = high = first
        size = np.abs(first)
        sizes = []
        changes = []
        for k, known in enumerate(signs):
            if k:
                W = self._matrices[k]
                low, high = _pass_changes(low, high, signs[k - 1])
                up, down = np.maximum(W, 0.0), np.minimum(W, 0.0)
                size = np.abs(W) @ size * (1 + self._doubt) + TINY
                error = self._doubt * size + TINY
                low, high = up @ low + down @ high - error, up @ high + down @ low + error
            size = size * (known.on | known.open)[:, None]
            changes.append((low, high))
            sizes.append(size)
        return changes, sizes


def _pass_changes(low: Array, high: Array, signs: Signs) -> tuple[Array, Array]:
    """From intervals around the changes of neurons' inputs to those of their outputs."""
    on, is_open = signs.on[:, None], signs.open[:, None]
    least = np.where(on, low, np.where(is_open, np.minimum(low, 0.0), 0.0))
    most = np.where(on, high, np.where(is_open, np.maximum(high, 0.0), 0.0))
    return least, most


def _line_below(
    low: Array, high: Array, signs: Signs
) -> tuple[Float[Array, "inputs n"], Float[Array, "inputs n"]]:
    r"""Slope and offset of a line below $dv$, for $d=1$ where a neuron is on, $d=0$ where it is off, else any
    $d\in[0,1]$; one row an input."""
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    slope = np.clip(-low / np.maximum(high - low, TINY), 0.0, 1.0)
    offset = np.minimum((1.0 - slope) * low, -slope * high) * (1.0 + 16.0 * U) - TINY
    on, is_open = signs.on[:, None], signs.open[:, None]
    slope = np.where(on, 1.0, np.where(is_open, slope, 0.0))
    return slope.T, np.where(is_open, offset, 0.0).T
