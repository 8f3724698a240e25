r"""The reverse of noising, from noise to data.

Forward: $dx=-x\,dt+\sqrt2\,dW$. Backward from time $T$ run the SDE $dx=(x+2\nabla\log p)\,dt+\sqrt2\,dW$ and the flow
$\dot x=x+\nabla\log p$, which have the same marginals.
"""

from collections.abc import Callable
from itertools import pairwise
from math import exp, expm1, log, log1p, sqrt

import numpy as np

from ftheta.flows.mixtures import Mixture
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.shapes import Float

Score = Callable[[float, np.ndarray], np.ndarray]
"""Of a time and rows, the score of the law at that time at each row."""
STOP = 1e-3  # where the backward processes of discrete data end: at 0 their score is infinite


def backward_times(
    mixture: Mixture, horizon: float, steps: int, stop: float = STOP
) -> Float[np.ndarray, "steps_and_one"]:
    """Times from the horizon down to 0 (of discrete data, to `stop`): even, then finer as the density sharpens."""
    stop, scale = (0.0, mixture.variance / 2) if mixture.variance else (min(stop, horizon / 2), 0.0)
    first, last = (log(t + scale) if t + scale < 1 else t + scale - 1 for t in (horizon, stop))
    u = np.linspace(first, last, steps + 1)
    times = np.where(u < 0, np.exp(np.minimum(u, 0)), u + 1) - scale
    times[0], times[-1] = horizon, stop
    return times


def reverse_sde(
    score: Score,
    x: Float[np.ndarray, "n d"],
    times: Float[np.ndarray, "k"],
    rng: np.random.Generator,
    variance: float = 0.0,
) -> Float[np.ndarray, "n d"]:
    r"""The reverse SDE along decreasing times, in steps that are exact for a single bump of this `variance`.

    The score at time t says where the bump's centre is, $c=x+s_t^2\nabla\log p_t(x)$; while it stays there the process
    from t to $t-h$ is Gaussian, with mean $e^hc+g(x-c)$ and variance $s_{t-h}^2(1-e^{-h}g)$, $g=e^{-h}s_{t-h}^2/s_t^2$.
    With variance 0 this is the ancestral sampler of DDPM.
    """
    for t, s in pairwise(times.tolist()):
        before = variance_after(variance, t)
        after = variance_after(variance, s)
        h = t - s
        centre = x + before * score(t, x)
        g = exp(-h) * after / before
        spread = sqrt(max(0.0, after * (1 - exp(-h) * g)))
        x = exp(h) * centre + g * (x - centre) + spread * rng.normal(size=x.shape)
    return x


def variance_after(variance: float, t: float) -> float:
    r"""$1+(v-1)e^{-2t}$, the variance of a bump at time t of the forward process."""
    return variance * exp(-2 * t) - expm1(-2 * t)


def probability_flow(
    score: Score, x: Float[np.ndarray, "n d"], times: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "n d"]:
    """The probability-flow equation by Runge–Kutta steps along decreasing times."""

    def field(t: float, x: np.ndarray) -> np.ndarray:
        return x + score(t, x)

    for t, s in pairwise(times.tolist()):
        x = runge_kutta_step(field, (t, (t + s) / 2, s), x, t - s)
    return x


def kl_to_normal(mixture: Mixture) -> float:
    r"""An upper bound of $\mathrm{KL}(p\,\|\,\mathcal N(0,I))$: by convexity, the mean over the bumps,
    $\sum_iw_i\frac12\big(|a_i|^2+d(v-1-\ln v)\big)$."""
    v = mixture.variance
    d = mixture.atoms.shape[1]
    bend = v - 1 - log1p(v - 1) if v > 0 else np.inf
    return float(mixture.weights @ (mixture.atoms**2).sum(1) + d * max(0.0, bend)) / 2
