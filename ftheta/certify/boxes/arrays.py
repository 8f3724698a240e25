"""What compiled code reads and writes: a network, the rows of a question, and scratch memory, as tuples of arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ftheta.certify.questions import Row, nearest
from ftheta.relu.network import ReluNetwork

Array = np.ndarray


def compiled(function: Any) -> Any:
    """A function compiled once and kept on disk. Sums are not re-ordered: there is no fast-math."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


class Net(NamedTuple):
    """A network: layer $k$ has `widths[k + 1]` neurons and takes `widths[k]` numbers.

    `matrices` are all matrices row by row, one after the other, layer $k$ from `starts[k]`; `weights` their transposes,
    and `magnitudes` the absolute values of these. `biases` and `rectified` (is there a ReLU?) have one entry for each
    neuron, those of layer $k$ from `offsets[k]`.
    """

    matrices: Array
    weights: Array
    magnitudes: Array
    biases: Array
    rectified: Array
    widths: Array
    starts: Array
    offsets: Array


class Rows(NamedTuple):
    """The rows of all disjuncts; disjunct `d` has those from `disjuncts[d]` to `disjuncts[d + 1]`.

    Coefficients are the nearest floats: whoever proves something with them adds their rounding.
    """

    inputs: Array
    outputs: Array
    bounds: Array
    strict: Array
    disjuncts: Array


class Zonotope(NamedTuple):
    """A layer over a box, and scratch memory to get there; see `zonotopes`.

    `centre`, `error` and the columns of `generators` belong to the neurons. `share[g, i]` is how much of generator
    $g$ stems from input $i$. `lines` has for every neuron of the network its state over the box, the slope and the
    offset of a line above its ReLU, and a bound of its absolute value before it.
    """

    centre: Array
    error: Array
    generators: Array
    share: Array
    lines: Array
    active: Array
    entering: Array
    sums: Array
    columns: Array


class Bounds(NamedTuple):
    """Of each row of the question, and then of the best mixture of each disjunct, over a box: a lower bound of its
    excess (`least`), its slopes along the inputs in radii of the box, how much relaxation error each input is to blame
    for, and its whole affine form (`forms`, `constants`)."""

    least: Array
    slopes: Array
    blame: Array
    forms: Array
    constants: Array


class Pass(NamedTuple):
    """Scratch memory of one pass through the network: two layers, and numbers for every neuron and input."""

    state: Array
    other: Array
    lower_slopes: Array
    coefficients: Array
    reach: Array
    form: Array


def net_arrays(net: ReluNetwork) -> Net:
    """A network as arrays."""
    matrices = [step.dense() for step in net.steps]
    transposed = np.concatenate([matrix.T.ravel() for matrix in matrices])
    return Net(
        matrices=np.concatenate([matrix.ravel() for matrix in matrices]),
        weights=transposed,
        magnitudes=np.abs(transposed),
        biases=np.concatenate([step.offset for step in net.steps]),
        rectified=np.concatenate([step.rectified for step in net.steps]),
        widths=np.array(net.widths),
        starts=np.cumsum([0, *(matrix.size for matrix in matrices)])[:-1],
        offsets=np.cumsum([0, *(len(matrix) for matrix in matrices)])[:-1],
    )


def row_arrays(unsafe: Sequence[Sequence[Row]], inputs: int, outputs: int) -> Rows:
    """The rows of a case as arrays."""
    rows = [row for disjunct in unsafe for row in disjunct]
    of_inputs = np.zeros((len(rows), inputs))
    of_outputs = np.zeros((len(rows), outputs))
    for s, row in enumerate(rows):
        for i, value in row.inputs.items():
            of_inputs[s, i] = nearest(value)
        for j, value in row.outputs.items():
            of_outputs[s, j] = nearest(value)
    bounds = np.array([nearest(row.bound) for row in rows])
    strict = np.array([row.strict for row in rows], bool)
    return Rows(of_inputs, of_outputs, bounds, strict, np.cumsum([0, *(len(disjunct) for disjunct in unsafe)]))


def allocate(net: Net, rows: Rows) -> tuple[Zonotope, Bounds, Pass]:
    """Scratch memory for one thread."""
    inputs = int(net.widths[0])
    widest = int(net.widths.max())
    neurons = len(net.biases)
    room = inputs + int(net.rectified.sum()) + 1
    count = len(rows.bounds) + len(rows.disjuncts) - 1
    zonotope = Zonotope(
        centre=np.empty(widest),
        error=np.empty(widest),
        generators=np.empty((room, widest)),
        share=np.empty((room, inputs)),
        lines=np.empty((4, neurons)),
        active=np.empty(widest, np.int64),
        entering=np.empty((room, widest)),
        sums=np.empty((3, widest)),
        columns=np.empty((4, widest)),
    )
    bounds = Bounds(
        least=np.empty(count),
        slopes=np.empty((count, inputs)),
        blame=np.empty((count, inputs)),
        forms=np.empty((count, room)),
        constants=np.empty(count),
    )
    scratch = Pass(
        state=np.empty(widest),
        other=np.empty(widest),
        lower_slopes=np.empty(neurons),
        coefficients=np.empty(neurons),
        reach=np.empty(neurons),
        form=np.empty(inputs),
    )
    return zonotope, bounds, scratch
