"""Smooth, convex, strongly convex: a pair of constants between which a function bends."""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.spectra import Objective, along_training, eigenvalue_range, extremes, natural_objective
from ftheta.spectra.classes import half_tanh_squared, logistic_constants, tanh_curvature
from ftheta.spectra.compact import NetworkOnBall
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import claims_mu, claims_smoothness, curvature_of, proved_range
from ftheta.subjects.stated import as_stated

from .pairs import BY, Pairs

KINDS = ("quadratic", "half tanh squared", "logistic regression", "tanh network on a ball")


def example(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which function", symbol="F", choices=KINDS)] = "quadratic",
    kappa: Annotated[
        float, Knob(1, 1000, "condition number of the quadratic", "κ", log=True, most=1e6)
    ] = 10.0,
    dimension: Annotated[
        int, Knob(1, 20, "number of coordinates; of the inputs of the network", "d", most=100)
    ] = 2,
    ball: Annotated[
        float, Knob(0.1, 10, "norm of the network's parameters, at most", "R", log=True, most=100)
    ] = 2.0,
) -> Training:
    start = np.full(dimension, 0.5)
    if kind == "quadratic":
        turn = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
        H = turn @ np.diag(np.geomspace(1, kappa, dimension) if dimension > 1 else [kappa]) @ turn.T
        return Training.quadratic(f"quadratic with κ = {kappa:g}", (H + H.T) / 2, start)
    if kind == "half tanh squared":
        lo, hi = tanh_curvature()
        return Training("½ tanh² θ", half_tanh_squared, start, np.zeros(dimension), lo.lo, hi.hi)
    if kind == KINDS[3]:
        F, start = tanh_network(rng, dimension, ball)
        return Training(
            f"tanh network on ‖θ‖ ≤ {ball:g}",
            F,
            start,
            mu=F.constants[2],
            smoothness=F.constants[1],
        )
    F, mu, L = ridge_logistic(rng, dimension)
    return Training("ridge logistic regression", F, start, mu=mu, smoothness=L)


def tanh_network(
    rng: np.random.Generator, dimension: int, radius: float
) -> tuple[NetworkOnBall, np.ndarray]:
    """Three hidden units on random data, and parameters half-way from the centre of the ball."""
    x = rng.normal(size=(20, dimension)) / dimension**0.5
    F = NetworkOnBall((dimension, 3, 1), "tanh", x, np.sin(x[:, :1]), radius)
    start = rng.normal(size=F.size)
    return F, start * radius / (2 * np.linalg.norm(start))


def ridge_logistic(
    rng: np.random.Generator, dimension: int, ridge: float = 0.05
) -> tuple[Any, float, float]:
    """Logistic regression on 40 random rows: the function, μ and L."""
    x = rng.normal(size=(40, dimension))
    y = rng.choice([-1.0, 1.0], 40)
    F = lambda t: jnp.mean(jax.nn.softplus(-y * (x @ t))) + ridge * jnp.sum(t**2)
    return F, *logistic_constants(x, ridge)


def too_smooth(rng: np.random.Generator) -> Training:
    H = np.diag([1.0, 40.0])
    return Training.quadratic(
        "quadratic that claims L four times too small", H, np.ones(2), mu=1.0, smoothness=10.0
    )


def constants_of(run: Training) -> tuple[float, float]:
    lo, hi = curvature_of(run)
    return (lo.lo if run.mu is None else run.mu), (
        hi.hi if run.smoothness is None else run.smoothness
    )


