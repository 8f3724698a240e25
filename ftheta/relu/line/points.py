r"""Piecewise-affine functions of one variable: from points or kinks to a network and back, exactly."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from ftheta.logic.errors import SubjectError

from ..elementary import ridges
from ..exact import exact
from ..matrices import Number, fraction, rational
from ..network import ExactNetwork, ReluNetwork
from .cpa1d import PiecewiseAffine, affine, combination, from_jumps, relu


def through_points(x: Sequence[Number], y: Sequence[Number]) -> PiecewiseAffine:
    """The interpolant of the points $(x_i,y_i)$, going on with its outermost slopes."""
    points = sorted(zip([fraction(rational(t)) for t in x], [fraction(rational(v)) for v in y]))
    if len(x) != len(y) or len(points) < 2 or any(a[0] == b[0] for a, b in pairwise(points)):
        raise SubjectError(
            "Interpolation needs at least two points with distinct abscissae.",
            got=(list(x), list(y)),
        )
    slopes = [(fb - fa) / (b - a) for (a, fa), (b, fb) in pairwise(points)]
    return from_slopes([t for t, _ in points[1:-1]], slopes, points[0][0], points[0][1])


def from_slopes(
    kinks: Sequence[Number], slopes: Sequence[Number], at: Number, value: Number
) -> PiecewiseAffine:
    r"""The function with slopes $s_0,\dots,s_m$ between the kinks $t_1<\dots<t_m$, and `value` at `at`."""
    t = [fraction(rational(a)) for a in kinks]
    s = [fraction(rational(a)) for a in slopes]
    if len(s) != len(t) + 1 or any(a >= b for a, b in pairwise(t)):
        raise SubjectError(
            "There is one slope more than kinks, and kinks increase.",
            got=(list(kinks), list(slopes)),
        )
    jumps = {k: b - a for k, a, b in zip(t, s, s[1:])}
    return from_jumps(s[0], jumps, fraction(rational(at)), fraction(rational(value)))


def line_network(f: PiecewiseAffine) -> ExactNetwork:
    r"""One hidden layer: $f(t_1)-s_0r(t_1-x)+s_1r(x-t_1)+\sum_{i\ge2}(s_i-s_{i-1})r(x-t_i)$.

    $m+1$ neurons for $m\ge1$ kinks, $m$ if $s_0s_1=0$; two for an affine function that is not constant.
    """
    if not f.kinks:
        slope = f.slopes[0]
        return ridges([slope, -slope], [1, -1], [0, 0], f.values[0])
    (t, *others), (s0, s1, *_) = f.kinks, f.slopes
    atoms = [(-s0, -1, t), (s1, 1, -t), *((f.jumps[k], 1, -k) for k in others)]
    outer, inner, shift = zip(*[atom for atom in atoms if atom[0]])
    return ridges(outer, inner, shift, f.values[0])


def on_line(net: ReluNetwork | ExactNetwork) -> tuple[PiecewiseAffine, ...]:
    """Every output of a network with one input, as an exact function: equal tuples prove equal networks."""
    given = exact(net)
    if given.widths[0] != 1:
        raise SubjectError("A function on the line has one input.", got=f"{given.widths[0]} inputs")
    state = [affine(1)]
    for step in given.steps:
        rows = zip(step.matrix.rows, step.offset)
        state = [
            combination([(fraction(a), state[j]) for j, a in row.items()], fraction(b))
            for row, b in rows
        ]
        state = [relu(f) if rectified else f for f, rectified in zip(state, step.rectified)]
    return tuple(state)


def restrict_to_line(
    net: ReluNetwork | ExactNetwork, point: Sequence[Number], direction: Sequence[Number]
) -> tuple[PiecewiseAffine, ...]:
    r"""$t\mapsto f(\text{point}+t\cdot\text{direction})$, exactly, for a network with any number of inputs."""
    given = exact(net)
    return on_line(given @ ExactNetwork.affine([[v] for v in direction], list(point)))


def square_error(f: PiecewiseAffine, cells: int) -> Fraction:
    r"""$\sup_{[0,1]}|x^2-f|$ for $f$ affine on the cells: attained at an end of one, or where $2x$ is its slope."""
    ends = [Fraction(s, cells) for s in range(cells + 1)]
    worst = Fraction(0)
    for a, b in pairwise(ends):
        left = f(a)
        right = f(b)
        turning = (right - left) / (b - a) / 2
        inside = [turning] if a < turning < b else []
        worst = max(
            worst,
            *(abs(x * x - left - (right - left) / (b - a) * (x - a)) for x in (a, b, *inside)),
        )
    return worst
