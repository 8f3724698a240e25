r"""Attacks: points of a set whose outputs meet all rows of a disjunct, sought by projected gradient descent.

For each disjunct the largest excess of its rows is made as small as it gets, from many starts at once: the centre,
random points, and points whose outputs were first driven apart along random directions (output-diversified starts).
Steps follow APGD: momentum, and a step size that is halved where a run stops to improve. A point that looks like a
witness in float64 is handed to `propose`, which decides exactly.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol, TypeAlias

import numpy as np

from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float, Int

from .goals import Array, FloatSet, Goal, set_goal
from .questions import Case

Propose = Callable[[Array], bool]


class Differentiable(Protocol):
    """A network with values and gradients in floats; `widths` begin with its inputs and end with its outputs."""

    @property
    def widths(self) -> tuple[int, ...]: ...

    def propagate(self, x: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "n m"], Any]: ...

    def pull_back(
        self, passed: Any, cotangents: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n d"]: ...


Attacked: TypeAlias = ReluNetwork | Differentiable

ROUND = 64  # points at once
DESCENT = 40  # steps of a run
DIVERSIFYING = 5  # steps along random directions before it
MOMENTUM = 0.75
PROPOSALS = 4  # of one batch: an exact check is dear


@np.errstate(
    over="ignore", invalid="ignore"
)  # a point at which numbers overflow is no counter-example
def attack(
    net: Attacked,
    case: Case,
    rng: np.random.Generator,
    seconds: float,
    propose: Propose,
    *,
    rounds: int | None = None,
    disjuncts: Int[np.ndarray, "k"] | None = None,
    from_centre: bool = True,
) -> Float[np.ndarray, "d"] | None:
    """A point of the set for which `propose` says True, or None; ends after `seconds` or so many `rounds`.

    Where no float lies between the ends of an input, the point has the float beside them: `propose` moves it into the
    set.

    `disjuncts` restricts the search to some of them; the first round is short and starts at the centre, unless
    `from_centre` is False.
    """
    goal = set_goal(case, net.widths[0], net.widths[-1])
    chosen = np.arange(len(case.unsafe)) if disjuncts is None else np.asarray(disjuncts)
    if not len(chosen) or case.box.is_empty:
        return None
    inside = FloatSet.inside(case)
    end = monotonic() + seconds
    turn = 0
    while (rounds is None or turn < rounds) and (turn == 0 or monotonic() < end):
        short = from_centre and turn == 0
        if short:
            aims = chosen[: 4 * ROUND]
            starts = np.repeat(0.5 * inside.low[None] + 0.5 * inside.high, len(aims), axis=0)
        else:
            starts, aims = _choose_starts(net, inside, chosen, rng)
        steps = DESCENT // 2 if short else DESCENT
        found = descend(net, goal, inside, starts, aims, propose, steps=steps, end=end)
        if found is not None:
            return found
        turn += 1
    return None


def descend(
    net: Attacked,
    goal: Goal,
    inside: FloatSet,
    starts: Float[np.ndarray, "n d"],
    aims: Int[np.ndarray, "n"],
    propose: Propose,
    *,
    steps: int = DESCENT,
    end: float = np.inf,
) -> Float[np.ndarray, "d"] | None:
    """APGD from each start towards its disjunct `aims`, within the set."""
    x = inside.clip(starts)
    before = x
    best = x.copy()
    least = np.full(len(x), np.inf)
    size = np.ones((len(x), 1))
    checks = _checkpoints(steps)
    gains = np.zeros(len(x))
    mark_size = size.copy()
    mark_least = least.copy()
    last_check = 0
    for step in range(steps):
        value, slope = _excess_and_slope(net, goal, x, aims)
        better = value < least
        gains += better
        best[better] = x[better]
        least[better] = value[better]
        found = _offer(x, value, propose)
        if found is not None or monotonic() > end:
            return found
        if step in checks:
            lazy = gains < 0.75 * (step - last_check)
            stuck = (size == mark_size)[:, 0] & (least >= mark_least)
            halve = lazy | stuck
            mark_size = size.copy()
            mark_least = least.copy()
            size[halve] *= 0.5
            x = np.where(halve[:, None], best, x)
            before = np.where(halve[:, None], best, before)
            gains[:] = 0
            last_check = step
        ahead = inside.clip(x + size * inside.stride(slope))
        mixed = x + MOMENTUM * (ahead - x) + (1 - MOMENTUM) * (x - before) if step else ahead
        before = x
        x = inside.clip(mixed)
    value, _ = _excess_and_slope(net, goal, x, aims)
    return _offer(x, value, propose)


def sign_step(
    net: Attacked,
    goal: Goal,
    low: Float[np.ndarray, "d"],
    high: Float[np.ndarray, "d"],
    starts: Float[np.ndarray, "n d"],
    aims: Int[np.ndarray, "n"],
) -> Float[np.ndarray, "n d"]:
    """FGSM: the corner of the box against the sign of the gradient at each start."""
    _, slope = _excess_and_slope(net, goal, starts, aims)
    return np.where(slope > 0, low, np.where(slope < 0, high, starts))


def propagate(net: Attacked, x: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "n m"], Any]:
    """The outputs at points `(n, d)`, and what `pull_back` needs: of a chain, which coordinates each step passes on."""
    if not isinstance(net, ReluNetwork):
        return net.propagate(x)
    state = x
    passed = []
    for step in net.steps:
        z = np.ascontiguousarray((step.matrix @ state.T).T) + step.offset
        on = ~step.rectified | (z > 0)
        state = np.where(on, z, 0.0)
        passed.append(on)
    return state, passed


def pull_back(
    net: Attacked, passed: Any, cotangents: Float[np.ndarray, "n m"]
) -> Float[np.ndarray, "n d"]:
    """The gradients at the inputs of linear functions of the outputs."""
    if not isinstance(net, ReluNetwork):
        return net.pull_back(passed, cotangents)
    for step, on in zip(reversed(net.steps), reversed(passed)):
        cotangents = (step.matrix.T @ (cotangents * on).T).T
    return cotangents


def _excess_and_slope(net: Attacked, goal: Goal, x: Array, aims: Array) -> tuple[Array, Array]:
    """The largest excess of the rows of each point's disjunct, and its gradient."""
    y, passed = propagate(net, x)
    excess = np.where(goal.member[aims], goal.excess(x, y), -np.inf)
    if not excess.shape[1]:
        return np.full(len(x), -np.inf), np.zeros_like(x)
    row = excess.argmax(1)
    value = excess[np.arange(len(x)), row]
    slope = pull_back(net, passed, goal.outputs[row])
    return value, slope if goal.inputs is None else slope + goal.inputs[row]


