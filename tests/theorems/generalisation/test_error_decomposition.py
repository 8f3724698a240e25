"""The four terms of the error: against plain training, least squares by NumPy, closed forms and simulation."""

from fractions import Fraction
from math import sqrt

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic import Verdict
from ftheta.networks import random_mlp
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load_as
from ftheta.theorems.generalisation.error_decomposition import (
    _least_squares_claims as least_squares_claims,
)
from ftheta.theorems.generalisation.error_decomposition import (
    _least_squares_numbers as least_squares_numbers,
)
from ftheta.theorems.generalisation.error_decomposition import error_decomposition, gather_on_law
from ftheta.theorems.generalisation.error_decomposition.decomposition import (
    THROWS,
    Law,
    Terms,
    choose_snapshots,
    exact_terms,
    floor_of_sample,
    losses_of,
    noise_floor,
    terms_of,
    train_on,
)
from ftheta.theorems.generalisation.error_decomposition.experiments import (
    Experiment,
    compare_widths,
    shuffle_weights,
)
from ftheta.theorems.generalisation.error_decomposition.least_squares import (
    draw_designs,
    draw_traces,
    fixed_design_risk,
    hat_trace,
    random_design_risk,
    train_risk,
)

from ...thoroughness import max_examples

X = np.repeat(np.linspace(-1, 1, 6), 2)[:, None]
LAW = Law(X, (X[:, 0] ** 2 + np.tile([0.3, -0.3], 6))[:, None])


@given(st.integers(1, 40), st.integers(0, 10**6))
@max_examples(30)
def test_lines_in_rationals_are_those_of_numpy_and_the_terms_add_up(n, seed):
    rng = np.random.default_rng(seed)
    counts = LAW.count(LAW.draw(rng, n))
    found = exact_terms(LAW, counts, None)
    A = np.column_stack([X[:, 0], np.ones(12)])
    y = LAW.y[:, 0]
    rows = np.repeat(np.arange(12), counts)
    fitted = np.linalg.lstsq(A[rows], y[rows], rcond=None)[0]
    best = np.linalg.lstsq(A, y, rcond=None)[0]
    loss = lambda theta: (A @ theta - y) ** 2
    expected = (
        loss(fitted)[rows].mean(),
        loss(fitted).mean(),
        loss(best)[rows].mean(),
        loss(best).mean(),
    )
    got = (found.train, found.true, found.best_train, found.best_true)
    assert [float(v) for v in got] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.sum_of_terms == found.true
    # each minimises its own risk
    assert found.train <= found.best_train and found.best_true <= found.true
    assert found.drifted == found.best_true


def test_a_sample_from_a_third_of_the_law_has_another_expectation():
    weights = LAW.lower_third()
    found = exact_terms(LAW, LAW.count(LAW.draw(np.random.default_rng(0), 5, weights)), weights)
    # more than rounding: it refutes the forced control
    assert abs(found.drifted - found.best_true) > 0.01
    assert weights.sum() == pytest.approx(1) and (weights[X[:, 0] > 0] == 0).all()


def test_rows_become_a_law_on_one_scale_and_classes_become_indicators():
    law = Law.of(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]), np.array([7, 2, 4]))
    assert law.x.mean(0) == pytest.approx(0) and law.x.std(0) == pytest.approx([1, 0])
    assert law.y.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert Law.of(np.ones((2, 1)), np.array([0, 1])).y.tolist() == [[0], [1]]


def test_the_noise_floor_is_the_variance_given_the_input():
    assert float(noise_floor(LAW)) == pytest.approx(0.09, rel=1e-12)
    assert noise_floor(Law(np.arange(5.0)[:, None], np.arange(5.0)[:, None])) == 0


def test_four_throws_of_a_coin_have_the_terms_that_are_written_down():
    coin = Law(np.ones((2, 1)), np.array([[0.0], [1.0]]))
    assert exact_terms(coin, np.array([3, 1]), None) == THROWS


def test_the_floor_of_a_sample_is_the_floor_of_its_rows():
    counts = LAW.count(LAW.draw(np.random.default_rng(4), 25))
    rows = Law(LAW.x.repeat(counts, 0), LAW.y.repeat(counts, 0))
    assert floor_of_sample(LAW, counts) == pytest.approx(float(noise_floor(rows)), rel=1e-12)


