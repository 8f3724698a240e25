r"""Adam looked at: against optax bit by bit, in rationals, scaled, at its longest step, and on Reddi's problem."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate, largest, worst_ratio
from ftheta.graph.compiling import call_compiled
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Identity, Rate, Series, Witness

from .adaptive import RATIONAL, Adam, Reddi
from .descent import Path, descend
from .landscapes import excess_chart
from .methods import adaptive, steepest

BITWISE = 40  # steps that are compared bit for bit
SMALL = 1e-140  # slopes below it have no square in float64
ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)


def bitwise(rule: Adam, gradients: np.ndarray) -> tuple[Claim, ...]:
    """Moments and iterates of the formulas on these gradients beside those of optax, operation by operation."""
    import optax

    maker = optax.amsgrad if rule.amsgrad else optax.adam
    peer = maker(rule.alpha, b1=rule.beta1, b2=rule.beta2, eps=rule.epsilon)
    begin: Any = peer.init
    update_of: Any = peer.update
    theta, memory = np.zeros_like(gradients[0]), rule.begin(np.zeros_like(gradients[0]))
    other, state = jnp.asarray(theta), begin(jnp.asarray(theta))
    differ, gap = 0, 0.0
    for t, g in enumerate(gradients, 1):
        update, memory = rule.step(g, t, memory)
        theta = theta + update
        change, state = update_of(jnp.asarray(g), state)
        other = other + jnp.where(jnp.isnan(change), 0.0, change)  # optax has no rule for 0/0
        differ += sum(int(np.count_nonzero(np.asarray(a) != b)) for a, b in zip((state[0].mu, state[0].nu), memory))
        gap = largest(gap, np.abs(np.asarray(other) - theta) / (rule.alpha * t))
    n = len(gradients)
    return (
        Identity("moments that differ from optax in any bit", Enclosure.measured(float(differ), samples=n), ZERO),
        Identity("distance from optax, in units of αk", Enclosure.equal(gap), ZERO, atol=1e-14),
    )


def in_rationals() -> tuple[tuple[Claim, ...], dict[str, Enclosure]]:
    r"""ε = 0, α = 0.1: a constant gradient gives $-\alpha k$; the gradients $1,-1$ give $-\frac1{10},-\frac9{95}$."""
    rule = Adam(Fraction(1, 10), Fraction(9, 10), Fraction(999, 1000), Fraction(0))
    straight = rule.follow([Fraction(3, 7)] * 25, Fraction(0), RATIONAL)
    there = rule.follow([Fraction(1), Fraction(-1)], Fraction(0), RATIONAL)
    off = max(abs(theta + rule.alpha * k) for k, theta in enumerate(straight))
    claims = (
        Identity("largest |θ_k + αk| under a constant gradient, k ≤ 25", Enclosure.exact(off), ZERO),
        Identity("θ₂ + 9/95 after the gradients 1, −1", Enclosure.exact(there[2] + Fraction(9, 95)), ZERO),
    )
    return claims, {"θ₁ after 1, −1": Enclosure.exact(there[1]), "θ₂ after 1, −1": Enclosure.exact(there[2])}


def scaled(rule: Adam, gradients: np.ndarray, power: int = 10) -> Identity:
    """Iterates that change when every gradient is multiplied by 2^power: with ε = 0 not a bit of them."""
    gradients = np.where(np.abs(gradients) < SMALL, 0.0, gradients)
    one, other = (rule.follow(list(gradients * c), np.zeros_like(gradients[0])) for c in (1.0, 2.0**power))
    differ = int(np.count_nonzero(np.array(one) != np.array(other)))
    seen = Enclosure.measured(float(differ), samples=len(gradients))
    again = Witness({"scale": 2.0**power}, Enclosure.exact(differ), ZERO, "counted") if differ else None
    return Identity(f"iterates that change with gradients × 2^{power}", seen, ZERO, again)


def longest(rule: Adam, path: Path, t: int = 50) -> tuple[Claim, ...]:
    r"""Every step is at most $\alpha S_t$; the gradients $(\beta_1/\beta_2)^{t-i}$ attain $S_t$."""
    moved = np.abs(np.diff(path.points, axis=0)).reshape(len(path) - 1, -1).max(axis=1) / rule.alpha
    allowed = np.array([rule.longest_step(k) for k in range(1, len(path))])
    ratio = worst_ratio(moved, allowed)
    points = rule.follow(rule.steepest_gradients(t), np.zeros(1))
    reached = abs(float((points[-1] - points[-2])[0])) / rule.alpha
    return (
        AtMost("max over k of the step / its bound αS_k", Enclosure.equal(ratio), ONE),
        Identity(f"S_{t}, attained", Enclosure.equal(reached), Enclosure.equal(rule.longest_step(t))),
    )


def first_step(rule: Adam, path: Path, gradient: np.ndarray) -> Identity:
    r"""The largest distance of the first step from $-\alpha\,\mathrm{sign}(g)$, in units of α."""
    gap = np.abs((path.points[1] - path.points[0]) / rule.alpha + np.sign(gradient))
    return Identity("first step / α + sign(∇F)", Enclosure.equal(largest(gap)), ZERO, atol=1e-9)


def reddi(C: float, steps: int) -> tuple[tuple[Claim, ...], Curves, dict[str, float]]:
    """Adam is at +1 after every cycle, in balls; AMSGrad's average regret falls."""
    game = Reddi(Fraction(str(C)))
    cycles = steps // 3
    (x, regret), (y, other) = game.play(3 * cycles, False), game.play(3 * cycles, True)
    at = np.unique(np.geomspace(max(steps // 30, 3), 3 * cycles, 12).astype(int)) - 1
    slope = fit_rate(at + 1, other[at])
    claims = (
        Identity("cycles that do not end with Adam at +1", Enclosure.exact(game.cycles_away(min(cycles, 2000))), ZERO),
        AtMost(
            "2(C − 2)/3 ≤ average regret of Adam", Enclosure.exact(2 * (game.C - 2) / 3), Enclosure.equal(regret[-1])
        ),
        Rate("average regret of AMSGrad", 0.5, slope, tuple(map(float, at + 1)), tuple(other[at]), slack=0.15),
    )
    k = np.arange(1, len(x) + 1)
    series = (
        Series("Adam", k, x),
        Series("AMSGrad", k, y, "other"),
        Series("best: −1", [1, len(x)], [-1.0, -1.0], "reference"),
    )
    figure = Curves(f"Reddi's online problem, C = {C:g}", Axis("round t", "log"), Axis("x_t"), series)
    return claims, figure, {"Adam ends at": float(x[-1]), "AMSGrad ends at": float(y[-1]), "best point": -1.0}


def beside_descent(
    rule: Adam, objective: Callable[[Any], Any], start: np.ndarray, steps: int, name: str
) -> tuple[Path, Curves]:
    """Adam, AMSGrad and gradient descent with the same step on one objective."""
    rules = [rule, Adam(rule.alpha, rule.beta1, rule.beta2, rule.epsilon, amsgrad=True)]
    paths = [descend(adaptive(r), objective, start, steps) for r in rules]
    plain = descend(steepest(rule.alpha, "gradient descent, same step"), objective, start, steps)
    return paths[0], excess_chart(f"loss of {name}", [*paths, plain], {}, None)


def gradients_along(path: Path, objective: Callable[[Any], Any], count: int = BITWISE) -> np.ndarray:
    return np.asarray(call_compiled(partial(jax.lax.map, jax.grad(objective)), path.points[:count]))


def gradient_at(objective: Callable[[Any], Any], start: np.ndarray) -> np.ndarray:
    return np.asarray(call_compiled(jax.grad(objective), start))
