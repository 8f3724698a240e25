"""Bounds of the risk: against exact coverage, closed forms, SciPy, and simulation."""

from fractions import Fraction
from math import comb, exp, inf, log, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.risks.bounds import unseen
from ftheta.risks.bounds.balls import kl_inverse, log_over
from ftheta.risks.bounds.margins import (
    append_biases,
    frobenius_margin_bound,
    margins_of,
    norm_of_rows,
    rung,
    spectral_margin_bound,
)
from ftheta.risks.bounds.pac_bayes import (
    divergence,
    exponent,
    grid_cost,
    mcallester,
    pac_bayes,
    seeger,
)
from ftheta.risks.bounds.table import risk_bounds, stochastic_risk
from ftheta.risks.bounds.uniform import Units

from ..thoroughness import max_examples

DELTA = 0.05


def kl_of(q: float, p: float) -> float:
    first = 0.0 if q == 0 else q * log(q / p)
    return first + (0.0 if q == 1 else (1 - q) * log((1 - q) / (1 - p)))


def test_few_decisions_of_many_parameters_have_all_signs():
    """One row and one decision: two losses, however many parameters there are."""
    assert Units((1,), (100,)).log_growth(1) == pytest.approx(log(2))


def test_the_inverse_of_kl_is_above_all_that_an_uncertain_divergence_allows():
    with ctx.workprec(128):
        wide, most = arb(0.1).union(arb(0.2)), arb(0.2)
    assert kl_inverse(Fraction(1, 4), wide) >= kl_inverse(Fraction(1, 4), most)


@given(st.integers(0, 60), st.floats(1e-6, 3))
@max_examples(100)
def test_the_inverse_of_kl_is_where_the_divergence_reaches_c_rounded_up(k, c):
    q = Fraction(k, 60)
    found = kl_inverse(q, arb(c))
    with ctx.workprec(300):
        known = arb(k) / 60
        kl = lambda p: (
            (1 - known) * ((1 - known) / (1 - p)).log() + (known * (known / p).log() if k else 0)
        )
        assert found >= 1 or kl(arb(found)) > arb(c)  # so that the supremum is below
        assert (
            k == 60 or arb(found) - arb(2) ** -50 < known or kl(arb(found) - arb(2) ** -50) < arb(c)
        )
    assert found <= float(q) + sqrt(c / 2) + 1e-12 or found == 1  # Pinsker


@pytest.mark.parametrize(
    ("errors", "n"), [(0, 1), (0, 40), (1, 40), (20, 40), (39, 40), (40, 40), (300, 20_000)]
)
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-9])
def test_clopper_pearson_is_that_of_scipy_and_never_below_the_exact_quantile(errors, n, delta):
    found = unseen.clopper_pearson(errors, n, delta)
    peer = binomtest(errors, n, alternative="less").proportion_ci(1 - delta).high
    assert peer * (1 - 1e-9) <= found <= peer * (1 + 1e-7)
    if errors < n <= 40:
        p = Fraction(found)
        tail = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(errors + 1))
        assert tail < Fraction(delta)  # in rationals: the result is on the safe side


def one_sided(name):
    """The bound of so many errors among n rows."""

    def bound(errors: int, n: int, delta: float) -> float:
        mean, variance = unseen.mean_and_variance(np.r_[np.ones(errors), np.zeros(n - errors)])
        if name == "Clopper–Pearson":
            return unseen.clopper_pearson(errors, n, delta)
        if name == "empirical Bernstein":
            return unseen.empirical_bernstein(mean, n, delta, variance)
        return getattr(unseen, name)(mean, n, delta)

    return bound


NAMES = (
    "hoeffding",
    "chebyshev",
    "bernstein",
    "chernoff",
    "empirical Bernstein",
    "Clopper–Pearson",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "delta"), [(5, 0.3), (30, 0.1), (200, 0.05)])
def test_no_bound_fails_more_often_than_allowed_exactly(name, n, delta):
    bounds = np.array([one_sided(name)(k, n, delta) for k in range(n + 1)])
    for p in (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99):
        failing = float(binom.pmf(np.arange(n + 1), n, p)[bounds < p].sum())
        assert failing <= delta, (name, p)


def test_clopper_pearson_is_the_sharpest_and_cannot_be_improved_by_a_tenth():
    n = 100
    delta = 0.1
    for k in (0, 3, 50):
        exact = unseen.clopper_pearson(k, n, delta)
        assert all(exact <= one_sided(name)(k, n, delta) + 1e-12 for name in NAMES)
        assert binom.cdf(k, n, exact * 0.9) > delta


