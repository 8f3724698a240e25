"""A small U-Net: sizes, weights that make it the identity, and a denoiser judged on images it has not seen."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.graph import Node, trace
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Axis, Claim, Curves, Dag, Enclosure, Evidence, Exists, Heatmap, Identity, Series, Table, Vertex
from ftheta.networks.architectures.famous import unet
from ftheta.networks.architectures.padded_unet import (
    formula_side,
    identity_weights,
    padded_unet,
    unpadded_side,
    valid_rest,
)
from ftheta.networks.architectures.stack import Stack

from .fitting import fit

Apply: TypeAlias = Callable[[Any, Any], Any]
ZERO = Enclosure.exact(0)
RATE, BATCH = 3e-3, 32
SIDES = "side of the output − side of the input"


def size_claims(depth: int) -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    """The published U-Net, its table of layers, the level-by-level rule and the formula agree."""
    published = unet()
    out = published.shapes[-1][-1]
    sides = [s for s in range(13 * 2**depth, 60 * 2**depth) if s % 2**depth == valid_rest(depth)]
    off = max(abs(unpadded_side(s, depth) - formula_side(s, depth)) for s in sides)
    claims = (
        Identity("572 through the layers of the published U-Net", Enclosure.exact(out), Enclosure.exact(388)),
        Identity("572 by the rule, level by level", Enclosure.exact(unpadded_side(572, 4)), Enclosure.exact(388)),
        Identity(f"rule − (s − 12·2ⁿ + 8), {len(sides)} sides, n = {depth}", Enclosure.exact(off), ZERO),
    )
    numbers: dict[str, Enclosure | float] = {"side 572 becomes": Enclosure.exact(out)}
    return claims, numbers | {"parameters of the published U-Net": Enclosure.exact(published.parameters)}


def identity_claims(stack: Stack, images: np.ndarray) -> tuple[Claim, ...]:
    """The size is kept, and with the right weights so is every pixel."""
    side, after = stack.input_shape[-1], stack.shapes[-1][-1]
    kept = Identity(SIDES, Enclosure.exact(after - side), ZERO)
    held = images[held_out(images) :]
    seen = applied(stack.apply, identity_weights(stack), held)
    gap = Enclosure.measured(float(np.abs(seen - held).max()), samples=len(seen))
    return kept, Identity("U-Net with identity weights − image, largest pixel", gap, ZERO)


def held_out(images: np.ndarray) -> int:
    """The first image that is not learnt from: a quarter of them."""
    return 3 * len(images) // 4


def applied(apply: Apply, params: Any, images: np.ndarray) -> np.ndarray:
    run = lambda params, x: jax.vmap(lambda row: apply(params, row))(x)
    return np.asarray(call_compiled(run, params, images))


@dataclass(frozen=True, eq=False)
class Denoised:
    """Held-out images: clean, noisy, and what the trained U-Net makes of them; the training losses."""

    clean: np.ndarray
    noisy: np.ndarray
    found: np.ndarray
    losses: np.ndarray

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean square errors, image by image, of the noisy ones and of the denoised ones."""
        axes = (1, 2, 3)
        return ((self.noisy - self.clean) ** 2).mean(axes), ((self.found - self.clean) ** 2).mean(axes)

    def claim(self) -> Exists:
        before, after = self.errors
        found = {"error of the noisy images": float(before.mean()), "denoised": float(after.mean())}
        what = "weights that take noise away: mean error after − before, held-out images"
        return Exists(what, found, mean(after - before), ZERO)

    def chart(self) -> Heatmap:
        """Some images: clean, noisy and denoised, one above the other."""
        shown = min(6, len(self.clean))
        rows = [np.hstack([np.pad(x[0], 1, constant_values=-0.5) for x in part[:shown]]) for part in self._rows]
        picture = np.vstack(rows)
        extent = (0.0, float(picture.shape[1]), 0.0, float(picture.shape[0]))
        title = "clean (top), noisy, denoised (bottom)"
        return Heatmap(title, Axis("pixel"), Axis("pixel"), np.clip(picture[::-1], -0.5, 1.5), extent, "value")

    @property
    def _rows(self) -> tuple[np.ndarray, ...]:
        return self.clean, self.noisy, self.found


