"""Modules and exported programs handed in: examples, modes, names, layers, what cannot be read."""

import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ftheta as ft
from ftheta.logic import SubjectError

from .architectures import Bag, LeNet, Shape, mlp, resnet
from .modules import agrees, close, exported, loaded, read, saved, words

# ---- the example -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "example",
    [
        (5,),
        (1, 5),
        torch.zeros(5),
        torch.zeros(1, 5),
        torch.randn(7, 5),
        np.ones(5),
        np.ones((3, 5)),
        [5],
    ],
)
def test_an_example_is_one_input_or_a_batch_or_a_shape(example):
    assert loaded(mlp(5, 4, 2), example).input_shape == (5,)


@pytest.mark.parametrize("shape", [(1, 20, 20), (1, 1, 20, 20), (6, 1, 20, 20)])
def test_images_with_one_channel_have_a_batch_axis_where_the_module_needs_one(shape):
    assert loaded(LeNet(), shape).input_shape == (1, 20, 20)


def test_tokens_that_see_each_other_are_one_input():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    assert loaded(layer, torch.randn(5, 8)).input_shape == (5, 8)
    assert loaded(layer, torch.randn(3, 5, 8)).input_shape == (5, 8)
    rows = mlp(8, 4, 2)
    assert loaded(rows, torch.randn(5, 8)).input_shape == (8,)  # rows that do not are a batch
    assert loaded(rows, torch.randn(1, 5, 8)).input_shape == (5, 8)


def test_a_shape_may_be_of_indices():
    assert loaded(Bag(), (6,)).input_shape == (6,)


def test_an_example_that_the_module_does_not_take_is_told_with_both_readings():
    with pytest.raises(SubjectError, match=r"\(4,\)[^$]*\(1, 4\)"):
        ft.load(mlp(5, 4, 2), (4,))
    with pytest.raises(SubjectError, match="needs an example"):
        ft.load(Bag())
    with pytest.raises(SubjectError, match="one array"):
        ft.load(mlp(5, 4, 2), {"x": 1})


def test_the_module_is_left_as_it_was():
    drop = nn.Dropout()
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), drop, nn.Linear(4, 1)).train()
    drop.eval()
    before = [part.training for part in module.modules()]
    state = torch.get_rng_state()
    weights = {k: v.clone() for k, v in module.state_dict().items()}
    ft.load(module, (4,))
    with pytest.raises(SubjectError):
        ft.load(module, (5,))
    assert [part.training for part in module.modules()] == before
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(v, weights[k]) for k, v in module.state_dict().items())


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_every_precision_keep_their_values(dtype):
    module = mlp(3, 4, 2).to(dtype)
    net = ft.load(exported(module, torch.zeros(1, 3, dtype=dtype)))
    assert isinstance(net, ft.Network) and net.description is not None
    assert np.array_equal(
        net.description.layers[0].weight, next(module.parameters()).detach().double().numpy()
    )


def test_weights_that_lie_strangely_in_memory():
    module = nn.Linear(6, 4)
    storage = torch.randn(3, 8, 6)
    module.weight = nn.Parameter(storage[1, ::2].t().contiguous().t())
    module.bias = nn.Parameter(storage[0, 1:5, 2])
    agrees(module.eval(), torch.randn(2, 6), 1e-5)


def test_buffers_and_constants_are_no_parameters():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
            self.register_buffer("kept", torch.tensor(2.0), persistent=False)
            self.out = nn.Linear(3, 2)

        def forward(self, x):
            return self.out(x.sin() * self.scale + self.kept + torch.tensor([0.5, 0.0, 1.0]))

    net = agrees(Scaled(), torch.randn(2, 3), 1e-5)
    assert sorted(net.params) == ["out.bias", "out.weight"]


def test_a_parameter_may_have_the_name_of_a_node():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = nn.Parameter(torch.randn(3))
            self.x = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return (x + self.relu).relu() * self.x

    assert agrees(Named(), torch.randn(2, 3), 1e-5).parameters == 6


