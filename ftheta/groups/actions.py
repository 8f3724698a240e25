"""How groups move what networks take: images, grids, sets, tokens and graphs."""

from collections.abc import Sequence
from math import isqrt, prod

import numpy as np

from ftheta.logic.errors import UsageError

from .finite import Group, cyclic
from .permutations import translations
from .representations import Representation, natural, trivial


def on_images(
    group: Group, side: int | Sequence[int], channels: int = 1, *, channels_first: bool = False
) -> Representation:
    r"""Square images turned and reflected by $C_1,C_2,C_4,D_1,D_2$ or $D_4$ about their middle.

    Images have shape `(side, side, channels)`, or `(channels, side, side)`; pixels move exactly, none is interpolated.
    """
    height, width = (side, side) if isinstance(side, int) else (int(side[0]), int(side[1]))
    if group.plane is None:
        raise UsageError(
            "This group does not map the pixels of a grid to pixels.",
            got=group.name,
            remedy="take cyclic(n) or dihedral(n) with n = 1, 2 or 4",
        )
    swaps = bool((group.plane[:, 0, 0] == 0).any())
    if height < 1 or width < 1 or (swaps and height != width):
        raise UsageError(
            "A rotation by 90° needs square images.",
            got=f"{height} × {width} pixels",
            remedy="pad or crop to a square, or take the rotation by 180°, cyclic(2)",
        )
    size = np.array([height, width])
    cells = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1).reshape(
        -1, 2
    )
    centred = 2 * cells - (size - 1)  # twice the place relative to the middle: an integer
    moved = (np.einsum("gij,pj->gpi", group.plane, centred) + size - 1) // 2
    pixels = Representation(
        group, f"images {height}×{width}", moved[..., 0] * width + moved[..., 1]
    )
    return with_channels(pixels, channels, channels_first)


def on_grid(
    grid: Sequence[int], channels: int = 1, *, channels_first: bool = False, step: int = 1
) -> Representation:
    r"""The cyclic shifts of a grid by multiples of `step`: a product of cyclic groups."""
    odd = [M for M in grid if M < 1 or M % step]
    if step < 1 or odd:
        raise UsageError(
            "The step does not divide a side of the grid.",
            got=f"sides {tuple(grid)}, step {step}",
            remedy=f"pad to a multiple of {step}: a ring of odd length has no shifts that a stride keeps",
        )
    group = cyclic(grid[0] // step)
    for M in grid[1:]:
        group = group * cyclic(M // step)
    every = translations(grid).reshape(*grid, -1)
    rows = every[tuple(slice(None, None, step) for _ in grid)].reshape(group.order, -1)
    name = "grid " + "×".join(map(str, grid)) + (f", steps of {step}" if step > 1 else "")
    return with_channels(Representation(group, name, rows), channels, channels_first)


def on_sets(group: Group, features: int = 1) -> Representation:
    r"""Rows of an array of shape $(n,\text{features})$, permuted: sets, point clouds, tokens without positions."""
    return natural(group) if features == 1 else natural(group) * trivial(group, features)


on_tokens = on_sets


def on_graphs(group: Group, features: int = 1) -> Representation:
    r"""Adjacency matrices: arrays of shape $(n,n,\text{features})$, both indices permuted together."""
    if not group.points.shape[1]:
        raise UsageError("A graph has at least one node.", got="an empty graph")
    pairs = natural(group) * natural(group)
    return pairs if features == 1 else pairs * trivial(group, features)


def image_axes(shape: tuple[int, ...]) -> tuple[tuple[int, int], int, bool] | None:
    """(H, W), channels and whether they come first, of an image shape or a flattened square; None where it is none."""
    if len(shape) == 1:
        side = isqrt(shape[0])
        return ((side, side), 1, False) if side > 1 and side**2 == shape[0] else None
    if len(shape) == 2:
        return ((shape[0], shape[1]), 1, False)
    if len(shape) != 3:
        return None
    first = shape[1] == shape[2] and (shape[0] != shape[1] or shape[0] < shape[2])
    return (
        ((shape[1], shape[2]), shape[0], True) if first else ((shape[0], shape[1]), shape[2], False)
    )


def on_shape(group: Group, shape: tuple[int, ...]) -> Representation:
    """How the group moves an input of this shape: images by their pixels, else the first axis by the group's points."""
    image = image_axes(shape)
    if group.plane is not None and image is not None:
        (height, width), channels, first = image
        return on_images(group, (height, width), channels, channels_first=first)
    n = group.points.shape[1]
    if shape and shape[0] == n:
        return (
            natural(group)
            if prod(shape[1:]) == 1
            else natural(group) * trivial(group, prod(shape[1:]))
        )
    raise UsageError(
        "It is not clear how this group moves such inputs.",
        got=f"{group.name}, which moves {n} points, on inputs of shape {shape}",
        remedy="give a Representation: on_images, on_grid, on_sets, on_graphs, or of_matrices",
    )


def with_channels(pixels: Representation, channels: int, first: bool) -> Representation:
    """Channels that do not move, beside pixels that do."""
    if channels == 1:
        return pixels
    still = trivial(pixels.group, channels)
    return still * pixels if first else pixels * still
