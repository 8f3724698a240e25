r"""Points near inputs with a small margin of the label: within a radius, or as near as they are found.

All is in floats: what a point shows is for others to decide.
"""

from math import inf
from typing import Literal, TypeAlias

import numpy as np

from ftheta.shapes import Float

from .margins import Problem

Array = np.ndarray
Method: TypeAlias = Literal["fgsm", "pgd", "apgd"]
METHODS: tuple[Method, ...] = ("fgsm", "pgd", "apgd")

MOMENTUM = 0.75
BEYOND = 1e-7  # how far past the boundary a point is moved, relative to its distance: intervals can tell there
SEGMENT = 30  # bisections between an input and a point that is flipped
WALK = 40  # linearised steps towards the nearest class
SHRINKS = 24  # times that a smaller radius is tried


# ---- attacks within a radius -----------------------------------------------------------------------------------------


def search_ball(
    problem: Problem,
    radius: Float[np.ndarray, "n"],
    method: Method,
    steps: int,
    starts: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n d"]:
    """For each row the point with the smallest margin that was met within its radius."""
    best = problem.x.copy()
    least = problem.margin(best)
    if method == "fgsm":
        _, slope = problem.net.margin_and_slope(problem.x, problem.label)
        there = problem.project(
            problem.x + radius[:, None] * problem.steepest(slope), problem.x, radius
        )
        return np.where((problem.margin(there) < least)[:, None], there, best)
    for k in range(starts):
        todo = np.flatnonzero(least > 0)
        if not len(todo):
            break
        part = problem.part(todo)
        start = part.x if k == 0 else _diversify(part, radius[todo], rng)
        x, value = _descend(part, radius[todo], start, steps, is_adaptive=method == "apgd")
        better = value < least[todo]
        best[todo[better]] = x[better]
        least[todo[better]] = value[better]
    return best


def _diversify(problem: Problem, radius: Array, rng: np.random.Generator, steps: int = 5) -> Array:
    """Random points of the balls, driven towards another label each: the runs that follow start in different places."""
    x = problem.project(
        problem.x + radius[:, None] * rng.uniform(-1, 1, problem.x.shape), problem.x, radius
    )
    outputs = problem.net.values(problem.x[:1]).shape[1]
    aims = rng.integers(0, outputs, len(x))
    for _ in range(steps):
        _, slope = problem.net.margin_and_slope(x, aims)
        x = problem.project(x - 0.5 * radius[:, None] * problem.steepest(slope), problem.x, radius)
    return x


def _descend(
    problem: Problem, radius: Array, start: Array, steps: int, *, is_adaptive: bool
) -> tuple[Array, Array]:
    """Projected descent of the margin; the best point met, and its margin."""
    x = start
    before = start
    best = start.copy()
    least = np.full(len(x), inf)
    size = np.full(len(x), 2.0 if is_adaptive else 2.5 / steps)
    gains = np.zeros(len(x))
    since = 0
    checks = set(range(max(3, steps // 5), steps, max(3, steps // 8)))
    for step in range(steps + 1):
        value, slope = problem.net.margin_and_slope(x, problem.label)
        better = value < least
        gains += better
        best[better] = x[better]
        least[better] = value[better]
        if step == steps or bool(np.all(least < 0)):
            break
        if is_adaptive and step in checks:
            halve = gains < 0.75 * (step - since)
            size[halve] *= 0.5
            x = np.where(halve[:, None], best, x)
            before = np.where(halve[:, None], best, before)
            gains[:] = 0
            since = step
        ahead = problem.project(
            x + (size * radius)[:, None] * problem.steepest(slope), problem.x, radius
        )
        mixed = (
            x + MOMENTUM * (ahead - x) + (1 - MOMENTUM) * (x - before)
            if is_adaptive and step
            else ahead
        )
        before = x
        x = problem.project(mixed, problem.x, radius)
    return best, least


# ---- as near as possible ---------------------------------------------------------------------------------------------


def search_nearest(
    problem: Problem, steps: int, starts: int, rng: np.random.Generator
) -> Float[np.ndarray, "n d"]:
    """For each row a point with another label, as near as one is found; NaN where none is."""
    return _shrink(problem, _walk(problem, rng), steps, starts, rng)


def add_nearest(
    problem: Problem,
    points: Float[np.ndarray, "n d"],
    radius: Float[np.ndarray, "n"],
    steps: int,
    starts: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n d"]:
    """The points, and where they are not flipped the nearest ones found, if they are near enough."""
    todo = np.flatnonzero(~(problem.margin(points) <= 0))  # also where it is no number
    if not len(todo):
        return points
    part = problem.part(todo)
    nearest = search_nearest(part, steps, starts, rng)
    near = part.length(nearest - part.x) <= radius[todo]
    points[todo[near]] = nearest[near]
    return points


def _walk(problem: Problem, rng: np.random.Generator) -> Array:
    """A point with another label for each row, if one is met: steps to where linearised outputs would be equal."""
    x = problem.x.copy()
    found = np.full_like(x, np.nan)
    for _ in range(WALK):
        todo = np.flatnonzero(np.isnan(found[:, 0]))
        if not len(todo):
            return found
        value, slope = problem.net.differences(x[todo], problem.label[todo])
        step = _nearest_step(problem, x[todo], value, slope)
        x[todo] = np.clip(
            x[todo] + 1.05 * step + 1e-12 * rng.standard_normal(step.shape),
            problem.low,
            problem.high,
        )
        flipped = problem.part(todo).margin(x[todo]) < 0
        found[todo[flipped]] = x[todo[flipped]]
    todo = np.flatnonzero(np.isnan(found[:, 0]))
    for scale in (
        0.1,
        1.0,
        10.0,
        100.0,
    ):  # of the size of an input: where no linear model leads anywhere
        if not len(todo):
            break
        part = problem.part(todo)
        radius = scale * (1.0 + part.length(part.x))
        there = search_ball(part, radius, "apgd", WALK, 2, rng)
        flipped = part.margin(there) < 0
        found[todo[flipped]] = there[flipped]
        todo = todo[~flipped]
    return found


def _nearest_step(problem: Problem, x: Array, value: Array, slope: Array) -> Array:
    r"""The smallest step that makes some linearised margin zero. In $\ell_\infty$ it moves all entries, in $\ell_1$
    one; entries that cannot move any further are left out."""
    stuck = ((x <= problem.low)[:, None] & (slope > 0)) | (
        (x >= problem.high)[:, None] & (slope < 0)
    )
    slope = np.where(stuck, 0.0, slope)
    dual = {1: inf, 2: 2, inf: 1}[problem.norm]
    size = np.linalg.norm(slope, ord=dual, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(size > 0, np.abs(value) / size, inf)
    rows = np.arange(len(x))
    aim = reach.argmin(1)
    chosen = slope[rows, aim]
    distance = np.where(np.isfinite(reach[rows, aim]), reach[rows, aim], 0.0)[:, None]
    if problem.norm == inf:
        return -distance * np.sign(chosen)
    if problem.norm == 2:
        return -distance * chosen / np.maximum(size[rows, aim], 1e-300)[:, None]
    step = np.zeros_like(x)
    entry = np.abs(chosen).argmax(1)
    step[rows, entry] = -distance[:, 0] * np.sign(chosen[rows, entry])
    return step


def _shrink(
    problem: Problem, found: Array, steps: int, starts: int, rng: np.random.Generator
) -> Array:
    """Points of ever smaller balls, as long as some are met: each round tries a radius a little below the best."""
    best = _towards_input(problem, found)
    share = np.full(len(best), 0.2)
    for turn in range(SHRINKS):
        rows = np.flatnonzero(np.isfinite(best[:, 0]) & (share > 1e-4))
        if not len(rows):
            break
        part = problem.part(rows)
        radius = (1 - share[rows]) * part.length(best[rows] - part.x)
        start = best[rows] if turn % max(2, starts) else _diversify(part, radius, rng)
        there, value = _descend(
            part, radius, part.project(start, part.x, radius), max(10, steps // 4), is_adaptive=True
        )
        met = value < 0
        best[rows[met]] = _towards_input(problem.part(rows[met]), there[met])
        share[rows[~met]] *= 0.5
    return best


def _towards_input(problem: Problem, x: Array) -> Array:
    """The nearest flipped point between each input and a flipped one, by bisection."""
    near = np.zeros(len(x))
    far = np.ones(len(x))
    delta = x - problem.x
    for _ in range(SEGMENT):
        middle = (near + far) / 2
        flipped = problem.margin(problem.x + middle[:, None] * np.nan_to_num(delta)) < 0
        far = np.where(flipped, middle, far)
        near = np.where(flipped, near, middle)
    past = np.minimum(1.0, far * (1 + BEYOND))
    return problem.x + past[:, None] * delta
