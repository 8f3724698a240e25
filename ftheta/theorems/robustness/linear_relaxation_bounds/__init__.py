"""Affine functions below and above a network over a box, by replacing every ReLU with lines."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Identity,
    Knob,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description, random_mlp
from ftheta.pieces import pieces
from ftheta.pieces.domains import Box
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.pieces.questions.extremes import extreme
from ftheta.relu.network import ReluNetwork, Step
from ftheta.subjects import Network
from ftheta.theorems.knobs import HiddenActivation

from .charts import draw_ladder, draw_radii, draw_section
from .question import Question, pose_question
from .relaxed_chains import AffineBound, RelaxedBox, RelaxedChain
from .triangles import solve_triangles

MOST_NEURONS = 2000
"""Beyond, the linear program takes minutes."""

MOST_WEIGHTS = 20_000_000
"""Entries of all matrices: beyond, back-substitution from every neuron takes minutes."""

MOST_ENUMERATED_INPUTS = 3
"""Up to so many, the least value is looked for among all pieces."""

MOST_WORK = 200_000_000
"""Elementary steps in the enumeration of pieces."""

SOLVER = 1e-6
"""Relative tolerance of an optimum: HiGHS meets constraints within 1e-7."""


# ---- subjects --------------------------------------------------------------------------------------------------------


def network(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 64, "number of inputs", "d₀", log=True, most=784)] = 2,
    width: Annotated[
        int, Knob(1, 64, "neurons in each hidden layer", "w", log=True, most=256)
    ] = 16,
    hidden_layers: Annotated[int, Knob(1, 5, "number of hidden layers", "H", least=1, most=8)] = 2,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "d_L", most=100)] = 1,
    hidden: HiddenActivation = "relu",
) -> Network:
    description = random_mlp(rng, (inputs, *[width] * hidden_layers, outputs), hidden, bias=0.5)
    return Network.described(
        description, f"random {hidden} network {'-'.join(map(str, description.widths))}"
    )


def below_its_kinks(rng: np.random.Generator) -> Network:
    """The negative control: read as ReLUs, its neurons are off near 0; but they are tanh, and the output is −2."""
    layers = (Dense(np.eye(2), np.full(2, -3.0), "tanh"), Dense(np.ones((1, 2)), np.zeros(1)))
    return Network.described(Description(layers), "two tanh neurons far below 0")


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the weights are floats, and not too many",
    remedy="a smaller network; `ft.bounds` takes larger ones",
)
def is_of_bounded_size(net: Network) -> Finding:
    form = normal_form(net).network
    if form is None:
        return Finding.undecided("the normal form")
    weights = sum(int(np.prod(step.matrix.shape)) for step in form.steps)
    if form.is_long:
        return Finding.failed("weights that float64 cannot hold")
    return Finding.decide(weights <= MOST_WEIGHTS, f"{weights:,} entries of matrices", "counted")


@theorem(
    title="Bounds by linear relaxation",
    gist="Replacing every ReLU by lines below and above it gives affine bounds of a whole network over a box of "
    "inputs, which certify robustness within milliseconds; the best slopes reach a linear program, and not more.",
    see_also=("verification-np-hard", "lipschitz-bounds", "relu-net-is-cpa"),
    sources=("zhang2018", "salman2019", "xu2021fast"),
    assumes=(relu_network, is_of_bounded_size),
    on=network,
    breaks_on=below_its_kinks,
    presets={
        "textbook": {},
        "classes": {"inputs": 8, "outputs": 4, "hidden_layers": 3},
        "large": {"inputs": 64, "width": 128, "outputs": 10, "radius": 0.02},
        "at the edge": {"inputs": 1, "width": 1, "hidden_layers": 1},
        "broken on purpose": {"hidden": "tanh"},
    },
)
def linear_relaxation_bounds(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: Annotated[
        float, Knob(0.001, 2, "half-width of the box", "ε", log=True, least=1e-9, most=1e3)
    ] = 0.5,
    steps: Annotated[
        int, Knob(1, 200, "steps in which slopes are improved", "k", log=True, most=1000)
    ] = 50,
    points: Annotated[
        int, Knob(16, 4096, "inputs tried for a small value", "n", log=True, most=65536)
    ] = 1024,
) -> Evidence:
    r"""Over the box $B=\{\|x-c\|_\infty\le\varepsilon\}$ let the operand $z$ of a ReLU lie in $[l,u]$, $l<0<u$. Then
    $$\alpha z\le r(z)\le\tfrac u{u-l}(z-l)\qquad\text{for every }\alpha\in[0,1].$$
    Substituting these lines from the output $g$ back to the inputs gives $g(x)\ge\langle a,x\rangle+b$ on $B$, hence
    $\min_Bg\ge\langle a,c\rangle+b-\varepsilon\|a\|_1$. The largest such bound over all slopes is the optimum of the
    linear program in which every ReLU is the triangle between these lines. With the slopes chosen beforehand
    ($\alpha=1$ if $u>-l$, else 0: CROWN) the bound can be worse than that of intervals. Here $g$ is the output, or how
    far the largest output at $c$ exceeds the one that comes nearest to it."""
    form = normal_form(net).network
    if form is None or form.is_long:
        return Evidence((), summary="no normal form in floats, hence no lines")
    centre = (
        np.zeros(form.widths[0]) if net.data is None else np.asarray(net.data.x[0], float).ravel()
    )
    question = pose_question(net, form, centre)
    chain = RelaxedChain(question.network)
    relaxed = chain.relax(chain.box(centre, radius))
    plain = relaxed.plain()
    climbed = relaxed.climb(steps)
    found = _search(question, relaxed, plain, rng, points)
    ladder = {
        "intervals": Enclosure.exact(chain.interval(relaxed.box)),
        "CROWN": Enclosure.exact(plain.least),
        "slopes by ascent": Enclosure.exact(climbed.least),
    }
    claims: list[Claim] = [
        AtMost(f"{name} ≤ min g", bound, found.least, witness=found.against(bound))
        for name, bound in ladder.items()
    ]
    program, best = _triangles(relaxed, question.network)
    if program is not None and best is not None:
        claims += _compare_with_program(program, best, ladder["slopes by ascent"])
        ladder["linear program"] = program
    return Evidence(
        claims=tuple(claims),
        charts=(
            draw_section(question, relaxed, centre, found.x, plain, climbed),
            draw_ladder({**ladder, found.name: found.least}),
            draw_radii(chain, centre, radius, steps),
        ),
        numbers={**ladder, found.name: found.least},
        summary=f"g = {question.words}: at least {ladder['CROWN'].lo:.6g} by CROWN, {climbed.least:.6g} with better "
        f"slopes; {found.name}: {found.least.hi:.6g}",
        examples=_examples,
    )


def _compare_with_program(
    program: Enclosure, best: Enclosure, climbed: Enclosure
) -> tuple[Claim, Claim]:
    """No slopes do better than the linear program, and those of its multipliers do as well."""
    as_well = "slopes from the multipliers = linear program"
    return (
        Identity(as_well, best, program, rtol=SOLVER, atol=SOLVER),
        AtMost("slopes by ascent ≤ linear program", climbed, program, rtol=SOLVER),
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lowest:
    """The smallest value known, and where it is attained; `least` encloses the minimum over the box."""

    question: Question
    x: np.ndarray
    least: Enclosure
    name: str

    def against(self, bound: Enclosure) -> Witness:
        """The value at the point, in intervals, beside the bound."""
        at = {f"x{i + 1}": float(v) for i, v in enumerate(self.x[:8])}
        value = enclose_number(self.question.program, self.x)
        return Witness(at, bound, value, "the network at this point in intervals rounded outward")


def _search(
    question: Question,
    relaxed: RelaxedBox,
    plain: AffineBound,
    rng: np.random.Generator,
    points: int,
) -> Lowest:
    """Among all pieces where there are few inputs; else random points, the corner below, and descent from the best."""
    lo = relaxed.box.hull.lo[0]
    hi = relaxed.box.hull.hi[0]
    if len(lo) <= MOST_ENUMERATED_INPUTS:
        try:
            cells = pieces(question.network, Box(lo, hi), max_work=MOST_WORK)
            if cells.certificate.complete:
                lowest = extreme(cells, 0, -1)
                x = np.clip(np.array([float(v) for v in lowest.point]), lo, hi)
                if question.measure(x[None])[0] >= lowest.value.lo - SOLVER * (
                    1 + abs(lowest.value.lo)
                ):
                    return Lowest(question, x, lowest.value, "minimum over all pieces")
        except FthetaError:
            pass  # no enumeration of this network: then points are tried
    x = rng.uniform(lo, hi, (points, len(lo)))
    x[0] = np.where(plain.slope > 0, lo, hi)
    values = question.measure(x)
    best = x[np.argsort(values, kind="stable")[: min(8, points)]]
    tried = np.concatenate([best, _descend(question, best, lo, hi)])
    values = question.measure(tried)
    at = int(values.argmin())
    return Lowest(
        question,
        tried[at],
        -Enclosure.at_least(-float(values[at]), samples=points),
        "least value found",
    )


def _descend(
    question: Question, x: np.ndarray, lo: np.ndarray, hi: np.ndarray, rounds: int = 20
) -> np.ndarray:
    """Steps along the signs of the gradient, kept in the box; every step is half as long after five of them."""
    gradient = jax.jit(jax.vmap(jax.grad(lambda v: question.program(v).sum())))
    met = [x]
    for k in range(rounds):
        step = (hi - lo) / 4 / 2 ** (k // 5)
        x = np.clip(x - step * np.sign(np.asarray(gradient(jnp.asarray(x)))), lo, hi)
        met.append(x)
    return np.concatenate(met)


def _triangles(relaxed: RelaxedBox, g: ReluNetwork) -> tuple[Enclosure | None, Enclosure | None]:
    """The optimum of the linear program, and the bound by the slopes that its multipliers are."""
    if sum(int(step.rectified.sum()) for step in g.steps) > MOST_NEURONS:
        return None, None
    hull = relaxed.box.hull
    layers = ReluNetwork(_merge(g), g.rounded)
    found = solve_triangles(layers, hull.lo[0], hull.hi[0], relaxed.operands)
    if found is None:
        return None, None
    return Enclosure.equal(found.value), Enclosure.equal(relaxed.with_slopes(found.slopes).least)


def _merge(g: ReluNetwork) -> tuple[Step, ...]:
    """The two affine maps at the end as one: rounding does not matter to a solver."""
    *rest, last, row = g.steps
    matrix: Any = row.dense() @ last.dense()
    return (*rest, Step(matrix, row.dense() @ last.offset + row.offset, row.rectified))


def _examples() -> Examples:
    """Two small functions for which everything is known in closed form."""
    ramp = RelaxedChain(ReluNetwork.dense([np.eye(1), np.eye(1)], [np.zeros(1), np.zeros(1)]))
    wide = ramp.relax(ramp.box(np.array([0.125]), 1.125))  # [−1, 5/4]
    intervals = Enclosure.equal(ramp.interval(wide.box))
    twice = ReluNetwork.dense(
        [np.ones((2, 1)), np.array([[1.0, -1.0]])], [np.zeros(2), np.zeros(1)]
    )
    chain = RelaxedChain(twice)
    box = chain.relax(chain.box(np.zeros(1), 1.0))
    barrier = solve_triangles(twice, -np.ones(1), np.ones(1), box.operands)
    crown = Enclosure.equal(wide.plain().least)
    program = Enclosure() if barrier is None else Enclosure.equal(barrier.value)
    return Examples(
        claims=(
            Identity("CROWN below r(x) on [−1, 5/4]", crown, Enclosure.exact(-1)),
            AtMost("… is 1 below intervals", crown, intervals - 1.0),
            Identity(
                "the best slopes there",
                Enclosure.equal(wide.climb(100).least),
                Enclosure.exact(0),
                atol=1e-9,
            ),
            Identity(
                "linear program of r(x) − r(x) on [−1, 1] (minimum: 0)",
                program,
                Enclosure.exact(Fraction(-1, 2)),
            ),
        ),
        numbers={"CROWN below r(x)": crown, "linear program of r(x) − r(x)": program},
    )
