"""Many neurons are a measure: the error of finitely many, their training as a flow, and depth beside width."""

from functools import partial
from math import exp
from typing import Annotated

import numpy as np
from scipy import special

from ftheta.estimates import mean
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
    Points,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Network
from ftheta.subjects.layers import read_off_layers
from ftheta.theorems.orders import observed_order

from . import particles


def random_layers(
    rng: np.random.Generator,
    *,
    neurons: Annotated[
        str, Knob(says="how neurons are chosen", symbol="ρ", choices=("drawn", "quantiles"))
    ] = "drawn",
    width: Annotated[int, Knob(64, 4096, "neurons of the widest layer", "q", log=True)] = 1024,
) -> Family:
    def member(q: int, rng: np.random.Generator) -> Network:
        W = rng.normal(size=(q, 2))
        if (
            neurons == "quantiles"
        ):  # the same every time, evenly through the law: far better than random
            W = np.stack([special.ndtri((np.arange(q) + 0.5) / q), np.zeros(q)], 1)
        return Network(f"{q} neurons", particles.mean_network, (np.ones(q), W), (2,))

    return Family(
        f"{neurons} neurons", member, particles.GAUSSIAN, [width >> k for k in (6, 4, 2, 0)]
    )


def is_deterministic(subject: Family) -> bool:
    one, two = (subject.member(subject.scales[0], np.random.default_rng(seed)) for seed in (0, 1))
    return all(np.array_equal(a, b) for a, b in zip(one.params, two.params))


