"""Beyond the training data, shown: networks far out on rays, weights for another law of the inputs, rows outside the
hull of the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Chart,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Identity,
    Series,
    Table,
    Witness,
)
from ftheta.networks.description import Description
from ftheta.pieces.normal_forms import Form
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from .hull import Membership, membership
from .importance import GaussianShift, reweighted
from .rays import LARGEST, Far, far, far_in_floats, is_bounded, second_difference, settled

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
TARGETS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "parabola": lambda x: x**2,
    "sine": lambda x: np.sin(np.pi * x),
}
"""Functions of one variable that no network of the kind continues."""
SHOWN = 401
HULL_ENTRIES = 400_000
REACH = 3.0
NEAR = 0.1  # how far an adversary moves an input
ENOUGH = 300  # rows that a weighted mean must be worth
TIMES = (1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, eq=False)
class Ray:
    """From `point` in `direction`, with its name."""

    name: str
    point: np.ndarray
    direction: np.ndarray

    def at(self, t: np.ndarray) -> np.ndarray:
        return self.point + np.asarray(t)[:, None] * self.direction


def rays_of(x: np.ndarray | None, dimension: int, rng: np.random.Generator, many: int) -> list[Ray]:
    """On the line both ways from 0; else from the mean of the rows through some of them, or in random directions."""
    if dimension == 1:
        return [Ray("to the right", np.zeros(1), np.ones(1)), Ray("to the left", np.zeros(1), -np.ones(1))]
    if x is None or (x == x[0]).all():
        ways = rng.normal(size=(many, dimension))
        return [Ray(f"ray {k + 1}", np.zeros(dimension), way / np.linalg.norm(way)) for k, way in enumerate(ways)]
    flat = x.reshape(len(x), -1).astype(np.float64)
    centre = flat.mean(0)
    rows = rng.permutation(len(flat))[:many]
    return [Ray(f"through row {k}", centre, flat[k] - centre) for k in rows if (flat[k] != centre).any()]


@dataclass(frozen=True, eq=False)
class Extrapolated:
    """A network (`apply`, its `form` and its `layers`, where there are any) and data (x, y), or data alone."""

    name: str
    shape: tuple[int, ...]
    apply: Callable[[Any], Any] | None = None
    form: Form | None = None
    layers: Description | None = None
    data: tuple[np.ndarray, np.ndarray | None] | None = None
    goal: str = ""

    @property
    def dimension(self) -> int:
        return int(np.prod(self.shape))

    @cached_property
    def values(self) -> Callable[[np.ndarray], np.ndarray]:
        """Rows of flat inputs to rows of flat outputs, in float64."""
        assert self.apply is not None
        f = jax.jit(jax.vmap(self.apply))

        def values(x: np.ndarray) -> np.ndarray:
            with jax.enable_x64(True):
                y = np.asarray(f(np.asarray(x, np.float64).reshape(len(x), *self.shape)), np.float64)
            return y.reshape(len(x), -1)

        return values


def evidence(
    given: Extrapolated, rng: np.random.Generator, many: int, shift: GaussianShift, draws: int, rows: int
) -> Evidence:
    """Rays, weights and hull together."""
    x = None if given.data is None else given.data[0]
    found = None
    charts: list[Chart] = []
    if given.apply is not None:
        rays = rays_of(x, given.dimension, rng, many)
        found = _far_out(given, rays)
        charts.append(_on_the_line(given, found) if given.dimension == 1 else _along_rays(rays, given.values, found))
    target = TARGETS.get(given.goal) if given.dimension == 1 else None
    loss = (lambda t: (given.values(t[:, None])[:, 0] - target(t)) ** 2) if target and given.apply else None
    claims, numbers = shift_claims(shift, rng, draws, loss)
    hull, counts, tables = ([], {}, ()) if x is None else hull_part(x, rng, rows)
    first = [] if found is None else [*found.claims, *_cannot_continue(given.goal, found)]
    numbers = ({} if found is None else found.numbers) | numbers | counts
    if loss is not None:
        tables = (*tables, _four_laws(loss))
    return Evidence(
        (*first, *claims, *hull), (*charts, _densities(shift)), numbers, tables, summary=_told(given, found, numbers)
    )


def _four_laws(loss: Callable[[np.ndarray], np.ndarray]) -> Table:
    """The squared error of a network fitted on [-1, 1] under the four kinds of test inputs."""
    mean = lambda lo, hi: float(loss(np.linspace(lo, hi, SHOWN)).mean())
    near = np.linspace(-1 - NEAR, 1 + NEAR, 10 * SHOWN)
    rows = (
        ("as in training: uniform on [−1, 1]", mean(-1, 1)),
        ("covariate shift: uniform on [½, 1]", mean(0.5, 1)),
        ("outside of the support: uniform on [1, 3]", mean(1, REACH)),
        (f"adversarial: the worst point within {NEAR:g} of a row", float(loss(near).max())),
    )
    return Table("squared error by the law of the test inputs", ("test inputs", "squared error"), rows)


def _far_out(given: Extrapolated, rays: Sequence[Ray]) -> "Asymptotes":
    form = given.form
    if form is not None and not form.refusal and form.network is not None:
        return affine_far_out(form.network, form.basis, rays, given.values)
    if given.layers is not None and is_bounded(given.layers):
        return constant_far_out(given.layers, rays, given.values, TIMES)
    return bent_far_out(rays, given)


def _told(given: Extrapolated, found: "Asymptotes | None", numbers: dict[str, Enclosure | float]) -> str:
    parts = []
    if found is not None and "last kink" in numbers:
        parts.append(f"affine beyond t = {max(found.last):.5g}, slope {found.slopes[0][0]:.5g} there")
    elif found is not None:
        parts.append(f"tends to {found.offsets[0][0]:.5g}" if "limit" in numbers else "neither affine nor bounded")
    inside, outside = (numbers.get(f"rows {word} the hull of the others") for word in ("inside", "outside"))
    if isinstance(inside, Enclosure) and isinstance(outside, Enclosure):
        parts.append(f"{inside.lo:g} rows in the hull of the others, {outside.lo:g} outside")
    return "; ".join(parts) or given.name


# ---- ReLU networks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asymptotes:
    """What is known of every ray: the last kink, slopes and offsets as numbers to draw, and claims."""

    last: list[float]
    slopes: list[np.ndarray]
    offsets: list[np.ndarray]
    claims: tuple[Claim, ...]
    numbers: dict[str, Enclosure | float]


def affine_far_out(net: ReluNetwork, basis: Basis, rays: Sequence[Ray], values: Any) -> Asymptotes:
    """Slopes and last kinks, in rationals where the network is small enough."""
    if sum(step.matrix.nnz if sparse.issparse(step.matrix) else step.matrix.size for step in net.steps) > LARGEST:
        return _in_floats(net, rays, values)
    rational = exact(net)
    found = [far(rational, ray.point.tolist(), ray.direction.tolist()) for ray in rays]
    bent = [second_difference(rational, r.point.tolist(), r.direction.tolist(), f.last) for r, f in zip(rays, found)]
    what = f"largest second difference beyond the last kink, {len(rays)} rays"
    known = Enclosure.exact if basis is Basis.EXACT else lambda q: Enclosure.equal(float(q))
    claims = [Identity(what, known(max(bent)), ZERO)]
    if basis is not Basis.EXACT:  # the normal form was put together in float64: the network itself is asked too
        claims.append(_agreement(rays, found, values))
    steepest = max(abs(a) for f in found for a in f.slope)
    numbers: dict[str, Enclosure | float] = {
        "last kink": known(max(f.last for f in found)),
        "slope at infinity": known(found[0].slope[0]),
        "steepest slope at infinity": known(steepest),
    }
    floats = lambda numbers: np.array([float(q) for q in numbers])
    return Asymptotes(
        [float(f.last) for f in found], [floats(f.slope) for f in found], [floats(f.offset) for f in found],
        tuple(claims), numbers,
    )  # fmt: skip


def _agreement(rays: Sequence[Ray], found: Sequence[Far], values: Any) -> Identity:
    """The network in float64 against its asymptote, a little beyond the last kink."""
    worst = 0.0
    for ray, f in zip(rays, found):
        t = float(f.last) * 1.5 + 1.0
        meant = np.array([float(a) * t + float(b) for a, b in zip(f.slope, f.offset)])
        seen = values(ray.at(np.array([t])))[0]
        size = max(float(np.abs(meant).max()), 1.0)
        worst = largest(worst, np.abs(seen - meant) / size)
    return Identity("network − (αt + β), relative", Enclosure.equal(worst), ZERO, atol=1e-6)


def _in_floats(net: ReluNetwork, rays: Sequence[Ray], values: Any) -> Asymptotes:
    found = [far_in_floats(net, ray.point, ray.direction) for ray in rays]
    worst = 0.0
    for ray, (last, _, _) in zip(rays, found):
        y = values(ray.at(last * 1.01 + np.array([1.0, 2.0, 3.0])))
        worst = largest(worst, np.abs(y[0] - 2 * y[1] + y[2]) / max(np.abs(y).max(), 1.0))
    claim = Identity(
        "largest second difference beyond the last kink, relative", Enclosure.equal(worst), ZERO, atol=1e-6
    )
    numbers: dict[str, Enclosure | float] = {
        "last kink": max(last for last, _, _ in found),
        "slope at infinity": float(found[0][1][0]),
        "steepest slope at infinity": max(float(np.abs(a).max()) for _, a, _ in found),
    }
    return Asymptotes([f[0] for f in found], [f[1] for f in found], [f[2] for f in found], (claim,), numbers)


def bent_far_out(rays: Sequence[Ray], given: "Extrapolated") -> Asymptotes:
    """Of a network that is neither: how much it bends far out, at points alone."""
    t = 1e3 * np.array([1.0, 2.0, 3.0])
    y = [given.values(ray.at(t)) for ray in rays]
    bends = [largest(np.abs(v[0] - 2 * v[1] + v[2]) / max(float(np.abs(v).max()), 1.0)) for v in y]
    k = int(np.argmax(bends))

    apply: Any = given.apply

    def bend(x: Any) -> Any:
        v = jax.vmap(lambda row: jnp.ravel(apply(row.reshape(given.shape))))(x)
        return jnp.max(jnp.abs(v[0] - 2 * v[1] + v[2])) / jnp.maximum(jnp.max(jnp.abs(v)), 1.0)

    far = enclose_number(bend, rays[k].at(t)) if bends[k] > 1e-6 and apply is not None else Enclosure.unknown()
    witness = Witness({"t": 1e3}, far, ZERO, "three points of a ray in intervals rounded outward")
    claim = Identity("second difference far out, relative", Enclosure.equal(bends[k]), ZERO, witness, atol=1e-6)
    slopes = [v[2] - v[1] for v in y]
    return Asymptotes([inf] * len(y), slopes, [v[0] for v in y], (claim,), {"slope at infinity": float(slopes[0][0])})


def _cannot_continue(name: str, f: Asymptotes) -> list[Claim]:
    """A line is far from a parabola and from a wave: how far at least, beyond the last kink to the right."""
    if name not in TARGETS or not np.isfinite(f.last[0]):
        return []
    a, b, t0 = float(f.slopes[0][0]), float(f.offsets[0][0]), f.last[0]
    off = lambda x: abs(float(TARGETS[name](np.array([x]))[0]) - (a * x + b))
    if name == "sine":
        first = np.ceil(t0 - 0.5) + 0.5  # three extremes of sin πx
        worst = max(off(first + k) for k in range(3))
        what = "1 ≤ largest error at three extremes of the wave beyond the last kink"
        return [AtMost(what, ONE, Enclosure.equal(worst))]
    end = max(REACH, t0 + 2)
    points = [t0, end, *([a / 2] if t0 < a / 2 < end else [])]  # x² − ax − b is largest at the ends, or least inside
    least, most = Enclosure.equal((end - t0) ** 2 / 8), Enclosure.equal(max(map(off, points)))
    return [AtMost(f"(R − t₀)²/8 ≤ largest error on [t₀, R], R = {end:g}", least, most)]


# ---- bounded activations ---------------------------------------------------------------------------------------------


def constant_far_out(net: Description, rays: Sequence[Ray], values: Any, times: Sequence[float]) -> Asymptotes:
    """The limit on every ray, and the distance from it at the worst of some times."""
    worst, limits = (-inf, 0.0, 0.0, 0.0), []
    for ray in rays:
        found = settled(net, ray.point, ray.direction)
        limits.append(found.limit)
        seen = values(ray.at(np.array(times)))
        for t, y in zip(times, seen):
            off, bound = largest(np.linalg.norm(y - found.limit)), found.within(t)
            worst = max(worst, (off - bound.hi, off, bound.hi, t))
    size = max(float(np.abs(v).max()) for v in limits) + 1
    claim = AtMost(f"|f(x + tv) − limit| ≤ Π‖W‖Lip · |h(t) − h(∞)|, worst of {len(times)} times (t = {worst[3]:g})",
                   Enclosure.equal(worst[1]), Enclosure.equal(worst[2]), atol=1e-12 * size)  # fmt: skip
    zeros = [np.zeros_like(v) for v in limits]
    numbers: dict[str, Enclosure | float] = {"limit": float(limits[0][0]), "slope at infinity": 0.0}
    return Asymptotes([inf] * len(limits), zeros, limits, (claim,), numbers)


# ---- another law of the inputs ---------------------------------------------------------------------------------------


def shift_claims(
    shift: GaussianShift, rng: np.random.Generator, n: int, loss: Callable[[np.ndarray], np.ndarray] | None
) -> tuple[list[Claim], dict[str, Enclosure | float]]:
    r"""$\mathbb E_q\ell=\mathbb E_p[w\ell]$: exactly on three points, from draws for $x^2$ and a network's loss."""
    laws = [[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)]]
    direct, weighted = reweighted(laws[0], laws[1], [Fraction(0), Fraction(1), Fraction(4)])
    claims: list[Claim] = [
        Identity("E_p[wℓ] = E_q ℓ on three points", Enclosure.exact(weighted), Enclosure.exact(direct))
    ]
    second = shift.second_moment
    numbers: dict[str, Enclosure | float] = {"E_p[w²]": second if np.isfinite(second) else Enclosure.between(inf, inf)}
    numbers["rows that the weighted ones are worth"] = n / second
    if shift.spread**2 < 4 / 3 and n / second >= ENOUGH:  # the weights have fourth moments
        meant = Enclosure.equal(shift.move**2 + shift.spread**2)
        claims.append(Identity(f"E_p[w x²] from {n:,} rows = μ² + s²", shift.weighted(np.square, rng, n), meant))
        if loss is not None:
            test = shift.test_mean(loss)
            numbers |= {"test risk": test, "risk without weights": shift.unweighted(loss, rng, n)}
            what = "weighted training risk of the network = its test risk"
            claims.append(Identity(what, shift.weighted(loss, rng, n), Enclosure.equal(test)))
    return claims, numbers


