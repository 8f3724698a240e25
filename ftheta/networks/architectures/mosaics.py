"""Feature maps of one image, layer by layer, as mosaics; and synthetic images to look at."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.values import every
from ftheta.graph.jaxprs import trace

from .stack import Stack

MOST_MOSAICS = 6
MOST_TILES = 16
MOST_SIDE = 64  # pixels of a tile; larger maps are thinned out
_MAPS = {
    "conv_general_dilated": "convolution",
    "reduce_window_max": "max pool",
    "reduce_window_sum": "mean pool",
}
_LABELS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}


def picture(kind: str, side: int) -> np.ndarray:
    """A grey image in [0, 1]: a disc on a shaded ground, stripes that turn, or squares."""
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    if kind == "stripes":
        return 0.5 + 0.5 * np.sin(9 * (x + 0.6 * y**2))
    if kind == "squares":
        return ((np.floor(3 * x) + np.floor(3 * y)) % 2 + (np.maximum(abs(x), abs(y)) < 0.5)) / 2
    disc = 1 / (1 + np.exp(24 * (np.hypot(x - 0.15, y + 0.1) - 0.5)))
    return 0.15 * (x + 1) + 0.7 * disc * (
        1 - 0.5 * ((np.hypot(x, y - 0.1) < 0.22) | (abs(x + y) < 0.08))
    )


PICTURES = ("disc", "stripes", "squares")


def oriented_filters(count: int, width: int = 5) -> np.ndarray:
    """Derivatives of a Gaussian along directions evenly around the circle: edges light up in the map of theirs."""
    r = np.arange(width) - (width - 1) / 2
    y, x = np.meshgrid(r, r, indexing="ij")
    bell = np.exp(-(x**2 + y**2) / (0.35 * width))
    angles = 2 * np.pi * np.arange(count) / count
    found = np.array([(np.cos(a) * x + np.sin(a) * y) * bell for a in angles])
    return (found / np.abs(found).sum((1, 2), keepdims=True))[:, None]


Maps = list[tuple[str, np.ndarray]]  # (name, channels × height × width)


def maps_of_table(stack: Stack, params: Any, x: np.ndarray) -> tuple[Maps, np.ndarray]:
    """What every layer that keeps a grid makes of the image; and the output."""
    with jax.enable_x64(True):
        arrays = jax.jit(lambda params, x: [a for _, a in stack.feature_maps(params, x)])(params, x)
    named = [(layer.name, np.asarray(a)) for layer, a in zip(stack.layers, arrays)]
    return [(name, a) for name, a in named if a.ndim == 3], named[-1][1]


def maps_of_program(
    f: Callable[[Any, Any], Any], params: Any, x: np.ndarray
) -> tuple[Maps, np.ndarray]:
    """The same of any network, read off its graph: convolutions, activations and pools; and its output."""
    graph = trace(f, params, jax.ShapeDtypeStruct(x.shape, np.float64))
    seen = every(graph)(params, x)
    found = []
    for node in graph.nodes:
        name = _LABELS.get(node.label) or _MAPS.get(node.primitive)
        shape = tuple(n for n in node.shape if n > 1)
        if name and len(shape) == 3:
            found.append((name, np.asarray(seen[node.outputs[0]]).reshape(shape)))
    return [(name, _channels_first(a)) for name, a in found], np.asarray(seen.flat_outputs[0])


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference; entries that are not finite differ unless they are the same."""
    different = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    return float(
        np.nan_to_num(np.abs(a[different] - b[different]), nan=np.inf, posinf=np.inf).max(
            initial=0.0
        )
    )


def _channels_first(a: np.ndarray) -> np.ndarray:
    return np.moveaxis(a, -1, 0) if a.shape[0] == a.shape[1] != a.shape[2] else a


def chosen(maps: list[tuple[str, np.ndarray]]) -> list[tuple[int, str, np.ndarray]]:
    """Those to show: after activations and pools where there are any, numbered, evenly spread."""
    kept = [(k, name, a) for k, (name, a) in enumerate(maps, 1) if not name.startswith("conv")]
    kept = kept or [(k, name, a) for k, (name, a) in enumerate(maps, 1)]
    if len(kept) <= MOST_MOSAICS:
        return kept
    return [kept[int(k)] for k in np.linspace(0, len(kept) - 1, MOST_MOSAICS)]


def tile_arrays(tiles: np.ndarray, columns: int) -> np.ndarray:
    """Arrays of one shape in rows of so many, with infinite gaps between them, where nothing is drawn."""
    (h, w) = tiles.shape[1:]
    rows = -(-len(tiles) // columns)
    gap = 1 + max(h, w) // 16
    sheet = np.full((rows * (h + gap) - gap, columns * (w + gap) - gap), np.inf)
    for k, tile in enumerate(tiles):
        i, j = divmod(k, columns)
        sheet[i * (h + gap) : i * (h + gap) + h, j * (w + gap) : j * (w + gap) + w] = tile
    return sheet
