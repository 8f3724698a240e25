"""The plane with classes and certified balls, radii by method, and shares of rows by radius."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import numpy as np

from ftheta.logic import Axis, Bars, Curves, Handle, Regions, Series
from ftheta.pieces import Box, pieces
from ftheta.pieces.normal_forms import normal_form
from ftheta.stability.radii import CertifiedRadius
from ftheta.subjects import Network

SIDE = 160  # points of a picture, each way
MOST_CELLS = 5_000
NEAR = 3.0  # half of a side of the picture, at least

Point = tuple[float, float]
Radii = Mapping[str, CertifiedRadius]


def draw_plane(net: Network, x: np.ndarray, radii: Radii) -> Regions:
    """The classes in the plane, and around the first input the ℓ₂ and ℓ∞ balls that are certified and met."""
    centre = x[0]
    drawn = [float(found.distance[0]) for found in radii.values() if np.isfinite(found.distance[0])]
    reach = float(np.abs(centre).max()) + max(drawn, default=0.0)
    # so that the picture stays where it is while the input is dragged
    half = float(max(NEAR, np.ceil(reach)))
    picture = _draw_classes(net, np.full(2, -half), np.full(2, half))
    balls = [
        _ball(centre, r, found.norm) for found in (radii["ℓ₂"], radii["ℓ∞"]) for r in _ends(found)
    ]
    title = "certified (inner) and met (outer) balls in ℓ₂ and ℓ∞"
    handle = (
        None
        if net.data is not None
        else Handle("across", "up", (float(centre[0]), float(centre[1])))
    )
    return replace(picture, title=title, lines=(*picture.lines, *balls), handle=handle)


def _draw_classes(net: Network, lo: np.ndarray, hi: np.ndarray) -> Regions:
    """The exact decision regions of a piecewise-affine network; of another one where labels change on a grid."""
    form = normal_form(net)
    if form.network is not None and not form.refusal:
        found = pieces(form.network, Box(lo, hi), max_cells=MOST_CELLS, maps=True)
        if found.certificate.complete:
            picture = found.chart("class", boundary=True)
            assert isinstance(picture, Regions)
            return picture
    across, up = (np.linspace(a, b, SIDE) for a, b in zip(lo, hi))
    grid = np.stack([part.ravel() for part in np.meshgrid(across, up)], 1)
    labels = np.argmax(np.asarray(net(grid)).reshape(SIDE * SIDE, -1), axis=1).reshape(SIDE, SIDE)
    return Regions("", Axis("x₁"), Axis("x₂"), (), (), lines=_edges(labels, across, up))


def _edges(labels: np.ndarray, across: np.ndarray, up: np.ndarray) -> tuple[tuple[Point, ...], ...]:
    """Short segments between neighbours of different labels."""
    width = (across[1] - across[0]) / 2
    height = (up[1] - up[0]) / 2
    found = list[tuple[Point, ...]]()
    for i, j in np.argwhere(labels[:, 1:] != labels[:, :-1]):
        x = float(across[j] + width)
        found.append(((x, float(up[i] - height)), (x, float(up[i] + height))))
    for i, j in np.argwhere(labels[1:] != labels[:-1]):
        y = float(up[i] + height)
        found.append(((float(across[j] - width), y), (float(across[j] + width), y)))
    return tuple(found)


def _ends(found: CertifiedRadius) -> list[float]:
    return [float(r) for r in (found.radius[0], found.distance[0]) if 0 < r < inf]


def _ball(centre: np.ndarray, radius: float, norm: float) -> tuple[Point, ...]:
    angle = np.linspace(0, 2 * np.pi, 97)
    direction = np.stack([np.cos(angle), np.sin(angle)], 1)
    scaled = direction / np.linalg.norm(direction, ord=norm, axis=1, keepdims=True)
    return tuple((float(a), float(b)) for a, b in centre + radius * scaled)


def draw_methods(radii: Radii, margins: np.ndarray | None) -> Bars:
    """Medians over the inputs, of every norm: what each method certifies, and what was met."""
    names = ("intervals", "linear bounds", "met")
    values = [
        tuple(float(np.median(_finite(row))) for row in columns)
        for columns in zip(
            *(
                (found.by_method["interval"], found.by_method["crown"], found.distance)
                for found in radii.values()
            )
        )
    ]
    shown = ", ".join(
        f"margin / √2 Lip: {np.median(margins):.3g}" for _ in (0,) if margins is not None
    )
    title = f"median radius{f' ({shown} in ℓ₂)' if shown else ''}"
    return Bars(title, Axis("radius"), tuple(radii), names, tuple(values))


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)


def draw_shares(found: CertifiedRadius) -> Curves:
    """The share of inputs whose label is certified within ε, and for which no other label was met."""
    ends = np.unique(np.concatenate([found.radius, _finite(found.distance)]))
    eps = np.union1d(ends, 0.0)
    certified = [(found.radius >= e).mean() for e in eps]
    met = [(found.distance > e).mean() for e in eps]
    series = (
        Series("certified", eps, certified, "bound", "step"),
        Series("attacked", eps, met, "measured", "step"),
    )
    return Curves("labels that hold within ε in ℓ∞", Axis("ε"), Axis("share of inputs"), series)
