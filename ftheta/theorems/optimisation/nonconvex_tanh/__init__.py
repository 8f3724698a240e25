"""One tanh neuron is enough for a loss that is not convex: a well between two plateaus."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.certify.curvature_sign import Stretch, curvature_signs
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Exists,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.spectra.objective import LabelledNetwork
from ftheta.subjects import Network, Training

from . import slices
from .tanh_well import BITS, COMPARED, Escape, escape, find_shape, gap, half_tanh_squared, inflexion

CONVEX = "√(1 + a²) − 1"
BRACKET = 1e-9  # within which the change of sign of the curvature is found
MOST_DRAWN = 20_000  # steps of a run that is a point of the chart
WORK = 6e9  # multiplications of one plane, about


def one_number(
    rng: np.random.Generator,
    *,
    loss: Annotated[
        str, Knob(says="the function of one number", symbol="L", choices=("½ tanh²", CONVEX))
    ] = "½ tanh²",
) -> Training:
    f = half_tanh_squared if loss != CONVEX else lambda a: jnp.sqrt(1 + a * a) - 1
    return Training(loss, f, np.array(5.0), np.array(0.0))


def convex_cousin(rng: np.random.Generator) -> Training:
    return one_number(rng, loss=CONVEX)


@hypothesis(
    r"the loss is $\frac12\tanh^2$ of one number; or it is that of a network on data with targets",
    remedy="give data with targets that fit the network; a `Training` of several numbers is sliced as it is",
    name="a known loss",
)
def known_loss(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        labelled = LabelledNetwork.of(subject)
        note = f"{len(labelled.y):,} rows with targets, {labelled.loss or 'no'} loss"
        return Finding.decide(bool(labelled.loss), note, "counted")
    if subject.start.ndim:
        return Finding.proved(f"a loss of {subject.start.size:,} numbers", "nothing is asked of it")
    if subject.objective is half_tanh_squared:
        return Finding.proved("the function is ½ tanh² itself", "the same Python function")
    apart = gap(subject.objective)
    note = f"differs from ½ tanh² by {apart:.3g} at {len(COMPARED)} points"
    return Finding.failed(note) if apart > 1e-12 else Finding.sampled(note)


@theorem(
    title="A loss that is not convex: one tanh neuron",
    sources=("murari-slides", "li2018visualizing"),
    gist="A single tanh neuron already has a loss that is not convex: a well between two plateaus, on which gradient "
    "descent needs exponentially many steps; slices show the same of a whole network.",
    see_also=("landscape-equivalent-minima", "function-classes", "pl-inequality"),
    assumes=(known_loss,),
    on=one_number,
    breaks_on=convex_cousin,
    presets={
        "textbook": {},
        "deep in the plateau": {"start": 6.0},
        "small steps": {"tau": 0.1, "start": 4.0},
        "at the edge": {"start": 0.7},
        "broken on purpose": {"loss": CONVEX},
    },
)
def nonconvex_tanh(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    start: Annotated[
        float, Knob(0.7, 6.0, "where gradient descent starts", "a₀", least=0.66, most=8.0)
    ] = 5.0,
    tau: Annotated[
        float, Knob(0.05, 1.0, "step of gradient descent", "τ", log=True, least=1e-3, most=4.0)
    ] = 1.0,
    reach: Annotated[
        float, Knob(1, 8, "how far slices go (of the weights' own size for a network)", "r")
    ] = 6.0,
    points: Annotated[
        int, Knob(21, 81, "points per side of a slice through a network", "m", least=5, most=201)
    ] = 41,
) -> Evidence:
    r"""$\mathcal L(a)=\frac12\tanh^2a$ has $\mathcal L''=\mathrm{sech}^2a\,(1-3\tanh^2a)$, negative if and only if
    $|a|>a^*=\mathrm{artanh}\frac1{\sqrt3}=\frac12\ln(2+\sqrt3)$, with $\mathcal L(a^*)=\frac16$, $\min\mathcal L''=
    -\frac13$ and $\max|\mathcal L'|=\frac2{3\sqrt3}$. It has one critical point and is quasi-convex, but flat at
    infinity: from $a_0>a^*$ gradient flow needs the time $T(a_1)=\frac12(\sinh^2a_0-\sinh^2a_1)+\ln\frac{\sinh a_0}
    {\sinh a_1}$ down to $a_1$, and descent that is last above $a^*$ at $a_{K-1}$ needs
    $$T(a_{K-1})\le(K-1)\tau\le T(a_{K-1})+\tau\ln\tfrac{\mathcal L'(a_{K-1})}{\mathcal L'(a_0)},\qquad
    K\sim\frac{e^{2a_0}}{8\tau}.$$"""
    if isinstance(subject, Network):
        labelled = LabelledNetwork.of(subject)
        objective = labelled.objective
        risk = slices.risk_of(objective)
        return slice_loss(
            rng, risk, objective.model.params, subject.name, reach / 6, points, len(labelled.x)
        )
    if subject.start.ndim:
        risk = lambda theta: subject.objective(theta.reshape(subject.start.shape))
        return slice_loss(rng, risk, subject.start, subject.name, reach / 6, points)
    return _measure_well(subject.objective, start, tau, reach)


# -- the loss of one tanh neuron ----------------------------------------------------------------------------


def _measure_well(f: Any, start: float, tau: float, reach: float) -> Evidence:
    """The shape of ½ tanh², the curvature of f itself on intervals, and the way down from `start` in steps of `tau`."""
    signs, stretches = claim_curvature_signs(f, reach)
    descent = escape(start, tau)
    steps = f"{descent.steps:,} steps" if descent.steps else "more steps than the budget allows"
    return Evidence(
        claims=(*claim_shape(), *signs, *claim_escape(descent)),
        charts=(_draw_well(stretches), _draw_escapes(start, tau)),
        numbers=_shape_numbers() | {"steps K": descent.count, "K·8τe^(−2a₀)": descent.ratio},
        summary=f"concave beyond |a| = 0.6584789…; from a₀ = {start:g} it takes {steps} of τ = {tau:g} to get there",
    )


def claim_shape() -> tuple[Identity, ...]:
    """Curvature, critical points and extremes, exactly."""
    shape = find_shape()
    agree = lambda what, left, right: Identity(
        what, Enclosure.exact(left - right), Enclosure.exact(0)
    )
    return (
        agree("coefficients of L″ − (1 − t²)(1 − 3t²) that are not 0", shape.wrong_coefficients, 0),
        agree("critical points with |t| < 1, less 1", shape.critical_points, 1),
        agree("tanh²a* − 1/3 where the curvature changes its sign", shape.change, Fraction(1, 3)),
        agree("L(a*) − 1/6", shape.change / 2, Fraction(1, 6)),
        agree("least curvature + 1/3", shape.least_curvature, Fraction(-1, 3)),
        agree("square of the largest slope − 4/27", shape.steepest_squared, Fraction(4, 27)),
    )


def _shape_numbers() -> dict[str, Enclosure]:
    with ctx.workprec(BITS):
        third = arb(1) / 3
        return {
            "a*": known(inflexion()),
            "L(a*)": known(inflexion().tanh() ** 2 / 2),
            "least curvature": Enclosure.exact(Fraction(-1, 3)),
            "largest slope": known(2 * third.sqrt() * third),
        }


def claim_curvature_signs(f: Any, reach: float) -> tuple[tuple[AtMost, ...], tuple[Stretch, ...]]:
    """The sign of the curvature of f, proved on intervals: positive from 0 up to a*, negative from there to `reach`."""
    stretches = curvature_signs(f, -reach, reach)
    convex = next((s for s in stretches if s.sign > 0 and s.lo <= 0 <= s.hi), None)
    concave = next((s for s in stretches if s.sign < 0 and s.lo > 0), None)
    begins = Enclosure.exact(concave.lo).hi if concave else inf
    change = Enclosure.between(Enclosure.exact(convex.hi).lo if convex else 0.0, begins)
    holds_to = Enclosure.between(Enclosure.exact(concave.hi).lo if concave else 0.0, inf)
    star = known(inflexion())
    return (
        AtMost("a* − 10⁻⁹ ≤ where F″ > 0 ends", star - BRACKET, change),
        AtMost("where F″ > 0 ends ≤ a* + 10⁻⁹", change, star + BRACKET),
        AtMost("F″ < 0 from there up to", Enclosure.exact(reach), holds_to),
    ), stretches


def claim_escape(descent: Escape) -> tuple[AtMost, AtMost]:
    """Descent takes at least the time of gradient flow, and not much more."""
    flow, spent, most = descent.times
    return (
        AtMost("time of flow down to a_{K−1} ≤ (K − 1)τ", flow, spent),
        AtMost("(K − 1)τ ≤ time of flow + τ ln(L′(a_{K−1})/L′(a₀))", spent, most),
    )


def _draw_well(stretches: tuple[Stretch, ...]) -> Curves:
    """The loss, the stretches where negative curvature was proved, and the curvature."""
    lo = float(stretches[0].lo)
    hi = float(stretches[-1].hi)
    a = np.linspace(lo, hi, 481)
    loss = np.tanh(a) ** 2 / 2
    t = np.tanh(a)
    proved = np.zeros(a.shape, bool)
    for s in (s for s in stretches if s.sign < 0):
        proved |= (float(s.lo) <= a) & (a <= float(s.hi))
    series = (
        Series("curvature L″", a, (1 - t**2) * (1 - 3 * t**2), "reference"),
        Series("loss L", a, loss),
        Series(
            "concave, proved", a, np.where(proved, loss, inf), "bound"
        ),  # infinite values are gaps
    )
    return Curves("½ tanh² and the sign of its curvature", Axis("a"), Axis("L(a), L″(a)"), series)


def _draw_escapes(start: float, tau: float) -> Curves:
    """Steps that descent needs to leave the plateau, by where it starts."""
    a = np.linspace(0.75, max(start, 1.5), 16)
    needed = [(x, escape(float(x), tau).steps) for x in a if np.exp(2 * x) / (8 * tau) < MOST_DRAWN]
    fine = np.linspace(a[0], a[-1], 100)
    series = (
        Series("exp(2a₀)/8τ", fine, np.exp(2 * fine) / (8 * tau), "reference"),
        Series("steps K", [x for x, _ in needed], [k or inf for _, k in needed], mark="points"),
    )
    return Curves(
        "how long the plateau holds gradient descent",
        Axis("start a₀"),
        Axis("steps until a_k ≤ a*", "log"),
        series,
    )


# -- slices of the loss of a network ------------------------------------------------------------------------


def slice_loss(
    rng: np.random.Generator,
    risk: slices.Risk,
    params: Any,
    name: str,
    reach: float,
    points: int,
    rows: int = 1,
) -> Evidence:
    """Lines in three random directions and the plane of the first two, through these parameters."""
    start = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)]).astype(np.float64)
    side = max(5, min(points, int(np.sqrt(WORK / (12 * start.size * rows)))))
    u = slices.directions(rng, params, 3)
    found = slices.lines(risk, start, u, reach, 4 * side + 1)
    plane = slices.plane(risk, start, u[0], u[1], reach, side)
    worst = max(range(len(found)), key=lambda i: found[i].largest_bulge[2])
    shares = {
        word: float(np.mean(plane.negative == k))
        for k, word in enumerate(("convex", "saddle", "concave"))
    }
    listed = ", ".join(f"{word} at {share:.0%}" for word, share in shares.items())
    return Evidence(
        claims=(claim_bulge(risk, start, u[worst], found[worst]),),
        charts=(_draw_lines(found, name), *_draw_plane(plane, name)),
        numbers={f"part of the plane that is {word}": share for word, share in shares.items()}
        | {f"part of line {i} that is concave": one.concave for i, one in enumerate(found, 1)},
        summary=f"of {side}² points of a plane through the parameters the loss is {listed}",
    )


def claim_bulge(risk: slices.Risk, start: np.ndarray, u: np.ndarray, seen: slices.Line) -> Exists:
    """Three points of a line, the middle one above the mean of the others: no convex function has them. The values are
    computed again, one by one."""
    middle, distance, _ = seen.largest_bulge
    with jax.enable_x64(True):
        value = jax.jit(lambda t: risk(start + t * u))
        low, mid, high = (float(value(middle + d)) for d in (-distance, 0.0, distance))
    what = "the loss is not convex: mean of two points − loss half-way < 0 on a line"
    found = {"s": middle, "distance": distance, "bulge": mid - (low + high) / 2}
    rounding = 1e-9 * max(abs(low), abs(mid), abs(high))
    return Exists(
        what, found, Enclosure.equal((low + high) / 2 - mid), Enclosure.exact(-rounding), rtol=0.0
    )


def _draw_lines(found: Sequence[slices.Line], name: str) -> Curves:
    """All slices in one picture, and over them the stretches that bend down."""
    series = [Series(f"direction {i}", one.s, one.loss) for i, one in enumerate(found, 1)]
    gap = [np.inf]  # where nothing is drawn
    s = np.concatenate([np.concatenate([one.s, gap]) for one in found])
    down = np.concatenate(
        [np.concatenate([np.where(one.bend < 0, one.loss, np.inf), gap]) for one in found]
    )
    series.append(Series("concave", s, down, "bound"))
    return Curves(
        f"slices of the loss of {name}", Axis("along the direction"), Axis("loss"), tuple(series)
    )


def _draw_plane(plane: slices.Plane, name: str) -> tuple[Heatmap, Heatmap]:
    extent = (float(plane.s[0]), float(plane.s[-1]), float(plane.t[0]), float(plane.t[-1]))
    x = Axis("along direction 1")
    y = Axis("along direction 2")
    shown = np.log10(np.maximum(plane.loss, 1e-300))
    return (
        Heatmap(f"loss of {name} on a plane", x, y, shown, extent, "log₁₀ loss"),
        Heatmap(
            "its curvature there: negative is not convex",
            x,
            y,
            plane.convexity,
            extent,
            "λ_min / max|λ|",
        ),
    )
