"""Stochastic gradients: steps that shrink like 1/ℓ converge, constant ones hover."""

from copy import deepcopy
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.estimates import fit_rate, mean
from ftheta.estimates.concentration import Law
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    SubjectError,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Network
from ftheta.subjects.problems import last_layer_of

from .stochastic import (
    Experiment,
    LastLayerSGD,
    Quadratic,
    batch_bias,
    constant,
    decreasing,
    mean_factor,
    running_mean_gap,
    second_moments,
)

DRAWS = 200  # of the law, whose mean is followed
RIDGE = 0.1  # of a network's last layer, in units of its largest curvature


def coin(rng: np.random.Generator) -> Measure:
    return Measure("x = ±1 with probability ½", np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))


def hidden_noise(rng: np.random.Generator) -> Measure:
    return Measure(
        "x = ±1 and Gaussian noise that nobody counted",
        np.array([[-1.0], [1.0]]),
        np.array([0.5, 0.5]),
        2.0,
    )


@hypothesis(
    r"each $\mathcal E_i$ is known and $\mathcal E$ is strongly convex",
    remedy="give a discrete law of one number; of a network layers and labelled --data (its last layer is trained)",
    name="a strongly convex objective",
)
def strongly_convex(subject: Measure | Network, *, mu: float) -> Finding:
    if isinstance(subject, Measure):
        atoms = f"{len(subject.atoms)} atoms of dimension {subject.atoms.shape[1]}"
        note = f"μ = {mu:g}, {atoms}, spread {subject.spread:g}"
        return Finding.decide(
            subject.spread == 0 and subject.atoms.shape[1] == 1 and mu > 0,
            note,
            "the law is given so",
        )
    try:
        last_layer_of(subject, RIDGE)
    except SubjectError as error:
        return Finding.failed(error.what)
    return Finding.proved("least squares of the last layer with a ridge", "made so here")


@hypothesis(
    r"$\sum\tau_\ell=\infty$, $\sum\tau_\ell^2<\infty$ for $\tau_\ell=\tau/\ell^a$, and $\tau>\frac1{2\mu}$ if $a=1$",
    remedy="take 1/2 < a ≤ 1, and a larger τ",
    name="Robbins–Monro step sizes",
)
def robbins_monro(subject: Measure | Network, *, tau: float, mu: float, exponent: float) -> Finding:
    note = f"a = {exponent:g}, 2μτ = {2 * mu * tau:g}"
    return Finding.decide(
        0.5 < exponent <= 1 and (exponent < 1 or 2 * mu * tau > 1), note, "a comparison of knobs"
    )


@hypothesis(
    r"the constant step is below $\frac2\mu$",
    remedy="take a smaller constant step",
    name="a stable constant step",
)
def constant_step_stable(subject: Measure | Network, *, mu: float, constant_step: float) -> Finding:
    return Finding.decide(
        0 < mu * constant_step < 2, f"μτ = {mu * constant_step:g}", "a comparison of knobs"
    )


