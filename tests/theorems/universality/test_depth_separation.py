"""Few pieces against many: exact distances, the bound by crossings, and best errors on a budget."""

from fractions import Fraction
from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Basis, Enclosure
from ftheta.networks import random_mlp
from ftheta.relu.counts import count
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, relu
from ftheta.relu.line.pieces import along, product_bound
from ftheta.relu.line.points import from_slopes, on_line
from ftheta.relu.line.sawtooth import sawtooth, sparse_zigzag
from ftheta.relu.line.separation import (
    HALF,
    Size,
    certificate,
    crossings,
    defeated_from,
    distance,
    size,
    teeth,
)
from ftheta.theorems.universality import sparse_connection_approximation as sparse
from ftheta.theorems.universality.depth_separation import GAP, Sawtooth, claims_about_competitor
from ftheta.theorems.universality.depth_separation.comparison import (
    Comparison,
    compare_by_cells,
    compare_exactly,
)
from ftheta.theorems.universality.depth_separation.competitors import gradient, initialise, states
from ftheta.theorems.universality.sparse_connection_approximation import budgets

from ...thoroughness import max_examples

unit = st.builds(Fraction, st.integers(1, 23), st.just(24))
slope = st.builds(Fraction, st.integers(-40, 40), st.integers(1, 3))


@st.composite
def functions(draw, most: int = 8) -> PiecewiseAffine:
    kinks = sorted(draw(st.sets(unit, max_size=most)))
    slopes = [draw(slope) for _ in range(len(kinks) + 1)]
    return from_slopes(kinks, slopes, 0, draw(slope) / 20)


def area_by_parts(h: PiecewiseAffine) -> Fraction:
    """∫₀¹ max(h, 0) + ∫₀¹ max(−h, 0), by trapezia between the kinks of either part."""
    total = Fraction(0)
    for part in (relu(h), relu(affine(0) - h)):
        ends = sorted({Fraction(0), Fraction(1), *(t for t in part.kinks if 0 < t < 1)})
        total += sum(((b - a) * (part(a) + part(b)) / 2 for a, b in pairwise(ends)), Fraction(0))
    return total


@max_examples(60)
@given(functions(), functions())
def test_the_distance_is_that_of_the_positive_and_negative_parts(f, g):
    assert distance(f, g) == area_by_parts(f - g) == distance(g, f)


@max_examples(80)
@given(functions(), st.integers(1, 5))
def test_crossings_bound_the_distance_from_below(g, k):
    c = crossings(g)
    assert c <= 1 + sum(0 < t < 1 for t in g.kinks)
    assert certificate(c, k) <= distance(teeth(k), g)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_bound_is_the_least_area_on_the_wrong_side_over_all_patterns_of_signs(k):
    n = 2**k
    areas = [Fraction(1, 2), *[Fraction(1)] * (n - 1), Fraction(1, 2)]  # in units of a triangle
    least = [Fraction(n)] * (n + 1)
    for signs in product((0, 1), repeat=n + 1):
        changes = sum(a != b for a, b in pairwise(signs))
        wrong = sum(
            (area for i, (area, sign) in enumerate(zip(areas, signs)) if sign != i % 2), Fraction(0)
        )
        least[changes] = min(least[changes], wrong)
    assert [wrong / 2 ** (k + 2) for wrong in least] == [certificate(c, k) for c in range(n + 1)]


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_the_sawtooth_is_a_quarter_away_from_one_half_and_nothing_from_itself(k):
    f = teeth(k)
    assert distance(f, affine(0, HALF)) == Fraction(1, 4)
    assert distance(f, on_line(sawtooth(k))[0]) == 0 == distance(f, on_line(sparse_zigzag(2, k))[0])
    assert crossings(f) == 2**k and certificate(2**k, k) == 0


def test_touching_the_level_is_no_crossing():
    touching = from_slopes([HALF], [1, -1], HALF, HALF)
    assert crossings(touching) == 0 and crossings(affine(0, HALF)) == 0
    plateau = from_slopes([Fraction(1, 3), Fraction(2, 3)], [1, 0, 1], HALF, HALF)
    assert crossings(plateau) == 1


@pytest.mark.parametrize("L, nodes, layers, pieces", [(2, 18, 12, 64), (3, 33, 22, 2048)])
def test_the_counts_of_the_deep_network(L, nodes, layers, pieces):
    made = Sawtooth.of(L)
    claims = made.claims()
    numbers = made.numbers
    found = [
        numbers[name].middle for name in ("nodes of f", "layers of f", "pieces of f", "∫|f − ½|")
    ]
    assert found == [nodes, layers, pieces, 0.25] and all(
        c.judge().verdict == "proved" for c in claims
    )


@given(st.lists(st.integers(1, 12), max_size=6))
def test_the_mean_bounds_the_product(widths):
    own = Size(len(widths) + 1, sum(widths) + 1)
    assert product_bound(widths) <= own.pieces
    L = own.budget
    assert (
        own.layers <= L
        and own.nodes <= 2**L
        and (L == 2 or own.layers > L - 1 or own.nodes > 2 ** (L - 1))
    )
    assert own.pieces <= 2 ** (L * L) and certificate(own.pieces, L * L + 2) >= 3 * GAP


@given(st.integers(1, 10**6))
def test_so_many_folds_and_no_fewer_leave_the_pieces_behind(pieces):
    k = defeated_from(pieces)
    assert certificate(pieces, k) >= GAP and (k == 0 or certificate(pieces, k - 1) < GAP)


