"""How far the samplers of diffusion models are from their limits: DDIM is Euler's method, Heun's is of order two."""

from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.flows.diffusion.samplers import (
    karras_levels,
    linear_alphas,
    noise_levels,
    sample_ddim,
    sample_euler,
    sample_heun,
    thin_alphas,
)
from ftheta.flows.mixtures import Mixture
from ftheta.logic import (
    Axis,
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
from ftheta.theorems.knobs import BumpDistance
from ftheta.theorems.laws import ROWS_ARE_A_LAW, mixture_of, place_bumps
from ftheta.theorems.orders import observed_order

BITS = 128
POINTS = 8  # starting points of the measured orders
FINEST = 256  # steps, and twice as many to compare with
TERMS = 200_000  # entries of the table points × atoms × coordinates that a step may cost


# ---- subjects --------------------------------------------------------------------------------------------------------


def bumps(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 4, "number of bumps", "k", most=64)] = 1,
    separation: BumpDistance = 1.0,
    spread: Annotated[
        float,
        Knob(0.1, 2, "standard deviation of each bump; 0 is discrete data", "s", least=0, most=100),
    ] = 0.5,
) -> Measure:
    atoms = place_bumps(components, separation, 1)
    return Measure(
        f"{components} bumps of spread {spread:g}",
        atoms,
        np.full(components, 1 / components),
        spread,
    )


@hypothesis("each step begins at the level where the one before it ended", remedy="set --shift 0")
def consecutive_steps(measure: Measure, *, shift: int) -> Finding:
    note = f"each step of DDIM ends at an index {shift} off that where the next one begins"
    return Finding.decide(shift == 0, note, "the knob itself", Enclosure.exact(shift))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Orders of diffusion samplers",
    gist="DDIM is Euler's method in disguise and errs in proportion to the step, Heun's method to its square; on "
    "Gaussian data the law that a sampler makes is known in closed form, so any scheduler can be tested against it.",
    see_also=("diffusion-score", "girsanov", "score-matching"),
    sources=("ho2020", "song2021ddim", "karras2022", "song2021"),
    assumes=(consecutive_steps,),
    on=bumps,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "twice as many steps": {"steps": 36},
        "two bumps": {"components": 2},
        "discrete data": {"components": 2, "spread": 0.0},
        "broken on purpose": {"shift": 1},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def sampler_orders(
    measure: Measure,
    rng: np.random.Generator,
    *,
    steps: Annotated[
        int, Knob(4, 100, "steps of Euler's and Heun's method", "n", log=True, least=2, most=1000)
    ] = 18,
    ddim_steps: Annotated[
        int, Knob(5, 500, "steps of DDIM", "m", log=True, least=1, most=1000)
    ] = 50,
    shift: Annotated[
        int, Knob(0, 5, "indices by which DDIM's previous step is wrong", "δ", most=100)
    ] = 0,
) -> Evidence:
    r"""Let $D(x,\sigma)=\mathbb E[x_0\mid x_0+\sigma\xi=x]$. The flow $\frac{dx}{d\sigma}=\frac{x-D(x,\sigma)}\sigma$
    carries the law of $x_0+\sigma\xi$ down to that of $x_0$; Euler's method errs by $O(n^{-1})$, Heun's by $O(n^{-2})$.
    DDIM,
    $$x\mapsto\sqrt{\bar\alpha'}\,\hat x_0+\sqrt{1-\bar\alpha'}\,\hat\xi,$$
    is Euler's method for $x/\sqrt{\bar\alpha}$ down the levels $\sigma=\sqrt{(1-\bar\alpha)/\bar\alpha}$. On data
    $\mathcal N(m,s^2I)$ every step is affine, and $n$ steps multiply deviations by
    $\prod_i\big(1+\frac{\sigma_{i+1}-\sigma_i}{\sigma_i}\,\frac{\sigma_i^2}{s^2+\sigma_i^2}\big)$ (Euler)."""
    law = mixture_of(measure)
    levels = karras_levels(steps)
    alphas = linear_alphas()
    visited = thin_alphas(alphas, ddim_steps)
    claims = [_equate_ddim(law, visited, alphas, shift, rng)]
    numbers: dict[str, Enclosure | float] = {}
    if len(law.atoms) == 1 and law.variance > 0:
        factors, numbers = _multiply_steps(law, levels, visited, alphas)
        claims += _compare_with_products(law, levels, factors)
    sizes, errors = _measure_errors(law, rng)
    for name, order in (("Euler", 1.0), ("Heun", 2.0)):
        claims += observed_order(
            f"error of {name}'s method is O(n^−{order:g})", order, sizes, errors[name], slack=0.3
        )
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_errors(sizes, errors), _draw_levels(levels, noise_levels(visited[:-1]))),
        numbers=numbers,
        summary=_summarise(numbers, steps)
        or f"errors at {sizes[-1]} steps: {errors['Euler'][-1]:.3g} (Euler), {errors['Heun'][-1]:.3g} (Heun)",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _equate_ddim(
    law: Mixture, visited: np.ndarray, alphas: np.ndarray, shift: int, rng: np.random.Generator
) -> Claim:
    """DDIM against Euler's method down its noise levels, from one starting point per coordinate and sign."""
    start = rng.normal(size=(POINTS, law.atoms.shape[1]))
    by_euler = sample_euler(
        law.denoise, start / sqrt(visited[0]), np.append(noise_levels(visited[:-1]), 0.0)
    )
    by_ddim = (
        sample_ddim(law.denoise, start, visited)
        if shift == 0
        else _shifted_ddim(law, start, visited, alphas, shift)
    )
    worst = np.unravel_index(int(np.abs(by_ddim - by_euler).argmax()), start.shape)
    one = float(by_ddim[worst])
    other = float(by_euler[worst])
    size = float(np.abs(law.atoms).max() + np.abs(by_euler).max())
    witness = None
    if shift and len(law.atoms) == 1 and law.variance > 0:
        witness = _shift_witness(law, visited, alphas, shift)
    what = "DDIM = Euler's method, where they differ most"
    return Identity(what, Enclosure.equal(one), Enclosure.equal(other), witness, atol=1e-9 * size)


