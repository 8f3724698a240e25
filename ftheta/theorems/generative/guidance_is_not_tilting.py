"""Guidance does not sample the tilted law: on Gaussians it sharpens to a power of the variance."""

from fractions import Fraction
from typing import Annotated

import numpy as np
from flint import arb, ctx

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
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure
from ftheta.theorems.laws import ROWS_ARE_A_LAW

BITS = 128
HORIZON = 20.0
STEPS = 600
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def conditional_law(
    rng: np.random.Generator,
    *,
    mean: Annotated[
        float, Knob(-3, 3, "mean of the conditional law", "μ", least=-100, most=100)
    ] = 1.0,
    spread: Annotated[
        float,
        Knob(0.1, 0.95, "standard deviation of the conditional law", "τ", least=0.01, most=10),
    ] = 0.5,
) -> Measure:
    return Measure(
        f"N({mean:g}, {spread:g}²) within N(0, 1)", np.array([[mean]]), np.ones(1), spread
    )


@hypothesis(
    "the conditional law varies in its first coordinate",
    remedy="give rows that differ, or a positive spread",
)
def varies(measure: Measure) -> Finding:
    variance = measure.spread**2 + float(np.ptp(measure.atoms[:, 0]))
    note = f"spread {measure.spread:g}, range of the atoms {float(np.ptp(measure.atoms[:, 0])):.4g}"
    return Finding.decide(variance > 0, note, "read off the measure", basis=Basis.EXACT)


@hypothesis(
    "the law without the condition is $\\mathcal N(0,1)$",
    remedy="set --base 1, or scale the data so",
)
def standard_base(measure: Measure, *, base: float) -> Finding:
    return Finding.decide(
        base == 1, f"standard deviation {base:g}", "read off the knob", basis=Basis.EXACT
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Guidance is not tilting",
    gist="Classifier-free guidance with a scale does not sample the law that its formula suggests, the conditional law "
    "tilted by a power of the likelihood: on Gaussians it ends elsewhere, and narrower.",
    see_also=("score-matching", "diffusion-score", "girsanov"),
    sources=("ho2022guidance", "bradley2024"),
    assumes=(varies, standard_base),
    on=conditional_law,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "no guidance": {"scale": 0.0},
        "strong guidance": {"scale": 4.0},
        "wide": {"spread": 0.9},
        "broken on purpose": {"base": 2.0},
    },
    adapters=(ROWS_ARE_A_LAW,),
    errata="Guided samples are often said to follow the conditional density times a power of the likelihood of the "
    "condition.",
)
def guidance_is_not_tilting(
    measure: Measure,
    rng: np.random.Generator,
    *,
    scale: Annotated[float, Knob(0, 5, "scale of the guidance; 0 is none", "w", most=50)] = 1.0,
    base: Annotated[
        float,
        Knob(
            0.2, 3, "standard deviation of the law without the condition", "s", least=0.01, most=100
        ),
    ] = 1.0,
) -> Evidence:
    r"""Let $p=\mathcal N(0,1)$ and $p_c=\mathcal N(\mu,\tau^2)$ diffuse by $dx=-x\,dt+\sqrt2\,dW$. The guided
    probability flow $\dot x=x+(1+w)\nabla\log p_{c,t}-w\nabla\log p_t$, backwards from noise, ends in a Gaussian of
    variance
    $$\tau^{2(1+w)},$$
    while the tilted law $\propto p_c^{1+w}p^{-w}$ has the variance $\big(\frac{1+w}{\tau^2}-w\big)^{-1}$ (where that is
    positive). For $w=0$ both are $p_c$."""
    mu = float(measure.weights @ measure.atoms[:, 0])
    between = float(measure.weights @ (measure.atoms[:, 0] - mu) ** 2)
    t2 = measure.spread**2 + between
    mean, variance, error = _follow(mu, t2, scale, base)
    with ctx.workprec(BITS):
        sharpened = arb(t2) ** (1 + arb(scale))
        power = Enclosure.ball(sharpened)
        truth = Enclosure.ball(sharpened / arb(base) ** (2 * arb(scale)))
    witness = (
        None
        if base == 1
        else Witness({"s": base}, truth, power, "the flow in closed form, in balls")
    )
    seen = Enclosure.between(variance - error, variance + error, Basis.FLOAT)
    claims: list[Claim] = [
        Identity(
            "variance of the guided flow, integrated = τ^(2(1 + w))",
            seen,
            power,
            witness,
            rtol=1e-4,
            atol=1e-6,
        )
    ]
    end = power if base == 1 else truth
    numbers: Numbers = {"mean of the guided flow": mean, "variance of the guided flow": end}
    summary = f"w = {scale:g}: the guided flow ends in N({mean:.6g}, {end.middle:.6g})"
    printed = ()
    precision = _tilted_precision(t2, scale, base)
    if precision > 0:
        of_tilt = Enclosure.exact(1 / precision)
        centre = Enclosure.exact((1 + Fraction(scale)) * Fraction(mu) / Fraction(t2) / precision)
        numbers |= {"variance of the tilted law": of_tilt, "mean of the tilted law": centre}
        summary += f", the tilted law has the variance {float(1 / precision):.6g}"
        if scale == 0 or Fraction(t2) == Fraction(base) ** 2:
            same = "w = 0 or τ = s: variance of the guided flow = of the tilted law"
            claims.append(Identity(same, end, of_tilt))
        else:
            claims.append(AtMost("variance of the guided flow ≤ of the tilted law", end, of_tilt))
            printed = (Identity("variance of the guided flow = of the tilted law", end, of_tilt),)
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_densities(mu, t2, mean, end.middle, float(precision), scale),),
        numbers=numbers,
        as_printed=printed,
        summary=summary,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _tilted_precision(t2: float, w: float, base: float) -> Fraction:
    r"""$\frac{1+w}{\tau^2}-\frac w{s^2}$, one over the variance of the tilted law; none is positive at $\tau=0$."""
    if t2 == 0:
        return Fraction(0)
    return (1 + Fraction(w)) / Fraction(t2) - Fraction(w) / Fraction(base) ** 2


