"""Which graphs are lists of layers, and that the list is the function."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks.programs.spellings import SPELLINGS

from ...thoroughness import max_examples
from .graphs import model, node, ours, read


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def realised(net, x):
    with jax.enable_x64(True):
        return np.asarray(net.description.apply(net.description.params, x.reshape(-1)))


def same_function(made, widths, words):
    net = read(made)
    assert net.description is not None
    assert (
        net.description.widths == widths and [d.activation for d in net.description.layers] == words
    )
    x = normal(*net.input_shape)
    np.testing.assert_allclose(realised(net, x), ours(net, x).ravel(), rtol=1e-12, atol=1e-12)
    return net.description


HELD = {
    "W": normal(3, 4),
    "V": normal(5, 4),
    "b": normal(5),
    "c": normal(3),
    "W2": normal(2, 5),
    "b2": normal(1, 2),
}


def test_gemm_and_matmul_in_every_order():
    nodes = [
        node("Flatten", "x", out=["f"]),
        node("MatMul", "f", "Vt", out=["m"]),
        node("Add", "b", "m", out=["a"]),
        node("Relu", "a", out=["r"]),
        node("Gemm", "r", "W2", "b2", transB=1),
    ]
    described = same_function(
        model(nodes, [1, 2, 2], HELD | {"Vt": HELD["V"].T}), (4, 5, 2), ["relu", "identity"]
    )
    weight = described.layers[0].weight
    # exact binary values
    assert np.array_equal(weight, HELD["V"].astype(np.float32).astype(np.float64))


def test_transposed_weights_and_a_difference_as_bias():
    nodes = [
        node("Transpose", "V", out=["Vt"], perm=[1, 0]),
        node("MatMul", "x", "Vt", out=["m"]),
        node("Sub", "m", "b", out=["a"]),
        node("Tanh", "a", out=["r"]),
        node("Identity", "W2", out=["same"]),
        node("Gemm", "r", "same", out=["g"], transB=1),
        node("Sigmoid", "g"),
    ]
    same_function(
        model(nodes, ["batch", 4], HELD, dtype=np.float64), (4, 5, 2), ["tanh", "sigmoid"]
    )


def test_a_matrix_times_a_column():
    nodes = [
        node("MatMul", "V", "x", out=["m"]),
        node("Add", "m", "column", out=["a"]),
        node("Relu", "a"),
    ]
    same_function(model(nodes, [4, 1], HELD | {"column": normal(5, 1)}), (4, 5), ["relu"])


@given(mean=st.floats(-5, 5, width=32), std=st.floats(0.125, 8, width=32))
@max_examples(20)
def test_normalisation_of_the_input_is_folded_into_the_first_layer(mean, std):
    nodes = [
        node("Sub", "x", "mean", out=["s"]),
        node("Div", "s", "std", out=["d"]),
        node("Mul", "two", "d", out=["t"]),
        node("Reshape", "t", "shape", out=["f"]),
        node("Gemm", "f", "V", "b", transB=1),
    ]
    held = HELD | {"mean": np.full((2, 2), mean), "std": np.array(std), "two": np.array([1.0, 3.0])}
    same_function(
        model(nodes, [1, 2, 2], held | {"shape": np.array([0, -1])}), (4, 5), ["identity"]
    )


def test_a_constant_of_zero_changes_no_bit():
    nodes = [node("Sub", "x", "zero", out=["s"]), node("Gemm", "s", "V", "b", transB=1)]
    net = read(model(nodes, [1, 4], HELD | {"zero": np.zeros((1, 4))}, dtype=np.float64))
    assert net.description is not None and np.array_equal(net.description.layers[0].bias, HELD["b"])


@pytest.mark.parametrize("op", ["LeakyRelu", "Elu", "Softmax"])
def test_other_activations_give_a_function_without_a_list(op):
    nodes = [node("Gemm", "x", "V", "b", out=["g"], transB=1), node(op, "g")]
    assert read(model(nodes, [1, 4], HELD)).description is None


def test_a_residual_network_or_a_map_of_rows_is_no_list():
    square = {"S": normal(4, 4)}
    skip = [node("MatMul", "x", "S", out=["m"]), node("Add", "m", "x")]
    assert read(model(skip, [1, 4], square)).description is None
    rows = [node("MatMul", "x", "S", out=["m"]), node("Relu", "m")]
    assert read(model(rows, [1, 3, 4], square)).description is None
    assert read(model([node("Relu", "x")], [1, 4])).description is None
    halved = [node("Gemm", "x", "S", alpha=0.5)]
    assert read(model(halved, [1, 4], square)).description is None
    attended = [node("Softmax", "x", out=["p"], axis=1), node("Gemm", "p", "S")]
    assert read(model(attended, [1, 4], square)).description is None


def test_a_product_with_another_sigmoid_is_not_silu():
    nodes = [
        node("Gemm", "x", "V", "b", out=["g"], transB=1),
        node("Gemm", "x", "V2", "b", out=["h"], transB=1),
        node("Sigmoid", "h", out=["s"]),
        node("Mul", "g", "s"),
    ]
    assert read(model(nodes, [1, 4], HELD | {"V2": HELD["V"] + 1})).description is None
    nodes[-2] = node("Sigmoid", "g", out=["s"])
    same_function(model(nodes, [1, 4], HELD | {"V2": HELD["V"] + 1}), (4, 5), ["silu"])


def test_the_spellings_are_the_activations_they_name():
    from ftheta.networks import ACTIVATIONS

    assert set(SPELLINGS) == set(ACTIVATIONS) - {"identity"}
