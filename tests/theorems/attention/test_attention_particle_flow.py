"""Tokens in blocks against all pairs at once, against another integrator, and against what is known of them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ftheta.logic import Finding, Status, Verdict
from ftheta.particles.tokens.clouds import hemisphere, start, unit
from ftheta.particles.tokens.sphere import SOFTMAX, UNNORMALISED, token_cosines, velocity
from ftheta.running import run
from ftheta.subjects import Measure
from ftheta.theorems.attention import attention_particle_flow as tokens
from ftheta.theorems.attention.attention_particle_flow import flow, leaders
from ftheta.theorems.attention.attention_particle_flow.charts import draw_tokens
from ftheta.theorems.attention.attention_particle_flow.flow import TokenFlow, apply_layers
from ftheta.theorems.attention.attention_particle_flow.rigour import orthonormal_pair_error

from ...thoroughness import max_examples

KINDS = (SOFTMAX, UNNORMALISED)


def cloud(seed: int, n: int, d: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


@max_examples(30)
@given(st.integers(1, 40), st.integers(1, 5), st.floats(0, 8), st.integers(1, 12))
def test_blocks_add_up_to_all_pairs(n, d, beta, block):
    x = cloud(n, n, d)
    weights = np.exp(beta * (x @ x.T - 1))
    pull, total = flow.pulls(x, beta, block)
    np.testing.assert_allclose(pull, weights @ x, atol=1e-12 * n)
    np.testing.assert_allclose(total, weights.sum(1), rtol=1e-12)


def test_single_precision_stays_single():
    x = cloud(0, 300, 8).astype(np.float32)
    pull, total = flow.pulls(x, 2.0)
    assert pull.dtype == total.dtype == np.float32
    wide, _ = flow.pulls(x.astype(float), 2.0)
    np.testing.assert_allclose(pull, wide, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_those_of_the_small_core_and_of_identity_matrices(kind):
    x = cloud(1, 50, 4)
    v, _ = flow.sphere_field(3.0, kind)(x)
    np.testing.assert_allclose(v, velocity(x, 3.0, kind), atol=1e-10)
    same, _ = flow.matrix_field(3.0, kind, flow.Matrices(np.eye(4), np.eye(4), np.eye(4)))(x)
    np.testing.assert_allclose(same, v, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_general_matrices_against_the_definition(kind):
    rng = np.random.default_rng(2)
    x, Q, K, V = cloud(2, 7, 3), *rng.normal(size=(3, 3, 3))
    v, _ = flow.matrix_field(0.7, kind, flow.Matrices(Q, K, V))(x)
    for i in range(7):
        weights = np.array([np.exp(0.7 * np.dot(Q @ x[i], K @ x[j])) for j in range(7)])
        pull = sum(w * V @ x[j] for j, w in enumerate(weights)) / (
            7 if kind == UNNORMALISED else weights.sum()
        )
        np.testing.assert_allclose(v[i], pull - np.dot(pull, x[i]) * x[i], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.0, 1.5])
def test_the_energy_grows_at_the_rate_that_velocities_say(kind, beta):
    x = cloud(3, 12, 3)
    h = 1e-5
    v, gain = flow.sphere_field(beta, kind)(x)
    slope = (flow.energy(unit(x + h * v), beta) - flow.energy(unit(x - h * v), beta)) / (2 * h)
    assert slope == pytest.approx(gain, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_go_where_another_integrator_takes_them(kind):
    x = cloud(4, 9, 3)
    times = np.array([0.5, 2.0])
    states = flow.follow(x, flow.sphere_field(1.0, kind), times).states
    np.testing.assert_allclose(
        states @ states.transpose(0, 2, 1), token_cosines(x, 1.0, kind, times), atol=1e-6
    )


def test_a_simulation_ends_where_its_budget_does(monkeypatch):
    monkeypatch.setattr(flow, "WORK", 0.0)
    course = flow.follow(
        cloud(0, 4, 3), flow.sphere_field(30.0, UNNORMALISED), np.linspace(0, 50, 26)
    )
    assert 0 < len(course.times) < 26 and np.isfinite(course.states).all()


def test_clusters_are_connected_tokens():
    angles = np.array([0.0, 0.05, 0.1, 1.5, 1.52, 3.0])
    count, labels = flow.cluster_labels(np.stack([np.cos(angles), np.sin(angles)], 1))
    assert count == 3
    assert len(set(labels[:3])) == len(set(labels[3:5])) == 1 and len(set(labels)) == 3


def test_a_plateau_is_the_longest_time_with_the_same_clusters():
    pole = lambda angle: np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [-1.0, 0.0]])
    states = np.stack([pole(a) for a in (1.0, 0.01, 0.01, 0.01)])
    assert flow.Course(np.array([0.0, 1.0, 5.0, 7.0]), states, np.zeros(4)).plateau() == (2, 6.0)


@max_examples(30)
@given(st.integers(0, 1000), st.integers(2, 12), st.integers(2, 4))
def test_a_hemisphere_is_found_exactly_when_a_linear_program_finds_one(seed, n, d):
    x = cloud(seed, n, d)
    w = hemisphere(x)
    best = linprog(
        np.r_[np.zeros(d), -1], np.c_[-x, np.ones(n)], np.zeros(n), bounds=[(-1, 1)] * (d + 1)
    )
    assert (w is not None) == (-best.fun > 1e-9)
    assert w is None or (x @ w > 0).all()


def known_to_meet(x: np.ndarray, beta: float) -> Finding:
    return tokens.known_to_meet(Measure.empirical("tokens", x), {"beta": beta, "kind": SOFTMAX})


def test_when_tokens_are_known_to_meet():
    # three directions of the plane
    simplex = unit(np.eye(3) - 1 / 3) @ np.linalg.svd(np.eye(3) - 1 / 3)[2][:2].T
    assert known_to_meet(simplex, 2.0).status is Status.FAILED
    assert known_to_meet(simplex, 1.0).status is Status.ASSUMED
    assert (
        known_to_meet(start("hemisphere", np.random.default_rng(0), 20, 2), 9.0).status
        is Status.PROVED
    )
    assert known_to_meet(cloud(0, 50, 3), 9.0).status is Status.ASSUMED


def test_the_printed_step_is_refuted_in_balls_and_the_right_one_is_not():
    (printed,) = run(tokens.attention_particle_flow, tokens=4, time=1.0).as_printed
    assert printed.judgement.verdict is Verdict.REFUTED
    K = 128
    x = apply_layers(np.eye(2), flow.sphere_field(0.0, SOFTMAX), np.full(K, 1 / K))
    found = orthonormal_pair_error([Fraction(1, K)] * K)
    assert found.width < 1e-18 and found.middle == pytest.approx(
        abs(x[0] @ x[1] - np.tanh(1)), rel=1e-9
    )
    assert found.hi < 0.01


def test_tokens_of_a_hemisphere_meet_at_the_rate_of_the_linear_flow():
    x = start("hemisphere", np.random.default_rng(1), 10, 3)
    assert flow.follow(x, flow.sphere_field(1.0, SOFTMAX), np.linspace(0, 12, 40)).decay()[
        -1
    ] == pytest.approx(2, rel=0.02)
    fast = flow.follow(x, flow.sphere_field(1.0, UNNORMALISED), np.linspace(0, 5, 60)).decay()[-1]
    assert fast == pytest.approx(2 * np.e, rel=0.02)


def test_layers_of_step_one_over_depth_tend_to_the_flow():
    tried = TokenFlow(cloud(5, 8, 3), 1.0, SOFTMAX, 1.0)
    limit = tried.course.states[-1]
    coarse, fine = (
        np.abs(apply_layers(tried.x, tried.field, np.full(K, 1 / K)) - limit).max()
        for K in (50, 100)
    )
    assert fine == pytest.approx(coarse / 2, rel=0.1)


def test_the_film_begins_and_ends_with_the_course_and_stays_on_the_sphere():
    tried = TokenFlow(cloud(5, 60, 3), 9.0, SOFTMAX, 8.0)
    film = draw_tokens(tried.course)
    x, y, z = (np.array(rows) for rows in (film.xs, film.ys, film.depths))
    np.testing.assert_allclose(x**2 + y**2 + z**2, 1, atol=0.02)  # depths have two digits
    assert film.times[0] == 0 and film.times[-1] == 8 and np.all(np.diff(film.times) > 0)
    cosines = lambda k: np.sort(
        (np.stack([x[k], y[k]], 1) @ np.stack([x[k], y[k]]) + np.outer(z[k], z[k])).ravel()
    )
    for k in (0, -1):  # seen from another side, the same tokens
        np.testing.assert_allclose(
            cosines(k),
            np.sort((tried.course.units[k] @ tried.course.units[k].T).ravel()),
            atol=0.02,
        )
    step = np.hypot(np.diff(x, axis=0), np.diff(y, axis=0))
    assert step.max() < 0.3, "no token jumps"


def test_a_film_is_coloured_by_the_clusters_that_stood_longest():
    poles = np.repeat(np.eye(3), (9, 6, 1), axis=0) + 0.01 * np.random.default_rng(0).normal(
        size=(16, 3)
    )
    film = draw_tokens(TokenFlow(unit(poles), 30.0, SOFTMAX, 2.0).course)
    assert film.groups == ("cluster 1: 9 tokens",) * 9 + ("cluster 2: 6 tokens",) * 6 + (
        "other tokens",
    )


# -- without layer norm ----------------------------------------------------------------------------------


def test_on_a_line_the_extreme_tokens_lead():
    z = np.array([[-1.0], [-0.4], [0.3], [0.8], [1.2]])
    found = leaders.follow_rescaled(z, 1.0, np.linspace(0, 8, 30))
    assert found.leaders().tolist() == [0, 4]
    assert found.row_gaps()[-1] < 1e-6
    end = found.z[-1][:, 0]
    np.testing.assert_allclose(end, end[[0, 0, 4, 4, 4]], atol=1e-3)  # everyone with a leader
    assert -1 < end[0] < end[4] < 1.2


def test_rescaled_tokens_are_the_tokens_divided_by_their_growth():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(5, 2))
    h = 1e-3
    x = z.copy()
    for _ in range(1000):  # the flow without rescaling, midpoint rule
        half = x + h / 2 * leaders.attention(x, 1.0, 0.0) @ x
        x = x + h * leaders.attention(half, 1.0, 0.0) @ half
    np.testing.assert_allclose(
        leaders.follow_rescaled(z, 1.0, np.array([1.0])).z[-1], x / np.e, atol=1e-5
    )


def test_the_hull_of_rescaled_tokens_shrinks_to_its_corners():
    found = leaders.follow_rescaled(
        np.random.default_rng(3).normal(size=(30, 2)), 1.0, np.linspace(0, 8, 30)
    )
    assert np.diff(found.supports(), axis=0).max() <= 1e-8
    assert np.median(found.to_corners()) < 1e-2
