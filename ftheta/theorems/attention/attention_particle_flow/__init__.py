"""Tokens under attention are particles that attract one another: their energy grows and they meet in one point."""

from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Adapter,
    AtMost,
    Claim,
    Converges,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.particles.tokens import clouds
from ftheta.particles.tokens.sphere import SOFTMAX, UNNORMALISED, common_cosine
from ftheta.subjects import Dataset, Measure, Network
from ftheta.subjects.tokens import attention_of, tokens_of, tokens_on_the_sphere
from ftheta.theorems.orders import observed_order

from .charts import draw_clusters, draw_flow, draw_leaders, draw_tokens
from .flow import TokenFlow, follow, sphere_field
from .leaders import Rescaled, follow_rescaled
from .own_layer import FITS, AttentionLayer, read_layer
from .rigour import energy_rates, orthonormal_pair_error

KINDS = (SOFTMAX, UNNORMALISED)
NEAR = 1e-6  # of integrations with local errors of 1e-8
DEPTHS = (8, 16, 32, 64, 128)
MOST_TOKENS = 300  # for which layers of several depths are compared with the flow
LEADERS_AT = 10.0  # time at which leaders are looked for
Tokens = Measure | Network

# -- subjects and hypotheses -------------------------------------------------------------------------------


def uniform_tokens(
    rng: np.random.Generator,
    *,
    tokens: Annotated[
        int, Knob(2, 1000, "number of tokens", "n", log=True, most=clouds.MOST_TOKENS)
    ] = 32,
    dimension: Annotated[int, Knob(2, 64, "dimension of a token", "d", log=True, most=256)] = 3,
    start: Annotated[
        str, Knob(says="where the tokens start", symbol="x₀", choices=clouds.STARTS)
    ] = "uniform",
) -> Measure:
    return Measure.empirical(
        f"{tokens} tokens, {start}", clouds.start(start, rng, tokens, dimension)
    )


def tokens_off_the_sphere(rng: np.random.Generator) -> Measure:
    return Measure.empirical("tokens of norm 2", 2 * clouds.start("hemisphere", rng, 16, 3))


@lru_cache(maxsize=2)  # a hypothesis and the evidence need the same
def layer_of(net: Network) -> AttentionLayer | str:
    """The one layer of attention that a network is, or why it is none."""
    found = attention_of(net)
    return "its graph cannot be laid out" if found is None else read_layer(found, net.input_shape)


@hypothesis(
    "$Q=K=V=I$: tokens attract",
    remedy="let the attraction be 1; with V = −I tokens repel and energy falls",
)
def identity_matrices(cloud: Tokens, *, attraction: float) -> Finding:
    if not isinstance(cloud, Network):
        return Finding.decide(
            attraction == 1, f"V = {attraction:g}·I", "a knob", Enclosure.exact(attraction)
        )
    layer = layer_of(cloud)
    if isinstance(layer, str):
        return Finding.failed(layer)
    return Finding.assumed(
        f"{len(layer.heads)} heads read off the network: energy and meeting are not claimed"
    )


@hypothesis(
    r"all tokens lie in an open hemisphere; or $d\ge3$ and the start is generic; or $d=2$ and $\beta\le1$",
    remedy="start in a hemisphere, raise the dimension to 3, or lower β to 1",
)
def known_to_meet(cloud: Tokens, *, beta: float, kind: str) -> Finding:
    if isinstance(cloud, Network):
        return Finding.assumed("not claimed of the matrices of a network")
    x = tokens_of(cloud).atoms
    d = x.shape[1]
    if d == 1:
        return Finding.failed("tokens of one number are ±1 and never move")
    if clouds.hemisphere(x) is not None:
        return Finding.proved(
            "all tokens lie in an open hemisphere",
            "a direction has positive products, in rationals",
        )
    if d >= 3 and kind == UNNORMALISED:
        return Finding.assumed(f"d = {d}: almost every start, for every β ≥ 0 (USA)")
    if d >= 3:
        return Finding.assumed(
            f"d = {d}: almost every start, proved for small and for large β (SA)"
        )
    note = f"d = {d}, β = {beta:g}, no open hemisphere holds all tokens: known for d = 2 and β ≤ 1 alone"
    return Finding.assumed(note) if d == 2 and beta <= 1 else Finding.failed(note)


