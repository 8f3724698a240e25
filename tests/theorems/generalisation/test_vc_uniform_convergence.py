"""Labellings and uniform bounds: against linear programs over all labellings, closed forms, brute force, simulation."""

from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, e, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

from ftheta.logic import UsageError, Verdict
from ftheta.networks import Dense, Description, random_mlp
from ftheta.risks.bounds.uniform import (
    Units,
    finite_class_radius,
    finite_class_rows,
    growth_radius,
    thresholds_deviation,
    uniform_coverage,
    vc_radius,
)
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load_as
from ftheta.theorems.generalisation.vc_uniform_convergence import vc_uniform_convergence
from ftheta.theorems.generalisation.vc_uniform_convergence.architectures import (
    count_rows_needed,
    units_of_widths,
)
from ftheta.theorems.generalisation.vc_uniform_convergence.rademacher import linear_ball
from ftheta.theorems.generalisation.vc_uniform_convergence.shattering import (
    append_one,
    cover_count,
    dependent_rows,
    halfspace_labellings,
    radon_weights,
    sauer_shelah,
    strictly_separable,
    vc_dimension,
)

from ...thoroughness import max_examples

grids = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=1, max_size=5)
)


def by_linear_programs(x: np.ndarray) -> set[tuple[bool, ...]]:
    """All 2^m labellings, each by a linear program of its own: margin ≥ 1 for some (w, b)."""
    z = append_one(x)
    found = set()
    for labels in product((True, False), repeat=len(x)):
        signs = np.where(labels, 1.0, -1.0)
        solved = linprog(
            np.zeros(z.shape[1]),
            -signs[:, None] * z,
            -np.ones(len(x)),
            bounds=(None, None),
            method="highs",
        )
        if solved.status == 0:
            found.add(labels)
    return found


@given(grids)
@max_examples(40)
def test_the_labellings_are_those_of_a_linear_program_for_each(rows):
    x = np.array(rows, float)  # small whole numbers: many are degenerate or equal
    found = halfspace_labellings(append_one(x))
    assert found.open == 0
    assert {tuple(map(bool, row)) for row in found.patterns} == by_linear_programs(x)


@pytest.mark.parametrize(
    ("points", "expected"), [(1, 2), (2, 4), (3, 8), (4, 14), (5, 22), (6, 32)]
)
def test_the_plane_has_the_counts_of_the_catalogue(points, expected):
    x = np.random.default_rng(points).normal(size=(points, 2))
    assert len(halfspace_labellings(append_one(x)).patterns) == expected == cover_count(points, 3)


def test_no_point_may_be_the_origin_of_a_homogeneous_halfspace():
    assert len(halfspace_labellings(np.array([[0.0, 0.0], [1.0, 0.0]])).patterns) == 0


def test_columns_that_follow_from_others_change_nothing():
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (6, 2)).astype(float)
    wide = x @ rng.integers(-3, 4, (2, 40)).astype(float)
    assert halfspace_labellings(append_one(wide)).programs <= 80
    assert len(halfspace_labellings(append_one(wide)).patterns) == len(
        halfspace_labellings(append_one(x)).patterns
    )


@pytest.mark.parametrize("z", [np.zeros((0, 2)), np.zeros((17, 2)), np.zeros(3)])
def test_too_many_points_are_refused(z):
    with pytest.raises(UsageError, match="few points"):
        halfspace_labellings(z)


def test_rows_on_the_plane_of_a_weak_separation_decide():
    assert strictly_separable(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1e-9]]))
    assert strictly_separable(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])) is False
    assert strictly_separable(np.array([[0.0, 0.0], [0.0, 1.0]])) is False


@given(st.lists(st.integers(0, 31), min_size=1, max_size=32))
@max_examples(100)
def test_sauer_and_shelah_hold_for_any_class_and_the_dimension_is_that_of_the_definition(codes):
    patterns = np.array([[(c >> j) & 1 for j in range(5)] for c in codes], bool)
    d = vc_dimension(patterns)
    shattered = [
        size
        for size in range(6)
        for c in combinations(range(5), size)
        if len({tuple(row) for row in patterns[:, list(c)].tolist()}) == 2**size
    ]
    assert d == max(shattered)
    assert len({tuple(row) for row in patterns.tolist()}) <= sauer_shelah(5, d)


def test_sauer_is_attained_by_the_sets_with_few_elements():
    patterns = np.array([p for p in product((False, True), repeat=6) if sum(p) <= 2])
    assert vc_dimension(patterns) == 2 and len(patterns) == sauer_shelah(6, 2) == 22


@pytest.mark.parametrize("d", range(1, 30))
def test_half_of_all_labellings_of_twice_as_many_points_are_made(d):
    assert Fraction(cover_count(2 * d, d), 4**d) == Fraction(1, 2)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 2), (9, 4), (12, 3)])
