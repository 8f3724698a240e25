r"""Diffusion models on Gaussian mixtures, where the score is known exactly.

Forward: $dx=-x\,dt+\sqrt2\,dW$. A mixture $\sum_iw_i\mathcal N(a_i,s^2I)$ stays one: its atoms shrink to $e^{-t}a_i$,
its variance tends to 1 as $s_t^2=1+(s^2-1)e^{-2t}$. Backward from time $T$ run the SDE
$dx=(x+2\nabla\log p)\,dt+\sqrt2\,dW$ and the flow $\dot x=x+\nabla\log p$, which have the same marginals.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, expm1, log, log1p, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx
from scipy import special

from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import Enclosure

BLOCK = 1 << 21  # entries of the table points × atoms that are held at once
STOP = 1e-3  # where the backward processes of discrete data end: at 0 their score is infinite


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""$\sum_iw_i\,\mathcal N(a_i,vI)$ with `atoms` $a_i$ (shape `(n, d)`), `weights` $w_i$ and `variance` $v\ge0$."""

    atoms: np.ndarray
    weights: np.ndarray
    variance: float

    def after(self, t: float) -> "Mixture":
        """The law at time t of the forward process."""
        return Mixture(exp(-t) * self.atoms, self.weights, self.variance * exp(-2 * t) - expm1(-2 * t))

    def add_noise(self, sigma: float) -> "Mixture":
        r"""The law of $x_0+\sigma\xi$."""
        return replace(self, variance=self.variance + sigma**2)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n independent draws, one per row."""
        which = rng.choice(len(self.atoms), n, p=self.weights / self.weights.sum())
        return self.atoms[which] + sqrt(self.variance) * rng.normal(size=(n, self.atoms.shape[1]))

    def score(self, x: np.ndarray) -> np.ndarray:
        r"""$\nabla\log p(x)=\frac1v(\sum_ir_ia_i-x)$ at the rows of `x`, with $r_i\propto w_ie^{-|x-a_i|^2/2v}$."""
        if self.variance == 0:
            return np.full(x.shape, np.nan)
        rows = max(1, BLOCK // len(self.atoms))
        centres = np.concatenate([self._centre(x[k : k + rows]) for k in range(0, len(x), rows)])
        return (centres - x) / self.variance

    def _centre(self, x: np.ndarray) -> np.ndarray:
        shares = self._squares(x)
        shares *= -1 / (2 * self.variance)
        shares += self._log_weights()
        shares -= shares.max(1, keepdims=True)
        np.exp(shares, out=shares)
        return (shares @ self.atoms) / shares.sum(1, keepdims=True)

    def _log_weights(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def _squares(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros((len(x), len(self.atoms)))
        for j in range(x.shape[1]):
            total += np.square(x[:, j, None] - self.atoms[None, :, j])
        return total

    def score_by_differentiation(self, x: np.ndarray) -> np.ndarray:
        r"""$\nabla\log p$ by automatic differentiation of the logarithm of the density."""
        return np.asarray(_score_by_differentiation(x, self.atoms, self.weights, self.variance))

    def score_rounding(self, x: np.ndarray) -> float:
        """What float64 may do to the score at these points: the exponents lose digits where atoms are far away."""
        exponents = float(self._squares(x).max()) / (2 * self.variance)
        size = float(np.abs(x).max() + np.abs(self.atoms).max()) / self.variance
        return size * (1e-12 + 64 * np.finfo(float).eps * exponents)

    def mean(self) -> np.ndarray:
        r"""$\sum_iw_ia_i$."""
        return self.weights @ self.atoms

    def variances(self) -> np.ndarray:
        """The variance of each coordinate."""
        return self.weights @ (self.atoms - self.mean()) ** 2 + self.variance

    def density(self, x: np.ndarray) -> np.ndarray:
        """The density of the first coordinate."""
        exponents = (x[:, None] - self.atoms[None, :, 0]) ** 2 / (2 * self.variance)
        return np.exp(-exponents) @ self.weights / sqrt(2 * pi * self.variance)

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """The distribution function of the first coordinate."""
        return special.ndtr((x[:, None] - self.atoms[None, :, 0]) / sqrt(self.variance)) @ self.weights


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
    share = np.tile(mixture._log_weights(), (len(x), 1))
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


def forward(mixture: Mixture, rng: np.random.Generator, n: int, t: float, steps: int = 8) -> np.ndarray:
    """Points at time t of the forward process, in exact steps from draws at time 0."""
    x = mixture.sample(rng, n)
    h = t / steps
    for _ in range(steps):
        x = exp(-h) * x + sqrt(-expm1(-2 * h)) * rng.normal(size=x.shape)
    return x


def backward_times(mixture: Mixture, horizon: float, steps: int) -> np.ndarray:
    """Times from the horizon down to 0 (of discrete data, to STOP): even, then finer as the density sharpens."""
    stop, scale = (0.0, mixture.variance / 2) if mixture.variance else (min(STOP, horizon / 2), 0.0)
    first, last = (log(t + scale) if t + scale < 1 else t + scale - 1 for t in (horizon, stop))
    u = np.linspace(first, last, steps + 1)
    times = np.where(u < 0, np.exp(np.minimum(u, 0)), u + 1) - scale
    times[0], times[-1] = horizon, stop
    return times


def reverse_sde(mixture: Mixture, x: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""The reverse SDE along decreasing times, in steps that are exact for a single bump.

    The score at time t says where the bump's centre is, $c=x+s_t^2\nabla\log p_t(x)$; while it stays there the process
    from t to $t-h$ is Gaussian, with mean $e^hc+g(x-c)$ and variance $s_{t-h}^2(1-e^{-h}g)$, $g=e^{-h}s_{t-h}^2/s_t^2$.
    """
    for t, s in pairwise(times.tolist()):
        law = mixture.after(t)
        after = mixture.after(s).variance
        h = t - s
        centre = x + law.variance * law.score(x)
        g = exp(-h) * after / law.variance
        spread = sqrt(max(0.0, after * (1 - exp(-h) * g)))
        x = exp(h) * centre + g * (x - centre) + spread * rng.normal(size=x.shape)
    return x


