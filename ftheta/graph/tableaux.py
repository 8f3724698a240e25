"""A program differentiated at a point: every node with its value, local partials, adjoint and tangents.

    tableau(f, *args)        values by the forward sweep, adjoints by the reverse sweep
    tableau(...).tangent(v)  tangents along a direction, by forward mode

Printed, it is the table of a worked example: read downwards for the forward sweep, upwards for the reverse sweep.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.array_adjoints import array_adjoints, local_adjoints
from ftheta.graph.domains.arrays import array_values
from ftheta.graph.domains.tangents import tangents
from ftheta.graph.errors import GraphError, NotTraceable
from ftheta.graph.expressions import Expression
from ftheta.graph.formulas import cell, formula, text
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import Interpretation, precision
from ftheta.graph.jaxprs import BUDGET, trace
from ftheta.graph.kinks import is_finite, kinks, not_finite
from ftheta.graph.sources import definition
from ftheta.logic.chart import Dag, Vertex
from ftheta.logic.errors import UsageError
from ftheta.logic.table import Table
from ftheta.shapes import Float

MOST_ROWS = 60
LARGEST_PARTIAL = 1_000_000


@dataclass(frozen=True, eq=False)
class Tableau:
    """`value[slot]` from the forward sweep and `adjoint[slot]` from the reverse sweep of `f` at the arguments `at`.

    Slots are named by the arguments, by `named(x, "u")`, else x1, x2, …: `tableau.adjoint["u"]`.
    """

    f: Callable[..., Any]
    at: tuple[Any, ...]
    graph: Graph
    value: Interpretation[Any]
    adjoint: Interpretation[Any]

    @property
    def result(self) -> float:
        return float(self.value[self.graph.outputs[0]])

    @property
    def gradient(self) -> Float[np.ndarray, "coordinates"]:
        """With respect to every coordinate of the inputs, in the order of `coordinates`."""
        return np.concatenate(
            [np.zeros(0), *(np.ravel(self._adjoint_of(slot)) for slot in self.graph.inputs)]
        )

    @property
    def coordinates(self) -> list[str]:
        """A name for every entry of the gradient."""
        return list(self._coordinates())

    def tangent(self, along: Any) -> Interpretation[Any]:
        """The tangent of every slot along a direction: the name of a scalar input, or one tangent an argument."""
        return tangents(self.graph, *self.at, along=along)

    @cached_property
    def partials(self) -> dict[tuple[str, str], float]:
        """∂ node / ∂ operand for every scalar node and each of its scalar operands, by their names."""
        found: dict[tuple[str, str], float] = {}
        for node in self.graph.nodes:
            for slot, slope in zip(node.inputs, self._slopes(node)):
                if slope is not None:
                    key = (node.name, slot.name)
                    found[key] = found.get(key, 0.0) + float(slope)  # x·x has the operand x twice
        return found

    def partial(self, node: str, operand: str) -> Float[np.ndarray, "*node_and_operand"]:
        """The local Jacobian ∂ node / ∂ operand, of shape `node.shape + operand.shape`."""
        out = self.graph[node]
        given = self.graph[operand]
        maker = self.graph.producers.get(out.id)
        if maker is None or given not in maker.inputs or not (out.is_real and given.is_real):
            raise UsageError(
                "A local partial is that of a node with respect to one of its operands.",
                got=f"∂{out.name}/∂{given.name}",
                remedy=f"operands of {out.name}: {', '.join(s.name for s in maker.inputs) if maker else 'none'}",
            )
        if out.size * given.size > LARGEST_PARTIAL:
            raise UsageError(
                "This local Jacobian is too large to be written out.",
                got=f"{out.size} × {given.size} entries",
                remedy="use adjoints (products with its transpose) or tangents (products with it)",
            )
        operands = [self.value[slot] for slot in maker.inputs]
        with precision(self.graph):
            at = lambda x: maker.evaluate(
                *[x if s == given else v for s, v in zip(maker.inputs, operands)]
            )
            return np.asarray(
                jax.jacrev(lambda x: at(x)[maker.outputs.index(out)])(self.value[given])
            )

    @property
    def trouble(self) -> list[str]:
        """What keeps the program from having a derivative here: a value that is not finite, a kink, a jump."""
        given = [
            f"the input {s.name} is not finite"
            for s in self.graph.inputs
            if not is_finite(self.value[s])
        ]
        undefined = [
            self._told(node, "has no finite value") for node in not_finite(self.graph, self.value)
        ]
        bent = [
            self._told(node, "has no derivative")
            for node in kinks(self.graph, self.value, self.adjoint)
        ]
        endless = [
            s.name
            for s in self.graph.slots
            if s in self.adjoint and not np.isfinite(self.adjoint[s]).all()
        ]
        return given + undefined + bent or [
            f"the adjoint of {name} is not finite" for name in endless[:1]
        ]

    def formula(self, node: Node) -> str:
        return formula(self.graph, node)

    # -- as a table, as a picture, as numbers -----------------------------------------------------------------

    @property
    def table(self) -> Table:
        """Inputs and nodes in the order of the forward sweep; read upwards for the reverse sweep."""
        rows = [
            (s.name, self.formula(n) if n else "input", *self._numbers(s))
            for s, n in self._in_order()
        ]
        return Table(
            "forward and reverse sweep", ("node", "formula", "value", "adjoint"), tuple(rows)
        )

    @property
    def full_table(self) -> Table:
        """The same with the local partials and, where the program has several, the user's lines."""
        lined = any(node.source != self.graph.source for node in self.graph.nodes)
        columns = (
            "node",
            "formula",
            "value",
            "local partials",
            "adjoint",
            *(["line"] if lined else []),
        )
        rows: list[tuple[Any, ...]] = []
        for slot, node in self._in_order():
            value, adjoint = self._numbers(slot)
            what, slopes = (self.formula(node), self._partials_of(node)) if node else ("input", "")
            line = [_short(node.source) if node else ""] if lined else []
            rows.append((slot.name, what, value, slopes, adjoint, *line))
        return Table(self.title, columns, tuple(rows))

    @property
    def picture(self) -> Dag:
        """The graph; below every node its value, then its adjoint."""
        inputs = [Vertex(slot.name, slot.name, self._note(slot)) for slot in self.graph.inputs]
        nodes = [
            Vertex(n.name, f"{n.name} = {self.formula(n)}", self._note(n.outputs[0]))
            for n in self.graph.nodes
        ]
        owner = {slot.id: slot.name for slot in self.graph.inputs}
        owner |= {slot.id: node.name for node in self.graph.nodes for slot in node.outputs}
        pairs = [(owner[s.id], n.name) for n in self.graph.nodes for s in n.inputs if s.id in owner]
        return Dag("values and adjoints", (*inputs, *nodes), tuple(dict.fromkeys(pairs)))

    @property
    def numbers(self) -> dict[str, float]:
        """The result, the gradient, and value and adjoint of every scalar node."""
        slopes = zip(islice(self._coordinates(), 20), self.gradient)
        found = {"value": self.result} | {f"∂{name}": float(slope) for name, slope in slopes}
        for slot in (
            slot
            for node in self.graph.nodes
            for slot in node.outputs
            if slot.shape == () and slot.is_real
        ):
            found[slot.name] = float(self.value[slot])
            found[f"adjoint of {slot.name}"] = float(self.adjoint[slot])
        return found

    @property
    def title(self) -> str:
        point = ", ".join(f"{s.name} = {text(cell(self.value[s]))}" for s in self.graph.inputs[:6])
        return (
            f"{_short(self.graph.source)} at {point}{', …' if len(self.graph.inputs) > 6 else ''}"
        )

    @property
    def closing(self) -> str:
        """One line: the value and the gradient."""
        result = f"value {text(cell(self.value[self.graph.outputs[0]]))}"
        first = zip(islice(self._coordinates(), 6), self.gradient)
        slopes = ", ".join(f"∂/∂{name} = {text(float(slope))}" for name, slope in first)
        return f"{result}; {slopes}{', …' if len(self.gradient) > 6 else ''}"

    def __str__(self) -> str:
        table = self.full_table
        rows = [tuple(text(c) for c in row) for row in table.rows]
        if len(rows) > MOST_ROWS:
            half = MOST_ROWS // 2
            rows = [
                *rows[:half],
                (f"… {len(rows) - 2 * half} more", *[""] * (len(rows[0]) - 1)),
                *rows[-half:],
            ]
        widths = [max(map(len, column)) for column in zip(table.columns, *rows)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
            for row in (table.columns, *rows)
        ]
        warned = [f"no derivative here: {note}" for note in self.trouble[:3]]
        return "\n".join([self.title, "", *lines, "", self.closing, *warned])

    # -- small pieces -----------------------------------------------------------------------------------------

    def _in_order(self) -> list[tuple[Slot, Node | None]]:
        """Every input, then every output of every node with the node."""
        computed = [(slot, node) for node in self.graph.nodes for slot in node.outputs]
        return [*((slot, None) for slot in self.graph.inputs), *computed]

    def _coordinates(self) -> Iterator[str]:
        places = ((slot, place) for slot in self.graph.inputs for place in np.ndindex(slot.shape))
        return (slot.name + "".join(f"[{i}]" for i in place) for slot, place in places)

    def _adjoint_of(self, slot: Slot) -> np.ndarray:
        return (
            np.asarray(self.adjoint[slot], np.float64)
            if slot in self.adjoint
            else np.zeros(slot.shape)
        )

    def _slopes(self, node: Node) -> list[Any]:
        """One derivative, or None, for each operand of a node of scalars."""
        out = node.outputs[0]
        moving = [
            s.is_real and s.shape == () and s.id not in self.graph.constants for s in node.inputs
        ]
        plain = (
            len(node.outputs) == 1
            and out.is_real
            and out.shape == ()
            and node.primitive != "stop_gradient"
        )
        if not plain or not any(moving):
            return [None] * len(node.inputs)
        with precision(self.graph), np.errstate(all="ignore"):
            return local_adjoints(
                node, [self.value[s] for s in node.inputs], [np.ones((), out.dtype)], moving
            )

    def _partials_of(self, node: Node) -> str:
        of = dict.fromkeys(s.name for s in node.inputs if (node.name, s.name) in self.partials)
        return ", ".join(f"∂{name}: {text(self.partials[node.name, name])}" for name in of)

    def _numbers(self, slot: Slot) -> tuple[Any, Any]:
        return cell(self.value[slot]), cell(self.adjoint[slot]) if slot in self.adjoint else ""

    def _note(self, slot: Slot) -> str:
        value, adjoint = self._numbers(slot)
        return f"{text(value)} | {text(adjoint)}"

    def _told(self, node: Node, what: str) -> str:
        arguments = ", ".join(text(cell(self.value[slot])) for slot in node.inputs)
        return f"{node.name} = {self.formula(node)} {what} at {arguments}"