def test_cover_counts_follow_his_recursion(n, d):
    assert cover_count(n + 1, d + 1) == cover_count(n, d + 1) + cover_count(n, d)


@given(st.integers(1, 4), st.integers(0, 10**6))
@max_examples(30)
def test_radon_weights_balance_and_no_halfspace_makes_their_signs(d, seed):
    x = np.random.default_rng(seed).integers(-3, 4, (d + 2, d)).astype(float)
    u = radon_weights(x)
    assert any(u) and sum(u) == 0
    assert all(sum(w * Fraction(v) for w, v in zip(u, column)) == 0 for column in x.T.tolist())
    assert not any(
        all(row[i] == (w > 0) for i, w in enumerate(u) if w)
        for row in halfspace_labellings(append_one(x)).patterns
    )


@given(st.integers(0, 10**6))
@max_examples(30)
def test_general_position_is_that_of_the_determinants(seed):
    z = np.random.default_rng(seed).integers(-2, 3, (4, 3)).astype(float)
    singular = [c for c in combinations(range(4), 3) if abs(np.linalg.det(z[list(c)])) < 1e-9]
    assert dependent_rows(z) == (singular[0] if singular else None)


# ---- uniform bounds -------------------------------------------------------------------------------------------------


def test_a_thousand_predictors_need_530_rows():
    assert finite_class_rows(1000, 0.1, 0.05) == 530
    assert finite_class_radius(1000, 530, 0.05) <= 0.1 < finite_class_radius(1000, 529, 0.05)


@given(st.integers(1, 10**6), st.floats(0.01, 0.5), st.floats(1e-6, 0.9))
def test_the_rows_are_the_least_that_suffice(size, radius, delta):
    assert finite_class_rows(size, radius, delta) == ceil(log(2 * size / delta) / (2 * radius**2))


def test_the_vc_radius_is_the_formula_of_the_catalogue():
    assert vc_radius(3, 1000, 0.05) == pytest.approx(
        sqrt(8 * (3 * log(2 * e * 1000 / 3) + log(80)) / 1000), rel=1e-14
    )
    assert vc_radius(50, 10, 0.05) == pytest.approx(
        sqrt(8 * (20 * log(2) + log(80)) / 10), rel=1e-14
    )
    assert growth_radius(log(64), 100, 0.1) == pytest.approx(
        sqrt(8 / 100 * log(4 * 64 / 0.1)), rel=1e-14
    )
    assert all(
        (2 * e * n / d) ** d >= sauer_shelah(2 * n, d)
        for n in (1, 5, 50)
        for d in range(1, min(2 * n, 9) + 1)
    )


@pytest.mark.parametrize(("size", "radius"), [(0, 0.1), (10, 0.0), (10, float("nan"))])
def test_impossible_classes_are_refused(size, radius):
    with pytest.raises(UsageError):
        finite_class_rows(size, radius, 0.05)


def test_the_deviation_of_half_lines_is_that_of_a_fine_search():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        x = rng.random(n)
        y = (x > 0.5) ^ (rng.random(n) < 0.2)
        found = thresholds_deviation(x, y, 0.2)
        cuts = np.unique(
            np.concatenate([np.linspace(0, 1, 4001), x, x - 1e-12, x + 1e-12]).clip(0, 1)
        )
        sampled = np.array([np.mean((x > a) != y) for a in cuts])
        known = 0.2 + 0.6 * np.abs(cuts - 0.5)
        assert found == pytest.approx(np.abs(sampled - known).max(), abs=1e-9)


def test_half_lines_stay_within_the_vc_radius_as_often_as_promised():
    trials = 200
    exceeded, deviations = uniform_coverage(400, 0.3, trials, np.random.default_rng(1))
    assert exceeded <= binom.ppf(1 - 1e-6, trials, 0.3) and len(deviations) == trials
    assert exceeded == int((deviations > vc_radius(2, 400, 0.3)).sum())


def labellings_met(net: Description, x: np.ndarray, rng: np.random.Generator, draws: int) -> int:
    """Distinct labellings of the rows by networks of this shape with random weights: a lower bound of the growth."""
    met = set()
    for _ in range(draws):
        state = x
        for i, (W, b) in enumerate(net.params):
            state = state @ rng.standard_cauchy(W.shape).T + rng.standard_cauchy(b.shape)
            state = np.maximum(state, 0) if i < len(net.params) - 1 else state
        met.add(tuple((state[:, 0] > 0).tolist()))
    return len(met)


@pytest.mark.parametrize("widths", [(1, 1), (1, 2, 1), (2, 3, 1)])
def test_networks_make_no_more_labellings_than_the_growth_bound(widths):
    rng = np.random.default_rng(0)
    net = random_mlp(rng, widths, "relu")
    units = Units.of(net)
    assert units is not None and units == units_of_widths(widths)
    for m in (3, 6, 12):
        x = rng.normal(size=(m, widths[0]))
        assert labellings_met(net, x, rng, 2000) <= exp(units.log_growth(m)) * (1 + 1e-9)


