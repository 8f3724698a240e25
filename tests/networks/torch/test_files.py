"""Files: layouts, limits, broken and hostile bytes. A bad file is a SubjectError, whatever is in it."""

import io
import json
import struct
import zipfile
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from torch import nn

import ftheta as ft
from ftheta.logic import FthetaError, SubjectError
from ftheta.networks import reading
from ftheta.networks.programs.importing import import_program
from ftheta.networks.torch import archive, model

from ...thoroughness import max_examples
from .architectures import mlp
from .modules import close, exported, ours, read, saved


def small_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1),
        nn.BatchNorm2d(2),
        nn.ReLU(True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(18, 3),
    ).eval()


X = torch.randn(1, 1, 6, 6)


@cache  # at its first use: what exports programs takes a hundred megabytes
def small_file() -> bytes:
    return saved(exported(small_network(), X))


def entries(data: bytes | None = None) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(small_file() if data is None else data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def named(end: str) -> str:
    return next(name for name in entries() if name.endswith(end))


def packed(held: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as made:
        for name, data in held.items():
            made.writestr(name, data)
    return file.getvalue()


def changed(end: str, change: Any) -> bytes:
    """The file with one JSON entry changed: `change(document)` alters it, or returns another."""
    held = entries()
    document = json.loads(held[named(end)])
    other = change(document)
    return packed(held | {named(end): json.dumps(document if other is None else other).encode()})


def refused(data: bytes, match: str = "") -> None:
    with pytest.raises(SubjectError, match=match):
        import_program(read(data).until(None))


def test_a_file_is_a_network_also_when_packed_again(tmp_path):
    expected = small_network()(X)[0].detach().numpy()
    for name, data in (
        ("net.pt2", small_file()),
        ("again.PT2", packed(entries(), zipfile.ZIP_DEFLATED)),
    ):
        (tmp_path / name).write_bytes(data)
        net = ft.load(tmp_path / name)
        assert isinstance(net, ft.Network) and net.name == name and net.input_shape == (1, 6, 6)
        close(net(X[0].numpy()), expected, 1e-5)


def test_no_pickle_in_the_file_is_opened():
    """Whatever stands in the entries that torch unpickles, the network is the same."""
    held = entries()
    poisoned = {
        name: b"cos\nsystem\n(S'true'\ntR." if name.endswith(".pt") else data
        for name, data in held.items()
    }
    assert poisoned != held
    close(
        ours(import_program(read(packed(poisoned)).until(None)), X[0]),
        small_network()(X)[0].detach().numpy(),
        1e-5,
    )


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".ckpt", ".pkl"])
def test_pickles_are_refused_by_their_names(suffix, tmp_path):
    path = tmp_path / f"net{suffix}"
    torch.save(mlp(2, 2).state_dict(), path)
    with pytest.raises(SubjectError, match=r"pickl"):
        ft.load(path)


def test_pickles_with_another_name_are_refused(tmp_path):
    file = io.BytesIO()
    torch.save(mlp(2, 2).state_dict(), file)
    refused(file.getvalue(), "pickles are programs")
    root = named("/archive_format").split("/")[0]
    refused(
        packed({"serialized_exported_program.json": b"{}", "serialized_state_dict.pt": b""}),
        r"up to version 2\.7",
    )
    refused(packed(entries() | {f"{root}/data/weights/model.pt": b""}), "older versions")
    refused(
        changed("weights_config.json", lambda d: d["config"]["0.weight"].update(use_pickle=True)),
        "pickled",
    )


def test_files_of_another_kind_are_refused():
    held = entries()
    root = named("/archive_format").split("/")[0]
    refused(b"", "not a zip archive")
    refused(b"\x08\x01" * 100, "not a zip archive")
    refused(packed({"a.txt": b"hello"}), "archive_format")
    refused(packed({k: v for k, v in held.items() if "/models/" not in k}), "one model is needed")
    refused(packed(held | {f"{root}/models/other.json": b"{}"}), "models model, other")
    refused(packed(held | {named("/byteorder"): b"big"}), "byteorder")
    refused(changed("model.json", lambda d: d["schema_version"].update(major=9)), "version 9")
    compiled = {k: v for k, v in held.items() if "/models/" not in k} | {
        f"{root}/data/aotinductor/model/net.so": b""
    }
    refused(packed(compiled), "compiled")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SubjectError, match="no such file"):
        ft.load(tmp_path / "none.pt2")
    with pytest.raises(SubjectError):
        (tmp_path / "folder.pt2").mkdir()
        ft.load(tmp_path / "folder.pt2")


# ---- hostile files ---------------------------------------------------------------------------------------------------


