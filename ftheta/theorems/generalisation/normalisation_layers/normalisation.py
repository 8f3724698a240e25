r"""Batch, layer and weight normalisation, and what they do to the size of weights.

Each makes a layer forget the size of its weights: $L(cw)=L(w)$ for $c>0$, as long as nothing is added to the variance
($\epsilon=0$). Then $\langle\nabla L(w),w\rangle=0$ and $\nabla L(cw)=\frac1c\nabla L(w)$, so that a step of gradient
descent is orthogonal to the weights and $\|w_{k+1}\|^2=\|w_k\|^2+\tau^2\|\nabla L(w_k)\|^2$: they grow, and the step
that the direction $w/\|w\|$ feels, $\tau/\|w\|^2$, shrinks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.compiling import call_compiled
from ftheta.logic import UsageError
from ftheta.networks.activations import activation
from ftheta.networks.operators.normalisation import standardise

SCALES = (0.25, 0.5, 2.0, 3.0, 10.0)  # factors at which invariance is looked at


def batch_norm(z: Any, epsilon: float = 0.0, running: "Running | None" = None) -> Any:
    """Every column of `z` (rows, units) minus its mean, over its standard deviation: those of these rows in training,
    the `running` ones at evaluation."""
    mean, variance = (
        (jnp.mean(z, 0), jnp.var(z, 0)) if running is None else (running.mean, running.variance)
    )
    return (z - mean) / jnp.sqrt(variance + epsilon)


def layer_norm(z: Any, epsilon: float = 0.0) -> Any:
    """Every row minus its mean, over its standard deviation."""
    return standardise(z, (-1,), epsilon)[0]


def weight_norm(W: Any, epsilon: float = 0.0) -> Any:
    """Every row of a matrix over its length."""
    return W / jnp.sqrt(jnp.sum(W**2, -1, keepdims=True) + epsilon)


class Running(NamedTuple):
    """The statistics of batch normalisation at evaluation."""

    mean: Any
    variance: Any

    def after(self, z: Any, momentum: float = 0.1) -> "Running":
        """A share `momentum` of the statistics of these rows, the rest as before. The variance is the unbiased one."""
        n = z.shape[0]
        seen = jnp.mean(z, 0), jnp.var(z, 0) * n / max(n - 1, 1)
        return Running(*((1 - momentum) * old + momentum * new for old, new in zip(self, seen)))


def normalised_mlp(
    rng: np.random.Generator,
    widths: Sequence[int],
    kind: Literal["layer", "weight"] = "layer",
    hidden: str = "relu",
    epsilon: float = 0.0,
) -> tuple[Any, Callable[[Any, Any], Any]]:
    """A perceptron `(params, apply)` that `ftheta.fit` trains, hidden layers normalised by `layer` or `weight`, with a
    learned scale and shift each. (Batch normalisation sees all rows at once: `batch_norm`.)"""
    if kind not in ("layer", "weight"):
        remedy = "choose layer or weight; batch normalisation needs all rows at once, `batch_norm`"
        raise UsageError("Unknown normalisation of a network.", got=kind, remedy=remedy)
    shapes = list(pairwise(widths))
    draw = lambda m, n: rng.normal(size=(n, m)) / np.sqrt(m)
    params = {
        "weights": [draw(m, n) for m, n in shapes],
        "scales": [np.ones(n) for _, n in shapes[:-1]],
        "shifts": [np.zeros(n) for _, n in shapes],
    }
    act = activation(hidden).function

    def apply(params: Any, x: Any) -> Any:
        *inner, last = params["weights"]
        for W, scale, shift in zip(inner, params["scales"], params["shifts"]):
            z = layer_norm(W @ x, epsilon) if kind == "layer" else weight_norm(W, epsilon) @ x
            x = act(scale * z + shift)
        return last @ x + params["shifts"][-1]

    return params, apply


# ---- what is invariant ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Some leaves of the parameters that are scaled together, by name and number; `change` is the largest change of the
    loss, relative."""

    name: str
    leaves: tuple[int, ...]
    change: float


