"""Runge's phenomenon: more equispaced points make the polynomial through them worse."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

import jax
import numpy as np
from flint import arb  # type: ignore[import-untyped]

from ftheta.logic import (
    AtMost,
    Claim,
    Converges,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Target
from ftheta.subjects.continuity import finite_on_interval

from .charts import (
    MOST_DEGREE,
    SHOWN,
    draw_errors,
    draw_lebesgue_constants,
    draw_panel,
    draw_points,
)
from .interval_function import IntervalFunction, extend_broken_line, train_network
from .nodes import KINDS, Interpolant, lebesgue_constant, lebesgue_point
from .runge_function import Runge
from .sampled_function import SampledFunction

ROWS = 80
BEYOND = 2.0  # half-width of the panel of extrapolation, in half-widths of the interval


def make_runge_function(
    rng: np.random.Generator,
    *,
    steepness: Annotated[
        float, Knob(1, 400, "steepness of the function", "a", log=True, least=0.05, most=1e4)
    ] = 25.0,
) -> Target:
    return Target(f"1/(1 + {steepness:g}x²)", Runge(steepness), (-1.0,), (1.0,))


def make_steep_function(rng: np.random.Generator) -> Target:
    return make_runge_function(rng, steepness=400.0)


def carry_to_unit_interval(f: Target) -> IntervalFunction:
    """The target as a function on [-1, 1]; Runge's own is known in closed form."""
    lo = float(f.lo[0])
    hi = float(f.hi[0])
    at = jax.jit(jax.vmap(f.f))

    def values(t: np.ndarray) -> np.ndarray:
        return np.asarray(at((lo + hi) / 2 + (hi - lo) / 2 * np.asarray(t))).reshape(len(t), -1)[
            :, 0
        ]

    exact = f.f if isinstance(f.f, Runge) and (lo, hi) == (-1.0, 1.0) else None
    return IntervalFunction(f.name, SampledFunction(values), exact, lo, hi)


@hypothesis(
    "one variable, finite values; of points, different abscissae",
    remedy=f"give a function of one number, or up to {ROWS} rows",
)
def on_the_line(given: Target | Dataset) -> Finding:
    if isinstance(given, Target):
        return finite_on_interval(given)
    columns = int(np.prod(given.x.shape[1:]))
    rows = len(given)
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
    f = carry_to_unit_interval(given)
    if f.exact is not None:
        note = f"poles at ρ = {float(f.exact.rho):.6g}, ρ = {ellipse:g}"
        return Finding.decide(f.exact.on_ellipse(ellipse)[0], note, "closed form of 1/(1 + ax²)")
    excess, k = f.sampled.excess(ellipse)
    note = f"Chebyshev coefficients are at most {excess:.3g} times 2Mρ⁻ᵏ (at k = {k})"
    number = Enclosure.measured(excess, samples=256)
    return Finding.sampled(note, number) if excess <= 1 + 1e-9 else Finding.failed(note, number)


