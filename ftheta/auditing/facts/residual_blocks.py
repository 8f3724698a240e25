"""What holds for residual networks: how much each block moves its state, which are invertible, how close to a flow."""

from math import inf

import jax
import numpy as np

from ftheta.flows.block_constants import BlockConstant, block_constants
from ftheta.flows.chains import Chain, make_flow, residual_chain
from ftheta.flows.regimes import FEWEST, measure_regime
from ftheta.graph import GraphError
from ftheta.graph.compiling import call_compiled
from ftheta.logic import AuditFinding, Axis, Curves, Enclosure, Fact, Series, SubjectError, Table
from ftheta.subjects import Network

from ..judging import judge, percent
from ..part import Part
from .inputs import affordable, ensure_real_inputs, name_other_kind, some_rows

ROWS = 32
RUNGE_KUTTA = 8  # steps for the flow of a block
DRAWS = 32
SHOWN = 40
FITTING = "this is about networks of blocks x ↦ x + v(x)"
MOST_WEIGHTS = 5_000_000  # of a network whose blocks are bounded


def residual_blocks(net: Network, rng: np.random.Generator) -> Part:
    """Sizes and Lipschitz constants of the blocks, the regime of scaling, and the distance from the flow."""
    chain = _read_chain(net)
    x, told = some_rows(net, affordable(net, 2e9 / RUNGE_KUTTA, 2, ROWS), rng)
    weights = [tuple(np.asarray(w) for w in stage) for stage in chain.weights(net.params)]
    sizes = _measure_sizes(chain, weights, x)
    constants = block_constants(chain, weights, x) if net.parameters <= MOST_WEIGHTS else []
    facts = [
        Fact("residual blocks", Enclosure.exact(chain.blocks)),
        Fact(
            "relative size of a block, median",
            Enclosure.measured(float(np.median(sizes)), samples=len(x)),
            told,
        ),
        *_invertible(constants),
        *_flow_facts(net, chain, weights, x, told),
    ]
    if len(chain.stages[chain.longest_stage]) >= FEWEST:
        regime = measure_regime(chain, weights, x, DRAWS, rng)
        told_regime = (
            f"α = {regime.alpha:.2g}, αLᴴ = {regime.displacement:.2g}, L = {regime.blocks}"
        )
        facts.append(Fact("regime of scaling", regime.name, told_regime))
    findings = _judge_idle(sizes, len(x))
    return Part(tuple(facts), (_table(sizes, constants),), (_picture(sizes, constants),), findings)


def _read_chain(net: Network) -> Chain:
    ensure_real_inputs(net)
    try:
        chain = residual_chain(net.apply, net.params, net.input_shape)
    except GraphError as error:
        raise SubjectError(
            "The blocks cannot be told.", got=str(error).splitlines()[0], remedy=FITTING
        ) from error
    if not chain.blocks:
        raise name_other_kind()
    return chain


def _measure_sizes(chain: Chain, weights: list, x: np.ndarray) -> np.ndarray:
    r"""$\|v_k(x_k)\|/\|x_k\|$ of every residual block, in the mean over the rows."""

    def of_row(row: jax.Array) -> jax.Array:
        before = chain.states(weights, row)[1]
        return jax.numpy.concatenate([of_stage(i, before[i]) for i in chain.residual_stages])

    def of_stage(i: int, states: jax.Array) -> jax.Array:
        stage = chain.stages[i]
        size = lambda block: _norm(stage.field(block[1], block[0])) / _norm(block[0])
        return jax.lax.map(size, (states, tuple(jax.numpy.asarray(w) for w in weights[i])))

    return np.asarray(call_compiled(jax.vmap(of_row), x)).mean(0)


def _norm(z: jax.Array) -> jax.Array:
    return jax.numpy.sqrt(jax.numpy.sum(z**2) + 1e-300)


def _invertible(constants: list[BlockConstant]) -> list[Fact]:
    """Blocks with a certified Lipschitz constant below 1: x ↦ x + v(x) is then one to one, by Banach's theorem."""
    if not constants:
        return []
    sure = sum(c.bound.hi < 1 for c in constants)
    known = sum(c.bound.hi < inf for c in constants)
    told = f"of {len(constants)}; Lip(v) < 1 with weights as float64 computes them, of {known} blocks there is a bound"
    return [
        Fact("blocks certified to be invertible", Enclosure.equal(sure), told, "invertible_blocks")
    ]


def _flow_facts(net: Network, chain: Chain, weights: list, x: np.ndarray, told: str) -> list[Fact]:
    """The output if each block is replaced by the flow of its field for the time 1."""

    def both(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        flow = make_flow(RUNGE_KUTTA)
        return chain.states(weights, row)[0], chain.states(weights, row, flow)[0]

    own, flowed = (
        np.asarray(part).reshape(len(x), -1) for part in call_compiled(jax.vmap(both), x)
    )
    gap = np.linalg.norm(flowed - own, axis=1) / np.maximum(np.linalg.norm(own, axis=1), 1e-300)
    if not np.isfinite(gap).all():
        return [Fact("distance from the flow of its blocks", "the flow leaves every bound", told)]
    value = Enclosure.measured(float(np.median(gap)), samples=len(x))
    facts = [
        Fact(
            "distance from the flow of its blocks, median, relative to the output",
            value,
            told,
            "flow_gap",
        )
    ]
    if own.shape[1] > 1:
        stays = Enclosure.measured(int((own.argmax(1) == flowed.argmax(1)).sum()), samples=len(x))
        facts.append(Fact("predictions that the flow shares", stays, told))
    return facts


def _judge_idle(sizes: np.ndarray, n: int) -> tuple[AuditFinding, ...]:
    idle = np.flatnonzero(sizes < 0.01)
    listed = ", ".join(str(k + 1) for k in idle[:8])
    says = f"{len(idle)} of {len(sizes)} residual blocks hardly move their state: by less than 1 % (blocks {listed})."
    if not len(idle):
        says = f"Every residual block moves its state: by {percent(float(sizes.min()))} or more in the mean."
    return judge(
        "idle-blocks",
        Enclosure.measured(len(idle), samples=n),
        says,
        judged_by=len(idle) / len(sizes),
    )


def _table(sizes: np.ndarray, constants: list[BlockConstant]) -> Table:
    rows = []
    for k, size in enumerate(sizes[:SHOWN]):
        bound = constants[k].bound.hi if k < len(constants) else inf
        rows.append((k + 1, percent(float(size)), bound if bound < inf else "no bound"))
    return Table("residual blocks", ("block", "‖v(x)‖ ÷ ‖x‖", "Lip(v) at most"), tuple(rows))


def _picture(sizes: np.ndarray, constants: list[BlockConstant]) -> Curves:
    number = np.arange(1, len(sizes) + 1)
    series = [Series("‖v(x)‖ ÷ ‖x‖", number, sizes, mark="points" if len(sizes) < 3 else "line")]
    bounds = np.array([c.bound.hi for c in constants])
    some = np.isfinite(bounds) & (bounds > 0)
    if some.any():
        series.append(Series("Lip(v) at most", number[some], bounds[some], "bound"))
        series.append(Series("invertible below", [1, len(sizes)], [1.0, 1.0], "reference"))
    return Curves(
        "residual blocks, from the input", Axis("block"), Axis("size", "log"), tuple(series)
    )
