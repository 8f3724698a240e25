"""Spec files, weights without a spec, and hostile ones."""

import json
import re
import tomllib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from safetensors.numpy import save_file

import ftheta as ft
from ftheta.cli import run
from ftheta.logic import SubjectError
from ftheta.networks.spec.chain import chain
from ftheta.networks.spec.nodes import WRITERS
from ftheta.networks.spec.skeleton import skeleton

from ...thoroughness import max_examples

RNG = np.random.default_rng(0)


def matrices(*widths, names=None, turned=False, biases=True, endings=("weight", "bias")):
    found = {}
    for i, (m, n) in enumerate(pairwise(widths)):
        name = names[i] if names else str(2 * i)
        weight = RNG.normal(size=(n, m))
        found[f"{name}.{endings[0]}"] = np.ascontiguousarray(weight.T) if turned else weight
        if biases:
            found[f"{name}.{endings[1]}"] = RNG.normal(size=n)
    return found


def perceptron(arrays, order, x, turned=False):
    for i, name in enumerate(order):
        weight = arrays[f"{name}.kernel" if turned else f"{name}.weight"]
        x = (weight.T if turned else weight) @ x + arrays[f"{name}.bias"]
        x = np.tanh(x) if i < len(order) - 1 else x
    return x


# ---- weights without a spec ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
@pytest.mark.parametrize(
    "names, turned",
    [(None, False), (["fc1", "fc2", "head"], False), (["net/Dense_0", "net/Dense_1", "out"], True)],
)
def test_a_chain_of_dense_layers_needs_only_its_activation(tmp_path, suffix, names, turned):
    arrays = matrices(
        3, 8, 5, 2, names=names, turned=turned, endings=("kernel" if turned else "weight", "bias")
    )
    path = tmp_path / f"w.{suffix}"
    save_file(arrays, path) if suffix == "safetensors" else np.savez(path, **arrays)
    net = ft.load(path, activation="tanh")
    assert (
        isinstance(net, ft.Network)
        and net.description is not None
        and net.description.widths == (3, 8, 5, 2)
    )
    x = RNG.normal(size=3)
    wanted = perceptron(arrays, names or ["0", "2", "4"], x, turned)
    np.testing.assert_allclose(net(x), wanted, rtol=1e-12)


def test_a_weight_list_may_be_given_another_activation(tmp_path):
    np.savez(tmp_path / "w.npz", W0=np.eye(2), W1=np.eye(2))
    for word in ("tanh", "relu"):
        net = ft.load(tmp_path / "w.npz", activation=word)
        assert isinstance(net, ft.Network) and net.description is not None
        assert [layer.activation for layer in net.description.layers] == [word, "identity"]


def test_numbers_in_names_are_in_their_order():
    arrays = matrices(4, 4, 4, 4, 4, names=["layer10", "layer2", "layer1", "layer9"])
    found = chain(arrays)
    assert found is not None and [link.prefix for link in found.links] == [
        "layer1",
        "layer2",
        "layer9",
        "layer10",
    ]


@pytest.mark.parametrize(
    "arrays",
    [
        matrices(4, 4, 4, names=["first", "second"]),  # either may come first
        {
            "w1": np.eye(3),
            "b1": np.zeros(3),
            "w2": np.eye(3),
            "b2": np.zeros(3),
        },  # (out, in) or (in, out)
        {**matrices(3, 4), "extra": np.zeros((2, 2, 2))},
        matrices(3, 4, 2, names=["b1", "a1"]) | {"c.weight": RNG.normal(size=(9, 9))},
        {"mean": np.zeros(3)},
        {},
    ],
)
def test_what_names_and_shapes_leave_open_is_not_guessed(tmp_path, arrays):
    assert chain(arrays) is None
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(SubjectError, match="in one way only"):
        ft.load(tmp_path / "w.npz", activation="relu")


def test_the_layout_may_be_said():
    arrays = {"w1": RNG.normal(size=(3, 3)), "b1": np.zeros(3)}
    assert chain(arrays) is None
    for layout in ("torch", "jax"):
        found = chain(arrays, layout)
        assert found is not None and found.layout == layout


def test_without_an_activation_the_remedy_is_a_spec_that_works(tmp_path):
    arrays = matrices(3, 8, 2)
    save_file(arrays, tmp_path / "w.safetensors")
    with pytest.raises(SubjectError) as caught:
        ft.load(tmp_path / "w.safetensors")
    assert 'activation="relu"' in str(caught.value)
    (tmp_path / "net.toml").write_text(
        caught.value.remedy.split("\n\n")[1].replace('"?"', '"tanh"')
    )
    net = ft.load(tmp_path / "net.toml")
    assert isinstance(net, ft.Network)
    x = RNG.normal(size=3)
    np.testing.assert_allclose(net(x), perceptron(arrays, ["0", "2"], x), rtol=1e-12)


