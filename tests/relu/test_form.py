"""Traced programs to networks: the same values as JAX, few coordinates, and errors that name the line."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import sparse

from ftheta.logic import SubjectError
from ftheta.networks.description import random_mlp
from ftheta.relu.counts import count, is_plain
from ftheta.relu.describe import to_description
from ftheta.relu.exact import exact, from_description
from ftheta.relu.export import load, save, to_equinox
from ftheta.relu.line.points import on_line
from ftheta.relu.network import ReluNetwork
from ftheta.relu.reading.form import relu_form

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def assert_same(f, shape: tuple[int, ...], seed: int = 0, samples: int = 40) -> ReluNetwork:
    net = relu_form(f, jnp.zeros(shape))
    x = np.random.default_rng(seed).normal(size=(samples, *shape)) * 2
    expected = np.asarray(jax.jit(jax.vmap(f))(x)).reshape(samples, -1)
    assert np.allclose(
        net(x.reshape(samples, -1)), expected, rtol=1e-12, atol=1e-12 * max(1, abs(expected).max())
    )
    return net


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_a_multi_layer_perceptron_is_read_layer_by_layer() -> None:
    net = eqx.nn.MLP(3, 2, 8, 3, key=jax.random.key(0))
    form = assert_same(net, (3,))
    assert form.widths == (3, 8, 8, 8, 2) and is_plain(form)
    assert np.array_equal(form.steps[1].dense(), np.asarray(net.layers[1].weight))


def test_a_description_has_one_form_by_either_way() -> None:
    description = random_mlp(np.random.default_rng(1), [2, 5, 4, 1], bias=0.5)
    params = [(jnp.asarray(W), jnp.asarray(b)) for W, b in description.params]
    traced = assert_same(lambda x: description.apply(params, x), (2,))
    for one, other in zip(traced.steps, from_description(description).steps):
        assert np.allclose(one.dense(), other.dense(), atol=1e-15)


@pytest.mark.parametrize(
    ("stride", "padding", "groups", "dilation"),
    [(1, 0, 1, 1), (2, 1, 1, 1), (1, ((1, 2), (0, 1)), 2, 1), ((2, 1), "SAME", 4, 1), (1, 2, 2, 2)],
)
def test_convolutions_with_stride_padding_groups_and_dilation(
    stride, padding, groups, dilation
) -> None:
    conv = eqx.nn.Conv2d(
        4,
        8,
        3,
        stride=stride,
        padding=padding,
        groups=groups,
        dilation=dilation,
        key=jax.random.key(1),
    )
    assert_same(lambda x: jax.nn.relu(conv(x)), (4, 7, 6), samples=8)


def test_a_transposed_convolution() -> None:
    conv = eqx.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, key=jax.random.key(1))
    assert_same(lambda x: jax.nn.relu(conv(x)), (2, 4, 5), samples=8)


def test_a_convolutional_network_with_pooling_and_its_sparsity() -> None:
    keys = jax.random.split(jax.random.key(2), 3)
    first = eqx.nn.Conv2d(1, 4, 3, padding=1, key=keys[0])
    second = eqx.nn.Conv2d(4, 6, 3, stride=2, key=keys[1])
    head = eqx.nn.Linear(6, 3, key=keys[2])
    largest = eqx.nn.MaxPool2d(3, 2, padding=1)
    mean = eqx.nn.AvgPool2d(2, 2)

    def f(x):
        x = largest(jax.nn.relu(first(x)))
        x = mean(jax.nn.relu(second(x)))
        return head(x.reshape(-1)[:6])

    net = assert_same(f, (1, 11, 11), samples=10)
    A = net.steps[0].matrix
    assert sparse.issparse(A) and A.nnz <= 9 * 4 * 121
    assert count(net).affine_layers == 1 + 1 + 4 + 1  # conv, a tree over windows of nine, conv


def test_max_pooling_takes_one_neuron_less_than_the_window_has_entries() -> None:
    pool = eqx.nn.MaxPool1d(4, 4)
    net = assert_same(pool, (1, 12))
    assert count(net).neurons == 3 * 3 and count(net).activations == 2


def test_a_residual_network_carries_its_stream_and_no_more() -> None:
    blocks = [(normal(12, 4, seed=k), normal(4, 12, seed=k + 9)) for k in range(5)]

    def f(x):
        for A, B in blocks:
            x = x + B @ jax.nn.relu(A @ x + 0.1)
        return x

    net = assert_same(f, (4,))
    assert net.widths == (4, 16, 16, 16, 16, 16, 4)
    assert count(net).neurons == 60


def test_batch_normalisation_at_inference_is_merged() -> None:
    W = normal(6, 3)
    mean = normal(6, seed=1)
    var = normal(6, seed=2) ** 2
    gamma = normal(6, seed=3)
    beta = normal(6, seed=4)
    net = assert_same(
        lambda x: jax.nn.relu((W @ x - mean) * lax.rsqrt(var + 1e-5) * gamma + beta).sum(), (3,)
    )
    assert net.widths == (3, 6, 1)


def test_maxout_and_minima_of_many() -> None:
    W = normal(5, 4, 3)
    assert_same(lambda x: jnp.max(W @ x, axis=0) - jnp.min(W @ x, axis=1)[:4], (3,))
    assert_same(lambda x: jnp.minimum(jnp.maximum(x, 0.3), x[::-1]), (4,))
    assert count(assert_same(lambda x: jnp.max(x), (5,))).activations == 3


@pytest.mark.parametrize(
    "activation",
    [
        jax.nn.relu,
        jax.nn.relu6,
        jax.nn.leaky_relu,
        jax.nn.hard_tanh,
        jax.nn.hard_sigmoid,
        jnp.abs,
        lambda x: jnp.clip(x, -0.5, 1.5),
        lambda x: lax.clamp(-0.5, x, 1.5),
        lambda x: lax.clamp(1.5, x, -0.5),  # in the wrong order: the upper end
        lambda x: jnp.where(x > 0, x, -0.25 * x),
        lambda x: jnp.where(x <= 1, 2 * x - 1, x),
        lambda x: x * (x > 0),
        lambda x: jnp.where(jnp.array([True, False, True, True]), x, -x),
        lambda x: jnp.where(x < -1, -1.0, jnp.where(x > 1, 2 * x - 1, x)),
        lambda x: jnp.where(x > 1, 3 - 2 * x, jnp.clip(x, -1, 1)),
    ],
)
def test_piecewise_affine_activations(activation) -> None:
    W = normal(4, 3)
    V = normal(2, 4, seed=1)
    assert_same(lambda x: V @ activation(W @ x + 0.1), (3,))


def test_moves_of_entries_make_no_neurons() -> None:
    def f(x):
        y = jnp.concatenate([x, jnp.ones((1, 4)), x[::-1]], axis=0)
        y = jnp.pad(y.T, ((1, 0), (0, 2)), constant_values=3.0)[:, 1:5]
        y = y[jnp.array([0, 2, 2, 1])] + lax.dynamic_slice(y, (1, 0), (4, 4))
        return (
            jnp.broadcast_to(y[None], (2, 4, 4)).reshape(2, 16).at[0].get() * jnp.arange(16.0) / 3
        )

    net = assert_same(f, (3, 4))
    assert count(net).neurons == 0 and len(net.steps) == 1


def test_batched_products_and_loops() -> None:
    W = normal(3, 4, 2)
    assert_same(lambda x: jnp.einsum("bij,bj->bi", W, x), (3, 2))
    assert_same(lambda x: x.T @ W[0, :3], (3, 2))
    assert_same(
        lambda x: jnp.cumsum(x, 0) - lax.cummax(x, axis=1) + lax.cummin(x, axis=0, reverse=True),
        (3, 4),
    )
    A = normal(4, 4) / 2
    assert_same(
        lambda x: lax.scan(lambda h, _: (jax.nn.relu(A @ h - 0.1), h[0]), x, None, length=3)[1],
        (4,),
    )


def test_several_inputs_are_taken_one_after_the_other() -> None:
    net = relu_form(lambda x, y: jnp.maximum(x, y["a"]), jnp.zeros(2), {"a": jnp.zeros(2)})
    assert np.array_equal(net(np.array([1.0, 5.0, 3.0, -1.0])), [3.0, 5.0])


def test_constants_known_signs_and_unused_neurons_cost_nothing() -> None:
    def f(x):
        h = jax.nn.relu(x)
        _ = jax.nn.relu(x - 7)
        return jax.nn.relu(2 * h + 1) + jax.nn.relu(-h) + jnp.maximum(jnp.float64(3), 2.0)

    assert count(assert_same(f, (3,))).neurons == 3


def test_the_form_of_the_hat_is_proved_to_be_the_hat() -> None:
    net = relu_form(lambda x: jnp.maximum(0.0, 1 - jnp.abs(x)), jnp.zeros(1))
    from ftheta.relu.elementary import hat

    assert on_line(net) == on_line(hat())


def test_single_precision_weights_are_read_at_their_values() -> None:
    with jax.enable_x64(False):
        layer = eqx.nn.Linear(3, 2, key=jax.random.key(0))
        net = relu_form(lambda x: jax.nn.relu(layer(x)), jax.ShapeDtypeStruct((3,), jnp.float32))
    assert np.array_equal(net.steps[0].dense(), np.asarray(layer.weight, np.float64))
    assert exact(net).widths == net.widths


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "word"),
    [
        (lambda x: jnp.tanh(x), "tanh"),
        (lambda x: jax.nn.softmax(x), "exp"),
        (lambda x: jax.nn.silu(x), "logistic"),
        (lambda x: x * x, "product of two"),
        (lambda x: 1 / x, "quotient"),
        (lambda x: jnp.outer(x, x) @ x, "product of two"),
        (lambda x: jnp.where(x > 0, x + 1, x), "continuous"),
        (lambda x: jnp.where(x > 0, 1.0, 0.0), "continuous"),
        (lambda x: x > 0, "truth value"),
        (lambda x: jnp.round(x), "round"),
        (lambda x: jnp.zeros(9)[x.astype(int)], "integers"),
        (lambda x: jnp.argmax(x) * x, "argmax. has no rule"),
        (lambda x: x[jnp.argsort(x)], "order of a sort"),
        (lambda x: lax.top_k(x, 2)[1] * x[:2], "largest numbers are"),
        (lambda x: jnp.where(x == 0, 1.0, x), "equal"),
        (lambda x: x / 0.0, "zero"),
    ],
)
def test_programs_that_are_not_piecewise_affine_are_refused_with_their_line(f, word: str) -> None:
    with pytest.raises(SubjectError, match=word) as caught:
        relu_form(f, jnp.ones(3))
    assert HERE in caught.value.where
    if "truth" not in word:
        assert caught.value.remedy


# ---- files and modules ----------------------------------------------------------------------------------------------


def residual() -> ReluNetwork:
    A = normal(5, 3)
    B = normal(3, 5, seed=1)
    return relu_form(lambda x: x + B @ jax.nn.relu(A @ x), jnp.zeros(3))


def plain() -> ReluNetwork:
    return from_description(random_mlp(np.random.default_rng(0), [3, 6, 2], bias=0.2))


def wide() -> ReluNetwork:
    conv = eqx.nn.Conv1d(1, 3, 3, key=jax.random.key(0))
    return relu_form(lambda x: jax.nn.relu(conv(x)), jnp.zeros((1, 60)))


@pytest.mark.parametrize("make", [residual, plain, wide])
def test_networks_survive_files_and_modules(make, tmp_path: Path) -> None:
    net = make()
    save(net, tmp_path / "net.npz")
    back = load(tmp_path / "net.npz")
    for one, other in zip(net.steps, back.steps):
        assert np.array_equal(one.dense(), other.dense()) and np.array_equal(
            one.offset, other.offset
        )
        assert np.array_equal(one.rectified, other.rectified)
    module = to_equinox(net)
    x = normal(7, net.widths[0])
    assert np.allclose(jax.vmap(module)(jnp.asarray(x)), net(x), atol=1e-12)
    again = relu_form(module, jnp.zeros(net.widths[0])) if make is not wide else net
    assert np.allclose(again(x), net(x), atol=1e-12)


def test_a_network_with_carried_coordinates_is_no_list_of_layers() -> None:
    with pytest.raises(SubjectError, match="plain"):
        to_description(residual())
    assert to_description(plain()).widths == (3, 6, 2)


def test_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, a=np.zeros(1))
    with pytest.raises(SubjectError, match="neither"):
        load(path)
    np.savez(path, format=np.array("ftheta-relu-steps-1"), steps=np.array(2))
    with pytest.raises(SubjectError, match="broken"):
        load(path)
