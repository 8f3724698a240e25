"""Learning a score by denoising: what the loss is above, and what is left when it is least."""

from functools import partial
from math import exp, pi, sqrt
from typing import Annotated

import numpy as np
from flint import acb, arb, ctx

from ftheta.estimates import mean
from ftheta.flows.mixture_integrals import BITS, LineMixture
from ftheta.flows.mixtures import Mixture
from ftheta.lazy import jax, jnp
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Network
from ftheta.subjects.roles import ask_role, measure_of_rows, values_at
from ftheta.theorems.knobs import Coordinates
from ftheta.theorems.laws import ROWS_ARE_A_LAW, is_enclosed, mixture_of, place_bumps

DRAWS = 20_000
ENTRIES = 20_000_000  # of tables points × atoms
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def data_points(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 8, "number of points or bumps", "k", most=64)] = 2,
    separation: Annotated[
        float, Knob(0, 4, "distance of the outer ones from 0", "a", most=100)
    ] = 1.0,
    spread: Annotated[
        float, Knob(0, 2, "standard deviation of each; 0 is discrete data", "s", most=100)
    ] = 0.0,
    dimension: Coordinates = 1,
) -> Measure:
    atoms = place_bumps(components, separation, dimension)
    return Measure(
        f"{components} points of spread {spread:g}",
        atoms,
        np.full(components, 1 / components),
        spread,
    )


@hypothesis(
    "the density vanishes where the losses end: they are means over all of space",
    remedy="set --window 0; a law with an edge, as the uniform one, has a boundary term",
)
def has_no_edge(given: Measure | Network, *, window: float) -> Finding:
    note = f"points with |x| ≤ {window:g} alone" if window else "all points"
    return Finding.decide(window == 0, note, "read off the knob", basis=Basis.EXACT)


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Score matching and its loss floor",
    gist="Explicit, implicit and denoising score matching differ by constants, so they have one minimiser; the "
    "denoising loss never falls below the error of the best denoiser, and only what is above that floor says how good "
    "a score is.",
    see_also=("diffusion-score", "girsanov", "flow-matching"),
    sources=("hyvarinen2005", "vincent2011", "guo2005", "efron2011"),
    assumes=(ask_role("score"), has_no_edge),
    on=data_points,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "little noise": {"noise": 0.2},
        "Gaussian data": {"components": 1, "spread": 0.5},
        "three bumps in space": {"components": 3, "spread": 0.3, "dimension": 3},
        "broken on purpose": {"window": 1.0},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def score_matching(
    given: Measure | Network,
    rng: np.random.Generator,
    *,
    noise: Annotated[
        float, Knob(0.05, 5, "standard deviation of the noise", "σ", log=True, least=1e-3, most=1e3)
    ] = 1.0,
    time: Annotated[
        float,
        Knob(0.01, 3, "time at which a network is judged", "t", log=True, least=1e-6, most=20),
    ] = 0.3,
    window: Annotated[
        float, Knob(0, 5, "the losses of |x| up to here alone; 0 for all of space", "R", most=100)
    ] = 0.0,
) -> Evidence:
    r"""Let $x=x_0+\sigma\xi$ have the density $p_\sigma$. For every $u$ the losses $\mathbb E|u+\xi/\sigma|^2$
    (denoising), $\mathbb E|u-\nabla\log p_\sigma|^2$ (explicit) and $\mathbb E\big[|u|^2+2\,\mathrm{div}\,u\big]$
    (implicit) differ by constants, and the first is at least
    $$\frac{\mathrm{mmse}}{\sigma^4}=\frac d{\sigma^2}-J(p_\sigma),\qquad J(p)=\mathbb E|\nabla\log p|^2,$$
    with equality for the score alone. The information is
    $I(x_0;x)=\frac12\int_0^{1/\sigma^2}\mathrm{mmse}\,d\,\mathrm{snr}$."""
    if isinstance(given, Network):
        return _judge_network(given, rng, time)
    law = mixture_of(given)
    floor = _enclose_floor(law, noise) if is_enclosed(law) else _sample_floor(law, noise, rng)
    claims, numbers = floor
    if is_enclosed(law) and law.variance == 0:
        numbers = numbers | {"information": information(law, noise)}
        claims = [*claims, _claim_information(law, noise)]
    if is_enclosed(law):
        claims = [*claims, _claim_parts(law, noise, window)]
    least = numbers["mmse"]
    assert isinstance(least, Enclosure)
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_floor(law, rng),),
        numbers=numbers,
        summary=f"no denoising loss is below {least.middle / noise**4:.6g} at σ = {noise:g}",
        examples=_examples,
    )


