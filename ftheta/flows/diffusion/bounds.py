"""Bounds of what a diffusion model makes, in nats."""

from math import log

import numpy as np

from ftheta.estimates.means import mean
from ftheta.flows.mixtures import Mixture
from ftheta.logic.enclosure import Enclosure

from .reversal import Score

NODES = 16
DRAWS = 400  # per node
ENTRIES = 30_000_000  # of tables points × atoms


def score_error(
    law: Mixture, score: Score, end: float, horizon: float, rng: np.random.Generator
) -> Enclosure:
    r"""$\int_\tau^T\mathbb E_{p_t}|s-\nabla\log p_t|^2\,dt$ for $\tau$ = `end` > 0 and $T$ = `horizon`.

    Gauss's rule in $\log t$, each node from draws of `law` noised to that time; what the rule leaves out is not
    bounded."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = log(horizon / end) / 2
    times = end * np.exp(half * (nodes + 1))
    draws = int(min(DRAWS, max(50, ENTRIES // (law.atoms.size * NODES))))
    total = Enclosure.exact(0)
    for t, weight in zip(times.tolist(), (half * weights * times).tolist()):
        at = law.after(t)
        x = at.sample(rng, draws)
        total = total + mean(((score(t, x) - at.score(x)) ** 2).sum(1)) * weight
    return total