def train_denoiser(
    apply: Apply, start: Any, images: np.ndarray, noise: float, steps: int, rng: np.random.Generator
) -> Denoised:
    """Learn from these weights on the first three quarters of the images, noise on each, and denoise the others."""
    noisy = images + noise * rng.normal(size=images.shape)
    cut = held_out(images)
    run = fit(
        (start, apply),
        (noisy[:cut], images[:cut]),
        "squared",
        "adam",
        step=RATE,
        steps=steps,
        batch=min(BATCH, cut),
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    return Denoised(
        images[cut:],
        noisy[cut:],
        applied(apply, run.params, noisy[cut:]),
        np.asarray(run.history.loss) / images[0].size,
    )


def the_u(stack: Stack, depth: int, channels: int) -> Dag:
    """The figure that gives it its name: down on the left, up on the right, skips across."""
    side = stack.input_shape[-1]
    note = lambda level: f"{channels << level} × {side >> level}²"
    down = [Vertex(f"d{k}", f"level {k}" if k < depth else "bottom", note(k)) for k in range(depth + 1)]
    up = [Vertex(f"u{k}", f"level {k}", note(k)) for k in reversed(range(depth))]
    chain = [v.id for v in (*down, *up)]
    edges = [*pairwise(chain), *((f"d{k}", f"u{k}") for k in range(depth))]
    ends = Vertex("x", "image", f"1 × {side}²"), Vertex("y", "output", f"1 × {side}²")
    return Dag(
        "the U: down, up, and skips between equal sizes",
        (ends[0], *down, *up, ends[1]),
        (("x", "d0"), *edges, ("u0", "y")),
    )


def loss_chart(losses: np.ndarray, noise: float) -> Curves:
    k, width = np.arange(1, len(losses) + 1), 20
    smooth = np.convolve(losses, np.ones(width) / width, "valid") if len(losses) > width else losses
    level = Series("error of the noisy image, σ²", (1, len(losses)), (noise**2, noise**2), "reference")
    series = (Series("training, mean of 20 steps", k[-len(smooth) :], smooth), level)
    return Curves("training of the denoiser", Axis("step"), Axis("mean square error", "log"), series)


def unet_evidence(
    images: np.ndarray, depth: int, channels: int, noise: float, steps: int, rng: np.random.Generator
) -> Evidence:
    """`images` have shape (n, 1, side, side)."""
    sizes, numbers = size_claims(depth)
    side = images.shape[-1]
    if side % 2**depth:  # every pooling drops a last row and column of an odd side, and going up does not bring it back
        left = Identity(SIDES, Enclosure.exact((side >> depth << depth) - side), ZERO)
        return Evidence((*sizes, left), (), numbers, summary=f"a side of {side} cannot be halved {depth} times")
    stack = padded_unet(side, depth, channels)
    kept = identity_claims(stack, images)
    numbers |= {"parameters": Enclosure.exact(stack.parameters)}
    numbers["numbers at the bottom"] = Enclosure.exact((channels << depth) * (side >> depth) ** 2)
    figure = the_u(stack, depth, channels)
    if len(images) < 8:
        return Evidence(
            (*sizes, *kept), (figure,), numbers, (stack.table(),), summary="sizes alone: nothing was trained"
        )
    found = train_denoiser(stack.apply, stack.initial(rng), images, noise, steps, rng)
    before, after = (float(e.mean()) for e in found.errors)
    numbers |= {"error of the noisy images": before, "error of the denoised images": after}
    table = Table("error on held-out images", ("images", "mean square error"), (("noisy", before), ("denoised", after)))
    return Evidence(
        (*sizes, *kept, found.claim()),
        (figure, found.chart(), loss_chart(found.losses, noise)),
        numbers,
        (table, stack.table()),
        summary=f"{stack.parameters:,} parameters; noise of mean square {before:.4g} is brought down to {after:.4g}",
    )


# -- a network that is given ------------------------------------------------------------------------------------


def skips_of(apply: Apply, params: Any, shape: tuple[int, ...]) -> tuple[Node, ...]:
    """The nodes that put images of one size side by side: concatenations along the channels."""
    with jax.enable_x64(True):
        graph = trace(apply, params, jax.ShapeDtypeStruct(shape, np.float64))
    return tuple(node for node in graph.nodes if node.primitive == "concatenate" and _square_beside(node))


def _square_beside(node: Node) -> bool:
    """Whether what is joined are square images: all but the axis along which they are joined."""
    sides = [n for axis, n in enumerate(node.shape) if axis != node.params["dimension"] and n > 1]
    return len(sides) == 2 and sides[0] == sides[1]


def own_evidence(net: Any, images: np.ndarray, noise: float, steps: int, rng: np.random.Generator) -> Evidence:
    """Of a network from images to images of their shape: its skips, and the noise it takes away, as it is and trained
    on from there. `net` has `apply`, `params`, `input_shape` and `parameters`."""
    joins = skips_of(net.apply, net.params, net.input_shape)
    after = jax.eval_shape(net.apply, net.params, jax.ShapeDtypeStruct(net.input_shape, np.float64)).shape
    kept = Identity(SIDES, Enclosure.exact(after[-1] - net.input_shape[-1]), ZERO)
    found = train_denoiser(net.apply, net.params, images, noise, steps, rng)
    as_it_is = float(((applied(net.apply, net.params, found.noisy) - found.clean) ** 2).mean())
    before, trained = (float(e.mean()) for e in found.errors)
    rows = (("noisy", before), ("the network as it is", as_it_is), ("trained on", trained))
    sizes = tuple((node.name, " + ".join("×".join(map(str, s.shape)) for s in node.inputs)) for node in joins)
    return Evidence(
        (kept, found.claim()),
        (found.chart(), loss_chart(found.losses, noise)),
        {"parameters": Enclosure.exact(net.parameters), "skips": Enclosure.exact(len(joins))}
        | {"error of the noisy images": before, "error as it is": as_it_is, "error of the denoised images": trained},
        (
            Table("error on held-out images", ("images", "mean square error"), rows),
            Table("skips", ("", "joins"), sizes),
        ),
        summary=f"{len(joins)} skips; noise of mean square {before:.4g} becomes {as_it_is:.4g}, after training on "
        f"{held_out(images)} images {trained:.4g}",
    )
