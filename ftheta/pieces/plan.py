r"""A network on a domain, laid out flat for the compiled kernels, with the constants of the rounding analysis.

Layer 0 is the chart (the inputs as affine forms of the domain's coordinates), layer $l$ the state after step $l$. On a
cell the state of a layer is a matrix $A_l$ of affine forms, $A_{l+1}=W_lD_lA_l+[0\;b_l]$ with the 0/1 mask $D_l$ of the
active coordinates. In float64 the forms carry an error $E_l$ (Frobenius norm, coordinates scaled by the size of the
domain) with
$$E_{l+1}\le\|W_l\|_2E_l+\gamma_{n_l+4}\bigl(\||W_l|\|_2\|A_l\|_F+\|b_l\|_2\bigr)+\eta,\qquad\gamma_n=\tfrac{nu}{1-nu},$$
whatever the order of summation; $\eta$ is more than underflow can take. Weights that float64 cannot hold
(`Step.long_rows`) are off by $u$ more: $\gamma_{n_l+5}$. The kernels use this bound to know which signs they may trust.
The bound needs numbers whose squares neither overflow nor vanish: `Plan.is_in_range` says whether they can.
"""

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ftheta.logic.errors import UsageError
from ftheta.relu.network import ReluNetwork, Step
from ftheta.shapes import Float

from .domains import Chart

UNIT_ROUNDOFF = 2.0**-53
GREATEST = 1e140  # the square of the largest number is far from overflow
LEAST_SIZE = 1e-140  # the same of a domain, whose area would vanish
ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does not spread over threads


class Weights(NamedTuple):
    """What a kernel reads. Column `k` of step `l` is dense at `start[l] + k·sizes[l+1]`, or sparse by `pointer`."""

    sizes: np.ndarray  # state sizes of layers 0 … L+1
    first: np.ndarray  # position of each layer in the arrays over all coordinates
    is_sparse: np.ndarray
    start: np.ndarray
    columns: np.ndarray  # the steps' matrices, transposed
    pointer_start: np.ndarray
    pointer: np.ndarray
    index: np.ndarray
    offset: np.ndarray  # the steps' offsets; the offset of layer l begins at first[l]
    # number of each coordinate among the rectified ones; the total for those passed through
    neuron: np.ndarray
    unit_layer: np.ndarray  # layer and coordinate of each neuron
    unit_coordinate: np.ndarray
    keys: np.ndarray  # Zobrist keys: the xor of those of the active neurons names a pattern
    # relative error of weights and offset that lead to each coordinate: 0, or that of rounding
    blur: np.ndarray
    norms: np.ndarray  # (L+1, 4): ‖W‖₂, ‖|W|‖₂, γ, ‖b‖₂ of each step, rounded up


@dataclass(frozen=True, eq=False)
class Plan:
    net: ReluNetwork
    chart: Chart
    weights: Weights
    neurons: int
    units: np.ndarray  # (neurons, 2): step and coordinate of each neuron

    @property
    def dimension(self) -> int:
        return self.chart.basis.shape[1]

    @property
    def outputs(self) -> int:
        return self.net.widths[-1]

    @property
    def words(self) -> int:
        """Words of 64 bits in a packed pattern; one spare bit takes the coordinates that are passed through."""
        return self.neurons // 64 + 1

    def chart_forms(self) -> np.ndarray:
        """Layer 0 as affine forms, `(d+1, D)`: the constants last."""
        return np.vstack([self.chart.basis.T, self.chart.origin])

    def zero_coordinates(self, layers: int) -> np.ndarray:
        """For every layer, which coordinates are known to be zero on a whole cell; at first inputs that the chart keeps
        at zero, `(layers, width)`."""
        zero = np.zeros((layers, int(self.weights.sizes.max())), bool)
        chart = np.column_stack([self.chart.basis, self.chart.tail, self.chart.origin])
        zero[0, : len(chart)] = ~chart.any(axis=1)
        return zero

    def chart_error(self, size: float) -> float:
        """Bound on the Frobenius norm of what the float64 chart leaves out, coordinates scaled by `size`."""
        return 1.001 * size * frobenius(self.chart.tail)

    def is_in_range(self, size: float) -> bool:
        """Whether the forms of all layers, on a domain of this size, are numbers that float64 can work with.

        If not, a product or a square may overflow, and no comparison would be worth anything.
        """
        if not LEAST_SIZE < size < GREATEST or not np.isfinite(self.weights.norms).all():
            return False
        with np.errstate(over="ignore"):
            chart = self.chart_forms() * np.array([size] * self.dimension + [1.0])[:, None]
            largest = frobenius(chart) + size
            for _, absolute, _, offset in self.weights.norms.tolist():
                if not largest * max(1.0, 1.0 / size) < GREATEST:
                    return False
                largest = 1.01 * (absolute * largest + offset)
        return bool(largest * max(1.0, 1.0 / size) < GREATEST)