def _densities(shift: GaussianShift) -> Curves:
    x = np.linspace(-4, 4 + max(shift.move, 0), SHOWN)
    p = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    w = shift.weights(x)
    series = (
        Series("training density p", x, p, "reference"),
        Series("test density q", x, p * w, "measured"),
        Series("weight q/p", x, w, "other"),
    )
    kept = tuple(Series(s.name, x[np.array(s.y) > 1e-6], np.array(s.y)[np.array(s.y) > 1e-6], s.role) for s in series)
    return Curves("covariate shift: densities and weights", Axis("x"), Axis("density, weight", "log"), kept)


# ---- the hull of the rows --------------------------------------------------------------------------------------------


def hull_part(
    x: np.ndarray, rng: np.random.Generator, many: int
) -> tuple[list[Claim], dict[str, Enclosure | float], tuple[Table, ...]]:
    """Some rows against the hull of the others, each with its certificate evaluated again."""
    flat = x.reshape(len(x), -1).astype(np.float64)
    kept = flat[rng.permutation(len(flat))[: max(HULL_ENTRIES // flat.shape[1], 2)]]
    if len(kept) < 3 or many == 0:
        return [], {}, ()
    many = min(many, len(kept))
    found = [membership(np.delete(kept, k, axis=0), kept[k]) for k in range(many)]
    combined = [_residual(np.delete(kept, k, axis=0), kept[k], m) for k, m in enumerate(found) if m.kind == "inside"]
    gaps = [m.gap for m in found if m.kind == "outside"]
    claims: list[Claim] = []
    if combined:
        what = f"|Σ λᵢxᵢ − q| for the {len(combined)} rows inside, λ ≥ 0 of sum 1"
        claims.append(Identity(what, Enclosure.exact(max(combined)), ZERO))
    if gaps:
        what = f"0 ≤ ⟨w, q⟩ − max ⟨w, xᵢ⟩ for the {len(gaps)} rows outside"
        claims.append(AtMost(what, ZERO, Enclosure.exact(min(gaps))))
    numbers: dict[str, Enclosure | float] = {
        "rows inside the hull of the others": Enclosure.measured(len(combined), samples=many),
        "rows outside the hull of the others": Enclosure.measured(len(gaps), samples=many),
    }
    rows = tuple((k, m.kind, m.distance, len(m.rows)) for k, m in enumerate(found))
    title = f"rows against the hull of {len(kept) - 1:,} others"
    return claims, numbers, (Table(title, ("row", "where", "distance from the hull ≥", "rows combined"), rows),)


def _residual(x: np.ndarray, q: np.ndarray, found: Membership) -> Fraction:
    columns = zip(q.tolist(), *(x[k].tolist() for k in found.rows))
    off = [abs(sum((w * Fraction(v) for w, v in zip(found.weights, rest)), -Fraction(t))) for t, *rest in columns]
    return max([*off, abs(sum(found.weights, Fraction(-1))), -min(found.weights)])


# ---- pictures --------------------------------------------------------------------------------------------------------


def _on_the_line(given: Extrapolated, f: Asymptotes) -> Curves:
    """A network of one variable inside and outside of the interval of its data, with its asymptotes."""
    x, y = (None, None) if given.data is None else (given.data[0].reshape(-1), given.data[1])
    lo, hi = (-1.0, 1.0) if x is None else (float(x.min()), float(x.max()))
    middle, half = (lo + hi) / 2, max((hi - lo) / 2, 1e-9)
    t = middle + REACH * half * np.linspace(-1, 1, SHOWN)
    shown = given.values(t[:, None])[:, 0]
    series = [Series("network", t, shown, "measured")]
    if given.goal in TARGETS:
        series.append(Series(given.goal, t, TARGETS[given.goal](t), "reference"))
    top = np.concatenate([series_.y for series_ in series])  # asymptotes are shown where they do not dwarf the rest
    room = float(np.ptp(top))
    for k, sign, word in ((0, 1.0, "right"), (1, -1.0, "left")):
        s = np.array([hi if sign > 0 else -lo, middle * sign + REACH * half])
        line = f.slopes[k][0] * s + f.offsets[k][0]
        if line.max() <= top.max() + room and line.min() >= top.min() - room:
            series.append(Series(f"asymptote, {word}", sign * s, line, "other"))
    if x is not None and y is not None and y.size == x.size:
        series.append(Series("training data", x, y.reshape(-1), "reference", "points"))
    return Curves("inside and outside of the training interval", Axis("x"), Axis("value"), tuple(series))


def _along_rays(rays: Sequence[Ray], values: Any, f: Asymptotes) -> Curves:
    """The first output along the rays, with the last kinks marked."""
    end = max([4.0, *(1.3 * last for last in f.last if np.isfinite(last))])
    t = np.linspace(0, min(end, 1e6), SHOWN)
    curves = [values(ray.at(t))[:, 0] for ray in rays[:6]]
    series = [Series(ray.name, t, y, "other" if k else "measured") for k, (ray, y) in enumerate(zip(rays, curves))]
    kinks = [(last, float(a[0] * last + b[0])) for last, a, b in zip(f.last, f.slopes, f.offsets) if np.isfinite(last)]
    if kinks:
        series.append(Series("last kinks", [k for k, _ in kinks[:6]], [v for _, v in kinks[:6]], "reference", "points"))
    return Curves("the first output along rays", Axis("t, in distances of the row"), Axis("f(x + tv)"), tuple(series))
