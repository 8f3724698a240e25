"""Gradients layer by layer, and units that let nothing through."""

from dataclasses import dataclass
from math import inf, log10
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, Node, trace, values
from ftheta.logic import (
    AuditFinding,
    Axis,
    Bars,
    Basis,
    Chart,
    Curves,
    Enclosure,
    Fact,
    Series,
    SubjectError,
    Table,
)
from ftheta.spectra import Objective
from ftheta.spectra.loss_constants import signals
from ftheta.spectra.objective import natural_objective
from ftheta.subjects import Network

from ..judging import judge, percent, weigh_without_data
from ..part import Part
from .counting import name_of_array
from .inputs import BATCH, affordable, describe_rows, some_rows
from .large import is_large, loss_gradients

ROWS = 64  # for gradients
LOOKED_AT = 1024  # rows, for units
# of the steepest slope, below which a unit is called saturated
SATURATED = {"tanh": 0.05, "logistic": 0.05}
SHOWN = 40
MOST_BARS = 12
DIAGNOSED = 3_000_000  # parameters of a network whose layers are bounded one by one
HELD = 1 << 25  # values of units held at once


def gradients_by_layer(net: Network, rng: np.random.Generator) -> Part:
    """The norm of the gradient of the loss for every array of parameters."""
    if not net.parameters:
        raise SubjectError(
            "This network has no parameters.",
            remedy="give an equinox module, or a file with weights",
        )
    net = net.behind_scaling()  # the parameters of its layers are those that are differentiated by
    if is_large(net) and net.data is not None and net.data.y is not None:
        known = loss_gradients(net)
        return _describe_gradients(net, known.by_parameters, known.told, None)
    objective, told = _objective(net, rng)
    tree = objective.build(jnp.asarray(objective.gradient()))
    return _describe_gradients(net, tree, told, objective)


def _describe_gradients(net: Network, tree: Any, told: str, objective: Objective | None) -> Part:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    sizes = [float(np.linalg.norm(leaf)) for leaf in jax.tree.leaves(net.params)]
    norms = [float(jnp.linalg.norm(leaf)) for _, leaf in leaves]
    names = [name_parameters(net, path) for path, _ in leaves]
    facts = _gradient_ratio(leaves, norms, told)
    layers = None
    if objective is not None and net.parameters <= DIAGNOSED:
        layers = signals(objective, net.description, ROWS)
    if layers is not None:
        facts.append(Fact("diagnosis", layers.diagnosis, told))
    rows = [
        (n, size, norm, norm / size if size else 0.0) for n, size, norm in zip(names, sizes, norms)
    ][:SHOWN]
    table = Table(f"gradients, {told}", ("parameters", "‖θ‖", "‖∇θ‖", "‖∇θ‖ / ‖θ‖"), tuple(rows))
    return Part(tuple(facts), (table,), _picture(leaves, norms, names), _judge_balance(facts))


def _gradient_ratio(leaves: list[Any], norms: list[float], told: str) -> list[Fact]:
    """How much smaller or larger the gradient is near the input than near the output."""
    matrices = [norm for (_, leaf), norm in zip(leaves, norms) if leaf.ndim > 1]
    if len(matrices) < 2 or not matrices[-1] > 0:
        return []
    ratio = Enclosure.equal(matrices[0] / matrices[-1])
    return [Fact("gradient norm, first matrix ÷ last matrix", ratio, told, "gradient_ratio")]


def _judge_balance(facts: list[Fact]) -> tuple[AuditFinding, ...]:
    for fact in facts:
        if fact.key == "gradient_ratio" and isinstance(fact.value, Enclosure):
            ratio = fact.value.middle
            size = abs(log10(ratio)) if ratio > 0 else inf
            word = (
                "balanced"
                if size <= 1
                else "vanish towards the input"
                if ratio < 1
                else "explode towards the input"
            )
            says = f"Gradients {'are ' * (size <= 1)}{word}: norm of the first matrix ÷ the last {ratio:.3g}."
            return judge(
                "gradient-balance", fact.value, says, f"computed, {fact.note}", judged_by=size
            )
    return ()


def _objective(net: Network, rng: np.random.Generator) -> tuple[Objective, str]:
    """The natural loss on the first rows of the data; on random targets where there are no labels that fit."""
    found = natural_objective(net, ROWS) if net.data is not None else None
    if found is not None:
        assert net.data is not None
        return found, f"{found.loss.name} loss on {describe_rows(len(found.examples), net.data)}"
    x, source = some_rows(net, affordable(net, 1e9, 4, ROWS), rng)
    y = rng.normal(size=(len(x), *net.output_shape))
    return Objective.of(
        (net.params, net.apply), (x, y), "squared"
    ), f"squared loss, {source}, random targets"


