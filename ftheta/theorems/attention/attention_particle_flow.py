"""Tokens under attention are particles that attract one another: their energy grows and they meet in one point."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens import SOFTMAX, UNNORMALISED, clouds
from ftheta.limits.tokens.clustering import Flow, leader_charts, leader_claims, without_norm
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Measure, Network
from ftheta.subjects.tokens import flow_of_layer, own_matrices, tokens_of

KINDS = (SOFTMAX, UNNORMALISED)
Tokens = Measure | Dataset | Network


def tokens_on_a_sphere(
    rng: np.random.Generator,
    *,
    tokens: Annotated[int, Knob(2, 1000, "number of tokens", "n", log=True, most=clouds.MOST_TOKENS)] = 32,
    dimension: Annotated[int, Knob(2, 64, "dimension of a token", "d", log=True, most=256)] = 3,
    start: Annotated[str, Knob(says="where the tokens start", symbol="x₀", choices=clouds.STARTS)] = "uniform",
) -> Measure:
    return Measure.empirical(f"{tokens} tokens, {start}", clouds.start(start, rng, tokens, dimension))


def tokens_off_the_sphere(rng: np.random.Generator) -> Measure:
    return Measure.empirical("tokens of norm 2", 2 * clouds.start("hemisphere", rng, 16, 3))


@hypothesis(clouds.tokens_on_the_sphere.says, remedy=clouds.tokens_on_the_sphere.remedy)
def tokens_on_the_sphere(cloud: Tokens) -> Finding:
    return clouds.tokens_on_the_sphere.check(tokens_of(cloud))


@hypothesis("$Q=K=V=I$: tokens attract", remedy="let the attraction be 1; with V = −I tokens repel and energy falls")
def identity_matrices(cloud: Tokens, *, attraction: float) -> Finding:
    if isinstance(cloud, Network):
        return own_matrices(cloud)
    return Finding.decide(attraction == 1, f"V = {attraction:g}·I", "a knob", Enclosure.exact(attraction))


@hypothesis(
    r"all tokens lie in an open hemisphere; or $d\ge3$ and the start is generic; or $d=2$ and $\beta\le1$",
    remedy="start in a hemisphere, raise the dimension to 3, or lower β to 1",
)
def known_to_meet(cloud: Tokens, *, beta: float, kind: str) -> Finding:
    if isinstance(cloud, Network):
        return Finding.assumed("not claimed of the matrices of a network")
    return clouds.meeting(tokens_of(cloud).atoms, beta, kind == SOFTMAX)


@theorem(
    title="Tokens are particles that cluster",
    sources=("seed 0", "seed 2", "seed 4", "geshkovski2025", "geshkovski2023", "criscitiello2024"),
    assumes=(tokens_on_the_sphere, identity_matrices, known_to_meet),
    on=tokens_on_a_sphere,
    breaks_on=tokens_off_the_sphere,
    presets={
        "textbook": {},
        "in a hemisphere": {"start": "hemisphere", "kind": UNNORMALISED, "time": 6.0},
        "metastable clusters": {"beta": 25.0, "tokens": 64, "time": 60.0},
        "five hundred tokens": {"tokens": 500, "dimension": 8, "time": 6.0, "start": "hemisphere"},
        "at the edge": {"dimension": 2, "tokens": 16},
        "broken on purpose": {"attraction": -1.0},
    },
    errata=r"""Seed 4 sketches layers $x_{k+1}=x_k+\frac1kA(x_k)$; the step is $\frac1K$ with the depth $K$. With steps
    $\frac1k$ the layers follow the flow up to time $\sum_k\frac1k\approx\log K$, not 1.""",
    audited=False,
)
def attention_particle_flow(
    cloud: Tokens,
    rng: np.random.Generator,
    *,
    beta: Annotated[float, Knob(0, 25, "inverse temperature of the attention", "β", most=100)] = 1.0,
    time: Annotated[float, Knob(1, 100, "depth until which tokens are followed", "t", log=True, least=0.01)] = 15.0,
    kind: Annotated[str, Knob(says="softmax (SA) or unnormalised (USA)", symbol="Z", choices=KINDS)] = SOFTMAX,
    attraction: Annotated[float, Knob(-1, 1, "V = v·I: 1 attracts, −1 repels", "v")] = 1.0,
) -> Evidence:
    r"""On the sphere let $\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle x_i,x_j\rangle}x_j$ with $Z_i=\sum_j
    e^{\beta\langle x_i,x_j\rangle}$ (SA) or $n$ (USA). The energy $\frac1{2\beta n^2}\sum_{ij}e^{\beta\langle
    x_i,x_j\rangle}$ grows; USA is its gradient ascent. Tokens in an open hemisphere tend to one point, exponentially;
    so does almost every start if $d\ge3$ (USA: all $\beta\ge0$), or $d=2$, $\beta\le1$. At large $\beta$ clusters
    last long. Without normalisation $e^{-t}x_i$ approach a polytope; for $d=1$ attention becomes Boolean."""
    if isinstance(cloud, Network):
        return flow_of_layer(cloud, beta, kind, time)
    flow = Flow(tokens_of(cloud).atoms, beta, kind, time, attraction)
    course, (count, lasts), (line, plane) = flow.course, flow.course.plateau(), without_norm(rng)
    (exact, cosine), (order, printed), met = flow.closed_form(), flow.depth_claims(), float(course.spreads[-1])
    return Evidence(
        (*flow.energy_claims(), *flow.meeting_claims(), exact, *order, *leader_claims(line, plane)),
        (*flow.charts(), *leader_charts(line, plane)),
        {"clusters at the end": float(course.clusters[-1]), "1 − least cosine": met, "energy": flow.energies[-1]}
        | {"cosine of 4 orthonormal tokens": cosine, "longest-lived clusters": float(count), "their time": lasts}
        | {"tokens near a vertex (d = 2)": float((plane.to_corners() < 0.01).mean())},
        as_printed=printed,
        summary=f"clusters at t = {course.times[-1]:g}: {course.clusters[-1]}; 1 − least cosine is {met:.3g}; "
        + (f"{count} clusters stood for {lasts:.3g}" if count > 1 else "no set of clusters lasted"),
    )