@theorem(
    title="Runge's phenomenon",
    gist="The polynomial through more and more equispaced points can be ever worse between them, while good nodes "
    "or a broken line do well: fitting all the data says nothing until one says how.",
    see_also=(
        "extrapolation-ood",
        "double-descent",
        "stone-weierstrass",
        "cpa-1d-one-hidden-layer",
    ),
    sources=("murari-slides", "trefethen2013"),
    assumes=(on_the_line, analytic),
    on=make_runge_function,
    breaks_on=make_steep_function,
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
    ellipse: Annotated[
        float, Knob(1.01, 3, "sum of the semi-axes of the ellipse", "ρ", least=1.001, most=100)
    ] = 1.2,
    steps: Annotated[int, Knob(0, 5000, "steps of Adam for the network", "K", most=50_000)] = 1500,
) -> Evidence:
    r"""Let $p_n$ be the polynomial through $n+1$ nodes of a continuous $f$ on $[-1,1]$, $\Lambda_n=\max_x\sum_k|\ell_k
    (x)|$ and $E_n=\min_{\deg q\le n}\|f-q\|_\infty$: then $$\|f-p_n\|_\infty\le(1+\Lambda_n)E_n.$$ For equispaced nodes
    $\Lambda_n\ge2^{n-2}/n^2$; for Chebyshev nodes $\Lambda_n\le\frac2\pi\ln(n+1)+1$ and, if $|f|\le M$ in the ellipse
    of $\rho$, $\|f-p_n\|_\infty\le\frac{4M\rho^{-n}}{\rho-1}$. For $f=\frac1{1+ax^2}$ and $\rho_*=\frac{1+\sqrt{1+a}}
    {\sqrt a}$, $E_n=\frac{a}{2(a+1)}\rho_*^{-2\lfloor n/2\rfloor}$; at equispaced nodes $p_n$ diverges if $a\ge3.63$,
    for $a=25$ as $1.49^n$."""
    if isinstance(given, Dataset):
        return _interpolate(
            given.x.reshape(-1).astype(float), np.asarray(given.y, float).reshape(-1), given.name
        )
    f = carry_to_unit_interval(given)
    errors = {kind: f.error(kind, degree) for kind in KINDS}
    constants = {kind: lebesgue_constant(kind, degree) for kind in KINDS}
    best = f.best_error(degree)
    line = f.line_error(degree)
    claims: list[Claim] = [
        AtMost(
            f"error of the polynomial, {kind} nodes ≤ (1 + Λ)E",
            errors[kind],
            (constants[kind] + 1) * best,
        )
        for kind in KINDS
    ]
    claims.append(_claim_analytic(f, degree, ellipse))
    if f.exact is not None:
        claims += _claim_runge(f.exact, f.sampled, degree, best)
    network = train_network(f.sampled, degree, rng, steps)
    numbers = {
        "error, equispaced": errors["equispaced"],
        "error, Chebyshev": errors["Chebyshev"],
        "Λ, equispaced": constants["equispaced"],
        "Λ, Chebyshev": constants["Chebyshev"],
        "best error": best,
        "error of the broken line": line,
        "error of the network": _measure_error(network, f.sampled),
    }
    if f.exact is not None:
        numbers |= {
            "ρ": Enclosure.ball(f.exact.rho),
            "growth factor": Enclosure.equal(f.exact.growth),
        }
    return Evidence(
        claims=tuple(claims),
        charts=(
            draw_panel(f, degree, network, 1.0, "interpolation"),
            draw_panel(f, degree, network, BEYOND, "extrapolation"),
            draw_errors(f, degree, ellipse),
        ),
        numbers=numbers,
        summary=f"degree {degree}: error {errors['equispaced'].lo:.5g} through equispaced nodes (Λ = "
        f"{constants['equispaced'].lo:.5g}), {errors['Chebyshev'].lo:.5g} through Chebyshev nodes (Λ = "
        f"{constants['Chebyshev'].lo:.5g}), {line.lo:.5g} for the broken line of ReLUs",
        examples=partial(_examples, degree, constants),
    )


# ---- claims about a function ----------------------------------------------------------------------------------------