def of_weight(**change: Any) -> bytes:
    return changed(
        "weights_config.json", lambda d: d["config"]["0.weight"]["tensor_meta"].update(change)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": [{"as_int": n} for n in (2, 1, 3, 4)]},
        {"sizes": [{"as_int": 1 << 40}, {"as_int": 1}, {"as_int": 3}, {"as_int": 3}]},
        {"sizes": [{"as_int": 1 << 40}] * 4, "strides": [{"as_int": 0}] * 4},
        {"sizes": [{"as_int": -2}, {"as_int": 1}, {"as_int": 3}, {"as_int": 3}]},
        {"sizes": [{"as_int": 1}] * 40, "strides": [{"as_int": 1}] * 40},
        {"sizes": [{"as_expr": {"expr_str": "__import__('os')"}}] * 4},
        {"sizes": "2133"},
        {"strides": [{"as_int": 1 << 60}] * 4},
        {"strides": [{"as_int": -1}] * 4},
        {"strides": []},
        {"storage_offset": {"as_int": 1}},
        {"storage_offset": {"as_int": 1 << 61}},
        {"storage_offset": {"as_int": True}},
        {"storage_offset": None},
        {"dtype": 8},
        {"dtype": 10},
        {"dtype": 99},
        {"dtype": "7"},
        {"layout": 1},
    ],
)
def test_tensors_that_are_not_in_their_bytes_are_refused(change):
    refused(of_weight(**change))


@pytest.mark.parametrize(
    "path",
    ["../../../../etc/passwd", "/etc/passwd", "weight_99", "", ".", "../models/model.json\0"],
)
def test_a_path_is_a_name_in_the_archive_and_nothing_else(path):
    refused(
        changed("weights_config.json", lambda d: d["config"]["0.weight"].update(path_name=path))
    )


def in_graph(change: Any) -> bytes:
    return changed("model.json", lambda d: change(d["graph_module"]["graph"]))