def test_the_skeleton_of_a_convolutional_network_needs_its_question_marks_filled(tmp_path):
    arrays = {
        "c.weight": RNG.normal(size=(4, 2, 3, 3)),
        "c.bias": np.zeros(4),
        "n.weight": np.ones(4),
    }
    arrays |= {"n.bias": np.zeros(4), "n.running_mean": np.zeros(4), "n.running_var": np.ones(4)}
    arrays |= {"n.num_batches_tracked": np.array(3)}
    save_file(arrays, tmp_path / "w.safetensors")
    text = skeleton(arrays, "w.safetensors")
    (tmp_path / "net.toml").write_text(text)
    with pytest.raises(SubjectError, match="cannot be understood"):
        ft.load(tmp_path / "net.toml")
    text = text.replace('input = ["?"]', "input = [2, 5, 5]").replace(
        'padding = "?"', "padding = 1"
    )
    (tmp_path / "net.toml").write_text(text.replace('"?"', '"relu"'))
    net = ft.load(tmp_path / "net.toml")
    assert isinstance(net, ft.Network) and net.output_shape == (4, 5, 5)


def test_the_skeleton_knows_embeddings_recurrent_layers_and_norms_of_torch():
    torch = pytest.importorskip("torch")
    parts = {"emb": torch.nn.Embedding(50, 8), "cell": torch.nn.LSTM(8, 16, bidirectional=True)}
    parts |= {
        "bn": torch.nn.BatchNorm1d(16),
        "ln": torch.nn.LayerNorm(16),
        "out": torch.nn.Linear(16, 2),
    }
    arrays = {k: v.numpy() for k, v in torch.nn.ModuleDict(parts).state_dict().items()}
    text = skeleton(arrays, "w.safetensors")
    kinds = {layer["name"]: layer["kind"] for layer in tomllib.loads(text)["layers"]}
    assert kinds == {"emb": "embedding", "bn": "batch-norm", "ln": "layer-norm", "out": "dense"}
    assert "# cell: an LSTM" in text


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda nn: (nn.Embedding(50, 8), nn.LSTM(8, 16)), "embedding"),
        (lambda nn: (nn.Embedding(50, 8), nn.Linear(8, 3)), "embedding"),
        (lambda nn: (nn.Embedding(50, 8), nn.LayerNorm(8)), "embedding"),
        (lambda nn: (nn.Linear(8, 50, bias=False), nn.LayerNorm(50)), "dense"),
        (lambda nn: (nn.Linear(8, 50, bias=False), nn.BatchNorm1d(50)), "dense"),
        (lambda nn: (nn.Linear(8, 8, bias=False), nn.GRU(8, 4)), "dense"),  # may be either
    ],
)
def test_the_skeleton_knows_a_table_without_a_name_by_what_follows(make, kind):
    torch = pytest.importorskip("torch")
    arrays = torch.nn.ModuleList(make(torch.nn)).state_dict()
    text = skeleton({name: array.numpy() for name, array in arrays.items()}, "w.safetensors")
    assert tomllib.loads(text)["layers"][0]["kind"] == kind


def test_the_skeleton_joins_the_statistics_that_flax_keeps_apart(tmp_path):
    arrays = {"params/Dense_0/kernel": np.ones((3, 4)), "params/Dense_0/bias": np.zeros(4)}
    arrays |= {"params/Norm_0/scale": np.full(4, 2.0), "params/Norm_0/bias": np.zeros(4)}
    arrays |= {"batch_stats/Norm_0/mean": np.ones(4), "batch_stats/Norm_0/var": np.full(4, 4.0)}
    save_file(arrays, tmp_path / "w.safetensors")
    text = (
        skeleton(arrays, "w.safetensors")
        .replace('input = ["?"]', "input = [3]")
        .replace('"?"', '"identity"')
    )
    (tmp_path / "net.toml").write_text(text)
    net = ft.load(tmp_path / "net.toml")
    x = np.array([1.0, 2.0, 3.0])
    assert isinstance(net, ft.Network)
    np.testing.assert_allclose(net(x), np.full(4, 2.0 * (x.sum() - 1.0) / 2.0), rtol=1e-4)


# ---- spec files ------------------------------------------------------------------------------------------------------

SPEC = {"weights": "w.npz", "activation": "relu"}


def folder(tmp_path, spec=SPEC, name="net.json"):
    np.savez(tmp_path / "w.npz", **matrices(3, 8, 2))
    path = tmp_path / name
    path.write_text(spec if isinstance(spec, str) else json.dumps(spec))
    return path


def test_a_spec_names_its_weights_and_is_a_subject_of_every_command(tmp_path, capsys):
    folder(tmp_path, 'weights = "w.npz"\nactivation = ["relu"]', "net.toml")
    assert run(["check", "lipschitz-bounds", "--on", str(tmp_path / "net.toml")]) == 0
    assert "net.toml" in capsys.readouterr().out
    for path in (tmp_path / "net.toml", folder(tmp_path)):
        net = ft.load(path)
        assert (
            isinstance(net, ft.Network)
            and net.description is not None
            and net.description.widths == (3, 8, 2)
        )
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "w.npz").write_bytes((tmp_path / "w.npz").read_bytes())
    assert isinstance(ft.load(folder(tmp_path, {**SPEC, "weights": "deeper/w.npz"})), ft.Network)