# ---- on the line, in balls -------------------------------------------------------------------------------------------


def _enclose_floor(law: Mixture, sigma: float) -> tuple[list[Claim], Numbers]:
    """The three losses of the score that a Gaussian of the same mean and variance has, and the floor."""
    noised = LineMixture.of(law, sigma)
    centre = float(law.mean()[0])
    total = float(law.variances()[0]) + sigma**2
    with ctx.workprec(BITS):
        s2 = arb(sigma) ** 2
        v = arb(law.variance)
        size = 1 + max(abs(a).upper() for a in noised.atoms)
        narrow = min(1.0, law.variance + sigma**2, total) / 2
        growth = 4 * (size / arb(narrow)) ** 2  # of all the integrands below

        def best(x: acb) -> acb:
            centre_of = noised.posterior_atom(x)
            return centre_of + v / (v + s2) * (x - centre_of)

        def guess(x: acb) -> acb:
            return (centre - x) / total

        second = sum((w * (a**2 + v) for w, a in zip(noised.weights, noised.atoms)), arb(0))
        mmse = second - noised.mean(lambda x: best(x) ** 2, growth)
        fisher = noised.mean(lambda x: noised.score(x) ** 2, growth)
        square = noised.mean(lambda x: guess(x) ** 2, growth)
        explicit = noised.mean(lambda x: (guess(x) - noised.score(x)) ** 2, growth)
        implicit = square - 2 / arb(total)
        denoising = implicit + 1 / s2  # E[u ξ/σ] = E u′ (Stein)
        floor = mmse / s2**2
        claims: list[Claim] = [
            Identity(f"mmse/σ⁴ = 1/σ² − J at σ = {sigma:g}", _ball(floor), _ball(1 / s2 - fisher)),
            Identity(
                "denoising − explicit loss = mmse/σ⁴",
                _ball(denoising - explicit),
                _ball(floor),
                atol=1e-12,
            ),
            Identity(
                "explicit − implicit loss = J",
                _ball(explicit - implicit),
                _ball(fisher),
                atol=1e-12,
            ),
            AtMost(
                "mmse/σ⁴ ≤ denoising loss of the Gaussian score", _ball(floor), _ball(denoising)
            ),
        ]
        numbers: Numbers = {
            "mmse": _ball(mmse),
            "Fisher information": _ball(fisher),
            "least loss": _ball(floor),
        }
    return claims, numbers


def _claim_parts(law: Mixture, sigma: float, window: float) -> Claim:
    r"""Integration by parts, $\mathbb E[us]=-\mathbb Eu'$ for $u=x$: over a window $[-R,R]$ a term at its ends is
    left over, over all of space none."""
    noised = LineMixture.of(law, sigma)
    with ctx.workprec(BITS):
        size = 1 + max(abs(a).upper() for a in noised.atoms)
        growth = 4 * (size / noised.variance) ** 2 + 4
        if window == 0:
            left = noised.mean(lambda x: x * noised.score(x), growth)
            return Identity("E[x (log p)′(x)] = −1", _ball(left), Enclosure.exact(-1), atol=1e-12)
        inside = acb.integral(lambda x, _: noised.density(x), -window, window).real
        left = acb.integral(
            lambda x, _: x * noised.score(x) * noised.density(x), -window, window
        ).real
    return Identity(
        f"E[x (log p)′(x)] = −1, over |x| ≤ {window:g}", _ball(left / inside), Enclosure.exact(-1)
    )


