"""Linear maps that commute with a group, the projection on them, and convolutions over a group; in integers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ftheta.groups.actions import on_images
from ftheta.groups.finite import Group, symmetric
from ftheta.groups.group_convolution import group_convolution, on_poses
from ftheta.groups.maps import EquivariantMaps
from ftheta.groups.representations import Representation, natural
from ftheta.logic import Enclosure

EXACT = Enclosure.exact
MOST_WORK = 1 << 24  # entries times elements, up to which the linear part is computed
MOST_ENTRIES = 4096  # of a linear map


@dataclass(frozen=True, eq=False)
class Linear:
    """The maps of the inputs to themselves that commute with the group, and one integer map projected onto them."""

    maps: EquivariantMaps
    W: np.ndarray

    @property
    def order(self) -> int:
        return self.maps.source.group.order

    @cached_property
    def total(self) -> np.ndarray:
        r"""$|G|\bar W$, in integers."""
        return np.rint(self.maps.project(self.W) * self.order).astype(np.int64)

    def off_basis(self) -> Fraction:
        """By orbit sums in integers: the mean of W over an orbit of pairs is the entry of the average there."""
        orbits = self.maps.orbits
        assert orbits is not None
        sums = np.bincount(orbits.ravel(), self.W.ravel().astype(float)).astype(np.int64)
        sizes = np.bincount(orbits.ravel())
        gap = np.abs(sums[orbits] * self.order - self.total * sizes[orbits])
        return Fraction(int(gap.max()), self.order)

    def numbers(self) -> dict[str, Enclosure | float]:
        found: dict[str, Enclosure | float] = {
            "equivariant maps": EXACT(Fraction(self.maps.by_characters))
        }
        if self.maps.by_null_space is not None:
            found["by null space"] = EXACT(self.maps.by_null_space)
        if self.maps.by_orbits is not None:
            found["orbits of pairs"] = EXACT(self.maps.by_orbits)
        return found | {"all linear maps": EXACT(self.W.size)}


def project_random_map(source: Representation, rng: np.random.Generator) -> Linear | None:
    """With a random integer map; None where the space is too large."""
    size = source.dimension**2
    if source.action is None or size > MOST_ENTRIES or size * source.group.order > MOST_WORK:
        return None
    return Linear(EquivariantMaps(source, source), rng.integers(-9, 10, (source.dimension,) * 2))


def convolution_defect(group: Group, rng: np.random.Generator, side: int = 5) -> int:
    r"""The largest equivariance defect of a lifting and a group convolution with integer kernels, ReLU between them, on
    a periodic integer image. Sums of small integers are exact in float64."""
    x = rng.integers(-3, 4, (side, side, 2)).astype(float)
    first = rng.integers(-3, 4, (3, 3, 2, 2)).astype(float)
    second = rng.integers(-2, 3, (3, 3, group.order, 2, 1)).astype(float)

    def convolve_twice(x: np.ndarray) -> np.ndarray:
        lifted = np.maximum(np.asarray(group_convolution(group, first, x)), 0)
        return np.asarray(group_convolution(group, second, lifted))

    pixels = on_images(group, side, 2)
    poses = on_poses(group, side)
    y = convolve_twice(x)
    worst = 0
    for g in range(group.order):
        moved = pixels.move(g, x.reshape(-1)).reshape(x.shape)
        worst = max(
            worst,
            int(np.abs(convolve_twice(moved).reshape(-1) - poses.move(g, y.reshape(-1))).max()),
        )
    return worst


def project_textbook_map() -> dict[str, Enclosure | float]:
    r"""$\begin{pmatrix}1&2\\3&4\end{pmatrix}$ averaged over $S_2$: $\frac52$ everywhere."""
    ring = natural(symmetric(2))
    W = EquivariantMaps(ring, ring).project(np.array([[1, 2], [3, 4]]))
    return {"textbook projection": float(W[0, 0]), "textbook projection, spread": float(np.ptp(W))}