@pytest.mark.parametrize(
    "location", ["/etc/passwd", "../w.npz", "a/../../w.npz", "w\0.npz", "link.npz", "net.json", ""]
)
def test_weights_outside_the_folder_are_refused(tmp_path, location):
    inner = tmp_path / "inner"
    inner.mkdir()
    np.savez(tmp_path / "w.npz", **matrices(3, 2))
    (inner / "link.npz").symlink_to(tmp_path / "w.npz")
    with pytest.raises(SubjectError):
        ft.load(folder(inner, {**SPEC, "weights": location}))


@pytest.mark.parametrize(
    "spec, part",
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "cannot be understood"),
        ("[" * 100 + "]" * 100, "nested too deeply"),
        (SPEC | {"wieghts": "w.npz"}, "wieghts"),
        ({"weights": "w.npz"}, "one of the two"),
        (SPEC | {"weights": None}, "does not say where"),
        (SPEC | {"weights": "none.npz"}, "no such file"),
        (SPEC | {"activation": "wobble"}, "Unknown activation"),
        (SPEC | {"activation": ["relu", "relu", "relu"]}, "one word a layer"),
        ({"weights": "w.npz", "layers": [{"kind": "dense"}]}, "`input` is missing"),
        ({"weights": "w.npz", "input": [3], "layers": [{"kind": "dense"}]}, "`layout` is missing"),
        (
            {"weights": "w.npz", "input": [3], "layout": "torch", "layers": [{"kind": "dance"}]},
            r"layers\[0\]",
        ),
        (
            {
                "weights": "w.npz",
                "input": [True],
                "layout": "torch",
                "layers": [{"kind": "flatten"}],
            },
            "input",
        ),
        (
            {
                "weights": "w.npz",
                "input": [2**40],
                "layout": "torch",
                "layers": [{"kind": "flatten"}],
            },
            "input",
        ),
        (
            {"weights": "w.npz", "input": [3, 3, 3], "layout": "jax", "layers": [{"kind": "conv"}]},
            "flax's own",
        ),
        (
            {
                "weights": "w.npz",
                "input": [3, 3],
                "layout": "jax",
                "layers": [{"kind": "max-pool", "size": 2}],
            },
            "stride",
        ),
    ],
)
def test_a_spec_that_cannot_be_understood_is_refused(tmp_path, spec, part):
    with pytest.raises(SubjectError, match=re.compile(part, re.DOTALL)):
        ft.load(folder(tmp_path, spec))


def test_residual_blocks_in_residual_blocks_end_somewhere(tmp_path):
    layer: dict = {"kind": "flatten"}
    for _ in range(40):
        layer = {"kind": "residual", "layers": [layer]}
    spec = {"weights": "w.npz", "input": [3], "layout": "torch", "layers": [layer]}
    with pytest.raises(SubjectError, match="nested too deeply"):
        ft.load(folder(tmp_path, spec))


def test_both_a_spec_and_an_activation_are_refused(tmp_path):
    folder(tmp_path)
    with pytest.raises(SubjectError, match="both"):
        ft.load(tmp_path / "w.npz", spec=SPEC, activation="relu")


TOML = """weights = "w.npz"
layout = "torch"
input = [3]
[[layers]]
kind = "dense"
name = "0"
activation = "relu"
[[layers]]
kind = "dense"
weight = "2.weight"
bias = "2.bias"
"""


@max_examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(0, len(TOML) - 1), st.integers(9, 126)), min_size=1, max_size=3)
)
def test_changed_letters_are_an_error_or_a_network(tmp_path, changes):
    text = list(TOML)
    for place, letter in changes:
        text[place] = chr(letter)
    try:
        assert isinstance(ft.load(folder(tmp_path, "".join(text), "net.toml")), ft.Network)
    except SubjectError:
        return


_words = st.sampled_from(["0", "2", "0.weight", "relu", "same", "x", ""])
_values = st.one_of(
    _words, st.integers(-3, 9), st.floats(), st.lists(st.integers(-1, 4), max_size=3), st.booleans()
)
_keys = st.sampled_from(
    [
        "name",
        "weight",
        "bias",
        "stride",
        "padding",
        "groups",
        "size",
        "shape",
        "axis",
        "heads",
        "mean",
        "std",
        "tensor",
    ]
)
_kinds = st.sampled_from(sorted(set(WRITERS) - {"residual"}))
_layers = st.builds(
    lambda kind, more: {**more, "kind": kind}, _kinds, st.dictionaries(_keys, _values, max_size=3)
)


@max_examples(
    150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.lists(_layers, min_size=1, max_size=3), st.lists(st.integers(1, 4), min_size=1, max_size=4)
)
def test_senseless_layers_are_an_error_or_a_network(tmp_path, layers, shape):
    spec = {
        "weights": "w.npz",
        "layout": "torch",
        "input": shape,
        "layers": layers,
        "ignore": ["*"],
    }
    try:
        assert isinstance(ft.load(folder(tmp_path, spec)), ft.Network)
    except SubjectError:
        return