def _follow(mu: float, t2: float, w: float, base: float) -> tuple[float, float, float]:
    r"""The affine map of the guided flow from noise to data: mean and variance at its end, and an error of the latter.
    The law without the condition is $\mathcal N(0,s^2)$, $s$ = `base`; deviations end as $\tau^{1+w}s^{-w}$."""

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        """Of the mean and of the deviation."""
        v = 1 + (t2 - 1) * np.exp(-2 * t)
        m = mu * np.exp(-t)
        slope = 1 - (1 + w) / v + w / (1 + (base**2 - 1) * np.exp(-2 * t))
        return np.array([slope * state[0] + (1 + w) * m / v, slope * state[1]])

    ends = []
    for steps in (STEPS, 2 * STEPS):
        times = np.linspace(np.sqrt(HORIZON), 0.0, steps + 1) ** 2
        state = np.array([0.0, 1.0])
        for t, s in zip(times[:-1].tolist(), times[1:].tolist()):
            state = runge_kutta_step(rate, (t, (t + s) / 2, s), state, t - s)
        ends.append(state)
    variances = [float(state[1]) ** 2 for state in ends]
    return float(ends[1][0]), variances[1], abs(variances[1] - variances[0]) + 1e-9


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_densities(
    mu: float, t2: float, mean: float, variance: float, tilted: float, w: float
) -> Curves:
    laws = [("conditional", mu, t2), ("guided flow", mean, variance)]
    if tilted > 0:
        laws.append(("tilted", (1 + w) * mu / t2 / tilted, 1 / tilted))
    reach = 4 * max(v for _, _, v in laws) ** 0.5
    x = np.linspace(min(m for _, m, _ in laws) - reach, max(m for _, m, _ in laws) + reach, 400)
    lines = tuple(
        Series(name, x, np.exp(-((x - m) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v))
        for name, m, v in laws
    )
    return Curves("where guidance leads", Axis("x"), Axis("density"), lines)