def _ball(x: arb) -> Enclosure:
    return Enclosure.ball(x)


def information(law: Mixture, sigma: float) -> Enclosure:
    r"""$I(x_0;x)=h(p_\sigma)-h(\mathcal N(0,\sigma^2))$ of discrete data on the line, in float64 by the trapezoidal
    rule."""
    noised = law.add_noise(sigma)
    x = np.linspace(
        law.atoms.min() - 12 * sigma, law.atoms.max() + 12 * sigma, _grid_size(law, sigma)
    )
    log_p = noised.log_density(x[:, None])
    entropy = -float(np.exp(log_p) @ log_p) * float(x[1] - x[0])
    return Enclosure.equal(entropy - 0.5 * np.log(2 * pi * sigma**2) - 0.5)


def _grid_size(law: Mixture, sigma: float) -> int:
    """Eight nodes per standard deviation: the trapezoidal rule is exact to rounding there."""
    return int(min(200_001, 8 * (np.ptp(law.atoms) / sigma + 24))) + 1


def _mmse(law: Mixture, sigma: float) -> float:
    """The error of the best denoiser, in float64."""
    noised = law.add_noise(sigma)
    x = np.linspace(
        law.atoms.min() - 12 * sigma, law.atoms.max() + 12 * sigma, _grid_size(law, sigma)
    )
    density = np.exp(noised.log_density(x[:, None]))
    return float(density @ noised.scatter(x[:, None])) * float(x[1] - x[0])


