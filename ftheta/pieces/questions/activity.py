"""Which neurons are on somewhere, everywhere or nowhere on a domain: read off the patterns of all cells."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Bool, Int

from ..cells import Cells

if TYPE_CHECKING:
    from ftheta.relu.counts import Firing


@dataclass(frozen=True, eq=False)
class Activity:
    """For every neuron whether it is positive inside `some` cell, and inside `every` cell, among those found.

    A neuron that is zero on a whole cell is off there. If all cells were found, a neuron that is on in none is dead.
    """

    some: Bool[np.ndarray, "neurons"]
    every: Bool[np.ndarray, "neurons"]
    units: Int[np.ndarray, "neurons 2"]
    sizes: tuple[int, ...]
    complete: bool
    basis: Basis

    @property
    def bending(self) -> Bool[np.ndarray, "neurons"]:
        """On in some cells and off in others: the neurons that make the function bend, or could."""
        return self.some & ~self.every

    @property
    def bends(self) -> Enclosure:
        """How many neurons bend the function there, or could."""
        known = int(self.bending.sum())
        return Enclosure(known, known if self.complete else len(self.some), self.basis)

    @property
    def live(self) -> Enclosure:
        """How many neurons are on somewhere."""
        known = int(self.some.sum())
        return Enclosure(known, known if self.complete else len(self.some), self.basis)

    @property
    def dead(self) -> Enclosure:
        """How many neurons are on nowhere: they can be removed without changing the function on the domain."""
        known = int((~self.some).sum())
        return Enclosure(known if self.complete else 0, known, self.basis)

    @property
    def always(self) -> Enclosure:
        """How many neurons are on everywhere: there they are linear."""
        known = int(self.every.sum())
        return Enclosure(known if self.complete else 0, known, self.basis)

    def firing(self) -> "Firing":
        """The same as masks over the coordinates of every step; nothing is undecided but neurons that do both.

        Only what all cells show is told: of an incomplete complex nothing is certain.
        """
        from ftheta.relu.counts import Firing

        dead, active = ([np.zeros(n, bool) for n in self.sizes] for _ in range(2))
        if self.complete:
            for (step, k), some, every in zip(self.units.tolist(), self.some, self.every):
                dead[step][k], active[step][k] = not some, every
        return Firing(tuple(dead), tuple(active))


def activity(cells: Cells) -> Activity:
    """Which neurons are active on some cell of a complex, and which on every cell."""
    on = np.bitwise_or.reduce(cells.patterns, axis=0, keepdims=True)
    always = np.bitwise_and.reduce(cells.patterns, axis=0, keepdims=True)
    bits = lambda words: np.unpackbits(words.view(np.uint8), bitorder="little")[
        : cells.plan.neurons
    ].astype(bool)
    sizes = tuple(len(step.offset) for step in cells.plan.net.steps)
    known = (cells.certificate.complete, cells.certificate.basis)
    return Activity(bits(on), bits(always) & bool(len(cells)), cells.units, sizes, *known)
