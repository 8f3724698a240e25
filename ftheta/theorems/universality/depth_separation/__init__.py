"""A sawtooth of few nodes in many layers stays away from every network of few layers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    draw_curves,
    hypothesis,
    nearest_float,
    theorem,
)
from ftheta.networks import ACTIVATIONS
from ftheta.networks.description import require_layers
from ftheta.pieces import Segment, count_pieces
from ftheta.relu.counts import count
from ftheta.relu.describe import plain_form
from ftheta.relu.exact import exact, from_description
from ftheta.relu.line.cpa1d import affine, enclose_rational
from ftheta.relu.line.pieces import along, broken_triples, product_bound
from ftheta.relu.line.sawtooth import sparse_zigzag
from ftheta.relu.line.separation import HALF, certificate, defeated_from, distance, folds, teeth
from ftheta.relu.line.separation import size as size_of
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from . import competitors
from .comparison import MOST_FOLDS, Comparison, compare_by_cells, compare_exactly

GAP = Fraction(1, 32)
MOST_WEIGHTS = 2000  # behind the first layer, of a network that is followed in rationals
# of the networks trained for the chart
DEPTHS = (2, 3, 6)
WIDTHS = (2, 4, 8, 16, 32)
FINE = 4096  # points of their error


def competitor(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which competitor", symbol="g", choices=competitors.KINDS)
    ] = "trained",
    width: Annotated[int, Knob(1, 12, "neurons in each of its hidden layers", "w")] = 3,
    depth: Annotated[int, Knob(1, 4, "its hidden layers", "H")] = 1,
    hidden: Annotated[
        str, Knob(says="its activation", symbol="σ", choices=tuple(ACTIVATIONS))
    ] = "relu",
) -> Network:
    return Network.described(
        *competitors.make_competitor(rng, kind, (1, *[width] * depth, 1), hidden)
    )


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return competitor(rng, kind="random", hidden="tanh")


@hypothesis(
    r"$g$ is a ReLU network of at most $L$ layers and $2^L$ nodes",
    remedy="give ReLU layers, or raise `layers`",
    name="a ReLU network of few layers",
)
def few_layers(net: Network, *, layers: int) -> Finding:
    why = plain_form(net.description)
    if net.description is None or why:
        return Finding.failed(f"this one has {why}")
    size = size_of(net.description)
    note = f"{size.layers} layers, {size.nodes:,} nodes, {size.budget if not layers else f'at most {layers}'} for L"
    return Finding.decide(
        not layers or size.budget <= layers,
        note,
        "counted",
        enclose_rational(size.budget),
        basis=Basis.EXACT,
    )


@theorem(
    title="Depth separation",
    gist="Some functions that a deep network computes with few neurons stay far from every shallow network that does "
    "not have exponentially many: depth can save exponentially in size.",
    see_also=("yarotsky-square", "pieces-1d", "regions-deep", "sparse-connection-approximation"),
    same_for_all={
        "1/32 ≤ ∫|f − g|": "1/32 is the bound of the theorem, and for networks with few crossings that by crossings "
        "is ⅛ to all digits"
    },
    sources=("gribonval-slides", "scaman-slides", "telgarsky2016"),
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
    layers: Annotated[
        int, Knob(0, 4, "L of the sawtooth; 0: the least that fits the network", "L", most=40)
    ] = 0,
    steps: Annotated[
        int, Knob(50, 2000, "steps of training for the picture", "T", log=True, most=20_000)
    ] = 300,
) -> Evidence:
    r"""For $L\ge2$ the tent map folded $k=L^2+2$ times, $f=\Delta^{\circ k}$, is a ReLU network of $3L^2+6$ nodes in
    $2L^2+4$ layers, yet every ReLU network $g$ with at most $L$ layers and $2^L$ nodes has
    $$\int_0^1|f-g|\ge\tfrac1{32}.$$ For $g$ has at most $(2m/L)^L\le2^{L^2}$ pieces ($m$ nodes), and if $g-\frac12$
    changes sign $c$ times then $\int_0^1|f-g|\ge\frac18(1-c2^{-k})$. Of several inputs a segment is taken."""
    told = require_layers(net.description)
    size = size_of(told)
    L = layers if layers > 1 else size.budget
    k = folds(L)
    most = enclose_rational(size.pieces)
    start, direction = _segment(net, rng)
    if plain_form(told):
        seen = broken_triples(told, start, direction, 4096)
        return Evidence(
            (AtMost("affine pieces", seen, most),), summary=f"at least {seen.lo:g} affine pieces"
        )
    if sum(layer.weight.size for layer in told.layers[1:]) > MOST_WEIGHTS:
        segment = Segment(start, start + direction)
        cells = count_pieces(from_description(told), segment, max_cells=10**6, max_work=2e8)
        found = compare_by_cells(cells, size.pieces, k)
    else:
        found = compare_exactly(exact(told), start.tolist(), direction.tolist(), k)
    return Evidence(
        claims=claims_about_competitor(found, most),
        examples=partial(_examples, rng.spawn(1)[0], L, steps),
        charts=_draw_both(found, net.name),
        numbers={
            "pieces of g": found.pieces,
            "bound by crossings": enclose_rational(found.bound),
            "∫|f − g|": found.integral,
            "folds that leave g 1/32 behind": enclose_rational(defeated_from(int(found.pieces.hi))),
        },
        summary=f"L = {L}: pieces of g {found.pieces.hi:,.0f}, of f 2^{k}; {found}",
    )


def _segment(net: Network, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Start and direction of the segment on which the network is looked at: [0, 1], two rows of the data, or random."""
    d = net.input_shape[0]
    ends = (
        rng.normal(size=(2, d))
        if net.data is None
        else np.asarray(net.data.x[[0, -1]], np.float64).reshape(2, d)
    )
    if d == 1:
        return np.zeros(1), np.ones(1)
    return ends[0], ends[1] - ends[0]


