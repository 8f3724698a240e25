"""Flows never fold space, and neither do residual blocks with a Lipschitz constant below 1: both can be inverted."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ftheta.estimates import worst_ratio
from ftheta.flows.block_constants import BlockConstant, block_constants
from ftheta.flows.chains import Chain, hidden_derivatives
from ftheta.flows.fields import FLOWS
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import (
    AtMost,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows

from .charts import draw_contraction, draw_half_turn, draw_stage
from .inverse import Inversion, invert_stages

LOOK = 8  # inputs at which blocks without a certificate are looked at
LARGEST_JACOBIAN = 64  # dimensions up to which determinants are computed


def residual_flow(
    rng: np.random.Generator,
    *,
    flow: Annotated[str, Knob(says="the vector field", symbol="v", choices=tuple(FLOWS))] = "tanh",
    rate: Annotated[
        float, Knob(-4, 4, "growth rate, full turns, or weight norm", "λ", least=-16, most=16)
    ] = 1.5,
    depth: Annotated[int, Knob(1, 64, "number of blocks", "T", log=True, most=512)] = 16,
) -> Network:
    field = FLOWS[flow](rate)
    return Network(
        f"{depth} block{'s' * (depth > 1)} of the {flow} field",
        field.output,
        field.layers(depth),
        field.start.shape,
    )


@hypothesis(
    r"every block has $\mathrm{Lip}(v_k)<1$",
    remedy="scale the residuals down: x + αv(x) with α < 1/Lip(v)",
    name="residual branches with Lipschitz constant below 1",
)
def steepness_below_one(net: Network) -> Finding:
    if isinstance(read(net), str):
        return Finding.undecided("residual blocks")
    chain = chain_of(net)
    found = block_constants(
        chain, chain.weights(net.params), start_rows(net, LOOK, np.random.default_rng(0))
    )
    worst = max(found, key=lambda constant: constant.value)
    uncertain = [c for c in found if c.why]
    if uncertain:
        steepest = max(uncertain, key=lambda c: c.bound.lo)
        slope = f"{steepest.bound.lo:.4g}" if steepest.bound.lo else "not looked for"
        note = f"block {steepest.number} has no certificate ({steepest.why}); steepest slope found there: {slope}"
        bad = (
            steepest.bound.lo >= 1
            or steepest.bound.lo == 0
            or any(c.bound.hi >= 1 for c in found if not c.why)
        )
        return (Finding.failed if bad else Finding.sampled)(note, steepest.bound)
    above = [c.number for c in found if c.bound.hi >= 1]
    note = f"the largest bound is {worst.bound.hi:.6g}, at block {worst.number} of {len(found)}"
    note += (
        f"; at 1 or above: block {', '.join(map(str, above[:8]))} ({len(above)} in all)"
        if above
        else ""
    )
    return Finding.decide(
        not above, note, "bounds rounded outward", Enclosure.at_most(worst.bound.hi)
    )


@theorem(
    title="Invertible residual blocks and flows",
    sources=("peyre-slides", "chen2018", "behrmann2019", "dupont2019", "hairer1993"),
    assumes=(residual_blocks, steepness_below_one),
    on=residual_flow,
    breaks_on=lambda rng: residual_flow(rng, flow="growth", rate=-2.0, depth=1),
    presets={
        "textbook": {},
        "on the line": {"flow": "growth", "rate": -2.0},
        "half a turn": {"flow": "rotation", "rate": 0.5},
        "at the edge": {"flow": "tanh", "rate": 2.0, "depth": 3},
        "broken on purpose": {"flow": "growth", "rate": -2.0, "depth": 1},
    },
    gist="Residual blocks that change their input gently can be inverted, as flows always can: normalising flows and "
    "reversible networks rest on it, and it is why such a network cannot swap two points of a line.",
    see_also=("neural-ode-limit", "resnet-block-34", "adjoint-method", "lipschitz-bounds"),
)
def flow_diffeomorphism(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[
        int, Knob(4, 128, "inputs looked at", "n", log=True, least=2, most=1024)
    ] = 32,
) -> Evidence:
    r"""If $v$ is Lipschitz in $x$, the trajectories of $\dot x=v_t(x)$ never cross and $\Phi:x(0)\mapsto x(1)$ is a
    homeomorphism, a diffeomorphism if $v$ is $C^1$, with $\det D\Phi=\exp\int\mathrm{tr}\,D_xv\,dt>0$ (Liouville).
    Flows of the line are increasing: $x\mapsto-x$ is none, but it is one after one more dimension. A block
    $x\mapsto x+v_k(x)$ with $L_k=\mathrm{Lip}(v_k)<1$ can be inverted: $x\leftarrow y-v_k(x)$ converges at the rate
    $L_k$, and $$\textstyle\prod_k(1-L_k)\,\|x-y\|\le\|\Phi(x)-\Phi(y)\|,\qquad\prod_k(1-L_k)^d\le\det D\Phi.$$"""
    chain = chain_of(net)
    x = start_rows(net, points, rng)
    weights = chain.weights(net.params)
    constants = block_constants(chain, weights, x[:LOOK])
    stages = invert_stages(chain, weights, constants, x)
    worst = max(stages, key=lambda s: float(np.prod(1 / np.maximum(1 - s.constants, 1e-300))))
    steepest = max(constant.value for constant in constants)
    stretch = worst.stretch[0]
    return Evidence(
        claims=tuple(
            claim
            for stage in stages
            for claim in (*stage_claims(stage), *volume_claims(stage, chain))
        ),
        charts=(*draw_stage(worst), draw_contraction(worst)),
        numbers={
            "largest Lip(v_k)": steepest,
            "∏(1 − L_k)": float(np.prod(1 - worst.constants)),
            "smallest stretch": stretch,
            "round trip": worst.round_trip,
            **_volumes(worst),
        },
        tables=(_constants_table(constants),),
        summary=f"{chain.blocks} blocks with Lip(v) up to {steepest:.4g}: distances keep {stretch:.4g} or more of "
        f"themselves, {worst.iterations} fixed-point steps per block bring inputs back to {worst.round_trip:.1e}",
        examples=lifted_reflection,
    )


def stage_claims(stage: Inversion) -> tuple[Claim, ...]:
    """Distances, the fixed point that inverts each block, the flow and its inverse."""
    n = len(stage.x)
    narrow = float(np.prod(1 - stage.constants))
    ratio, i, j = stage.stretch
    pair = None
    if ratio < narrow and stage.certified:
        how = "the blocks at the two inputs, in intervals rounded outward"
        pair = Witness(
            {"i": float(i), "j": float(j)}, stage.least_stretch(), stage.slope(i, j), how
        )
    least = Enclosure.equal(narrow * (1 - 1e-9))
    rate = Enclosure.equal(float(stage.constants[-1]) * (1 + 1e-9))
    steps = stage.differences
    # granted to float64
    rounding = 1e-13 * (1 + np.linalg.norm(stage.y.reshape(n, -1), axis=1, keepdims=True))
    quotient = worst_ratio(steps[:, 1:], steps[:, :-1], rounding)
    there_and_back = Enclosure.measured(stage.round_trip, samples=n)
    flow_back = Enclosure.measured(stage.flow_round_trip, samples=n)
    return (
        AtMost(
            "∏(1 − L_k) ≤ ‖Φ(x) − Φ(y)‖/‖x − y‖",
            least,
            Enclosure.measured(ratio, samples=n),
            witness=pair,
        ),
        AtMost(
            "contraction of x ← y − v(x)", Enclosure.measured(quotient, samples=n), rate, rtol=1e-6
        ),
        AtMost("‖Φ⁻¹(Φ(x)) − x‖ by fixed points", there_and_back, Enclosure.exact(1e-9)),
        AtMost("the flow, forwards and backwards", flow_back, Enclosure.exact(1e-6)),
    )


def volume_claims(stage: Inversion, chain: Chain) -> tuple[Claim, ...]:
    """det DΦ from below, against the traces, and of the flow (Liouville), where Jacobians are small and the function's
    own: one that brings derivatives along may say anything of its volumes."""
    if stage.stage.size > LARGEST_JACOBIAN or hidden_derivatives(chain):
        return ()
    n = len(stage.x)
    d = stage.stage.size
    sign, logs, traces, flow, integral = stage.volumes
    least = float(np.prod(1 - stage.constants)) ** d
    k = int((sign * np.exp(logs)).argmin())
    smallest = float(sign[k] * np.exp(logs[k]))
    witness = None
    if smallest < least and stage.certified:
        at = {"x": tuple(map(float, np.ravel(stage.x[k])))}
        how = "the Jacobian in intervals, its determinant in balls"
        witness = Witness(at, stage.least_stretch(d), stage.determinant(k), how)
    gap = float(np.abs(logs - traces).max())
    slack = d * float((-np.log1p(-np.minimum(stage.lipschitz, 1 - 1e-12)) - stage.constants).sum())
    off = int(np.abs(flow - integral).argmax())
    of_flow = Enclosure.measured(float(flow[off]), samples=n)
    liouville = Enclosure.measured(float(integral[off]), samples=n)
    bound = Enclosure.equal(least * (1 - 1e-9))
    difference = Enclosure.measured(gap, samples=n)
    return (
        AtMost(
            "∏(1 − L_k)^d ≤ det DΦ", bound, Enclosure.measured(smallest, samples=n), witness=witness
        ),
        AtMost("|log det DΦ − Σ tr Dv_k|", difference, Enclosure.equal(slack), atol=1e-9),
        Identity("log det of the flow = ∫ tr Dv", of_flow, liouville, rtol=1e-6, atol=1e-6),
    )


def _volumes(stage: Inversion) -> dict[str, float]:
    if stage.stage.size > LARGEST_JACOBIAN:
        return {}
    sign, logs, _, flow, integral = stage.volumes
    return {
        "det DΦ at the first input": float(sign[0] * np.exp(logs[0])),
        "det of the flow's DΦ there": float(np.exp(flow[0])),
        "exp ∫ tr Dv there": float(np.exp(integral[0])),
    }


def _constants_table(constants: Sequence[BlockConstant], most: int = 40) -> Table:
    rows = [
        (c.number, c.value, "steepest slope found" if c.why else "certified")
        for c in constants[:most]
    ]
    return Table("Lipschitz constants of the blocks", ("block", "Lip(v)", "how"), tuple(rows))


def lifted_reflection(points: int = 5, steps: int = 256) -> Examples:
    r"""$x\mapsto-x$ is no flow of the line, as those are increasing, but half a turn of the plane.

    An increasing $g$ has $g(1)>g(-1)$, so one of $|g(1)+1|$ and $|g(-1)-1|$ is above 1; $x\mapsto e^ax$ comes near.
    """
    x = np.linspace(-1, 1, points)
    start = np.stack([x, np.zeros(points)])
    turn = np.pi * np.array([[0.0, -1.0], [1.0, 0.0]])
    end = start
    for _ in range(steps):
        end = runge_kutta_step(np.matmul, (turn, turn, turn), end, 1 / steps)
    off = Enclosure.equal(float(np.abs(end + start).max()))
    rates = np.linspace(-40.0, 4.0, 89)
    # |e^a + 1| at x = 1
    best = Enclosure.measured(1 + float(np.exp(rates).min()), samples=len(rates))
    claims = (
        Exists(
            "a flow of the plane with (x, 0) ↦ (−x, 0)",
            {"field": "half a turn"},
            off,
            Enclosure.exact(1e-9),
        ),
        AtMost("1 ≤ error at ±1 of ẋ = ax as −x", Enclosure.exact(1), best),
    )
    return Examples(claims, (draw_half_turn(x),))
