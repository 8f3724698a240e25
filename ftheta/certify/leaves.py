r"""Parts of a box in which every neuron has a known sign, decided in rationals.

There the network is affine, and whether some point meets all rows of a disjunct is a linear program in the inputs. It
is solved by the simplex method in rationals: a vertex of its polyhedron is a counter-example, exactly, also where rows
hold with equality only; and where there is none, none was overlooked by rounding.

Inputs of an ℓ1 ball are a linear program, too, with the distance of every input from the centre as a variable. Those of
an ℓ2 ball are decided by the point of the polyhedron that is nearest to the centre: it is rational.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.relu.geometry import Form, value
from ftheta.relu.linear_programs import maximise
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.nearest_points import find_nearest_point
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int

from .questions import Case, RationalBall, Row

ZERO = fmpq(0)
ONE = fmpq(1)
Accept = Callable[[tuple[Fraction, ...]], bool]
"""Whether a rational point is a counter-example."""


class ExactLeaves:
    """Decides parts of the box of one case; `accept` judges what looks like a counter-example."""

    def __init__(self, net: ReluNetwork, case: Case, accept: Accept) -> None:
        self._net = net
        self._case = case
        self._accept = accept
        self._layers: list[tuple[fmpq_mat, fmpq_mat]] | None = None

    def decide(
        self,
        lo: Float[np.ndarray, "d"],
        hi: Float[np.ndarray, "d"],
        signs: Int[np.ndarray, "neurons"],
        passes: Bool[np.ndarray, "neurons"],
    ) -> bool | None:
        """Whether no point of the box with these `signs` of neurons (0: any) meets a disjunct; None if that is open.

        `passes` says of every neuron whether it is passed on there; of those without a sign this was proved.
        """
        polyhedron, outputs = self._forms(lo, hi, signs, passes)
        inputs = len(lo)
        for rows in self._case.unsafe:
            excesses = [(_excess(row, outputs, inputs), row.strict) for row in rows]
            point = _find_point_in(self._case.ball, polyhedron, excesses, inputs)
            if point is not None:
                return False if self._accept(tuple(map(fraction, point))) else None
        return True

    def _forms(
        self, lo: np.ndarray, hi: np.ndarray, signs: np.ndarray, passes: np.ndarray
    ) -> tuple[list[Form], list[Form]]:
        """Affine forms of the inputs that are not negative on the part, and those of the outputs."""
        inputs = len(lo)
        box = self._case.box
        forms = []
        for i in range(inputs):
            unit = [ONE * (i == k) for k in range(inputs)]
            forms.append((*unit, -rational(max(Fraction(float(lo[i])), box.lo[i]))))
            forms.append((*(-u for u in unit), rational(min(Fraction(float(hi[i])), box.hi[i]))))
        state = fmpq_mat([[ONE * (i == k) for k in range(inputs + 1)] for i in range(inputs)])
        at = 0
        for matrix, offset in self._exact_layers():
            count = matrix.nrows()
            rows = (matrix * state).tolist()
            for r in range(count):
                rows[r][-1] += offset[r, 0]
            for r in np.flatnonzero(signs[at : at + count]):
                forms.append(tuple(a if signs[at + r] > 0 else -a for a in rows[r]))
            state = fmpq_mat(
                [row if passes[at + r] else [ZERO] * (inputs + 1) for r, row in enumerate(rows)]
            )
            at += count
        return forms, [tuple(row) for row in state.tolist()]

    def _exact_layers(self) -> list[tuple[fmpq_mat, fmpq_mat]]:
        if self._layers is None:
            self._layers = []
            for step in self._net.in_rationals().steps:
                height, width = step.matrix.shape
                matrix = fmpq_mat(
                    [[row.get(j, ZERO) for j in range(width)] for row in step.matrix.rows]
                )
                self._layers.append((matrix, fmpq_mat(height, 1, list(step.offset))))
        return self._layers


def _excess(row: Row, outputs: Sequence[Form], inputs: int) -> Form:
    """The excess of a row as an affine form of the inputs."""
    total = [ZERO] * (inputs + 1)
    for i, p in row.inputs.items():
        total[i] += rational(p)
    for j, q in row.outputs.items():
        for k, a in enumerate(outputs[j]):
            total[k] += rational(q) * a
    total[-1] -= rational(row.bound)
    return tuple(total)


def _find_point_in(
    ball: RationalBall | None,
    forms: Sequence[Form],
    excesses: Sequence[tuple[Form, bool]],
    inputs: int,
) -> Sequence[fmpq] | None:
    """As `_find_point`, of a ball too."""
    if ball is None:
        return _find_point(forms, excesses, inputs)
    if ball.norm == 1:
        wide = [(*form[:-1], *[ZERO] * inputs, form[-1]) for form in forms] + _lengths(ball)
        point = _find_point(
            wide,
            [((*f[:-1], *[ZERO] * inputs, f[-1]), strict) for f, strict in excesses],
            2 * inputs,
        )
        return None if point is None else point[:inputs]
    point = _find_point(forms, excesses, inputs)
    if point is None or _lies_in(ball, point):
        return point
    met = [tuple(-a for a in excess) for excess, _ in excesses]
    near = find_nearest_point([*forms, *met], tuple(map(rational, ball.centre)))
    if near is None or not _lies_in(ball, near):
        return None
    if not any(strict and value(excess, near) >= 0 for excess, strict in excesses):
        return near
    if ball.touches(tuple(map(fraction, near))):
        return None  # the only point of both
    # strict rows hold on the way to the other point, which is outside: a little of it is inside
    share = fmpq(1, 2)
    while True:
        between = tuple(a + share * (b - a) for a, b in zip(near, point))
        if _lies_in(ball, between):
            return between
        share /= 2


def _lies_in(ball: RationalBall, point: Sequence[fmpq]) -> bool:
    return ball.contains(tuple(map(fraction, point)))


def _lengths(ball: RationalBall) -> list[Form]:
    r"""Forms in $(x,t)$ that say $t_i\ge|x_i-c_i|$ and $\sum_it_i\le r$."""
    n = len(ball.centre)
    forms = [(*[ZERO] * n, *[-ONE] * n, rational(ball.radius))]
    for i, c in enumerate(ball.centre):
        unit = [ONE * (i == k) for k in range(n)]
        forms.append((*unit, *unit, -rational(c)))
        forms.append((*(-u for u in unit), *unit, rational(c)))
    return forms


def _find_point(
    forms: Sequence[Form], excesses: Sequence[tuple[Form, bool]], inputs: int
) -> tuple[fmpq, ...] | None:
    r"""A point of the polyhedron with no positive excess, and negative ones of strict rows; None if there is none.

    One more variable $t\le1$ is made as large as it gets, with every strict excess at most $-t$.
    """
    lifted = [(*form[:-1], ZERO, form[-1]) for form in forms]
    lifted.append((*[ZERO] * inputs, -ONE, ONE))
    for excess, strict in excesses:
        lifted.append((*(-a for a in excess[:-1]), -ONE if strict else ZERO, -excess[-1]))
    if not any(strict for _, strict in excesses):
        lifted.append((*[ZERO] * inputs, ONE, ZERO))
    found = maximise([*[ZERO] * inputs, ONE], lifted)
    if found is None:
        return None
    return found[1][:-1] if found[0] > 0 else None
