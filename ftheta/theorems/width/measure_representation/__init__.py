"""A function of finite Barron norm is an integral over neurons; the converse needs another norm."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isfinite, log, pi
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation.fourier import Spectral, hat_norm, hat_norm_by_integral, sampled_spectrum
from ftheta.approximation.spectral_norm import problem_of
from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
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
from ftheta.networks.description import require_layers
from ftheta.relu.line.cpa1d import PiecewiseAffine, realisation
from ftheta.relu.line.hat import HAT, shallow
from ftheta.subjects import Network, Spectrum, Target
from ftheta.subjects.layers import read_off_layers

from .variation import Variation, bending, least_mass, lightest, measure_variation, unreadable


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[
        str, Knob(says="the function", symbol="f", choices=("Gaussian", "hat"))
    ] = "Gaussian",
    radius: Annotated[
        float, Knob(0.5, 8, "radius of the ball", "r", log=True, least=0.1, most=20)
    ] = 8.0,
) -> Target:
    if name == "hat":  # with a spectrum that is not its own: it has none of finite first moment
        claimed = Spectrum(Spectrum.gaussian(1).sample, Enclosure.equal(0.5))
        tent = lambda x: jnp.maximum(1 - jnp.abs(x), 0.0)
        return Target("hat, C_f claimed to be 1/2", tent, (-radius,), (radius,), spectrum=claimed)
    return Target(
        "Gaussian",
        lambda x: jnp.exp(-x * x / 2),
        (-radius,),
        (radius,),
        spectrum=Spectrum.gaussian(1),
    )


@hypothesis(
    r"$C_f<\infty$, or $f$ is a sum of ReLU neurons",
    remedy="give the true `Spectrum` of f, or a ReLU network with one hidden layer or one input",
    name="a representation as an integral over neurons",
)
def has_a_measure(subject: Target | Network) -> Finding:
    if isinstance(subject, Network):
        why = unreadable(subject.description)
        if why:
            return Finding.failed(why)
        return read_off_layers(subject, "its neurons are the measure", "read off its list")
    if subject.spectrum is None or not isfinite(subject.spectrum.first_moment.hi):
        return Finding.failed("no spectrum of finite first moment is known")
    off = problem_of(subject, np.random.default_rng(0), 16).mismatch(np.random.default_rng(1))
    note = f"C_f = {subject.spectrum.first_moment.hi:.6g}; the spectrum misses f by {off:.3g} of the sampling error"
    return (Finding.sampled if off <= 1 else Finding.failed)(note, subject.spectrum.first_moment)


@theorem(
    title="Functions as measures of neurons",
    gist="Functions of finite Barron norm are averages over infinitely many neurons, but not conversely: what "
    "characterises such functions is the variation norm, the least total weight of neurons needed.",
    see_also=("barron-norm", "barron-rate", "mean-field-limit"),
    sources=("peyre-notes", "barron1993", "savarese2019", "ema2022"),
    of_parameters=True,
    assumes=(has_a_measure,),
    on=functions,
    breaks_on=lambda rng: functions(rng, name="hat"),
    presets={
        "textbook": {},
        "a small ball": {"radius": 1.0, "draws": 50_000},
        "at the edge": {"cut": 1.0, "radius": 0.5},
        "broken on purpose": {"name": "hat"},
    },
    errata=r"""Peyré's notes claim that $f=\int\mu\sigma\,d\rho$ exactly when $C_f<\infty$. Only one direction holds:
    the hat is three neurons, but its slope jumps, and $C_f<\infty$ would make it, and every extension, $C^1$.""",
)
def measure_representation(
    subject: Target | Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[
        int, Knob(1000, 50_000, "neurons drawn", "N", log=True, most=200_000)
    ] = 20_000,
    cut: Annotated[
        float, Knob(1, 1000, "where the hat's integral stops", "Λ", log=True, most=1e4)
    ] = 100.0,
) -> Evidence:
    r"""If $C_f=\int|\omega||\hat f|\,d\omega<\infty$, then on $|x-x_0|\le r$ there is a probability $\rho$
    on neurons with
    $$f(x)-f(x_0)=\int\mu\,\mathbf 1[\langle w,x-x_0\rangle>b]\,d\rho,\qquad\int|\mu|\,d\rho\le2rC_f.$$
    The converse fails: $h(x)=(1-|x|)_+$ is three ReLUs, and $\int_{|\omega|\le\Lambda}|\omega||\hat h|\,d\omega=
    \frac2\pi(\gamma+\ln\Lambda-\mathrm{Ci}\,\Lambda)\to\infty$. What is equivalent is a finite
    $\inf_\rho\int|\mu|(\|w\|+|b|)\,d\rho$; on the line
    $\inf_\rho\int|\mu||w|\,d\rho=\max\{\int|f''|,|f'(-\infty)+f'(\infty)|\}$ for ReLUs, 4 for the hat."""
    bend = Enclosure.exact(bending(HAT))
    found = (
        _weigh_network(subject)
        if isinstance(subject, Network)
        else _draw_neurons(subject, rng, draws)
    )
    # where those of the hat are drawn beside its own
    has_norms = isinstance(subject, Target) and bool(found.charts)
    return replace(
        found,
        examples=partial(_hat, cut, has_norms),
        as_printed=(AtMost("hat: ∫|ω||f̂| up to 10⁶ ≤ ∫|f″|", hat_norm(1e6), bend),),
    )


def _weigh_network(net: Network) -> Evidence:
    """The variation norm of a ReLU network beside the mass of its neurons as they are."""
    description = require_layers(net.description)
    found = measure_variation(description)
    kinks = f"; {found.kinks} kinks, so that no extension has a finite C_f" if found.kinks else ""
    return Evidence(
        claims=claims_about_network(found, hidden_layers=len(description.layers) - 1),
        charts=() if found.function is None else (_draw_measure(found.function),),
        numbers={
            "variation norm": found.least,
            "mass of the neurons": found.given,
            "kinks": found.kinks,
        },
        summary=f"variation norm {found.least.middle:.6g}, its neurons weigh {found.given.middle:.6g}{kinks}",
    )


def claims_about_network(found: Variation, hidden_layers: int) -> tuple[Claim, ...]:
    """On the line the lightest measure, in rationals; in space the masses of the creases."""
    if found.function is None:
        return (AtMost("mass of all creases ≤ Σ|a|‖w‖", found.least, found.given),)
    claims = claims_on_line("network", found.function)
    if hidden_layers > 1:
        return claims
    surplus = Enclosure.exact(found.surplus)
    return (*claims, AtMost("0 ≤ Σ|a||w| of the neurons − least mass", Enclosure.exact(0), surplus))


def claims_on_line(name: str, f: PiecewiseAffine) -> tuple[Claim, ...]:
    """The lightest measure is the function, and its mass is the formula; proved in rationals."""
    atoms = lightest(f)
    apart = Enclosure.exact((atoms.function() - f).largest[1])
    mass = Enclosure.exact(atoms.mass)
    formula = Enclosure.exact(least_mass(f))
    return (
        Identity(f"{name}: largest distance to its measure", apart, Enclosure.exact(0)),
        Identity(f"{name}: mass of it = max(∫|f″|, |f′(−∞) + f′(∞)|)", mass, formula),
    )


def _draw_neurons(f: Target, rng: np.random.Generator, draws: int) -> Evidence:
    """A function of finite Barron norm as the mean of steps that are drawn from its spectrum."""
    spectrum = sampled_spectrum(f.f, f.lo, f.hi, 256) if f.dimension == 1 else None
    problem = problem_of(f, rng, 64)
    ball = problem.ball
    ratio, worst = problem.growth()
    neurons = problem.neurons(rng, draws)
    far = int(np.linalg.norm(ball.offsets, axis=1).argmax())
    values = neurons.on(ball.offsets[far : far + 1])[:, 0]
    largest = 2 * ball.radius * problem.moment  # of a coefficient
    mass = mean(np.abs(neurons.coefficients), within=(0.0, largest))
    most = Enclosure.equal(largest)
    drawn = mean(values, within=(-largest, largest))
    return Evidence(
        claims=(
            AtMost(
                "largest |f − f(x₀)| / (C_f |x − x₀|)", ratio, Enclosure.exact(1), witness=worst
            ),
            Identity(
                "f − f(x₀) = mean of the neurons",
                drawn,
                Enclosure.equal(float(problem.wanted[far])),
            ),
            AtMost("∫|μ| dρ ≤ 2rC_f", mass, most),
        ),
        charts=(_draw_norms(spectrum, f.name),) if spectrum is not None and spectrum.quiet else (),
        numbers={"∫|μ| dρ": mass, "2rC_f": most},
        summary=f"{f.name}: ∫|μ|dρ = {mass.middle:.5g}, at most {most.middle:.5g}",
    )


def _hat(cut: float, has_norms: bool) -> Examples:
    norms = () if has_norms else (_draw_norms(None, ""),)
    return Examples(
        claims=claims_about_hat(cut),
        charts=(*norms, _draw_measure(HAT)),
        numbers={
            "hat up to Λ": hat_norm(cut),
            "growth in a decade": 2 / pi * log(10),
            "∫|f″| of the hat": Enclosure.exact(bending(HAT)),
        },
    )


def claims_about_hat(cut: float) -> tuple[Claim, ...]:
    """The hat is three neurons of mass 4, bends by 4, has a kink, and its spectral norm passes every number."""
    exact = Enclosure.exact
    apart = (realisation(shallow()) - HAT).largest[1]
    jump = max(map(abs, HAT.jumps.values()))
    spectral = hat_norm(cut)
    growth = hat_norm(10 * cut) - spectral
    return (
        Identity("hat: largest distance to its three neurons", exact(apart), exact(0)),
        Identity("hat: ∫|f″|", exact(bending(HAT)), exact(4)),
        *claims_on_line("hat", HAT),
        AtMost("0 < jump of the slope: no extension is C¹", exact(1), exact(jump)),
        Identity("hat up to Λ: closed form and integral", spectral, hat_norm_by_integral(cut)),
        Identity(
            "hat: growth in the decade after Λ",
            growth,
            Enclosure.equal(2 / pi * log(10)),
            atol=2 / cut,
        ),
    )


def _draw_norms(found: Spectral | None, name: str) -> Curves:
    """The spectral norm up to a frequency: of the hat, without end, beside its variation norm; and of the subject."""
    cuts = np.geomspace(1, 1e5, 80)
    hat = [hat_norm(float(c)).middle for c in cuts]
    line = 2 / pi * (np.euler_gamma + np.log(cuts))
    series = [
        Series("hat: variation norm", cuts[[0, -1]], [4.0, 4.0], "bound"),
        Series("hat: spectral norm", cuts, hat, "measured"),
        Series("(2/π)(γ + ln Λ)", cuts, line, "reference"),
    ]
    if found is not None:
        reached = np.geomspace(min(1.0, found.cut / 10), found.cut, 60)
        series.append(Series(name, reached, [found.up_to(float(c)) for c in reached], "other"))
    return Curves(
        "truncated spectral norm",
        Axis("frequency Λ", "log"),
        Axis("∫|ω||f̂| up to Λ"),
        tuple(series),
    )


def _draw_measure(f: PiecewiseAffine) -> Curves:
    """A function on the line with the neurons that make it: their masses stand at their kinks."""
    kinks = f.kinks or (Fraction(0),)
    room = max((kinks[-1] - kinks[0]) / 4, Fraction(1))
    x = [np.inf]  # a gap after each mass
    y = [np.inf]
    for a, _, t in lightest(f).neurons[:200]:
        x += [float(t), float(t), np.inf]
        y += [0.0, float(a), np.inf]
    series = (
        Series("f", *f.corners(kinks[0] - room, kinks[-1] + room), "measured"),
        Series("mass a", x, y, "other"),
    )
    return Curves("the function and its neurons", Axis("x"), Axis("value, mass"), series)
