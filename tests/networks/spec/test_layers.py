"""Weights of PyTorch and flax with a spec compute what PyTorch and flax compute."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import save_file

import ftheta as ft
from ftheta.logic import SubjectError

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
RNG = np.random.default_rng(0)


def loaded(tmp_path, arrays, spec):
    path = tmp_path / "w.safetensors"
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    net = ft.load(path, spec=spec)
    assert isinstance(net, ft.Network)
    return net


def agrees_with_torch(tmp_path, module, shape, layers, dtype=torch.float64, whole=0, **more):
    torch.manual_seed(0)
    for name, held in module.state_dict().items():
        if name.endswith(("running_var", "running_mean")):
            held.copy_(torch.rand_like(held) + 0.5)
    module = module.to(dtype).eval()
    arrays = {name: held.numpy() for name, held in module.state_dict().items()}
    net = loaded(
        tmp_path, arrays, {"layout": "torch", "input": list(shape), "layers": layers, **more}
    )
    x = (
        RNG.integers(0, whole, shape)
        if whole
        else RNG.normal(size=shape).astype(arrays[next(iter(arrays))].dtype)
    )
    with torch.no_grad():
        wanted = module(torch.tensor(x)[None]).numpy()[0]
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(
        net(x), wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max()
    )
    return net


def dense(name, word="identity"):
    return {"kind": "dense", "name": name, "activation": word}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_perceptron_becomes_a_list_of_layers(tmp_path, dtype):
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 2))
    layers = [dense("0", "relu"), dense("2", "silu"), dense("4")]
    net = agrees_with_torch(tmp_path, module, (3,), layers, dtype)
    assert (
        net.description is not None
        and net.description.widths == (3, 8, 8, 2)
        and net.parameters == 122
    )
    assert [layer.activation for layer in net.description.layers] == ["relu", "silu", "identity"]


def test_a_stated_mean_and_deviation_are_folded_into_the_first_layer(tmp_path):
    module = nn.Sequential(nn.Linear(3, 4))
    layers = [{"kind": "standardise", "mean": [0.5, 1, 2], "std": [2, 4, 8]}, dense("0")]
    arrays = {k: v.double().detach().numpy() for k, v in module.state_dict().items()}
    net = loaded(tmp_path, arrays, {"layout": "torch", "input": [3], "layers": layers})
    assert net.description is not None and net.parameters == 16
    x = RNG.normal(size=3)
    wanted = arrays["0.weight"] @ ((x - [0.5, 1, 2]) / [2, 4, 8]) + arrays["0.bias"]
    np.testing.assert_allclose(net(x), wanted, rtol=1e-12)


ACTIVATIONS = {
    "relu": nn.ReLU(),
    "leaky-relu": nn.LeakyReLU(),
    "tanh": nn.Tanh(),
    "sigmoid": nn.Sigmoid(),
    "softplus": nn.Softplus(threshold=1e9),
    "gelu": nn.GELU(),
    "gelu-tanh": nn.GELU(approximate="tanh"),
    "silu": nn.SiLU(),
    "elu": nn.ELU(),
    "selu": nn.SELU(),
    "hard-sigmoid": nn.Hardsigmoid(),
    "hard-swish": nn.Hardswish(),
    "mish": nn.Mish(),
    "softsign": nn.Softsign(),
    "softmax": nn.Softmax(-1),
    "log_softmax": nn.LogSoftmax(-1),
}


@pytest.mark.parametrize("word", ACTIVATIONS)
def test_activations_are_those_of_pytorch(tmp_path, word):
    module = nn.Sequential(nn.Linear(6, 9), ACTIVATIONS[word])
    agrees_with_torch(
        tmp_path, module, (6,), [dense("0"), {"kind": "activation", "activation": word}]
    )


class ByNeuron(nn.Module):
    """Its own activation for every neuron, which are on the axis after that of the batch."""

    def __init__(self, affine, words):
        super().__init__()
        self.affine = affine
        self.words = words

    def forward(self, x):
        z = self.affine(x)
        columns = [ACTIVATIONS[word](z[:, i]) for i, word in enumerate(self.words)]
        return torch.stack(columns, 1)


BY_NEURON = ["tanh", "relu", "relu", "gelu", "tanh"]


@pytest.mark.parametrize(
    "affine, shape, layer",
    [
        (nn.Linear(3, 5), (3,), {"kind": "dense"}),
        (nn.Conv1d(2, 5, 3), (2, 8), {"kind": "conv"}),
        (nn.Conv2d(2, 5, 3), (2, 8, 7), {"kind": "conv"}),
    ],
)
def test_the_activation_may_change_from_neuron_to_neuron(tmp_path, affine, shape, layer):
    module = ByNeuron(affine, BY_NEURON)
    layers = [{**layer, "name": "affine", "activation": BY_NEURON}]
    agrees_with_torch(tmp_path, module, shape, layers)


def test_a_chain_may_change_its_activation_from_neuron_to_neuron(tmp_path):
    torch.manual_seed(0)
    module = nn.Sequential(ByNeuron(nn.Linear(3, 5), BY_NEURON), nn.Linear(5, 2)).double()
    names = {"0.affine.weight": "W0", "0.affine.bias": "b0", "1.weight": "W1", "1.bias": "b1"}
    arrays = {names[name]: held.numpy() for name, held in module.state_dict().items()}
    # the words that the file has of its own are not those that are given
    np.savez(tmp_path / "w.npz", activations=np.array(["relu", "identity"]), **arrays)
    net = ft.load(tmp_path / "w.npz", activation=[BY_NEURON, "identity"])
    assert isinstance(net, ft.Network) and net.description is None
    x = RNG.normal(size=3)
    with torch.no_grad():
        np.testing.assert_allclose(net(x), module(torch.tensor(x)[None])[0], rtol=1e-12)


@pytest.mark.parametrize(
    "given, says",
    [
        (["relu"] * 4, "4 words, 5 neurons"),
        (["relu"] * 4 + ["softmax"], "one of a whole layer"),
        (["relu"] * 4 + ["wobble"], "Unknown activation"),
        ([], "at least 1 item"),
        (["relu"] * 4 + [3], "valid string"),
    ],
)
def test_what_no_neuron_can_have_is_refused(tmp_path, given, says):
    np.savez(
        tmp_path / "w.npz", W0=np.ones((5, 3)), b0=np.ones(5), W1=np.ones((2, 5)), b1=np.ones(2)
    )
    with pytest.raises(SubjectError) as caught:
        ft.load(tmp_path / "w.npz", activation=[given, "identity"])
    assert says in str(caught.value)


def test_every_layer_needs_an_entry(tmp_path):
    np.savez(tmp_path / "w.npz", W0=np.ones((5, 3)), W1=np.ones((2, 5)))
    with pytest.raises(SubjectError, match="one entry of `activation` a layer"):
        ft.load(tmp_path / "w.npz", activation=[["relu"] * 5, "identity", "relu"])


def conv(module, shape, **spec):
    return pytest.param(
        module, shape, {"kind": "conv", "name": "0", "activation": "relu", **spec}, id=str(spec)
    )


@pytest.mark.parametrize(
    "module, shape, layer",
    [
        conv(nn.Conv1d(2, 4, 3, stride=2, padding=1), (2, 9), stride=2, padding=1),
        conv(
            nn.Conv2d(4, 6, (3, 2), padding="same", dilation=2, groups=2),
            (4, 7, 8),
            padding="same",
            dilation=2,
            groups=2,
        ),
        conv(
            nn.Conv2d(2, 3, 3, (2, 1), (0, 2), bias=False), (2, 7, 8), stride=[2, 1], padding=[0, 2]
        ),
        conv(nn.Conv3d(1, 2, 2), (1, 3, 4, 5)),
    ],
)
def test_convolutions(tmp_path, module, shape, layer):
    agrees_with_torch(tmp_path, nn.Sequential(module, nn.ReLU()), shape, [layer])


def pool(kind, module, **spec):
    return pytest.param(module, {"kind": kind, **spec}, id=f"{kind} {spec}")


MAX = "max-pool"
MEAN = "average-pool"


@pytest.mark.parametrize(
    "module, spec",
    [
        pool(MAX, nn.MaxPool2d(2), size=2),
        pool(MAX, nn.MaxPool2d(3, 2, 1, ceil_mode=True), size=3, stride=2, padding=1, ceil=True),
        pool(MEAN, nn.AvgPool2d(3, 1, 1), size=3, stride=1, padding=1),
        pool(
            MEAN,
            nn.AvgPool2d((2, 3), None, 1, count_include_pad=False),
            size=[2, 3],
            padding=1,
            count_padding=False,
        ),
        pool("global-average-pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())),
        pool("global-max-pool", nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten())),
        pool("flatten", nn.Flatten()),
        pool("reshape", nn.Unflatten(1, (3, 1)), shape=[3, 1, 8, 6]),
    ],
)
def test_pools_and_shapes(tmp_path, module, spec):
    module = nn.Sequential(nn.Conv2d(2, 3, 1), module)
    agrees_with_torch(tmp_path, module, (2, 8, 6), [{"kind": "conv", "name": "0"}, spec])


@pytest.mark.parametrize(
    "norm, spec",
    [
        (nn.BatchNorm2d(4), {"kind": "batch-norm"}),
        (nn.BatchNorm2d(4, affine=False, eps=1e-2), {"kind": "batch-norm", "epsilon": 1e-2}),
        (nn.LayerNorm(6), {"kind": "layer-norm"}),
        (nn.LayerNorm((5, 6), eps=1e-3), {"kind": "layer-norm", "epsilon": 1e-3}),
        (nn.LayerNorm(6, elementwise_affine=False), {"kind": "layer-norm"}),
        (nn.RMSNorm(6, eps=1e-6), {"kind": "rms-norm", "epsilon": 1e-6}),
        (nn.GroupNorm(2, 4), {"kind": "group-norm", "groups": 2}),
    ],
)
def test_normalisations(tmp_path, norm, spec):
    module = nn.Sequential(nn.Conv2d(4, 4, 1), norm)
    agrees_with_torch(
        tmp_path, module, (4, 5, 6), [{"kind": "conv", "name": "0"}, {"name": "1", **spec}]
    )


class Block(nn.Module):
    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outs)
        self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outs)
        self.down = nn.Conv2d(ins, outs, 1, stride)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.down(x))


def test_a_residual_network(tmp_path):
    module = nn.Sequential(Block(3, 4, 2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 5))
    block = {
        "kind": "residual",
        "activation": "relu",
        "layers": [
            {"kind": "conv", "name": "0.conv1", "stride": 2, "padding": 1},
            {"kind": "batch-norm", "name": "0.bn1", "activation": "relu"},
            {"kind": "conv", "name": "0.conv2", "padding": 1},
            {"kind": "batch-norm", "name": "0.bn2"},
        ],
        "shortcut": [{"kind": "conv", "name": "0.down", "stride": 2}],
    }
    layers = [block, {"kind": "average-pool", "size": 2}, {"kind": "flatten"}, dense("3")]
    net = agrees_with_torch(tmp_path, module, (3, 8, 8), layers)
    statistics = {name for name in net.params if "running" in name}
    assert not statistics and net.description is None


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.positions = nn.Parameter(torch.randn(5, 8))
        self.ln1 = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.ln2 = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.tokens(x) + self.positions
        y = self.ln1(x)
        x = x + self.attention(y, y, y)[0]
        x = x + self.down(nn.functional.gelu(self.up(self.ln2(x))))
        return self.head(x.mean(1))


def test_a_transformer(tmp_path):
    inner = [
        {"kind": "layer-norm", "name": "ln1"},
        {"kind": "attention", "name": "attention", "heads": 2},
    ]
    outer = [{"kind": "layer-norm", "name": "ln2"}, dense("up", "gelu"), dense("down")]
    layers = [
        {"kind": "embedding", "name": "tokens"},
        {"kind": "add", "tensor": "positions"},
        {"kind": "residual", "layers": inner},
        {"kind": "residual", "layers": outer},
        {"kind": "mean"},
        dense("head"),
    ]
    agrees_with_torch(tmp_path, Transformer(), (5,), layers, whole=11)


class FlaxNet(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(2, 4, (3, 3), strides=2, padding="SAME", rngs=rngs)
        self.norm = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)
        self.dense = nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.conv(x)))
        return self.dense(nnx.max_pool(x, (2, 2), strides=(2, 2)).ravel())


def flax_arrays(module):
    state = nnx.to_pure_dict(nnx.state(module, (nnx.Param, nnx.BatchStat)))
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): np.asarray(leaf)
        for path, leaf in leaves
    }


def test_a_convolutional_network_of_flax(tmp_path):
    module = FlaxNet(nnx.Rngs(0))
    module.norm.mean[...], module.norm.var[...] = jnp.arange(4.0), jnp.arange(4.0) + 0.5
    layers = [
        {"kind": "conv", "name": "conv", "stride": 2, "padding": "same"},
        {"kind": "batch-norm", "name": "norm", "activation": "relu"},
        {"kind": "max-pool", "size": 2, "stride": 2},
        {"kind": "flatten"},
        dense("dense"),
    ]
    net = loaded(
        tmp_path, flax_arrays(module), {"layout": "jax", "input": [8, 8, 2], "layers": layers}
    )
    x = RNG.normal(size=(8, 8, 2)).astype(np.float32)
    np.testing.assert_allclose(net(x), module(jnp.asarray(x)), rtol=1e-5, atol=1e-5)


def test_what_keras_adds_to_a_variance_and_how_it_counts_padding(tmp_path):
    arrays = {
        "n/gamma": RNG.normal(size=3),
        "n/beta": RNG.normal(size=3),
        "n/moving_mean": RNG.normal(size=3),
    }
    arrays |= {
        "n/moving_variance": RNG.random(3),
        "d/kernel": RNG.normal(size=(3, 4)),
        "d/bias": RNG.normal(size=4),
    }
    layers = [
        {"kind": "average-pool", "size": 2, "stride": 2, "padding": "same"},
        {"kind": "global-max-pool"},
        {"kind": "batch-norm", "name": "n"},
        dense("d"),
    ]
    net = loaded(tmp_path, arrays, {"layout": "keras", "input": [3, 3, 3], "layers": layers})
    x = RNG.normal(size=(3, 3, 3))
    pooled = [x[:2, :2].mean((0, 1)), x[:2, 2:].mean((0, 1)), x[2:, :2].mean((0, 1)), x[2, 2]]
    scale = arrays["n/gamma"] / np.sqrt(arrays["n/moving_variance"] + 1e-3)
    norm = (np.max(pooled, axis=0) - arrays["n/moving_mean"]) * scale + arrays["n/beta"]
    np.testing.assert_allclose(net(x), norm @ arrays["d/kernel"] + arrays["d/bias"], rtol=1e-10)


def test_attention_of_flax(tmp_path):
    module = nnx.MultiHeadAttention(2, 6, qkv_features=8, decode=False, rngs=nnx.Rngs(0))
    layer = {
        "kind": "attention",
        "heads": 2,
        "query": "query",
        "key": "key",
        "value": "value",
        "out": "out",
    }
    net = loaded(
        tmp_path, flax_arrays(module), {"layout": "jax", "input": [5, 6], "layers": [layer]}
    )
    x = RNG.normal(size=(5, 6)).astype(np.float32)
    np.testing.assert_allclose(net(x), module(jnp.asarray(x)), rtol=1e-5, atol=1e-6)


def test_a_network_may_end_at_a_layer(tmp_path):
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    arrays = {name: held.numpy() for name, held in module.state_dict().items()}
    save_file(arrays, tmp_path / "w.safetensors")
    spec = {"layout": "torch", "input": [3], "layers": [dense("0", "relu"), dense("2")]}
    net = ft.load(tmp_path / "w.safetensors", spec=spec, until="0")
    assert isinstance(net, ft.Network) and net.output_shape == (8,) and net.parameters == 32
    x = RNG.normal(size=3)
    np.testing.assert_allclose(
        net(x), np.maximum(arrays["0.weight"] @ x + arrays["0.bias"], 0), rtol=1e-6
    )


@pytest.mark.parametrize(
    "layers, part",
    [
        ([dense("a")], "missing"),
        ([{"kind": "dense", "weight": "0.wieght"}], "did you mean 0.weight"),
        ([dense("0", "wobble"), dense("2")], "Unknown activation"),
        ([dense("0")], "used by no layer"),
        ([dense("2"), dense("0")], "does not fit"),
        ([{"kind": "conv", "name": "0"}], "no axes to slide over"),
        ([dense("0"), {"kind": "embedding", "name": "2"}], "first layer"),
        ([{"kind": "attention", "name": "0", "heads": 3}], "missing"),
    ],
)
def test_a_spec_that_does_not_fit_the_weights_is_refused(tmp_path, layers, part):
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    arrays = {name: held.numpy() for name, held in module.state_dict().items()}
    with pytest.raises(SubjectError, match=part):
        loaded(tmp_path, arrays, {"layout": "torch", "input": [3], "layers": layers})
