"""Colours, message passing, conservation and moving meshes against brute force, a peer and closed forms."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic import SubjectError, UsageError, Verdict
from ftheta.theorems.architectures.gnn_message_passing.graph import (
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
from ftheta.theorems.architectures.gnn_message_passing.interaction import Messages, forces, momenta
from ftheta.theorems.architectures.gnn_message_passing.moving_mesh import (
    InteriorLayer,
    bend_norm,
    equidistribute,
    interpolation_error,
    relocate,
    spread,
)

from ...thoroughness import max_examples


@st.composite
def random_graphs(draw):
    n = draw(st.integers(2, 7))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    return Graph.of(n, chosen)


def test_the_values_of_the_catalogue():
    both = cycle(6).union(cycle(3).union(cycle(3)))
    assert weisfeiler_leman(both)[-1].max() == 0
    assert (cycle(6).triangles, cycle(3).union(cycle(3)).triangles) == (0, 2)
    assert np.allclose(gcn_matrix(path(2)), 0.5) and {
        v for row in normalised_entries(path(2)) for v in row
    } == {1 / 4}


@max_examples(40)
@given(random_graphs(), st.integers(0, 2**31))
def test_colours_are_finer_than_no_symmetry_and_coarser_than_orbits(graph, seed):
    """Nodes that a symmetry of the graph moves to one another have the same colour."""
    colours = weisfeiler_leman(graph)[-1]
    for order in permutations(range(len(graph))):
        if np.array_equal(graph.edges[np.ix_(order, order)], graph.edges):
            assert np.array_equal(colours[list(order)], colours)
    degrees = graph.edges.sum(1)
    assert all(len(set(degrees[colours == c])) == 1 for c in set(colours.tolist()))


@pytest.mark.filterwarnings("ignore:The hashes produced")
@max_examples(40)
@given(random_graphs())
def test_the_colours_are_those_of_networkx(graph):
    nx = pytest.importorskip("networkx")
    peer = nx.weisfeiler_lehman_subgraph_hashes(
        nx.from_numpy_array(graph.edges), iterations=len(graph)
    )
    last = [peer[i][-1] for i in range(len(graph))]
    ours = weisfeiler_leman(graph)[-1].tolist()
    assert split_pairs(np.array(ours), last) == 0 and len(set(last)) == len(set(ours))


@max_examples(30)
@given(random_graphs(), st.integers(0, 2**31))
def test_networks_are_equivariant_and_see_no_more_than_colours(graph, seed):
    rng = np.random.default_rng(seed)
    net = WholeNetwork.random(rng, 1, 3)
    order = rng.permutation(len(graph))
    out = net(graph)
    colours = weisfeiler_leman(graph)
    assert (net(graph.permute(order)) == out[order]).all()
    assert split_pairs(colours[-1], [tuple(row) for row in out]) == 0
    gin = injective_network(graph, len(colours), rng)
    assert split_pairs(colours[-1], gin.tolist()) == split_pairs(gin, colours[-1].tolist()) == 0


def test_features_and_labels_of_edges_are_seen():
    edges = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    assert weisfeiler_leman(Graph(edges, np.zeros((3, 1))))[-1].max() == 2
    assert weisfeiler_leman(Graph((edges > 0) * 1.0, np.array([[1.0], [0], [0]])))[-1].max() == 2


@pytest.mark.parametrize(
    "edges, features", [(np.zeros((3, 3)), np.zeros((3, 1))), (np.zeros((0, 0)), np.zeros((0, 1)))]
)
def test_an_empty_graph_is_refused_with_what_is_missing(edges, features):
    with pytest.raises(SubjectError, match="empty") as refused:
        Graph(edges, features)
    assert "edges" in str(refused.value) and refused.value.remedy


def test_edges_that_do_not_fit_the_nodes_are_refused():
    with pytest.raises(SubjectError, match="square"):
        Graph(np.ones((2, 3)), np.zeros((2, 1)))
    with pytest.raises(SubjectError, match="no number") as refused:
        Graph(np.array([[0, 1], [np.nan, 0]]), np.zeros((2, 1)))
    assert "edges[1, 0]" in str(refused.value)
    with pytest.raises(SubjectError, match="no node"):
        Graph.of(3, [(0, 3)])
    with pytest.raises(SubjectError):
        ft.check(
            "gnn-message-passing", ft.Dataset("labels only", np.zeros((3, 2)), np.array([0, 1, 0]))
        )


def test_antisymmetric_messages_conserve_momentum_and_others_do_not():
    rng = np.random.default_rng(0)
    graph = Graph(1 - np.eye(6), np.zeros((6, 1)))
    x = rng.normal(size=(6, 2))
    v = rng.normal(size=(6, 2))
    messages = Messages.random(rng, 2)
    sums, places = momenta(messages, x, v, graph, 0.01, 100)
    assert np.allclose(sums, sums[0], atol=1e-12) and places.shape == (101, 6, 2)
    free = Messages(messages.W, messages.c, messages.C, antisymmetric=False)
    assert np.abs(np.diff(momenta(free, x, v, graph, 0.01, 100)[0], axis=0)).max() > 1e-3


def test_forces_are_the_double_loop():
    rng = np.random.default_rng(1)
    graph = path(5)
    x = rng.normal(size=(5, 2))
    m = Messages.random(rng, 2)
    loop = [sum((m(x[i], x[j]) for j, _ in graph.neighbours[i]), np.zeros(2)) for i in range(5)]
    assert np.allclose(forces(m, x, graph), loop)


def test_a_mesh_keeps_its_order_and_comes_to_rest_at_the_integral_of_the_monitor():
    u = InteriorLayer(20.0)
    meshes = relocate(u, 12, 3000)
    assert (np.diff(meshes, axis=1) > 0).all()
    assert spread(u, meshes[-1]) == pytest.approx(1, abs=1e-3)
    assert np.allclose(meshes[-1], equidistribute(u, 12), atol=2e-3)
    assert interpolation_error(u, meshes[-1]) < interpolation_error(u, meshes[0]) / 2
    with pytest.raises(UsageError):
        relocate(u, 1, 5)


def test_interpolation_errors_tend_to_their_constants():
    u = InteriorLayer(10.0)
    n = 400
    for mesh, power in ((np.linspace(0, 1, n + 1), 2.0), (equidistribute(u, n), 0.4)):
        assert n**2 * np.sqrt(120) * interpolation_error(u, mesh) == pytest.approx(
            bend_norm(u, power), rel=0.02
        )


def test_a_users_graph_is_coloured():
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = 1
    result = ft.check("gnn-message-passing", ft.Dataset("star", np.zeros((5, 1)), star))
    assert result.numbers["colours"].middle == 2 and result.verdict is Verdict.CONSISTENT
