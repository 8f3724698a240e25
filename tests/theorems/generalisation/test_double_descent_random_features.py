"""Random ReLU features: kernel, ridge path, exact risk, limit."""

from math import pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Curves, UsageError, Verdict
from ftheta.running import run
from ftheta.theorems.generalisation.double_descent_random_features import (
    _claim_shape as claim_shape,
)
from ftheta.theorems.generalisation.double_descent_random_features import (
    check_closed_form,
    double_descent_random_features,
    sweep_data,
    sweep_gaussian,
)
from ftheta.theorems.generalisation.double_descent_random_features.random_features import (
    RIDGES,
    FeatureSweep,
    Teacher,
    arc_cosine,
    around,
    data_feature_sweep,
    feature_cell,
    feature_sweep,
    limit,
    ridge_path,
)

from ...thoroughness import max_examples


def test_the_kernel_of_equal_opposite_and_orthogonal_weights():
    K = arc_cosine(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]]))
    assert np.allclose(K[0], [0.5, 0, 1 / pi], atol=1e-15) and K[2, 2] == pytest.approx(2)


@given(st.floats(0, pi))
def test_the_kernel_is_the_integral_over_the_angle(angle):
    # in the plane of the weights x = r(cos t, sin t): E r² = 2, and t is uniform
    t = np.linspace(0, 2 * pi, 200_001)[:-1]
    direct = 2 * np.mean(np.maximum(np.cos(t), 0) * np.maximum(np.cos(t - angle), 0))
    W = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    assert arc_cosine(W)[0, 1] == pytest.approx(direct, abs=1e-8)


@pytest.mark.parametrize("angle", (1e-2, 1e-4, 1e-6))
def test_the_kernel_of_nearly_opposite_rows_keeps_its_digits(angle):
    """(sin t − t cos t) / 2π with t = π − θ is t³/6π for small t: cancellation would leave nothing of it."""
    W = np.array([[1.0, 0.0], [-np.cos(angle), np.sin(angle)]])
    series = angle**3 / 3 - angle**5 / 30
    assert arc_cosine(W)[0, 1] == pytest.approx(series / (2 * np.pi), rel=1e-7)