@theorem(
    title="Stochastic gradient descent, Robbins and Monro",
    sources=("peyre-slides", "gribonval-slides", "scaman-slides", "robbins1951", "moulines2011"),
    gist="With noisy gradients constant steps end in a cloud around the minimiser; steps that shrink like one over the "
    "iteration converge to it, if they do not shrink too fast.",
    see_also=("gd-strongly-convex", "first-order-family", "nonconvex-stationarity", "adam"),
    assumes=(strongly_convex, robbins_monro, constant_step_stable),
    on=coin,
    breaks_on=hidden_noise,
    presets={
        "textbook": {},
        "slowly shrinking steps": {"exponent": 0.75},
        "at the edge": {"tau": 0.51, "steps": 3000},
        "broken on purpose": {"tau": 0.25},
    },
    errata=r"""Peyré's slides start the index at $\ell=0$, where $\tau/\ell$ is undefined: it is $\ell=1$; and
    $\ell$ is the
    loss as well as the iteration there.""",
)
def sgd_robbins_monro(
    subject: Measure | Network,
    rng: np.random.Generator,
    *,
    tau: Annotated[
        float, Knob(0.1, 4, "step of the first update", "τ", log=True, least=1e-3, most=100)
    ] = 1.0,
    mu: Annotated[
        float, Knob(0.1, 4, "curvature of the quadratic", "μ", log=True, least=1e-3, most=100)
    ] = 1.0,
    exponent: Annotated[
        float, Knob(0.5, 1.0, "how fast the steps shrink", "a", least=0.0, most=2.0)
    ] = 1.0,
    constant_step: Annotated[
        float, Knob(0.01, 1.5, "the constant step", "τ", least=1e-4, most=100)
    ] = 0.1,
    steps: Annotated[
        int, Knob(100, 10_000, "number of steps", "ℓ", log=True, least=20, most=50_000)
    ] = 1000,
    paths: Annotated[
        int, Knob(100, 10_000, "runs of the experiment", "n", log=True, least=20)
    ] = 2000,
) -> Evidence:
    r"""$\theta_{\ell+1}=\theta_\ell-\tau_\ell\nabla\mathcal E_{i_\ell}(\theta_\ell)$ with unbiased gradients,
    $\sum\tau_\ell=\infty$, $\sum\tau_\ell^2<\infty$. For $\mathcal E$ $\mu$-strongly convex and $\tau_\ell=\tau/\ell$,
    $$\mathbb E\|\theta_\ell-\theta^*\|^2=O(1/\ell)\ \text{ if }2\mu\tau>1,\qquad
    O(\ell^{-2\mu\tau})\ \text{ if }2\mu\tau<1;$$
    a constant step leaves the floor $\frac{\tau\mu\,\sigma^2}{2-\tau\mu}$ on $\frac\mu2(\theta-x)^2$."""
    if isinstance(subject, Network):
        return _train_last_layer(subject, rng, steps, paths)
    law = Law.of(subject.atoms[:, 0].tolist(), subject.weights.tolist())
    m, t, a, flat = (Fraction(str(v)) for v in (mu, tau, exponent, constant_step))
    return _descend_law(
        Quadratic(law, m, t, a, flat, steps, paths, Fraction(subject.spread) ** 2), rng
    )


# -- on a quadratic with draws from a law -------------------------------------------------------------------


def _descend_law(sgd: Quadratic, rng: np.random.Generator) -> Evidence:
    shrinking = decreasing(sgd.mu * sgd.tau, sgd.exponent)
    flat = constant(sgd.mu * sgd.flat)
    exact = sgd.moments(shrinking)
    level = sgd.moments(flat)
    runs = sgd.experiment(rng, shrinking, exact)
    hovering = sgd.experiment(rng, flat, level)
    order = float(sgd.exponent)
    experiments = (
        {"constant": hovering, f"1/ℓ^{order:g}": runs}
        if order != 1
        else {"1/ℓ": runs, "constant": hovering}
    )
    bias = Enclosure.exact(batch_bias(sgd.law, Fraction(1, 3), sgd.mu))
    return Evidence(
        claims=(
            Identity("bias of the gradient over all draws and batches", bias, Enclosure.exact(0)),
            Identity(
                "how far the recursion moves τσ²μ/(2 − μτ)",
                Enclosure.exact(sgd.drift()),
                Enclosure.exact(0),
            ),
            Identity(f"E e² at ℓ = {sgd.steps:,}, decreasing steps", runs.seen, exact[-1]),
            Identity(f"E e² at ℓ = {sgd.steps:,}, constant steps", hovering.seen, level[-1]),
            *_claim_rate(sgd, exact),
        ),
        charts=(_draw_moments(sgd, experiments), _draw_runs(sgd, experiments)),
        numbers={
            "constant-step floor": Enclosure.exact(sgd.floor),
            "E e² at the end": exact[-1],
            "E e² at the end, constant step": level[-1],
            "z, decreasing steps": runs.z,
            "z, constant step": hovering.z,
        },
        summary=f"after {sgd.steps:,} steps E e² is {exact[-1].middle:.4g} with steps τ/ℓ^{order:g}, "
        f"{level[-1].middle:.4g} with constant ones (floor {float(sgd.floor):.4g}); "
        f"z = {runs.z:.2f}, {hovering.z:.2f}",
        examples=partial(_examples, sgd, deepcopy(rng)),
    )


