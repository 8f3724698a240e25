"""Smooth, convex, strongly convex: a pair of constants between which a function bends."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.spectra import classes, eigenvalue_range, natural_objective
from ftheta.spectra.classes import Pairs, envelopes, half_tanh_squared, tanh_curvature
from ftheta.spectra.compact import tanh_network
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import as_stated, curvature_of, proved_range

KINDS = ("quadratic", "half tanh squared", "logistic regression", "tanh network on a ball")


def example(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which function", symbol="F", choices=KINDS)] = "quadratic",
    kappa: Annotated[float, Knob(1, 1000, "condition number of the quadratic", "κ", log=True, most=1e6)] = 10.0,
    dimension: Annotated[int, Knob(1, 20, "number of coordinates; of the inputs of the network", "d", most=100)] = 2,
    ball: Annotated[float, Knob(0.1, 10, "norm of the network's parameters, at most", "R", log=True, most=100)] = 2.0,
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
        return Training(f"tanh network on ‖θ‖ ≤ {ball:g}", F, start, mu=F.constants[2], smoothness=F.constants[1])
    F, mu, L = classes.ridge_logistic(rng, dimension)
    return Training("ridge logistic regression", F, start, mu=mu, smoothness=L)


def too_smooth(rng: np.random.Generator) -> Training:
    H = np.diag([1.0, 40.0])
    return Training.quadratic("quadratic that claims L four times too small", H, np.ones(2), mu=1.0, smoothness=10.0)


def claimed(run: Training) -> tuple[float, float]:
    lo, hi = curvature_of(run)
    return (lo.lo if run.mu is None else run.mu), (hi.hi if run.smoothness is None else run.smoothness)


@hypothesis(r"$\mu I\preceq\nabla^2F\preceq LI$", remedy="state the true `mu` and `smoothness`; give a network labels")
def between_curvatures(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        fits = natural_objective(subject) is not None
        return Finding.sampled("measured along one run") if fits else Finding.failed("there are no labels that fit")
    (lo, hi), (mu, L) = curvature_of(subject), claimed(subject)
    note = f"curvature met in [{lo.lo:.6g}, {hi.hi:.6g}], claimed [{mu:.6g}, {L:.6g}]"
    if not (mu <= lo.hi + 1e-9 * abs(L) and hi.lo <= L * (1 + 1e-9)):
        return Finding.failed(note, hi)
    low, high, why = proved_range(subject)
    if why and mu <= low + 1e-9 * abs(L) and high <= L * (1 + 1e-9):
        return Finding.proved(note, why, hi, basis=Basis.FLOAT)
    return Finding.sampled(note, hi)


@theorem(
    title="Lipschitz, smooth, convex, strongly convex",
    sources=("seed 2", "nesterov2018", "taylor2017"),
    assumes=(between_curvatures, as_stated),
    on=example,
    breaks_on=too_smooth,
    presets={"textbook": {}, "not convex": {"kind": KINDS[1], "dimension": 1}} | {k: {"kind": k} for k in KINDS[2:]},
    unbreakable="the built-in constants are closed formulas; the negative control claims a wrong one",
)
def function_classes(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    pairs: Annotated[int, Knob(16, 4096, "pairs of points tried", "n", log=True, most=65536)] = 512,
    radius: Annotated[float, Knob(0.1, 10, "how far the points lie from the start", "r", log=True, most=1e3)] = 2.0,
) -> Evidence:
    r"""For $F\in C^2$, $\mu I\preceq\nabla^2F\preceq LI$ iff for all $x,y$
    $$\tfrac\mu2\|y-x\|^2\le F(y)-F(x)-\langle\nabla F(x),y-x\rangle\le\tfrac L2\|y-x\|^2;$$
    $F$ is $M$-Lipschitz iff $\|\nabla F\|\le M$. If $\mu\ge0$ the gradient is co-coercive,
    $\frac1L\|\nabla F(y)-\nabla F(x)\|^2\le\langle\nabla F(y)-\nabla F(x),y-x\rangle$; values and gradients of such
    functions are those that satisfy the interpolation inequality."""
    if isinstance(subject, Network):
        loss = natural_objective(subject)
        return Evidence((), summary="no labels") if loss is None else classes.evidence_along_training(loss, rng)
    mu, L = claimed(subject)
    F = subject.objective
    found = Pairs.drawn(F, subject.start, radius, pairs, rng)
    numbers = {"L": Enclosure.equal(L), "μ": Enclosure.equal(mu), **found.numbers()}
    claims = found.claims(mu, L)
    if subject.hessian is not None and subject.smoothness is None:
        top = eigenvalue_range(subject.hessian)[1]
        claims += (Identity("L and the largest eigenvalue", Enclosure.equal(L), top, rtol=1e-8),)
    chart = envelopes(F, subject.start, np.ones(subject.start.size), mu, L, radius)
    told = f"{subject.name}: μ = {mu:.6g}, L = {L:.6g}; {pairs} pairs show L ≥ {found.steepness.max():.6g}"
    return Evidence(claims, (chart,), numbers, summary=f"{told} and μ ≤ {found.monotony.min():.6g}")
