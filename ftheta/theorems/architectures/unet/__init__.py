"""Down, up, and skips between equal sizes: what a U-Net can keep, and what it can take away."""

from functools import partial
from itertools import pairwise
from typing import Annotated

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    Axis,
    Basis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    Table,
    Vertex,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures.famous import unet as published_unet
from ftheta.networks.architectures.stack import Stack
from ftheta.subjects import Dataset, Network

from .denoising import Denoised, apply_to_images, first_held_out, skips_of, train_denoiser
from .padded_unet import formula_side, identity_weights, padded_unet, unpadded_side, valid_rest

MOST_IMAGES = 1000
MOST_SIDE = 64
# images to train on; parameters of a network that is trained
FEWEST = 8
WORK = 2_000_000
ZERO = Enclosure.exact(0)
SIDES = "side of the output − side of the input"


def images_of_discs(
    rng: np.random.Generator,
    *,
    side: Annotated[int, Knob(4, 32, "pixels on a side", "s", least=2, most=MOST_SIDE)] = 8,
    images: Annotated[
        int, Knob(40, 500, "number of images", "n", log=True, least=1, most=MOST_IMAGES)
    ] = 160,
) -> Dataset:
    grid = np.arange(side) + 0.5
    centre = rng.uniform(0.25, 0.75, (2, images, 1, 1)) * side
    radius = rng.uniform(0.15, 0.35, (images, 1, 1)) * side
    far = np.hypot(grid[:, None] - centre[0], grid - centre[1])
    return Dataset(f"discs on {side} × {side} pixels", 1 / (1 + np.exp(4 * (far - radius))))


def odd_images(rng: np.random.Generator) -> Dataset:
    return images_of_discs(rng, side=7, images=40)


def _square_images(data: Dataset) -> np.ndarray | None:
    """The images as (n, 1, side, side); flat rows of a square number of pixels are unfolded."""
    x = data.x[:MOST_IMAGES].astype(float)
    side = round(float(np.prod(x.shape[1:])) ** 0.5)
    return (
        x.reshape(len(x), 1, side, side) if side * side == x[0].size and side <= MOST_SIDE else None
    )


def _images_of(net: Network, rng: np.random.Generator) -> np.ndarray:
    """Those that the network was given, or discs in every channel of its inputs."""
    if net.data is not None and len(net.data) >= FEWEST:
        return net.data.x[:MOST_IMAGES].astype(float).reshape(-1, *net.input_shape)
    drawn = images_of_discs(rng, side=net.input_shape[-1], images=40).x
    return np.repeat(drawn[:, None], net.input_shape[0], 1)


@hypothesis(
    r"images are square with a side that $2^n$ divides, $n$ poolings by 2; a network gives back images of their shape",
    remedy="pad or crop the images to a multiple of 2ⁿ, or take fewer poolings",
)
def side_can_be_halved(subject: Network | Dataset, *, depth: int) -> Finding:
    if isinstance(subject, Network):
        shape = subject.input_shape
        note = f"from {subject.input_shape} to {subject.output_shape}"
        fits = len(shape) == 3 and shape[1] == shape[2] and subject.output_shape == shape
        note += f", {subject.parameters:,} parameters"
        return Finding.decide(fits and 0 < subject.parameters <= WORK, note, "shapes compared")
    x = _square_images(subject)
    if x is None:
        shape = subject.x.shape[1:]
        return Finding.failed(
            f"rows of shape {shape} are no square images of at most {MOST_SIDE} pixels per side"
        )
    rest = x.shape[-1] % 2**depth
    note = f"side {x.shape[-1]}, remainder {rest} modulo {2**depth}"
    return Finding.decide(rest == 0, note, "counted", Enclosure.exact(rest), basis=Basis.EXACT)


@theorem(
    title="U-Net",
    gist="Skips between equal sizes let a network that shrinks and enlarges images keep their fine detail, and trained "
    "on noisy images it removes noise; the basis of segmentation and of diffusion models.",
    see_also=("diffusion-score", "resnet-block-34", "cnn-alexnet-activations"),
    sources=("murari-slides", "peyre-notes", "ronneberger2015"),
    assumes=(side_can_be_halved,),
    on=images_of_discs,
    breaks_on=odd_images,
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
    noise: Annotated[
        float, Knob(0.05, 1, "deviation of the noise", "σ", log=True, least=1e-3, most=10)
    ] = 0.3,
    steps: Annotated[
        int, Knob(20, 2000, "training steps", "T", log=True, least=1, most=5000)
    ] = 120,
) -> Evidence:
    r"""A U-Net pools $n$ times by 2 and goes up again, with concatenating skips between equal sizes. With two unpadded
    $3\times3$ convolutions per level it takes sides $s\equiv-4\pmod{2^n}$ and makes of them
    $$s\mapsto s-(12\cdot2^n-8),\qquad572\mapsto388\ (n=4).$$ With padding it keeps the size if $2^n$ divides $s$, and
    the skip at the top makes the identity representable: $x=r(x)-r(-x)$ passes over it. Trained on noisy images it
    takes noise away."""
    if isinstance(subject, Network):
        return _train_own_network(subject, _images_of(subject, rng), noise, steps, rng)
    images = _square_images(subject)
    if images is None:
        return Evidence((), summary="no square images")
    return _train_small_unet(images, depth, channels, noise, steps, rng)


