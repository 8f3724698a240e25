"""Attention averages: rows are probabilities, results lie in a hull, there is no order and no Lipschitz constant."""

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Table,
    Vertex,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks.operators.attention import KINDS, Projections
from ftheta.subjects import Network
from ftheta.subjects.tokens import attention_of

from .closed_forms import convolution_gap, scalar_results, slope_of_three
from .heads_at_inputs import NEAR, SCALES, HeadsAtInputs

LOOK = 4  # inputs at which weights are summed that something moves after the softmax
IMPORTERS = str(Path("ftheta") / "networks")  # whose lines say nothing of the network


def layer(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="softmax, causal or linear attention", symbol="A", choices=tuple(KINDS))
    ] = "softmax",
    tokens: Annotated[int, Knob(2, 64, "number of tokens", "n", log=True, most=256)] = 8,
    dimension: Annotated[int, Knob(1, 64, "embedding dimension", "d", log=True, most=256)] = 4,
    heads: Annotated[int, Knob(1, 8, "heads, summed", "h", most=64)] = 2,
) -> Network:
    params = Projections.normal(rng, heads, dimension, keys=max(1, dimension // heads))
    return Network(f"{kind} attention, {heads} heads", KINDS[kind], params, (tokens, dimension))


@hypothesis(
    "tokens are averaged with weights that depend on them",
    remedy="give a network with attention in it",
)
def attention_layers(net: Network) -> Finding:
    found = attention_of(net)
    if found is None or not found.heads:
        return Finding.failed(
            "its graph cannot be laid out" if found is None else "its graph has no such average"
        )
    note = f"{len(found.heads)} such product{'s' * (len(found.heads) != 1)} among {len(found.graph.nodes):,} nodes"
    return Finding.proved(
        note, "products of two values that depend on the tokens, read off the graph"
    )


@hypothesis(
    r"the weights are $\operatorname{softmax}_j(s_{ij})$",
    remedy="divide e^s by its sum over the keys",
)
def softmax_weights(net: Network) -> Finding:
    found = attention_of(net)
    heads = found.heads if found else ()
    other = [head.node.source for head in heads if not head.softmax]
    if not heads or other:
        where = f"; the first at {other[0]}" if other else ""
        return Finding.failed(f"{len(other)} of {len(heads)} averages have other weights{where}")
    if all(head.plain for head in heads):
        return Finding.proved(f"all {len(heads)}", "eˢ over its own sum, read off the graph")
    rows = _first_inputs(net, LOOK, np.random.default_rng(0))
    total = HeadsAtInputs(net, found, rows).worst_row().total if found else 1.0
    note = (
        f"all {len(heads)}; some are moved or masked after the softmax, to rows of sum {total:.6g}"
    )
    return Finding.sampled(note) if abs(total - 1) <= NEAR else Finding.failed(note)


def _first_inputs(net: Network, count: int, rng: np.random.Generator) -> np.ndarray:
    """The first rows of the data of a network, or normal ones."""
    if net.data is None:
        return rng.normal(size=(count, *net.input_shape))
    return net.data.x[:count]


@theorem(
    title="Self-attention averages",
    sources=("peyre-slides", "murari-slides", "peyre-notes", "vaswani2017", "kim2021"),
    assumes=(attention_layers, softmax_weights),
    on=layer,
    breaks_on=lambda rng: layer(rng, kind="linear"),
    presets={
        "textbook": {},
        "many tokens, causal mask": {"tokens": 64, "dimension": 16, "heads": 4, "kind": "causal"},
        "at the edge": {"radius": 100.0},
        "broken on purpose": {"kind": "linear"},
    },
    errata=r"""Peyré's handwritten notes write $e^{\langle Kx_i,Qx_j\rangle}$: queries and keys are exchanged, and
    $1/\sqrt{d_k}$ is left out. The weight of $x_j$ for $x_i$ is $e^{\langle Qx_i,Kx_j\rangle/\sqrt{d_k}}$.""",
    gist="Every head of a transformer replaces each token by a weighted average of the others, so it ignores their "
    "order unless told it, and yet it can be arbitrarily sensitive to its input.",
    see_also=(
        "transformer-block",
        "attention-particle-flow",
        "mean-field-attention",
        "lipschitz-bounds",
    ),
)
def self_attention(
    net: Network,
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 64, "inputs that are looked at", "m", log=True, most=1024)] = 4,
    radius: Annotated[
        float, Knob(0.1, 100, "size of the tokens 0, R, −R", "R", log=True, least=0, most=1e4)
    ] = 3.0,
) -> Evidence:
    r"""$y_i=\sum_h\sum_jA^h_{ij}V_hx_j$ with $A^h_{ij}=e^{\langle Q_hx_i,K_hx_j\rangle/\sqrt{d_k}}\big/\sum_l
    e^{\langle Q_hx_i,K_hx_l\rangle/\sqrt{d_k}}$ is equivariant to permutations of the tokens; the rows of $A^h$ are
    probabilities and $\sum_jA^h_{ij}V_hx_j$ lies in the hull of the $V_hx_j$: message passing on the complete graph.
    It is **not** Lipschitz: at $(0,R,-R)$ with $Q=K=V=1$, $\partial y_1/\partial x_1=\frac{2R^2+1}3$. With weights that
    know positions alone it is a convolution."""
    rows = _first_inputs(net, inputs, rng)
    found = attention_of(net)
    if found is None or not found.heads:
        return Evidence((), summary="there is no attention in this network")
    heads = HeadsAtInputs(net, found, rows)
    tokens = rng.normal(size=(6, 1))
    kernel = rng.normal(size=(3, 2, 4))
    signal = rng.normal(size=(7, 4))
    defect = heads.equivariance_defect(rng) if heads.tokens else None
    steep = Enclosure.measured(float(heads.steepness[-1]), samples=1)
    numbers: dict[str, Enclosure | float] = {"local Lipschitz constant": steep}
    if defect is not None:
        numbers["equivariance defect"] = Enclosure.measured(defect, samples=len(rows))
    ordered = f"; order is told by {heads.order}" if heads.tokens and heads.order else ""
    weights = heads.seen[0][0].weights
    return Evidence(
        (
            row_claim(heads),
            weight_claim(heads),
            hull_claim(heads, rng),
            message_claim(heads),
            *equivariance_claims(heads, defect),
            *jacobian_claims(heads),
        ),
        (
            *(_draw_weights(A, head) for head, A in enumerate(weights[:2], 1)),
            _draw_messages(weights[0]),
            _draw_steepness(heads),
        ),
        numbers,
        (_products_table(heads),),
        summary=f"{len(found.heads)} attention product{'s' * (len(found.heads) != 1)} at {len(rows)} inputs; "
        f"steepness {steep.lo:.4g} at the first" + ordered,
        examples=partial(_examples, radius, tokens, kernel, signal),
    )


