"""What is claimed of tokens on the sphere: energy that grows, a point where they meet, leaders without norm."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.limits.moments import between
from ftheta.limits.orders import observed_order
from ftheta.logic import (
    AtMost,
    Axis,
    Chart,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Heatmap,
    Identity,
    Motion,
    Points,
    Series,
    Witness,
)

from .clouds import hemisphere
from .flow import Course, Field, cluster_labels, follow, sphere_field
from .leaders import Rescaled, attention, rescaled
from .sphere import UNNORMALISED, common_cosine

NEAR = 1e-6  # of integrations with local errors of 1e-8
DEPTHS = (8, 16, 32, 64, 128)
SHOWN = 200  # tokens that are drawn
NAMED = 5  # clusters with a colour of their own
FRAMES = 121
LAST = 10.0  # time at which leaders are looked for


@dataclass(frozen=True, eq=False)
class Flow:
    """Tokens `x`, how they attract one another, and until when they are followed."""

    x: np.ndarray
    beta: float
    kind: str
    until: float
    attraction: float = 1.0

    @property
    def field(self) -> Field:
        return sphere_field(self.beta, self.kind, self.attraction)

    @cached_property
    def course(self) -> Course:
        T, frames = self.until, 41 if len(self.x) < 300 else 16
        times = np.unique(np.concatenate([np.linspace(0, T, frames), np.geomspace(T / 1000, T, frames)]))
        return follow(self.x, self.field, times)

    @cached_property
    def energies(self) -> np.ndarray:
        return self.course.energies(self.beta)

    # -- energy ---------------------------------------------------------------------------------------

    def energy_claims(self) -> tuple[Claim, ...]:
        gain, known = float(self.energies[-1] - self.energies[0]), float(self.course.gained[-1])
        fall, samples = float(-np.diff(self.energies).min()), len(self.energies)
        size = float(np.abs(self.energies).max())
        again = self._rate_again() if abs(gain - known) > NEAR * size else None
        return (
            Identity("energy gained and Σz_i|ẋ_i|²/n² over time", _float(gain), _float(known), again, atol=NEAR * size),
            AtMost("largest fall of the energy", Enclosure.measured(fall, samples=samples), Enclosure.exact(0),
                   atol=NEAR * size),
        )  # fmt: skip

    def _rate_again(self) -> Witness:
        r"""$\dot E$ and $\sum_iz_i|\dot x_i|^2/n^2$ at the start, in intervals."""
        n = len(self.x)

        def energy(x: Any, beta: Any) -> Any:
            return jnp.sum((jnp.exp(beta * (x @ x.T)) - 1) / beta) / (2 * n**2)

        def velocity(x: Any, beta: Any, attraction: Any) -> tuple[Any, Any]:
            weights = jnp.exp(beta * (x @ x.T))
            z = jnp.full(n, float(n)) if self.kind == UNNORMALISED else jnp.sum(weights, 1)
            pull = attraction * (weights @ x) / z[:, None]
            return pull - jnp.sum(x * pull, 1, keepdims=True) * x, z

        def gained(x: Any, beta: Any, attraction: Any) -> Any:
            v = velocity(x, beta, attraction)[0]
            return jax.jvp(lambda x: energy(x, beta), (x,), (v,))[1]

        def told(x: Any, beta: Any, attraction: Any) -> Any:
            v, z = velocity(x, beta, attraction)
            return jnp.sum(z * jnp.sum(v * v, 1)) / n**2

        at = self.x, float(self.beta), float(self.attraction)
        left, right = (enclose_number(side, *at) for side in (gained, told))
        return Witness({"t": 0.0}, left, right, "both rates at the start, in intervals rounded outward")

    # -- one point ------------------------------------------------------------------------------------

    def meeting_claims(self) -> tuple[Claim, ...]:
        spreads, times = self.course.spreads, self.course.times
        values = tuple(Enclosure.equal(float(s)) for s in spreads[-4:])
        met = Converges("1 − least cosine", Enclosure.exact(0), values, tuple(map(float, times[-4:])), 1e-3)
        return (met, *self._rate(), *self._inside())

    def _rate(self) -> tuple[Claim, ...]:
        """Near the point where they meet tokens differ by e^{−t} (SA) or e^{−te^β} (USA), cosines by its square."""
        rates = self.course.decay()[-3:]
        if not len(rates):
            return ()
        limit = 2 * (np.exp(self.beta) if self.kind == UNNORMALISED else 1.0)
        values = tuple(Enclosure.equal(float(r)) for r in rates)
        what = "rate at which 1 − least cosine falls"
        return (Converges(what, _float(limit), values, tuple(map(float, range(len(rates)))), 0.05 * limit),)

    def _inside(self) -> tuple[Claim, ...]:
        """The least product with the axis of a hemisphere never falls."""
        w = hemisphere(self.x)
        if w is None:
            return ()
        least = (self.course.units @ w).min(1)
        fall = Enclosure.measured(float(-np.diff(least).min()), samples=len(least))
        return (AtMost("largest fall of min⟨w, x_i⟩ in the hemisphere of w", fall, Enclosure.exact(0), atol=NEAR),)

    # -- beside closed forms and depth ----------------------------------------------------------------

    def closed_form(self) -> tuple[Claim, float]:
        """Four orthonormal tokens, followed by the same integrator, and the scalar equation of their cosine."""
        one = np.array([1.0])
        x = follow(np.eye(4), sphere_field(self.beta, self.kind), one).states[-1]
        cosine, scalar = float(x[0] @ x[1]), float(common_cosine(0.0, 4, self.beta, self.kind, one)[-1])
        return Identity("cosine of 4 orthonormal tokens at t = 1 and its equation", _float(cosine), _float(scalar),
                        atol=NEAR), cosine  # fmt: skip

    def depth_claims(self) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
        """K layers with steps 1/K tend to the flow at t = 1; with steps 1/k, as printed, they go on to time log K."""
        if len(self.x) >= 300:
            return (), ()
        limit = follow(self.x, self.field, np.array([1.0])).states[-1]
        layers = {K: layered(self.x, self.field, np.full(K, 1 / K)) for K in DEPTHS}
        errors = [float(np.abs(y - limit).max()) for y in layers.values()]
        printed = layered(self.x, self.field, 1 / np.arange(1.0, DEPTHS[-1] + 1))
        mean = lambda y: _float(float((y @ y.T).mean()))
        what = f"mean cosine after {DEPTHS[-1]} layers with steps 1/k and of the flow at t = 1"
        return observed_order("distance of K layers to the flow", 1, DEPTHS, errors), (
            Identity(what, mean(printed), mean(limit), rtol=1e-3),
        )

    # -- pictures -------------------------------------------------------------------------------------

    def charts(self) -> tuple[Chart, ...]:
        t = self.course.times
        count = Series("clusters", t[1:], self.course.clusters[1:], mark="step")
        return (
            self.picture(),
            Curves("clusters against time", Axis("time t", "log"), Axis("number of clusters", "log"), (count,)),
            Curves("the energy grows", Axis("time t"), Axis("energy"), (Series("energy", t, self.energies),)),
        )

    def picture(self) -> Motion:
        """The tokens on their ways, seen from one side; in higher dimensions, in their main plane."""
        order, groups = self._groups()
        times, states = _evenly(self.course, FRAMES)
        states, d = states[:, order], states.shape[2]
        plane = _view(states)
        x, y = np.round(np.moveaxis(states @ plane, 2, 0), 4)
        depths = np.round(states @ np.cross(*plane.T), 2) if d == 3 else ()
        where = "on the sphere" if d == 3 else "on the circle" if d == 2 else f"in the main plane of {d} dimensions"
        lines: Any = _globe(plane)
        return Motion(f"tokens {where}", Axis(), Axis(), np.round(times, 4), x, y, groups, depths, lines, alike=True)

    def _groups(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """The tokens that are drawn, and the cluster each was in while clusters stood longest: large ones first."""
        count, _ = self.course.plateau()
        when = np.flatnonzero(self.course.clusters == count)
        labels = cluster_labels(self.course.units[when[-1] if len(when) else -1])[1][:SHOWN]
        sizes = np.bincount(labels)
        rank = np.argsort(np.argsort(-sizes, kind="stable"))[labels]
        order = np.argsort(rank, kind="stable")
        names = [
            f"cluster {r + 1}: {sizes[c]} tokens" if r < NAMED and sizes[c] > 1 else "other tokens"
            for r, c in zip(rank[order], labels[order])
        ]
        return order, tuple(names)


def layered(x: np.ndarray, field: Field, steps: np.ndarray) -> np.ndarray:
    """Attention layers with these steps, each followed by layer norm (onto the sphere)."""
    for step in steps:
        x = x + step * field(x)[0]
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x


def _view(states: np.ndarray) -> np.ndarray:
    """Two orthonormal directions (d, 2) to look along. In space one looks at the middle of the start, a little from the
    side, with the third axis upwards; beyond, at the main directions of the whole course."""
    d = states.shape[2]
    if d == 2:
        return np.eye(2)
    if d > 3:
        return np.linalg.svd(states.reshape(-1, d), full_matrices=False)[2][:2].T
    middle = states[0].mean(0)
    towards = middle / max(float(np.linalg.norm(middle)), 1e-9) + np.array([0.35, -0.45, 0.3])
    across = np.cross([0.0, 0.0, 1.0], towards)
    up = np.cross(towards, across)
    return np.stack([across / np.linalg.norm(across), up / np.linalg.norm(up)], 1)


def _evenly(course: Course, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and tokens of a film: its frames are even by half in time, by half in the way that the tokens go."""
    x, t = course.units, course.times
    way = np.append(0.0, np.linalg.norm(np.diff(x, axis=0), axis=2).mean(1).cumsum())
    progress = t / max(float(t[-1]), 1e-12) + way / max(float(way[-1]), 1e-12)
    at = np.interp(np.linspace(0, progress[-1], frames), progress, np.arange(len(t)))
    states = between(x, at)
    return between(t, at), states / np.linalg.norm(states, axis=2, keepdims=True)


