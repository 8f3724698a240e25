"""Files: limits, external data, names, broken bytes. A bad file is a SubjectError, whatever is in it."""

import gzip
import struct
import sys

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from onnx import external_data_helper, numpy_helper

import ftheta as ft
from ftheta.logic import FthetaError, SubjectError
from ftheta.networks import reading
from ftheta.networks.onnx import model as files
from ftheta.networks.onnx.model import parse
from ftheta.networks.onnx.rules import RULES
from ftheta.networks.onnx.wire import unpack_varints
from ftheta.networks.programs.importing import import_program
from ftheta.networks.reading import Malformed

from ...thoroughness import max_examples
from .graphs import model, node, ours, read, reference


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def small_network():
    nodes = [
        node("Conv", "x", "k", "c", out=["conv"], pads=[1, 1, 1, 1]),
        node("Relu", "conv", out=["relu"]),
        node("MaxPool", "relu", out=["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", "pool", out=["s"]),
        node("Gather", "s", "zero", out=["n"]),
        node("Concat", "n", "minus", out=["target"], axis=0),
        node("Reshape", "pool", "target", out=["flat"]),
        node("Gemm", "flat", "W", "b", transB=1),
    ]
    held = {"k": normal(2, 1, 3, 3), "c": normal(2), "W": normal(3, 18), "b": normal(3)}
    return model(nodes, ["n", 1, 6, 6], held | {"zero": np.array([0]), "minus": np.array([-1])})


DATA = small_network().SerializeToString()


def test_a_file_packed_or_not_is_a_network(tmp_path):
    (tmp_path / "net.onnx").write_bytes(DATA)
    (tmp_path / "net.onnx.gz").write_bytes(gzip.compress(DATA))
    x = normal(1, 1, 6, 6).astype(np.float32)
    for name in ("net.onnx", "net.onnx.gz"):
        net = ft.load(tmp_path / name)
        assert isinstance(net, ft.Network) and net.name == name and net.input_shape == (1, 6, 6)
        assert net.parameters == 18 + 2 + 54 + 3
        np.testing.assert_allclose(
            net(x[0]), reference(small_network(), x)[0], rtol=1e-5, atol=1e-6
        )


def test_no_other_package_is_needed_to_read_and_write(tmp_path, monkeypatch):
    for name in ("onnx", "onnxruntime", "google.protobuf"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "net.onnx").write_bytes(DATA)
    assert isinstance(ft.load(tmp_path / "net.onnx"), ft.Network)


def test_a_network_may_end_at_a_node_or_tensor(tmp_path):
    path = tmp_path / "net.onnx"
    made = small_network()
    made.graph.node[1].name = "first"
    path.write_bytes(made.SerializeToString())
    for name in ("first", "relu"):
        net = ft.load(path, until=name)
        assert isinstance(net, ft.Network) and net.output_shape == (2, 6, 6)
    with pytest.raises(SubjectError, match=r"did you mean.*relu"):
        ft.load(path, until="rellu")


def test_an_operator_without_a_rule_is_named_with_its_node_and_where_to_stop():
    nodes = [node("Relu", "x", out=["safe"]), node("Det", "safe", name="strange")]
    nodes[1].name = "strange"
    made = model(nodes, [1, 2, 2])
    with pytest.raises(SubjectError) as caught:
        read(made)
    assert all(
        word in str(caught.value) for word in ("Det", "'strange'", "until='safe'", "--until safe")
    )
    assert read(made, until="safe").input_shape == (2, 2)
    custom = node("Relu", "x", domain="com.example")
    with pytest.raises(SubjectError, match=r"com\.example\.Relu"):
        read(model([custom], [1, 2]))


def test_subgraphs_are_refused_by_name():
    body = onnx.helper.make_graph([], "body", [], [])
    for op in ("If", "Loop", "Scan"):
        with pytest.raises(SubjectError, match=f"Subgraphs are not read[^$]*{op}"):
            read(model([node(op, "x", then_branch=body)], [1, 2]))
        assert op not in RULES


def test_of_several_outputs_one_is_chosen_and_several_inputs_are_one_vector():
    nodes = [node("Relu", "x", out=["y"]), node("Tanh", "x", out=["z"])]
    made = model(nodes, [1, 2], outputs=("y", "z"))
    with pytest.raises(SubjectError, match="outputs y, z"):
        read(made)
    assert np.array_equal(ours(read(made, until="z"), np.zeros(2)), np.zeros(2))
    two = model([node("Add", "x", "u")], [1, 2])
    two.graph.input.append(onnx.helper.make_tensor_value_info("u", 1, [1, 2]))
    assert read(two).parts == (("x", (2,)), ("u", (2,)))
    assert np.array_equal(ours(read(two), np.array([1.0, 2.0, 10.0, 20.0])), [11.0, 22.0])


def test_open_lengths_are_asked_for():
    made = model([node("GlobalAveragePool", "x")], ["n", 3, "h", "w"])
    with pytest.raises(SubjectError, match=r"\(\?, 3, \?, \?\)"):
        read(made)
    assert read(made, (3, 8, 9)).input_shape == (3, 8, 9)
    with pytest.raises(SubjectError, match="does not have the shape"):
        read(made, (4, 8, 9))


def test_a_batch_axis_is_one_that_is_open_or_of_length_one():
    for dims, shape in ((["n", 2], (2,)), ([1, 2], (2,)), ([5, 2], (5, 2)), ([2], (2,))):
        assert read(model([node("Relu", "x")], dims)).input_shape == shape


@pytest.mark.parametrize("opset", [6, 99])
def test_operators_of_another_time_are_refused(opset):
    with pytest.raises(SubjectError, match=f"opset {opset}"):
        read(model([node("Relu", "x")], [1, 2], opset=opset))


def test_weights_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(
        model(
            [node("Conv", "x", "k")], [1, 1, 5], {"k": np.array([[[1.0, np.nan]]])}
        ).SerializeToString()
    )
    with pytest.raises(SubjectError, match="not finite"):
        ft.load(path)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_keep_their_exact_values(dtype):
    held = normal(3, 4).astype(dtype)
    tensors = [
        numpy_helper.from_array(held, "W"),
        onnx.helper.make_tensor(
            "W", numpy_helper.from_array(held).data_type, held.shape, held.ravel()
        ),
    ]
    for tensor in tensors:
        made = model([node("Gemm", "x", "W", transB=1)], [1, 4])
        made.graph.initializer.append(tensor)
        net = read(made)
        assert (
            np.array_equal(net.params["W"], held.astype(np.float64))
            and net.params["W"].dtype == np.float64
        )


@pytest.mark.parametrize(
    "dtype",
    [bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64],
)
def test_whole_numbers_and_truth_values_are_read_from_bytes_and_from_lists(dtype):
    held = np.array([0, 1, 1, 0]).astype(dtype)
    if dtype is not bool:
        held[2:] = [np.iinfo(dtype).min, min(np.iinfo(dtype).max, 2**53)]
    tensors = [
        numpy_helper.from_array(held, "W"),
        onnx.helper.make_tensor("W", numpy_helper.from_array(held).data_type, [4], held.tolist()),
    ]
    x = np.array([0.5, 1.0, -2.0, 3.0])
    for tensor in tensors:
        nodes = [node("Cast", "W", out=["w"], to=onnx.TensorProto.DOUBLE), node("Add", "x", "w")]
        made = model(nodes, [4], dtype=np.float64)
        made.graph.initializer.append(tensor)
        assert np.array_equal(ours(read(made), x), x + held.astype(np.float64))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_packed_numbers_are_read_as_they_were_written(numbers):
    tensor = onnx.TensorProto(int64_data=numbers).SerializeToString()
    if numbers:
        body = memoryview(tensor)[1:]
        while body[0] & 0x80:
            body = body[1:]
        assert unpack_varints(body[1:]).tolist() == numbers


def test_a_number_without_an_end_is_malformed():
    for data in (b"\xff", b"\x80" * 11 + b"\x01"):
        with pytest.raises(Malformed):
            unpack_varints(memoryview(data))


# ---- external data ---------------------------------------------------------------------------------------------------


def external(tmp_path, location="weights.bin", **more):
    made = model([node("Gemm", "x", "W", transB=1)], [1, 4], {"W": normal(3, 4)})
    tensor = made.graph.initializer[0]
    (tmp_path / "weights.bin").write_bytes(b"head" + tensor.raw_data)
    external_data_helper.set_external_data(tensor, location, offset=4, length=48)
    for key, value in more.items():
        next(entry for entry in tensor.external_data if entry.key == key).value = value
    tensor.ClearField("raw_data")
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    return tmp_path / "net.onnx"


def test_external_data_beside_the_model_are_read(tmp_path):
    net = ft.load(external(tmp_path))
    assert isinstance(net, ft.Network) and net.description is not None
    assert np.array_equal(net.description.layers[0].weight, normal(3, 4).astype(np.float32))


@pytest.mark.parametrize(
    "location", ["../weights.bin", "/etc/passwd", "deep/../../weights.bin", "", "missing.bin", "."]
)
def test_external_data_elsewhere_are_refused(tmp_path, location):
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    with pytest.raises(SubjectError):
        ft.load(external(inner, location))


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(100))
    (inner / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(SubjectError, match="outside the folder"):
        ft.load(external(inner, "link.bin"))


@pytest.mark.parametrize(
    "key, value",
    [("offset", "5"), ("offset", "-4"), ("length", "47"), ("offset", "9" * 30), ("offset", "x")],
)
def test_external_data_of_another_size_are_refused(tmp_path, key, value):
    with pytest.raises(SubjectError):
        ft.load(external(tmp_path, **{key: value}))


# ---- hostile files ---------------------------------------------------------------------------------------------------


def refused_or_read(data):
    try:
        import_program(parse(data, "bytes").until(None))
    except FthetaError:
        return


@max_examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(DATA) - 1))
def test_a_file_cut_short_is_an_error_or_a_network(length):
    refused_or_read(DATA[:length])


