r"""Diffusion models on Gaussian mixtures, where the score is known exactly.

Forward: $dx=-x\,dt+\sqrt2\,dW$. A mixture $\sum_iw_i\mathcal N(a_i,s^2I)$ stays one: its atoms shrink to $e^{-t}a_i$,
its variance tends to 1 as $s_t^2=1+(s^2-1)e^{-2t}$. Backward from time $T$ run the SDE
$dx=(x+2\nabla\log p)\,dt+\sqrt2\,dW$ and the flow $\dot x=x+\nabla\log p$, which have the same marginals.
"""

from math import exp, expm1, log, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx
from scipy import special

from ftheta.flows.diffusion.reversal import STOP, backward_times, probability_flow, reverse_sde
from ftheta.flows.mixtures import Mixture
from ftheta.logic import Enclosure


def score_by_differentiation(mixture: Mixture, x: np.ndarray) -> np.ndarray:
    r"""$\nabla\log p$ by automatic differentiation of the logarithm of the density."""
    return np.asarray(
        _score_by_differentiation(x, mixture.atoms, mixture.weights, mixture.variance)
    )


def _log_density(x, atoms, weights, variance):
    return jax.scipy.special.logsumexp(-jnp.sum((x - atoms) ** 2, 1) / (2 * variance), b=weights)


_score_by_differentiation = jax.jit(jax.vmap(jax.grad(_log_density), (0, None, None, None)))


# -- denoising -----------------------------------------------------------------------------------


def tweedie(mixture: Mixture, sigma: float, x: np.ndarray) -> np.ndarray:
    r"""$\mathbb E[x_0\mid x_0+\sigma\xi=x]=x+\sigma^2\nabla\log p_\sigma(x)$."""
    return x + sigma**2 * mixture.add_noise(sigma).score(x)


def posterior_mean(mixture: Mixture, sigma: float, x: np.ndarray) -> np.ndarray:
    """The same expectation by Bayes' rule, the integrals over each bump computed numerically."""
    v = mixture.variance
    w = sigma**2
    nodes = np.linspace(-12, 12, 481) * sqrt(v * w / (v + w))
    share = np.tile(mixture.log_weights(), (len(x), 1))
    mean = np.empty((*x.shape, len(mixture.atoms)))
    for j in range(x.shape[1]):
        a = mixture.atoms[None, :, j, None]
        at = x[:, j, None, None]
        y = (a * w + at * v) / (v + w) + nodes  # where the integrand lives
        exponents = -((at - y) ** 2) / (2 * w) - ((y - a) ** 2 / (2 * v) if v else 0.0)
        top = exponents.max(2, keepdims=True)
        masses = np.exp(exponents - top)
        share += top[..., 0] + np.log(masses.sum(2))
        mean[:, j] = (masses * y).sum(2) / masses.sum(2)
    share = np.exp(share - share.max(1, keepdims=True))
    return np.einsum("ki,kji->kj", share / share.sum(1, keepdims=True), mean)


# -- forward and backward ------------------------------------------------------------------------


def forward(
    mixture: Mixture, rng: np.random.Generator, n: int, t: float, steps: int = 8
) -> np.ndarray:
    """Points at time t of the forward process, in exact steps from draws at time 0."""
    x = mixture.sample(rng, n)
    h = t / steps
    for _ in range(steps):
        x = exp(-h) * x + sqrt(-expm1(-2 * h)) * rng.normal(size=x.shape)
    return x


def generate(
    mixture: Mixture, rng: np.random.Generator, n: int, horizon: float, steps: int
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """`n` points made from noise by the flow and by the reverse SDE: name, points, points made with half the steps."""
    start = rng.normal(size=(2, n, mixture.atoms.shape[1]))
    # a step of the flow costs four evaluations and errs in the fourth order
    few = max(25, steps // 8)
    flow = lambda k: probability_flow(
        mixture.score_at, start[0], backward_times(mixture, horizon, k)
    )
    sde = lambda k: reverse_sde(
        mixture.score_at, start[1], backward_times(mixture, horizon, k), rng, mixture.variance
    )
    return [("flow", flow(2 * few), flow(few)), ("SDE", sde(steps), sde(steps // 2))]


def memorise(
    mixture: Mixture,
    rng: np.random.Generator,
    horizon: float,
    train: int = 16,
    n: int = 500,
    steps: int = 160,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points that the score of a finite sample makes from noise, denoised once at the end; the sample (discrete data
    themselves where they are few); and the distance of each point to the nearest of the sample."""
    few = mixture.variance == 0 and len(mixture.atoms) <= train
    data = mixture.atoms if few else mixture.sample(rng, train)
    empirical = Mixture(data, np.full(len(data), 1 / len(data)), 0.0)
    gaps = np.sqrt(empirical.squares(data))
    nearest = float(gaps[gaps > 0].min(initial=np.inf))
    stop = min(STOP, horizon / 2, max(1e-20, 1e-4 * nearest**2))
    x = probability_flow(
        empirical.score_at,
        rng.normal(size=(n, data.shape[1])),
        np.geomspace(horizon, stop, steps + 1),
    )
    points = exp(stop) * (x - expm1(-2 * stop) * empirical.after(stop).score(x))
    return points, data, np.nan_to_num(np.sqrt(empirical.squares(points).min(1)), nan=np.inf)


# -- distances between laws ----------------------------------------------------------------------


def farthest_from_normal(mixture: Mixture) -> tuple[float, float]:
    r"""The point of a grid where $|\Phi-F|$ is largest, $F$ of the first coordinate, and that value."""
    x = np.linspace(-8, 8, 3201)
    gaps = np.abs(special.ndtr(x) - mixture.cdf(x))
    k = int(gaps.argmax())
    return float(x[k]), float(gaps[k])


def gap_to_normal(mixture: Mixture, t: float, x: float) -> Enclosure:
    r"""$|\Phi(x)-F_t(x)|$ in ball arithmetic, $F_t$ of the first coordinate at time t from `mixture` at time 0."""
    with ctx.workprec(96):
        decay = (-arb(t)).exp()
        root = arb(2).sqrt()
        deviation = (arb(mixture.variance) * decay**2 + 1 - decay**2).sqrt()
        normal = lambda z: (1 + (z / root).erf()) / 2
        parts = zip(mixture.weights.tolist(), mixture.atoms[:, 0].tolist())
        law = sum((w * normal((x - decay * a) / deviation) for w, a in parts), arb(0))
        return Enclosure.ball(abs(normal(arb(x)) - law))


def kolmogorov_distance(samples: np.ndarray, mixture: Mixture) -> float:
    """The largest distance of the samples' distribution function from that of the mixture's first coordinate."""
    x = np.sort(np.nan_to_num(samples, nan=np.inf, posinf=np.inf, neginf=-np.inf))
    F = mixture.cdf(x)
    steps = np.arange(len(x) + 1) / len(x)
    return float(max((steps[1:] - F).max(), (F - steps[:-1]).max()))


def sampling_radius(n: int, risk: float = 1e-6) -> float:
    """What n independent draws exceed in Kolmogorov distance with at most this probability (Massart)."""
    return sqrt(log(2 / risk) / (2 * n))