def _globe(plane: np.ndarray) -> tuple[np.ndarray, ...]:
    """The rim of the sphere and, in space, the front of its three great circles through the axes."""
    turn = np.linspace(0, 2 * np.pi, 97)
    rim = np.stack([np.cos(turn), np.sin(turn)], 1)
    if len(plane) != 3:
        return (rim,)
    towards, half = np.cross(*plane.T), np.linspace(-np.pi / 2, np.pi / 2, 49)
    circles = []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        angle = half + np.arctan2(towards[j], towards[i])  # nearest in the middle
        circles.append(np.outer(np.cos(angle), plane[i]) + np.outer(np.sin(angle), plane[j]))
    return (rim, *circles)


def _float(value: float) -> Enclosure:
    return Enclosure.equal(value) if np.isfinite(value) else Enclosure()


# -- without layer norm --------------------------------------------------------------------------------


def leader_claims(line: Rescaled, plane: Rescaled) -> tuple[Claim, ...]:
    """In one dimension rows become Boolean, of rank two at most; in the plane the hull shrinks to a polytope."""
    undecided, reach = line.undecided(), plane.supports()
    growth = Enclosure.measured(float(np.diff(reach, axis=0).max()), samples=reach.size)
    values = tuple(Enclosure.equal(float(u)) for u in undecided[-3:])
    return (
        Converges("distance of attention rows from unit vectors, but one (d = 1)", Enclosure.exact(0), values,
                  tuple(map(float, line.times[-3:])), 1e-3),
        AtMost("leaders (d = 1)", Enclosure.measured(float(len(line.leaders())), samples=len(line.z[0])),
               Enclosure.exact(2)),
        AtMost("growth of the hull of e^(−t)x (d = 2)", growth, Enclosure.exact(0), atol=NEAR),
    )  # fmt: skip