@max_examples(150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_changed_bytes_are_an_error_or_a_network(changes):
    data = bytearray(DATA)
    for place, value in changes:
        data[place] = value
    refused_or_read(bytes(data))


@max_examples(150)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\x3a\x00")
def test_random_bytes_are_an_error(data):
    with pytest.raises(SubjectError):
        import_program(parse(data, "bytes").until(None))


@max_examples(120, suppress_health_check=[HealthCheck.too_slow])
@given(
    op=st.sampled_from(sorted(RULES)),
    dims=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    tensors=st.lists(st.lists(st.integers(-(2**40), 2**40), max_size=5), max_size=3),
    attributes=st.dictionaries(
        st.sampled_from(
            [
                "axis",
                "axes",
                "pads",
                "strides",
                "kernel_shape",
                "group",
                "perm",
                "mode",
                "to",
                "blocksize",
            ]
        ),
        st.one_of(
            st.integers(-(2**40), 2**40),
            st.lists(st.integers(-(2**40), 2**40), max_size=4),
            st.text(max_size=3),
        ),
        max_size=3,
    ),
)
def test_senseless_operators_are_an_error_or_a_network(op, dims, tensors, attributes):
    attributes = {k: v for k, v in attributes.items() if v != []}
    held = {f"t{i}": np.array(numbers, np.int64) for i, numbers in enumerate(tensors)}
    refused_or_read(model([node(op, "x", *held, **attributes)], dims, held).SerializeToString())


def test_a_packed_file_that_unfolds_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / "bomb.onnx.gz"
    path.write_bytes(gzip.compress(bytes(8 << 20)))
    with pytest.raises(SubjectError, match="more memory than is allowed"):
        ft.load(path)
    path.write_bytes(gzip.compress(DATA)[:-20])
    with pytest.raises(SubjectError, match="cannot be unpacked"):
        ft.load(path)


def test_limits_on_bytes_nodes_and_fields(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_NODES", 3)
    with pytest.raises(SubjectError, match="more nodes"):
        parse(DATA, "bytes")
    monkeypatch.setattr(files, "MAX_FIELDS", 100)
    with pytest.raises(SubjectError, match="too many fields"):
        parse(DATA, "bytes")
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    (tmp_path / "net.onnx").write_bytes(DATA)
    with pytest.raises(SubjectError, match="larger than is allowed"):
        ft.load(tmp_path / "net.onnx")


def test_a_shape_without_its_numbers_allocates_nothing():
    made = model([node("Gemm", "x", "W", transB=1)], [1, 4], {"W": normal(3, 4)})
    for dims in ([2**31, 2**31], [-1, 4], [5, 4]):
        del made.graph.initializer[0].dims[:]
        made.graph.initializer[0].dims.extend(dims)
        with pytest.raises(SubjectError):
            read(made)


@pytest.mark.parametrize(
    "op, others, attributes",
    [
        ("Expand", [np.array([2**20, 2**20, 2])], {}),
        ("Tile", [np.array([2**40, 1])], {}),
        ("Pad", [np.array([0, 2**40, 0, 0])], {}),
        ("Gather", [np.array([7])], {"axis": 1}),
    ],
)
def test_values_beyond_all_bounds_are_refused(op, others, attributes):
    held = {f"t{i}": array for i, array in enumerate(others)}
    with pytest.raises(SubjectError):
        read(model([node(op, "x", *held, **attributes)], [1, 2], held))


def test_an_input_too_many_is_refused():
    """NumPy would take a second argument of `abs` as the place to write to."""
    with pytest.raises(SubjectError, match="does not fit"):
        read(
            model(
                [node("Abs", "c", "d", out=["a"]), node("Add", "x", "a")],
                [1, 2],
                {"c": normal(2), "d": normal(2)},
            )
        )


def test_a_file_that_is_not_there_or_empty_or_a_folder(tmp_path):
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "folder.onnx").mkdir()
    for name in ("none.onnx", "empty.onnx", "folder.onnx"):
        with pytest.raises(SubjectError):
            ft.load(tmp_path / name)


def test_nodes_out_of_order_and_tensors_made_twice_are_refused():
    nodes = [node("Relu", "late", out=["y"]), node("Relu", "x", out=["late"])]
    with pytest.raises(SubjectError, match="nothing before it makes"):
        read(model(nodes, [1, 2]))
    twice = [node("Relu", "x", out=["y"]), node("Tanh", "x", out=["y"])]
    with pytest.raises(SubjectError, match="there already"):
        read(model(twice, [1, 2]))


def test_a_message_in_a_message_a_thousand_times_is_no_deeper_than_the_schema():
    data = b""
    for _ in range(1000):
        data = (
            b"\x3a"
            + struct.pack("<B", 0x80 | (len(data) & 0x7F))
            + struct.pack("<B", len(data) >> 7)
            + data
        )
        data = data[: 1 << 13]
    with pytest.raises(SubjectError):
        parse(data, "bytes")
