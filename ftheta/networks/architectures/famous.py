"""The layer tables of well-known architectures, as published.

AlexNet: Krizhevsky, Sutskever and Hinton (2012), on 227 × 227 crops, as its shapes need; VGG-16: Simonyan and Zisserman
(2015); ResNet-34: He, Zhang, Ren and Sun (2016); U-Net: Ronneberger, Fischer and Brox (2015); GPT-1: Radford and others
(2018), with the output matrix tied to the embedding.
"""

from collections.abc import Callable
from itertools import chain

from ftheta.networks.layers.branches import Residual, Skip
from ftheta.networks.layers.grids import Conv, Flatten, GlobalMean, Norm, Pool, ReLU, UpConv
from ftheta.networks.layers.layer import Dense, Layer
from ftheta.networks.layers.tokens import GELU, Attention, Embedding, LayerNorm

from .stack import Stack

Layers = tuple[Layer, ...]


def alexnet(grouped: bool = True) -> Stack:
    """Grouped as on its two GPUs, or with every channel seeing all."""
    g = 2 if grouped else 1
    features = (
        Conv(kernel=11, stride=4, channels=96),
        ReLU(),
        Pool(kernel=3, stride=2),
        Conv(kernel=5, padding=2, channels=256, groups=g),
        ReLU(),
        Pool(kernel=3, stride=2),
        *_conv_relu(3, 384),
        *_conv_relu(3, 384, g),
        *_conv_relu(3, 256, g),
        Pool(kernel=3, stride=2),
    )
    return Stack(
        "AlexNet" + ("" if grouped else ", ungrouped"),
        (*features, *_classifier(4096, 4096)),
        (3, 227, 227),
    )


def vgg16() -> Stack:
    """Five stages of padded 3 × 3 convolutions, each followed by a max pool, and three dense layers."""
    stages = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
    features = chain(*((*_conv_relu(3, c) * n, Pool(kernel=2, stride=2)) for c, n in stages))
    return Stack("VGG-16", (*features, *_classifier(4096, 4096)), (3, 224, 224))


def resnet34(classes: int = 1000) -> Stack:
    """Stages of 3, 4, 6 and 3 blocks of two 3 × 3 convolutions: 1 + 32 + 1 weighted layers."""
    layers: list[Layer] = [*_conv_norm(7, 64, 2, 3), ReLU(), Pool(kernel=3, stride=2, padding=1)]
    for stage, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            layers += [basic_block(channels, stride), ReLU()]
    return Stack("ResNet-34", (*layers, GlobalMean(), Dense(classes)), (3, 224, 224))


def basic_block(channels: int, stride: int = 1) -> Residual:
    """Two 3 × 3 convolutions with batch normalisation; with a stride, x is projected by a 1 × 1 one."""
    main = (*_conv_norm(3, channels, stride, 1), ReLU(), *_conv_norm(3, channels, 1, 1))
    return Residual(main, _conv_norm(1, channels, stride, 0) if stride > 1 else ())


def unet(classes: int = 2) -> Stack:
    """Unpadded 3 × 3 convolutions, four levels down and up: 572 × 572 pixels become 388 × 388."""
    inner: Layers = _double(1024)
    for channels in (512, 256, 128, 64):
        level = Skip((Pool(kernel=2, stride=2), *inner, UpConv(channels)))
        inner = (*_double(channels), level, *_double(channels))
    return Stack("U-Net", (*inner, Conv(kernel=1, channels=classes)), (1, 572, 572))


def gpt1() -> Stack:
    """Twelve blocks of width 768 with twelve heads, 512 places, 40,478 words; normalised after each sum."""
    block = (
        Residual((Attention(12),)),
        LayerNorm(),
        Residual((Dense(3072), GELU(), Dense(768))),
        LayerNorm(),
    )
    return Stack("GPT-1", (Embedding(40_478, 768, 512), *block * 12), (512,))


def small_cnn(
    channels: tuple[int, ...] = (8, 16), side: int = 32, inputs: int = 1, classes: int = 10
) -> Stack:
    """Convolution, ReLU and pooling, again and again, then a dense layer."""
    features = chain(*((*_conv_relu(3, c), Pool(kernel=2, stride=2)) for c in channels))
    return Stack(
        f"CNN {'-'.join(map(str, channels))}",
        (*features, Flatten(), Dense(classes)),
        (inputs, side, side),
    )


def _conv_relu(kernel: int, channels: int, groups: int = 1) -> Layers:
    return (Conv(kernel=kernel, padding=kernel // 2, channels=channels, groups=groups), ReLU())


def _conv_norm(kernel: int, channels: int, stride: int, padding: int) -> Layers:
    return (
        Conv(kernel=kernel, stride=stride, padding=padding, channels=channels, bias=False),
        Norm(),
    )


def _double(channels: int) -> Layers:
    return (Conv(kernel=3, channels=channels), ReLU()) * 2


def _classifier(*widths: int, classes: int = 1000) -> Layers:
    hidden = chain(*((Dense(width), ReLU()) for width in widths))
    return (Flatten(), *hidden, Dense(classes))


FAMOUS: dict[str, Callable[[], Stack]] = {
    "AlexNet": alexnet,
    "AlexNet, ungrouped": lambda: alexnet(grouped=False),
    "VGG-16": vgg16,
    "ResNet-34": resnet34,
    "U-Net": unet,
    "GPT-1": gpt1,
}