def test_the_formulas_are_those_of_the_books():
    mean = Fraction(1, 8)
    variance = Fraction(3, 64)
    n = 400
    L = log(1 / DELTA)
    assert unseen.hoeffding(mean, n, DELTA) == pytest.approx(0.125 + sqrt(L / 800), rel=1e-14)
    assert unseen.chebyshev(mean, n, DELTA, variance) == pytest.approx(
        0.125 + sqrt(3 / 64 * 0.95 / (400 * 0.05)), rel=1e-14
    )
    assert unseen.bernstein(mean, n, DELTA, variance) == pytest.approx(
        0.125 + sqrt(2 * 3 / 64 * L / 400) + L / 1200, rel=1e-14
    )
    solved = unseen.bernstein(mean, n, DELTA)
    assert solved == pytest.approx(0.125 + sqrt(2 * solved * L / 400) + L / 1200, rel=1e-13)
    two = log(2 / DELTA)
    expected = 0.125 + sqrt(2 * 3 / 64 * two / 400) + 7 * two / (3 * 399)
    assert unseen.empirical_bernstein(mean, n, DELTA, variance) == pytest.approx(
        expected, rel=1e-14
    )
    assert unseen.empirical_bernstein(mean, 1, DELTA, variance) == inf


def test_empirical_bernstein_covers_losses_between_zero_and_one():
    rng = np.random.default_rng(0)
    n = 60
    trials = 500
    failed = 0
    for _ in range(trials):
        losses = rng.beta(0.3, 3.0, n)
        mean, variance = unseen.mean_and_variance(losses)
        failed += unseen.empirical_bernstein(mean, n, 0.1, variance) < 0.3 / 3.3
    assert failed <= binom.ppf(1 - 1e-6, trials, 0.1)


def test_mean_and_variance_are_exact():
    losses = np.array([0.1, 0.2, 0.2, 1.0, 0.0])
    mean, variance = unseen.mean_and_variance(losses)
    exact = [Fraction(v) for v in losses.tolist()]
    assert mean == sum(exact) / 5
    assert variance == sum((v - mean) ** 2 for v in exact) / 4


@pytest.mark.parametrize("losses", [[], [0.5, 1.5], [-0.1], [float("nan")]])
def test_losses_outside_the_unit_interval_are_refused(losses):
    with pytest.raises(SubjectError, match="between 0 and 1"):
        unseen.mean_and_variance(np.array(losses))


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, 2.0])
def test_a_confidence_must_be_one(delta):
    with pytest.raises(UsageError, match="between 0 and 1"):
        unseen.hoeffding(Fraction(0), 10, delta)
    with pytest.raises(UsageError, match="between 0 and 1"):
        log_over(delta)


# ---- margins --------------------------------------------------------------------------------------------------------


def test_the_rungs_lie_above_and_their_parts_of_delta_add_up_to_one():
    for x in (1e-9, 0.3, 1.0, 17.0, 1e12):
        value, cost = rung(x)
        assert x <= value <= x * 2**0.25 * (1 + 1e-9)
        assert cost > 0
    assert sum(exp(-rung(2 ** (k / 4) / (1 + 1e-9))[1]) for k in range(-900, 900)) == pytest.approx(
        1, abs=2e-3
    )


def test_margins_are_the_distance_to_the_best_other_class():
    outputs = np.array([[1.0, 3.0, 2.0], [5.0, 0.0, 5.0]])
    assert margins_of(outputs, np.array([1, 2])).tolist() == [1.0, 0.0]
    assert margins_of(np.array([[2.0], [-3.0]]), np.array([-1, -1])).tolist() == [-2.0, 3.0]


@pytest.mark.parametrize("hidden", ["relu", "leaky-relu"])
def test_carrying_a_one_along_gives_the_same_network_without_biases(hidden):
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (3, 5, 4, 2), hidden, bias=1.0)
    x = rng.normal(size=3)
    one = np.ones(1)
    state = np.concatenate([x, one])
    *first, last = append_biases(net)
    for A in first:
        state = A @ state
        state = np.where(state > 0, state, state * (0.01 if hidden == "leaky-relu" else 0.0))
    with jax.enable_x64(True):
        assert last @ state == pytest.approx(np.asarray(net.apply(net.params, x)), rel=1e-12)


