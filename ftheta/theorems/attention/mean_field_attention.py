"""Attention over a measure of tokens: Gaussians stay Gaussian, and the equation of their covariance blows up."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens.gaussian_study import Cloud, Study, normality
from ftheta.limits.tokens.mean_field import Attention
from ftheta.logic import Enclosure, Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Dataset, Measure


def gaussian_tokens(
    rng: np.random.Generator,
    *,
    bumps: Annotated[int, Knob(1, 4, "Gaussians in the cloud; the theorem is about one", "k", most=16)] = 1,
    variance: Annotated[float, Knob(0.01, 2, "variance of the cloud in every direction", "s₀", log=True)] = 0.25,
    offset: Annotated[float, Knob(0, 2, "distance of the mean from 0", "|m|")] = 0.0,
    dimension: Annotated[int, Knob(1, 3, "dimension of a token", "d")] = 2,
) -> Measure:
    atoms = np.zeros((bumps, dimension))
    atoms[:, 0] = offset + 1.5 * (np.arange(bumps) - (bumps - 1) / 2)
    return Measure(f"{bumps} Gaussian of variance {variance:g}", atoms, np.full(bumps, 1 / bumps), float(variance**0.5))


def cloud_of(tokens: Measure | Dataset) -> Cloud:
    if isinstance(tokens, Measure) and len(tokens.atoms) <= 64:
        return Cloud.mixture(tokens.atoms, tokens.weights, tokens.spread)
    rows = tokens.atoms if isinstance(tokens, Measure) else tokens.x.reshape(len(tokens.x), -1).astype(np.float64)
    if len(rows) < 8 or rows.shape[1] > 64:
        got = f"{len(rows)} tokens of dimension {rows.shape[1]}"
        raise SubjectError("8 tokens or more of at most 64 numbers are needed.", where=tokens.name, got=got)
    return Cloud.surrogate(rows)


def matrices(cloud: Cloud, stretch: float, turn: float) -> Attention:
    return Attention.turned(cloud.law.dimension, stretch, turn)


@hypothesis(r"$\mu=\mathcal N(m,\Sigma)$", remedy="give one atom with a spread, or tokens that look normal")
def gaussian(tokens: Measure | Dataset) -> Finding:
    if isinstance(tokens, Dataset):
        return normality(tokens.x.reshape(len(tokens.x), -1).astype(np.float64))
    holds = len(tokens.atoms) == 1 and tokens.spread > 0
    return Finding.decide(holds, f"{len(tokens.atoms)} atoms with spread {tokens.spread:.4g}", "the law is given so")


@hypothesis("$t$ is before the blow-up", remedy="look at an earlier time, or scale the tokens down")
def before_blow_up(tokens: Measure | Dataset, *, time: float, stretch: float, turn: float) -> Finding:
    cloud = cloud_of(tokens)
    end = matrices(cloud, stretch, turn).blow_up(cloud.law, 1.05 * time)
    seen = f"blows up at t = {end:.4g}" if np.isfinite(end) else "stays bounded"
    note = f"the covariance {seen}, solved numerically; asked: 5 % after t = {time:g}"
    return Finding.failed(note) if end <= 1.05 * time else Finding.sampled(note, Enclosure.at_least(end))


@theorem(
    title="Attention over a measure of tokens",
    sources=("seed 0", "seed 4", "sander2022", "castin2025"),
    assumes=(gaussian, before_blow_up),
    on=gaussian_tokens,
    breaks_on=lambda rng: gaussian_tokens(rng, bumps=2),
    presets={
        "textbook": {},
        "one dimension": {"dimension": 1},
        "an ellipse that turns": {"stretch": 0.2, "turn": 60.0, "offset": 0.3, "time": 1.5},
        "at the edge": {"time": 1.8},
        "broken on purpose": {"bumps": 2},
    },
)
def mean_field_attention(
    tokens: Measure | Dataset,
    rng: np.random.Generator,
    *,
    time: Annotated[float, Knob(0.1, 2, "depth at which the cloud is looked at", "t", least=1e-4, most=20)] = 1.0,
    stretch: Annotated[float, Knob(-1, 1, "V stretches the last direction by this, the first by 1", "v")] = 1.0,
    turn: Annotated[float, Knob(0, 180, "KᵀQ turns the first two directions by this many degrees", "φ")] = 0.0,
) -> Evidence:
    r"""Let $\Gamma_\mu(x)=\int e^{\langle Qx,Ky\rangle}Vy\,d\mu(y)\big/\int e^{\langle Qx,Ky\rangle}d\mu(y)$ move
    tokens by $\partial_t\mu+\mathrm{div}(\mu\Gamma_\mu)=0$. Empirical measures recover attention, within $O(n^{-1/2})$.
    For $\mu=\mathcal N(m,\Sigma)$, $\Gamma_\mu(x)=V(m+\Sigma K^\top Qx)$: Gaussians stay Gaussian, with
    $\dot\Sigma=V\Sigma K^\top Q\Sigma+\Sigma Q^\top K\Sigma V^\top$. For $V=K^\top Q=1$, $m=0$: $\dot s=2s^2$, $s(t)=
    \frac{s_0}{1-2s_0t}$, which blows up at $\frac1{2s_0}$. Two clouds drift apart at most exponentially in $W_2$."""
    cloud = cloud_of(tokens)
    study = Study(cloud, matrices(cloud, stretch, turn), time)
    (draws, rate), (closed, variance), (transport, apart) = (
        study.by_draws(rng),
        study.by_formula(),
        study.by_transport(),
    )
    first, last = study.law.largest, study.course[-1].largest
    return Evidence(
        (study.by_quadrature(), *draws, *study.by_particles(rng), closed, transport),
        (study.ellipses(), rate, apart),
        {"s(t) of the scalar equation": variance, "blow-up of the scalar equation": 1 / (2 * first)}
        | {"largest variance at 0": first, "largest variance at t": last, "W₂ at t": transport.left},
        summary=f"the largest variance grows from {first:.4g} to {last:.6g} at t = {time:g}; "
        f"with V = KᵀQ = 1 it would blow up at t = {1 / (2 * first):.4g}",
    )
