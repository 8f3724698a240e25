r"""Small functions as networks, with $r(t)=\max\{0,t\}$. All in rationals; `rounded` gives float64."""

from collections.abc import Sequence
from typing import Any

from ftheta.logic.errors import UsageError

from .matrices import Number, rational
from .network import ExactNetwork


def identity(n: int = 1) -> ExactNetwork:
    r"""$x=r(x)-r(-x)$: two neurons a coordinate."""
    eye = [[int(i == j) for j in range(n)] for i in range(n)]
    minus = [[-a for a in row] for row in eye]
    beside = [[*p, *q] for p, q in zip(eye, minus)]
    return ExactNetwork.dense([eye + minus, beside], [[0] * (2 * n), [0] * n])


def absolute() -> ExactNetwork:
    r"""$|x|=r(x)+r(-x)$."""
    return ridges([1, 1], [1, -1], [0, 0])


def minimum() -> ExactNetwork:
    r"""$\min\{x,y\}=y-r(y-x)$ with $y=r(y)-r(-y)$: three neurons."""
    return ExactNetwork.dense([[[0, 1], [0, -1], [-1, 1]], [[1, -1, -1]]], [[0, 0, 0], [0]])


def ramp() -> ExactNetwork:
    r"""$r(x)-r(x-1)$: 0 on the left, 1 on the right."""
    return ridges([1, -1], [1, 1], [0, -1])


def soft_threshold(threshold: Number, n: int = 1) -> ExactNetwork:
    r"""$S_\lambda(x)=r(x-\lambda)-r(-x-\lambda)$ in each of `n` coordinates, $\lambda$ = `threshold` $\ge0$."""
    level = rational(threshold)
    if level < 0:
        raise UsageError("A soft threshold is not negative.", got=threshold)
    net = identity(n)
    hidden, last = net.steps
    return net.rebuilt(
        [
            (hidden.matrix, [-level] * (2 * n), hidden.rectified),
            (last.matrix, last.offset, last.rectified),
        ]
    )


def hat() -> ExactNetwork:
    r"""$\max\{0,1-|x|\}=r(x+1)-2r(x)+r(x-1)$: three neurons, the least possible with one hidden layer."""
    return ridges([1, -2, 1], [1, 1, 1], [1, 0, -1])


def deep_hat() -> ExactNetwork:
    r"""$\max\{0,1-|x|\}=r(1-r(x)-r(-x))$: hidden widths 2 and 1."""
    return ExactNetwork.dense([[[1], [-1]], [[-1, -1]], [[1]]], [[0, 0], [1], [0]])


def ridges(
    outer: Sequence[Number], inner: Sequence[Number], shift: Sequence[Number], constant: Number = 0
) -> ExactNetwork:
    r"""$x\mapsto\text{constant}+\sum_i\text{outer}_i\,r(\text{inner}_ix+\text{shift}_i)$ on the line."""
    return ExactNetwork.dense([[[w] for w in inner], [list(outer)]], [list(shift), [constant]])


def repu_power(x: Any, p: int) -> Any:
    r"""$x^p=r(x)^p+(-1)^pr(-x)^p$, $p\ge1$: exact, but a network of *rectified powers* when $p>1$, not of ReLUs.

    With the convention $t^0=1$ the right side would be 2 at $p=0$, $x\ne0$.
    """
    if p < 1:
        raise UsageError("The power is at least 1.", got=p)
    zero = x * 0
    return max(x, zero) ** p + (-1) ** p * max(-x, zero) ** p


def ista_step(
    matrix: Sequence[Sequence[Number]], data: Sequence[Number], step: Number, weight: Number
) -> ExactNetwork:
    r"""$x\mapsto S_{\tau\lambda}\big(x-\tau A^\top(Ax-y)\big)$, a step of ISTA for $\frac12\|Ax-y\|^2+\lambda\|x\|_1$.

    `matrix` is $A$, `data` $y$, `step` $\tau$, `weight` $\lambda$. One hidden layer, two neurons a coordinate.
    """
    A = [[rational(a) for a in row] for row in matrix]
    tau = rational(step)
    n = len(A[0])
    y = [rational(v) for v in data]
    if len(y) != len(A):
        raise UsageError(
            "The data have another length than the matrix has rows.", got=f"{len(y)} and {len(A)}"
        )
    gram = [[sum((row[i] * row[j] for row in A), rational(0)) for j in range(n)] for i in range(n)]
    move = [[int(i == j) - tau * gram[i][j] for j in range(n)] for i in range(n)]
    pull = [tau * sum((row[i] * v for row, v in zip(A, y)), rational(0)) for i in range(n)]
    return soft_threshold(tau * rational(weight), n) @ ExactNetwork.affine(move, pull)


def ista(matrix: Any, data: Any, step: Number, weight: Number, steps: int) -> ExactNetwork:
    """`steps` steps of ISTA as one network of that many hidden layers: a LISTA network at its classical weights."""
    one = ista_step(matrix, data, step, weight)
    net = one
    for _ in range(steps - 1):
        net = one @ net
    return net
