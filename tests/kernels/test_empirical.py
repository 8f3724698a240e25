"""Empirical tangent kernels of any network against Jacobians multiplied by brute force."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.kernels.dispatch import ntk
from ftheta.kernels.empirical import contraction
from ftheta.kernels.empirical.contraction_plan import plan_contraction
from ftheta.kernels.empirical.kernel import choices
from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.subjects import Network


def brute_force(net, X, Z):
    """All Jacobians as matrices, outputs by parameters, by forward mode, multiplied."""
    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, net.params)
        one = jax.jacfwd(lambda p, x: jnp.ravel(net.apply(p, x)))
        J = jax.tree.leaves(jax.jit(jax.vmap(one, (None, 0)))(params, np.concatenate([X, Z])))
    J = np.concatenate([np.asarray(leaf).reshape(*leaf.shape[:2], -1) for leaf in J], 2)
    return np.einsum("ikp,jlp->ijkl", J[: len(X)], J[len(X) :])


def dense(rng):
    return Network.described(random_mlp(rng, (3, 6, 5, 2), "tanh", bias=0.3))


def shared(rng):
    """One matrix used twice, and another that multiplies a matrix of features."""

    def apply(p, x):
        h = jnp.tanh(p["W"] @ jnp.tanh(p["W"] @ x))
        rows = jnp.stack([h, 2 * h, h**2])
        return jnp.sum(jnp.tanh(rows @ p["V"]), 0) + p["b"] * p["s"]

    params = {
        "W": rng.normal(size=(4, 4)),
        "V": rng.normal(size=(4, 3)),
        "b": rng.normal(size=3),
        "s": np.array(0.7),
    }
    return Network("shared", apply, params, (4,))


def residual(rng):
    def apply(p, x):
        h = x.reshape(-1) + jnp.tanh(p[0].reshape(6, 6).T @ x.reshape(-1)) * p[1]
        return p[2] @ h

    return Network(
        "residual", apply, [rng.normal(size=36), rng.normal(size=6), rng.normal(size=6)], (2, 3)
    )


def convolutional(rng):
    def apply(p, x):
        h = jnp.tanh(jax.lax.conv(x[None], p[0], (1, 1), "SAME"))
        return p[1] @ h.mean((2, 3)).ravel()

    return Network(
        "convolutional", apply, [rng.normal(size=(4, 1, 3, 3)), rng.normal(size=(2, 4))], (1, 5, 5)
    )


@cache
def case(make):
    """A network, rows, and its kernel by brute force: the same objects for every method, which are compiled once."""
    rng = np.random.default_rng(0)
    net = make(rng)
    X = rng.normal(size=(4, *net.input_shape))
    Z = rng.normal(size=(3, *net.input_shape))
    return net, X, Z, brute_force(net, X, Z)


@pytest.mark.parametrize("make", [dense, shared, residual, convolutional])
@pytest.mark.parametrize("method", ["structured", "jacobian", "products", "auto"])
def test_every_contraction_is_the_product_of_jacobians(make, method):
    net, X, Z, exact = case(make)
    full = ntk(net, X, Z, outputs="full", method=method)
    assert np.abs(full.reshape(exact.shape) - exact).max() < 1e-10 * np.abs(exact).max()
    mean = np.einsum("ijkk->ij", exact) / exact.shape[-1]
    assert np.abs(ntk(net, X, Z, method=method) - mean).max() < 1e-10 * np.abs(exact).max()


@pytest.mark.parametrize("method", ["structured", "products"])
def test_blocks_within_a_small_memory_give_the_same_kernel(method):
    rng = np.random.default_rng(1)
    net = dense(rng)
    X = rng.normal(size=(11, 3))
    whole = ntk(net, X, outputs="full")
    pieces = ntk(net, X, outputs="full", method=method, memory=8 * (11 * 11 * 4 + 1200))
    assert np.allclose(whole, pieces, rtol=1e-12, atol=1e-13)
    assert np.allclose(whole, brute_force(net, X, X), rtol=1e-10)


def long(rng):
    """A matrix whose derivatives are long, beside one whose are not."""

    def apply(p, x):
        return p["v"] @ jnp.tanh(jnp.tanh(x.reshape(6, 70) @ p["W"]).sum(0) + p["b"])

    sizes = {"W": (70, 60), "b": (60,), "v": (2, 60)}
    return Network("long", apply, {k: rng.normal(size=n) / 8 for k, n in sizes.items()}, (420,))


def wide(rng):
    """Long derivatives of a vector."""
    apply = lambda p, x: p["v"] @ jnp.tanh(jnp.outer(p["w"], x)).ravel() / 9
    return Network(
        "wide", apply, {"v": rng.normal(size=(1, 6000)), "w": rng.normal(size=20)}, (300,)
    )


@pytest.mark.parametrize("outputs", ["mean", "full"])
@pytest.mark.parametrize("make", [dense, long, wide])
def test_rows_with_themselves_have_the_kernel_of_products_with_vectors(make, outputs, monkeypatch):
    monkeypatch.setattr(contraction, "FEW", 4)  # halves and chunks of few rows already
    monkeypatch.setattr(contraction, "CHUNK", 4)
    rng = np.random.default_rng(7)
    net = make(rng)
    X = rng.normal(size=(9, *net.input_shape))
    own = ntk(net, X, outputs=outputs, method="structured")
    assert own.flags.writeable
    turned = own.transpose(1, 0, 3, 2) if outputs == "full" else own.T
    assert np.allclose(own, turned, rtol=1e-13, atol=1e-13)
    columns = ntk(net, X, outputs=outputs, method="products")
    assert np.abs(own - columns).max() < 1e-12 * np.abs(columns).max()
    some = ntk(net, X[:5], X[1:], outputs=outputs, method="structured")
    assert np.abs(some - columns[:5, 1:]).max() < 1e-12 * np.abs(columns).max()


def test_chunks_are_of_one_size_and_leave_no_row_out(monkeypatch):
    monkeypatch.setattr(contraction, "CHUNK", 4)
    sizes = []

    def features(factor, rows):
        sizes.append(len(rows))
        return [(None, factor * rows), (rows, rows**2)]

    rows = np.arange(9.0)
    (nothing, twice), (same, squares) = contraction._in_chunks(features, 2, rows)
    assert nothing is None and sizes == [4, 4, 4]
    assert np.array_equal(twice, 2 * rows)
    assert np.array_equal(same, rows) and np.array_equal(squares, rows**2)


def test_chunks_are_gathered_where_xla_takes_arrays_over():
    for shape in ((3, 5), (7,), (2, 3, 11)):
        array = contraction._empty(shape, np.float32)
        assert array.shape == shape and array.dtype == np.float32 and array.flags.writeable
        assert array.ctypes.data % contraction.LINE == 0


def test_a_network_is_traced_for_its_first_kernel_alone():
    calls = []

    def apply(p, x):
        calls.append(x)
        return p @ jnp.tanh(x)

    X = np.random.default_rng(9).normal(size=(5, 3))
    first = ntk(Network("counted", apply, np.ones((1, 3)), (3,)), X)
    seen = len(calls)
    assert seen
    assert np.array_equal(ntk(Network("counted", apply, np.ones((1, 3)), (3,)), X), first)
    assert len(calls) == seen
    assert ntk(Network("counted", apply, np.ones((2, 3)), (3,)), X, outputs="full").shape[2] == 2


def test_matrices_that_multiply_vectors_are_taken_apart_and_others_are_not():
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        parts = {
            net.name: plan_contraction(net.apply, net.params, np.zeros(net.input_shape)).parts
            for net in (dense(rng), shared(rng))
        }
    assert [part.positions for part in parts["network"]] == [1, 0] * 3
    assert [part.positions for part in parts["shared"]] == [3, 2, 0, 0]  # V, W, b, s
    assert not any(part.apart for part in parts["shared"])  # too small to be worth it


def test_the_structured_way_is_chosen_for_wide_layers():
    rng = np.random.default_rng(3)
    net = Network.described(random_mlp(rng, (10, 512, 512, 1)))
    X = rng.normal(size=(256, 10))
    found = {choice.method: choice.operations for choice in choices(net, X, X, False, 10**9)}
    assert min(found, key=found.__getitem__) == "structured"
    assert found["structured"] < found["jacobian"] / 20


def test_whole_numbers_are_inputs_like_others_and_tokens_stay_whole():
    rng = np.random.default_rng(4)
    net = dense(rng)
    X = rng.integers(-2, 3, size=(3, 3))
    assert np.array_equal(ntk(net, X), ntk(net, X.astype(float)))
    table = Network(
        "embedding",
        lambda p, x: p[1] @ p[0][x].mean(0),
        [rng.normal(size=(5, 3)), rng.normal(size=(2, 3))],
        (4,),
    )
    tokens = rng.integers(0, 5, size=(3, 4))
    counts = np.stack([np.bincount(t, minlength=5) / 4 for t in tokens])
    means = counts @ table.params[0]
    expected = means @ means.T + counts @ counts.T * np.sum(table.params[1] ** 2) / 2
    assert np.allclose(ntk(table, tokens), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"memory": 100}, "memory"),
        ({"method": "magic"}, "choose auto"),
        ({"outputs": "some"}, "mean or full"),
    ],
)
def test_options_that_cannot_serve_are_said(options, match):
    net = dense(np.random.default_rng(5))
    with pytest.raises(UsageError, match=match):
        ntk(net, np.ones((2, 3)), **options)


def test_rows_that_do_not_fit_are_said():
    net = dense(np.random.default_rng(6))
    with pytest.raises(UsageError, match="do not fit"):
        ntk(net, np.ones((2, 4)))
    with pytest.raises(UsageError, match="not finite"):
        ntk(net, np.full((2, 3), np.inf))
    with pytest.raises(UsageError, match="no derivative"):
        ntk(Network("argmax", lambda p, x: jnp.argmax(p * x), np.ones(3), (3,)), np.ones((2, 3)))
