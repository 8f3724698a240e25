"""What holds for recurrent networks: Jacobians of the state, how long it remembers, whether it forgets for certain."""

from math import inf, log

import jax
import numpy as np

from ftheta.certify.ladder.graphs import Unbounded, bound_by_intervals
from ftheta.certify.steepness import steepness
from ftheta.graph import Graph, GraphError, trace, values
from ftheta.graph.compiling import call_compiled
from ftheta.graph.recurrences import Recurrence, find_recurrences, join_state
from ftheta.logic import AuditFinding, Axis, Basis, Curves, Enclosure, Fact, Series, SubjectError
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge
from ..part import Part
from .inputs import affordable, name_other_kind, some_rows

ROWS = 8
MOST_STATE = 512  # numbers of a state whose Jacobians are computed
BOXED = 8  # steps whose Jacobians are enclosed
FORGOTTEN = 0.05  # of a change of the state


def recurrent_state(net: Network, rng: np.random.Generator) -> Part:
    """The Jacobians of one step of the state along sequences of the data, and their products."""
    graph = trace(net.apply, net.params, _example(net))
    loops = find_recurrences(graph)
    if not loops:
        raise name_other_kind()
    loop = max(loops, key=lambda found: len(found.steps) * found.size)
    if loop.size > MOST_STATE:
        got = f"{loop.size:,} numbers"
        raise SubjectError(
            "The state is too large for its Jacobians.", got=got, remedy="a smaller state"
        )
    x, told = some_rows(net, affordable(net, 2e9 / loop.size, 2, ROWS), rng)
    x = x.astype(np.int64) if takes_tokens(net) else x
    jacobians = np.stack([_jacobians(net, graph, loop, row) for row in x])  # row, step, out, in
    radii = np.abs(np.linalg.eigvals(jacobians)).max(-1)
    kept = _kept_by_lag(jacobians)
    rate = (
        float(np.log(np.maximum(kept[:, -1], 1e-300)).mean() / (kept.shape[1] - 1))
        if kept.shape[1] > 1
        else 0.0
    )
    n = len(x)
    told = f"{loop.size} numbers, {len(loop.steps)} steps; {told}"
    facts = [
        Fact(
            "spectral radius of the Jacobians, median",
            Enclosure.measured(float(np.median(radii)), samples=n),
            told,
            "spectral_radius",
        ),
        Fact(
            "spectral radius of the Jacobians, largest",
            Enclosure.at_least(float(radii.max()), samples=n),
            told,
        ),
        Fact(
            "growth of a change of the state per step",
            Enclosure.measured(float(np.exp(rate)), samples=n),
            told,
            "growth",
        ),
        Fact("memory length", *_memory(kept, rate), "memory"),
        *_certificates(net, graph, loop, x),
    ]
    findings = _judge_memory(rate, kept, len(loop.steps), n)
    return Part(tuple(facts), charts=(_picture(kept, radii),), findings=findings)


def _example(net: Network) -> object:
    return jax.ShapeDtypeStruct(net.input_shape, np.int64) if takes_tokens(net) else net.example


def _jacobians(net: Network, graph: Graph, loop: Recurrence, row: np.ndarray) -> np.ndarray:
    """∂h_t/∂h_{t−1} at every step but the first."""
    seen = values(graph, net.params, row)
    known = {slot.id: seen[slot] for slot in graph.slots}
    found = []
    for t in loop.transitions:
        state = join_state([known[slot.id] for slot in loop.states[t - 1]])
        found.append(np.asarray(call_compiled(jax.jacfwd(loop.cell(t, known)), state)))
    return np.stack(found)


def _kept_by_lag(jacobians: np.ndarray) -> np.ndarray:
    """‖J_{t+k} … J_{t+1}‖ of every row and lag k = 0, 1, …, the mean over t."""
    rows, steps = jacobians.shape[:2]
    kept = np.ones((rows, steps + 1))
    for r in range(rows):
        for lag in range(1, steps + 1):
            norms = []
            for t in range(steps - lag + 1):
                product = jacobians[r, t]
                for k in range(1, lag):
                    product = jacobians[r, t + k] @ product
                norms.append(np.linalg.norm(product, 2))
            kept[r, lag] = np.mean(norms)
    return kept


def _memory(kept: np.ndarray, rate: float) -> tuple[str, str]:
    """The steps after which a change of the state has shrunk to a twentieth."""
    middle = np.median(kept, axis=0)
    small = np.flatnonzero(middle < FORGOTTEN)
    if len(small):
        return (
            f"{small[0]} steps",
            f"until a change of the state is below {FORGOTTEN:.0%}, as measured",
        )
    if rate < 0:
        return (
            f"about {log(FORGOTTEN) / rate:.0f} steps",
            f"longer than the {kept.shape[1] - 1} steps measured; extrapolated",
        )
    return (
        f"longer than {kept.shape[1] - 1} steps",
        "a change of the state does not shrink in the steps measured",
    )