def change_under_scaling(
    objective: Callable[[Any], Any], w: Any, scales: Sequence[float] = SCALES
) -> float:
    """The largest |L(cw) − L(w)| over some factors c, relative to |L(w)|."""
    here = float(objective(w))
    values = [float(objective(c * w)) for c in scales]
    return (
        max(abs(v - here) for v in values) / max(abs(here), 1e-300)
        if np.isfinite(values).all()
        else float("inf")
    )


def invariant_blocks(
    risk: Callable[[Any], Any], params: Any, tolerance: float
) -> tuple[list[Block], list[Block]]:
    """The leaves of the parameters, or else siblings together, whose size the loss does not feel; and all others.

    `risk` is a function of the parameters. Leaves that are zero, or that have no influence at all, are left out.
    """
    paths, leaves = zip(*jax.tree_util.tree_leaves_with_path(params))
    tree = jax.tree.structure(params)
    slopes = jax.tree.leaves(call_compiled(jax.grad(risk), params))
    live = [
        i
        for i, (leaf, g) in enumerate(zip(leaves, slopes))
        if np.any(leaf) and np.any(np.asarray(g))
    ]

    def block(which: tuple[int, ...], name: str) -> Block:
        scaled = lambda c: jax.tree.unflatten(
            tree, [leaf * c if i in which else leaf for i, leaf in enumerate(leaves)]
        )
        return Block(
            name,
            which,
            change_under_scaling(lambda c: call_compiled(risk, scaled(c)), np.float64(1.0)),
        )

    found = [block((i,), jax.tree_util.keystr(paths[i])) for i in live]
    kept = [b for b in found if b.change <= tolerance]
    rest = [b for b in found if b.change > tolerance]
    families: dict[str, list[int]] = {}
    for b in rest:
        families.setdefault(jax.tree_util.keystr(paths[b.leaves[0]][:-1]), []).append(b.leaves[0])
    for parent, members in families.items():
        if (
            len(members) > 1
            and (whole := block(tuple(members), f"{parent}[all]")).change <= tolerance
        ):
            kept.append(whole)
            rest = [b for b in rest if b.leaves[0] not in members]
    return kept, rest


def restrict(
    risk: Callable[[Any], Any], params: Any, blocks: Sequence[Block]
) -> tuple[Callable[[Any], Any], np.ndarray]:
    """The loss as a function of the entries of these blocks alone, and their values."""
    leaves, tree = jax.tree.flatten(params)
    chosen = sorted({i for b in blocks for i in b.leaves})
    ends = np.cumsum([0, *(np.size(leaves[i]) for i in chosen)])

    def objective(w: Any) -> Any:
        parts = {
            i: w[a:b].reshape(np.shape(leaves[i]))
            for i, (a, b) in zip(chosen, pairwise(ends.tolist()))
        }
        return risk(jax.tree.unflatten(tree, [parts.get(i, leaf) for i, leaf in enumerate(leaves)]))

    return objective, np.concatenate([np.ravel(leaves[i]) for i in chosen]).astype(np.float64)


def tree_risk(risk: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A loss of one long vector as a loss of the parameters that were put into it."""
    return lambda params: risk(ravel_pytree(params)[0])


def normalised_loss(
    kind: str,
    rng: np.random.Generator,
    *,
    epsilon: float = 0.0,
    rows: int = 48,
    inputs: int = 5,
    units: int = 6,
) -> tuple[Callable[[Any], Any], np.ndarray]:
    r"""The squared loss of a small network as a function of its first weights, which are normalised by `kind`: batch,
    layer, weight, or none."""
    X = rng.normal(size=(rows, inputs))
    y = rng.normal(size=rows)
    a = rng.normal(size=units)
    y = np.sin(X[:, 0]) + 0.3 * y

    def objective(w: Any) -> Any:
        W = jnp.reshape(w, (units, inputs))
        z = jnp.asarray(X) @ (weight_norm(W, epsilon) if kind == "weight" else W).T
        z = (
            batch_norm(z, epsilon)
            if kind == "batch"
            else layer_norm(z, epsilon)
            if kind == "layer"
            else z
        )
        return jnp.mean((jnp.tanh(z) @ a - y) ** 2)

    return objective, rng.normal(size=units * inputs)
