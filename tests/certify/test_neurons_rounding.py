"""Proved bounds never exceed exact minima, by not one unit of rounding: functions whose relaxations are exact."""

from fractions import Fraction

import numpy as np
import pytest

from ftheta.certify.goals import set_goal
from ftheta.certify.neurons.enclosing import begin_rows, enclose
from ftheta.certify.neurons.frames import enter_box, take_step
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.kernels import bound_corner, bound_lines
from ftheta.certify.neurons.lines import bound_below, plain_lines
from ftheta.certify.neurons.targets import Targets
from ftheta.certify.questions import Box, Case, Row
from ftheta.relu.network import ExactNetwork, ReluNetwork


def exact_forms(net: ReluNetwork) -> list[tuple[list[Fraction], Fraction]]:
    """The outputs as affine functions of the inputs, where all ReLUs are on."""
    inputs = net.widths[0]
    forms = [([Fraction(i == j) for j in range(inputs)], Fraction(0)) for i in range(inputs)]
    for step in net.steps:
        forms = [
            (
                [
                    sum((Fraction(w) * f[0][i] for w, f in zip(row, forms)), Fraction(0))
                    for i in range(inputs)
                ],
                sum((Fraction(w) * f[1] for w, f in zip(row, forms)), Fraction(b)),
            )
            for row, b in zip(step.matrix.tolist(), step.offset.tolist())
        ]
    return forms


def exact_ends(form: tuple[list[Fraction], Fraction], box: Box) -> tuple[Fraction, Fraction]:
    """The least and the largest value over the box."""
    terms = [(a * lo, a * hi) for a, lo, hi in zip(form[0], box.lo, box.hi)]
    return sum(map(min, terms), form[1]), sum(map(max, terms), form[1])


def random_box(rng: np.random.Generator, inputs: int) -> Box:
    centre = [Fraction(int(rng.integers(-1000, 1000)), 997) for _ in range(inputs)]
    return Box(tuple(c - Fraction(1, 3) for c in centre), tuple(c + Fraction(2, 7) for c in centre))


def float_box(rng: np.random.Generator, inputs: int) -> Box:
    """A box with ends in float64: nothing is lost by rounding it outward."""
    low = rng.normal(size=inputs)
    return Box(
        tuple(map(Fraction, low)), tuple(Fraction(v) for v in low + rng.uniform(0, 1, inputs))
    )


def prove_row(net: ReluNetwork, case: Case) -> float:
    low, high = (np.array(side) for side in case.box.outer())
    frame, _ = enclose(net, Inputs(low, high))
    start = begin_rows(set_goal(case, net.widths[0], net.widths[-1]), frame, np.eye(1))
    return float(bound_below(frame.inputs, frame.layers, start, plain_lines(frame.layers, 1))[0])


@pytest.mark.parametrize("scale", [0, 3, 12])
def test_affine_networks_are_bounded_by_their_exact_minimum(scale: int) -> None:
    """All ReLUs are on; weights of very different sizes and biases that cancel."""
    rng = np.random.default_rng(scale)
    for _ in range(60):
        weights = [
            rng.normal(size=s) * 2.0 ** rng.integers(-scale, scale + 1, s)
            for s in ((4, 3), (5, 4), (2, 5))
        ]
        lift = [np.full(4, 100 * 2.0**scale), np.abs(weights[1]).sum(1) * 300 * 2.0**scale]
        net = ReluNetwork.dense(
            weights, [rng.normal(size=4) + lift[0], rng.normal(size=5) + lift[1], np.zeros(2)]
        )
        box = float_box(rng, 3)
        forms = exact_forms(net)
        third = Fraction(1, 3)
        mixed = ([a - third * b + third * (i == 1) for i, (a, b) in enumerate(zip(forms[0][0], forms[1][0]))],
                 forms[0][1] - third * forms[1][1])  # fmt: skip
        least, largest = exact_ends(mixed, box)
        row = Row({1: third}, {0: Fraction(1), 1: -third}, least)
        bound = prove_row(net, Case(box, ((row,),)))
        assert bound <= 0
        assert bound >= -1e-9 * float(abs(least) + largest - least + 100 * 8**scale)


