"""Langevin dynamics forget where they began at the rate of the convexity of the potential."""

from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Annotated

import numpy as np
from flint import acb, arb, ctx

from ftheta.estimates import worst_ratio
from ftheta.flows.diffusion.langevin import spectral_gap
from ftheta.flows.mixtures import Mixture
from ftheta.lazy import jax
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
    Motion,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Training
from ftheta.subjects.hypotheses import proved_range
from ftheta.theorems.charts_generative import FRAMES
from ftheta.theorems.knobs import BumpDistance, Coordinates
from ftheta.theorems.laws import mixture_of, place_bumps

from .gaussians import decay, divergence, wasserstein

BITS = 128
CHAIN = 60  # steps of the two coupled chains
PARTICLES = 100
PICTURED = 3.0  # units of time of the moving picture, or one step per frame
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def target(
    rng: np.random.Generator,
    *,
    components: Annotated[int, Knob(1, 4, "number of bumps of the target", "k", most=64)] = 1,
    separation: BumpDistance = 2.0,
    spread: Annotated[
        float, Knob(0.2, 2, "standard deviation of each bump", "s", least=1e-2, most=100)
    ] = 1.0,
    dimension: Coordinates = 1,
) -> Measure:
    atoms = place_bumps(components, separation, dimension)
    return Measure(
        f"{components} bumps of spread {spread:g}",
        atoms,
        np.full(components, 1 / components),
        spread,
    )


def two_wells(rng: np.random.Generator) -> Measure:
    """The negative control: between two distant bumps the potential is concave, and crossing takes long."""
    return target(rng, components=2, separation=2.0, spread=0.5)


def _convexity(law: Mixture) -> Fraction:
    r"""$\frac1{s^2}-\frac{R^2}{4s^4}$ with $R$ the diameter of the atoms: no curvature of $-\log p$ is below it, as the
    variance of an atom in any direction is at most $R^2/4$ (Popoviciu)."""
    v = Fraction(law.variance)
    widest = max(
        (_square(a, b) for a in law.atoms.tolist() for b in law.atoms.tolist()), default=Fraction(0)
    )
    return 1 / v - widest / (4 * v**2)