def _draw_sides(side: int, depth: int) -> Curves:
    """The sides that pooling and going up make of one."""
    down = [side >> level for level in range(depth + 1)]
    up = [down[-1] << level for level in range(1, depth + 1)]
    sides = Series("side", range(2 * depth + 1), [*down, *up], "measured")
    wanted = Series("side of the input", (0, 2 * depth), (side, side), "reference")
    return Curves("sides on the way down and up", Axis("level"), Axis("side"), (sides, wanted))


def _train_small_unet(
    images: np.ndarray,
    depth: int,
    channels: int,
    noise: float,
    steps: int,
    rng: np.random.Generator,
) -> Evidence:
    """`images` have shape (n, 1, side, side)."""
    examples = partial(_examples, depth)
    side = images.shape[-1]
    if (
        side % 2**depth
    ):  # every pooling drops a last row and column of an odd side, and going up does not bring it back
        left = Identity(SIDES, Enclosure.exact((side >> depth << depth) - side), ZERO)
        summary = f"a side of {side} cannot be halved {depth} times"
        return Evidence((left,), (_draw_sides(side, depth),), summary=summary, examples=examples)
    stack = padded_unet(side, depth, channels)
    kept = _identity_claims(stack, images)
    numbers: dict[str, Enclosure | float] = {
        "parameters": Enclosure.exact(stack.parameters),
        "numbers at the bottom": Enclosure.exact((channels << depth) * (side >> depth) ** 2),
    }
    figure = _draw_the_u(stack, depth, channels)
    if len(images) < 8:
        return Evidence(
            kept,
            (figure,),
            numbers,
            (stack.table(),),
            summary="sizes alone: nothing was trained",
            examples=examples,
        )
    found = train_denoiser(stack.apply, stack.initial(rng), images, noise, steps, rng)
    before, after = (float(e.mean()) for e in found.errors)
    numbers |= {"error of the noisy images": before, "error of the denoised images": after}
    table = Table(
        "error on held-out images",
        ("images", "mean square error"),
        (("noisy", before), ("denoised", after)),
    )
    return Evidence(
        (*kept, _denoising_claim(found)),
        (figure, _draw_images(found), _draw_losses(found.losses, noise)),
        numbers,
        (table, stack.table()),
        summary=f"{stack.parameters:,} parameters; noise of mean square {before:.4g} is brought down to {after:.4g}",
        examples=examples,
    )


def _train_own_network(
    net: Network, images: np.ndarray, noise: float, steps: int, rng: np.random.Generator
) -> Evidence:
    """Of a network from images to images of their shape: its skips, and the noise it takes away, as it is and trained
    on from there."""
    joins = skips_of(net.apply, net.params, net.input_shape)
    after = jax.eval_shape(
        net.apply, net.params, jax.ShapeDtypeStruct(net.input_shape, np.float64)
    ).shape
    kept = Identity(SIDES, Enclosure.exact(after[-1] - net.input_shape[-1]), ZERO)
    found = train_denoiser(net.apply, net.params, images, noise, steps, rng)
    as_it_is = float(
        ((apply_to_images(net.apply, net.params, found.noisy) - found.clean) ** 2).mean()
    )
    before, trained = (float(e.mean()) for e in found.errors)
    rows = (("noisy", before), ("the network as it is", as_it_is), ("trained on", trained))
    sizes = tuple(
        (node.name, " + ".join("×".join(map(str, s.shape)) for s in node.inputs)) for node in joins
    )
    return Evidence(
        (kept, _denoising_claim(found)),
        (_draw_images(found), _draw_losses(found.losses, noise)),
        {"parameters": Enclosure.exact(net.parameters), "skips": Enclosure.exact(len(joins))}
        | {
            "error of the noisy images": before,
            "error as it is": as_it_is,
            "error of the denoised images": trained,
        },
        (
            Table("error on held-out images", ("images", "mean square error"), rows),
            Table("skips", ("", "joins"), sizes),
        ),
        summary=f"{len(joins)} skips; noise of mean square {before:.4g} becomes {as_it_is:.4g}, after training on "
        f"{first_held_out(images)} images {trained:.4g}",
    )


