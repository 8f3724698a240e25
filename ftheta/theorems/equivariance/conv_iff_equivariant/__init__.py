"""A linear map of images commutes with translations exactly when it is a convolution."""

from functools import lru_cache
from typing import Annotated

import numpy as np

from ftheta.groups import Kind, Responses, kind_of, layout_of, respond, superposition_gap
from ftheta.groups.convolution import KERNELS, MAPS, integer_kernel
from ftheta.logic import Enclosure, Evidence, Examples, Finding, Knob, UsageError, hypothesis, theorem
from ftheta.subjects import Network

from . import equivariance


def grid_map(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which linear map", symbol="W", choices=tuple(MAPS))] = "convolution",
    kernel: Annotated[str, Knob(says="which kernel", symbol="ψ", choices=KERNELS)] = "random integers",
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
            raise UsageError("This dense map has too many weights.", got=f"M = {size}", remedy="take a smaller size")
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
    first = net.description and equivariance.first_layer_defect(net.description.layers[0].weight)
    told = (
        f"; on square images its first weight has a commutator of {first:.3g} times its largest entry" if first else ""
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
    return equivariance.boundary(seen_by_impulses(net))


@theorem(
    title="Translation-equivariant linear maps are convolutions",
    gist="A linear map of images commutes with translations exactly when it is a convolution, which is why "
    "convolutional layers share their weights and need so few parameters.",
    see_also=("group-equivariant-linear-maps", "subsampling-receptive-field", "lipschitz-bounds", "pde-net-stencils"),
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
    shared = equivariance.of_a_convolution(seen, rng) if seen.shares_weights else ()
    return Evidence(
        (*equivariance.both_directions(seen, rng), *shared, *equivariance.of_the_projection(seen)),
        equivariance.pictures(seen),
        equivariance.measurements(seen),
        summary=f"largest commutator {seen.defect:.6g}; distance to the convolution {seen.distance:.6g}; "
        f"{seen.kernel.size} free parameters against {seen.kernel.size * seen.layout.pixels}",
        examples=lambda: Examples(equivariance.of_the_commutant(seen)),
    )