def test_the_margin_bounds_are_their_formulas_at_the_scale_they_chose():
    rng = np.random.default_rng(1)
    net = random_mlp(rng, (3, 6, 4), "relu", bias=0.5)
    x = rng.normal(size=(500, 3))
    labels = rng.integers(0, 4, 500)
    margins = margins_of(np.asarray(net.apply(net.params, x)), labels)
    A = append_biases(net)
    n = len(x)
    X = sqrt((x**2).sum() + n)
    assert norm_of_rows(x) == pytest.approx(X, rel=1e-9)
    found = frobenius_margin_bound(net, x, margins, DELTA)
    assert found is not None
    product, cost = rung(float(np.prod([np.linalg.norm(a) for a in A])))
    complexity = 2 * 8 * product * (sqrt(4 * log(2)) + 1) * X / (n * found.gamma)
    assert found.complexity == pytest.approx(complexity, rel=1e-9)
    assert found.ramp == pytest.approx(np.clip(1 - margins / found.gamma, 0, 1).mean(), rel=1e-9)
    of_scale = grid_cost(round(4 * np.log2(found.gamma)))
    rest = 3 * sqrt((log(2 / DELTA) + cost + of_scale) / (2 * n))
    assert found.value == pytest.approx(found.ramp + found.complexity + rest, rel=1e-9)
    spectral = spectral_margin_bound(net, x, margins, DELTA)
    assert spectral is not None
    s = [rung(float(np.linalg.norm(a, 2)))[0] for a in A]
    weights = [np.column_stack(pair) for pair in net.params]
    b = [rung(float(np.linalg.norm(w, axis=1).sum()))[0] for w in weights]
    spread = sum((q / p) ** (2 / 3) for p, q in zip(s, b)) ** 1.5
    root = sqrt(8 * log(2 * 7**2))
    expected = 2 * (4 / n + 24 * X * log(n) / (n * spectral.gamma) * root * s[0] * s[1] * spread)
    assert spectral.complexity == pytest.approx(expected, rel=1e-6)


def test_a_reference_near_the_network_makes_the_spectral_bound_smaller():
    rng = np.random.default_rng(2)
    net = random_mlp(rng, (3, 6, 4), "relu")
    x = rng.normal(size=(100, 3))
    margins = rng.normal(size=100)
    near = [(W + 1e-6, b + 1e-6) for W, b in net.params]
    far, close = (spectral_margin_bound(net, x, margins, DELTA, r) for r in (None, near))
    assert far is not None and close is not None and close.complexity < 0.1 * far.complexity


def test_activations_outside_the_theorems_are_left_out():
    net = random_mlp(np.random.default_rng(0), (2, 3, 1), "sigmoid")
    x = np.ones((9, 2))
    assert frobenius_margin_bound(net, x, np.ones(9), DELTA) is None
    assert spectral_margin_bound(net, x, np.ones(9), DELTA) is None


def test_wide_margins_of_a_linear_classifier_make_the_bound_informative_and_true():
    rng = np.random.default_rng(3)
    net = Description((Dense(np.array([[1.0, 0.0]]), np.zeros(1)),))
    x = np.column_stack([rng.choice([-1.0, 1.0], 40_000), rng.normal(size=40_000) * 0.1])
    found = frobenius_margin_bound(net, x, np.abs(x[:, 0]), DELTA)
    assert found is not None and found.value < 0.2


# ---- PAC-Bayes ------------------------------------------------------------------------------------------------------


def linear_gibbs_risk(theta: np.ndarray, spread: float, x: np.ndarray, y: np.ndarray) -> float:
    """Of sign⟨w, x⟩ with w ~ N(θ, s²I): Φ(−y⟨θ, x⟩/(s|x|)) a row."""
    return float(norm.cdf(-y * (x @ theta) / (spread * np.linalg.norm(x, axis=1))).mean())


def linear_errs(params, x, y):
    return jnp.dot(params, x) * y <= 0