def _examples(depth: int) -> Examples:
    """The published U-Net, its table of layers, the level-by-level rule and the formula agree."""
    published = published_unet()
    out = published.shapes[-1][-1]
    sides = [s for s in range(13 * 2**depth, 60 * 2**depth) if s % 2**depth == valid_rest(depth)]
    off = max(abs(unpadded_side(s, depth) - formula_side(s, depth)) for s in sides)
    claims = (
        Identity(
            "572 through the layers of the published U-Net",
            Enclosure.exact(out),
            Enclosure.exact(388),
        ),
        Identity(
            "572 by the rule, level by level",
            Enclosure.exact(unpadded_side(572, 4)),
            Enclosure.exact(388),
        ),
        Identity(
            f"rule − (s − 12·2ⁿ + 8), {len(sides)} sides, n = {depth}", Enclosure.exact(off), ZERO
        ),
    )
    numbers = {
        "side 572 becomes": Enclosure.exact(out),
        "parameters of the published U-Net": Enclosure.exact(published.parameters),
    }
    return Examples(claims, numbers=numbers)


def _identity_claims(stack: Stack, images: np.ndarray) -> tuple[Claim, ...]:
    """The size is kept, and with the right weights so is every pixel."""
    side = stack.input_shape[-1]
    after = stack.shapes[-1][-1]
    kept = Identity(SIDES, Enclosure.exact(after - side), ZERO)
    held = images[first_held_out(images) :]
    seen = apply_to_images(stack.apply, identity_weights(stack), held)
    gap = Enclosure.measured(float(np.abs(seen - held).max()), samples=len(seen))
    return kept, Identity("U-Net with identity weights − image, largest pixel", gap, ZERO)


def _denoising_claim(found: Denoised) -> Exists:
    """On images that were not trained on, the error is smaller than that of the noisy ones."""
    before, after = found.errors
    witness = {"error of the noisy images": float(before.mean()), "denoised": float(after.mean())}
    what = "weights that take noise away: mean error after − before, held-out images"
    return Exists(what, witness, mean(after - before), ZERO)


def _draw_images(found: Denoised) -> Heatmap:
    """Some images: clean, noisy and denoised, one above the other."""
    shown = min(6, len(found.clean))
    rows = [
        np.hstack([np.pad(x[0], 1, constant_values=-0.5) for x in part[:shown]])
        for part in (found.clean, found.noisy, found.found)
    ]
    picture = np.vstack(rows)
    extent = (0.0, float(picture.shape[1]), 0.0, float(picture.shape[0]))
    title = "clean (top), noisy, denoised (bottom)"
    return Heatmap(
        title, Axis("pixel"), Axis("pixel"), np.clip(picture[::-1], -0.5, 1.5), extent, "value"
    )


def _draw_the_u(stack: Stack, depth: int, channels: int) -> Dag:
    """The figure that gives it its name: down on the left, up on the right, skips across."""
    side = stack.input_shape[-1]
    note = lambda level: f"{channels << level} × {side >> level}²"
    down = [
        Vertex(f"d{k}", f"level {k}" if k < depth else "bottom", note(k)) for k in range(depth + 1)
    ]
    up = [Vertex(f"u{k}", f"level {k}", note(k)) for k in reversed(range(depth))]
    chain = [v.id for v in (*down, *up)]
    edges = [*pairwise(chain), *((f"d{k}", f"u{k}") for k in range(depth))]
    ends = Vertex("x", "image", f"1 × {side}²"), Vertex("y", "output", f"1 × {side}²")
    return Dag(
        "the U: down, up, and skips between equal sizes",
        (ends[0], *down, *up, ends[1]),
        (("x", "d0"), *edges, ("u0", "y")),
    )


def _draw_losses(losses: np.ndarray, noise: float) -> Curves:
    k = np.arange(1, len(losses) + 1)
    width = 20
    smooth = np.convolve(losses, np.ones(width) / width, "valid") if len(losses) > width else losses
    level = Series(
        "error of the noisy image, σ²", (1, len(losses)), (noise**2, noise**2), "reference"
    )
    series = (Series("training, mean of 20 steps", k[-len(smooth) :], smooth), level)
    return Curves(
        "training of the denoiser", Axis("step"), Axis("mean square error", "log"), series
    )
