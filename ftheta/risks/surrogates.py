r"""Losses of the margin $m=y\hat y$: upper bounds of the zero-one loss, and how they bend.

Statements about a whole range of margins are proved cell by cell in interval arithmetic with outward rounding
(`ftheta.graph`). The curvature of a named loss is written in a form whose sign intervals see ($\sigma(m)\sigma(-m)$,
not $\sigma-\sigma^2$); kinks are listed with the jump of the slope. A function without a name is differentiated by JAX,
and says nothing of its convexity where it has kinks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.certify.curvature_sign import scalar_graph, value_at
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float, Real, Shaped
from ftheta.training.losses import LOSSES, Loss, cross_entropy, hinge, huber, logistic

CELLS = 1024  # looked at in one sweep
SWEEPS = 6  # of halving the cells that are not decided
KINKED = frozenset(
    (
        "max",
        "min",
        "abs",
        "sign",
        "select_n",
        "floor",
        "ceil",
        "round",
        "clamp",
        "reduce_max",
        "cond",
    )
)
Scalar = Callable[[Any], Any]


@dataclass(frozen=True)
class MarginLoss:
    r"""$\varphi(m)$ with its second derivative `bend` where there is one, and `kinks`: (place, jump of the slope)."""

    name: str
    of: Scalar
    bend: Scalar | None = None
    kinks: tuple[tuple[float, float], ...] = ()


LN2 = float(np.log(2.0))  # below ln 2, so that the logistic loss at 0 is above 1 by 3·10⁻¹⁷
MARGINS: dict[str, MarginLoss] = {
    loss.name: loss
    for loss in (
        MarginLoss(
            "logistic",
            lambda m: jax.nn.softplus(-m) / LN2,
            lambda m: jax.nn.sigmoid(m) * jax.nn.sigmoid(-m) / LN2,
        ),
        MarginLoss("hinge", lambda m: jax.nn.relu(1 - m), lambda m: 0.0 * m, ((1.0, 1.0),)),
        MarginLoss("squared", lambda m: jnp.square(1 - m), lambda m: 2.0 + 0.0 * m),
        MarginLoss(
            "squared hinge", lambda m: jnp.square(jax.nn.relu(1 - m)), lambda m: 2.0 * (m < 1)
        ),
        MarginLoss("exponential", lambda m: jnp.exp(-m), lambda m: jnp.exp(-m)),
        MarginLoss(
            "natural logistic",
            lambda m: jax.nn.softplus(-m),
            lambda m: jax.nn.sigmoid(m) * jax.nn.sigmoid(-m),
        ),
    )
}
"""All but the last bound the zero-one loss. The logistic loss does so only in bits: divided by ln 2."""


PROFILES: dict[str, MarginLoss] = {
    loss.name: loss
    for loss in (
        MarginLoss("squared", jnp.square, lambda r: 2.0 + 0.0 * r),
        MarginLoss("absolute", jnp.abs, lambda r: 0.0 * r, ((0.0, 2.0),)),
        MarginLoss("huber", lambda r: huber(r, 0.0), lambda r: 1.0 * (jnp.abs(r) <= 1)),
        MarginLoss("logistic", lambda r: logistic(r, 1.0), MARGINS["natural logistic"].bend),
        MarginLoss("hinge", lambda r: hinge(r, 1.0), lambda r: 0.0 * r, ((1.0, 1.0),)),
    )
}
"""Losses that are sums over the coordinates: the summand, of the residual (the first three) or of the margin."""


def margin_loss(f: Scalar, name: str) -> MarginLoss:
    """The named loss that this function is, else the function with the second derivative that JAX finds."""
    for found in MARGINS.values():
        if found.of is f:
            return found
    smooth = not {node.primitive for node in scalar_graph(f).nodes} & KINKED
    return MarginLoss(name, f, jax.grad(jax.grad(f)) if smooth else None)


def range_of(
    f: Scalar, lo: float, hi: float, wanted: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Enclosure:
    """The values of f on [lo, hi], enclosed. Cells are halved until `wanted(lower, upper)` holds on all of them."""
    edges = np.linspace(lo, hi, CELLS + 1)
    a = edges[:-1]
    b = edges[1:]
    least = np.inf
    most = -np.inf
    for sweep in range(SWEEPS):
        box = _enclose_cells(f, a, b)
        if box is None:
            return Enclosure()
        open_ = ~wanted(box.lo, box.hi) & (sweep < SWEEPS - 1)
        done = ~open_
        least = min(least, box.lo[done].min(initial=np.inf))
        most = max(most, box.hi[done].max(initial=-np.inf))
        if not open_.any():
            break
        middle = (a[open_] + b[open_]) / 2
        a = np.r_[a[open_], middle]
        b = np.r_[middle, b[open_]]
    return Enclosure.between(least, most)


def _enclose_cells(f: Scalar, a: np.ndarray, b: np.ndarray) -> Interval | None:
    try:
        with jax.enable_x64(True):
            graph: Graph = trace(
                jax.vmap(f), jax.ShapeDtypeStruct(a.shape, np.float64), fold_rounded=False
            )
            return intervals(graph, Interval(a, b)).outputs
    except (GraphError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Surrogate:
    r"""What makes $\varphi(m)\ge1\{m\le0\}$ on $[-M,M]$: the slope on $[-M,0]$, $\varphi(0)-1$ and the values on
    $[0,M]$; and convexity: the second derivative and the least jump of the slope at a kink."""

    slope: Enclosure
    excess: Enclosure
    values: Enclosure
    bend: Enclosure
    jump: Enclosure


def surrogate(loss: MarginLoss, reach: float) -> Surrogate:
    """The ranges on [−reach, reach], each enclosed; unknown where a rule is missing."""
    slope = range_of(jax.grad(loss.of), -reach, 0.0, lambda lo, hi: hi <= 0)
    values = range_of(loss.of, 0.0, reach, lambda lo, hi: lo >= 0)
    bend = (
        Enclosure()
        if loss.bend is None
        else range_of(loss.bend, -reach, reach, lambda lo, hi: lo >= 0)
    )
    jump = Enclosure.exact(min((size for _, size in loss.kinks), default=0.0))
    return Surrogate(slope, above_one(loss.of), values, bend, jump)


def above_one(f: Scalar) -> Enclosure:
    r"""$\varphi(0)-1$, in balls."""
    return value_at(scalar_graph(lambda m: f(m) - 1), 0.0)


def least_bend(reach: float) -> Enclosure:
    """The least second derivative or jump of the slope among all `PROFILES` on [−reach, reach]."""
    bends = [
        range_of(h.bend, -reach, reach, lambda lo, hi: lo >= 0)
        for h in PROFILES.values()
        if h.bend is not None
    ]
    jumps = [size for h in PROFILES.values() for _, size in h.kinks]
    return Enclosure.between(
        min(*(b.lo for b in bends), *jumps), min(*(b.hi for b in bends), *jumps)
    )


def second_difference(
    loss: Loss, shape: tuple[int, ...], rng: np.random.Generator, segments: int = 4000
) -> float:
    r"""The least $\ell(a)+\ell(b)-2\ell(\frac{a+b}2)$ on random segments: below 0 for a loss that is not convex."""
    a, b = rng.normal(size=(2, segments, *shape)) * 10.0 ** rng.uniform(
        -1, 1, (segments, *([1] * len(shape)))
    )
    labels = rng.integers(0, 2, segments)
    targets = loss.targets(labels, shape)
    a[::2] = targets[::2]  # some begin where the prediction is right
    with jax.enable_x64(True):
        v = [np.asarray(jax.vmap(loss.of)(z, targets)) for z in (a, (a + b) / 2, b)]
    return float((v[0] + v[2] - 2 * v[1] + 1e-12 * (1 + np.abs(v[1]))).min())


# ---- no overflow ----------------------------------------------------------------------------------------------------


def logistic_error(margins: Float[np.ndarray, "n"]) -> Enclosure:
    r"""The largest error of the computed $\ln(1+e^{-m})$ at these margins, relative to $\max(1,\cdot)$, in balls."""
    with jax.enable_x64(True), ctx.workprec(256):
        worst = [
            _off(float(logistic(m, 1.0)), (1 + (-arb(m)).exp()).log()) for m in margins.tolist()
        ]
    return Enclosure.exact(max(e.hi for e in worst))


def cross_entropy_error(logits: Float[np.ndarray, "n k"]) -> Enclosure:
    r"""The same for $\ln\sum_je^{z_j}-z_k$, each row and class of `logits`."""
    errors = []
    with jax.enable_x64(True), ctx.workprec(256):
        for row in logits.tolist():
            total = sum((arb(z).exp() for z in row), arb(0)).log()
            for k, z in enumerate(row):
                errors.append(
                    _off(float(cross_entropy(np.array(row), np.eye(len(row))[k])), total - arb(z))
                )
    return Enclosure.exact(max(e.hi for e in errors))


def _off(computed: float, ball: Any) -> Enclosure:
    return known(abs(arb(computed) - ball) / arb.max(ball, arb(1)))


# ---- every loss of somebody's predictions ---------------------------------------------------------------------------


def accepted_losses(
    y: Real[np.ndarray, "n *k"], shape: tuple[int, ...]
) -> dict[str, tuple[Loss, Shaped[np.ndarray, "n *columns"]]]:
    """The losses of the table that take these targets, each with the targets as it takes them."""
    found = {}
    for name, loss in LOSSES.items():
        try:
            found[name] = loss, loss.targets(y, shape)
        except SubjectError:
            continue
    return found


def every_loss(
    predictions: Float[np.ndarray, "n *k"], y: Real[np.ndarray, "n *l"]
) -> dict[str, Real[np.ndarray, "n"]]:
    """Every loss of every row of predictions, as far as the targets allow."""
    found = {}
    with jax.enable_x64(True):
        for name, (loss, targets) in accepted_losses(y, predictions.shape[1:]).items():
            found[name] = np.asarray(jax.vmap(loss.of)(predictions, targets))
    return found
