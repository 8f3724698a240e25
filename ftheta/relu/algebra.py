"""The calculus of networks on one network: every operation, what it realises, and what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Bars, Enclosure, Identity, Table, Witness
from ftheta.networks.description import Dense, Description

from .calculus import compose, compose_sparse, pad, parallel, postcompose, precompose, stack
from .counts import count
from .elementary.constructions import identity
from .exact import ExactNetwork
from .line.cpa1d import known
from .symmetry.folding import distance


@dataclass(frozen=True)
class Operation:
    """`made` realises the same function as `meant`; L, N, W are what the formulas say, and W may be a bound."""

    name: str
    made: ExactNetwork
    meant: ExactNetwork
    layers: int
    neurons: int
    weights: int
    is_bound: bool = False


def operations(f: ExactNetwork, extra: int) -> list[Operation]:
    """Padding, sparse composition, parallel blocks, stacking, sums, multiples and affine changes of input."""
    c, m, d = count(f), f.widths[-1], f.widths[0]
    L, N, W = len(f.steps), c.neurons, c.connections
    last = f.steps[-1].matrix.nnz
    eye = np.eye(d, dtype=int).tolist()
    double = [[2 * a for a in row] for row in eye]
    through = identity(m)
    twice = np.vstack([np.eye(d, dtype=int)] * 2).tolist()
    return [
        Operation("pad", pad(f, L + extra), f, L + extra, N + 2 * m * extra, W + last + 2 * m * extra),
        Operation("merged composition", compose(through, f), f, L + 1, N + 2 * m, W + last + 2 * m),
        Operation("sparse composition", compose_sparse(through, f), f, L + 2, N + 4 * m, 2 * W + 8 * m, True),
        Operation("parallel", precompose(parallel(f, f), twice), stack(f, f), L, 2 * N, 2 * W),
        Operation("sum", f + f, 2 * f, L, 2 * N, 2 * W, True),
        Operation("multiple", 3 * f, postcompose(f, [[3 * int(i == j) for j in range(m)] for i in range(m)]), L, N, W),
        Operation("change of input", precompose(precompose(f, double), _half(eye)), f, L, N, W),
    ]


def _half(eye: Sequence[Sequence[int]]) -> list[list[float]]:
    return [[a / 2 for a in row] for row in eye]


def claims(done: Sequence[Operation], points: Sequence[Any]) -> list[Identity | AtMost]:
    found: list[Identity | AtMost] = []
    for op in done:
        size, zero = count(op.made), known(0)
        found.append(Identity(f"{op.name}: sup |made − meant|", distance(op.made, op.meant, points), zero))
        found.append(Identity(f"{op.name}: affine maps L", known(len(op.made.steps)), known(op.layers)))
        found.append(Identity(f"{op.name}: neurons N", known(size.neurons), known(op.neurons)))
        kind = AtMost if op.is_bound else Identity
        found.append(kind(f"{op.name}: weights W", known(size.connections), known(op.weights)))
    return found


def bill(f: ExactNetwork, done: Sequence[Operation]) -> tuple[Table, Bars]:
    """What every operation costs, as a table and as bars."""
    named = [("f itself", f), *((op.name, op.made) for op in done)]
    sizes = [(len(g.steps), count(g).neurons, count(g).connections) for _, g in named]
    names, groups = tuple(name for name, _ in named), ("affine maps L", "neurons N", "weights W")
    table = Table("counts", ("network", "L", "N", "W"), tuple((name, *size) for name, size in zip(names, sizes)))
    shares = tuple(tuple(size[k] / max(sizes[0][k], 1) for size in sizes) for k in range(3))
    return table, Bars("what an operation costs, as a multiple of f", Axis("multiple of f"), names, groups, shares)


def padded_gap(layers: Description, rng: np.random.Generator) -> Witness:
    r"""Padding by $\sigma(y)-\sigma(-y)$ with the network's own activation: an input where the output moves."""
    x, last = rng.normal(size=(256, layers.widths[0])), layers.layers[-1]
    m = len(last.bias)
    word = layers.layers[0].activation if len(layers.layers) > 1 else last.activation
    twice = Dense(np.vstack([last.weight, -last.weight]), np.append(last.bias, -last.bias), word)
    back = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m), last.activation)
    padded = Description((*layers.layers[:-1], twice, back))
    gaps = np.abs(np.asarray(padded.apply(padded.params, x)) - np.asarray(layers.apply(layers.params, x))).max(axis=1)
    k = int(np.argmax(gaps))

    def gap(made: Any, meant: Any, x: Any) -> Any:
        return jnp.max(jnp.abs(padded.apply(made, x) - layers.apply(meant, x)))

    left = enclose_number(gap, padded.params, layers.params, x[k])
    return Witness({"x": tuple(x[k].tolist())}, left, Enclosure.exact(0), "both networks in intervals rounded outward")
