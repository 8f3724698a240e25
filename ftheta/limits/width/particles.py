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
from ftheta.logic import AtMost, Axis, Claim, Converges, Curves, Enclosure, Identity, Points, Series, Witness
from ftheta.networks import Description, activation

from .. import orders
from .descent import Task

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
        h = np.asarray(activation(layer.activation).function(jnp.asarray(h @ layer.weight.T + layer.bias)))
    return h * description.layers[-1].weight[0] * h.shape[-1]


@dataclass(frozen=True, eq=False)
class Errors:
    """`values[i]` are draws of $f_q$ at one input for the width `widths[i]`; `random` says whether they differ."""

    widths: np.ndarray
    values: list[np.ndarray]
    moments: Moments
    random: bool = True
    enclosed: tuple[Enclosure, ...] = ()
    """The one value at each width with outward rounding, of networks that are not random."""

    def scaled(self, i: int) -> Enclosure:
        r"""$q\,\mathbb E|f_q-f_\rho|^2$ at one width."""
        squares = self.widths[i] * (self.values[i] - self.moments.mean) ** 2
        return mean(squares) if self.random else Enclosure.equal(float(squares[0]))

    def claims(self) -> tuple[Claim, ...]:
        """Mean and variance at the narrowest and the widest, and the order 1/2."""
        law = Enclosure.equal(self.moments.variance)
        found = [
            Identity(f"q E|f_q − f_ρ|², q = {self.widths[i]:g}", self.scaled(i), law, self._again(i)) for i in (0, -1)
        ]
        if self.random:
            centre = Enclosure.equal(self.moments.mean)
            narrowest = mean(self.values[0], variance=self.moments.variance / float(self.widths[0]))
            found.append(Identity("mean of f_q", narrowest, centre, atol=1e-12))
        return (*found, *orders.observed_order("|f_q − f_ρ|", 0.5, *self.parts(), sharp=True, slack=0.2))

    def _again(self, i: int) -> Witness | None:
        if not self.enclosed:
            return None
        off = self.enclosed[i] - self.moments.mean
        square = off * off * float(self.widths[i])
        variance = Enclosure.exact(self.moments.variance)
        return Witness({"q": float(self.widths[i])}, square, variance, "the network in intervals rounded outward")

    def parts(self, groups: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Root mean squares of groups of draws at each width."""
        split = [np.array_split((v - self.moments.mean) ** 2, min(groups, len(v))) for v in self.values]
        roots = [[sqrt(float(part.mean())) for part in parts] for parts in split]
        return np.repeat(self.widths, [len(row) for row in roots]), np.concatenate(roots)

    def chart(self) -> Curves:
        law = Series("√(Var/q)", self.widths, np.sqrt(self.moments.variance / self.widths), "reference")
        seen = Series("networks drawn", *self.parts(), "measured", "points")
        return Curves("error against width", Axis("neurons q", "log"), Axis("|f_q − f_ρ|", "log"), (law, seen))


def errors_at(at: np.ndarray, widths: Sequence[int], nets: Sequence[Sequence[Any]], law: Moments) -> Errors:
    """Networks `(μ, W)` of each width at one input; where there is one a width, they are not random."""
    values = [np.array([float((mu * np.maximum(W @ at, 0)).mean()) for mu, W in drawn]) for drawn in nets]
    random = len(nets[0]) > 1
    enclosed = () if random else tuple(enclose_number(mean_network, drawn[0], at) for drawn in nets)
    return Errors(np.array(widths, float), values, law, random, enclosed)


def resampled(atoms: np.ndarray, widths: Sequence[int], draws: int, rng: np.random.Generator) -> Errors:
    """Networks of fewer or more neurons, each drawn from the `atoms` of a layer at one input (the bootstrap)."""
    values = [atoms[rng.integers(len(atoms), size=(draws, q))].mean(1) for q in widths]
    return Errors(np.array(widths, float), values, Moments(float(atoms.mean()), float(atoms.var())))


# -- training --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Flow:
    """Energies along the flow, the particles `(μ, w)` at its ends, and the rate of the energy in two ways."""

    energies: np.ndarray
    start: np.ndarray
    end: np.ndarray
    rate: float
    dissipation: float

    def claims(self) -> tuple[Claim, ...]:
        rise = Enclosure.equal(float(np.diff(self.energies).max()))
        rate, fall = Enclosure.equal(self.rate), Enclosure.equal(-self.dissipation)
        return (
            AtMost("largest rise of the energy in a step", rise, Enclosure.exact(0), atol=1e-14),
            Identity("dF/dt = −∫|∇V|² dρ", rate, fall, rtol=1e-4, atol=1e-12),
        )

    def cloud(self) -> Points:
        """Where the neurons are, $|\\mu|w$ in the plane, before and after."""
        places = np.concatenate([np.abs(p[:, :1]) * p[:, 1:3] for p in (self.start, self.end)])
        groups = ("before",) * len(self.start) + ("after",) * len(self.end)
        return Points("neurons as particles", Axis("|μ| w₁"), Axis("|μ| w₂"), places[:, 0], places[:, 1], groups)


def energy(particles: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    r"""$F=\frac12\mathrm{mean}_i(f(x_i)-y_i)^2$ and the velocity $-\nabla V$ of each row $(\mu,w)$ of `particles`."""
    task = Task(X, y)
    outputs = task.outputs(particles[None])
    return float(task.energy(outputs)[0]), task.velocity(particles[None], outputs)[0]


def flow(particles: np.ndarray, X: np.ndarray, y: np.ndarray, steps: int, step: float) -> Flow:
    """Euler's steps of the particle flow; the energy's rate at the start is a central difference along the velocity."""
    start, found = particles, []
    value, velocity = energy(particles, X, y)
    small = 1e-6
    rate = (energy(start + small * velocity, X, y)[0] - energy(start - small * velocity, X, y)[0]) / (2 * small)
    dissipation = float((velocity**2).sum(1).mean())
    for _ in range(steps):
        found.append(value)
        particles = particles + step * velocity
        value, velocity = energy(particles, X, y)
    return Flow(np.array([*found, value]), start, particles, rate, dissipation)


# -- deep and wide ---------------------------------------------------------------------------------


def two_limits(rng: np.random.Generator, draws: int) -> tuple[Claim, ...]:
    r"""$x_{k+1}=x_k+\frac1{Kq}\sum_jw_j\mathrm{ReLU}(w_jx_k)$ from 1: depth then width, width then depth, and together.

    Positive homogeneity gives $x_K=(1+a_q/K)^K$ with $a_q=\frac1q\sum_jw_j(w_j)_+$, whose mean is $\frac12$.
    """
    widths, depths, limit = (16, 64, 256, 1024), (8, 32, 128, 512), Enclosure.equal(exp(0.5))
    rates = {q: np.array([(np.maximum(rng.normal(size=q), 0) ** 2).mean() for _ in range(draws)]) for q in widths}
    parts = [np.array_split((np.exp(rates[q]) - exp(0.5)) ** 2, 8) for q in widths]
    wide = [sqrt(float(part.mean())) for row in parts for part in row]
    one = rates[widths[-1]][0]
    deep = [abs((1 + one / K) ** K - exp(one)) for K in depths]
    ends = [float(((1 + rates[q] / q) ** q).mean()) for q in widths]
    together = tuple(Enclosure.measured(end, samples=draws) for end in ends)
    return (
        *orders.observed_order("|x_K − x(1)| in the depth", 1.0, depths, deep, slack=0.1),
        *orders.observed_order("|x(1) − limit| in the width", 0.5, np.repeat(widths, 8), wide, slack=0.2),
        Converges("x_K with K = q", limit, together, tuple(map(float, widths)), within=0.05),
    )
