"""Networks that are no chain of dense layers: bounds read off the graph, secants evaluated in intervals."""

from collections.abc import Callable
from math import inf
from time import process_time
from typing import Any

import numpy as np

from ftheta.graph.domains.interval import intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.lazy import jax, jnp
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Real

from ..lipschitz import inputs_near, steepest_secant
from ..traced_programs import describe_meaning
from .domains import Domain
from .graphs import Unbounded, bound_by_intervals, bound_by_nodes, trace_network
from .result import LipschitzConstant, Rung
from .secants import SteepestSecant

POINTS = 256
CLIMBS = 16
SECOND = 25  # steps of ascent that count as one second of work
HALVES = tuple(2.0**-k for k in (4, 8, 12, 16))


def bound_network(
    net: Any,
    shape: tuple[int, ...],
    domain: Domain,
    norm: float,
    seconds: float,
    rows: Real[np.ndarray, "n d"] | None,
    rng: np.random.Generator,
) -> LipschitzConstant:
    """The enclosure for any program of JAX."""
    function = _function_of(net)
    graph = trace_network(function, shape)
    ladder = []
    remarks = []
    start = process_time()
    witness = _search(function, shape, domain, norm, seconds, rows, rng)
    if witness is not None:
        again: Callable[[], float] = lambda: (
            enclose_slope(function, shape, witness.x, witness.y, norm).lo
        )
        says = f"two inputs, evaluated in {witness.how}; {witness.tried:,} points tried"
        certificate = {"x": witness.x, "y": witness.y}
        spent = process_time() - start
        ladder.append(
            Rung(
                "steepest secant found", "lower", witness.slope.lo, spent, says, certificate, again
            )
        )
    for method, says, compute in _methods(function, graph, domain, norm):
        start = process_time()
        found = compute()
        if isinstance(found, Unbounded):
            remarks.append(_say(method, found, domain))
            continue
        ladder.append(Rung(method, "upper", found, process_time() - start, says, {}, compute))  # type: ignore[arg-type]
    name = getattr(net, "name", getattr(net, "__name__", "function"))
    meaning = describe_meaning(net)
    return LipschitzConstant(
        name, norm, domain.says, tuple(ladder), witness, tuple(remarks), meaning
    )


def _say(method: str, found: Unbounded, domain: Domain) -> str:
    where = f" ({found.where})" if found.where else ""
    remedy = "; remedy: give a bounded domain" if domain.is_space else ""
    return f"no bound by the {method}: {found.why}{where}{remedy}"


def _function_of(net: Any) -> Callable[[Any], Any]:
    if hasattr(net, "apply") and hasattr(net, "params"):
        return lambda x: net.apply(net.params, x)
    return net


def _methods(
    function: Callable[[Any], Any], graph: Graph, domain: Domain, norm: float
) -> list[tuple[str, str, Callable[[], float | Unbounded]]]:
    says = "constants of all operations, multiplied and added along the graph"
    found = [("constants of all nodes", says, lambda: bound_by_nodes(graph, norm))]
    box = domain.hull
    if box is not None:
        says = "an enclosure of every partial derivative over the box"
        found.append(
            ("interval Jacobian", says, lambda: bound_by_intervals(function, graph, box, norm))
        )
    return found  # type: ignore[return-value]


# ---- below -----------------------------------------------------------------------------------------------------------


def _search(
    function: Callable[[Any], Any],
    shape: tuple[int, ...],
    domain: Domain,
    norm: float,
    seconds: float,
    rows: np.ndarray | None,
    rng: np.random.Generator,
) -> SteepestSecant | None:
    """The steepest of secants around the ends of ascents in the 2-norm, in the norm asked for."""
    size = int(np.prod(shape))
    starts = (
        inputs_near(rows, (size,), POINTS, 1.0, rng)
        if domain.hull is None
        else _draw(domain, rng, size)
    )
    flat: Callable[[Any], Any] = lambda x: jnp.ravel(function(jnp.reshape(x, shape)))
    steps = int(np.clip(SECOND * seconds, 10, 400))
    with jax.enable_x64(True):
        met = steepest_secant(flat, domain.project(starts), rng, climbs=CLIMBS, steps=steps)
        pairs = _pairs(flat, met.x, met.y, domain, norm)
        best = None
        for x, y in pairs:
            if not (domain.contains(x) and domain.contains(y)):
                continue
            slope = enclose_slope(function, shape, x, y, norm)
            if slope.lo > (0.0 if best is None else best.slope.lo):
                best = SteepestSecant(x, y, slope, met.tried, "intervals rounded outward")
    return best


def _draw(domain: Domain, rng: np.random.Generator, size: int) -> np.ndarray:
    lo, hi = domain.hull or (np.zeros(size), np.ones(size))
    return rng.uniform(size=(POINTS, size)) * (hi - lo) + lo


def _pairs(
    flat: Callable[[Any], Any], x: np.ndarray, y: np.ndarray, domain: Domain, norm: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The secant found, and ones along the direction in which the Jacobian at its middle stretches most."""
    ends = domain.project(np.stack([x, y]))
    middle = domain.project(((x + y) / 2)[None])[0]
    J = np.nan_to_num(np.asarray(jax.jacrev(flat)(middle)).reshape(-1, len(middle)))
    if norm == 2:
        v = np.linalg.svd(J, full_matrices=False)[2][0]
    elif norm == inf:
        v = np.where(J[np.abs(J).sum(1).argmax()] >= 0, 1.0, -1.0)
    else:
        v = np.eye(len(middle))[np.abs(J).sum(0).argmax()]
    size = float(np.abs(middle).max()) or 1.0
    found = [(ends[0], ends[1])]
    for h in HALVES:
        pair = domain.project(np.stack([middle - h * size * v, middle + h * size * v]))
        found.append((pair[0], pair[1]))
    return found


def enclose_slope(
    function: Callable[[Any], Any],
    shape: tuple[int, ...],
    x: Float[np.ndarray, "d"],
    y: Float[np.ndarray, "d"],
    norm: float,
) -> Enclosure:
    r"""$\|f(x)-f(y)\|/\|x-y\|$ with outward rounding; nothing is known where the program has no such evaluation."""

    def length(v: Any) -> Any:
        if norm == 2:
            return jnp.sqrt(jnp.sum(v * v))
        return jnp.max(jnp.abs(v)) if norm == inf else jnp.sum(jnp.abs(v))

    def slope(x: Any, y: Any) -> Any:
        return length(jnp.ravel(function(x)) - jnp.ravel(function(y))) / length(
            jnp.ravel(x) - jnp.ravel(y)
        )

    if np.array_equal(x, y):
        return Enclosure.exact(0)
    try:
        with jax.enable_x64(True):
            graph = trace(slope, x.reshape(shape), y.reshape(shape), fold_rounded=False)
            found = intervals(graph, x.reshape(shape), y.reshape(shape)).outputs
    except (GraphError, TypeError, ValueError):
        return Enclosure.unknown()
    return Enclosure.between(max(0.0, float(found.lo)), float(found.hi))