def _offer(x: Array, value: Array, propose: Propose) -> Array | None:
    """Propose the most promising points of a batch."""
    for r in np.argsort(value)[:PROPOSALS]:
        if value[r] > 0:
            return None
        if propose(x[r]):
            return x[r].copy()
    return None


def _choose_starts(
    net: Attacked, inside: FloatSet, chosen: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Random points whose outputs are driven apart, spread over the disjuncts."""
    aims = (
        rng.choice(chosen, ROUND)
        if len(chosen) > ROUND
        else np.resize(rng.permutation(chosen), ROUND)
    )
    x = inside.clip(rng.uniform(inside.low, inside.high, (len(aims), len(inside.low))))
    direction = rng.uniform(-1, 1, (len(aims), net.widths[-1]))
    for _ in range(DIVERSIFYING):
        _, passed = propagate(net, x)
        x = inside.clip(x - 0.25 * inside.stride(pull_back(net, passed, direction)))
    return x, aims


def _checkpoints(steps: int) -> set[int]:
    """Where APGD looks back: intervals that shrink from 22 % of the steps by 3 % each."""
    at = share = 0.22
    marks = set()
    while at < 1:
        marks.add(int(np.ceil(at * steps)))
        share = max(share - 0.03, 0.06)
        at += share
    return marks
