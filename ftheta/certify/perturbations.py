r"""Perturbations of inputs that change the label: within a given radius, or as small as they are found.

    ft.attack(net, x, eps=0.1)                # is there one within 0.1 in ℓ∞?
    ft.attack(net, x, norm=2, clip=(0, 1))    # how small a change is enough?

A row of `x` is *flipped* where another output is at least as large as that of its label, shown at the point found by
intervals rounded outward; the point lies within the radius and within `clip` exactly. That nothing was found proves
nothing: `ft.verify(net, ft.Robust(x, eps))` decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, ldexp, sqrt
from typing import Any, Literal, TypeAlias

import jax
import numpy as np
from numpy.typing import ArrayLike

from ftheta.graph.enclosing import enclose
from ftheta.logic.errors import SubjectError, UsageError

from .input_regions import read_numbers
from .margins import Classifier, Problem
from .properties import read_rational
from .questions import round_up

Array = np.ndarray
Method: TypeAlias = Literal["fgsm", "pgd", "apgd"]
METHODS: tuple[Method, ...] = ("fgsm", "pgd", "apgd")
NORMS = (1, 2, inf)

MOMENTUM = 0.75
BEYOND = 1e-7  # how far past the boundary a point is moved, relative to its distance: intervals can tell there
SEGMENT = 30  # bisections between an input and a point that is flipped
WALK = 40  # linearised steps towards the nearest class
SHRINKS = 24  # times that a smaller radius is tried
FARTHEST = Fraction(10) ** 100  # that is searched: outputs there still are floats


@dataclass(frozen=True, eq=False)
class Attack:
    """For each row: its `label`, whether it was `flipped`, and then the input `x` found, the label `other` that is at
    least as large there, and its `distance` in the norm, rounded up (infinite where nothing was found).

    Given one input, all are of that one. `meaning` says of which function a flip is shown.
    """

    x: Array
    label: Array
    other: Array
    flipped: Array
    distance: Array
    norm: float
    meaning: str = "the real function with the stored weights"


def attack(
    net: Any,
    x: ArrayLike,
    eps: float | str | None = None,
    *,
    norm: float = inf,
    label: ArrayLike | None = None,
    clip: tuple[ArrayLike, ArrayLike] | None = None,
    method: Method = "apgd",
    steps: int = 100,
    starts: int = 4,
    seed: int = 0,
) -> Attack:
    r"""Look for inputs near `x` that the network labels otherwise.

    Parameters
    ----------
    net
        A network with at least two outputs (anything `ft.load` makes one of).
    x
        One input, or one a row.
    eps
        How far $\|x'-x\|_p\le\varepsilon$ an input may be. Without it, one that is as near as possible is sought.
    norm
        $p$: 1, 2 or $\infty$.
    label
        Of each row; by default the largest output at `x`.
    clip
        The least and the largest value of the entries of an input, such as (0, 1) for images.
    method
        With `eps`: "fgsm", one step along the sign of the gradient (its analogue in the other norms); "pgd", steps of
        a fixed size; "apgd", momentum and a step size that is halved where nothing is gained any more, and for rows
        that it does not flip a search for the nearest point, which may lie within the radius.
    steps, starts
        How long a run is, and from how many points: `x` itself, then points whose outputs were driven apart.
    """
    if method not in METHODS:
        raise UsageError("That is no attack.", got=method, remedy=f"one of {', '.join(METHODS)}")
    if not all(isinstance(count, (int, np.integer)) and count >= 1 for count in (steps, starts)):
        raise UsageError("Steps and starts are counted from one.", got=f"steps = {steps}, starts = {starts}")
    radius = None if eps is None else _read_radius(eps)
    problem, is_single = read_problem(net, x, label, clip, norm)
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True), np.errstate(all="ignore"):  # what overflows on the way is not found
        if radius is None:
            points = _shrink(problem, _walk(problem, rng), steps, starts, rng)
        else:
            ball = np.full(len(problem.x), float(min(radius, FARTHEST)))
            points = _search(problem, ball, method, steps, starts, rng)
            if method == "apgd":
                points = _search_nearest(problem, points, ball, steps, starts, rng)
        return _decide(problem, points, radius, is_single)


# ---- what is attacked ------------------------------------------------------------------------------------------------


def _read_radius(eps: float | str) -> Fraction:
    radius = read_rational(eps, "eps")
    if radius < 0:
        raise UsageError("The radius is negative.", got=eps, remedy="give eps ≥ 0")
    return radius


def read_problem(net: Any, x: ArrayLike, label: Any, clip: Any, norm: float) -> tuple[Problem, bool]:
    """The rows to be perturbed, with their labels, and whether `x` was one input alone; see `attack`."""
    if norm not in NORMS:
        raise UsageError("The norm is 1, 2 or inf.", got=norm)
    if not (hasattr(net, "apply") and hasattr(net, "params") and hasattr(net, "input_shape")):
        raise UsageError("An attack is on a network.", got=type(net).__name__, remedy="ft.load(file or module)")
    shape = net.input_shape
    given = read_numbers(x, "the inputs")
    is_single = given.shape == shape
    if not (is_single or given.shape[1:] == shape) or not given.size:
        raise UsageError(
            "The inputs do not fit the network.",
            got=f"shape {given.shape}",
            remedy=f"one input is {shape}, or rows of them",
        )
    rows = given.reshape(-1, int(np.prod(shape)))
    if not np.isfinite(rows).all():
        raise UsageError("The inputs are finite numbers.", got="NaN or infinity")
    low, high = (np.full(rows.shape[1], end) for end in (-inf, inf)) if clip is None else _read_clip(clip, shape)
    if not bool(np.all((low <= rows) & (rows <= high))):
        raise UsageError("An input lies outside clip.", got=clip, remedy="give the range in which inputs are")
    classifier = Classifier.of(net)
    with jax.enable_x64(True):
        y = classifier.values(rows)
    if y.shape[1] < 2:
        raise SubjectError("A label needs at least two outputs.", got=f"{y.shape[1]}", remedy="ft.verify takes any")
    labels = y.argmax(1) if label is None else _read_labels(label, len(rows), y.shape[1])
    return Problem(classifier, rows, labels, low, high, norm, shape), is_single


def _read_labels(label: Any, rows: int, outputs: int) -> Array:
    given = np.asarray(label)
    fits = given.shape in ((), (rows,)) and given.dtype.kind in "iu"
    if not fits or not bool(np.all((given >= 0) & (given < outputs))):
        raise UsageError(
            "A label is the number of an output: one for all rows, or one each.",
            got=repr(label)[:60],
            remedy=f"0 … {outputs - 1}; {rows} rows",
        )
    return np.broadcast_to(given.astype(int), (rows,))


def _read_clip(clip: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    try:
        low, high = (np.broadcast_to(np.asarray(end, np.float64), shape).ravel() for end in clip)
    except (TypeError, ValueError):
        raise UsageError("clip is a pair (lo, hi) of numbers or of arrays like an input.", got=clip) from None
    return low, high


# ---- attacks within a radius -----------------------------------------------------------------------------------------


def _search(
    problem: Problem, radius: Array, method: Method, steps: int, starts: int, rng: np.random.Generator
) -> Array:
    """For each row the point with the smallest margin that was met within its radius."""
    best = problem.x.copy()
    least = problem.margin(best)
    if method == "fgsm":
        _, slope = problem.net.margin_and_slope(problem.x, problem.label)
        there = problem.project(problem.x + radius[:, None] * problem.steepest(slope), problem.x, radius)
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
    x = problem.project(problem.x + radius[:, None] * rng.uniform(-1, 1, problem.x.shape), problem.x, radius)
    outputs = problem.net.values(problem.x[:1]).shape[1]
    aims = rng.integers(0, outputs, len(x))
    for _ in range(steps):
        _, slope = problem.net.margin_and_slope(x, aims)
        x = problem.project(x - 0.5 * radius[:, None] * problem.steepest(slope), problem.x, radius)
    return x


def _descend(problem: Problem, radius: Array, start: Array, steps: int, *, is_adaptive: bool) -> tuple[Array, Array]:
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
        ahead = problem.project(x + (size * radius)[:, None] * problem.steepest(slope), problem.x, radius)
        mixed = x + MOMENTUM * (ahead - x) + (1 - MOMENTUM) * (x - before) if is_adaptive and step else ahead
        before = x
        x = problem.project(mixed, problem.x, radius)
    return best, least


# ---- as near as possible ---------------------------------------------------------------------------------------------


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
        x[todo] = np.clip(x[todo] + 1.05 * step + 1e-12 * rng.standard_normal(step.shape), problem.low, problem.high)
        flipped = problem.part(todo).margin(x[todo]) < 0
        found[todo[flipped]] = x[todo[flipped]]
    todo = np.flatnonzero(np.isnan(found[:, 0]))
    for scale in (0.1, 1.0, 10.0, 100.0):  # of the size of an input: where no linear model leads anywhere
        if not len(todo):
            break
        part = problem.part(todo)
        radius = scale * (1.0 + part.length(part.x))
        there = _search(part, radius, "apgd", WALK, 2, rng)
        flipped = part.margin(there) < 0
        found[todo[flipped]] = there[flipped]
        todo = todo[~flipped]
    return found


def _nearest_step(problem: Problem, x: Array, value: Array, slope: Array) -> Array:
    r"""The smallest step that makes some linearised margin zero. In $\ell_\infty$ it moves all entries, in $\ell_1$
    one; entries that cannot move any further are left out."""
    stuck = ((x <= problem.low)[:, None] & (slope > 0)) | ((x >= problem.high)[:, None] & (slope < 0))
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


def _shrink(problem: Problem, found: Array, steps: int, starts: int, rng: np.random.Generator) -> Array:
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


def _search_nearest(
    problem: Problem, points: Array, radius: Array, steps: int, starts: int, rng: np.random.Generator
) -> Array:
    """The points, and where they are not flipped the nearest ones found, if they are near enough."""
    todo = np.flatnonzero(~(problem.margin(points) <= 0))  # also where it is no number
    if not len(todo):
        return points
    part = problem.part(todo)
    nearest = _shrink(part, _walk(part, rng), steps, starts, rng)
    near = part.length(nearest - part.x) <= radius[todo]
    points[todo[near]] = nearest[near]
    return points


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


# ---- what is certain -------------------------------------------------------------------------------------------------


def _decide(problem: Problem, points: Array, radius: Fraction | None, is_single: bool) -> Attack:
    """Keep the points at which a flip is certain, and which lie in their balls."""
    inside = np.clip(points, problem.low, problem.high)
    if radius is not None:
        inside = np.array([_pull_inside(x, c, radius, problem.norm) for x, c in zip(inside, problem.x)])
    tried = np.where(np.isfinite(inside).all(1, keepdims=True), inside, problem.x)
    y = enclose(problem.net.outputs, tried)
    rows = np.arange(len(tried))
    if y is None:
        flipped = np.zeros(len(tried), bool)
        other = np.full(len(tried), -1)
    else:
        lower = np.asarray(y.lo).copy()
        lower[rows, problem.label] = -inf
        other = lower.argmax(1)
        flipped = lower[rows, other] >= np.asarray(y.hi)[rows, problem.label]
    distance = np.array([distance_between(x, c, problem.norm) for x, c in zip(tried.tolist(), problem.x.tolist())])
    found = np.where(flipped[:, None], tried, np.nan).reshape(-1, *problem.shape)
    of = 0 if is_single else slice(None)
    return Attack(
        found[of],
        problem.label[of],
        np.where(flipped, other, -1)[of],
        flipped[of],
        np.where(flipped, distance, inf)[of],
        problem.norm,
    )


def _power(x: Iterable[float | Fraction], centre: Iterable[float], norm: float) -> Fraction:
    """The distance, exactly; in ℓ2 its square."""
    differences = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, centre)]
    if norm == inf:
        return max(differences, default=Fraction(0))
    return sum((d if norm == 1 else d * d for d in differences), Fraction(0))


def distance_between(x: Iterable[float | Fraction], centre: Iterable[float], norm: float) -> float:
    """How far two points are apart in ℓ1, ℓ2 or ℓ∞, rounded up."""
    power = _power(x, centre, norm)
    if norm != 2:
        return round_up(power)
    root = _root(power)
    while isfinite(root) and Fraction(root) ** 2 < power:
        root = float(np.nextafter(root, inf))
    return root


def _root(square: Fraction) -> float:
    """Nearly the square root, where the square itself may be beyond the range of floats."""
    if not square:
        return 0.0
    scale = (square.denominator.bit_length() - square.numerator.bit_length()) // 2
    return ldexp(sqrt(float(square * Fraction(4) ** scale)), -scale)


def _pull_inside(x: Array, centre: Array, radius: Fraction, norm: float) -> Array:
    """Towards the centre, until the point lies in the ball exactly."""
    limit = radius**2 if norm == 2 else radius
    for k in range(40, 0, -1):
        if not np.isfinite(x).all() or _power(x.tolist(), centre.tolist(), norm) <= limit:
            return x
        x = centre + (1 - 2.0**-k) * (x - centre)
    return centre
