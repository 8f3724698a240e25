"""First-order methods against optax, closed forms and rationals."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Enclosure, UsageError
from ftheta.networks import transformers
from ftheta.theorems.optimisation.adam.reddi import Reddi
from ftheta.theorems.optimisation.first_order_family import (
    GPT1,
    _claim_floor,
    _race_on_hardest,
    count_memory,
)
from ftheta.theorems.optimisation.first_order_family.hardest import Hardest
from ftheta.training.adaptive import RATIONAL, Adam
from ftheta.training.descent import descend, walk
from ftheta.training.methods import (
    accelerated_gradient,
    adaptive,
    any_optimiser,
    constant_nesterov,
    heavy_ball,
    line_search,
    steepest,
    tuned_heavy_ball,
)
from ftheta.training.rates import accelerated_bound, descent_bound
from ftheta.training.worst_cases import (
    flattest_gradient,
    heavy_ball_radius,
    slowest_descent,
    slowest_line_search,
    slowest_proximal,
    slowest_subgradient,
)

from ..thoroughness import max_examples

rational = st.fractions(min_value=Fraction(1, 5), max_value=5, max_denominator=20)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def bowl(theta):
    return jnp.sum(jnp.array([1.0, 3.0, 0.2]) * theta**2) / 2 + jnp.sum(jnp.cos(theta))


START = np.array([1.0, -2.0, 0.5])


def by_optax(transformation, steps):
    theta = jnp.asarray(START)
    state = transformation.init(jnp.asarray(START))
    points = [START]
    for _ in range(steps):
        update, state = transformation.update(jax.grad(bowl)(theta), state, theta)
        theta = optax.apply_updates(theta, update)
        points.append(np.asarray(theta))
    return np.array(points)


@pytest.mark.parametrize(
    "method, peer",
    [
        (steepest(0.1), optax.sgd(0.1)),
        (heavy_ball(0.05, 0.8), optax.sgd(0.05, momentum=0.8)),
        (constant_nesterov(0.05, 0.8), optax.sgd(0.05, momentum=0.8, nesterov=True)),
        (adaptive(Adam(0.1)), optax.adam(0.1)),
        (adaptive(Adam(0.1, amsgrad=True)), optax.amsgrad(0.1)),
        (any_optimiser(optax.rmsprop(0.01)), optax.rmsprop(0.01)),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_every_iterate_is_that_of_optax(method, peer):
    path = descend(method, bowl, START, 25)
    np.testing.assert_allclose(path.points, by_optax(peer, 25), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(path.values, [bowl(p) for p in path.points], rtol=1e-13)
    np.testing.assert_allclose(
        path.slopes, [np.sum(jax.grad(bowl)(p) ** 2) for p in path.points], rtol=1e-12
    )


def test_walking_and_compiling_give_the_same_run():
    for method in (steepest(0.1), heavy_ball(0.05, 0.8), accelerated_gradient(0.2)):
        walked = walk(method, bowl, lambda t: np.asarray(jax.grad(bowl)(t)), START, 15)
        np.testing.assert_allclose(
            walked.points, descend(method, bowl, START, 15).points, rtol=1e-12
        )


def test_the_line_search_is_exact_on_a_quadratic():
    H = np.diag([1.0, 7.0, 30.0])
    F = lambda t: t @ H @ t / 2
    path = descend(line_search(), F, np.ones(3), 10)
    for a, b in zip(path.points, path.points[1:]):
        nearby = [float(F(a + s * (b - a))) for s in (0.99, 1.01)]
        assert float(F(b)) <= min(nearby)
    assert np.isfinite(descend(line_search(), F, np.zeros(3), 3).points).all()


def test_nesterov_follows_its_recursion_by_hand():
    L = 3.0
    x = START
    y = START
    t = 1.0
    points = [x]
    for _ in range(12):
        new = y - np.asarray(jax.grad(bowl)(y)) / L
        later = (1 + np.sqrt(1 + 4 * t * t)) / 2
        x, y, t = new, new + (t - 1) / later * (new - x), later
        points.append(x)
    np.testing.assert_allclose(
        descend(accelerated_gradient(1 / L), bowl, START, 12).points, points, rtol=1e-12
    )


@given(rational, rational, st.integers(1, 30), st.fractions(Fraction(1, 10), 1, max_denominator=10))
@max_examples(40)
def test_gradient_descent_attains_its_bound_in_rationals(L, R, k, h):
    reached, allowed = slowest_descent(L, R, k, h)
    assert reached == allowed == L * R**2 / (4 * k * h + 2)


def test_the_reference_values_of_the_worst_cases():
    assert slowest_descent(3, 2, 7) == (Fraction(2, 5), Fraction(2, 5))
    assert heavy_ball_radius(100) == Enclosure.exact(Fraction(9, 11))
    assert transformers.GPT1.parameters == GPT1


@given(rational.map(lambda q: 1 + q), st.integers(1, 6))
@max_examples(30)
def test_the_line_search_attains_kantorovich(kappa, k):
    reached, allowed = slowest_line_search(kappa, k)
    assert reached == allowed


@given(rational, rational, st.integers(1, 20))
@max_examples(30)
def test_forward_backward_and_sub_gradients_attain_their_bounds(L, R, k):
    assert len(set(slowest_proximal(L, R, k))) == 1
    assert len(set(slowest_subgradient(1 + k % 5, R, L))) == 1
    assert flattest_gradient(k) == (1, 1)


@pytest.mark.parametrize("kappa", [1.0, 2.0, 10.0, 100.0, 1e4])
def test_the_heavy_ball_radius_is_that_of_its_matrices(kappa):
    s = kappa**0.5
    tau = 4 / (s + 1) ** 2
    beta = ((s - 1) / (s + 1)) ** 2
    radii = [
        np.abs(np.linalg.eigvals([[1 + beta - tau * mode, -beta], [1, 0]])).max()
        for mode in np.linspace(1, kappa, 50)
    ]
    # a double root doubles the digits lost
    assert heavy_ball_radius(kappa).middle == pytest.approx(max(radii), abs=1e-7)


def test_nobody_gets_below_the_floor_of_the_hardest_quadratic():
    hardest = Hardest(3.0, 2.0, 20)
    n = hardest.dimension
    T = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    best = np.linalg.solve(T, hardest.pull * np.eye(n)[0])
    assert np.linalg.norm(best) == pytest.approx(2.0)
    assert hardest.value(best) == pytest.approx(hardest.least)
    x = np.random.default_rng(0).normal(size=n)
    np.testing.assert_allclose(hardest.gradient(x), 3 / 4 * (T @ x - hardest.pull * np.eye(n)[0]))
    for k in range(1, 20):  # the least value on the first k coordinates, by linear algebra
        part = np.zeros(n)
        part[:k] = np.linalg.solve(T[:k, :k], hardest.pull * np.eye(k)[0])
        assert hardest.value(part) - hardest.least == pytest.approx(
            float(hardest.floor(np.array(k)))
        )
    assert _claim_floor(hardest, _race_on_hardest(hardest)).judge().verdict == "certified"


def test_bounds_hold_on_random_convex_quadratics():
    rng = np.random.default_rng(3)
    for _ in range(3):
        B = rng.normal(size=(6, 4))
        H = B.T @ B
        start = rng.normal(size=4)
        L = float(np.linalg.eigvalsh(H)[-1])
        R = float(np.linalg.norm(start))
        k = np.arange(31)
        value = lambda t, H=H: t @ H @ t / 2
        slope = lambda t, H=H: H @ t
        assert (
            walk(steepest(1 / L), value, slope, start, 30).values <= descent_bound(L, R, k)
        ).all()
        assert (
            walk(accelerated_gradient(1 / L), value, slope, start, 30).values
            <= accelerated_bound(L, R, k)
        ).all()


def test_what_each_method_remembers():
    kept = [
        count_memory(m, 10)
        for m in (
            steepest(1.0),
            tuned_heavy_ball(1, 2),
            adaptive(Adam()),
            adaptive(Adam(amsgrad=True)),
        )
    ]
    assert kept == [0, 10, 20, 30]


def test_adam_in_rationals_and_its_moments_bit_for_bit():
    rule = Adam(Fraction(1, 10), Fraction(9, 10), Fraction(999, 1000), Fraction(0))
    assert rule.follow([Fraction(-5, 3)] * 10, Fraction(0), RATIONAL)[-1] == 1
    assert rule.follow([Fraction(1), Fraction(-1)], Fraction(0), RATIONAL)[1:] == [
        Fraction(-1, 10),
        Fraction(-9, 95),
    ]
    floats = Adam(0.1)
    memory = Adam(0.1).begin(np.zeros(5))
    peer = optax.scale_by_adam()
    state: Any = peer.init(jnp.zeros(5))
    for t, g in enumerate(np.random.default_rng(1).normal(size=(30, 5)), 1):
        _, memory = floats.step(g, t, memory)
        _, state = peer.update(jnp.asarray(g), state)
        assert np.array_equal(memory.first, state.mu) and np.array_equal(memory.second, state.nu)


@given(
    st.lists(
        st.floats(-100, 100).filter(lambda g: g == 0 or abs(g) > 1e-100), min_size=1, max_size=30
    ),
    st.sampled_from([0.0, 0.5, 0.9]),
)
@max_examples(60)
def test_no_gradients_make_a_longer_step_than_the_bound(gradients, beta1):
    rule = Adam(1.0, beta1, 0.999, 0.0)
    points = rule.follow([np.array([g]) for g in gradients], np.zeros(1))
    for t in range(1, len(points)):
        assert abs(float((points[t] - points[t - 1])[0])) <= rule.longest_step(t) * (1 + 1e-6)


def test_the_longest_step_is_attained():
    rule = Adam(1.0, 0.9, 0.99, 0.0)
    points = rule.follow(rule.steepest_gradients(40), np.zeros(1))
    assert abs(float((points[-1] - points[-2])[0])) == pytest.approx(
        rule.longest_step(40), rel=1e-10
    )


def test_adam_goes_the_wrong_way_on_reddis_problem_and_amsgrad_does_not():
    game = Reddi()
    x, regret = game.play(3000, amsgrad=False)
    y, other = game.play(3000, amsgrad=True)
    assert (x[::3] == 1).all() and game.cycles_away(500) == 0
    assert regret[-1] >= 4 / 3 and other[-1] < 0.1 and y[-1] < -0.9


def test_bad_rules_are_refused():
    with pytest.raises(UsageError, match="Adam needs"):
        Adam(0.1, beta1=1.0)
    with pytest.raises(UsageError, match="would not fit"):
        descend(steepest(0.1), lambda t: jnp.sum(t), np.zeros(10**6), 1000)
