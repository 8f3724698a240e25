r"""Domains in which every sign is known: a linear program, whose dual solution is proved in float64.

Where all neurons of a domain are split, the network is affine there, and the least $t$ with all excesses of a disjunct
at most $t$ is that of a linear program in the inputs. Its multipliers of the rows are the weights of a mixture, those
of the signs are pushes: with them, rounded as they are, `bound_below` gives a proved bound. HiGHS proves nothing here.
A ball is approached by half-spaces that hold it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.certify.ball_parts import FloatBall
from ftheta.certify.goals import Goal
from ftheta.shapes import Float, Int

from .enclosing import begin_rows
from .frames import Array, Frame, times
from .lines import bound_below, draw_lines

TANGENTS = 60  # half-spaces around a ball
OUTSIDE = 1e-9  # of the radius, that a solution may lie outside


@dataclass(frozen=True, eq=False)
class Leaf:
    """The proved `bound` (∞ where no point has these signs) of a mixture with `weights`, the primal `point`."""

    bound: float
    weights: Float[np.ndarray, "r"]
    point: Float[np.ndarray, "d"] | None


def close_leaf(
    frame: Frame, goal: Goal, rows: Int[np.ndarray, "k"], sign: Int[np.ndarray, "u"], seconds: float
) -> Leaf:
    """Bound the largest excess of the rows over the part of the box where the neurons have the signs `sign`."""
    forms, offsets = _sign_forms(frame, sign)
    excess, constants = _row_forms(frame, goal, rows, sign)
    region = frame.inputs
    sides = list(zip(region.low, region.high))
    # minimise t: excess x + constants ≤ t, and forms x + offsets ≥ 0
    A = np.block([[excess, -np.ones((len(rows), 1))], [-forms, np.zeros((len(forms), 1))]])
    b = np.concatenate([-constants, offsets])
    cost = np.zeros(len(sides) + 1)
    cost[-1] = 1
    found = _solve_in(region.ball, cost, A, b, [*sides, (None, None)], seconds)
    point = None if found.x is None else np.clip(found.x[:-1], region.low, region.high)
    if found.status == 0:
        multipliers = np.maximum(-found.ineqlin.marginals, 0.0)
        weights = np.zeros(len(goal.bounds))
        total = multipliers[: len(rows)].sum()
        weights[rows] = multipliers[: len(rows)] / total if total > 0 else 1 / len(rows)
        return Leaf(
            _prove(frame, goal, weights, multipliers[len(rows) : len(A)], sign), weights, point
        )
    weights = np.zeros(len(goal.bounds))
    if found.status == 2:  # no such point: multipliers of the signs alone show it
        A = np.hstack([-forms, -np.ones((len(forms), 1))])
        found = _solve_in(region.ball, cost, A, offsets, [*sides, (None, None)], seconds)
        if found.status == 0:
            multipliers = np.maximum(-found.ineqlin.marginals[: len(A)], 0.0)
            if _prove(frame, goal, weights, multipliers, sign) > 0:
                return Leaf(np.inf, weights, None)
    return Leaf(-np.inf, weights, point)


def _solve_in(
    ball: FloatBall | None, cost: Array, A: Array, b: Array, sides: list[Any], seconds: float
) -> Any:
    """As `_solve`, with half-spaces around the ball: one more for every solution that lies outside."""
    found = _solve(cost, A, b, sides, seconds)
    for _ in range(TANGENTS if ball is not None else 0):
        if found.status != 0 or ball is None:
            break
        offset = found.x[:-1] - ball.centre
        length = np.linalg.norm(offset, ball.norm)
        if length <= ball.radius * (1 + OUTSIDE):
            break
        normal = np.sign(offset) if ball.norm == 1 else offset / length
        A = np.vstack([A, np.append(normal, 0.0)])
        b = np.append(b, normal @ ball.centre + ball.radius)
        found = _solve(cost, A, b, sides, seconds)
    return found


def _solve(cost: Array, A: Array, b: Array, sides: list, seconds: float) -> Any:
    from scipy.optimize import linprog  # slow to import, and seldom needed

    return linprog(
        cost,
        A_ub=A,
        b_ub=b,
        bounds=sides,
        method="highs",
        options={"time_limit": max(seconds, 0.1)},
    )


def _prove(frame: Frame, goal: Goal, weights: Array, multipliers: Array, sign: Array) -> float:
    start = begin_rows(goal, frame, weights[None])
    push = np.where(sign > 0, -multipliers, multipliers)[None]
    lines = draw_lines(frame.layers, np.zeros((1, len(sign))), push, sign[None])
    return float(bound_below(frame.inputs, frame.layers, start, lines)[0])


def _sign_forms(frame: Frame, sign: Array) -> tuple[Array, Array]:
    """Affine forms of the inputs that are not negative where the neurons have their signs."""
    forms = []
    offsets = []
    for layer, form, offset in _states(frame, sign):
        own = sign[layer.first : layer.first + layer.undecided].astype(np.float64)
        forms.append(own[:, None] * form[: layer.undecided])
        offsets.append(own * offset[: layer.undecided])
    return np.concatenate(forms), np.concatenate(offsets)


def _states(frame: Frame, sign: Array) -> list[tuple[Any, Array, Array]]:
    """For each layer its pre-activations as affine functions of the inputs."""
    form = np.eye(len(frame.inputs.low))
    offset = np.zeros(len(frame.inputs.low))
    found = []
    for layer in frame.layers:
        form = layer.weight @ form
        offset = layer.weight @ offset + layer.bias
        found.append((layer, form, offset))
        on = np.ones(len(offset))
        on[: layer.undecided] = sign[layer.first : layer.first + layer.undecided] > 0
        form = on[:, None] * form
        offset = on * offset
    return found


def _row_forms(frame: Frame, goal: Goal, rows: Array, sign: Array) -> tuple[Array, Array]:
    """The excesses of the rows as affine functions of the inputs."""
    weights = np.zeros((len(rows), len(goal.bounds)))
    weights[np.arange(len(rows)), rows] = 1
    start = begin_rows(goal, frame, weights)
    A = start.outputs
    constant = start.constant.copy()
    for layer in reversed(frame.layers):
        G = A.copy()
        G[:, : layer.undecided] *= sign[layer.first : layer.first + layer.undecided] > 0
        constant += G @ layer.bias
        A = times(G, layer.weight)
    return A if start.inputs is None else A + start.inputs, constant
