r"""Whether outputs of a network grow (or fall) with some of its inputs, everywhere on a box.

What is shown is that slopes are not negative; a counter-example are two points that differ in one input, at which the
outputs are in the wrong order for certain.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ftheta.certify.attacks import propagate, pull_back
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Search
from ftheta.relu.exact import exact
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.shapes import Float

from .few_inputs import GLANCE, PIECE_INPUTS, list_pieces
from .sign_search import MANY_INPUTS, SignSearch
from .slope_search import SlopeSearch
from .slopes import Signs, Slopes, exact_slopes
from .witnesses import Evaluator, WitnessPoints, move_into

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork

STARTS = 256  # random points at which slopes are looked at
STEPS = 40  # halvings of the step from a point with a wrong slope
MOST_TRIED = 4  # slopes of one batch of points that are tried as counter-examples


class MonotoneJudge:
    """Looks for two points in the wrong order, and keeps the first pair."""

    def __init__(
        self,
        net: "ReluNetwork | TracedNetwork",
        box: Box,
        signs: dict[int, int],
        outputs: Sequence[int],
    ) -> None:
        self.net = net
        self.box = box
        self.signs = signs
        self.outputs = list(outputs)
        self.evaluate = Evaluator(net)
        self.witness: WitnessPoints | None = None

    def propose(self, points: Float[np.ndarray, "n d"]) -> bool:
        """Whether a pair was found from one of the points, by the slopes there in floats."""
        inputs = list(self.signs)
        signs = np.array([self.signs[i] for i in inputs])
        wrong = []
        for j in self.outputs:
            _, passed = propagate(self.net, points)
            cotangents = np.zeros((len(points), self.net.widths[-1]))
            cotangents[:, j] = 1.0
            wrong.append(pull_back(self.net, passed, cotangents)[:, inputs] * signs)
        slopes = np.nan_to_num(np.stack(wrong, 1), nan=0.0)
        for place in np.argsort(slopes, axis=None)[:MOST_TRIED]:
            n, j, i = np.unravel_index(place, slopes.shape)
            if slopes[n, j, i] >= 0:
                break
            if self.separate(move_into(self.box, points[n]), inputs[i], self.outputs[j]):
                return True
        return False

    def propose_inside(self, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"]) -> bool:
        """From the middle of a box."""
        return self.propose((0.5 * low + 0.5 * high)[None])

    def separate(self, x: tuple[Fraction, ...], i: int, j: int) -> bool:
        """Two points a step apart along input `i` whose outputs `j` are in the wrong order for certain."""
        for room in (self.box.hi[i] - x[i], self.box.lo[i] - x[i]):
            for k in range(STEPS if room else 0):
                other = tuple(v + room / 2**k if n == i else v for n, v in enumerate(x))
                first, second = (x, other) if room > 0 else (other, x)
                if self._is_wrong(first, second, i, j):
                    return True
        return False

    def _is_wrong(
        self, first: tuple[Fraction, ...], second: tuple[Fraction, ...], i: int, j: int
    ) -> bool:
        try:
            before, after = self.evaluate(first)[j], self.evaluate(second)[j]
        except ArithmeticError:
            return False
        grows = self.signs[i] > 0
        if after[1] < before[0] if grows else after[0] > before[1]:
            word = "falls" if grows else "grows"
            self.witness = self.evaluate.gather(
                (first, second), f"output {j} {word} with input {i}"
            )
        return self.witness is not None


def sample_box(box: Box, rng: np.random.Generator, count: int = STARTS) -> Float[np.ndarray, "n d"]:
    """Random points of a box, some of them on its faces."""
    low, high = (np.array(side, np.float64) for side in box.outer())
    points = rng.uniform(low, high, (count, len(low)))
    faces = rng.random(points.shape) < 0.1
    return np.where(faces, np.where(rng.random(points.shape) < 0.5, low, high), points)


def search_monotone(judge: MonotoneJudge, seconds: float) -> tuple[str, Search]:
    """Decide it for a piecewise-affine network by boxes of inputs; by signs of neurons where there are many inputs."""
    net = judge.net
    assert isinstance(net, ReluNetwork)
    if judge.propose(sample_box(judge.box, np.random.default_rng(0))):
        return "slopes at random points", Search(False, None, -np.inf, 0, 1)
    rows = np.eye(net.widths[-1])[judge.outputs]
    up = [i for i, sign in judge.signs.items() if sign > 0]
    down = [i for i, sign in judge.signs.items() if sign < 0]
    in_rationals = exact(net)

    def find_least(slopes: Sequence[Slopes], signs: Sequence[Signs]) -> float:
        first = slopes[0]
        return float(
            min(first.low[:, up].min(initial=np.inf), -first.high[:, down].max(initial=-np.inf))
        )

    def finish(signs: Sequence[Signs]) -> bool:
        found = exact_slopes(in_rationals, rows, signs)
        return all(row[i] * sign >= 0 for row in found for i, sign in judge.signs.items())

    has_few = net.widths[0] <= PIECE_INPUTS
    kind = SignSearch if net.widths[0] > MANY_INPUTS else SlopeSearch
    parts = kind(net, rows, judge.box, find_least, judge.signs)
    search = parts.run(
        judge.propose_inside, finish, min(GLANCE, seconds / 4) if has_few else seconds
    )
    if search.closed or judge.witness is not None or search.interrupted or not has_few:
        return (
            "slopes over signs of neurons" if kind is SignSearch else "slopes over boxes of inputs",
            search,
        )
    return "slopes of the pieces, in rationals", _search_pieces(judge, in_rationals, search)


def _search_pieces(judge: MonotoneJudge, net: ExactNetwork, before: Search) -> Search:
    """The slopes of every piece; the search before it where there are too many."""
    count = 0
    for j in judge.outputs:
        pieces = list_pieces(net, j, judge.box)
        if pieces is None:
            return before
        count += len(pieces)
        for piece in pieces:
            wrong = next(
                (i for i, sign in judge.signs.items() if piece.rows[0][i] * sign < 0), None
            )
            if wrong is not None:
                is_refuted = judge.separate(tuple(map(fraction, piece.cell.within)), wrong, j)
                return Search(False, None, -np.inf, count, 1) if is_refuted else before
    return Search(True, None, 0.0, count, 0)


def ask_slopes(box: Box, signs: dict[int, int], outputs: Sequence[int], of: int) -> Question:
    """Whether some slope has the wrong sign, for the network of slopes with respect to the inputs in `signs`."""
    unsafe = []
    for n, sign in enumerate(signs.values()):
        unsafe += [(Row({}, {n * of + j: Fraction(sign)}, Fraction(0), True),) for j in outputs]
    return Question(len(box.lo), len(signs) * of, (Case(box, tuple(unsafe)),))
