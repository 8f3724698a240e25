"""Rates that were measured, and the proof of Leshno et al. as one construction."""

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.approximation.leshno import leshno_chain
from ftheta.approximation.rates import measure_rates
from ftheta.logic import UsageError


def test_exponents_do_not_depend_on_the_dimension():
    found = measure_rates((1, 5, 20), (8, 16, 32, 64), seeds=48)
    assert [row.dimension for row in found.rows] == [1, 5, 20]
    for row in found.rows:
        assert row.exponent.lo <= -0.5 <= row.exponent.hi or row.exponent.middle == pytest.approx(
            -0.5, abs=0.12
        )
        assert row.within_bounds and row.exponent.confidence == 0.99
    exponents, errors = found.charts()
    assert len(exponents.series) == 4 and len(errors.series) == 6 and len(found.table().rows) == 3
    with pytest.raises(UsageError, match="three numbers"):
        measure_rates((1,), (8, 16))


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_the_budget_of_the_chain_holds_at_points_in_balls(activation):
    f = lambda x: 1 / (1.5 + x)
    made = leshno_chain(f, (-1, 1), activation=activation, reach=1, degree=3, cells=64)
    assert all(np.isfinite(term.hi) for term in made.terms)
    met = [abs(made(np.array([x])).middle - 1 / (1.5 + x)) for x in (-1.0, -0.3, 0.5, 1.0)]
    assert max(met) <= made.bound.hi
    assert made.neurons == 2 * (2 + 3 + 4) * 64 and made.chart().kind == "bars"


def test_finer_steps_cost_less_until_the_sums_have_to_pay():
    f = lambda x: jnp.exp(x[0] - x[1])
    coarse, fine = (
        leshno_chain(f, ([-1, -1], [1, 1]), reach=1, degree=4, step=h, cells=4096)
        for h in (0.5, 0.125)
    )
    assert fine.terms[2].hi < coarse.terms[2].hi and fine.terms[3].hi > coarse.terms[3].hi
    longer = leshno_chain(f, ([-1, -1], [1, 1]), reach=1, degree=8, step=0.125, cells=4096)
    assert longer.terms[1].hi < fine.terms[1].hi / 10


def test_what_the_chain_refuses():
    with pytest.raises(UsageError, match="no polynomial"):
        leshno_chain(lambda x: x, (0, 1), activation="square")
    with pytest.raises(UsageError, match="too large"):
        leshno_chain(lambda x: x, (0, 1), cells=100_000)(np.array([0.5]))
