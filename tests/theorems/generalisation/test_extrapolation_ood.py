"""Beyond the data: rays against exact pieces, hulls against all simplices, weights against quadrature."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import ftheta as ft
from ftheta.logic import UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.relu.exact import exact, from_description
from ftheta.relu.line.pieces import along
from ftheta.relu.line.points import line_network, through_points
from ftheta.relu.network import ExactNetwork
from ftheta.risks.hull import membership
from ftheta.running import run
from ftheta.theorems.generalisation.extrapolation_ood import extrapolation_ood
from ftheta.theorems.generalisation.extrapolation_ood.importance import (
    GaussianShift,
    effective_rows,
    reweight,
)
from ftheta.theorems.generalisation.extrapolation_ood.limits import find_limit, is_bounded
from ftheta.theorems.generalisation.extrapolation_ood.rays import (
    find_asymptote,
    find_exact_asymptote,
    second_difference,
)

from ...thoroughness import max_examples

# ---- rays ------------------------------------------------------------------------------------------------------------


@max_examples(40)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_the_last_piece_is_that_of_all_pieces(seed, hidden):
    """Whole small weights, so that ties and neurons that stand still on the ray are met."""
    rng = np.random.default_rng(seed)
    widths = (2, *hidden, 2)
    weights = [rng.integers(-2, 3, (n, m)).tolist() for m, n in pairwise(widths)]
    net = ExactNetwork.dense(weights, [rng.integers(-2, 3, n).tolist() for n in widths[1:]])
    x = rng.integers(-3, 4, 2).tolist()
    v = rng.integers(-2, 3, 2).tolist()
    found = find_exact_asymptote(net, x, v)
    pieces = along(net, x, v)
    assert tuple(f.slopes[-1] for f in pieces.outputs) == found.slope
    assert max([Fraction(0), *pieces.kinks]) <= found.last
    assert tuple(f(found.last + 5) for f in pieces.outputs) == found(found.last + 5)
    assert tuple(f(found.last) for f in pieces.outputs) == found(found.last)
    assert second_difference(net, x, v, found.last) == 0


def test_before_the_last_switch_some_neuron_is_different():
    net = exact(random_mlp(np.random.default_rng(3), (3, 8, 8, 1), bias=0.5))
    x = [0.25, -1.0, 0.5]
    v = [1.0, 0.5, -0.25]
    last = find_exact_asymptote(net, x, v).last
    point = lambda t: [Fraction(p) + t * Fraction(w) for p, w in zip(x, v)]
    pattern = lambda t: [[s > 0 for s in state] for state in net.states(point(t))[:-1]]
    assert pattern(last + 1) == pattern(last * 1000) != pattern(last - Fraction(1, 10**6))


def test_floats_agree_with_rationals():
    rng = np.random.default_rng(0)
    form = from_description(random_mlp(rng, (4, 20, 20, 3), bias=0.5))
    x, v = rng.normal(size=(2, 4))
    meant = find_exact_asymptote(exact(form), x.tolist(), v.tolist())
    found = find_asymptote(form, x, v)
    assert found.last == pytest.approx(float(meant.last), rel=1e-9)
    assert found.slope == pytest.approx([float(a) for a in meant.slope])
    assert found.offset == pytest.approx([float(b) for b in meant.offset])


def test_the_four_points_of_the_catalogue_go_on_with_slope_two():
    net = line_network(through_points([0, 1, 2, 3], [0, 1, 0, 2]))
    found = find_exact_asymptote(net, [0], [1])
    assert found.slope == (2,) and found.last == 2 and found(Fraction(10)) == (16,)
    assert run(extrapolation_ood, kind="four points").numbers["slope at infinity"].middle == 2
    with pytest.raises(UsageError):
        find_exact_asymptote(net, [0, 1], [1, 1])


@pytest.mark.parametrize("sigma", ["tanh", "sigmoid", "arctan"])
def test_bounded_networks_tend_to_their_limit_within_the_bound(sigma):
    rng = np.random.default_rng(1)
    net = random_mlp(rng, (3, 6, 5, 2), sigma, bias=0.5)
    first = net.layers[0].weight.copy()
    first[0] = [1.0, -1.0, 0.0]  # this neuron stands still on the ray
    net = Description((Dense(first, net.layers[0].bias, sigma), *net.layers[1:]))
    x = rng.normal(size=3)
    v = np.array([1.0, 1.0, 0.5])
    found = find_limit(net, x, v)
    at = lambda t: np.asarray(net.apply(net.params, x + t * v), np.float64)
    assert is_bounded(net) and at(1e7) == pytest.approx(found.limit, abs=1e-4)
    for t in (0.0, 0.5, 2.0, 10.0, 100.0):
        assert np.linalg.norm(at(t) - found.limit) <= found.distance_at_most(t) + 1e-6
    assert not is_bounded(random_mlp(rng, (2, 3, 1), "softplus"))


# ---- hulls -----------------------------------------------------------------------------------------------------------


def verified(x, q, found) -> bool:
    """The certificate, evaluated here once more."""
    if found.kind == "inside":
        total = [
            sum(w * Fraction(float(x[k, j])) for w, k in zip(found.weights, found.rows))
            for j in range(len(q))
        ]
        return (
            min(found.weights) >= 0
            and sum(found.weights) == 1
            and total == [Fraction(float(v)) for v in q]
        )
    w = [Fraction(float(v)) for v in found.normal]
    value = lambda row: sum(a * Fraction(float(b)) for a, b in zip(w, row))
    return found.gap > 0 and value(q) - max(map(value, x)) == found.gap


@max_examples(60)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(5, 9))
def test_membership_agrees_with_all_simplices_and_is_certified(seed, d, n):
    """By Carathéodory a point of the hull lies in a simplex of rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    q = rng.normal(size=d) / 2
    corners = np.array(
        [np.vstack([x[list(rows)].T, np.ones(d + 1)]) for rows in combinations(range(n), d + 1)]
    )
    weights = np.linalg.solve(corners, np.r_[q, 1.0][:, None])[..., 0]
    found = membership(x, q)
    assert (found.kind == "inside") == bool((weights >= 0).all(1).any())
    assert verified(x, q, found)


