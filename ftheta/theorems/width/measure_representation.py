"""A function of finite Barron norm is an integral over neurons; the converse needs another norm."""

from math import isfinite
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.limits.universality.fourier import sampled_spectrum
from ftheta.limits.universality.spectral_norm import problem_of
from ftheta.limits.width import variation as norms
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.relu.describe import told_layers
from ftheta.subjects import Network, Spectrum, Target
from ftheta.subjects.layers import read_off_layers


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=("Gaussian", "hat"))] = "Gaussian",
    radius: Annotated[float, Knob(0.5, 8, "radius of the ball", "r", log=True, least=0.1, most=20)] = 8.0,
) -> Target:
    if name == "hat":  # with a spectrum that is not its own: it has none of finite first moment
        claimed = Spectrum(Spectrum.gaussian(1).sample, Enclosure.equal(0.5))
        tent = lambda x: jnp.maximum(1 - jnp.abs(x), 0.0)
        return Target("hat, C_f claimed to be 1/2", tent, (-radius,), (radius,), spectrum=claimed)
    return Target("Gaussian", lambda x: jnp.exp(-x * x / 2), (-radius,), (radius,), spectrum=Spectrum.gaussian(1))


@hypothesis(
    r"$C_f<\infty$, or $f$ is a sum of ReLU neurons",
    remedy="give the true `Spectrum` of f, or a ReLU network with one hidden layer or one input",
)
def has_a_measure(subject: Target | Network) -> Finding:
    if isinstance(subject, Network):
        why = norms.unreadable(subject.description)
        return (
            Finding.failed(why) if why else read_off_layers(subject, "its neurons are the measure", "read off its list")
        )
    if subject.spectrum is None or not isfinite(subject.spectrum.first_moment.hi):
        return Finding.failed("no spectrum of finite first moment is known")
    off = problem_of(subject, np.random.default_rng(0), 16).mismatch(np.random.default_rng(1))
    note = f"C_f = {subject.spectrum.first_moment.hi:.6g}; the spectrum misses f by {off:.3g} of the sampling error"
    return (Finding.sampled if off <= 1 else Finding.failed)(note, subject.spectrum.first_moment)


@theorem(
    title="Functions as measures of neurons",
    sources=("seed 4", "barron1993", "savarese2019", "ema2022"),
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
    errata=r"""Seed 4 claims that $f=\int\mu\sigma\,d\rho$ exactly when $C_f<\infty$. Only one direction holds: the
    hat is three neurons, but its slope jumps, and $C_f<\infty$ would make it, and every extension, $C^1$.""",
)
def measure_representation(
    subject: Target | Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[int, Knob(1000, 50_000, "neurons drawn", "N", log=True, most=200_000)] = 20_000,
    cut: Annotated[float, Knob(1, 1000, "where the hat's integral stops", "Λ", log=True, most=1e4)] = 100.0,
) -> Evidence:
    r"""If $C_f=\int|\omega||\hat f|\,d\omega<\infty$, then on $|x-x_0|\le r$ there is a probability $\rho$
    on neurons with
    $$f(x)-f(x_0)=\int\mu\,\mathbf 1[\langle w,x-x_0\rangle>b]\,d\rho,\qquad\int|\mu|\,d\rho\le2rC_f.$$
    The converse fails: $h(x)=(1-|x|)_+$ is three ReLUs, and $\int_{|\omega|\le\Lambda}|\omega||\hat h|\,d\omega=
    \frac2\pi(\gamma+\ln\Lambda-\mathrm{Ci}\,\Lambda)\to\infty$. What is equivalent is a finite
    $\inf_\rho\int|\mu|(\|w\|+|b|)\,d\rho$; on the line
    $\inf_\rho\int|\mu||w|\,d\rho=\max\{\int|f''|,|f'(-\infty)+f'(\infty)|\}$ for ReLUs, 4 for the hat."""
    fixed = norms.hat_facts(cut)
    if isinstance(subject, Network):
        return norms.network_evidence(told_layers(subject.description), fixed)
    spectrum = sampled_spectrum(subject.f, subject.lo, subject.hi, 256) if subject.dimension == 1 else None
    found = norms.drawn(problem_of(subject, rng, 64), rng, draws)
    return Evidence(
        claims=(*found.claims, *fixed.claims),
        as_printed=fixed.as_printed,
        charts=(norms.norms_chart(spectrum if spectrum and spectrum.quiet else None, subject.name), *fixed.charts),
        numbers={**fixed.numbers, **found.numbers},
        summary=f"{subject.name}: {found.summary}; {fixed.summary}",
    )
