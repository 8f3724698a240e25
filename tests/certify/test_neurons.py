"""Verification by splitting neurons, held against exact complexes, samples and linear programs."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from ftheta.certify.goals import set_goal
from ftheta.certify.neurons.bounding import aim_at_margins, bound_margins, show_margins
from ftheta.certify.neurons.enclosing import begin_rows, enclose
from ftheta.certify.neurons.frames import Frame
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.leaves import close_leaf
from ftheta.certify.neurons.lines import Climb, bound_below, draw_lines, optimise, plain_lines
from ftheta.certify.neurons.refining import Effort
from ftheta.certify.neurons.search import search_neurons
from ftheta.certify.properties import Robust
from ftheta.certify.questions import Box, Case, Row
from ftheta.certify.searches import Search
from ftheta.certify.verification import decide as decide_by_boxes
from ftheta.pieces import pieces
from ftheta.pieces.domains import Box as PiecesBox
from ftheta.relu.exact import exact
from ftheta.relu.network import ExactNetwork, ReluNetwork, Step


def random_net(rng: np.random.Generator, widths: list[int]) -> ReluNetwork:
    weights = [rng.normal(0, 1.5 / np.sqrt(a), (b, a)) for a, b in pairwise(widths)]
    return ReluNetwork.dense(weights, [rng.normal(0, 0.5, b) for b in widths[1:]])


def unit_box(inputs: int, radius: Fraction = Fraction(1)) -> Box:
    return Box((-radius,) * inputs, (radius,) * inputs)


def at_most(bound: Fraction, output: int = 0, strict: bool = False) -> tuple[Row, ...]:
    return (Row({}, {output: Fraction(1)}, bound, strict),)


def asker(net: ReluNetwork, case: Case):
    network = exact(net)
    return lambda x: case.admits(tuple(map(Fraction, x.tolist())), network(x.tolist()))


def decide(net: ReluNetwork, case: Case, seconds: float = 60.0) -> Search:
    found = search_neurons(net, case, seconds=seconds, propose=asker(net, case))
    if found.found is not None:
        assert asker(net, case)(found.found)
    return found


def exact_minimum(net: ReluNetwork, inputs: int, output: int = 0) -> Fraction:
    extreme = pieces(net, PiecesBox([-1] * inputs, [1] * inputs), exact=True).argmin(output)
    return exact(net)(extreme.point)[output]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shift", [Fraction(1, 2**10), Fraction(1, 2**30)])
def test_thresholds_beside_the_exact_minimum_are_decided(seed: int, shift: Fraction) -> None:
    rng = np.random.default_rng(seed)
    inputs = int(rng.integers(1, 4))
    net = random_net(rng, [inputs, int(rng.integers(2, 7)), int(rng.integers(2, 7)), 2])
    least = exact_minimum(net, inputs)
    below = decide(net, Case(unit_box(inputs), (at_most(least - shift),)))
    assert below.closed and below.found is None and below.open == 0
    assert 0 < below.least <= shift
    above = decide(net, Case(unit_box(inputs), (at_most(least + shift),)))
    assert above.found is not None and not above.closed


@pytest.mark.parametrize("seed", range(6))
def test_a_tie_is_never_proved(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    net = random_net(rng, [2, 5, 4, 1])
    least = exact_minimum(net, 2)
    answer = decide(net, Case(unit_box(2), (at_most(least),)), seconds=5)
    assert not answer.closed
    assert answer.least <= 0


def all_bounds(
    frame: Frame, case: Case, rng: np.random.Generator, climb: int
) -> tuple[np.ndarray, np.ndarray]:
    """Proved bounds of the rows with optimised and with random slopes."""
    goal = set_goal(case, len(frame.inputs.low), frame.last.weight.shape[0])
    rows = len(goal.bounds)
    start = begin_rows(goal, frame, np.eye(rows))
    lines = plain_lines(frame.layers, rows)
    found = optimise(frame.inputs, frame.layers, start, lines, Climb(climb))
    optimised = draw_lines(frame.layers, found.lower, found.push, lines.sign)
    arbitrary = draw_lines(
        frame.layers, rng.uniform(0, 1, lines.lower.shape), found.push, lines.sign
    )
    return tuple(bound_below(frame.inputs, frame.layers, start, x) for x in (optimised, arbitrary))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_bounds_hold_at_random_points_and_corners(seed: int, is_sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    net = random_net(rng, [6, 12, 10, 8, 3])
    steps = []
    for step in net.steps[:-1]:  # some coordinates are passed on as they are
        matrix = sparse.csr_array(step.matrix) if is_sparse else step.matrix
        steps.append(Step(matrix, step.offset, rng.uniform(size=len(step.offset)) < 0.8))
    net = ReluNetwork((*steps, net.steps[-1]))
    rows = tuple(
        (Row({0: Fraction(k, 3)}, {k: Fraction(1), 0: Fraction(1, 3)}, Fraction(1, 7)),)
        for k in range(3)
    )
    case = Case(unit_box(6, Fraction(1, 3)), rows)
    low, high = (np.array(side) for side in case.box.outer())
    plain, bounds = enclose(net, Inputs(low, high))
    tight, _ = enclose(net, Inputs(low, high), Climb(10), bounds)
    points = rng.uniform(low, high, (4000, 6))
    points[:1000] = np.where(rng.uniform(size=(1000, 6)) < 0.5, low, high)
    state = points.T
    for k, step in enumerate(net.steps[:-1]):
        z = step.matrix @ state + step.offset[:, None]
        for frame in (plain, tight):
            layer = frame.layers[k]
            undecided = z[layer.kept[: layer.undecided]].T
            assert np.all(layer.low <= undecided + 1e-12) and np.all(
                undecided <= layer.high + 1e-12
            )
            dead = np.setdiff1d(np.arange(len(z)), layer.kept)
            assert np.all(z[dead] <= 1e-12) and step.rectified[dead].all()
            on = layer.kept[layer.undecided :]
            assert np.all(z[on[step.rectified[on]]] >= -1e-12)
        assert np.all(tight.layers[k].undecided <= plain.layers[k].undecided)
        state = np.where(step.rectified[:, None], np.maximum(z, 0), z)
    goal = set_goal(case, 6, 3)
    excess = goal.excess(points, net(points)).min(0)
    before, _ = all_bounds(plain, case, rng, 1)
    for bound in (before, *all_bounds(tight, case, rng, 20)):
        assert np.all(bound <= excess + 1e-12)
    assert np.all(all_bounds(tight, case, rng, 20)[0] >= before - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_splitting_for_single_neurons_tightens_their_bounds_and_keeps_them_sound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_net(rng, [5, 10, 8, 6, 1])
    low = np.full(5, -0.7)
    _, bounds = enclose(net, Inputs(low, -low))
    _, optimised = enclose(net, Inputs(low, -low), Climb(20), bounds)
    _, refined = enclose(net, Inputs(low, -low), Climb(20), optimised, Effort(200, np.inf))
    state = rng.uniform(low, -low, (20000, 5)).T
    tighter = 0
    for step, before, after in zip(net.steps, optimised, refined):
        z = step.matrix @ state + step.offset[:, None]
        assert np.all(after[0] <= z.min(1) + 1e-12) and np.all(z.max(1) <= after[1] + 1e-12)
        assert np.all(before[0] <= after[0]) and np.all(after[1] <= before[1])
        tighter += int((after[0] > before[0] + 1e-3).sum())
        state = np.maximum(z, 0)
    assert tighter > 0


def triangle_minimum(frame: Frame, coefficients: np.ndarray, constant: float) -> float:
    """The least of a linear function of the last layer's outputs over all lines around the ReLUs, by HiGHS."""
    inputs = len(frame.inputs.low)
    sizes = [len(layer.kept) for layer in frame.layers]
    first = np.cumsum([inputs, *sizes])
    total = first[-1]
    A, b, E, e = [], [], [], []
    for k, layer in enumerate(frame.layers):
        before = 0 if k == 0 else first[k - 1]
        for r in range(sizes[k]):
            z = np.zeros(total)
            z[before : before + layer.weight.shape[1]] = layer.weight[r]
            h = np.zeros(total)
            h[first[k] + r] = 1
            if r >= layer.undecided:
                E.append(h - z)
                e.append(layer.bias[r])
                continue
            slope = layer.slope[r]
            A += [z - h, -h, h - slope * z]
            b += [-layer.bias[r], 0.0, layer.offset[r] + slope * layer.bias[r]]
    cost = np.zeros(total)
    cost[first[-2] :] = coefficients
    sides = [*zip(frame.inputs.low, frame.inputs.high), *[(None, None)] * (total - inputs)]
    found = linprog(
        cost, np.array(A), np.array(b), np.array(E) if E else None, e or None, sides, method="highs"
    )
    return float(found.fun) + constant


