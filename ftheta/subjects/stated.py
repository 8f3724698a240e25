r"""What is stated of an objective, proved where there is a proof, tested elsewhere: its Hessian, its minimiser, that it
is bounded below. A statement that no proof supports is assumed, and one that a point contradicts fails."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ftheta.graph.certain import bounds_over, is_smooth_function, polynomial_degree
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.hypotheses import Finding, hypothesis
from ftheta.spectra.curvature import eigenvalue_range
from ftheta.training.landscapes import LastLayer

from .kinds import QuadraticForm, Training
from .network import Network

PAIRS = 16  # of points at which gradients are compared with H
# of those points around the start, in units of the problem's size
RADII = np.geomspace(0.05, 8.0, PAIRS)
# relative: what rounding may do to a matrix or a minimiser that is stated in float64
TOLERANCE = 1e-9
EPS = float(np.finfo(np.float64).eps)
# of the distance of two points: to a millionth, where rounding is far below the slopes
HALVINGS = 20
LARGEST = 200  # numbers in θ up to which a Hessian is enclosed entry by entry


@dataclass(frozen=True, slots=True)
class Gap:
    """How far a statement is from the truth for certain (`least`), at most (`most`), and what rounding may explain."""

    least: float
    most: float
    allowed: float

    @property
    def contradicts(self) -> bool:
        return self.least > self.allowed

    @property
    def agrees(self) -> bool:
        return self.most <= self.allowed


@lru_cache(32)
def why_quadratic(run: Training) -> str | None:
    """Why F is a quadratic with the Hessian that is stated: by its make, or by its program. None without a proof."""
    H = run.hessian
    if H is None:
        return None
    F = run.objective
    if type(F) is QuadraticForm and np.array_equal(F.matrix, H):
        return "F is made from H: ½θᵀHθ, and H is symmetric"
    if _is_last_layer(F) and np.array_equal(F.__self__.hessian, H):
        return "F is made from its features: least squares, whose Hessian is ΦᵀΦ/n + γI"
    start = np.asarray(run.start, np.float64)
    degree = polynomial_degree(F, start)
    if degree is None or degree > 2 or start.size > LARGEST:
        return None
    seen = bounds_over(jax.hessian(F), start, start)
    if seen is None:
        return None
    told = _whole_hessian(H, start)
    slack = TOLERANCE * float(np.abs(told).max(initial=0.0))
    inside = (seen.lo.reshape(told.shape) >= told - slack) & (
        seen.hi.reshape(told.shape) <= told + slack
    )
    return (
        "by its program F has degree ≤ 2, and H is its Hessian, enclosed at one point"
        if inside.all()
        else None
    )


def _is_last_layer(objective: Any) -> bool:
    return (
        getattr(objective, "__func__", None) is LastLayer.value
        and type(objective.__self__) is LastLayer
    )


def _whole_hessian(H: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The Hessian in all numbers of θ: of a matrix θ, H is that of each column."""
    columns = start.size // len(H) if len(H) else 1
    return np.kron(H, np.eye(columns)) if columns > 1 else np.asarray(H, np.float64)


def stated_curvature(run: Training) -> tuple[Enclosure, Enclosure]:
    """The ends of the spectrum of the Hessian that is stated; without a proof that it is F's, no more than a sample."""
    if run.hessian is None:
        raise ValueError("no Hessian is stated")
    lo, hi = eigenvalue_range(run.hessian)
    if why_quadratic(run) is not None:
        return lo, hi
    return Enclosure.measured(lo.middle, samples=PAIRS), Enclosure.measured(
        hi.middle, samples=PAIRS
    )


def _size(run: Training) -> float:
    """How far the start is from the minimiser, or from zero; 1 where it is there already."""
    centre = np.zeros_like(run.start) if run.optimum is None else run.optimum
    return float(np.linalg.norm(np.ravel(run.start - centre))) or 1.0


def _points(run: Training) -> np.ndarray:
    """Pairs of points around the start, near and far, on either side: shape (2, PAIRS, *θ)."""
    rng = np.random.default_rng(0)
    shape = np.shape(run.start)
    directions = rng.normal(size=(2, PAIRS, *shape))
    norms = np.sqrt(np.square(directions).reshape(2, PAIRS, -1).sum(2))
    # no two points of a pair are at one distance
    lengths = _size(run) * np.stack([RADII, RADII[::-1]]) / norms
    return run.start + directions * lengths.reshape(2, PAIRS, *[1] * len(shape))


def _gradients(run: Training, points: np.ndarray) -> Interval:
    """∇F at the rows: enclosed with outward rounding, or where a rule is missing in float64 with room for rounding."""
    gradient = jax.vmap(jax.grad(run.objective))
    try:
        return intervals(
            trace(gradient, points, fold_rounded=False), Interval(points, points)
        ).outputs
    except GraphError:
        seen = np.asarray(jax.jit(gradient)(points), np.float64)
        room = 1e-6 * np.abs(seen).max(initial=0.0)
        return Interval(seen - room, seen + room)