@hypothesis(
    r"$\mu I\preceq\nabla^2F\preceq LI$",
    remedy="state the true `mu` and `smoothness`; give a network labels",
    name="a Hessian between μI and LI",
)
def between_curvatures(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        fits = natural_objective(subject) is not None
        return (
            Finding.sampled("measured along one run")
            if fits
            else Finding.failed("there are no labels that fit")
        )
    (lo, hi) = curvature_of(subject)
    (mu, L) = constants_of(subject)
    note = f"curvature met in [{lo.lo:.6g}, {hi.hi:.6g}], claimed [{mu:.6g}, {L:.6g}]"
    slack = 1e-9 * abs(L)
    if not (mu <= lo.hi + slack and hi.lo <= L + slack):
        return Finding.failed(note, hi)
    low, high, why = proved_range(subject)
    if why and mu <= low + slack and high <= L + slack:
        return Finding.proved(note, why, hi, basis=Basis.FLOAT)
    return Finding.sampled(note, hi)


@theorem(
    title="Lipschitz, smooth, convex, strongly convex",
    sources=("murari-slides", "nesterov2018", "taylor2017"),
    gist="Two numbers, the smallest and the largest curvature, tell how a loss bends; every convergence guarantee is "
    "stated in them, and pairs of points can disprove them but never certify them.",
    see_also=("gd-strongly-convex", "gd-step-regimes", "pl-inequality"),
    assumes=(between_curvatures, as_stated),
    on=example,
    breaks_on=too_smooth,
    presets={"textbook": {}, "not convex": {"kind": KINDS[1], "dimension": 1}}
    | {k: {"kind": k} for k in KINDS[2:]},
    unbreakable="the built-in constants are closed formulas; the negative control claims a wrong one",
)
def function_classes(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    pairs: Annotated[int, Knob(16, 4096, "pairs of points tried", "n", log=True, most=65536)] = 512,
    radius: Annotated[
        float, Knob(0.1, 10, "how far the points lie from the start", "r", log=True, most=1e3)
    ] = 2.0,
) -> Evidence:
    r"""For $F\in C^2$, $\mu I\preceq\nabla^2F\preceq LI$ iff for all $x,y$
    $$\tfrac\mu2\|y-x\|^2\le F(y)-F(x)-\langle\nabla F(x),y-x\rangle\le\tfrac L2\|y-x\|^2;$$
    $F$ is $M$-Lipschitz iff $\|\nabla F\|\le M$. If $\mu\ge0$ the gradient is co-coercive,
    $\frac1L\|\nabla F(y)-\nabla F(x)\|^2\le\langle\nabla F(y)-\nabla F(x),y-x\rangle$; values and gradients of such
    functions are those that satisfy the interpolation inequality."""
    if isinstance(subject, Network):
        loss = natural_objective(subject)
        return Evidence((), summary="no labels") if loss is None else _measure_training(loss, rng)
    mu, L = constants_of(subject)
    F = subject.objective
    found = Pairs.draw(F, subject.start, radius, pairs, rng)
    claims = _claim_inequalities(found, mu, L, (claims_mu(subject), claims_smoothness(subject)))
    if isinstance(F, NetworkOnBall):
        claims.append(_claim_lipschitz(F, np.concatenate(found.slopes)))
    if subject.hessian is not None and subject.smoothness is None:
        top = eigenvalue_range(subject.hessian)[1]
        claims.append(Identity("L and the largest eigenvalue", Enclosure.equal(L), top, rtol=1e-8))
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_envelopes(F, subject.start, np.ones(subject.start.size), mu, L, radius),),
        numbers={"L": Enclosure.equal(L), "μ": Enclosure.equal(mu), **found.numbers()},
        summary=f"{subject.name}: μ = {mu:.6g}, L = {L:.6g}; {pairs} pairs show L ≥ {found.steepness.max():.6g} "
        f"and μ ≤ {found.monotony.min():.6g}",
    )


# -- a function with its constants --------------------------------------------------------------------------


def _claim_inequalities(
    found: Pairs, mu: float, L: float, claimed: tuple[bool, bool]
) -> list[Claim]:
    """At each inequality the pair that comes nearest to failing, or fails.

    It refutes what the subject claims of μ and of L; of `claimed` (μ, L) those that are not were only met at points.
    """
    claims: list[Claim] = []
    for name, (left, right) in found.sides(mu, L).items():
        size = np.abs(left) + np.abs(right) + np.abs(found.values[0]) + np.abs(found.values[1])
        k = int(np.argmax(np.nan_to_num((left - right) / np.maximum(size, 1e-300), nan=np.inf)))
        one, other = (_enclose_seen(float(side[k]), len(found)) for side in (left, right))
        needed = [is_claimed for constant, is_claimed in zip("μL", claimed) if constant in BY[name]]
        refutes = left[k] > right[k] and all(needed)
        again = found.enclose(name, k, mu, L) if refutes else None
        claims.append(AtMost(name, one, other, witness=again, atol=1e-12 * float(size[k])))
    return claims


