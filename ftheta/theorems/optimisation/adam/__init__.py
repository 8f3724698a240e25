"""Adam: steps of bounded length whatever the scale of the loss, and the problem on which it goes the wrong way."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate, largest, worst_ratio
from ftheta.graph.compiling import call_compiled
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Training
from ftheta.subjects.problems import LOSS_OF_A_NETWORK
from ftheta.theorems.charts_descent import draw_excess
from ftheta.training.adaptive import RATIONAL, Adam
from ftheta.training.descent import Path, descend
from ftheta.training.methods import adaptive, steepest
from ftheta.training.study import affordable

from .reddi import Reddi

COMPARED = 40  # steps whose gradients are scaled and followed again
LONG = 50  # steps after which the longest possible step is made
SMALL = 1e-140  # slopes below it have no square in float64
NOISE = 1e-12  # slopes below this share of the largest may have either sign by rounding
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)


def badly_scaled(
    rng: np.random.Generator,
    *,
    kappa: Annotated[
        float, Knob(1, 1e4, "ratio of the curvatures", "κ", log=True, most=1e8)
    ] = 1000.0,
) -> Training:
    return Training.quadratic(
        f"quadratic with κ = {kappa:g}", np.diag([1 / kappa, 1.0]), np.array([1.0, 1.0])
    )


def vertical(rng: np.random.Generator) -> Training:
    return Training(
        "√|θ| from its vertical slope at 0",
        lambda t: jnp.sum(jnp.sqrt(jnp.abs(t))),
        np.array([0.0, 1.0]),
    )


@hypothesis(
    r"$\nabla F(\theta_0)$ and its square are finite numbers of float64",
    remedy="start elsewhere",
    name="a finite gradient",
)
def finite_gradient(subject: Training) -> Finding:
    g = np.asarray(call_compiled(jax.grad(subject.objective), subject.start))
    tiny = (g != 0) & (np.abs(g) < SMALL)
    bad = int((~np.isfinite(g)).sum())
    note = (
        f"{g.size:,} slopes: {bad} not finite, {int((g == 0).sum())} zero, {int(tiny.sum())} tiny"
    )
    return Finding.decide(not bad and not tiny.any(), note, "all slopes in float64")


@hypothesis(
    r"$\epsilon=0$ and $\beta_1<\sqrt{\beta_2}$",
    remedy="take ε = 0, and β₂ nearer to 1",
    name="ε = 0 and β₁ < √β₂",
)
def has_no_damping(subject: Training, *, epsilon: float, beta1: float, beta2: float) -> Finding:
    note = f"ε = {epsilon:g}, β₁ = {beta1:g}, √β₂ = {beta2**0.5:.4g}"
    return Finding.decide(epsilon == 0 and beta1**2 < beta2, note, "a comparison of knobs")


@theorem(
    title="Adam and AMSGrad",
    sources=("peyre-slides", "gribonval-slides", "kingma2015", "reddi2018"),
    gist="Adam's steps have a bounded length that does not depend on the scale of the loss, which makes it easy to "
    "tune; yet on a simple problem it converges to the worst point, which AMSGrad repairs.",
    see_also=(
        "first-order-family",
        "sgd-robbins-monro",
        "transformer-block-optimisers",
        "open-problems-register",
    ),
    same_for_all={
        "first step / α + sign(∇F)": "the first step of this run is −α sign(∇F) to the last bit",
        "iterates that change with gradients": "counts iterates of this run that change, and there are none",
        "max over k of the step / its bound": "attained by the first step, of size α up to rounding",
    },
    assumes=(finite_gradient, has_no_damping),
    adapters=(LOSS_OF_A_NETWORK,),
    on=badly_scaled,
    breaks_on=vertical,
    presets={
        "textbook": {},
        "no first momentum": {"beta1": 0.0},
        "at the edge": {"C": 2.5, "rounds": 9000},
        "broken on purpose": {"epsilon": 1e-3},
    },
)
def adam(
    subject: Training,
    rng: np.random.Generator,
    *,
    alpha: Annotated[float, Knob(1e-4, 1, "step size", "α", log=True, least=1e-8, most=100)] = 0.01,
    beta1: Annotated[float, Knob(0.0, 0.99, "first-moment decay", "β₁", most=0.9999)] = 0.9,
    beta2: Annotated[
        float, Knob(0.5, 0.9999, "second-moment decay", "β₂", least=1e-3, most=0.99999)
    ] = 0.999,
    epsilon: Annotated[float, Knob(0.0, 1e-3, "damping", "ε", most=1.0)] = 0.0,
    steps: Annotated[
        int, Knob(10, 2000, "number of steps", "K", log=True, least=2, most=5000)
    ] = 300,
    C: Annotated[
        float, Knob(2.5, 10, "the rare gradient of Reddi's problem", "C", least=2.1, most=100)
    ] = 4.0,
    rounds: Annotated[
        int, Knob(300, 30_000, "rounds of Reddi's problem", "T", log=True, least=90)
    ] = 3000,
) -> Evidence:
    r"""$m\leftarrow\beta_1m+(1-\beta_1)g$, $v\leftarrow\beta_2v+(1-\beta_2)g^2$, step
    $-\alpha\,\hat m/(\sqrt{\hat v}+\epsilon)$ with $\hat m=\frac m{1-\beta_1^t}$, $\hat v=\frac v{1-\beta_2^t}$. For
    $\epsilon=0$ the run does not change with the scale of the gradients, its first step is
    $-\alpha\,\mathrm{sign}(g)$, and no step exceeds $\alpha S_t$,
    $S_t^2=\frac{(1-\beta_1)^2}{1-\beta_2}\sum_{j<t}\big(\tfrac{\beta_1^2}{\beta_2}\big)^j\frac{1-\beta_2^t}{(1-\beta_1^t)^2}$.
    On $Cx,-x,-x,\dots$ over $[-1,1]$ Adam ends at $+1$, the worst point; AMSGrad has no regret on average."""
    steps = affordable(subject.start.size, subject.rows, steps)
    rule = Adam(alpha, beta1, beta2, epsilon)
    path, race = _race_with_descent(rule, subject.objective, subject.start, steps, subject.name)
    slopes = partial(_gradients_along, path, subject.objective)
    gradients = slopes(COMPARED)
    return Evidence(
        claims=(
            _claim_first_step(rule, path, gradients[0]),
            _claim_longest_step(rule, path, slopes),
            _claim_scale_drops_out(rule, gradients),
        ),
        charts=(race,),
        numbers={"loss at K": path.values[-1]},
        summary=f"the loss went from {path.values[0]:.4g} to {path.values[-1]:.4g} in {steps} steps",
        examples=partial(_examples, rule, Reddi(Fraction(str(C))), rounds),
    )


# -- the run on the subject ---------------------------------------------------------------------------------


def _race_with_descent(
    rule: Adam, objective: Callable[[Any], Any], start: np.ndarray, steps: int, name: str
) -> tuple[Path, Curves]:
    """Adam, AMSGrad and gradient descent with the same step on one objective."""
    rules = [rule, Adam(rule.alpha, rule.beta1, rule.beta2, rule.epsilon, amsgrad=True)]
    paths = [descend(adaptive(r), objective, start, steps) for r in rules]
    plain = descend(steepest(rule.alpha, "gradient descent, same step"), objective, start, steps)
    return paths[0], draw_excess(f"loss of {name}", [*paths, plain], {}, None)


def _gradients_along(path: Path, objective: Callable[[Any], Any], count: int) -> np.ndarray:
    return np.asarray(call_compiled(partial(jax.lax.map, jax.grad(objective)), path.points[:count]))


def _rounding_of_iterates(points: np.ndarray) -> np.ndarray:
    """How far the stored θ_{k+1} may be from θ_k + update: one unit in its last place, much where a weight is huge."""
    return np.spacing(np.abs(points[1:]))


def _claim_first_step(rule: Adam, path: Path, gradient: np.ndarray) -> Identity:
    r"""The largest distance of the first step from $-\alpha\,\mathrm{sign}(g)$, in units of α.

    The gradient that the run saw and this one are two evaluations: where it is nothing but rounding, either sign or
    zero is right.
    """
    move = (path.points[1] - path.points[0]) / rule.alpha
    rounding = _rounding_of_iterates(path.points[:2])[0] / rule.alpha
    gap = np.abs(move + np.sign(gradient))
    doubtful = np.abs(gradient) <= NOISE * largest(np.abs(gradient))
    nearest = np.minimum(np.abs(np.abs(move) - 1), np.abs(move))
    gap = np.where(doubtful, nearest, gap)
    found = largest(np.maximum(gap - rounding, 0.0))
    return Identity("first step / α + sign(∇F)", Enclosure.equal(found), ZERO, atol=1e-9)


def _claim_longest_step(
    rule: Adam, path: Path, gradients_along: Callable[[int], np.ndarray]
) -> AtMost:
    r"""Every step is at most $\alpha S_k$. Coordinates whose gradients have no square in float64 are left out."""
    moved = (np.abs(np.diff(path.points, axis=0)) - _rounding_of_iterates(path.points)) / rule.alpha
    moved = moved.reshape(len(path) - 1, -1)
    allowed = np.array([rule.longest_step(k) for k in range(1, len(path))])
    ratio = worst_ratio(moved.max(axis=1), allowed)
    if ratio > 1:
        slopes = np.abs(gradients_along(len(path) - 1)).reshape(len(path) - 1, -1)
        squares_lost = (slopes > 0).any(axis=0) & (slopes.max(axis=0) < SMALL)
        ratio = worst_ratio(np.where(squares_lost, 0.0, moved).max(axis=1), allowed)
    return AtMost("max over k of the step / its bound αS_k", Enclosure.equal(ratio), ONE)


def _claim_scale_drops_out(rule: Adam, gradients: np.ndarray, power: int = 10) -> Identity:
    """Iterates that change when every gradient is multiplied by 2^power: with ε = 0 not a bit of them."""
    gradients = np.where(np.abs(gradients) < SMALL, 0.0, gradients)
    one, other = (
        rule.follow(list(gradients * c), np.zeros_like(gradients[0])) for c in (1.0, 2.0**power)
    )
    differ = int(np.count_nonzero(np.array(one) != np.array(other)))
    seen = Enclosure.measured(float(differ), samples=len(gradients))
    again = (
        Witness({"scale": 2.0**power}, Enclosure.exact(differ), ZERO, "counted") if differ else None
    )
    return Identity(f"iterates that change with gradients × 2^{power}", seen, ZERO, again)


# -- examples -----------------------------------------------------------------------------------------------


def _follow_rationals() -> tuple[list[Fraction], list[Fraction]]:
    """ε = 0, α = 0.1, in rationals: the iterates under a constant gradient, and under the gradients 1, −1."""
    rule = Adam(Fraction(1, 10), Fraction(9, 10), Fraction(999, 1000), Fraction(0))
    straight = rule.follow([Fraction(3, 7)] * 25, Fraction(0), RATIONAL)
    there = rule.follow([Fraction(1), Fraction(-1)], Fraction(0), RATIONAL)
    return straight, there


def _examples(rule: Adam, game: Reddi, rounds: int) -> Examples:
    """The rule in rationals, the gradients that make its longest step, and Reddi's online problem."""
    straight, there = _follow_rationals()
    off = max(abs(theta + Fraction(k, 10)) for k, theta in enumerate(straight))
    points = rule.follow(rule.steepest_gradients(LONG), np.zeros(1))
    reached = abs(float((points[-1] - points[-2])[0])) / rule.alpha
    cycles = rounds // 3
    x, regret = game.play(3 * cycles, False)
    y, other = game.play(3 * cycles, True)
    at = np.unique(np.geomspace(max(rounds // 30, 3), 3 * cycles, 12).astype(int)) - 1
    slope = fit_rate(at + 1, other[at])
    claims = (
        Identity(
            f"S_{LONG}, attained",
            Enclosure.equal(reached),
            Enclosure.equal(rule.longest_step(LONG)),
        ),
        Identity(
            "largest |θ_k + αk| under a constant gradient, k ≤ 25", Enclosure.exact(off), ZERO
        ),
        Identity(
            "θ₂ + 9/95 after the gradients 1, −1", Enclosure.exact(there[2] + Fraction(9, 95)), ZERO
        ),
        Identity(
            "cycles that do not end with Adam at +1",
            Enclosure.exact(game.cycles_away(min(cycles, 2000))),
            ZERO,
        ),
        AtMost(
            "2(C − 2)/3 ≤ average regret of Adam",
            Enclosure.exact(2 * (game.C - 2) / 3),
            Enclosure.equal(regret[-1]),
        ),
        Rate(
            "average regret of AMSGrad",
            0.5,
            slope,
            tuple(map(float, at + 1)),
            tuple(other[at]),
            slack=0.15,
        ),
    )
    numbers = {
        "θ₁ after 1, −1": Enclosure.exact(there[1]),
        "θ₂ after 1, −1": Enclosure.exact(there[2]),
        "Adam ends at": float(x[-1]),
        "AMSGrad ends at": float(y[-1]),
        "best point": -1.0,
        f"S_{LONG}": rule.longest_step(LONG),
    }
    return Examples(claims, charts=(_draw_game(game, x, y),), numbers=numbers)


def _draw_game(game: Reddi, x: np.ndarray, y: np.ndarray) -> Curves:
    k = np.arange(1, len(x) + 1)
    series = (
        Series("Adam", k, x),
        Series("AMSGrad", k, y, "other"),
        Series("best: −1", [1, len(x)], [-1.0, -1.0], "reference"),
    )
    title = f"Reddi's online problem, C = {float(game.C):g}"
    return Curves(title, Axis("round t", "log"), Axis("x_t"), series)
