r"""A quadratic function of a ReLU network over a part of its inputs, in terms of few variables.

Over a box with centre $c$ and half widths $h$, and for given signs of some neurons, every number of the network is an
affine function of $v=(1,\tilde x,\tilde z)$: of $x=c+h\tilde x$ with $|\tilde x_i|\le1$ and of the outputs
$z_k=u_k\tilde z_k$ of the neurons of undecided sign, $0\le\tilde z_k\le1$.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftheta.certify.norms import U, gamma
from ftheta.relu.network import Step
from ftheta.relu.reading.products import QuadraticNetwork

from .approximate import RAISE, TINY, Approximate, Array, join
from .guards import Guard


@dataclass(frozen=True, eq=False)
class Part:
    """Inputs between `low` and `high` at which neurons have these signs: 1, −1, or 0 where nothing is said."""

    low: Array
    high: Array
    sign: Array


@dataclass(frozen=True, eq=False)
class Unfolded:
    """The forms of a part: outputs and factors (`last`), what is under each ReLU (`under`, between `least` and `most`).

    `sign` includes the signs that follow; `is_told` marks signs that the part says and that do not follow. Columns are
    1, inputs, neurons, products; `ceiling[k]` is the number $u_k$.
    """

    last: Approximate
    under: Approximate
    least: Array
    most: Array
    sign: Array
    is_told: Array
    ceiling: Array

    @property
    def undecided(self) -> Array:
        return np.flatnonzero(self.sign == 0)


class Unfolder:
    """One network, with its weights as floats and how far they are from the numbers meant."""

    def __init__(self, net: QuadraticNetwork) -> None:
        self.net = net
        self.neurons = sum(int(step.rectified.sum()) for step in net.network.steps)
        self.columns = 1 + net.inputs + self.neurons + net.products
        self.first_neuron = 1 + net.inputs
        self.first_product = 1 + net.inputs + self.neurons
        self._steps = [self._read_step(step) for step in net.network.steps]

    def frame(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Centre and half widths of a box that holds the given one."""
        centre = low / 2 + high / 2
        half = np.maximum(high - centre, centre - low) * (1 + 4 * U) + TINY
        return centre, half

    def unfold(self, part: Part, guards: list[Guard]) -> Unfolded | None:
        """The forms over a part; None where it is empty."""
        state = self._begin(*self.frame(part.low, part.high))
        sign = part.sign.copy()
        under, least, most = [], [], []
        ceiling = np.ones(self.neurons)
        done = 0
        for weights, offset, rectified in self._steps:
            state = weights @ state + offset
            own = np.flatnonzero(rectified)
            if not len(own):
                continue
            numbers = np.arange(done, done + len(own))
            forms = state[own]
            lo, hi = self._range(forms, guards)
            is_empty = ((sign[numbers] > 0) & (hi < 0)) | ((sign[numbers] < 0) & (lo > 0))
            if is_empty.any():
                return None
            sign[numbers] = np.where(lo >= 0, 1, np.where(hi <= 0, -1, sign[numbers]))
            ceiling[numbers] = np.where(hi > 0, hi, 1.0)
            under.append(forms)
            least.append(lo)
            most.append(hi)
            state = self._rectify(state, own, numbers, sign, ceiling)
            done += len(own)
        every = join([Approximate.exactly(np.zeros((0, self.columns))), *under])
        lo, hi = (np.concatenate(ends or [np.zeros(0)]) for ends in (least, most))
        is_told = (part.sign != 0) & (lo < 0) & (hi > 0)
        return Unfolded(state, every, lo, hi, sign, is_told, ceiling)

    def _begin(self, centre: Array, half: Array) -> Approximate:
        inputs, products = np.arange(self.net.inputs), np.arange(self.net.products)
        state = np.zeros((self.net.inputs + self.net.products, self.columns))
        state[inputs, 0] = centre
        state[inputs, 1 + inputs] = half
        state[self.net.inputs + products, self.first_product + products] = 1.0
        return Approximate.exactly(state)

    def _rectify(
        self, state: Approximate, own: Array, numbers: Array, sign: Array, ceiling: Array
    ) -> Approximate:
        """What neurons pass on: what is under them, nothing, or a variable of their own."""
        centre, radius = state.centre.copy(), state.radius.copy()
        closed = own[sign[numbers] <= 0]
        centre[closed] = radius[closed] = 0.0
        free = sign[numbers] == 0
        centre[own[free], self.first_neuron + numbers[free]] = ceiling[numbers[free]]
        return Approximate(centre, radius)

    def _range(self, forms: Approximate, guards: list[Guard]) -> tuple[Array, Array]:
        """Bounds of forms without products: by intervals, and by guards of the inputs."""
        x, z = slice(0, self.first_neuron), slice(self.first_neuron, self.first_product)
        centre = forms.centre
        doubt = (
            forms.radius.sum(1) + gamma(2 * self.columns) * np.abs(centre).sum(1) + TINY
        ) * RAISE
        down = np.minimum(centre[:, z], 0.0).sum(1)
        up = np.maximum(centre[:, z], 0.0).sum(1)
        reach = np.abs(centre[:, 1 : self.first_neuron]).sum(1)
        lo = centre[:, 0] - reach + down - doubt
        hi = centre[:, 0] + reach + up + doubt
        open = np.flatnonzero((lo < 0) & (hi > 0))
        for guard in guards if len(open) else []:
            most = guard.bound_above(forms[open][:, x])
            least = -guard.bound_above(forms[open][:, x].times(-1.0))
            beside = doubt[open] + 8 * U * (np.abs(most) + np.abs(least))
            hi[open] = np.minimum(hi[open], most + up[open] + beside)
            lo[open] = np.maximum(lo[open], least + down[open] - beside)
        return lo, hi

    @cached_property
    def plain(self) -> Approximate:
        """Outputs and factors in the inputs themselves, with all signs open: exact for what depends on no neuron."""
        state = self._begin(np.zeros(self.net.inputs), np.ones(self.net.inputs))
        undecided = np.zeros(self.neurons, int)
        done = 0
        for weights, offset, rectified in self._steps:
            state = weights @ state + offset
            own = np.flatnonzero(rectified)
            numbers = np.arange(done, done + len(own))
            state = self._rectify(state, own, numbers, undecided, np.ones(self.neurons))
            done += len(own)
        return state

    def _read_step(self, step: Step) -> tuple[Approximate, Approximate, Array]:
        """The matrix, the offset as a form, and the mask of a step; `long_rows` are next to the numbers meant."""
        matrix = step.dense()
        is_long = np.zeros(len(step.offset), bool)
        is_long[list(step.long_rows)] = True
        offset = np.zeros((len(step.offset), self.columns))
        offset[:, 0] = step.offset
        beside = [
            np.where(is_long[:, None], 2 * U * np.abs(part) + TINY * (part != 0), 0.0)
            for part in (matrix, offset)
        ]
        return Approximate(matrix, beside[0]), Approximate(offset, beside[1]), step.rectified
