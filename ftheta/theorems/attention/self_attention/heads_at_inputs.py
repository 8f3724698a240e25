"""What the attention heads of a network do at some inputs: rows of weights, hulls, the order of tokens, steepness."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Enclosure
from ftheta.networks.operators.attention import Projections, jacobian, self_attention
from ftheta.networks.transformers.heads import Attention

NEAR = 1e-9  # rounding of a few float64 operations, relative to the numbers in them
FORMED = 1 << 18  # entries of a Jacobian that is formed; larger ones are multiplied with
SCALES = tuple(np.geomspace(0.1, 30.0, 13))
DIRECTIONS = 32
TINY = 1e-300


class Product(NamedTuple):
    """Weights (heads, queries, keys), values (heads, keys, features) and results of one product at one input."""

    weights: np.ndarray
    values: np.ndarray
    results: np.ndarray


class WeightRow(NamedTuple):
    """Where a row of attention weights stands, and its sum."""

    input: int
    product: int
    head: int
    query: int
    total: float


@dataclass(frozen=True, eq=False)
class HeadsAtInputs:
    """A network (`net`), the attention in it, and what its heads do at `inputs` (rows)."""

    net: Any
    attention: Attention
    inputs: np.ndarray

    @cached_property
    def seen(self) -> list[list[Product]]:
        """For every input, every product."""
        return [[Product(*parts) for parts in self.attention.at(x)] for x in self.inputs]

    @property
    def products(self) -> Iterator[Product]:
        """All products at all inputs."""
        return (product for at_input in self.seen for product in at_input)

    # -- rows and hulls ------------------------------------------------------------------------------

    def worst_row(self) -> WeightRow:
        """The row of weights whose sum is farthest from 1; rows that see nothing are left out."""
        worst = WeightRow(0, 0, 0, 0, 1.0)
        for i, products in enumerate(self.seen):
            for p, (A, _, _) in enumerate(products):
                sums = np.nan_to_num(
                    np.where((A == 0).all(-1), 1.0, A.sum(-1)), nan=np.inf, posinf=np.inf
                )
                head, query = np.unravel_index(int(np.abs(sums - 1).argmax()), sums.shape)
                total = float(sums[head, query])
                if abs(total - 1) > abs(worst.total - 1):
                    worst = WeightRow(i, p, int(head), int(query), total)
        return worst

    def enclose_row_sum(self, row: WeightRow) -> Enclosure:
        """The sum of a row again: its weights in intervals rounded outward, summed in rationals."""
        again = self.attention.enclosed_weights(self.inputs[row.input], row.product)
        if again is None or not np.isfinite(again).all():
            return Enclosure.unknown()
        sums = [sum(map(Fraction, end[row.head, row.query].tolist()), Fraction(0)) for end in again]
        lower, upper = map(Enclosure.exact, sums)
        return Enclosure.between(lower.lo, upper.hi)

    def smallest_weight(self) -> float:
        return -largest(*(-product.weights for product in self.products))

    def hull_excess(self, rng: np.random.Generator) -> float:
        r"""The largest $\langle u,y_i\rangle-\max_j\langle u,v_j\rangle$, relative to the size of the values, for
        directions $u$ along the axes and at random."""
        worst = []
        for A, v, y in self.products:
            d = v.shape[-1]
            axes = np.eye(d)[:DIRECTIONS]
            U = np.concatenate([axes, -axes, rng.normal(size=(DIRECTIONS, d))]).T
            blind = (A == 0).all(-1)[..., None]
            beyond = np.where(blind, -np.inf, y @ U - (v @ U).max(1, keepdims=True))
            worst.append(largest(beyond / (np.abs(v).max() * np.abs(U).sum(0) + TINY)))
        return largest(worst)

    def message_gap(self) -> float:
        """How far the first input's results are from sums of messages along the edges of the complete graph."""
        gaps = [0.0]
        for A, v, y in self.seen[0]:
            rows = slice(0, max(1, FORMED // max(1, A[0].shape[1] * v[0].size)))
            sent = (A[:, rows, :, None] * v[:, None]).sum(2)
            gaps.append(largest(np.abs(sent - y[:, rows]) / (np.abs(v).max() + TINY)))
        return largest(gaps)

    # -- order ---------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> int:
        """How many tokens go in and come out along the last axis but one; 0 where they do not."""
        before = self.net.input_shape
        after = self.net.output_shape
        return (
            before[-2] if len(before) > 1 and len(after) > 1 and before[-2] == after[-2] > 1 else 0
        )

    @cached_property
    def order(self) -> str:
        """How the network tells tokens apart by their place; empty where neither a mask nor positions are seen."""
        if any((product.weights == 0).any() for product in self.products):
            return "a mask: some weights are 0"
        same = np.broadcast_to(self.inputs[0][..., :1, :], self.inputs[0].shape)
        out = self.attention.run(same)[0]
        gap = float(np.abs(out - out[..., :1, :]).max() / (np.abs(out).max() + TINY))
        return (
            f"positions: equal tokens get results that differ by {gap:.2g} of the largest"
            if gap > NEAR
            else ""
        )

    def equivariance_defect(self, rng: np.random.Generator) -> float:
        r"""$\max|f(Px)-Pf(x)|$ over the inputs, relative to the largest result, for a random permutation of each."""
        worst = [0.0]
        for x in self.inputs:
            turn = rng.permutation(self.tokens)
            y = self.attention.run(x)[0]
            moved = self.attention.run(np.take(x, turn, -2))[0]
            worst.append(largest(np.abs(moved - np.take(y, turn, -2)) / (np.abs(y).max() + TINY)))
        return largest(worst)

    # -- steepness -----------------------------------------------------------------------------------

    @cached_property
    def steepness(self) -> np.ndarray:
        """The local Lipschitz constant at the first input scaled by `SCALES`, and (last) at itself."""
        return self._slopes[0]

    @cached_property
    def _slopes(self) -> tuple[np.ndarray, np.ndarray | None]:
        x = self.inputs[0]
        return jacobian_norms(self.net, np.stack([*(scale * x for scale in SCALES), x]))

    def jacobian_gap(self) -> float | None:
        """Of a layer whose matrices are known: how far its Jacobian by differentiation is from the closed form."""
        found = self._slopes[1]
        if (
            not isinstance(self.net.params, Projections)
            or self.net.apply is not self_attention
            or found is None
        ):
            return None
        closed = jacobian(self.net.params, self.inputs[0])
        return float(np.abs(found.reshape(closed.shape) - closed).max() / np.abs(closed).max())


def jacobian_norms(net: Any, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    r"""$\|\partial f/\partial x\|_2$ at each input, and the last Jacobian where they are small enough to be formed.

    Larger ones are multiplied with, 30 power steps from below.
    """
    one = lambda x: jnp.ravel(net.apply(net.params, x.reshape(net.input_shape)))
    flat = xs.reshape(len(xs), -1)
    outputs = int(np.prod(net.output_shape))
    if outputs * flat.shape[1] <= FORMED:
        differentiate = jax.jacfwd if flat.shape[1] <= outputs else jax.jacrev
        jacobians = np.asarray(
            call_compiled(lambda rows: jax.lax.map(differentiate(one), rows), flat)
        )
        return np.linalg.norm(jacobians, 2, axis=(1, 2)), jacobians[-1]

    def power(x: Any) -> Any:
        _, forward = jax.linearize(one, x)
        _, backward = jax.vjp(one, x)
        unit = lambda v: v / jnp.linalg.norm(v)
        v = jax.lax.fori_loop(
            0, 30, lambda _, v: unit(backward(forward(v))[0]), unit(jnp.ones_like(x) + jnp.cos(x))
        )
        return jnp.linalg.norm(forward(v))

    return np.asarray(call_compiled(lambda rows: jax.lax.map(power, rows), flat)), None
