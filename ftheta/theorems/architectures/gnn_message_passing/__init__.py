"""Networks on graphs: they cannot see more than colours, antisymmetric messages conserve, and meshes adapt."""

from functools import partial
from math import sqrt
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

from .charts import _draw_nodes, draw_graph, draw_mesh
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
from .moving_mesh import (
    InteriorLayer,
    bend_norm,
    equidistribute,
    interpolation_error,
    relocate,
    spread,
)

GRAPHS = ("C₆ and two triangles", "random", "path", "grid", "one way")
ZERO = Enclosure.exact(0)
LAYERS = 6  # of the random networks, at most
FINE = (32, 64, 128, 256, 512)


def example_graph(
    rng: np.random.Generator,
    *,
    graph: Annotated[str, Knob(says="the built-in graph", choices=GRAPHS)] = GRAPHS[0],
    nodes: Annotated[int, Knob(2, 100, "nodes of the other graphs", "n", log=True, most=400)] = 24,
) -> Dataset:
    if graph == GRAPHS[0]:
        edges = cycle(6).union(cycle(3).union(cycle(3))).edges
    elif graph == "random":
        edges = np.triu(rng.random((nodes, nodes)) < min(1.0, 3 / nodes), 1).astype(float)
        edges[np.arange(nodes - 1), np.arange(1, nodes)] = 1
        edges = np.maximum(edges, edges.T)
    else:
        side = max(2, round(nodes**0.5))
        across = np.arange(nodes)
        far = side if graph == "grid" else nodes
        apart = np.abs(across[:, None] // far - across // far) + np.abs(
            across[:, None] % far - across % far
        )
        edges = (apart == 1).astype(float)
        edges = np.triu(edges) if graph == "one way" else edges
    return Dataset(f"graph: {graph}", np.zeros((len(edges), 1)), edges)


def directed_path(rng: np.random.Generator) -> Dataset:
    return example_graph(rng, graph="one way")


def _graph_of(data: Dataset) -> Graph:
    """Features x, one row per node, and edges y[i, j]."""
    y = np.zeros((0, 0)) if data.y is None else data.y
    return Graph(y, data.x.reshape(len(data), -1))


@hypothesis(
    r"the graph is undirected: $e_{ij}=e_{ji}$",
    remedy="give a symmetric y, for instance np.maximum(y, y.T)",
)
def undirected(data: Dataset) -> Finding:
    off = _graph_of(data).asymmetry
    note = f"{off} edges have another label, or none, in the opposite direction"
    return Finding.decide(off == 0, note, "counted", Enclosure.exact(off), basis=Basis.EXACT)


@theorem(
    title="Message passing on graphs",
    gist="A message-passing network treats nodes alike that look alike from their neighbourhoods, so it cannot tell "
    "some different graphs apart; antisymmetric messages conserve momentum.",
    see_also=("group-equivariant-linear-maps", "self-attention", "structure-preserving-networks"),
    sources=(
        "murari-slides",
        "weisfeiler1968",
        "xu2019",
        "morris2019",
        "kipf2017",
        "battaglia2016",
        "rowbottom2025",
    ),
    assumes=(undirected,),
    on=example_graph,
    breaks_on=directed_path,
    presets={
        "textbook": {},
        "random graph": {"graph": "random", "nodes": 40},
        "path": {"graph": "path", "nodes": 15},
        "grid": {"graph": "grid", "nodes": 25},
        "at the edge": {"graph": "path", "nodes": 2, "cells": 4},
        "steep layer": {"steepness": 80.0, "cells": 40, "rounds": 4000},
        "broken on purpose": {"graph": "one way"},
    },
)
def gnn_message_passing(
    data: Dataset,
    rng: np.random.Generator,
    *,
    networks: Annotated[int, Knob(1, 50, "random networks tried", "m", log=True, most=200)] = 5,
    steepness: Annotated[
        float, Knob(2, 100, "steepness of the layer that the mesh resolves", "s", log=True)
    ] = 20.0,
    cells: Annotated[int, Knob(4, 60, "cells of the mesh", "N", log=True, least=2, most=200)] = 16,
    rounds: Annotated[
        int, Knob(1, 4000, "rounds of messages between mesh nodes", "k", log=True)
    ] = 800,
) -> Evidence:
    r"""Message passing, $$x_i'=\phi\big(x_i,\textstyle\sum_{j\in N(i)}\psi(x_i,x_j,e_{ij})\big),$$ commutes with every
    renumbering of the nodes and gives equal outputs to nodes of equal colour after Weisfeiler and Leman's refinement;
    with $\phi,\psi$ injective (GIN) it tells all colours apart. If $\psi(a,b)=-\psi(b,a)$ on an undirected graph,
    $\sum_ix_i'-x_i=0$: momentum is conserved. Mesh nodes moved by messages to where $|u''|^{2/5}$ is equidistributed
    interpolate $u$ with an $L^2$ error of $\|u''\|_{2/5}/(\sqrt{120}N^2)$ in the limit, $\|u''\|_2$ for equal cells."""
    graph = _graph_of(data)
    colours = [int(c.max()) + 1 for c in weisfeiler_leman(graph)]
    is_pair = len(graph) == len(_ring_and_triangles())
    title = "C₆ and two triangles: one colour" if is_pair else "colours of the nodes"
    return Evidence(
        (*_symmetry_claims(graph, rng, networks), *_momentum_claims(graph, rng, networks)),
        (draw_graph(graph, title, (6, 3, 3) if is_pair else ()),),
        {"colours": Enclosure.exact(colours[-1]), "triangles": Enclosure.exact(graph.triangles)},
        (Table("refinement of the colours", ("round", "colours"), tuple(enumerate(colours))),),
        summary=f"{len(graph)} nodes have {colours[-1]} colour{'s' * (colours[-1] > 1)} "
        f"after {len(colours) - 1} rounds",
        examples=partial(_examples, rng.spawn(1)[0], InteriorLayer(steepness), cells, rounds),
    )


