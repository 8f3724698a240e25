"""A linear map of images commutes with translations exactly when it is a convolution."""

from functools import lru_cache, partial
from typing import Annotated

import numpy as np

from ftheta.groups import Kind, Responses, kind_of, layout_of, respond, superposition_gap
from ftheta.groups.convolution import KERNELS, MAPS, integer_kernel, symbol
from ftheta.groups.permutations import commutant_dimension, translations
from ftheta.groups.responses import FLOAT_ZERO
from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    UsageError,
    hypothesis,
    theorem,
)
from ftheta.subjects import Network

from .charts import draw_map
from .linear_maps import IMAGES, choose_waves, error_on_waves, first_layer_defect, try_images

LISTED = 1024  # pixels up to which the group is listed
ZERO = Enclosure.exact(0)


def grid_map(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which linear map", symbol="W", choices=tuple(MAPS))
    ] = "convolution",
    kernel: Annotated[
        str, Knob(says="which kernel", symbol="ψ", choices=KERNELS)
    ] = "random integers",
    size: Annotated[int, Knob(1, 32, "pixels along each side", "M", log=True, most=64)] = 4,
    dimension: Annotated[int, Knob(1, 2, "sides of the grid", "d")] = 2,
    inputs: Annotated[int, Knob(1, 8, "channels in", "S")] = 2,
    outputs: Annotated[int, Knob(1, 8, "channels out", "T")] = 3,
    width: Annotated[int, Knob(1, 7, "width of a random kernel", "k")] = 3,
) -> Network:
    grid = (size,) * dimension
    weights = integer_kernel(kernel, rng, width, dimension, inputs, outputs)
    if kind == "dense":
        if np.prod(grid) ** 2 * inputs * outputs > 1 << 22:
            raise UsageError(
                "This dense map has too many weights.",
                got=f"M = {size}",
                remedy="take a smaller size",
            )
        weights = rng.integers(-3, 4, (*grid, outputs, *grid, inputs)).astype(np.float64)
    return Network(f"{kind} on {'×'.join(map(str, grid))}", MAPS[kind], weights, (*grid, inputs))


def zero_padding(rng: np.random.Generator) -> Network:
    return grid_map(rng, kind="zero padding", kernel="Laplacian", size=8, inputs=1, outputs=1)


@lru_cache(maxsize=2)
def seen_by_impulses(net: Network) -> Responses | None:
    layout = layout_of(net.input_shape, net.output_shape)
    return layout and respond(net.apply, net.params, layout, np.random.default_rng(0))


@hypothesis(
    "input and output are images on one grid",
    remedy="give one layer, from shape (M, M, S) to (M, M, T)",
    name="images on one grid as inputs and outputs",
)
def acts_on_a_grid(net: Network) -> Finding:
    shapes = f"from {net.input_shape} to {net.output_shape}"
    if layout_of(net.input_shape, net.output_shape):
        return Finding.proved(shapes, "shapes compared")
    first = net.description and first_layer_defect(net.description.layers[0].weight)
    told = (
        f"; on square images its first weight has a commutator of {first:.3g} times its largest entry"
        if first
        else ""
    )
    return Finding.failed(shapes + told, Enclosure.equal(first) if first else None)


@hypothesis(
    r"$W(ax+by)=aWx+bWy$",
    remedy="leave out activations and biases: take the linear part of one layer",
    name="a linear map",
)
def linear(net: Network) -> Finding:
    if kind_of(net, net.example) is Kind.LINEAR:
        return Finding.proved("every operation is linear", "read off its graph")
    gap = superposition_gap(net, *np.random.default_rng(0).normal(size=(2, *net.input_shape)))
    note = f"W(2x − 3y) differs from 2Wx − 3Wy by {gap:.3g} of the largest value"
    return Finding.sampled(note) if gap <= 1e-9 else Finding.failed(note, Enclosure.at_least(gap))


@hypothesis(
    "what leaves the grid on one side enters on the other",
    remedy='pad periodically: padding_mode="circular"',
    name="periodic boundaries",
)
def periodic_boundary(net: Network) -> Finding:
    return judge_boundary(seen_by_impulses(net))


def judge_boundary(seen: Responses | None) -> Finding:
    """Whether what leaves the grid on one side enters on the other, where that can be told from the responses."""
    if seen is None:
        return Finding.proved("there is no grid, hence no border", "an empty statement")
    inner = seen.interior_defect
    if inner is None and not seen.is_zero(seen.defect):
        return Finding.proved(
            "no two pixels are away from the border: nothing is claimed that depends on it",
            "an empty statement",
        )
    away = f", away from the border by {inner:.3g}" if inner is not None else ""
    note = f"responses to impulses differ by {seen.defect:.3g}{away}"
    if not seen.shares_weights:
        return Finding.proved(
            f"{note}: no weights are shared, so that no border matters", "no claim reads the border"
        )
    if seen.complete or not seen.is_zero(seen.defect):
        basis = Basis.EXACT if seen.exact else Basis.FLOAT
        why = "the responses to all impulses are the whole linear map"
        return Finding.decide(
            seen.is_zero(seen.defect), note, why, seen.known(seen.defect), basis=basis
        )
    return Finding.sampled(f"{note}, at {len(seen.positions)} of {seen.layout.pixels} pixels")


