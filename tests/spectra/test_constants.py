"""The constants of a loss in one record, gradients by layer, and the cores of the theorems that use them."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.spectra import Objective, along_training, constants, layer_gradients
from ftheta.spectra.classes import logistic_constants
from ftheta.spectra.signals import residual_gradients
from ftheta.theorems.gradients.signal_propagation_init.initialisation import propagate
from ftheta.theorems.optimisation.gd_step_regimes.steps import Quadratic
from ftheta.theorems.optimisation.pl_inequality.pl import best_wavy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = RNG.normal(size=(20, 1))


def test_the_record_of_ridge_regression_is_that_of_its_closed_form():
    net = Description((Dense(np.ones((1, 3)), np.zeros(1)),))
    c = constants(net, (X, Y), ridge=0.1, step=0.2)
    A = np.c_[X, np.ones(20)]
    values = np.linalg.eigvalsh(2 * A.T @ A / 20 + 0.2 * np.eye(4))
    assert c.smoothness.middle == pytest.approx(values[-1]) and c.lowest.middle == pytest.approx(
        values[0]
    )
    assert c.strong_convexity is not None and c.strong_convexity.middle == pytest.approx(values[0])
    assert c.condition is not None and c.condition.middle == pytest.approx(values[-1] / values[0])
    assert c.stable_step is not None and c.stable_step.middle == pytest.approx(2 / values[-1])
    assert c.edge is not None and c.edge.middle == pytest.approx(0.2 * values[-1])
    assert "strongly convex everywhere" in str(c)


def test_the_kernel_bounds_the_pl_ratio_from_below():
    net = random_mlp(RNG, (3, 30, 1), "tanh", bias=0.3)
    c = constants(net, (X, Y))
    assert c.pl_by_kernel is not None and 0 < c.pl_by_kernel.hi <= c.pl.lo
    J = np.asarray(Objective.of(net, (X, Y)).kernel_matrix())
    assert c.pl_by_kernel.middle == pytest.approx(2 * np.linalg.eigvalsh(J)[0] / 20, rel=1e-6)


def test_a_network_that_bends_both_ways_is_said_not_to_be_convex_and_a_large_step_unstable():
    net = random_mlp(RNG, (3, 12, 12, 1), "tanh", bias=0.3)
    c = constants(net, (X, Y), step=10.0, steps=3, optimiser="adam", probes=2)
    assert c.strong_convexity is None and c.hessian.range[0] < 0
    text = str(c)
    assert (
        "not convex" in text and "unstable" in text and "along the run" in text and "trace" in text
    )


def test_descent_below_two_over_lambda_lowers_a_quadratic_and_its_curvature_stays():
    net = Description((Dense(np.ones((1, 3)), np.zeros(1)),))
    o = Objective.of(net, (X, Y))
    top = np.linalg.eigvalsh(o.hessian().dense())[-1]
    run = along_training(o, "gd", step=1.9 / top, steps=20, looks=5)
    assert np.allclose(run.top, top) and np.allclose(run.edge, 1.9) and run.loss[-1] < run.loss[0]
    assert run.lipschitz.max() <= top * (1 + 1e-9)
    theta = o.start.copy()
    for _ in range(20):
        theta -= 1.9 / top * o.gradient(theta)
    assert np.allclose(run.rows[-1], theta, rtol=1e-10)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "gelu"])
def test_gradients_by_layer_are_those_of_jax_and_below_their_bounds(activation):
    net = random_mlp(RNG, (3, 8, 8, 8, 2), activation, gain=1.5, bias=0.2)
    y = RNG.normal(size=(20, 2))
    found = layer_gradients(net, X, lambda out: out - y)
    with jax.enable_x64(True):
        risk = lambda p: jnp.mean(jnp.sum((net.apply(p, X) - y) ** 2, axis=-1)) / 2
        slopes = jax.grad(risk)(net.params)
        norms = [np.sqrt(float((w**2).sum() + (b**2).sum())) for w, b in slopes]
    assert np.allclose(found.norms, norms, rtol=1e-9)
    assert (found.norms <= found.bounds).all()
    assert np.allclose(residual_gradients(net, X, y, None), norms, rtol=1e-9)


def test_residual_gradients_are_those_of_jax():
    net = random_mlp(RNG, (3, 3, 3, 1), "tanh")
    y = RNG.normal(size=(20, 1))

    def apply(p, x):
        for (w, b), layer in zip(p, net.layers):
            new = jnp.tanh(x @ w.T + b) if layer.activation == "tanh" else x @ w.T + b
            x = x + 0.5 * new if w.shape[0] == w.shape[1] else new
        return x

    with jax.enable_x64(True):
        slopes = jax.grad(lambda p: jnp.mean(jnp.sum((apply(p, X) - y) ** 2, axis=-1)) / 2)(
            net.params
        )
        norms = [np.sqrt(float((w**2).sum() + (b**2).sum())) for w, b in slopes]
    assert np.allclose(residual_gradients(net, X, y, 0.5), norms, rtol=1e-10)


def test_dead_and_saturated_units_are_counted():
    W = np.eye(3)
    b = np.array([0.0, -100.0, 100.0])
    relu = layer_gradients(
        Description((Dense(W, b, "relu"), Dense(np.ones((1, 3)), np.zeros(1)))), X, lambda o: o
    )
    assert relu.dead == [1, 0] and "1 of 3 units of layer 1 is dead" in relu.diagnosis
    leaky = layer_gradients(
        Description((Dense(W, b, "leaky-relu"), Dense(np.ones((1, 3)), np.zeros(1)))),
        X,
        lambda o: o,
    )
    assert leaky.dead == [0, 0]
    tanh = layer_gradients(
        Description((Dense(W, b, "tanh"), Dense(np.ones((1, 3)), np.zeros(1)))), X, lambda o: o
    )
    assert tanh.saturated[0] >= 2 / 3 and "saturated" in tanh.diagnosis


def test_a_deep_sigmoid_network_is_told_that_its_gradients_vanish_and_a_shallow_one_is_not():
    deep = random_mlp(RNG, (8, *[8] * 9, 1), "sigmoid", gain=1.0)
    rows = RNG.normal(size=(16, 8))
    y = RNG.normal(size=(16, 1))
    assert "vanish" in layer_gradients(deep, rows, lambda o: o - y).diagnosis
    good = random_mlp(RNG, (8, 32, 1), "relu")
    assert "similar size" in layer_gradients(good, rows, lambda o: o - y).diagnosis


def told(activation, gain, shift=0.0, depth=10, seed=0):
    """The diagnosis of layers of 32 units with biases `shift`."""
    net = random_mlp(np.random.default_rng(seed), (32,) * depth + (1,), activation, gain=gain)
    layers = [
        Dense(y.weight, y.bias + shift * (k < depth - 1), y.activation)
        for k, y in enumerate(net.layers)
    ]
    rows, y = (np.random.default_rng(k).normal(size=(64, n)) for k, n in ((1, 32), (2, 1)))
    return layer_gradients(Description(tuple(layers)), rows, lambda o: o - y)


@pytest.mark.parametrize(
    "case, verdict, words",
    [
        (("tanh", 1.2), "are healthy", ("Gradients are of similar size in all layers",)),
        (("sigmoid", 1.0), "vanish", ("vanish towards the input", "take tanh, ReLU")),
        (("tanh", 0.2), "vanish", ("larger initial weights",)),
        (
            ("relu", 8.0),
            "explode",
            ("Signals explode towards the output, by a factor of 2", "smaller initial weights"),
        ),
        (("tanh", 25.0), "explode", ("explode", "saturated", "scaled inputs")),
        (
            ("relu", 2.0, -30.0),
            "are zero",
            ("zero: nothing reaches it", "layers 1–9 are dead", "does not recover"),
        ),
        (("relu", 1e300), "overflow", ("leave the range of float64", "smaller initial weights")),
    ],
)
def test_a_diagnosis_says_what_is_wrong_and_what_to_do(case, verdict, words):
    found = told(*case)
    assert found.verdict == verdict
    assert all(word in found.diagnosis for word in words), found.diagnosis
    assert ("Try:" in found.diagnosis) == (verdict != "are healthy")


def test_sizes_and_adjoints_grow_as_theory_says_in_linear_layers():
    W = np.diag([3.0, 3.0])
    net = Description(tuple(Dense(W, np.zeros(2), "identity") for _ in range(4)))
    found = layer_gradients(net, np.array([[1.0, 1.0]]), lambda o: np.array([[0.6, 0.8]]))
    assert found.sizes.tolist() == [1, 3, 9, 27] and found.adjoints == pytest.approx([27, 9, 3, 1])
    assert "by a factor of 3 per layer, from 1 to 27" in found.diagnosis


def test_the_best_pl_constant_of_the_wavy_function_agrees_with_a_search():
    best, where = best_wavy()
    ratio = lambda x: (2 * x + 3 * np.sin(2 * x)) ** 2 / (2 * (x**2 + 3 * np.sin(x) ** 2))
    found: Any = minimize_scalar(
        ratio, bounds=(1.8, 2.6), method="bounded", options={"xatol": 1e-12}
    )
    assert best.middle == pytest.approx(found.fun, rel=1e-12) and where.middle == pytest.approx(
        found.x, abs=1e-6
    )
    assert best.width < 1e-15 and best.middle == pytest.approx(0.1755309859, abs=5e-11)
    assert (ratio(np.linspace(1e-6, 60, 200_001)) >= best.lo).all()


def test_modes_of_descent_have_the_factors_of_the_theory():
    q = Quadratic(np.diag([1.0, 10.0]), np.ones(2))
    assert q.factor(0.21) == pytest.approx(1.1) and q.factor(q.best) == pytest.approx(9 / 11)
    assert (q.path(q.best, 10)[-1] ** 2).sum() == pytest.approx(2 * (9 / 11) ** 20, rel=1e-12)
    worst = Quadratic(q.H, q.worst_start()).energy_ratios(10)
    assert np.allclose(worst, (9 / 11) ** 2, rtol=1e-9)


def test_random_layers_have_the_second_moment_of_the_theory():
    """Var ‖ReLU(Wx)‖² = 5/(4n) at s² = 1/n, so the mean over N draws is known to a z-score."""
    seen = propagate(np.random.default_rng(5), 20, 2, Fraction(1), "relu", 4000)
    z = (seen.forward[:, 1].mean() - 0.5) / np.sqrt(5 / (4 * 20) / 4000)
    assert abs(z) < 5
    back = (seen.back[:, 1].mean() - 0.5) / (seen.back[:, 1].std() / np.sqrt(4000))
    assert abs(back) < 5 and seen.factor == Fraction(1, 2)


def test_the_smoothness_of_logistic_regression_bounds_its_curvature():
    x = RNG.normal(size=(30, 4))
    mu, L = logistic_constants(x, 0.1)
    with jax.enable_x64(True):
        F = lambda t: jnp.mean(jax.nn.softplus(-(x @ t))) + 0.1 * jnp.sum(t**2)
        values = np.linalg.eigvalsh(np.asarray(jax.hessian(F)(jnp.zeros(4))))
    assert values[-1] == pytest.approx(L) and mu <= values[0]  # attained at 0


def test_a_step_of_zero_and_a_ridge_along_a_run_are_refused():
    net = random_mlp(RNG, (3, 4, 1), "tanh")
    with pytest.raises(UsageError):
        constants(net, (X, Y), step=0.0)
    with pytest.raises(UsageError):
        along_training(Objective.of(net, (X, Y), ridge=0.1), steps=5)
