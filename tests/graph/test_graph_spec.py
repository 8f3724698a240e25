"""The specification rejects each kind of corruption, and says where."""

from dataclasses import replace
from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.graph import MalformedGraph, check, trace
from ftheta.graph.graph import Signature, Slot

X = np.ones(3)


@pytest.fixture
def g():
    return trace(lambda x: jnp.sin(x) * jnp.arange(3.0) + x, X)


def with_node(g, position, **changes):
    nodes = list(g.nodes)
    nodes[position] = replace(nodes[position], **changes)
    return replace(g, nodes=tuple(nodes))


def with_slot(g, number, **changes):
    """Change a slot everywhere it is referred to."""
    new = replace(g.slots[number], **changes)
    swap = lambda slots: tuple(new if s.id == number else s for s in slots)
    nodes = tuple(replace(n, inputs=swap(n.inputs), outputs=swap(n.outputs)) for n in g.nodes)
    return replace(
        g, slots=swap(g.slots), inputs=swap(g.inputs), outputs=swap(g.outputs), nodes=nodes
    )


CORRUPTIONS = {
    "nodes out of order": (
        "reads what is assigned before",
        lambda g: replace(g, nodes=tuple(replace(n, id=i) for i, n in enumerate(g.nodes[::-1]))),
    ),
    "a node left out": (
        "assigned before|every slot is assigned",
        lambda g: replace(g, nodes=tuple(replace(n, id=i) for i, n in enumerate(g.nodes[1:]))),
    ),
    "the last node left out": ("every slot is assigned", lambda g: replace(g, nodes=g.nodes[:-1])),
    "two nodes assign one slot": (
        "assigned once",
        lambda g: with_node(g, 1, outputs=g.nodes[0].outputs),
    ),
    "a node assigns an input": ("assigned once", lambda g: with_node(g, 0, outputs=g.inputs)),
    "a constant for a computed slot": (
        "assigned once",
        lambda g: replace(
            g, constants=MappingProxyType({**g.constants, g.outputs[0].id: np.zeros(3)})
        ),
    ),
    "a reference to a slot that does not exist": (
        "reference is to a slot",
        lambda g: with_node(g, 0, inputs=(Slot(99, "ghost", (3,), np.dtype(float)),)),
    ),
    "a reference that disagrees with its slot": (
        "reference is to a slot",
        lambda g: with_node(g, 0, inputs=(replace(g.inputs[0], shape=(4,)),)),
    ),
    "an output that does not exist": (
        "reference is to a slot",
        lambda g: replace(g, outputs=(Slot(99, "ghost", (3,), np.dtype(float)),)),
    ),
    "a constant of no slot": (
        "constant belongs",
        lambda g: replace(g, constants=MappingProxyType({**g.constants, 99: np.zeros(3)})),
    ),
    "a constant of another shape": (
        "constant has its slot's type",
        lambda g: replace(g, constants=MappingProxyType({i: np.zeros(5) for i in g.constants})),
    ),
    "a constant of another type": (
        "constant has its slot's type",
        lambda g: replace(
            g, constants=MappingProxyType({i: c.astype(np.float32) for i, c in g.constants.items()})
        ),
    ),
    "a wrong shape": (
        "computes its slots' types",
        lambda g: with_slot(g, g.outputs[0].id, shape=(7,)),
    ),
    "a wrong dtype": (
        "computes its slots' types",
        lambda g: with_slot(g, g.outputs[0].id, dtype=np.dtype("int32")),
    ),
    "operands that do not fit": (
        "cannot be evaluated",
        lambda g: with_slot(
            replace(g, constants=MappingProxyType({i: np.zeros((2, 2)) for i in g.constants})),
            next(iter(g.constants)),
            shape=(2, 2),
        ),
    ),
    "slots misnumbered": ("slots are numbered", lambda g: replace(g, slots=g.slots[::-1])),
    "nodes misnumbered": ("nodes are numbered", lambda g: with_node(g, 0, id=5)),
    "two slots of one name": (
        "names of slots differ",
        lambda g: with_slot(g, g.outputs[0].id, name="x"),
    ),
    "arguments and inputs disagree": (
        "one leaf for each input",
        lambda g: replace(
            g,
            inputs=g.inputs * 2,
            signature=Signature(g.signature.arguments, (True,), g.signature.results),
        ),
    ),
    "results and outputs disagree": (
        "one leaf for each output",
        lambda g: replace(g, outputs=g.outputs * 2),
    ),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_specification_rejects(name, g):
    says, corrupt = CORRUPTIONS[name]
    if name == "arguments and inputs disagree":
        says = "assigned once|" + says
    check(g)
    with pytest.raises(MalformedGraph, match=says) as error:
        check(corrupt(g))
    assert "where:" in str(error.value) and "got:" in str(error.value)


def test_a_body_that_does_not_fit_its_node_is_rejected():
    inside = trace(lambda x: jnp.sin(x), np.ones(4))
    g = trace(lambda x: jnp.sin(x), X)
    with pytest.raises(MalformedGraph, match="takes the node's operands"):
        check(with_node(g, 0, expand=lambda: (inside,)))
    two = trace(lambda x: (jnp.sin(x), x), X)
    with pytest.raises(MalformedGraph, match="returns the node's outputs"):
        check(with_node(g, 0, expand=lambda: (two,)))
    broken = replace(trace(lambda x: jnp.sin(x), X), nodes=())
    with pytest.raises(MalformedGraph, match="every slot is assigned"):
        check(with_node(g, 0, expand=lambda: (broken,)))
