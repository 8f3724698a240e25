"""Filters are differential operators: moments, sum rules, and the heat equation as a residual network."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
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
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import Stack
from ftheta.networks.layers.grids import Conv
from ftheta.subjects import Network
from ftheta.theorems.orders import observed_order

from .charts import draw_heat, draw_response, tabulate_filters
from .cosines import STEPS, TERMS, approach_operator, series_error
from .heat import MOST_STEPS, Diffusion, error_of_learnt_filter, learn_conductivity, slide
from .reading import SIDE, is_one_layer, read_diffusion, read_filters
from .stencils import CENTRED_DIFFERENCE, SECOND_DIFFERENCE, STENCILS, Stencil, from_moments

ZERO = Enclosure.exact(0)
RINGS = (16, 32, 64, 128)  # points of the circles on which a conductivity is learnt


def one_filter(
    rng: np.random.Generator,
    *,
    stencil: Annotated[
        str, Knob(says="which filter", symbol="q", choices=(*STENCILS, "random"))
    ] = "second difference",
    ratio: Annotated[
        float,
        Knob(0.05, 1, "what it is multiplied by: cΔt/h² of a diffusion", "r", least=1e-3, most=4),
    ] = 0.4,
) -> Network:
    q = STENCILS[stencil] if stencil != "random" else rng.normal(size=5)
    side = SIDE // q.ndim
    layer = Conv(kernel=q.shape[0], padding=q.shape[0] // 2, bias=False)
    stack = Stack(f"{ratio:g} × {stencil}", (layer,), (1, *[side] * q.ndim), circular=True)
    return Network(stack.name, stack.apply, [{"weight": ratio * q[None, None]}], stack.input_shape)


@hypothesis(
    "there is a convolution with windows",
    remedy="give a network with convolutions of 2 to 11 taps a side",
    name="convolutions",
)
def has_windows(net: Network) -> Finding:
    found = read_filters(net)
    if isinstance(found, FthetaError):
        return Finding.failed(f"{found.what} {found.got or ''}".strip())
    size = "×".join(map(str, found[0].weights.shape))
    return Finding.proved(
        f"the first one has {size} taps; {len(found)} of its filters are read",
        "a node of its graph",
    )


@hypothesis(
    r"a diffusion $u+q*u$ is stable: $|1+\hat q(\omega)|\le1$",
    remedy="halve the time step: cΔt/h² ≤ 1/(2d)",
    name="a stable diffusion step",
)
def stable(net: Network, *, steps: int) -> Finding:
    layers = read_diffusion(net, steps)
    if layers is None:
        return Finding.proved(
            "the filter is no diffusion, m₀ = m₁ = 0 < m₂, of one channel", "an empty statement"
        )
    note = (
        f"the worst wave is multiplied by {layers.growth:.6g} a layer; cΔt/h² = {layers.ratio:.4g}"
    )
    return Finding.decide(
        layers.growth <= 1 + 1e-12,
        note,
        "all waves of the ring",
        Enclosure.equal(layers.growth),
        basis=Basis.FLOAT,
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
        int,
        Knob(10, 1000, "layers of the residual network", "T", log=True, least=1, most=MOST_STEPS),
    ] = 200,
) -> Evidence:
    r"""A filter $q$ on a grid of step $h$ is a differential operator: with the moments $m_\alpha=\sum_kk^\alpha q[k]$
    $$\sum_kq[k]\,f(x+kh)=\sum_\alpha\frac{h^{|\alpha|}}{\alpha!}\,m_\alpha\,\partial^\alpha f(x)$$
    for smooth $f$. Moments and filters determine each other; if $m_\alpha=0$ for $|\alpha|<d$, then $h^{-d}q$ tends to
    an operator of order $d$. A residual layer $u+q*u$ with $m_0=m_1=0$, $m_2=2c\Delta t/h^2$ is explicit Euler for
    $u_t=cu_{xx}$, stable if $|1+\hat q|\le1$."""
    found = read_filters(net)
    if isinstance(found, FthetaError):
        return Evidence((), summary=found.what)
    first = found[0]
    layers = read_diffusion(net, steps)
    claims: list[Claim] = [_claim_series(found)]
    if is_one_layer(net):
        claims.append(_claim_layer_slides_filter(net, first, rng))
    numbers: dict[str, Enclosure | float] = {
        f"moment {k}": float(first.moment((k, *[0] * (first.dimension - 1)))) for k in range(5)
    }
    charts = [draw_response(first)]
    if layers is not None:
        claims += [*_claim_diffusion(layers), _claim_filter_learnt(layers, rng)]
        numbers["growth of the worst wave"] = layers.growth
        numbers["distance to the heat equation"] = float(
            np.abs(layers.states[-1] - layers.exact(layers.steps)).max()
        )
        charts = [draw_heat(layers), *charts]
    return Evidence(
        claims=(*claims, *_claim_accuracy(first, with_rate=is_one_layer(net))),
        charts=tuple(charts),
        numbers=numbers,
        tables=(tabulate_filters(found),),
        summary=f"the filter is {first.operator()}: a derivative of order {first.derivative()}, "
        f"with an error of order {first.accuracy()}",
        examples=partial(_examples, found, rng if layers is not None else None),
    )


# ---- filters ---------------------------------------------------------------------------------------------------------


def _claim_series(filters: Sequence[Stencil]) -> Claim:
    """The series of moments on a cosine is as near to the filter as its remainder says."""
    what = f"error of the series below order {TERMS} on a cosine, over its remainder; steps {STEPS}"
    return AtMost(what, Enclosure.equal(series_error(filters)), Enclosure.exact(1))


def _claim_layer_slides_filter(net: Network, stencil: Stencil, rng: np.random.Generator) -> Claim:
    """The network is the filter, slid along."""
    u = rng.normal(size=net.input_shape)
    gap = float(np.abs(np.asarray(net(u)) - slide(stencil, u)).max())
    atol = 1e-9 * float(np.abs(stencil.weights).sum())
    return Identity(
        "f(u) minus Σ q[k] u(·+k), u random on the ring", Enclosure.equal(gap), ZERO, atol=atol
    )


def _claim_accuracy(stencil: Stencil, *, with_rate: bool) -> tuple[Claim, ...]:
    """The filter over a power of h tends to its leading operator, at the order that the moments tell. The order is
    fitted, too, `with_rate`."""
    found = approach_operator(stencil)
    if found is None:
        return ()
    what = f"error of the leading operator on a cosine, over its bound, which is of order h^{found.order}"
    bound = AtMost(what, Enclosure.equal(found.ratio), Enclosure.exact(1))
    if not with_rate:
        return (bound,)
    rate = observed_order(
        "error of the operator on a cosine, in 1/h", found.order, 1 / found.steps, found.errors
    )
    return (bound, *rate)


# ---- residual layers that diffuse ------------------------------------------------------------------------------------


def _claim_diffusion(layers: Diffusion) -> tuple[Claim, Claim, Claim]:
    """The last state in closed form; the mean square does not grow; the sum stays."""
    size = max(float(np.abs(layers.by_waves).max()), float(np.abs(layers.start).max()))
    gap = float(np.abs(layers.states[-1] - layers.by_waves).max())
    last, first = (float(np.sqrt((u**2).mean())) for u in (layers.states[-1], layers.start))
    mass = float(abs(layers.states[-1].sum() - layers.start.sum()))
    return (
        Identity(
            f"u after {layers.steps} layers, minus its closed form by waves",
            Enclosure.equal(gap),
            ZERO,
            atol=1e-9 * size,
        ),
        AtMost(
            "mean square of u after the last layer, at most at the start",
            Enclosure.equal(last),
            Enclosure.equal(first),
            witness=_witness_growth(layers) if last > first else None,
        ),
        Identity(
            "change of the sum of u",
            Enclosure.equal(mass),
            ZERO,
            atol=1e-9 * size * layers.start.size,
        ),
    )


def _witness_growth(layers: Diffusion) -> Witness:
    many, after, start = layers.enclose_growth()
    return Witness(
        {"layers": float(many)}, after, start, "layer by layer in intervals rounded outward"
    )


def _claim_filter_learnt(layers: Diffusion, rng: np.random.Generator) -> Claim:
    """The filter is recovered from states of the network by least squares under its sum rules."""
    what = "largest error of the filter learnt from states of the network"
    return Identity(what, Enclosure.equal(error_of_learnt_filter(layers, rng)), ZERO, atol=1e-9)


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(filters: Sequence[Stencil], rng: np.random.Generator | None) -> Examples:
    """Filters made again from their moments; for a diffusion, the conductivity learnt from solutions of the heat
    equation on finer and finer rings."""
    claims: list[Claim] = [_claim_filters_from_moments(filters)]
    numbers = _textbook_numbers()
    if rng is not None:
        learnt = [learn_conductivity(M, 1.0, rng) for M in RINGS]
        numbers["learnt c"] = learnt[-1]
        claims.append(
            Converges(
                "c learnt from solutions of the heat equation",
                Enclosure.equal(1.0),
                tuple(map(Enclosure.equal, learnt)),
                tuple(map(float, RINGS)),
                within=0.01,
            )
        )
    return Examples(tuple(claims), numbers=numbers)


def _claim_filters_from_moments(filters: Sequence[Stencil]) -> Claim:
    """Moments and filters determine each other."""
    worst = Fraction(0)
    for stencil in filters:
        taps = from_moments(stencil.moments, stencil.weights.shape)
        worst = max(worst, *(abs(q - stencil.taps.get(at, 0)) for at, q in taps.items()))
    what = f"largest error of {len(filters)} filters made again from their moments, in rationals"
    return Identity(what, Enclosure.exact(worst), ZERO)


def _textbook_numbers() -> dict[str, Enclosure | float]:
    """Moments of the two differences of every textbook, and the second one of cos at 0 with h = 0.1."""
    second = Stencil(SECOND_DIFFERENCE)
    centred = Stencil(CENTRED_DIFFERENCE)
    found = {f"[1, −2, 1]: moment {k}": Enclosure.exact(second.moment((k,))) for k in range(5)}
    found |= {f"[−½, 0, ½]: moment {k}": Enclosure.exact(centred.moment((k,))) for k in range(4)}
    return found | {"[1, −2, 1]/h² of cos at 0, h = 0.1": second.apply(np.cos, (0.0,), 0.1) / 0.01}
