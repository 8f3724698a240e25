r"""A network on a domain, laid out flat for the compiled kernels, with the constants of the rounding analysis.

Layer 0 is the chart (the inputs as affine forms of the domain's coordinates), layer $l$ the state after step $l$. On a
cell the state of a layer is a matrix $A_l$ of affine forms, $A_{l+1}=W_lD_lA_l+[0\;b_l]$ with the 0/1 mask $D_l$ of the
active coordinates. In float64 the forms carry an error $E_l$ (Frobenius norm, coordinates scaled by the size of the
domain) with
$$E_{l+1}\le\|W_l\|_2E_l+\gamma_{n_l+4}\bigl(\||W_l|\|_2\|A_l\|_F+\|b_l\|_2\bigr),\qquad\gamma_n=\tfrac{nu}{1-nu},$$
whatever the order of summation. The kernels use this bound to know which signs they may trust.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ftheta.logic import SubjectError, UsageError
from ftheta.relu.network import ReluNetwork, Step

from .domains import Chart

UNIT_ROUNDOFF = 2.0**-53


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
    neuron: np.ndarray  # number of each coordinate among the rectified ones; the total for those passed through
    unit_layer: np.ndarray  # layer and coordinate of each neuron
    unit_coordinate: np.ndarray
    keys: np.ndarray  # Zobrist keys: the xor of those of the active neurons names a pattern
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

    def chart_error(self, size: float) -> float:
        """Bound on the Frobenius norm of what the float64 chart leaves out, coordinates scaled by `size`."""
        return 1.001 * size * float(np.linalg.norm(self.chart.tail))


def make_plan(net: ReluNetwork, chart: Chart) -> Plan:
    inputs = net.widths[0]
    if len(chart.origin) != inputs:
        raise UsageError(
            "The domain lies in another space than the inputs of the network.",
            got=f"a domain in dimension {len(chart.origin)}, a network with {inputs} inputs",
        )
    sizes = np.array(net.widths, np.int64)
    neuron, units, total = [np.full(inputs, -1)], [], 0
    for number, step in enumerate(net.steps):
        ids = np.where(step.rectified, total + np.cumsum(step.rectified) - 1, -1)
        neuron.append(ids)
        units += [(number, k) for k in np.flatnonzero(step.rectified)]
        total += int(step.rectified.sum())
    numbers = np.concatenate(neuron)
    numbers[numbers < 0] = total
    weights = Weights(
        sizes=sizes,
        first=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        offset=np.concatenate([np.zeros(inputs), *(step.offset for step in net.steps)]),
        neuron=numbers.astype(np.int64),
        unit_layer=np.array([step + 1 for step, _ in units], np.int64),
        unit_coordinate=np.array([k for _, k in units], np.int64),
        keys=_keys(total),
        norms=np.array([_norms(step) for step in net.steps]),
        **_columns(net.steps),
    )
    if not np.isfinite(weights.norms).all():
        raise SubjectError(
            "The weights are too large for float64 analysis.", got="a norm overflows", remedy="rescale the network"
        )
    return Plan(net, chart, weights, total, np.array(units, np.int64).reshape(-1, 2))


def _keys(neurons: int) -> np.ndarray:
    keys = np.random.default_rng(0x9E3779B97F4A7C15).integers(1, 2**63, size=neurons + 1, dtype=np.uint64)
    keys[neurons] = 0  # coordinates that are passed through leave no trace in the name
    return keys


def _columns(steps: tuple[Step, ...]) -> dict[str, np.ndarray]:
    start, columns, used = [], [], 0
    pointer_start, pointer, index, ends = [], [], [], 0
    for step in steps:
        start.append(used)
        pointer_start.append(ends)
        if sparse.issparse(step.matrix):
            matrix = sparse.csc_array(step.matrix)
            columns.append(matrix.data)
            pointer.append(matrix.indptr.astype(np.int64) + used)
            index.append(matrix.indices.astype(np.int64))
            ends += len(matrix.indptr)
        else:
            columns.append(np.ascontiguousarray(step.matrix.T).ravel())
            index.append(np.zeros(columns[-1].size, np.int64) if any(sparse.issparse(s.matrix) for s in steps) else [])
        used += columns[-1].size
    return {
        "is_sparse": np.array([sparse.issparse(step.matrix) for step in steps]),
        "start": np.array(start, np.int64),
        "columns": np.concatenate(columns).astype(np.float64),
        "pointer_start": np.array(pointer_start, np.int64),
        "pointer": np.concatenate([*pointer, [0]]).astype(np.int64),
        "index": np.concatenate([*index, [0]]).astype(np.int64),
    }


def _norms(step: Step) -> tuple[float, float, float, float]:
    n = step.matrix.shape[1] + 4
    gamma = n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF)
    offset = 1.001 * float(np.linalg.norm(step.offset))
    return spectral_norm(step.matrix), absolute_norm(step.matrix), 1.001 * gamma, offset


def spectral_norm(matrix: Any) -> float:
    r"""A rigorous upper bound on $\|W\|_2$, seldom far off: $\|W\|_2^4\le\|G^2\|_F$ with a Gram matrix $G$ of $W$.

    Two products cost far less than a singular value decomposition; the excess of a thousandth covers their rounding for
    matrices of up to a million rows. Sparse Gram matrices are not squared but bounded by $\|G\|_\infty$.
    """
    gram = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    if sparse.issparse(gram):
        return min(1.001 * float(np.sqrt(np.max(abs(gram).sum(axis=1), initial=0.0))), absolute_norm(matrix))
    rounding = 1e-12 * float(np.linalg.norm(matrix)) ** 2  # ‖fl(WᵀW) − WᵀW‖ ≤ γ ‖W‖_F²
    return 1.001 * float(np.sqrt(np.sqrt(np.linalg.norm(gram @ gram)) + rounding))


def absolute_norm(matrix: Any) -> float:
    r"""$\||W|\|_2\le\sqrt{\|W\|_1\|W\|_\infty}$, rounded up."""
    magnitude = abs(matrix)
    columns, rows = (float(np.max(magnitude.sum(axis=axis), initial=0.0)) for axis in (0, 1))
    return 1.001 * float(np.sqrt(columns) * np.sqrt(rows))