def make_plan(net: ReluNetwork, chart: Chart) -> Plan:
    """The arrays that kernels read: the layers of `net`, the first one in the coordinates of the `chart`."""
    inputs = net.widths[0]
    if len(chart.origin) != inputs:
        raise UsageError(
            "The domain lies in another space than the inputs of the network.",
            got=f"a domain in dimension {len(chart.origin)}, a network with {inputs} inputs",
        )
    sizes = np.array(net.widths, np.int64)
    rectified = np.concatenate([np.zeros(inputs, bool), *(step.rectified for step in net.steps)])
    total = int(np.count_nonzero(rectified))
    layer = np.repeat(np.arange(len(sizes)), sizes)[rectified]
    first = np.cumsum(sizes) - sizes
    coordinate = np.flatnonzero(rectified) - first[layer]
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.array([_norms(step) for step in net.steps])
    weights = Weights(
        sizes=sizes,
        first=first,
        offset=np.concatenate([np.zeros(inputs), *(step.offset for step in net.steps)]),
        neuron=np.where(rectified, np.cumsum(rectified) - 1, total),
        unit_layer=layer,
        unit_coordinate=coordinate,
        keys=_keys(total),
        blur=np.concatenate([np.zeros(inputs), *map(_blur, net.steps)]),
        norms=norms,
        **_columns(net.steps),
    )
    return Plan(net, chart, weights, total, np.column_stack([layer - 1, coordinate]))


@cache
def _keys(neurons: int) -> np.ndarray:
    keys = np.random.default_rng(0x9E3779B97F4A7C15).integers(
        1, 2**63, size=neurons + 1, dtype=np.uint64
    )
    keys[neurons] = 0  # coordinates that are passed through leave no trace in the name
    return keys


def _columns(steps: tuple[Step, ...]) -> dict[str, np.ndarray]:
    """The steps' matrices by columns: dense ones transposed, sparse ones as SciPy's CSC arrays."""
    is_sparse = [sparse.issparse(step.matrix) for step in steps]
    start = []
    columns = []
    used = 0
    pointer_start = []
    pointer = []
    index = []
    ends = 0
    for step, thin in zip(steps, is_sparse):
        start.append(used)
        pointer_start.append(ends)
        if thin:
            matrix = sparse.csc_array(step.matrix)
            columns.append(matrix.data)
            pointer.append(matrix.indptr + used)
            index.append(matrix.indices)
            ends += len(matrix.indptr)
        else:
            columns.append(step.matrix.T.ravel())
            index.append(np.zeros(columns[-1].size if any(is_sparse) else 0, np.int64))
        used += columns[-1].size
    whole = lambda parts: np.concatenate([*parts, [0]]).astype(np.int64)
    return {
        "is_sparse": np.array(is_sparse),
        "start": np.array(start, np.int64),
        "columns": np.concatenate(columns),
        "pointer_start": np.array(pointer_start, np.int64),
        "pointer": whole(pointer),
        "index": whole(index),
    }


def _norms(step: Step) -> tuple[float, float, float, float]:
    n = step.matrix.shape[1] + (5 if step.long_rows else 4)
    gamma = n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF)
    absolute = absolute_norm(step.matrix)
    spectral = spectral_norm(step.matrix)
    spectral = spectral if spectral <= absolute else absolute  # also where the squares overflow
    return spectral, absolute, 1.001 * gamma, 1.001 * frobenius(step.offset)


def _blur(step: Step) -> np.ndarray:
    found = np.zeros(len(step.offset))
    found[list(step.long_rows)] = 1.001 * UNIT_ROUNDOFF
    return found


def frobenius(array: Float[np.ndarray, "*shape"]) -> float:
    """The root of the sum of squares, in float64; the excess covers squares that underflow."""
    return sqrt(float(np.square(array).sum())) + 1e-150 * sqrt(array.size)


def spectral_norm(matrix: Any) -> float:
    r"""A rigorous upper bound on $\|W\|_2$, seldom far off: $\|W\|_2^4\le\|G^2\|_F$ with a Gram matrix $G$ of $W$.

    Two products cost far less than a singular value decomposition; the excess of a thousandth covers their rounding for
    matrices of up to a million rows. Sparse Gram matrices are not squared but bounded by $\|G\|_\infty$.
    """
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    gram = tall.T @ tall if sparse.issparse(matrix) else _product(tall.T, tall)
    if sparse.issparse(gram):
        return min(
            1.001 * sqrt(float(np.max(abs(gram).sum(axis=1), initial=0.0))), absolute_norm(matrix)
        )
    rounding = 1e-12 * frobenius(matrix) ** 2  # ‖fl(WᵀW) − WᵀW‖ ≤ γ ‖W‖_F²
    return 1.001 * sqrt(sqrt(frobenius(_product(gram, gram))) + rounding)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in strips small enough for one thread: to wake the others costs more than such a product."""
    strip = ONE_THREAD // max(1, b.size)
    if not 0 < strip < len(a):
        return a @ b
    return np.concatenate([a[i : i + strip] @ b for i in range(0, len(a), strip)])


def absolute_norm(matrix: Any) -> float:
    r"""$\||W|\|_2\le\sqrt{\|W\|_1\|W\|_\infty}$, rounded up."""
    magnitude = abs(matrix)
    columns, rows = (float(magnitude.sum(axis=axis).max(initial=0.0)) for axis in (0, 1))
    # covers weights so small that their rounding is not relative
    return 1.001 * sqrt(columns) * sqrt(rows) + 1e-290
