"""The register of open problems: nothing in it can be proved or refuted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import UsageError, Verdict
from ftheta.theorems.observations import ADAM, Observed
from ftheta.theorems.optimisation.open_problems_register import (
    CHOICES,
    ENTRIES,
    Entry,
    claim_effect,
    entries_for,
    measure_entries,
)
from ftheta.theorems.optimisation.open_problems_register.proxies import (
    adam_on_heavy_tails,
    late_generalisation,
    tokens_meet,
    zipf_words,
)
from ftheta.training.races import STEPS, at_best_step

numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, min_size=2, max_size=30))
def test_whatever_was_seen_the_verdict_is_consistent_or_inconclusive(effects):
    judged = claim_effect("problem", Observed("effect", np.array(effects))).judge()
    assert judged.verdict in (Verdict.CONSISTENT, Verdict.INCONCLUSIVE)
    if not np.isfinite(effects).all() or np.mean(effects) > 0:
        assert judged.verdict is Verdict.INCONCLUSIVE


def test_noise_around_zero_is_called_an_effect_as_seldom_as_the_confidence_says():
    noise = np.random.default_rng(0).normal(size=(4000, 8))
    called = [
        claim_effect("none", Observed("noise", row)).judge().verdict is Verdict.CONSISTENT
        for row in noise
    ]
    share = 0.025  # one side of a 95 % interval
    assert abs(np.mean(called) - share) < 4 * np.sqrt(share * (1 - share) / len(noise))


def test_a_clear_effect_is_consistent():
    assert (
        claim_effect("p", Observed("effect", np.array([-1.0, -1.1, -0.9]))).judge().verdict
        is Verdict.CONSISTENT
    )


@pytest.mark.parametrize("effects", [np.zeros((2, 2)), np.zeros(1), np.zeros(0)])
def test_an_observation_needs_one_number_a_seed(effects):
    with pytest.raises(UsageError, match="one number per seed"):
        Observed("effect", effects)


def test_entries_are_reproducible_and_do_not_disturb_one_another():
    made = [
        Entry(name, "proxy", "protocol", lambda rng, n: Observed("e", rng.normal(size=n)))
        for name in ("a", "b")
    ]
    both = measure_entries(made, 7, 5)
    alone = measure_entries(made[1:], 7, 5)
    assert both.claims[1] == alone.claims[0] and both.claims[0] != both.claims[1]
    assert measure_entries(made, 7, 5).claims == both.claims != measure_entries(made, 8, 5).claims


def test_the_register_has_the_eight_problems_of_the_catalogue():
    assert len(ENTRIES) == 8 == len(set(CHOICES)) - 1
    assert [e.problem for e in entries_for("grokking", None, "")] == ["grokking"]
    mine = entries_for("all", lambda rng, n: Observed("own", np.zeros(n)), "my rows")
    assert len(mine) == 8 and "my rows" in next(e.proxy for e in mine if e.problem == ADAM)


def test_a_best_step_at_the_end_of_the_grid_is_no_comparison():
    losses = np.linspace(1, 0, len(STEPS))[:, None, None] * np.ones((1, 3, 2))
    assert np.isnan(at_best_step(losses)).all()
    losses[-1] = np.nan
    assert np.isnan(at_best_step(losses[:-1])).all()
    assert (at_best_step(losses) == losses[-2]).all()


def test_separable_rows_give_descent_no_best_step_and_so_no_verdict():
    x = np.eye(6)
    seen = adam_on_heavy_tails(x, np.arange(6))(np.random.default_rng(0), 2)
    assert claim_effect(ADAM, seen).judge().verdict is Verdict.INCONCLUSIVE


def test_words_follow_the_law_of_zipf():
    x, y = zipf_words(np.random.default_rng(0))
    counts = x.sum(0)
    assert counts[0] == 64 and counts[1] == 32 and (np.diff(counts) <= 0).all() and len(y) == len(x)


@pytest.mark.parametrize("proxy", [late_generalisation, tokens_meet])
def test_quick_proxies_show_their_effect_on_another_seed(proxy):
    assert proxy(np.random.default_rng(123), 6).interval[1] < 0
