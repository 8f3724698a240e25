"""The layer table of AlexNet and its kin, and the activations of a convolutional network, layer by layer."""

from typing import Annotated

import jax
import numpy as np

from ftheta.groups.defects import evaluations_afforded
from ftheta.logic import (
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import FAMOUS, table_of
from ftheta.networks.architectures import mosaics as maps
from ftheta.networks.architectures.famous import small_cnn
from ftheta.subjects import Dataset, Network
from ftheta.theorems.charts_architectures import count_claims, draw_mosaic, draw_parameters


def small_network(
    rng: np.random.Generator,
    *,
    image: Annotated[
        str, Knob(says="the synthetic image", symbol="x", choices=maps.PICTURES)
    ] = "disc",
    side: Annotated[int, Knob(16, 64, "its side, a multiple of 4", "M", least=8, most=128)] = 32,
    first: Annotated[int, Knob(4, 16, "channels of the first layer", "S", least=1, most=32)] = 8,
) -> Network:
    stack = small_cnn((first, 2 * first), side)
    params = stack.initial(rng)
    params[0]["weight"] = maps.oriented_filters(first, 3)
    net = Network(stack.name, stack.apply, params, stack.input_shape)
    return net.with_data(Dataset(f"a {image}", maps.picture(image, side)[None, None]))


def image_of(net: Network) -> np.ndarray:
    """The first of the network's own images, or a synthetic one in its shape."""
    if net.data is not None:
        return np.asarray(net.data.x[0], np.float64)
    shape = net.input_shape
    first = shape[0] <= min(shape[1:])
    grey = maps.picture("disc", max(shape))[: shape[1 if first else 0], : shape[2 if first else 1]]
    return np.broadcast_to(grey[None] if first else grey[..., None], shape).copy()


@hypothesis(
    "the inputs are images",
    remedy="give a network on arrays of shape (channels, height, width)",
    name="image inputs",
)
def takes_images(net: Network) -> Finding:
    if len(net.input_shape) != 3 or min(net.input_shape) < 1 or sorted(net.input_shape)[1] < 4:
        return Finding.failed(f"inputs of shape {net.input_shape}")
    if evaluations_afforded(net, 2e10) < 1:
        return Finding.failed("one evaluation takes more than 2·10¹⁰ multiplications")
    return Finding.proved(f"inputs of shape {net.input_shape}", "a shape")


@theorem(
    title="Convolutional networks: AlexNet's table and activations",
    gist="The size of every feature map and the number of parameters of a convolutional network follow from its table "
    "of layers alone; drawing the activations shows what the layers respond to.",
    see_also=("subsampling-receptive-field", "conv-iff-equivariant", "resnet-block-34", "unet"),
    sources=(
        "peyre-slides",
        "scaman-slides",
        "krizhevsky2012",
        "simonyan2015",
        "he2016",
        "ronneberger2015",
        "radford2018",
    ),
    assumes=(takes_images,),
    on=small_network,
    unbreakable="Shapes and counts are arithmetic on a table: a network that takes no images has none to be wrong.",
    presets={
        "textbook": {},
        "AlexNet, ungrouped": {"table": "AlexNet, ungrouped"},
        "VGG-16, stripes": {"table": "VGG-16", "image": "stripes"},
        "ResNet-34": {"table": "ResNet-34", "image": "squares"},
        "U-Net": {"table": "U-Net"},
        "GPT-1": {"table": "GPT-1"},
        "at the edge": {"side": 8, "first": 1},
    },
)
def cnn_alexnet_activations(
    net: Network,
    rng: np.random.Generator,
    *,
    table: Annotated[
        str, Knob(says="which architecture to count", choices=tuple(FAMOUS))
    ] = "AlexNet",
) -> Evidence:
    r"""A convolution with $k\times k$ windows from $S$ to $T$ channels in $g$ groups, with stride $s$ and padding $p$,
    maps $M\times M$ pixels to $M'\times M'$, $$M'=\Big\lfloor\frac{M+2p-k}s\Big\rfloor+1,$$ and has $T(k^2S/g+1)$
    parameters; a dense layer from $d$ to $d'$ has $d'(d+1)$. AlexNet, with three max-pools, makes
    $227^2\to55^2\to27^2\to13^2\to13^2\to13^2\to6^2$ and has 60 965 224 parameters."""
    famous = FAMOUS[table]()
    own = table_of(net)
    x = image_of(net)
    claims: list[Claim] = [*(count_claims(own) if own else ())]
    seen, output = (
        maps.maps_of_table(own, net.params, x)
        if own
        else maps.maps_of_program(net.apply, net.params, x)
    )
    gap = maps.apart(output, np.asarray(jax.jit(net)(x)))
    size = float(np.abs(np.nan_to_num(output)).max(initial=0)) or 1.0
    claims.append(
        Identity(
            "output of the layers in order, minus f(x)",
            Enclosure.equal(gap),
            Enclosure.exact(0),
            atol=1e-9 * size,
        )
    )
    charts = [draw_mosaic(f"layer {k}, {name}", a) for k, name, a in maps.chosen(seen)]
    sides = [
        row.shape[1] for row in famous.rows() if row.name.startswith("conv") and len(row.shape) == 3
    ]
    numbers = {
        f"parameters of {table}": famous.parameters,
        "own parameters": net.parameters,
        "layers": famous.depth,
    }
    numbers |= {f"side after convolution {k}": side for k, side in enumerate(sides, 1)}
    pooled = [row for row in famous.rows() if len(row.shape) == 3]
    numbers |= {"last side": pooled[-1].shape[1]} if pooled else {}
    return Evidence(
        tuple(claims),
        tuple(charts),
        {name: Enclosure.exact(value) for name, value in numbers.items()},
        (own.table(),) if own else (),
        summary=f"{net.name}: {net.parameters:,} parameters, {len(seen)} layers with maps; {table}: "
        f"{famous.parameters:,} parameters, {famous.depth} weighted layers",
        examples=lambda: Examples(
            tuple(count_claims(famous)), (draw_parameters(famous),), (famous.table(),)
        ),
    )
