"""What compiled code reads and writes: a network, the rows of a question, and scratch memory, as tuples of arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from ftheta.certify.ball_parts import FloatBall
from ftheta.certify.questions import Row, nearest
from ftheta.lazy import is_sparse, sparse
from ftheta.loops import part_options
from ftheta.relu.network import ReluNetwork

Array = np.ndarray

U = 2.0**-53
TINY = 1e-290  # more than all underflows of one sum
HUGE = 1e140  # beyond it nothing is said, so that no product overflows
OFF = 0.0  # states of a neuron over a box: zero, passed on as it is, of undecided sign
ON = 1.0
UNDECIDED = 2.0
SPARSE = 0.15  # share of entries that are not zero, below which a matrix is kept as a list of them
# beyond which rows are mixed one by one: the program would take longer than the rest
MOST_GENERATORS = 32
MOST_CUTS = 64  # of one part of a box; the signs of more neurons may be fixed, but bounds use no more of them


def compiled(function: Any) -> Any:
    """A function that compiled code compiles with it, and that stays a plain function for everybody else.

    What a call from Python needs (to take apart tuples of forty arrays) would be most of the work of compiling it, and
    counting references to arrays most of the rest: no array is made in here."""
    return register_jitable(**part_options())(function)


def inlined(function: Any) -> Any:
    """A function that becomes part of every compiled function that calls it."""
    return register_jitable(inline="always", **part_options())(function)


@compiled
def copy(source, target):
    """Copy numbers one by one: assigning a slice might make an array."""
    for i in range(len(source)):
        target[i] = source[i]


class Net(NamedTuple):
    """A network: layer $k$ has `widths[k + 1]` neurons and takes `widths[k]` numbers.

    `biases` and `rectified` (is there a ReLU?) have one entry for each neuron, those of layer $k$ from `offsets[k]`.
    Where a layer is dense, `matrices` has its matrix row by row from `starts[k]`, `weights` the transpose, and
    `magnitudes` the absolute values of that. Where it `is_sparse`, `by_rows` and `by_columns` have its entries, those
    of line `first + i` from `ends[first + i]` on.
    """

    matrices: Array
    weights: Array
    magnitudes: Array
    biases: Array
    rectified: Array
    widths: Array
    starts: Array
    offsets: Array
    is_sparse: Array
    by_rows: "Entries"
    by_columns: "Entries"


class Entries(NamedTuple):
    """The rows (or columns) of all sparse matrices: `first[k]` is the first one of layer $k$."""

    first: Array
    ends: Array
    places: Array
    values: Array


class Rows(NamedTuple):
    """The rows of all disjuncts; disjunct `d` has those from `disjuncts[d]` to `disjuncts[d + 1]`.

    Coefficients are the nearest floats: whoever proves something with them adds their rounding.
    """

    inputs: Array
    outputs: Array
    bounds: Array
    strict: Array
    disjuncts: Array


class Cuts(NamedTuple):
    """Affine functions of the generators (`forms`, `constants`) that are not positive where a counter-example can be:
    one for each neuron whose sign is fixed in a part of a box, and rows of the question that were bounded before.
    `least` are their lower bounds over the whole box, `count` how many there are."""

    forms: Array
    constants: Array
    least: Array
    count: Array


class Ball(NamedTuple):
    """The ball that inputs lie in, besides the box: `norm` 1 or 2 (0: there is none), `centre`, `radius`.

    Over a part of the box, `offsets` are those of its centre, `radii` its half sides, and `used` says whether the ball
    cuts anything off. `slopes` and `at` are scratch memory; see `ball_kernels`."""

    norm: Array
    centre: Array
    radius: Array
    offsets: Array
    radii: Array
    used: Array
    slopes: Array
    at: Array


class Zonotope(NamedTuple):
    """A layer over a box, and scratch memory to get there; see `zonotopes`.

    `centre`, `error` and the columns of `generators` belong to the neurons. `share[g, i]` is how much of generator
    $g$ stems from input $i$. `lines` has for every neuron of the network its state over the box, the slope and the
    offset of a line above its ReLU, and a bound of its absolute value before it. `owner[g]` is the neuron of undecided
    sign that generator $g$ belongs to.
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
    owner: Array
    cuts: Cuts
    form: Array
    mixed: Array
    mixed_constants: Array
    tableau: Array
    basis: Array
    weights: Array
    ball: Ball


class Bounds(NamedTuple):
    """Of each row of the question, and then of the best mixture of each disjunct, over a box: a lower bound of its
    excess over the part of the box in the ball (`least`) and over the whole box (`box_least`), its slopes along the
    inputs in radii of the box, and its whole affine form (`forms`, `constants`).
    `parts[d, g]` is what generator $g$ takes off the bound of disjunct $d$, `blame[d, i]` how much relaxation error
    stems from input $i$, and `points[d]` where in the box its rows are nearest to being met, from −1 to 1."""

    least: Array
    box_least: Array
    slopes: Array
    blame: Array
    forms: Array
    constants: Array
    parts: Array
    points: Array


