"""Whatever is a network can be written, and is the same function when it is read again."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

import ftheta as ft
from ftheta.cli import run
from ftheta.logic import SubjectError
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.scaling import ScaledLayers, Scaling
from ftheta.relu.network import ExactNetwork

RNG = np.random.default_rng(0)
KEY = jax.random.key(0)


class Convolution(eqx.Module):
    conv: eqx.nn.Conv2d
    last: eqx.nn.Linear

    def __call__(self, x):
        return self.last(eqx.nn.MaxPool2d(2, 2)(jax.nn.relu(self.conv(x))).ravel()).reshape(2, 2)


def images() -> ft.Network:
    return ft.Network.of(
        Convolution(eqx.nn.Conv2d(2, 3, 3, key=KEY), eqx.nn.Linear(12, 4, key=KEY)), (2, 6, 6)
    )


def network(path) -> ft.Network:
    found = ft.load(path)
    assert isinstance(found, ft.Network)
    return found


@pytest.mark.parametrize("word", ACTIVATIONS)
def test_the_activation_of_a_single_layer_is_kept(tmp_path, word):
    path = tmp_path / "one.npz"
    ft.save(Description((Dense(np.eye(2), np.ones(2), word),)), path)
    read = network(path).description
    assert read is not None and [layer.activation for layer in read.layers] == [word]


def test_a_convolutional_network_is_written_with_the_shapes_it_has(tmp_path):
    net = images()
    path = tmp_path / "net.onnx"
    x = RNG.normal(size=(3, 2, 6, 6))
    ft.save(net, path)
    found = np.asarray(onnxruntime.InferenceSession(path).run(None, {"input": x})[0])
    wanted = np.asarray(jax.vmap(net)(x))
    assert found.shape == (3, 2, 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    again = network(path)
    np.testing.assert_allclose(
        np.asarray(again(x[0].reshape(again.input_shape))).ravel(), wanted[0].ravel(), rtol=1e-10
    )


def test_a_normal_form_in_an_archive_is_a_network_of_vectors(tmp_path):
    net = images()
    path = tmp_path / "net.npz"
    ft.save(net, path)
    again = network(path)
    x = RNG.normal(size=(2, 6, 6))
    assert again.input_shape == (72,)
    np.testing.assert_allclose(again(x.ravel()), np.asarray(net(x)).ravel(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("suffix", ["npz", "onnx"])
def test_networks_of_every_origin_are_written(tmp_path, suffix):
    rows = ft.Dataset("rows", RNG.normal(size=(20, 3)), RNG.normal(size=(20, 2)))
    mlp = eqx.nn.MLP(3, 2, 8, 2, key=KEY)
    compiled = ft.compile_cpa(
        [(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1, 2), (0, 2, 3)], [0, 1, -1, 2]
    )
    cases = {
        "layers": (random_mlp(RNG, (3, 5, 2)), 3),
        "equinox": (mlp, 3),
        "trained": (ft.fit(mlp, rows, steps=2), 3),
        "compiled": (compiled, 2),
        "exact": (ExactNetwork.dense([[["1"], ["-1/3"]], [["1", "2"]]], [["0", "1"], ["0"]]), 1),
        "function": (ft.Network.of(lambda x: jnp.maximum(x[0], x[1]) * jnp.ones(2), (3,)), 3),
    }
    for name, (net, inputs) in cases.items():
        path = ft.save(net, tmp_path / f"{name}.{suffix}")[0]
        assert network(path).input_shape == (inputs,), name


def test_what_is_not_piecewise_affine_is_refused(tmp_path):
    with pytest.raises(SubjectError, match="piecewise-affine"):
        ft.save(ft.Network.of(jnp.sin, (3,)), tmp_path / "net.npz")


STEPS = {
    "format": np.array("ftheta-relu-steps-1"),
    "steps": np.array(1),
    "data0": np.array([1.0]),
    "indices0": np.array([0]),
    "indptr0": np.array([0, 1]),
    "shape0": np.array([1, 1]),
    "offset0": np.zeros(1),
    "rectified0": np.array([False]),
}


@pytest.mark.parametrize(
    "name, value",
    [
        ("steps", 0),
        ("steps", 10**15),
        ("steps", "x"),
        ("data0", [np.nan]),
        ("data0", [1j]),
        ("data0", ["a"]),
        ("indices0", [5]),
        ("indices0", [-1]),
        ("indptr0", [0, 9]),
        ("shape0", [1, 10**12]),
        ("shape0", [10**12, 1]),
        ("shape0", [1, -1]),
        ("shape0", 3),
        ("offset0", [[0.0]]),
        ("rectified0", [True]),
    ],
)
def test_broken_steps_are_refused(tmp_path, name, value):
    np.savez(tmp_path / "net.npz", **STEPS)  # type: ignore[arg-type]
    assert network(tmp_path / "net.npz").input_shape == (1,)
    np.savez(tmp_path / "net.npz", **{**STEPS, name: np.array(value)})  # type: ignore[arg-type]
    with pytest.raises(SubjectError):
        ft.load(tmp_path / "net.npz")


def test_fit_writes_onnx(tmp_path, capsys):
    np.savez(tmp_path / "d.npz", x=RNG.normal(size=(20, 3)), y=RNG.normal(size=(20, 1)))
    path = tmp_path / "net.onnx"
    assert (
        run(["fit", str(tmp_path / "d.npz"), "--widths", "4", "--steps", "2", "--out", str(path)])
        == 0
    )
    assert network(path).description is not None
    assert run(["fit", str(tmp_path / "d.npz"), "--out", str(tmp_path / "net.pt")]) == 2


def test_fit_reads_a_table(tmp_path, capsys):
    (tmp_path / "d.csv").write_text("a,b,kind\n1,2,x\n3,1,y\n0,1,x\n")
    words = [
        "fit",
        str(tmp_path / "d.csv"),
        "--loss",
        "cross-entropy",
        "--widths",
        "",
        "--steps",
        "2",
    ]
    assert run([*words, "--labels", "kind", "--out", str(tmp_path / "net.npz")]) == 0
    assert network(tmp_path / "net.npz").output_shape == (2,)
    assert run(["fit", str(tmp_path / "d.npz")]) == 4


def test_a_scaling_of_the_inputs_stays_apart_from_the_parameters(tmp_path):
    rng = np.random.default_rng(0)
    scaling = Scaling((("sub", rng.normal(size=3)), ("div", rng.uniform(1, 9, size=3))))
    net = ft.Network.described(ScaledLayers(scaling, random_mlp(rng, (3, 4, 2), "tanh", bias=0.3)))
    again = ft.load(ft.save(net, tmp_path / "scaled.onnx")[0])
    assert isinstance(again, ft.Network)
    assert all(
        np.array_equal(a, b) for one, two in zip(net.params, again.params) for a, b in zip(one, two)
    )
    assert again.scaled_layers is not None
    x = rng.normal(size=3)
    assert np.allclose(net(x), again(x), rtol=1e-12)
