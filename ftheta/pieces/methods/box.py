"""Boxes in d >= 3 and cones of all of space: the compiled polytope splitter and the exact signs it asks for."""

from functools import cache, cached_property
from typing import Any

import numpy as np

from ..enumeration import double_room
from ..kernels import parts as at
from ..kernels.box import run
from ..kernels.box_corners import WIDTH, Path, Scratch, Stack
from ..plan import UNIT_ROUNDOFF, Plan
from ..signs import ExactForms, common_zero, dyadic, orient
from .compiled_kernel import CompiledKernel

START_DEPTH = 32
DIRECTIONS = 3  # for the volume of a cell


def box_body(domain: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Homogeneous corners of a box, its sides as exact forms, the sides at each corner, the neighbour leaving each."""
    corners = np.asarray(domain.corners)
    d = corners.shape[1]
    low = corners.min(axis=0)
    high = corners.max(axis=0)
    upper = (corners == high).astype(np.int64)
    order = np.argsort(upper @ (1 << np.arange(d)))
    corners = corners[order]
    upper = upper[order]
    sides = np.zeros((2 * d, d + 1))
    for i in range(d):
        sides[2 * i, i], sides[2 * i, -1] = 1.0, -low[i]
        sides[2 * i + 1, i], sides[2 * i + 1, -1] = -1.0, high[i]
    labels = -1 - (2 * np.arange(d) + upper)
    along = np.arange(len(corners))[:, None] ^ (1 << np.arange(d))
    return np.hstack([corners, np.ones((len(corners), 1))]), sides, labels, along


def simplex_body(generators: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of a cone spanned by d+1 generators: side i misses generator i. Small integers throughout."""
    n = len(generators)
    dual = np.linalg.inv(generators.T)
    sides = np.round(dual * round(abs(np.linalg.det(generators))))
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    return generators, sides, -1 - others, others


class BoxKernel(CompiledKernel):
    """One enumeration over a simple polytope, or a simplicial cone in homogeneous coordinates."""

    name = "boxes"
    compiled = staticmethod(run)
    corners_per_cell = 8
    chunk = 1 << 14

    def __init__(
        self,
        plan: Plan,
        corners: np.ndarray,
        sides: np.ndarray,
        labels: np.ndarray,
        along: np.ndarray,
        *,
        ask: bool,
        store: bool,
        maps: bool,
    ) -> None:
        n, d = labels.shape
        self.labels_per_corner = (d,)
        room = max(64, n * (d + 2))
        super().__init__(
            plan, float(np.abs(corners[:, :-1]).max()), room, ask=ask, store=store, maps=maps
        )
        self.sides = sides
        self.stack = Stack(
            corner=np.zeros((START_DEPTH, room), np.int32),
            along=np.zeros((START_DEPTH, room, d), np.int32),
            corners=np.full(START_DEPTH, n),
            top=np.full(START_DEPTH, n),
            worst=np.zeros(START_DEPTH),
            **self._slots(START_DEPTH, d + 1),
        )
        self.path = Path(
            **self._layers(d + 1),
            **self._measures(),
            box=np.zeros(2 * (d + 1)),
            bounded=np.array([bool((corners[:, -1] == 1.0).all())]),
            plane=self._planes(),
            point=np.zeros((8 * room, d + 1)),
            know=np.zeros((8 * room, 4)),
            facet=np.zeros((8 * room, d), np.int32),
        )
        self.scratch = self._scratch()
        self.path.point[:n], self.path.facet[:n], self.path.know[:n, WIDTH:] = (
            corners,
            labels,
            (1.0, 0.0, 1.0),
        )
        self.stack.corner[0, :n], self.stack.along[0, :n] = np.arange(n), along
        self.counters[at.HEIGHT] = 1

    def _planes(self) -> np.ndarray:
        """Room for the hyperplanes of all facets: first the sides (label -1-i for side i), in reverse."""
        count, width = self.sides.shape
        planes = np.zeros((count + self.plan.neurons, width + 1))
        planes[:count, :-1] = self.sides[::-1]
        planes[:count, -1] = (
            8 * width * UNIT_ROUNDOFF * self.size * (1.0 + np.abs(self.sides[::-1]).sum(axis=1))
        )
        return planes

    def _scratch(self) -> Scratch:
        d = self.plan.dimension
        room = self.room
        ints = lambda *shape: np.zeros(shape, np.int32)
        return Scratch(
            value=np.zeros(room),
            sign=np.zeros(room, np.int8),
            forced=np.zeros(room, np.int8),
            trial=np.zeros((3, room)),
            place=ints(room),
            origin=ints(room, 4),
            new_along=ints(room, d),
            form=np.zeros(d + 1),
            matrix=np.zeros((d, d + 1)),
            table=np.zeros((2 << (room * d).bit_length(), 2), np.int64),
            facet_key=facet_keys(len(self.sides) + self.plan.neurons),
            stamp=np.zeros(1, np.int64),
            direction=np.random.default_rng(3).normal(size=(DIRECTIONS, d)),
        )

    def grow_width(self) -> None:
        """More corners in a cell, or on the path: whichever is short."""
        t = int(self.counters[at.HEIGHT]) - 1
        if int(self.stack.corners[t]) * (2 + self.plan.dimension) > 2 * self.room:
            self.room *= 2
            self.stack = self.stack._replace(
                corner=double_room(self.stack.corner, 1), along=double_room(self.stack.along, 1)
            )
            forced = self.scratch.forced
            self.scratch = self._scratch()
            self.scratch.forced[: len(forced)] = forced
        else:
            longer = {
                name: double_room(getattr(self.path, name)) for name in ("point", "know", "facet")
            }
            self.path = self.path._replace(**longer)

    @cached_property
    def exact_sides(self) -> list[tuple[int, ...]]:
        numbers, _ = dyadic(self.sides)
        width = self.sides.shape[1]
        return [tuple(numbers[i : i + width]) for i in range(0, len(numbers), width)]

    @cached_property
    def inside(self) -> tuple[int, ...]:
        """A form that is positive on the whole body, directions included."""
        return tuple(map(sum, zip(*self.exact_sides)))

    def _corner(self, exact: ExactForms, t: int, i: int, pattern: int) -> tuple[int, ...]:
        labels = self.path.facet[self.stack.corner[t, i]].tolist()
        planes = [
            self.exact_sides[-1 - b] if b < 0 else exact.neuron_form(b, pattern) for b in labels
        ]
        return orient(common_zero(planes), self.inside)


@cache
def facet_keys(count: int) -> np.ndarray:
    """Random words, one a hyperplane."""
    return np.random.default_rng(7).integers(1, 2**62, count)
