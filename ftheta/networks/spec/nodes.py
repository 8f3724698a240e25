"""A spec as a graph of ONNX operators, so that one table of rules computes every imported network."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np

import ftheta.networks.spec.layers as kinds
from ftheta.logic.errors import SubjectError
from ftheta.networks.onnx.dialect import Onnx
from ftheta.networks.programs.node import Node, Port
from ftheta.networks.programs.program import Program

from .sheets import Sheet
from .tensors import NamedTensors

OPERATORS = Onnx(
    21, check="see whether the spec has the layers in order, and the shape of one input right"
)
INPUT = "input"
# as in TensorProto.DataType
FLOAT64 = 11
INT64 = 7


def graph(spec: kinds.Spec, tensors: NamedTensors, where: str) -> Program:
    """The nodes of the layers, in order."""
    sheet = Sheet(spec, tensors, WRITERS, {INPUT})
    output = sheet.chain(spec.layers, INPUT, "")
    dims = (1, *(spec.input or ()))
    whole = isinstance(spec.layers[0], kinds.Embedding)
    return Program(
        where,
        OPERATORS,
        tuple(sheet.nodes),
        tensors.taken,
        sheet.constants,
        (Port(INPUT, INT64 if whole else FLOAT64, dims),),
        (Port(output, FLOAT64, None),),
    )


# ---- layers ----------------------------------------------------------------------------------------------------------


def _dense(sheet: Sheet, layer: kinds.DenseLayer, x: str, label: str) -> str:
    weight = sheet.tensors.need("weight", layer.weight, layer.name, label)
    bias = sheet.tensors.find("bias", layer.bias, layer.name)
    if layer.constraint is None:
        return sheet.affine(weight, bias, x, label)
    unit = _unit_dense(layer.constraint, sheet.matrix(weight))
    return sheet.multiply(unit, bias, x, label, layer.constraint)


def _unit_dense(constraint: Any, weight: np.ndarray) -> np.ndarray:
    import jax

    from ftheta.networks.operators.orthogonal import CONSTRAINTS

    with jax.enable_x64(True):
        return np.asarray(CONSTRAINTS[constraint](jax.numpy.asarray(weight)))


def _group_sort(sheet: Sheet, layer: kinds.GroupSort, x: str, label: str) -> str:
    from ftheta.networks.layers.contractions import comparisons

    where = f"{sheet.tensors.where}, {label}"
    if sheet.rank != 2:
        raise SubjectError(
            "Groups of the entries of a vector are sorted.",
            where=where,
            got=f"{sheet.rank - 1} axes",
        )
    shape = sheet.constant(f"{label}:groups", [1, -1, layer.group])
    grouped = sheet.node("Reshape", [x, shape], label, "grouped")
    sizes = sheet.constant(f"{label}:ones", [1] * layer.group)
    columns = [f"{label}:entry{i}" for i in range(layer.group)]
    sheet.nodes.append(Node("Split", (grouped, sizes), tuple(columns), {"axis": 2}, label))
    for k, (one, other) in enumerate(comparisons(layer.group)):
        pair = [columns[one], columns[other]]
        columns[one] = sheet.node("Min", pair, label, f"least{k}")
        columns[other] = sheet.node("Max", pair, label, f"largest{k}")
    joined = sheet.node("Concat", columns, label, "joined", axis=2)
    return sheet.node(
        "Reshape", [joined, sheet.constant(f"{label}:flat", [1, -1])], label, "sorted"
    )


def _convex_potential(sheet: Sheet, layer: kinds.ConvexPotential, x: str, label: str) -> str:
    import jax

    from ftheta.networks.layers.contractions import ConvexPotential

    weight = sheet.tensors.need("weight", layer.weight, layer.name, label)
    bias = sheet.tensors.find("bias", layer.bias, layer.name)
    matrix = sheet.matrix(weight)
    with jax.enable_x64(True):
        back = np.asarray(ConvexPotential(len(matrix)).back({"weight": matrix}))
    inner = sheet.node("Relu", [sheet.affine(weight, bias, x, label)], label, "inner")
    return sheet.node("Add", [x, sheet.multiply(back, None, inner, label, "back")], label, "step")


def _conv(sheet: Sheet, layer: kinds.Conv, x: str, label: str) -> str:
    axes = sheet.axes(label)
    weight = sheet.tensors.need("weight", layer.weight, layer.name, label)
    bias = sheet.tensors.find("bias", layer.bias, layer.name)
    if sheet.layout != "torch":  # window axes, then channels in and out
        weight = sheet.node(
            "Transpose", [weight], label, "kernel", perm=[axes + 1, axes, *range(axes)]
        )
    attributes = {
        "strides": sheet.lengths(layer.stride, axes, label),
        "dilations": sheet.lengths(layer.dilation, axes, label),
        "group": layer.groups,
        **sheet.pads(layer.padding, axes, label),
    }
    inputs = [weight] if bias is None else [weight, bias]
    return sheet.channels_first(
        x, label, lambda x: sheet.node("Conv", [x, *inputs], label, "conv", **attributes)
    )


def _batch_norm(sheet: Sheet, layer: kinds.BatchNorm, x: str, label: str) -> str:
    scale, shift = _scale_and_shift(sheet, layer, label)
    shift = sheet.constant(f"{label}:shift", [0.0]) if shift is None else shift
    mean = sheet.tensors.need("mean", layer.mean, layer.name, label)
    variance = sheet.tensors.need("variance", layer.variance, layer.name, label)
    given = [scale, shift, mean, variance]
    epsilon = sheet.epsilon(layer.epsilon, batch=True)
    write = lambda x: sheet.node("BatchNormalization", [x, *given], label, "norm", epsilon=epsilon)
    return sheet.channels_first(x, label, write)


def _norm(sheet: Sheet, layer: kinds.Norm, x: str, label: str) -> str:
    scale, shift = _scale_and_shift(sheet, layer, label)
    epsilon = sheet.epsilon(layer.epsilon, batch=False)
    if layer.kind == "group-norm":
        shift = sheet.constant(f"{label}:shift", [0.0]) if shift is None else shift
        attributes = {"num_groups": layer.groups, "epsilon": epsilon}
        write = lambda x: sheet.node(
            "GroupNormalization", [x, scale, shift], label, "norm", **attributes
        )
        return sheet.channels_first(x, label, write)
    over = max(sheet.tensors.taken[scale].ndim, 1) if scale in sheet.tensors.taken else 1
    if layer.kind == "rms-norm":
        return sheet.node(
            "RMSNormalization", [x, scale], label, "norm", axis=-over, epsilon=epsilon
        )
    inputs = [x, scale] if shift is None else [x, scale, shift]
    return sheet.node("LayerNormalization", inputs, label, "norm", axis=-over, epsilon=epsilon)


def _scale_and_shift(sheet: Sheet, layer: kinds.Weighted, label: str) -> tuple[str, str | None]:
    scale = sheet.tensors.find("scale", layer.weight, layer.name)
    shift = sheet.tensors.find("shift", layer.bias, layer.name)
    return (sheet.constant(f"{label}:scale", [1.0]) if scale is None else scale), shift


def _activation(sheet: Sheet, layer: kinds.Activation, x: str, label: str) -> str:
    return x


def _pool(sheet: Sheet, layer: kinds.Pool, x: str, label: str) -> str:
    axes = sheet.axes(label)
    counted = sheet.layout != "keras" if layer.count_padding is None else layer.count_padding
    attributes = {
        "kernel_shape": sheet.lengths(layer.size, axes, label),
        "strides": sheet.lengths(layer.size if layer.stride is None else layer.stride, axes, label),
        "ceil_mode": int(layer.ceil),
        **sheet.pads(layer.padding, axes, label),
    }
    if layer.kind == "average-pool":
        attributes["count_include_pad"] = int(counted)
    op = "MaxPool" if layer.kind == "max-pool" else "AveragePool"
    return sheet.channels_first(
        x, label, lambda x: sheet.node(op, [x], label, "pool", **attributes)
    )


def _global_pool(sheet: Sheet, layer: kinds.GlobalPool, x: str, label: str) -> str:
    sheet.axes(label)
    op = "GlobalAveragePool" if layer.kind == "global-average-pool" else "GlobalMaxPool"
    pooled = sheet.channels_first(x, label, lambda x: sheet.node(op, [x], label, "pool"))
    return _add_flatten(sheet, pooled, label)


def _flatten(sheet: Sheet, layer: kinds.Flatten, x: str, label: str) -> str:
    return _add_flatten(sheet, x, label)


def _add_flatten(sheet: Sheet, x: str, label: str) -> str:
    sheet.rank = 2
    return sheet.node("Flatten", [x], label, "flat", axis=1)


def _reshape(sheet: Sheet, layer: kinds.Reshape, x: str, label: str) -> str:
    sheet.rank = 1 + len(layer.shape)
    return sheet.node(
        "Reshape", [x, sheet.constant(f"{label}:shape", [1, *layer.shape])], label, "reshaped"
    )


def _mean(sheet: Sheet, layer: kinds.Mean, x: str, label: str) -> str:
    sheet.rank -= 1
    return sheet.node(
        "ReduceMean",
        [x, sheet.constant(f"{label}:axis", [layer.axis + 1])],
        label,
        "mean",
        keepdims=0,
    )


def _embedding(sheet: Sheet, layer: kinds.Embedding, x: str, label: str) -> str:
    if x != INPUT:
        raise SubjectError(
            "An embedding must be the first layer.", where=f"{sheet.tensors.where}, {label}"
        )
    sheet.rank += 1
    return sheet.node(
        "Gather", [sheet.tensors.need("table", layer.weight, layer.name, label), x], label, "rows"
    )


def _add(sheet: Sheet, layer: kinds.Add, x: str, label: str) -> str:
    return sheet.node("Add", [x, sheet.tensors.take(layer.tensor)], label, "sum")


def _standardise(sheet: Sheet, layer: kinds.Standardise, x: str, label: str) -> str:
    # axes after that of the channels
    after = [1] * (sheet.rank - 2) if sheet.layout == "torch" else []
    mean, std = (
        np.asarray(value, np.float64).reshape(-1, *after) for value in (layer.mean, layer.std)
    )
    if not std.all():
        raise SubjectError("A standard deviation is zero.", where=f"{sheet.tensors.where}, {label}")
    centred = sheet.node("Sub", [x, sheet.constant(f"{label}:mean", mean)], label, "centred")
    return sheet.node("Div", [centred, sheet.constant(f"{label}:std", std)], label, "standard")


def _attention(sheet: Sheet, layer: kinds.Attention, x: str, label: str) -> str:
    """Of tokens (T, d): softmax(q kᵀ / √(d / heads)) v for every head, and a dense layer over the heads."""
    (q, k, v), width = _projections(sheet, layer, x, label)
    if width % layer.heads:
        raise SubjectError(
            "The heads do not divide the queries.",
            where=f"{sheet.tensors.where}, {label}",
            got=f"{width} numbers, {layer.heads} heads",
        )
    split = sheet.constant(f"{label}:heads", [0, 0, layer.heads, -1])
    heads = lambda y, part: sheet.node("Reshape", [y, split], label, f"{part}-heads")
    turned = lambda y, part, perm: sheet.node(
        "Transpose", [heads(y, part)], label, f"{part}-turned", perm=perm
    )
    q = turned(q, "q", [0, 2, 1, 3])
    k = turned(k, "k", [0, 2, 3, 1])
    v = turned(v, "v", [0, 2, 1, 3])
    scale = sheet.constant(f"{label}:scale", sqrt(width / layer.heads))
    scores = sheet.node(
        "Div", [sheet.node("MatMul", [q, k], label, "scores"), scale], label, "scaled"
    )
    seen = sheet.node(
        "MatMul", [sheet.node("Softmax", [scores], label, "weights", axis=-1), v], label, "seen"
    )
    back = sheet.node("Transpose", [seen], label, "back", perm=[0, 2, 1, 3])
    joined = sheet.node(
        "Reshape", [back, sheet.constant(f"{label}:joined", [0, 0, -1])], label, "heads-joined"
    )
    return _add_projection(
        sheet, layer.out or f"{layer.name}.out_proj", joined, label, "out", last=True
    )[0]


def _projections(sheet: Sheet, layer: kinds.Attention, x: str, label: str) -> tuple[list[str], int]:
    """Queries, keys and values, and how many numbers the queries of one token are."""
    packed = None if layer.query else sheet.tensors.find("in_proj_weight", None, layer.name)
    if packed is None:
        given = [layer.query, layer.key, layer.value]
        names = [
            name or f"{layer.name}.{part}" for name, part in zip(given, ("query", "key", "value"))
        ]
        found = [_add_projection(sheet, name, x, label, part) for name, part in zip(names, "qkv")]
        return [y for y, _ in found], found[0][1]
    rows = sheet.tensors.taken[packed].shape[0] // 3
    bias = sheet.tensors.find("in_proj_bias", None, layer.name)
    sizes = sheet.constant(f"{label}:thirds", [rows] * 3)
    parts: list[list[str | None]] = [[None] * 3, [None] * 3]
    for i, name in enumerate((packed, bias)):
        if name is not None:
            outputs = tuple(f"{label}:{part}-{i}" for part in "qkv")
            sheet.nodes.append(Node("Split", (name, sizes), outputs, {"axis": 0}, label))
            parts[i] = list(outputs)
    return [sheet.affine(str(w), b, x, label, part) for w, b, part in zip(*parts, "qkv")], rows


def _add_projection(
    sheet: Sheet, name: str, x: str, label: str, part: str, last: bool = False
) -> tuple[str, int]:
    """A dense layer and its width.

    flax keeps its heads apart: (d, heads, d / heads), and in the last layer (heads, d / heads, d).
    """
    weight = sheet.tensors.need("weight", None, name, label)
    bias = sheet.tensors.find("bias", None, name)
    array = sheet.tensors.taken[weight]
    if array.ndim < 2 or not array.size:
        raise SubjectError(
            "A weight must be a matrix.", where=f"{sheet.tensors.where}, {weight}", got=array.shape
        )
    if array.ndim == 3:
        dims = [-1, array.shape[2]] if last else [array.shape[0], -1]
        weight = sheet.node(
            "Reshape",
            [weight, sheet.constant(f"{label}:{part}-dims", dims)],
            label,
            f"{part}-matrix",
        )
    if bias is not None and sheet.tensors.taken[bias].ndim == 2:
        bias = sheet.node(
            "Reshape", [bias, sheet.constant(f"{label}:{part}-all", [-1])], label, f"{part}-vector"
        )
    width = array.shape[0] if sheet.layout == "torch" else array.size // array.shape[0]
    return sheet.affine(weight, bias, x, label, part), width


def _residual(sheet: Sheet, layer: kinds.Residual, x: str, label: str) -> str:
    rank = sheet.rank
    inner = sheet.chain(layer.layers, x, f"{label}/")
    after = sheet.rank
    sheet.rank = rank
    beside = sheet.chain(layer.shortcut, x, f"{label}/shortcut/")
    if after != sheet.rank:
        raise SubjectError(
            "The two ways of a residual block end in different shapes.",
            where=f"{sheet.tensors.where}, {label}",
        )
    return sheet.node("Add", [inner, beside], label, "joined")


WRITERS: Mapping[str, Callable[..., str]] = {
    "dense": _dense,
    "group-sort": _group_sort,
    "convex-potential": _convex_potential,
    "conv": _conv,
    "batch-norm": _batch_norm,
    "layer-norm": _norm,
    "rms-norm": _norm,
    "group-norm": _norm,
    "activation": _activation,
    "max-pool": _pool,
    "average-pool": _pool,
    "global-average-pool": _global_pool,
    "global-max-pool": _global_pool,
    "flatten": _flatten,
    "reshape": _reshape,
    "mean": _mean,
    "embedding": _embedding,
    "add": _add,
    "standardise": _standardise,
    "attention": _attention,
    "residual": _residual,
}
