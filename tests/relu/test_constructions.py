"""Constructions on the line and maxima, proved equal to what they should be."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError, UsageError
from ftheta.relu import elementary as make
from ftheta.relu.counts import count, is_plain
from ftheta.relu.line.cpa1d import PiecewiseAffine, absolute, affine, from_breaks, relu
from ftheta.relu.line.points import (
    from_slopes,
    line_network,
    on_line,
    restrict_to_line,
    through_points,
)
from ftheta.relu.line.sawtooth import (
    folding,
    folding_regions,
    polynomial,
    product,
    sawtooth,
    sparse_zigzag,
    square,
    square_error,
    zigzag,
)
from ftheta.relu.maxima.maximum import (
    hidden_layers,
    max_affine,
    max_min,
    maximum,
    minimum_of,
    neurons,
)
from ftheta.relu.network import ExactNetwork

from ..thoroughness import max_examples
from .nets import networks, rationals

X = affine(1)
ONE = affine(0, 1)


def inside_unit_interval(f: PiecewiseAffine) -> int:
    """The number of affine pieces on [0, 1]."""
    return 1 + sum(0 < t < 1 for t in f.kinks)


def area(f: PiecewiseAffine) -> Fraction:
    """The integral of a function that vanishes beyond its outermost kinks."""
    assert f.slopes[0] == f.slopes[-1] == f.values[0] == f.values[-1] == 0
    return sum(((b - a) * (f(a) + f(b)) / 2 for a, b in pairwise(f.kinks)), Fraction(0))


def test_the_exercise_functions_are_proved_equal_to_their_networks() -> None:
    third = Fraction(1, 3)
    soft = relu(X - affine(0, third)) - relu(affine(-1) - affine(0, third))
    assert on_line(make.identity()) == (X,)
    assert on_line(make.absolute()) == (absolute(X),)
    assert on_line(make.ramp()) == (from_breaks([0, 1], lambda t: min(max(t, 0), 1)),)
    assert on_line(make.soft_threshold(third)) == (soft,)


def test_the_hat_has_two_networks_and_twice_applied_it_is_min_of_abs_and_one() -> None:
    hat = from_breaks([-1, 0, 1], lambda t: max(Fraction(0), 1 - abs(t)))
    assert on_line(make.hat()) == on_line(make.deep_hat()) == (hat,)
    assert area(hat) == 1 and (hat.kinks[0], hat.kinks[-1]) == (-1, 1)
    assert on_line(make.hat() @ make.hat()) == (
        from_breaks([-1, 0, 1], lambda t: min(abs(t), Fraction(1))),
    )
    assert count(make.hat()).neurons == 3 and make.deep_hat().widths == (1, 2, 1, 1)


@given(rationals, rationals)
def test_the_smaller_of_two_numbers(x: Fraction, y: Fraction) -> None:
    assert make.minimum()([x, y]) == (min(x, y),)
    assert count(make.minimum()).neurons == 3


@given(rationals, st.integers(1, 5))
def test_rectified_powers_give_powers(x: Fraction, p: int) -> None:
    assert make.repu_power(x, p) == x**p
    with pytest.raises(UsageError):
        make.repu_power(x, 0)


@given(st.lists(rationals, min_size=2, max_size=2))
def test_an_ista_network_takes_ista_steps(x: list[Fraction]) -> None:
    A = [[1, 2], [0, 1], [3, -1]]
    y = [1, 0, 2]
    tau = Fraction(1, 20)
    lam = Fraction(1, 2)

    def step(x: list[Fraction]) -> list[Fraction]:
        r = [sum(a * t for a, t in zip(row, x)) - v for row, v in zip(A, y)]
        z = [t - tau * sum(row[j] * e for row, e in zip(A, r)) for j, t in enumerate(x)]
        return [max(t - tau * lam, Fraction(0)) - max(-t - tau * lam, Fraction(0)) for t in z]

    assert list(make.ista_step(A, y, tau, lam)(x)) == step(x)
    assert list(make.ista(A, y, tau, lam, 3)(x)) == step(step(step(x)))
    assert make.ista(A, y, tau, lam, 3).widths == (2, 4, 4, 4, 2)


def test_wrong_arguments_are_refused() -> None:
    for wrong in (
        lambda: make.soft_threshold(-1),
        lambda: make.ista_step([[1]], [1, 2], 1, 1),
        lambda: maximum(0),
        lambda: square(0),
        lambda: product(3, 0),
        lambda: polynomial([], 3),
    ):
        with pytest.raises(UsageError):
            wrong()
    for wrong in (
        lambda: through_points([0, 0], [1, 2]),
        lambda: from_slopes([1, 0], [1, 2, 3], 0, 0),
    ):
        with pytest.raises(SubjectError):
            wrong()


# ---- maxima ---------------------------------------------------------------------------------------------------------


@max_examples(60)
@given(
    st.lists(st.integers(-3, 3).map(Fraction), min_size=1, max_size=9),
    st.sampled_from(["tree", "chain"]),
)
def test_the_largest_of_many_numbers_also_when_tied(x: list[Fraction], shape) -> None:
    net = maximum(len(x), shape)
    assert net(x) == (max(x),)
    assert minimum_of(len(x), shape)(x) == (min(x),)
    assert count(net).activations == hidden_layers(len(x), shape)
    assert count(net).neurons == neurons(len(x), shape)
    assert is_plain(net)


def test_five_numbers_take_three_hidden_layers_in_a_tree_and_four_in_a_chain() -> None:
    assert (hidden_layers(5), hidden_layers(5, "chain")) == (3, 4)
    assert (neurons(5), neurons(5, "chain")) == (16, 24)


@given(st.lists(st.tuples(rationals, rationals), min_size=1, max_size=5))
def test_a_maximum_of_affine_functions_on_the_line(pieces) -> None:
    net = max_affine([[a] for a, _ in pieces], [c for _, c in pieces])
    crossings = [(d - c) / (a - b) for a, c in pieces for b, d in pieces if a != b]
    assert on_line(net) == (from_breaks(crossings, lambda x: max(a * x + c for a, c in pieces)),)


def test_the_lattice_form_of_the_hat() -> None:
    net = max_min([[0, 1], [2]], [[1], [-1], [0]], [1, 1, 0])
    assert on_line(net) == on_line(make.hat())


# ---- the line -------------------------------------------------------------------------------------------------------


def test_interpolation_of_the_catalogue() -> None:
    """C7: through (0,0), (1,1), (2,0), (3,2)."""
    f = through_points([0, 1, 2, 3], [0, 1, 0, 2])
    net = line_network(f)
    assert net([Fraction(5, 2)]) == (1,) and net([10]) == (16,)
    assert on_line(net) == (f,)
    assert count(net).neurons == 3


@given(
    st.lists(
        st.tuples(st.integers(-20, 20), rationals), min_size=2, max_size=7, unique_by=lambda p: p[0]
    )
)
def test_points_to_network_and_back_with_the_least_neurons(points) -> None:
    f = through_points([x for x, _ in points], [y for _, y in points])
    net = line_network(f)
    assert on_line(net) == (f,)
    assert all(f(x) == y for x, y in points)
    m = len(f.kinks)
    if m:
        assert count(net).neurons == (m if f.slopes[0] * f.slopes[1] == 0 else m + 1)


@max_examples(50)
@given(networks(inputs=1, outputs=1, plain=False))
def test_network_to_pieces_to_network_is_the_same_function(net) -> None:
    (f,) = on_line(net)
    assert on_line(line_network(f)) == (f,)


@max_examples(30)
@given(networks(inputs=2, outputs=1), st.lists(rationals, min_size=5, max_size=5))
def test_a_restriction_to_a_line_has_the_values_of_the_network(net, t) -> None:
    (f,) = restrict_to_line(net, t[:2], t[2:4])
    assert f(t[4]) == net([t[0] + t[4] * t[2], t[1] + t[4] * t[3]])[0]


# ---- depth ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 6, 8])
def test_the_sawtooth_has_two_to_the_k_pieces(k: int) -> None:
    """C10."""
    (f,) = on_line(sawtooth(k))
    assert inside_unit_interval(f) == 2**k
    assert count(sawtooth(k)).neurons == 2 * k
    (g,) = on_line(sawtooth(k, clipped=True))
    assert (g.kinks[0], g.kinks[-1]) == (0, 1) and area(g) == Fraction(1, 2)


def test_telgarskys_function_for_two_layers_has_18_nodes_and_64_pieces() -> None:
    """X13 and U10: a tent takes three nodes when it is clipped; the mean distance of a sawtooth to 1/2 is 1/4."""
    net = sawtooth(2**2 + 2, clipped=True)
    assert count(net).neurons == 3 * 2**2 + 6 == 18
    (f,) = on_line(net)
    assert inside_unit_interval(f) == 64
    distance = absolute(f - affine(0, Fraction(1, 2)))
    marks = [Fraction(0), *(t for t in distance.kinks if 0 < t < 1), Fraction(1)]
    assert sum((b - a) * (distance(a) + distance(b)) / 2 for a, b in pairwise(marks)) == Fraction(
        1, 4
    )


@pytest.mark.parametrize(("a", "k", "W", "L", "pieces"), [(5, 2, 20, 4, 25), (4, 3, 24, 6, 64)])
def test_sparse_zigzags_reach_the_piece_count(a: int, k: int, W: int, L: int, pieces: int) -> None:
    """Y1."""
    net = sparse_zigzag(a, k)
    assert (count(net).connections, count(net).affine_layers) == (W, L)
    assert inside_unit_interval(on_line(net)[0]) == pieces == a**k
    assert inside_unit_interval(on_line(zigzag(a))[0]) == a


def test_two_layers_of_two_neurons_reach_seven_pieces() -> None:
    """Y6: kinks at 0 and 1, and each unit of the second layer crosses zero twice: 1 + m₁ + m₁m₂ = 7."""
    net = ExactNetwork.dense([[[1], [1]], [[-4, 8], [4, -8]], [[1, 1]]], [[0, -1], [1, -2], [0]])
    assert len(on_line(net)[0].slopes) == 7


@given(st.lists(rationals, min_size=13, max_size=13))
def test_two_layers_of_two_neurons_never_pass_seven_pieces(w) -> None:
    net = ExactNetwork.dense(
        [[w[:1], w[1:2]], [w[2:4], w[4:6]], [w[6:8]]], [w[8:10], w[10:12], w[12:]]
    )
    assert len(on_line(net)[0].slopes) <= 7


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_the_square_is_interpolated_with_the_proved_error(m: int) -> None:
    (f,) = on_line(square(m))
    nodes = [Fraction(k, 2**m) for k in range(2**m + 1)]
    assert [t for t in f.kinks if 0 < t < 1] == nodes[1:-1]
    assert all(f(t) == t * t for t in nodes)
    # a chord errs most at the middle
    errors = {f((a + b) / 2) - ((a + b) / 2) ** 2 for a, b in pairwise(nodes)}
    assert errors == {square_error(m)} == {Fraction(1, 4 ** (m + 1))}
    assert count(square(m)).neurons == 3 * m and count(square(m)).activations == m


def test_the_second_square_at_three_tenths() -> None:
    assert square(2)([Fraction(3, 10)]) == (Fraction(1, 10),)


@max_examples(40)
@given(st.fractions(-3, 3, max_denominator=20), st.fractions(-3, 3, max_denominator=20))
def test_products_err_within_the_proved_bound(x: Fraction, y: Fraction) -> None:
    made = product(4, 3)
    assert abs(made.network([x, y])[0] - x * y) <= made.error == Fraction(9, 256)
    assert made.network([x, 0]) == (0,)


@max_examples(20)
@given(st.lists(rationals, min_size=1, max_size=4), st.fractions(-2, 2, max_denominator=10))
def test_polynomials_err_within_the_certified_bound(c: list[Fraction], x: Fraction) -> None:
    made = polynomial(c, 6, 2)
    assert abs(made.network([x])[0] - sum(a * x**k for k, a in enumerate(c))) <= made.error


def test_more_levels_make_a_polynomial_as_exact_as_wished() -> None:
    errors = [polynomial([0, 0, 0, 1], m).error for m in (4, 8, 12)]
    assert errors[0] > 200 * errors[1] > 200 * 200 * errors[2]


def test_folding_three_times_in_the_plane_makes_64_regions() -> None:
    net = folding(3, 2)
    assert net.widths == (2, 4, 4, 4, 2)
    pieces = [
        inside_unit_interval(f) for f in (*restrict_to_line(net, [0, Fraction(1, 9)], [1, 0])[:1],)
    ]
    assert folding_regions(3, 2) == pieces[0] ** 2 == 64