def test_the_kernel_of_many_rows_is_that_of_every_pair():
    """More rows than a block; some equal, opposite, nearly so, or zero."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(150, 3)) * rng.uniform(0.1, 3, (150, 1))
    W[3] = 0
    W[70] = 2 * W[1]
    W[140] = -W[65]
    W[149] = -W[2] + 1e-5
    K = arc_cosine(W)
    drawn = np.triu_indices(150, 1)
    for i, j in [(1, 70), (65, 140), (2, 149), (3, 9), *zip(drawn[0][::199], drawn[1][::199])]:
        alone = arc_cosine(W[[i, j]])
        assert [K[i, j], K[j, i]] == pytest.approx([alone[0, 1]] * 2, rel=1e-13)
    assert np.allclose(np.diag(K), (W**2).sum(1) / 2, rtol=1e-14)


@pytest.mark.parametrize("n, N", [(30, 8), (30, 29), (30, 30), (30, 33), (30, 100)])
def test_the_ridge_path_solves_the_normal_equations(n, N):
    rng = np.random.default_rng(n + N)
    F = rng.normal(size=(n, N))
    y = rng.normal(size=(n, 2))
    ridges = np.array([0.0, 1e-3, 1.0])
    found = ridge_path(F, y, ridges)
    assert np.allclose(found[0], np.linalg.lstsq(F, y, rcond=None)[0], rtol=1e-6, atol=1e-9)
    for a, ridge in zip(found[1:], ridges[1:]):
        assert np.allclose(
            a, np.linalg.solve(F.T @ F + n * ridge * np.eye(N), F.T @ y), rtol=1e-8, atol=1e-10
        )


def test_features_that_repeat_have_a_fit_of_least_norm():
    F = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 5, axis=1)
    y = F @ np.ones(15)
    a = ridge_path(F, y[:, None], np.array([0.0]))[0]
    assert np.allclose(F @ a[:, 0], y) and np.allclose(a[:5], a[0])


def test_the_closed_form_of_the_risk_is_what_fresh_rows_measure():
    measured, closed = check_closed_form(np.random.default_rng(3), Teacher(8, 40, 1.0, 0.3), 25)
    assert closed.middle in measured and measured.width < 0.2 * closed.middle


def test_the_limit_begins_at_the_risk_without_features_and_is_infinite_at_the_threshold():
    teacher = Teacher(100, 300, 2.0, 0.5)
    assert limit(teacher, 1e-6) == pytest.approx(2.5, rel=1e-6)
    assert limit(teacher, 300) == np.inf and limit(teacher, 300.01) > 1000 < limit(teacher, 299.99)


@given(st.floats(0.05, 20), st.floats(0.1, 5))
def test_bias_and_variance_of_the_limit_are_not_negative(features, rows):
    d = 1000
    if abs(features - rows) < 1e-3:
        return
    at = lambda signal, noise: limit(
        Teacher(d, max(1, round(rows * d)), signal, noise), features * d
    )
    assert at(1.0, 0.0) >= -1e-9 and at(0.0, 1.0) >= 1 - 1e-9


def test_simulations_come_near_the_limit_in_many_dimensions():
    teacher = Teacher(60, 120, 1.0, 0.25)
    found = feature_sweep(np.random.default_rng(0), teacher, [30, 60, 240, 480], 12, RIDGES[:1])
    for N, risk in zip(found.at, found.least_norm.mean(0)):
        assert risk == pytest.approx(limit(teacher, N), rel=0.12)


def test_the_risk_peaks_at_the_threshold_and_not_with_the_best_ridge():
    found = feature_sweep(np.random.default_rng(0), Teacher(10, 30, 1.0, 0.25), around(30, 480), 20)
    assert (
        found.peak == 30 and found.middle[-1] < found.middle[0] < found.middle[found.at.index(30)]
    )
    assert (np.diff(found.best) < 0.02).all() and (
        found.best <= found.least_norm.mean(0) + 1e-12
    ).all()
    assert (found.train[:, [N > 30 for N in found.at]] < 1e-12).all()


@max_examples(20)
@given(st.integers(4, 200), st.integers(5, 1000))
def test_the_numbers_of_features_are_on_both_sides_of_the_threshold(n, most):
    at = around(n, most)
    assert at[0] >= 1 and at[-1] <= max(most, 1) and (n in at or most < n)


def test_on_data_noise_in_the_labels_raises_the_error():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    y = np.eye(2)[(x[:, 0] > 0).astype(int)]
    clean, noisy = (
        data_feature_sweep(np.random.default_rng(1), x, y, 40, [10, 200], 4, q) for q in (0.0, 0.4)
    )
    assert clean.least_norm.mean() < noisy.least_norm.mean() and clean.train[:, 1].max() < 1e-12
    evidence = sweep_data(np.random.default_rng(1), x, x[:, :1] ** 2, 40, 200, 3, 0.0)
    chart = evidence.charts[0]
    assert isinstance(chart, Curves) and chart.y.scale == "log" and len(evidence.claims) > 1


def test_a_cell_is_one_draw():
    one, again = (feature_cell(3, 40, inputs=10, rows=20) for _ in range(2))
    assert one == again and one["ridge_risk"] <= one["risk"]


def test_evidence_without_signal_has_no_limit_to_reach():
    evidence = sweep_gaussian(np.random.default_rng(0), Teacher(4, 10, 0.0, 1.0), 40, 4)
    assert evidence.examples is None


@pytest.mark.parametrize("seed, draws, noise", [(372, 8, 0.0), (3, 2, 1.0), (5, 4, 1.0)])
def test_few_draws_of_few_rows_contradict_nothing(seed, draws, noise):
    """The risk of the best ridge falls with N, by less than the spread of so few draws."""
    result = run(
        double_descent_random_features, n=4, noise=noise, draws=draws, seed=seed, widest=20
    )
    assert not any(judged.judgement.contradicted for judged in result.claims)


def test_a_curve_without_its_peak_is_contradicted_by_many_draws():
    """Risks that rise with N, for every ridge: the last three claims fail, and the first holds."""
    rng = np.random.default_rng(0)
    rising = np.array([1.0, 2.0, 3.0])[None, :, None] + 0.1 * rng.random((40, 3, 2))
    rising[:, :, 1] += 1  # the ridge is worse
    found = FeatureSweep(4, (2, 4, 8), rising, np.zeros((40, 3)))
    assert [claim.judge().contradicted for claim in claim_shape(found)] == [
        False,
        True,
        False,
        True,
    ]
    falling = found.ridge[:, ::-1]
    judged = [
        claim.judge().contradicted
        for claim in claim_shape(FeatureSweep(4, (2, 4, 8), falling, found.train))
    ]
    assert judged == [True, False, False, False]
    few = FeatureSweep(4, (2, 4, 8), rising[:2], np.zeros((2, 3)))
    assert not any(claim.judge().contradicted for claim in claim_shape(few)[:3])


def test_in_one_dimension_there_is_no_peak_to_speak_of():
    assert (
        run(double_descent_random_features, inputs=1, n=4, draws=4).verdict is Verdict.INAPPLICABLE
    )


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(UsageError, match="teacher"):
        Teacher(0, 10)
    with pytest.raises(UsageError, match="features"):
        feature_sweep(np.random.default_rng(0), Teacher(2, 5), [0], 2)
    with pytest.raises(UsageError, match="Rows"):
        data_feature_sweep(np.random.default_rng(0), np.zeros((5, 2)), np.zeros((5, 1)), 5, [2], 2)
