"""Signs of curvature on whole intervals, and the well ½ tanh²."""

from itertools import pairwise
from math import atanh, log, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from scipy.integrate import solve_ivp

from ftheta.certify.curvature_sign import curvature_signs, inflexions
from ftheta.logic import UsageError, Verdict
from ftheta.theorems.optimisation.nonconvex_tanh import (
    claim_curvature_signs,
    claim_escape,
    claim_shape,
)
from ftheta.theorems.optimisation.nonconvex_tanh.tanh_well import (
    escape,
    flow_time,
    gap,
    half_tanh_squared,
)


def test_the_inflexions_of_the_cosine_are_at_odd_multiples_of_a_quarter_turn():
    found = inflexions(curvature_signs(lambda a: 1 - jnp.cos(a), -6.0, 6.0))
    assert len(found) == 4
    for ball, k in zip(found, (-3, -1, 1, 3)):
        assert k * pi / 2 in ball.widened(absolute=1e-15) and ball.width < 1e-11


@pytest.mark.parametrize(
    "f", [lambda a: a**4 - 3 * a**2, lambda a: jnp.exp(-a * a), half_tanh_squared]
)
def test_every_decided_stretch_has_its_sign_at_random_points(f):
    second = lambda a: (f(a + 1e-4) - 2 * f(a) + f(a - 1e-4)) / 1e-8
    rng = np.random.default_rng(0)
    stretches = curvature_signs(f, -3.0, 3.0)
    assert stretches[0].lo == -3 and stretches[-1].hi == 3
    assert all(a.hi == b.lo for a, b in pairwise(stretches))
    for s in (s for s in stretches if s.sign):
        a = rng.uniform(float(s.lo), float(s.hi), 8)
        with jax.enable_x64(True):
            bend = np.array([float(second(v)) for v in a])
        assert (np.sign(bend[np.abs(bend) > 1e-4]) == s.sign).all()


def test_a_straight_line_is_never_decided_and_the_budget_ends_it():
    assert {s.sign for s in curvature_signs(lambda a: 2 * a + 1, -1.0, 1.0, tol=1e-2)} == {0}


def test_an_empty_interval_is_refused():
    with pytest.raises(UsageError, match="lo < hi"):
        curvature_signs(half_tanh_squared, 1.0, 1.0)


def test_the_inflexion_of_the_well_is_where_two_closed_forms_say():
    (right,) = (b for b in inflexions(curvature_signs(half_tanh_squared, -6.0, 6.0)) if b.lo > 0)
    assert atanh(1 / sqrt(3)) in right.widened(absolute=1e-15)
    assert log(2 + sqrt(3)) / 2 in right.widened(absolute=1e-15)


def test_the_shape_is_proved_and_a_convex_function_is_refuted():
    assert {c.judge().verdict for c in claim_shape()} == {Verdict.PROVED}
    assert {c.judge().verdict for c in claim_curvature_signs(half_tanh_squared, 6.0)[0]} == {
        Verdict.PROVED
    }
    assert Verdict.REFUTED in {
        c.judge().verdict for c in claim_curvature_signs(lambda a: a * a / 2, 6.0)[0]
    }


def test_functions_are_told_apart_only_where_they_differ():
    assert gap(lambda a: 0.5 * jnp.tanh(a) * jnp.tanh(a)) == 0
    assert gap(lambda a: jnp.tanh(a) ** 2 / 2 + 1e-9) == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("start, tau", [(3.0, 1.0), (2.0, 0.1), (4.0, 0.5), (0.7, 1.0)])
def test_the_steps_out_of_the_plateau_are_those_of_a_plain_loop_and_obey_both_bounds(start, tau):
    a = start
    k = 0
    while a > atanh(1 / sqrt(3)):
        a = a - tau * np.tanh(a) * (1 - np.tanh(a) ** 2)
        k = k + 1
    found = escape(start, tau)
    assert found.steps == k
    assert {c.judge().verdict for c in claim_escape(found)} == {Verdict.PROVED}


def test_the_time_of_flow_is_that_of_an_integrator():
    time = float(flow_time(arb(3), arb(1)))
    slope = lambda t, a: -np.tanh(a) * (1 - np.tanh(a) ** 2)
    end = solve_ivp(slope, (0, time), [3.0], rtol=1e-11, atol=1e-12).y[0, -1]
    assert end == pytest.approx(1.0, abs=1e-7)


def test_a_plateau_beyond_the_budget_gives_a_lower_bound_and_no_verdict():
    found = escape(8.0, 0.001)
    assert found.steps is None and found.count.lo > 1e8
    assert {c.judge().verdict for c in claim_escape(found)} == {Verdict.INCONCLUSIVE}
