"""Copies of a network, balance, and what gradient flow conserves."""

from fractions import Fraction
from itertools import permutations, product
from math import factorial
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.relu.exact import exact
from ftheta.relu.symmetry.canonical import equal_by_symmetry, path_norm
from ftheta.relu.symmetry.copies import measure_norms
from ftheta.relu.symmetry.symmetries import (
    balance,
    imbalance,
    norm_squared,
    normalise_signs,
    rescale_randomly,
    sign_copies,
)
from ftheta.subjects import Network
from ftheta.theorems.piecewise.relu_symmetries_conservation import (
    LINEAR,
    double_weight,
    relu_symmetries_conservation,
)
from ftheta.theorems.piecewise.relu_symmetries_conservation.conserved import Drifts, Flow
from ftheta.theorems.piecewise.relu_symmetries_conservation.small_laws import (
    linear_law,
    scalar_step,
)
from ftheta.training.descent import gradient_descent

from ..thoroughness import max_examples
from .nets import networks, points, rationals


@max_examples(30)
@given(networks(max_depth=4), st.integers(0, 99), st.data())
def test_moved_copies_are_the_same_function_with_the_same_path_norm(
    net, seed: int, data: st.DataObject
) -> None:
    copy = rescale_randomly(net, np.random.default_rng(seed))
    assert equal_by_symmetry(net, copy) and path_norm(copy) == path_norm(net)
    x = data.draw(points(net.widths[0]))
    assert copy(x) == net(x)


def test_doubling_a_weight_makes_another_function() -> None:
    net = exact(random_mlp(np.random.default_rng(0), (2, 4, 1), bias=0.5))
    assert not equal_by_symmetry(net, double_weight(net))
    assert any(double_weight(net)(x) != net(x) for x in ([8, 1], [-8, 1], [1, 8], [1, -8]))


@max_examples(25)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_balanced_copy_is_the_same_function_and_the_smallest(seed: int, hidden: int) -> None:
    rng = np.random.default_rng(seed)
    told = random_mlp(rng, (2, *[5] * hidden, 2), bias=0.5)
    even = balance(told)
    x = rng.normal(size=(8, 2))
    with jax.enable_x64(True):
        assert np.allclose(
            even.apply(even.params, x), told.apply(told.params, x), rtol=1e-10, atol=1e-10
        )
    assert max(np.abs(d).max() for d in imbalance(even.params)) < 1e-9 * norm_squared(even.params)
    for _ in range(5):  # no rescaling of it is smaller
        scale = np.exp(rng.normal(size=5))
        (W, b), (A, c), *rest = even.params
        other = [(W * scale[:, None], b * scale), (A / scale, c), *rest]
        assert norm_squared(other) >= norm_squared(even.params) * (1 - 1e-9)
    assert measure_norms(told).after <= measure_norms(told).before


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_tanh_network_has_as_many_copies_as_orders_times_signs(width: int) -> None:
    told = random_mlp(np.random.default_rng(width), (2, width, 1), "tanh", bias=0.5)
    relu = Description((Dense(told.layers[0].weight, told.layers[0].bias, "relu"), told.layers[1]))
    copies = sign_copies(exact(relu))
    assert (
        len(copies)
        == factorial(width) * 2**width
        == len(list(permutations(range(width)))) * len(list(product((0, 1), repeat=width)))
    )
    assert len({normalise_signs(copy) for copy in copies}) == 1
    x = np.array([0.3, -0.7])
    values = [
        sum(float(a) * np.tanh(float(u) * x[0] + float(v) * x[1] + float(b)) for u, v, b, a in copy)
        for copy in copies
    ]
    assert np.ptp(values) < 1e-12


@given(rationals, rationals, rationals, rationals)
def test_one_step_on_a_times_w_multiplies_the_difference_of_squares(a, w, y, tau) -> None:
    if a * a != w * w:
        found, formula = scalar_step(a, w, y, tau)
        assert found == formula == 1 - (tau * (a * w - y)) ** 2


@given(st.integers(0, 10**6))
def test_the_law_of_linear_networks_holds_in_whole_numbers(seed: int) -> None:
    assert linear_law(LINEAR, np.random.default_rng(seed)) == 0


def _flow(seed: int = 0, widths: tuple[int, ...] = (3, 6, 4, 2)) -> Flow:
    rng = np.random.default_rng(seed)
    return Flow.of(random_mlp(rng, widths, bias=0.5), None, None, rng)


def test_gradient_flow_conserves_the_balance_and_the_midpoint_rule_with_it() -> None:
    with jax.enable_x64(True):
        flow = _flow()
        worst, size = flow.law(flow.start)
        assert worst <= 1e-13 * size
        moved, formula = flow.one_step(0.01)
        assert np.abs(formula).max() > 1e-6 and np.allclose(moved, formula, rtol=1e-8, atol=1e-14)
        tau = 0.05 / flow.curvature
        before, after = (
            flow.invariants(theta) for theta in (flow.start, flow.midpoint(tau, 20)[-1])
        )
        descent = flow.invariants(gradient_descent(flow, flow.start, tau, 20)[-1])
        assert np.abs(after - before).max() < 1e-3 * np.abs(descent - before).max()


def test_the_curvature_is_the_largest_eigenvalue_of_the_hessian() -> None:
    with jax.enable_x64(True):
        flow = _flow(1, (2, 3, 1))
        eigenvalues = np.linalg.eigvalsh(np.asarray(jax.jit(jax.hessian(flow))(flow.start)))
        assert flow.curvature == pytest.approx(np.abs(eigenvalues).max(), rel=1e-2)


def test_the_drift_halves_with_the_step_over_a_horizon() -> None:
    with jax.enable_x64(True):
        drifts = Drifts.of(_flow(2), gradient_descent, 0.1, (16, 32, 64))
    ratios = np.array(drifts.over_horizon[:-1]) / np.array(drifts.over_horizon[1:])
    assert np.all((ratios > 1.6) & (ratios < 2.5))
    assert np.allclose(
        np.array(drifts.in_one_step[:-1]) / np.array(drifts.in_one_step[1:]), 4, rtol=1e-3
    )


def test_labels_are_read_as_classes_or_numbers() -> None:
    rng = np.random.default_rng(0)
    told = random_mlp(rng, (2, 3, 4))
    x = rng.normal(size=(6, 2))
    assert Flow.of(told, x, np.array([0, 1, 2, 3, 0, 1]), rng).y.tolist()[2] == [0, 0, 1, 0]
    assert Flow.of(told, x, np.ones((6, 4)), rng).y.tolist() == np.ones((6, 4)).tolist()
    assert Flow.of(told, x, np.array([0, 1, 2, 9, 0, 1]), rng).y.shape == (6, 4)


def test_a_rescaled_tanh_network_is_another_function() -> None:
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        net = Network.described(random_mlp(rng, (2, 4, 1), "tanh", bias=0.5))
        claims: Any = relu_symmetries_conservation.measure(net, rng).claims
    (claim,) = claims
    assert claim.judge().verdict == "refuted" and Fraction(claim.left.lo) > 0
