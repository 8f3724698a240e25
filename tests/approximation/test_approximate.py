"""`ft.approximate`: certificates against dense searches, every construction, and what it refuses."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate

import ftheta as ft
from ftheta.approximation import constructions as c
from ftheta.approximation.approximate import METHODS
from ftheta.approximation.certificate import bounds_between, certify
from ftheta.approximation.chain import power_form
from ftheta.approximation.enclosed import SLOPES, VALUES, Shallow, slope_range
from ftheta.approximation.floors import polynomial_floor
from ftheta.approximation.goal import goal_of
from ftheta.approximation.words import box_of
from ftheta.logic import Basis, SubjectError, UsageError
from ftheta.networks import ACTIVATIONS
from ftheta.subjects import Network, Spectrum, Target
from ftheta.subjects.resolve import load_as

from ..thoroughness import max_examples

approximate = partial(ft.approximate, seconds=1000)  # a loaded machine must not change a result
WAVE = lambda x: jnp.sin(6 * x) + x
PLANE = lambda x: jnp.sin(2 * x[0]) * jnp.exp(-x[1] * x[1])


def dense_error(made, f, lo, hi, side):
    """By JAX and the list of layers, on points that are not those of the search."""
    d = len(np.atleast_1d(lo))
    rng = np.random.default_rng(3)
    x = rng.uniform(lo, hi, size=(side, d))
    with jax.enable_x64(True):
        truth = np.asarray(jax.vmap(f)(x[:, 0] if d == 1 else x))
        net = np.asarray(made.network.apply(made.network.params, x))[:, 0]
    return float(np.abs(truth - net).max())


@pytest.mark.parametrize("method", list(METHODS))
def test_no_point_has_a_larger_error_than_the_certificate(method):
    eps = {"bernstein": 0.5, "barron": 0.5, "frank-wolfe": 0.2}.get(method, 0.1)
    made = approximate(WAVE, (0, 1), eps, method=method, neurons=256)
    assert made.method == method and made.certified.basis is Basis.EXACT
    dense = dense_error(made, WAVE, 0.0, 1.0, 20_000)
    assert dense <= made.certified.hi + 1e-12 and made.measured <= made.certified.hi + 1e-12
    assert made.certified.lo <= made.certified.hi and (
        made.reached or method in ("bernstein", "barron")
    )


@pytest.mark.nightly
@max_examples(6)
@given(
    st.lists(st.floats(-3, 3), min_size=3, max_size=5),
    st.floats(-2, 1),
    st.floats(0.25, 3),
    st.sampled_from(["cpa", "random", "greedy"]),
)
def test_certificates_bound_random_trigonometric_sums(amplitudes, start, width, method):
    def f(x):
        return sum(a * jnp.sin((k + 1) * x + k) for k, a in enumerate(amplitudes))

    made = approximate(f, (start, start + width), 0.2, method=method, neurons=64, cells=20_000)
    assert dense_error(made, f, start, start + width, 5000) <= made.certified.hi + 1e-12


@pytest.mark.parametrize("activation", [n for n in ACTIVATIONS if n in VALUES])
def test_every_activation_is_certified(activation):
    made = approximate(WAVE, (-1, 1), 0.2, method="random", activation=activation, neurons=64)
    assert made.reached and made.activation == activation
    assert made.measured <= made.certified.hi <= 0.2
    assert dense_error(made, WAVE, -1.0, 1.0, 5000) <= made.certified.hi


@pytest.mark.parametrize("method, neurons", [("cpa", 600), ("random", 400), ("greedy", 200)])
def test_functions_of_two_variables(method, neurons):
    made = approximate(PLANE, ([-1, -1], [1, 1]), 0.2, method=method, neurons=neurons)
    assert made.reached
    assert (
        dense_error(made, PLANE, np.array([-1, -1]), np.array([1, 1]), 20_000)
        <= made.certified.hi + 1e-12
    )


def test_functions_of_three_variables():
    f = lambda x: x[0] * x[1] + jnp.cos(x[2])
    made = approximate(f, ([0, 0, 0], [1, 1, 1]), 0.1, method="cpa", neurons=2500)
    assert made.reached and len(made.network.layers) == 5
    assert dense_error(made, f, np.zeros(3), np.ones(3), 20_000) <= made.certified.hi + 1e-12


@pytest.mark.parametrize("d, n", [(2, 1), (2, 3), (3, 2)])
def test_the_network_of_a_mesh_is_the_interpolant(d, n):
    """Against its list of layers at random points, and SciPy's interpolation on one simplex of Kuhn."""
    rng = np.random.default_rng(d)
    lo = rng.uniform(-2, 0, d)
    hi = rng.uniform(1, 3, d)
    goal = goal_of(lambda x: jnp.sum(jnp.sin(3 * x) * jnp.arange(1, d + 1)), (lo, hi))
    made = c.mesh(goal, n)
    x = rng.uniform(lo, hi, size=(500, d))
    with jax.enable_x64(True):
        net = np.asarray(made.network.apply(made.network.params, x))[:, 0]
    np.testing.assert_allclose(net, made.values(x), atol=1e-12)
    corner = np.zeros(d)
    path = [corner.copy()]
    for axis in rng.permutation(d):
        corner[axis] = 1
        path.append(corner.copy())
    simplex = lo + (hi - lo) * np.array(path) / n
    inside = rng.dirichlet(np.ones(d + 1), size=50) @ simplex
    expected = interpolate.LinearNDInterpolator(simplex, goal.values(simplex))(inside)
    np.testing.assert_allclose(made.values(inside), expected, atol=1e-9)


