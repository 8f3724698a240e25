r"""From piece to piece towards steeper ones: a walk across the hyperplanes at which neurons switch.

The steepest pieces of a deep network are tiny, and random neighbours miss them. In the affine map of the piece around
$x$, neuron $k$ has the input $z_k$ with the gradient $g_k$, so that its hyperplane is nearest to $x$ at
$x-z_kg_k/\|g_k\|^2$. A step looks a little beyond all of these points and goes to the steepest one. Of many walks that
begin at random the steeper ones go on, until they stand still.
"""

from typing import Any

import numpy as np

from ftheta.shapes import Float, Real

from .chains import Chain
from .curves import curve

Array = np.ndarray
BEYOND = 1.001  # of the way to a hyperplane
KEEP = 3  # one in so many walks goes on to the next stage
STAGES = 4
MOST = 512  # walks
DRAWN = 24  # points for each walk, of which the steepest one is where it begins
BETTER = 1.0001
ROUNDS = 2.5  # evaluations that one look costs
STEPS = 4  # that a walk of the first stage can take
CLIMBED = 0.2  # of the walks that may begin at the ends of ascents
NOISE = 0.1  # of the direction of a walker, for its neighbours


def cross_hyperplanes(chain: Chain, x: Float[Array, "d"]) -> Float[Array, "n d"]:
    """A point just beyond the hyperplane of each neuron, seen from `x`."""
    h = x
    J = np.eye(len(x))
    found = []
    for W, b, word in zip(chain.weights, chain.biases, chain.words):
        z = W @ h + b
        G = W @ J
        squares = (G**2).sum(1)
        moves = squares > 0
        found.append(x - BEYOND * (z[moves] / squares[moves])[:, None] * G[moves])
        J = curve(word).slope(z[None])[0][:, None] * G
        h = curve(word).value(z[None])[0]
    points = np.concatenate(found)
    return points[np.isfinite(points).all(1)]


def walk(search: Any, evaluations: float, rows: Real[np.ndarray, "n d"] | None) -> None:
    """Walk with so many evaluations; the steepest point stays with the `search`, as do the ends of the best walks."""
    neurons = sum(len(b) for b in search.chain.biases[: len(search.chain.words)])
    count = int(np.clip(evaluations / (STEPS * ROUNDS * max(neurons, 1)), 1, MOST))
    x = np.concatenate([search.ends[: int(CLIMBED * count)], search.starts(DRAWN * count, rows)])
    slopes, v = search.look(x)
    for _ in range(STAGES):
        keep = np.argsort(-slopes, kind="stable")[:count]
        x, v, slopes = x[keep], v[keep], slopes[keep]
        _advance(search, x, v, slopes, evaluations / STAGES)
        count = max(1, count // KEEP)
    search.ends = np.concatenate([x, search.ends])


def _advance(search: Any, x: Array, v: Array, slopes: Array, evaluations: float) -> None:
    """Every walker goes on until it stands still or the evaluations are spent; the arrays are changed in place."""
    walking = np.ones(len(x), bool)
    while evaluations > 0 and walking.any():
        for i in np.flatnonzero(walking):
            y = search.clip(cross_hyperplanes(search.chain, x[i]))
            if not len(y):
                walking[i] = False
                continue
            noise = NOISE * np.abs(v[i]).max() * search.rng.normal(size=y.shape)
            found, along = search.look(y, v[i] + noise, rounds=1)
            evaluations -= ROUNDS * len(y)
            k = int(found.argmax())
            walking[i] = found[k] > BETTER * slopes[i]
            if walking[i]:
                x[i], v[i], slopes[i] = y[k], along[k], found[k]
