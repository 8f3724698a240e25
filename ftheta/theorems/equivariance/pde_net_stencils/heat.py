r"""The heat equation as a residual convolution network: $u_{k+1}=u_k+q*u_k$ is explicit Euler for $u_t=c\,u_{xx}$."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure

from .stencils import Stencil

MOST_STEPS = 4000
LEARNT_TAPS = 5


def slide(stencil: Stencil, u: np.ndarray) -> np.ndarray:
    r"""$\sum_kq[k]u(\cdot+k)$ on a ring, along the last axes."""
    axes = tuple(range(u.ndim - stencil.dimension, u.ndim))
    return sum(
        (float(q) * np.roll(u, [-k for k in at], axes) for at, q in stencil.taps.items()),
        np.zeros_like(u),
    )


def symbol_on(stencil: Stencil, grid: tuple[int, ...]) -> np.ndarray:
    r"""$\sum_kq[k]e^{i\langle k,\omega\rangle}$ at the frequencies of a ring: what each wave is multiplied by."""
    waves = np.meshgrid(*(2 * np.pi * np.fft.fftfreq(M) for M in grid), indexing="ij")
    phases = (
        float(q) * np.exp(1j * sum(k * w for k, w in zip(at, waves)))
        for at, q in stencil.taps.items()
    )
    return sum(phases, np.zeros(grid, complex))


@dataclass(frozen=True, eq=False)
class Diffusion:
    r"""Layers $u\mapsto u+q*u$ on a ring, from a start between −1 and 1."""

    stencil: Stencil
    start: np.ndarray
    steps: int

    @cached_property
    def states(self) -> np.ndarray:
        """Before the first layer and after every one."""
        found = [self.start]
        for _ in range(self.steps):
            found.append(found[-1] + slide(self.stencil, found[-1]))
        return np.array(found)

    @cached_property
    def growth(self) -> float:
        r"""$\max_\omega|1+\hat q(\omega)|$ over the waves of the ring."""
        return float(np.abs(1 + symbol_on(self.stencil, self.start.shape)).max())

    @cached_property
    def by_waves(self) -> np.ndarray:
        r"""The last state in closed form: $\hat u_\omega(1+\hat q(\omega))^T$."""
        factor = (1 + symbol_on(self.stencil, self.start.shape)) ** self.steps
        return np.real(np.fft.ifftn(np.fft.fftn(self.start) * factor))

    @property
    def ratio(self) -> float:
        r"""$c\Delta t/h^2$, read off the second moment along the first axis."""
        return float(self.stencil.moment((2, *[0] * (self.stencil.dimension - 1)))) / 2

    def exact(self, step: int) -> np.ndarray:
        """The solution of the heat equation itself at the time of a layer."""
        waves = np.meshgrid(
            *(2 * np.pi * np.fft.fftfreq(M) for M in self.start.shape), indexing="ij"
        )
        decay = np.exp(-self.ratio * step * sum(w**2 for w in waves))
        return np.real(np.fft.ifftn(np.fft.fftn(self.start) * decay))

    def enclose_growth(self) -> tuple[int, Enclosure, Enclosure]:
        """The number of layers that doubled the mean square, or all, with the mean squares after them and at the start
        in intervals rounded outward."""
        squares = (self.states**2).reshape(len(self.states), -1).mean(1)
        doubled = np.flatnonzero(squares > 4 * squares[0])
        layers = int(doubled[0]) if doubled.size else self.steps

        def after(u: Any, taps: Any, layers: int = layers) -> Any:
            for _ in range(layers):
                moved = [
                    q * jnp.roll(u, [-k for k in at], range(u.ndim))
                    for at, q in zip(self.stencil.taps, taps)
                ]
                u = u + sum(moved)
            return jnp.sqrt(jnp.mean(u * u))

        taps = np.array([float(q) for q in self.stencil.taps.values()])
        start = enclose_number(lambda u: jnp.sqrt(jnp.mean(u * u)), self.start)
        return layers, enclose_number(after, self.start, taps), start


def start_on(grid: tuple[int, ...]) -> np.ndarray:
    """A step and a wave, between −1 and 1."""
    places = np.meshgrid(*(np.arange(M) / M for M in grid), indexing="ij")
    block = np.prod([np.abs(p - 0.35) < 0.15 for p in places], axis=0)
    return 0.7 * block + 0.3 * np.prod([np.sin(4 * np.pi * p) for p in places], axis=0)


def diffusion_of(stencil: Stencil, side: int, steps: int) -> Diffusion | None:
    """The layers of a filter that diffuses, $m_0=m_1=0<m_2$; None for any other."""
    d = stencil.dimension
    second = [float(stencil.moment(tuple(2 * (k == axis) for k in range(d)))) for axis in range(d)]
    if d > 2 or stencil.derivative() != 2 or min(second) <= stencil.rounding:
        return None
    return Diffusion(stencil, start_on((side,) * d), min(steps, MOST_STEPS))


def learn(before: np.ndarray, after: np.ndarray, taps: int = LEARNT_TAPS) -> np.ndarray:
    r"""The filter with $m_0=m_1=0$ that best explains $u(t+\Delta t)-u(t)$ as $q*u(t)$: constrained least squares.

    Rows are states on rings; the constraints are the sum rules of a second derivative.
    """
    k = np.arange(taps) - taps // 2
    rules = np.stack([np.ones(taps), k.astype(float)])
    free = np.linalg.svd(rules)[2][2:]  # filters that satisfy them
    columns = np.stack([np.roll(before, -j, -1).ravel() for j in k], -1) @ free.T
    found = np.linalg.lstsq(columns, (after - before).ravel(), rcond=None)[0]
    return found @ free


def error_of_learnt_filter(diffusion: Diffusion, rng: np.random.Generator) -> float:
    """The largest error of the filter that least squares find in states of the network itself."""
    u = rng.normal(size=(8, 32))
    line = Stencil(
        diffusion.stencil.weights
        if diffusion.stencil.dimension == 1
        else np.array([1.0, -2.0, 1.0]) * 0.2
    )
    after = u + slide(line, u)
    taps = len(line.weights)
    found = learn(u, after, max(taps, LEARNT_TAPS))
    wanted = np.pad(line.weights, (len(found) - taps) // 2)
    return float(np.abs(found - wanted).max())


def learn_conductivity(M: int, c: float, rng: np.random.Generator) -> float:
    r"""The $c$ of $u_t=cu_{xx}$ that least squares find in band-limited solutions on $M$ points of the circle, one time
    step of $h^2/(4c)$ apart."""
    h = 2 * np.pi / M
    step = h**2 / (4 * c)
    x = np.arange(M) * h
    waves = np.arange(1, 5)
    a, b = rng.normal(size=(2, 6, 4))
    cosines = np.cos(np.outer(waves, x))
    sines = np.sin(np.outer(waves, x))
    decay = np.exp(-c * waves**2 * step)
    before = a @ cosines + b @ sines
    after = (a * decay) @ cosines + (b * decay) @ sines
    q = learn(before, after)
    return float(
        sum(w * k**2 for w, k in zip(q, np.arange(len(q)) - len(q) // 2)) / 2 * h**2 / step
    )