@given(st.sampled_from(sorted(SLOPES)), st.floats(-6, 6), st.floats(0, 3))
def test_slopes_lie_in_their_ranges(name, start, width):
    lo, hi = slope_range(name, np.array(start), np.array(start + width))
    x = np.linspace(start, start + width, 101)
    slopes = (VALUES[name](x + 1e-5) - VALUES[name](x - 1e-5)) / 2e-5
    assert (lo - 1e-8 <= slopes).all() and (slopes <= hi + 1e-8).all()


def test_values_of_activations_are_those_of_the_layers():
    z = np.linspace(-8, 8, 401)
    with jax.enable_x64(True):
        for name, value in VALUES.items():
            np.testing.assert_allclose(
                value(z), np.asarray(ACTIVATIONS[name].function(jnp.asarray(z))), atol=1e-14
            )


def test_the_bound_on_a_cell_holds_inside_it():
    rng = np.random.default_rng(0)
    goal = goal_of(PLANE, ([-1, -1], [1, 1]))
    net = Shallow("tanh", rng.normal(size=(20, 2)), rng.normal(size=20), rng.normal(size=20), 0.3)
    a = rng.uniform(-1, 0.8, size=(50, 2))
    b = a + rng.uniform(0.01, 0.2, size=(50, 2))
    found = bounds_between(goal, net)(a, b)
    for i in range(50):
        x = rng.uniform(a[i], b[i], size=(200, 2))
        errors = np.abs(goal.values(x) - net.values(x))
        assert errors.max() <= found.upper[i]
    assert (found.least <= found.upper).all()


def test_a_function_that_is_a_network_is_found_exactly():
    made = approximate(lambda x: jnp.abs(x - 0.5), (0, 1), 1e-3)
    assert made.reached and made.method == "cpa" and made.neurons == 2


def test_the_fewest_neurons_win():
    made = approximate(WAVE, (0, 1), 0.02)
    reached = [a.neurons for a in made.attempts if a.certified <= 0.02]
    assert made.reached and made.neurons == min(reached)


def test_all_of_the_first_constructions_are_tried():
    made = approximate(WAVE, (0, 1), 0.3, neurons=64)
    assert {a.method for a in made.attempts} == {"cpa", "greedy", "random"}


def test_the_error_of_interpolation_is_the_classical_one():
    """Two cells for x² on [0, 1]: h²/8 · 2 = 1/16."""
    made = approximate(lambda x: x * x, (0, 1), 0.07, method="cpa")
    assert made.neurons == 2
    assert made.certified.lo <= 1 / 16 <= made.certified.hi <= 1 / 16 * 1.03


