"""Branch and bound over signs of neurons until slopes have the sign that they are to have: for networks of many inputs.

Halves of a box of many inputs settle hardly any sign. Where the sign of a neuron is given, its slope is known, and what
it passes on is bounded by 0: the neurons above are enclosed again. A part whose enclosures contradict one another is
empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.frames import BeyondRange
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.lines import Climb
from ftheta.certify.questions import Box
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float, Int

from .slope_search import Part, SlopeSearch, Wanted
from .slopes import Signs, Slopes

Array = np.ndarray
Bounds = list[tuple[Array, Array]]
MANY_INPUTS = 16  # above so many, signs of neurons are given instead of halves of boxes
ROOT = Climb(20)  # steps on the slopes of the bounds of neurons over the whole box, ...
CHILD = Climb(1)  # ... and over a part


@dataclass(order=True)
class SignPart(Part):
    """A part with the bounds of all neurons, and the signs that are `given` (0: none), layer by layer."""

    bounds: Bounds = field(compare=False, default_factory=list)
    given: list[Int[Array, "_n"]] = field(compare=False, default_factory=list)
    slopes: list[Slopes] = field(compare=False, default_factory=list)


class SignSearch(SlopeSearch):
    """One search over signs of neurons in the same box of inputs."""

    def __init__(
        self,
        net: ReluNetwork,
        rows: Float[Array, "rows outputs"],
        box: Box,
        wanted: Wanted,
        along: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__(net, rows, box, wanted, along)
        self.region = Inputs(self.low, self.high)
        self.rng = np.random.default_rng(0)

    def _begin(self) -> Part | None:
        none = [np.zeros(len(step.offset), np.int8) for step in self.net.steps[:-1]]
        try:
            _, plain = enclose(self.net, self.region)
            _, bounds = enclose(self.net, self.region, ROOT, plain)
        except BeyondRange:
            bounds = [(np.full(len(own), -np.inf), np.full(len(own), np.inf)) for own in none]
        return self._bound(bounds, none)

    def _cut(self, part: Part) -> list[Part] | None:
        """Both signs of the open neuron that moves the worst slope most, in a rough estimate."""
        assert isinstance(part, SignPart)
        chosen = self._choose(part)
        if chosen is None:
            return None
        layer, neuron = chosen
        found = [self._give(part, layer, neuron, sign) for sign in (1, -1)]
        return [child for child in found if child is not None]

    def _give(self, part: SignPart, layer: int, neuron: int, sign: int) -> Part | None:
        """The part with one more sign; None where it is empty."""
        bounds = [(under.copy(), above.copy()) for under, above in part.bounds]
        bounds[layer][0 if sign > 0 else 1][neuron] = 0.0
        given = [own.copy() for own in part.given]
        given[layer][neuron] = sign
        try:
            _, better = enclose(self.net, self.region, CHILD, bounds)
        except BeyondRange:
            better = bounds
        if any(np.any(under > above) for under, above in better):
            self.boxes += 1
            return None
        return self._bound(better, given, part.slopes[0])

    def _bound(self, bounds: Bounds, given: list[Array], before: Slopes | None = None) -> SignPart:
        self.boxes += 1
        signs = self._read_signs(bounds, given)
        slopes, least = self._enclose_slopes(signs, before)
        return SignPart(least, self.boxes, self.low, self.high, signs, bounds, given, slopes)

    def _read_signs(self, bounds: Bounds, given: Sequence[Array]) -> list[Signs]:
        self.root = bounds if self.root is None else self.root
        return [
            Signs(known.on | (own > 0), known.open & (own == 0), own != 0)
            for known, own in zip(self._known_signs(bounds), given)
        ]

    def _aim(self, part: Part) -> tuple[Array, Array]:
        """A point on the way from the middle to the corner at which the given signs of the first layer are likely."""
        assert isinstance(part, SignPart)
        towards = np.asarray(part.given[0] @ self.net.steps[0].matrix).ravel()
        share = self.rng.random() * np.sign(towards)
        point = 0.5 * (1.0 - share) * self.low + 0.5 * (1.0 + share) * self.high
        return point, point

    def _choose(self, part: SignPart) -> tuple[int, int] | None:
        row, state, entry = self._find_worst(part)
        best = None
        most = 0.0
        reach = np.zeros(part.slopes[state].low.shape[1])
        reach[entry] = 1.0
        for k in range(state, len(part.signs)):
            signs = part.signs[k]
            reach = np.asarray(abs(self.net.steps[k].matrix) @ reach)
            after = part.slopes[k + 1]
            moved = np.maximum(np.abs(after.low[row]), np.abs(after.high[row]))
            score = np.where(signs.open, moved * reach, 0.0)
            if score.max(initial=0.0) > most:
                most = float(score.max())
                best = (k, int(score.argmax()))
            reach = reach * (signs.on | signs.open)
        return self._choose_any(part) if best is None else best

    def _choose_any(self, part: SignPart) -> tuple[int, int] | None:
        """Some open neuron: where all signs are known, rounding can be done without."""
        for k, signs in enumerate(part.signs):
            if signs.open.any():
                return k, int(signs.open.argmax())
        return None

    def _find_worst(self, part: SignPart) -> tuple[int, int, int]:
        """The least of the slopes that are wanted: of which row, at which state (0: the inputs) and entry."""
        if self.along is not None:
            inputs = np.array(list(self.along))
            up = np.array(list(self.along.values())) > 0
            entries = np.where(up, part.slopes[0].low[:, inputs], -part.slopes[0].high[:, inputs])
            row, k = np.unravel_index(entries.argmin(), entries.shape)
            return int(row), 0, int(inputs[k])
        found = []
        for k, signs in enumerate(part.signs, 1):
            entries = np.where(signs.switches, part.slopes[k].low, np.inf)
            row, entry = np.unravel_index(entries.argmin(), entries.shape)
            found.append((float(entries[row, entry]), int(row), k, int(entry)))
        return min(found)[1:]
