r"""Codes of few numbers: the best linear ones, and autoencoders that are trained from there and may bend.

Rows are taken about their mean in the coordinates of their singular vectors, an orthonormal change: the best linear
code of $r$ numbers is then the first $r$ coordinates, and errors are those of the rows. An autoencoder is that linear
code plus a hidden layer on either side, which begins at zero: nothing is lost at the start. Several code sizes are
trained as one network; their losses add up and Adam acts on every number alone, so that none knows of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.training.fitting import fit

RATE = 1e-2
MOST_COORDINATES = 64
# of data that are looked at
ROWS = 400
ENTRIES = 4_000_000
LEFT_OUT = 4  # every fourth row is not trained on


@dataclass(frozen=True, eq=False)
class Coordinates:
    """`y[i]`: row i along the singular vectors `V` of the rows that are learnt from; `outside[i]`: the square of what
    is left. In units in which the learnt rows have mean square 1 about their mean."""

    mean: np.ndarray
    V: np.ndarray
    unit: float
    y: np.ndarray
    outside: np.ndarray
    learnt: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        """The root mean square of every coordinate over the learnt rows."""
        return np.sqrt((self.y[self.learnt] ** 2).mean(0))

    def linear_errors(self, r: int) -> np.ndarray:
        """The squared error of the best linear code of r numbers, row by row."""
        return (self.y[:, r:] ** 2).sum(1) + self.outside

    def rows(self, y: np.ndarray) -> np.ndarray:
        """Rows with these coordinates."""
        return self.mean + self.unit * y @ self.V


def split(n: int) -> np.ndarray:
    """Which of n rows are learnt from: all but every fourth, or all of a few."""
    return np.arange(n) % LEFT_OUT != LEFT_OUT // 2 if n >= 2 * LEFT_OUT else np.ones(n, bool)


def coordinates(X: np.ndarray) -> Coordinates:
    """The rows of `X` about the mean of the learnt ones, along their singular vectors."""
    learnt = split(len(X))
    mean = X[learnt].mean(0)
    Z = X - mean
    unit = float(np.sqrt((Z[learnt] ** 2).sum(1).mean())) or 1.0
    V = np.linalg.svd(Z[learnt], full_matrices=False)[2][:MOST_COORDINATES]
    y = Z @ V.T / unit
    outside = np.maximum((Z**2).sum(1) / unit**2 - (y**2).sum(1), 0.0)
    return Coordinates(mean, V, unit, y, outside, learnt)


@dataclass(frozen=True, eq=False)
class Shape:
    """Autoencoders of code `sizes` with `hidden` neurons on either side, of rows with these spreads."""

    sizes: tuple[int, ...]
    hidden: int
    spread: np.ndarray

    @property
    def longest(self) -> int:
        return max(self.sizes)

    @property
    def scale(self) -> np.ndarray:
        return np.maximum(self.spread[: self.longest], 1e-9)

    @property
    def kept(self) -> np.ndarray:
        """Which numbers of the longest code each autoencoder has."""
        return (np.arange(self.longest) < np.array(self.sizes)[:, None]).astype(float)

    def initial(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The best linear code: what bends it is multiplied by zero."""
        m = len(self.sizes)
        k = len(self.spread)
        R = self.longest
        h = self.hidden
        straight = np.zeros((m, R, k))
        straight[:, np.arange(R), np.arange(R)] = self.scale
        return {
            "feel": 2 * rng.normal(size=(m, k, h)),
            "feel_bias": rng.normal(size=(m, h)),
            "bend_code": np.zeros((m, h, R)),
            "straight": straight,
            "unfold": 1.5
            * rng.normal(size=(m, R, h))
            / np.sqrt(np.array(self.sizes))[:, None, None],
            "unfold_bias": rng.normal(size=(m, h)),
            "bend": np.zeros((m, h, k)),
        }

    def code(self, params: dict[str, Any], y: Any) -> Any:
        """Of shape (autoencoders, longest code), of one row."""
        felt = jnp.tanh(jnp.einsum("k,mkh->mh", y, params["feel"]) + params["feel_bias"])
        return self.kept * (
            y[: self.longest] / self.scale + jnp.einsum("mh,mhr->mr", felt, params["bend_code"])
        )

    def decode(self, params: dict[str, Any], code: Any) -> Any:
        """Rows in coordinates, of shape (autoencoders, coordinates), of one code each."""
        wide = jnp.tanh(jnp.einsum("mr,mrh->mh", code, params["unfold"]) + params["unfold_bias"])
        line = jnp.einsum("mr,mrk->mk", code, params["straight"])
        return line + jnp.einsum("mh,mhk->mk", wide, params["bend"])

    def apply(self, params: dict[str, Any], y: Any) -> Any:
        """What every autoencoder makes of one row."""
        return self.decode(params, self.code(params, y))