def _shifted_ends(visited: np.ndarray, alphas: np.ndarray, shift: int) -> np.ndarray:
    """Where each step ends if the previous index is off by `shift`; the last step ends at 1."""
    where = np.searchsorted(-alphas, -visited[1:-1])
    return np.append(alphas[np.maximum(where - shift, 0)], 1.0)


def _shifted_ddim(
    law: Mixture, x: np.ndarray, visited: np.ndarray, alphas: np.ndarray, shift: int
) -> np.ndarray:
    for now, then in zip(visited[:-1], _shifted_ends(visited, alphas, shift)):
        x = sample_ddim(law.denoise, x, np.array([now, then]))
    return x


def _shift_witness(law: Mixture, visited: np.ndarray, alphas: np.ndarray, shift: int) -> Witness:
    """Both methods in balls from the point 1 away from where the mean goes, on one bump: two products that differ."""
    with ctx.workprec(BITS):
        right = _ddim_factor(law, list(pairwise(visited.tolist())))
        wrong = _ddim_factor(
            law, list(zip(visited[:-1].tolist(), _shifted_ends(visited, alphas, shift).tolist()))
        )
    return Witness(
        {"deviation": 1.0},
        Enclosure.ball(wrong),
        Enclosure.ball(right),
        "products of the steps in balls",
    )


def _gain(law: Mixture, sigma: arb) -> arb:
    r"""$\frac{s^2}{s^2+\sigma^2}$, the slope of the denoiser of one bump."""
    v = arb(law.variance)
    return v / (v + sigma**2)


def _euler_factor(law: Mixture, levels: list[float]) -> arb:
    """What Euler's method multiplies deviations from the mean by."""
    product = arb(1)
    for high, low in pairwise(map(arb, levels)):
        product *= 1 + (low - high) / high * (1 - _gain(law, high))
    return product


def _heun_factor(law: Mixture, levels: list[float]) -> arb:
    product = arb(1)
    for high, low in pairwise(map(arb, levels)):
        slope = (1 - _gain(law, high)) / high
        if low > 0:
            slope = (slope + (1 + (low - high) * slope) * (1 - _gain(law, low)) / low) / 2
        product *= 1 + (low - high) * slope
    return product


def _ddim_factor(law: Mixture, steps: list[tuple[float, float]]) -> arb:
    product = arb(1)
    for now, then in ((arb(a), arb(b)) for a, b in steps):
        sigma = ((1 - now) / now).sqrt()
        clean = _gain(law, sigma) / now.sqrt()
        noise = (1 - now.sqrt() * clean) / (1 - now).sqrt()
        product *= then.sqrt() * clean + (1 - then).sqrt() * noise
    return product


def _ddpm_variance(law: Mixture, alphas: list[float], *, posterior: bool) -> arb:
    """The variance that ancestral sampling from a standard normal ends with."""
    variance = arb(1)
    for now, then in pairwise(map(arb, alphas)):
        beta = 1 - now / then
        clean = _gain(law, ((1 - now) / now).sqrt()) / now.sqrt()
        noise = (1 - now.sqrt() * clean) / (1 - now).sqrt()
        factor = (1 - beta / (1 - now).sqrt() * noise) / (1 - beta).sqrt()
        added = beta * (1 - then) / (1 - now) if posterior else beta
        variance = factor**2 * variance + (added if then < 1 else 0)
    return variance


