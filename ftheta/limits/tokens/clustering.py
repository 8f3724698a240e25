"""What is claimed of tokens on the sphere: energy that grows, a point where they meet, leaders without norm."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    Points,
    Regions,
    Series,
)

from .clouds import hemisphere
from .flow import Course, Field, follow, sphere_field
from .leaders import Rescaled, attention, rescaled
from .sphere import UNNORMALISED, common_cosine

NEAR = 1e-6  # of integrations with local errors of 1e-8
DEPTHS = (8, 16, 32, 64, 128)
SHOWN = 48  # tokens whose ways are drawn
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
        return (
            Identity("energy gained and Σz_i|ẋ_i|²/n² over time", _float(gain), _float(known), atol=NEAR * size),
            AtMost("largest fall of the energy", Enclosure.measured(fall, samples=samples), Enclosure.exact(0),
                   atol=NEAR * size),
        )  # fmt: skip

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

    def picture(self) -> Regions:
        """The ways of the tokens, seen from one side: dots coloured by time. In higher dimensions, their main plane."""
        states = self.course.units[:, :SHOWN]
        plane = _view(states)
        front = states @ np.cross(*plane.T) >= 0 if states.shape[2] == 3 else np.ones(states.shape[:2], bool)
        flat, steps = states @ plane, np.linspace(0, 1, len(states))
        polygons, values = [], []
        for k, size in zip(range(len(states)), np.linspace(0.012, 0.035, len(states))):
            for p, near in zip(flat[k], front[k]):
                polygons.append(_dot(p, size if near else 0.6 * size))
                values.append(steps[k])
        corners = [_dot(np.array(c), 1e-4) for c in ((-1.04, -1.04), (1.04, 1.04))]  # keep the circle in the frame
        turn = np.linspace(0, 2 * np.pi, 97)
        circle = (tuple(zip(np.cos(turn), np.sin(turn))),)
        title = f"tokens from t = 0 to {self.course.times[-1]:g}" + (", smaller behind" if states.shape[2] == 3 else "")
        axes = Axis("first direction"), Axis("second direction")
        return Regions(title, *axes, (*polygons, *corners), (*values, 0.0, 0.0), "start to end", circle)


def layered(x: np.ndarray, field: Field, steps: np.ndarray) -> np.ndarray:
    """Attention layers with these steps, each followed by layer norm (onto the sphere)."""
    for step in steps:
        x = x + step * field(x)[0]
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x


def _view(states: np.ndarray) -> np.ndarray:
    """Two orthonormal directions (d, 2) to look along: tilted in space, the main ones of the whole course beyond."""
    d = states.shape[2]
    if d == 2:
        return np.eye(2)
    if d == 3:
        return np.linalg.qr(np.array([[1.0, 0.2], [-0.3, 0.9], [0.2, 0.35]]))[0] * np.array([-1.0, 1.0])
    _, _, main = np.linalg.svd(states.reshape(-1, d), full_matrices=False)
    return main[:2].T


def _dot(centre: np.ndarray, size: float) -> tuple[tuple[float, float], ...]:
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    return tuple(zip(centre[0] + size * np.cos(angles), centre[1] + size * np.sin(angles)))


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
