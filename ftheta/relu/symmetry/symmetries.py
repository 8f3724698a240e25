r"""Copies of a network with the same realisation: orders of hidden neurons, and one positive factor for each (ReLU) or
one sign for each (tanh).

$(w_i,b_i,a_i)\mapsto(\lambda w_i,\lambda b_i,a_i/\lambda)$ with $\lambda>0$ leaves $a_ir(\langle w_i,x\rangle+b_i)$ as
it is. Among all these copies of a ReLU network the balanced one, $\|w_i\|^2+b_i^2=\|a_i\|^2$, has the least norm.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.networks.description import Dense, Description
from ftheta.shapes import Float

from ..matrices import ExactMatrix, fraction, rational
from ..network import ExactNetwork

Params = Sequence[tuple[Any, Any]]
SWEEPS = 200


def rescale_randomly(
    net: ExactNetwork, rng: np.random.Generator, factors: tuple[int, int] = (1, 9)
) -> ExactNetwork:
    """A copy of a plain network: every hidden layer in another order, every neuron times a positive fraction."""
    parts = [([dict(row) for row in step.matrix.rows], list(step.offset)) for step in net.steps]
    for (rows, offset), (after, _) in pairwise(parts):
        order = rng.permutation(len(rows)).tolist()
        scale = [fmpq(int(p), int(q)) for p, q in rng.integers(*factors, (len(rows), 2))]
        place = {i: k for k, i in enumerate(order)}
        rows[:] = [{j: scale[i] * a for j, a in rows[i].items()} for i in order]
        offset[:] = [scale[i] * offset[i] for i in order]
        after[:] = [{place[i]: a / scale[i] for i, a in row.items()} for row in after]
    shapes = [step.matrix.shape for step in net.steps]
    matrices = [ExactMatrix(tuple(rows), shape) for (rows, _), shape in zip(parts, shapes)]
    return ExactNetwork.dense(matrices, [offset for _, offset in parts])


def sign_copies(net: ExactNetwork) -> set[tuple[Any, ...]]:
    r"""All copies of a network with one hidden layer of odd neurons: orders and signs, $h!\,2^h$ if none coincide.

    A copy is the tuple of its neurons $(w_i,b_i,a_i)$. That all of them are one function shows in one normal form: each
    neuron turned so that its first number is positive, and all sorted.
    """
    hidden, last = net.steps
    outer = last.matrix.table()
    rows = zip(hidden.matrix.table(), hidden.offset, zip(*outer))
    units = [(*w, fraction(b), *a) for w, b, a in rows]
    turns = product((1, -1), repeat=len(units))
    signed = [tuple(tuple(s * t for t in unit) for s, unit in zip(signs, units)) for signs in turns]
    return {
        tuple(copy[i] for i in order)
        for copy in signed
        for order in permutations(range(len(units)))
    }


def normalise_signs(copy: Sequence[Sequence[Fraction]]) -> tuple[Any, ...]:
    """The normal form of a copy under signs and orders."""
    sign = lambda unit: 1 if next((t for t in unit if t), Fraction(1)) > 0 else -1
    return tuple(sorted(tuple(sign(unit) * t for t in unit) for unit in copy))


# ---- the minimum-norm rescaling ----------------------------------------------------------------------------------


def imbalance(params: Params) -> list[Float[np.ndarray, "_"]]:
    r"""$\|w_i\|^2+b_i^2-\|a_i\|^2$ of every hidden neuron, layer by layer: in with bias, and out."""
    return [(W**2).sum(axis=1) + b**2 - (A**2).sum(axis=0) for (W, b), (A, _) in pairwise(params)]


def norm_squared(params: Params) -> float:
    r"""$\sum_\ell\|W_\ell\|^2+\|b_\ell\|^2$, the last offset left out: no symmetry moves it."""
    weights = sum(float((W**2).sum()) for W, _ in params)
    return weights + sum(float((b**2).sum()) for _, b in params[:-1])


def balance(description: Description) -> Description:
    """The copy with no imbalance, found neuron by neuron; neurons without weights on one side are left alone."""
    params = [(layer.weight.copy(), layer.bias.copy()) for layer in description.layers]
    for _ in range(SWEEPS):
        for (W, b), (A, _) in pairwise(params):
            into = np.sqrt((W**2).sum(axis=1) + b**2)
            out = np.sqrt((A**2).sum(axis=0))
            alive = (into > 0) & (out > 0)
            factor = np.sqrt(np.where(alive, out, 1.0) / np.where(alive, into, 1.0))
            W *= factor[:, None]
            b *= factor
            A /= factor
        if max(
            (float(np.abs(d).max(initial=0)) for d in imbalance(params)), default=0
        ) < 1e-13 * norm_squared(params):
            break
    layers = zip(params, description.layers)
    return Description(tuple(Dense(W, b, layer.activation) for (W, b), layer in layers))


# ---- in float64 --------------------------------------------------------------------


def exact_params(
    net: ExactNetwork,
) -> list[tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, "_"]]]:
    """Weights and biases rounded to float64."""
    table = lambda step: np.array([[float(a) for a in row] for row in step.matrix.table()]).reshape(
        step.matrix.shape
    )
    return [
        (table(step), np.array([float(fraction(rational(b))) for b in step.offset]))
        for step in net.steps
    ]