# -- claims ------------------------------------------------------------------------------------------------


def row_claim(heads: HeadsAtInputs) -> Claim:
    """Every row of every attention matrix sums to 1; rows that see nothing are left out."""
    row = heads.worst_row()
    witness = None
    if abs(row.total - 1) > NEAR:
        place = {"input": row.input, "product": row.product, "head": row.head, "query": row.query}
        at = {name: float(number) for name, number in place.items()}
        how = "in intervals rounded outward, the row summed in rationals"
        witness = Witness(at, heads.enclose_row_sum(row), Enclosure.exact(1), how)
    what = "sum of a row of attention weights that are not all 0 (the worst)"
    return Identity(what, _sample(heads, row.total), Enclosure.exact(1), witness)


def weight_claim(heads: HeadsAtInputs) -> Claim:
    """No weight is negative."""
    return AtMost(
        "minus the smallest weight", _sample(heads, -heads.smallest_weight()), Enclosure.exact(0)
    )


def hull_claim(heads: HeadsAtInputs, rng: np.random.Generator) -> Claim:
    """Results lie in the hull of the values."""
    what = "how far a result with weights leaves the hull of the values, relative to their size"
    return AtMost(what, _sample(heads, heads.hull_excess(rng)), Enclosure.exact(0), atol=NEAR)


def message_claim(heads: HeadsAtInputs) -> Claim:
    """The first input's results are sums of messages along the edges of the complete graph."""
    what = "results and the messages A_ij·v_j summed edge by edge"
    return Identity(what, Enclosure.equal(heads.message_gap()), Enclosure.exact(0), atol=NEAR)


