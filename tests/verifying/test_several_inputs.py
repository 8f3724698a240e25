"""Networks with several input tensors: their entries stand in a row, in the order of the file."""

from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ftheta as ft
from ftheta.logic.errors import SubjectError
from ftheta.relu.network import ReluNetwork
from ftheta.verifying import read_network

W = np.array([[1.0, -2.0], [0.5, 1.0]], np.float32)
FLOAT, WHOLE = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def write_two_inputs(path, smooth, types=(FLOAT, FLOAT), dims=((1, 2), (None, 1))):
    """y = relu(aW) + b, or tanh(aW) · b: `a` has two entries and `b` one."""
    nodes = [
        helper.make_node("MatMul", ["a", "W"], ["z"]),
        helper.make_node("Tanh" if smooth else "Relu", ["z"], ["h"]),
        helper.make_node("Mul" if smooth else "Add", ["h", "b"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(n, t, d) for n, t, d in zip("ab", types, dims)]
    out = helper.make_tensor_value_info("y", FLOAT, (1, 2))
    graph = helper.make_graph(nodes, "graph", ports, [out], [numpy_helper.from_array(W, "W")])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def write_old_property(path, bound):
    """Is there an input with a in [−1, 1]², b in [0, 2] and y₀ ≥ bound?"""
    ends = {"X_0": (-1, 1), "X_1": (-1, 1), "X_2": (0, 2)}
    lines = [f"(declare-const {x} Real)" for x in (*ends, "Y_0", "Y_1")]
    lines += [f"(assert (>= {x} {lo}.0))\n(assert (<= {x} {hi}.0))" for x, (lo, hi) in ends.items()]
    path.write_text("\n".join([*lines, f"(assert (>= Y_0 {bound}))"]))
    return path


def most(smooth):
    """The largest y₀: a₀ = a₁ = 1 and b = 2."""
    return 2 * np.tanh(1.5) if smooth else 3.5


@pytest.mark.parametrize("smooth", [False, True])
def test_the_entries_of_all_inputs_are_the_variables_of_an_old_property(tmp_path, smooth):
    path = write_two_inputs(tmp_path / "two.onnx", smooth)
    assert isinstance(read_network(str(path)), ReluNetwork) != smooth
    found = ft.verify(
        str(path), write_old_property(tmp_path / "p.vnnlib", most(smooth) - 0.01), budget=20
    )
    assert found.answer == "sat" and found.witness is not None
    assert len(found.witness.x) == 3 and found.witness.x[2] > 1.9
    refused = write_old_property(tmp_path / "q.vnnlib", most(smooth) + 0.01)
    assert ft.verify(str(path), refused, budget=20).answer == "unsat"


@pytest.mark.parametrize("smooth", [False, True])
def test_a_query_declares_every_input(tmp_path, smooth):
    path = write_two_inputs(tmp_path / "two.onnx", smooth)
    query = tmp_path / "q.vnnlib"
    for beside, answer in ((-0.01, "sat"), (0.01, "unsat")):
        query.write_text(f"""(vnnlib-version <2.0>)
(declare-network f (declare-input A real [1,2]) (declare-input B real [1,1]) (declare-output Y real [1,2]))
(assert (and (>= A[0,0] -1.0) (<= A[0,0] 1.0) (>= A[0,1] -1.0) (<= A[0,1] 1.0) (>= B[0,0] 0.0) (<= B[0,0] 2.0)))
(assert (>= Y[0,0] {most(smooth) + beside}))
""")
        found = ft.verify({"f": str(path)}, query, budget=20)
        assert found.answer == answer
        if found.witness is not None:
            assert (
                all(-1 <= v <= 1 for v in found.witness.x[:2])
                and Fraction(0) <= found.witness.x[2] <= 2
            )


def test_what_cannot_be_joined_is_named(tmp_path):
    mixed = write_two_inputs(tmp_path / "mixed.onnx", True, types=(FLOAT, WHOLE))
    with pytest.raises(SubjectError, match="different types"):
        ft.verify(str(mixed), write_old_property(tmp_path / "p.vnnlib", 1.0))
    unknown = write_two_inputs(tmp_path / "open.onnx", True, dims=((1, None), (1, 1)))
    with pytest.raises(SubjectError, match="input a"):
        ft.verify(str(unknown), write_old_property(tmp_path / "p.vnnlib", 1.0))
    with pytest.raises(SubjectError, match="different types"):
        ft.load(str(mixed))
    query = tmp_path / "q.vnnlib"
    query.write_text("""(vnnlib-version <2.0>)
(declare-network f (declare-input A real [1]) (declare-input B real [1]) (declare-output Y real [1]))
(assert (and (>= A[0] 0.0) (<= A[0] 1.0) (>= B[0] 0.0) (<= B[0] 1.0) (>= Y[0] 1.0)))
""")
    with pytest.raises(SubjectError, match="inputs A, B"):
        ft.verify({"f": ReluNetwork.dense([np.ones((1, 2))], [np.zeros(1)])}, query)


@pytest.mark.parametrize("smooth", [False, True])
def test_an_input_that_the_output_does_not_depend_on_is_an_input_all_the_same(tmp_path, smooth):
    path = write_two_inputs(tmp_path / "two.onnx", smooth)
    model = onnx.load(path)
    model.graph.input.insert(0, helper.make_tensor_value_info("idle", FLOAT, (None, 3)))
    onnx.save(model, path)
    net = read_network(str(path))
    assert net.widths[0] == 6
    ends = "".join(
        f"(declare-const X_{i} Real)(assert (>= X_{i} 0.0))(assert (<= X_{i} 1.0))\n"
        for i in range(6)
    )
    outputs = "(declare-const Y_0 Real)(declare-const Y_1 Real)\n"
    largest = np.tanh(1.5) if smooth else 2.5  # at a = (1, 1) and b = 1
    for beside, answer in ((-0.01, "sat"), (0.01, "unsat")):
        asked = tmp_path / "p.vnnlib"
        asked.write_text(
            f"{outputs}{ends}(assert (>= X_1 0.5))(assert (>= Y_0 {largest + beside}))"
        )
        found = ft.verify(str(path), asked, budget=20)
        assert found.answer == answer
        assert found.witness is None or (
            len(found.witness.x) == 6 and found.witness.x[1] >= Fraction(1, 2)
        )


def test_an_open_axis_that_is_the_only_one_is_a_batch_of_numbers(tmp_path):
    path = write_two_inputs(tmp_path / "two.onnx", True, dims=((None, 2), (None,)))
    assert ft.load(str(path)).input_shape == (3,)
    assert ft.verify(
        str(path), write_old_property(tmp_path / "p.vnnlib", most(True) + 0.01), budget=20
    ).holds
