r"""Several networks as one, and tensors inside a network as further outputs of it.

A query may be about the outputs of many networks at many inputs, and about what hidden nodes compute. All of it is one
network $x\mapsto(f_1(x_1),f_2(x_2),\dots)$: states stand side by side, and what is known early is carried on by rows of
the identity without a ReLU, which bounds take over as they are. Only zeros and ones are added to the stored weights, so
that nothing is rounded.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ftheta.lazy import is_sparse, sparse
from ftheta.networks.programs.affine_chains import AffineChain, AffineStep, Tap
from ftheta.relu.network import ReluNetwork, Step
from ftheta.shapes import Float

DENSE = 1 << 21
"""Entries up to which a matrix of several networks is kept dense."""


def network_of_tensors(chain: AffineChain, names: Sequence[str]) -> ReluNetwork:
    """The network from the input of a chain to some of its tensors, one after the other."""
    taps = [chain.tensors[name] for name in names]
    depth = max(_begins(tap) for tap in taps) + 1
    steps = list[Step]()
    carried = list[
        int
    ]()  # numbers of the taps that are part of the state, in their order behind the main part
    entering = chain.steps[0].matrix.shape[1]
    for k in range(depth):
        is_last = k == depth - 1
        beginning = [t for t, tap in enumerate(taps) if _begins(tap) == k]
        own = (
            []
            if is_last
            else [(chain.steps[k].matrix, chain.steps[k].offset, chain.steps[k].rectified)]
        )
        own += [(*_rows_of_tap(taps[t], entering), False) for t in beginning]
        kept = sum(_size(taps[t]) for t in carried)
        matrix = np.zeros((sum(len(offset) for _, offset, _ in own) + kept, entering + kept))
        offset = np.zeros(len(matrix))
        rectified = np.zeros(len(matrix), bool)
        row = 0
        for part, shift, has_relu in own:
            matrix[row : row + len(part), :entering] = part
            offset[row : row + len(part)] = shift
            rectified[row : row + len(part)] = has_relu
            row += len(part)
        matrix[row:, entering:] = np.eye(kept)
        order = beginning + carried
        if is_last:
            chosen = _in_order(order, taps)
            matrix, offset, rectified = matrix[chosen], offset[chosen], rectified[chosen]
        else:
            entering = len(chain.steps[k].offset)
        steps.append(Step(matrix, offset, rectified))
        carried = order
    return ReluNetwork(tuple(steps))


def _begins(tap: Tap) -> int:
    """The step whose rows make the tensor first: what a ReLU has made is taken from the state behind it."""
    return tap.step + 1 if tap.last.rectified else tap.step


def _size(tap: Tap) -> int:
    return len(tap.last.offset)


def _rows_of_tap(tap: Tap, entering: int) -> tuple[np.ndarray, np.ndarray]:
    step = AffineStep(np.eye(entering), np.zeros(entering)) if tap.last.rectified else tap.last
    return step.matrix, step.offset


def _in_order(stored: Sequence[int], taps: Sequence[Tap]) -> np.ndarray:
    """Where the entries of each tap are, in the order of the taps, if they are stored in another one."""
    starts = dict[int, int]()
    at = 0
    for t in stored:
        starts[t] = at
        at += _size(taps[t])
    return np.concatenate(
        [np.arange(starts[t], starts[t] + _size(tap)) for t, tap in enumerate(taps)]
    )


def stand_side_by_side(nets: Sequence[ReluNetwork]) -> ReluNetwork:
    r"""$(x_1,\dots,x_n)\mapsto(f_1(x_1),\dots,f_n(x_n))$; outputs of shallow networks are carried on."""
    if len(nets) == 1:
        return nets[0]
    steps = list[Step]()
    for layer in zip_longest(*(net.steps for net in nets)):
        parts = [_carry(net.widths[-1]) if step is None else step for net, step in zip(nets, layer)]
        long_rows = {}
        row = column = 0
        for part in parts:
            for r, (weights, offset) in part.long_rows.items():
                long_rows[row + r] = ({column + j: w for j, w in weights.items()}, offset)
            row += part.matrix.shape[0]
            column += part.matrix.shape[1]
        offset = np.concatenate([part.offset for part in parts])
        rectified = np.concatenate([part.rectified for part in parts])
        steps.append(
            Step(_block_diagonal([part.matrix for part in parts]), offset, rectified, long_rows)
        )
    return ReluNetwork(tuple(steps), _notes(nets))


def stack_on_one_input(nets: Sequence[ReluNetwork]) -> ReluNetwork:
    r"""$x\mapsto(f_1(x),\dots,f_n(x))$."""
    if len(nets) == 1:
        return nets[0]
    joined = stand_side_by_side(nets)
    size = nets[0].widths[0]
    return draw_inputs(
        joined, sparse.vstack([sparse.eye_array(size)] * len(nets), format="csr"), np.zeros(0)
    )


def draw_inputs(net: ReluNetwork, matrix: Any, offset: Float[np.ndarray, "c"]) -> ReluNetwork:
    r"""$u\mapsto f(Mu+c)$ for a sparse `matrix` $M$; an empty `offset` is zero.

    Where $M$ only says which entry of $u$ an input is, and no row of the first step reads the same entry twice, the
    step is taken on $u$ itself. Otherwise $Mu+c$ is a step of its own: nothing is added up, so nothing is rounded.
    """
    M: Any = sparse.csr_array(matrix)
    is_choice = M.nnz == M.shape[0] and bool((np.diff(M.indptr) == 1).all() and (M.data == 1).all())
    first = net.steps[0]
    if is_choice and not offset.any() and not first.long_rows:
        pattern = sparse.csr_array(first.matrix != 0, dtype=np.int64)
        if (pattern @ abs(M)).max() <= 1:
            product = first.matrix @ M
            size = product.shape[0] * product.shape[1]
            product = product.toarray() if is_sparse(product) and size <= DENSE else product
            return ReluNetwork(
                (Step(product, first.offset, first.rectified), *net.steps[1:]), net.rounded
            )
    matrix = M.toarray() if M.shape[0] * M.shape[1] <= DENSE else M
    shift = offset if len(offset) else np.zeros(M.shape[0])
    return ReluNetwork((Step(matrix, shift, np.zeros(M.shape[0], bool)), *net.steps), net.rounded)


def _carry(size: int) -> Step:
    return Step(np.eye(size), np.zeros(size), np.zeros(size, bool))


def _block_diagonal(matrices: Sequence[Any]) -> Any:
    joined: Any = sparse.csr_array(sparse.block_diag(matrices, format="csr"))
    return joined.toarray() if joined.shape[0] * joined.shape[1] <= DENSE else joined


def _notes(nets: Sequence[ReluNetwork]) -> str:
    return "; ".join(dict.fromkeys(net.rounded for net in nets if net.rounded))