def test_expressions_targets_and_functions_are_the_same():
    words = approximate("sin(6*x) + x", (0, 1), 0.05, method="cpa")
    target = approximate(Target("wave", WAVE, (0.0,), (1.0,)), None, 0.05, method="cpa")
    plain = approximate(WAVE, (0, 1), 0.05, method="cpa")
    assert words.certified.hi == pytest.approx(plain.certified.hi, rel=1e-9)
    assert target.certified == plain.certified and "sin(6*x)" in str(words)


def test_a_spectrum_that_is_known_is_used():
    f = Target(
        "Gaussian", lambda x: jnp.exp(-x * x / 2), (-1.0,), (1.0,), spectrum=Spectrum.gaussian(1)
    )
    made = approximate(f, None, 0.3, method="barron", neurons=512)
    assert made.measured <= made.certified.hi and made.network.layers[0].activation == "sigmoid"


def test_cosines_of_samples_are_the_function():
    goal = goal_of(PLANE, ([0, 0], [1, 2]))
    sample, moment = c.spectrum_of(goal)
    omega, phase = sample(np.random.default_rng(0), 40_000)
    x = np.array([[0.3, 1.1], [0.8, 0.2]])
    size = np.maximum(np.linalg.norm(omega, axis=1), 1e-300)
    waves = (
        moment
        * (np.cos(omega @ x.T + phase[:, None]) - np.cos(omega @ goal.centre + phase)[:, None])
        / size[:, None]
    )
    truth = goal.values(x) - goal.values(goal.centre[None])
    error = waves.std(0) / 200
    assert (np.abs(waves.mean(0) - truth) <= 4 * error + 2e-3).all()


@given(st.lists(st.floats(-4, 4), min_size=2, max_size=8), st.fractions(0, 1, max_denominator=16))
def test_the_power_form_is_the_polynomial_of_bernstein(values, t):
    from ftheta.approximation.bernstein import exact_bernstein

    coefficients = power_form(np.array(values))
    u = 2 * t - 1
    total = sum((q * u**k for k, q in enumerate(coefficients)), Fraction(0))
    assert total == exact_bernstein([Fraction(v) for v in values], t)


def test_unbounded_domains_are_refused():
    with pytest.raises(UsageError, match="bounded"):
        approximate(WAVE, (0, np.inf))
    with pytest.raises(UsageError, match="lo < hi"):
        approximate(WAVE, (1, 0))


def test_jumps_are_refused_with_what_is_lost_and_allowed_above_half_of_them():
    step = lambda x: jnp.where(x > 0.3, 1.0, 0.0) + x
    with pytest.raises(SubjectError, match=r"at least 0\.5") as caught:
        approximate(step, (-1, 1), 0.1)
    assert "sup norm" in caught.value.remedy and "0.3" in caught.value.where
    made = approximate(step, (-1, 1), 0.7, method="cpa", neurons=64)
    assert dense_error(made, step, -1.0, 1.0, 5000) <= made.certified.hi


def test_polynomial_activations_are_refused_with_degree_and_floor():
    with pytest.raises(UsageError, match="degree 2") as caught:
        approximate(lambda x: jnp.abs(x), (-1, 1), activation="square")
    assert "0.125" in str(caught.value.got)
    with pytest.raises(UsageError, match="degree 1"):
        approximate(PLANE, ([-1, -1], [1, 1]), activation="identity")


@given(st.integers(0, 5))
def test_the_floor_is_below_the_best_polynomial(degree):
    """For exp on [−1, 1] the distance is known to lie between the first neglected term and twice it."""
    floor, _ = polynomial_floor(goal_of(lambda x: jnp.exp(x), (-1, 1)), degree)
    x = np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    best = np.polynomial.chebyshev.chebfit(x, np.exp(x), degree)
    above = np.abs(np.polynomial.chebyshev.chebval(x, best) - np.exp(x)).max()
    assert 0 < floor <= above * 1.001 and floor >= above / 3


def test_what_is_out_of_reach_is_said_and_the_best_is_kept():
    made = approximate(WAVE, (0, 20), 1e-4, neurons=8)
    assert not made.reached and "best so far" in str(made)
    assert made.neurons <= 8 and made.measured <= made.certified.hi
    assert made.document["reached"] is False


