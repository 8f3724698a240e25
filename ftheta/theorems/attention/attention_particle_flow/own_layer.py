r"""The matrices of an attention layer, read off what it does to random tokens.

A layer is $y_i=\sum_hV_h\sum_jA^h_{ij}x_j+Sx_i+c$ with $A^h_{ij}\propto e^{\langle M_hx_i+b_h,x_j\rangle}$ and
$M=K^\top Q/\sqrt{d_k}$. Logarithms of its weights are linear in $M_h,b_h$, its results in $V_h,S,c$: both are found by
least squares and checked on tokens that were not used.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ftheta.estimates import largest
from ftheta.networks.transformers.heads import Attention

from .flow import Matrices

FITS = 1e-6  # a layer is what was read if it does so to this part of its largest result
MOST_DIMENSION = 32
MOST_HEADS = 16
Run = Callable[[np.ndarray], tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]]


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """Heads with M_h as queries and I as keys; `skip` is S, `gap` how far it is from the network at other tokens."""

    heads: tuple[Matrices, ...]
    skip: np.ndarray
    gap: float


def read_layer(attention: Attention, shape: tuple[int, ...]) -> AttentionLayer | str:
    """The layer that the network is, or why it is none; `shape` is that of its input, (…, tokens, dimension)."""
    if len(shape) < 2 or int(np.prod(shape[:-2])) != 1 or shape[-2] < 2:
        return f"an input of shape {shape} is no list of tokens"
    if len(attention.heads) != 1 or not attention.softmax:
        return f"it has {len(attention.heads)} attention products; one with a softmax is followed"
    n, d = shape[-2:]
    if d > MOST_DIMENSION:
        return f"tokens of dimension {d}; matrices are read up to {MOST_DIMENSION}"
    rng = np.random.default_rng(0)
    run: Run = lambda x: attention.run(x.reshape(shape))
    draw = lambda: rng.normal(size=(n, d)) / np.sqrt(d)
    first, ((A, _, _),) = run(draw())
    if A.shape[1:] != (n, n) or len(A) > MOST_HEADS or first.size != n * d:
        return (
            f"weights of shape {A.shape} and {first.size} results for {n} tokens of dimension {d}"
        )
    if (A == 0).any():
        return "a mask hides tokens from one another"
    unknowns = max(d * (d + 1) / (n - 1), d * (len(A) + 1) + 1) / n
    found = _fit(run, [draw() for _ in range(int(3 * unknowns) + 4)], [draw() for _ in range(3)])
    return (
        found
        if found.gap <= FITS
        else f"it is no single layer of attention: {found.gap:.2g} off what was read"
    )


def _fit(run: Run, inputs: list[np.ndarray], others: list[np.ndarray]) -> AttentionLayer:
    seen = [(x, *_parts(run, x)) for x in inputs]
    h = len(seen[0][2])
    d = inputs[0].shape[1]
    heads = [_queries([(x, A[k]) for x, _, A in seen]) for k in range(h)]
    found = _least_squares([_averages(x, A) for x, _, A in seen], [y for _, y, _ in seen])
    V = found[: h * d].reshape(h, d, d).transpose(0, 2, 1)
    skip = found[h * d : -1].T
    layer = tuple(Matrices(M, np.eye(d), v, b) for (M, b), v in zip(heads, V))
    gap = 0.0
    for x in others:
        y, A = _parts(run, x)
        made = np.stack([_weights(x, head) for head in layer])
        result = _averages(x, made) @ found
        gap = largest(gap, np.abs(made - A), np.abs(result - y) / (np.abs(y).max() + 1e-300))
    return AttentionLayer(layer, skip, gap)


def _parts(run: Run, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Results (n, d) and weights (heads, n, n)."""
    y, ((A, _, _),) = run(x)
    return y.reshape(x.shape), A


def _queries(seen: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    r"""$M,b$ from $\log A_{ij}-\log A_{i1}=\langle Mx_i+b,x_j-x_1\rangle$."""
    rows = []
    values = []
    for x, A in seen:
        away = x[1:] - x[0]
        left = np.concatenate([x, np.ones((len(x), 1))], 1)
        rows.append(np.einsum("jb,ia->ijba", away, left).reshape(-1, away.shape[1] * left.shape[1]))
        logs = np.log(A)
        values.append((logs[:, 1:] - logs[:, :1]).ravel())
    found = _least_squares(rows, values).reshape(seen[0][0].shape[1], -1)
    return found[:, :-1], found[:, -1]


def _averages(x: np.ndarray, A: np.ndarray) -> np.ndarray:
    """What the results are linear in: the average of every head, the token itself, and 1."""
    return np.concatenate([*(A @ x), x, np.ones((len(x), 1))], 1)


def _weights(x: np.ndarray, head: Matrices) -> np.ndarray:
    scores = (x @ head.Q.T + head.bias) @ x.T
    A = np.exp(scores - scores.max(1, keepdims=True))
    return A / A.sum(1, keepdims=True)


def _least_squares(rows: list[np.ndarray], values: list[np.ndarray]) -> np.ndarray:
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