def test_a_network_along_a_segment_by_pieces_and_by_cells():
    net = random_mlp(np.random.default_rng(3), (3, 5, 4, 2), bias=0.5)
    x = [0.5, -1.0, 0.25]
    v = [1.0, 2.0, -1.5]
    duel = compare_exactly(exact(net), x, v, 6)
    whole = along(exact(net), x, v)
    assert duel.pieces.hi <= whole.within(0, 1) and duel.integral.lo == pytest.approx(
        float(duel.integral.hi)
    )
    t = (np.arange(20000) + 0.5) / 20000
    g = np.asarray(net.apply(net.params, np.array(x) + t[:, None] * np.array(v)))[:, 0]
    f = 1 - np.abs((64 * t) % 2 - 1)
    assert np.abs(f - g).mean() == pytest.approx(duel.integral.middle, abs=1e-4)
    coarse = compare_by_cells(Enclosure.exact(whole.within(0, 1)), size(net).pieces, 6)
    assert coarse.bound <= duel.bound and coarse.integral.hi == np.inf
    blind = compare_by_cells(Enclosure.between(7, np.inf), size(net).pieces, 30)
    assert blind.changes == size(net).pieces and blind.integral.basis is Basis.EXACT
    assert (
        claims_about_competitor(blind, Enclosure.exact(blind.changes))[-1].judge().verdict
        == "proved"
    )


def test_the_bound_is_judged_against_the_integral():
    own = Comparison(3, Enclosure.exact(8), Fraction(8), teeth(3))
    assert claims_about_competitor(own, Enclosure.exact(8))[-1].judge().verdict == "refuted"
    assert own.integral == Enclosure.exact(0) and own.in_full is own
    far = Comparison(40, Enclosure.exact(8), Fraction(8), teeth(3))
    assert far.integral.hi == np.inf and far.in_full is not None and far.in_full.k == 6
    assert all(
        claim.judge().verdict == "proved"
        for claim in claims_about_competitor(far, Enclosure.exact(8))
    )
    crowd = Comparison(40, Enclosure.exact(10**4), Fraction(10**4), teeth(3))
    assert crowd.in_full is None


def test_the_gradient_of_training_is_that_of_jax():
    rng = np.random.default_rng(0)
    params = initialise(rng, (1, 5, 4, 1))
    x = rng.random((7, 1))
    y = rng.random((7, 1))

    def loss(params):
        h = x
        for W, b in params[:-1]:
            h = jax.nn.relu(h @ W.T + b)
        W, b = params[-1]
        return jnp.mean((h @ W.T + b - y) ** 2)

    with jax.enable_x64(True):
        expected = jax.grad(loss)([(jnp.asarray(W), jnp.asarray(b)) for W, b in params])
    for ours, theirs in zip(gradient(params, x, y), expected):
        assert all(np.allclose(a, b, atol=1e-13) for a, b in zip(ours, theirs))
    assert len(states(params, x)) == 4


# ---- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, k, W, L, pieces", [(5, 2, 20, 4, 25), (4, 3, 24, 6, 64), (1, 1, 2, 2, 1)]
)
def test_sparse_zigzags(a, k, W, L, pieces):
    zigzag = sparse.Zigzag.of(a, k)
    claims = zigzag.claims()
    numbers = zigzag.numbers
    assert [numbers[name].middle for name in ("W", "L", "pieces")] == [W, L, pieces]
    assert all(c.judge().verdict == "proved" for c in claims)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_the_best_pieces_for_the_square(n):
    assert all(c.judge().verdict == "proved" for c in sparse.claims_about_square(n))
    assert budgets.best_error(budgets.SQUARED, n) == pytest.approx(1 / (8 * n * n), rel=1e-12)
    f = budgets.best_square(n)
    assert (
        count(budgets.realise(f)).neurons == n
        and count(budgets.realise_with_skip(f)).neurons == n - 1
    )
    plain = on_line(budgets.realise(f))[0]
    short = on_line(budgets.realise_with_skip(f))[0]
    assert all(plain(t) == short(t) == f(t) for t in (Fraction(i, 17) for i in range(18)))


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_the_best_knots_of_the_root_have_equal_errors(n):
    error = budgets.best_error(budgets.ROOT, n)
    ends = budgets.knots(budgets.ROOT, 2 * error, n)
    assert ends[-1] == pytest.approx(1, abs=1e-9)
    for a, b in pairwise(ends):
        x = np.linspace(a, b, 20001)
        chord = np.sqrt(a) + (np.sqrt(b) - np.sqrt(a)) * (x - a) / (b - a)
        assert np.max(np.sqrt(x) - chord) == pytest.approx(2 * error, rel=1e-5)


@max_examples(40)
@given(
    st.lists(st.floats(0.001, 0.999), min_size=2, max_size=2, unique=True),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
)
def test_no_three_pieces_are_closer_to_the_root(inner, noise):
    ends = [0.0, *sorted(inner), 1.0]
    values = np.sqrt(ends) + np.array(noise) * budgets.best_error(budgets.ROOT, 3)
    x = np.unique(np.concatenate([np.linspace(0, 1, 4001) ** 2, ends]))
    assert np.abs(np.sqrt(x) - np.interp(x, ends, values)).max() >= budgets.best_error(
        budgets.ROOT, 3
    ) * (1 - 1e-4)


def test_the_study_estimates_the_order_of_both_functions():
    for name, even in (("x²", 2.0), ("√x", 0.5)):
        errors = budgets.measure_errors(name)
        exponents = sparse.fit_exponents(errors)
        assert exponents["α"].middle == pytest.approx(2, abs=0.05)
        assert exponents["α with equal knots"].middle == pytest.approx(even, abs=1e-6)
        assert all(
            sparse.rate_against(errors, "", each).judge().verdict == "consistent" for each in (1, 2)
        )
    root = sparse.fit_exponents(budgets.measure_errors("√x"))
    assert root["n² E"].middle == pytest.approx(1 / 4, abs=2e-3)  # (∫|f''|^½)² / 16
