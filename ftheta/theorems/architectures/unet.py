"""Down, up, and skips between equal sizes: what a U-Net can keep, and what it can take away."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.training.unet_study import own_evidence, unet_evidence

MOST_IMAGES, MOST_SIDE = 1000, 64
FEWEST, WORK = 8, 2_000_000  # images to train on; parameters of a network that is trained


def discs(
    rng: np.random.Generator,
    *,
    side: Annotated[int, Knob(4, 32, "pixels on a side", "s", least=2, most=MOST_SIDE)] = 8,
    images: Annotated[int, Knob(40, 500, "number of images", "n", log=True, least=1, most=MOST_IMAGES)] = 160,
) -> Dataset:
    grid = np.arange(side) + 0.5
    centre, radius = rng.uniform(0.25, 0.75, (2, images, 1, 1)) * side, rng.uniform(0.15, 0.35, (images, 1, 1)) * side
    far = np.hypot(grid[:, None] - centre[0], grid - centre[1])
    return Dataset(f"discs on {side} × {side} pixels", 1 / (1 + np.exp(4 * (far - radius))))


def odd(rng: np.random.Generator) -> Dataset:
    return discs(rng, side=7, images=40)


def squares(data: Dataset) -> np.ndarray | None:
    """The images as (n, 1, side, side); flat rows of a square number of pixels are unfolded."""
    x = data.x[:MOST_IMAGES].astype(float)
    side = round(float(np.prod(x.shape[1:])) ** 0.5)
    return x.reshape(len(x), 1, side, side) if side * side == x[0].size and side <= MOST_SIDE else None


def images_of(net: Network, rng: np.random.Generator) -> np.ndarray:
    """Those that the network was given, or discs in every channel of its inputs."""
    if net.data is not None and len(net.data) >= FEWEST:
        return net.data.x[:MOST_IMAGES].astype(float).reshape(-1, *net.input_shape)
    drawn = discs(rng, side=net.input_shape[-1], images=40).x
    return np.repeat(drawn[:, None], net.input_shape[0], 1)


@hypothesis(
    r"images are square with a side that $2^n$ divides, $n$ poolings by 2; a network gives back images of their shape",
    remedy="pad or crop the images to a multiple of 2ⁿ, or take fewer poolings",
)
def side_can_be_halved(subject: Network | Dataset, *, depth: int) -> Finding:
    if isinstance(subject, Network):
        shape, note = subject.input_shape, f"from {subject.input_shape} to {subject.output_shape}"
        fits = len(shape) == 3 and shape[1] == shape[2] and subject.output_shape == shape
        note += f", {subject.parameters:,} parameters"
        return Finding.decide(fits and 0 < subject.parameters <= WORK, note, "shapes compared")
    x = squares(subject)
    if x is None:
        shape = subject.x.shape[1:]
        return Finding.failed(f"rows of shape {shape} are no square images of at most {MOST_SIDE} pixels a side")
    rest = x.shape[-1] % 2**depth
    note = f"side {x.shape[-1]}, remainder {rest} modulo {2**depth}"
    return Finding.decide(rest == 0, note, "counted", Enclosure.exact(rest), basis=Basis.EXACT)


@theorem(
    title="U-Net",
    sources=("seed 2", "seed 4", "ronneberger2015"),
    assumes=(side_can_be_halved,),
    on=discs,
    breaks_on=odd,
    presets={
        "textbook": {},
        "two poolings": {"depth": 2, "side": 12},
        "more noise": {"noise": 0.6},
        "little noise": {"noise": 0.1},
        "broken on purpose": {"side": 13},
    },
    audited=False,
)
def unet(
    subject: Network | Dataset,
    rng: np.random.Generator,
    *,
    depth: Annotated[int, Knob(1, 4, "poolings by 2", "n")] = 1,
    channels: Annotated[int, Knob(2, 16, "channels at the top", "c", log=True, most=32)] = 4,
    noise: Annotated[float, Knob(0.05, 1, "deviation of the noise", "σ", log=True, least=1e-3, most=10)] = 0.3,
    steps: Annotated[int, Knob(20, 2000, "training steps", "T", log=True, least=1, most=5000)] = 120,
) -> Evidence:
    r"""A U-Net pools $n$ times by 2 and goes up again, with concatenating skips between equal sizes. With two unpadded
    $3\times3$ convolutions a level it takes sides $s\equiv-4\pmod{2^n}$ and makes of them $$s\mapsto s-(12\cdot2^n-8),
    \qquad572\mapsto388\ (n=4).$$ With padding it keeps the size if $2^n$ divides $s$, and the skip at the top makes the
    identity representable: $x=r(x)-r(-x)$ passes over it. Trained on noisy images it takes noise away."""
    if isinstance(subject, Network):
        return own_evidence(subject, images_of(subject, rng), noise, steps, rng)
    images = squares(subject)
    if images is None:
        return Evidence((), summary="no square images")
    return unet_evidence(images, depth, channels, noise, steps, rng)
