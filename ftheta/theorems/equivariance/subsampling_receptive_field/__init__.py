"""What an output sees of the input, and which shifts a subsampling network keeps."""

from functools import lru_cache
from typing import Annotated

import jax
import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Examples, Finding, Identity, Knob, UsageError, hypothesis, theorem
from ftheta.networks.architectures import FAMOUS, Conv, Pool, ReLU, Stack
from ftheta.subjects import Network

from . import strides

CHAINS = ("AlexNet", "VGG-16", "ResNet-34")
LONGEST = 1 << 14
PAIRS = 256  # of signals on which max-pooling is tried


def windows_on_a_ring(
    rng: np.random.Generator,
    *,
    architecture: Annotated[str, Knob(says="whose windows", choices=("strided", *CHAINS))] = "strided",
    layers: Annotated[int, Knob(1, 6, "layers of the strided network", "L")] = 3,
    kernel: Annotated[int, Knob(1, 11, "width of its windows", "k")] = 3,
    stride: Annotated[int, Knob(1, 4, "its strides", "s")] = 2,
    pools: Annotated[bool, Knob(says="whether it has max-pools as well")] = False,
    boundary: Annotated[str, Knob(says="beyond the border", choices=("ring", "zeros"))] = "ring",
) -> Network:
    if architecture == "strided":
        one = (Conv(kernel=kernel, stride=stride, padding=kernel // 2), ReLU(), *(Pool(kernel=2, stride=2),) * pools)
        table = Stack(f"{layers} layers of {kernel} taps, stride {stride}", one * layers, (1, 1 << 20), True)
    else:
        table = FAMOUS[architecture]()
    field, jump = strides.formula_field(strides.longest_chain(table.layers[: table.last_grid]))
    length = jump * max(8, -(-field // jump) + 1)
    if length > LONGEST:
        raise UsageError("The ring would be too long.", got=f"{length:,} places", remedy="take fewer layers or strides")
    thin = table.thin(length, circular=boundary == "ring")
    params = jax.tree.map(lambda w: w * rng.uniform(0.5, 1.5, w.shape), thin.averaging())
    return Network(f"{table.name} on {length} places", thin.apply, params, thin.input_shape)


@lru_cache(maxsize=2)
def comb_of(net: Network) -> strides.Combs | None:
    stride = strides.stride_of(net)
    return strides.comb(net, stride) if stride else None


@hypothesis(
    "inputs and outputs are grids",
    remedy="end the network before its dense part: `--until`",
    name="grids as inputs and outputs",
)
def on_grids(net: Network) -> Finding:
    shapes = f"from {net.input_shape} to {net.output_shape}"
    if strides.axes_of(net) is None:
        return Finding.failed(f"{shapes}: no grid")
    affordable = strides.evaluations_afforded(net) >= 16
    return Finding.proved(shapes, "shapes") if affordable else Finding.failed(f"{shapes}: too costly to be shifted")


@hypothesis(
    "the grid is a ring whose length the stride divides",
    remedy='padding_mode="circular", sides that fit',
    name="a periodic grid whose length the stride divides",
)
def ring(net: Network) -> Finding:
    seen = comb_of(net) if strides.axes_of(net) and strides.evaluations_afforded(net) >= 16 else None
    if seen is None:
        return Finding.failed(f"the sides of {net.output_shape} do not divide those of {net.input_shape} by one stride")
    note = f"shifts by {seen.stride} change {seen.border_share:.0%} of the outputs, by at most {seen.worst_kept:.3g}"
    number = Enclosure.at_least(seen.worst_kept, samples=seen.rows)
    if seen.worst_kept > strides.ZERO:
        return Finding.failed(note, number)
    return Finding.sampled(f"shifts by multiples of {seen.stride} change nothing, {seen.rows} inputs", number)


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
    seen = comb_of(net)
    field = strides.field(net)
    if seen is None:
        return Evidence((), summary="no stride")
    numbers = {"jump": Enclosure.exact(seen.stride), "defect at shifts in sℤ": seen.worst_kept}
    return Evidence(
        (*field.claims(), *seen.claims()),
        (*field.charts(), seen.chart()),
        field.numbers() | numbers,
        (field.stack.table(),) if field.stack else (),
        summary=f"an output sees {field.width} places, its neighbour {seen.stride} further; "
        f"largest defect at shifts in {seen.stride}ℤ: {seen.worst_kept:.2g}",
        examples=_examples,
    )


def _examples() -> Examples:
    """Max-pooling of random signals: made of ReLUs, and 1-Lipschitz in the sup norm."""
    rng = np.random.default_rng(0)
    gap = strides.relu_pooling_gap(rng.integers(-99, 100, (PAIRS, 12)))
    ratio = strides.pooling_stretch(*rng.normal(size=(2, PAIRS, 12)))
    exact = Enclosure.exact
    return Examples(
        claims=(
            Identity(f"max-pool minus a + r(b − a), on {PAIRS} integer signals", exact(gap), exact(0)),
            AtMost("|pool x − pool y|_∞ / |x − y|_∞", Enclosure.at_least(ratio, samples=PAIRS), exact(1)),
        )
    )
