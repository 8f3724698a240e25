"""Tokens on the sphere: two ways to follow them, and the scalar equation."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate

from ftheta.particles.tokens.sphere import (
    SOFTMAX,
    UNNORMALISED,
    common_cosine,
    equiangular,
    off_diagonal,
    token_cosines,
    velocity,
    without_temperature,
)
from ftheta.theorems.attention.clustering_closed_forms import enclose_float, recheck_start

from ..thoroughness import max_examples

KINDS = (SOFTMAX, UNNORMALISED)
kinds = st.sampled_from(KINDS)
TIMES = np.array([0.3, 1.0, 2.0])


def cloud(seed: int, tokens: int, dimension: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(tokens, dimension))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def gram_cosines(cosines: np.ndarray, beta: float, kind: str, times: np.ndarray) -> np.ndarray:
    r"""The matrix of cosines itself is followed: $\dot C_{ij}=B_{ij}+B_{ji}-(B_{ii}+B_{jj})C_{ij}$ with $B=AC$."""
    tokens = len(cosines)

    def change(t: float, flat: np.ndarray) -> np.ndarray:
        C = flat.reshape(tokens, tokens)
        A = np.exp(beta * C)
        A = A / (A.sum(1, keepdims=True) if kind == SOFTMAX else tokens)
        np.fill_diagonal(A, 0.0)
        B = A @ C
        own = np.diag(B)
        moved = B + B.T - (own[:, None] + own[None, :]) * C
        np.fill_diagonal(moved, 0.0)
        return moved.ravel()

    run = integrate.solve_ivp(
        change, (0.0, times[-1]), cosines.ravel(), t_eval=times, rtol=1e-9, atol=1e-12
    )
    return run.y.T.reshape(len(times), tokens, tokens)


@given(st.integers(2, 12), st.floats(-1, 0.999))
def test_equiangular_tokens_are_unit_vectors_with_one_common_cosine(tokens, start):
    cosine = start if start >= 0 else start / (tokens - 1)
    x = equiangular(tokens, cosine)
    np.testing.assert_allclose(x @ x.T, np.where(np.eye(tokens) > 0, 1, cosine), atol=1e-14)


@max_examples(25)
@given(st.integers(0, 1000), st.integers(2, 6), st.integers(2, 4), st.floats(0, 4), kinds)
def test_tokens_and_their_cosines_are_followed_to_the_same_place(
    seed, tokens, dimension, beta, kind
):
    x = cloud(seed, tokens, dimension)
    followed = token_cosines(x, beta, kind, TIMES)
    again = gram_cosines(x @ x.T, beta, kind, TIMES)
    assume(np.abs(off_diagonal(x @ x.T)).max() < 0.99)  # nearly opposite tokens part from a saddle
    np.testing.assert_allclose(followed, again, atol=1e-5)


@max_examples(20)
@given(st.integers(0, 1000), st.floats(0, 5), kinds)
def test_velocities_are_tangent_and_turn_with_the_tokens(seed, beta, kind):
    x = cloud(seed, 5, 3)
    turn = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(3, 3)))[0]
    v = velocity(x, beta, kind)
    np.testing.assert_allclose((v * x).sum(1), 0, atol=1e-12 * np.abs(v).max() + 1e-14)
    np.testing.assert_allclose(
        velocity(x @ turn, beta, kind), v @ turn, atol=1e-11 * np.abs(v).max()
    )


@max_examples(15)
@given(st.integers(0, 1000), st.floats(0.1, 4))
def test_unnormalised_attention_climbs_its_energy(seed, beta):
    cosines = token_cosines(cloud(seed, 6, 3), beta, UNNORMALISED, np.linspace(0.05, 2, 20))
    energy = np.exp(beta * cosines).sum((1, 2))
    assert (np.diff(energy) >= -1e-9 * energy[0]).all()


@max_examples(25)
@given(st.integers(2, 10), st.floats(-0.9, 0.9), st.floats(0, 6), kinds)
def test_the_common_cosine_takes_the_time_that_the_equation_says(tokens, start, beta, kind):
    n = tokens
    first = start if start >= 0 else start / (tokens - 1)
    last = float(common_cosine(first, n, beta, kind, TIMES)[0])
    assume(last < 1 - 1e-6)

    def slowness(g):
        e = np.exp(beta * g)
        scale = 2 / n if kind == UNNORMALISED else 2 / (np.exp(beta) + (n - 1) * e)
        return 1 / (scale * e * (1 - g) * (1 + (n - 1) * g))

    time, error = integrate.quad(slowness, first, last, epsabs=1e-12, epsrel=1e-10, limit=200)
    assert time == pytest.approx(TIMES[0], abs=1e-7 + 10 * error)


@max_examples(15)
@given(st.integers(2, 6), st.floats(-0.9, 0.9), st.floats(0, 6), kinds)
def test_equiangular_tokens_follow_the_equation(tokens, start, beta, kind):
    first = start if start >= 0 else start / (tokens - 1)
    pairs = off_diagonal(token_cosines(equiangular(tokens, first), beta, kind, TIMES))
    np.testing.assert_allclose(
        pairs, common_cosine(first, tokens, beta, kind, TIMES)[:, None] + 0 * pairs, atol=1e-8
    )


@given(st.integers(2, 50), st.floats(-0.99, 0.99), kinds)
def test_without_temperature_there_is_a_closed_form(tokens, start, kind):
    first = start if start >= 0 else start / (tokens - 1)
    closed = without_temperature(first, tokens, TIMES)
    np.testing.assert_allclose(common_cosine(first, tokens, 0.0, kind, TIMES), closed, atol=1e-11)


def test_two_orthogonal_tokens_meet_like_the_hyperbolic_tangent():
    np.testing.assert_allclose(without_temperature(0.0, 2, TIMES), np.tanh(TIMES), rtol=1e-14)


@pytest.mark.parametrize(
    ("kind", "beta", "tokens", "expected"),
    [
        (SOFTMAX, 1, 2, 0.5791953369),
        (SOFTMAX, 1, 4, 0.4794867822),
        (UNNORMALISED, 1, 3, 0.8940097769),
    ],
)
def test_reference_cosines_at_time_one(kind, beta, tokens, expected):
    assert common_cosine(0.0, tokens, beta, kind, np.array([1.0]))[0] == pytest.approx(
        expected, abs=5e-11
    )


@pytest.mark.parametrize("kind", KINDS)
def test_several_temperatures_at_once_are_the_same_as_one_by_one(kind):
    betas = np.array([0.0, 1.0, 4.0])
    together = common_cosine(0.1, 3, betas, kind, TIMES)
    for k, beta in enumerate(betas):
        np.testing.assert_allclose(
            together[:, k], common_cosine(0.1, 3, beta, kind, TIMES), atol=1e-10
        )


@pytest.mark.parametrize("kind", KINDS)
def test_equilibria_stay_and_met_tokens_stay_together(kind):
    assert (common_cosine(-0.5, 3, 1.0, kind, TIMES) == -0.5).all()
    assert (common_cosine(1.0, 3, 1.0, kind, TIMES) == 1.0).all()
    assert token_cosines(np.ones((3, 1)), 1.0, kind, TIMES).min() == 1.0


def test_fast_clustering_at_low_temperature_neither_hangs_nor_overflows():
    cosines = token_cosines(equiangular(4, 0.0), 20.0, UNNORMALISED, np.array([0.001, 10.0]))
    assert off_diagonal(cosines)[1].min() == pytest.approx(1, abs=1e-11)


def test_a_tilted_start_does_not_keep_a_common_cosine():
    x = equiangular(4, 0.0)
    x[0] = (x[0] + 0.5 * x[1]) / np.linalg.norm(x[0] + 0.5 * x[1])
    witness = recheck_start(x)
    pairs = off_diagonal(x @ x.T)
    assert witness.left.lo - witness.right.hi > 0.1
    assert (witness.left.middle, witness.right.middle) == pytest.approx(
        (pairs.max(), pairs.min()), abs=1e-14
    )


def test_nothing_is_known_where_the_integrator_gave_up():
    assert enclose_float(np.nan).width == np.inf
    assert enclose_float(0.5).is_point
