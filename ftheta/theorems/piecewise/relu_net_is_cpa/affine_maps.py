"""A network beside the affine maps of its cells, at corners, at centres and by automatic differentiation."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import Basis, Enclosure
from ftheta.pieces.complex import Complex
from ftheta.pieces.slices import MOST_NUMBERS
from ftheta.relu.exact import exact
from ftheta.relu.reading.enclosing import gap_to

BATCH = 4096
STEADY = 1e-9  # a neuron nearer to its kink, relative to the largest one, may fall on its other side by rounding
# relative to the numbers that are added: what float64 may leave of a gap that is zero
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Gap:
    """The largest gap between the network and its affine maps, at the point `t` of the slice and one output.

    `size` is that of the numbers that were added to get the value of an affine map.
    """

    t: np.ndarray
    output: int
    gap: float
    size: float

    @property
    def allowance(self) -> float:
        """What rounding may leave of a gap that is zero."""
        return ROUNDING * max(self.size, 1e-300)


@dataclass(frozen=True)
class JacobianGap:
    """The largest gap between $A$ and the Jacobian on so many cells; `size` is the largest entry of $A$."""

    gap: Enclosure
    size: float
    cells: int

    @property
    def allowance(self) -> float:
        """What rounding may leave of a gap that is zero."""
        return ROUNDING * max(self.size, 1e-300)


@dataclass(frozen=True, eq=False)
class LocalMaps:
    """The affine maps of the cells, beside the function `net` that they are to equal; `shape` is that of one input."""

    cells: Complex
    net: Any
    shape: tuple[int, ...]

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        at = jax.jit(jax.vmap(lambda x: self.net(x).ravel()))
        rows = inputs.reshape(len(inputs), *self.shape)
        return np.concatenate(
            [np.asarray(at(rows[k : k + BATCH])) for k in range(0, len(rows), BATCH)]
        )

    @cached_property
    def largest_gap(self) -> Gap:
        r"""Between $f$ and $At+c$, among corners and centres of the cells."""
        cells = self.cells
        owner = np.concatenate(
            [np.repeat(np.arange(len(cells)), np.diff(cells.ends)), np.arange(len(cells))]
        )
        points = np.concatenate([cells.vertices, cells.centres])
        maps = cells.maps[owner]
        affine = np.einsum("nod,nd->no", maps[:, :, :-1], points) + maps[:, :, -1]
        size = float(
            (np.einsum("nod,nd->no", abs(maps[:, :, :-1]), abs(points)) + abs(maps[:, :, -1])).max(
                initial=0
            )
        )
        gap = abs(self.outputs(cells.plan.chart(points)) - affine)
        k, o = np.unravel_index(int(gap.argmax()), gap.shape)
        return Gap(points[k], int(o), float(gap[k, o]), size)

    def enclose_gap(self, at: Gap) -> Enclosure | None:
        """The gap of the real functions, without the rounding of the program; None where no rule encloses it."""
        x = self.cells.plan.chart(at.t)
        affine = float(exact(self.cells.plan.net)(x.tolist())[at.output])
        return gap_to(lambda point: self.net(point.reshape(self.shape)), x, at.output, affine)

    def enclose_values(self, at: Gap) -> tuple[Enclosure, Enclosure]:
        """The network in intervals rounded outward, and the network of the cells in rationals, at the same point."""
        x = self.cells.plan.chart(at.t)
        value = enclose_entry(self.net, x.reshape(self.shape), entry=at.output)
        return value, Enclosure.exact(exact(self.cells.plan.net)(x.tolist())[at.output])

    def compare_jacobians(self, most: int) -> JacobianGap:
        r"""$A$ of the largest cells against automatic differentiation at their centres, along the slice: across it $f$
        may have a kink there, where two inputs of a maximum tie on the whole slice."""
        cells = self.cells
        chart = self.cells.plan.chart
        most = max(1, min(most, MOST_NUMBERS // (cells.plan.outputs * int(np.prod(self.shape)))))
        chosen = np.argsort(-cells.volumes, kind="stable")[:most]
        points = chart(cells.centres[chosen])
        sizes = [abs(step.matrix) for step in cells.plan.net.steps[:-1]]
        chosen = chosen[
            np.array([_steady(cells, int(i), x, sizes) for i, x in zip(chosen, points)], bool)
        ]
        slopes = cells.maps[chosen, :, :-1]
        along = lambda t: self.net(
            (chart.origin + (chart.basis + chart.tail) @ t).reshape(self.shape)
        ).ravel()
        slope = jax.jit(jax.vmap(jax.jacfwd(along)))
        found = np.asarray(slope(cells.centres[chosen])) if len(chosen) else slopes
        gap, size = (float(abs(a).max(initial=0)) for a in (found - slopes, slopes))
        known = (
            Enclosure.equal(gap)
            if len(chosen) == len(cells)
            else Enclosure.measured(gap, samples=len(chosen))
        )
        measured = JacobianGap(known, size, len(chosen))
        if gap <= measured.allowance:
            return measured
        k, o, c = np.unravel_index(int(abs(found - slopes).argmax()), slopes.shape)
        column = lambda t: jax.jacfwd(along)(t)[:, c]
        real = gap_to(column, cells.centres[chosen[k]], int(o), float(slopes[k, o, c]))
        if real is None or real.lo > measured.allowance:
            return measured
        return JacobianGap(real, size, len(chosen))  # rounding of the program alone explains it

    def regions(self) -> tuple[np.ndarray, Enclosure]:
        """The linear region of every cell, and how many there are: found so far, at least the different maps."""
        region = self.cells.linear_regions()
        if self.cells.certificate.complete:
            return region, Enclosure.equal(int(region.max(initial=-1)) + 1)
        size = max(float(abs(self.cells.maps).max(initial=0)), 1e-300)
        different = len(
            np.unique(np.round(self.cells.maps / size, 6).reshape(len(region), -1), axis=0)
        )
        return region, Enclosure(different, np.inf, Basis.FLOAT)


def _steady(cells: Complex, i: int, x: np.ndarray, magnitudes: list[Any]) -> bool:
    """Whether no neuron is so near to its kink that rounding could decide its sign at a point of cell `i`.

    Neurons that vanish on the whole cell are inactive there; others whose value is zero in float64 are not known.
    `magnitudes` are those of the weights of the hidden steps: what is added up is compared with its sum.
    """
    state = x
    nearest = np.inf
    size = 0.0
    first = 0
    for step, weights in zip(cells.plan.net.steps[:-1], magnitudes):
        size = max(size, float((weights @ abs(state) + abs(step.offset)).max(initial=0.0)))
        state = step.matrix @ state + step.offset
        z = abs(state[step.rectified])
        nearest = min(nearest, z[z > 0].min(initial=np.inf))
        if not all(_vanishes(cells, i, first + int(k)) for k in np.flatnonzero(z == 0)):
            return False
        first += len(z)
        state = np.where(step.rectified, np.maximum(state, 0.0), state)
    return nearest > STEADY * size


def _vanishes(cells: Complex, i: int, neuron: int) -> bool:
    """Whether a neuron is zero on all of a cell."""
    return not any(cells.exact_forms.neuron_form(neuron, cells.pattern_number(i)))
