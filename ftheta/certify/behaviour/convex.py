r"""Whether outputs of a network are convex on a box.

A counter-example are three points: one half-way between two others, at which the output is above the mean of theirs for
certain. Proofs bound slopes of neurons that may switch (`slopes.py`), look at every facet of the pieces in rationals
(few inputs), or bound second derivatives (`derivatives.py`).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ftheta.certify.attacks import propagate
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Search
from ftheta.pieces.functions.convexity import facets
from ftheta.relu.exact import exact
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.shapes import Float

from .few_inputs import GLANCE, PIECE_INPUTS, list_pieces
from .sign_search import MANY_INPUTS, SignSearch
from .slope_search import SlopeSearch
from .slopes import Signs, Slopes
from .witnesses import Evaluator, Point, WitnessPoints, move_into

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork

SCALES = 8  # lengths of chords, each a quarter of the one before
MOST_TRIED = 4
STEPS = 60  # halvings of a segment


class ConvexJudge:
    """Looks for three points that are in the wrong order, and keeps the first ones; `sign` is −1 for *concave*."""

    def __init__(
        self, net: "ReluNetwork | TracedNetwork", box: Box, outputs: Sequence[int], sign: int
    ) -> None:
        self.net = net
        self.box = box
        self.outputs = list(outputs)
        self.sign = sign
        self.evaluate = Evaluator(net)
        self.low, self.high = (np.array(side, np.float64) for side in box.outer())
        self.rng = np.random.default_rng(0)
        self.witness: WitnessPoints | None = None

    def propose(self, points: Float[np.ndarray, "n d"]) -> bool:
        """Whether the output lies above a chord through one of the points, in a random direction or along an axis."""
        directions = self.rng.standard_normal(points.shape)
        axes = self.rng.random(len(points)) < 0.5
        directions[axes] = np.eye(points.shape[1])[
            self.rng.integers(points.shape[1], size=axes.sum())
        ]
        return self.propose_along(points, directions)

    def propose_along(
        self, points: Float[np.ndarray, "n d"], directions: Float[np.ndarray, "n d"]
    ) -> bool:
        """The same in given directions, with chords of several lengths inside the box."""
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.minimum(points - self.low, self.high - points) / np.abs(directions)
        longest = np.nan_to_num(room, nan=np.inf).min(1)
        longest = np.where(np.isfinite(longest), longest, 0.0)
        bends = []
        for k in range(SCALES):
            step = (longest / 4.0**k)[:, None] * directions
            y = [propagate(self.net, points + s * step)[0][:, self.outputs] for s in (-1, 0, 1)]
            size = np.abs(np.stack(y)).max(0)
            bend = self.sign * (y[0] - 2 * y[1] + y[2])
            bends.append(
                np.where(bend < -64 * 2.0**-53 * size, bend / np.maximum(size, 1e-300), 0.0)
            )
        found = np.nan_to_num(np.stack(bends))
        for place in np.argsort(found, axis=None)[:MOST_TRIED]:
            k, n, j = np.unravel_index(place, found.shape)
            if found[k, n, j] >= 0:
                break
            if self.accept(points[n], longest[n] / 4.0**k * directions[n], self.outputs[j]):
                return True
        return False

    def propose_inside(self, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"]) -> bool:
        """From points of a part of the box."""
        return self.propose(self.rng.uniform(low, high, (8, len(low))))

    def accept(self, point: Float[np.ndarray, "d"], step: Float[np.ndarray, "d"], j: int) -> bool:
        """Whether the output `j` lies above the chord from `point − step` to `point + step` for certain."""
        first, last = (move_into(self.box, point + s * step) for s in (-1, 1))
        return self.refute(first, last, j)

    def refute(self, first: Point, last: Point, j: int) -> bool:
        """Whether the output `j` half-way between two points lies above the mean of those there for certain."""
        middle = tuple((a + b) / 2 for a, b in zip(first, last))
        try:
            left, centre, right = (self.evaluate(x)[j] for x in (first, middle, last))
        except ArithmeticError:
            return False
        is_above = 2 * centre[0] > left[1] + right[1]
        is_below = 2 * centre[1] < left[0] + right[0]
        refuted = is_above if self.sign > 0 else is_below
        if refuted:
            side = "above" if self.sign > 0 else "below"
            says = f"output {j} at the middle point lies {side} the chord"
            self.witness = self.evaluate.gather((first, middle, last), says)
        return refuted


def search_convex(judge: ConvexJudge, seconds: float) -> tuple[str, Search]:
    """Decide it for a piecewise-affine network: by slopes over boxes of inputs, then facet by facet."""
    net = judge.net
    assert isinstance(net, ReluNetwork)
    points = judge.rng.uniform(judge.low, judge.high, (512, len(judge.low)))
    if judge.propose(points):
        return "chords at random points", Search(False, None, -np.inf, 0, 1)
    rows = judge.sign * np.eye(net.widths[-1])[judge.outputs]

    def find_least(slopes: Sequence[Slopes], signs: Sequence[Signs]) -> float:
        found = [
            s.low[:, known.switches].min(initial=np.inf) for s, known in zip(slopes[1:], signs)
        ]
        return float(min(found, default=np.inf))

    has_few = net.widths[0] <= PIECE_INPUTS
    kind = SignSearch if net.widths[0] > MANY_INPUTS else SlopeSearch
    parts = kind(net, rows, judge.box, find_least)
    search = parts.run(
        judge.propose_inside, _is_affine, min(GLANCE, seconds / 4) if has_few else seconds
    )
    if search.closed or judge.witness is not None or search.interrupted or not has_few:
        over = "signs of neurons" if kind is SignSearch else "boxes of inputs"
        return f"slopes of switching neurons over {over}", search
    return "facets of the pieces, in rationals", _search_facets(judge, exact(net), search)


def _is_affine(signs: Sequence[Signs]) -> bool:
    """Whether no neuron switches on a part or at its border."""
    return not any(known.switches.any() for known in signs)


def _search_facets(judge: ConvexJudge, net: ExactNetwork, before: Search) -> Search:
    """Every facet between two pieces, in rationals; the search before it where there are too many pieces."""
    count = 0
    for j in judge.outputs:
        pieces = list_pieces(net, j, judge.box)
        if pieces is None:
            return before
        count += len(pieces)
        bent = next((facet for facet in facets(pieces) if facet.jump * judge.sign < 0), None)
        if bent is not None:
            p, q = (tuple(map(fraction, pieces[k].cell.within)) for k in (bent.below, bent.above))
            is_refuted = _bisect_segment(judge, p, q, j)
            return Search(False, None, -np.inf, count, 1) if is_refuted else before
    return Search(True, None, 0.0, count, 0)


def _bisect_segment(judge: ConvexJudge, p: Point, q: Point, j: int) -> bool:
    r"""Three points on a segment on which the output is not convex: if each $f(2^{-k})\le(f(0)+f(2^{1-k}))/2$ held,
    $f$ would lie below its chord at all $2^{-k}$, and near $p$ it does not."""
    end = q
    for _ in range(STEPS):
        if judge.refute(p, end, j):
            return True
        end = tuple((a + b) / 2 for a, b in zip(p, end))
    return False


def ask_curvature(box: Box, outputs: Sequence[int], of: int, sign: int) -> Question:
    r"""Whether some $v^T\nabla^2f_j(x)v$ has the wrong sign, $v$ on one of the faces $v_i=1$ of a cube."""
    size = len(box.lo)
    unsafe = tuple((Row({}, {j: Fraction(sign)}, Fraction(0), True),) for j in outputs)
    cases = []
    for i in range(size):
        low = tuple(Fraction(1 if k == i else -1) for k in range(size))
        cases.append(Case(Box(box.lo + low, box.hi + (Fraction(1),) * size), unsafe))
    return Question(2 * size, of, tuple(cases))