def test_training_on_counts_is_training_on_repeated_rows():
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (1, 5, 1), "tanh")
    counts = LAW.count(LAW.draw(rng, 7))
    rows = np.repeat(np.arange(12), counts)
    with jax.enable_x64(True):
        seen = train_on(net, LAW, counts, [0, 1, 30], 0.01, losses_of(net.apply, LAW))
        terms = terms_of(seen, LAW, counts, seen.losses[-1])
    for k, t in enumerate((0, 1, 30)):
        plain = ft.fit(net, (LAW.x[rows], LAW.y[rows]), "squared", "adam", step=0.01, steps=t)
        assert terms.train[k] == pytest.approx(plain.loss, rel=1e-9)
        with jax.enable_x64(True):
            told = np.array([plain.network.apply(plain.params, row)[0] for row in LAW.x])
        assert terms.true[k] == pytest.approx(np.mean((told - LAW.y[:, 0]) ** 2), rel=1e-9)


@given(
    st.lists(st.floats(0, 1e6), min_size=2, max_size=2),
    st.lists(st.floats(0, 1e6), min_size=6, max_size=6),
)
def test_any_four_risks_telescope_to_machine_precision(best, levels):
    least = min(
        best[1], *levels[3:]
    )  # the best risk of the class is no larger than that of a member
    terms = Terms(np.arange(3), np.array(levels[:3]), np.array(levels[3:]), best[0], least)
    assert terms.defect <= 1e-15


def test_the_snapshots_begin_at_the_start_and_end_at_the_end():
    for steps in (1, 2, 50, 5000):
        found = choose_snapshots(steps)
        assert found[0] == 0 and found[-1] == steps and found == sorted(set(found))


def test_the_statistical_term_has_mean_zero_and_the_variance_of_the_losses():
    rng = np.random.default_rng(1)
    n = 9
    losses = rng.random(12)
    drawn = LAW.draw_statistical_terms(losses, n, None, rng, 20_000)
    assert abs(drawn.mean()) < 5 * losses.std() / sqrt(n * 20_000)
    assert n * drawn.var() == pytest.approx(losses.var(), rel=0.06)


# ---- least squares --------------------------------------------------------------------------------------------------


def test_twenty_rows_and_five_features_have_the_risks_of_the_catalogue():
    assert train_risk(20, 5) == Fraction(3, 4) and fixed_design_risk(20, 5) == Fraction(5, 4)
    assert random_design_risk(20, 5) == Fraction(19, 14)
    assert random_design_risk(6, 5) is None


def test_the_closed_forms_are_the_means_of_simulated_least_squares():
    rng = np.random.default_rng(2)
    n = 20
    p = 5
    trials = 20_000
    X = rng.normal(size=(trials, n, p))
    w = rng.normal(size=p)
    y = X @ w + rng.normal(size=(trials, n))
    fitted = np.linalg.solve(X.transpose(0, 2, 1) @ X, (X.transpose(0, 2, 1) @ y[..., None]))[
        ..., 0
    ]
    told = np.einsum("tnp,tp->tn", X, fitted)
    fresh = X @ w + rng.normal(size=(trials, n))
    new = rng.normal(size=(trials, p))
    elsewhere = np.einsum("tp,tp->t", new, fitted - w) ** 2 + 1
    for drawn, closed in (
        (((told - y) ** 2).mean(1), train_risk(n, p)),
        (((told - fresh) ** 2).mean(1), fixed_design_risk(n, p)),
        (elsewhere, random_design_risk(n, p)),
    ):
        assert closed is not None
        assert abs(drawn.mean() - float(closed)) < 5 * drawn.std() / sqrt(trials)


@pytest.mark.parametrize(("n", "p"), [(3, 1), (8, 3), (12, 12)])
def test_the_trace_of_the_hat_matrix_is_the_rank(n, p):
    x = np.random.default_rng(n).integers(-4, 5, (n, p)).astype(float)
    assert hat_trace(x) == np.linalg.matrix_rank(x)
    assert hat_trace(np.ones((4, 2))) is None


def test_drawn_designs_have_the_trace_of_the_inverse_wishart():
    drawn = draw_traces(30, 4, np.random.default_rng(3), 3000)
    assert abs(drawn.mean() - 29 / 25) < 5 * drawn.std() / sqrt(3000)


@pytest.mark.parametrize(("n", "p"), [(20, 5), (7, 5), (2, 1), (40, 30)])
def test_no_closed_form_is_contradicted(n, p):
    found = draw_designs(n, p, np.random.default_rng(0))
    claims = least_squares_claims(found)
    numbers = least_squares_numbers(found)
    assert all(c.judge().verdict in (Verdict.PROVED, Verdict.CONSISTENT) for c in claims)
    assert len(claims) == 2 * (found.trace is not None) + (found.risks is not None)
    assert numbers["OLS training risk / σ²"].middle == pytest.approx(1 - p / n)
    assert ("OLS risk at new rows / σ²" in numbers) == (n > p + 1)