def test_bad_words():
    with pytest.raises(UsageError, match="Unknown method"):
        approximate(WAVE, (0, 1), method="magic")
    with pytest.raises(UsageError, match="at most 1 variables"):
        approximate(PLANE, ([0, 0], [1, 1]), method="staircase")
    with pytest.raises(UsageError, match="does not work"):
        approximate(WAVE, (0, 1), method="cpa", activation="tanh")
    with pytest.raises(UsageError, match="positive"):
        approximate(WAVE, (0, 1), 0)
    with pytest.raises(SubjectError, match="not finite"):
        approximate(lambda x: 1 / x, (0, 1))
    with pytest.raises(UsageError, match="no function"):
        approximate(3.0, (0, 1))
    with pytest.raises(UsageError, match="two numbers"):
        box_of("0,1;2", 2)
    assert box_of("0,1", 2) == ([0, 0], [1, 1]) and box_of("0,1;-1,2", 2) == ([0, -1], [1, 2])


def test_results_are_functions_files_and_charts(tmp_path):
    made = approximate(PLANE, ([-1, -1], [1, 1]), 0.3, method="greedy")
    made.save(tmp_path / "net.npz")
    net = load_as(Network, tmp_path / "net.npz")
    x = np.array([[0.2, -0.4], [0.9, 0.1]])
    np.testing.assert_allclose([float(net(row)[0]) for row in x], made(x), atol=1e-12)
    assert made(x[0]) == pytest.approx(made(x)[0]) and made.width == made.neurons
    assert [chart.kind for chart in made.charts][:3] == ["heatmap", "heatmap", "curves"]
    line = approximate(WAVE, (0, 1), 0.2)
    assert line(0.3) == pytest.approx(line([0.3, 0.4])[0]) and line.chart().kind == "curves"


def test_certificates_are_close_to_the_truth():
    goal = goal_of(lambda x: jnp.sin(3 * x), (0, 1))
    flat = Shallow("relu", np.zeros((1, 1)), np.zeros(1), np.zeros(1), 0.0)
    found = certify(goal, flat, 0.1, 100_000)
    assert found.error.lo <= 1.0 <= found.error.hi <= 1.021


# -- in the mean square ------------------------------------------------------------------------------


def bell(d):
    half = (d**-0.5,) * d
    f = lambda x: jnp.exp(-jnp.vdot(x, x) / 2)
    return Target("Gaussian", f, tuple(-t for t in half), half, spectrum=Spectrum.gaussian(d))


def mean_square(made, f, lo, hi, rows=20_000):
    """By JAX and the list of layers, at points that the search has not seen, with its standard error."""
    x = np.random.default_rng(7).uniform(lo, hi, size=(rows, len(np.atleast_1d(lo))))
    with jax.enable_x64(True):
        truth = np.asarray(jax.vmap(f)(x[:, 0] if x.shape[1] == 1 else x))
        net = np.asarray(made.network.apply(made.network.params, x))[:, 0]
    squares = (truth - net) ** 2
    return float(squares.mean()), float(squares.std() / np.sqrt(rows))


@pytest.mark.parametrize("method, eps", [("barron", 0.12), ("frank-wolfe", 0.12), ("greedy", 0.03)])
def test_twenty_variables_in_the_mean_square(method, eps):
    f = bell(20)
    made = approximate(f, None, eps, norm="L2", method=method, neurons=600)
    assert made.reached and made.error.basis is Basis.SAMPLED and made.error.hi <= eps
    assert made.error.confidence == 1 - 1e-6 and "interval arithmetic" in made.error.assuming
    assert (
        made.certified.hi == np.inf
        and "estimated" in str(made)
        and made.document["certified"] is None
    )
    square, doubt = mean_square(made, f.f, np.array(f.lo), np.array(f.hi))
    assert made.error.lo**2 - 5 * doubt <= square <= made.error.hi**2 + 5 * doubt


