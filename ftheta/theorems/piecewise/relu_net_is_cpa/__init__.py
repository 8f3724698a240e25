"""A ReLU network is affine on each of finitely many polyhedra."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Series,
    Witness,
    theorem,
)
from ftheta.networks import Dense, Description, random_mlp
from ftheta.pieces import pieces
from ftheta.pieces.complex import Complex
from ftheta.pieces.domains import domain_volume
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of, storable
from ftheta.subjects import Network
from ftheta.theorems.knobs import HiddenActivation, MostCells, MostWork, SliceRadius

from .affine_maps import LocalMaps

ZERO = Enclosure.exact(0)
_AXES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def _shallow(weight: np.ndarray, bias: np.ndarray, outer: np.ndarray) -> Description:
    return Description((Dense(weight, bias, "relu"), Dense(outer, np.zeros(len(outer)))))


KNOWN = {
    # four quadrants, and on each of them another map
    "|x₁| + |x₂|": _shallow(_AXES, np.zeros(4), np.ones((1, 4))),
    # the same four cells, but one linear region: the kinks cancel
    "identity": _shallow(_AXES, np.zeros(4), np.hstack([np.eye(2), -np.eye(2)])),
    # a triangle and the six cells around it: Zaslavsky's 1 + 3 + 3
    "three lines": _shallow(
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, -1.0]), np.ones((1, 3))
    ),
}
"""Small networks in the plane whose pieces are known in closed form."""


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which network", symbol="f", choices=("random", *KNOWN))
    ] = "random",
    inputs: Annotated[int, Knob(1, 64, "number of inputs", "d₀", log=True, most=1024)] = 2,
    width: Annotated[
        int, Knob(1, 64, "neurons in each hidden layer", "w", log=True, most=128)
    ] = 16,
    hidden_layers: Annotated[int, Knob(0, 6, "number of hidden layers", "H", most=12)] = 3,
    hidden: HiddenActivation = "relu",
) -> Network:
    if kind in KNOWN:
        return Network.described(KNOWN[kind], kind)
    description = random_mlp(rng, (inputs, *[width] * hidden_layers, 1), hidden, bias=0.5)
    return Network.described(
        description, f"random {hidden} network {'-'.join(map(str, description.widths))}"
    )


def smooth_network(rng: np.random.Generator) -> Network:
    return network(rng, hidden="tanh")


@theorem(
    title="ReLU networks are continuous and piecewise affine",
    gist="A ReLU network is an affine map on each of finitely many polyhedra, so that locally everything about it is "
    "linear algebra: the cells and their affine maps can be enumerated and drawn.",
    see_also=(
        "regions-shallow",
        "regions-deep",
        "cpa-partition-composition",
        "cpa-to-relu-compiler",
    ),
    sources=("gribonval-slides", "murari-slides", "arora2018"),
    assumes=(relu_network,),
    on=network,
    breaks_on=smooth_network,
    presets={
        "textbook": {},
        "cells that merge": {"kind": "identity"},
        "large": {"width": 64, "hidden_layers": 4, "radius": 3.0},
        "at the edge": {"inputs": 1, "width": 64, "hidden_layers": 0},
        "broken on purpose": {"hidden": "tanh"},
    },
)
def relu_net_is_cpa(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: SliceRadius = 2.0,
    max_cells: MostCells = 50_000,
    max_work: MostWork = 400_000_000,
    jacobians: Annotated[int, Knob(1, 512, "cells differentiated", "m", log=True, most=2048)] = 128,
) -> Evidence:
    r"""Every ReLU network $f_\theta:\mathbb R^{d_0}\to\mathbb R^{d_L}$ is continuous and piecewise affine. With the
    diagonal 0/1 matrices $D_\ell(x)$ of the active neurons, constant on the activation cell of $x$,
    $$f_\theta(x)=A_xx+c_x,\qquad A_x=W_LD_{L-1}(x)W_{L-1}\cdots D_1(x)W_1=Df_\theta(x)$$
    in its interior. The closed cells cover the space; neighbours with the same map form one linear region, so there are
    no more linear regions than cells. Here: on a planar slice (through three rows of the data, if there are any)."""
    form = normal_form(net).network
    if form is None:
        return Evidence((), summary="no normal form, hence no cells")
    domain = slice_of(form.widths[0], None if net.data is None else net.data.x, rng, radius)
    cells = pieces(form, domain, max_cells=storable(form, max_cells), max_work=max_work)
    if not len(cells):
        return Evidence((), summary="the budget ran out before the first cell was found")
    maps = LocalMaps(cells, net, net.input_shape)
    whole = Enclosure.equal(domain_volume(domain))
    region, regions = maps.regions()
    covered = float(cells.volumes.sum())
    area = (
        Enclosure.equal(covered)
        if cells.certificate.complete
        else Enclosure.between(covered, np.inf, whole.basis)
    )
    steepness = np.linalg.norm(cells.maps[:, :, :-1].reshape(len(cells), -1), axis=1)
    agreement = _claim_agreement(maps)
    found = f"{'' if cells.certificate.complete else 'at least '}{len(cells):,} activation cells"
    return Evidence(
        claims=(
            agreement,
            _claim_jacobians(maps, jacobians),
            AtMost("linear regions ≤ activation cells", regions, cells.count),
        ),
        charts=(
            picture(cells, f"linear regions of {net.name}", steepness, "slope |A|"),
            _draw_areas(cells, region),
        ),
        numbers={
            "activation cells": cells.count,
            "linear regions": regions,
            "largest gap": agreement.left,
            "area": area,
        },
        summary=f"{found}, linear regions: {regions.lo:,.0f}; f = Ax + c within {agreement.left.hi:.2g}",
        examples=partial(_examples, area, whole),
    )


def _claim_agreement(maps: LocalMaps) -> Identity:
    """The network equals the map of every cell at its corners and its centre, hence (both affine there) on it."""
    what = f"largest |f(x) − (A x + c)| over corners and centres of the {len(maps.cells):,} cells found"
    worst = maps.largest_gap
    atol = worst.allowance
    if worst.gap <= atol:
        return Identity(what, Enclosure.equal(worst.gap), ZERO, atol=atol)
    real = maps.enclose_gap(worst)
    if real is not None and real.lo <= atol:  # rounding of the program alone would explain it
        return Identity(what, real, ZERO, atol=atol)
    at = {f"t{i + 1}": float(coordinate) for i, coordinate in enumerate(worst.t)}
    how = "the function in intervals rounded outward, the network of the cells in rationals"
    return Identity(
        what,
        Enclosure.equal(worst.gap),
        ZERO,
        Witness(at, *maps.enclose_values(worst), how),
        atol=atol,
    )


def _claim_jacobians(maps: LocalMaps, most: int) -> Claim:
    """The map of a cell is the Jacobian inside it."""
    found = maps.compare_jacobians(most)
    what = f"largest |Df − A| along the slice, at the centres of the {found.cells} largest cells"
    return Identity(what, found.gap, ZERO, atol=found.allowance)


def _draw_areas(cells: Complex, region: np.ndarray) -> Curves:
    """Areas of the cells and of the linear regions in descending order."""
    areas = {
        "activation cells": cells.volumes,
        "linear regions": np.bincount(region, cells.volumes),
    }
    series = []
    for name, area in areas.items():
        rank = np.unique(np.geomspace(1, len(area), 400).astype(int))
        sorted_area = np.sort(area)[::-1][rank - 1]
        good = sorted_area > 0
        series.append(
            Series(name, rank[good], sorted_area[good], "measured" if series else "other")
        )
    what = "length" if cells.dimension == 1 else "area"
    return Curves("how large the pieces are", Axis("rank", "log"), Axis(what, "log"), tuple(series))


def _examples(area: Enclosure, whole: Enclosure) -> Examples:
    """The cells found cover the slice: true by construction of the enumeration."""
    return Examples(claims=(Identity("area of all cells together, and of the slice", area, whole),))