@pytest.mark.parametrize("seed", range(5))
def test_optimised_slopes_reach_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_net(rng, [4, 8, 8, 1])
    case = Case(unit_box(4, Fraction(1, 2)), (at_most(Fraction(0)),))
    low, high = (np.array(side) for side in case.box.outer())
    frame, _ = enclose(net, Inputs(low, high))
    start = begin_rows(set_goal(case, 4, 1), frame, np.eye(1))
    best = triangle_minimum(frame, start.outputs[0], start.constant[0])
    lines = plain_lines(frame.layers, 1)
    plain = bound_below(frame.inputs, frame.layers, start, lines)[0]
    found = optimise(frame.inputs, frame.layers, start, lines, Climb(400, rate=0.1, fade=0.99))
    better = draw_lines(frame.layers, found.lower, found.push, lines.sign)
    bound = bound_below(frame.inputs, frame.layers, start, better)[0]
    assert bound <= best + 1e-9
    assert bound >= best - 0.02 * max(best - plain, 0.05)


@pytest.mark.parametrize("seed", range(8))
def test_leaves_are_bounded_by_their_linear_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_net(rng, [3, 5, 4, 2])
    rows = (
        Row({}, {0: Fraction(1)}, Fraction(1, 3)),
        Row({1: Fraction(2)}, {1: Fraction(-1)}, Fraction(1, 5)),
    )
    case = Case(unit_box(3), (rows,))
    low, high = (np.array(side) for side in case.box.outer())
    frame, _ = enclose(net, Inputs(low, high))
    goal = set_goal(case, 3, 2)
    points = rng.uniform(low, high, (20000, 3))
    signs = []
    state = points.T
    for step, layer in zip(net.steps, frame.layers):
        z = step.matrix @ state + step.offset[:, None]
        signs.append(np.where(z[layer.kept[: layer.undecided]] > 0, 1, -1))
        state = np.maximum(z, 0)
    patterns = np.concatenate(signs).T.astype(np.int8)
    worst = goal.worst(goal.excess(points, net(points)))[:, 0]
    for pattern in np.unique(patterns, axis=0)[:6]:
        leaf = close_leaf(frame, goal, np.array([0, 1]), pattern, 10.0)
        here = (patterns == pattern).all(1)
        assert leaf.bound <= worst[here].min() + 1e-9
        assert leaf.point is not None
        assert (
            goal.worst(goal.excess(leaf.point[None], net(leaf.point[None])))[0, 0]
            <= leaf.bound + 1e-6
        )
    unseen = -patterns[0]
    if not (patterns == unseen).all(1).any():
        assert close_leaf(frame, goal, np.array([0, 1]), unseen, 10.0).bound >= -1e-6 + worst.min()