def test_the_dimension_bound_is_the_last_size_that_may_be_shattered():
    for widths in ((2, 1), (4, 8, 1), (64, 32, 32, 10)):
        units = units_of_widths(widths)
        m = units.vc_at_most()
        assert units.log_growth(m) >= m * log(2) and units.log_growth(m + 1) < (m + 1) * log(2)
        assert m >= widths[0] + 1  # it contains halfspaces
        assert m <= units.vc_closed_form()


def test_the_growth_bound_is_the_product_of_the_layers():
    units = units_of_widths((2, 3, 1))
    W1 = 9
    W2 = 13
    m = 1000
    expected = log(2) + W1 * log(2 * e * m * 3 / W1) + log(2) + W2 * log(2 * e * m * 2 / W2)
    assert units.parameters == (W1, W2) and units.log_growth(m) == pytest.approx(
        expected, rel=1e-13
    )
    assert units.log_growth(1) == pytest.approx(4 * log(2), rel=1e-13)  # few rows: all sign vectors


def test_other_activations_have_no_count_and_small_networks_no_lower_bound():
    assert Units.of(random_mlp(np.random.default_rng(0), (2, 3, 1), "tanh")) is None
    assert units_of_widths((2, 3, 1)).vc_of_some_network() is None
    deep = units_of_widths((100, *[1000] * 700, 1))
    some = deep.vc_of_some_network()
    assert some is not None and some < deep.vc_at_most()
    affine = Units.of(Description((Dense(np.ones((1, 2)), np.ones(1)),)))
    assert affine is not None and affine.decisions == (1,)


def test_the_rows_to_say_something_are_the_first():
    n = count_rows_needed(10, 0.05)
    assert vc_radius(10, n, 0.05) < 1 <= vc_radius(10, n - 1, 0.05)


# ---- Rademacher complexity ------------------------------------------------------------------------------------------


def test_sixteen_orthonormal_rows_have_a_quarter():
    found = linear_ball(np.eye(16), 1.0, np.random.default_rng(0))
    assert found.complexity.middle == found.at_most == found.by_radius == 0.25


def test_equal_rows_are_the_other_extreme():
    found = linear_ball(np.ones((2, 1)), 3.0, np.random.default_rng(0))
    assert found.complexity.middle == pytest.approx(found.at_least, rel=1e-12)
    many = linear_ball(np.ones((10, 1)), 1.0, np.random.default_rng(0))
    exact = sum(comb(10, k) * abs(10 - 2 * k) for k in range(11)) / 2**10 / 10
    assert many.complexity.middle == pytest.approx(exact, rel=1e-12)


def test_drawn_signs_agree_with_all_signs():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(17, 3))
    signs = np.array(list(product((-1.0, 1.0), repeat=17)))
    exact = 2.0 * np.linalg.norm(signs @ x, axis=1).mean() / 17
    found = linear_ball(x, 2.0, rng)
    assert exact in found.complexity and found.complexity.confidence is not None
    assert found.at_least <= exact <= found.at_most <= found.by_radius


def test_an_empty_sample_and_a_negative_ball_are_refused():
    for x, norm in (
        (np.zeros((0, 2)), 1.0),
        (np.ones((2, 2)), -1.0),
        (np.ones((2, 2)), float("nan")),
    ):
        with pytest.raises(UsageError, match="ball"):
            linear_ball(x, norm, np.random.default_rng(0))


# ---- the theorem ----------------------------------------------------------------------------------------------------


def test_collinear_points_are_refused_and_refute_the_count_when_forced():
    assert run(vc_uniform_convergence, breaker=True).verdict is Verdict.INAPPLICABLE
    forced = run(vc_uniform_convergence, breaker=True, force=True)
    assert forced.verdict is Verdict.REFUTED and forced.numbers["labellings"].middle == 10


def test_a_network_is_given_bounds_with_numbers_marked_vacuous():
    net = load_as(Network, "digits-mlp")
    data = load_as(Dataset, "digits-test")
    result = run(vc_uniform_convergence, net.with_data(data), draws=1000)
    assert result.verdict is Verdict.CONSISTENT and result.vacuous
    assert result.numbers["VC"].hi > 1 > result.numbers["Clopper–Pearson"].hi
    for name in ("VC", "Clopper–Pearson"):  # bounds that hold with a probability are not exact
        assert (
            result.numbers[name].confidence == pytest.approx(0.95) and result.numbers[name].assuming
        )
    assert run(vc_uniform_convergence, net).verdict is Verdict.INAPPLICABLE


def test_rows_of_many_columns_are_labelled_in_all_ways():
    result = run(vc_uniform_convergence, load_as(Dataset, "digits-test"), points=4)
    assert result.verdict is Verdict.CONSISTENT and result.numbers["labellings"].middle == 16
