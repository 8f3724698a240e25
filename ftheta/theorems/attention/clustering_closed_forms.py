"""Orthonormal tokens under self-attention keep one common cosine, which solves a scalar equation."""

from fractions import Fraction
from itertools import combinations
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    SubjectError,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.particles.tokens.sphere import (
    SOFTMAX,
    UNNORMALISED,
    common_cosine,
    equiangular,
    off_diagonal,
    token_cosines,
    without_temperature,
)
from ftheta.subjects import Measure
from ftheta.subjects.tokens import tokens_on_the_sphere

KINDS = (SOFTMAX, UNNORMALISED)
NEAR = 1e-8  # of two integrations with local errors of 1e-12 and 1e-13


def equiangular_tokens(
    rng: np.random.Generator,
    *,
    tokens: Annotated[int, Knob(2, 32, "number of tokens", "n", log=True, most=64)] = 4,
    start: Annotated[
        float, Knob(-0.99, 0.99, "start: −1 a simplex, 0 orthonormal, 1 one cluster", "s")
    ] = 0.0,
    tilt: Annotated[
        float, Knob(0, 1, "how far the first token leans towards the second", "δ")
    ] = 0.0,
) -> Measure:
    x = equiangular(tokens, start if start >= 0 else start / (tokens - 1))
    x[0] = (x[0] + tilt * x[1]) / np.linalg.norm(x[0] + tilt * x[1])
    return Measure.empirical(f"{tokens} tokens, start {start:g}, one tilted by {tilt:g}", x)


def cosines_of(cloud: Measure) -> np.ndarray:
    if not 2 <= len(cloud.atoms) <= 256:
        raise SubjectError(
            "Between 2 and 256 tokens can be followed.", where=cloud.name, got=f"{len(cloud.atoms)}"
        )
    return off_diagonal(cloud.atoms @ cloud.atoms.T)


@hypothesis(
    r"$\langle x_i,x_j\rangle=\gamma_0$ for all $i\ne j$", remedy="start from orthonormal tokens"
)
def equiangular_start(cloud: Measure) -> Finding:
    gap = float(np.ptp(cosines_of(cloud)))
    note = f"cosines differ by {gap:.3g}; required: at most 1e-12"
    return Finding.decide(gap <= 1e-12, note, "all pairs in float64", Enclosure.equal(gap))


