"""Many neurons are a measure: the error of finitely many, their training as a flow, and depth beside width."""

from typing import Annotated

import numpy as np
from scipy import special

from ftheta.limits.width import particles
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Family, Network
from ftheta.subjects.layers import read_off_layers


def random_layers(
    rng: np.random.Generator,
    *,
    neurons: Annotated[str, Knob(says="how neurons are chosen", symbol="ρ", choices=("drawn", "quantiles"))] = "drawn",
    width: Annotated[int, Knob(64, 4096, "neurons of the widest layer", "q", log=True)] = 1024,
) -> Family:
    def member(q: int, rng: np.random.Generator) -> Network:
        W = rng.normal(size=(q, 2))
        if neurons == "quantiles":  # the same every time, evenly through the law: far better than random
            W = np.stack([special.ndtri((np.arange(q) + 0.5) / q), np.zeros(q)], 1)
        return Network(f"{q} neurons", particles.mean_network, (np.ones(q), W), (2,))

    return Family(f"{neurons} neurons", member, particles.GAUSSIAN, [width >> k for k in (6, 4, 2, 0)])


def alike(subject: Family) -> bool:
    one, two = (subject.member(subject.scales[0], np.random.default_rng(seed)) for seed in (0, 1))
    return all(np.array_equal(a, b) for a, b in zip(one.params, two.params))


@hypothesis("the neurons are independent draws from one law", remedy="draw each neuron anew")
def independent_neurons(subject: Family | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.proved("neurons are drawn here, from those of the layer with equal chances", "so drawn")
    if alike(subject):
        return Finding.failed("two layers with different seeds have the same neurons")
    return Finding.sampled("layers differ from seed to seed")


@hypothesis("a layer of neurons whose sum is the output", remedy="give a chain of dense layers with a hidden one")
def hidden_layer(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        known = isinstance(subject.limit, particles.Moments)
        return (Finding.assumed if known else Finding.failed)(f"the limit is {subject.limit}")
    few = subject.description is None or len(subject.description.layers) < 2
    return Finding.failed("none is known") if few else read_off_layers(subject, "known layers", "counted")


def errors_of(subject: Family | Network, draws: int, rng: np.random.Generator) -> particles.Errors:
    if isinstance(subject, Family):
        at, drawn = np.array([1.0, 0.0]), 1 if alike(subject) else draws
        nets = [[subject.member(q, rng).params for _ in range(drawn)] for q in subject.scales]
        return particles.errors_at(at, subject.scales, nets, subject.limit)
    x = rng.normal(size=(1, *subject.input_shape)) if subject.data is None else subject.data.x[:1]
    atoms = particles.contributions(subject.description, x)[0]  # type: ignore[arg-type]
    return particles.resampled(atoms, (8, 32, 128, 512), draws, rng)


@theorem(
    title="Mean-field limit",
    sources=("seed 4", "seed 3", "mei2018", "chizat2018"),
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
    draws: Annotated[int, Knob(64, 2000, "random layers at each width", "N", log=True, most=10_000)] = 400,
    steps: Annotated[int, Knob(1, 500, "steps of the particle flow", "K", log=True, most=5000)] = 150,
) -> Evidence:
    r"""For independent neurons $(\mu_k,w_k)\sim\rho$, $f_q=\frac1q\sum_k\mu_k\sigma(\langle w_k,x\rangle)$ tends to
    $f_\rho=\int\mu\,\sigma(\langle w,x\rangle)\,d\rho$ with $\mathbb E|f_q-f_\rho|^2=\mathrm{Var}_\rho/q$. Training
    is the flow $\partial_t\rho=\mathrm{div}(\rho\nabla\frac{\delta F}{\delta\rho})$, along which
    $\dot F=-\int|\nabla\frac{\delta F}{\delta\rho}|^2d\rho\le0$. Deep residual layers $\dot x=\int v_\theta(x)\,d\rho$:
    depth and width may tend to infinity in either order."""
    errors, angle = errors_of(subject, draws, rng), np.linspace(0, 2 * np.pi, 24, endpoint=False)
    X = np.stack([np.cos(angle), np.sin(angle)], 1)
    flow = particles.flow(rng.normal(size=(200, 3)), X, np.abs(np.cos(angle)) - 0.5, steps, 0.2)
    moments, q = errors.moments, errors.widths[-1]
    return Evidence(
        claims=(*errors.claims(), *flow.claims(), *particles.two_limits(rng, 256)),
        charts=(errors.chart(), flow.cloud()),
        numbers={"mean": moments.mean, "variance": moments.variance, "RMSE at q = 100": (moments.variance / 100) ** 0.5}
        | {"q E|f_q − f_ρ|² at the widest": errors.scaled(-1)}
        | {"energy at the start": flow.energies[0], "energy at the end": flow.energies[-1]},
        summary=f"at q = {q:g} the squared error times q is {errors.scaled(-1).middle:.4g}; Var is "
        f"{moments.variance:.6g}; the flow takes the energy from {flow.energies[0]:.3g} to {flow.energies[-1]:.3g}",
    )