class Pass(NamedTuple):
    """Scratch memory of one pass through the network: two layers, and numbers for every neuron and input; `sides` and
    `sign` are for the part that is looked at, `places` and `factors` for the numbers of a layer that are not zero."""

    state: Array
    other: Array
    places: Array
    factors: Array
    lower_slopes: Array
    coefficients: Array
    reach: Array
    form: Array
    sides: Array
    sign: Array


def net_arrays(net: ReluNetwork) -> Net:
    """A network as arrays. Weights that float64 cannot hold are the nearest floats: error terms allow for that."""
    is_thin = [
        _count_entries(step.matrix) < SPARSE * np.prod(step.matrix.shape) for step in net.steps
    ]
    dense = [np.zeros((0, 0)) if thin else step.dense() for thin, step in zip(is_thin, net.steps)]
    listed = [
        sparse.csr_array(step.matrix) if thin else None for thin, step in zip(is_thin, net.steps)
    ]
    transposed = np.concatenate([matrix.T.ravel() for matrix in dense])
    return Net(
        matrices=np.concatenate([matrix.ravel() for matrix in dense]),
        weights=transposed,
        magnitudes=np.abs(transposed),
        biases=np.concatenate([step.offset for step in net.steps]),
        rectified=np.concatenate([step.rectified for step in net.steps]),
        widths=np.array(net.widths),
        starts=np.cumsum([0, *(matrix.size for matrix in dense)])[:-1],
        offsets=np.cumsum([0, *net.widths[1:]])[:-1],
        is_sparse=np.array(is_thin),
        by_rows=_list_entries(listed),
        by_columns=_list_entries(
            [None if matrix is None else sparse.csr_array(matrix.T) for matrix in listed]
        ),
    )


def _count_entries(matrix: Any) -> int:
    return int(matrix.nnz if is_sparse(matrix) else np.count_nonzero(matrix))


def _list_entries(matrices: Sequence[Any]) -> Entries:
    """The rows of the matrices, one after the other; None has no rows."""
    first = np.cumsum([0, *(0 if matrix is None else matrix.shape[0] for matrix in matrices)])[:-1]
    given = [matrix for matrix in matrices if matrix is not None]
    before = np.cumsum([0, *(matrix.nnz for matrix in given)])
    ends = np.concatenate(
        [[0], *(matrix.indptr[1:] + n for matrix, n in zip(given, before))]
    ).astype(np.int64)
    places = np.concatenate([np.zeros(0), *(matrix.indices for matrix in given)]).astype(np.int64)
    return Entries(
        first, ends, places, np.concatenate([np.zeros(0), *(matrix.data for matrix in given)])
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
    return Rows(
        of_inputs,
        of_outputs,
        bounds,
        strict,
        np.cumsum([0, *(len(disjunct) for disjunct in unsafe)]),
    )


def allocate(net: Net, rows: Rows, ball: FloatBall | None = None) -> tuple[Zonotope, Bounds, Pass]:
    """Scratch memory for one thread."""
    inputs = int(net.widths[0])
    widest = int(net.widths.max())
    neurons = len(net.biases)
    room = inputs + int(net.rectified.sum()) + 1
    count = len(rows.bounds) + len(rows.disjuncts) - 1
    most = MOST_CUTS + int(np.diff(rows.disjuncts).max(initial=0))
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
        owner=np.empty(room, np.int64),
        cuts=Cuts(
            np.empty((MOST_CUTS, room)),
            np.empty(MOST_CUTS),
            np.empty(MOST_CUTS),
            np.zeros(1, np.int64),
        ),
        form=np.empty(room),
        mixed=np.empty((most, MOST_GENERATORS)),
        mixed_constants=np.empty(most),
        tableau=np.empty((MOST_GENERATORS + 2, most + MOST_GENERATORS + 1)),
        basis=np.empty(MOST_GENERATORS + 1, np.int64),
        weights=np.empty(most),
        ball=_ball_arrays(ball, inputs),
    )
    bounds = Bounds(
        least=np.empty(count),
        box_least=np.empty(count),
        slopes=np.empty((count, inputs)),
        blame=np.empty((len(rows.disjuncts) - 1, inputs)),
        forms=np.empty((count, room)),
        constants=np.empty(count),
        parts=np.empty((len(rows.disjuncts) - 1, room)),
        points=np.empty((len(rows.disjuncts) - 1, inputs)),
    )
    scratch = Pass(
        state=np.empty(widest),
        other=np.empty(widest),
        places=np.empty(widest, np.int64),
        factors=np.empty(widest),
        lower_slopes=np.empty(neurons),
        coefficients=np.empty(neurons),
        reach=np.empty(neurons),
        form=np.empty(inputs),
        sides=np.empty((7, inputs)),
        sign=np.empty(neurons, np.int8),
    )
    return zonotope, bounds, scratch


def _ball_arrays(ball: FloatBall | None, inputs: int) -> Ball:
    return Ball(
        norm=np.array([0 if ball is None else ball.norm]),
        centre=np.zeros(inputs) if ball is None else np.array(ball.centre, np.float64),
        radius=np.array([0.0 if ball is None else ball.radius]),
        offsets=np.zeros(inputs),
        radii=np.zeros(inputs),
        used=np.zeros(1, np.int64),
        slopes=np.zeros(inputs),
        at=np.zeros(inputs),
    )
