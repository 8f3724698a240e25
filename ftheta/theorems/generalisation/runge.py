"""Runge's phenomenon: more equispaced points make the polynomial through them worse."""

from typing import Annotated

import jax
import numpy as np

from ftheta.generalisation.shift.runge_function import Runge
from ftheta.generalisation.shift.runge_study import Studied, data_evidence, evidence
from ftheta.generalisation.shift.sampled_function import SampledFunction
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Target
from ftheta.subjects.continuity import finite_on_interval

ROWS = 80


def runge_function(
    rng: np.random.Generator,
    *,
    steepness: Annotated[float, Knob(1, 400, "steepness of the function", "a", log=True, least=0.05, most=1e4)] = 25.0,
) -> Target:
    return Target(f"1/(1 + {steepness:g}x²)", Runge(steepness), (-1.0,), (1.0,))


def pole_inside(rng: np.random.Generator) -> Target:
    return runge_function(rng, steepness=400.0)


def studied(f: Target) -> Studied:
    lo, hi = float(f.lo[0]), float(f.hi[0])
    at = jax.jit(jax.vmap(f.f))
    values = lambda t: np.asarray(at((lo + hi) / 2 + (hi - lo) / 2 * np.asarray(t))).reshape(len(t), -1)[:, 0]
    exact = f.f if isinstance(f.f, Runge) and (lo, hi) == (-1.0, 1.0) else None
    return Studied(f.name, SampledFunction(values), exact, lo, hi)


@hypothesis(
    "one variable, finite values; of points, different abscissae",
    remedy=f"give a function of one number, or up to {ROWS} rows",
)
def on_the_line(given: Target | Dataset) -> Finding:
    if isinstance(given, Target):
        return finite_on_interval(given)
    columns, rows = int(np.prod(given.x.shape[1:])), len(given)
    good = columns == 1 and given.y is not None and given.y.size == rows and 4 <= rows <= ROWS
    different = len(np.unique(given.x)) == rows
    note = f"{rows} rows of {columns}, {len(np.unique(given.x))} different; asked: 4 to {ROWS} with one label each"
    return Finding.decide(good and different, note, "counted")


@hypothesis(
    r"$f$ is analytic inside the ellipse with foci at the ends of the interval and sum of semi-axes $\rho$",
    remedy="take a smaller --ellipse, or a smoother function",
)
def analytic(given: Target | Dataset, *, ellipse: float) -> Finding:
    if isinstance(given, Dataset) or given.dimension != 1:
        return Finding.proved("nothing is said of a function on a line", "an empty statement")
    f = studied(given)
    if f.exact is not None:
        note = f"poles at ρ = {float(f.exact.rho):.6g}, ρ = {ellipse:g}"
        return Finding.decide(f.exact.on_ellipse(ellipse)[0], note, "closed form of 1/(1 + a²x²)")
    excess, k = f.sampled.excess(ellipse)
    note = f"Chebyshev coefficients are at most {excess:.3g} times 2Mρ⁻ᵏ (at k = {k})"
    number = Enclosure.measured(excess, samples=256)
    return Finding.sampled(note, number) if excess <= 1 + 1e-9 else Finding.failed(note, number)


@theorem(
    title="Runge's phenomenon",
    sources=("seed 2", "trefethen2013"),
    assumes=(on_the_line, analytic),
    on=runge_function,
    breaks_on=pole_inside,
    presets={
        "textbook": {},
        "five": {"degree": 5},
        "twenty": {"degree": 20},
        "tame": {"steepness": 3.0, "ellipse": 1.6},
        "at the edge": {"ellipse": 1.219, "degree": 30},
        "broken on purpose": {"ellipse": 1.5},
    },
)
def runge(
    given: Target | Dataset,
    rng: np.random.Generator,
    *,
    degree: Annotated[int, Knob(2, 40, "degree of the polynomials", "n", most=60)] = 10,
    ellipse: Annotated[float, Knob(1.01, 3, "sum of the semi-axes of the ellipse", "ρ", least=1.001, most=100)] = 1.2,
    steps: Annotated[int, Knob(0, 5000, "steps of Adam for the network", "K", most=50_000)] = 1500,
) -> Evidence:
    r"""Let $p_n$ be the polynomial through $n+1$ nodes of a continuous $f$ on $[-1,1]$, $\Lambda_n=\max_x\sum_k|\ell_k
    (x)|$ and $E_n=\min_{\deg q\le n}\|f-q\|_\infty$: then $$\|f-p_n\|_\infty\le(1+\Lambda_n)E_n.$$ For equispaced nodes
    $\Lambda_n\ge2^{n-2}/n^2$; for Chebyshev nodes $\Lambda_n\le\frac2\pi\ln(n+1)+1$ and, if $|f|\le M$ in the ellipse
    of $\rho$, $\|f-p_n\|_\infty\le\frac{4M\rho^{-n}}{\rho-1}$. For $f=\frac1{1+ax^2}$ and $\rho_*=\frac{1+\sqrt{1+a}}
    {\sqrt a}$, $E_n=\frac{a}{2(a+1)}\rho_*^{-2\lfloor n/2\rfloor}$; equispaced ones diverge, for $a=25$ as $1.49^n$."""
    if isinstance(given, Dataset):
        return data_evidence(given.x.reshape(-1).astype(float), np.asarray(given.y, float).reshape(-1), given.name)
    return evidence(studied(given), rng, degree, ellipse, steps)
