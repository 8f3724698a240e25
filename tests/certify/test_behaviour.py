"""Monotone, convex, close, reached, decreasing: decided as closed forms and breakpoints in rationals say."""

from fractions import Fraction
from itertools import pairwise, product

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.behaviour.convex import ConvexJudge, _is_affine
from ftheta.certify.behaviour.linear_slopes import LinearSlopes
from ftheta.certify.behaviour.loops import cut_out
from ftheta.certify.behaviour.monotone import MonotoneJudge
from ftheta.certify.behaviour.properties import read_box
from ftheta.certify.behaviour.sign_search import SignSearch
from ftheta.certify.behaviour.slopes import Signs, SlopeRules, exact_slopes
from ftheta.certify.behaviour.witnesses import Evaluator
from ftheta.certify.questions import Box
from ftheta.logic import UsageError
from ftheta.relu import ReluNetwork
from ftheta.relu.exact import exact
from tests.thoroughness import max_examples

SQUARE = ([-1, -1], [1, 1])
whole = st.integers(-3, 3)


@st.composite
def shallow(draw, inputs=1):
    """A network of one input with up to four neurons and small whole weights."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(whole, whole, whole), min_size=width, max_size=width))
    w, b, c = (np.array(part, np.float64) for part in zip(*rows))
    return ReluNetwork.dense([w[:, None], c[None]], [b, np.array([float(draw(whole))])])


def corners(net, lo, hi):
    """The ends of the interval and all breakpoints between them, in order: the function is affine in between."""
    first = net.steps[0]
    found = {Fraction(lo), Fraction(hi)}
    for w, b in zip(first.matrix[:, 0].tolist(), first.offset.tolist()):
        if w and lo < -Fraction(b) / Fraction(w) < hi:
            found.add(-Fraction(b) / Fraction(w))
    return sorted(found)


def values(net, points):
    in_rationals = exact(net)
    return [in_rationals([x])[0] for x in points]


def slopes(net, lo, hi):
    x = corners(net, lo, hi)
    y = values(net, x)
    return [(d - c) / (b - a) for a, b, c, d in zip(x, x[1:], y, y[1:])]


@given(shallow())
def test_monotone_is_what_slopes_between_breakpoints_say(net):
    truth = all(s >= 0 for s in slopes(net, -2, 3))
    found = ft.verify(net, ft.Monotone(([-2], [3]), increasing=0), budget=2, threads=1)
    assert found.holds == truth
    if not truth:
        (a,), (b,) = found.witness.points
        assert -2 <= a < b <= 3
        assert values(net, [a, b]) == [y for (y,) in found.witness.values]
        assert found.witness.values[0] > found.witness.values[1]


@given(shallow())
def test_decreasing_is_increasing_of_the_negative(net):
    truth = all(s <= 0 for s in slopes(net, -2, 3))
    assert (
        ft.verify(net, ft.Monotone(([-2], [3]), decreasing=[0]), budget=2, threads=1).holds == truth
    )


@given(shallow(), st.booleans())
def test_convex_is_what_slopes_between_breakpoints_say(net, concave):
    steep = slopes(net, -2, 3)
    truth = all((b <= a) if concave else (a <= b) for a, b in pairwise(steep))
    found = ft.verify(net, ft.Convex(([-2], [3]), concave=concave), budget=8, threads=1)
    assert found.holds == truth
    if not truth:
        (a,), (m,), (b,) = found.witness.points
        left, middle, right = values(net, [a, m, b])
        assert 2 * m == a + b
        assert (2 * middle < left + right) if concave else (2 * middle > left + right)


@given(shallow(), shallow())
def test_two_networks_are_close_as_far_as_their_values_at_all_breakpoints(f, g):
    x = sorted({*corners(f, -2, 3), *corners(g, -2, 3)})
    gap = max(abs(a - b) for a, b in zip(values(f, x), values(g, x)))
    assert ft.verify(f, ft.Close(g, ([-2], [3]), gap), budget=5, threads=1).holds is True
    if gap > 0:
        refuted = ft.verify(f, ft.Close(g, ([-2], [3]), gap * Fraction(9, 10)), budget=5, threads=1)
        assert refuted.holds is False
        assert abs(refuted.witness.y[0] - refuted.witness.y[1]) > gap * Fraction(9, 10)


@given(shallow())
def test_the_range_is_taken_at_breakpoints(net):
    y = values(net, corners(net, -2, 3))
    found = ft.range(net, ([-2], [3]), budget=5)
    assert found.lo[0] <= min(y) <= found.least[0]
    assert found.greatest[0] <= max(y) <= found.hi[0]
    assert found.is_tight
    assert float(exact(net)(found.argmax[0])[0]) == pytest.approx(found.greatest[0])


@given(shallow(), whole, whole)
def test_one_step_of_a_loop_reaches_what_its_breakpoints_say(net, a, b):
    x = corners(net, -2, 3)
    y = [a * t + b * u for t, u in zip(x, values(net, x))]
    found = ft.reach(net, ([[a]], [[b]]), ([-2], [3]), budget=5)
    assert found.lo[0] <= min(y) <= found.least[0]
    assert found.greatest[0] <= max(y) <= found.hi[0]
    assert found.is_tight


def test_the_largest_deviation_is_enclosed():
    f = ReluNetwork.dense([[[1.0]], [[1.0]]], [np.zeros(1), np.zeros(1)])
    g = ReluNetwork.dense([[[1.0]], [[2.0]]], [np.array([-1.0]), np.zeros(1)])
    found = ft.range(f, ([-1], [4]), minus=g, budget=5)  # x⁺ − 2(x − 1)⁺: 1 at x = 1, −2 at x = 4
    assert found.hi[0] == pytest.approx(1, abs=2e-3)
    assert found.lo[0] == pytest.approx(-2, abs=4e-3)


# -- slopes -----------------------------------------------------------------------------------------------------------


def test_slopes_of_signs_that_are_known_are_products_of_matrices():
    rng = np.random.default_rng(0)
    W = [rng.standard_normal(shape) for shape in ((4, 3), (5, 4), (2, 5))]
    net = ReluNetwork.dense(W, [np.zeros(4), np.zeros(5), np.zeros(2)])
    on = [rng.random(4) < 0.5, rng.random(5) < 0.5]
    known = [Signs(part, np.zeros(len(part), bool)) for part in on]
    at_inputs, at_first, at_second = SlopeRules(net).enclose(np.eye(2), known)
    product = W[2] * on[1] @ W[1] * on[0] @ W[0]
    assert np.all(at_inputs.low <= product) and np.all(product <= at_inputs.high)
    assert np.ptp([at_inputs.low, at_inputs.high], axis=0).max() < 1e-12
    assert np.allclose(at_first.low, W[2] * on[1] @ W[1])
    assert np.allclose(at_second.low, W[2])


def test_slopes_of_open_signs_hold_those_of_all_choices():
    rng = np.random.default_rng(1)
    W = [rng.standard_normal(shape) for shape in ((3, 2), (3, 3), (1, 3))]
    net = ReluNetwork.dense(W, [np.zeros(3), np.zeros(3), np.zeros(1)])
    is_open = np.ones(3, bool)
    found = SlopeRules(net).enclose(np.eye(1), [Signs(~is_open, is_open)] * 2)[0]
    choices = np.array(np.meshgrid(*[[0.0, 1.0]] * 6)).reshape(6, -1).T
    for d in choices:
        J = W[2] * d[:3] @ W[1] * d[3:] @ W[0]
        assert np.all(found.low <= J + 1e-12) and np.all(found.high >= J - 1e-12)


def test_sums_of_zeros_have_no_error():
    net = ReluNetwork.dense([[[1.0], [0.0]], [[0.1, 0.7]]], [np.zeros(2), np.zeros(1)])
    signs = [Signs(np.zeros(2, bool), np.array([True, False]))]
    found = SlopeRules(net).enclose(np.eye(1), signs)[0]
    # not a little below: a network of weights that are not negative is monotone
    assert found.low[0, 0] == 0
    assert found.high[0, 0] >= 0.1


@pytest.mark.parametrize(
    "box, answers",
    [
        (([0, 0], [1, 0]), ["unsat", "unknown"]),
        (([-1, 0.5], [1, 0.5]), ["sat"]),
        (([0, 0], [0, 0]), ["unsat", "unknown"]),
    ],
)
def test_boxes_without_width_are_boxes_all_the_same(box, answers):
    bowl = ReluNetwork.dense(
        [np.array([[1.0, 1.0], [-1.0, 2.0]]), np.ones((1, 2))], [np.zeros(2), np.zeros(1)]
    )
    assert ft.verify(bowl, ft.Convex(box), threads=1, budget=5).holds
    assert ft.verify(bowl, ft.Monotone(box, increasing=[0]), threads=1, budget=1).answer in answers


def test_facets_say_nothing_of_a_box_without_width():
    """A step of 2⁻⁴⁰ on a slope of 10⁶, in a slice: neither chords nor boxes tell."""
    first = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    offset = np.array([-0.7, -0.7 - 2.0**-40, 1.0])
    net = ReluNetwork.dense([first, np.array([[1.0, -1.0, 1e6]])], [offset, np.zeros(1)])
    box = [0.5, 0.0], [1.0, 0.0]
    assert ft.verify(net, ft.Convex(box), threads=1, budget=0.5).answer in ("unknown", "timeout")


def test_what_is_shown_of_a_rounded_network_is_not_called_a_proof():
    net = ReluNetwork.dense([np.ones((2, 2)), np.ones((1, 2))], [np.zeros(2), np.zeros(1)])
    rounded = ReluNetwork(net.steps, "a constant")
    for asked in (ft.Monotone(SQUARE, increasing=[0]), ft.Convex(SQUARE)):
        assert ft.verify(net, asked, threads=1, budget=1).answer == "unsat"
        assert ft.verify(rounded, asked, threads=1, budget=1).answer == "unknown"


@pytest.mark.parametrize("sign", [1, -1])
def test_values_that_are_only_enclosed_refute_where_no_value_could_be_otherwise(sign):
    """Values between −1 and 1 are in the wrong order, or not; those beyond 1 by some are."""
    box = read_box(([-1.0], [1.0]))
    low, high = Fraction(-1), Fraction(1)
    x, middle, y = (Fraction(-1),), (Fraction(0),), (Fraction(1),)
    net = ReluNetwork.dense([np.ones((1, 1))], [np.zeros(1)])
    convex, monotone = ConvexJudge(net, box, [0], sign), MonotoneJudge(net, box, {0: sign}, [0])
    for shift, refuted in ((0, False), (2, False), (Fraction(9, 4), True)):
        at = {middle: shift * sign, x: shift * sign, y: 0}
        convex.evaluate = Enclosing({**at, x: 0}, low, high)
        monotone.evaluate = Enclosing(at, low, high)
        assert convex.refute(x, y, 0) is refuted
        assert monotone._is_wrong(x, y, 0, 0) is refuted


class Enclosing(Evaluator):
    """One output at each of some points, enclosed between `low` and `high` of it."""

    def __init__(self, values, low, high):
        self._at = lambda x: ((values[x] + low, values[x] + high),)


def test_a_convex_function_whose_neurons_are_not_is_found_by_its_facets():
    net = ReluNetwork.dense([[[1.0, 1.0]] * 2, [[1.0, -0.5]]], [np.zeros(2), np.zeros(1)])
    found = ft.verify(net, ft.Convex(SQUARE), budget=4, threads=1)
    assert (found.holds, found.method) == (True, "facets of the pieces, in rationals")


def test_input_convex_networks_are_convex_at_once():
    rng = np.random.default_rng(2)
    W = [
        rng.standard_normal((8, 5)),
        np.abs(rng.standard_normal((8, 8))),
        np.abs(rng.standard_normal((3, 8))),
    ]
    net = ReluNetwork.dense(W, [rng.standard_normal(8), rng.standard_normal(8), np.zeros(3)])
    found = ft.verify(net, ft.Convex(([-1] * 5, [1] * 5)), threads=1)
    assert found.holds is True
    assert found.subproblems == 1


# -- many inputs ------------------------------------------------------------------------------------------------------


def with_trend(seed, widths, trend):
    """Random weights; and every output grows by `trend` with every input, by a neuron of the first layer that is on."""
    rng = np.random.default_rng(seed)
    W, V = (rng.standard_normal((n, m)) / m**0.5 for m, n in pairwise(widths))
    first = np.vstack([W, np.ones(widths[0])])
    last = np.hstack([V, np.full((widths[2], 1), trend)])
    return ReluNetwork.dense(
        [first, last], [np.append(0.3 * rng.standard_normal(len(W)), 1000), np.zeros(widths[2])]
    )


@max_examples(25)
@given(st.integers(0, 10**6), st.sampled_from([(2, 3, 2), (3, 4, 3, 2), (2, 3, 3, 3, 1)]))
def test_linear_bounds_of_slopes_hold_those_of_all_choices(seed, widths):
    rng = np.random.default_rng(seed)
    W = [rng.standard_normal((n, m)) for m, n in pairwise(widths)]
    net = ReluNetwork.dense(W, [np.zeros(len(w)) for w in W])
    kinds = [rng.integers(0, 3, n) for n in widths[1:-1]]  # off, on, open
    signs = [Signs(kind == 1, kind == 2) for kind in kinds]
    rows = np.eye(widths[-1])
    found = LinearSlopes(net).enclose(rows, signs, np.arange(widths[0]))
    exactly = [np.inf, -np.inf]
    for choice in product((0.0, 1.0), repeat=sum(int((kind == 2).sum()) for kind in kinds)):
        entries = iter(choice)
        J = W[0]
        for w, kind in zip(W[1:], kinds):
            J = w @ (np.array([next(entries) if k == 2 else float(k) for k in kind])[:, None] * J)
        assert np.all(found.low <= J) and np.all(found.high >= J)
        exactly = [np.minimum(exactly[0], J), np.maximum(exactly[1], J)]
    if len(widths) == 3:  # affine in the entries: nothing is lost
        assert np.allclose(found.low, exactly[0]) and np.allclose(found.high, exactly[1])


@max_examples(40)
@given(shallow(), st.booleans())
def test_signs_of_neurons_never_prove_what_slopes_between_breakpoints_deny(net, convex):
    steep = slopes(net, -2, 3)
    box = Box((Fraction(-2),), (Fraction(3),))
    if convex:
        wanted = lambda at, signs: min(
            s.low[:, k.switches].min(initial=np.inf) for s, k in zip(at[1:], signs)
        )
        found = SignSearch(net, np.eye(1), box, wanted).run(lambda *_: False, _is_affine, 0.5)
        assert not found.closed or all(a <= b for a, b in pairwise(steep))
        return
    wanted = lambda at, _: float(at[0].low.min())
    found = SignSearch(net, np.eye(1), box, wanted, {0: 1}).run(
        lambda *_: False, lambda _: False, 0.5
    )
    assert not found.closed or min(steep) >= 0
    assert found.least <= min(steep)


@pytest.mark.parametrize("inputs, radius", [(64, 0.05), (784, 0.002)])
def test_a_trend_in_many_inputs_is_shown_and_its_absence_is_met(inputs, radius):
    """Between the sum of all negative slopes and none at all: the least slope over all patterns is known here."""
    widths = (inputs, 24, 2)
    plain = with_trend(3, widths, 0.0)
    x = np.zeros(inputs)
    box = (x - radius, x + radius)
    bounds = np.abs(plain.steps[0].dense()) @ np.full(inputs, radius)
    z = plain.steps[0].offset
    on, off = z - bounds > 1e-9, z + bounds < -1e-9
    parts = plain.steps[1].dense()[:, :, None] * plain.steps[0].dense()
    least = (
        (np.where(off[:, None], 0, np.where(on[:, None], parts, np.minimum(parts, 0)))).sum(1).min()
    )
    shown = with_trend(3, widths, -least * 1.01)
    found = ft.verify(shown, ft.Monotone(box, increasing=range(inputs)), budget=20, threads=1)
    assert (found.holds, found.method) == (True, "slopes over signs of neurons")
    refuted = ft.verify(shown, ft.Monotone(box, decreasing=range(inputs)), budget=20, threads=1)
    a, b = refuted.witness.points
    assert refuted.holds is False and sum(p != q for p, q in zip(a, b)) == 1


def test_signs_of_neurons_decide_what_no_bound_over_the_whole_box_does():
    """$2x_1^++cx_2^+-1.5(x_1^++x_2^+-1)^+$ grows if $c$ is at least 1.5: where $x_i>0$ is given both are known."""
    box = ([-1] * 20, [1] * 20)
    answers = []
    for c in (1.5, 1.0):
        weights = [np.eye(20)[:2], [[1, 1], [1, 0], [0, 1]], [[-1.5, 2, c]]]
        net = ReluNetwork.dense(weights, [np.zeros(2), np.array([-1, 0.5, 0.5]), np.zeros(1)])
        found = ft.verify(net, ft.Monotone(box, increasing=range(20)), budget=10, threads=1)
        answers.append((found.answer, found.subproblems > 1))
    assert answers == [("unsat", True), ("sat", False)]
    (a, b) = found.witness.points
    assert a[1] < b[1]


def test_what_is_not_decided_in_many_inputs_has_an_enclosure():
    """$h-h$ with two neurons that are one: constant, but each of the two may switch as far as its own sign goes."""
    weights = [np.eye(20)[[0, 0]], [[1.0, -1.0]]]
    net = ReluNetwork.dense(weights, [np.zeros(2), np.zeros(1)])
    found = ft.verify(net, ft.Monotone(([-1] * 20, [1] * 20), increasing=0), budget=2, threads=1)
    assert found.holds is None
    assert -1.001 <= found.least <= -1


# -- smooth networks --------------------------------------------------------------------------------------------------


def smooth(function, inputs=2):
    return ft.Network.of(function, example=(inputs,))


def test_derivatives_of_smooth_networks_decide():
    wave = smooth(lambda x: jnp.stack([jnp.tanh(x[0]) + 0.1 * x[0] - x[1] ** 3]))
    assert ft.verify(wave, ft.Monotone(SQUARE, increasing=0), budget=20).holds is True
    refuted = ft.verify(wave, ft.Monotone(SQUARE, increasing=[0, 1]), budget=20)
    (a, b) = refuted.witness.points
    assert refuted.holds is False
    assert a[0] == b[0] and a[1] < b[1]


def test_second_derivatives_of_smooth_networks_decide():
    bowl = smooth(lambda x: jnp.stack([x[0] ** 2 + x[1] ** 2 + 1.9 * x[0] * x[1]]))
    saddle = smooth(lambda x: jnp.stack([x[0] ** 2 + x[1] ** 2 + 2.1 * x[0] * x[1]]))
    assert ft.verify(bowl, ft.Convex(SQUARE), budget=20).holds is True
    assert ft.verify(saddle, ft.Convex(SQUARE), budget=20).holds is False


def test_a_program_that_jumps_is_not_called_monotone():
    stairs = smooth(lambda x: jnp.floor(-4 * x) + 8 * x, 1)
    assert (
        ft.verify(stairs, ft.Monotone(([0.01], [0.99]), increasing=0), budget=5).holds is not True
    )


def test_a_program_with_kinks_is_not_called_convex_by_its_second_derivative():
    roof = smooth(lambda x: -jnp.abs(x[:1] - 0.3) * 1e-9 + jnp.sin(x[:1]) ** 2, 1)
    assert ft.verify(roof, ft.Convex(([0.2], [0.4])), budget=5).holds is not True


# -- loops ------------------------------------------------------------------------------------------------------------

A = np.array([[1.0, 0.1], [0.0, 1.0]])
B = np.array([[0.0], [0.1]])
K = np.array([[-1.0, -1.5]])
LINEAR = ReluNetwork.dense([np.concatenate([K, -K]), [[1.0, -1.0]]], [np.zeros(2), np.zeros(1)])
INNER = ([-0.1, -0.1], [0.1, 0.1])


@pytest.mark.parametrize("P", [np.array([[2.5, 1.0], [1.0, 1.5]]), np.eye(2)])
def test_a_quadratic_function_decreases_as_eigenvalues_say(P):
    loop = A + B @ K
    truth = bool(np.linalg.eigvalsh(loop.T @ P @ loop - P).max() < 0)
    found = ft.verify(LINEAR, ft.Decreases(P, (A, B), SQUARE, outside=INNER), budget=20, threads=1)
    assert found.holds == truth
    if not truth:
        x = np.array([float(v) for v in found.witness.x])
        assert np.abs(x).max() >= 0.1
        assert (loop @ x) @ P @ (loop @ x) >= x @ P @ x - 1e-12


def test_a_network_as_lyapunov_function_stays_piecewise_affine():
    # x⁺ = x/2 and V = |x₁| + |x₂|
    halving = ReluNetwork.dense([np.eye(2)[:1]], [np.zeros(1)])
    V = ReluNetwork.dense(
        [np.concatenate([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [np.zeros(4), np.zeros(1)]
    )
    step = (0.5 * np.eye(2), np.zeros((2, 1)))
    found = ft.verify(halving, ft.Decreases(V, step, SQUARE, outside=INNER), budget=10, threads=1)
    assert found.holds is True
    grows = ft.verify(
        halving, ft.Decreases(V, (np.eye(2), np.zeros((2, 1))), SQUARE, outside=INNER), threads=1
    )
    assert grows.holds is False  # V(x⁺) = V(x) is no decrease


def test_a_step_in_jax_is_followed():
    found = ft.reach(
        LINEAR,
        lambda x, u: jnp.stack([x[0] + 0.1 * jnp.sin(x[1]), x[1] + 0.1 * u[0]]),
        SQUARE,
        budget=20,
    )
    assert found.hi[0] == pytest.approx(1 + 0.1 * np.sin(1), abs=5e-3)
    assert found.hi[1] == pytest.approx(0.85 + 0.1, abs=5e-3)  # x₂(1 − 0.15) − 0.1x₁


@given(
    st.lists(st.tuples(whole, whole), min_size=2, max_size=2),
    st.tuples(whole, whole).map(lambda p: p),
)
def test_parts_around_a_box_cover_the_rest_of_it(ends, point):
    inner = read_box(([min(e) for e in ends], [max(e) for e in ends]))
    box = read_box(([-2, -2], [2, 2]))
    parts = cut_out(box, inner)
    x = tuple(Fraction(2 * v + 1, 4) for v in point)  # never on a face
    outside = box.contains(x) and not inner.contains(x)
    assert any(part.contains(x) for part in parts) == outside


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: ft.Monotone(SQUARE),
        lambda: ft.Monotone(SQUARE, increasing=0, decreasing=0),
        lambda: ft.Monotone(SQUARE, increasing="0"),
        lambda: ft.Monotone(([1, 1], [0, 0]), increasing=0),
        lambda: ft.Monotone([0, 1, 2], increasing=0),
        lambda: ft.Convex(([0, float("nan")], [1, 1])),
        lambda: ft.Convex(([0, 0], [1, float("inf")])),
        lambda: ft.Close(LINEAR, SQUARE, -1),
        lambda: ft.verify(LINEAR, ft.Monotone(SQUARE, increasing=2)),
        lambda: ft.verify(LINEAR, ft.Monotone(SQUARE, increasing=0, outputs=1)),
        lambda: ft.verify(LINEAR, ft.Convex(([0], [1]))),
        lambda: ft.verify(LINEAR, ft.Convex(SQUARE), meaning="float32"),
        lambda: ft.verify(
            LINEAR, ft.Close(ReluNetwork.dense([np.eye(2)], [np.zeros(2)]), SQUARE, 1)
        ),
        lambda: ft.verify(LINEAR, ft.Decreases(np.eye(3), (A, B), SQUARE, outside=INNER)),
        lambda: ft.verify(LINEAR, ft.Decreases(np.eye(2), (A, B.T), SQUARE, outside=INNER)),
        lambda: ft.Decreases(np.eye(2), (A, B), SQUARE, outside=([0], [1])),
        lambda: ft.Decreases(
            np.eye(2), (A, B), SQUARE, outside=SQUARE
        ),  # nothing would be shown of no state
        lambda: ft.Decreases(np.eye(2), (A, B), SQUARE, outside=([-2, -2], [2, 2])),
        lambda: ft.reach(LINEAR, lambda x, u: u, SQUARE),
        lambda: ft.range(LINEAR, SQUARE, rows=[[1, 2]]),
        lambda: ft.range(LINEAR, SQUARE, tolerance=0),
        lambda: ft.range(LINEAR, ([0], [1])),
    ],
)
def test_bad_input_is_refused_in_words(make):
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.what.endswith(".")


def test_rounded_networks_are_not_traced_into_other_ones():
    """What is proved of the rounded one would be called a proof of the one that was read."""
    rounded = ReluNetwork(LINEAR.steps, "a constant")
    with pytest.raises(UsageError, match="rounded"):
        ft.reach(rounded, lambda x, u: x, SQUARE)


@pytest.mark.parametrize("size", [1e100, 1e200])
@pytest.mark.parametrize("inputs", [2, 18])
def test_slopes_beyond_the_range_of_floats_prove_nothing(size, inputs):
    """A step down of width 2⁻⁴⁰ and height 2⁻⁴⁰ · size²: the slope is −size², and ∞ · 0 is met on the way."""
    first = np.zeros((2, inputs))
    first[:, 0] = 1.0
    net = ReluNetwork.dense(
        [first, np.array([[size, -size]]), np.array([[-size]])],
        [np.array([-0.3333, -0.3333 - 2.0**-40]), np.zeros(1), np.zeros(1)],
    )
    box = np.zeros(inputs), np.ones(inputs)
    assert ft.verify(net, ft.Monotone(box, increasing=0), budget=0.3).answer != "unsat"
    signs = [Signs(np.zeros(n, bool), np.ones(n, bool)) for n in (2, 1)]
    with np.errstate(all="ignore"):
        found = SlopeRules(net).enclose(np.eye(1), signs)[0]
        better = LinearSlopes(net).enclose(np.eye(1), signs, np.arange(2))
    for part in (found, better):
        assert part.low[0, 0] <= -min(size * size, 1e308) and part.high[0, 0] >= 0


@pytest.mark.parametrize("inputs", [1, 20])
def test_slopes_that_underflow_on_the_way_prove_nothing(inputs):
    """The slope is −10⁻²⁵⁰ + 10⁻²⁵⁵, and the product of the first of these that is taken first is 10⁻³⁴⁰."""
    first = np.zeros((2, inputs))
    first[:, 0] = 1e90, 1.0
    net = ReluNetwork.dense(
        [first, np.diag([1e-170, 1e-100]), np.array([[-1e-170, 1e-155]])],
        [np.zeros(2), np.zeros(2), np.zeros(1)],
    )
    box = np.ones(inputs), np.full(inputs, 2.0)
    assert ft.verify(net, ft.Monotone(box, increasing=0), budget=0.3).answer != "unsat"


@pytest.mark.parametrize("sign", [1, -1])
def test_coefficients_that_overflow_before_small_changes_prove_nothing(sign):
    """The slope is ±10¹⁰⁰; taken from the outputs on, its coefficient is 10⁴⁰⁰ before a change of 10⁻³⁰⁰."""
    W = [np.array([[1e-300]]), np.array([[1e200]]), np.array([[sign * 1e200]])]
    net = ReluNetwork.dense(W, [np.zeros(1)] * 3)
    signs = [Signs(np.ones(1, bool), np.zeros(1, bool))] * 2
    with np.errstate(all="ignore"):
        found = LinearSlopes(net).enclose(np.eye(1), signs, np.arange(1))
    assert found.low[0, 0] <= sign * 1e100 <= found.high[0, 0]


@max_examples(100)
@given(
    st.integers(0, 10**6),
    st.sampled_from([100, 400, 600]),
    st.sampled_from([(2, 2, 1), (1, 2, 2, 1), (2, 2, 2, 2, 1)]),
)
def test_bounds_of_slopes_hold_at_the_ends_of_the_floats(seed, reach, widths):
    """Products of weights from 2⁻⁶⁰⁰ to 2⁶⁰⁰ vanish and overflow on the way to slopes of moderate size."""
    rng = np.random.default_rng(seed)
    W = [
        rng.integers(-1, 2, (n, m)) * 2.0 ** rng.uniform(-reach, reach, (n, m))
        for m, n in pairwise(widths)
    ]
    net = ReluNetwork.dense(W, [np.zeros(len(w)) for w in W])
    is_on = [rng.random(n) < 0.8 for n in widths[1:-1]]
    signs = [Signs(on, np.zeros(len(on), bool)) for on in is_on]
    slopes = exact_slopes(exact(net), np.eye(1), signs)[0]
    with np.errstate(all="ignore"):
        plain = SlopeRules(net).enclose(np.eye(1), signs)[0]
        better = LinearSlopes(net).enclose(np.eye(1), signs, np.arange(widths[0]))
    for part in (plain, better):
        for low, slope, high in zip(part.low[0].tolist(), slopes, part.high[0].tolist()):
            assert low < np.inf and (low == -np.inf or Fraction(low) <= slope)
            assert high > -np.inf and (high == np.inf or slope <= Fraction(high))