def _examples(rng: np.random.Generator, layer: InteriorLayer, cells: int, rounds: int) -> Examples:
    """Two graphs that colours do not tell apart, bodies that keep their momentum, and a mesh that adapts."""
    known, numbers = _known_graphs()
    kept, momentum = _bodies(rng, 12, 300)
    meshed, mesh_charts, errors = _mesh(layer, cells, rounds)
    table = Table("adapted mesh", ("what", "value"), tuple(errors.items()))
    return Examples((*known, kept, *meshed), (*mesh_charts, momentum), (table,), numbers)


def _symmetry_claims(graph: Graph, rng: np.random.Generator, draws: int) -> tuple[Claim, ...]:
    """Renumbered nodes give renumbered outputs; nodes of one colour get one output; and GIN tells all colours apart."""
    colours = weisfeiler_leman(graph)
    depth = min(LAYERS, max(1, len(colours)))
    moved = split = 0
    for _ in range(draws):
        net = WholeNetwork.random(rng, int(graph.kinds.max()) + 1, depth)
        order = rng.permutation(len(graph))
        out = net(graph)
        moved += int((net(graph.permute(order)) != out[order]).sum())
        split += split_pairs(colours[-1], [tuple(row) for row in out])
    gin = injective_network(graph, len(colours), rng)
    return (
        Identity(
            "outputs that change when nodes are renumbered",
            Enclosure.measured(moved, samples=draws),
            ZERO,
        ),
        Identity(
            "nodes of one colour with different outputs",
            Enclosure.measured(split, samples=draws),
            ZERO,
        ),
        Identity(
            "nodes that GIN splits within a colour",
            Enclosure.exact(split_pairs(colours[-1], gin.tolist())),
            ZERO,
        ),
        Identity(
            "colours that GIN does not tell apart",
            Enclosure.exact(split_pairs(gin, colours[-1].tolist())),
            ZERO,
        ),
    )


def _momentum_claims(graph: Graph, rng: np.random.Generator, draws: int) -> tuple[Claim, ...]:
    """The sum of antisymmetric messages over all bodies, in whole numbers: 0 on every undirected graph."""
    plain = Graph((graph.edges != 0).astype(float), graph.features)
    worst = 0.0
    at = None
    for _ in range(draws):
        messages = Messages.random(rng, 2, whole=True)
        x = rng.integers(-9, 10, size=(len(graph), 2)).astype(float)
        total = float(np.abs(forces(messages, x, plain).sum(0)).max())
        if total > worst:
            worst = total
            at = (messages, x)
    witness = None
    if at is not None:
        again = max(map(abs, _sum_in_integers(*at, plain)))
        place = {"first body": tuple(at[1][0].tolist())}
        witness = Witness(
            place, Enclosure.exact(again), ZERO, "summed again edge by edge in whole numbers"
        )
    seen = Enclosure.measured(worst, samples=draws)
    return (Identity("sum of antisymmetric messages over all bodies", seen, ZERO, witness),)