def test_the_distance_of_a_separated_query_is_a_lower_bound():
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    found = membership(square, np.array([3.0, 0.5]))
    assert found.kind == "outside" and 0 < found.distance <= 2 + 1e-12


@pytest.mark.parametrize("q", [[0.5, 0.0], [0.25, 0.25], [1.0, 1.0], [0.0, 0.75]])
def test_queries_on_the_boundary_are_inside(q):
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    found = membership(square, np.array(q))
    assert found.kind == "inside" and verified(square, np.array(q), found)


def test_queries_at_rounding_distance_are_never_told_wrongly():
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    for k in range(20, 53, 4):
        q = np.array([0.5, 1.0 + 2.0**-k])
        found = membership(square, q)
        assert found.kind == "undecided" or (found.kind == "outside" and verified(square, q, found))


def test_flat_rows_and_wrong_sizes():
    flat = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    assert membership(flat, np.array([2.5, 7.0])).kind == "inside"
    assert membership(flat, np.array([2.5, 7.5])).kind == "outside"
    beyond = membership(flat, np.array([6.0, 7.0]))
    # the constant column has no part in it
    assert beyond.kind == "outside" and beyond.distance == pytest.approx(2)
    with pytest.raises(UsageError):
        membership(flat, np.zeros(3))


# ---- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("move, spread", [(0.0, 1.0), (1.0, 0.8), (-0.5, 1.2), (2.0, 0.5)])
def test_the_moments_of_the_weights_are_integrals(move, spread):
    shift = GaussianShift(move, spread)
    p = lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    w = lambda x: float(shift.weights(np.array(x)))
    assert quad(lambda x: p(x) * w(x), -20, 20)[0] == pytest.approx(1)
    assert quad(lambda x: p(x) * w(x) ** 2, -30, 30, limit=200)[0] == pytest.approx(
        shift.second_moment, rel=1e-6
    )
    assert quad(lambda x: p(x) * w(x) * np.cos(x), -20, 20)[0] == pytest.approx(
        shift.test_mean(np.cos), rel=1e-6
    )
    assert shift.test_mean(np.square) == pytest.approx(move**2 + spread**2)


def test_weighted_means_are_unbiased_and_their_intervals_cover():
    shift = GaussianShift(1.0, 0.8)
    rng = np.random.default_rng(0)
    found = [shift.weighted_mean(np.square, shift.draw(rng, 2000)) for _ in range(300)]
    assert sum(1.64 in e for e in found) >= 297  # stated: 99.99 %
    centres = np.array([e.middle for e in found])
    assert abs(centres.mean() - 1.64) < 5 * centres.std() / np.sqrt(300)


def test_finite_laws_and_laws_without_support():
    half = Fraction(1, 2)
    assert reweight([half, half], [Fraction(1, 4), Fraction(3, 4)], [Fraction(1), Fraction(5)]) == (
        4,
        4,
    )
    with pytest.raises(UsageError, match="never shows"):
        reweight([Fraction(1), Fraction(0)], [half, half], [Fraction(1), Fraction(1)])
    assert GaussianShift(0.0, 1.5).second_moment == np.inf
    assert effective_rows(np.ones(7)) == 7 and effective_rows(np.array([1.0, 0, 0])) == 1


# ---- the theorem -----------------------------------------------------------------------------------------------------


def test_a_network_and_data_of_the_user():
    rng = np.random.default_rng(0)
    net = ft.Network.described(random_mlp(rng, (2, 8, 3), bias=1.0), "mine")
    result = run(
        extrapolation_ood, net.with_data(ft.Dataset("rows", rng.normal(size=(40, 2)))), rows=10
    )
    kinds = {row[1] for row in result.tables[0].rows}
    assert (
        result.verdict is Verdict.PROVED
        and kinds <= {"inside", "outside"}
        and len(result.tables[0].rows) == 10
    )
    alone = run(extrapolation_ood, ft.load("iris"))
    assert alone.verdict is Verdict.PROVED and len(alone.charts) == 1


def test_a_network_that_is_neither_is_refused():
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (2, 4, 1), "square"), "squares")
    assert run(extrapolation_ood, net).verdict is Verdict.INAPPLICABLE
    assert run(extrapolation_ood, net, force=True).verdict is Verdict.REFUTED
