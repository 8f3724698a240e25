r"""Networks whose values and slopes are enclosed on cells at the price of a few matrix products.

**One hidden layer**, $g(x)=c+\sum_iv_i\sigma(\langle w_i,x\rangle+b_i)$: on a cell with half-widths $r$ the inner value
stays within $|w_i|\cdot r$ of that at the centre, $\sigma'$ on that interval is known in closed form, and
$\partial_jg\in\sum_iv_iw_{ij}\,\sigma'_i$.

**Interpolation on Kuhn's mesh** of a box: on every cube $\partial_jg$ is one of the differences of nodal values along
the edges in direction $j$.

Values hold for the network in real arithmetic with its weights as stored; sums are widened by their rounding, and every
$\sigma$ by eight units in the last place.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np
from scipy import special

from ftheta.graph.domains.interval import Interval
from ftheta.networks import Dense, Description
from ftheta.networks.activations import LEAK
from ftheta.shapes import Float

UNIT = 2.0**-52
BENDING = {"gelu": 0.8, "silu": 0.5}  # sup |σ''|: 2φ(0) < 0.8, and ½
LEAST = {"gelu": -0.17, "silu": -0.2785}  # below every value: −0.16997… and −0.27846…
VALUES = {
    "relu": lambda z: np.maximum(z, 0.0),
    "leaky-relu": lambda z: np.where(z > 0, z, float(LEAK) * z),
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "arctan": np.arctan,
    "softplus": lambda z: np.logaddexp(0.0, z),
    "gelu": lambda z: z * special.ndtr(z),
    "silu": lambda z: z * special.expit(z),
}
SLOPES = {
    "tanh": lambda z: 1 / np.cosh(np.minimum(np.abs(z), 300.0)) ** 2,
    "sigmoid": lambda z: special.expit(z) * special.expit(-z),
    "arctan": lambda z: 1 / (1 + z * z),
    "softplus": special.expit,
    "gelu": lambda z: special.ndtr(z) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
    "silu": lambda z: special.expit(z) * (1 + z * special.expit(-z)),
}


class Enclosed(Protocol):
    """A network that can be enclosed at points and on cells: its values `over` them, and its slopes."""

    @property
    def network(self) -> Description: ...

    @property
    def neurons(self) -> int: ...

    def values(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]: ...

    def at(self, x: Float[np.ndarray, "n d"]) -> Interval: ...

    def slopes(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval: ...

    def over(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval: ...


@dataclass(frozen=True, eq=False)
class Shallow:
    r"""$x\mapsto c+\sum_iv_i\,\sigma(\langle w_i,x\rangle+b_i)$."""

    activation: str
    weights: Float[np.ndarray, "m d"]
    biases: Float[np.ndarray, "m"]
    outer: Float[np.ndarray, "m"]
    constant: float

    @property
    def network(self) -> Description:
        hidden = Dense(self.weights, self.biases, self.activation)
        return Description((hidden, Dense(self.outer[None], np.array([self.constant]))))

    @classmethod
    def read(cls, net: Description) -> "Shallow":
        hidden, last = net.layers
        return cls(
            hidden.activation, hidden.weight, hidden.bias, last.weight[0], float(last.bias[0])
        )

    @property
    def neurons(self) -> int:
        return len(self.outer)

    def values(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        return (
            VALUES[self.activation](x @ self.weights.T + self.biases) @ self.outer + self.constant
        )

    def at(self, x: Float[np.ndarray, "n d"]) -> Interval:
        z, off = self._inner(x)
        sigma = VALUES[self.activation](z)
        size = np.abs(sigma)
        doubt = (1.2 * off + 8 * UNIT * (1 + size) + 2 * (self.neurons + 2) * UNIT * size) @ np.abs(
            self.outer
        )
        doubt = doubt * (1 + 8 * self.neurons * UNIT) + 4 * UNIT * abs(self.constant)
        middle = sigma @ self.outer + self.constant
        return Interval(
            middle - doubt - UNIT * np.abs(middle), middle + doubt + UNIT * np.abs(middle)
        )

    def over(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval:
        z, reach = self._inner_over(a, b)
        lo, hi = value_range(self.activation, z - reach, z + reach)
        middle = (lo + hi) / 2
        size = np.abs(lo) + np.abs(hi) + 1
        radius = ((hi - lo) / 2 + (8 + 2 * self.neurons) * UNIT * size) @ np.abs(self.outer)
        radius = radius * (1 + 8 * self.neurons * UNIT) + 4 * UNIT * abs(self.constant)
        value = middle @ self.outer + self.constant
        return Interval(
            value - radius - UNIT * np.abs(value), value + radius + UNIT * np.abs(value)
        )

    def slopes(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval:
        z, reach = self._inner_over(a, b)
        lo, hi = slope_range(self.activation, z - reach, z + reach)
        share = self.outer[:, None] * self.weights
        size = np.abs(share)
        middle = (lo + hi) / 2 @ share
        radius = (
            (hi - lo) / 2 + (8 + 2 * self.neurons) * UNIT * (np.abs(lo) + np.abs(hi) + 1)
        ) @ size
        radius = radius * (1 + 4 * self.neurons * UNIT)
        return Interval(middle - radius, middle + radius)

    def _inner_over(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inner values at the centres, and how far they move on the cells."""
        z, off = self._inner((a + b) / 2)
        reach = ((b - a) / 2 * (1 + 4 * UNIT)) @ np.abs(self.weights).T * (
            1 + 8 * UNIT * a.shape[1]
        ) + off
        return z, reach

    def _inner(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inner values, and how far rounding may have moved them."""
        off = (np.abs(x) @ np.abs(self.weights).T + np.abs(self.biases)) * (
            2 * (x.shape[1] + 2) * UNIT
        )
        return x @ self.weights.T + self.biases, off


def value_range(
    name: str,
    lo: Float[np.ndarray | np.float64, "*shape"],
    hi: Float[np.ndarray | np.float64, "*shape"],
) -> tuple[Float[np.ndarray | np.float64, "*shape"], Float[np.ndarray | np.float64, "*shape"]]:
    r"""The range of $\sigma$ over intervals, before rounding: it rises, or falls to its least value and then rises."""
    sigma = VALUES[name]
    low = sigma(lo)
    high = sigma(hi)
    if name not in LEAST:
        return low, high
    return np.where(lo < 0, LEAST[name], low), np.maximum(low, high)


def slope_range(
    name: str,
    lo: Float[np.ndarray | np.float64, "*shape"],
    hi: Float[np.ndarray | np.float64, "*shape"],
) -> tuple[Float[np.ndarray | np.float64, "*shape"], Float[np.ndarray | np.float64, "*shape"]]:
    r"""The range of $\sigma'$ over intervals, at a kink both slopes."""
    if name in ("relu", "leaky-relu"):
        low = 0.0 if name == "relu" else float(LEAK)
        return np.where(lo > 0, 1.0, low), np.where(hi >= 0, 1.0, low)
    slope = SLOPES[name]
    if name == "softplus":
        return slope(lo), slope(hi)
    if name in BENDING:
        middle = slope((lo + hi) / 2)
        radius = BENDING[name] * (hi - lo) / 2
        return middle - radius, middle + radius
    far = np.maximum(np.abs(lo), np.abs(hi))
    near = np.where(lo * hi <= 0, 0.0, np.minimum(np.abs(lo), np.abs(hi)))
    return slope(far), slope(near)  # even, and falling away from 0


@dataclass(frozen=True, eq=False)
class Kuhn:
    r"""The interpolant of `nodal` values on the mesh of Kuhn, $t=sx+\beta\in[0,n]^d$ with nodes at whole numbers.

    Its network first computes $t$; all other inner weights are whole numbers, so that the hats are those of the mesh
    exactly. With $z=t-k$ the hat is $(1-\max(0,z)+\min(0,z))_+$, extremes over the coordinates: two further hidden
    layers for $d=2$, where $\max-\min=\frac12(|z_1|+|z_2|+|z_1-z_2|)$, three for $d=3$.
    """

    nodal: Float[np.ndarray, "*nodes"]
    scale: Float[np.ndarray, "d"]
    shift: Float[np.ndarray, "d"]

    @property
    def dimension(self) -> int:
        return self.nodal.ndim

    @property
    def cells(self) -> int:
        return self.nodal.shape[0] - 1

    @property
    def network(self) -> Description:
        first = Dense(np.diag(self.scale), self.shift, "relu")
        hats = _hats_in_the_plane(self.cells) if self.dimension == 2 else _hats_in_space(self.cells)
        return Description((first, *hats, Dense(self.nodal.reshape(1, -1), np.zeros(1))))

    @property
    def neurons(self) -> int:
        n = self.cells
        nodes = self.nodal.size
        shared = {1: 0, 2: 2 * (4 * n + 3), 3: 8 * n + 7}[self.dimension]
        return self.dimension + shared + (3 if self.dimension == 3 else 1) * nodes

    def values(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """By sorting the fractions: along the path from the lower corner of the cube."""
        t = np.clip(x * self.scale + self.shift, 0.0, self.cells)
        corner = np.minimum(t.astype(int), self.cells - 1)
        part = t - corner
        found = self.nodal[tuple(corner.T)]
        rows = np.arange(len(x))
        for axis in np.argsort(-part, axis=1).T:
            after = corner.copy()
            after[rows, axis] += 1
            found = found + part[rows, axis] * (
                self.nodal[tuple(after.T)] - self.nodal[tuple(corner.T)]
            )
            corner = after
        return found

    def at(self, x: Float[np.ndarray, "n d"]) -> Interval:
        middle = self.values(x)
        doubt = (4 * self.dimension * self._slip + 64 * UNIT) * float(np.abs(self.nodal).max())
        return Interval(middle - doubt, middle + doubt)

    def over(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval:
        """Between the least and the largest nodal value of the cubes that a cell meets; of all for long cells."""
        low = np.floor(a * self.scale + self.shift - self._slip).astype(int).clip(0, self.cells - 1)
        high = (
            np.floor(b * self.scale + self.shift + self._slip).astype(int).clip(0, self.cells - 1)
        )
        long = (high - low > 1).any(axis=1)
        corners = list(product((False, True), repeat=self.dimension))
        cubes = [np.where(pick, high, low) for pick in corners]
        nodes = [
            self.nodal[tuple((cube + step).T)] for cube in cubes for step in np.array(corners, int)
        ]
        lo = np.where(long, self.nodal.min(), np.minimum.reduce(nodes))
        hi = np.where(long, self.nodal.max(), np.maximum.reduce(nodes))
        doubt = (4 * self.dimension * self._slip + 64 * UNIT) * float(np.abs(self.nodal).max())
        return Interval(lo - doubt, hi + doubt)

    @property
    def _slip(self) -> float:
        """How far rounding may move t."""
        return 16 * UNIT * (float(np.abs(self.shift).max()) + self.cells + 1)

    @cached_property
    def _edges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """On every cube: the least and the largest difference along its edges, for each direction."""
        found = []
        for axis in range(self.dimension):
            steps = np.diff(self.nodal, axis=axis)
            sides = [
                [slice(None)] if j == axis else [slice(None, -1), slice(1, None)]
                for j in range(self.dimension)
            ]
            corners = [steps[place] for place in product(*sides)]
            found.append((np.minimum.reduce(corners), np.maximum.reduce(corners)))
        return found

    def slopes(self, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval:
        """Unknown on cells that are longer than a cube of the mesh."""
        low = np.floor(a * self.scale + self.shift - self._slip).astype(int).clip(0, self.cells - 1)
        high = (
            np.floor(b * self.scale + self.shift + self._slip).astype(int).clip(0, self.cells - 1)
        )
        long = (high - low > 1).any(axis=1, keepdims=True)
        cubes = [
            tuple(np.where(pick, high, low).T)
            for pick in product((False, True), repeat=self.dimension)
        ]
        lo = np.empty(a.shape)
        hi = np.empty(a.shape)
        for j, (least, most) in enumerate(self._edges):
            lo[:, j] = np.minimum.reduce([least[c] for c in cubes]) * self.scale[j]
            hi[:, j] = np.maximum.reduce([most[c] for c in cubes]) * self.scale[j]
        doubt = 8 * UNIT * float(np.abs(self.nodal).max()) * self.scale
        return Interval(np.where(long, -np.inf, lo - doubt), np.where(long, np.inf, hi + doubt))


def _hats_in_the_plane(n: int) -> list[Dense]:
    nodes = np.arange(n + 1)
    diagonals = np.arange(-n, n + 1)
    lines = [
        *(((1, 0), k) for k in nodes),
        *(((0, 1), k) for k in nodes),
        *(((1, -1), c) for c in diagonals),
    ]
    rows = np.array([sign * np.array(w) for w, _ in lines for sign in (1, -1)])
    biases = np.array([-sign * k for _, k in lines for sign in (1, -1)])
    halves = np.zeros(((n + 1) ** 2, len(lines)))
    for i, (p, q) in enumerate(product(nodes, nodes)):
        halves[i, [p, n + 1 + q, 2 * (n + 1) + n + p - q]] = -0.5
    return [
        Dense(rows, biases, "relu"),
        Dense(np.repeat(halves, 2, axis=1), np.ones(len(halves)), "relu"),
    ]


def _hats_in_space(n: int) -> list[Dense]:
    r"""$z=(z_1,z_2,z_3)$: $\max-\min$ of $\{0,z\}$ is $p_1+q_1+(z_3+p-p_1)_++(q-q_1-z_3)_+$ with $p_1,q_1$ the parts of
    $z_1$ and $p,q$ those of $z_2-z_3$."""
    nodes = np.arange(n + 1)
    gaps = np.arange(-n, n + 1)
    m = n + 1
    first = [*(((1, 0, 0), k) for k in nodes), *(((0, 1, -1), c) for c in gaps)]
    rows = [sign * np.array(w) for w, _ in first for sign in (1, -1)] + [np.array([0, 0, 1])]
    biases = [-sign * k for _, k in first for sign in (1, -1)] + [0]
    inner = len(rows)
    corners = list(product(nodes, nodes, nodes))
    second = np.zeros((2 * m + 2 * len(corners), inner))
    second[: 2 * m, : 2 * m] = np.eye(2 * m)  # p₁ and q₁ go through
    shift = np.zeros(len(second))
    third = np.zeros((len(corners), len(second)))
    for i, (k, p, q) in enumerate(corners):
        gap = 2 * m + 2 * (n + p - q)
        up = 2 * m + 2 * i
        second[up, [2 * k, gap, inner - 1]], shift[up] = (-1, 1, 1), -q
        second[up + 1, [2 * k + 1, gap + 1, inner - 1]], shift[up + 1] = (-1, 1, -1), q
        third[i, [2 * k, 2 * k + 1, up, up + 1]] = -1
    made = Dense(np.array(rows), np.array(biases), "relu"), Dense(second, shift, "relu")
    return [*made, Dense(third, np.ones(len(third)), "relu")]