def _enclose_seen(value: float, samples: int) -> Enclosure:
    """A value met among so many; nothing is known of one that is no number."""
    return (
        Enclosure(basis=Basis.SAMPLED, samples=samples)
        if np.isnan(value)
        else Enclosure.measured(value, samples=samples)
    )


def _claim_lipschitz(F: NetworkOnBall, slopes: np.ndarray) -> AtMost:
    """The gradients that were met, rows of `slopes`, beside M."""
    met = Enclosure.at_least(float(np.linalg.norm(slopes, axis=1).max()), samples=len(slopes))
    return AtMost(
        f"M-Lipschitz on ‖θ‖ ≤ {F.radius:g}: ‖∇F‖ ≤ M", met, Enclosure.equal(F.constants[0])
    )


def _draw_envelopes(
    F: Callable[[Any], Any], at: np.ndarray, along: np.ndarray, mu: float, L: float, reach: float
) -> Curves:
    """A section of F with the parabolas of curvature L above and μ below that touch it at a point."""
    reach = (
        min(reach, F.radius - float(np.linalg.norm(at))) if isinstance(F, NetworkOnBall) else reach
    )
    t = np.linspace(-reach, reach, 161)
    unit = along / np.linalg.norm(along)
    section = np.asarray(call_compiled(jax.vmap(lambda s: F(at + s * unit)), t))
    value = float(F(at))
    slope = float(np.asarray(jax.grad(F)(at)) @ unit)
    tangent = value + slope * t
    series = (
        Series("upper parabola, L", t, tangent + L / 2 * t**2, "bound"),
        Series("F", t, section),
        Series("lower parabola, μ", t, tangent + mu / 2 * t**2, "bound"),
        Series("tangent", t, tangent, "reference"),
    )
    return Curves(
        "quadratic envelopes on a section", Axis("distance from the point"), Axis("F"), series
    )


# -- the loss of a network along its training ---------------------------------------------------------------


def _measure_training(objective: Objective, rng: np.random.Generator, steps: int = 50) -> Evidence:
    r"""The constants of a loss along a descent: its gradient's steepness between looks, and $\|\nabla^2\|$ at them."""
    ends = extremes(objective.hessian(), 1, "both", tol=1e-3, rng=rng)
    run = along_training(objective, "gd", step=1 / max(ends.range[1], 1e-300), steps=steps, looks=7)
    norms = [
        extremes(objective.hessian(row), 1, "both", tol=1e-3, rng=rng).range for row in run.rows
    ]
    largest = max(max(map(abs, r)) for r in norms)
    least = min(r[0] for r in norms)
    n = len(run.at)
    steep = Enclosure.measured(float(run.lipschitz.max()), samples=n)
    slopes = Series(
        "gradient Lipschitz between looks", run.at[1:], run.lipschitz, "measured", "points"
    )
    tops = Series("largest |eigenvalue|", run.at, [max(map(abs, r)) for r in norms], "other")
    lows = Series("lowest curvature", run.at, [r[0] for r in norms], "other")
    return Evidence(
        (
            AtMost(
                "steepness of ∇F between looks, against max|λ|",
                steep,
                Enclosure.at_least(largest, samples=n),
            ),
        ),
        (
            Curves(
                "curvature along the training",
                Axis("step k"),
                Axis("eigenvalue", "symlog"),
                (tops, slopes, lows),
            ),
        ),
        {
            "L is at least": largest,
            "μ is at most": least,
            "M is at least": float(run.gradient.max()),
        },
        summary=f"along {run.at[-1]} steps the curvature lies in [{least:.4g}, {largest:.4g}]: L ≥ {largest:.4g}, "
        + ("not convex" if least < 0 else "no negative curvature met"),
    )
