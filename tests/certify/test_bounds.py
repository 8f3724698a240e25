"""`ft.bounds`: what it takes, what it returns, and what it refuses."""

import csv
from itertools import pairwise
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import ftheta as ft
from ftheta.certify.bounds import Bounds
from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description

from .vnncomp import BENCHMARKS, read_box


def small_network() -> ft.Network:
    rng = np.random.default_rng(0)
    widths = (3, 8, 8, 2)
    layers = [
        Dense(
            rng.standard_normal((n, m)) / np.sqrt(m),
            0.1 * rng.standard_normal(n),
            "relu" if n == 8 else "identity",
        )
        for m, n in pairwise(widths)
    ]
    return ft.Network.described(Description(tuple(layers)))


def assert_holds(found: Bounds, f, x: np.ndarray, front: tuple[int, ...] = ()) -> None:
    """Values at points (points, *input) lie inside the bounds and between the forms of one set of inputs."""
    with jax.enable_x64(True):
        y = np.asarray(jax.vmap(f)(x))
    assert np.all(found.lower[front] <= y + 1e-12) and np.all(y - 1e-12 <= found.upper[front])
    for form, sign in ((found.lower_form, -1.0), (found.upper_form, 1.0)):
        at = np.tensordot(
            x, form.matrix[front], (range(1, x.ndim), range(y.ndim - 1, y.ndim - 2 + x.ndim))
        )
        line = at + form.offset[front] + sign * form.error[front]
        assert np.all(sign * (line - y) >= -1e-12)


def test_a_box_around_an_input_of_a_network():
    net = small_network()
    x = np.array([0.3, -0.2, 0.5])
    found = ft.bounds(net, (x - 0.1, x + 0.1))
    assert found.lower.shape == found.upper.shape == (2,) and found.lower_form.matrix.shape == (
        2,
        3,
    )
    assert found.meaning == "the real function with the stored weights" and found.method == "crown"
    assert_holds(found, net, x + np.random.default_rng(1).uniform(-0.1, 0.1, (500, 3)))


def test_a_function_is_bounded_over_a_box_of_its_input():
    w = np.random.default_rng(0).standard_normal((4, 2, 3))
    f = lambda x: jax.nn.relu(jnp.tensordot(w, x, 2))
    lo = np.full((2, 3), -0.5)
    found = ft.bounds(f, (lo, lo + 1))
    assert found.lower.shape == (4,) and found.lower_form.matrix.shape == (4, 2, 3)
    assert_holds(found, f, np.random.default_rng(1).uniform(-0.5, 0.5, (300, 2, 3)))


def test_a_batch_of_boxes_has_an_axis_in_front():
    net = small_network()
    x = np.random.default_rng(2).standard_normal((5, 3))
    eps = np.linspace(0.01, 0.2, 5)
    whole = ft.bounds(net, ft.Ball(x, eps))
    assert whole.lower.shape == (5, 2) and whole.upper_form.matrix.shape == (5, 2, 3)
    for k in range(5):
        one = ft.bounds(net, (x[k] - eps[k], x[k] + eps[k]))
        assert np.allclose(whole.lower[k], one.lower) and np.allclose(whole.upper[k], one.upper)
        assert_holds(
            whole, net, x[k] + eps[k] * np.random.default_rng(3).uniform(-1, 1, (100, 3)), (k,)
        )


@pytest.mark.parametrize("norm", [1, 2])
def test_balls_in_other_norms_give_sharper_bounds_than_the_box_around_them(norm):
    net = small_network()
    x = np.array([0.3, -0.2, 0.5])
    ball = ft.bounds(net, ft.Ball(x, 0.3, norm=norm))
    box = ft.bounds(net, (x - 0.3, x + 0.3))
    assert np.all(ball.lower > box.lower) and np.all(ball.upper < box.upper)
    step = np.random.default_rng(4).standard_normal((500, 3))
    assert_holds(ball, net, x + 0.3 * step / np.linalg.norm(step, norm, axis=1, keepdims=True))