def test_a_leaf_is_not_empty_on_the_word_of_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS says that there is no such point, and has no multipliers that show it: nothing is closed."""
    rng = np.random.default_rng(0)
    net = random_net(rng, [3, 5, 2])
    case = Case(unit_box(3), (at_most(Fraction(0)),))
    low, high = (np.array(side) for side in case.box.outer())
    frame, _ = enclose(net, Inputs(low, high))

    def say(cost: np.ndarray, A: np.ndarray, *_: object) -> SimpleNamespace:
        is_first = A.shape[0] > frame.neurons
        return SimpleNamespace(
            status=2 if is_first else 0,
            x=None,
            ineqlin=SimpleNamespace(marginals=np.zeros(A.shape[0])),
        )

    monkeypatch.setattr("ftheta.certify.neurons.leaves._solve", say)
    leaf = close_leaf(
        frame, set_goal(case, 3, 2), np.array([0]), np.ones(frame.neurons, np.int8), 10.0
    )
    assert leaf.bound == -np.inf


@pytest.mark.parametrize("seed", range(10))
def test_conjunctions_are_decided_as_the_complex_says(seed: int) -> None:
    """Both outputs below their thresholds: the exact least of the larger one, by a network that computes it."""
    rng = np.random.default_rng(seed)
    net = random_net(rng, [2, 5, 4, 2])
    largest = (
        ReluNetwork.dense([[[1, -1], [0, 1], [0, -1]], [[1, 1, -1]]], [np.zeros(3), np.zeros(1)])
        @ net
    )
    least = exact_minimum(largest, 2)
    for shift in (Fraction(-1, 2**20), Fraction(1, 2**20)):
        bound = least + shift
        answer = decide(net, Case(unit_box(2), (at_most(bound, 0) + at_most(bound, 1),)))
        assert answer.closed == (shift < 0)
        assert (answer.found is not None) == (shift > 0)


def test_a_planted_counter_example_is_found() -> None:
    """A dip of width 2⁻¹² in eight inputs, where the output falls below −1/2."""
    rng = np.random.default_rng(1)
    direction = rng.normal(size=8)
    direction /= np.abs(direction).sum()
    at = float(direction @ rng.uniform(-0.5, 0.5, 8))
    width = 2.0**-12
    hidden = np.stack([direction] * 3)
    hat = ReluNetwork.dense(
        [hidden, np.array([[-1, 2, -1]]) / width],
        [-at + width * np.array([1, 0, -1]), np.array([0.25])],
    )
    answer = decide(hat, Case(unit_box(8), (at_most(Fraction(-1, 2)),)))
    assert answer.found is not None
    safe = decide(hat, Case(unit_box(8), (at_most(Fraction(-7, 8)),)))
    assert safe.closed


def test_strict_rows_close_at_zero() -> None:
    """A network that is at least 0 and attains it: y < 0 is impossible, y ≤ 0 is not."""
    net = ReluNetwork.dense([[[1.0]], [[1.0]]], [[-2.0], [0.0]])  # zero all over the box
    box = unit_box(1)
    assert not decide(net, Case(box, (at_most(Fraction(0)),))).closed
    assert decide(net, Case(box, (at_most(Fraction(0)),))).found is not None
    assert decide(net, Case(box, (at_most(Fraction(0), strict=True),))).found is None


def test_without_disjuncts_and_in_an_empty_box_nothing_is_met() -> None:
    net = random_net(np.random.default_rng(0), [2, 3, 1])
    assert decide(net, Case(unit_box(2), ())).closed
    assert decide(
        net, Case(Box((Fraction(1),) * 2, (Fraction(0),) * 2), (at_most(Fraction(0)),))
    ).closed
    assert decide(net, Case(unit_box(2), ((),))).found is not None


def test_weights_beyond_float64_widen_the_bounds() -> None:
    """Constants that cancel: the exact output is 2⁻⁶⁰ at one point and more elsewhere; floats see zero."""
    third = Fraction(1, 3)
    long = ExactNetwork.dense([[[third], [-third]], [[3, 3]]], [[0, 0], [Fraction(1, 2**60)]])
    net = long.in_floats()
    case = Case(unit_box(1), (at_most(Fraction(1, 2**61)),))
    assert not search_neurons(net, case, seconds=2, propose=lambda _: False).closed
    assert search_neurons(
        net, Case(unit_box(1), (at_most(Fraction(-1, 2**20)),)), seconds=5, propose=lambda _: False
    ).closed


def test_rounding_of_large_constants_proves_nothing_wrong() -> None:
    """2⁵⁶ is added and taken away again: in float64 the output is off by several units."""
    big = 2.0**56
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.normal(size=(3, 2))
        net = ReluNetwork.dense(
            [w, np.array([[1.0, 1.0, 1.0], [0, 0, 0]]), [[1.0, -1.0]]],
            [np.zeros(3), np.array([big, big]), np.zeros(1)],
        )
        # the exact output is the sum of three ReLUs, zero at the origin
        answer = search_neurons(
            net, Case(unit_box(2), (at_most(Fraction(0)),)), seconds=1, propose=lambda _: False
        )
        assert not answer.closed
        assert answer.least <= 0


def test_an_interrupted_search_has_a_valid_bound() -> None:
    rng = np.random.default_rng(3)
    net = random_net(rng, [30, 60, 60, 60, 1])
    points = rng.uniform(-1, 1, (2000, 30))
    least = float(net(points).min())
    case = Case(unit_box(30), (at_most(Fraction(least) - 1),))
    calls: list[tuple[float, int, int]] = []
    answer = search_neurons(
        net,
        case,
        seconds=0.5,
        propose=lambda _: False,
        progress=lambda *args: calls.append(args),
        threads=2,
    )
    assert not answer.closed and answer.found is None and answer.open > 0
    assert answer.least <= 1
    plain = search_neurons(net, case, seconds=0.0, propose=lambda _: False)
    assert not plain.closed and plain.least <= answer.least
    assert calls and calls[-1][0] == answer.least
    assert all(a[0] <= b[0] for a, b in pairwise(calls))


def test_branch_and_bound_of_margins_shows_what_is_true_and_more_than_bounds_do():
    """Labels over boxes, decided by boxes of inputs too: nothing false is shown, and nearly all that is true."""
    rng = np.random.default_rng(8)
    shown = true = by_bounds = 0
    for _ in range(30):
        net = ReluNetwork.dense(
            [rng.standard_normal(shape) for shape in ((12, 3), (12, 12), (3, 12))],
            [rng.standard_normal(n) for n in (12, 12, 3)],
        )
        x = rng.uniform(-1, 1, 3)
        label = int(np.argmax([float(v) for v in exact(net)([Fraction(float(v)) for v in x])]))
        eps = Fraction(float(rng.uniform(0.1, 0.6)))
        box = Robust(x, eps=eps, label=label).question(3).cases[0].box
        lo, hi = (np.array(side, np.float64) for side in box.outer())
        targets = aim_at_margins(net, label)
        is_shown = show_margins(net, targets, lo, hi, splits=8, most_domains=2000) > 0
        truth = decide_by_boxes(net, Robust(x, eps=eps, label=label).question(3), seconds=5).answer
        assert not is_shown or truth == "unsat"
        shown += is_shown
        true += truth == "unsat"
        by_bounds += bool(np.all(bound_margins(net, targets, lo, hi, optimised=True) > 0))
    assert by_bounds < shown
    assert shown >= true - 1
