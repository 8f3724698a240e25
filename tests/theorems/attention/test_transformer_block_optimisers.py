"""Adam against descent: the rules are those of optax, and nothing is concluded that was not seen."""

import jax
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Verdict
from ftheta.theorems.attention.transformer_block_optimisers import (
    best_steps,
    draw_step_sizes,
    race_evidence,
)
from ftheta.theorems.attention.transformer_block_optimisers.optimiser_race import (
    GRIDS,
    Race,
    make_rule,
)


@pytest.mark.parametrize(
    "weights, rule",
    [
        ((0.1, 0, 0), optax.adam(0.1)),
        ((0, 0.1, 0), optax.sgd(0.1)),
        ((0, 0, 0.1), optax.sgd(0.1, 0.9)),
    ],
)
def test_members_of_the_family_are_the_rules_of_optax(weights, rule):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        params = {"w": np.ones((2, 3)), "b": np.zeros(3)}
        ours = make_rule(np.array(weights, float))
        a = ours.init(params)
        b = rule.init(params)
        for _ in range(4):
            g = jax.tree.map(lambda p: rng.normal(size=p.shape), params)
            u, a = ours.update(g, a, params)
            v, b = rule.update(g, b, params)
            for one, other in zip(jax.tree.leaves(u), jax.tree.leaves(v)):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def made(ends: list[float], best: int = 2, seeds: int = 4) -> Race:
    """Courses that fall to these ends at the best step of the grid, and less far at all others."""
    steps = 5
    sizes = len(GRIDS["Adam"])
    away = np.abs(np.arange(sizes) - best)[:, None, None]
    course = np.linspace(1, 0, steps)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(3, 1, seeds, 1))
    return Race(np.array(ends)[:, None, None, None] + away + course + noise, 2.0)


def verdicts(race: Race) -> list[Verdict]:
    return [claim.judge().verdict for claim in race_evidence(race, 1, 2).claims]


def test_where_adam_is_lower_in_every_seed_this_is_consistent_and_no_more():
    assert verdicts(made([0.1, 0.5, 0.3])) == [Verdict.CONSISTENT] * 2


def test_where_adam_is_not_lower_nothing_is_concluded():
    assert verdicts(made([0.5, 0.9, 0.1])) == [Verdict.CONSISTENT, Verdict.INCONCLUSIVE]


@pytest.mark.parametrize("end", [0, len(GRIDS["Adam"]) - 1])
def test_a_best_step_at_the_end_of_the_grid_is_no_comparison(end):
    race = made([0.1, 0.5, 0.3], best=end)
    assert verdicts(race) == [Verdict.INCONCLUSIVE] * 2
    assert all("end of the grid" in str(row[-1]) for row in best_steps(race).rows)


@given(st.integers(0, 2), st.sampled_from([np.nan, np.inf]))
def test_runs_that_diverge_are_not_the_best(rule, value):
    race = made([0.1, 0.5, 0.3])
    race.losses[rule, 3:, :, -1] = value
    assert verdicts(race) == [Verdict.CONSISTENT] * 2
    assert np.isfinite([y for series in draw_step_sizes(race).series for y in series.y]).all()
