r"""Barron's theorem as an experiment: a function as an average of steps, and networks drawn from it.

Let $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$ be real, $\hat f=e^{i\varphi}|\hat f|$, and
$C_f=\int|\omega||\hat f|\,d\omega<\infty$. About a centre $x_0$, with $\varphi'=\varphi+\langle\omega,x_0\rangle$,

$$f(x)-f(x_0)=\int\big[\cos(\langle\omega,x-x_0\rangle+\varphi')-\cos\varphi'\big]\,|\hat f|\,d\omega.$$

On the ball $|x-x_0|\le r$ put $a=\omega/|\omega|$ and $z=\langle a,x-x_0\rangle\in[-r,r]$. The bracket is
$g(z)=\cos(|\omega|z+\varphi')-\cos\varphi'$ and vanishes at $z=0$. By the fundamental theorem of calculus

$$g(z)=\int_0^r\mathbf 1[z>t]\,g'(t)\,dt-\int_{-r}^0\mathbf 1[z<t]\,g'(t)\,dt,$$

where $g'(t)=-|\omega|\sin(|\omega|t+\varphi')$. Draw $\omega$ from the density $|\omega||\hat f|/C_f$ and $t$ uniformly
from $[-r,r]$. The neuron is $c\,H(x)$ with $c=-2rC_f\,\mathrm{sgn}(t)\sin(|\omega|t+\varphi')$ and
$H=\mathbf 1[\langle a,x-x_0\rangle>t]$ for $t>0$, $\mathbf 1[\langle-a,x-x_0\rangle>-t]$ for $t<0$. So
$\mathbb E[cH(x)]=f(x)-f(x_0)$ and $|c|\le2rC_f$. Let $f_p$ be $f(x_0)$ plus the mean of $p$ independent neurons
(Maurey). In $L^2$ of any probability on the ball

$$\mathbb E\|f-f_p\|^2=\frac1p\Big(\mathbb E\|cH\|^2-\|f-f(x_0)\|^2\Big)\le\frac{(2rC_f)^2}p .$$

A sigmoidal $\sigma$ tends to the step as its weights grow, outside a null set of thresholds: the bound carries over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_number
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.witness import Witness
from ftheta.shapes import Float

from .gaussian_spectrum import Sampler, gaussian_frequencies, gaussian_moment
from .greedy import GreedyPath, Steps, frank_wolfe, unit_directions

BLOCK = 4_000_000  # numbers held at once
WORK = 100_000_000  # values of neurons computed for one number of neurons


@dataclass(frozen=True)
class SampledBall:
    """The domain: |x − centre| ≤ radius, and points of it, which carry the norm (each with the same mass)."""

    centre: Float[np.ndarray, "d"]
    radius: float
    points: Float[np.ndarray, "n d"]

    @classmethod
    def draw(
        cls, rng: np.random.Generator, centre: Float[np.ndarray, "d"], radius: float, points: int
    ) -> "SampledBall":
        """Points drawn uniformly from the ball."""
        d = len(centre)
        direction = rng.normal(size=(points, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return cls(
            centre, radius, centre + radius * rng.uniform(size=(points, 1)) ** (1 / d) * direction
        )

    @property
    def offsets(self) -> Float[np.ndarray, "n d"]:
        """The points, seen from the centre."""
        return self.points - self.centre


@dataclass(frozen=True)
class Problem:
    r"""$f-f(x_0)$ = `wanted` at the points of the `ball`; `sample` draws from its spectrum, `moment` is $C_f$.

    `values` evaluates f at rows.
    """

    values: Callable[[np.ndarray], np.ndarray]
    sample: Sampler
    moment: float
    ball: SampledBall
    wanted: Float[np.ndarray, "n"]

    @classmethod
    def on(
        cls,
        values: Callable[[np.ndarray], np.ndarray],
        sample: Sampler,
        moment: float,
        ball: SampledBall,
    ) -> "Problem":
        """The function that maps rows to `values`, on the ball."""
        found = np.asarray(values(np.vstack([ball.points, ball.centre])), np.float64).ravel()
        if not (np.isfinite(found).all() and isfinite(moment)):
            raise SubjectError(
                "Barron's theorem needs finite values and a finite first moment.",
                got=f"C_f = {moment}",
            )
        return cls(values, sample, moment, ball, found[:-1] - found[-1])

    @property
    def size(self) -> float:
        r"""$\|f-f(x_0)\|^2$: the error without any neuron."""
        return float((self.wanted**2).mean())

    def bound(self, p: int) -> float:
        r"""$(2rC_f)^2/p$."""
        return (2 * self.ball.radius * self.moment) ** 2 / p

    def neurons(self, rng: np.random.Generator, p: int) -> Steps:
        """p independent neurons from the density of the docstring above."""
        frequency, phase = self.sample(rng, p)
        size = np.linalg.norm(frequency, axis=1)
        t = rng.uniform(-self.ball.radius, self.ball.radius, size=p)
        sign = np.where(t < 0, -1.0, 1.0)
        wave = np.sin(size * t + phase + frequency @ self.ball.centre)
        direction = frequency / np.maximum(size, 1e-300)[:, None]
        return Steps(
            direction * sign[:, None], np.abs(t), -2 * self.ball.radius * self.moment * sign * wave
        )

    def errors(self, rng: np.random.Generator, p: int, seeds: int) -> Float[np.ndarray, "seeds"]:
        r"""$\|f-f_p\|^2$ for `seeds` independent networks of p neurons; for huge ones fewer, at least eight."""
        seeds = max(8, min(seeds, WORK // (p * len(self.wanted))))
        together = max(1, BLOCK // (p * len(self.wanted)))  # networks held at once
        found = []
        for start in range(0, seeds, together):
            batch = min(together, seeds - start)
            values = (
                self.neurons(rng, batch * p).on(self.ball.offsets).reshape(batch, p, -1).mean(1)
            )
            found.append(((values - self.wanted) ** 2).mean(1))
        return np.concatenate(found)

    def energies(self, rng: np.random.Generator, draws: int) -> Float[np.ndarray, "draws"]:
        r"""Independent draws of $\|cH\|^2$."""
        blocks = [min(1000, draws - done) for done in range(0, draws, 1000)]
        return np.concatenate(
            [(self.neurons(rng, size).on(self.ball.offsets) ** 2).mean(1) for size in blocks]
        )

    def reconstruction(self, rng: np.random.Generator, draws: int) -> Float[np.ndarray, "draws n"]:
        """Draws whose mean is `wanted` if spectrum and moment are right, shape (draws, points)."""
        frequency, phase = self.sample(rng, draws)
        size = np.maximum(np.linalg.norm(frequency, axis=1), 1e-300)
        start = (phase + frequency @ self.ball.centre)[:, None]
        return (
            self.moment
            * (np.cos(frequency @ self.ball.offsets.T + start) - np.cos(start))
            / size[:, None]
        )

    def mismatch(self, rng: np.random.Generator, draws: int = 20_000) -> float:
        """The largest distance of the reconstruction from f, in half-widths of its confidence interval."""
        found = [mean(column) for column in self.reconstruction(rng, draws).T]
        floor = 1e-9 * (1 + float(np.abs(self.wanted).max()))
        return max(
            abs(e.middle - w) / (e.width / 2 + floor) for e, w in zip(found, self.wanted.tolist())
        )

    def path(self, rng: np.random.Generator, p: int, directions: int = 128) -> GreedyPath:
        """p iterations of Frank–Wolfe along so many directions of the spectrum."""
        along = unit_directions(self.sample(rng, directions)[0])
        return frank_wolfe(
            self.ball.offsets, self.wanted, along, 2 * self.ball.radius * self.moment, p
        )

    def greedy(self, rng: np.random.Generator, p: int) -> Float[np.ndarray, "p"]:
        """The errors of the greedy network with 1, …, p neurons (at most 1000)."""
        return self.path(rng, min(p, 1000)).errors

    def growth(self) -> tuple[Enclosure, Witness]:
        r"""The largest $|f-f(x_0)|/(C_f|x-x_0|)$ met, at most 1 if $C_f$ is right; both sides again there."""
        length = np.linalg.norm(self.ball.offsets, axis=1)
        ratio = np.abs(self.wanted) / np.maximum(self.moment * length, 1e-300)
        worst = int(np.argmax(ratio))
        x = self.ball.points[worst]
        left = enclose_number(self._change, x, self.ball.centre)
        right = enclose_number(
            lambda x, centre, C: C * jnp.sqrt(jnp.sum((x - centre) ** 2)),
            x,
            self.ball.centre,
            self.moment,
        )
        witness = Witness(
            {"x": tuple(x.tolist())},
            left,
            right,
            "f here and at the centre, in intervals rounded outward",
        )
        return Enclosure.at_least(float(ratio[worst]), samples=len(ratio)), witness

    def _change(self, x: Any, centre: Any) -> Any:
        both: Any = jnp.stack([x, centre])
        here, there = jnp.ravel(self.values(both))
        return jnp.abs(here - there)


def scales_up_to(p: int) -> list[int]:
    """p, its half, its quarter, …: at most eight numbers of neurons, in increasing order."""
    return sorted({p >> k for k in range(8) if p >> k})


def gaussian_problem(rng: np.random.Generator, dimension: int, points: int = 128) -> Problem:
    """The Gaussian on the unit ball."""
    ball = SampledBall.draw(rng, np.zeros(dimension), 1.0, points)
    values = lambda rows: np.exp(-(rows**2).sum(1) / 2)
    return Problem.on(values, gaussian_frequencies(dimension), gaussian_moment(dimension), ball)
