r"""Graphs, the colours of Weisfeiler and Leman, and message passing.

A layer is $x_i'=\phi(x_i,\sum_{j\in N(i)}\psi(x_i,x_j,e_{ij}))$. The colour of a node is refined by the multiset of the
colours of its neighbours, with the labels of the edges, until nothing changes. Message passing computes with whole
numbers here, so that equal means equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ftheta.logic import SubjectError

MOST_NODES = 2000


@dataclass(frozen=True, eq=False)
class Graph:
    """`edges[i, j]` is the label of the edge from j to i, 0 where there is none; `features` has one row per node."""

    edges: np.ndarray
    features: np.ndarray

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, np.float64)
        features = np.asarray(self.features)
        n = len(features) if features.ndim else 0
        if edges.ndim != 2 or edges.shape != (n, n):
            raise SubjectError(
                "A graph needs one row of features per node and a square matrix of edges.",
                got=f"features {features.shape}, edges {edges.shape}",
                remedy="give edges[i, j] ≠ 0 where node j sends to node i",
            )
        if not np.isfinite(edges).all():
            i, j = np.argwhere(~np.isfinite(edges))[0]
            got = f"edges[{i}, {j}] = {edges[i, j]}"
            raise SubjectError(
                "The label of an edge is no number.",
                got=got,
                remedy="give 0 where there is no edge",
            )
        if n == 0 or not edges.any():
            raise SubjectError(
                "The graph is empty: there is no edge to pass a message along.",
                got=f"{n} nodes, {int((edges != 0).sum())} edges",
                remedy="give at least two nodes and one edge",
            )
        if n > MOST_NODES:
            raise SubjectError(
                "The graph is too large.", got=f"{n:,} nodes", remedy=f"at most {MOST_NODES:,}"
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "features", features.reshape(n, -1))

    @classmethod
    def of(cls, nodes: int, pairs: Sequence[tuple[int, int]]) -> "Graph":
        """Undirected, without labels, all nodes alike."""
        edges = np.zeros((nodes, nodes))
        for a, b in pairs:
            if not (0 <= a < nodes and 0 <= b < nodes):
                raise SubjectError(
                    "An edge leads to no node.",
                    got=f"({a}, {b})",
                    remedy=f"nodes are 0 to {nodes - 1}",
                )
            edges[a, b] = edges[b, a] = 1
        return cls(edges, np.zeros((nodes, 1)))

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def asymmetry(self) -> int:
        """Edges whose label is another in the opposite direction."""
        return int((self.edges != self.edges.T).sum()) // 2

    @cached_property
    def neighbours(self) -> list[list[tuple[int, int]]]:
        """For every node, the nodes that send to it, each with the number of the label of the edge, from 1."""
        labels = np.unique(self.edges, return_inverse=True)[1].reshape(self.edges.shape)
        return [
            [(int(j), int(labels[i, j]) + 1) for j in np.flatnonzero(row)]
            for i, row in enumerate(self.edges)
        ]

    @cached_property
    def kinds(self) -> np.ndarray:
        """Nodes with equal features have equal numbers, from 0."""
        return np.unique(self.features, axis=0, return_inverse=True)[1].ravel()

    def permute(self, order: np.ndarray) -> "Graph":
        """Node `order[i]` becomes node i."""
        return Graph(self.edges[np.ix_(order, order)], self.features[order])

    def union(self, other: "Graph") -> "Graph":
        """Both, side by side."""
        n = len(self)
        m = len(other)
        edges = np.block([[self.edges, np.zeros((n, m))], [np.zeros((m, n)), other.edges]])
        return Graph(edges, np.concatenate([self.features, other.features]))

    @property
    def triangles(self) -> int:
        """Of the graph without labels and directions: tr(A³)/6."""
        A = ((self.edges != 0) | (self.edges.T != 0)).astype(np.float64)
        np.fill_diagonal(A, 0)
        return round(float(np.trace(A @ A @ A))) // 6


def cycle(nodes: int) -> Graph:
    """The cycle of so many nodes."""
    return Graph.of(nodes, [*pairwise(range(nodes)), (nodes - 1, 0)])


def path(nodes: int) -> Graph:
    """The path of so many nodes."""
    return Graph.of(nodes, list(pairwise(range(nodes))))


def weisfeiler_leman(graph: Graph) -> list[np.ndarray]:
    """The colours of the nodes round by round, from those of the features to the first that do not split further."""
    colours = [_number_keys([(int(k),) for k in graph.kinds])]
    while True:
        now = colours[-1]
        seen = [
            (int(now[i]), *sorted((label, int(now[j])) for j, label in around))
            for i, around in enumerate(graph.neighbours)
        ]
        finer = _number_keys(seen)
        if finer.max() == now.max():
            return colours
        colours.append(finer)


def _number_keys(keys: Sequence[Any]) -> np.ndarray:
    """Equal keys get equal numbers, in the order of the keys: the same in every numbering of the nodes."""
    number = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.array([number[key] for key in keys])


# ---- message passing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WholeNetwork:
    r"""Layers $h_i'=r\big(Vh_i+U\sum_je_{ij}h_j+b\big)$ with whole weights; one row of `start` per kind of node."""

    start: np.ndarray
    weights: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    @classmethod
    def random(
        cls, rng: np.random.Generator, kinds: int, layers: int, width: int = 4
    ) -> "WholeNetwork":
        draw = lambda *shape: rng.integers(-3, 4, size=shape).astype(object)
        start = rng.integers(0, 50, size=(kinds, width)).astype(object)
        return cls(
            start,
            tuple((draw(width, width), draw(width, width), draw(width)) for _ in range(layers)),
        )

    def __call__(self, graph: Graph) -> np.ndarray:
        """One row of whole numbers per node, without rounding."""
        h = self.start[graph.kinds]
        for own, other, offset in self.weights:
            received = np.zeros_like(h)
            for i, around in enumerate(graph.neighbours):
                for j, label in around:
                    received[i] = received[i] + label * h[j]
            h = np.maximum(h @ own.T + received @ other.T + offset, 0)
        return h


