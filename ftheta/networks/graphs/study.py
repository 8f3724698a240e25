"""Message passing on a graph: equivariant, no finer than Weisfeiler and Leman, conserving; and a mesh that adapts."""

from math import cos, pi, sin, sqrt

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Exists,
    Identity,
    Regions,
    Series,
    Table,
    Witness,
)

from .graph import (
    Graph,
    WholeNetwork,
    cycle,
    gcn_matrix,
    injective_network,
    normalised_entries,
    path,
    split_pairs,
    weisfeiler_leman,
)
from .interaction import Messages, forces, momenta
from .moving_mesh import Layer, bend_norm, equidistributed, interpolation_error, relocate, spread

ZERO = Enclosure.exact(0)
SHOWN = 60  # nodes drawn
LAYERS = 6  # of the random networks, at most
FINE = (32, 64, 128, 256, 512)


def symmetry_claims(graph: Graph, rng: np.random.Generator, draws: int) -> tuple[Claim, ...]:
    """Renumbered nodes give renumbered outputs; nodes of one colour get one output; and GIN tells all colours apart."""
    colours = weisfeiler_leman(graph)
    depth = min(LAYERS, max(1, len(colours)))
    moved = split = 0
    for _ in range(draws):
        net, order = WholeNetwork.random(rng, int(graph.kinds.max()) + 1, depth), rng.permutation(len(graph))
        out = net(graph)
        moved += int((net(graph.permuted(order)) != out[order]).sum())
        split += split_pairs(colours[-1], [tuple(row) for row in out])
    gin = injective_network(graph, len(colours), rng)
    return (
        Identity("outputs that change when nodes are renumbered", Enclosure.measured(moved, samples=draws), ZERO),
        Identity("nodes of one colour with different outputs", Enclosure.measured(split, samples=draws), ZERO),
        Identity(
            "nodes that GIN splits within a colour", Enclosure.exact(split_pairs(colours[-1], gin.tolist())), ZERO
        ),
        Identity("colours that GIN does not tell apart", Enclosure.exact(split_pairs(gin, colours[-1].tolist())), ZERO),
    )


def momentum_claims(graph: Graph, rng: np.random.Generator, draws: int) -> tuple[Claim, ...]:
    """The sum of antisymmetric messages over all bodies, in whole numbers: 0 on every undirected graph."""
    plain, worst, at = Graph((graph.edges != 0).astype(float), graph.features), 0.0, None
    for _ in range(draws):
        messages, x = Messages.random(rng, 2, whole=True), rng.integers(-9, 10, size=(len(graph), 2)).astype(float)
        total = float(np.abs(forces(messages, x, plain).sum(0)).max())
        if total > worst:
            worst, at = total, (messages, x)
    witness = None
    if at is not None:
        again = max(map(abs, _summed(*at, plain)))
        place = {"first body": tuple(at[1][0].tolist())}
        witness = Witness(place, Enclosure.exact(again), ZERO, "summed again edge by edge in whole numbers")
    seen = Enclosure.measured(worst, samples=draws)
    return (Identity("sum of antisymmetric messages over all bodies", seen, ZERO, witness),)


def _summed(messages: Messages, x: np.ndarray, graph: Graph) -> list[int]:
    W, c, C = (
        [[int(v) for v in row] for row in np.atleast_2d(a).tolist()] for a in (messages.W, messages.c, messages.C)
    )
    total = [0] * x.shape[1]
    for i, j in np.argwhere(graph.edges):
        a, b = [int(v) for v in x[i]], [int(v) for v in x[j]]
        for sign, pair in ((1, a + b), (-1, b + a)):
            hidden = [max(0, sum(w * v for w, v in zip(row, pair)) + o) for row, o in zip(W, c[0])]
            total = [t + sign * sum(w * h for w, h in zip(row, hidden)) for t, row in zip(total, C)]
    return total


