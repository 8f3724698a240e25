"""Networks as chains of residual blocks: the hypothesis that several theorems share."""

from functools import lru_cache

import jax
import numpy as np

from ftheta.flows.chains import Chain, residual_chain
from ftheta.graph.errors import GraphError
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, hypothesis

from .network import Network

MOST_NUMBERS = 20_000_000  # weights and states beyond which a chain is not gone through


@lru_cache(4)
def read(net: Network) -> Chain | str:
    """The chain of the network, or why there is none."""
    try:
        with jax.enable_x64(True):
            chain = residual_chain(net.apply, net.params, net.input_shape)
    except GraphError as error:
        return str(error).splitlines()[0]
    if not chain.blocks:
        return f"none of its {len(chain.graph.nodes)} nodes adds something to a state that all ways lead through"
    size = net.parameters + max(chain.stages[i].size for i in chain.residual_stages)
    return chain if size <= MOST_NUMBERS else f"{size:,} numbers are too many"


def chain_of(net: Network) -> Chain:
    """The chain of the network; a SubjectError where it is none."""
    found = read(net)
    if isinstance(found, Chain):
        return found
    remedy = "give a network with blocks x + v(x), the skip connection being the identity"
    raise SubjectError(
        "The network is not a chain of residual blocks.", where=net.name, got=found, remedy=remedy
    )


@hypothesis(
    r"the network is made of blocks $x_{k+1}=x_k+v_k(x_k)$", remedy="add skip connections: x + v(x)"
)
def residual_blocks(net: Network) -> Finding:
    r"""Proved where the sums $x+v_k(x)$ are nodes of the graph."""
    found = read(net)
    if isinstance(found, str):
        return Finding.failed(found)
    sizes = " + ".join(
        f"{len(found.stages[i])} in dimension {found.stages[i].size:,}"
        for i in found.residual_stages[:6]
    )
    more = " + …" if len(found.residual_stages) > 6 else ""
    between = f"; {found.plain_nodes} nodes besides" if found.plain_nodes else ""
    note = f"{found.blocks} blocks: {sizes}{more}{between}"
    return Finding.proved(
        note, "the sums x + v(x) are nodes of its graph", Enclosure.exact(found.blocks)
    )


def start_rows(net: Network, n: int, rng: np.random.Generator, radius: float = 1.0) -> np.ndarray:
    """Inputs of the network: the first rows of its data, or normal ones."""
    if net.data is not None:
        return np.asarray(net.data.x[:n], float).reshape(-1, *net.input_shape)
    return radius * rng.normal(size=(n, *net.input_shape))