@dataclass(frozen=True, eq=False)
class Codes:
    """Trained autoencoders of all `shape.sizes` on all rows: `code[size, row]` and `output[size, row]`."""

    given: Coordinates
    shape: Shape
    code: np.ndarray
    output: np.ndarray

    @cached_property
    def errors(self) -> np.ndarray:
        """Squared errors, `[size, row]`. Where training made the learnt rows worse, the start is kept."""
        given = self.given
        learnt = self.given.learnt
        found = ((self.output - given.y) ** 2).sum(2) + given.outside
        straight = np.array([given.linear_errors(r) for r in self.shape.sizes])
        better = found[:, learnt].mean(1) <= straight[:, learnt].mean(1)
        return np.where(better[:, None], found, straight)

    def of(self, r: int) -> int:
        """The index of the autoencoder with r numbers."""
        return self.shape.sizes.index(r)


def train_codes(
    given: Coordinates, sizes: Sequence[int], hidden: int, steps: int, rng: np.random.Generator
) -> Codes:
    """Train on the learnt rows, all at every step, with a step that falls to zero."""
    shape = Shape(tuple(sizes), hidden, given.spread)
    y = given.y[given.learnt]
    run = fit(
        (shape.initial(rng), shape.apply),
        (y, np.repeat(y[:, None], len(sizes), 1)),
        "squared",
        "adam",
        step=lambda k: RATE * (1 + jnp.cos(jnp.pi * jnp.minimum(k / steps, 1.0))) / 2,
        steps=steps,
        dtype=np.float32,
        progress=False,
    )
    params = {name: np.asarray(value, np.float64) for name, value in run.params.items()}
    both = lambda params, y: (shape.code(params, y), shape.apply(params, y))
    with jax.enable_x64(True):
        code, output = call_compiled(jax.vmap(both, (None, 0)), params, given.y)
    return Codes(given, shape, np.asarray(code).swapaxes(0, 1), np.asarray(output).swapaxes(0, 1))


def first_rows(X: np.ndarray) -> np.ndarray:
    """As many as are looked at; in units of the largest entry where squares would leave the range of float64."""
    flat = X.reshape(len(X), -1)
    rows = flat[: max(2, min(ROWS, ENTRIES // flat.shape[1]))].astype(float)
    size = float(np.abs(rows).max()) or 1.0
    return rows if 1e-100 < size < 1e100 else rows / size


def linear_share(given: Coordinates, r: int) -> float:
    """What every linear code of r numbers loses on the learnt rows, as a share of their square about the mean."""
    return float(given.linear_errors(r)[given.learnt].mean())


def memory_error(given: Coordinates, rng: np.random.Generator) -> float:
    """The mean square error of that memory on rows it does not hold, in float64."""
    y = given.y[given.learnt]
    others = ~given.learnt
    w = rng.normal(size=y.shape[1])
    order = np.argsort(y @ w)
    decoded = np.column_stack(
        [np.interp(given.y[others] @ w, (y @ w)[order], column) for column in y[order].T]
    )
    return float((((decoded - given.y[others]) ** 2).sum(1) + given.outside[others]).mean())
