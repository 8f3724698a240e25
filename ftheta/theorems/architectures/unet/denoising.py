"""Training a network from images to images to take noise away, and its skips."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np

from ftheta.graph import Node, trace
from ftheta.graph.compiling import call_compiled
from ftheta.training.fitting import fit

Apply: TypeAlias = Callable[[Any, Any], Any]
RATE = 3e-3
BATCH = 32


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
        return ((self.noisy - self.clean) ** 2).mean(axes), ((self.found - self.clean) ** 2).mean(
            axes
        )


def train_denoiser(
    apply: Apply, start: Any, images: np.ndarray, noise: float, steps: int, rng: np.random.Generator
) -> Denoised:
    """Learn from these weights on the first three quarters of the images, noise on each, and denoise the others."""
    noisy = images + noise * rng.normal(size=images.shape)
    cut = first_held_out(images)
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
        apply_to_images(apply, run.params, noisy[cut:]),
        np.asarray(run.history.loss) / images[0].size,
    )


def apply_to_images(apply: Apply, params: Any, images: np.ndarray) -> np.ndarray:
    """What the network makes of every image."""
    run = lambda params, x: jax.vmap(lambda row: apply(params, row))(x)
    return np.asarray(call_compiled(run, params, images))


def first_held_out(images: np.ndarray) -> int:
    """The first image that is not learnt from: a quarter of them."""
    return 3 * len(images) // 4


def skips_of(apply: Apply, params: Any, shape: tuple[int, ...]) -> tuple[Node, ...]:
    """The nodes that put images of one size side by side: concatenations along the channels."""
    with jax.enable_x64(True):
        graph = trace(apply, params, jax.ShapeDtypeStruct(shape, np.float64))
    return tuple(
        node for node in graph.nodes if node.primitive == "concatenate" and _square_beside(node)
    )


def _square_beside(node: Node) -> bool:
    """Whether what is joined are square images: all but the axis along which they are joined."""
    sides = [n for axis, n in enumerate(node.shape) if axis != node.params["dimension"] and n > 1]
    return len(sides) == 2 and sides[0] == sides[1]
