"""Every operator agrees with onnxruntime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ftheta.networks.onnx.rules import RULES

from ...thoroughness import max_examples
from .graphs import agrees, model, node, ours, read

RNG = np.random.default_rng(5)
IMAGE = (1, 4, 7, 6)
ROW = (1, 6)
SIGNAL = (1, 3, 9)
VOLUME = (1, 2, 5, 4, 3)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def positive(*shape):
    return np.abs(normal(*shape)) + 0.5


I64 = lambda *n: np.array(n, np.int64)
LEFT_OUT = np.zeros(0)
UNEVEN = np.array([1.0, 1.0, 1.7, 0.6])

# op, shape of the input, further inputs, attributes, opset
CASES = [
    *(
        (op, IMAGE, [normal(4, 1, 6)], {}, opset)
        for op in ("Add", "Sub", "Mul", "Div", "PRelu", "Max", "Min", "Sum", "Mean")
        for opset in (13, 17)
    ),
    *((op, IMAGE, [], {}, 17) for op in ("Neg", "Abs", "Exp", "Sign", "Floor", "Ceil", "Round", "Sin", "Cos", "Tan")),
    *((op, IMAGE, [], {}, 17) for op in ("Sinh", "Cosh", "Atan", "Asinh", "Reciprocal", "Identity", "Softsign")),
    *((op, IMAGE, [], {}, 17) for op in ("Relu", "Sigmoid", "Tanh", "Softplus", "Erf", "HardSwish", "Max", "Sum")),
    ("Pow", IMAGE, [np.array(2.0)], {}, 17),
    ("Pow", IMAGE, [np.array([3.0])], {}, 17),
    ("Mod", IMAGE, [np.array([0.7])], {"fmod": 1}, 17),
    ("LeakyRelu", IMAGE, [], {}, 16),
    ("LeakyRelu", IMAGE, [], {"alpha": 0.3}, 9),
    ("Elu", IMAGE, [], {"alpha": 0.7}, 17),
    ("Celu", IMAGE, [], {"alpha": 0.7}, 17),
    ("Selu", IMAGE, [], {}, 17),
    ("HardSigmoid", IMAGE, [], {}, 17),
    ("HardSigmoid", IMAGE, [], {"alpha": 0.3, "beta": 0.1}, 17),
    ("ThresholdedRelu", IMAGE, [], {"alpha": 0.4}, 17),
    ("Mish", IMAGE, [], {}, 18),
    ("Gelu", IMAGE, [], {}, 20),
    ("Gelu", IMAGE, [], {"approximate": "tanh"}, 20),
    ("Clip", IMAGE, [], {"min": -0.5, "max": 0.25}, 9),
    ("Clip", IMAGE, [np.array(-0.5), np.array(0.25)], {}, 13),
    ("Clip", IMAGE, [np.array(-0.5)], {}, 13),
    *((op, IMAGE, [], a, o) for op in ("Softmax", "LogSoftmax") for a, o in (({}, 9), ({"axis": 2}, 11), ({}, 13))),
    ("Softmax", IMAGE, [], {"axis": 1}, 13),
    # products
    ("MatMul", ROW, [normal(6, 3)], {}, 13),
    ("MatMul", IMAGE, [normal(6, 3)], {}, 13),
    ("MatMul", IMAGE, [normal(4, 6, 2)], {}, 13),
    ("Gemm", ROW, [normal(6, 3)], {}, 13),
    ("Gemm", ROW, [normal(3, 6), normal(3)], {"transB": 1, "alpha": 0.5, "beta": 2.0}, 9),
    ("Gemm", (1, 5), [normal(1, 3), normal(1, 3)], {"transA": 1}, 13),
    ("Einsum", IMAGE, [normal(6, 3)], {"equation": "ncij,jk->nkic"}, 13),
    # shapes
    ("Flatten", IMAGE, [], {}, 13),
    ("Flatten", IMAGE, [], {"axis": -2}, 13),
    ("Flatten", IMAGE, [], {"axis": 4}, 13),
    ("Reshape", IMAGE, [I64(0, -1, 3)], {}, 13),
    ("Reshape", IMAGE, [I64(1, 6, 4, -1)], {"allowzero": 1}, 14),
    ("Transpose", IMAGE, [], {"perm": [0, 3, 1, 2]}, 13),
    ("Transpose", IMAGE, [], {}, 13),
    ("Squeeze", (1, 1, 5, 1), [], {"axes": [1, -1]}, 11),
    ("Squeeze", (1, 1, 5, 1), [I64(1)], {}, 13),
    ("Unsqueeze", ROW, [], {"axes": [1, 3]}, 11),
    ("Unsqueeze", ROW, [I64(-1, 0)], {}, 13),
    ("Concat", IMAGE, [normal(1, 2, 7, 6)], {"axis": 1}, 13),
    ("Concat", IMAGE, [normal(1, 4, 7, 1)], {"axis": -1}, 13),
    ("Expand", (1, 4, 1), [I64(3, 1, 1, 5)], {}, 13),
    ("Tile", SIGNAL, [I64(1, 2, 3)], {}, 13),
    ("Pad", IMAGE, [], {"pads": [0, 0, 1, 2, 0, 1, 0, 3], "value": 0.5}, 9),
    ("Pad", IMAGE, [I64(0, 0, 1, 2, 0, 1, 0, 3), np.array(0.5)], {}, 13),
    ("Pad", IMAGE, [I64(0, 0, -1, 2, 0, 0, 1, -2)], {}, 13),
    *(("Pad", IMAGE, [I64(0, 0, 2, 1, 0, 0, 1, 2)], {"mode": mode}, 13) for mode in ("reflect", "edge")),
    ("Pad", IMAGE, [I64(2, 1), np.array(1.5), I64(-1)], {}, 18),
    ("DepthToSpace", (1, 8, 2, 3), [], {"blocksize": 2}, 13),
    ("DepthToSpace", (1, 8, 2, 3), [], {"blocksize": 2, "mode": "CRD"}, 13),
    ("SpaceToDepth", (1, 2, 4, 6), [], {"blocksize": 2}, 13),
    ("Dropout", IMAGE, [], {}, 13),
    # picking
    ("Slice", IMAGE, [], {"starts": [1, -3], "ends": [3, 100], "axes": [1, 2]}, 9),
    ("Slice", IMAGE, [], {"starts": [0, 1], "ends": [1, 3]}, 9),
    ("Slice", IMAGE, [I64(1, -1), I64(9, -100), I64(2, -1), I64(2, -2)], {}, 13),
    ("Slice", IMAGE, [I64(-100), I64(-100), I64(2), I64(-1)], {}, 13),  # from before the first entry
    ("Slice", IMAGE, [I64(0, 2), I64(1, 4)], {}, 13),
    ("Gather", IMAGE, [I64(2)], {"axis": 1}, 13),
    ("Gather", IMAGE, [np.array(-1)], {"axis": 2}, 13),
    ("Gather", IMAGE, [np.array([[0, 1], [3, -2]])], {"axis": 3}, 13),
    ("GatherElements", ROW, [np.array([[2, -1, 0]])], {"axis": 1}, 13),
    ("GatherND", IMAGE, [np.array([[0, 1, 2], [0, -1, 3]])], {}, 13),
    ("GatherND", IMAGE, [np.array([[[1, 2], [3, -1]]])], {"batch_dims": 1}, 13),
    ("ScatterElements", ROW, [np.array([[1, 4]]), normal(1, 2)], {"axis": 1}, 13),
    ("ScatterElements", ROW, [np.array([[1, 1]]), normal(1, 2)], {"axis": 1, "reduction": "add"}, 16),
    ("Scatter", ROW, [np.array([[1, 4]]), normal(1, 2)], {"axis": 1}, 9),
    ("ScatterND", IMAGE, [np.array([[0, 1], [0, 3]]), normal(2, 7, 6)], {}, 16),
    ("ArgMax", IMAGE, [], {"axis": 2}, 13),
    ("ArgMax", IMAGE, [], {"axis": -1, "keepdims": 0}, 13),
    ("ArgMin", IMAGE, [], {"axis": 1}, 13),
    ("TopK", IMAGE, [I64(3)], {"axis": 2}, 13),
    ("TopK", IMAGE, [I64(2)], {"largest": 0}, 13),
    ("Trilu", (1, 5, 4), [], {}, 17),
    ("Trilu", (1, 5, 4), [np.array(1)], {"upper": 0}, 17),
    # reductions
    *(
        (f"Reduce{word}", IMAGE, [], {"axes": [1, -1]}, 11)
        for word in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp")
    ),
    ("ReduceMean", IMAGE, [], {"keepdims": 0}, 13),
    ("ReduceSum", IMAGE, [I64(2)], {"keepdims": 0}, 13),
    ("ReduceSum", IMAGE, [I64()], {"noop_with_empty_axes": 1}, 13),
    ("ReduceL2", IMAGE, [I64()], {"noop_with_empty_axes": 1}, 18),
    ("ReduceLogSumExp", IMAGE, [I64()], {"noop_with_empty_axes": 1}, 18),
    ("ReduceMean", IMAGE, [I64()], {"noop_with_empty_axes": 1}, 18),
    ("ReduceSumSquare", IMAGE, [I64()], {"noop_with_empty_axes": 1}, 18),
    ("ReduceMax", IMAGE, [I64(1, 2)], {}, 18),
    *(("CumSum", IMAGE, [np.array(2)], {"exclusive": e, "reverse": r}, 14) for e in (0, 1) for r in (0, 1)),
    # convolutions
    ("Conv", SIGNAL, [normal(5, 3, 4), normal(5)], {"pads": [2, 1], "strides": [2]}, 11),
    ("Conv", IMAGE, [normal(6, 4, 3, 2), normal(6)], {"pads": [1, 0, 2, 1], "dilations": [2, 1]}, 11),
    ("Conv", IMAGE, [normal(6, 2, 3, 3)], {"group": 2, "strides": [2, 3]}, 11),
    ("Conv", IMAGE, [normal(4, 1, 3, 3)], {"group": 4, "kernel_shape": [3, 3]}, 9),
    ("Conv", VOLUME, [normal(3, 2, 2, 2, 2), normal(3)], {"pads": [1, 0, 0, 0, 1, 1]}, 11),
    *(
        ("Conv", IMAGE, [normal(3, 4, 4, 3)], {"auto_pad": mode, "strides": [2, 2]}, 11)
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    ("ConvTranspose", SIGNAL, [normal(3, 2, 4), normal(2)], {"strides": [3], "pads": [1, 2]}, 11),
    ("ConvTranspose", IMAGE, [normal(4, 3, 3, 3)], {"strides": [2, 2], "output_padding": [1, 0]}, 11),
    ("ConvTranspose", IMAGE, [normal(4, 3, 3, 2)], {"group": 2, "dilations": [2, 1], "pads": [1, 0, 0, 1]}, 11),
    ("ConvTranspose", IMAGE, [normal(4, 2, 3, 3)], {"strides": [2, 2], "output_shape": [14, 13]}, 11),
    ("ConvTranspose", IMAGE, [normal(4, 2, 3, 3)], {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, 11),
    # pools
    ("MaxPool", IMAGE, [], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}, 12),
    ("MaxPool", IMAGE, [], {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}, 12),
    ("MaxPool", IMAGE, [], {"kernel_shape": [2, 2], "dilations": [2, 3]}, 12),
    ("MaxPool", SIGNAL, [], {"kernel_shape": [4], "auto_pad": "SAME_LOWER", "strides": [3]}, 12),
    ("AveragePool", IMAGE, [], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, 11),
    ("AveragePool", IMAGE, [], {"kernel_shape": [3, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}, 11),
    ("AveragePool", IMAGE, [], {"kernel_shape": [4, 4], "strides": [2, 3], "ceil_mode": 1}, 19),
    ("AveragePool", VOLUME, [], {"kernel_shape": [2, 2, 2]}, 11),
    ("AveragePool", IMAGE, [], {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, 11),
    ("GlobalAveragePool", IMAGE, [], {}, 11),
    ("GlobalMaxPool", VOLUME, [], {}, 11),
    # normalisations
    *(
        ("BatchNormalization", s, [normal(s[1]), -normal(s[1]), normal(s[1]), positive(s[1])], {"epsilon": 0.01}, o)
        for s, o in ((IMAGE, 9), (SIGNAL, 14), ((1, 5), 15))
    ),
    ("InstanceNormalization", IMAGE, [normal(4), normal(4)], {}, 17),
    ("LayerNormalization", IMAGE, [normal(6), normal(6)], {}, 17),
    ("LayerNormalization", IMAGE, [normal(7, 6)], {"axis": 2}, 17),
    ("RMSNormalization", IMAGE, [normal(7, 6)], {"axis": 2}, 23),
    ("Swish", IMAGE, [], {"alpha": 0.5}, 24),
    ("GroupNormalization", IMAGE, [normal(2), normal(2)], {"num_groups": 2}, 18),
    ("GroupNormalization", IMAGE, [normal(4), normal(4)], {"num_groups": 2}, 21),
    ("LRN", IMAGE, [], {"size": 3, "alpha": 0.1, "bias": 2.0}, 13),
    ("LRN", IMAGE, [], {"size": 5}, 13),
    ("LpNormalization", IMAGE, [], {"axis": 1}, 13),
    ("LpNormalization", IMAGE, [], {"axis": 2, "p": 1}, 13),
    ("MeanVarianceNormalization", IMAGE, [], {}, 13),
    # resampling
    ("Upsample", IMAGE, [np.array([1.0, 1.0, 2.0, 3.0])], {}, 9),
    ("Upsample", IMAGE, [np.array([1.0, 1.0, 2.0, 2.0])], {"mode": "linear"}, 9),
    ("Resize", IMAGE, [np.array([1.0, 1.0, 2.0, 1.5])], {}, 10),
    *(
        ("Resize", IMAGE, [LEFT_OUT, UNEVEN], {"coordinate_transformation_mode": c, "mode": m}, 13)
        for c in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        for m in ("nearest", "linear")
    ),
    *(
        ("Resize", IMAGE, [LEFT_OUT, np.array([1.0, 1.0, 2.0, 0.5])], {"nearest_mode": m}, 13)
        for m in ("round_prefer_ceil", "floor", "ceil")
    ),
    ("Resize", IMAGE, [LEFT_OUT, LEFT_OUT, I64(1, 4, 3, 11)], {"mode": "linear"}, 13),
]  # fmt: skip


def built(op, shape, others, attributes, opset, dtype: type = np.float32):
    names = {f"t{i}": array for i, array in enumerate(others)}
    # optional inputs left out
    spared = {k for k, v in names.items() if v.size == 0 and op == "Resize"}
    inputs = ["" if k in spared else k for k in names]
    outs = ("y", "places") if op == "TopK" else ("y",)
    kept = {k: v for k, v in names.items() if k not in spared}
    if op in ("Resize", "Upsample"):  # scales are float32 whatever the data are
        kept = {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in kept.items()}
    return model(
        [node(op, "x", *inputs, out=outs, **attributes)],
        list(shape),
        kept,
        opset=opset,
        dtype=dtype,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}")
def test_an_operator_agrees_with_onnxruntime(case):
    agrees(built(*case), normal(*case[1]).astype(np.float32))


NO_PEER = frozenset(
    (
        "Erf",
        "HardSwish",
        "Celu",
        "Gelu",
        "GlobalMaxPool",
        "GroupNormalization",
        "LRN",
        "Resize",
        "Upsample",
    )
)
NO_PEER |= {"ConvTranspose", "MeanVarianceNormalization"}
"""Operators that no peer computes in float64 throughout, or for all attributes; formulas below stand in."""


@pytest.mark.parametrize(
    "case", [c for c in CASES if c[0] not in NO_PEER], ids=lambda case: f"{case[0]}-{case[4]}"
)
def test_an_operator_agrees_in_float64(case):
    """To 1e-10, with onnxruntime where it has a kernel for float64, else with the reference evaluator of onnx."""
    agrees(built(*case, dtype=np.float64), normal(*case[1]), rtol=1e-10)


def _group_norm(x, scale, shift):
    parts = x.reshape(2, -1)
    epsilon = float(np.float32(1e-5))
    unit = (parts - parts.mean(1, keepdims=True)) / np.sqrt(parts.var(1, keepdims=True) + epsilon)
    return unit.reshape(x.shape) * scale[:, None, None] + shift[:, None, None]


def _standard(x):
    return (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True)


def _lrn(x):
    y = np.empty_like(x)
    for c in range(len(x)):
        squares = (x[max(0, c - 1) : c + 2] ** 2).sum(0)
        y[c] = x[c] / (2.0 + np.float64(np.float32(0.1)) / 3 * squares) ** 0.75
    return y


def _transposed_convolution(x, kernel):
    """Every entry of the input puts the kernel, scaled by it, where the stride says."""
    (outs, kh, kw) = kernel.shape[1:]
    (h, w) = x.shape[1:]
    y = np.zeros((outs, 2 * (h - 1) + kh + 1, 2 * (w - 1) + kw))
    for i in range(h):
        for j in range(w):
            y[:, 2 * i : 2 * i + kh, 2 * j : 2 * j + kw] += np.einsum(
                "c,cohw->ohw", x[:, i, j], kernel
            )
    return y


TANH_GELU = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
FORMULAS = [
    ("Erf", [], {}, 17, special.erf),
    ("Gelu", [], {}, 20, lambda x: x * special.ndtr(x)),
    ("Gelu", [], {"approximate": "tanh"}, 20, TANH_GELU),
    ("HardSwish", [], {}, 17, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("Celu", [], {"alpha": 0.5}, 17, lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5))),
    ("GlobalMaxPool", [], {}, 17, lambda x: x.max((1, 2), keepdims=True)),
    ("GroupNormalization", [normal(4), normal(4)], {"num_groups": 2}, 21, _group_norm),
    ("LRN", [], {"size": 3, "alpha": 0.1, "bias": 2.0}, 13, _lrn),
    ("MeanVarianceNormalization", [], {}, 13, _standard),
    ("Upsample", [np.array([1, 1, 2, 3], np.float32)], {}, 9, lambda x, _: x.repeat(2, 1).repeat(3, 2)),
    ("ConvTranspose", [normal(4, 2, 3, 3)], {"strides": [2, 2], "output_padding": [1, 0]}, 11, _transposed_convolution),
]  # fmt: skip


@pytest.mark.parametrize(
    "op, others, attributes, opset, formula",
    FORMULAS,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_an_operator_without_a_peer_in_float64_is_its_formula(
    op, others, attributes, opset, formula
):
    # there, 1e-9 is added to a deviation
    x = normal(*IMAGE) if op != "MeanVarianceNormalization" else 100 * normal(*IMAGE)
    made = built(op, IMAGE, others, attributes, opset, np.float64)
    np.testing.assert_allclose(
        ours(read(made), x[0]), formula(x[0], *others), rtol=1e-10, atol=1e-10
    )


@given(
    strides=st.integers(1, 3),
    dilation=st.integers(1, 2),
    pad=st.integers(0, 2),
    groups=st.sampled_from([1, 2]),
)
@max_examples(5)
def test_a_transposed_convolution_is_the_adjoint_of_the_convolution(strides, dilation, pad, groups):
    kernel = normal(4, 6 // groups, 3)
    n = 11
    how = {"strides": [strides], "dilations": [dilation], "pads": [pad, pad], "group": groups}
    forth = read(model([node("Conv", "x", "k", **how)], [1, 6, n], {"k": kernel}, dtype=np.float64))
    y = normal(*np.shape(ours(forth, normal(6, n))))
    how["output_padding"] = [(n + 2 * pad - 2 * dilation - 1) % strides]
    back = read(
        model(
            [node("ConvTranspose", "x", "k", **how)], [1, *y.shape], {"k": kernel}, dtype=np.float64
        )
    )
    x = normal(6, n)
    np.testing.assert_allclose((ours(forth, x) * y).sum(), (x * ours(back, y)).sum(), rtol=1e-10)


def test_every_operator_with_a_rule_is_tested():
    elsewhere = {
        "Constant",
        "ConstantOfShape",
        "Shape",
        "Size",
        "Range",
        "Split",
        "Cast",
        "CastLike",
        "Where",
        "Equal",
    }
    elsewhere |= {
        "Greater",
        "Less",
        "GreaterOrEqual",
        "LessOrEqual",
        "And",
        "Or",
        "Not",
        "Xor",
        "IsNaN",
        "Sqrt",
        "Log",
    }
    elsewhere |= {
        "Asin",
        "Acos",
        "Acosh",
        "Atanh",
        "ReduceLogSum",
        "OneHot",
        "NonZero",
        "LSTM",
        "GRU",
        "RNN",
    }
    assert set(RULES) <= {case[0] for case in CASES} | elsewhere