def injective_network(graph: Graph, rounds: int, rng: np.random.Generator) -> np.ndarray:
    r"""$h_i'=g\,h_i+\sum_j\psi(e_{ij},h_j)$ with $\psi$ random on large whole numbers: GIN with an injective sum.

    $\psi$ is a table of random numbers, one for each pair that occurs, and so a function of the pair, as
    an MLP can represent it. Two different multisets have the same sum by chance only, about once in $2^{60}$."""
    table: dict[Any, int] = {}
    image = lambda key: table.setdefault(key, int(rng.integers(2**62)))
    h: list[int] = [image(int(k)) for k in graph.kinds]
    for _ in range(rounds):
        own = [image(("own", v)) for v in h]
        h = [
            own[i] + sum(image((label, h[j])) for j, label in around)
            for i, around in enumerate(graph.neighbours)
        ]
    return _number_keys([(v,) for v in h])


def split_pairs(colours: np.ndarray, values: Sequence[Any]) -> int:
    """Nodes that share their colour but not their value with the first of that colour."""
    first: dict[int, Any] = {}
    return sum(first.setdefault(int(c), v) != v for c, v in zip(colours, values))


def normalised_entries(graph: Graph) -> list[list[Fraction]]:
    r"""The squares of the entries of $\tilde D^{-1/2}(A+I)\tilde D^{-1/2}$ (GCN), exactly."""
    A = [[Fraction(v) for v in row] for row in (graph.edges + np.eye(len(graph))).tolist()]
    degrees = [sum(row, Fraction(0)) for row in A]
    return [
        [a * a / (degrees[i] * degrees[j]) for j, a in enumerate(row)] for i, row in enumerate(A)
    ]


def gcn_matrix(graph: Graph) -> np.ndarray:
    r"""$\tilde D^{-1/2}(A+I)\tilde D^{-1/2}$ with $\tilde d_i=\sum_j(A+I)_{ij}$."""
    A = graph.edges + np.eye(len(graph))
    scale = 1 / np.sqrt(A.sum(1))
    return A * scale[:, None] * scale[None]