def _multiply_steps(
    law: Mixture, levels: np.ndarray, visited: np.ndarray, alphas: np.ndarray
) -> tuple[dict[str, arb], dict[str, Enclosure | float]]:
    """The factors of the samplers on one bump, and what they make of its deviation and variance."""
    with ctx.workprec(BITS):
        euler = _euler_factor(law, levels.tolist())
        heun = _heun_factor(law, levels.tolist())
        ddim = _ddim_factor(law, list(pairwise(visited.tolist())))
        v = arb(law.variance)
        start = ((arb(float(levels[0])) ** 2 + v) / v).sqrt()
        schedule = np.append(alphas[::-1], 1.0).tolist()
        numbers: dict[str, Enclosure | float] = {
            "deviation, Euler ÷ data": Enclosure.ball(start * euler),
            "deviation, Heun ÷ data": Enclosure.ball(start * heun),
            "variance, DDIM": Enclosure.ball(ddim**2),
            "variance, DDPM with β": Enclosure.ball(_ddpm_variance(law, schedule, posterior=False)),
            "variance, DDPM with posterior variance": Enclosure.ball(
                _ddpm_variance(law, schedule, posterior=True)
            ),
        }
    return {"Euler": euler, "Heun": heun}, numbers


def _compare_with_products(
    law: Mixture, levels: np.ndarray, factors: dict[str, arb]
) -> list[Claim]:
    """What the samplers make of a deviation of one bump, beside the closed product."""
    mean = law.atoms[0]
    away = np.zeros((1, len(mean)))
    away[0, 0] = float(levels[0])
    claims: list[Claim] = []
    for name, sample in (("Euler", sample_euler), ("Heun", sample_heun)):
        moved = sample(law.denoise, mean + away, levels) - mean
        what = f"{name}'s method on a deviation σ_max = the product of its steps"
        expected = Enclosure.ball(factors[name]) * Enclosure.exact(Fraction(float(levels[0])))
        claims.append(
            Identity(
                what,
                Enclosure.equal(float(moved[0, 0])),
                expected,
                atol=1e-9 * float(np.abs(mean).max() + 1),
            )
        )
    return claims


def _measure_errors(
    law: Mixture, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The change of the outputs when the steps are doubled, in root mean square over a few starting points.

    The levels end above 0, where the flow of discrete data would end."""
    n, d = law.atoms.shape
    finest = FINEST if n * d * POINTS <= TERMS else FINEST // 4
    sizes = finest // np.array([8, 4, 2, 1])
    start = karras_levels(2)[0] * rng.normal(size=(POINTS, d))
    errors = {}
    for name, sample in (("Euler", sample_euler), ("Heun", sample_heun)):
        ends = [
            sample(law.denoise, start, karras_levels(int(k))[:-1]) for k in (*sizes, 2 * finest)
        ]
        errors[name] = np.array([sqrt(float(((a - b) ** 2).mean())) for a, b in pairwise(ends)])
    return sizes, errors


# ---- charts ----------------------------------------------------------------------------------------------------------


def _summarise(numbers: dict[str, Enclosure | float], steps: int) -> str:
    if not numbers:
        return ""
    euler, heun = (numbers[f"deviation, {name} ÷ data"] for name in ("Euler", "Heun"))
    assert isinstance(euler, Enclosure) and isinstance(heun, Enclosure)
    ratios = f"{euler.middle:.4g} (Euler), {heun.middle:.4g} (Heun)"
    return f"with {steps} steps the deviation of the samples is {ratios} times that of the data"


def _draw_errors(sizes: np.ndarray, errors: dict[str, np.ndarray]) -> Curves:
    shown = {name: np.maximum(e, 1e-16) for name, e in errors.items()}
    lines = [Series(name, sizes, e) for name, e in shown.items()]
    slopes = [
        Series(
            f"n^−{order}", sizes, shown[name][0] * (sizes / sizes[0]) ** -float(order), "reference"
        )
        for name, order in (("Euler", 1), ("Heun", 2))
    ]
    x = Axis("steps n", "log")
    return Curves(
        "change when the steps are doubled", x, Axis("root mean square", "log"), (*lines, *slopes)
    )


def _draw_levels(levels: np.ndarray, of_ddim: np.ndarray) -> Curves:
    """The noise levels of both schedules against the share of the steps done."""
    karras = levels[levels > 0]
    lines = (
        Series("Karras", np.linspace(0, 1, len(karras)), karras),
        Series("DDIM, linear β", np.linspace(0, 1, len(of_ddim)), of_ddim, "other"),
    )
    return Curves("noise levels", Axis("share of the steps"), Axis("σ", "log"), lines)