# ---- lists of layers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "activation, word",
    [
        (nn.ReLU, "relu"),
        (nn.Tanh, "tanh"),
        (nn.Sigmoid, "sigmoid"),
        (nn.Softplus, "softplus"),
        (nn.GELU, "gelu"),
        (nn.SiLU, "silu"),
        (nn.LeakyReLU, "leaky-relu"),
        (lambda: Shape(torch.atan), "arctan"),
        (lambda: Shape(torch.square), "square"),
        (lambda: nn.ReLU(inplace=True), "relu"),
    ],
)
def test_a_chain_of_dense_layers_is_a_list_of_layers(activation, word):
    module = mlp(4, 5, 3, 2, activation=activation)
    program = exported(module, torch.zeros(1, 4))
    x = torch.randn(1, 4)
    levels = (
        (program, program.run_decompositions())
        if word in ("leaky-relu", "silu", "square")
        else (program,)
    )
    for level in levels:
        net = ft.load(level)
        assert isinstance(net, ft.Network) and net.description is not None
        assert net.description.widths == (4, 5, 3, 2)
        assert [layer.activation for layer in net.description.layers] == [word, word, "identity"]
        close(net(x[0].numpy()), module(x)[0].detach().numpy(), 1e-5)


def test_what_stands_around_the_layers_is_folded_or_left_out():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(6, 4)
            self.two = nn.Linear(4, 2, bias=False)

        def forward(self, x):
            x = (x - 0.5) / torch.tensor([2.0, 4.0, 8.0])
            x = F.dropout(F.relu(self.one(x.flatten(1).clone())), 0.5, self.training)
            return self.two(x).view(-1, 2)

    net = loaded(Normed(), torch.randn(1, 2, 3))
    assert net.description is not None and net.description.widths == (6, 4, 2)
    module = Normed().double().eval()
    x = torch.randn(1, 2, 3).double()
    close(loaded(module, x)(x.numpy().ravel()), module(x)[0].detach().numpy(), 1e-10)


@pytest.mark.parametrize(
    "module",
    [
        mlp(4, 4, 4, activation=nn.ELU),
        nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.GELU("tanh"), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.Softplus(2.0), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 1)),
        Shape(lambda x: x + torch.relu(x)),
        Shape(lambda x: torch.relu(x)),
    ],
)
def test_other_networks_are_functions_without_a_list(module):
    assert agrees(module, torch.randn(2, 4), 1e-5).description is None


# ---- writing in place ------------------------------------------------------------------------------------------------


def _twice(x):
    y = x * 2
    z = y.relu_()
    z += 1
    return y + z


def _input(x):
    y = x.clone()
    y.mul_(3).add_(x)
    return y.sub_(1).sigmoid_() * y


@pytest.mark.parametrize("function", [_twice, _input])
def test_later_readers_see_what_was_written(function):
    program = exported(Shape(function), torch.zeros(1, 4))
    assert any(
        "_.default" in str(node.target) or "_.Tensor" in str(node.target)
        for node in program.graph.nodes
    )
    agrees(Shape(function), torch.randn(2, 4), 1e-5)


def _row(x):
    y = x * 2
    y[:, 0] = 7.0
    y[:, 1:].relu_()
    return y


def test_writing_into_a_view_is_refused_in_a_file_and_made_functional_for_a_module():
    program = exported(Shape(_row), torch.zeros(1, 4))
    with pytest.raises(SubjectError, match=r"shares[^$]*run_decompositions"):
        read(program)
    assert len(read(program.run_decompositions()).nodes) > 2
    agrees(Shape(_row), torch.randn(2, 4), 1e-5)


# ---- what cannot be read ---------------------------------------------------------------------------------------------


def test_an_operator_without_a_rule_is_named_with_its_node_and_where_to_stop():
    module = nn.Sequential(nn.Linear(4, 4), Shape(lambda x: torch.special.i0e(torch.relu(x))))
    with pytest.raises(SubjectError) as caught:
        ft.load(module, (4,))
    assert all(
        word in str(caught.value) for word in ("special_i0e", "until='relu'", "--until relu")
    )
    assert loaded(module, (4,), until="relu").output_shape == (4,)


def test_choices_that_depend_on_the_input_are_refused():
    branch = lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
    with pytest.raises(SubjectError, match=r"Subgraphs are not read[^$]*cond"):
        ft.load(Shape(branch), torch.ones(1, 3))
    with pytest.raises(SubjectError, match=r"torch\.export cannot trace"):
        ft.load(Shape(lambda x: x * 2 if x.sum() > 0 else x), torch.ones(1, 3))


