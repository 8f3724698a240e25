"""Networks as chains of residual blocks: the hypothesis that several theorems share."""

from functools import lru_cache

import jax
import numpy as np

from ftheta.graph import GraphError
from ftheta.limits import depth
from ftheta.limits.depth import Flow
from ftheta.limits.depth.chains import Chain, residual_chain
from ftheta.limits.depth.interpolated import LARGEST_STATE, interpolated
from ftheta.limits.depth.regimes import longest
from ftheta.logic import Basis, Enclosure, Finding, Status, SubjectError, hypothesis

from .kinds import Family
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
    found = read(net)
    if isinstance(found, Chain):
        return found
    remedy = "give a network with blocks x + v(x), the skip connection being the identity"
    raise SubjectError("The network is not a chain of residual blocks.", where=net.name, got=found, remedy=remedy)


def has_blocks(subject: Family | Network) -> bool:
    """Whether it is a family, or a network that is a chain of few dimensions."""
    return isinstance(subject, Family) or euler_steps.check(subject).status is not Status.FAILED


@hypothesis(r"the network is made of blocks $x_{k+1}=x_k+v_k(x_k)$", remedy="add skip connections: x + v(x)")
def residual_blocks(net: Network) -> Finding:
    found = read(net)
    if isinstance(found, str):
        return Finding.failed(found)
    sizes = " + ".join(
        f"{len(found.stages[i])} in dimension {found.stages[i].size:,}" for i in found.residual_stages[:6]
    )
    more = " + …" if len(found.residual_stages) > 6 else ""
    between = f"; {found.plain_nodes} nodes besides" if found.plain_nodes else ""
    note = f"{found.blocks} blocks: {sizes}{more}{between}"
    return Finding.proved(note, "the sums x + v(x) are nodes of its graph", Enclosure.exact(found.blocks))


def start_rows(net: Network, n: int, rng: np.random.Generator, radius: float = 1.0) -> np.ndarray:
    """Inputs of the network: the first rows of its data, or normal ones."""
    if net.data is not None:
        return np.asarray(net.data.x[:n], float).reshape(-1, *net.input_shape)
    return radius * rng.normal(size=(n, *net.input_shape))


@lru_cache(4)
def family_of(subject: Family | Network) -> tuple[Family, Flow]:
    """A family of residual networks and its limit; of one network, finer steps of the flow that it discretises."""
    if isinstance(subject, Family):
        if isinstance(subject.limit, Flow) and len(subject.scales) > 2:
            return subject, subject.limit
        remedy = "give the Family limit=ftheta.limits.depth.Flow(field, weights, start) and three scales or more"
        raise SubjectError(
            "The limit of the family is not known.", where=subject.name, got=subject.limit, remedy=remedy
        )
    chain, rng = chain_of(subject), np.random.default_rng(0)
    with jax.enable_x64(True):
        flow = interpolated(chain, longest(chain), chain.weights(subject.params), start_rows(subject, 1, rng)[0])
    T = len(chain.stages[longest(chain)])
    member = lambda depth, rng: Network(f"{depth} steps", flow.output, flow.layers(depth), flow.start.shape)
    return Family(f"{subject.name} in finer steps", member, flow, [T << k for k in range(5)]), flow


@hypothesis(
    r"the blocks are $x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$",
    remedy=f"add skip connections, x + v(x): two blocks or more of one kind, in up to {LARGEST_STATE} dimensions",
)
def euler_steps(subject: Family | Network) -> Finding:
    """Of a network, the blocks of its longest stage, in few dimensions."""
    if isinstance(subject, Family):
        steps = f"{subject.scales[-1]} blocks in the deepest"
        if isinstance(subject.limit, Flow) and _is_euler(subject, subject.limit):
            return Finding.sampled(f"{steps}; the members at {len(subject.scales)} depths are Euler steps of the flow")
        return Finding.assumed(steps)
    if isinstance(read(subject), str):
        return residual_blocks.check(subject)
    chain = chain_of(subject)
    stage = chain.stages[longest(chain)]
    note = f"{len(stage)} blocks of one kind in dimension {stage.size:,}; asked: 2 or more, up to {LARGEST_STATE}"
    weighted = bool(stage.field.weights)
    return Finding.decide(
        len(stage) > 1 and stage.size <= LARGEST_STATE and weighted,
        note,
        "blocks read off its graph",
        basis=Basis.EXACT,
    )


def _is_euler(family: Family, flow: Flow) -> bool:
    members = (family.member(depth, np.random.default_rng(0)) for depth in family.scales)
    return all(member.apply == flow.output for member in members)


@hypothesis(r"$v_{\theta(t)}$ is $\Lambda$-Lipschitz in $x$", remedy="state the flow's true `lipschitz`")
def lipschitz_field(subject: Family | Network) -> Finding:
    if not has_blocks(subject):
        return Finding.failed("unknown without residual blocks")
    flow = family_of(subject)[1]
    stated, met = depth.lipschitz_of(flow), depth.steepest_slope(flow)
    note = f"steepest slope met {met.middle:.6g}, asked: at most Λ = {stated.hi:.6g}"
    return Finding.sampled(note, met) if met.hi <= stated.hi * (1 + 1e-9) else Finding.failed(note, met)


@hypothesis(r"$\theta_k=\theta(k/T)$ with $\theta(\cdot)$ Lipschitz", remedy="let weights vary smoothly with depth")
def lipschitz_weights(subject: Family | Network) -> Finding:
    if not has_blocks(subject):
        return Finding.failed("unknown without residual blocks")
    family, flow = family_of(subject)
    T = family.scales[-1]
    found = depth.regularity(flow, family.member(T, np.random.default_rng(0)).params)
    if found is None:
        return Finding.assumed("the layers' weights are not laid out like those of the flow")
    asked = depth.allowed_variation(flow, T)
    note = (
        f"at T = {T}: |θ_k − θ(k/T)| is {found[0]:.3g}, T|θ_(k+1) − θ_k| is {found[1]:.5g}; asked: 0 and ≤ {asked:.5g}"
    )
    holds = found[0] <= 1e-9 and found[1] <= asked * (1 + 1e-9) + 1e-9
    return (Finding.sampled if holds else Finding.failed)(note, Enclosure.measured(found[1], samples=T))