@hypothesis(
    "the neurons are independent draws from one law",
    remedy="draw each neuron anew",
    name="independent neurons of one law",
)
def independent_neurons(subject: Family | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.proved(
            "neurons are drawn here, from those of the layer with equal chances", "so drawn"
        )
    if is_deterministic(subject):
        return Finding.failed("two layers with different seeds have the same neurons")
    return Finding.sampled("layers differ from seed to seed")


@hypothesis(
    "a layer of neurons whose sum is the output",
    remedy="give a chain of dense layers with a hidden one",
    name="a hidden layer whose neurons are summed",
)
def hidden_layer(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        limit = subject.limit
        if not isinstance(limit, particles.Moments):
            return Finding.failed("the limit of the family is not known")
        return Finding.assumed(
            f"one neuron contributes {limit.mean:.6g} in the mean, with variance {limit.variance:.6g}"
        )
    few = subject.description is None or len(subject.description.layers) < 2
    return (
        Finding.failed("none is known")
        if few
        else read_off_layers(subject, "known layers", "counted")
    )


def errors_of(subject: Family | Network, draws: int, rng: np.random.Generator) -> particles.Errors:
    if isinstance(subject, Family):
        inputs = subject.member(subject.scales[0], np.random.default_rng(0)).input_shape
        at = np.eye(int(np.prod(inputs)))[0]
        drawn = 1 if is_deterministic(subject) else draws
        nets = [[subject.member(q, rng).params for _ in range(drawn)] for q in subject.scales]
        return particles.errors_at(at, subject.scales, nets, subject.limit)
    x = rng.normal(size=(1, *subject.input_shape)) if subject.data is None else subject.data.x[:1]
    atoms = particles.contributions(subject.description, x)[0]  # type: ignore[arg-type]
    return particles.resample(atoms, (8, 32, 128, 512), draws, rng)


@theorem(
    title="Mean-field limit",
    gist="A wide layer is a sample from a distribution of neurons: its output fluctuates about the limit with the "
    "inverse square root of the width, and training moves the distribution by a gradient flow.",
    see_also=("chizat-bach", "measure-representation", "ntk-kernel", "neural-ode-limit"),
    sources=("peyre-notes", "scaman-slides", "mei2018", "chizat2018"),
    of_parameters=True,
    assumes=(hidden_layer, independent_neurons),
    on=random_layers,
    breaks_on=lambda rng: random_layers(rng, neurons="quantiles"),
    presets={
        "textbook": {},
        "narrow": {"width": 64, "draws": 2000},
        "at the edge": {"steps": 1},
        "broken on purpose": {"neurons": "quantiles"},
    },
)
def mean_field_limit(
    subject: Family | Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[
        int, Knob(64, 2000, "random layers at each width", "N", log=True, most=10_000)
    ] = 400,
    steps: Annotated[
        int, Knob(1, 500, "steps of the particle flow", "K", log=True, most=5000)
    ] = 150,
) -> Evidence:
    r"""For independent neurons $(\mu_k,w_k)\sim\rho$, $f_q=\frac1q\sum_k\mu_k\sigma(\langle w_k,x\rangle)$ tends to
    $f_\rho=\int\mu\,\sigma(\langle w,x\rangle)\,d\rho$ with $\mathbb E|f_q-f_\rho|^2=\mathrm{Var}_\rho/q$. Training
    is the flow $\partial_t\rho=\mathrm{div}(\rho\nabla\frac{\delta F}{\delta\rho})$, along which
    $\dot F=-\int|\nabla\frac{\delta F}{\delta\rho}|^2d\rho\le0$. Deep residual layers $\dot x=\int v_\theta(x)\,d\rho$:
    depth and width may tend to infinity in either order."""
    errors = errors_of(subject, draws, rng)
    moments = errors.moments
    scaled = errors.scaled_square(-1)
    return Evidence(
        claims=_claims_about_layer(errors),
        examples=partial(_training_and_depth, rng, steps),
        charts=(_draw_errors(errors),),
        numbers={
            "mean": moments.mean,
            "variance": moments.variance,
            "RMSE at q = 100": (moments.variance / 100) ** 0.5,
            "q E|f_q − f_ρ|² at the widest": scaled,
        },
        summary=f"at q = {errors.widths[-1]:g} the squared error times q is {scaled.middle:.4g}; Var is "
        f"{moments.variance:.6g}",
    )


def _claims_about_layer(errors: particles.Errors) -> tuple[Claim, ...]:
    """Mean and variance at the narrowest and the widest, and the order 1/2."""
    law = Enclosure.equal(errors.moments.variance)
    claims = []
    for i in (0, -1):
        what = f"q E|f_q − f_ρ|², q = {errors.widths[i]:g}"
        square = errors.scaled_square(i)
        rounding = errors.rounding(i)
        claims.append(Identity(what, square, law, _evaluate_again(errors, i), atol=rounding))
    if errors.random:
        centre = Enclosure.equal(errors.moments.mean)
        narrowest = mean(
            errors.values[0], variance=errors.moments.variance / float(errors.widths[0])
        )
        claims.append(Identity("mean of f_q", narrowest, centre, atol=1e-12 * errors.largest))
    return (*claims, *observed_order("|f_q − f_ρ|", 0.5, *errors.parts(), sharp=True, slack=0.2))


def _evaluate_again(errors: particles.Errors, i: int) -> Witness | None:
    """Of networks that are not random, the squared error times q once more, in intervals."""
    if not errors.enclosed:
        return None
    off = errors.enclosed[i] - errors.moments.mean
    square = off * off * float(errors.widths[i])
    variance = Enclosure.exact(errors.moments.variance)
    return Witness(
        {"q": float(errors.widths[i])}, square, variance, "the network in intervals rounded outward"
    )


def _draw_errors(errors: particles.Errors) -> Curves:
    law = Series(
        "√(Var/q)", errors.widths, np.sqrt(errors.moments.variance / errors.widths), "reference"
    )
    seen = Series("networks drawn", *errors.parts(), "measured", "points")
    return Curves(
        "error against width", Axis("neurons q", "log"), Axis("|f_q − f_ρ|", "log"), (law, seen)
    )


def _training_and_depth(rng: np.random.Generator, steps: int) -> Examples:
    """200 neurons that learn |cos| on the circle, and a residual network that is both deep and wide."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    X = np.stack([np.cos(angle), np.sin(angle)], 1)
    flow = particles.follow(rng.normal(size=(200, 3)), X, np.abs(np.cos(angle)) - 0.5, steps, 0.2)
    rise = Enclosure.equal(float(np.diff(flow.energies).max()))
    rate = Enclosure.equal(flow.rate)
    fall = Enclosure.equal(-flow.dissipation)
    return Examples(
        claims=(
            AtMost("largest rise of the energy in a step", rise, Enclosure.exact(0), atol=1e-14),
            Identity("dF/dt = −∫|∇V|² dρ", rate, fall, rtol=1e-4, atol=1e-12),
            *_claims_about_depth(particles.two_limits(rng, 256), 256),
        ),
        charts=(_draw_cloud(flow),),
    )


def _claims_about_depth(found: particles.TwoLimits, draws: int) -> tuple[Claim, ...]:
    widths = tuple(map(float, particles.WIDTHS))
    together = tuple(Enclosure.measured(end, samples=draws) for end in found.together)
    limit = Enclosure.equal(exp(0.5))
    each = np.repeat(particles.WIDTHS, particles.GROUPS)
    return (
        *observed_order("|x_K − x(1)| in the depth", 1.0, particles.DEPTHS, found.deep, slack=0.1),
        *observed_order("|x(1) − limit| in the width", 0.5, each, found.wide, slack=0.2),
        Converges("x_K with K = q", limit, together, widths, within=0.05),
    )


def _draw_cloud(flow: particles.Flow) -> Points:
    r"""Where the neurons are, $|\mu|w$ in the plane, before and after."""
    places = np.concatenate([np.abs(p[:, :1]) * p[:, 1:3] for p in (flow.start, flow.end)])
    groups = ("before",) * len(flow.start) + ("after",) * len(flow.end)
    return Points(
        "neurons as particles", Axis("|μ| w₁"), Axis("|μ| w₂"), places[:, 0], places[:, 1], groups
    )
