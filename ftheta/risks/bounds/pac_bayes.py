r"""PAC-Bayes bounds of a stochastic network: weights drawn anew for every prediction, around the trained ones.

The posterior is $Q=\mathcal N(\theta,s^2I)$, the prior $P=\mathcal N(\theta_0,s^2I)$ with $\theta_0$ fixed before the
rows were seen (the initialisation, 0, or weights trained on other rows), so that
$\mathrm{KL}(Q\|P)=\|\theta-\theta_0\|^2/2s^2$. With probability at least $1-\delta$ over the $n\ge8$ rows, for all
$Q$ at once (`maurer2004`),
$$\mathrm{kl}(R_n(Q)\|R(Q))\le\frac{\mathrm{KL}(Q\|P)+\ln\frac{2\sqrt n}\delta}n=:c,$$
hence $R(Q)\le\mathrm{kl}^{-1}(R_n(Q),c)$ (Seeger, Langford) and, weaker, $R(Q)\le R_n(Q)+\sqrt{c/2}$ (McAllester).

The spread $s$ is not fixed in advance: it is a power $2^{k/2}$ of the grid, paid for with its part of $\delta$.
$R_n(Q)$ is an integral: `draws` pairs of fresh weights and a random row are wrong as often as a binomial variable of
that mean, and Clopper–Pearson bounds it; that takes a tenth of $\delta$. The spread is chosen on other draws before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log2
from typing import Any

import jax
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]
from jax.flatten_util import ravel_pytree

from ftheta.certify.norms import frobenius_norm
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Real

from .balls import BITS, above, ball, check_probability, kl_inverse
from .unseen import clopper_pearson

NUMBERS = 4_000_000  # weights drawn at once
BUDGET = 100_000_000  # weights drawn for the integral, and once more to choose the spread
MOST_PARAMETERS = 2_000_000
MONTE_CARLO = 0.1  # the part of δ that the integral takes
FEWEST = 8  # rows, for Maurer's inequality
PILOT = 500  # draws that choose the spread
SPREADS = 20
HOPELESS = 8.0  # c from which the bound says nothing whatever the risk
Wrong = Callable[[Any, Any, Any], Any]  # (parameters, x, y) -> whether this row is wrong


@dataclass(frozen=True)
class PacBayes:
    r"""The bounds of $R(Q)$ and what they are made of; `gibbs` is $R_n(Q)$, at most this by Clopper–Pearson."""

    mcallester: float
    seeger: float
    spread: float
    divergence: float
    gibbs: float
    errors: int
    draws: int


def divergence(theta: Float[np.ndarray, "p"], prior: Float[np.ndarray, "p"], spread: float) -> Any:
    r"""$\|\theta-\theta_0\|^2/2s^2$, a ball."""
    with ctx.workprec(BITS):
        return ball(frobenius_norm((theta - prior)[None])) ** 2 / (2 * ball(spread) ** 2)


def exponent(kl: Any, n: int, delta: float, cost: float = 0.0) -> Any:
    r"""$c=\frac1n(\mathrm{KL}+\ln\frac{2\sqrt n}\delta)$, with the cost of the spread added."""
    if n < FEWEST:
        raise UsageError("The bound needs eight rows.", got=f"{n} rows")
    with ctx.workprec(BITS):
        return (kl + (2 * arb(n).sqrt() / ball(check_probability(delta))).log() + ball(cost)) / n


def seeger(gibbs: float, c: Any) -> float:
    r"""$\mathrm{kl}^{-1}(R_n(Q),c)$."""
    return 1.0 if gibbs >= 1 else kl_inverse(Fraction(gibbs), c)


def mcallester(gibbs: float, c: Any) -> float:
    r"""$R_n(Q)+\sqrt{c/2}$."""
    with ctx.workprec(BITS):
        return above(ball(gibbs) + (c / 2).sqrt())


def grid_cost(k: int) -> float:
    r"""$\ln\frac{3(|k|+1)(|k|+2)}2$: the parts of all whole $k$ add up to 1."""
    return log(1.5 * (abs(k) + 1) * (abs(k) + 2)) * (1 + 1e-12)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Networks around `theta`, each tried on one random row; `start` is the centre of the prior."""

    theta: Float[np.ndarray, "p"]
    start: Float[np.ndarray, "p"]
    tried: Callable[[Any, Any, Any], Any]
    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n *k"]

    @classmethod
    def of(
        cls,
        wrong: Wrong,
        params: Any,
        prior: Any,
        x: Real[np.ndarray, "n *shape"],
        y: Real[np.ndarray, "n *k"],
    ) -> "Cloud":
        theta, rebuild = ravel_pytree(jax.tree.map(np.asarray, params))
        start = ravel_pytree(jax.tree.map(np.asarray, prior))[0]
        if theta.shape != start.shape:
            raise UsageError(
                "Prior and network have different parameters.",
                got=f"{start.size:,} and {theta.size:,}",
            )
        tried = jax.jit(jax.vmap(lambda w, row, label: wrong(rebuild(w), row, label)))
        return cls(np.asarray(theta), np.asarray(start), tried, x, y)

    def errors(self, spread: float, draws: int, rng: np.random.Generator) -> int:
        """How many of so many fresh networks are wrong."""
        block = max(1, min(draws, NUMBERS // self.theta.size))
        errors = 0
        for done in range(0, draws, block):
            # the last block is drawn whole: one program serves all
            rows = rng.integers(0, len(self.x), block)
            weights = rng.standard_normal((block, self.theta.size))
            weights *= spread
            weights += self.theta
            found = np.asarray(self.tried(weights, self.x[rows], self.y[rows]))
            errors += int(found[: min(block, draws - done)].sum())
        return errors

    def exponent(self, k: int, delta: float) -> Any:
        """c for the spread 2^(k/2)."""
        return exponent(
            divergence(self.theta, self.start, 2 ** (k / 2)), len(self.x), delta, grid_cost(k)
        )

    def spreads(self) -> range:
        """Exponents k of the spreads worth a try: around the size of a weight, and of its way from the prior."""
        sizes = [float(np.sqrt(np.mean(v**2))) for v in (self.theta - self.start, self.theta)]
        top = ceil(2 * log2(max(*sizes, 2.0**-40))) + 6
        return range(top, top - SPREADS, -1)

    def best_spread(self, delta: float, draws: int, rng: np.random.Generator) -> int:
        """The exponent of the least bound that a few draws promise; the largest where there is no hope."""
        promised = {}
        for k in self.spreads():
            c = self.exponent(k, delta)
            if float(c) < HOPELESS:
                promised[k] = seeger(self.errors(2 ** (k / 2), draws, rng) / draws, c)
        return min(promised, key=promised.__getitem__, default=self.spreads()[0])


def pac_bayes(
    wrong: Wrong,
    params: Any,
    prior: Any,
    x: Real[np.ndarray, "n *shape"],
    y: Real[np.ndarray, "n *k"],
    delta: float,
    rng: np.random.Generator,
    draws: int = 20_000,
) -> PacBayes:
    """The bounds for N(params, s²I), with the spread s chosen to make them small; `prior` has the same structure.

    `wrong(params, row, label)` says whether a network with these parameters errs on this row.
    """
    with jax.enable_x64(True):
        cloud = Cloud.of(wrong, params, prior, x, y)
        draws = max(100, min(draws, BUDGET // cloud.theta.size))
        inner = delta * (1 - MONTE_CARLO)
        pilot = max(16, min(PILOT, BUDGET // (SPREADS * cloud.theta.size)))
        k = cloud.best_spread(inner, pilot, rng)
        errors = cloud.errors(2 ** (k / 2), draws, rng)
    gibbs = clopper_pearson(errors, draws, delta * MONTE_CARLO)
    c = cloud.exponent(k, inner)
    kl = divergence(cloud.theta, cloud.start, 2 ** (k / 2))
    return PacBayes(
        mcallester(gibbs, c), seeger(gibbs, c), 2 ** (k / 2), above(kl), gibbs, errors, draws
    )
