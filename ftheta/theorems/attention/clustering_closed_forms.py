"""Orthonormal tokens under self-attention keep one common cosine, which solves a scalar equation."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens import sphere as limits
from ftheta.limits.tokens.clouds import tokens_on_the_sphere
from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Measure

KINDS = (limits.SOFTMAX, limits.UNNORMALISED)
NEAR = 1e-8  # of two integrations with local errors of 1e-12 and 1e-13


def equiangular_tokens(
    rng: np.random.Generator,
    *,
    tokens: Annotated[int, Knob(2, 32, "number of tokens", "n", log=True, most=64)] = 4,
    start: Annotated[float, Knob(-0.99, 0.99, "start: −1 a simplex, 0 orthonormal, 1 one cluster", "s")] = 0.0,
    tilt: Annotated[float, Knob(0, 1, "how far the first token leans towards the second", "δ")] = 0.0,
) -> Measure:
    x = limits.equiangular(tokens, start if start >= 0 else start / (tokens - 1))
    x[0] = (x[0] + tilt * x[1]) / np.linalg.norm(x[0] + tilt * x[1])
    return Measure.empirical(f"{tokens} tokens, start {start:g}, one tilted by {tilt:g}", x)


def cosines_of(cloud: Measure) -> np.ndarray:
    if not 2 <= len(cloud.atoms) <= 256:
        raise SubjectError("Between 2 and 256 tokens can be followed.", where=cloud.name, got=f"{len(cloud.atoms)}")
    return limits.off_diagonal(cloud.atoms @ cloud.atoms.T)


@hypothesis(r"$\langle x_i,x_j\rangle=\gamma_0$ for all $i\ne j$", remedy="start from orthonormal tokens")
def equiangular_start(cloud: Measure) -> Finding:
    gap = float(np.ptp(cosines_of(cloud)))
    note = f"cosines differ by {gap:.3g}; asked: at most 1e-12"
    return Finding.decide(gap <= 1e-12, note, "all pairs in float64", Enclosure.equal(gap))


@theorem(
    title="Equiangular tokens cluster along one curve",
    sources=("seed 2", "seed 4", "geshkovski2025"),
    assumes=(tokens_on_the_sphere, equiangular_start),
    on=equiangular_tokens,
    breaks_on=lambda rng: equiangular_tokens(rng, tilt=0.5),
    presets={
        "textbook": {},
        "many tokens, low temperature": {"tokens": 32, "beta": 5.0, "time": 10.0},
        "unnormalised": {"kind": limits.UNNORMALISED, "tokens": 3, "time": 2.0},
        "at the edge": {"start": -0.99, "tokens": 3, "time": 10.0},
        "broken on purpose": {"tilt": 0.5},
    },
)
def clustering_closed_forms(
    cloud: Measure,
    rng: np.random.Generator,
    *,
    beta: Annotated[float, Knob(0, 10, "inverse temperature of the attention", "β", most=20)] = 1.0,
    time: Annotated[float, Knob(0.1, 10, "depth at which the tokens are looked at", "t", least=0.001, most=100)] = 5.0,
    kind: Annotated[str, Knob(says="softmax (SA) or unnormalised (USA) attention", symbol="Z", choices=KINDS)] = KINDS[
        0
    ],
) -> Evidence:
    r"""Let unit tokens with $\langle x_i,x_j\rangle=\gamma_0$, $i\ne j$, move on the sphere by
    $\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle x_i,x_j\rangle}x_j$. All cosines stay one $\gamma(t)$ with
    $$\dot\gamma=\frac{2e^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)}{e^\beta+(n-1)e^{\beta\gamma}}\ \text{(softmax)},\qquad
    \dot\gamma=\tfrac2ne^{\beta\gamma}(1-\gamma)(1+(n-1)\gamma)\ (Z_i=n).$$
    At $\beta=0$, $\gamma_0=0$: $\gamma(t)=\frac{e^{2t}-1}{e^{2t}+n-1}$, which is $\tanh t$ for $n=2$."""
    n, times, first = len(cloud.atoms), np.linspace(0, time, 61)[1:], float(cosines_of(cloud).mean())
    pairs, free = (limits.off_diagonal(limits.token_cosines(cloud.atoms, b, kind, times)) for b in (beta, 0.0))
    scalar, closed = limits.common_cosine(first, n, beta, kind, times), limits.without_temperature(first, n, times)
    gap, mean, known = np.ptp(pairs, axis=1), pairs.mean(1), limits.number
    k, j = (int(np.nan_to_num(off).argmax()) for off in (gap, np.abs(mean - scalar)))
    again = limits.recheck(cloud.atoms) if gap[k] > NEAR else None
    return Evidence(
        claims=(
            Identity("largest − smallest cosine", known(gap[k]), Enclosure.exact(0), again, atol=NEAR),
            Identity("cosine of the tokens and of the equation", known(mean[j]), known(scalar[j]), atol=NEAR),
            Identity("cosine at β = 0 and closed form", known(free[-1].mean()), known(closed[-1]), atol=NEAR),
        ),
        charts=(
            limits.cosine_curves(first, n, kind, times, beta, pairs),
            limits.phase_diagram(first, n, kind, time, max(10.0, beta)),
        ),
        numbers={"cosine": mean[-1], "equation": scalar[-1], "closed form at β = 0": closed[-1], "gap": gap[k]},
        summary=f"at t = {time:g} the cosine is {mean[-1]:.9g}; the equation gives {scalar[-1]:.9g}; local error 1e-12",
    )
