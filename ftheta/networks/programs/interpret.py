"""A program as a function in JAX: the nodes in order, each by its rule.

Whatever depends on shapes and constants alone is computed with NumPy while the function is traced, so that the function
is static. Which numbers of the file are parameters is settled once, at import: floats among the weights, except those
that shapes depend on, the running statistics of batch normalisation and, where the format does not mark parameters, the
constants by which the input is scaled before the first layer.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import FthetaError, SubjectError

from .call import FOLDED, NOT_COMPUTED
from .feeding import Feed
from .node import Node, ancestors
from .program import Program, Survey

MAX_VALUES = 1 << 31
"""Numbers that one value may have."""
MAX_FOLDED = 256 << 20
"""Bytes of all constants computed at import."""


def rules_for_all(program: Program) -> bool:
    """Whether every operator of the program has a rule."""
    return all(program.dialect.near(node) is None for node in program.nodes)


def ensure_rules(program: Program) -> None:
    """Raise unless every node has a rule; the error names the first one that has none, and where to stop before it."""
    for node in program.nodes:
        near = program.dialect.near(node)
        if near is not None:
            nested = program.dialect.nests(node)
            raise SubjectError(
                "Subgraphs are not read." if nested else "There is no rule for this operator.",
                where=f"{program.where}, {node.label}",
                got=f"{node.domain + '.' if node.domain else ''}{node.op}"
                + (f" (there is one for {' and '.join(near)})" if near else ""),
                remedy=_instead(program, node),
            )


def _instead(program: Program, node: Node) -> str:
    before = [name for name in node.inputs if name in program.maker]
    if not before:
        return program.dialect.export
    return f"import it up to there: load(path, until={before[0]!r}), --until {before[0]}; or {program.dialect.export}"


def run(
    program: Program,
    values: Mapping[str, Any],
    survey: Survey | None = None,
    shapes: "ShapesOfNodes | None" = None,
) -> Any:
    """The output of the program; `values` are its input, its parameters and its constants by name.

    With `shapes` the output has the right shape and type, and no more: nodes that are alike are computed once.
    """
    survey = Survey() if survey is None else survey
    found: dict[str, Any] = {
        "": None,
        **{name: _in_precision(value) for name, value in values.items()},
    }
    folded = 0
    for node in program.nodes:
        inputs = [found[name] for name in node.inputs]
        if shapes is None:
            results = _compute_node(program, node, inputs, survey.read)
        else:
            results = shapes.results(program, node, inputs, survey.read)
        for name, value in zip(node.outputs, results):
            if not name:
                continue
            _ensure_size(value, program, node)
            value = _in_precision(value)
            if isinstance(value, np.ndarray):
                folded += value.nbytes
                survey.known[name] = value
            found[name] = value
        if folded > MAX_FOLDED:
            raise SubjectError(
                "The graph computes more constants than is allowed.", where=program.where
            )
    return _output(program, found)


def _in_precision(value: Any) -> Any:
    """A constant in the precision that JAX computes in now: an array that it has met in float64 it takes for float64
    ever after, which does not go with float32."""
    if (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and jnp.result_type(float) == np.float32
    ):
        return value.astype(np.float32)
    return value


def _compute_node(
    program: Program, node: Node, inputs: list[Any], read: set[str]
) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            result = program.dialect.compute(node, inputs, read)
    except FthetaError:
        raise
    except Exception as error:  # NumPy and JAX raise many kinds for shapes that do not fit
        raise SubjectError(
            "A node does not fit its inputs.",
            where=f"{program.where}, {node.label}",
            got=f"{str(error).splitlines()[0] if str(error) else type(error).__name__}; inputs of shapes "
            + ", ".join(str(np.shape(value)) for value in inputs if value is not None),
            remedy=program.dialect.check,
        ) from error
    values = result if isinstance(result, tuple) else (result,)
    if len(values) < len([name for name in node.outputs if name]):
        raise SubjectError(
            "A node has more outputs than its rule computes.",
            where=f"{program.where}, {node.label}",
        )
    return tuple(np.asarray(v) if isinstance(v, np.generic) else v for v in values)


class ShapesOfNodes:
    """Results of nodes inside one trace, for whoever wants shapes alone: a large graph repeats few kinds of nodes.

    Two nodes are alike if they have the same operator and attributes, and inputs of the same shapes and types; inputs
    that are known must be equal, since shapes may depend on them. The second one gets the results of the first.
    """

    def __init__(self) -> None:
        self.found: dict[Any, tuple[tuple[Any, ...], tuple[int, ...]]] = {}

    def results(
        self, program: Program, node: Node, inputs: list[Any], read: set[str]
    ) -> tuple[Any, ...]:
        key = _likeness(node, inputs)
        if key not in self.found:
            had_to_be_known = set[str]()
            results = _compute_node(program, node, inputs, had_to_be_known)
            places = tuple(k for k, name in enumerate(node.inputs) if name in had_to_be_known)
            self.found[key] = (results, places)
        results, places = self.found[key]
        read.update(node.inputs[k] for k in places)
        return results


def _likeness(node: Node, inputs: list[Any]) -> Any:
    """What results depend on, as far as shapes go; inputs that are one tensor are told from two tensors alike."""
    attributes = tuple(sorted((name, _frozen(value)) for name, value in node.attributes.items()))
    kept = tuple(bool(name) for name in node.outputs)
    repeated = tuple(node.inputs.index(name) for name in node.inputs)
    return (
        node.domain,
        node.op,
        repr(attributes),
        kept,
        repeated,
        tuple(_seen(value) for value in inputs),
    )


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return [_frozen(one) for one in value] if isinstance(value, (list, tuple)) else value


def _seen(value: Any) -> Any:
    """All of a small array that is known, shape and type of one that is not; of a large one its place in memory."""
    if isinstance(value, np.ndarray) and value.size <= FOLDED:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, jax.Array):  # tracers are arrays too
        return value.shape, value.dtype.str, value.aval.weak_type
    if value is None or isinstance(value, (int, float)):
        return type(value), value
    return id(value)  # every value is kept until the last node is computed


def _ensure_size(value: Any, program: Program, node: Node) -> None:
    if prod(np.shape(value)) > MAX_VALUES:
        raise SubjectError(
            "A value of the network is larger than is allowed.",
            where=f"{program.where}, {node.label}",
            got=np.shape(value),
        )


def _output(program: Program, found: Mapping[str, Any]) -> Any:
    name = program.outputs[0].name
    if name not in found:
        raise SubjectError("Nothing makes the output of the graph.", where=program.where, got=name)
    if found[name] is NOT_COMPUTED:
        raise SubjectError(
            "This value is not computed.",
            where=program.where,
            got=name,
            remedy="choose another output",
        )
    return found[name]


# ---- parameters and constants ----------------------------------------------------------------------------------------


def survey(program: Program, feed: Feed) -> Survey:
    """Run the program on shapes alone; small tensors of the file are known, large ones are not."""
    small = {
        k: v
        for held in (program.weights, program.constants)
        for k, v in held.items()
        if v.size <= FOLDED
    }
    large = {
        k: v
        for held in (program.weights, program.constants)
        for k, v in held.items()
        if v.size > FOLDED
    }
    fixed = {k: v for k, v in large.items() if v.dtype.kind != "f"}
    shapes = {
        k: jax.ShapeDtypeStruct(v.shape, np.float64) for k, v in large.items() if k not in fixed
    }
    seen = Survey()

    def evaluate(x: Any, weights: dict[str, Any]) -> Any:
        return jnp.asarray(
            run(program, {**small, **fixed, **weights, **feed.values(x)}, seen, ShapesOfNodes())
        )

    jax.eval_shape(evaluate, feed.example, shapes)
    return seen


def parameters(program: Program, feed: Feed, seen: Survey) -> dict[str, np.ndarray]:
    """Floats among the weights that no shape depends on and that are no scaling of an input."""
    known = {
        name: node
        for name, node in program.maker.items()
        if name in seen.known and node.op not in ("Shape", "Size")
    }
    fixed = ancestors(known, seen.read)
    if not program.dialect.marks_parameters:
        fixed = fixed.union(*(scaling_constants(program, part.name) for part in feed.parts))
    return {k: v for k, v in program.weights.items() if v.dtype.kind == "f" and k not in fixed}


SCALES = frozenset(("Add", "Sub", "Mul", "Div"))
UNMOVED = frozenset(
    ("Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout", "Cast", "Transpose")
)
LAYERS = frozenset(("Gemm", "MatMul", "Conv", "ConvTranspose"))


def scaling_constants(program: Program, name: str) -> set[str]:
    r"""Tensors that do nothing but scale or shift the input `name` of a first layer, as $\mu,\sigma$ of
    $W(x-\mu)/\sigma+b$ do.

    The input may be moved and reshaped on its way. Where it reaches anything but a layer the tensors may have been
    learnt, and none is told.
    """
    reached = {name}
    tensors = set[str]()
    for node in program.nodes:
        from_input = [k for k in node.inputs if k in reached]
        others = [k for k in node.inputs if k and k not in reached]
        if not from_input or node.op in LAYERS:
            continue
        scales = (
            node.op in SCALES
            and len(from_input) == 1
            and all(program.tensor(k) is not None for k in others)
        )
        if not scales and node.op not in UNMOVED:
            return set()
        reached |= set(node.outputs)
        tensors |= set(others) if scales else set()
    ends = {port.name for port in program.outputs}
    elsewhere = {
        k for node in program.nodes if not reached & set(node.outputs) for k in node.inputs
    }
    return set() if ends & reached else tensors - elsewhere


def function(
    program: Program, feed: Feed, names: set[str], *, shapes_alone: bool = False
) -> Callable[[Any, Any], Any]:
    """`apply(params, x)` for one input `x`; a batch axis of one is added to it and taken off the output.

    With `shapes_alone` it is quick to trace, and has the shapes and types of that function but not its values.
    """
    fixed = {
        k: v
        for held in (program.weights, program.constants)
        for k, v in held.items()
        if k not in names
    }

    def apply(params: Mapping[str, Any], x: Any) -> Any:
        weights = {k: jnp.asarray(v) for k, v in params.items()}
        shapes = ShapesOfNodes() if shapes_alone else None
        y = jnp.asarray(run(program, {**fixed, **weights, **feed.values(x)}, shapes=shapes))
        return y[0] if feed.has_batch and y.ndim and y.shape[0] == 1 else y

    return apply