def test_randomness_and_training_are_refused():
    with pytest.raises(SubjectError, match="no rule"):
        ft.load(Shape(lambda x: x + torch.rand(3)), torch.ones(1, 3))
    with pytest.raises(SubjectError, match="training mode is random"):
        ft.load(Shape(lambda x: F.dropout(x, 0.5, True)), torch.ones(1, 3))
    trained = torch.export.export(
        nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).train(), (torch.ones(4, 3),)
    )
    with pytest.raises(SubjectError, match="training mode"):
        ft.load(trained)


def test_several_outputs_are_told_and_one_can_be_chosen():
    module = Shape(lambda x: (x.relu(), x.tanh()))
    with pytest.raises(SubjectError, match="outputs relu, tanh"):
        ft.load(module, torch.ones(1, 3))
    net = loaded(module, torch.ones(1, 3), until="tanh")
    assert np.allclose(net(np.ones(3)), np.tanh(1.0))


def test_places_of_the_largest_numbers_are_not_made_up():
    def unpooled(x):
        y, places = F.max_pool1d(x, 2, return_indices=True)
        return torch.gather(x, 2, places) + y

    with pytest.raises(SubjectError, match=r"does not fit its inputs[^$]*gather"):
        ft.load(Shape(unpooled), torch.randn(1, 2, 4))
    with pytest.raises(SubjectError, match="not computed"):
        ft.load(Shape(lambda x: F.max_pool1d(x, 2, return_indices=True)[1]), torch.randn(1, 2, 4))


def test_several_inputs_of_an_exported_program_are_one_vector():
    class Two(nn.Module):
        def forward(self, x, y):
            return x + y

    program = torch.export.export(Two(), (torch.ones(1, 2), torch.ones(1, 2)))
    assert np.array_equal(ft.load(program)(np.array([1.0, 2.0, 10.0, 20.0])), [11.0, 22.0])


# ---- open lengths ----------------------------------------------------------------------------------------------------


def test_open_lengths_are_computed_with():
    half = lambda x: (
        x.reshape(x.shape[0], x.shape[1] * x.shape[2] // 2, 2) + x.shape[1] % 3 + x.shape[1] ** 2
    )
    dims = {0: torch.export.Dim("batch"), 1: 2 * torch.export.Dim("pairs", min=1, max=50)}
    program = torch.export.export(Shape(half), (torch.randn(3, 4, 5),), dynamic_shapes=({**dims},))
    x = torch.randn(1, 6, 5)
    with pytest.raises(SubjectError, match="leaves the shape"):
        ft.load(program)
    net = ft.load(program, (6, 5))
    assert isinstance(net, ft.Network)
    close(net(x[0].numpy()), half(x)[0].numpy(), 1e-5)
    with pytest.raises(SubjectError, match="does not have the shape"):
        ft.load(program, (6, 4))


# ---- without torch ---------------------------------------------------------------------------------------------------


def test_files_are_read_and_networks_used_where_torch_is_not_there(tmp_path):
    module = resnet((1,), width=2, classes=3).eval()
    x = torch.randn(1, 3, 16, 16)
    (tmp_path / "net.pt2").write_bytes(saved(exported(module, x)))
    np.save(tmp_path / "x.npy", x[0].numpy())
    np.save(tmp_path / "y.npy", module(x)[0].detach().numpy())
    script = """
import sys
sys.modules["torch"] = None
import numpy as np, ftheta as ft
net = ft.load("net.pt2")
assert np.allclose(net(np.load("x.npy")), np.load("y.npy"), rtol=1e-4, atol=1e-5)
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=300)


def test_nothing_imports_torch_for_a_file(tmp_path):
    (tmp_path / "net.pt2").write_bytes(saved(exported(mlp(2, 3, 1), torch.zeros(1, 2))))
    script = 'import sys, ftheta as ft; ft.load("net.pt2"); assert "torch" not in sys.modules'
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=300)


def test_the_table_has_the_operators_of_the_contract():
    from ftheta.networks.torch.rules import RULES

    asked = words(
        "linear conv1d conv2d batch_norm layer_norm group_norm relu leaky_relu elu gelu silu tanh sigmoid softplus",
        "max_pool2d avg_pool2d adaptive_avg_pool2d flatten reshape transpose permute add cat embedding dropout",
        "scaled_dot_product_attention softmax lstm.input",
    )
    assert set(asked) <= set(RULES)
