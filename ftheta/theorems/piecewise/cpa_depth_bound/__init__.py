"""How deep a network must be for any piecewise-affine function: logarithmic in the dimension."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Series,
    Table,
    Witness,
    theorem,
)
from ftheta.networks.description import random_mlp
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of
from ftheta.relu.counts import count
from ftheta.relu.describe import describe_layers
from ftheta.relu.exact import exact
from ftheta.relu.geometry import plus, times
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.local import across, kink
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.maxima.depth_bounds import BrokenKink, enough, maximum_with_zero, necessary
from ftheta.relu.maxima.sums import depth_bound, recent_hidden_layers
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import nodal
from ftheta.relu.meshes.simplex_cells import box_mesh
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.relu.reading.enclosing import gap_to
from ftheta.subjects import Network
from ftheta.theorems.knobs import SliceRadius

from .broken_kinks import OnSlice
from .small_maxima import convert_maximum

KINDS = ("maximum of 0 and the inputs", "nodal function", "random", "tanh")
FARTHEST = 64  # dimensions in the picture


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=KINDS)] = KINDS[0],
    inputs: Annotated[int, Knob(1, 28, "number of inputs", "d", log=True, most=64)] = 2,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    hidden_layers: Annotated[int, Knob(1, 5, "hidden layers of the random network", "H")] = 4,
) -> Network:
    name = f"{kind}, d = {inputs}"
    if kind == "maximum of 0 and the inputs":
        return Network.described(describe_layers(maximum_with_zero(inputs)), name)
    if kind == "nodal function":
        d = min(inputs, 3)
        points, simplices = box_mesh([-1] * d, [1] * d, 2)
        return Network.described(
            describe_layers(nodal(Mesh.of(points, simplices), len(points) // 2)), name
        )
    hidden = "tanh" if kind == "tanh" else "relu"
    return Network.described(
        random_mlp(rng, (inputs, *[width] * hidden_layers, 1), hidden, bias=0.5), name
    )


def smooth_network(rng: np.random.Generator) -> Network:
    return network(rng, kind="tanh")


@theorem(
    title="Depth sufficient for every piecewise-affine function",
    gist="A number of hidden layers logarithmic in the input dimension is enough for every continuous piecewise-affine "
    "function, so that more depth than this buys efficiency and no new functions; one hidden layer is too few.",
    see_also=(
        "cpa-to-relu-compiler",
        "max-network",
        "one-hidden-layer-not-integrable",
        "depth-separation",
    ),
    same_for_all={
        "hidden layers that f needs": "counts of layers are small: different networks need equally many"
    },
    sources=("gribonval-slides", "arora2018", "wang2005", "bakaev2025"),
    assumes=(relu_network,),
    on=network,
    breaks_on=smooth_network,
    presets={
        "textbook": {},
        "a random network, deeper than it need be": {"kind": "random", "inputs": 3, "width": 16},
        "twenty-eight dimensions": {"inputs": 28},
        "at the edge": {"kind": "random", "inputs": 1, "hidden_layers": 1, "forms": 2},
        "broken on purpose": {"kind": "tanh"},
    },
    errata=r"Gribonval's slides state $\lceil\log_2(d+1)\rceil+1$ layers: correct, since 2025 no longer the best "
    r"for $d\ge4$.",
)
def cpa_depth_bound(
    net: Network,
    rng: np.random.Generator,
    *,
    forms: Annotated[int, Knob(2, 8, "affine forms of the maximum that is converted", "M")] = 6,
    radius: SliceRadius = 2.0,
) -> Evidence:
    r"""Every continuous piecewise-affine $f:\mathbb R^d\to\mathbb R$ is a ReLU network with
    $\lceil\log_2(d+1)\rceil$ hidden layers, because $f=\sum_js_j\max_{i\in S_j}\ell_i$ with $|S_j|\le d+1$; for $d\ge3$
    $\lceil\log_3(d-1)\rceil+1$ are enough. One is not enough for $\max\{0,x_1,x_2\}$, nor for any $f$ whose gradient
    jumps differently at two points of a hyperplane that are on no other kink."""
    form = normal_form(net)
    if form.network is None:
        return Evidence((), summary="no normal form, hence no layers to count")
    d = form.network.widths[0]
    used = count(form.network).activations
    domain = slice_of(d, None if net.data is None else net.data.x, rng, radius)
    here = OnSlice.of(form.network, domain, rng)
    most = min(used, enough(d))
    dimension = d if d <= 3 else 2
    rows = rng.integers(-6, 7, (min(forms, 5) if dimension == 3 else forms, dimension + 1))
    inputs = rng.normal(size=(64, *net.input_shape))
    read = () if form.basis is Basis.EXACT else (_same_as_normal_form(net, form.network, inputs),)
    return Evidence(
        claims=(
            *read,
            AtMost(
                "hidden layers that f needs ≤ those that are enough",
                enclose_rational(here.needs.layers),
                enclose_rational(most),
            ),
        ),
        charts=(_chart_bounds(d, used), *_chart_slice(here, f"pieces of {net.name}")),
        numbers={
            "affine maps that are enough": enclose_rational(depth_bound(d)),
            "hidden layers that are enough": enclose_rational(depth_bound(d) - 1),
            "since 2025": enclose_rational(
                recent_hidden_layers(d) if d >= 3 else depth_bound(d) - 1
            ),
            "hidden layers used": enclose_rational(used),
            "hidden layers needed at least": enclose_rational(here.needs.layers),
        },
        tables=(_tabulate_bounds(d),),
        summary=f"{used} hidden layers used; at least {here.needs.layers} needed, {enough(d)} enough (d = {d})",
        examples=partial(_examples, rows),
    )


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(rows: np.ndarray) -> Examples:
    """Lower bound: a maximum of three numbers. Upper bound: a random maximum of affine forms, converted."""
    d = rows.shape[1] - 1
    # the kink at x₁ = x₂ ends at the origin
    on_diagonal = ((fmpq(1), fmpq(1)), (fmpq(1), fmpq(-1)))
    small = necessary(maximum_with_zero(2), [on_diagonal], (fmpq(-2), fmpq(2)))
    made = convert_maximum(rows.tolist())
    return Examples(
        claims=(
            Identity(
                "hidden layers that max{0, x₁, x₂} needs, and the bound",
                enclose_rational(small.layers),
                enclose_rational(2),
            ),
            Identity(
                f"sup |small maxima − max of {made.forms} forms| on a box, d = {d}",
                enclose_rational(made.gap),
                enclose_rational(0),
            ),
            AtMost(
                f"forms in one of its maxima, d = {d}",
                enclose_rational(made.largest_term),
                enclose_rational(d + 1),
            ),
            AtMost(
                f"hidden layers of the sum, d = {d}",
                enclose_rational(made.layers),
                enclose_rational(depth_bound(d) - 1),
            ),
        )
    )


# ---- the function and its normal form --------------------------------------------------------------------------------


def _same_as_normal_form(
    f: Callable[[np.ndarray], Any], form: ReluNetwork, x: np.ndarray
) -> Identity:
    """The function beside its normal form at some inputs (rows)."""
    gap = lambda row: float(np.abs(np.ravel(f(row)) - np.ravel(form(row.ravel()))).max())
    gaps = [gap(row) for row in x]
    k = int(np.argmax(gaps))
    size = max(1.0, max(float(np.abs(form(row.ravel())).max()) for row in x))
    measured = Enclosure.measured(gaps[k], samples=len(x))
    atol = 1e-9 * size
    if gaps[k] <= atol:
        return Identity("largest |f − its normal form|", measured, enclose_rational(0), atol=atol)
    meant = np.ravel(form(x[k].ravel()))
    worst = int(np.abs(np.ravel(f(x[k])) - meant).argmax())
    real = gap_to(f, x[k], worst, float(meant[worst]))
    if real is not None and real.lo <= atol:  # rounding of the program alone would explain it
        return Identity("largest |f − its normal form|", real, enclose_rational(0), atol=atol)
    return Identity(
        "largest |f − its normal form|",
        measured,
        enclose_rational(0),
        _evaluate_again(f, form, x[k]),
        atol=atol,
    )


def _evaluate_again(f: Callable[[np.ndarray], Any], form: ReluNetwork, x: np.ndarray) -> Witness:
    """The input at which they differ most, with f in intervals and the normal form in rationals."""
    values = np.ravel(np.asarray(f(x), np.float64))
    made = np.ravel(form(x.ravel()))
    output = int(np.argmax(np.abs(values - made)))
    left = enclose_entry(f, x, entry=output)
    at = {"x": tuple(x.ravel()[:8].tolist())}
    right = Enclosure.exact(exact(form)(x.ravel().tolist())[output])
    return Witness(at, left, right, "f in intervals rounded outward, its normal form in rationals")


# ---- charts and tables -----------------------------------------------------------------------------------------------


def _chart_bounds(d: int, used: int) -> Curves:
    """Both bounds against the dimension, and where the network stands."""
    x = (
        range(1, max(FARTHEST, d) + 1)
        if d <= 4 * FARTHEST
        else sorted({1, 2, 3, 4, 8, 16, 28, 64, 256, d})
    )
    series = (
        Series("⌈log₂(d+1)⌉", x, [depth_bound(k) - 1 for k in x], "bound", "step"),
        Series(
            "⌈log₃(d−1)⌉ + 1", x[2:], [recent_hidden_layers(k) for k in x[2:]], "reference", "step"
        ),
        Series("this network", [d], [used], "measured", "points"),
    )
    return Curves(
        "hidden layers that are enough", Axis("dimension d", "log"), Axis("hidden layers"), series
    )


def _chart_slice(here: OnSlice, title: str) -> list[Any]:
    """The cells of the slice, and the jump along the kink that excludes one hidden layer."""
    cells = here.cells
    charts = [picture(cells, title, cells.activation.sum(axis=1), "active neurons")]
    if here.needs.why is not None:
        reach = float(np.ptp(cells.domain.corners) / 2)  # type: ignore[union-attr]
        charts.append(_chart_jumps(here.plane, here.needs.why, reach))
    return charts


def _chart_jumps(net: ExactNetwork, broken: BrokenKink, reach: float) -> Curves:
    """The jump across the hyperplane of a kink, on either side of the point."""
    (u, *_), s = across(broken.normal), np.linspace(-reach, reach, 161)
    places = [plus(broken.x, times(rational(t), u)) for t in s.tolist()]
    jumps = [float(kink(net, p, broken.normal)[broken.output]) for p in places]
    away = plus(broken.y, broken.x, -1)
    marks = [
        0.0,
        float(
            fraction(
                sum((a * t for a, t in zip(away, u)), fmpq(0)) / sum((t * t for t in u), fmpq(0))
            )
        ),
    ]
    series = (
        Series("jump across the line", s, jumps, mark="step"),
        Series("the two points", marks, [float(j) for j in broken.jumps], "reference", "points"),
    )
    return Curves(
        "a kink that changes: not one hidden layer",
        Axis("along the line"),
        Axis("jump of ∂f"),
        series,
    )


def _tabulate_bounds(d: int) -> Table:
    """The bounds at some dimensions, that of the network among them."""
    shown = sorted({1, 2, 3, 4, 7, 8, 10, 15, 16, 28, d})
    rows = [
        (k, depth_bound(k), depth_bound(k) - 1, recent_hidden_layers(k) if k >= 3 else "")
        for k in shown
    ]
    return Table(
        "layers that are enough", ("d", "affine maps", "hidden layers", "since 2025"), tuple(rows)
    )