def _certificates(net: Network, graph: Graph, loop: Recurrence, x: np.ndarray) -> list[Fact]:
    """Of every state where that can be bounded, else, as for the gates of a GRU or LSTM, of those in the box of the
    states met: there is no bound for all, as a gate times the state grows with it."""
    found = _certificate(net, graph, loop, x[0])
    return (
        found if isinstance(found[0].value, Enclosure) else [*found, *_in_box(net, graph, loop, x)]
    )


def _in_box(net: Network, graph: Graph, loop: Recurrence, x: np.ndarray) -> list[Fact]:
    """A bound of the last steps at the inputs of one row, for all states in the box of those that the rows met."""
    seen = [values(graph, net.params, row) for row in x]
    met = np.stack(
        [
            np.asarray(join_state([known[slot] for slot in state]), np.float64)
            for known in seen
            for state in loop.states
        ]
    )
    box = met.min(0), met.max(0)
    known = {slot.id: seen[0][slot] for slot in graph.slots}
    steps = list(loop.transitions)[-BOXED:]
    worst = 0.0
    for t in steps:
        cell = loop.cell(t, known)
        shape = jax.ShapeDtypeStruct((loop.size,), np.float64)
        bound = bound_by_intervals(cell, trace(cell, shape, fold_rounded=False), box, 2.0)
        if isinstance(bound, Unbounded):
            return [
                Fact("stability certificate in the box of the states met", f"none: {bound.why}")
            ]
        worst = max(worst, bound)
    told = (
        f"for every two states in the box of those met on {len(x)} rows, at the inputs of the last {len(steps)} steps "
        "of one row as float64 computes them; below 1 they approach each other as long as they stay in it"
    )
    value = Enclosure.between(0.0, worst, Basis.FLOAT)
    return [
        Fact(
            "Lipschitz constant of a step in the box of the states met",
            value,
            told,
            "contraction_in_box",
        )
    ]


def _certificate(net: Network, graph: Graph, loop: Recurrence, row: np.ndarray) -> list[Fact]:
    """A bound of Lip(h ↦ f(h, x_t)) for every state, at the inputs of one row, where every operation has a rule."""
    if any(len(state) != 1 for state in loop.states):
        return [
            Fact("stability certificate for every state", "none: products of parts of the state")
        ]
    seen = values(graph, net.params, row)
    known = {slot.id: np.asarray(seen[slot]) for slot in graph.slots}
    worst = 0.0
    for t in loop.transitions:
        start, end = loop.states[t - 1][0], loop.states[t][0]
        made = {slot.id for node in loop.steps[t] for slot in node.outputs}
        still = {key: value for key, value in known.items() if key not in made and key != start.id}
        try:
            worst = max(worst, steepness(loop.steps[t], start, end, still).hi)
        except GraphError as error:
            why = str(error).splitlines()[0]
            return [Fact("stability certificate for every state", f"none: {why}")]
    if worst == inf:
        return [Fact("stability certificate for every state", "none: no finite bound")]
    told = "for every state, at the inputs of one row as float64 computes them; below 1 every two states meet"
    bound = Enclosure.between(0.0, worst, Basis.FLOAT)
    return [Fact("Lipschitz constant of a step in the state", bound, told, "contraction")]


def _judge_memory(rate: float, kept: np.ndarray, steps: int, n: int) -> tuple[AuditFinding, ...]:
    grows = float(np.exp(rate))
    lag = kept.shape[1] - 1
    middle = np.median(kept, axis=0)
    basis = f"measured, {n} rows, products of Jacobians"
    says = f"The state amplifies: a change grows by {grows:.3g} per step, to {middle[-1]:.3g} over {lag} steps."
    unstable = judge(
        "unstable-state", Enclosure.measured(grows, samples=n), says, basis, judged_by=rate
    )
    if unstable:
        return unstable
    small = np.flatnonzero(middle < FORGOTTEN)
    after = int(small[0]) if len(small) else steps
    says = f"The state forgets: after {after} of {steps} steps less than {FORGOTTEN:.0%} of a change is left."
    if not len(small):
        left = f"{middle[-1]:.0%} of a change are left, in the median"
        says = f"The state remembers: after {lag} of {steps} steps {left}."
    return judge(
        "short-memory", Enclosure.measured(after, samples=n), says, basis, judged_by=after / steps
    )


def _picture(kept: np.ndarray, radii: np.ndarray) -> Curves:
    lags = np.arange(kept.shape[1])
    middle = np.median(kept, axis=0)
    band = {"lo": kept.min(0), "hi": kept.max(0)}
    series = [Series("‖product of Jacobians‖", lags, np.maximum(middle, 1e-300), **band)]
    power = np.median(radii) ** lags
    series.append(
        Series("median spectral radius to the power", lags, np.maximum(power, 1e-300), "reference")
    )
    return Curves(
        "what is left of a change of the state",
        Axis("steps later"),
        Axis("factor", "log"),
        tuple(series),
    )