def name_parameters(net: Network, path: tuple[Any, ...]) -> str:
    """What the array at this path of the parameters is called."""
    if net.description is None or len(path) != 2:
        return name_of_array(path)
    layer, which = (getattr(step, "idx", 0) for step in path)
    return f"layer {layer + 1}, {'biases' if which else 'weights'}"


def _picture(leaves: list[Any], norms: list[float], names: list[str]) -> tuple[Chart, ...]:
    """Of the matrices alone, in order: as bars, or where there are many as a curve."""
    shown = [
        (name, norm)
        for (_, leaf), norm, name in zip(leaves, norms, names)
        if leaf.ndim > 1 and norm > 0
    ]
    if len(shown) < 2:
        return ()
    title = "gradient of each matrix of weights"
    (labels, sizes) = zip(*shown)
    scale = "log" if max(sizes) > 50 * min(sizes) else "linear"
    if len(shown) <= MOST_BARS:
        return (Bars(title, Axis("norm", scale), labels, ("‖∇W‖",), (sizes,)),)
    series = Series("‖∇W‖", np.arange(1, len(sizes) + 1), sizes)
    return (Curves(title, Axis("matrix, from the input"), Axis("norm", "log"), (series,)),)


# -- units --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Units:
    """The units behind one activation: which were ever on, and how many values were flat."""

    name: str
    on: np.ndarray
    always: np.ndarray
    flat: float
    is_relu: bool
    size: float  # root mean square of its values


def active_units(net: Network, rng: np.random.Generator) -> Part:
    """Units that are zero, or saturated, on the rows looked at: read off the graph, so that any network will do."""
    graph = trace(net.apply, net.params, net.example)
    nodes = [node for node in graph.nodes if is_activation(graph, node)]
    if not nodes:
        remedy = "ReLU, max(x, 0), tanh and sigmoid are looked at"
        raise SubjectError(
            "No activation that can be dead or saturated was found.",
            got=f"{len(graph.nodes)} operations",
            remedy=remedy,
        )
    x, told = some_rows(net, affordable(net, 1e10, 8, LOOKED_AT), rng)
    units = _watch_units(net, graph, nodes, x)
    relus = [u for u in units if u.is_relu]
    curved = [u for u in units if not u.is_relu]
    n = len(x)
    facts = []
    if relus:
        dead = sum(int((~u.on).sum()) for u in relus)
        total = sum(u.on.size for u in relus)
        always = sum(int(u.always.sum()) for u in relus)
        of_them = f"of {total:,} units; {told}"
        facts += [
            Fact("ReLUs", Enclosure.exact(total)),
            Fact(
                "dead ReLUs on this data",
                Enclosure.measured(dead, samples=n),
                of_them,
                "" if net.data is None else "dead_neurons",
            ),
            *_bound_dead(net, dead, n, told),
            Fact(
                "always-active ReLUs on this data", Enclosure.measured(always, samples=n), of_them
            ),
        ]
    if curved:
        worst = max(u.flat for u in curved)
        facts.append(
            Fact(
                "largest share of saturated values in a layer",
                Enclosure.measured(worst, samples=n),
                told,
                "saturation",
            )
        )
    facts += _growth(units, n, told)
    findings = (*_judge_relus(relus, n), *_judge_saturation(curved, n), *_judge_growth(units, n))
    if net.data is None:
        findings = weigh_without_data(findings)
    return Part(tuple(facts), (_table(units, told),), _unit_chart(relus), findings)


def _judge_relus(relus: list[_Units], n: int) -> tuple[AuditFinding, ...]:
    """Layers that are dead as a whole, and the share of dead units in all."""
    if not relus:
        return ()
    dead = [int((~u.on).sum()) for u in relus]
    total = sum(u.on.size for u in relus)
    gone = [k for k, (u, d) in enumerate(zip(relus, dead), 1) if d == u.on.size]
    where = ", ".join(f"activation {k}: {d}" for k, d in enumerate(dead, 1) if d)
    says = (
        f"{sum(dead):,} of {total:,} ReLUs are dead on every row."
        if any(dead)
        else "No ReLU is dead on these rows."
    )
    layers = f"Every unit of activation {', '.join(map(str, gone))} is dead: the output no longer depends on the input."
    share = Enclosure.measured(sum(dead), samples=n)
    return (
        *judge("dead-layer", Enclosure.measured(len(gone), samples=n), layers),
        *judge(
            "dead-units",
            share,
            says,
            judged_by=sum(dead) / total,
            means=where.capitalize() + "." if where else "",
        ),
    )


def _growth(units: list[_Units], n: int, told: str) -> list[Fact]:
    """How much larger the values are behind the last activation than behind the first."""
    first, last = units[0].size, units[-1].size
    if len(units) < 2 or not (0 < first < inf and 0 < last < inf):
        return []
    ratio = Enclosure.measured(last / first, samples=n)
    return [
        Fact(
            "size of the last activation ÷ the first (root mean square)",
            ratio,
            told,
            "signal_growth",
        )
    ]