def _claim_analytic(f: IntervalFunction, n: int, ellipse: float) -> AtMost:
    r"""$\|f-p_m\|\le\frac{4M\rho^{-m}}{\rho-1}$ for Chebyshev nodes, at the worst of a few degrees."""
    size = f.on_ellipse(ellipse)
    pairs = []
    for m in sorted({max(n // 2, 1), n, min(2 * n, MOST_DEGREE), min(4 * n, MOST_DEGREE)}):
        scale = Enclosure.ball(4 / arb(ellipse) ** m / (arb(ellipse) - 1))
        pairs.append((m, f.error("Chebyshev", m), size * scale))
    m, error, bound = max(pairs, key=lambda p: p[1].lo / max(p[2].lo, 1e-300))
    return AtMost(
        f"error at Chebyshev nodes, degree {m} ≤ 4Mρ⁻ⁿ/(ρ − 1), ρ = {ellipse:g}", error, bound
    )


def _claim_runge(f: Runge, sampled: SampledFunction, n: int, best: Enclosure) -> list[Claim]:
    """What is known of Runge's function alone: the best error, the broken line, the factor of the divergence."""
    seen = Enclosure.equal(sampled.best_error(n).lo)
    scales = (25, 50, 100, 200, 400)
    x = np.cos(np.linspace(0, np.pi / 2, 20_001))

    def largest(m: int) -> float:
        return float(np.abs(f.errors_at("equispaced", m, x)).max())

    factors = tuple(Enclosure.equal((largest(m + 2) / largest(m)) ** 0.5) for m in scales)
    bend = Enclosure.exact(f.a) / Enclosure.exact(n * n)  # h = 2/n, and max|f″| = |f″(0)| = 2a
    what = "(error at degree m + 2 / error at degree m)^½, equispaced nodes"
    return [
        AtMost("least error on 571 points ≤ E = a ρ^(−2⌊n/2⌋)/(2(a + 1))", seen, best, atol=1e-9),
        AtMost("error of the broken line ≤ h²/8 · max|f″|", f.bent_line_error(n), bend),
        Converges(what, Enclosure.equal(f.growth), factors, scales, 0.02 * f.growth),
    ]


def _measure_error(network: Callable[[np.ndarray], np.ndarray], f: SampledFunction) -> Enclosure:
    x, y = f.grid
    return Enclosure.at_least(float(np.abs(network(x) - y).max()), samples=len(x))


def _examples(n: int, found: Mapping[str, Enclosure]) -> Examples:
    r"""Lebesgue constants are about nodes, whatever the function: $\Lambda\le\frac2\pi\ln(n+1)+1$ at Chebyshev nodes,
    $\frac{2^{n-2}}{n^2}<\Lambda$ at equispaced ones."""
    slow = Enclosure.ball(2 / arb.pi() * arb(n + 1).log() + 1)
    fast = Enclosure.ball(arb(2) ** (n - 2) / n**2)
    claims = (
        AtMost("Λ at Chebyshev nodes ≤ (2/π) ln(n + 1) + 1", found["Chebyshev"], slow),
        AtMost("2ⁿ⁻²/n² ≤ Λ at equispaced nodes", fast, found["equispaced"]),
    )
    return Examples(claims, (draw_lebesgue_constants(n),))


# ---- points of one's own --------------------------------------------------------------------------------------------


def _interpolate(x: np.ndarray, y: np.ndarray, name: str) -> Evidence:
    """Points with different abscissae: what the polynomial through them does between them, and to their errors."""
    order = np.argsort(x)
    x = x[order]
    y = y[order]
    t = (x - (x[0] + x[-1]) / 2) / ((x[-1] - x[0]) / 2)
    p = Interpolant(t, y)
    at, constant = lebesgue_point(t, -1, 1)
    # labels moved by the signs of the cardinal functions move the polynomial by Λ at this point; they are moved by as
    # much as they are large, that rounding does not swallow it
    scale = max(float(np.abs(y).max()), 1e-300)
    shaken = Interpolant(t, y + scale * np.sign(p.cardinal(at)))
    moved = float(shaken(np.array([at]))[0] - p(np.array([at]))[0]) / scale
    highest = float(np.abs(p(np.linspace(-1, 1, SHOWN))).max())
    claims = (
        Identity(
            "change of the polynomial at the worst point when labels move by ±1 = Λ",
            Enclosure.equal(moved),
            Enclosure.equal(constant),
            rtol=1e-6,
        ),
        AtMost(
            "largest |p| between the points ≤ Λ max|y|",
            Enclosure.at_least(highest, samples=SHOWN),
            Enclosure.at_least(constant * scale),
        ),
    )
    left_out = [_leave_out(t, y, k) for k in range(1, len(t) - 1)]
    by_polynomial, by_line = np.abs(np.array(left_out or [(0.0, 0.0)])).mean(0)
    numbers = {
        "Λ": constant,
        "largest |p|": highest,
        "largest |y|": scale,
        "left-out error, polynomial": float(by_polynomial),
        "left-out error, broken line": float(by_line),
    }
    return Evidence(
        claims=claims,
        charts=(draw_points(name, x, y),),
        numbers=numbers,
        summary=f"the polynomial through {len(x)} points amplifies errors by up to {constant:.5g}, the broken line by "
        f"1; leaving a row out costs {by_polynomial:.4g} against {by_line:.4g}",
    )


def _leave_out(t: np.ndarray, y: np.ndarray, k: int) -> tuple[float, float]:
    """The errors at an inner point of the polynomial and of the broken line through all others."""
    others = np.arange(len(t)) != k
    point = t[k : k + 1]
    return (
        float(Interpolant(t[others], y[others])(point)[0] - y[k]),
        float(extend_broken_line(t[others], y[others], point)[0] - y[k]),
    )