@lru_cache(32)
def hessian_gap(run: Training) -> Gap:
    r"""$|\nabla F(a)-\nabla F(b)-H(a-b)|/|a-b|$, largest over pairs of points and entries."""
    if run.hessian is None:
        return Gap(0.0, 0.0, 0.0)
    a, b = _points(run)
    seen = _gradients(run, np.concatenate([a, b]))
    H = np.asarray(run.hessian, np.float64)
    moved = (a - b).reshape(PAIRS, len(H), -1)
    ends = [end.reshape(2, *moved.shape) for end in (seen.lo, seen.hi)]
    wanted = np.einsum("ij,pjk->pik", H, moved)
    rounding = (
        EPS
        * (len(H) + 4)
        * (np.abs(ends).max(axis=(0, 1)) + np.einsum("ij,pjk->pik", abs(H), abs(moved)))
    )
    low = ends[0][0] - ends[1][1] - wanted - rounding
    high = ends[1][0] - ends[0][1] - wanted + rounding
    length = np.abs(moved).max(axis=(1, 2), keepdims=True)
    least = float((np.maximum(np.maximum(low, -high), 0.0) / length).max(initial=0.0))
    most = float((np.maximum(np.abs(low), np.abs(high)) / length).max(initial=0.0))
    rows = float(np.abs(H).sum(1).max(initial=0.0))
    return Gap(least, most, TOLERANCE * rows)


@lru_cache(32)
def optimum_gap(run: Training) -> Gap:
    r"""$\|\nabla F(\theta^*)\|$ at the minimiser that is stated. To round it may turn the gradient by the curvature met
    times the size of the problem."""
    if run.optimum is None:
        return Gap(0.0, 0.0, 0.0)
    optimum = np.asarray(run.optimum, np.float64)
    points = np.concatenate([optimum[None], _points(run)[0]])
    seen = _gradients(run, points)
    ends = [end.reshape(len(points), -1) for end in (seen.lo, seen.hi)]
    most = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    least = np.maximum(np.maximum(ends[0], -ends[1]), 0.0)
    turned = np.linalg.norm(ends[0][1:] - ends[0][0], axis=1)
    away = np.linalg.norm((points[1:] - optimum).reshape(PAIRS, -1), axis=1)
    curvature = float(np.max(turned / away))
    allowed = TOLERANCE * curvature * (_size(run) + float(np.linalg.norm(optimum)))
    return Gap(float(np.linalg.norm(least[0])), float(np.linalg.norm(most[0])), allowed)


@lru_cache(32)
def steepest_secant(run: Training) -> float:
    r"""The largest $\|\nabla F(a)-\nabla F(b)\|/\|a-b\|$ met, which is at most $L$ for an $L$-smooth $F$.

    Pairs of points are halved towards the steeper half, so that a kink or a narrow bend between them is found.
    """
    shape = np.shape(run.start)
    compiled = jax.jit(jax.vmap(jax.grad(run.objective)))
    gradient = lambda rows: np.asarray(compiled(rows.reshape(PAIRS, *shape)), np.float64).reshape(
        PAIRS, -1
    )
    a, b = _points(run).reshape(2, PAIRS, -1)
    slope_a = gradient(a)
    slope_b = gradient(b)
    steepest = 0.0
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        slope_middle = gradient(middle)
        half = np.linalg.norm(b - a, axis=1) / 2
        left = np.linalg.norm(slope_middle - slope_a, axis=1) / half
        right = np.linalg.norm(slope_b - slope_middle, axis=1) / half
        steepest = max(steepest, float(np.nanmax(np.maximum(left, right))))
        keep_left = (left >= right)[:, None]
        a = np.where(keep_left, a, middle)
        b = np.where(keep_left, middle, b)
        slope_a = np.where(keep_left, slope_a, slope_middle)
        slope_b = np.where(keep_left, slope_middle, slope_b)
    return steepest


