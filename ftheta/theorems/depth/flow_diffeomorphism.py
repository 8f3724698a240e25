"""Flows never fold space, and neither do residual blocks that are less steep than 1: both can be undone."""

from math import inf
from typing import Annotated

import numpy as np

from ftheta.limits import depth as limits
from ftheta.limits.depth.invertible import block_constants, lifted_reflection, table, undone
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows

LOOK = 8  # inputs at which blocks without a certificate are looked at


def residual_flow(
    rng: np.random.Generator,
    *,
    flow: Annotated[str, Knob(says="the vector field", symbol="v", choices=tuple(limits.FLOWS))] = "tanh",
    rate: Annotated[float, Knob(-4, 4, "growth rate, full turns, or weight norm", "λ", least=-16, most=16)] = 1.5,
    depth: Annotated[int, Knob(1, 64, "number of blocks", "T", log=True, most=512)] = 16,
) -> Network:
    field = limits.FLOWS[flow](rate)
    return Network(f"{depth} blocks of the {flow} field", field.output, field.layers(depth), field.start.shape)


@hypothesis(r"every block has $\mathrm{Lip}(v_k)<1$", remedy="scale the residuals down: x + αv(x) with α < 1/Lip(v)")
def steepness_below_one(net: Network) -> Finding:
    if isinstance(read(net), str):
        return Finding.failed("unknown without residual blocks")
    chain = chain_of(net)
    found = block_constants(chain, chain.weights(net.params), start_rows(net, LOOK, np.random.default_rng(0)))
    worst = max(found, key=lambda c: c.bound.hi if c.bound.hi < inf else c.bound.lo)
    uncertain = [c for c in found if c.why]
    if uncertain:
        steepest = max(uncertain, key=lambda c: c.bound.lo)
        met = f"{steepest.bound.lo:.4g}" if steepest.bound.lo else "not looked for"
        note = f"block {steepest.number} has no certificate ({steepest.why}); slope met there: {met}"
        bad = steepest.bound.lo >= 1 or steepest.bound.lo == 0 or any(c.bound.hi >= 1 for c in found if not c.why)
        return (Finding.failed if bad else Finding.sampled)(note, steepest.bound)
    above = [c.number for c in found if c.bound.hi >= 1]
    note = f"the largest bound is {worst.bound.hi:.6g}, at block {worst.number} of {len(found)}"
    note += f"; {len(above)} blocks are at 1 or above: {', '.join(map(str, above[:8]))}" if above else ""
    return Finding.decide(not above, note, "bounds rounded outward", Enclosure.at_most(worst.bound.hi))


@theorem(
    title="Flows and residual blocks that can be undone",
    sources=("seed 0", "chen2018", "behrmann2019", "dupont2019", "hairer1993"),
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
)
def flow_diffeomorphism(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(4, 128, "inputs looked at", "n", log=True, least=2, most=1024)] = 32,
) -> Evidence:
    r"""If $v$ is Lipschitz in $x$, the trajectories of $\dot x=v_t(x)$ never cross and $\Phi:x(0)\mapsto x(1)$ is a
    homeomorphism, a diffeomorphism if $v$ is $C^1$, with $\det D\Phi=\exp\int\mathrm{tr}\,D_xv\,dt>0$ (Liouville).
    Flows of the line are increasing: $x\mapsto-x$ is none, but it is one after one more dimension. A block
    $x\mapsto x+v_k(x)$ with $L_k=\mathrm{Lip}(v_k)<1$ can be undone: $x\leftarrow y-v_k(x)$ converges at the rate
    $L_k$, and $$\textstyle\prod_k(1-L_k)\,\|x-y\|\le\|\Phi(x)-\Phi(y)\|,\qquad\prod_k(1-L_k)^d\le\det D\Phi.$$"""
    chain, x = chain_of(net), start_rows(net, points, rng)
    weights = chain.weights(net.params)
    constants = block_constants(chain, weights, x[:LOOK])
    stages = undone(chain, weights, constants, x)
    worst = max(stages, key=lambda s: float(np.prod(1 / np.maximum(1 - s.bounded, 1e-300))))
    lifted, picture = lifted_reflection()
    volume = worst.volumes if worst.stage.size <= 64 else None
    numbers = (
        {}
        if volume is None
        else {
            "det DΦ at the first input": float(volume[0][0] * np.exp(volume[1][0])),
            "det of the flow's DΦ there": float(np.exp(volume[3][0])),
            "exp ∫ tr Dv there": float(np.exp(volume[4][0])),
        }
    )
    steepest = max(c.bound.hi if c.bound.hi < inf else c.bound.lo for c in constants)
    return Evidence(
        claims=(*(claim for stage in stages for claim in stage.claims()), *lifted),
        charts=(*worst.pictures(), worst.iteration_chart(), picture),
        numbers={"largest Lip(v_k)": steepest, "∏(1 − L_k)": float(np.prod(1 - worst.bounded))}
        | {"smallest stretch": worst.stretch[0], "round trip": worst.returned}
        | numbers,
        tables=(table(constants),),
        summary=f"{chain.blocks} blocks with Lip(v) up to {steepest:.4g}: distances keep {worst.stretch[0]:.4g} or "
        f"more of themselves, {worst.iterations} fixed-point steps a block bring inputs back to {worst.returned:.1e}",
    )
