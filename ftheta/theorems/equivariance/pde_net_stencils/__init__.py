"""Filters are differential operators: moments, sum rules, and the heat equation as a residual network."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Basis,
    Claim,
    Converges,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import Conv, Stack
from ftheta.subjects import Network

from . import heat, reading, stencils


def one_filter(
    rng: np.random.Generator,
    *,
    stencil: Annotated[
        str, Knob(says="which filter", symbol="q", choices=(*stencils.STENCILS, "random"))
    ] = "second difference",
    ratio: Annotated[
        float, Knob(0.05, 1, "what it is multiplied by: cΔt/h² of a diffusion", "r", least=1e-3, most=4)
    ] = 0.4,
) -> Network:
    q = stencils.STENCILS[stencil] if stencil != "random" else rng.normal(size=5)
    side = reading.SIDE // q.ndim
    layer = Conv(kernel=q.shape[0], padding=q.shape[0] // 2, bias=False)
    stack = Stack(f"{ratio:g} × {stencil}", (layer,), (1, *[side] * q.ndim), circular=True)
    return Network(stack.name, stack.apply, [{"weight": ratio * q[None, None]}], stack.input_shape)


@hypothesis(
    "there is a convolution with windows",
    remedy="give a network with convolutions of 2 to 11 taps a side",
    name="convolutions",
)
def has_windows(net: Network) -> Finding:
    found = reading.read(net)
    if isinstance(found, FthetaError):
        return Finding.failed(f"{found.what} {found.got or ''}".strip())
    size = "×".join(map(str, found[0].weights.shape))
    return Finding.proved(f"the first one has {size} taps; {len(found)} of its filters are read", "a node of its graph")


@hypothesis(
    r"a diffusion $u+q*u$ is stable: $|1+\hat q(\omega)|\le1$",
    remedy="halve the time step: cΔt/h² ≤ 1/(2d)",
    name="a stable diffusion step",
)
def stable(net: Network, *, steps: int) -> Finding:
    layers = reading.diffusion(net, steps)
    if layers is None:
        return Finding.proved("the filter is no diffusion, m₀ = m₁ = 0 < m₂, of one channel", "an empty statement")
    note = f"the worst wave is multiplied by {layers.growth:.6g} a layer; cΔt/h² = {layers.ratio:.4g}"
    return Finding.decide(
        layers.growth <= 1 + 1e-12, note, "all waves of the ring", Enclosure.equal(layers.growth), basis=Basis.FLOAT
    )


@theorem(
    title="Filters as differential operators",
    gist="A convolution filter is a finite-difference approximation of a differential operator that its moments name, "
    "so that filters of a trained network can be read as derivatives and residual layers as steps of a heat equation.",
    see_also=("conv-iff-equivariant", "neural-ode-limit", "resnet-block-34"),
    sources=("murari-slides", "long2018", "leveque2007"),
    assumes=(has_windows, stable),
    on=one_filter,
    breaks_on=lambda rng: one_filter(rng, ratio=0.6),
    presets={
        "textbook": {},
        "first derivative": {"stencil": "centred difference"},
        "fourth order": {"stencil": "second difference, fourth order", "ratio": 0.3},
        "in the plane": {"stencil": "nine-point Laplacian", "ratio": 0.2, "steps": 100},
        "at the edge": {"ratio": 0.5},
        "broken on purpose": {"ratio": 0.6},
    },
)
def pde_net_stencils(
    net: Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[
        int, Knob(10, 1000, "layers of the residual network", "T", log=True, least=1, most=heat.MOST_STEPS)
    ] = 200,
) -> Evidence:
    r"""A filter $q$ on a grid of step $h$ is a differential operator: with the moments $m_\alpha=\sum_kk^\alpha q[k]$
    $$\sum_kq[k]\,f(x+kh)=\sum_\alpha\frac{h^{|\alpha|}}{\alpha!}\,m_\alpha\,\partial^\alpha f(x)$$
    for smooth $f$. Moments and filters determine each other; if $m_\alpha=0$ for $|\alpha|<d$, then $h^{-d}q$ tends to
    an operator of order $d$. A residual layer $u+q*u$ with $m_0=m_1=0$, $m_2=2c\Delta t/h^2$ is explicit Euler for
    $u_t=cu_{xx}$, stable if $|1+\hat q|\le1$."""
    found = reading.read(net)
    if isinstance(found, FthetaError):
        return Evidence((), summary=found.what)
    first = found[0]
    layers = reading.diffusion(net, steps)
    claims: list[Claim] = [reading.expansion(found), *reading.as_layer(net, first, rng)]
    numbers = {
        f"moment {k}": float(first.moment((k, *[0] * (first.dimension - 1)))) for k in range(5)
    } | reading.textbook()
    charts = [reading.response(first)]
    learnt: heat.Learnt | None = None
    if layers is not None:
        learnt = heat.learn_from_states(layers, rng)
        claims += [*layers.claims(), _filter_is_learnt(learnt)]
        numbers = numbers | {"learnt c": learnt.conductivities[-1]} | heat.heat_numbers(layers)
        charts = [layers.chart(), *charts]
    return Evidence(
        (*claims, *reading.accuracy(first, rate=reading.is_one_layer(net))),
        tuple(charts),
        numbers,
        (reading.table(found),),
        summary=f"the filter is {first.operator()}: a derivative of order {first.derivative()}, "
        f"with an error of order {first.accuracy()}",
        examples=partial(_examples, found, learnt),
    )


def _filter_is_learnt(learnt: heat.Learnt) -> Claim:
    """The filter is recovered from states of the network by least squares under its sum rules."""
    what = "largest error of the filter learnt from states of the network"
    return Identity(what, Enclosure.equal(learnt.filter_error), Enclosure.exact(0), atol=1e-9)


def _examples(filters: list[stencils.Stencil], learnt: heat.Learnt | None) -> Examples:
    """Filters made again from their moments; the conductivity learnt from solutions of the heat equation."""
    claims: list[Claim] = [reading.there_and_back(filters)]
    if learnt is not None:
        claims.append(
            Converges(
                "c learnt from solutions of the heat equation",
                Enclosure.equal(1.0),
                tuple(Enclosure.equal(c) for c in learnt.conductivities),
                tuple(map(float, learnt.sizes)),
                within=0.01,
            )
        )
    return Examples(tuple(claims))