@theorem(
    title="Translation-equivariant linear maps are convolutions",
    gist="A linear map of images commutes with translations exactly when it is a convolution, which is why "
    "convolutional layers share their weights and need so few parameters.",
    see_also=(
        "group-equivariant-linear-maps",
        "subsampling-receptive-field",
        "lipschitz-bounds",
        "pde-net-stencils",
    ),
    sources=("peyre-slides", "peyre-notes", "cohen2016"),
    assumes=(acts_on_a_grid, linear, periodic_boundary),
    on=grid_map,
    breaks_on=zero_padding,
    presets={
        "textbook": {},
        "ring": {"kernel": "Laplacian", "dimension": 1, "inputs": 1, "outputs": 1},
        "large": {"size": 20, "width": 5},
        "at the edge": {"kind": "dense"},
        "broken on purpose": {"kind": "zero padding", "size": 8},
    },
    errata=r"""Peyré's notes state it for all operators and all translations. It holds for linear maps and periodic
    shifts:
    $x\mapsto x^2$ commutes with translations; with zero padding a convolution commutes away from the border only.""",
)
def conv_iff_equivariant(net: Network, rng: np.random.Generator) -> Evidence:
    r"""Let $W:\mathbb R^{M\times M\times S}\to\mathbb R^{M\times M\times T}$ be linear, $T_\tau$ a cyclic shift. Then
    $$WT_\tau=T_\tau W\ \ \forall\tau\iff(Wx)_t=\sum_s\psi_{st}*x_s,\qquad\psi_{st}=(W\delta_{0,s})_t.$$
    Such a $W$ is block-circulant, diagonalised by the discrete Fourier transform, and has $M^2ST$ free parameters
    instead of $M^4ST$."""
    seen = seen_by_impulses(net)
    if seen is None:
        return Evidence((), summary="input and output share no grid")
    of_convolutions = claim_convolution(seen, rng) if seen.shares_weights else []
    return Evidence(
        claims=(*claim_both_directions(seen, rng), *of_convolutions, _claim_projection(seen)),
        charts=draw_map(seen),
        numbers=_measure(seen),
        summary=f"largest commutator {seen.defect:.6g}; distance to the convolution {seen.distance:.6g}; "
        f"{seen.kernel.size} free parameters against {seen.kernel.size * seen.layout.pixels}",
        examples=partial(_examples, seen),
    )


def claim_both_directions(seen: Responses, rng: np.random.Generator) -> tuple[Claim, Claim]:
    r"""For every linear $W$, with $\delta=\max_\tau\max|WT_\tau-T_\tau W|$ and $\varepsilon=\max|W-C_\psi|$:
    $\|Wx-\psi*x\|_\infty\le\delta\|x\|_1$, $\|WT_\tau x-T_\tau Wx\|_\infty\le2\varepsilon\|x\|_1$; here on images."""
    found = try_images(seen, rng)
    atol = 0.0 if seen.exact else FLOAT_ZERO * seen.scale
    return (
        AtMost(
            f"‖Wx − ψ∗x‖_∞/‖x‖₁ on {IMAGES} images, at most the largest commutator",
            found.misfit,
            seen.known(seen.defect),
            atol=atol,
        ),
        AtMost(
            f"‖WT_τx − T_τWx‖_∞/‖x‖₁ on them at τ = {found.shift}, at most twice ‖W − ψ∗‖",
            found.commutator,
            seen.known(2 * seen.distance),
            atol=atol,
        ),
    )


def claim_convolution(seen: Responses, rng: np.random.Generator) -> list[Claim]:
    """What holds where the weights are shared: it commutes, and the waves are its eigenvectors."""
    what = "largest commutator max|WT_τ − T_τW|"
    atol = FLOAT_ZERO * seen.scale
    claims: list[Claim] = [
        Identity(what, seen.known(seen.defect), ZERO, witness=seen.witness(), atol=atol)
    ]
    waves = choose_waves(seen, rng)
    if waves is not None:
        error = error_on_waves(seen, waves)
        claims.append(
            Identity(f"W on {len(waves)} waves and ψ̂(ω) times them", error, ZERO, atol=atol)
        )
    return claims


def _claim_projection(seen: Responses) -> Claim:
    """The mean over translations is an orthogonal projection."""
    whole, parts = seen.energies()
    return Identity("‖W‖² and ‖PW‖² + ‖W − PW‖², P the mean over translations", whole, parts)


def _examples(seen: Responses) -> Examples:
    """All maps on this grid that commute have as many parameters as the kernel."""
    if seen.layout.pixels > LISTED:
        return Examples()
    group = translations(seen.layout.grid)
    dimension = commutant_dimension(group, group)
    of_all_channels = Enclosure.exact(seen.layout.S * seen.layout.T * dimension)
    what = "dimension of the commutant, by characters, and |ψ|"
    claim = Identity(what, of_all_channels, Enclosure.exact(seen.kernel.size))
    return Examples((claim,), numbers={"commutant dimension": Enclosure.exact(dimension)})


def _measure(seen: Responses) -> dict[str, Enclosure | float]:
    """Parameters, distances, and the eigenvalues of a small symmetric kernel."""
    N = seen.layout.pixels
    S = seen.layout.S
    T = seen.layout.T
    numbers: dict[str, Enclosure | float] = {
        "free parameters": Enclosure.exact(N * S * T),
        "dense parameters": Enclosure.exact(N * N * S * T),
        "largest commutator": seen.known(seen.defect),
        "distance to the convolution": seen.known(seen.distance),
    }
    values = symbol(seen.kernel)[..., 0, 0].ravel()
    if (
        S == T == 1
        and N <= 16
        and np.abs(np.imag(values)).max() <= 1e-12 * (np.abs(values).max() or 1)
    ):
        numbers |= {f"eigenvalue {k}": float(value) for k, value in enumerate(np.real(values))}
    return numbers