def tableau(
    f: Callable[..., Any] | str,
    *args: Any,
    names: Sequence[str] | None = None,
    budget: int = BUDGET,
) -> Tableau:
    """`f` differentiated at the arguments: a JAX function of any arguments that returns one number, or an array of one,
    or an expression such as `"t2*exp(t1)"`, whose variables are taken in order of appearance.

    `names` renames the inputs, one name a leaf. Computed in the precision of the arguments: float64 for Python floats
    and NumPy's float64, without a change of JAX's configuration.
    """
    program = Expression.parse(f) if isinstance(f, str) else f
    with jax.enable_x64(True):
        graph = _trace_program(program, args, names, budget)
        if len(graph.outputs) == 1 and set(graph.outputs[0].shape) == {1}:
            program = _as_number(program)
            graph = _trace_program(program, args, names, budget)
        _ensure_number(graph, program)
        return Tableau(program, args, graph, *_both_sweeps(graph, args))


def _as_number(f: Callable[..., Any]) -> Callable[..., Any]:
    """The only entry of the array that `f` returns."""

    @wraps(f)
    def entry(*args: Any) -> Any:
        return jax.numpy.reshape(f(*args), ())

    return entry


def _trace_program(
    program: Callable[..., Any], args: tuple[Any, ...], names: Sequence[str] | None, budget: int
) -> Graph:
    if isinstance(program, Expression):
        graph = program.trace(*args, budget=budget)
    else:
        try:
            graph = trace(program, *args, names=names, budget=budget)
        except GraphError:
            raise
        except (
            Exception
        ) as error:  # whatever the user's function raises when it is handed abstract arrays
            raise NotTraceable(
                "this function cannot be traced by JAX",
                where=definition(program),
                got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                remedy="write it in jax.numpy, with jnp.where or lax.cond instead of `if` on values; ft.check_gradient "
                "also takes functions that cannot be traced",
            ) from error
    return graph


def _ensure_number(graph: Graph, program: Callable[..., Any]) -> None:
    if [slot.shape for slot in graph.outputs] != [()] or not graph.outputs[0].is_real:
        raise UsageError(
            "Only one real number has adjoints.",
            where=definition(program),
            got="a result " + (", ".join(map(str, graph.outputs)) or "without arrays"),
            remedy="return a scalar: a loss, a sum, or one entry; of real arguments, 3.0 instead of 3",
        )


def _both_sweeps(
    graph: Graph, args: tuple[Any, ...]
) -> tuple[Interpretation[Any], Interpretation[Any]]:
    value = array_values(graph, *args)
    return value, array_adjoints(graph, value)


def _short(source: str) -> str:
    """A place in a file without the folders."""
    path, colon, rest = source.rpartition(":")
    return f"{Path(path).name}:{rest}" if colon and "/" in path else source
