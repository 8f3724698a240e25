r"""Hopfield's memory in whole numbers: Hebb's weights, energy, recall one neuron at a time, and how much it holds.

Patterns $\xi^1,\dots,\xi^p\in\{\pm1\}^N$ give $W=\frac1N\sum_\mu\xi^\mu\xi^{\mu\top}$ without its diagonal. All is kept
as $K=NW$, whole numbers: the field of neuron $i$ is $(Ks)_i/N$ and the energy $E=-\frac1{2N}s^\top Ks$. A neuron
turns if its field points against it, and then $E$ falls by $\frac2N|(Ks)_i|$, at least $\frac2N$.
Float64 holds whole numbers below $2^{53}$, and these are below $N^2p$: no product of matrices rounds.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.stats import binom, norm

from ftheta.logic import SubjectError

MOST_NEURONS = 4096
LARGEST = 10


def as_signs(x: np.ndarray) -> np.ndarray | None:
    """Patterns with two values as −1 (the smaller) and 1; None where there are more."""
    values = np.unique(x)
    if len(values) > 2:
        return None
    upper = values[-1] if len(values) == 2 or values[-1] > 0 else np.inf
    return np.where(x == upper, 1.0, -1.0)


def hebb(patterns: np.ndarray) -> np.ndarray:
    r"""$K=NW=\sum_\mu\xi^\mu\xi^{\mu\top}$ with zeros on the diagonal, in whole numbers."""
    patterns = np.asarray(patterns)
    whole = (
        bool((patterns == np.round(patterns)).all()) and np.abs(patterns).max(initial=0) <= LARGEST
    )
    if patterns.ndim != 2 or not patterns.size or not whole or patterns.shape[1] > MOST_NEURONS:
        raise SubjectError(
            "Patterns are rows of small whole numbers, one entry per neuron.",
            got=f"{patterns.dtype} of shape {patterns.shape}",
            remedy=f"give −1 and 1, in at most {MOST_NEURONS:,} columns",
        )
    K = patterns.T.astype(np.float64) @ patterns.astype(np.float64)
    np.fill_diagonal(K, 0)
    return K


def energies(K: np.ndarray, states: np.ndarray) -> np.ndarray:
    r"""$2N\,E(s)=-s^\top Ks$ of every row, in whole numbers."""
    return -np.einsum("ti,ti->t", states @ K, states)


def energy(K: np.ndarray, state: np.ndarray) -> Fraction:
    r"""$E(s)=-\frac1{2N}s^\top Ks$."""
    return Fraction(int(energies(K, state[None])[0]), 2 * len(K))


def most_flips(K: np.ndarray, state: np.ndarray) -> Fraction:
    r"""No neuron turns more often: $\frac N2(E(s)+\frac12\sum_{ij}|W_{ij}|)$, as every turn costs $\frac2N$."""
    return Fraction(len(K), 2) * (energy(K, state) + Fraction(int(np.abs(K).sum()), 2 * len(K)))


@dataclass(frozen=True, eq=False)
class Recall:
    """Where the rows of a start came to rest, the turns of each, and 2N times the energy after every sweep.

    `least_drop` is the smallest fall of N·E at a turn; None where nothing turned."""

    states: np.ndarray
    flips: np.ndarray
    energies: np.ndarray
    least_drop: int | None


def recall(K: np.ndarray, start: np.ndarray, rng: np.random.Generator) -> Recall:
    """Sweeps over the neurons in random order, one neuron at a time, until none turns; every row by itself."""
    states = np.array(start, np.float64)
    flips = np.zeros(len(start), np.int64)
    seen = [energies(K, states)]
    least = None
    while True:
        turned = 0
        for i in rng.permutation(len(K)):
            against = states[:, i] * (states @ K[i])
            move = against < 0
            if not move.any():
                continue
            drop = int(-2 * against[move].max())
            least = drop if least is None else min(least, drop)
            states[move, i] *= -1
            flips += move
            turned += int(move.sum())
        seen.append(energies(K, states))
        if not turned:
            return Recall(states, flips, np.array(seen), least)


def unstable_bits(K: np.ndarray, states: np.ndarray) -> np.ndarray:
    """For every row, how many entries are not the sign of their field; a field of 0 turns nothing."""
    fields = states @ K
    return ((np.sign(fields) != states) & (fields != 0)).sum(1)


def crosstalk(patterns: np.ndarray) -> np.ndarray:
    r"""$\sum_{\nu\ne\mu}|\langle\xi^\nu,\xi^\mu\rangle|$ of every pattern; at most $N-p$ makes it a fixed point."""
    overlaps = np.abs(patterns @ patterns.T)
    return overlaps.sum(1) - np.diag(overlaps)


def corrupt(patterns: np.ndarray, part: float, rng: np.random.Generator) -> np.ndarray:
    """The patterns with this part of the bits of each turned."""
    states = np.array(patterns)
    wrong = round(part * patterns.shape[1])
    for row in states:
        row[rng.choice(len(row), wrong, replace=False)] *= -1
    return states


def random_patterns(rng: np.random.Generator, patterns: int, neurons: int) -> np.ndarray:
    """Rows of independent fair signs ±1."""
    return rng.choice(np.array([-1.0, 1.0]), size=(patterns, neurons))


# ---- how much it holds ----------------------------------------------------------------------------------------------


def bit_error(load: float) -> float:
    r"""$\Phi(-\sqrt{N/p})$ at $p/N$ = `load`: the limit of the probability that a stored bit is unstable."""
    return float(norm.cdf(-1 / sqrt(load)))


def exact_bit_error(patterns: int, neurons: int) -> float:
    r"""The probability that a bit of a stored pattern is unstable, for independent fair bits: $N\xi_ih_i-(N-1)$ is a
    sum of $(p-1)(N-1)$ independent signs, and the bit is unstable when the sum is below $-(N-1)$."""
    n = (patterns - 1) * (neurons - 1)
    return float(binom.cdf((n - neurons) // 2, n, 0.5)) if n else 0.0  # sum = 2k − n < −(N−1)


def overlaps(patterns: np.ndarray, states: np.ndarray) -> np.ndarray:
    r"""$\frac1N\langle\xi^\mu,s^\mu\rangle$ row by row: 1 is perfect recall."""
    return (patterns * states).mean(1)
