"""A model as a function in JAX: the nodes in order, each by its rule.

Whatever depends on shapes and constants alone is computed with NumPy while the function is traced, so that the function
is static. Which numbers of the file are parameters is settled once, at import: floats named as weights, except those
that shapes depend on and the running statistics of batch normalisation.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import FthetaError, SubjectError

from .call import FOLDED, Call
from .model import Model, Node, ancestors
from .rules import RULES

MAX_VALUES = 1 << 31
"""Numbers that one value may have."""
MAX_FOLDED = 256 << 20
"""Bytes of all constants computed at import."""

CONTROL = frozenset(("If", "Loop", "Scan", "SequenceMap"))


@dataclass
class Survey:
    """What was seen while the nodes were computed: shapes, values known at import, names that had to be known."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    known: dict[str, np.ndarray] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)


def ensure_rules(model: Model) -> None:
    """Raise unless every node has a rule; the error names the first one that has none, and where to stop before it."""
    for node in model.nodes:
        if node.domain or node.op not in RULES:
            near = [] if node.domain else difflib.get_close_matches(node.op, RULES, n=2, cutoff=0.75)
            why = "Subgraphs are not read." if node.op in CONTROL else "There is no rule for this operator."
            raise SubjectError(
                why,
                where=f"{model.where}, {node.label}",
                got=f"{node.domain + '.' if node.domain else ''}{node.op}"
                + (f" (there is one for {' and '.join(near)})" if near else ""),
                remedy=_instead(model, node),
            )


def _instead(model: Model, node: Node) -> str:
    before = [name for name in node.inputs if name in model.maker]
    export = "export the network with standard operators (torch.onnx.export, opset 17)"
    if not before:
        return export
    return f"import it up to there: load(path, until={before[0]!r}), --until {before[0]}; or {export}"


def run(model: Model, values: Mapping[str, Any], survey: Survey | None = None) -> Any:
    """The output of the model; `values` are its input, its parameters and its constants by name."""
    survey = Survey() if survey is None else survey
    found: dict[str, Any] = {"": None, **values}
    folded = 0
    for node in model.nodes:
        results = _computed(model, node, [found[name] for name in node.inputs], survey.read)
        for name, value in zip(node.outputs, results):
            if not name:
                continue
            _ensure_size(value, model, node)
            survey.shapes[name] = value.shape
            if isinstance(value, np.ndarray):
                folded += value.nbytes
                survey.known[name] = value
            found[name] = value
        if folded > MAX_FOLDED:
            raise SubjectError("The graph computes more constants than is allowed.", where=model.where)
    return _output(model, found)


def _computed(model: Model, node: Node, inputs: list[Any], read: set[str]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            result = RULES[node.op](Call(node, model.opset, inputs, read), *inputs)
    except FthetaError:
        raise
    except Exception as error:  # NumPy and JAX raise many kinds for shapes that do not fit
        raise SubjectError(
            "A node does not fit its inputs.",
            where=f"{model.where}, {node.label}",
            got=f"{str(error).splitlines()[0] if str(error) else type(error).__name__}; inputs of shapes "
            + ", ".join(str(np.shape(value)) for value in inputs if value is not None),
            remedy="export the network again, and see what onnx.checker says of it",
        ) from error
    values = result if isinstance(result, tuple) else (result,)
    if len(values) < len([name for name in node.outputs if name]):
        raise SubjectError("A node has more outputs than its rule computes.", where=f"{model.where}, {node.label}")
    return tuple(np.asarray(v) if isinstance(v, np.generic) else v for v in values)


def _ensure_size(value: Any, model: Model, node: Node) -> None:
    if prod(value.shape) > MAX_VALUES:
        raise SubjectError(
            "A value of the network is larger than is allowed.", where=f"{model.where}, {node.label}", got=value.shape
        )


def _output(model: Model, found: Mapping[str, Any]) -> Any:
    name = model.outputs[0].name
    if name not in found:
        raise SubjectError("Nothing makes the output of the graph.", where=model.where, got=name)
    return found[name]


# ---- parameters and constants ----------------------------------------------------------------------------------------


def survey(model: Model, name: str, example: jax.ShapeDtypeStruct) -> Survey:
    """Run the model on shapes alone; small tensors of the file are known, large ones are not."""
    small = {k: v for held in (model.weights, model.constants) for k, v in held.items() if v.size <= FOLDED}
    large = {k: v for held in (model.weights, model.constants) for k, v in held.items() if v.size > FOLDED}
    fixed = {k: v for k, v in large.items() if v.dtype.kind != "f"}
    shapes = {k: jax.ShapeDtypeStruct(v.shape, np.float64) for k, v in large.items() if k not in fixed}
    seen = Survey()

    def traced(x: Any, weights: dict[str, Any]) -> Any:
        return jnp.asarray(run(model, {**small, **fixed, **weights, name: x}, seen))

    jax.eval_shape(traced, example, shapes)
    seen.shapes |= {k: v.shape for k, v in {**small, **large}.items()} | {name: example.shape}
    return seen


def parameters(model: Model, seen: Survey) -> dict[str, np.ndarray]:
    """Floats that the file names as weights (or keeps among its nodes as arrays) and that no shape depends on."""
    known = {
        name: node for name, node in model.maker.items() if name in seen.known and node.op not in ("Shape", "Size")
    }
    fixed = ancestors(known, seen.read)
    listed = {**model.weights, **{k: v for k, v in model.constants.items() if v.size > 1}}
    return {k: v for k, v in listed.items() if v.dtype.kind == "f" and k not in fixed}


def function(model: Model, name: str, batch: bool, whole: bool, names: set[str]) -> Callable[[Any, Any], Any]:
    """`apply(params, x)` for one input `x`; a batch axis of one is added to it and taken off the output."""
    fixed = {k: v for held in (model.weights, model.constants) for k, v in held.items() if k not in names}

    def apply(params: Mapping[str, Any], x: Any) -> Any:
        x = jnp.asarray(x)
        x = x.astype(int if whole else float)
        weights = {k: jnp.asarray(v) for k, v in params.items()}
        y = jnp.asarray(run(model, {**fixed, **weights, name: x[None] if batch else x}))
        return y[0] if batch and y.ndim and y.shape[0] == 1 else y

    return apply
