"""Attention averages: rows are probabilities, results lie in a hull, there is no order and no Lipschitz constant."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens.properties import Look, textbook
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks.transformers.attention import KINDS, Projections
from ftheta.subjects import Network
from ftheta.subjects.tokens import attention_of


def layer(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="softmax, causal or linear attention", symbol="A", choices=tuple(KINDS))
    ] = "softmax",
    tokens: Annotated[int, Knob(2, 64, "number of tokens", "n", log=True, most=256)] = 8,
    dimension: Annotated[int, Knob(1, 64, "numbers in a token", "d", log=True, most=256)] = 4,
    heads: Annotated[int, Knob(1, 8, "heads, summed", "h", most=64)] = 2,
) -> Network:
    params = Projections.normal(rng, heads, dimension, keys=max(1, dimension // heads))
    return Network(f"{kind} attention, {heads} heads", KINDS[kind], params, (tokens, dimension))


@hypothesis("tokens are averaged with weights that depend on them", remedy="give a network with attention in it")
def attends(net: Network) -> Finding:
    found = attention_of(net)
    if found is None or not found.heads:
        return Finding.failed("its graph cannot be laid out" if found is None else "its graph has no such average")
    note = f"{len(found.heads)} such products among {len(found.graph.nodes):,} nodes"
    return Finding.proved(note, "products of two values that depend on the tokens, read off the graph")


@hypothesis(r"the weights are $\operatorname{softmax}_j(s_{ij})$", remedy="divide e^s by its sum over the keys")
def softmax_weights(net: Network) -> Finding:
    found = attention_of(net)
    heads = found.heads if found else ()
    other = [head.node.source for head in heads if not head.softmax]
    if not heads or other:
        told = f"; the first at {other[0]}" if other else ""
        return Finding.failed(f"{len(other)} of {len(heads)} averages have other weights{told}")
    if all(head.plain for head in heads):
        return Finding.proved(f"all {len(heads)}", "eˢ over its own sum, read off the graph")
    return Finding.sampled(f"all {len(heads)}; some are moved or masked after the softmax")


@theorem(
    title="Self-attention averages",
    sources=("seed 0", "seed 2", "seed 4", "vaswani2017", "kim2021"),
    assumes=(attends, softmax_weights),
    on=layer,
    breaks_on=lambda rng: layer(rng, kind="linear"),
    presets={
        "textbook": {},
        "many tokens, causal mask": {"tokens": 64, "dimension": 16, "heads": 4, "kind": "causal"},
        "at the edge": {"radius": 100.0},
        "broken on purpose": {"kind": "linear"},
    },
    errata=r"""Seed 4 writes $e^{\langle Kx_i,Qx_j\rangle}$: queries and keys are exchanged, and $1/\sqrt{d_k}$ is left
    out. The weight of $x_j$ for $x_i$ is $e^{\langle Qx_i,Kx_j\rangle/\sqrt{d_k}}$.""",
)
def self_attention(
    net: Network,
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 64, "inputs that are looked at", "m", log=True, most=1024)] = 4,
    radius: Annotated[float, Knob(0.1, 100, "size of the tokens 0, R, −R", "R", log=True, least=0, most=1e4)] = 3.0,
) -> Evidence:
    r"""$y_i=\sum_h\sum_jA^h_{ij}V_hx_j$ with $A^h_{ij}=e^{\langle Q_hx_i,K_hx_j\rangle/\sqrt{d_k}}\big/\sum_l
    e^{\langle Q_hx_i,K_hx_l\rangle/\sqrt{d_k}}$ is equivariant to permutations of the tokens; the rows of $A^h$ are
    probabilities and $\sum_jA^h_{ij}V_hx_j$ lies in the hull of the $V_hx_j$: message passing on the complete graph.
    It is **not** Lipschitz: at $(0,R,-R)$ with $Q=K=V=1$, $\partial y_1/\partial x_1=\frac{2R^2+1}3$. With weights that
    know positions alone it is a convolution."""
    rows = rng.normal(size=(inputs, *net.input_shape)) if net.data is None else net.data.x[:inputs]
    found = attention_of(net)
    if found is None or not found.heads:
        return Evidence((), summary="there is no attention in this network")
    look = Look(net, found, rows)
    (closed, numbers), (order, defect) = textbook(radius, rng), look.equivariance(rng)
    steep = Enclosure.measured(float(look.steepness[-1]), samples=1)
    return Evidence(
        (*look.rows(), look.hull(rng), look.messages(), *order, *look.formula(), *closed),
        look.charts(),
        numbers | defect | {"local Lipschitz constant": steep},
        (look.table(),),
        summary=f"{len(found.heads)} attention products at {len(rows)} inputs; steepness {steep.lo:.4g} at the first"
        + (f"; order is told by {look.order}" if look.tokens and look.order else ""),
    )