def known_graphs() -> tuple[tuple[Claim, ...], dict[str, Enclosure | float], Graph]:
    """C₆ and two triangles have the same colours but other triangles; the two-node GCN matrix is ½ everywhere."""
    ring, pair = cycle(6), cycle(3).union(cycle(3))
    both = ring.union(pair)
    colours = weisfeiler_leman(both)[-1]
    apart = int((np.bincount(colours[:6], minlength=12) != np.bincount(colours[6:], minlength=12)).sum())
    entries = [v for row in normalised_entries(path(2)) for v in row]
    claims = (
        Identity("colours of C₆ and 2C₃ that occur unequally often", Enclosure.exact(apart), ZERO),
        Identity(
            "triangles of 2C₃ − triangles of C₆", Enclosure.exact(pair.triangles - ring.triangles), Enclosure.exact(2)
        ),
        Identity(
            "largest squared entry of the two-node GCN matrix", Enclosure.exact(max(entries)), Enclosure.exact(0.25)
        ),
        Identity(
            "smallest squared entry of the two-node GCN matrix", Enclosure.exact(min(entries)), Enclosure.exact(0.25)
        ),
    )
    numbers: dict[str, Enclosure | float] = {
        "triangles of C6": Enclosure.exact(ring.triangles),
        "triangles of 2C3": Enclosure.exact(pair.triangles),
        "colours of C6 and 2C3": Enclosure.exact(int(colours.max()) + 1),
        "entry of the two-node GCN matrix": float(gcn_matrix(path(2))[0, 1]),
    }
    return claims, numbers, both


# ---- bodies ---------------------------------------------------------------------------------------------------------


def bodies(rng: np.random.Generator, number: int, steps: int, step: float = 0.01) -> tuple[Claim, Curves]:
    """Bodies that all push each other by random messages: antisymmetric ones keep the momentum, others do not."""
    graph = Graph((1 - np.eye(number)) / number, np.zeros((number, 1)))
    x, v, messages = rng.normal(size=(number, 2)), rng.normal(size=(number, 2)), Messages.random(rng, 2)
    free = Messages(messages.W, messages.c, messages.C, antisymmetric=False)
    drifts = []
    for kind in (messages, free):
        sums, _ = momenta(kind, x, v, graph, step, steps)
        drifts.append(np.linalg.norm(sums - sums[0], axis=1))
    t = step * np.arange(steps + 1)
    chart = Curves(
        f"momentum of {number} bodies",
        Axis("time"),
        Axis("change of the total momentum", "log"),
        (
            Series("any messages", t[1:], np.maximum(drifts[1][1:], 1e-18)),
            Series("antisymmetric messages", t[1:], np.maximum(drifts[0][1:], 1e-18)),
        ),
    )
    seen = Enclosure.equal(float(drifts[0].max()))
    size = float(np.abs(v).sum()) + float(drifts[1].max())
    return Identity("change of momentum along the run", seen, ZERO, atol=1e-12 * size), chart


# ---- a mesh ---------------------------------------------------------------------------------------------------------


def mesh(u: Layer, cells: int, rounds: int) -> tuple[tuple[Claim, ...], tuple[Curves, ...], dict[str, float]]:
    """Nodes moved by messages: in order, at rest, and with a smaller error; the best constant as cells get many."""
    meshes = relocate(u, cells, rounds)
    before, after = interpolation_error(u, meshes[0]), interpolation_error(u, meshes[-1])
    least = float(np.diff(meshes, axis=1).min())
    scaled = [n**2 * sqrt(120) * interpolation_error(u, equidistributed(u, n)) for n in FINE]
    best, plain = bend_norm(u, 0.4), bend_norm(u, 2.0)
    rest = Enclosure.equal(spread(u, meshes[-1]))
    claims = (
        AtMost("−least distance of two nodes, in all rounds", Enclosure.equal(-least), ZERO),
        Exists(
            "a mesh of as many cells with a smaller error",
            {"cells": float(cells)},
            Enclosure.equal(after),
            Enclosure.equal(before),
        ),
        Converges("largest share of the monitor over the smallest", Enclosure.exact(1), (rest,), (float(rounds),), 0.1),
        AtMost("‖u″‖_2/5 ≤ ‖u″‖_2: what moving can gain", Enclosure.equal(best), Enclosure.equal(plain)),
        Converges(
            "√120 N² error → ‖u″‖_2/5", Enclosure.equal(best), tuple(map(Enclosure.equal, scaled)), FINE, 0.05 * best
        ),
    )
    numbers = {"error of equal cells": before, "error of moved cells": after, "gain": before / after}
    return claims, (_mesh_chart(u, meshes[-1]), _nodes_chart(meshes)), numbers