# -- the theorem -------------------------------------------------------------------------------------------


@theorem(
    title="Tokens are particles that cluster",
    sources=(
        "peyre-slides",
        "murari-slides",
        "peyre-notes",
        "geshkovski2025",
        "geshkovski2023",
        "criscitiello2024",
    ),
    assumes=(tokens_on_the_sphere, identity_matrices, known_to_meet),
    adapters=(Adapter(Dataset, tokens_of),),
    on=uniform_tokens,
    breaks_on=tokens_off_the_sphere,
    presets={
        "textbook": {},
        "in a hemisphere": {"start": "hemisphere", "kind": UNNORMALISED, "time": 6.0},
        "metastable clusters": {"beta": 25.0, "tokens": 64, "time": 60.0},
        "five hundred tokens": {"tokens": 500, "dimension": 8, "time": 6.0, "start": "hemisphere"},
        "at the edge": {"dimension": 2, "tokens": 16},
        "broken on purpose": {"attraction": -1.0},
    },
    errata=r"""Peyré's handwritten notes sketch layers $x_{k+1}=x_k+\frac1kA(x_k)$; the step is $\frac1K$ with the depth
    $K$. With steps $\frac1k$ the layers follow the flow up to time $\sum_k\frac1k\approx\log K$, not 1.""",
    gist="Through the layers of a transformer tokens attract one another, form clusters and in the end collapse to a "
    "single point, which explains why very deep attention loses information.",
    see_also=(
        "clustering-closed-forms",
        "self-attention",
        "mean-field-attention",
        "neural-ode-limit",
    ),
    audited=False,
)
def attention_particle_flow(
    cloud: Tokens,
    rng: np.random.Generator,
    *,
    beta: Annotated[
        float, Knob(0, 25, "inverse temperature of the attention", "β", most=100)
    ] = 1.0,
    time: Annotated[
        float, Knob(1, 100, "depth until which tokens are followed", "t", log=True, least=0.01)
    ] = 15.0,
    kind: Annotated[
        str, Knob(says="softmax (SA) or unnormalised (USA)", symbol="Z", choices=KINDS)
    ] = SOFTMAX,
    attraction: Annotated[float, Knob(-1, 1, "V = v·I: 1 attracts, −1 repels", "v")] = 1.0,
) -> Evidence:
    r"""On the sphere let $\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle x_i,x_j\rangle}x_j$ with $Z_i=\sum_j
    e^{\beta\langle x_i,x_j\rangle}$ (SA) or $n$ (USA). The energy $\frac1{2\beta n^2}\sum_{ij}e^{\beta\langle
    x_i,x_j\rangle}$ grows; USA is its gradient ascent. Tokens in an open hemisphere tend to one point, exponentially;
    so does almost every start if $d\ge3$ (USA: all $\beta\ge0$), or $d=2$, $\beta\le1$. At large $\beta$ clusters
    last long. Without normalisation $e^{-t}x_i$ approach a polytope; for $d=1$ attention becomes Boolean."""
    if isinstance(cloud, Network):
        return _layer_evidence(cloud, beta, kind, time)
    flow = TokenFlow(tokens_of(cloud).atoms, beta, kind, time, attraction)
    course = flow.course
    (count, lasts) = course.plateau()
    on_a_line = rng.normal(size=(12, 1))
    in_the_plane = rng.normal(size=(36, 2))
    met = float(course.spreads[-1])
    stood = f"{count} clusters stood for {lasts:.3g}" if count > 1 else "no set of clusters lasted"
    return Evidence(
        (*_energy_claims(flow), *_meeting_claims(flow), *_depth_claims(flow)),
        draw_flow(flow),
        {
            "clusters at the end": float(course.clusters[-1]),
            "1 − least cosine": met,
            "energy": flow.energies[-1],
            "longest-lived clusters": float(count),
            "their time": lasts,
        },
        as_printed=(_printed_step(),),
        summary=f"clusters at t = {course.times[-1]:g}: {course.clusters[-1]}; 1 − least cosine is {met:.3g}; {stood}",
        examples=partial(_examples, beta, kind, on_a_line, in_the_plane),
    )