def _claim_rate(sgd: Quadratic, moments: list[Enclosure]) -> list[Claim]:
    r"""The fitted order; for $\tau/\ell$, $\ell\,\mathbb Ee_\ell^2\to\frac{c^2\sigma^2}{2c-1}$."""
    c = sgd.mu * sgd.tau
    late = len(sgd.at) // 2
    claims: list[Claim] = []
    if all(m.middle > 0 for m in moments[late:]):  # one atom alone has no noise, and may be reached
        claims.append(
            _fit_order(sgd, moments, "E e_ℓ², decreasing steps", float(sgd.exponent), sharp=False)
        )
    if sgd.exponent == 1 and 2 * c > 1:
        limit = c**2 * sgd.law.variance / (2 * c - 1)
        seen = tuple(m * float(k) for m, k in zip(moments[late:], sgd.at[late:]))
        within = float(limit) * 0.1 + float(sgd.start) ** 2 * sgd.steps ** float(1 - 2 * c) * 2
        scales = tuple(map(float, sgd.at[late:]))
        claims.append(Converges("ℓ E e_ℓ²", Enclosure.exact(limit), seen, scales, within))
    return claims


def _fit_order(
    sgd: Quadratic, moments: list[Enclosure], what: str, order: float, sharp: bool
) -> Rate:
    late = len(sgd.at) // 2
    errors = [m.middle for m in moments[late:]]
    slope = fit_rate(np.array(sgd.at[late:]), np.array(errors))
    return Rate(
        what, order, slope, tuple(map(float, sgd.at[late:])), tuple(errors), slack=0.15, sharp=sharp
    )


def _draw_moments(sgd: Quadratic, experiments: dict[str, Experiment]) -> Curves:
    series = []
    for name, found in experiments.items():
        series.append(Series(f"{name}, exact", sgd.at, [m.middle for m in found.exact], "bound"))
        series.append(Series(name, sgd.at, (found.errors**2).mean(axis=1)))
    series.append(Series("floor", [1, sgd.steps], [float(sgd.floor)] * 2, "reference"))
    title = f"mean of {sgd.paths:,} runs of SGD"
    return Curves(title, Axis("step ℓ", "log"), Axis("E (θ_ℓ − θ*)²", "log"), tuple(series))


def _draw_runs(sgd: Quadratic, experiments: dict[str, Experiment]) -> Curves:
    roles = ("measured", "other")
    series = [
        Series(f"{name} {i + 1}", sgd.at, found.errors[:, i], roles[j])
        for j, (name, found) in enumerate(experiments.items())
        for i in range(2)
    ]
    zero = Series("θ*", [1, sgd.steps], [0.0, 0.0], "reference")
    return Curves("single runs of SGD", Axis("step ℓ", "log"), Axis("θ_ℓ − θ*"), (*series, zero))


def _examples(sgd: Quadratic, rng: np.random.Generator) -> Examples:
    """Steps 1/(μℓ), which make the iterate the mean of the draws; and steps that shrink too fast, 2μτ = 1/2."""
    gap = Enclosure.exact(running_mean_gap(sgd.law, rng, DRAWS))
    slow = second_moments(decreasing(Fraction(1, 4)), sgd.law.variance, sgd.start, sgd.at)
    return Examples(
        claims=(
            Identity(f"largest |θ_ℓ+1 − mean of ℓ draws|, ℓ ≤ {DRAWS}", gap, Enclosure.exact(0)),
            _fit_order(sgd, slow, "E e_ℓ² when μτ = 1/4", 0.5, sharp=True),
        ),
        numbers={"Π(1 − 1/(4ℓ)), ℓ ≤ 10⁴": mean_factor(Fraction(1, 4), 10_000)},
    )


# -- on the last layer of a network -------------------------------------------------------------------------


def _train_last_layer(net: Network, rng: np.random.Generator, steps: int, paths: int) -> Evidence:
    sgd = LastLayerSGD(last_layer_of(net, RIDGE), steps, min(paths, 100))
    run = sgd.run(rng)
    reached = mean(run.seen[-1])
    bias = Enclosure.equal(sgd.bias())
    return Evidence(
        claims=(
            Identity("bias of a row's gradient, relative", bias, Enclosure.exact(0), atol=1e-10),
            AtMost(f"E ‖θ_ℓ − θ*‖² at ℓ = {steps:,}", reached, Enclosure.equal(run.allowed[-1])),
        ),
        charts=(
            draw_curves(
                "SGD on the last layer",
                run.at,
                x="step ℓ",
                y="E ‖θ_ℓ − θ*‖²",
                log="xy",
                bound={"bound": run.allowed},
                measured={"mean of the runs": [float(s.mean()) for s in run.seen]},
            ),
        ),
        numbers={"μ": run.mu, "L_max": run.most, "gradient noise": run.noise},
        summary=f"last layer of {net.name}: E‖θ − θ*‖² = {reached.middle:.4g} after {steps:,} rows",
    )