def test_a_line_above_a_relu_touches_its_end_and_stays_above() -> None:
    r"""$-\mathrm{relu}(z)$ is least where $z$ is largest, and so is the line that replaces it."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        w = rng.normal(size=(1, 3)) * 2.0 ** rng.integers(-6, 7)
        box = float_box(rng, 3)
        centre = [(a + b) / 2 for a, b in zip(box.lo, box.hi)]
        middle = float(sum(Fraction(v) * c for v, c in zip(w[0], centre)))
        inner = ReluNetwork.dense(
            [w], [np.array([-middle + float(rng.normal()) * np.abs(w).sum() / 20])]
        )
        _, largest = exact_ends(exact_forms(inner)[0], box)
        if largest <= 0:
            continue
        net = ReluNetwork.dense([w, [[-1.0]]], [inner.steps[0].offset, np.zeros(1)])
        bound = prove_row(net, Case(box, ((Row({}, {0: Fraction(1)}, -largest),),)))
        assert bound <= 0
        assert bound >= -1e-9 * float(1 + largest)


def test_bounds_of_neurons_hold_their_exact_ranges() -> None:
    """Interval ends and lines, for the sums of two steps, against rationals."""
    rng = np.random.default_rng(11)
    for turn in range(40):
        net = ReluNetwork.dense(
            [rng.normal(size=(4, 3)), rng.normal(size=(6, 4)), rng.normal(size=(1, 6))],
            [rng.normal(size=4) + 20, rng.normal(size=6), np.zeros(1)],
        )
        box = float_box(rng, 3) if turn % 2 else random_box(rng, 3)
        lower, upper = box.outer()
        _, bounds = enclose(net, Inputs(np.array(lower), np.array(upper)))
        for depth, (low, high) in enumerate(bounds, 1):
            part = ReluNetwork.dense(
                [s.matrix for s in net.steps[:depth]], [s.offset for s in net.steps[:depth]]
            )
            for form, a, b in zip(exact_forms(part), low.tolist(), high.tolist()):
                least, largest = exact_ends(form, box)
                assert Fraction(a) <= least and largest <= Fraction(b)


def test_every_term_of_the_error_is_counted() -> None:
    """The terms back each other up in whole bounds: here each one stands alone."""
    A = np.array([[2.0, -3.0, 5.0]])
    lower, upper, offset, push = (
        np.array([row]) for row in ([0.5, 0.5], [0.25, 0.25], [4.0, 4.0], [0.0, 1.0])
    )
    weights = np.array([1.0, 10.0, 100.0])
    for gamma, start in ((0.0, 0.0), (0.5, 7.0)):
        G = np.empty_like(A)
        constant = np.array([start])
        error = np.array([0.0])
        bound_lines(A, 0, 2, lower, upper, offset, push, weights, G, constant, error, gamma)
        assert G.tolist() == [[1.0, 0.25, 5.0]]
        assert constant[0] == start - 12.0
        assert error[0] == 1.0 + 2.5 + 500.0 + gamma * (start + 12.0)
    value = np.empty(1)
    bound_corner(
        np.array([[2.0, -3.0]]),
        np.array([-1.0, -4.0]),
        np.ones(2),
        np.array([5.0]),
        np.ones(1),
        0.5,
        value,
    )
    assert value[0] <= 5.0 - 5.0 - (1.0 + 0.5 * (5.0 + 14.0))


def test_biases_that_cancel_count_in_the_error() -> None:
    """A constant of 2⁶⁰ on the way rounds off what is added to it."""
    big = 2.0**60
    net = ReluNetwork.dense([[[1.0]], [[1.0]], [[1.0]]], [[big], [0.0], [-big]])
    for shift in range(1, 40):  # the least value is −shift, and 2⁶⁰ − shift is no float
        box = Box((Fraction(-shift),), (Fraction(0),))
        assert prove_row(net, Case(box, ((Row({}, {0: Fraction(1)}, Fraction(-shift)),),))) <= 0


def test_rows_of_the_question_bring_their_own_errors() -> None:
    case = Case(
        Box((Fraction(0),), (Fraction(1),)),
        ((Row({0: Fraction(1)}, {0: Fraction(1, 3)}, Fraction(1, 7)),),),
    )
    net = ReluNetwork.dense([[[3.0]]], [[1.0]])
    frame, _ = enclose(net, Inputs(np.zeros(1), np.ones(1)))
    error = begin_rows(set_goal(case, 1, 1), frame, np.eye(1)).error[0]
    own = 2 * 34 * 2.0**-53 * (4 / 3 + 1 + 1 / 7)
    assert error >= frame.last.error[0] / 3 + own * (1 - 1e-12)


def test_lines_lie_above_relus_for_every_rounding_of_their_slopes() -> None:
    rng = np.random.default_rng(5)
    w = rng.normal(size=(400, 1)) * 10.0 ** rng.integers(-3, 4, (400, 1))
    net = ReluNetwork.dense(
        [w, np.ones((1, 400))], [rng.uniform(-1, 1, 400) * np.abs(w[:, 0]), np.zeros(1)]
    )
    layer = enclose(net, Inputs(-np.ones(1), np.ones(1)))[0].layers[0]
    assert layer.undecided > 300
    unit = Fraction(1, 2**53)
    for s, t, bottom, top in zip(
        *(v.tolist() for v in (layer.slope, layer.offset, layer.low, layer.high))
    ):
        for slope in (Fraction(s) * (1 - unit), Fraction(s) * (1 + unit)):
            assert Fraction(t) >= max(-slope * Fraction(bottom), (1 - slope) * Fraction(top))


def test_long_weights_add_to_the_errors_of_their_rows() -> None:
    third = Fraction(1, 3)
    net = ExactNetwork.dense([[[third], [1]], [[1, 1]]], [[0, 0], [0]]).in_floats()
    sums = take_step(net.steps[0], enter_box(Inputs(np.array([-1.0]), np.array([1.0]))))
    assert sums.slack[0] >= abs(Fraction(float(third)) - third) and sums.slack[1] == 0
    assert sums.error[0] >= sums.gamma / 3 + sums.slack[0]


def test_a_bound_of_zero_excludes_strict_rows_alone() -> None:
    box = Box((Fraction(0),), (Fraction(1),))
    for strict in (False, True):
        goal = set_goal(Case(box, ((Row({}, {0: Fraction(1)}, Fraction(0), strict),),)), 1, 1)
        assert Targets(goal).closes(np.array([-1.0, 0.0, 1.0]), np.ones((3, 1))).tolist() == [
            False,
            strict,
            True,
        ]
