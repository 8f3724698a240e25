"""Small programs of several operators: comparisons, choices, computations with shapes, attention."""

import jax
import numpy as np
import pytest
from onnx import numpy_helper

import ftheta as ft
from ftheta.logic import SubjectError
from ftheta.networks.programs import interpret

from .graphs import agrees, model, node, ours, read, reference


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


X = normal(1, 4, 5).astype(np.float32)
I64 = lambda *n: np.array(n, np.int64)
FLOAT = 1
INT = 7
BOOL = 9


def then(*steps):
    """Nodes one after the other: `(op, further inputs…, attributes)` on the result of the last; the last makes `y`."""
    nodes = []
    at = "x"
    for i, (op, *others, attributes) in enumerate(steps):
        out = "y" if i == len(steps) - 1 else f"v{i}"
        nodes.append(node(op, at, *others, out=[out], **attributes))
        at = out
    return nodes


@pytest.mark.parametrize("op", ["Sqrt", "Log", "Asin", "Acos", "Atanh", "ReduceLogSum", "Acosh"])
def test_functions_of_positive_numbers(op):
    shift = 1.5 if op == "Acosh" else 0.1
    made = model(
        then(("Sigmoid", {}), ("Mul", "c", {}), ("Add", "s", {}), (op, {})),
        [1, 4, 5],
        {"c": 0.8, "s": shift},
    )
    agrees(made, X)


def test_constants_come_in_the_precision_of_the_call(monkeypatch):
    """JAX takes an array that it has met in float64 for float64 in a later call, where it does not go with float32."""
    constant = node("Constant", out=["c"], value=numpy_helper.from_array(np.array(0.7, np.float32)))
    made = model([constant, *then(("Div", "c", {}), ("Softmax", {}))], [1, 4, 5])
    net = read(made)
    seen = set()
    compute = interpret._compute_node

    def record(program, node, inputs, names):
        seen.update(str(value.dtype) for value in inputs)
        return compute(program, node, inputs, names)

    monkeypatch.setattr(interpret, "_compute_node", record)
    for wide, dtype in ((True, "float64"), (False, "float32")):
        seen.clear()
        with jax.enable_x64(wide):
            found = np.asarray(net.apply(net.params, X[0].astype(dtype)))
        assert seen == {dtype} and found.dtype == dtype
        np.testing.assert_allclose(found[None], reference(made, X), rtol=1e-5)


