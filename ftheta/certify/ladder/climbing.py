r"""Where a chain is steep: points with a large norm of the Jacobian, by ascent and by mutation.

The norm of the Jacobian of a ReLU network is constant on each piece, so its gradient says nothing. With slopes smoothed
over a temperature it says which neurons should switch: `climb` follows it while the temperature falls. The steepest
pieces are often tiny, where many hyperplanes meet: with few inputs, walks go from piece to piece (`walking.py`), and
`mutate` keeps the best of random neighbours at distances over many orders of magnitude. Nothing here needs rigour; the
secant that is found is evaluated again (`secants.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ftheta.shapes import Float, Real

from .chains import Chain
from .curves import curve, surrogate
from .domains import Domain
from .walking import walk

Array = np.ndarray
SPACE = Domain(None, "all of space")
TEMPERATURES = (0.5, 0.02)  # first and last, in units of the root mean square of a layer
STEPS = (0.3, 0.01)  # first and last, in units of the spread of the starts
DISTANCES = (1e-6, 1.0)  # of mutations, likewise
SCALES = (0.02, 2.0)  # of starts over all of space, in units of the natural scale
CHILDREN = 4  # of each parent at first
MOST_ROUNDS = 200  # of mutation
CLIMBS = 100  # steps of one ascent
FLOPS = 2.4e10  # elementary operations that count as one second of work
ENTRY = 16  # operations that one activation costs
LEAST = 8_000  # operations that one point costs however small the network is: what calls of NumPy take, in batches
FEW = 16  # outputs (inputs) up to which the norm ∞ (1) of a Jacobian is computed row by row (column by column)
MOST_INPUTS_FOR_NEIGHBOURS = 32  # up to here random neighbours reach every direction
WALKING = 0.8  # of what is left after the ascents: walks from piece to piece
SHARES = (0.05, 0.8)  # of the work that goes into ascents: with few inputs, with many


@dataclass(frozen=True, eq=False)
class Steep:
    """A point, the direction in which the Jacobian there stretches most, and by how much (in float64)."""

    x: Float[np.ndarray, "d"]
    direction: Float[np.ndarray, "d"]
    slope: float
    tried: int


@np.errstate(all="ignore")
def find_steep(
    chain: Chain,
    norm: float,
    rng: np.random.Generator,
    *,
    work: float,
    domain: Domain = SPACE,
    rows: Real[np.ndarray, "n d"] | None = None,
) -> Steep:
    """The steepest point of the domain found with so much `work` (seconds of a machine with `FLOPS`). `rows` are
    further points to start from."""
    search = _Search(chain, norm, rng, domain)
    if len(chain.weights) == 1:
        search.look(search.starts(1, rows))
        return search.best()  # the slope is the same everywhere
    cost = max(LEAST, 2.0 * sum(W.size + ENTRY * len(W) for W in chain.weights))
    evaluations = work * FLOPS / cost
    share = SHARES[chain.inputs > MOST_INPUTS_FOR_NEIGHBOURS]
    count = int(np.clip(evaluations * share / (CLIMBS * 10), 4, 64))
    for _ in range(max(1, int(evaluations * share / (CLIMBS * 10 * count)))):
        search.climb(search.starts(count, rows))
    rest = evaluations * (1 - share)
    if chain.inputs <= MOST_INPUTS_FOR_NEIGHBOURS and chain.is_piecewise_affine:
        walk(search, WALKING * rest, rows)
        rest -= WALKING * rest
    search.mutate(rest, rows)
    return search.best()


class _Search:
    """The steepest point met so far, and the ends of all ascents."""

    def __init__(self, chain: Chain, norm: float, rng: np.random.Generator, domain: Domain) -> None:
        self.chain = chain
        self.norm = norm
        self.rng = rng
        self.domain = domain
        box = domain.hull
        self.box = box
        self.tried = 0
        d = chain.inputs
        self.steepest = Steep(
            np.zeros(d) if box is None else (box[0] + box[1]) / 2, np.ones(d), 0.0, 0
        )
        self.ends = np.zeros((0, d))
        self.spread = natural_scale(chain) * np.ones(d) if box is None else (box[1] - box[0]) / 2

    # ---- where to begin ----

    def starts(self, count: int, rows: Array | None) -> Array:
        d = self.chain.inputs
        if self.box is not None:
            lo, hi = self.box
            drawn = self.rng.uniform(size=(count, d)) * (hi - lo) + lo
        else:
            scale = np.exp(self.rng.uniform(*np.log(SCALES), size=(count, 1)))
            drawn = scale * self.spread * self.rng.normal(size=(count, d))
        if rows is not None and len(rows):
            k = min(len(rows), (count + 1) // 2)
            drawn[:k] = rows[self.rng.permutation(len(rows))[:k]]
        return self.clip(drawn)

    def clip(self, x: Array) -> Array:
        return self.domain.project(x)

    # ---- what is kept ----

    def look(self, x: Array, v: Array | None = None, rounds: int = 3) -> tuple[Array, Array]:
        """Slopes and directions at the points; the steepest one is kept."""
        v = self.rng.normal(size=x.shape) if v is None else v
        _, v, size = stretch(self.chain.weights, self.slopes_at(x), v, self.norm, rounds)
        size = np.where(self.domain.holds(x), np.nan_to_num(size, nan=0.0, posinf=0.0), 0.0)
        self.tried += len(x)
        k = int(size.argmax())
        if size[k] > self.steepest.slope:
            self.steepest = Steep(x[k].copy(), v[k].copy(), float(size[k]), self.tried)
        return size, v

    def best(self) -> Steep:
        """The steepest point, with a direction that is good to many digits."""
        self.look(self.steepest.x[None], self.steepest.direction[None], rounds=100)
        return replace(self.steepest, tried=self.tried)

    def slopes_at(self, x: Array) -> list[Array]:
        found = []
        h = x
        for W, b, word in zip(self.chain.weights, self.chain.biases, self.chain.words):
            z = h @ W.T + b
            found.append(curve(word).slope(z))
            h = curve(word).value(z)
        return found

    # ---- ascent ----

    def climb(self, x: Array) -> None:
        """Normalised gradient ascent with momentum; temperature and steps fall."""
        v = self.rng.normal(size=x.shape)
        first = np.zeros_like(x)
        second = np.zeros_like(x)
        for k in range(CLIMBS):
            share = k / (CLIMBS - 1)
            G, v = self.gradient(x, v, _between(TEMPERATURES, share))
            first = 0.9 * first + 0.1 * G
            second = 0.99 * second + 0.01 * G**2
            step = first / (1 - 0.9 ** (k + 1)) / (np.sqrt(second / (1 - 0.99 ** (k + 1))) + 1e-12)
            x = self.clip(x + _between(STEPS, share) * self._reach(x) * step)
            if k % 10 == 9:
                self.look(x, v)
        self.ends = np.concatenate([self.ends, x])

    def _reach(self, x: Array) -> Array:
        """How far a step of size 1 goes: over all of space it grows with the point."""
        if self.box is not None:
            return self.spread
        return np.sqrt((x**2).mean(1, keepdims=True)) + 0.02 * self.spread

    def gradient(self, x: Array, v: Array, temperature: float) -> tuple[Array, Array]:
        """Of the norm of the smoothed Jacobian, of length 1, and the direction that it stretches most."""
        weights = self.chain.weights
        slopes = []
        bends = []
        h = x
        for W, b, word in zip(weights, self.chain.biases, self.chain.words):
            z = h @ W.T + b
            size = np.sqrt((z**2).mean(1, keepdims=True)) + 1e-300
            slope, bend = surrogate(word, z, temperature * size)
            slopes.append(slope)
            bends.append(bend)
            h = curve(word).value(z)
        u, v, _ = stretch(weights, slopes, v, self.norm, 2)
        before = []
        q = v
        for W, D in zip(weights, slopes):
            before.append(q @ W.T)
            q = D * before[-1]
        s = u @ weights[-1]
        back = np.zeros_like(s)
        for W, D, bend, r in zip(
            *(list(reversed(part)) for part in (weights[:-1], slopes, bends, before))
        ):
            back = (s * r * bend + back * D) @ W
            s = (D * s) @ W
        size = np.linalg.norm(back, axis=1, keepdims=True)
        return np.nan_to_num(back / np.maximum(size, 1e-300)), v

    # ---- mutation ----

    def mutate(self, evaluations: float, rows: Array | None) -> None:
        """Ever fewer parents with ever more children each, at distances over many orders of magnitude."""
        rounds = int(np.clip(evaluations / (6 * 512), 1, MOST_ROUNDS))
        size = int(np.clip(evaluations / (6 * rounds), 32, 4096))
        parents = max(1, size // CHILDREN)
        x = np.concatenate([self.ends[:parents], self.starts(16 * parents, rows)])
        slopes, v = self.look(x, rounds=6)
        keep = np.argsort(-slopes, kind="stable")[:parents]
        x, v, slopes = x[keep], v[keep], slopes[keep]
        cuts = {rounds // 4, rounds // 2, 3 * rounds // 4}
        for k in range(rounds):
            if k in cuts:
                keep = np.argsort(-slopes, kind="stable")[: max(1, len(x) // 2)]
                x, v, slopes = x[keep], v[keep], slopes[keep]
            children = max(1, size // len(x))
            y = np.repeat(x, children, axis=0)
            distance = np.exp(self.rng.uniform(*np.log(DISTANCES), size=(len(y), 1)))
            y = self.clip(y + distance * self._reach(y) * self.rng.normal(size=y.shape))
            noise = (
                0.3
                * self.rng.normal(size=y.shape)
                * np.repeat(np.abs(v).max(1, keepdims=True), children, axis=0)
            )
            found, along = self.look(y, np.repeat(v, children, axis=0) + noise, rounds=2)
            best = found.reshape(len(x), children).argmax(1) + children * np.arange(len(x))
            better = found[best] > slopes
            x[better] = y[best[better]]
            v[better] = along[best[better]]
            slopes[better] = found[best[better]]


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] * (ends[1] / ends[0]) ** share


def natural_scale(chain: Chain) -> float:
    """Where the first layer bends: the size of its biases over that of its rows; 1 without biases."""
    rows = float(np.median(np.linalg.norm(chain.weights[0], axis=1)))
    offset = float(np.sqrt(np.mean(chain.biases[0] ** 2)))
    scale = offset / rows if rows > 0 else 0.0
    return scale if np.isfinite(scale) and scale > 0 else 1.0


def look_at(chain: Chain, x: Float[np.ndarray, "d"], norm: float) -> Steep:
    """The Jacobian at one point: its norm, and the direction in which it stretches most."""
    search = _Search(chain, norm, np.random.default_rng(0), SPACE)
    search.look(x[None], rounds=100)
    return search.steepest


def stretch(
    weights: Sequence[Float[np.ndarray, "_m _n"]],
    slopes: Sequence[Float[np.ndarray, "k _n"]],
    v: Float[np.ndarray, "k d"],
    norm: float,
    rounds: int,
) -> tuple[Float[np.ndarray, "k m"], Float[np.ndarray, "k d"], Float[np.ndarray, "k"]]:
    r"""For each row the directions $u$, $v$ after some rounds of $v\leftarrow\arg\max u^\top Jv$ and of $u$ likewise,
    and $\|Jv\|/\|v\|$: power iteration, in the dual norms."""
    if norm == inf and len(weights[-1]) <= FEW:
        return _largest_row(weights, slopes, v)
    if norm == 1 and v.shape[1] <= FEW:
        return _largest_column(weights, slopes, v)
    u = v
    size = np.zeros(len(v))
    for k in range(rounds + 1):
        image = _forward(weights, slopes, v)
        size = np.linalg.norm(image, ord=norm, axis=1) / np.maximum(
            np.linalg.norm(v, ord=norm, axis=1), 1e-300
        )
        u = _norming(image, norm)
        if k == rounds:
            break
        v = _norming(_backward(weights, slopes, u), {1: inf, 2: 2, inf: 1}[norm])
    return u, v, size


def _forward(weights: Sequence[Array], slopes: Sequence[Array], v: Array) -> Array:
    for W, D in zip(weights, slopes):
        v = D * (v @ W.T)
    return v @ weights[-1].T


def _backward(weights: Sequence[Array], slopes: Sequence[Array], u: Array) -> Array:
    s = u @ weights[-1]
    for W, D in zip(reversed(weights[:-1]), reversed(slopes)):
        s = (D * s) @ W
    return s


def _largest_row(
    weights: Sequence[Array], slopes: Sequence[Array], v: Array
) -> tuple[Array, Array, Array]:
    """All rows of the Jacobians: the largest sum of absolute values, and the signs that attain it."""
    units = np.eye(len(weights[-1]))
    rows = np.stack(
        [_backward(weights, slopes, np.broadcast_to(e, (len(v), len(e)))) for e in units], 1
    )
    sums = np.abs(rows).sum(2)
    best = sums.argmax(1)
    at = np.arange(len(v))
    return units[best], np.where(rows[at, best] >= 0, 1.0, -1.0), sums[at, best]


def _largest_column(
    weights: Sequence[Array], slopes: Sequence[Array], v: Array
) -> tuple[Array, Array, Array]:
    """All columns of the Jacobians: the largest sum of absolute values, and the input that attains it."""
    units = np.eye(v.shape[1])
    columns = np.stack([_forward(weights, slopes, np.broadcast_to(e, v.shape)) for e in units], 1)
    sums = np.abs(columns).sum(2)
    best = sums.argmax(1)
    at = np.arange(len(v))
    return np.where(columns[at, best] >= 0, 1.0, -1.0), units[best], sums[at, best]


def _norming(y: Array, norm: float) -> Array:
    r"""The functional of dual norm 1 with $\langle u,y\rangle=\|y\|$."""
    if norm == 2:
        return y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-300)
    if norm == 1:
        return np.where(y >= 0, 1.0, -1.0)
    rows = np.arange(len(y))
    k = np.abs(y).argmax(1)
    u = np.zeros_like(y)
    u[rows, k] = np.where(y[rows, k] >= 0, 1.0, -1.0)
    return u
