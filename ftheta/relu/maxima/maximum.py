r"""The largest of $M$ numbers as a network: a tree of logarithmic depth, a chain of linear depth."""

from collections.abc import Sequence
from typing import Any, Literal

from ftheta.logic.errors import UsageError

from ..calculus import compose, parallel, precompose, stack
from ..elementary import identity
from ..matrices import ExactMatrix, Number
from ..network import ExactNetwork

Shape = Literal["tree", "chain"]


def pair_maximum() -> ExactNetwork:
    r"""$\max\{u,v\}=r(u-v)+r(v)-r(-v)$."""
    return ExactNetwork.dense([[[1, -1], [0, 1], [0, -1]], [[1, 1, -1]]], [[0, 0, 0], [0]])


def maximum(M: int, shape: Shape = "tree") -> ExactNetwork:
    r"""$\max\{x_1,\dots,x_M\}$.

    Tree: $\lceil\log_2M\rceil$ hidden layers; a round of $n$ numbers takes $3\lfloor n/2\rfloor+2(n\bmod2)$ neurons.
    Chain: the recursion $\max\{\max\{x_1,x_2\},x_3\},\dots$ with $M-1$ hidden layers of $3+2(n-2)$ neurons.
    """
    if M < 1:
        raise UsageError("The largest of how many numbers? At least one.", got=M)
    net = ExactNetwork.affine(ExactMatrix.of([[int(i == j) for j in range(M)] for i in range(M)]))
    while (left := net.widths[-1]) > 1:
        pairs = left // 2 if shape == "tree" else 1
        rest = left - 2 * pairs
        net = compose(parallel(*[pair_maximum()] * pairs, *([identity(rest)] if rest else [])), net)
    return net


def minimum_of(M: int, shape: Shape = "tree") -> ExactNetwork:
    r"""$\min\{x_1,\dots,x_M\}=-\max\{-x_1,\dots,-x_M\}$."""
    minus = [[-int(i == j) for j in range(M)] for i in range(M)]
    return -precompose(maximum(M, shape), minus)


def neurons(M: int, shape: Shape = "tree") -> int:
    """The number of neurons of `maximum(M, shape)`."""
    if M == 1:
        return 0
    pairs = M // 2 if shape == "tree" else 1
    return 3 * pairs + 2 * (M - 2 * pairs) + neurons(M - pairs, shape)


def hidden_layers(M: int, shape: Shape = "tree") -> int:
    r"""$\lceil\log_2M\rceil$ or $M-1$."""
    return (M - 1).bit_length() if shape == "tree" else M - 1


def max_affine(
    slopes: Sequence[Sequence[Number]], offsets: Sequence[Number], shape: Shape = "tree"
) -> ExactNetwork:
    r"""$x\mapsto\max_k(\langle a_k,x\rangle+c_k)$: every convex piecewise-affine function, $a_k$ in `slopes`."""
    return precompose(maximum(len(offsets), shape), [list(a) for a in slopes], list(offsets))


def max_min(groups: Sequence[Sequence[int]], slopes: Any, offsets: Any) -> ExactNetwork:
    r"""$x\mapsto\max_i\min_{j\in S_i}(\langle a_j,x\rangle+c_j)$, the lattice form, with $S_i$ in `groups`."""
    nets = [
        -max_affine([[-a for a in slopes[j]] for j in S], [-offsets[j] for j in S]) for S in groups
    ]
    return compose(maximum(len(groups)), stack(*nets))