def test_rows_are_bounded_instead_of_outputs():
    net = small_network()
    x = np.array([0.3, -0.2, 0.5])
    rows = np.array([[1.0, -1.0], [0.5, 0.5], [0.0, 1.0]])
    found = ft.bounds(net, (x - 0.1, x + 0.1), rows=rows)
    assert found.lower.shape == (3,)
    assert_holds(
        found, lambda v: rows @ net(v), x + np.random.default_rng(1).uniform(-0.1, 0.1, (300, 3))
    )


def test_intervals_have_constant_forms():
    net = small_network()
    found = ft.bounds(net, (-np.ones(3), np.ones(3)), method="interval")
    assert not found.lower_form.matrix.any() and np.allclose(found.lower_form.offset, found.lower)


def test_a_batch_through_a_branch_is_bounded_box_by_box():
    f = lambda x: jax.lax.cond(x[0] > 0, lambda v: 2 * v, lambda v: jnp.sin(v), x)
    net = ft.Network.of(f, (2,))
    x = np.array([[0.5, 0.3], [0.05, -0.2], [-0.4, 1.0]])
    found = ft.bounds(net, ft.Ball(x, 0.1))
    for k in range(3):
        assert_holds(found, net, x[k] + np.random.default_rng(k).uniform(-0.1, 0.1, (100, 2)), (k,))
    assert np.allclose(found.upper[0], [1.2, 0.8]) and np.allclose(
        found.lower[2], np.sin(x[2] - 0.1), atol=1e-2
    )


