"""Bounds over boxes of inputs where nothing but rounding is left: each beside the exact value, in rationals."""

from fractions import Fraction

import numpy as np
import pytest

from ftheta.certify.boxes.arrays import allocate, net_arrays, row_arrays
from ftheta.certify.boxes.multipliers import add_multiple, best_multiplier, lower_bound
from ftheta.certify.boxes.products import add_columns, add_many_magnitudes, add_rows
from ftheta.certify.boxes.relaxations import measure_reach, tighten_row
from ftheta.certify.boxes.rows import bound_rows, is_excluded, mix_rows
from ftheta.certify.boxes.search import meets
from ftheta.certify.boxes.zonotopes import enclose_box
from ftheta.certify.questions import Row
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

ONE = Fraction(1)


def rationals(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(v)) for v in values]


def exact_least(form: np.ndarray, constant: float) -> Fraction:
    """The least value of an affine function on the cube of generators."""
    return Fraction(constant) - sum(map(abs, rationals(form)), Fraction(0))


@pytest.mark.parametrize("size", [1, 7, 40])
def test_least_values_of_forms_are_rounded_down_by_little(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(200):
        form = rng.normal(size=size)
        constant = float(np.abs(form).sum() * rng.choice([1.0, 1 + 1e-15, 3.0]))
        least = exact_least(form, constant)
        found = Fraction(float(lower_bound(form, constant, size)))
        assert least - Fraction(1, 10**11) * size <= found <= least


@pytest.mark.parametrize("size", [1, 7, 40])
def test_multiples_of_what_is_not_positive_are_added_from_below(size: int) -> None:
    """At every corner the sum is at most what it stands for, and its least value is that of the best multiple."""
    rng = np.random.default_rng(size)
    used = 0
    for _ in range(200):
        form, other = rng.normal(size=(2, size))
        constant, other_constant = float(rng.normal()), float(rng.normal() - 0.2)
        beta = best_multiplier(form, constant, other, other_constant, size)
        assert beta >= 0
        used += beta > 0
        mixed = form.copy()
        mixed_constant = add_multiple(mixed, constant, other, other_constant, beta, size)
        for corner in rng.choice([-1, 1], (8, size)):
            at = [Fraction(int(v)) for v in corner]
            f, c, m = (
                sum((a * e for a, e in zip(rationals(of), at)), Fraction(float(v)))
                for of, v in ((form, constant), (other, other_constant), (mixed, mixed_constant))
            )
            stands_for = f + Fraction(beta) * c
            assert stands_for - Fraction(1, 10**10) * size <= m <= stands_for
        if beta > 0:
            assert exact_least(mixed, mixed_constant) >= exact_least(form, constant) - Fraction(
                1, 10**10
            )
    assert used > 20


def affine_network(rng: np.random.Generator, widths: tuple[int, ...]) -> ReluNetwork:
    """All neurons are on in the unit cube: the network is affine there, and sums of either sign cancel."""
    shapes = list(zip(widths[1:], widths[:-1]))
    weights = [rng.uniform(-0.5, 0.5, shape) / shape[1] for shape in shapes]
    biases = [rng.uniform(3, 4, shape[0]) for shape in shapes]
    return ReluNetwork.dense(weights, [*biases[:-1], rng.normal(size=widths[-1])])


def exact_rows(net: ReluNetwork, rows: list[Row]) -> list[tuple[list[Fraction], Fraction]]:
    """The excesses as affine functions of the inputs, where all neurons are on."""
    d = net.widths[0]
    network = exact(net)
    origin = [Fraction(0)] * d
    found = []
    for row in rows:
        at_zero = row.excess(origin, network(origin))
        units = [[ONE if i == k else Fraction(0) for k in range(d)] for i in range(d)]
        found.append(([row.excess(unit, network(unit)) - at_zero for unit in units], at_zero))
    return found


@pytest.mark.parametrize("widths", [(4, 6, 2), (3, 20, 20, 2), (5, 8, 8, 8, 8, 2)])
def test_affine_networks_are_bounded_by_their_exact_least_excess(widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(widths))
    for _ in range(30):
        net = affine_network(rng, widths)
        d = widths[0]
        lo = rng.uniform(-1, 0.5, d)
        hi = lo + rng.choice([0.0, 1e-12, 0.3, 0.5], d)
        rows = [
            Row({0: Fraction(1, 3)}, {0: ONE, 1: Fraction(-1, 7)}, Fraction(1, 9)),
            Row({}, {0: Fraction(-2, 3), 1: -ONE}, Fraction(5, 7)),
        ]
        arrays, listed = net_arrays(net), row_arrays((tuple(rows),), d, 2)
        zonotope, bounds, scratch = allocate(arrays, listed)
        generators = enclose_box(arrays, lo, hi, np.zeros(len(arrays.biases), np.int8), 0, zonotope)
        assert generators == d
        bound_rows(listed, lo, hi, generators, zonotope, bounds)
        least = [
            constant
            + sum(
                (min(a * Fraction(x), a * Fraction(y)) for a, x, y in zip(form, lo, hi)),
                Fraction(0),
            )
            for form, constant in exact_rows(net, rows)
        ]
        slack = Fraction(1, 10**11)
        for s in range(2):
            assert least[s] - slack <= Fraction(float(bounds.least[s])) <= least[s]
        measure_reach(arrays, zonotope.lines, lo, hi, scratch)
        bounds.least[:] = -np.inf
        for s in range(2):
            tighten_row(arrays, listed, s, lo, hi, zonotope.lines, zonotope.ball, bounds, scratch)
            assert least[s] - slack <= Fraction(float(bounds.least[s])) <= least[s]
            assert exact_least(bounds.forms[s, :generators], float(bounds.constants[s])) <= least[s]
        mix_rows(listed, 0, generators, zonotope, bounds)
        corner = [Fraction(float(v)) for v in hi]
        outputs = exact(net)(corner)
        assert Fraction(float(bounds.least[2])) <= max(row.excess(corner, outputs) for row in rows)


def place_in_box(lo: np.ndarray, hi: np.ndarray, x: np.ndarray) -> list[Fraction]:
    """The values of the generators of the inputs at a point."""
    centre = 0.5 * lo + 0.5 * hi
    radius = np.maximum(hi - centre, centre - lo) * (1.0 + 4.0 * 2.0**-53) + 1e-290
    return [(v - c) / r for v, c, r in zip(rationals(x), rationals(centre), rationals(radius))]


def draw_far_neuron(
    rng: np.random.Generator, tilt: float
) -> tuple[ReluNetwork, np.ndarray, np.ndarray]:
    """One neuron over a box far from the origin, where its sums cancel: zero lies at `tilt` of its range."""
    w = rng.normal(size=(1, 3))
    lo = float(10.0 ** rng.integers(0, 7)) + rng.uniform(-1, 0, 3)
    hi = lo + rng.uniform(0.1, 1, 3)
    bias = tilt * (np.abs(w) @ (0.5 * hi - 0.5 * lo)) - w @ (0.5 * lo + 0.5 * hi)
    return ReluNetwork.dense([w, np.ones((1, 1))], [bias, np.zeros(1)]), lo, hi


@pytest.mark.parametrize("tilt", [0.0, 0.9998, -0.9998])
def test_lines_around_one_relu_hold_it_at_both_ends(tilt: float) -> None:
    """Where a line touches the ReLU nothing but rounding lies between: the state is inside, exactly."""
    rng = np.random.default_rng(0)
    touched = 0
    for _ in range(400):
        net, lo, hi = draw_far_neuron(rng, tilt)
        w = net.steps[0].dense()[0]
        arrays, listed = net_arrays(net), row_arrays(((Row({}, {0: ONE}, Fraction(0)),),), 3, 1)
        zonotope, _, _ = allocate(arrays, listed)
        if enclose_box(arrays, lo, hi, np.zeros(2, np.int8), 0, zonotope) != 4:
            continue
        touched += 1
        for far in (np.where(w > 0, hi, lo), np.where(w > 0, lo, hi)):
            y = exact(net)(rationals(far))[0]
            along = place_in_box(lo, hi, far)
            value = Fraction(float(zonotope.centre[0]))
            value += sum(
                (g * e for g, e in zip(rationals(zonotope.generators[:3, 0]), along)), Fraction(0)
            )
            room = abs(Fraction(float(zonotope.generators[3, 0]))) + Fraction(
                float(zonotope.error[0])
            )
            assert abs(y - value) <= room
    assert touched > 100


@pytest.mark.parametrize("sign", [1, -1])
def test_cuts_are_not_positive_where_a_neuron_has_its_sign(sign: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        net, lo, hi = draw_far_neuron(rng, float(rng.uniform(-0.5, 0.5)))
        arrays, listed = net_arrays(net), row_arrays(((Row({}, {0: ONE}, Fraction(0)),),), 3, 1)
        zonotope, _, _ = allocate(arrays, listed)
        enclose_box(arrays, lo, hi, np.array([sign, 0], np.int8), 0, zonotope)
        assert zonotope.cuts.count[0] == 1
        first = net.steps[0]
        for x in (lo, hi, np.clip(lo + (hi - lo) * rng.uniform(size=3), lo, hi)):
            terms = zip(rationals(first.dense()[0]), rationals(x))
            z = sum((a * v for a, v in terms), Fraction(float(first.offset[0])))
            along = place_in_box(lo, hi, x)
            cut = sum(
                (g * e for g, e in zip(rationals(zonotope.cuts.forms[0, :3]), along)),
                Fraction(float(zonotope.cuts.constants[0])),
            )
            assert cut <= -sign * z


@pytest.mark.parametrize("strict", [False, True])
def test_a_bound_of_zero_excludes_a_strict_row_alone(strict: bool) -> None:
    net = ReluNetwork.dense([np.ones((1, 1)), np.ones((1, 1))], [np.zeros(1), np.zeros(1)])
    rows = row_arrays(((Row({}, {0: ONE}, Fraction(0), strict),),), 1, 1)
    _, bounds, _ = allocate(net_arrays(net), rows)
    bounds.least[:] = 0.0, -1.0
    assert is_excluded(rows, 0, bounds) == strict
    bounds.least[:] = -1.0, 0.0  # a mixture that may be of lax rows alone
    assert not is_excluded(rows, 0, bounds)


@pytest.mark.parametrize("is_thin", [False, True])
def test_multiples_of_many_rows_and_columns_are_their_sums(is_thin: bool) -> None:
    """However many there are beside the four that are added at once."""
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(9, 13))
    matrix[rng.random(matrix.shape) < (0.9 if is_thin else 0.1)] = 0.0
    first = np.eye(13)[:, :2] if is_thin else np.ones((13, 2))
    net = net_arrays(ReluNetwork.dense([first, matrix], [np.ones(13), np.zeros(9)]))
    assert bool(net.is_sparse[1]) == is_thin
    for add, lines in (
        (add_columns, matrix.T),
        (add_rows, matrix),
        (add_many_magnitudes, np.abs(matrix).T),
    ):
        for count in range(len(lines) + 1):
            places = rng.permutation(len(lines))[: count or 1]
            factors = rng.normal(size=count or 1)
            target = np.ones(lines.shape[1])
            add(net, 1, places, factors, count, target)
            exact_sum = [
                ONE + sum((a * Fraction(v) for a, v in zip(rationals(factors), column)), 0 * ONE)
                for column in (lines[places[:count]].T if count else np.empty((len(target), 0)))
            ]
            assert all(
                abs(Fraction(float(t)) - e) < Fraction(1, 10**13) for t, e in zip(target, exact_sum)
            )


def test_points_that_meet_a_disjunct_are_seen() -> None:
    """As often by chance as not; in floats, far from ties."""
    rng = np.random.default_rng(5)
    answers = []
    for _ in range(40):
        widths = (3, 6, 6, 2)
        shapes = list(zip(widths[1:], widths[:-1]))
        net = ReluNetwork.dense(
            [rng.normal(size=shape) for shape in shapes], [rng.normal(size=n) for n in widths[1:]]
        )
        x = rng.normal(size=3)
        y = net(x[None])[0]
        bounds = [Fraction(float(v + rng.choice([-1, 1]))) for v in y]
        unsafe = tuple((Row({}, {j: ONE}, b),) for j, b in enumerate(bounds))
        arrays, rows = net_arrays(net), row_arrays(unsafe, 3, 2)
        answers.append(bool((y <= [float(b) for b in bounds]).any()))
        assert meets(arrays, rows, x, 1e-9, allocate(arrays, rows)[2]) == answers[-1]
    assert {True, False} == set(answers)


def test_all_that_can_be_summed_is_counted() -> None:
    """The error terms of the rows rest on it: sizes of inputs at their farther end, and of offsets."""
    rng = np.random.default_rng(6)
    net = affine_network(rng, (3, 7, 6, 2))
    lo = np.array([-0.5, 0.1, 0.2])
    hi = np.array([0.1, 0.4, 0.2])
    arrays, rows = net_arrays(net), row_arrays(((Row({}, {0: ONE}, ONE),),), 3, 2)
    zonotope, _, scratch = allocate(arrays, rows)
    enclose_box(arrays, lo, hi, np.zeros(len(arrays.biases), np.int8), 0, zonotope)
    measure_reach(arrays, zonotope.lines, lo, hi, scratch)
    sizes = np.maximum(abs(lo), abs(hi))
    done = 0
    for step in net.steps:
        count = len(step.offset)
        expected = np.abs(step.dense()) @ sizes + np.abs(step.offset)
        assert scratch.reach[done : done + count] == pytest.approx(expected, rel=1e-12)
        sizes = zonotope.lines[3, done : done + count]
        done += count
