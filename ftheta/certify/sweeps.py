"""The forward and the reverse sweep of one program at one point: every node with its value and adjoint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.graph import Graph, GraphError, Interpretation, Node, Slot, adjoints, forward, trace, values
from ftheta.graph.domains.values import VALUES
from ftheta.logic import Axis, Claim, Curves, Dag, Enclosure, Identity, Series, Table, Vertex, Witness

from .balls import ball_gradient, secant_slope

FORMULAS = {
    "add": "{} + {}",
    "add_any": "{} + {}",
    "sub": "{} − {}",
    "mul": "{} · {}",
    "div": "{} / {}",
    "neg": "−{}",
    "exp": "e^{}",
    "sqrt": "√{}",
    "abs": "|{}|",
    "square": "{}²",
    "pow": "{}^{}",
    "dot_general": "{} {}",
}
ORDERS = ("gt", "lt", "ge", "le", "max", "min")
STEPS = ("floor", "ceil", "round", "sign")


@dataclass(frozen=True, eq=False)
class Sweep:
    """`value[slot]` from the forward sweep and `adjoint[slot]` from the reverse sweep at the arguments `at`."""

    f: Callable[..., Any]
    at: tuple[Any, ...]
    graph: Graph
    value: Interpretation[Any]
    adjoint: Interpretation[Any]

    @property
    def result(self) -> float:
        return float(self.value[self.graph.outputs[0]])

    @property
    def gradient(self) -> np.ndarray:
        return np.concatenate([np.ravel(np.asarray(self.adjoint[slot], np.float64)) for slot in self.graph.inputs])

    @property
    def coordinates(self) -> list[str]:
        """A name for every entry of the gradient."""
        places = ((slot, place) for slot in self.graph.inputs for place in np.ndindex(slot.shape))
        return [slot.name + "".join(f"[{i}]" for i in place) for slot, place in places]

    def formula(self, node: Node) -> str:
        constants = self.graph.constants
        names = [_shown(constants[slot.id]) if slot.id in constants else slot.name for slot in node.inputs]
        form = FORMULAS.get(node.primitive, "")
        if node.primitive == "integer_pow":
            return f"{names[0]}^{node.params['y']}"
        return (
            form.format(*names)
            if form.count("{}") == len(names)
            else f"{node.label or node.primitive}({', '.join(names)})"
        )

    @property
    def table(self) -> Table:
        """Inputs and nodes in the order of the forward sweep; read upwards for the reverse sweep."""
        rows = [(slot.name, "input", *self._numbers(slot)) for slot in self.graph.inputs]
        rows += [
            (slot.name, self.formula(node), *self._numbers(slot)) for node in self.graph.nodes for slot in node.outputs
        ]
        return Table("forward and reverse sweep", ("node", "formula", "value", "adjoint"), tuple(rows))

    @property
    def picture(self) -> Dag:
        """The graph; below every node its value, then its adjoint."""
        inputs = [Vertex(slot.name, slot.name, self._note(slot)) for slot in self.graph.inputs]
        nodes = [Vertex(n.name, f"{n.name} = {self.formula(n)}", self._note(n.outputs[0])) for n in self.graph.nodes]
        owner = {slot.id: slot.name for slot in self.graph.inputs}
        owner |= {slot.id: node.name for node in self.graph.nodes for slot in node.outputs}
        pairs = [(owner[s.id], n.name) for n in self.graph.nodes for s in n.inputs if s.id in owner]
        return Dag("values and adjoints", (*inputs, *nodes), tuple(dict.fromkeys(pairs)))

    @property
    def section(self) -> Curves:
        """The function along its first coordinate, with the tangent that the reverse sweep gives."""
        first = np.asarray(self.at[0], np.float64)
        step = np.zeros(first.shape)
        step[(0,) * first.ndim] = 1.0
        offsets = np.linspace(-1, 1, 101)
        heights = np.array(jax.jit(jax.vmap(lambda t: self.f(first + t * step, *self.at[1:])))(offsets), np.float64)
        tangent = self.result + self.gradient[0] * offsets
        curves = [("function", heights, "measured"), ("tangent from the reverse sweep", tangent, "reference")]
        series = [_finite(name, float(first.flat[0]) + offsets, y, role) for name, y, role in curves]
        return Curves("slope in the first coordinate", Axis(self.coordinates[0]), Axis("ℓ"), tuple(series))

    @property
    def numbers(self) -> dict[str, float]:
        """The result, the gradient, and value and adjoint of every scalar node."""
        found = {"value": self.result} | {f"∂{n}": float(g) for n, g in zip(self.coordinates[:20], self.gradient)}
        for slot in (slot for node in self.graph.nodes for slot in node.outputs if slot.shape == () and slot.is_real):
            found[slot.name] = float(self.value[slot])
            found[f"adjoint of {slot.name}"] = float(self.adjoint[slot])
        return found

    def _numbers(self, slot: Slot) -> tuple[Any, Any]:
        return _cell(self.value[slot]), _cell(self.adjoint[slot]) if slot in self.adjoint else ""

    def _note(self, slot: Slot) -> str:
        value, adjoint = self._numbers(slot)
        return f"{_text(value)} | {_text(adjoint)}"


def sweep(f: Callable[..., Any], at: tuple[Any, ...], names: Sequence[str] | None = None) -> Sweep:
    """Both sweeps of `f` at the arguments `at`; `names` names the arguments."""
    graph = trace(f, *at, names=names)
    forwards = values(graph, *at)
    return Sweep(f, at, graph, forwards, adjoints(graph, *at, primal=forwards))


def sweep_in_box(
    f: Callable[..., Any], lo: Sequence[float], hi: Sequence[float], wanted: Sequence[float], names: Sequence[str] = ()
) -> Sweep | None:
    """Both sweeps at the point `wanted`, moved into the box, its missing coordinates in the middle; with `names` the
    function takes scalars. None where the function has no graph or does not return one number."""
    middle = (np.asarray(lo, np.float64) + np.asarray(hi, np.float64)) / 2
    point = np.clip([*wanted, *middle[len(wanted) :]][: len(middle)], lo, hi).astype(np.float64)
    at = tuple(map(float, point)) if names or len(point) == 1 else (point,)
    try:
        graph = trace(f, *at, names=names or None)
    except GraphError:
        return None
    return sweep(f, at, names or None) if [slot.shape for slot in graph.outputs] == [()] else None


def troubles(found: Sweep) -> list[str]:
    """Nodes without a derivative at their values: a number that is not finite, a kink, a jump."""
    notes = []
    for node in found.graph.nodes:
        inputs, outputs = ([np.asarray(found.value[s]) for s in slots] for slots in (node.inputs, node.outputs))
        where = f"{node.name} = {found.formula(node)}"
        arguments = ", ".join(_text(_cell(x)) for x in inputs)
        if not all(np.isfinite(x).all() for x in outputs if x.dtype.kind == "f"):
            notes.append(f"{where} has no finite value at {arguments}")
        elif _at_a_kink(node, inputs):
            notes.append(f"{where} has no derivative at {arguments}")
    bad = [s.name for s in found.graph.slots if s in found.adjoint and not np.isfinite(found.adjoint[s]).all()]
    return notes or [f"the adjoint of {name} is not finite" for name in bad[:1]]


def against_secants(found: Sweep) -> tuple[Claim, ...] | None:
    """Every entry of the gradient, by the reverse sweep in ball arithmetic, with the slope of a secant in ball
    arithmetic; None where there are no balls. A contradiction names the point and the two numbers."""
    point = [float(x) for x in found.at] if all(np.ndim(x) == 0 for x in found.at) else []
    swept = ball_gradient(found.graph, point)
    slopes = [secant_slope(found.graph, point, k) for k in range(len(point))]
    if swept is None or not slopes or any(slope is None for slope in slopes):
        return None
    at = dict(zip(found.coordinates, point))
    how = "secant of half-length 2^-400 through the point, in ball arithmetic"
    claims: list[Claim] = []
    for name, g, slope in zip(found.coordinates, swept[1:], slopes):
        if slope is not None:
            apart = g.lo > slope.hi or slope.lo > g.hi
            witness = Witness(at, g, slope, how) if apart else None
            claims.append(Identity(f"∂ℓ/∂{name}: reverse sweep and secant", g, slope, witness, atol=1e-12))
    return tuple(claims)


def against_differences(found: Sweep, rng: np.random.Generator) -> tuple[Claim, ...]:
    """The gradient along a random direction, with forward mode and with a central difference."""
    at = tuple(np.asarray(x, np.float64) for x in found.at)
    along = tuple(rng.normal(size=x.shape) for x in at)
    reverse = float(found.gradient @ np.concatenate([np.ravel(v) for v in along]))
    ahead = float(jax.jvp(found.f, at, along)[1])
    h = 1e-5
    ends = [float(found.f(*(x + sign * h * v for x, v in zip(at, along)))) for sign in (1, -1)]
    central = (ends[0] - ends[1]) / (2 * h)
    loose = 1e-6 * (1 + max(map(abs, ends)))
    if not np.isfinite([reverse, ahead, central]).all():
        return ()
    swept = Enclosure.equal(reverse)
    return (
        Identity("slope along a direction: reverse and forward mode", swept, Enclosure.measured(ahead, samples=1)),
        Identity(
            "the same and a central difference", swept, Enclosure.measured(central, samples=2), rtol=1e-5, atol=loose
        ),
    )


def _at_a_kink(node: Node, inputs: list[np.ndarray]) -> bool:
    if node.primitive in ("custom_jvp_call", "custom_vjp_call"):
        (body,) = node.graphs
        inner = forward(VALUES, body, *inputs[len(inputs) - len(body.inputs) :])
        return any(_at_a_kink(n, [np.asarray(inner[s]) for s in n.inputs]) for n in body.nodes)
    if node.primitive == "abs":
        return bool((inputs[0] == 0).any())
    if node.primitive in ORDERS and inputs[0].dtype.kind == "f":
        return bool((inputs[0] == inputs[1]).any())
    if node.primitive == "clamp":
        return bool(((inputs[1] == inputs[0]) | (inputs[1] == inputs[2])).any())
    return node.primitive in STEPS and bool((inputs[0] == np.round(inputs[0])).any())


def _cell(x: Any) -> float | str:
    array = np.asarray(x)
    if array.shape == ():
        number = float(array)
        return number if np.isfinite(number) else str(number)
    return f"array {array.shape}, norm {np.linalg.norm(array.astype(np.float64).ravel()):.6g}"


def _text(cell: float | str) -> str:
    return cell if isinstance(cell, str) else f"{cell + 0.0:.6g}"


def _shown(constant: Any) -> str:
    array = np.asarray(constant)
    return f"{array.item():.6g}" if array.shape == () else "constant"


def _finite(name: str, x: np.ndarray, y: np.ndarray, role: Any) -> Series:
    kept = np.isfinite(y)
    return Series(name, tuple(map(float, x[kept])), tuple(map(float, y[kept])), role)
