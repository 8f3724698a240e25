"""Confidence: stated levels that do not hold, ends of spectra that were missed, spikes between points of a sample."""

from math import sqrt
from typing import get_args

import jax.numpy as jnp
import numpy as np
from scipy import stats

from ftheta.approximation.approximate import approximate
from ftheta.estimates import binomial_interval, mean
from ftheta.spectra import Operator, extremes
from ftheta.spectra.lanczos import Ends

from . import Trial

# intervals of one law: a case is wrong if the exact binomial test of its coverage says so
REPEATS = 150
FALSE_ALARM = 1e-9


def bounded_law(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Atoms in [0, 1] and their probabilities: rare extremes, points at the ends, many values or two."""
    atoms = rng.beta(*rng.choice([0.1, 0.5, 1.0, 4.0], 2), size=int(rng.integers(2, 7)))
    atoms[: int(rng.integers(0, 3))] = rng.choice([0.0, 1.0])
    weights = 10.0 ** rng.uniform(-3, 0, size=len(atoms))
    return atoms, weights / weights.sum()


def verdict_on(missed: int, level: float, what: str) -> str | None:
    if stats.binom.sf(missed - 1, REPEATS, 1 - level) > FALSE_ALARM:
        return None
    return f"{what}: {missed} of {REPEATS} intervals of level {level:g} missed"


def try_known_range(rng: np.random.Generator) -> str | None:
    atoms, weights = bounded_law(rng)
    n = int(10 ** rng.uniform(0.4, 2.5))
    level = float(rng.choice([0.5, 0.8, 0.95, 0.999]))
    truth = float(weights @ atoms)
    draws = rng.choice(atoms, p=weights, size=(REPEATS, n))
    missed = sum(truth not in mean(row, level, within=(0.0, 1.0)) for row in draws)
    return verdict_on(
        missed, level, f"range known, atoms {atoms.tolist()}, weights {weights.tolist()}, n = {n}"
    )


def try_known_variance(rng: np.random.Generator) -> str | None:
    """Laws with a rare value far out: of variance 1 and mean 0."""
    n = int(10 ** rng.uniform(0.4, 2.5))
    level = float(rng.choice([0.5, 0.8, 0.95, 0.999]))
    chance = 10.0 ** rng.uniform(-4, -0.3)
    far = sqrt((1 - chance) / chance)
    draws = np.where(rng.random((REPEATS, n)) < chance, far, -chance * far / (1 - chance))
    shift = rng.normal() * 10.0 ** rng.uniform(-3, 3)
    missed = sum(shift not in mean(row + shift, level, variance=1.0) for row in draws)
    return verdict_on(missed, level, f"variance known, chance {chance}, shift {shift}, n = {n}")


def try_binomial(rng: np.random.Generator) -> str | None:
    """The probability of a miss is summed over all outcomes."""
    n = int(rng.integers(1, 80))
    level = float(rng.choice([0.5, 0.9, 0.999, 1 - 1e-6]))
    chance = float(
        rng.choice([rng.random(), 10.0 ** rng.uniform(-6, -1), 1 - 10.0 ** rng.uniform(-6, -1)])
    )
    missed = [k for k in range(n + 1) if chance not in binomial_interval(k, n, level)]
    total = float(stats.binom.pmf(missed, n, chance).sum())
    return (
        None
        if total <= (1 - level) * (1 + 1e-9)
        else f"n = {n}, chance {chance}, level {level}: {total} missed"
    )


def try_ends(rng: np.random.Generator) -> str | None:
    """Spectra with an end far out, or none, few vectors, loose tolerances: what the run says at 1 − 10⁻⁶."""
    p = int(rng.integers(40, 160))
    inner = rng.choice([rng.normal(size=p), rng.random(p) * 0.01, np.linspace(0, 1, p) ** 2])
    values = np.r_[inner, rng.normal(size=int(rng.integers(0, 3))) * 10.0 ** rng.uniform(-2, 3)]
    turn = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    A = (turn * values) @ turn.T
    A = (A + A.T) / 2
    ends: Ends = rng.choice(get_args(Ends))
    k = int(rng.integers(1, 4))
    tol = 10 ** -rng.uniform(0.3, 8)
    basis = int(rng.integers(12, 30))
    products = int(rng.integers(10, 150))
    found = extremes(
        Operator.of(A), k, ends, tol=tol, basis=basis, products=products, dense=0, rng=rng
    )
    true = np.linalg.eigvalsh(A)
    slack = 1e-12 * float(np.abs(true).max())
    asked = [("top", true[-1])] * (ends != "smallest") + [("bottom", true[0])] * (ends != "largest")
    asked += [("norm", np.abs(true).max())] * (ends == "both")
    for name, truth in asked:
        e = getattr(found, name)()
        if not e.lo - slack <= truth <= e.hi + slack:
            told = f"{name} of {len(values)} eigenvalues, {ends}, tol {tol}, basis {basis}"
            return f"{told}: {truth} not in [{e.lo}, {e.hi}]"
    return None


def try_spike(rng: np.random.Generator) -> str | None:
    """sin with a hat that no sample meets: its root mean square is known up to what the rest adds."""
    half = 10.0 ** rng.uniform(-7, -3)
    height = rng.choice([-1, 1]) * 10.0 ** rng.uniform(0, 4)
    place = rng.uniform(0.1, 2.9)
    f = lambda x: jnp.sin(x) + height * jnp.maximum(0.0, 1 - jnp.abs(x - place) / half)
    made = approximate(
        f,
        (0.0, 3.0),
        0.02,
        norm="L2",
        method="greedy",
        neurons=6,
        seconds=5,
        seed=int(rng.integers(99)),
    )
    x = np.linspace(place - half, place + half, 2001)
    rows = np.concatenate(
        [np.linspace(0, place - half, 4001), x[1:], np.linspace(place + half, 3, 4001)[1:]]
    )
    gap = (np.sin(rows) + height * np.maximum(0, 1 - np.abs(rows - place) / half) - made(rows)) ** 2
    truth = sqrt(np.trapezoid(gap, rows) / 3)
    known = made.error
    if (
        known.nominal is not None
        or known.lo * (1 - 1e-3) - 1e-6 <= truth <= known.hi * (1 + 1e-3) + 1e-6
    ):
        return None
    return f"height {height}, half-width {half}, at {place}: {truth} not in [{known.lo}, {known.hi}] ({made.how})"


TRIALS = (
    Trial("confidence: known range", "a mean missed more often than stated", try_known_range, 8),
    Trial(
        "confidence: known variance", "a mean missed more often than stated", try_known_variance, 8
    ),
    Trial(
        "confidence: proportions", "a proportion missed more often than stated", try_binomial, 20
    ),
    Trial(
        "confidence: ends of spectra",
        "an eigenvalue outside of its enclosure at 1 − 1e-6",
        try_ends,
        40,
    ),
    Trial("confidence: spikes", "a mean square error outside of its bounds", try_spike, 3),
)