def probability_flow(mixture: Mixture, x: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The probability-flow equation by Runge–Kutta steps along decreasing times."""
    field = lambda t, x: x + mixture.after(t).score(x)
    for t, s in pairwise(times.tolist()):
        x = runge_kutta_step(field, (t, (t + s) / 2, s), x, t - s)
    return x


def generate(
    mixture: Mixture, rng: np.random.Generator, n: int, horizon: float, steps: int
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """`n` points made from noise by the flow and by the reverse SDE: name, points, points made with half the steps."""
    start = rng.normal(size=(2, n, mixture.atoms.shape[1]))
    few = max(25, steps // 8)  # a step of the flow costs four evaluations and errs in the fourth order
    flow = lambda k: probability_flow(mixture, start[0], backward_times(mixture, horizon, k))
    sde = lambda k: reverse_sde(mixture, start[1], backward_times(mixture, horizon, k), rng)
    return [("flow", flow(2 * few), flow(few)), ("SDE", sde(steps), sde(steps // 2))]


def memorise(
    mixture: Mixture, rng: np.random.Generator, horizon: float, train: int = 16, n: int = 500, steps: int = 160
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points that the score of a finite sample makes from noise, denoised once at the end; the sample (discrete data
    themselves where they are few); and the distance of each point to the nearest of the sample."""
    few = mixture.variance == 0 and len(mixture.atoms) <= train
    data = mixture.atoms if few else mixture.sample(rng, train)
    empirical = Mixture(data, np.full(len(data), 1 / len(data)), 0.0)
    gaps = np.sqrt(empirical._squares(data))
    nearest = float(gaps[gaps > 0].min(initial=np.inf))
    stop = min(STOP, horizon / 2, max(1e-20, 1e-4 * nearest**2))
    x = probability_flow(empirical, rng.normal(size=(n, data.shape[1])), np.geomspace(horizon, stop, steps + 1))
    points = exp(stop) * (x - expm1(-2 * stop) * empirical.after(stop).score(x))
    return points, data, np.nan_to_num(np.sqrt(empirical._squares(points).min(1)), nan=np.inf)


# -- distances between laws ----------------------------------------------------------------------


def ring(components: int, radius: float, dimension: int) -> np.ndarray:
    """Atoms evenly on a segment of the line or on a circle in the first two coordinates; one atom is at 0."""
    atoms = np.zeros((components, dimension))
    turn = 2 * pi * np.arange(components) / components
    if components > 1:
        atoms[:, 0] = radius * (np.cos(turn) if dimension > 1 else np.linspace(-1, 1, components))
        atoms[:, 1:2] = radius * np.sin(turn)[:, None]
    return atoms


def kl_to_normal(mixture: Mixture) -> float:
    r"""An upper bound of $\mathrm{KL}(p\,\|\,\mathcal N(0,I))$: by convexity, the mean over the bumps,
    $\sum_iw_i\frac12\big(|a_i|^2+d(v-1-\ln v)\big)$."""
    v = mixture.variance
    d = mixture.atoms.shape[1]
    bend = v - 1 - log1p(v - 1) if v > 0 else np.inf
    return float(mixture.weights @ (mixture.atoms**2).sum(1) + d * max(0.0, bend)) / 2


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


def wasserstein1(x: np.ndarray, y: np.ndarray) -> float:
    """The distance of two samples of one size on the line: the mean distance of the sorted values."""
    return float(np.nan_to_num(np.abs(np.sort(x) - np.sort(y)).mean(), nan=np.inf))
