"""Stochastic gradients: steps that shrink like 1/ℓ converge, constant ones hover."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.estimates.concentration import Law
from ftheta.logic import Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Measure, Network
from ftheta.subjects.problems import last_layer_of
from ftheta.training.stochastic import LastLayerSGD, Quadratic

RIDGE = 0.1  # of a network's last layer, in units of its largest curvature


def coin(rng: np.random.Generator) -> Measure:
    return Measure("x = ±1 with probability ½", np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))


def hidden_noise(rng: np.random.Generator) -> Measure:
    return Measure(
        "x = ±1 and Gaussian noise that nobody counted", np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]), 2.0
    )


@hypothesis(
    r"each $\mathcal E_i$ is known and $\mathcal E$ is strongly convex",
    remedy="give a discrete law of one number; of a network layers and labelled --data (its last layer is trained)",
)
def strongly_convex(subject: Measure | Network, *, mu: float) -> Finding:
    if isinstance(subject, Measure):
        note = (
            f"μ = {mu:g}, {len(subject.atoms)} atoms of dimension {subject.atoms.shape[1]}, spread {subject.spread:g}"
        )
        return Finding.decide(
            subject.spread == 0 and subject.atoms.shape[1] == 1 and mu > 0, note, "the law is given so"
        )
    try:
        last_layer_of(subject, RIDGE)
    except SubjectError as error:
        return Finding.failed(error.what)
    return Finding.proved("least squares of the last layer with a ridge", "made so here")


@hypothesis(
    r"$\sum\tau_\ell=\infty$, $\sum\tau_\ell^2<\infty$ for $\tau_\ell=\tau/\ell^a$, and $\tau>\frac1{2\mu}$ if $a=1$",
    remedy="take 1/2 < a ≤ 1, and a larger τ",
)
def robbins_monro(subject: Measure | Network, *, tau: float, mu: float, exponent: float) -> Finding:
    note = f"a = {exponent:g}, 2μτ = {2 * mu * tau:g}"
    return Finding.decide(0.5 < exponent <= 1 and (exponent < 1 or 2 * mu * tau > 1), note, "a comparison of knobs")


@hypothesis(r"the constant step is below $\frac2\mu$", remedy="take a smaller constant step")
def constant_step_stable(subject: Measure | Network, *, mu: float, constant_step: float) -> Finding:
    return Finding.decide(0 < mu * constant_step < 2, f"μτ = {mu * constant_step:g}", "a comparison of knobs")


@theorem(
    title="Stochastic gradient descent, Robbins and Monro",
    sources=("seed 0", "seed 1", "seed 3", "robbins1951", "moulines2011"),
    assumes=(strongly_convex, robbins_monro, constant_step_stable),
    on=coin,
    breaks_on=hidden_noise,
    presets={
        "textbook": {},
        "slowly shrinking steps": {"exponent": 0.75},
        "at the edge": {"tau": 0.51, "steps": 3000},
        "broken on purpose": {"tau": 0.25},
    },
    errata=r"""Seed 0 starts the index at $\ell=0$, where $\tau/\ell$ is undefined: it is $\ell=1$; and $\ell$ is the
    loss as well as the iteration there.""",
)
def sgd_robbins_monro(
    subject: Measure | Network,
    rng: np.random.Generator,
    *,
    tau: Annotated[float, Knob(0.1, 4, "step of the first update", "τ", log=True, least=1e-3, most=100)] = 1.0,
    mu: Annotated[float, Knob(0.1, 4, "curvature of the quadratic", "μ", log=True, least=1e-3, most=100)] = 1.0,
    exponent: Annotated[float, Knob(0.5, 1.0, "how fast the steps shrink", "a", least=0.0, most=2.0)] = 1.0,
    constant_step: Annotated[float, Knob(0.01, 1.5, "the constant step", "τ", least=1e-4, most=100)] = 0.1,
    steps: Annotated[int, Knob(100, 10_000, "number of steps", "ℓ", log=True, least=20, most=50_000)] = 1000,
    paths: Annotated[int, Knob(100, 10_000, "runs of the experiment", "n", log=True, least=20)] = 2000,
) -> Evidence:
    r"""$\theta_{\ell+1}=\theta_\ell-\tau_\ell\nabla\mathcal E_{i_\ell}(\theta_\ell)$ with unbiased gradients,
    $\sum\tau_\ell=\infty$, $\sum\tau_\ell^2<\infty$. For $\mathcal E$ $\mu$-strongly convex and $\tau_\ell=\tau/\ell$,
    $$\mathbb E\|\theta_\ell-\theta^*\|^2=O(1/\ell)\ \text{ if }2\mu\tau>1,\qquad
    O(\ell^{-2\mu\tau})\ \text{ if }2\mu\tau<1;$$
    a constant step leaves the floor $\frac{\tau\mu\,\sigma^2}{2-\tau\mu}$ on $\frac\mu2(\theta-x)^2$."""
    if isinstance(subject, Network):
        sgd = LastLayerSGD(last_layer_of(subject, RIDGE), steps, min(paths, 100))
        claim, figure, numbers = sgd.run(rng)
        told = f"last layer of {subject.name}: E‖θ − θ*‖² = {claim.left.middle:.4g} after {steps:,} rows"
        return Evidence((sgd.bias(), claim), (figure,), numbers, summary=told)
    law = Law.of(subject.atoms[:, 0].tolist(), subject.weights.tolist())
    m, t, a, flat = (Fraction(str(v)) for v in (mu, tau, exponent, constant_step))
    return Quadratic(law, m, t, a, flat, steps, paths, Fraction(subject.spread) ** 2).evidence(rng)
