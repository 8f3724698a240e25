"""Networks that scale their inputs first: what is said of parameters is said of the parameters that were trained.

The rows are as they were measured, in units that differ by factors of a million, and the network standardises them: by
a scaler of scikit-learn, by the first nodes of an ONNX file, by buffers of a module of torch or of its exported file.
The truth is computed from the layers alone on rows that are standardised here.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.flatten_util import ravel_pytree
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ftheta as ft
from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.catalogue import index
from ftheta.catalogue import theorem as theorem_named
from ftheta.logic import Result
from ftheta.networks import Dense, Description
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load_as

from ..networks.onnx.graphs import model, node

TASKS = {task.id: task for task in plan_tasks()}
CENTRE = np.array([2000.0, -3.0, 0.004])
SPREAD = np.array([500.0, 0.7, 0.0005])
ROWS = 48


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = CENTRE + SPREAD * rng.normal(size=(ROWS, 3))
    return x, np.sin((x[:, :1] - 2000) / 500) + 0.3 * (x[:, 1:2] + 3)


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(6)
    return {
        "W0": rng.normal(size=(7, 3)),
        "b0": rng.normal(size=7),
        "W1": rng.normal(size=(1, 7)) / 2,
        "b1": rng.normal(size=1),
    }


def of_scikit(folder: Path) -> Network:
    x, y = rows()
    held = arrays()
    scaler: Any = StandardScaler()
    perceptron: Any = MLPRegressor(hidden_layer_sizes=(7,), max_iter=1)
    pipeline = make_pipeline(scaler, perceptron)
    with warnings.catch_warnings():
        # one step of training does not converge; the weights are replaced
        warnings.simplefilter("ignore")
        pipeline.fit(x, y[:, 0])
    scaler.mean_ = CENTRE
    scaler.scale_ = SPREAD
    perceptron.coefs_ = [held["W0"].T, held["W1"].T]
    perceptron.intercepts_ = [held["b0"], held["b1"]]
    return load_as(Network, pipeline)


def of_onnx(folder: Path) -> Network:
    nodes = [
        node("Sub", "x", "centre", out=["shifted"]),
        node("Div", "shifted", "spread", out=["scaled"]),
        node("Gemm", "scaled", "W0", "b0", out=["first"], transB=1),
        node("Relu", "first", out=["hidden"]),
        node("Gemm", "hidden", "W1", "b1", transB=1),
    ]
    made = model(nodes, [1, 3], arrays() | {"centre": CENTRE, "spread": SPREAD}, dtype=np.float64)
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return load_as(Network, path)


class Standardised(torch.nn.Module):
    """Two layers behind a fixed scaling, or one that is learnt."""

    centre: torch.Tensor
    spread: torch.Tensor

    def __init__(self, learnt: bool = False) -> None:
        super().__init__()
        self.one = torch.nn.Linear(3, 7).double()
        self.two = torch.nn.Linear(7, 1).double()
        hold: Callable[..., Any] = self._learn if learnt else self.register_buffer
        hold("centre", torch.tensor(CENTRE))
        hold("spread", torch.tensor(SPREAD))
        held = {name: torch.tensor(array) for name, array in arrays().items()}
        with torch.no_grad():
            for k, layer in enumerate((self.one, self.two)):
                layer.weight.copy_(held[f"W{k}"])
                layer.bias.copy_(held[f"b{k}"])

    def _learn(self, name: str, tensor: torch.Tensor) -> None:
        self.register_parameter(name, torch.nn.Parameter(tensor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.two(torch.relu(self.one((x - self.centre) / self.spread)))


def of_torch(folder: Path) -> Network:
    return load_as(Network, Standardised().eval(), example=torch.zeros(1, 3).double())


def of_pt2(folder: Path) -> Network:
    path = folder / "net.pt2"
    torch.export.save(
        torch.export.export(Standardised().eval(), (torch.zeros(1, 3).double(),)), path
    )
    return load_as(Network, path)


@pytest.fixture(scope="module", params=[of_scikit, of_onnx, of_torch, of_pt2])
def net(request, tmp_path_factory) -> Network:
    found = request.param(tmp_path_factory.mktemp("net"))
    return found.with_data(Dataset("rows", *rows()))


@pytest.fixture(scope="module")
def own() -> Network:
    """The same layers on rows that are standardised already."""
    held = arrays()
    layers = Description((Dense(held["W0"], held["b0"], "relu"), Dense(held["W1"], held["b1"])))
    x, y = rows()
    return Network.described(layers, "layers").with_data(Dataset("rows", (x - CENTRE) / SPREAD, y))


def loss_by_hand(own: Network) -> tuple[Callable[[Any], Any], Any]:
    """Half the mean squared error as a function of all parameters in one vector, and these parameters."""
    assert own.data is not None and own.data.y is not None
    x = own.data.x
    y = own.data.y
    flat, build = ravel_pytree(jax.tree.map(jnp.asarray, own.params))

    def loss(theta: Any) -> Any:
        (W, b), (V, c) = build(theta)
        outputs = jnp.maximum(x @ W.T + b, 0) @ V.T + c
        return jnp.mean(jnp.sum((outputs - y) ** 2, 1)) / 2

    return loss, flat


def known(id: str, net: Network) -> dict[str, Any]:
    found = perform(TASKS[id], [net], 0)
    assert isinstance(found, Part), found
    return {fact.name: fact.value for fact in found.facts}


def test_the_function_is_the_same_on_rows_as_they_were_measured(net, own):
    assert net.parameters == own.parameters == 36
    for row, scaled in zip(net.data.x[:5], own.data.x[:5]):
        np.testing.assert_allclose(net(row), own(scaled), rtol=1e-9)
        np.testing.assert_allclose(
            net.description.apply(net.description.params, row), own(scaled), rtol=1e-4
        )


def test_gradients_and_curvature_are_those_of_the_parameters_that_were_trained(net, own):
    with jax.enable_x64(True):
        loss, theta = loss_by_hand(own)
        value = float(loss(theta))
        slope = np.asarray(jax.grad(loss)(theta))
        hessian = np.asarray(jax.hessian(loss)(theta))
    ends = np.linalg.eigvalsh(hessian)
    found = known("curvature-of-the-loss", net)
    scale = found["loss"].lo / value  # of the loss that the audit chose
    assert found["norm of the gradient"].lo == pytest.approx(
        scale * float(np.linalg.norm(slope)), rel=1e-5
    )
    step = found["largest stable step of gradient descent"]
    assert step.lo * 0.99 <= 2 / (scale * ends[-1]) <= step.hi * 1.01
    first = known("gradients-by-layer", net)["gradient norm, first matrix ÷ last matrix"].lo
    parts = np.split(slope, np.cumsum([21, 7, 7]))
    assert first == pytest.approx(
        float(np.linalg.norm(parts[0]) / np.linalg.norm(parts[2])), rel=1e-5
    )


@pytest.mark.parametrize(
    "id", ["gradients-by-layer", "canonical-form", "curvature-of-the-loss", "tangent-spectrum"]
)
def test_facts_about_parameters_are_those_of_the_layers_on_scaled_rows(id, net, own):
    found = known(id, net)
    wanted = known(id, own)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if isinstance(value, str):
            assert found[name] == value
        else:
            assert (found[name].lo, found[name].hi) == pytest.approx(
                (value.lo, value.hi), rel=1e-5, abs=1e-9
            ), name


OF_PARAMETERS = [
    id for id, entry in index().items() if entry["audited"] and theorem_named(id).of_parameters
]


@pytest.mark.parametrize("id", OF_PARAMETERS)
def test_theorems_about_parameters_are_checked_on_the_layers_that_were_trained(id, own, tmp_path):
    scaled = of_onnx(tmp_path).with_data(Dataset("rows", *rows()))
    found, wanted = (run(theorem_named(id), subject) for subject in (scaled, own))
    assert isinstance(found, Result) and found.verdict == wanted.verdict, (
        found.summary,
        wanted.summary,
    )
    assert found.provenance.subject_hash == scaled.fingerprint
    for name, value in wanted.numbers.items():
        assert (found.numbers[name].lo, found.numbers[name].hi) == pytest.approx(
            (value.lo, value.hi), rel=1e-6
        ), name


def test_facts_about_the_function_are_those_on_unscaled_inputs(net, own):
    bound = known("steepness", net)["Lipschitz upper bound (product of spectral norms)"].hi
    W = own.description.layers[0].weight / SPREAD
    V = own.description.layers[1].weight
    assert bound == pytest.approx(np.linalg.norm(W, 2) * np.linalg.norm(V, 2), rel=1e-9)


def test_a_trained_copy_keeps_its_scaling(net):
    better = ft.fit(net, net.data, steps=30, optimiser="adam").network
    assert better.scaled_layers is not None and better.parameters == 36
    assert np.array_equal(
        better.scaled_layers.scaling.steps[0][1], net.scaled_layers.scaling.steps[0][1]
    )
    x = net.data.x[0]
    np.testing.assert_allclose(
        better.description.apply(better.description.params, x), better(x), rtol=1e-4
    )


def test_a_scaling_that_is_learnt_is_a_parameter_where_the_format_says_so():
    net = load_as(Network, Standardised(learnt=True).eval(), example=torch.zeros(1, 3).double())
    assert net.parameters == 42 and net.scaled_layers is None and net.description is None


def test_constants_before_a_convolution_are_no_parameters(tmp_path):
    rng = np.random.default_rng(0)
    held = {
        "mean": rng.normal(size=(3, 1, 1)),
        "std": np.full((3, 1, 1), 0.2),
        "K": rng.normal(size=(4, 3, 3, 3)),
    }
    nodes = [
        node("Sub", "x", "mean", out=["s"]),
        node("Div", "s", "std", out=["d"]),
        node("Conv", "d", "K", out=["c"]),
    ]
    nodes += [node("Add", "c", "bias", out=["a"]), node("Relu", "a")]
    path = tmp_path / "conv.onnx"
    path.write_bytes(
        model(nodes, [1, 3, 6, 6], held | {"bias": rng.normal(size=(4, 1, 1))}).SerializeToString()
    )
    assert set(load_as(Network, path).params) == {"K", "bias"}


def test_constants_before_anything_but_a_layer_may_have_been_learnt(tmp_path):
    held = {"gain": np.array([2.0, 3.0, 4.0])}
    path = tmp_path / "gain.onnx"
    path.write_bytes(
        model(
            [node("Mul", "x", "gain", out=["m"]), node("Relu", "m")], [1, 3], held
        ).SerializeToString()
    )
    assert set(load_as(Network, path).params) == {"gain"}