# ---- the theorem ----------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_terms_along_a_run_and_what_they_show():
    result = run(error_decomposition)
    n = {name: known.middle for name, known in result.numbers.items()}
    total = n["generalisation"] + n["optimisation"] + n["statistical"] + n["approximation"]
    assert total == pytest.approx(n["risk"], rel=1e-14)
    # trained beyond θ*, at the expense of the law
    assert n["optimisation"] < 0 < n["generalisation"]
    assert n["least risk on the way"] < n["risk"] and n["noise floor"] == pytest.approx(0.09)
    assert [j.judgement.verdict for j in result.as_printed] == [Verdict.REFUTED, Verdict.REFUTED]
    early, late = result.tables[0].rows
    assert float(early[2]) > float(late[2]) and float(early[3]) < float(late[3])


def test_samples_of_half_of_the_law_are_refuted_when_forced():
    assert run(error_decomposition, preset="broken on purpose").verdict is Verdict.INAPPLICABLE
    forced = run(error_decomposition, preset="broken on purpose", force=True, steps=200)
    assert forced.verdict is Verdict.REFUTED


def test_without_noise_universality_is_not_refuted():
    result = run(error_decomposition, preset="no noise", steps=200)
    assert result.as_printed[1].judgement.verdict is Verdict.PROVED


@pytest.mark.parametrize("y", [np.full(3, 0.1), np.array([0.1, 0.7, 0.3])])
def test_a_law_of_one_input_or_of_equal_targets_contradicts_nothing(y):
    result = run(error_decomposition, Dataset("three rows", np.ones((3, 1)), y), n=7, steps=100)
    assert result.verdict is Verdict.CONSISTENT
    assert not any(j.judgement.contradicted for j in result.claims)


def test_several_targets_and_columns_make_a_law_too():
    rng = np.random.default_rng(0)
    law = Law(rng.normal(size=(30, 9)), rng.normal(size=(30, 2)))
    with jax.enable_x64(True):
        evidence = gather_on_law(Experiment.of(law, 4, 60, None, rng), rng, 10, 3)
    assert len(evidence.charts) == 2  # no fits to draw in nine dimensions
    assert all(c.judge().verdict is not Verdict.REFUTED for c in evidence.claims)


def test_a_network_with_rows_is_judged_on_held_out_rows():
    net = load_as(Network, "digits-mlp").with_data(load_as(Dataset, "digits-test"))
    result = run(error_decomposition, net, steps=60)
    assert result.verdict is Verdict.CONSISTENT
    n = result.numbers
    total = sum(
        n[name].middle
        for name in ("generalisation", "optimisation", "statistical", "approximation")
    )
    assert total == pytest.approx(n["risk"].middle, rel=1e-12)
    assert (
        n["risk"].middle in n["risk within (nominal 95%)"]
        and n["risk within (nominal 95%)"].nominal == 0.95
    )
    assert run(error_decomposition, load_as(Network, "digits-mlp")).verdict is Verdict.INAPPLICABLE


def test_the_approximation_term_of_the_network_that_made_the_rows_is_their_noise():
    rng = np.random.default_rng(1)
    net = random_mlp(rng, (2, 6, 1), "tanh")
    x = rng.normal(size=(60, 2))
    with jax.enable_x64(True):
        y = np.asarray(net.apply(net.params, x)) + 0.1 * rng.normal(size=(60, 1))
    result = run(
        error_decomposition, Network.described(net).with_data(Dataset("rows", x, y)), steps=80
    )
    assert result.verdict is Verdict.CONSISTENT
    assert 0.005 < result.numbers["approximation"].middle < 0.02  # the noise, of variance 0.01


def test_shuffled_weights_are_half_of_the_same():
    W = np.arange(6.0).reshape(2, 3)
    b = np.ones(2)
    (V, c), *_ = shuffle_weights([(W, b)], np.random.default_rng(0))
    assert sorted(np.ravel(2 * V)) == list(range(6)) and V.shape == W.shape and not c.any()


def test_smaller_models_are_compared_on_the_same_sample():
    rng = np.random.default_rng(2)
    law = Law.of(np.linspace(-1, 1, 12)[:, None], np.sin(3 * np.linspace(-1, 1, 12)))
    experiment = Experiment.of(law, 24, 60, None, rng)
    counts = law.count(law.draw(rng, 8, None))
    end = experiment.run(counts, [60])[1]
    compared = compare_widths(experiment, counts, end, rng)
    assert [width for width, _ in compared] == [1, 3, 8, 24] and compared[-1][1] is end
    for _, terms in compared:
        assert abs(terms.defect) < 1e-14 and terms.best_true >= 0
