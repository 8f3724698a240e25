"""A minimum comes in many copies, and half-way between two of them the loss is higher."""

from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import Description, random_mlp
from ftheta.spectra import alignment, minima
from ftheta.spectra.linear_critical import critical_points, critical_table, linear_claims, scalar_numbers
from ftheta.spectra.slices import Told
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import described, describes_this_function

SPECTRUM, HIDDEN = (3, 2, 1), 2  # of the linear network: singular values of Y, hidden units


def teacher(
    rng: np.random.Generator,
    *,
    width: Annotated[int, Knob(1, 6, "hidden neurons", "h", most=64)] = 3,
    hidden: Annotated[str, Knob(says="activation", symbol="σ", choices=("tanh", "arctan", "relu", "sigmoid"))] = "tanh",
    twins: Annotated[bool, Knob(says="make the first two neurons equal", symbol="w₁ = w₂")] = False,
) -> Network:
    first, last = random_mlp(rng, (2, max(width, 1 + twins), 1), hidden, gain=4.0, bias=0.5).layers
    W, b, A = first.weight, first.bias, last.weight
    if twins:
        W[1], b[1], A[:, 1] = W[0], b[0], A[:, 0]
    layers = Description((first, last))
    x = rng.normal(size=(48, 2))
    data = Dataset("what the network says at 48 points", x, np.asarray(layers.apply(layers.params, x)))
    return Network.described(layers, f"{hidden} network 2-{len(W)}-1").with_data(data)


def with_twins(rng: np.random.Generator) -> Network:
    return teacher(rng, twins=True)


@hypothesis("there are data with targets that fit the network", remedy="give data with labels")
def targets_known(net: Network) -> Finding:
    told = Told.of(net)
    return Finding.decide(bool(told.loss), f"{len(told.y):,} rows with targets, {told.loss or 'no'} loss", "counted")


@hypothesis(
    "generic: no two neurons of a layer are equal (up to sign for odd activations), none is zero",
    remedy="merge equal neurons and drop those without weights",
)
def generic_neurons(net: Network) -> Finding:
    if net.description is None or len(net.description.layers) < 2:
        return Finding.failed("no hidden layer is known")
    why = minima.coincidence(net.description)
    return Finding.failed(why) if why else Finding.proved("all neurons differ", "compared pair by pair")


@theorem(
    title="Equivalent minima of the loss landscape",
    sources=("seed 1", "seed 2", "baldi1989", "kawaguchi2016", "ainsworth2023"),
    of_parameters=True,
    assumes=(described, targets_known, generic_neurons, describes_this_function),
    on=teacher,
    breaks_on=with_twins,
    presets={
        "textbook": {},
        "one neuron": {"width": 1},
        "orders alone": {"hidden": "relu", "width": 4},
        "at the edge": {"width": 5},
        "broken on purpose": {"twins": True},
    },
)
def landscape_equivalent_minima(
    net: Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(100, 5000, "training steps of the second network", "K", log=True, least=1)] = 1500,
    step: Annotated[float, Knob(1e-3, 0.1, "first step of Adam", "τ", log=True, least=1e-6, most=1.0)] = 0.03,
) -> Evidence:
    r"""Exchanging hidden neurons, and for odd $\sigma$ changing the signs of $(w_i,b_i,a_i)$, leaves $f_\theta$ as it
    is: a generic minimum of a tanh network of width $h$ has $h!\,2^h$ equivalent ones (other $\sigma$: $h!$ at least).
    Half-way between two of them the loss is in general higher, so $\mathcal L$ is not convex. For linear networks and
    $\|W_2W_1X-Y\|^2$ with $XX^\top$, $YX^\top$ of full rank and distinct eigenvalues every local minimum is global and
    all other critical points are saddles: for $\frac12(aw-1)^2$ the Hessian has the eigenvalues $\pm1$ at $0$, and
    $0,\ a^2+w^2$ on $aw=1$."""
    told, layers, points = Told.of(net), net.description, critical_points(SPECTRUM, HIDDEN)
    if layers is None or told.loss is None or len(layers.layers) < 2:
        return Evidence(linear_claims(points), summary="only linear networks were looked at")
    counted, found = minima.counted(layers), minima.Midpoints.of(layers, told.x, told.y, told.loss, rng)
    between = alignment.study(told, layers, rng, steps, step) if alignment.same_kind(layers) else None
    summary = f"{minima.count_told(layers)}; half-way the loss is higher for {found.higher:.0%} of those tried"
    if between is not None:
        summary += "; barrier to another network {:.3g}, after alignment {:.3g}".format(*between.barriers())
    copies = Enclosure.exact(minima.number_of_copies(layers))
    surface = minima.surface(layers, told.x, told.y, told.loss)
    return Evidence(
        claims=(*counted, *found.claims(bool(counted)), *(between.claims() if between else ()), *linear_claims(points)),
        charts=(surface, between.chart()) if between else (surface,),
        numbers=scalar_numbers() | {"copies": copies} | (between.numbers if between else {}),
        tables=(critical_table(SPECTRUM, points),),
        summary=summary,
    )