@pytest.mark.parametrize("op", ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
def test_comparisons_choose(op):
    nodes = [
        node("Round", "x", out=["r"]),
        node(op, "r", "c", out=["b"]),
        node("Where", "b", "x", "c"),
    ]
    agrees(model(nodes, [1, 4, 5], {"c": np.array([-1.0, 0.0, 1.0, 2.0, 0.0])}), X)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_truth_values_are_combined(op):
    nodes = [
        node("Greater", "x", "c", out=["a"]),
        node("Less", "x", "d", out=["b"]),
        node("Not", "b", out=["n"]),
    ]
    nodes += [
        node(op, "a", "n", out=["t"]),
        node("IsNaN", "x", out=["i"]),
        node("Or", "t", "i", out=["u"]),
    ]
    agrees(model([*nodes, node("Cast", "u", to=FLOAT)], [1, 4, 5], {"c": 0.0, "d": 0.5}), X)


def test_casts_cut_towards_zero_and_keep_reals():
    agrees(
        model(
            then(("Mul", "c", {}), ("Cast", {"to": INT}), ("Cast", {"to": FLOAT})),
            [1, 4, 5],
            {"c": 10.0},
        ),
        X,
    )
    agrees(
        model([node("Round", "x", out=["r"]), node("CastLike", "r", "x")], [1, 4, 5], opset=15), X
    )


def test_parts_of_a_split_are_put_together_again():
    for sizes, opset in (([1, 3], 11), ([3, 1], 13), (None, 11)):
        held = {"s": I64(*sizes)} if sizes and opset >= 13 else {}
        how = {"split": sizes} if sizes and opset < 13 else {}
        nodes = [
            node("Split", "x", *held, out=["a", "b"], axis=1, **how),
            node("Concat", "b", "a", axis=1),
        ]
        agrees(model(nodes, [1, 4, 5], held, opset=opset), X)
    uneven = [
        node("Split", "x", out=["a", "b"], axis=2, num_outputs=2),
        node("Concat", "b", "a", axis=2),
    ]
    agrees(model(uneven, [1, 4, 5], opset=18), X)


def test_shapes_that_are_computed_become_numbers():
    """What PyTorch writes for `x.view(x.size(0), x.size(1) * x.size(2) // 2, 2)`."""
    nodes = [
        node("Shape", "x", out=["shape"]),
        node("Gather", "shape", "0", out=["n"]),
        node("Gather", "shape", "1", out=["c"]),
        node("Slice", "shape", "two", "end", out=["last"]),
        node("Squeeze", "last", "zero", out=["w"]),
        node("Mul", "c", "w", out=["cw"]),
        node("Div", "cw", "2", out=["half"]),
        node("Cast", "half", out=["float"], to=FLOAT),
        node("Floor", "float", out=["floor"]),
        node("Cast", "floor", out=["whole"], to=INT),
        *(node("Unsqueeze", name, "zero", out=[f"{name}1"]) for name in ("n", "whole", "2")),
        node("Concat", "n1", "whole1", "21", out=["target"], axis=0),
        node("Reshape", "x", "target"),
    ]
    held = {
        "0": np.array(0),
        "1": np.array(1),
        "2": np.array(2),
        "two": I64(2),
        "end": I64(2**62),
        "zero": I64(0),
    }
    made = model(nodes, ["batch", 4, 5], held)
    agrees(made, X)
    assert read(made).params == {}


def test_masks_are_made_from_shapes():
    nodes = [
        node("Shape", "x", out=["s"]),
        node("Size", "x", out=["all"]),
        node("ConstantOfShape", "s", out=["zeros"]),
        node("Range", "a", "all", "d", out=["r"]),
        node("Reshape", "r", "s", out=["grid"]),
        node("Mod", "grid", "three", out=["m"]),
        node("Equal", "m", "a", out=["b"]),
        node("Where", "b", "x", "zeros"),
    ]
    agrees(model(nodes, [1, 4, 5], {"a": np.array(0), "d": np.array(1), "three": np.array(3)}), X)
    hot = [
        node("ArgMax", "x", out=["i"], axis=2, keepdims=0),
        node("OneHot", "i", "n", "v", axis=1),
    ]
    agrees(model(hot, [1, 4, 5], {"n": np.array(5), "v": np.array([-1.0, 2.0])}), X)
    places = [
        node("NonZero", "k", out=["i"]),
        node("Transpose", "i", out=["t"]),
        node("GatherND", "x", "t"),
    ]
    agrees(model(places, [1, 4, 5], {"k": np.array([[[0, 1, 0], [2, 0, 3]]])}), X)


def test_attention_of_one_head():
    nodes = [
        *(node("MatMul", "x", f"w{k}", out=[k]) for k in "qkv"),
        node("Transpose", "k", out=["kt"], perm=[0, 2, 1]),
        node("MatMul", "q", "kt", out=["scores"]),
        node("Div", "scores", "root", out=["scaled"]),
        node("Add", "scaled", "mask", out=["masked"]),
        node("Softmax", "masked", out=["weights"], axis=-1),
        node("MatMul", "weights", "v", out=["mixed"]),
        node("Add", "mixed", "x", out=["sum"]),
        node("LayerNormalization", "sum", "g", "b", out=["y"], axis=-1),
    ]
    held = {f"w{k}": normal(5, 5) + i for i, k in enumerate("qkv")} | {
        "root": np.sqrt(5.0),
        "g": normal(5),
        "b": normal(5),
    }
    made = model(nodes, [1, 4, 5], held | {"mask": np.triu(np.full((4, 4), -1e9), 1)})
    agrees(made, X, rtol=2e-5)
    agrees(
        model(
            nodes, [1, 4, 5], held | {"mask": np.triu(np.full((4, 4), -1e9), 1)}, dtype=np.float64
        ),
        X.astype(float),
        1e-10,
    )


def test_tokens_are_looked_up():
    made = model(
        [node("Gather", "table", "x", out=["e"]), node("ReduceMean", "e", axes=[1])],
        [1, 3],
        {"table": normal(7, 4)},
    )
    made.graph.input[0].type.tensor_type.elem_type = INT
    tokens = np.array([[2, 6, 0]])
    np.testing.assert_allclose(ours(read(made), tokens[0]), reference(made, tokens)[0], rtol=1e-5)


def test_constants_among_the_nodes_are_read_in_every_spelling():
    nodes = [
        node("Constant", out=["f"], value_float=0.5),
        node("Constant", out=["fs"], value_floats=[1.0, 2.0, 3.0, 4.0, 5.0]),
        node("Constant", out=["i"], value_ints=[1, 20]),
        node("Mul", "x", "f", out=["a"]),
        node("Add", "a", "fs", out=["b"]),
        node("Reshape", "b", "i"),
    ]
    made = model(nodes, [1, 4, 5])
    agrees(made, X)
    assert set(read(made).params) == {"fs"}


def test_statistics_and_shapes_are_not_parameters():
    held = {
        "k": normal(3, 2, 3),
        "s": normal(3),
        "b": normal(3),
        "m": normal(3),
        "v": np.ones(3),
        "scales": np.array([1, 1, 2], np.float32),
    }
    nodes = then(
        ("Conv", "k", {}),
        ("BatchNormalization", "s", "b", "m", "v", {}),
        ("Resize", "", "scales", {}),
    )
    assert set(read(model(nodes, ["n", 2, 9], held)).params) == {"k", "s", "b"}


def test_a_size_that_depends_on_the_input_is_refused_with_its_node():
    nodes = [node("Cast", "x", out=["i"], to=INT), node("Reshape", "c", "i")]
    with pytest.raises(SubjectError, match="depends on the input") as caught:
        read(model(nodes, [1], {"c": normal(6)}))
    assert "Reshape" in str(caught.value) and "until=" in str(caught.value)


def test_nodes_that_are_alike_are_traced_once(monkeypatch, tmp_path):
    """A graph of thousands of nodes is loaded in the time of a few kinds of them; its function is still every node."""
    n = 500
    names = ["x", *(f"v{k}" for k in range(n - 1)), "y"]
    nodes = [
        node("Add" if k % 2 else "Tanh", names[k], *["c"] * (k % 2), out=[names[k + 1]])
        for k in range(n)
    ]
    made = model(nodes, [1, 4], {"c": 0.1})
    computed = []
    plain = interpret._compute_node
    monkeypatch.setattr(
        interpret, "_compute_node", lambda *given: computed.append(given[1]) or plain(*given)
    )
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    net = ft.load(tmp_path / "net.onnx")
    assert len(computed) <= 10
    agrees(made, X[:, 0, :4])
    assert len(computed) > n and isinstance(net, ft.Network) and net.output_shape == (4,)


def test_nodes_that_differ_in_what_shapes_depend_on_are_told_apart():
    """The same operator, inputs of the same shape: other numbers, other attributes, an input twice or two inputs."""
    steps = [
        node("Reshape", "x", "a", out=["r"]),
        node("Reshape", "x", "b", out=["s"]),
        node("Transpose", "r", out=["t"], perm=[0, 2, 1]),
        node("Transpose", "r", out=["u"], perm=[0, 1, 2]),
        node("Concat", "t", "s", out=["c"], axis=1),
        node("Slice", "c", "zero", "two", "one", out=["d"]),
        node("Slice", "c", "zero", "three", "one", out=["e"]),
        node("Concat", "d", "e", "d", out=["f"], axis=1),
        node("ReduceSum", "u", out=["g"], keepdims=0),
        node("Mul", "f", "g"),
    ]
    held = {
        "a": I64(1, 4, 6),
        "b": I64(1, 6, 4),
        "zero": I64(0),
        "one": I64(1),
        "two": I64(2),
        "three": I64(3),
    }
    agrees(model(steps, [1, 24], held), normal(1, 24).astype(np.float32))
