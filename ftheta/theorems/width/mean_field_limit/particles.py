r"""Neurons as particles: $f_q(x)=\frac1q\sum_k\mu_k\sigma(w_k\cdot x)$ and the limit $\int\mu\,\sigma(w\cdot x)d\rho$.

For independent neurons $\mathbb E|f_q-f_\rho|^2=\mathrm{Var}_\rho/q$ exactly. In training every neuron follows
$\dot\theta_k=-\nabla V(\theta_k)$ with the potential $V=\delta F/\delta\rho$, and the energy falls by
$\dot F=-\int|\nabla V|^2d\rho$: the gradient flow of $F$ in Wasserstein space.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, pi, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure
from ftheta.networks import Description, activation
from ftheta.particles.descent import RegressionTask

# of the example of both limits
WIDTHS = (16, 64, 256, 1024)
DEPTHS = (8, 32, 128, 512)
GROUPS = 8  # of draws, each with its root mean square

# -- the law of large numbers ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance of the contribution of one neuron at an input."""

    mean: float
    variance: float


GAUSSIAN = Moments(1 / sqrt(2 * pi), 1 / 2 - 1 / (2 * pi))
"""Of $\\mathrm{ReLU}(w\\cdot x)$ with standard Gaussian $w$ at a unit input."""


def mean_network(params: Any, x: Any) -> Any:
    r"""$\frac1q\sum_k\mu_k\,\mathrm{ReLU}(w_k\cdot x)$ with `params` $(\mu,W)$."""
    mu, W = params
    return jnp.mean(mu * jax.nn.relu(W @ x))


def contributions(description: Description, X: np.ndarray) -> np.ndarray:
    r"""$q\,a_k h_k(x_i)$ of the neurons $k$ of the last hidden layer, for the first output: `(inputs, q)`.

    Their mean over $k$, plus the bias, is the output: the layer is a measure of $q$ equal atoms.
    """
    h = np.asarray(X, np.float64)
    for layer in description.layers[:-1]:
        h = np.asarray(
            activation(layer.activation).function(jnp.asarray(h @ layer.weight.T + layer.bias))
        )
    return h * description.layers[-1].weight[0] * h.shape[-1]


@dataclass(frozen=True, eq=False)
class Errors:
    """`values[i]` are draws of $f_q$ at one input for the width `widths[i]`; `random` says whether they differ; the
    `largest` contribution of a neuron is what their rounding is relative to."""

    widths: np.ndarray
    values: list[np.ndarray]
    moments: Moments
    random: bool = True
    largest: float = 0.0
    enclosed: tuple[Enclosure, ...] = ()
    """The one value at each width with outward rounding, of networks that are not random."""

    def scaled_square(self, i: int) -> Enclosure:
        r"""$q\,\mathbb E|f_q-f_\rho|^2$ at one width."""
        squares = self.widths[i] * (self.values[i] - self.moments.mean) ** 2
        return mean(squares) if self.random else Enclosure.equal(float(squares[0]))

    def rounding(self, i: int) -> float:
        r"""What float64 may add to $q\,\mathbb E|f_q-f_\rho|^2$."""
        off = self.off
        return float(
            self.widths[i] * off * (off + 2 * sqrt(self.moments.variance / self.widths[i]))
        )

    @property
    def off(self) -> float:
        """By how much rounding may change a mean: some units of the largest contribution, whatever their spread."""
        return 16 * float(np.finfo(np.float64).eps) * self.largest

    def parts(self, groups: int = GROUPS) -> tuple[np.ndarray, np.ndarray]:
        """Root mean squares of groups of draws at each width; 0 where they are rounding."""
        split = [
            np.array_split((v - self.moments.mean) ** 2, min(groups, len(v))) for v in self.values
        ]
        roots = [[sqrt(float(part.mean())) for part in parts] for parts in split]
        found = np.concatenate(roots)
        widths = np.repeat(self.widths, [len(row) for row in roots])
        return widths, np.where(found <= self.off, 0.0, found)


