"""What an output sees of the input, and which shifts a subsampling network keeps."""

from functools import lru_cache
from typing import Annotated

import jax
import numpy as np

from ftheta.groups.defects import evaluations_afforded
from ftheta.logic import (
    AtMost,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    UsageError,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import FAMOUS, Stack, formula_field
from ftheta.networks.architectures.stack import longest_chain
from ftheta.networks.layers.grids import Conv, Pool, ReLU
from ftheta.subjects import Network

from .charts import draw_defects, draw_growth, draw_profile
from .fields import GRADIENTS, Field, axes_of, find_field
from .pooling import pooling_stretch, relu_pooling_gap
from .strides import ZERO, ShiftDefects, measure_shifts, stride_of

CHAINS = ("AlexNet", "VGG-16", "ResNet-34")
LONGEST = 1 << 14
AFFORDED = 16  # evaluations, at least
EXACT = Enclosure.exact
PAIRS = 256  # of signals on which max-pooling is tried


def windows_on_a_ring(
    rng: np.random.Generator,
    *,
    architecture: Annotated[
        str, Knob(says="whose windows", choices=("strided", *CHAINS))
    ] = "strided",
    layers: Annotated[int, Knob(1, 6, "layers of the strided network", "L")] = 3,
    kernel: Annotated[int, Knob(1, 11, "width of its windows", "k")] = 3,
    stride: Annotated[int, Knob(1, 4, "its strides", "s")] = 2,
    pools: Annotated[bool, Knob(says="whether it has max-pools as well")] = False,
    boundary: Annotated[str, Knob(says="beyond the border", choices=("ring", "zeros"))] = "ring",
) -> Network:
    if architecture == "strided":
        one = (
            Conv(kernel=kernel, stride=stride, padding=kernel // 2),
            ReLU(),
            *(Pool(kernel=2, stride=2),) * pools,
        )
        table = Stack(
            f"{layers} layers of {kernel} taps, stride {stride}", one * layers, (1, 1 << 20), True
        )
    else:
        table = FAMOUS[architecture]()
    field, jump = formula_field(longest_chain(table.layers[: table.last_grid]))
    length = jump * max(8, -(-field // jump) + 1)
    if length > LONGEST:
        raise UsageError(
            "The ring would be too long.",
            got=f"{length:,} places",
            remedy="take fewer layers or strides",
        )
    thin = table.thin(length, circular=boundary == "ring")
    params = jax.tree.map(lambda w: w * rng.uniform(0.5, 1.5, w.shape), thin.averaging())
    return Network(f"{table.name} on {length} places", thin.apply, params, thin.input_shape)


@lru_cache(maxsize=2)
def see_shifts(net: Network) -> ShiftDefects | None:
    stride = stride_of(net)
    return measure_shifts(net, stride) if stride else None


@hypothesis(
    "inputs and outputs are grids",
    remedy="end the network before its dense part: `--until`",
    name="grids as inputs and outputs",
)
def on_grids(net: Network) -> Finding:
    shapes = f"from {net.input_shape} to {net.output_shape}"
    if axes_of(net) is None:
        return Finding.failed(f"{shapes}: no grid")
    affordable = evaluations_afforded(net) >= AFFORDED
    return (
        Finding.proved(shapes, "shapes")
        if affordable
        else Finding.failed(f"{shapes}: too costly to be shifted")
    )


@hypothesis(
    "the grid is a ring whose length the stride divides",
    remedy='padding_mode="circular", sides that fit',
    name="a periodic grid whose length the stride divides",
)
def ring(net: Network) -> Finding:
    seen = see_shifts(net) if axes_of(net) and evaluations_afforded(net) >= AFFORDED else None
    if seen is None:
        return Finding.failed(
            f"the sides of {net.output_shape} do not divide those of {net.input_shape} by one stride"
        )
    note = f"shifts by {seen.stride} change {seen.border_share:.0%} of the outputs, by at most {seen.worst_kept:.3g}"
    number = Enclosure.at_least(seen.worst_kept, samples=seen.rows)
    if seen.worst_kept > ZERO:
        return Finding.failed(note, number)
    return Finding.sampled(
        f"shifts by multiples of {seen.stride} change nothing, {seen.rows} inputs", number
    )


@theorem(
    title="Receptive fields and subsampling",
    gist="Windows and strides decide how much of the input one output can see and which shifts of the input a "
    "convolutional network respects: only multiples of its total stride, a common cause of unstable predictions.",
    see_also=("conv-iff-equivariant", "cnn-alexnet-activations", "group-equivariant-linear-maps"),
    sources=("peyre-slides", "gribonval-slides", "araujo2019", "zhang2019shift"),
    assumes=(on_grids, ring),
    on=windows_on_a_ring,
    breaks_on=lambda rng: windows_on_a_ring(rng, boundary="zeros"),
    presets={
        "textbook": {},
        "AlexNet": {"architecture": "AlexNet"},
        "VGG-16": {"architecture": "VGG-16"},
        "ResNet-34": {"architecture": "ResNet-34"},
        "at the edge": {"stride": 1, "layers": 6},
        "broken on purpose": {"boundary": "zeros"},
    },
)
def subsampling_receptive_field(net: Network, rng: np.random.Generator) -> Evidence:
    r"""After layers with windows $k_\ell$ and strides $s_\ell$ an output depends on at most
    $$1+\sum_\ell(k_\ell-1)\prod_{i<\ell}s_i$$
    places along an axis, and its neighbour on places $s=\prod_\ell s_\ell$ further. On a ring the map commutes with
    shifts by multiples of $s$, in general with no others. Max-pooling is 1-Lipschitz in the sup norm, and made of
    $\max(a,b)=a+r(b-a)$."""
    seen = see_shifts(net)
    if seen is None:
        return Evidence((), summary="no stride")
    field = find_field(net)
    table = field.table
    width = field.support.width
    return Evidence(
        claims=(*claim_field(field), *claim_shifts(seen)),
        charts=(*((draw_growth(table),) if table else ()), draw_profile(field), draw_defects(seen)),
        numbers={
            "receptive field": EXACT(field.width),
            "support of the gradient": EXACT(width)
            if table
            else Enclosure.at_least(width, samples=GRADIENTS),
            "jump": EXACT(seen.stride),
            "defect at shifts in sℤ": seen.worst_kept,
        },
        tables=(table.table(),) if table else (),
        summary=f"an output sees {field.width} places, its neighbour {seen.stride} further; "
        f"largest defect at shifts in {seen.stride}ℤ: {seen.worst_kept:.2g}",
        examples=_examples,
    )


def claim_field(field: Field) -> tuple[Claim, ...]:
    """Formula, table and gradient agree on what an output sees; without a table the gradient sees no more than the
    program connects."""
    seen = field.support
    if field.table is None:
        what = "width of the gradient's support, at most what the program connects"
        return (
            AtMost(what, Enclosure.at_least(seen.width, samples=GRADIENTS), EXACT(field.width)),
        )
    table = field.table
    width, jump = formula_field(longest_chain(table.layers[: table.last_grid]))
    return (
        Identity(
            "receptive field: 1 + Σ(k − 1)∏s, and traced back through the table",
            EXACT(width),
            EXACT(field.width),
        ),
        Identity("first place with a gradient, and by the table", EXACT(seen.lo), EXACT(field.lo)),
        Identity("last place with a gradient, and by the table", EXACT(seen.hi), EXACT(field.hi)),
        Identity("jump: ∏s, and traced back through the table", EXACT(jump), EXACT(table.jump())),
    )


def claim_shifts(seen: ShiftDefects) -> tuple[Claim, ...]:
    """Shifts by multiples of s are kept, and some other one is not."""
    kept = Enclosure.measured(seen.worst_kept, samples=seen.rows * int(seen.kept.sum()))
    what = f"largest defect at shifts in {seen.stride}ℤ"
    keeps = Identity(what, kept, EXACT(0), witness=_witness_shift(seen), atol=ZERO)
    if seen.stride == 1 or seen.worst_other is None:
        return (keeps,)
    shift, defect = seen.worst_other
    what = f"a shift outside {seen.stride}ℤ whose defect is above 1e-6"
    loses = Exists(what, {"shift": float(shift)}, Enclosure.equal(-defect), Enclosure.equal(-1e-6))
    return (keeps, loses)


def _witness_shift(seen: ShiftDefects) -> Witness | None:
    """The multiple of s with the largest defect, where it is not kept."""
    if seen.worst_kept <= ZERO:
        return None
    shift, defect = seen.enclose_worst_kept()
    how = "shift then map, map then shift, in intervals rounded outward"
    return Witness({"shift": float(shift)}, defect, EXACT(0), how)


def _examples() -> Examples:
    """Max-pooling of random signals: made of ReLUs, and 1-Lipschitz in the sup norm."""
    rng = np.random.default_rng(0)
    gap = relu_pooling_gap(rng.integers(-99, 100, (PAIRS, 12)))
    ratio = pooling_stretch(*rng.normal(size=(2, PAIRS, 12)))
    return Examples(
        claims=(
            Identity(
                f"max-pool minus a + r(b − a), on {PAIRS} integer signals", EXACT(gap), EXACT(0)
            ),
            AtMost(
                "|pool x − pool y|_∞ / |x − y|_∞",
                Enclosure.at_least(ratio, samples=PAIRS),
                EXACT(1),
            ),
        )
    )