def _mesh_chart(u: Layer, x: np.ndarray) -> Curves:
    fine, equal = np.linspace(0, 1, 400), np.linspace(0, 1, len(x))
    low = np.full(len(x), -1.25)
    series = (
        Series("u", fine, u(fine), "reference"),
        Series("interpolant on the moved mesh", x, u(x)),
        Series("moved nodes", x, low, mark="points"),
        Series("equal cells", equal, low - 0.15, "other", mark="points"),
    )
    return Curves("adapted mesh", Axis("x"), Axis("u"), series)


def _nodes_chart(meshes: np.ndarray) -> Curves:
    k = np.arange(len(meshes))
    series = tuple(Series(f"node {i}", k + 1, meshes[:, i]) for i in range(1, meshes.shape[1] - 1))
    return Curves("nodes moved by messages from their neighbours", Axis("round", "log"), Axis("x"), series)


# ---- figures --------------------------------------------------------------------------------------------------------


def graph_chart(graph: Graph, title: str, parts: tuple[int, ...] = ()) -> Regions:
    """The nodes as discs in the colours of Weisfeiler and Leman, on one circle a part; edges between them."""
    shown = min(len(graph), SHOWN)
    sizes = parts if sum(parts) == shown else (shown,)
    places: list[tuple[float, float]] = []
    right = 0.0
    for size in sizes:
        r = max(0.6, size / max(sizes))
        places += [(right + r + r * sin(2 * pi * k / size), r * cos(2 * pi * k / size)) for k in range(size)]
        right += 2 * r + 0.3
    radius = min(0.12, 2.2 / max(shown, 1))
    disc = [(radius * cos(2 * pi * k / 24), radius * sin(2 * pi * k / 24)) for k in range(24)]
    polygons = tuple(tuple((a + x, b + y) for x, y in disc) for a, b in places)
    pairs = [(i, j) for i, j in np.argwhere(graph.edges[:shown, :shown] != 0).tolist() if i < j]
    lines = tuple(_between(places[i], places[j], radius) for i, j in pairs)
    colours = weisfeiler_leman(graph)[-1][:shown]
    kinds, numbers = np.unique(colours, return_inverse=True)
    names = tuple(f"colour {k}" for k in range(len(kinds)))
    return Regions(title, Axis(""), Axis(""), polygons, numbers.astype(float), "colour", lines, names)


def _between(a: tuple[float, float], b: tuple[float, float], gap: float) -> tuple[tuple[float, float], ...]:
    dx, dy = b[0] - a[0], b[1] - a[1]
    t = gap / max(sqrt(dx * dx + dy * dy), 1e-12)
    return (a[0] + t * dx, a[1] + t * dy), (b[0] - t * dx, b[1] - t * dy)


def graph_evidence(
    graph: Graph, rng: np.random.Generator, draws: int, layer: Layer, cells: int, rounds: int
) -> Evidence:
    colours = weisfeiler_leman(graph)
    found = [int(c.max()) + 1 for c in colours]
    known, numbers, both = known_graphs()
    kept, momentum_chart = bodies(rng, 12, 300)
    meshed, mesh_charts, errors = mesh(layer, cells, rounds)
    numbers |= errors | {"colours": Enclosure.exact(found[-1]), "triangles": Enclosure.exact(graph.triangles)}
    table = Table("refinement of the colours", ("round", "colours"), tuple(enumerate(found)))
    parts = ((6, 3, 3), "C₆ and two triangles: one colour") if len(graph) == len(both) else ((), "colours of the nodes")
    charts = (graph_chart(graph, parts[1], parts[0]), mesh_charts[0], mesh_charts[1], momentum_chart)
    return Evidence(
        (*symmetry_claims(graph, rng, draws), *momentum_claims(graph, rng, draws), *known, kept, *meshed),
        charts,
        numbers,
        (table,),
        summary=f"{len(graph)} nodes have {found[-1]} colour{'s' * (found[-1] > 1)} after {len(found) - 1} rounds; "
        f"moving the mesh divides its error by {errors['gain']:.3g}",
    )