# -- claims about tokens with Q = K = V = I ----------------------------------------------------------------


def _energy_claims(flow: TokenFlow) -> tuple[Claim, ...]:
    gain = float(flow.energies[-1] - flow.energies[0])
    by_velocities = float(flow.course.gained[-1])
    fall = float(-np.diff(flow.energies).min())
    size = float(np.abs(flow.energies).max())
    again = None
    if abs(gain - by_velocities) > NEAR * size:
        rates = energy_rates(flow.x, flow.beta, flow.kind, flow.attraction)
        again = Witness({"t": 0.0}, *rates, "both rates at the start, in intervals rounded outward")
    what = "energy gained and Σz_i|ẋ_i|²/n² over time"
    largest_fall = Enclosure.measured(fall, samples=len(flow.energies))
    return (
        Identity(what, _float(gain), _float(by_velocities), again, atol=NEAR * size),
        AtMost("largest fall of the energy", largest_fall, Enclosure.exact(0), atol=NEAR * size),
    )


def _meeting_claims(flow: TokenFlow) -> tuple[Claim, ...]:
    spreads = flow.course.spreads
    times = flow.course.times
    values = tuple(Enclosure.equal(float(s)) for s in spreads[-4:])
    met = Converges(
        "1 − least cosine", Enclosure.exact(0), values, tuple(map(float, times[-4:])), 1e-3
    )
    return (met, *_rate_claims(flow), *_hemisphere_claims(flow))


def _rate_claims(flow: TokenFlow) -> tuple[Claim, ...]:
    """Near the point where they meet tokens differ by e^{−t} (SA) or e^{−te^β} (USA), cosines by its square."""
    rates = flow.course.decay()[-3:]
    if not len(rates):
        return ()
    limit = 2 * (np.exp(flow.beta) if flow.kind == UNNORMALISED else 1.0)
    values = tuple(Enclosure.equal(float(r)) for r in rates)
    what = "rate at which 1 − least cosine falls"
    return (
        Converges(what, _float(limit), values, tuple(map(float, range(len(rates)))), 0.05 * limit),
    )


def _hemisphere_claims(flow: TokenFlow) -> tuple[Claim, ...]:
    """The least product with the axis of a hemisphere never falls."""
    w = clouds.hemisphere(flow.x)
    if w is None:
        return ()
    least = (flow.course.units @ w).min(1)
    fall = Enclosure.measured(float(-np.diff(least).min()), samples=len(least))
    return (
        AtMost(
            "largest fall of min⟨w, x_i⟩ in the hemisphere of w",
            fall,
            Enclosure.exact(0),
            atol=NEAR,
        ),
    )


def _depth_claims(flow: TokenFlow) -> tuple[Claim, ...]:
    """K layers with steps 1/K tend to the flow at t = 1."""
    if len(flow.x) >= MOST_TOKENS:
        return ()
    return observed_order("distance of K layers to the flow", 1, DEPTHS, flow.layer_errors(DEPTHS))


def _printed_step() -> Claim:
    """With steps 1/k, as printed, layers go on to time log K: seen where the flow has a closed form."""
    K = DEPTHS[-1]
    apart = orthonormal_pair_error([Fraction(1, k) for k in range(1, K + 1)])
    what = f"two orthonormal tokens, β = 0: cosine after {K} layers with steps 1/k − tanh 1, of the flow at t = 1"
    return AtMost(what, apart, Enclosure.exact(0.1))


# -- claims about the layer of a network -------------------------------------------------------------------


