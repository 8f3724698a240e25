"""Normalisation shown: slopes orthogonal to the weights, weights that grow, batches against running statistics."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate, largest
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Rate, Series, Table, Witness
from ftheta.logic.claim import RTOL
from ftheta.training.descent import Path, descend
from ftheta.training.methods import steepest

from .normalisation import SCALES, Block

ZERO = Enclosure.exact(0)
FACTOR = 2.0  # the second run starts from this multiple of the weights


def rayleigh(a: Sequence[Fraction], w: Sequence[Fraction]) -> tuple[Any, list[Any]]:
    r"""$L(w)=\langle a,w\rangle^2/\|w\|^2$, the squared output of a weight-normalised unit, and $\nabla L$."""
    s, n = sum(x * y for x, y in zip(a, w)), sum(x * x for x in w)
    return s * s / n, [2 * s * x / n - 2 * s * s * y / (n * n) for x, y in zip(a, w)]


def in_rationals() -> tuple[tuple[Claim, ...], dict[str, Enclosure], tuple[Claim, ...]]:
    """A unit with two weights, the variance of small batches, and layer normalisation as printed."""
    a, w, c = [Fraction(1), Fraction(0)], [Fraction(2), Fraction(1)], Fraction(3)
    value, g = rayleigh(a, w)
    far, scaled = rayleigh(a, [c * x for x in w])
    square = lambda v: sum(x * x for x in v)
    moved = [x - y for x, y in zip(w, g)]
    angle = sum(x * y for x, y in zip(g, w))
    off = max(abs(c * s - x) for s, x in zip(scaled, g)) + abs(far - value)
    biased, variance = batch_variance((Fraction(0), Fraction(1), Fraction(3)), 2)
    claims = (
        Identity("one unit, w = (2, 1): ⟨∇L, w⟩", Enclosure.exact(angle), ZERO),
        Identity("its |L(3w) − L(w)| + largest |3∇L(3w) − ∇L(w)|", Enclosure.exact(off), ZERO),
        Identity("its ‖w₁‖² − ‖w₀‖² − ‖∇L‖², τ = 1", Enclosure.exact(square(moved) - square(w) - square(g)), ZERO),
        Identity(
            "variance of all pairs from {0, 1, 3}, less half of the variance",
            Enclosure.exact(biased - variance / 2),
            ZERO,
        ),
    )
    x = [Fraction(k) for k in range(1, 5)]
    centred = [v - sum(x) / 4 for v in x]
    numbers = {
        "‖w₁‖² of one unit": Enclosure.exact(square(moved)),
        "‖LN(1, 2, 3, 4)‖²": Enclosure.exact(square(centred) / (square(centred) / 4)),
        "LN(1, 2, 3, 4)₁": Enclosure.equal(float(centred[0]) / float(square(centred) / 4) ** 0.5),
        "variance of pairs": Enclosure.exact(biased),
    }
    by_norm = Enclosure.exact(square(centred) / square(centred))
    printed = (Identity("seed 4 divides by the norm: ‖LN(1, 2, 3, 4)‖² and d = 4", by_norm, Enclosure.exact(4)),)
    return claims, numbers, printed


def batch_variance(values: tuple[Fraction, ...], m: int) -> tuple[Any, Any]:
    """The mean variance of all batches of m draws, and that of the population."""
    spread = lambda v: sum(x * x for x in v) / len(v) - (sum(v) / len(v)) ** 2
    batches = list(product(values, repeat=m))
    return sum((spread(b) for b in batches), Fraction(0)) / len(batches), spread(values)


# ---- the loss -------------------------------------------------------------------------------------------------------


def slope_claims(
    objective: Callable[[Any], Any], w: np.ndarray, tolerance: float
) -> tuple[list[Claim], dict[str, float]]:
    """Invariance, a slope orthogonal to the weights, and slopes that shrink as the weights grow."""
    value = jax.value_and_grad(objective)
    here, slope = (np.asarray(v) for v in call_compiled(value, w))
    size = max(float(np.linalg.norm(slope)), 1e-300)
    at = [tuple(np.asarray(v) for v in call_compiled(value, c * w)) for c in SCALES]
    change = largest([abs(float(v - here)) for v, _ in at]) / max(abs(float(here)), 1e-300)
    off = largest([float(np.linalg.norm(c * g - slope)) for c, (_, g) in zip(SCALES, at)]) / size
    cosine = abs(float(slope @ w)) / (size * float(np.linalg.norm(w)))
    told = f"c = {', '.join(f'{c:g}' for c in SCALES)}"
    zero = lambda what, v, witness=None: Identity(what, known(v, change, tolerance), ZERO, witness, atol=tolerance)
    c = SCALES[int(np.argmax([abs(float(v - here)) for v, _ in at]))]
    again = _rescaled(objective, w, c) if change > tolerance else None
    claims: list[Claim] = [
        zero(f"largest |L(cw) − L(w)|/|L(w)|, {told}", change, again),
        zero("|⟨∇L, w⟩| / ‖∇L‖‖w‖", cosine),
        zero(f"largest ‖c∇L(cw) − ∇L(w)‖/‖∇L(w)‖, {told}", off),
    ]
    return claims, {"cosine of slope and weights": cosine, "change under scaling": change}


def _rescaled(objective: Callable[[Any], Any], w: np.ndarray, c: float) -> Witness:
    """The change of the loss under one factor, in intervals."""
    change = enclose_number(lambda w, c: jnp.abs(objective(c * w) - objective(w)) / jnp.abs(objective(w)), w, c)
    return Witness({"c": float(c)}, change, ZERO, "the loss at w and at cw, in intervals rounded outward")


def known(value: float, change: float, tolerance: float) -> Enclosure:
    """A number of a loss that is invariant up to rounding; where only within the tolerance, one that was seen."""
    close = RTOL < change <= tolerance
    return Enclosure.measured(value, samples=len(SCALES)) if close else Enclosure.equal(value)


def growth_claims(path: Path, longer: Path, tau: float, change: float, tolerance: float) -> list[Claim]:
    """The squared length of the weights along descent, and a run from larger weights with a larger step."""
    squares, steps = (path.points**2).sum(1), len(path) - 1
    gap = np.abs(np.diff(squares) - tau**2 * path.slopes[:-1]).max() / squares.max()
    summed = squares[0] + tau**2 * float(path.slopes[:-1].sum())
    apart = np.abs(longer.points - FACTOR * path.points).max() / np.abs(path.points).max()
    told = lambda v: known(float(v), change, tolerance)
    loose = max(tolerance * steps, 1e-7)
    return [
        Identity(f"largest |‖w_k+1‖² − ‖w_k‖² − τ²‖∇L‖²|/‖w‖², {steps} steps", told(gap), ZERO, atol=tolerance),
        Identity(f"‖w_{steps}‖², and ‖w₀‖² + τ²Σ‖∇L‖²", told(squares[-1]), told(summed), rtol=loose),
        AtMost("‖w₀‖² ≤ least ‖w_k‖²", told(squares[0]), told(squares.min()), rtol=loose),
        Identity("descent from 2w with step 4τ, less twice descent from w", told(apart), ZERO, atol=loose),
    ]


def growth_charts(
    objective: Callable[[Any], Any], w: np.ndarray, tau: float, steps: int, path: Path
) -> tuple[Curves, Curves]:
    """Squared lengths for three steps with what the slopes add up to, and the step that the direction feels."""
    lengths, felt, at, sums = [], [], [], []
    for t in (tau / 4, tau, 4 * tau):
        run = path if t == tau else descend(steepest(t), objective, w, steps)
        squares, k = (run.points**2).sum(1)[1:], np.arange(1, len(run))
        added = float(w @ w) + t**2 * np.cumsum(run.slopes[:-1])
        some = np.unique(np.geomspace(1, len(k), 8).astype(int)) - 1
        at, sums = [*at, *k[some]], [*sums, *(added[some] / (w @ w))]
        lengths.append(Series(f"τ = {t:.3g}", k, squares / (w @ w)))
        felt.append(Series(f"τ = {t:.3g}", k, t / squares))
    lengths.append(Series("‖w₀‖² + τ²Σ‖∇L‖²", at, sums, "reference", "points"))
    steps_axis = Axis("step k", "log")
    return (
        Curves("weights grow", steps_axis, Axis("‖w_k‖² / ‖w₀‖²", "log"), tuple(lengths)),
        Curves("the step that the direction feels", steps_axis, Axis("τ / ‖w_k‖²", "log"), tuple(felt)),
    )


# ---- batches --------------------------------------------------------------------------------------------------------


def batch_claims(rng: np.random.Generator, draws: int = 400) -> tuple[list[Claim], Curves]:
    """How far batch normalisation while training is from that at evaluation, against the size of the batch."""
    sizes = np.array([4, 8, 16, 32, 64, 128, 256, 512])
    apart = []
    for m in sizes:
        z = rng.normal(size=(draws, m))
        trained = (z - z.mean(1, keepdims=True)) / z.std(1, keepdims=True)
        apart.append(float(np.sqrt(np.mean((trained - z) ** 2))))  # running mean 0, variance 1
    slope = fit_rate(sizes, np.array(apart))
    claims: list[Claim] = [
        Rate(
            "root mean square of training − evaluation", 0.5, slope, tuple(map(float, sizes)), tuple(apart), sharp=True
        )
    ]
    chart = Curves(
        "batch normalisation: training against evaluation",
        Axis("rows of a batch m", "log"),
        Axis("root mean square difference", "log"),
        (
            Series("measured", sizes, apart, "measured", "points"),
            Series("√(3/(2m))", sizes, np.sqrt(1.5 / sizes), "reference"),
        ),
    )
    return claims, chart


# ---- evidence -------------------------------------------------------------------------------------------------------


def evidence_of(
    objective: Callable[[Any], Any],
    w: np.ndarray,
    rng: np.random.Generator,
    *,
    step: float,
    steps: int,
    tolerance: float,
) -> Evidence:
    """A loss that does not feel the size of `w`; `step` is the one that the direction feels at the start."""
    exact, numbers, printed = in_rationals()
    tau = step * float(w @ w)
    slopes, seen = slope_claims(objective, w, tolerance)
    path = descend(steepest(tau), objective, w, steps)
    longer = descend(steepest(FACTOR**2 * tau), objective, FACTOR * w, steps)
    batches, difference = batch_claims(rng)
    grown = float((path.points[-1] ** 2).sum() / (path.points[0] ** 2).sum())
    claims = (*exact, *slopes, *growth_claims(path, longer, tau, seen["change under scaling"], tolerance), *batches)
    charts = (*growth_charts(objective, w, tau, steps, path), difference)
    told = f"cosine of slope and weights {seen['cosine of slope and weights']:.2g}; in {steps} steps ‖w‖² grew by a "
    told += f"factor {grown:.4g}, the loss went from {path.values[0]:.4g} to {path.values[-1]:.4g}"
    return Evidence(claims, charts, numbers | seen | {"growth of ‖w‖²": grown}, as_printed=printed, summary=told)


def block_table(kept: Sequence[Block], rest: Sequence[Block]) -> Table:
    rows = [(b.name, "no" if b in rest else "yes", b.change) for b in (*kept, *rest)][:40]
    return Table("does the loss ignore the size?", ("parameters", "ignored", "largest relative change"), tuple(rows))