def test_the_risk_of_the_random_network_is_that_of_the_closed_form():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    theta = np.array([1.0, 2.0, 0.0, -1.0])
    y = np.sign(x @ theta + rng.normal(size=300))
    found = pac_bayes(linear_errs, theta, np.zeros(4), x, y, DELTA, rng, draws=40_000)
    exact = linear_gibbs_risk(theta, found.spread, x, y)
    z = (found.errors / found.draws - exact) / sqrt(exact * (1 - exact) / found.draws)
    assert abs(z) < 5
    assert found.gibbs >= exact  # at confidence 1 − δ/10; this seed is no exception
    kl = float(theta @ theta) / (2 * found.spread**2)
    assert found.divergence == pytest.approx(kl, rel=1e-9)
    k = round(2 * np.log2(found.spread))
    c = (kl + log(2 * sqrt(300) / (0.9 * DELTA)) + grid_cost(k)) / 300
    assert found.mcallester == pytest.approx(found.gibbs + sqrt(c / 2), rel=1e-9)
    assert kl_of(found.gibbs, found.seeger) == pytest.approx(c, rel=1e-6)
    assert found.seeger <= found.mcallester < 1


def test_the_risk_with_random_weights_is_that_of_the_closed_form():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3))
    theta = np.array([1.0, -1.0, 0.5])
    y = np.sign(rng.normal(size=200)).astype(int)
    found = stochastic_risk((theta, lambda w, row: row @ w), (x, y), 0.8, draws=20_000)
    assert linear_gibbs_risk(theta, 0.8, x, y) in found and found.width < 0.05


def test_the_divergence_is_that_of_the_gaussians():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=5)
    prior = rng.normal(size=5)
    s = 0.7
    w = theta + s * rng.normal(size=(200_000, 5))
    logs = ((w - prior) ** 2 - (w - theta) ** 2).sum(1) / (2 * s**2)
    z = (logs.mean() - float(divergence(theta, prior, s))) / (logs.std() / sqrt(len(logs)))
    assert abs(z) < 5


def test_the_parts_of_delta_for_the_spreads_add_up_to_one():
    assert sum(exp(-grid_cost(k)) for k in range(-3000, 3000)) == pytest.approx(1, abs=1e-3)


def test_the_bound_holds_for_weights_fitted_to_the_rows():
    rng = np.random.default_rng(2)
    trials = 20
    failed = 0
    teacher = np.array([1.0, 1.0, 0.0])
    fresh = rng.normal(size=(20_000, 3))
    truth = np.sign(fresh @ teacher)
    for _ in range(trials):
        x = rng.normal(size=(60, 3))
        y = np.sign(x @ teacher)
        theta = np.linalg.lstsq(x, y, rcond=None)[0]
        found = pac_bayes(linear_errs, theta, np.zeros(3), x, y, 0.2, rng, draws=500)
        failed += found.seeger < linear_gibbs_risk(theta, found.spread, fresh, truth)
    assert failed <= binom.ppf(1 - 1e-6, trials, 0.2)


def test_few_rows_and_other_shapes_are_refused():
    with pytest.raises(UsageError, match="eight rows"):
        exponent(arb(1), 7, DELTA)
    with pytest.raises(UsageError, match="different parameters"):
        pac_bayes(
            linear_errs,
            np.ones(3),
            np.ones(2),
            np.ones((9, 3)),
            np.ones(9),
            DELTA,
            np.random.default_rng(0),
            100,
        )
    assert seeger(1.0, arb(1)) == 1 and mcallester(0.5, arb(0)) == pytest.approx(0.5)


# ---- the table ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    y = (x.sum(1) > 0).astype(int)
    start = random_mlp(rng, (2, 8, 2), "relu")
    run = ft.fit(start, (x[:1500], y[:1500]), "cross-entropy", "adam", step=0.02, steps=150)
    return start, run.network, (x[:1500], y[:1500]), (x[1500:], y[1500:])


def test_the_table_has_every_bound_and_marks_the_vacuous(trained):
    start, net, train, test = trained
    found = risk_bounds(net, train, test, prior=start, draws=4000)
    names = [b.name for b in found.bounds]
    wanted = (
        "Hoeffding",
        "Chebyshev",
        "Bernstein",
        "empirical Bernstein",
        "Chernoff",
        "Clopper–Pearson",
        "VC",
    )
    more = ("Frobenius margin", "spectral margin", "PAC-Bayes, McAllester", "PAC-Bayes, kl inverse")
    assert names == [*wanted, *more]
    assert found["VC"].vacuous and found["spectral margin"].vacuous
    assert not found["PAC-Bayes, kl inverse"].vacuous and not found["Clopper–Pearson"].vacuous
    assert all(b.vacuous == (b.value >= 1) and 0 < b.delta < 1 and b.assumes for b in found.bounds)
    errors = sum(int(np.argmax(net.apply(net.params, row)) != label) for row, label in zip(*test))
    assert found.test_risk == Fraction(errors, 1500)
    assert found["Clopper–Pearson"].value == unseen.clopper_pearson(errors, 1500, 0.05)
    assert "vacuous" in str(found) and len(found.table.rows) == 11
    with pytest.raises(UsageError, match="no bound of this name"):
        found["Occam"]