HOSTILE = {
    "no nodes": lambda g: g.update(nodes=None),
    "a node is a word": lambda g: g["nodes"].append("relu"),
    "no such input": lambda g: g["nodes"][0]["inputs"][0]["arg"].update(
        as_tensor={"name": "nothing"}
    ),
    "two kinds at once": lambda g: g["nodes"][0]["inputs"][0]["arg"].update(as_int=3),
    "made twice": lambda g: g["nodes"].append(g["nodes"][0]),
    "a cycle": lambda g: g["nodes"].reverse(),
    "an unknown kind": lambda g: g["nodes"][0]["inputs"][0].update(arg={"as_code": "exit()"}),
    "a program": lambda g: g["nodes"][0].update(target="os.system"),
    "another operator": lambda g: g["nodes"][0].update(target="torch.ops.aten.matmul.default"),
    "a strange stride": lambda g: g["nodes"][0]["inputs"].append(
        {"name": "stride", "arg": {"as_ints": [0, 1 << 62]}}
    ),
    "a huge padding": lambda g: g["nodes"][0]["inputs"].append(
        {"name": "padding", "arg": {"as_ints": [1 << 40, 1]}}
    ),
    "a huge number": lambda g: g["nodes"][0]["inputs"].append(
        {"name": "groups", "arg": {"as_int": 10**40}}
    ),
    "no groups": lambda g: g["nodes"][0]["inputs"].append({"name": "groups", "arg": {"as_int": 0}}),
    "an unknown argument": lambda g: g["nodes"][0]["inputs"].append(
        {"name": "call", "arg": {"as_int": 1}}
    ),
    "an open input": lambda g: g["tensor_values"]["input"].update(sizes=[{"as_expr": {}}] * 4),
    "no type": lambda g: g["tensor_values"].clear(),
    "an input without bounds": lambda g: g["tensor_values"]["input"].update(
        sizes=[{"as_int": 1 << 50}] * 4
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_graphs_that_make_no_sense_are_refused(what):
    refused(in_graph(HOSTILE[what]))


def one_node(target: str, **arguments: Any) -> bytes:
    def change(graph: Any) -> None:
        x = {"name": "self", "arg": {"as_tensor": {"name": "input"}}, "kind": 1}
        node = graph["nodes"][0] | {
            "target": f"torch.ops.aten.{target}",
            "outputs": graph["nodes"][-1]["outputs"],
        }
        given = [{"name": k, "arg": v, "kind": 1} for k, v in arguments.items()]
        graph["nodes"] = [node | {"inputs": [x, *given] if target != "full.default" else given}]

    return in_graph(change)


@pytest.mark.parametrize(
    "absurd",
    [
        partial(one_node, "repeat.default", repeats={"as_ints": [1 << 20] * 4}),
        partial(one_node, "expand.default", size={"as_ints": [1 << 30, 1 << 30, 1, 6, 6]}),
        partial(one_node, "constant_pad_nd.default", pad={"as_ints": [1 << 40, 1 << 40]}),
        partial(one_node, "adaptive_avg_pool2d.default", output_size={"as_ints": [1 << 30, 1]}),
        partial(one_node, "split.Tensor", split_size={"as_int": 0}),
        partial(
            one_node,
            "upsample_nearest2d.vec",
            output_size={"as_ints": [1 << 30] * 2},
            scale_factors={"as_none": True},
        ),
        partial(one_node, "permute.default", dims={"as_ints": [0, 0, 1, 2]}),
        partial(one_node, "select.int", dim={"as_int": 9}, index={"as_int": 0}),
        partial(one_node, "chunk.default", chunks={"as_int": -3}),
        partial(one_node, "pow.Tensor_Scalar", exponent={"as_string": "x"}),
        partial(one_node, "full.default", size={"as_ints": [1 << 40]}, fill_value={"as_int": 1}),
        partial(one_node, "arange.default", end={"as_int": 1 << 60}),
        partial(one_node, "view.default", size={"as_ints": [-1, -1]}),
        partial(one_node, "movedim.intlist", source={"as_ints": [9]}, destination={"as_ints": [0]}),
    ],
)
def test_operators_with_absurd_arguments_are_refused(absurd):
    refused(absurd())


def test_deep_and_long_json_is_refused(monkeypatch):
    held = entries()
    deep = b'{"graph_module": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    refused(packed(held | {named("model.json"): deep}))
    refused(packed(held | {named("model.json"): b"{" * 1000}))
    refused(packed(held | {named("model.json"): b"\xff\xfe\x00"}))
    refused(packed(held | {named("model.json"): b"[" + b"9" * 10_000 + b"]"}))
    monkeypatch.setattr(archive, "MAX_JSON", 1000)
    refused(small_file(), "larger than is allowed")


@pytest.mark.parametrize("specs", [[5], [None], ["user_output"], [[]], 5, None])
def test_outputs_that_are_no_objects_are_refused(specs):
    document = json.loads(entries()[named("model.json")])
    document["graph_module"]["signature"]["output_specs"] = specs
    refused(packed(entries() | {named("model.json"): json.dumps(document).encode()}), "not a sound")


def test_a_weight_of_stride_zero_takes_no_more_memory_than_is_allowed(monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 20)
    document = json.loads(entries()[named("weights_config.json")])
    for entry in document["config"].values():
        entry["tensor_meta"] |= {"sizes": [{"as_int": 1 << 27}], "strides": [{"as_int": 0}]}
    refused(
        packed(entries() | {named("weights_config.json"): json.dumps(document).encode()}),
        "more memory than is allowed",
    )


def test_limits_on_bytes_entries_and_nodes(monkeypatch):
    for place, name, value in (
        (model, "MAX_NODES", 3),
        (archive, "MAX_ENTRIES", 3),
        (reading, "MAX_MEMORY", 200),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            refused(small_file())


def test_an_entry_that_unfolds_too_far_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 10)
    monkeypatch.setattr(reading, "MAX_RATIO", 20)
    bomb = packed(entries() | {named("/weight_0"): bytes(1 << 20)}, zipfile.ZIP_DEFLATED)
    refused(bomb, "more memory than is allowed")


def test_an_entry_that_lies_about_its_length_is_refused():
    """The size in the list of entries is the one that is believed; it is checked against what comes."""
    data = bytearray(packed(entries(), zipfile.ZIP_DEFLATED))
    name = named("/weight_0").encode()
    at = data.rindex(name) - 46
    assert data[at : at + 4] == b"PK\1\2"
    struct.pack_into("<L", data, at + 24, 1 << 30)
    refused(bytes(data))


def test_a_list_of_entries_that_is_too_long_is_refused_before_it_is_read():
    data = bytearray(small_file())
    at = data.rindex(b"PK\5\6")
    struct.pack_into("<2H2L", data, at + 8, 0xFFFE, 0xFFFE, 0xFFFFFF00, 0)
    refused(bytes(data), "list of")


def harmless(data: bytes) -> None:
    try:
        found = import_program(read(data).until(None))
    except FthetaError:
        return
    with np.errstate(all="ignore"):
        assert all(np.asarray(value).dtype == np.float64 for value in found.params.values())


@max_examples(100, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_change_of_bytes_is_harmless(data):
    held = bytearray(small_file())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(held) - 1, 0)))
        how = data.draw(st.sampled_from(["change", "cut", "insert", "end"]))
        if how == "change" and held:
            held[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del held[at : at + data.draw(st.integers(1, 50))]
        elif how == "insert":
            held[at:at] = data.draw(st.binary(min_size=1, max_size=20))
        else:
            del held[max(at, 1) :]
    harmless(bytes(held))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
)


@max_examples(100, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["model.json", "weights_config.json", "constants_config.json"]),
    st.randoms(),
    LEAVES,
)
def test_any_change_of_the_json_is_harmless(end, random, leaf):
    document = json.loads(entries()[named(end)])
    at: Any = document
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        if not keys:
            return
        key = random.choice(list(keys))
        if not isinstance(at[key], (dict, list)) or not at[key] or random.random() < 0.1:
            at[key] = leaf
            break
        at = at[key]
    harmless(packed(entries() | {named(end): json.dumps(document).encode()}))


def test_a_module_is_a_network_as_it_is_for_load():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    net = ft.Network.of(module, (1, 3), "small")
    x = np.random.default_rng(0).normal(size=3)
    expected = module.double()(torch.as_tensor(x)).detach().numpy()
    assert net.name == "small" and net.parameters == 26
    assert np.allclose(np.asarray(net(x)), expected, rtol=1e-6)
