"""Bounds of margins over boxes: with guessed slopes, with optimised ones, and by branch and bound over neurons."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ftheta.certify.goals import set_goal
from ftheta.certify.questions import Box, Case, Row
from ftheta.relu.network import ReluNetwork, Step
from ftheta.shapes import Float

from .domains import Pool
from .enclosing import Bounds, enclose
from .frames import Array, BeyondRange
from .inputs import Inputs
from .lines import Climb, guess_slopes
from .splitting import Outcome, Task, bound_domains, first_domains, halve
from .targets import Targets

NEURONS = Climb(20)
MARGINS = Climb(40)
# before branch and bound, which makes up for what slopes of fewer steps lose
QUICK_MARGINS = Climb(10)
DOMAINS = Climb(6)
AT_ONCE = 32  # domains that are split together
TRIAL = 64  # domains after which it is asked whether they will do


def aim_at_margins(net: ReluNetwork, label: int) -> Targets:
    """The margins of an output over every other one, as targets that are to be shown positive."""
    inputs = net.widths[0]
    outputs = net.widths[-1]
    zero = Fraction(0)
    one = Fraction(1)
    rows = tuple((Row({}, {label: one, j: -one}, zero),) for j in range(outputs) if j != label)
    anywhere = Box((zero,) * inputs, (zero,) * inputs)
    return Targets(set_goal(Case(anywhere, rows), inputs, outputs))


def bound_margins(
    net: ReluNetwork,
    targets: Targets,
    low: Float[np.ndarray, "d"],
    high: Float[np.ndarray, "d"],
    *,
    optimised: bool,
) -> Float[np.ndarray, "k"]:
    """A lower bound of each target over a box, rounded outward: with guessed slopes; where that is not positive and
    bounds are to be `optimised`, with slopes chosen for every open neuron and for each target."""
    inputs = Inputs(low, high)
    try:
        frame, bounds = enclose(net, inputs)
        least = targets.bound_plainly(frame)
        if optimised and not np.all(least > 0):
            _optimise(net, targets, inputs, bounds, least)
    except BeyondRange:
        return np.full(len(targets.members), -np.inf)
    return least


def _optimise(
    net: ReluNetwork, targets: Targets, inputs: Inputs, bounds: Bounds, least: Array
) -> None:
    """Raise the bounds of the targets that are not yet shown."""
    _, outcome = _open_roots(net, targets, inputs, bounds, least, NEURONS, MARGINS)
    least[outcome.closed_targets] = outcome.closed_bounds
    least[outcome.open.target] = outcome.open.bound


def _open_roots(
    net: ReluNetwork,
    targets: Targets,
    inputs: Inputs,
    bounds: Bounds,
    least: Array,
    neurons: Climb | None,
    margins: Climb,
    splits: int = 0,
) -> tuple[Task, Outcome]:
    """The task of the targets that are not yet shown, and what optimised slopes show of it without splitting."""
    frame, _ = enclose(net, inputs, neurons, bounds, splits=splits)
    task = targets.over(frame)
    chosen = np.flatnonzero(~(least > 0))
    slopes = np.repeat(guess_slopes(frame.layers)[None], len(chosen), axis=0)
    domains = first_domains(task, chosen, slopes, targets.even(chosen))
    domains.bound = least[chosen]
    return task, bound_domains(task, domains, margins)


def show_margins(
    net: ReluNetwork,
    targets: Targets,
    low: Float[np.ndarray, "d"],
    high: Float[np.ndarray, "d"],
    *,
    splits: int,
    most_domains: int,
) -> float:
    """The least bound of all targets over a box, by so many `splits` of the first layer for the bounds of each neuron,
    then by up to so many domains of branch and bound: positive where all targets are shown. Where the bound rises too
    slowly for that it is given up before."""
    inputs = Inputs(low, high)
    try:
        frame, bounds = enclose(net, inputs)
        least = targets.bound_plainly(frame)
        if np.all(least > 0):
            return float(least.min())
        task, outcome = _open_roots(
            net, targets, inputs, bounds, least, None, QUICK_MARGINS, splits
        )
    except BeyondRange:
        return -np.inf
    pool = Pool(outcome.open)
    closed = float(np.min(outcome.closed_bounds, initial=np.inf))
    root = float(pool.view_bounds().min()) if len(pool) else closed
    count = 0
    while len(pool) and count < most_domains:
        parents = pool.take(AT_ONCE)
        if np.any(parents.split < 0):  # no neuron is open: nothing is left to be split
            return min(root, float(parents.bound.min()))
        children = halve(parents)
        count += len(children)
        outcome = bound_domains(task, children, DOMAINS)
        closed = min(closed, float(np.min(outcome.closed_bounds, initial=np.inf)))
        pool.add(outcome.open)
        if len(pool) and count >= TRIAL:
            reached = float(pool.view_bounds().min())
            # bounds rise with the logarithm of the number of domains
            if (reached - root) * np.log(most_domains) < -root * np.log(count):
                return reached
    return min(closed, float(pool.view_bounds().min())) if len(pool) else closed


def bound_excess(net: ReluNetwork, case: Case, inputs: Inputs) -> float:
    """A lower bound, over the inputs, of the least (over the disjuncts) of the largest excess of a disjunct's rows."""
    try:
        frame, _ = enclose(net, inputs)
    except BeyondRange:
        return -np.inf
    return float(Targets(set_goal(case, net.widths[0], net.widths[-1])).bound_plainly(frame).min())


def bound_neurons(
    net: ReluNetwork, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"]
) -> list[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]]]:
    """Numbers below and above each pre-activation of every hidden step over a box, rounded outward."""
    inputs = Inputs(low, high)
    try:
        _, bounds = enclose(net, inputs)
        _, better = enclose(net, inputs, NEURONS, bounds)
    except BeyondRange:
        return [(np.full(width, -np.inf), np.full(width, np.inf)) for width in net.widths[1:-1]]
    return better


def bound_outputs(
    net: ReluNetwork, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"]
) -> tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]]:
    """Numbers below and above each output over a box, rounded outward: as if it were one hidden step more."""
    from scipy import sparse  # slow to import

    size = net.widths[-1]
    last = replace(net.steps[-1], rectified=np.ones(size, bool))
    passing = Step(sparse.eye_array(size, format="csr"), np.zeros(size), np.zeros(size, bool))
    return bound_neurons(replace(net, steps=(*net.steps[:-1], last, passing)), low, high)[-1]