def _sum_in_integers(messages: Messages, x: np.ndarray, graph: Graph) -> list[int]:
    W, c, C = (
        [[int(v) for v in row] for row in np.atleast_2d(a).tolist()]
        for a in (messages.W, messages.c, messages.C)
    )
    total = [0] * x.shape[1]
    for i, j in np.argwhere(graph.edges):
        a = [int(v) for v in x[i]]
        b = [int(v) for v in x[j]]
        for sign, pair in ((1, a + b), (-1, b + a)):
            hidden = [max(0, sum(w * v for w, v in zip(row, pair)) + o) for row, o in zip(W, c[0])]
            total = [t + sign * sum(w * h for w, h in zip(row, hidden)) for t, row in zip(total, C)]
    return total


def _ring_and_triangles() -> Graph:
    """C₆ and two triangles as one graph: all of its nodes have two neighbours."""
    return cycle(6).union(cycle(3).union(cycle(3)))


def _known_graphs() -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    """C₆ and two triangles have the same colours but other triangles; the two-node GCN matrix is ½ everywhere."""
    ring = cycle(6)
    pair = cycle(3).union(cycle(3))
    colours = weisfeiler_leman(_ring_and_triangles())[-1]
    apart = int(
        (np.bincount(colours[:6], minlength=12) != np.bincount(colours[6:], minlength=12)).sum()
    )
    entries = [v for row in normalised_entries(path(2)) for v in row]
    claims = (
        Identity("colours of C₆ and 2C₃ that occur unequally often", Enclosure.exact(apart), ZERO),
        Identity(
            "triangles of 2C₃ − triangles of C₆",
            Enclosure.exact(pair.triangles - ring.triangles),
            Enclosure.exact(2),
        ),
        Identity(
            "largest squared entry of the two-node GCN matrix",
            Enclosure.exact(max(entries)),
            Enclosure.exact(0.25),
        ),
        Identity(
            "smallest squared entry of the two-node GCN matrix",
            Enclosure.exact(min(entries)),
            Enclosure.exact(0.25),
        ),
    )
    numbers: dict[str, Enclosure | float] = {
        "triangles of C6": Enclosure.exact(ring.triangles),
        "triangles of 2C3": Enclosure.exact(pair.triangles),
        "colours of C6 and 2C3": Enclosure.exact(int(colours.max()) + 1),
        "entry of the two-node GCN matrix": float(gcn_matrix(path(2))[0, 1]),
    }
    return claims, numbers


# ---- bodies ---------------------------------------------------------------------------------------------------------


def _bodies(
    rng: np.random.Generator, number: int, steps: int, step: float = 0.01
) -> tuple[Claim, Curves]:
    """Bodies that all push each other by random messages: antisymmetric ones keep the momentum, others do not."""
    graph = Graph((1 - np.eye(number)) / number, np.zeros((number, 1)))
    x = rng.normal(size=(number, 2))
    v = rng.normal(size=(number, 2))
    messages = Messages.random(rng, 2)
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


def _mesh(
    u: InteriorLayer, cells: int, rounds: int
) -> tuple[tuple[Claim, ...], tuple[Curves, ...], dict[str, float]]:
    """Nodes moved by messages: in order, at rest, and with a smaller error; the best constant as cells get many."""
    meshes = relocate(u, cells, rounds)
    before = interpolation_error(u, meshes[0])
    after = interpolation_error(u, meshes[-1])
    least = float(np.diff(meshes, axis=1).min())
    scaled = [n**2 * sqrt(120) * interpolation_error(u, equidistribute(u, n)) for n in FINE]
    best = bend_norm(u, 0.4)
    plain = bend_norm(u, 2.0)
    rest = Enclosure.equal(spread(u, meshes[-1]))
    claims = (
        AtMost("−least distance of two nodes, in all rounds", Enclosure.equal(-least), ZERO),
        Exists(
            "a mesh of as many cells with a smaller error",
            {"cells": float(cells)},
            Enclosure.equal(after),
            Enclosure.equal(before),
        ),
        Converges(
            "largest share of the monitor over the smallest",
            Enclosure.exact(1),
            (rest,),
            (float(rounds),),
            0.1,
        ),
        AtMost(
            "‖u″‖_2/5 ≤ ‖u″‖_2: what moving can gain", Enclosure.equal(best), Enclosure.equal(plain)
        ),
        Converges(
            "√120 N² error → ‖u″‖_2/5",
            Enclosure.equal(best),
            tuple(map(Enclosure.equal, scaled)),
            FINE,
            0.05 * best,
        ),
    )
    numbers = {
        "error of equal cells": before,
        "error of moved cells": after,
        "gain": before / after,
    }
    return claims, (draw_mesh(u, meshes[-1]), _draw_nodes(meshes)), numbers
