"""Barron's norm: how much a function oscillates, counted by frequency."""

from functools import partial
from math import pi
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation import fourier
from ftheta.approximation.spectral_norm import draw_truncated_norm
from ftheta.logic import (
    AtMost,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Spectrum, Target
from ftheta.subjects.continuity import missing_on_box

WAVES = np.array([[1.0], [3.0], [5.0]]), np.array([1.0, -0.5, 0.25]), np.zeros(3)
SMALL = 1e-3  # relative error granted to the sum over the grid


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[
        str, Knob(says="the function", symbol="f", choices=("Gaussian", "waves", "hat"))
    ] = "Gaussian",
) -> Target:
    if name == "waves":
        f = lambda x: jnp.cos(x) - 0.5 * jnp.cos(3 * x) + 0.25 * jnp.cos(5 * x)
        return Target("three waves", f, (-pi,), (pi,), spectrum=Spectrum.cosines(*WAVES))
    if name == "hat":
        half = Spectrum(Spectrum.unknown().sample, Enclosure.exact(0.5))
        tent = lambda x: jnp.maximum(1 - jnp.abs(x), 0.0)
        return Target("hat, C_f claimed to be ½", tent, (-8.0,), (8.0,), spectrum=half)
    return Target(
        "Gaussian", lambda x: jnp.exp(-x * x / 2), (-12.0,), (12.0,), spectrum=Spectrum.gaussian(1)
    )


def hat(rng: np.random.Generator) -> Target:
    return functions(rng, name="hat")


@hypothesis(
    r"$C_f<\infty$, as claimed; $f$ decays, or is periodic, at the ends of its box",
    remedy="give the true `Spectrum`",
)
def finite_norm(f: Target, *, points: int) -> Finding:
    if f.dimension > 2:
        return Finding.failed(f"{f.dimension} variables: closed forms only")
    missing = missing_on_box(f)
    if missing:
        return Finding.failed(missing)
    total = fourier.sampled_spectrum(f.of_point, f.lo, f.hi, points)
    whole = total.up_to(total.cut)
    half = total.up_to(total.cut / 2)
    claimed = (f.spectrum or Spectrum.unknown()).first_moment
    ends = "decays at the ends" if total.quiet else "taken to be periodic"
    note = f"{ends}; {half:.6g} up to Λ/2, {whole:.6g} up to Λ = {total.cut:.4g}; claimed {claimed.hi:.6g}"
    good = whole <= claimed.hi * (1 + SMALL) and whole - half <= SMALL * whole
    return Finding.sampled(note, claimed) if good else Finding.failed(note, claimed)


@theorem(
    title="Barron's norm",
    gist="The Barron norm weighs a function's Fourier transform by frequency; where it is finite, one hidden layer "
    "approximates the function at a rate that does not depend on the dimension.",
    see_also=("barron-rate", "sobolev-vs-barron", "measure-representation"),
    sources=("peyre-slides", "peyre-notes", "barron1993"),
    assumes=(finite_norm,),
    on=functions,
    breaks_on=hat,
    presets={
        "textbook": {},
        "three waves": {"name": "waves", "points": 64},
        "at the edge": {"scale": 4.0, "cut": 1.0},
        "broken on purpose": {"name": "hat"},
    },
    errata=r"""Peyré's notes transform with $\int fe^{-i\langle\omega,x\rangle}dx$: the value there is $(2\pi)^d$ times
    this one.""",
)
def barron_norm(
    f: Target,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(64, 1024, "samples per side", "N", log=True, most=4096)] = 512,
    scale: Annotated[
        float, Knob(0.5, 4, "stretching of f", "s", log=True, least=0.1, most=10)
    ] = 2.0,
    dimension: Annotated[
        int, Knob(1, 20, "dimension of the Gaussian in closed form", "d", most=200)
    ] = 10,
    cut: Annotated[
        float, Knob(1, 1000, "where the hat's integral stops", "Λ", log=True, least=0.1, most=1e4)
    ] = 100.0,
) -> Evidence:
    r"""For $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$ let
    $$C_f=\int|\omega|\,|\hat f(\omega)|\,d\omega.$$ Then $C_{f(\cdot/s)}=C_f/s$ and $C_{f+g}\le C_f+C_g$. It is
    $\sqrt2\,\Gamma(\frac{d+1}2)/\Gamma(\frac d2)$ for $e^{-|x|^2/2}$, $|a|$ for $\cos\langle a,x\rangle$, and $\infty$
    for the hat function, with $\frac2\pi(\gamma+\ln\Lambda-\mathrm{Ci}\,\Lambda)$ up to the frequency $\Lambda$."""
    found = fourier.sampled_spectrum(f.of_point, f.lo, f.hi, points)
    claimed = (f.spectrum or Spectrum.unknown()).first_moment
    total = Enclosure.equal(found.up_to(found.cut))
    cuts = tuple(found.cut / 2**k for k in (3, 2, 1, 0))
    truncated = tuple(Enclosure.equal(found.up_to(c)) for c in cuts)
    closed = fourier.gaussian_norm(dimension)
    witness = fourier.steeper_than(f.of_point, f.lo, f.hi, claimed)
    stretched = fourier.stretched_norm(f.of_point, f.lo, f.hi, points, scale)
    return Evidence(
        claims=(
            AtMost("∫|ω||f̂| up to Λ ≤ C_f", total, claimed, witness=witness, rtol=SMALL),
            Converges("∫|ω||f̂| up to Λ", claimed, truncated, cuts, SMALL * total.hi),
            Identity("s C of f(·/s) = C_f", Enclosure.equal(stretched), total, rtol=1e-6),
        ),
        examples=partial(_closed_forms, dimension, cut),
        as_printed=(
            Identity(
                "∫ f e^(−i⟨ω,x⟩) dx gives the same norm", closed, closed * (2 * pi) ** dimension
            ),
        ),
        charts=(draw_truncated_norm(found, f.name, claimed.hi),),
        numbers={"C_f": total},
        summary=f"{f.name}: {total.middle:.7g} up to Λ = {found.cut:.4g}",
    )


def _closed_forms(dimension: int, cut: float) -> Examples:
    """The Gaussian and the hat function: closed forms beside integrals with proved error bounds."""
    gaussian = fourier.gaussian_norm(dimension)
    by_integral = fourier.gaussian_norm_by_integral(dimension)
    hat_up_to = fourier.hat_norm(cut)
    return Examples(
        claims=(
            Identity("Gaussian: closed form and radial integral", gaussian, by_integral),
            Identity(
                "hat up to Λ: closed form and integral",
                hat_up_to,
                fourier.hat_norm_by_integral(cut),
            ),
        ),
        charts=(_draw_gaussian_norms(),),
        numbers={"Gaussian in d": gaussian, "hat up to Λ": hat_up_to},
    )


def _draw_gaussian_norms(most: int = 20) -> Curves:
    """The norm of the Gaussian against dimension, in Barron's convention and in the other one."""
    d = list(range(1, most + 1))
    norms = [fourier.gaussian_norm(k).middle for k in d]
    return draw_curves(
        "Barron norm of a Gaussian",
        d,
        x="dimension d",
        y="C_f",
        log="y",
        measured={"Barron's convention": norms},
        reference={"times (2π)^d": [norm * (2 * pi) ** k for k, norm in zip(d, norms)]},
    )