@pytest.mark.nightly
def test_the_bound_of_barron_in_expectation_is_said_and_kept():
    made = approximate(bell(5), None, 1e-9, norm="L2", method="barron", neurons=200)
    # the box is in the unit ball
    bound = 2 * Spectrum.gaussian(5).first_moment.hi / np.sqrt(made.neurons)
    assert f"{bound:.6g}" in made.how and made.error.hi <= bound and not made.reached


def test_a_jump_is_no_hindrance_in_the_mean_square():
    step = lambda x: jnp.where(x > 0.3, 1.0, 0.0)
    made = approximate(step, (0, 1), 0.1, norm="L2", method="frank-wolfe", neurons=64)
    square, doubt = mean_square(made, step, np.zeros(1), np.ones(1))
    assert made.reached and square <= made.error.hi**2 + 5 * doubt and made.measured <= 0.1
    with pytest.raises(SubjectError, match="norm=") as caught:
        approximate(step, (0, 1), 0.1)
    assert "L2" in caught.value.remedy


def spiked(place, height, half):
    """sin with a hat of this height and half-width: too narrow for any sample of points to meet."""
    return lambda x: jnp.sin(x) + height * jnp.maximum(0.0, 1 - jnp.abs(x - place) / half)


@pytest.mark.parametrize(
    "place, height, half", [(1.2345678, 1e4, 5e-7), (2.7, 1e3, 1e-5), (0.1, 50.0, 1e-4)]
)
def test_a_spike_between_the_points_is_seen_in_the_mean_square(place, height, half):
    f = spiked(place, height, half)
    made = approximate(f, (0, 3), 0.01, norm="L2", method="greedy", neurons=12)
    exact = np.sqrt(height**2 * 2 * half / 3 / 3)  # of the hat alone
    near = np.sqrt(2 * half / 3) * 2  # what sin and the network may add where it is
    assert made.error.hi >= exact - near - 0.02 and not made.reached
    assert made.error.lo <= exact + near + 0.02 and made.error.basis is Basis.EXACT


def test_in_few_variables_the_mean_square_is_proved():
    made = approximate(
        lambda x: jnp.sin(3 * x[0]) * x[1], ([0, 0], [1, 1]), 0.05, norm="L2", method="random"
    )
    assert made.reached and made.error.basis is Basis.EXACT and "certified" in str(made)
    square, doubt = mean_square(made, made.goal.f, np.zeros(2), np.ones(2))
    assert made.error.lo**2 - 5 * doubt <= square <= made.error.hi**2 + 5 * doubt


def test_a_mean_square_without_a_bound_of_the_error_is_measured_and_not_reached():
    """f is finite at every point that is drawn, and interval arithmetic has no bound of it."""
    pole = lambda x: jnp.abs(x - 1 / 3) ** -0.25
    made = approximate(pole, (0, 1), 0.9, norm="L2", method="greedy", neurons=8)
    assert made.error.confidence is None and made.error.nominal is not None
    assert not made.reached and "nothing" in str(made)


def test_values_of_a_network_over_cells_contain_those_at_their_points():
    rng = np.random.default_rng(0)
    for activation in (
        "relu",
        "leaky-relu",
        "tanh",
        "sigmoid",
        "arctan",
        "softplus",
        "gelu",
        "silu",
    ):
        net = Shallow(
            activation, rng.normal(size=(9, 2)), rng.normal(size=9), rng.normal(size=9), 0.3
        )
        a = rng.uniform(-2, 2, size=(50, 2))
        b = a + rng.random((50, 2)) ** 3
        over = net.over(a, b)
        inside = net.values(
            (a[:, None] + (b - a)[:, None] * rng.random((50, 30, 2))).reshape(-1, 2)
        ).reshape(50, 30)
        assert (over.lo <= inside.min(1)).all() and (inside.max(1) <= over.hi).all(), activation


def test_norms_and_spectra_that_are_not_known_are_said():
    with pytest.raises(UsageError, match="Unknown norm"):
        approximate(WAVE, (0, 1), norm="L1")
    with pytest.raises(UsageError, match="at most 2 variables") as caught:
        approximate(lambda x: jnp.sum(x), ([0] * 3, [1] * 3), method="barron")
    assert "Spectrum" in caught.value.remedy