def _layer_evidence(net: Network, beta: float, kind: str, until: float) -> Evidence:
    """What holds for all matrices: K layers with steps 1/K and layer norm tend to the flow, on the sphere."""
    layer = layer_of(net)
    if isinstance(layer, str):
        return Evidence((), summary=layer)
    flow = TokenFlow(tokens_of(net).atoms, beta, kind, until, heads=layer.heads)
    course = flow.course
    off = float(np.abs(np.linalg.norm(course.states, axis=2) - 1).max())
    gap = Enclosure.measured(layer.gap, samples=3)
    count, lasts = course.plateau()
    met = float(course.spreads[-1])
    return Evidence(
        (
            Identity(
                "the network and the matrices read off it", gap, Enclosure.exact(0), atol=FITS
            ),
            AtMost(
                "how far tokens leave the sphere",
                Enclosure.equal(off),
                Enclosure.exact(0),
                atol=NEAR,
            ),
            *observed_order(
                "distance of K layers to the flow", 1, DEPTHS, flow.layer_errors(DEPTHS)
            ),
        ),
        (draw_tokens(course), draw_clusters(course)),
        {
            "clusters at the end": float(course.clusters[-1]),
            "1 − least cosine": met,
            "longest-lived clusters": float(count),
            "their time": lasts,
            "heads": float(len(layer.heads)),
        },
        summary=f"{len(layer.heads)} heads read off the network; at t = {course.times[-1]:g} there are "
        f"{course.clusters[-1]} clusters, 1 − least cosine is {met:.3g}; of these matrices meeting is not claimed",
    )


# -- examples ----------------------------------------------------------------------------------------------


def _examples(beta: float, kind: str, on_a_line: np.ndarray, in_the_plane: np.ndarray) -> Examples:
    """Four orthonormal tokens beside their scalar equation, and random tokens without layer norm."""
    times = np.linspace(0, LEADERS_AT, 41)
    line = follow_rescaled(on_a_line, 1.0, times)
    plane = follow_rescaled(in_the_plane, 1.0, times)
    near = int((plane.to_corners() < 0.01).sum())
    places = Table(
        "tokens of the plane at the end",
        ("near a vertex of the hull", "of"),
        ((near, len(in_the_plane)),),
    )
    cosine = _orthonormal_cosine(beta, kind)
    return Examples(
        claims=(_claim_orthonormal(cosine, beta, kind), *_leader_claims(line, plane)),
        charts=draw_leaders(line, plane),
        tables=(places,),
        numbers={"cosine of 4 orthonormal tokens": cosine},
    )


def _orthonormal_cosine(beta: float, kind: str) -> float:
    """Of four orthonormal tokens at t = 1, followed by the same integrator as all tokens."""
    x = follow(np.eye(4), sphere_field(beta, kind), np.array([1.0])).states[-1]
    return float(x[0] @ x[1])


def _claim_orthonormal(cosine: float, beta: float, kind: str) -> Claim:
    scalar = float(common_cosine(0.0, 4, beta, kind, np.array([1.0]))[-1])
    what = "cosine of 4 orthonormal tokens at t = 1 and its equation"
    return Identity(what, _float(cosine), _float(scalar), atol=NEAR)


def _leader_claims(line: Rescaled, plane: Rescaled) -> tuple[Claim, ...]:
    """In one dimension rows become Boolean, of rank two at most; in the plane the hull shrinks to a polytope."""
    reach = plane.supports()
    growth = Enclosure.measured(float(np.diff(reach, axis=0).max()), samples=reach.size)
    gaps = tuple(Enclosure.equal(float(gap)) for gap in line.row_gaps()[-3:])
    rows = "distance of attention rows from unit vectors, but one (d = 1)"
    leaders = Enclosure.measured(float(len(line.leaders())), samples=len(line.z[0]))
    return (
        Converges(rows, Enclosure.exact(0), gaps, tuple(map(float, line.times[-3:])), 1e-3),
        AtMost("leaders (d = 1)", leaders, Enclosure.exact(2)),
        AtMost("growth of the hull of e^(−t)x (d = 2)", growth, Enclosure.exact(0), atol=NEAR),
    )


def _float(value: float) -> Enclosure:
    return Enclosure.equal(value) if np.isfinite(value) else Enclosure()