def test_a_prior_near_the_network_makes_pac_bayes_sharper(trained):
    start, net, train, _ = trained
    wide = risk_bounds(net, train, draws=2000)["PAC-Bayes, kl inverse"].value
    near = risk_bounds(net, train, prior=net, draws=2000)["PAC-Bayes, kl inverse"].value
    assert near < 0.05 < wide and risk_bounds(net, train, prior=start, draws=2000).test_risk is None


def test_one_output_and_a_function_without_layers(trained):
    _, _, (x, y), test = trained
    net = (np.array([1.0, 1.0]), lambda w, row: row @ w)
    found = risk_bounds(net, (x, 2 * y - 1), (test[0], test[1]), draws=1000)
    assert found.train_risk == found.test_risk == 0
    assert dict(found.left_out)["VC"] == "the layers are not known"


def test_the_seed_decides_the_table(trained):
    _, net, train, test = trained
    one, two = (risk_bounds(net, train, test, draws=500, seed=5) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 20), "0-1 loss"),
        (np.arange(20), "0-1 loss"),
        (np.ones((20, 2)), "0-1 loss"),
        (None, "no labels"),
    ],
)
def test_rows_without_classes_are_refused(labels, message):
    net = random_mlp(np.random.default_rng(0), (2, 3, 2), "relu")
    with pytest.raises(SubjectError, match=message):
        risk_bounds(net, (np.zeros((20, 2)), labels))


def test_rows_that_do_not_fit_are_refused():
    net = random_mlp(np.random.default_rng(0), (2, 3, 2), "relu")
    for x, y in ((np.zeros((9, 3)), np.zeros(9)), (np.zeros((9, 2)), np.zeros(8))):
        with pytest.raises(SubjectError, match="do not fit"):
            risk_bounds(net, (x, y))


def test_a_few_rows_have_no_pac_bayes_bound():
    net = random_mlp(np.random.default_rng(0), (2, 3, 2), "relu")
    found = risk_bounds(net, (np.random.default_rng(1).normal(size=(7, 2)), np.arange(7) % 2))
    assert "PAC-Bayes" in dict(found.left_out) and found.randomised is None


def test_no_rows_and_impossible_confidence_are_refused():
    net = random_mlp(np.random.default_rng(0), (2, 3, 2), "relu")
    with pytest.raises(UsageError, match="no rows"):
        risk_bounds(net)
    with pytest.raises(UsageError, match="between 0 and 1"):
        risk_bounds(net, (np.zeros((20, 2)), np.zeros(20)), delta=1.5)


def test_the_closed_form_of_the_random_linear_classifier_is_that_of_quadrature():
    t = np.linspace(-12, 12, 200_001)
    density = np.exp(-(t**2) / 2) / sqrt(2 * pi)
    theta = np.array([0.3, -0.2])
    x = np.array([[1.0, 2.0]])
    s = 0.5
    wrong = (x @ theta + s * np.linalg.norm(x) * t[:, None])[:, 0] <= 0
    assert linear_gibbs_risk(theta, s, x, np.ones(1)) == pytest.approx(
        np.trapezoid(density * wrong, t), abs=1e-4
    )


@pytest.mark.parametrize(
    "bound", [unseen.hoeffding, unseen.chebyshev, unseen.bernstein, unseen.chernoff]
)
@pytest.mark.parametrize(
    ("mean", "n"), [(Fraction(3, 2), 10), (Fraction(-1, 2), 10), (Fraction(1, 2), 0)]
)
def test_bounds_are_about_losses_between_0_and_1(bound, mean, n):
    with pytest.raises(UsageError, match="between 0 and 1"):
        bound(mean, n, 0.05)


def test_rows_that_are_not_finite_are_named():
    net = random_mlp(np.random.default_rng(0), (2, 4, 2))
    x = np.zeros((5, 2))
    x[3, 1] = np.nan
    with pytest.raises(SubjectError, match="not finite") as caught:
        risk_bounds(net, test=(x, np.zeros(5, int)))
    assert caught.value.where == "test, row 3"
