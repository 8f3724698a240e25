"""A sawtooth of few nodes in many layers stays away from every network of few layers."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS
from ftheta.pieces import Segment, count_pieces
from ftheta.relu.describe import plain_form, told_layers
from ftheta.relu.exact import exact, from_description
from ftheta.relu.line import separation as sep
from ftheta.relu.line.cpa1d import known
from ftheta.relu.line.pieces import broken_triples
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function
from ftheta.training.barrier import RIVALS, barrier, rival


def competitor(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which competitor", symbol="g", choices=RIVALS)] = "trained",
    width: Annotated[int, Knob(1, 12, "neurons in each of its hidden layers", "w")] = 3,
    depth: Annotated[int, Knob(1, 4, "its hidden layers", "H")] = 1,
    hidden: Annotated[str, Knob(says="its activation", symbol="σ", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    return Network.described(*rival(rng, kind, (1, *[width] * depth, 1), hidden))


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return competitor(rng, kind="random", hidden="tanh")


@hypothesis(
    r"$g$ is a ReLU network of at most $L$ layers and $2^L$ nodes", remedy="give ReLU layers, or raise `layers`"
)
def few_layers(net: Network, *, layers: int) -> Finding:
    why = plain_form(net.description)
    if net.description is None or why:
        return Finding.failed(f"this one has {why}")
    size = sep.size(net.description)
    note = f"{size.layers} layers, {size.nodes:,} nodes, {size.budget if not layers else f'at most {layers}'} for L"
    return Finding.decide(not layers or size.budget <= layers, note, "counted", known(size.budget), basis=Basis.EXACT)


@theorem(
    title="Depth separation",
    sources=("seed 1", "seed 3", "telgarsky2016"),
    assumes=(few_layers, describes_this_function),
    on=competitor,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "three layers": {"depth": 2, "layers": 3},
        "the best constant": {"kind": "½"},
        "at the edge": {"kind": "f itself", "steps": 50},
        "broken on purpose": {"kind": "f itself", "layers": 2},
    },
    errata=r"""The constant is not the best one: counting crossings exactly gives $\frac18(1-c2^{-k})\ge\frac3{32}$.""",
)
def depth_separation(
    net: Network,
    rng: np.random.Generator,
    *,
    layers: Annotated[int, Knob(0, 4, "L of the sawtooth; 0: the least that fits the network", "L", most=40)] = 0,
    steps: Annotated[int, Knob(50, 2000, "steps of training for the picture", "T", log=True, most=20_000)] = 300,
) -> Evidence:
    r"""For $L\ge2$ the tent map folded $k=L^2+2$ times, $f=\Delta^{\circ k}$, is a ReLU network of $3L^2+6$ nodes in
    $2L^2+4$ layers, yet every ReLU network $g$ with at most $L$ layers and $2^L$ nodes has
    $$\int_0^1|f-g|\ge\tfrac1{32}.$$ For $g$ has at most $(2m/L)^L\le2^{L^2}$ pieces ($m$ nodes), and if $g-\frac12$
    changes sign $c$ times then $\int_0^1|f-g|\ge\frac18(1-c2^{-k})$. Of several inputs a segment is taken."""
    told, d = told_layers(net.description), net.input_shape[0]
    size = sep.size(told)
    L = layers if layers > 1 else size.budget
    k, most = sep.folds(L), known(size.pieces)
    ends = rng.normal(size=(2, d)) if net.data is None else np.asarray(net.data.x[[0, -1]], np.float64).reshape(2, d)
    x, v = (np.zeros(1), np.ones(1)) if d == 1 else (ends[0], ends[1] - ends[0])
    if plain_form(told):
        seen = broken_triples(told, x, v, 4096)
        return Evidence((AtMost("affine pieces", seen, most),), summary=f"at least {seen.lo:g} affine pieces")
    if sum(layer.weight.size for layer in told.layers[1:]) > 2000:  # rationals would take too long
        cells = count_pieces(from_description(told), Segment(x, x + v), max_cells=10**6, max_work=2e8)
        duel = sep.met_in_cells(cells, size.pieces, k)
    else:
        duel = sep.met(exact(told), x.tolist(), v.tolist(), k)
    claims, numbers = sep.about_the_sawtooth(L)
    numbers |= {"pieces of g": duel.pieces, "bound by crossings": known(duel.bound), "∫|f − g|": duel.integral}
    return Evidence(
        claims=(*claims, *duel.claims(most)),
        charts=(barrier(rng, 4, steps), *duel.pictures(net.name)),
        numbers=numbers | {"folds that leave g 1/32 behind": known(sep.defeated_from(int(duel.pieces.hi)))},
        summary=f"L = {L}: pieces of g {duel.pieces.hi:,.0f}, of f 2^{k}; {duel}",
    )
