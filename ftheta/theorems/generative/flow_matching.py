"""Regressing straight lines between noise and data gives a velocity that carries one into the other."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np
from flint import acb, arb, ctx
from scipy.special import ndtr

from ftheta.estimates import mean
from ftheta.flows.continuous import carry, carry_with_density, normal_log_density
from ftheta.flows.matching import conditional_variance, divergence, draw_pairs, velocity
from ftheta.flows.mixtures import Mixture
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Motion,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Network
from ftheta.subjects.roles import ask_role, measure_of_rows, values_at
from ftheta.theorems.charts_generative import (
    FRAMES,
    draw_side_by_side,
    follow_flow,
    follow_reverse_sde,
    join_lines,
)
from ftheta.theorems.knobs import BumpSpread, Coordinates
from ftheta.theorems.laws import ROWS_ARE_A_LAW, mixture_of, place_on_ring
from ftheta.transport import transport

BITS = 96
TIMES = 50  # at which losses are looked at
ENTRIES = 20_000_000  # of tables points × atoms
PATHS = 16
MOVING = 70  # points of each way that is shown
STARTS = (0.5, 1.0)  # of two paths on the line
ROUNDING = 1e-12  # of losses in float64, relative to the largest
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def bumps(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 6, "number of bumps", "k", most=64)] = 2,
    separation: Annotated[
        float, Knob(0, 4, "distance of the outer bumps from the centre", "a", most=100)
    ] = 2.0,
    centre: Annotated[
        float, Knob(-2, 2, "where the bumps are centred", "c", least=-100, most=100)
    ] = 0.0,
    spread: BumpSpread = 0.5,
    dimension: Coordinates = 1,
) -> Measure:
    atoms = place_on_ring(components, separation, dimension)
    atoms[:, 0] += centre
    return Measure(
        f"{components} bumps of spread {spread:g}",
        atoms,
        np.full(components, 1 / components),
        spread,
    )


@hypothesis(
    r"the law at the last time has a density: $(1-t)^2+t^2s^2>0$",
    remedy="end before t = 1 (--until 0.95), or give the data a positive spread",
)
def ends_with_a_density(given: Measure | Network, *, until: float) -> Finding:
    if isinstance(given, Network):
        return Finding.proved("a network is judged by its loss", "an empty statement")
    v = (1 - until) ** 2 + (until * given.spread) ** 2
    return Finding.decide(
        v > 0,
        f"the variance of a bump is {v:.4g} at t = {until:g}",
        "closed form",
        basis=Basis.EXACT,
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Flow matching and its loss floor",
    gist="The velocity that regression on straight lines learns carries noise into the data, and the training loss has "
    "a floor above zero that no network can pass: only what is above it is an error.",
    see_also=("normalising-flows", "score-matching", "straight-is-not-optimal", "trace-estimators"),
    sources=("lipman2023", "liu2023"),
    assumes=(ask_role("velocity"), ends_with_a_density),
    on=bumps,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "one Gaussian": {"components": 1, "spread": 1.0},
        "discrete data": {"components": 3, "separation": 1.5, "spread": 0.0},
        "in space": {"components": 4, "dimension": 3},
        "a ring in the plane": {"components": 8, "dimension": 2, "spread": 0.2},
        "broken on purpose": {"spread": 0.0, "until": 1.0},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def flow_matching(
    given: Measure | Network,
    rng: np.random.Generator,
    *,
    time: Annotated[
        float, Knob(0, 0.99, "time at which the velocity is looked at", "t", most=0.999)
    ] = 0.5,
    probe: Annotated[
        float, Knob(-4, 4, "where it is looked at, in each coordinate", "x", least=-1e3, most=1e3)
    ] = 0.7,
    until: Annotated[
        float, Knob(0.5, 1, "time up to which the flow is followed", "T", least=0.1)
    ] = 0.95,
    steps: Annotated[
        int, Knob(20, 400, "steps of the flow", "K", log=True, least=4, most=4000)
    ] = 80,
    draws: Annotated[
        int, Knob(1000, 50_000, "draws for the losses", "n", log=True, least=100, most=10**6)
    ] = 10_000,
) -> Evidence:
    r"""Let $x_t=(1-t)x_0+tx_1$ with $x_0\sim\gamma$ and data $x_1$ independent. The velocity
    $v_t(x)=\mathbb E[x_1-x_0\mid x_t=x]$ carries the law of $x_0$ to that of $x_t$, and for every $u$
    $$\mathbb E|u_t(x_t)-(x_1-x_0)|^2=\mathbb E|u_t-v_t|^2+\mathbb E\,\mathrm{Var}(x_1-x_0\mid x_t).$$
    To a mixture of $\mathcal N(a_i,s^2I)$: $v=\sum_ir_i(x)\big(a_i+\frac{ts^2-(1-t)}{(1-t)^2+t^2s^2}(x-ta_i)\big)$.
    From $\gamma$ to $\mathcal N(0,s^2I_d)$ the least loss is $\pi sd/2$."""
    if isinstance(given, Network):
        return _judge_network(given, rng, draws)
    law = mixture_of(given)
    n = int(min(draws, max(200, ENTRIES // (law.atoms.size))))
    x = np.concatenate(
        [np.full((1, law.atoms.shape[1]), probe), law.interpolate(time).sample(rng, 7)]
    )
    claims: list[Claim] = [_claim_velocity(law, time, x)]
    if (1 - until) ** 2 + until**2 * law.variance > 0:
        claims.append(_claim_density(law, until, steps, rng))
    if law.atoms.shape[1] == 1:
        claims.append(_claim_masses(law, until, steps))
    found, least = _losses(law, partial(velocity, law), rng, n)
    floor = mean(least)
    excess = mean(found - least).widened(absolute=ROUNDING * (1 + float(np.abs(found).max())))
    claims.append(
        Identity("loss of the exact velocity − E Var(x₁ − x₀ | x_t)", excess, Enclosure.exact(0))
    )
    numbers: Numbers = {"velocity": float(velocity(law, time, x[:1])[0, 0]), "least loss": floor}
    if len(law.atoms) == 1 and law.variance > 0:
        closed, integral = _enclose_floor(law)
        claims.append(Identity("least loss πsd/2 = ∫ E Var(x₁ − x₀ | x_t) dt", closed, integral))
        numbers["least loss"] = closed
        floor = closed
    return Evidence(
        claims=tuple(claims),
        charts=(
            _draw_three_ways(law, until, rng),
            _draw_paths(law, until, rng),
            _draw_floor(law, rng),
        ),
        numbers=numbers,
        summary=f"no velocity has a loss below {floor.middle:.4g}; that of 0 is {_loss_of_zero(law):.4g}",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _claim_velocity(law: Mixture, t: float, x: np.ndarray) -> Claim:
    r"""The closed form against $\frac{\mathbb E[x_1|x]-x}{1-t}$, where $x/t$ is the data with noise $\frac{1-t}t$."""
    formula = velocity(law, t, x)
    clean = law.denoise(x / t, (1 - t) / t) if t > 0 else np.broadcast_to(law.mean(), x.shape)
    other = (clean - x) / (1 - t)
    worst = np.unravel_index(int(np.abs(formula - other).argmax()), x.shape)
    left = Enclosure.equal(float(formula[worst]))
    right = Enclosure.equal(float(other[worst]))
    size = float(np.abs(x).max() + np.abs(law.atoms).max()) / (1 - t)
    what = f"v_t(x) = (E[x₁ | x] − x)/(1 − t) at t = {t:g}, worst of {len(x)} points"
    return Identity(what, left, right, atol=1e-10 * size)


def _claim_density(law: Mixture, until: float, steps: int, rng: np.random.Generator) -> Claim:
    """The density carried along the flow against that of the law at its end."""
    start = rng.normal(size=(PATHS, law.atoms.shape[1]))
    field = partial(velocity, law)
    trace = partial(divergence, law)
    ends = [
        carry_with_density(field, trace, start, np.linspace(0, until, k + 1))
        for k in (steps, 2 * steps)
    ]
    logs = [
        normal_log_density(start) + change - law.interpolate(until).log_density(x)
        for x, change in ends
    ]
    gap = float(np.abs(logs[1]).max())
    error = 2 * float(np.abs(logs[1] - logs[0]).max()) + 1e-9 * steps
    seen = Enclosure.between(max(gap - error, 0.0), gap + error, Basis.FLOAT)
    what = f"|log p along the flow − log p_T|, T = {until:g}, worst of {PATHS} paths"
    return Identity(what, seen, Enclosure.exact(0), atol=1e-3)


def _claim_masses(law: Mixture, until: float, steps: int) -> Claim:
    """On the line paths do not cross: between the ends of two paths is the mass that was between their starts."""
    with ctx.workprec(BITS):
        between = (
            (arb(STARTS[1]) / arb(2).sqrt()).erf() - (arb(STARTS[0]) / arb(2).sqrt()).erf()
        ) / 2
    right = Enclosure.ball(between)
    what = f"mass of the law at T = {until:g} between the ends of the paths from {STARTS[0]:g} and {STARTS[1]:g} = at 0"
    if until == 1 and law.variance == 0:
        return Identity(what, _mass_of_atoms(law), right)
    start = np.array(STARTS)[:, None]
    masses = []
    for k in (steps, 2 * steps):
        ends = carry(partial(velocity, law), start, np.linspace(0, until, k + 1))
        low, high = law.interpolate(until).cdf(ends[:, 0]).tolist()
        masses.append(high - low)
    error = 2 * abs(masses[1] - masses[0]) + 1e-9 * steps
    left = Enclosure.between(masses[1] - error, masses[1] + error, Basis.FLOAT)
    return Identity(what, left, right, atol=1e-3)


def _mass_of_atoms(law: Mixture) -> Enclosure:
    """At t = 1 of discrete data both paths have ended at atoms, and the mass between them is a sum of weights: of the
    atoms that the monotone map reaches from the two starts."""
    order = np.argsort(law.atoms[:, 0], kind="stable")
    upto = np.cumsum(law.weights[order])
    first, last = (int(np.searchsorted(upto, q)) for q in ndtr(np.array(STARTS)))
    weights = [Fraction(w) for w in law.weights[order].tolist()]
    return Enclosure.exact(sum(weights[first : last + 1], Fraction(0)) / sum(weights, Fraction(0)))


def _losses(
    law: Mixture, field: object, rng: np.random.Generator, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The loss of a velocity and the conditional variance, draw by draw; times are even, each shifted at random."""
    assert callable(field)
    per_time = max(2, n // TIMES)
    found = []
    least = []
    for k in range(TIMES):
        t = float((k + rng.random()) / TIMES)
        noise, data = draw_pairs(law, rng, per_time)
        x = (1 - t) * noise + t * data
        found.append(((field(t, x) - (data - noise)) ** 2).sum(1))
        least.append(conditional_variance(law, t, x))
    return np.concatenate(found), np.concatenate(least)


def _loss_of_zero(law: Mixture) -> float:
    r"""$\mathbb E|x_1-x_0|^2$."""
    return float(law.variances().sum() + (law.mean() ** 2).sum()) + law.atoms.shape[1]


def _enclose_floor(law: Mixture) -> tuple[Enclosure, Enclosure]:
    """The least loss of one Gaussian, in closed form and as an integral in balls."""
    d = law.atoms.shape[1]
    with ctx.workprec(BITS):
        v = arb(law.variance)
        integral = acb.integral(lambda t, _: d * v / ((1 - t) ** 2 + t**2 * v), 0, 1).real
        return Enclosure.ball(arb.pi() * v.sqrt() * d / 2), Enclosure.ball(integral)


def _judge_network(net: Network, rng: np.random.Generator, draws: int) -> Evidence:
    """A velocity network: its loss, the floor, and what is above it."""
    assert net.law is not None
    law = mixture_of(measure_of_rows(net.law))
    n = int(min(draws, max(500, ENTRIES // law.atoms.size)))
    noise, data = draw_pairs(law, rng, n)
    cell = np.sort(rng.random(n))
    times = np.clip(np.round(cell * TIMES) / TIMES, 0, 1 - 0.5 / TIMES)
    x = (1 - times[:, None]) * noise + times[:, None] * data
    found = values_at(net, x, times)
    true = np.concatenate([velocity(law, float(t), x[times == t]) for t in np.unique(times)])
    lines = data - noise
    losses = ((found - lines) ** 2).sum(1)
    least = ((true - lines) ** 2).sum(1)
    excess = ((found - true) ** 2).sum(1)
    loss, floor, above = (mean(part) for part in (losses, least, excess))
    claims = (
        AtMost("least loss ≤ loss of the network", floor, loss),
        Identity(
            "loss − least loss − E|u − v|²", mean(losses - least - excess), Enclosure.exact(0)
        ),
    )
    edges = np.unique(times)
    along, floors = ([float(part[times == t].mean()) for t in edges] for part in (losses, least))
    curves = (Series("network", edges, along), Series("least", edges, floors, "bound"))
    return Evidence(
        claims=claims,
        charts=(Curves("loss along the way", Axis("time t"), Axis("loss"), curves),),
        numbers={"loss": loss, "least loss": floor, "excess loss": above},
        summary=f"loss {loss.middle:.4g}, of which {floor.middle:.4g} no velocity can avoid; {above.middle:.4g} is "
        f"error",
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_three_ways(law: Mixture, until: float, rng: np.random.Generator) -> Motion:
    """The same noise on its way to the data: by the velocity, by the optimal plan to as many draws, and by the reverse
    SDE from the time 3 of the forward process."""
    few = int(max(20, min(MOVING, ENTRIES // (1000 * law.atoms.size))))
    noise = rng.normal(size=(few, law.atoms.shape[1]))
    last = min(until, 0.999) if law.variance == 0 else until
    shares = np.linspace(0, 1, FRAMES)
    moved = transport(noise, law.sample(rng, few)).map
    courses = {
        "flow matching": follow_flow(partial(velocity, law), noise, last * shares),
        "optimal transport": noise + last * shares[:, None, None] * (moved - noise),
        "diffusion": follow_reverse_sde(law, noise, 3.0 * (1 - last * shares) ** 2, rng),
    }
    return draw_side_by_side("noise becomes data, in three ways", last * shares, courses)


def _draw_paths(law: Mixture, until: float, rng: np.random.Generator) -> Curves:
    """Where the flow carries quantiles of the noise, in the first coordinate."""
    d = law.atoms.shape[1]
    start = rng.normal(size=(PATHS, d))
    start[:, 0] = np.linspace(-2.2, 2.2, PATHS)
    times = np.linspace(0, min(until, 0.999) if law.variance == 0 else until, 61)
    states = [start]
    for t, s in zip(times[:-1].tolist(), times[1:].tolist()):
        states.append(
            runge_kutta_step(partial(velocity, law), (t, (t + s) / 2, s), states[-1], s - t)
        )
    paths = np.stack(states)[:, :, 0]
    lines = [np.stack([times, paths[:, k]], 1) for k in range(PATHS)]
    return Curves(
        "noise on its way to the data", Axis("time t"), Axis("x₁"), (join_lines("paths", lines),)
    )


def _draw_floor(law: Mixture, rng: np.random.Generator) -> Curves:
    """The conditional variance, the floor of the loss at each time."""
    times = np.linspace(0.01, 0.99, 40)
    n = int(min(1000, max(50, ENTRIES // law.atoms.size // 40)))
    floor = []
    for t in times.tolist():
        noise, data = draw_pairs(law, rng, n)
        floor.append(float(conditional_variance(law, t, (1 - t) * noise + t * data).mean()))
    zero = Series("loss of the velocity 0", times, np.full(len(times), _loss_of_zero(law)))
    least = Series("least", times, floor, "bound")
    return Curves("floor of the loss", Axis("time t"), Axis("loss"), (zero, least))