def without_norm(rng: np.random.Generator, tokens: int = 12, beta: float = 1.0) -> tuple[Rescaled, Rescaled]:
    """Random tokens on a line and in a plane, rescaled as they grow."""
    times = np.linspace(0, LAST, 41)
    return rescaled(rng.normal(size=(tokens, 1)), beta, times), rescaled(rng.normal(size=(3 * tokens, 2)), beta, times)


def leader_charts(line: Rescaled, plane: Rescaled) -> tuple[Chart, ...]:
    """The attention of the tokens of the line at the end, from left to right, and where those of the plane go."""
    order, n = np.argsort(line.z[0][:, 0]), line.z.shape[1]
    A = attention(line.z[-1][order], line.beta, float(line.times[-1]))
    where = (0.5, n + 0.5, 0.5, n + 0.5)
    xs, ys = np.concatenate([plane.z[0], plane.z[-1]]).T
    groups = ("start",) * len(plane.z[0]) + ("end",) * len(plane.z[0])
    rows = Axis("token looked at, from left to right"), Axis("token")
    return (
        Heatmap("without layer norm, d = 1: attention becomes Boolean", *rows, A, where, "weight"),
        Points("without layer norm, d = 2: to the corners", Axis("e^(−t) x₁"), Axis("e^(−t) x₂"), xs, ys, groups),
    )
