r"""Closed loops and pairs of networks as one network, without rounding where they are piecewise affine.

A loop $x^+=Ax+Bu+c$, $u=f(x)$ with a ReLU network $f$ is one: the state is carried beside the network by rows of the
identity, and $[A\;B]$ is a step of its own, so that no two weights are multiplied.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ftheta.certify.joining import stack_on_one_input, stand_side_by_side
from ftheta.certify.questions import Box
from ftheta.logic.errors import UsageError
from ftheta.relu.network import ReluNetwork, Step
from ftheta.shapes import Float


def identity(size: int) -> ReluNetwork:
    r"""$x\mapsto x$."""
    return ReluNetwork((Step(np.eye(size), np.zeros(size), np.zeros(size, bool)),))


def close_loop(
    net: ReluNetwork,
    A: Float[np.ndarray, "n n"],
    B: Float[np.ndarray, "n m"],
    c: Float[np.ndarray, "n"],
) -> ReluNetwork:
    r"""$x\mapsto Ax+Bf(x)+c$."""
    beside = stack_on_one_input([identity(net.widths[0]), net])
    last = Step(np.concatenate([A, B], axis=1), c, np.zeros(len(A), bool))
    return ReluNetwork((*beside.steps, last), net.rounded)


def follow_by(first: ReluNetwork, second: ReluNetwork) -> ReluNetwork:
    r"""$x\mapsto g(f(x))$; the last affine map of $f$ stays a step of its own."""
    notes = dict.fromkeys(net.rounded for net in (first, second) if net.rounded)
    return ReluNetwork((*first.steps, *second.steps), "; ".join(notes))


def evaluate_twice(loop: ReluNetwork, V: ReluNetwork) -> ReluNetwork:
    r"""$x\mapsto(V(x^+),V(x))$ for the loop $x\mapsto x^+$."""
    return follow_by(
        stack_on_one_input([loop, identity(loop.widths[0])]), stand_side_by_side([V, V])
    )


def cut_out(box: Box, inner: Box) -> list[Box]:
    """Boxes that cover a box without the inside of another one: two slabs per input, along it."""
    parts = []
    low, high = list(box.lo), list(box.hi)
    for i, (a, b) in enumerate(zip(inner.lo, inner.hi)):
        if a >= high[i] or b <= low[i]:  # nothing is cut out of what is left
            break
        if a > low[i]:
            parts.append(Box(tuple(low), (*high[:i], a, *high[i + 1 :])))
        if b < high[i]:
            parts.append(Box((*low[:i], b, *low[i + 1 :]), tuple(high)))
        low[i], high[i] = max(low[i], a), min(high[i], b)
    else:
        return parts
    return [*parts, Box(tuple(low), tuple(high))]


def read_affine_step(
    step: Sequence[Any], states: int, controls: int
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n m"], Float[np.ndarray, "n"]]:
    """`(A, B)` or `(A, B, c)` as arrays that fit so many states and controls."""
    if len(step) not in (2, 3):
        raise UsageError("An affine step is a pair (A, B), or (A, B, c).", got=f"{len(step)} parts")
    A, B = (np.atleast_2d(np.asarray(part, np.float64)) for part in step[:2])
    c = np.zeros(len(A)) if len(step) == 2 else np.asarray(step[2], np.float64).ravel()
    shapes = ((A.shape, (states, states)), (B.shape, (states, controls)), (c.shape, (states,)))
    for name, (got, wanted) in zip("ABc", shapes):
        if got != wanted:
            raise UsageError(
                f"{name} does not fit the loop.",
                where="step",
                got=f"shape {got}",
                remedy=f"{name} has shape {wanted}: {states} states and {controls} outputs of the network",
            )
    if not all(np.isfinite(part).all() for part in (A, B, c)):
        raise UsageError("An affine step has finite numbers.", where="step", got="NaN or infinity")
    return A, B, c


def jax_function(net: Any) -> Any:
    """A network as a JAX function of one flat input."""
    if not isinstance(net, ReluNetwork):
        return net.flat_function
    if net.is_long or net.rounded:  # what is shown of the trace would be called a proof
        raise UsageError(
            "Weights that float64 cannot hold, or that were rounded, are not traced.",
            got=net.meaning,
        )
    import jax.numpy as jnp

    steps = [(step.dense(), step.offset, step.rectified) for step in net.steps]

    def run(x: Any) -> Any:
        for W, b, rectified in steps:
            x = W @ x + b
            if rectified.all():
                x = jnp.maximum(x, 0.0)
            elif rectified.any():
                on = np.flatnonzero(rectified)
                x = x.at[on].set(jnp.maximum(x[on], 0.0))
        return x

    return run
