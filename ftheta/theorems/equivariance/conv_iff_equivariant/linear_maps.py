r"""A linear map $W$ of images beside the convolution with its kernel $\psi$, on images, on waves and on shifts."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.groups.convolution import convolve, dense, waves_error
from ftheta.groups.responses import Layout, Responses, respond
from ftheta.logic import Enclosure

IMAGES = 8
MOST_ENTRIES = 1 << 20  # of a map whose action on waves is computed
MOST_WAVES = 64  # all of them are tried up to here
SOME_WAVES = 16


@dataclass(frozen=True)
class OnImages:
    r"""Largest ratios over some images $x$ and one shift $\tau$: $\|Wx-\psi*x\|_\infty/\|x\|_1$ (`misfit`) and
    $\|WT_\tau x-T_\tau Wx\|_\infty/\|x\|_1$ (`commutator`)."""

    misfit: Enclosure
    commutator: Enclosure
    shift: tuple[int, ...]


def try_images(seen: Responses, rng: np.random.Generator) -> OnImages:
    """The map on random integer images, none of them zero, before and after one random shift."""
    grid = seen.layout.grid
    x = rng.integers(-3, 4, (IMAGES, *grid, seen.layout.S)).astype(seen.aligned.dtype)
    x[(slice(None), *[0] * (len(grid) + 1))] = 1  # none is zero
    shift = tuple(int(rng.integers(M)) for M in grid)
    axes = tuple(range(1, len(grid) + 1))
    y = seen.run(x)
    of_shifted = seen.run(np.roll(x, shift, axes))
    misfit = y - np.array([convolve(seen.kernel, image) for image in x])
    commutator = of_shifted - np.roll(y, shift, axes)
    return OnImages(
        _largest_ratio(misfit, x, seen.exact), _largest_ratio(commutator, x, seen.exact), shift
    )


def _largest_ratio(gap: np.ndarray, x: np.ndarray, exact: bool) -> Enclosure:
    r"""$\max\|\text{gap}\|_\infty/\|x\|_1$ over the images."""
    above = np.abs(gap).reshape(len(gap), -1).max(1)
    below = np.abs(x).reshape(len(x), -1).sum(1)
    if not exact:
        return Enclosure.equal(float(np.nan_to_num((above / below).max(), nan=np.inf)))
    return Enclosure.exact(max(Fraction(int(a), int(b)) for a, b in zip(above, below)))


def choose_waves(seen: Responses, rng: np.random.Generator) -> np.ndarray | None:
    """Frequencies, all or some of them, to try a convolution on; None where the map is not wholly known or large."""
    if not seen.complete or seen.aligned.size > MOST_ENTRIES:
        return None
    frequencies = np.stack(np.unravel_index(np.arange(seen.layout.pixels), seen.layout.grid), -1)
    if len(frequencies) > MOST_WAVES:
        return frequencies[rng.choice(len(frequencies), SOME_WAVES, replace=False)]
    return frequencies


def error_on_waves(seen: Responses, frequencies: np.ndarray) -> Enclosure:
    r"""The largest error of $We_\omega=\hat\psi(\omega)e_\omega$."""
    return seen.known(waves_error(seen.aligned, seen.kernel, frequencies))


def first_layer_defect(weight: np.ndarray) -> float | None:
    """How far a weight on flattened square images is from commuting with translations, relative to its largest entry.

    None where inputs are no square or outputs no multiple of it; both orders of the output's channels are tried.
    """
    (rows, pixels) = weight.shape
    M = int(np.sqrt(weight.shape[1]) + 0.5)
    if pixels != M * M or rows % pixels or not weight.any():
        return None
    last = weight.reshape(M, M, -1, M, M, 1)
    first = weight.reshape(-1, M, M, M, M, 1)
    views = last, np.moveaxis(first, 0, 2)
    seen = [
        respond(dense, view, Layout((M, M), 1, rows // pixels), np.random.default_rng(0))
        for view in views
    ]
    return min(float(r.defect) for r in seen) / float(np.abs(weight).max())
