"""Whole networks, and their derivatives, agree with torch."""

import jax
import numpy as np
import pytest
import torch
from torch import nn

import ftheta as ft

from .architectures import Bag, Decoder, LeNet, Recurrent, mlp, resnet
from .modules import agrees, close, evaluated, exported, import_program, loaded, ours, read, words

F32 = (torch.float32, 1e-5)
F64 = (torch.float64, 1e-10)


def made(build, dtype):
    """A network with weights and running statistics that are not the ones it begins with."""
    torch.manual_seed(0)
    module = build().to(dtype)
    for name, buffer in module.named_buffers():
        if "running" in name:
            buffer.copy_(torch.rand_like(buffer) + 0.5)
    return module


def encoder():
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
        2,
        enable_nested_tensor=False,
    )


NETWORKS = {
    "mlp": (lambda: mlp(5, 9, 7, 3), (5,)),
    "lenet": (LeNet, (1, 20, 20)),
    "resnet": (lambda: resnet((1, 1, 1)), (3, 32, 32)),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (6, 8)),
    "encoder": (encoder, (6, 8)),
    "groups": (
        lambda: nn.Sequential(
            nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveMaxPool1d(2)
        ),
        (2, 9),
    ),
}


@pytest.mark.parametrize("dtype, rtol", [F32, F64])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_agree_on_random_inputs(name, dtype, rtol):
    build, shape = NETWORKS[name]
    module = made(build, dtype)
    x = torch.randn(2, *shape, dtype=dtype)
    net = agrees(module, x, rtol)
    assert net.parameters == sum(p.numel() for p in module.parameters())


@pytest.mark.filterwarnings("ignore:The tensor attributes")
@pytest.mark.parametrize("kind", words("LSTM GRU RNN"))
@pytest.mark.parametrize(
    "how", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}]
)
def test_recurrent_networks_agree(kind, how):
    module = Recurrent(getattr(nn, kind), **how).double()
    x = (
        torch.randn(5, 1, 3, dtype=torch.float64)
        if "batch_first" not in how
        else torch.randn(1, 5, 3).double()
    )
    with torch.no_grad():
        expected = module(x)
    program = exported(module, x)
    for level in (
        (program, program.run_decompositions()) if kind == "GRU" and not how else (program,)
    ):
        close(
            ours(import_program(read(level).until(None), tuple(x.shape)), x),
            expected.numpy(),
            1e-10,
        )


def test_a_plain_recurrent_network_with_relu_agrees():
    module = Recurrent(nn.RNN, nonlinearity="relu", batch_first=True).double()
    x = torch.randn(2, 5, 3).double()
    agrees(module, x, 1e-10)


@pytest.mark.parametrize("build", [Bag, Decoder])
def test_embeddings_take_whole_numbers_given_as_reals(build):
    module = made(build, torch.float64)
    tokens = torch.tensor([[3, 1, 4, 1, 5], [0, 2, 6, 9, 9]])
    net = agrees(module, tokens, 1e-10)
    assert net.input_shape == (5,)
    reals = np.array([3.0, 1, 4, 1, 5])
    close(evaluated(net, reals)[0], module(tokens[:1])[0].detach().numpy(), 1e-10)


def test_tied_weights_are_one_parameter():
    module = made(Decoder, torch.float64)
    net = loaded(module, (5,))
    assert net.parameters == sum(p.numel() for p in module.parameters())
    assert "words.weight" in net.params or "head.weight" in net.params


# ---- derivatives -----------------------------------------------------------------------------------------------------

SMOOTH = {
    "tanh": (lambda: mlp(4, 6, 3, activation=nn.Tanh), (4,)),
    "lenet": (LeNet, (1, 20, 20)),
    "encoder": (encoder, (4, 8)),
    "lstm": (lambda: Recurrent(nn.LSTM, batch_first=True), (4, 3)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_agree_with_autograd(name):
    build, shape = SMOOTH[name]
    module = made(build, torch.float64).eval()
    x = torch.randn(1, *shape, dtype=torch.float64, requires_grad=True)
    (module(x) ** 2).sum().backward()
    program = import_program(read(exported(module, x.detach())).until(None))
    with jax.enable_x64(True):
        loss = lambda params, x: (program.apply(params, x) ** 2).sum()
        by_params, by_x = jax.jit(jax.grad(loss, (0, 1)))(program.params, x.detach()[0].numpy())
    assert x.grad is not None
    close(by_x, x.grad[0].numpy(), 1e-9)
    for full, parameter in module.named_parameters():
        assert parameter.grad is not None
        close(by_params[full], parameter.grad.numpy(), 1e-9, full)


# ---- what is done with them afterwards -------------------------------------------------------------------------------


def test_a_residual_network_with_pools_has_a_normal_form():
    module = nn.Sequential(nn.Unflatten(1, (1, 2, 2)), _Small())
    net = agrees(module.double(), torch.randn(3, 4, dtype=torch.float64), 1e-10)
    with jax.enable_x64(True):
        form = ft.relu_form(net, net.example)
    x = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_allclose(form(x), np.stack([net(row) for row in x]), rtol=1e-9, atol=1e-12)


class _Small(nn.Module):
    """A convolution with batch normalisation beside a short cut, then a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 2, padding=1)
        self.norm = nn.BatchNorm2d(2).eval()
        self.out = nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv(x)))
        return self.out(torch.nn.functional.max_pool2d(y, 3).flatten(1) + x.mean((2, 3)))


@pytest.mark.nightly
def test_an_import_of_25_million_parameters(tmp_path):
    """A network of the size of ResNet-50: everything but the numbers of one evaluation is looked at."""
    module = resnet((3, 4, 14, 3), width=64, classes=1000).eval()
    path = tmp_path / "resnet.pt2"
    x = torch.randn(1, 3, 32, 32)
    torch.export.save(torch.export.export(module, (x,)), path)
    net = ft.load(path)
    assert isinstance(net, ft.Network) and net.output_shape == (1000,)
    assert net.parameters == sum(p.numel() for p in module.parameters()) > 25_000_000
    for full, parameter in module.named_parameters():
        assert np.array_equal(net.params[full], parameter.detach().numpy())
