r"""`barron_norm`: $C_f=\int|\omega||\hat f|\,d\omega$ of a function, in closed form where there is one.

A known `Spectrum` gives its first moment; `Gaussian` and `Hat` are proved in balls; anything else is sampled on a box,
which tells the integral over $|\omega|\le\Lambda$ of the periodic function that agrees with it there.
"""

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import jax
import numpy as np

from ftheta.logic.chart import Axis, Curves, Series
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError, UsageError

from .barron import Problem, SampledBall
from .fourier import Spectral, gaussian_norm, hat_norm, sampled_spectrum
from .goal import goal_of

POINTS = {1: 2048, 2: 512, 3: 64}
SETTLED = 1e-3  # share of the integral between Λ/2 and Λ


@dataclass(frozen=True, eq=False)
class BarronNorm:
    r"""What is known of $C_f$: `value` with its basis, `how` it was obtained, and the cut-off $\Lambda$ of samples."""

    name: str
    value: Enclosure
    how: str
    cut: float = inf
    settled: bool = True
    spectrum: Spectral | None = field(default=None, repr=False)

    def __float__(self) -> float:
        return self.value.middle

    def __str__(self) -> str:
        said = (
            f"in [{self.value.lo:.10g}, {self.value.hi:.10g}]"
            if self.value.width
            else f"{self.value.middle:.10g}"
        )
        if self.spectrum is not None and not self.settled:
            said = f"at least about {self.value.lo:.6g}, and still growing: it may be infinite"
        return f"Barron norm of {self.name}: {said}\n  {self.how}"

    def chart(self) -> Curves:
        """The integral up to a frequency, of a norm that was read off samples."""
        if self.spectrum is None:
            raise UsageError("A closed form has no spectrum to draw.", got=self.name)
        return draw_truncated_norm(self.spectrum, self.name, self.value.hi)


def barron_norm(
    f: Any, domain: Any = None, *, points: int | None = None, dimension: int = 1
) -> BarronNorm:
    r"""The Barron norm of a function $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$ (his convention).

    Parameters
    ----------
    f
        "gaussian" ($e^{-|x|^2/2}$ in `dimension` variables) or "hat"; a `Target` with its `Spectrum`; a function, an
        expression or an array of samples (its upper ends left out) that decays or is periodic at the ends of its box.
    domain
        The box `(lo, hi)` of a function or of samples.
    points
        Samples a side.
    """
    if isinstance(f, str) and f.lower() in ("gaussian", "hat"):
        return _closed_form(f.lower(), dimension)
    known = getattr(f, "spectrum", None)
    if known is not None and isfinite(known.first_moment.hi):
        return BarronNorm(
            getattr(f, "name", "f"),
            known.first_moment,
            f"first moment of the spectrum given ({known.first_moment.basis})",
        )
    if isinstance(f, np.ndarray | list | tuple):
        values = np.asarray(f, np.float64)
        lo, hi = (
            np.broadcast_to(np.asarray(end, np.float64), values.ndim).tolist()
            for end in domain or (0.0, 1.0)
        )
        return _from_samples("samples", Spectral.of(values, lo, hi), values.size)
    goal = goal_of(f, domain)
    if goal.dimension not in POINTS:
        raise UsageError(
            "A spectrum is sampled for at most three variables.",
            got=f"dimension {goal.dimension}",
            remedy="give a Target with its Spectrum",
        )
    side = points or POINTS[goal.dimension]
    return _from_samples(
        goal.name, sampled_spectrum(goal.f, goal.lo, goal.hi, side), side**goal.dimension
    )


def _closed_form(name: str, dimension: int) -> BarronNorm:
    if name == "gaussian":
        how = "closed form √2 Γ((d+1)/2)/Γ(d/2), in balls"
        return BarronNorm(f"the Gaussian, d = {dimension}", gaussian_norm(dimension), how)
    growth = hat_norm(1e6)
    how = (
        f"closed form: 2/π (γ + ln Λ − Ci Λ) up to Λ, {growth.middle:.6g} up to 10⁶, without limit"
    )
    return BarronNorm("the hat function", Enclosure.between(inf, inf), how)


def _from_samples(name: str, found: Spectral, samples: int) -> BarronNorm:
    whole = found.up_to(found.cut)
    half = found.up_to(found.cut / 2)
    settled = whole - half <= SETTLED * max(whole, 1e-300)
    ends = "decays" if found.quiet else "is taken to be periodic"
    how = f"{samples:,} samples; it {ends} at the ends of its box; {half:.6g} up to Λ/2, {whole:.6g} up to Λ = "
    value = (
        Enclosure.measured(whole, samples=samples)
        if settled
        else Enclosure(whole, inf, Basis.SAMPLED, samples)
    )
    return BarronNorm(name, value, f"{how}{found.cut:.5g}", found.cut, settled, found)


def problem_of(f: Any, rng: np.random.Generator, points: int) -> Problem:
    """A `Target` minus its value at the centre of its box, on points of the largest ball in the box."""
    if f.spectrum is None:
        raise SubjectError(
            "No spectrum is known.", got=f.name, remedy="give the true `Spectrum` of f"
        )
    lo = np.asarray(f.lo)
    hi = np.asarray(f.hi)
    ball = SampledBall.draw(rng, (lo + hi) / 2, float((hi - lo).min() / 2), points)
    values = jax.vmap(lambda x: f.of_point(x[0] if f.dimension == 1 else x))
    return Problem.on(values, f.spectrum.sample, f.spectrum.first_moment.hi, ball)


def draw_truncated_norm(found: Spectral, name: str, claimed: float) -> Curves:
    """The integral up to a frequency, for this function and for the hat function, which never settles."""
    cuts = np.geomspace(max(found.cut / 1000, 0.1), found.cut, 60)
    mine = [found.up_to(c) for c in cuts]
    series = [
        Series(name, cuts, mine),
        Series("hat function", cuts, [hat_norm(float(c)).middle for c in cuts], "other"),
    ]
    if np.isfinite(claimed):
        series.append(Series("claimed C_f", cuts[[0, -1]], [claimed] * 2, "bound"))
    return Curves(
        "integral up to a frequency", Axis("Λ", "log"), Axis("∫|ω||f̂| up to Λ"), tuple(series)
    )