def claims_about_competitor(found: Comparison, most: Enclosure) -> tuple[AtMost, ...]:
    """On the pieces of the network, which are at most so many, and on the integral."""
    claims = [AtMost("pieces of g on [0, 1]", found.pieces, most)]
    if found.g is not None:
        claims.append(
            AtMost("changes of side ≤ pieces", enclose_rational(found.changes), found.pieces)
        )
    if found.in_full is not None:
        k = found.in_full.k
        bound = enclose_rational(found.in_full.bound)
        claims.append(AtMost(f"⅛(1 − c 2^−{k}) ≤ ∫|Δ^∘{k} − g|", bound, found.in_full.integral))
    return (*claims, AtMost("1/32 ≤ ∫|f − g|", enclose_rational(GAP), found.integral))


@dataclass(frozen=True, slots=True)
class Sawtooth:
    r"""$\Delta^{\circ k}$ with $k=L^2+2$, built from $\Delta=r(2r(x)-4r(x-\frac12))$, and counted.

    `pieces` and `flat` $=\int_0^1|\Delta^{\circ j}-\frac12|$ are those of the first $j$ folds: as many as are
    written out.
    """

    L: int
    j: int
    nodes: int
    layers: int
    pieces: int
    flat: Fraction

    @classmethod
    def of(cls, L: int) -> "Sawtooth":
        """For the budget L of the competitors."""
        made = count(sparse_zigzag(2, folds(L)))
        j = min(folds(L), MOST_FOLDS)
        pieces = along(sparse_zigzag(2, j), [0], [1]).within(0, 1)
        return cls(
            L, j, made.neurons + 1, made.affine_layers, pieces, distance(teeth(j), affine(0, HALF))
        )

    @property
    def numbers(self) -> dict[str, Enclosure]:
        found = {
            "nodes of f": enclose_rational(self.nodes),
            "layers of f": enclose_rational(self.layers),
            "∫|f − ½|": enclose_rational(self.flat),
        }
        if self.j == folds(self.L):
            found["pieces of f"] = enclose_rational(self.pieces)
        return found

    def claims(self) -> tuple[Identity, ...]:
        """Its size and its distance from the level ½."""
        return (
            Identity(
                "nodes of f = 3L² + 6",
                enclose_rational(self.nodes),
                enclose_rational(3 * self.L**2 + 6),
            ),
            Identity(
                "layers of f = 2L² + 4",
                enclose_rational(self.layers),
                enclose_rational(2 * self.L**2 + 4),
            ),
            Identity(
                f"pieces of the {self.j}-fold tent on [0, 1]",
                enclose_rational(self.pieces),
                enclose_rational(2**self.j),
            ),
            Identity(
                f"∫|Δ^∘{self.j} − ½|", enclose_rational(self.flat), enclose_rational(Fraction(1, 4))
            ),
        )


def _examples(rng: np.random.Generator, L: int, steps: int) -> Examples:
    """The sawtooth f by its sizes, and what training makes of it."""
    sawtooth = Sawtooth.of(L)
    return Examples(sawtooth.claims(), (_draw_training(rng, 4, steps),), numbers=sawtooth.numbers)


def _draw_both(found: Comparison, name: str) -> tuple[Curves, ...]:
    """Both functions over the first teeth, where they can be written out."""
    shown = found.in_full
    if shown is None or shown.g is None:
        return ()
    f = teeth(shown.k)
    g = shown.g
    end = min(Fraction(1), Fraction(64, 2**shown.k))
    points = sorted({Fraction(0), end, *(t for h in (f, g) for t in h.kinks if 0 <= t <= end)})
    chart = draw_curves(
        "few pieces against many",
        [float(t) for t in points],
        x="t",
        y="value",
        reference={f"sawtooth, {2**shown.k:,} pieces": [nearest_float(f(t)) for t in points]},
        measured={name: [nearest_float(g(t)) for t in points]},
        bound={"½": [0.5] * len(points)},
    )
    return (chart,)


def _draw_training(rng: np.random.Generator, k: int, steps: int) -> Curves:
    r"""$\int|\Delta^{\circ k}-g|$ against width: trained networks $g$, and what no network of that size gets below.

    What training reaches is evidence, not proof: the bound holds for every network of that size, trained or not.
    """
    x = competitors.middles(competitors.POINTS)
    fine = competitors.middles(FINE)
    y = competitors.tent(x, k)
    truth = competitors.tent(fine, k)
    series = [Series("the constant ½", [WIDTHS[0], WIDTHS[-1]], [0.25, 0.25], "reference")]
    for depth in DEPTHS:
        errors = []
        for width in WIDTHS:
            params = competitors.fit(rng, (1, *[width] * (depth - 1), 1), x, y, steps)
            errors.append(float(np.abs(competitors.states(params, fine)[-1] - truth).mean()))
        series.append(
            Series(
                f"trained, {depth} layers", WIDTHS, errors, "measured" if depth == 2 else "other"
            )
        )
    for depth in DEPTHS[:2]:
        floor = [float(certificate(min(product_bound([w] * (depth - 1)), 2**k), k)) for w in WIDTHS]
        shown = floor.index(0.0) + 1 if 0.0 in floor else len(floor)
        series.append(Series(f"no {depth} layers below", WIDTHS[:shown], floor[:shown], "bound"))
    title = f"trained to follow a sawtooth of {2**k} pieces"
    return Curves(title, Axis("neurons in a layer", "log"), Axis("∫|f − g|"), tuple(series))