def errors_at(
    at: np.ndarray, widths: Sequence[int], nets: Sequence[Sequence[Any]], law: Moments
) -> Errors:
    """Networks `(μ, W)` of each width at one input; where there is one a width, they are not random."""
    each = [[mu * np.maximum(W @ at, 0) for mu, W in drawn] for drawn in nets]
    values = [np.array([float(neurons.mean()) for neurons in drawn]) for drawn in each]
    largest = max(float(np.abs(neurons).max()) for drawn in each for neurons in drawn)
    random = len(nets[0]) > 1
    enclosed = () if random else tuple(enclose_number(mean_network, drawn[0], at) for drawn in nets)
    return Errors(np.array(widths, float), values, law, random, largest, enclosed)


def resample(
    atoms: np.ndarray, widths: Sequence[int], draws: int, rng: np.random.Generator
) -> Errors:
    """Networks of fewer or more neurons, each drawn from the `atoms` of a layer at one input (the bootstrap)."""
    values = [atoms[rng.integers(len(atoms), size=(draws, q))].mean(1) for q in widths]
    law = Moments(float(atoms.mean()), float(atoms.var()))
    return Errors(np.array(widths, float), values, law, largest=float(np.abs(atoms).max()))


# -- training --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Flow:
    """Energies along the flow, the particles `(μ, w)` at its ends, and the rate of the energy in two ways."""

    energies: np.ndarray
    start: np.ndarray
    end: np.ndarray
    rate: float
    dissipation: float


def energy(particles: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    r"""$F=\frac12\mathrm{mean}_i(f(x_i)-y_i)^2$ and the velocity $-\nabla V$ of each row $(\mu,w)$ of `particles`."""
    task = RegressionTask(X, y)
    outputs = task.outputs(particles[None])
    return float(task.energy(outputs)[0]), task.velocity(particles[None], outputs)[0]


def follow(particles: np.ndarray, X: np.ndarray, y: np.ndarray, steps: int, step: float) -> Flow:
    """Euler's steps of the particle flow; the energy's rate at the start is a central difference along the velocity."""
    start = particles
    found = []
    value, velocity = energy(particles, X, y)
    small = 1e-6
    rate = (
        energy(start + small * velocity, X, y)[0] - energy(start - small * velocity, X, y)[0]
    ) / (2 * small)
    dissipation = float((velocity**2).sum(1).mean())
    for _ in range(steps):
        found.append(value)
        particles = particles + step * velocity
        value, velocity = energy(particles, X, y)
    return Flow(np.array([*found, value]), start, particles, rate, dissipation)


# -- deep and wide ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoLimits:
    r"""$x_{k+1}=x_k+\frac1{Kq}\sum_jw_j\mathrm{ReLU}(w_jx_k)$ from 1: depth then width, width then depth, and together.

    Positive homogeneity gives $x_K=(1+a_q/K)^K$ with $a_q=\frac1q\sum_jw_j(w_j)_+$, whose mean is $\frac12$.

    - `deep`: the errors $|x_K-x(1)|$ at the `DEPTHS`;
    - `wide`: root mean squares of $|x(1)-e^{1/2}|$ for eight groups of draws at each of the `WIDTHS`;
    - `together`: the means of $x_K$ with $K=q$.
    """

    deep: list[float]
    wide: list[float]
    together: list[float]


def two_limits(rng: np.random.Generator, draws: int) -> TwoLimits:
    """So many random layers at each width."""
    rates = {
        q: np.array([(np.maximum(rng.normal(size=q), 0) ** 2).mean() for _ in range(draws)])
        for q in WIDTHS
    }
    parts = [np.array_split((np.exp(rates[q]) - exp(0.5)) ** 2, GROUPS) for q in WIDTHS]
    wide = [sqrt(float(part.mean())) for row in parts for part in row]
    one = rates[WIDTHS[-1]][0]
    deep = [abs((1 + one / K) ** K - exp(one)) for K in DEPTHS]
    together = [float(((1 + rates[q] / q) ** q).mean()) for q in WIDTHS]
    return TwoLimits(deep, wide, together)