def _square(a: list[float], b: list[float]) -> Fraction:
    return sum(((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(a, b)), Fraction(0))


@hypothesis(
    r"$\nabla^2V\succeq\alpha I$ with $\alpha>0$",
    remedy="bring the bumps closer than twice their spread; of a training state mu",
    name="a strongly convex potential",
)
def strongly_convex(given: Measure | Training) -> Finding:
    if isinstance(given, Training):
        lo, _, why = proved_range(given)
        note = f"the least curvature is {lo:.6g}"
        if lo <= 0:
            return Finding.failed(note, Enclosure.equal(lo))
        return Finding.proved(note, why, basis=Basis.FLOAT) if why else Finding.sampled(note)
    if not given.spread > 0:
        return Finding.failed("discrete data have no potential")
    alpha = _convexity(mixture_of(given))
    note = f"α = 1/s² − R²/4s⁴ = {float(alpha):.6g}"
    return Finding.decide(
        alpha > 0, note, "a bound of every curvature, in rationals", basis=Basis.EXACT
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Langevin dynamics and log-Sobolev inequalities",
    gist="On a strongly convex potential Langevin dynamics converge exponentially fast, at the rate of the convexity; "
    "between two distant wells they take exponentially long.",
    see_also=("girsanov", "gd-strongly-convex", "diffusion-score"),
    sources=("bakry2014", "vempala2019"),
    assumes=(strongly_convex,),
    on=target,
    breaks_on=two_wells,
    presets={
        "textbook": {},
        "narrow target": {"spread": 0.5},
        "two bumps, one well": {"components": 2, "separation": 0.7},
        "coarse steps": {"step": 1.0},
        "broken on purpose": {"components": 2, "spread": 0.5},
    },
)
def langevin_log_sobolev(
    given: Measure | Training,
    rng: np.random.Generator,
    *,
    start: Annotated[
        float, Knob(-5, 5, "mean of the start, first coordinate", "m", least=-1e3, most=1e3)
    ] = 2.0,
    start_spread: Annotated[
        float, Knob(0.2, 5, "standard deviation of the start", "s₀", log=True, least=1e-2, most=1e3)
    ] = 2.0,
    time: Annotated[float, Knob(0, 3, "time", "t", most=50)] = 0.5,
    step: Annotated[
        float,
        Knob(
            0.01,
            1.5,
            "step of the discretisation, in units of 1/L",
            "h",
            log=True,
            least=1e-4,
            most=1.9,
        ),
    ] = 0.1,
) -> Evidence:
    r"""Let $dx=-\nabla V\,dt+\sqrt2\,dW$ with $\pi\propto e^{-V}$. Then
    $\frac d{dt}\mathrm{KL}(p_t\|\pi)=-I(p_t\|\pi)$, and if $\nabla^2V\succeq\alpha I$,
    $$\mathrm{KL}(p_t\|\pi)\le e^{-2\alpha t}\,\mathrm{KL}(p_0\|\pi),\qquad W_2(p_t,\pi)\le e^{-\alpha
    t}\,W_2(p_0,\pi),$$ and $\alpha\,\mathrm{Var}_\pi f\le\mathbb E_\pi|\nabla f|^2$. Steps $x-h\nabla V+\sqrt{2h}\,\xi$
    with $h\le2/(\alpha+L)$ contract by $1-h\alpha$; on $V=x^2/2$ they end with the variance $\frac1{1-h/2}$, not 1."""
    if isinstance(given, Training):
        return _judge_potential(given, rng, step)
    law = mixture_of(given)
    alpha = _convexity(law)
    # forced: what each bump alone would give
    rate = alpha if alpha > 0 else 1 / Fraction(law.variance)
    claims: list[Claim] = [_claim_poincare(law, rate)]
    numbers: Numbers = {"convexity": Enclosure.exact(rate)}
    if len(law.atoms) == 1:
        more, found = _enclose_decay(law, start, start_spread, time)
        claims += [*more, _claim_discrete_variance(law, step)]
        numbers |= found | {"ULA variance": _discrete_variance(law, step)}
    claims.append(_claim_contraction(law, rate, step, rng))
    return Evidence(
        claims=tuple(claims),
        charts=(
            _draw_particles(law, start, start_spread, step, rng),
            _draw_decay(law, start, start_spread, float(rate)),
        ),
        numbers=numbers,
        summary=f"α = {float(rate):.6g}: the divergence halves at least every {np.log(2) / 2 / float(rate):.4g} units "
        f"of time",
        examples=_examples,
    )


# ---- one Gaussian, in balls ------------------------------------------------------------------------------------------


def _enclose_decay(
    law: Mixture, start: float, spread: float, t: float
) -> tuple[list[Claim], Numbers]:
    """Divergence, information and distance along the way, all Gaussian."""
    d = law.atoms.shape[1]
    with ctx.workprec(BITS):
        s2 = arb(law.variance)
        at_start = decay(law, start, spread, 0.0)
        at_end = decay(law, start, spread, t)
        before, after = (divergence(law, *state) for state in (at_start, at_end))
        fade = (-arb(t) / s2).exp()

        def information(u: acb, _: bool) -> acb:
            shrink = (-2 * u / s2).exp()
            v = s2 + (arb(spread) ** 2 - s2) * shrink
            return at_start[0] * shrink / s2**2 + d * (v - s2) ** 2 / (v * s2**2)

        spent = acb.integral(information, 0, arb(t)).real
        claims: list[Claim] = [
            _claim_decay("KL_t ≤ e^(−2αt) KL₀", after, fade**2 * before),
            _claim_decay(
                "W₂(t) ≤ e^(−αt) W₂(0)",
                wasserstein(law, *at_end),
                fade * wasserstein(law, *at_start),
            ),
            Identity(
                "KL₀ − KL_t = ∫ I dt",
                Enclosure.ball(before - after),
                Enclosure.ball(spent),
                atol=1e-12,
            ),
        ]
        numbers: Numbers = {
            "KL at t": Enclosure.ball(after),
            "bound of KL at t": Enclosure.ball(fade**2 * before),
            "KL at 0": Enclosure.ball(before),
        }
    return claims, numbers


def _claim_decay(what: str, left: arb, right: arb) -> Claim:
    """Where the two agree (at time 0, or for a start of the target's own spread) balls cannot tell which is larger:
    then the claim is that of their middles, up to rounding."""
    if left < right or left > right:
        return AtMost(what, Enclosure.ball(left), Enclosure.ball(right))
    return AtMost(
        what, Enclosure.equal(float(left.mid())), Enclosure.equal(float(right.mid())), atol=1e-15
    )


def _discrete_variance(law: Mixture, step: float) -> Enclosure:
    r"""$\frac{s^2}{1-h/2s^2}$ with $h$ in units of $s^2$: where the discretised chain ends."""
    return Enclosure.exact(Fraction(law.variance) / (1 - Fraction(step) / 2))


def _claim_discrete_variance(law: Mixture, step: float) -> Claim:
    """The variance after as many steps as it takes, beside the closed form."""
    v = 0.0
    steps = int(40 / step) + 1 if step <= 1 else int(40 / (2 - step)) + 1
    for _ in range(steps):
        v = (1 - step) ** 2 * v + 2 * step * law.variance
    what = f"variance of the discretised chain, {steps} steps = s²/(1 − h/2)"
    return Identity(what, Enclosure.equal(v), _discrete_variance(law, step))


# ---- any law ---------------------------------------------------------------------------------------------------------


def _claim_poincare(law: Mixture, rate: Fraction) -> Claim:
    r"""The inequality for $f(x)=x_1$, in rationals: $\alpha\,\mathrm{Var}(x_1)\le1$."""
    weights = [Fraction(w) for w in law.weights.tolist()]
    total = sum(weights, Fraction(0))
    first = [Fraction(a) for a in law.atoms[:, 0].tolist()]
    centre = sum((w * a for w, a in zip(weights, first)), Fraction(0)) / total
    between = sum((w * (a - centre) ** 2 for w, a in zip(weights, first)), Fraction(0)) / total
    variance = Fraction(law.variance) + between
    return AtMost("α Var(x₁) ≤ 1", Enclosure.exact(rate * variance), Enclosure.exact(1))


def _claim_contraction(
    law: Mixture, rate: Fraction, step: float, rng: np.random.Generator
) -> Claim:
    """Two chains with the same noise, in steps that both end of the curvature allow."""
    h = step * law.variance  # 1/s² is the largest curvature

    def gradient(x: np.ndarray) -> np.ndarray:
        return -law.score(x[None])[0]

    return _couple(
        gradient, law.atoms[0] + 3.0, law.atoms[0] - 2.0, h, (float(rate), 1 / law.variance), rng
    )


def _couple(
    gradient: object,
    x: np.ndarray,
    y: np.ndarray,
    h: float,
    range_of_curvature: tuple[float, float],
    rng: np.random.Generator,
) -> Claim:
    """The distance of two chains with the same noise against its bound, where it comes nearest."""
    assert callable(gradient)
    factor = max(abs(1 - h * curvature) for curvature in range_of_curvature)
    distances = [float(np.linalg.norm(x - y))]
    for _ in range(CHAIN):
        noise = sqrt(2 * h) * rng.normal(size=x.shape)
        x = x - h * np.asarray(gradient(x)) + noise
        y = y - h * np.asarray(gradient(y)) + noise
        distances.append(float(np.linalg.norm(x - y)))
    bounds = distances[0] * factor ** np.arange(CHAIN + 1)
    rounding = 1e-12 * (1 + distances[0] + float(np.linalg.norm(x)))
    ratio = worst_ratio(np.array(distances), bounds, rounding)
    what = f"distance of two chains ÷ max(|1 − hα|, |1 − hL|)^k, worst of {CHAIN} steps"
    return AtMost(what, Enclosure.measured(ratio, samples=CHAIN), Enclosure.exact(1))


def _judge_potential(run: Training, rng: np.random.Generator, step: float) -> Evidence:
    """Two coupled chains on a potential that was handed in."""
    alpha, smoothness, _ = proved_range(run)
    h = step / smoothness
    gradient = jax.jit(jax.grad(run.objective))
    start = np.asarray(run.start, np.float64)
    other = start + rng.normal(size=start.shape)
    claim = _couple(gradient, start, other, h, (alpha, smoothness), rng)
    t = np.linspace(0, 3 / alpha, 60)
    bound = Series("bound of KL_t ÷ KL₀", t, np.exp(-2 * alpha * t), "bound")
    chart = Curves("forgetting the start", Axis("time t"), Axis("ratio", "log"), (bound,))
    numbers: Numbers = {
        "convexity": alpha,
        "largest curvature": smoothness,
        "largest step": 2 / (alpha + smoothness),
    }
    summary = f"α = {alpha:.6g}, L = {smoothness:.6g}: steps up to {2 / (alpha + smoothness):.4g} contract"
    return Evidence(claims=(claim,), charts=(chart,), numbers=numbers, summary=summary)


# ---- examples and charts ---------------------------------------------------------------------------------------------


def _examples() -> Examples:
    """Two wells: the spectral gap is far below the curvature of either."""
    wells = Mixture(np.array([[-2.0], [2.0]]), np.full(2, 0.5), 0.25)
    one = Mixture(np.zeros((1, 1)), np.ones(1), 0.25)
    gap = spectral_gap(wells)
    claims = (
        AtMost(
            "two wells ½N(±2, ¼): gap ≤ 1/Var(x)",
            Enclosure.equal(gap),
            Enclosure.exact(Fraction(4, 17)),
        ),
        Identity(
            "one well N(0, ¼): gap = 4",
            Enclosure.equal(spectral_gap(one)),
            Enclosure.exact(4),
            rtol=1e-7,
        ),
    )
    return Examples(claims=claims, numbers={"spectral gap of two wells": gap})


def _draw_particles(
    law: Mixture, start: float, spread: float, step: float, rng: np.random.Generator
) -> Motion:
    """Particles that take Langevin steps: on the line at the height of the potential, else in the plane."""
    d = law.atoms.shape[1]
    x = spread * rng.normal(size=(PARTICLES, d))
    x[:, 0] += start
    h = step * law.variance
    every = max(1, int(np.ceil(PICTURED / (h * FRAMES))))
    course = [x]
    for _ in range(FRAMES - 1):
        for _ in range(every):
            x = x + h * law.score(x) + np.sqrt(2 * h) * rng.normal(size=x.shape)
        course.append(x)
    places = np.stack(course)
    times = h * every * np.arange(FRAMES)
    if d > 1:
        return Motion(
            "Langevin steps",
            Axis("x₁"),
            Axis("x₂"),
            times,
            places[:, :, 0],
            places[:, :, 1],
            ways=False,
        )
    reach = float(np.abs(places).max())
    grid = np.linspace(-reach, reach, 200)
    potential = tuple(zip(grid.tolist(), (-law.log_density(grid[:, None])).tolist()))
    heights = -law.log_density(places.reshape(-1, 1)).reshape(places.shape[:2])
    title = "particles in the potential V = −log p"
    return Motion(
        title, Axis("x"), Axis("V"), times, places[:, :, 0], heights, lines=(potential,), ways=False
    )


def _draw_decay(law: Mixture, start: float, spread: float, rate: float) -> Curves:
    """The divergence and its bound against time; of several bumps the bound alone."""
    t = np.linspace(0, 3 / rate, 60)
    bound = Series("bound", t, np.exp(-2 * rate * t), "bound")
    lines = [bound]
    if len(law.atoms) == 1:
        distance = partial(divergence, law)
        values = np.array(
            [float(distance(*decay(law, start, spread, u)).mid()) for u in t.tolist()]
        )
        lines.append(Series("KL_t ÷ KL₀", t, np.maximum(values / max(values[0], 1e-300), 1e-12)))
    return Curves("forgetting the start", Axis("time t"), Axis("KL_t ÷ KL₀", "log"), tuple(lines))