SMOOTH = {
    "sigmoid": lambda x: jax.nn.sigmoid(x),
    "tanh": lambda x: jnp.tanh(x),
    "gelu": lambda x: jax.nn.gelu(x),
    "sine": lambda x: jnp.sin(2 * x),
    "softplus": lambda x: jax.nn.softplus(x),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_networks_are_bounded_more_sharply_than_by_intervals(name):
    rng = np.random.default_rng(0)
    w = [rng.standard_normal((a, b)) / np.sqrt(a) for a, b in ((4, 16), (16, 16), (16, 2))]
    f = lambda x: SMOOTH[name](SMOOTH[name](x @ w[0]) @ w[1]) @ w[2]
    net = ft.Network.of(f, (4,))
    x = rng.standard_normal(4)
    found = ft.bounds(net, ft.Ball(x, 0.1))
    plain = ft.bounds(net, ft.Ball(x, 0.1), method="interval")
    assert_holds(found, net, x + rng.uniform(-0.1, 0.1, (300, 4)))
    assert np.all(found.upper - found.lower < 0.7 * (plain.upper - plain.lower))


BAD: dict[str, Any] = {
    "no method": lambda net: ft.bounds(net, (np.zeros(3), np.ones(3)), method=cast("Any", "guess")),
    "an empty box": lambda net: ft.bounds(net, (np.ones(3), np.zeros(3))),
    "NaN": lambda net: ft.bounds(net, (np.full(3, np.nan), np.ones(3))),
    "another shape": lambda net: ft.bounds(net, (np.zeros(4), np.ones(4))),
    "ends of two shapes": lambda net: ft.bounds(net, (np.zeros(3), np.ones(1))),
    "no box": lambda net: ft.bounds(net, cast("Any", np.zeros(3))),
    "a negative radius": lambda net: ft.bounds(net, ft.Ball(np.zeros(3), -1.0)),
    "another norm": lambda net: ft.bounds(net, ft.Ball(np.zeros(3), 1.0, norm=3)),
    "radii that do not fit": lambda net: ft.bounds(net, ft.Ball(np.zeros((2, 3)), np.ones(3))),
    "rows that do not fit": lambda net: ft.bounds(
        net, (np.zeros(3), np.ones(3)), rows=np.ones((2, 3))
    ),
    "a file name": lambda net: ft.bounds("net.onnx", (np.zeros(3), np.ones(3))),
    "no function": lambda net: ft.bounds(3, (np.zeros(3), np.ones(3))),
    "words": lambda net: ft.bounds(net, ("a", "b")),
    "an empty polytope": lambda net: ft.bounds(
        net, ft.Polytope(np.zeros(3), np.ones(3), np.ones((1, 3)), [-1.0])
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name):
    with pytest.raises(UsageError):
        BAD[name](small_network())


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="FTHETA_VNNCOMP names no folder of instances")
def test_nine_of_the_fifteen_digits_of_mnist_fc_are_certified_without_branching():
    folder = BENCHMARKS / "mnist_fc"
    net = ft.load(folder / "onnx" / "mnist-net_256x2.onnx.gz")
    assert isinstance(net, ft.Network)
    with (folder / "instances.csv").open() as file:
        names = [
            row["vnnlib"]
            for row in csv.DictReader(file)
            if "256x2" in row["onnx"] and "0.03" in row["vnnlib"]
        ]
    certified = 0
    for name in names:
        lo, hi, label = read_box(folder / name)
        rows = np.eye(10)[label] - np.delete(np.eye(10), label, 0)
        certified += bool(ft.bounds(net, (lo, hi), rows=rows).lower.min() > 0)
    assert len(names) == 15 and certified >= 9


# ---- linear constraints ----------------------------------------------------------------------------------------------


def draw_polytope(
    rng: np.random.Generator, inputs: int, constraints: int
) -> tuple[np.ndarray, ...]:
    """The ends of a box, rows and limits, with a point inside."""
    lo = rng.uniform(-1, 0, inputs)
    hi = lo + rng.uniform(0.2, 1.5, inputs)
    G = rng.standard_normal((constraints, inputs))
    inside = rng.uniform(lo, hi)
    return lo, hi, G, G @ inside + rng.uniform(0, 0.2, constraints)


def affine_network(w: np.ndarray, b: np.ndarray) -> ft.Network:
    return ft.Network.of(lambda x: w @ x + b, example=(w.shape[1],))


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_an_affine_map_over_a_polytope_is_bounded_as_by_a_linear_program(seed, constraints):
    """Never above the optimum; with one constraint equal to it, with more no worse than without any of them."""
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal((2, 5)), rng.standard_normal(2)
    lo, hi, G, limits = draw_polytope(rng, 5, constraints)
    found = ft.bounds(affine_network(w, b), ft.Polytope(lo, hi, G, limits))
    plain = ft.bounds(affine_network(w, b), (lo, hi))
    ends = np.stack([lo, hi], 1)
    for j in range(2):
        for sign, bound, loose in (
            (1.0, found.lower[j], plain.lower[j]),
            (-1.0, -found.upper[j], -plain.upper[j]),
        ):
            best = linprog(sign * w[j], G, limits, bounds=ends, method="highs")
            assert best.status == 0
            optimum = best.fun + sign * b[j]
            assert loose - 1e-12 <= bound <= optimum + 1e-7
            if constraints == 1:
                assert bound == pytest.approx(optimum, abs=1e-7)


def test_a_network_over_a_polytope_holds_its_points_and_is_sharper_than_over_the_box():
    rng = np.random.default_rng(3)
    net = ft.Network.described(random_mlp(rng, (4, 12, 12, 2), "relu", bias=0.3), "random")
    lo, hi, G, limits = draw_polytope(rng, 4, 2)
    x = rng.uniform(lo, hi, (20000, 4))
    x = x[np.all(x @ G.T <= limits, axis=1)]
    assert len(x) > 100
    y = np.asarray(net(x))
    for method in ("forward", "crown", "alpha-crown"):
        found = ft.bounds(net, ft.Polytope(lo, hi, G, limits), method=method)
        box = ft.bounds(net, (lo, hi), method=method)
        assert np.all(found.lower <= y.min(0) + 1e-12) and np.all(found.upper >= y.max(0) - 1e-12)
        assert np.all(found.upper - found.lower <= box.upper - box.lower + 1e-12)
        assert np.any(found.upper - found.lower < 0.98 * (box.upper - box.lower))


def test_numbers_that_cancel_in_a_constraint_are_paid_for():
    """2⁵⁶x₁ − 2⁵⁶x₂ ≤ 1 says nothing about x₁ + x₂ that a bound could be wrong about; exact values at a corner."""
    big = 2.0**56
    net = affine_network(np.array([[1.0, 1.0], [big, -big]]), np.array([0.0, 1.0]))
    found = ft.bounds(net, ft.Polytope([0.0, 0.0], [1.0, 1.0], [[-big, big]], [1.0]))
    assert found.lower[0] <= 0 and found.upper[0] >= 2
    assert found.lower[1] <= 0  # attained where the constraint is an equality
    assert found.lower[1] > -1000


def test_rows_of_a_polytope_that_do_not_fit_are_refused():
    net = affine_network(np.eye(2), np.zeros(2))
    for rows, limits in (([[1.0]], [0.0]), ([[1.0, 1.0]], [0.0, 1.0]), ([[np.inf, 0.0]], [1.0])):
        with pytest.raises(UsageError):
            ft.bounds(net, ft.Polytope([0, 0], [1, 1], rows, limits))


@pytest.mark.parametrize(
    "limit, is_empty", [(-1.0, True), (-(2.0**-40), True), (0.0, False), (2.0**-40, False)]
)
def test_a_polytope_without_a_point_is_refused_and_one_with_a_single_point_is_not(limit, is_empty):
    """x₁ + x₂ ≤ limit and −x₁ ≤ 0 in [−1, 1] × [0, 1]: the origin is the only point for 0."""
    region = ft.Polytope([-1.0, 0.0], [1.0, 1.0], [[1.0, 1.0], [-1.0, 0.0]], [limit, 0.0])
    if is_empty:
        with pytest.raises(UsageError, match="polytope is empty"):
            ft.bounds(lambda x: x @ np.ones((2, 1)), region)
        return
    assert ft.bounds(lambda x: x @ np.ones((2, 1)), region).lower <= 0.0


@pytest.mark.parametrize("method", ["forward", "crown", "alpha-crown"])
@pytest.mark.parametrize(
    "f, least, greatest",
    [
        (lambda x: jnp.where(x > 0, x + 1, x), -1, 2),
        (lambda x: jnp.where(x >= 0, 2 * x, x - 1), -2, 2),
        (lambda x: x + (x < 0) * (x - 3), -5, 1),
    ],
)
def test_a_function_that_jumps_at_the_origin_is_no_kink(f, least, greatest, method):
    """Linear with a value of 0 at 0 and a jump beside it: it was taken for x ↦ max(ax, bx)."""
    found = ft.bounds(f, ([-1.0], [1.0]), method=method)
    assert found.lower[0] <= least and greatest <= found.upper[0]


@pytest.mark.parametrize("method", ["forward", "crown"])
def test_a_variance_of_half_precision_numbers_counts_them_right(method):
    """257 is no number of bfloat16; of so many equal numbers, and one larger by 1, the variance is 256/257²."""

    def variance(x):
        h = (x.astype(jnp.bfloat16) * jnp.bfloat16(1)).astype(jnp.float32)
        return jnp.mean(h * h) - jnp.mean(h) ** 2

    x = 3000 + np.eye(257)[0]
    found = ft.bounds(variance, (x - 1e-3, x + 1e-3), method=method)
    assert found.lower <= 256 / 257**2 <= found.upper


def test_slopes_are_chosen_for_several_outputs_behind_an_open_choice():
    f = lambda x: jax.lax.select_n(
        jnp.clip(jnp.floor(x), 0, 1).astype(int), jnp.ones(2), jnp.maximum(x, x[:1])
    )
    found = ft.bounds(f, ([-1.0, 1.0], [1.0, 1.5]), method="alpha-crown")
    assert np.all(found.lower <= 1.0) and np.all(found.upper >= [1.0, 1.5])


def test_a_part_without_entries_takes_nothing_away():
    found = ft.bounds(lambda x: jnp.concatenate([jax.nn.relu(x[:0]), x]), ([-1.0, 0.0], [1.0, 2.0]))
    assert found.lower.tolist() == [-1.0, 0.0] and found.upper.tolist() == [1.0, 2.0]
