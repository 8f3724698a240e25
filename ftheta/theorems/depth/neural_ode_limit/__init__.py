"""A deep residual network with step 1/T is Euler's method: it tends to a flow, at the rate 1/T."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import jax
import numpy as np
from flint import ctx

from ftheta.flows.fields import FLOWS, Flow
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Knob,
    Series,
    Status,
    SubjectError,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows
from ftheta.theorems.orders import observed_order

from . import stated
from .contrasts import BITS, errors_at, half_limits
from .convergence import (
    allowed_variation,
    distance,
    euler,
    euler_constant,
    largest,
    lipschitz_of,
    regularity,
    runge_kutta_errors,
    steepest_slope,
)
from .interpolation import LARGEST_STATE, interpolate_weights

DEPTHS = tuple(2**k for k in range(3, 13))  # of the examples


def residual_networks(
    rng: np.random.Generator,
    *,
    flow: Annotated[
        str, Knob(says="the vector field", symbol="v", choices=tuple(FLOWS))
    ] = "growth",
    rate: Annotated[
        float, Knob(0.1, 4, "growth rate, full turns, or weight norm", "λ", least=1e-3, most=8)
    ] = 1.0,
    noise: Annotated[
        float, Knob(0, 1, "size of independent ± noise on each layer's weights", "η")
    ] = 0.0,
    depth: Annotated[
        int, Knob(8, 4096, "layers of the deepest network", "T", log=True, most=32_768)
    ] = 1024,
) -> Family:
    limit = FLOWS[flow](rate)

    def member(T: int, rng: np.random.Generator) -> Network:
        W, b = limit.layers(T)
        W = W + noise * rng.choice([-1.0, 1.0], W.shape)
        return Network(f"{T} layers", limit.output, (W, b), limit.start.shape)

    scales = sorted({depth >> k for k in range(8) if depth >> k})
    return Family(
        f"residual networks, {flow}, λ = {rate:g}, noise {noise:g}", member, limit, scales
    )


@lru_cache(4)
def family_of(subject: Family | Network) -> tuple[Family, Flow]:
    """A family of residual networks and its limit; of one network, finer steps of the flow that it discretises."""
    if isinstance(subject, Family):
        if isinstance(subject.limit, Flow) and len(subject.scales) > 2:
            return subject, subject.limit
        remedy = "give the Family limit=ftheta.flows.fields.Flow(field, weights, start) and three scales or more"
        raise SubjectError(
            "The limit of the family is not known.",
            where=subject.name,
            got=subject.limit,
            remedy=remedy,
        )
    chain = chain_of(subject)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        start = start_rows(subject, 1, rng)[0]
        flow = interpolate_weights(chain, chain.longest_stage, chain.weights(subject.params), start)
    T = len(chain.stages[chain.longest_stage])
    member = lambda depth, rng: Network(
        f"{depth} steps", flow.output, flow.layers(depth), flow.start.shape
    )
    return Family(f"{subject.name} in finer steps", member, flow, [T << k for k in range(5)]), flow


@hypothesis(
    r"the blocks are $x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$",
    remedy=f"add skip connections, x + v(x): two blocks or more of one kind, in up to {LARGEST_STATE} dimensions",
)
def residual_blocks_of_one_kind(subject: Family | Network) -> Finding:
    """Of a network, the blocks of its longest stage, in few dimensions."""
    if isinstance(subject, Family):
        steps = f"{subject.scales[-1]} blocks in the deepest"
        if isinstance(subject.limit, Flow) and _is_euler(subject, subject.limit):
            return Finding.sampled(
                f"{steps}; the members at {len(subject.scales)} depths are Euler steps of the flow"
            )
        return Finding.assumed(steps)
    if isinstance(read(subject), str):
        return residual_blocks.check(subject)
    chain = chain_of(subject)
    stage = chain.stages[chain.longest_stage]
    note = f"{len(stage)} blocks of one kind in dimension {stage.size:,}; required: 2 or more, up to {LARGEST_STATE}"
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


@hypothesis(
    "what is stated of the flow is true: its end, its acceleration, its field in balls",
    remedy="state the true ones, or leave them out: then they are measured",
    name="statements about the flow that are true",
)
def true_statements(subject: Family | Network) -> Finding:
    """Against the Runge–Kutta method along the trajectory; the other constants belong to the hypotheses beside."""
    if not _has_blocks(subject):
        return Finding.undecided("residual blocks")
    return stated.compare(family_of(subject)[1])


@hypothesis(
    r"$v_{\theta(t)}$ is $\Lambda$-Lipschitz in $x$",
    remedy="state the flow's true `lipschitz`",
    name="a Lipschitz field",
)
def lipschitz_field(subject: Family | Network) -> Finding:
    r"""The slopes $\|D_xv\|$ along the trajectory, against the stated $\Lambda$."""
    if not _has_blocks(subject):
        return Finding.undecided("residual blocks")
    flow = family_of(subject)[1]
    stated = lipschitz_of(flow)
    steepest = steepest_slope(flow)
    note = f"steepest slope found {steepest.middle:.6g}, required: at most Λ = {stated.hi:.6g}"
    holds = steepest.hi <= stated.hi * (1 + 1e-9)
    return Finding.sampled(note, steepest) if holds else Finding.failed(note, steepest)


@hypothesis(
    r"$\theta_k=\theta(k/T)$ with $\theta(\cdot)$ Lipschitz",
    remedy="let weights vary smoothly with depth",
    name="weights that are Lipschitz in depth",
)
def lipschitz_weights(subject: Family | Network) -> Finding:
    r"""How far the weights of the deepest member are from $\theta(k/T)$, and how fast they vary with depth."""
    if not _has_blocks(subject):
        return Finding.undecided("residual blocks")
    family, flow = family_of(subject)
    T = family.scales[-1]
    found = regularity(flow, family.member(T, np.random.default_rng(0)).params)
    if found is None:
        return Finding.assumed("the layers' weights are not laid out like those of the flow")
    allowed = allowed_variation(flow, T)
    apart, slope = found
    note = f"at T = {T}: |θ_k − θ(k/T)| is {apart:.3g}, T|θ_(k+1) − θ_k| is {slope:.5g}"
    note += f"; required: 0 and ≤ {allowed:.5g}"
    holds = apart <= 1e-9 and slope <= allowed * (1 + 1e-9) + 1e-9
    return (Finding.sampled if holds else Finding.failed)(
        note, Enclosure.measured(slope, samples=T)
    )


def _has_blocks(subject: Family | Network) -> bool:
    """Whether it is a family, or a network that is a chain of few dimensions."""
    return (
        isinstance(subject, Family)
        or residual_blocks_of_one_kind.check(subject).status is not Status.FAILED
    )


@theorem(
    title="Residual networks tend to a flow",
    sources=("peyre-slides", "peyre-notes", "chen2018", "hairer1993"),
    assumes=(residual_blocks_of_one_kind, lipschitz_field, lipschitz_weights, true_statements),
    on=residual_networks,
    breaks_on=lambda rng: residual_networks(rng, noise=1.0),
    presets={
        "textbook": {},
        "one full turn": {"flow": "rotation", "depth": 4096},
        "deep tanh": {"flow": "tanh", "rate": 2.0, "depth": 8192},
        "at the edge": {"rate": 0.25},
        "broken on purpose": {"noise": 1.0},
    },
    gist="A deep residual network is Euler's method for a differential equation: as it gets deeper, with smaller "
    "steps, it converges to a flow, so that depth becomes time and the tools for differential equations apply.",
    see_also=("adjoint-method", "flow-diffeomorphism", "depth-scaling-regimes", "resnet-block-34"),
)
def neural_ode_limit(subject: Family | Network, rng: np.random.Generator) -> Evidence:
    r"""$x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$ is explicit Euler for $\dot x=v_{\theta(t)}(x)$. If $v_\theta$ is
    $\Lambda$-Lipschitz in $x$ and $t\mapsto\theta(t)$ is Lipschitz, then at every depth $T$
    $$|x_T-x(1)|\le\frac CT,\qquad C=\frac{e^\Lambda-1}{2\Lambda}\,\sup_{[0,1]}|\ddot x|,$$
    and in general no order better than $T^{-1}$; the classical Runge–Kutta method reaches $T^{-4}$. Independent noise
    on the weights leaves $T^{-1/2}$; plain layers with weights as small have no such limit."""
    family, flow = family_of(subject)
    T = np.array(family.scales, float)
    C = euler_constant(flow)
    nets = [family.member(n, rng) for n in family.scales]
    outputs = [np.asarray(net(flow.start)) for net in nets]
    # balls follow the steps of the flow: of a member that takes others its output alone is known
    weights = [net.params if net.apply == flow.output else () for net in nets]
    scaled = [distance(flow, y, theta) * n for y, theta, n in zip(outputs, weights, T)]
    error = np.array([e.middle for e in scaled]) / T
    (steps, rk) = runge_kutta_errors(flow)
    bound = AtMost("max over T of T·|x_T − x(1)|", largest(scaled), C)
    # the weights of one network are joined by straight lines: their kinks cost the Runge-Kutta method its order
    given = isinstance(subject, Network)
    fourth = observed_order("error of the Runge–Kutta method", 4, steps, rk)
    order1 = observed_order(
        "|x_T − x(1)|", 1, T[-4:], error[-4:], sharp=not given, slack=0.3 if given else 0.1
    )
    rates = (
        Series("bound C/T", T, C.hi / T, "bound"),
        Series("measured", T, error),
        Series("Runge–Kutta", steps, rk),
    )
    chosen = list(zip(T, nets))[:: max(1, len(T) // 3)]
    return Evidence(
        claims=(bound, *order1, *(() if given else fourth)),
        charts=(
            Curves(
                "error against depth", Axis("depth T", "log"), Axis("|x_T − x(1)|", "log"), rates
            ),
            draw_trajectories(flow, {f"T = {n:g}": net.params for n, net in chosen}),
        ),
        numbers={
            "C": C,
            "T × error": scaled[-1],
            "T × error at T → ∞": 2 * scaled[-1].middle - scaled[-2].middle,
        }
        | {"output": outputs[-1].flat[0], "norm of the output": float(np.linalg.norm(outputs[-1]))},
        summary=f"at T = {T[-1]:g} the error is {error[-1]:.4g}; the bound C/T is {C.hi / T[-1]:.4g}, C = {C.hi:.6g}",
        examples=contrasts,
    )


def contrasts(rate: float = 1.0, noise: float = 1.0) -> Examples:
    r"""$\dot x=\lambda x$ with noise on the weights, which halves the order, and with plain layers, without a limit."""
    found = [errors_at(rate, noise, T) for T in DEPTHS]
    T = DEPTHS[-1]
    with ctx.workprec(BITS):
        mean_square = Enclosure.ball(T * found[-1].noisy ** 2)
        of_noise, of_plain = map(Enclosure.ball, half_limits(rate, noise))
    smooth = np.array([float(errors.smooth) for errors in found])
    rough = np.array([float(errors.noisy) for errors in found])
    plain = np.array([float(errors.plain) for errors in found])
    claims = (
        *observed_order(
            "error with independent noise on the weights", 0.5, DEPTHS[-5:], rough[-5:], sharp=True
        ),
        AtMost(f"½η²e^(2λ) ≤ T·E|x_T − x(1)|² with noise, T = {T}", of_noise, mean_square),
        AtMost(
            f"½e^λ ≤ error of plain layers as small, T = {T}",
            of_plain,
            Enclosure.ball(found[-1].plain),
        ),
    )
    chart = draw_curves(
        "what the limit needs, ẋ = λx",
        DEPTHS,
        x="depth T",
        y="|x_T − x(1)|",
        log="xy",
        measured={"smooth weights: 1/T": smooth},
        other={"independent noise: 1/√T": rough, "plain layers: no limit": plain},
    )
    return Examples(claims, (chart,))


def draw_trajectories(flow: Flow, runs: Mapping[str, Any], points: int = 256) -> Curves:
    """The states of residual networks (name to stacked weights) beside the limit, in time or in the plane."""
    plane = np.size(flow.start) > 1
    series = []
    for name, theta in {**runs, "limit": flow.layers(4096)}.items():
        theta = theta if regularity(flow, theta) is not None else flow.layers(points)
        states = np.concatenate(
            [np.asarray(flow.start)[None], np.asarray(euler(flow.field, theta, flow.start))]
        )
        kept = np.unique(
            np.linspace(0, len(states) - 1, min(points, len(states))).round().astype(int)
        )
        x, y = (
            (states[kept, 0], states[kept, 1])
            if plane
            else (kept / (len(states) - 1), states[kept, 0])
        )
        series.append(Series(name, x, y, "reference" if name == "limit" else "measured"))
    labels = ("x₁", "x₂") if plane else ("t", "x")
    return Curves("trajectories", Axis(labels[0]), Axis(labels[1]), tuple(series))
