"""The one door to JAX's graphs: `trace` turns any JAX function into a flat `Graph`.

A jaxpr is nested (jit in scan in checkpoint ...) and full of constants. The walk below flattens it:

* calls (`jit`, `closed_call`, `checkpoint`) are entered, so that they leave no trace of their own;
* `scan`, and `while` where the predicate is known at every step, are unrolled, up to a budget of equations;
* `cond` with a known predicate becomes the branch taken; otherwise it stays one node with its branches inside;
* `custom_jvp_call` and `custom_vjp_call` stay one node with the body inside: entering them would replace the
  user's derivative by another one (that of `relu` at 0 would change from 0 to 1/2);
* what depends on constants alone is computed here and becomes a constant; what no output needs is dropped.

Everything else becomes one node that evaluates one equation. Only `compiling.py` touches `jax.extend.core` besides.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.extend import core as jex
from jax.tree_util import tree_flatten_with_path

import ftheta.graph.leaves as leaves
from ftheta.graph.constructs import give_name, select_case, take_branch
from ftheta.graph.equations import kind_of, precision_of
from ftheta.graph.errors import GraphTooLarge, NotTraceable
from ftheta.graph.graph import Graph, Node, Signature, Slot
from ftheta.graph.layout import MOVES
from ftheta.graph.leaves import concrete, is_array, plain_value, shape_of
from ftheta.graph.loops import unroll_scan, unroll_while
from ftheta.graph.primitives import UNROUNDED
from ftheta.graph.sources import definition, input_name, user_line

BUDGET = 20_000
"""Equations that `trace` visits before it gives up; each unrolled step of a loop counts anew."""

CALLS = {
    **dict.fromkeys(("jit", "pjit", "remat", "remat2", "checkpoint"), "jaxpr"),
    **dict.fromkeys(("closed_call", "core_call", "call"), "call_jaxpr"),
}
"""Calls that are entered, with the parameter that holds the callee."""

CUSTOM = {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
"""Calls that bring a derivative of their own and stay one node."""

JAX_FOLDER = str(Path(jax.__file__).parent)
OWN_FILES = (__file__, leaves.__file__)


def trace(
    f: Callable[..., Any],
    *args: Any,
    names: Sequence[str] | None = None,
    budget: int = BUDGET,
    fold_rounded: bool = True,
) -> Graph:
    """The graph of `f` at the shapes and dtypes of `args` (arrays, `ShapeDtypeStruct`s, or pytrees of them).

    Leaves of `args` that are not arrays (functions inside a module, strings) are taken as part of the program.
    `names` renames the inputs, one name a leaf; by default they carry the argument's name and path. Inside `f`,
    `named(x, "u")` names a sub-expression. Nothing of JAX's configuration is changed: the graph is traced in the
    precision mode of the caller (`jax.enable_x64`). Constants that the program computes are computed here, in floats;
    without `fold_rounded` those that floats may have rounded stay nodes of the graph, so that a domain with outward
    rounding or rationals computes them itself.
    """
    paths, tree = tree_flatten_with_path(tuple(args))
    is_input = tuple(is_array(leaf) for _, leaf in paths)
    shapes = [shape_of(leaf) for _, leaf in paths if is_array(leaf)]
    results: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        given = iter(values)
        leaves = [next(given) if array else leaf for array, (_, leaf) in zip(is_input, paths)]
        out, out_tree = jax.tree.flatten(f(*jax.tree.unflatten(tree, leaves)))
        results.append(out_tree)
        return out

    closed = jax.make_jaxpr(flat)(*shapes)
    signature = Signature(tree, is_input, results[-1])
    given = (
        names
        if names is not None
        else [input_name(f, path) for (path, _), a in zip(paths, is_input) if a]
    )
    if len(given) != len(shapes):
        raise NotTraceable(
            "one name is needed for each array among the arguments",
            where=definition(f),
            got=f"{len(given)} names for {len(shapes)} arrays",
            remedy="pass one name a leaf, in order",
        )
    return _graph_of(closed, given, signature, definition(f), budget, fold_rounded)


def named(x: Any, name: str) -> Any:
    """The identity; the slot of `x` gets this name in the graph (and `[t]` after it in step t of a loop)."""
    return checkpoint_name(x, name)


# ---- from a closed jaxpr to a graph --------------------------------------------------------------------------


def _graph_of(
    closed: Any,
    names: Sequence[str],
    signature: Signature,
    where: str,
    budget: int,
    fold_rounded: bool,
) -> Graph:
    walk = _Walk(budget, fold_rounded)
    inputs = [walk.new_slot(v.aval, name) for v, name in zip(closed.jaxpr.invars, names)]
    walk.fixed_names.update(inputs)
    outputs = walk.enter(closed, inputs, where)
    return walk.finish(inputs, outputs, signature, where)


def _inner_graph(closed: Any, where: str, budget: int, fold_rounded: bool) -> Graph:
    """A body or branch as a graph of its own, with flat arguments and results."""
    leaves = jax.tree.structure((0,) * len(closed.jaxpr.invars))
    results = jax.tree.structure([0] * len(closed.jaxpr.outvars))
    signature = Signature(leaves, (True,) * len(closed.jaxpr.invars), results)
    names = [f"a{i + 1}" for i in range(len(closed.jaxpr.invars))]
    return _graph_of(closed, names, signature, where, budget, fold_rounded)


class _Walk:
    """The state of one flattening. Slots are numbered as they appear; `finish` renumbers those that are needed."""

    def __init__(self, budget: int, fold_rounded: bool = True):
        self.budget = budget
        self.visited = 0
        self.fold_rounded = fold_rounded
        self.computed: set[int] = set()  # constants that stay nodes
        self.avals: list[Any] = []
        self.names: dict[int, str] = {}
        self.fixed_names: set[int] = set()
        self.constants: dict[int, Any] = {}
        self.scalars: dict[tuple[str, bytes], int] = {}
        self.equations: list[tuple[Any, list[int], list[int], str]] = []
        self.steps: tuple[int, ...] = ()
        self.steps_of: dict[int, tuple[int, ...]] = {}  # by the first output of an equation

    def new_slot(self, aval: Any, name: str = "") -> int:
        self.avals.append(aval)
        if name:
            self.names[len(self.avals) - 1] = name
        return len(self.avals) - 1

    def constant(self, value: Any, aval: Any, where: str) -> int:
        if isinstance(value, jax.core.Tracer):
            raise NotTraceable(
                "the function closes over a value that an outer jit, grad or vmap is tracing",
                where=where,
                got=str(value),
                remedy="call trace outside, or pass the value as an argument",
            )
        value = concrete(value, aval.dtype)
        key = (
            (str(value.dtype), value.tobytes())
            if isinstance(value, np.ndarray) and value.shape == ()
            else None
        )
        if key is not None and key in self.scalars:
            return self.scalars[key]
        slot = self.new_slot(aval)
        self.constants[slot] = value
        if key is not None:
            self.scalars[key] = slot
        return slot

    def enter(self, closed: Any, inputs: Sequence[int], where: str) -> list[int]:
        """Flatten a closed jaxpr whose arguments are the given slots; returns the slots of its results."""
        jaxpr = closed.jaxpr
        slots = dict(zip(jaxpr.invars, inputs))
        slots.update(
            (v, self.constant(c, v.aval, where)) for v, c in zip(jaxpr.constvars, closed.consts)
        )

        def read(atom: Any) -> int:
            return (
                self.constant(atom.val, atom.aval, where)
                if isinstance(atom, jex.Literal)
                else slots[atom]
            )

        for eqn in jaxpr.eqns:
            source = user_line(_frames(eqn), where)
            self.count(1, source, eqn.primitive.name)
            outputs = self.equation(eqn, [read(atom) for atom in eqn.invars], source)
            slots.update(zip(eqn.outvars, outputs))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, inputs: list[int], source: str) -> list[int]:
        is_entered = not self.fold_rounded and eqn.primitive.name in HANDLERS
        if not eqn.effects and not is_entered and all(slot in self.constants for slot in inputs):
            return self.fold(eqn, inputs, source)
        handler = HANDLERS.get(eqn.primitive.name, _Walk.keep)
        return handler(self, eqn, inputs, source)

    def keep(self, eqn: Any, inputs: list[int], source: str) -> list[int]:
        """An equation becomes one node."""
        outputs = [self.new_slot(v.aval) for v in eqn.outvars]
        self.equations.append((eqn, inputs, outputs, source))
        self.steps_of[outputs[0]] = self.steps
        return outputs

    def fold(self, eqn: Any, inputs: list[int], source: str) -> list[int]:
        given = [self.constants[slot] for slot in inputs]
        if eqn.primitive.name in MOVES and isinstance(given[0], np.ndarray) and len(given) == 1:
            operand, result = (
                Slot(0, "", tuple(v.aval.shape), v.aval.dtype)
                for v in (eqn.invars[0], eqn.outvars[0])
            )
            node = _node(
                0, eqn, [operand], [result], source, self.steps, self.budget, self.fold_rounded
            )
            values = [MOVES[node.primitive](node, given[0])]  # JAX would compile it for this shape
        else:
            with precision_of(eqn), jax.core.ensure_compile_time_eval():
                values = _one_equation(eqn)(*given)
        if not self._stays(eqn, inputs):
            return [self.constant(value, v.aval, source) for value, v in zip(values, eqn.outvars)]
        outputs = self.keep(eqn, inputs, source)
        self.constants.update(
            (slot, concrete(value, v.aval.dtype))
            for slot, value, v in zip(outputs, values, eqn.outvars)
        )
        self.computed.update(outputs)
        return outputs

    def _stays(self, eqn: Any, inputs: list[int]) -> bool:
        """Whether constants that an equation computes may be rounded, and such are to stay nodes."""
        if self.fold_rounded:
            return False
        is_real = any(jnp.issubdtype(v.aval.dtype, jnp.inexact) for v in eqn.outvars)
        may_round = is_real and eqn.primitive.name not in UNROUNDED
        return may_round or any(slot in self.computed for slot in inputs)

    def count(self, equations: int, source: str, construct: str) -> None:
        self.visited += equations
        if self.visited > self.budget:
            raise GraphTooLarge(
                f"the flat graph would pass the budget of {self.budget} equations",
                where=source,
                got=f"{construct} at equation {self.visited}",
                remedy="shorten the loop, trace one step and compose, or raise trace(..., budget=...)",
            )

    def finish(
        self, inputs: list[int], outputs: list[int], signature: Signature, where: str
    ) -> Graph:
        equations = self.find_needed(outputs)
        used = {slot for _, ins, _, _ in equations for slot in ins} | set(outputs)
        constants = [slot for slot in self.constants if slot in used and slot not in self.computed]
        order = [*inputs, *constants, *(slot for _, _, outs, _ in equations for slot in outs)]
        slots = self.slots(order, set(constants))
        nodes = []
        for i, (eqn, ins, outs, source) in enumerate(equations):
            ends = ([slots[s] for s in ins], [slots[s] for s in outs])
            steps = self.steps_of.get(outs[0], ())
            nodes.append(_node(i, eqn, *ends, source, steps, self.budget, self.fold_rounded))
        return Graph(
            slots=tuple(slots[s] for s in order),
            inputs=tuple(slots[s] for s in inputs),
            constants=MappingProxyType({slots[s].id: self.constants[s] for s in constants}),
            nodes=tuple(nodes),
            outputs=tuple(slots[s] for s in outputs),
            signature=signature,
            source=where,
            x64=bool(jax.config.read("jax_enable_x64")),
        )

    def find_needed(self, outputs: list[int]) -> list[tuple[Any, list[int], list[int], str]]:
        """The equations that some output depends on, in order."""
        live = set(outputs)
        kept = []
        for equation in reversed(self.equations):
            if not live.isdisjoint(equation[2]):
                live.update(equation[1])
                kept.append(equation)
        return kept[::-1]

    def slots(self, order: list[int], constants: set[int]) -> dict[int, Slot]:
        """Final slots: unnamed values are x1, x2, ... counted with the inputs, constants c1, c2, ..."""
        slots = {}
        taken = set()
        variables = 0
        fixed = 0
        for new, old in enumerate(order):
            fixed, variables = (
                (fixed + 1, variables) if old in constants else (fixed, variables + 1)
            )
            name = self.names.get(old) or (f"c{fixed}" if old in constants else f"x{variables}")
            while name in taken:
                name += "'"
            taken.add(name)
            aval = self.avals[old]
            slots[old] = Slot(new, name, tuple(map(int, aval.shape)), aval.dtype)
        return slots


def _node(
    number: int,
    eqn: Any,
    inputs: list[Slot],
    outputs: list[Slot],
    source: str,
    steps: tuple[int, ...],
    budget: int,
    fold_rounded: bool,
) -> Node:
    name = eqn.primitive.name
    inside = (
        [eqn.params[CUSTOM[name]]]
        if name in CUSTOM
        else list(eqn.params["branches"])
        if name == "cond"
        else []
    )
    label, _, home = (
        inside[0].jaxpr.debug_info.func_src_info.partition(" at ")
        if name in CUSTOM
        else ("", "", "")
    )
    params = {
        key: plain_value(value) for key, value in eqn.params.items() if not _holds_graph(value)
    }
    return Node(
        number,
        name,
        tuple(inputs),
        tuple(outputs),
        source,
        MappingProxyType(params),
        _one_equation(eqn),
        label,
        home.startswith(JAX_FOLDER),
        lambda: tuple(_inner_graph(_close_jaxpr(j), source, budget, fold_rounded) for j in inside),
        kind_of(eqn),
        steps,
    )


# ---- what each construct of JAX becomes -----------------------------------------------------------------------


def _call(walk: _Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    return walk.enter(_close_jaxpr(eqn.params[CALLS[eqn.primitive.name]]), inputs, source)


HANDLERS: Mapping[str, Callable[[_Walk, Any, list[int], str], list[int]]] = {
    **dict.fromkeys(CALLS, _call),
    "name": give_name,
    "select_n": select_case,
    "cond": take_branch,
    "scan": unroll_scan,
    "while": unroll_while,
}


# ---- small pieces of JAX --------------------------------------------------------------------------------------


def _one_equation(eqn: Any) -> Callable[..., tuple[Any, ...]]:
    """Evaluate one equation through a jaxpr that holds nothing else (primitives cannot be bound directly: the
    parameters of a bind differ from those of an equation)."""
    invars, outvars = ([jex.Var(v.aval) for v in vs] for vs in (eqn.invars, eqn.outvars))
    info = jex.DebugInfo("equation", eqn.primitive.name, ("",) * len(invars), ("",) * len(outvars))
    jaxpr = jex.Jaxpr(
        (), invars, outvars, [eqn.replace(invars=invars, outvars=outvars)], eqn.effects, info
    )
    return lambda *values: tuple(jax.core.eval_jaxpr(jaxpr, (), *values))


def _frames(eqn: Any) -> list[Any]:
    """The calls that led to the equation, innermost first, without those of `trace` itself."""
    traceback = eqn.source_info.traceback
    return (
        []
        if traceback is None
        else [frame for frame in traceback.frames if frame.file_name not in OWN_FILES]
    )


def _close_jaxpr(jaxpr: Any) -> Any:
    return jaxpr if isinstance(jaxpr, jex.ClosedJaxpr) else jex.ClosedJaxpr(jaxpr, ())


def _holds_graph(value: Any) -> bool:
    items = value if isinstance(value, (tuple, list)) else (value,)
    return any(isinstance(item, (jex.Jaxpr, jex.ClosedJaxpr)) for item in items)
