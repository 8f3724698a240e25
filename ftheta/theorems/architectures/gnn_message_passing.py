"""Networks on graphs: they cannot see more than colours, antisymmetric messages conserve, and meshes adapt."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks.graphs.graph import Graph, cycle
from ftheta.networks.graphs.moving_mesh import Layer
from ftheta.networks.graphs.study import graph_evidence
from ftheta.subjects import Dataset

GRAPHS = ("C₆ and two triangles", "random", "path", "grid", "one way")


def graphs(
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
        side, across = max(2, round(nodes**0.5)), np.arange(nodes)
        far = side if graph == "grid" else nodes
        apart = np.abs(across[:, None] // far - across // far) + np.abs(across[:, None] % far - across % far)
        edges = (apart == 1).astype(float)
        edges = np.triu(edges) if graph == "one way" else edges
    return Dataset(f"graph: {graph}", np.zeros((len(edges), 1)), edges)


def one_way(rng: np.random.Generator) -> Dataset:
    return graphs(rng, graph="one way")


def graph_of(data: Dataset) -> Graph:
    """Features x, one row a node, and edges y[i, j]."""
    y = np.zeros((0, 0)) if data.y is None else data.y
    return Graph(y, data.x.reshape(len(data), -1))


@hypothesis(r"the graph is undirected: $e_{ij}=e_{ji}$", remedy="give a symmetric y, for instance np.maximum(y, y.T)")
def undirected(data: Dataset) -> Finding:
    off = graph_of(data).asymmetry
    note = f"{off} edges have another label, or none, in the opposite direction"
    return Finding.decide(off == 0, note, "counted", Enclosure.exact(off), basis=Basis.EXACT)


@theorem(
    title="Message passing on graphs",
    sources=("seed 2", "weisfeiler1968", "xu2019", "morris2019", "kipf2017", "battaglia2016", "rowbottom2025"),
    assumes=(undirected,),
    on=graphs,
    breaks_on=one_way,
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
    steepness: Annotated[float, Knob(2, 100, "steepness of the layer that the mesh resolves", "s", log=True)] = 20.0,
    cells: Annotated[int, Knob(4, 60, "cells of the mesh", "N", log=True, least=2, most=200)] = 16,
    rounds: Annotated[int, Knob(1, 4000, "rounds of messages between mesh nodes", "k", log=True)] = 800,
) -> Evidence:
    r"""Message passing, $$x_i'=\phi\big(x_i,\textstyle\sum_{j\in N(i)}\psi(x_i,x_j,e_{ij})\big),$$ commutes with every
    renumbering of the nodes and gives equal outputs to nodes of equal colour after Weisfeiler and Leman's refinement;
    with $\phi,\psi$ injective (GIN) it tells all colours apart. If $\psi(a,b)=-\psi(b,a)$ on an undirected graph,
    $\sum_ix_i'-x_i=0$: momentum is conserved. Mesh nodes moved by messages to where $|u''|^{2/5}$ is equidistributed
    interpolate $u$ with an $L^2$ error of $\|u''\|_{2/5}/(\sqrt{120}N^2)$ in the limit, $\|u''\|_2$ for equal cells."""
    return graph_evidence(graph_of(data), rng, networks, Layer(steepness), cells, rounds)
