"""Networks written as ONNX: valid for onnx, the same function in onnxruntime, and the same network when read again."""

import jax
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.realisation import count_differing
from ftheta.relu import ReluNetwork, Step
from ftheta.relu import load as load_relu

IN_FLOAT64 = ("relu", "leaky-relu", "tanh", "sigmoid", "silu", "square", "identity")
"""Activations for which onnxruntime has kernels in float64."""


def layers(word, widths=(3, 6, 5, 2), seed=0):
    return random_mlp(np.random.default_rng(seed), widths, word, bias=0.5)


def executed(path, x):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return np.asarray(onnxruntime.InferenceSession(path).run(None, {"input": x})[0])


POINTS = np.random.default_rng(1).normal(size=(7, 3))


@pytest.mark.parametrize("word", ACTIVATIONS)
def test_layers_are_written_and_read_back_bit_for_bit(word, tmp_path):
    path = tmp_path / "net.onnx"
    net = ft.Network.described(layers(word))
    assert ft.save(net, path) == (path,)
    again = ft.load(path)
    assert (
        isinstance(again, ft.Network)
        and again.description is not None
        and net.description is not None
    )
    assert count_differing(net.description, again.description) == 0
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize("word", IN_FLOAT64)
def test_onnxruntime_computes_the_same_in_float64(word, tmp_path):
    net = ft.Network.described(layers(word))
    path = ft.save(net, tmp_path / "net.onnx")[0]
    np.testing.assert_allclose(executed(path, POINTS), net(POINTS), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("word", ACTIVATIONS)
def test_onnxruntime_computes_the_same_in_float32(word, tmp_path):
    net = ft.Network.described(layers(word))
    path = ft.save(net, tmp_path / "net.onnx", precision="float32")[0]
    np.testing.assert_allclose(
        executed(path, POINTS.astype(np.float32)), net(POINTS), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("word", ["softplus", "arctan"])
def test_the_reference_evaluator_computes_in_float64_what_onnxruntime_has_no_kernel_for(
    word, tmp_path
):
    net = ft.Network.described(layers(word))
    path = ft.save(net, tmp_path / "net.onnx")[0]
    found = ReferenceEvaluator(onnx.load(path)).run(None, {"input": POINTS})
    np.testing.assert_allclose(found[0], net(POINTS), rtol=1e-10, atol=1e-10)  # type: ignore[index]


def normal_form():
    rng = np.random.default_rng(3)
    masks = ([True, False, True, True], [False, False, True], [False, False])
    sizes = (3, 4, 3, 2)
    steps = (
        Step(rng.normal(size=(n, m)), rng.normal(size=n), np.array(k))
        for m, n, k in zip(sizes, sizes[1:], masks)
    )
    return ReluNetwork(tuple(steps))


def test_a_normal_form_with_coordinates_that_pass_by_is_written(tmp_path):
    net = normal_form()
    path = tmp_path / "net.onnx"
    ft.save(net, path)
    np.testing.assert_allclose(executed(path, POINTS), net(POINTS), rtol=1e-12, atol=1e-12)
    again = ft.load(path)
    assert isinstance(again, ft.Network) and again.description is None
    with jax.enable_x64(True):
        form = ft.relu_form(again, again.example)
    np.testing.assert_allclose(form(POINTS), net(POINTS), rtol=1e-12, atol=1e-12)


def test_a_function_compiled_from_a_mesh_is_written(tmp_path):
    points = [(0, 0), (1, 0), (1, 1), (0, 1)]
    triangles = [(0, 1, 2), (0, 2, 3)]
    net = ft.compile_cpa(points, triangles, [0, 1, -1, 2])
    path = tmp_path / "net.onnx"
    ft.save(net, path)
    found = executed(path, np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.75, 0.25]]))
    np.testing.assert_allclose(found[:, 0], [0, 1, -1, 2, -0.5, 0.25], atol=1e-12)


def test_a_training_run_is_written(tmp_path):
    path = tmp_path / "net.onnx"
    rng = np.random.default_rng(0)
    data = ft.Dataset("rows", rng.normal(size=(20, 3)), rng.normal(size=(20, 2)))
    trained = ft.fit(ft.Network.described(layers("tanh")), data, steps=3)
    ft.save(trained, path)
    np.testing.assert_allclose(
        executed(path, POINTS), trained.network(POINTS), rtol=1e-10, atol=1e-10
    )
    trained.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == path.read_bytes()


def test_the_other_form_is_a_weight_list(tmp_path):
    described = layers("relu")
    ft.save(described, tmp_path / "net.npz")
    again = ft.load(tmp_path / "net.npz")
    assert isinstance(again, ft.Network) and again.description is not None
    assert count_differing(described, again.description) == 0
    form = normal_form()
    ft.save(form, tmp_path / "form.npz")
    assert np.array_equal(load_relu(tmp_path / "form.npz")(POINTS), form(POINTS))


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(SubjectError, match="piecewise-affine"):
        ft.save(ft.Network.of(jax.numpy.sin, (3,)), tmp_path / "net.onnx")
    with pytest.raises(SubjectError, match="too large"):
        ft.save(ft.Network.of(jax.nn.relu, (100, 100)), tmp_path / "net.onnx")
    with pytest.raises(SubjectError, match="Only networks"):
        ft.save(object(), tmp_path / "net.onnx")
    with pytest.raises(UsageError, match="Unknown kind of file"):
        ft.save(layers("relu"), tmp_path / "net.pdf")
    with pytest.raises(UsageError, match="Unknown precision"):
        ft.save(layers("relu"), tmp_path / "net.onnx", precision="float16")  # type: ignore[arg-type]
    large = Description((Dense(np.array([[1e300]]), np.zeros(1)),))
    with pytest.raises(SubjectError, match="precision"):
        ft.save(large, tmp_path / "net.onnx", precision="float32")