def _judge_growth(units: list[_Units], n: int) -> tuple[AuditFinding, ...]:
    for fact in _growth(units, n, ""):
        assert isinstance(fact.value, Enclosure)
        ratio = fact.value.middle
        word = "grows" if ratio > 1 else "vanishes"
        says = f"The signal {word} with depth: values behind the last activation are {ratio:.2g} times the first."
        return judge("signal-growth", fact.value, says, judged_by=abs(log10(ratio)))
    return ()


def _judge_saturation(curved: list[_Units], n: int) -> tuple[AuditFinding, ...]:
    if not curved:
        return ()
    worst = max(curved, key=lambda u: u.flat)
    says = f"{percent(worst.flat, 0)} of the values of activation {worst.name} are saturated."
    return judge("saturation", Enclosure.measured(worst.flat, samples=n), says)


def _unit_chart(relus: list[_Units]) -> tuple[Chart, ...]:
    """Of each activation, how many units are dead, always active, or switch."""
    if not 0 < len(relus) <= MOST_BARS:
        return ()
    dead = [int((~u.on).sum()) for u in relus]
    always = [int(u.always.sum()) for u in relus]
    switching = [u.on.size - d - a for u, d, a in zip(relus, dead, always)]
    names = tuple(f"activation {u.name}" for u in relus)
    groups = ("dead", "always active", "switching")
    return (
        Bars(
            "units of each activation on the data",
            Axis("units"),
            names,
            groups,
            (dead, always, switching),
        ),
    )


def is_activation(graph: Graph, node: Node) -> bool:
    """Whether a node is a ReLU, tanh or sigmoid."""
    return _rectifies(graph, node) or node.primitive in SATURATED


def _rectifies(graph: Graph, node: Node) -> bool:
    if node.label == "relu":
        return True
    constants = [graph.constants.get(slot.id) for slot in node.inputs]
    return (
        node.primitive == "max"
        and node.outputs[0].is_real
        and any(c is not None and not np.any(c) for c in constants)
    )


def _bound_dead(net: Network, dead: int, n: int, told: str) -> tuple[Fact, ...]:
    """Where rows were drawn: a unit that is dead on all rows is dead on these."""
    if net.data is None or n == len(net.data):
        return ()
    known = Enclosure(0, dead, Basis.SAMPLED, n)
    return (Fact("dead ReLUs on all rows, at most", known, told, "dead_neurons_interval"),)


def _watch_units(net: Network, graph: Graph, nodes: list[Node], x: np.ndarray) -> list[_Units]:
    @jax.jit
    def look(params: Any, block: Any) -> list[tuple[Any, ...]]:
        def of_row(row: Any) -> list[Any]:
            seen = values(graph, params, row)
            return [jnp.ravel(seen[node.outputs[0]]) for node in nodes]

        return [_activity(node, found) for node, found in zip(nodes, jax.vmap(of_row)(block))]

    held = sum(node.outputs[0].size for node in nodes)  # numbers per row
    size = int(np.clip(HELD // held, 1, BATCH))
    blocks = [look(net.params, x[i : i + size]) for i in range(0, len(x), size)]
    units = []
    for k, node in enumerate(nodes):
        on, always, flat, squares = zip(*(block[k] for block in blocks))
        name = f"{k + 1}: {node.label or ('relu' if node.primitive == 'max' else node.primitive)}"
        share = float(np.sum(flat)) / (len(x) * on[0].size)
        root = float(np.sqrt(np.sum(squares) / (len(x) * on[0].size)))
        is_relu = node.primitive not in SATURATED
        units.append(_Units(name, np.any(on, axis=0), np.all(always, axis=0), share, is_relu, root))
    return units


def _activity(node: Node, out: Any) -> tuple[Any, Any, Any, Any]:
    """Which units are on for some, and for every, row of a block, how many values are saturated, and the sum of their
    squares."""
    slope = 1 - out**2 if node.primitive == "tanh" else 4 * out * (1 - out)
    flat = (
        jnp.sum(slope < SATURATED[node.primitive]) if node.primitive in SATURATED else jnp.zeros(())
    )
    return (out > 0).any(0), (out > 0).all(0), flat, jnp.sum(out**2)


def _table(units: list[_Units], told: str) -> Table:
    rows = [
        (u.name, u.on.size, int((~u.on).sum()) if u.is_relu else "–", int(u.always.sum()) if u.is_relu else "–",
         "–" if u.is_relu else f"{percent(u.flat)}")
        for u in units[:SHOWN]
    ]  # fmt: skip
    return Table(
        f"units, {told}",
        ("activation", "units", "dead", "always active", "saturated values"),
        tuple(rows),
    )
