"""Minimisers of conditional risk against scipy and brute force; the noise floor against group means."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ftheta.risks.bayes import (
    ConditionalLaw,
    Groups,
    entropy_slope,
    log_odds,
    logistic_bracket,
    logistic_minimiser,
    logistic_risk,
    logistic_slope,
)

from ..thoroughness import max_examples

THREE = ConditionalLaw.of(np.repeat([0.0, 1.0, 10.0], [8, 7, 5]))
values = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


def test_the_law_of_the_catalogue():
    assert (THREE.mean, THREE.variance) == (Fraction(285, 100), Fraction(172275, 10000))
    assert THREE.median == (1, 1) and THREE.mode == 0
    assert THREE.risk("absolute", Fraction(1)) == Fraction(265, 100)
    assert log_odds(Fraction(4, 5)).middle == pytest.approx(np.log(4), rel=1e-15)


@max_examples(60)
@given(values)
def test_minimisers_beat_every_rival_and_agree_with_numpy(y):
    law = ConditionalLaw.of(np.array(y, float))
    rivals = [Fraction(c, 4) for c in range(-24, 25)]
    for loss, best in (("squared", law.mean), ("absolute", law.median[0]), ("zero-one", law.mode)):
        assert law.risk(loss, best) <= min(law.risk(loss, c) for c in rivals)
    assert law.risk("absolute", law.median[0]) == law.risk("absolute", law.median[1])
    assert float(law.mean) == pytest.approx(np.mean(y)) and float(law.variance) == pytest.approx(
        np.var(y), abs=1e-12
    )
    assert law.median[0] <= Fraction(float(np.median(y))) <= law.median[1]
    for loss in ("squared", "absolute"):
        at = Fraction(law.search_minimiser(loss))
        best = law.mean if loss == "squared" else law.median[0]
        assert float(law.risk(loss, at) - law.risk(loss, best)) <= 1e-9


@pytest.mark.parametrize(
    "p", [Fraction(1, 1000), Fraction(1, 3), Fraction(4, 5), Fraction(999, 1000)]
)
def test_the_logistic_risk_is_least_at_the_log_odds(p):
    at = minimize_scalar(
        lambda s: logistic_risk(p, s), bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}
    ).x
    assert (
        log_odds(p).middle
        == pytest.approx(at, abs=1e-5)
        == pytest.approx(logistic_minimiser(p), abs=1e-5)
    )
    before, after = logistic_bracket(p)
    assert before.hi < 0 < after.lo


def test_one_class_has_no_minimiser():
    assert log_odds(Fraction(1)).lo == -np.inf
    before, after = logistic_bracket(Fraction(1))
    assert before.hi < 0 and after.hi < 0  # still falling
    assert logistic_slope(Fraction(1, 2), Fraction(0)).middle == 0


def test_the_cross_entropy_is_stationary_at_log_probabilities():
    found = entropy_slope((Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)))
    assert found.lo <= 0 <= found.hi and found.width < 1e-60


def test_the_noise_floor_is_the_risk_of_group_means():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (60, 1)).astype(float)
    y = x[:, 0] + rng.normal(size=60)
    groups = Groups.of(x, y)
    means = np.array([y[x[:, 0] == v].mean() for v in x[:, 0]])
    medians = np.array([np.median(y[x[:, 0] == v]) for v in x[:, 0]])
    assert float(groups.floor("squared")) == pytest.approx(np.mean((y - means) ** 2), rel=1e-12)
    assert float(groups.floor("absolute")) == pytest.approx(np.mean(np.abs(y - medians)), rel=1e-12)
    spare = 60 - len(np.unique(x))
    assert groups.noise_variance() == pytest.approx(np.sum((y - means) ** 2) / spare, rel=1e-12)
    assert groups.repeated_rows == 60
    alone = Groups.of(np.arange(4.0)[:, None], np.arange(4.0))
    assert (
        alone.floor("squared") == 0
        and np.isnan(alone.noise_variance())
        and alone.repeated_rows == 0
    )
