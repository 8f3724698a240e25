r"""The margin of a label over all others, its gradient, and steps that lower it within a ball in ℓ1, ℓ2 or ℓ∞."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import compile_alike
from ftheta.shapes import Float, Int

Array = np.ndarray
CLASSES = 10  # of the largest other outputs, that are compared with that of the label
FEW = 8  # rows, which a small network takes as quickly as one: no programs for fewer
SMALL = 10_000  # parameters of such a network
SPARSE = 0.03  # of the entries that one step in ℓ1 changes


_CLASSIFIERS: WeakKeyDictionary[Any, "Classifier"] = WeakKeyDictionary()


class Classifier:
    """A network on flat inputs, compiled for batches of a few sizes: rows are filled up to a power of two."""

    @classmethod
    def of(cls, net: Any) -> "Classifier":
        """That of a network, compiled once: networks do not change."""
        if net not in _CLASSIFIERS:
            _CLASSIFIERS[net] = cls(net)
        return _CLASSIFIERS[net]

    def __init__(self, net: Any) -> None:
        shape = net.input_shape
        apply = net.apply  # not the network itself, which is kept as long as it is used elsewhere
        params = net.params

        def outputs(x: jax.Array) -> jax.Array:
            return jnp.ravel(apply(params, x.reshape(shape)))

        def margin(x: jax.Array, label: jax.Array) -> jax.Array:
            y = outputs(x)
            return y[label] - jnp.max(jnp.where(jnp.arange(len(y)) == label, -jnp.inf, y))

        def differences(x: jax.Array, label: jax.Array) -> tuple[jax.Array, jax.Array]:
            y, pull = jax.vjp(outputs, x)
            count = min(CLASSES, len(y) - 1)
            _, others = jax.lax.top_k(jnp.where(jnp.arange(len(y)) == label, -jnp.inf, y), count)
            rows = jax.nn.one_hot(label, len(y), dtype=y.dtype) - jax.nn.one_hot(
                others, len(y), dtype=y.dtype
            )
            return rows @ y, jax.vmap(lambda row: pull(row)[0])(rows)

        parameters = sum(np.size(leaf) for leaf in jax.tree.leaves(params))
        least = FEW if parameters <= SMALL else 1
        self.outputs = jax.vmap(outputs)
        self._values = _Batched(self.outputs, least)
        self._margin_and_slope = _Batched(jax.vmap(jax.value_and_grad(margin)), least)
        self._differences = _Batched(jax.vmap(differences), least)

    def values(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """The outputs, (rows, outputs)."""
        return self._values(x)[0]

    def margin_and_slope(
        self, x: Float[np.ndarray, "n d"], label: Int[np.ndarray, "n"]
    ) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n d"]]:
        """The output of the label minus the largest other one, and its gradient."""
        value, slope = self._margin_and_slope(x, label)
        return value, np.nan_to_num(slope)

    def differences(
        self, x: Float[np.ndarray, "n d"], label: Int[np.ndarray, "n"]
    ) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k d"]]:
        """For the largest other outputs: the margin of the label over each, and its gradient."""
        value, slope = self._differences(x, label)
        return value, np.nan_to_num(slope)


class _Batched:
    """A function of rows in float64, compiled for each size of a batch, and once for all networks of one form."""

    def __init__(self, function: Callable[..., Any], least: int) -> None:
        self._function = function
        self._least = least
        self._programs: dict[int, Callable[..., Any]] = {}

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        rows = len(arrays[0])
        size = max(self._least, 1 << (rows - 1).bit_length()) if rows else 0
        padded = [np.concatenate([a, np.repeat(a[:1], size - rows, axis=0)]) for a in arrays]
        with jax.enable_x64(True):
            if size not in self._programs:
                self._programs[size] = compile_alike(self._function, *padded)
            return tuple(
                np.asarray(part)[:rows] for part in jax.tree.leaves(self._programs[size](*padded))
            )


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs `x` (rows, entries) of a classifier with their labels, and the ends of what an entry may be."""

    net: Classifier
    x: Float[np.ndarray, "n d"]
    label: Int[np.ndarray, "n"]
    low: Float[np.ndarray, "d"]
    high: Float[np.ndarray, "d"]
    norm: float
    shape: tuple[int, ...]

    def margin(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """The output of the label minus the largest other one."""
        return margin_of(self.net.values(x), self.label)

    def part(self, rows: Int[np.ndarray, "k"]) -> "Problem":
        """Some of the rows."""
        return replace(self, x=self.x[rows], label=self.label[rows])

    def length(self, delta: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """The norm of each row."""
        return np.linalg.norm(delta, ord=self.norm, axis=1)

    def project(
        self,
        x: Float[np.ndarray, "n d"],
        centre: Float[np.ndarray, "n d"],
        radius: Float[np.ndarray, "n"],
    ) -> Float[np.ndarray, "n d"]:
        """Into the box, then towards the centre into the ball: the centre lies in the box, so that this stays there."""
        delta = np.clip(x, self.low, self.high) - centre
        if self.norm == inf:
            return centre + np.clip(delta, -radius[:, None], radius[:, None])
        if self.norm == 2:
            length = self.length(delta)
            return centre + delta * np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]
        return centre + project_to_l1(delta, radius)

    def steepest(self, slope: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The direction of length 1 in which a step lowers the margin most (in ℓ1: that of several large entries)."""
        if self.norm == inf:
            return -np.sign(slope)
        if self.norm == 2:
            return -slope / np.maximum(self.length(slope), 1e-300)[:, None]
        count = max(1, round(SPARSE * slope.shape[1]))
        least = -np.partition(-np.abs(slope), count - 1, axis=1)[:, count - 1 : count]
        chosen = np.where(np.abs(slope) >= least, -np.sign(slope), 0.0)
        return chosen / np.maximum(np.abs(chosen).sum(1, keepdims=True), 1.0)


def margin_of(y: Float[np.ndarray, "n m"], label: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """The output of the label minus the largest other one."""
    rows = np.arange(len(y))
    others = y.copy()
    others[rows, label] = -inf
    return y[rows, label] - others.max(1)


def project_to_l1(
    delta: Float[np.ndarray, "n d"], radius: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n d"]:
    r"""The nearest rows with $\|\delta\|_1\le r$: all entries moved towards 0 by one threshold."""
    size = np.abs(delta)
    ranked = -np.sort(-size, axis=1)
    excess = ranked.cumsum(1) - radius[:, None]
    counts = np.arange(1, delta.shape[1] + 1)
    kept = np.maximum((ranked - excess / counts > 0).sum(1), 1)
    threshold = np.maximum(excess[np.arange(len(delta)), kept - 1] / kept, 0.0)
    inside = size.sum(1) <= radius
    return np.where(
        inside[:, None], delta, np.sign(delta) * np.maximum(size - threshold[:, None], 0.0)
    )