@theorem(
    title="Equiangular tokens cluster along one curve",
    sources=("murari-slides", "peyre-notes", "geshkovski2025"),
    assumes=(tokens_on_the_sphere, equiangular_start),
    on=equiangular_tokens,
    breaks_on=lambda rng: equiangular_tokens(rng, tilt=0.5),
    presets={
        "textbook": {},
        "many tokens, low temperature": {"tokens": 32, "beta": 5.0, "time": 10.0},
        "unnormalised": {"kind": UNNORMALISED, "tokens": 3, "time": 2.0},
        "at the edge": {"start": -0.99, "tokens": 3, "time": 10.0},
        "broken on purpose": {"tilt": 0.5},
    },
    gist="Tokens that start with equal angles between them keep equal angles, so that how fast attention makes them "
    "cluster is the solution of a single scalar equation.",
    see_also=("attention-particle-flow", "mean-field-attention"),
)
def clustering_closed_forms(
    cloud: Measure,
    rng: np.random.Generator,
    *,
    beta: Annotated[float, Knob(0, 10, "inverse temperature of the attention", "β", most=20)] = 1.0,
    time: Annotated[
        float, Knob(0.1, 10, "depth at which the tokens are looked at", "t", least=0.001, most=100)
    ] = 5.0,
    kind: Annotated[
        str, Knob(says="softmax (SA) or unnormalised (USA) attention", symbol="Z", choices=KINDS)
    ] = SOFTMAX,
) -> Evidence:
    r"""Let unit tokens with $\langle x_i,x_j\rangle=\gamma_0$, $i\ne j$, move on the sphere by
    $\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle x_i,x_j\rangle}x_j$. All cosines stay one $\gamma(t)$ with
    $$\dot\gamma=\frac{2e^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)}{e^\beta+(n-1)e^{\beta\gamma}}\ \text{(softmax)},\qquad
    \dot\gamma=\tfrac2ne^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)\ (Z_i=n).$$
    At $\beta=0$, $\gamma_0=0$: $\gamma(t)=\frac{e^{2t}-1}{e^{2t}+n-1}$, which is $\tanh t$ for $n=2$."""
    n = len(cloud.atoms)
    times = np.linspace(0, time, 61)[1:]
    first = float(cosines_of(cloud).mean())
    pairs = off_diagonal(token_cosines(cloud.atoms, beta, kind, times))
    free = off_diagonal(token_cosines(cloud.atoms, 0.0, kind, times))
    scalar = common_cosine(first, n, beta, kind, times)
    closed = without_temperature(first, n, times)
    gap = np.ptp(pairs, axis=1)
    mean = pairs.mean(1)
    widest = int(np.nan_to_num(gap).argmax())
    farthest = int(np.nan_to_num(np.abs(mean - scalar)).argmax())
    again = recheck_start(cloud.atoms) if gap[widest] > NEAR else None
    at_zero = enclose_float(free[-1].mean())
    equation = "cosine of the tokens and of the equation"
    return Evidence(
        claims=(
            Identity(
                "largest − smallest cosine",
                enclose_float(gap[widest]),
                Enclosure.exact(0),
                again,
                atol=NEAR,
            ),
            Identity(
                equation, enclose_float(mean[farthest]), enclose_float(scalar[farthest]), atol=NEAR
            ),
            Identity(
                "cosine at β = 0 and closed form", at_zero, enclose_float(closed[-1]), atol=NEAR
            ),
        ),
        charts=(
            _draw_cosines(first, n, kind, times, beta, pairs),
            _draw_phases(first, n, kind, time, max(10.0, beta)),
        ),
        numbers={
            "cosine": mean[-1],
            "equation": scalar[-1],
            "closed form at β = 0": closed[-1],
            "gap": gap[widest],
        },
        summary=f"at t = {time:g} the cosine is {mean[-1]:.9g}; the equation gives {scalar[-1]:.9g}; local error 1e-12",
    )


def recheck_start(tokens: np.ndarray) -> Witness:
    """The largest and the smallest inner product of the tokens at the start, t = 0, in rationals."""
    rows = [[Fraction(v) for v in row] for row in tokens.tolist()]
    pairs = [sum((a * b for a, b in zip(x, y)), Fraction(0)) for x, y in combinations(rows, 2)]
    return Witness(
        {"t": 0.0},
        Enclosure.exact(max(pairs)),
        Enclosure.exact(min(pairs)),
        "the start in rationals",
    )


def enclose_float(value: float) -> Enclosure:
    """A number computed in float64, or nothing known where the integrator gave up."""
    return Enclosure.equal(value) if np.isfinite(value) else Enclosure()


def _draw_phases(
    start: float, tokens: int, kind: str, until: float, largest_beta: float
) -> Heatmap:
    r"""The common cosine over time and $\beta$."""
    times = np.linspace(0, until, 81)[1:]
    betas = np.linspace(0, largest_beta, 60)
    values = common_cosine(start, tokens, betas, kind, times, rtol=1e-6)
    where = (0.0, until, 0.0, largest_beta)
    return Heatmap(
        "phase diagram",
        Axis("time t"),
        Axis("inverse temperature β"),
        values.T,
        where,
        "common cosine γ",
    )


def _draw_cosines(
    start: float, tokens: int, kind: str, times: np.ndarray, beta: float, pairs: np.ndarray
) -> Curves:
    r"""The common cosine against time for several $\beta$, and at `beta` those of the tokens (columns of `pairs`)."""

    def solve(beta: float) -> np.ndarray:
        return common_cosine(start, tokens, beta, kind, times, 1e-8)

    others = [Series(f"β = {b}", times, solve(float(b)), "other") for b in (0, 2, 5) if b != beta]
    exact = Series(f"equation, β = {beta:g}", times, solve(beta), "reference")
    seen = Series(
        "tokens, least to largest",
        times,
        pairs.mean(1),
        "measured",
        "points",
        pairs.min(1),
        pairs.max(1),
    )
    return Curves("cosines of the tokens", Axis("time t"), Axis("cosine"), (*others, exact, seen))