def equivariance_claims(heads: HeadsAtInputs, defect: float | None) -> tuple[Claim, ...]:
    """Permuted tokens give permuted results, where nothing tells their places apart."""
    if defect is None or heads.order:
        return ()
    what = "f(Px) − Pf(x), relative to the largest result"
    return (Identity(what, _sample(heads, defect), Enclosure.exact(0), atol=NEAR),)


def jacobian_claims(heads: HeadsAtInputs) -> tuple[Claim, ...]:
    """Of a layer whose matrices are known: its Jacobian by differentiation and in closed form."""
    gap = heads.jacobian_gap()
    if gap is None:
        return ()
    what = "Jacobian by differentiation and in closed form"
    return (Identity(what, Enclosure.equal(gap), Enclosure.exact(0), atol=NEAR),)


def _sample(heads: HeadsAtInputs, value: float) -> Enclosure:
    return Enclosure.measured(value, samples=len(heads.inputs))


def _examples(
    radius: float, tokens: np.ndarray, kernel: np.ndarray, signal: np.ndarray
) -> Examples:
    r"""Scalar tokens: equal scores give the mean; $\pm1\mapsto\pm\tanh1$; at $(0,R,-R)$,
    $\partial y_1/\partial x_1=\frac{2R^2+1}3$. Weights by position alone are a convolution."""
    mean, pair, slope = scalar_results(tokens, radius)
    gap = convolution_gap(kernel, signal)
    equal = Enclosure.equal
    return Examples(
        (
            Identity(
                "Q = K = 0: the result and the mean",
                equal(mean),
                equal(float(tokens.mean())),
                atol=NEAR,
            ),
            Identity("tokens ±1: the result and tanh 1", equal(pair), equal(float(np.tanh(1)))),
            Identity(
                "tokens 0, R, −R: ∂y₁/∂x₁ and (2R² + 1)/3",
                equal(slope),
                equal((2 * radius**2 + 1) / 3),
            ),
            Identity(
                "convolution and attention by position alone",
                equal(gap),
                Enclosure.exact(0),
                atol=NEAR,
            ),
        ),
        numbers={"tokens 0, R, −R: slope": slope_of_three(radius)},
    )


# -- charts and tables -------------------------------------------------------------------------------------


def _draw_weights(A: np.ndarray, head: int) -> Heatmap:
    where = (0.5, A.shape[1] + 0.5, 0.5, A.shape[0] + 0.5)
    return Heatmap(f"attention of head {head}", Axis("key j"), Axis("query i"), A, where, "weight")


def _draw_messages(A: np.ndarray) -> Dag:
    """Attention as message passing: every token sends to every token, with the heaviest message named."""
    n = min(8, *A.shape)
    tokens = [Vertex(f"x{j}", f"x{j + 1}") for j in range(n)]
    results = [
        Vertex(f"y{i}", f"y{i + 1}", f"{A[i].max():.0%} from x{A[i].argmax() + 1}")
        for i in range(n)
    ]
    edges = tuple((f"x{j}", f"y{i}") for i in range(n) for j in range(n) if A[i, j] > 0)
    return Dag("attention is message passing on the complete graph", (*tokens, *results), edges)


def _draw_steepness(heads: HeadsAtInputs) -> Curves:
    return draw_curves(
        "steepness against the size of the tokens",
        SCALES,
        x="scale R",
        y="local Lipschitz constant",
        log="xy",
        measured={"‖∂f/∂x‖ at R·x": heads.steepness[:-1]},
        reference={"∂y₁/∂x₁ at 0, R, −R with Q = K = V = 1": (2 * np.array(SCALES) ** 2 + 1) / 3},
    )


def _products_table(heads: HeadsAtInputs) -> Table:
    columns = (
        "product",
        "heads",
        "queries",
        "keys",
        "masked",
        "largest weight",
        "entropy / log n",
        "where",
    )
    rows = []
    for p, (A, _, _) in enumerate(heads.seen[0]):
        entropy = -(A * np.log(np.where(A > 0, A, 1.0))).sum(-1).mean() / np.log(max(2, A.shape[2]))
        source = heads.attention.heads[p].node.source
        where = "imported" if IMPORTERS in source else source
        rows.append(
            (p + 1, *A.shape, f"{(A == 0).mean():.0%}", float(A.max()), float(entropy), where)
        )
    return Table("attention at the first input", columns, tuple(rows))