@hypothesis(
    r"what is stated of $F$ is so: $\nabla F(\theta^*)=0$ at the minimiser, $\nabla^2F=H$ everywhere",
    remedy="state the true `optimum` and `hessian`, or leave them out",
    name="statements about F that are true",
)
def as_stated(subject: Training | Network) -> Finding:
    """Proved by the program where it can be, else tested at points; what they cannot contradict is assumed."""
    if isinstance(subject, Network) or (subject.optimum is None and subject.hessian is None):
        return Finding.proved("nothing is stated", "an empty statement")
    notes: list[str] = []
    proofs: list[str | None] = []
    if subject.hessian is not None:
        if np.size(subject.start) % len(subject.hessian):
            return Finding.failed(
                f"H is {len(subject.hessian)} × {len(subject.hessian)}, θ has other sizes"
            )
        proofs.append(why_quadratic(subject))
        if proofs[-1] is None:
            gap = hessian_gap(subject)
            notes.append(f"gradients at {PAIRS} pairs of points differ from H by {gap.most:.3g}")
            if gap.contradicts:
                return Finding.failed(notes[-1], Enclosure.at_least(gap.least))
    if subject.optimum is not None:
        gap = optimum_gap(subject)
        if gap.contradicts:
            return Finding.failed(f"‖∇F(θ*)‖ ≥ {gap.least:.3g}", Enclosure.at_least(gap.least))
        notes.append(f"‖∇F(θ*)‖ ≤ {gap.most:.3g}, rounding explains {gap.allowed:.3g}")
        sure = gap.agrees and is_smooth_everywhere(subject)
        proofs.append(
            "F is smooth by its program, ∇F(θ*) enclosed with outward rounding" if sure else None
        )
    told = "; ".join(notes) or "H is the Hessian of its program"
    why = [proof for proof in proofs if proof is not None]
    if len(why) < len(proofs):
        return Finding.assumed(told)
    return Finding.proved(told, "; ".join(why), basis=Basis.FLOAT)


@dataclass(frozen=True, slots=True)
class Floor:
    """Whether F is bounded below: a `proof` that it is, a `fault` that shows that it is not, or neither."""

    proof: str = ""
    fault: str = ""


@lru_cache(32)
def floor_of(run: Training) -> Floor:
    """Is F bounded below, by F(θ*) where a minimiser is stated? By interval arithmetic over all of space, or degree."""
    start = np.asarray(run.start, np.float64)
    everywhere = bounds_over(
        run.objective, np.full(start.shape, -np.inf), np.full(start.shape, np.inf)
    )
    least = -np.inf if everywhere is None else float(np.min(everywhere.lo))
    if run.optimum is not None:
        fault = _lower_value(run)
        if fault:
            return Floor(fault=fault)
        value = bounds_over(run.objective, run.optimum, run.optimum)
        top = np.inf if value is None else float(value.hi)
        if np.isfinite(least) and top <= least + TOLERANCE * max(1.0, abs(least)):
            return Floor(
                proof=f"F ≥ {least:.6g} = F(θ*) everywhere, in interval arithmetic over all of space"
            )
    elif np.isfinite(least):
        return Floor(proof=f"F ≥ {least:.6g} everywhere, in interval arithmetic over all of space")
    least_at_optimum = (
        why_quadratic(run) is not None and run.optimum is not None and optimum_gap(run).agrees
    )
    if least_at_optimum and stated_curvature(run)[0].lo >= 0:
        return Floor(proof="a convex quadratic is least where its gradient vanishes")
    return Floor(fault=_downhill(run, start))


def _lower_value(run: Training) -> str:
    """A point where F is below its value at the minimiser that is stated, if one is met."""
    points = np.concatenate(
        [_points(run).reshape(2 * PAIRS, *run.start.shape), np.asarray(run.optimum)[None]]
    )
    try:
        seen = intervals(
            trace(jax.vmap(run.objective), points, fold_rounded=False), Interval(points, points)
        ).outputs
    except GraphError:
        return ""
    least = float(seen.hi[:-1].min())
    spread = float(seen.hi.max()) - least
    if least < float(seen.lo[-1]) - TOLERANCE * spread:
        return f"F = {least:.6g} was met, below F(θ*) = {float(seen.lo[-1]):.6g}"
    return ""


def _downhill(run: Training, start: np.ndarray) -> str:
    """A polynomial of degree two at most that falls for ever along an axis: by differences, rounded outwards."""
    degree = polynomial_degree(run.objective, start)
    if degree is None or degree > 2:
        return ""
    steps = np.eye(start.size).reshape(start.size, *start.shape)
    points = np.concatenate([steps, -steps, np.zeros((1, *start.shape))])
    seen = intervals(
        trace(jax.vmap(run.objective), points, fold_rounded=False), Interval(points, points)
    ).outputs
    n = start.size
    bent = seen.hi[:n] + seen.hi[n:-1] - 2 * seen.lo[-1]
    slope = np.maximum(seen.lo[:n] - seen.hi[n:-1], seen.lo[n:-1] - seen.hi[:n])
    if bent.min() < 0:
        return f"a polynomial of degree 2 with second difference {bent.min():.6g} along an axis: it falls for ever"
    if degree == 1 and slope.max() > 0:
        return "an affine function that is not constant: it falls for ever"
    return ""


def is_smooth_everywhere(run: Training) -> bool:
    """Whether the program of F has derivatives of all orders on the whole space."""
    return is_smooth_function(run.objective, np.asarray(run.start, np.float64))