def _claim_information(law: Mixture, sigma: float) -> Claim:
    """Half the integral of the mmse over the signal-to-noise ratio, by Gauss's rule in its square root."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    root = (nodes + 1) / (2 * sigma)
    values = [_mmse(law, 1 / r) * 2 * r for r in root]
    integral = float(weights @ values) / (2 * sigma)
    sides = (Enclosure.equal(integral / 2), information(law, sigma))
    # the information is a difference
    return Identity("½ ∫ mmse d snr = I(x₀; x)", *sides, rtol=1e-7, atol=1e-12)


# ---- elsewhere, from draws -------------------------------------------------------------------------------------------


def _sample_floor(
    law: Mixture, sigma: float, rng: np.random.Generator
) -> tuple[list[Claim], Numbers]:
    """The floor from draws: the error of the best denoiser beside the size of the score."""
    n = _affordable(law)
    d = law.atoms.shape[1]
    clean = law.sample(rng, n)
    x = clean + sigma * rng.normal(size=clean.shape)
    noised = law.add_noise(sigma)
    score = noised.score(x)
    denoised = x + sigma**2 * score
    error = mean(((clean - denoised) ** 2).sum(1))
    fisher = mean((score**2).sum(1))
    scale = Enclosure.exact(sigma) * Enclosure.exact(sigma)
    floor = error / (scale * scale)
    claim = Identity(
        f"mmse/σ⁴ = d/σ² − J at σ = {sigma:g}", floor, Enclosure.exact(d) / scale - fisher
    )
    return [claim], {"mmse": error, "Fisher information": fisher, "least loss": floor}


def _affordable(law: Mixture) -> int:
    return int(min(DRAWS, max(500, ENTRIES // law.atoms.size)))


def _judge_network(net: Network, rng: np.random.Generator, time: float) -> Evidence:
    """A score network at one time of the forward process: its denoising loss, the floor, and what is above it."""
    assert net.law is not None
    law = mixture_of(measure_of_rows(net.law))
    n = _affordable(law)
    clean = law.sample(rng, n)
    noise = rng.normal(size=clean.shape)
    scale = sqrt(1 - exp(-2 * time))
    x = exp(-time) * clean + scale * noise
    true = law.after(time).score(x)
    found = values_at(net, x, time)
    losses = ((found + noise / scale) ** 2).sum(1)
    least = ((true + noise / scale) ** 2).sum(1)
    excess = ((found - true) ** 2).sum(1)
    floor = mean(least)
    loss = mean(losses)
    above = mean(excess)
    claims = (
        AtMost(f"least denoising loss ≤ loss of the network at t = {time:g}", floor, loss),
        Identity(
            "loss − least loss − E|s − ∇log p|²", mean(losses - least - excess), Enclosure.exact(0)
        ),
    )
    numbers: Numbers = {
        "loss": loss,
        "least loss": floor,
        "excess loss": above,
        "curl": _curl(net, x[:8], time),
    }
    share = above.middle / max(float((true**2).sum(1).mean()), 1e-300)
    return Evidence(
        claims=claims,
        charts=(_draw_network(net, law, rng),),
        numbers=numbers,
        summary=f"loss {loss.middle:.4g}, of which {floor.middle:.4g} no network can avoid; the rest, "
        f"{above.middle:.4g}, is {share:.3g} of the mean squared score",
    )


def _curl(net: Network, x: np.ndarray, time: float) -> Enclosure:
    """The largest antisymmetric part of the Jacobian of a score network, relative to the Jacobian: a score has none."""
    with jax.enable_x64(True):
        field = partial(net.apply, net.params)
        rows = jnp.concatenate([jnp.asarray(x), jnp.full((len(x), 1), time)], 1)
        jacobians = np.asarray(jax.vmap(jax.jacfwd(field))(rows))[:, :, :-1]
    turning = np.linalg.norm(jacobians - jacobians.transpose(0, 2, 1), axis=(1, 2))
    size = 2 * np.linalg.norm(jacobians, axis=(1, 2))
    return Enclosure.measured(float((turning / np.maximum(size, 1e-300)).max()), samples=len(x))


# ---- examples and charts ---------------------------------------------------------------------------------------------


def _examples() -> Examples:
    r"""The uniform law on $[0,1]$ has the score 0 inside and an edge: explicit − implicit $=-2[u]_0^1$, no constant."""
    claims = []
    for c in (1, -2):
        explicit = Enclosure.exact(0) + Enclosure.exact(c * c) / 3
        implicit = explicit + 2 * c
        edge = Enclosure.exact(-2 * c)
        claims.append(
            Identity(
                f"uniform law, u = {c}x: explicit − implicit loss = −2[u]₀¹",
                explicit - implicit,
                edge,
            )
        )
    return Examples(claims=tuple(claims))


def _draw_floor(law: Mixture, rng: np.random.Generator) -> Curves:
    """The loss of the score 0 and that of the best score, against the noise."""
    sigmas = np.geomspace(0.1, 5, 25)
    d = law.atoms.shape[1]
    fisher = []
    x = law.sample(rng, min(2000, _affordable(law)))
    xi = rng.normal(size=x.shape)
    for sigma in sigmas:
        fisher.append(float((law.add_noise(sigma).score(x + sigma * xi) ** 2).sum(1).mean()))
    nothing = d / sigmas**2
    floor = np.maximum(nothing - np.array(fisher), 1e-12)
    lines = (
        Series("of the score 0", sigmas, nothing * sigmas**2),
        Series("least", sigmas, floor * sigmas**2, "bound"),
    )
    return Curves("denoising loss × σ²", Axis("noise σ", "log"), Axis("loss × σ²"), lines)


def _draw_network(net: Network, law: Mixture, rng: np.random.Generator) -> Curves:
    """Loss and floor of a network along the forward process."""
    times = np.geomspace(0.02, 3, 12)
    clean = law.sample(rng, min(500, _affordable(law)))
    noise = rng.normal(size=clean.shape)
    found, floor = [], []
    for t in times.tolist():
        scale = sqrt(1 - exp(-2 * t))
        x = exp(-t) * clean + scale * noise
        found.append(float(((scale * values_at(net, x, t) + noise) ** 2).sum(1).mean()))
        floor.append(float(((scale * law.after(t).score(x) + noise) ** 2).sum(1).mean()))
    lines = (Series("network", times, found), Series("least", times, floor, "bound"))
    return Curves(
        "denoising loss × noise variance", Axis("time t", "log"), Axis("loss × (1 − e^−2t)"), lines
    )
