r"""Perturbations of inputs that change the label: within a given radius, or as small as they are found.

    ft.attack(net, x, eps=0.1)                # is there one within 0.1 in ℓ∞?
    ft.attack(net, x, norm=2, clip=(0, 1))    # how small a change is enough?

A row of `x` is *flipped* where another output is at least as large as that of its label, shown at the point found by
intervals rounded outward; the point lies within the radius and within `clip` exactly. That nothing was found proves
nothing: `ft.verify(net, ft.Robust(x, eps))` decides.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from ftheta.graph.enclosing import enclose
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Bool, Float, Int

from .distances import distance_between, pull_inside
from .input_regions import read_numbers
from .margin_descent import METHODS, Method, add_nearest, search_ball, search_nearest
from .margins import Classifier, Problem
from .properties import read_rational
from .traced_programs import MEANING, describe_meaning

NORMS = (1, 2, inf)
FARTHEST = Fraction(10) ** 100  # that is searched: outputs there still are floats


@dataclass(frozen=True, eq=False)
class Attack:
    """For each row: its `label`, whether it was `flipped`, and then the input `x` found, the label `other` that is at
    least as large there, and its `distance` in the norm, rounded up (infinite where nothing was found).

    Given one input, all are of that one. `meaning` says of which function a flip is shown.
    """

    x: Float[np.ndarray, "*points"]
    label: Int[Any, "*rows"]
    other: Int[Any, "*rows"]
    flipped: Bool[Any, "*rows"]
    distance: Float[Any, "*rows"]
    norm: float
    meaning: str = MEANING


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
        One input, or one per row.
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
        raise UsageError(
            "Steps and starts are counted from one.", got=f"steps = {steps}, starts = {starts}"
        )
    radius = None if eps is None else _read_radius(eps)
    problem, is_single = read_problem(net, x, label, clip, norm)
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True), np.errstate(all="ignore"):  # what overflows on the way is not found
        if radius is None:
            points = search_nearest(problem, steps, starts, rng)
        else:
            ball = np.full(len(problem.x), float(min(radius, FARTHEST)))
            points = search_ball(problem, ball, method, steps, starts, rng)
            if method == "apgd":
                points = add_nearest(problem, points, ball, steps, starts, rng)
        found = confirm(problem, points, radius, is_single)
    return replace(found, meaning=describe_meaning(net))


# ---- what is attacked ------------------------------------------------------------------------------------------------


def _read_radius(eps: float | str) -> Fraction:
    radius = read_rational(eps, "eps")
    if radius < 0:
        raise UsageError("The radius is negative.", where="eps", got=eps, remedy="give eps ≥ 0")
    return radius


def read_problem(
    net: Any, x: ArrayLike, label: Any, clip: Any, norm: float
) -> tuple[Problem, bool]:
    """The rows to be perturbed, with their labels, and whether `x` was one input alone; see `attack`."""
    if norm not in NORMS:
        raise UsageError("The norm is 1, 2 or inf.", where="norm", got=norm)
    if not (hasattr(net, "apply") and hasattr(net, "params") and hasattr(net, "input_shape")):
        raise UsageError(
            "An attack is on a network.",
            where="net",
            got=type(net).__name__,
            remedy="ft.load(file or module)",
        )
    shape = net.input_shape
    given = read_numbers(x, "the inputs")
    is_single = given.shape == shape
    if not (is_single or given.shape[1:] == shape) or not given.size:
        raise UsageError(
            "The inputs do not fit the network.",
            where="x",
            got=f"shape {given.shape}",
            remedy=f"one input is {shape}, or rows of them",
        )
    rows = given.reshape(-1, int(np.prod(shape)))
    if not np.isfinite(rows).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(rows))[0])
        raise UsageError(
            "The inputs are finite numbers.", where=f"row {place[0]} of x", got=f"{rows[place]}"
        )
    low, high = (
        (np.full(rows.shape[1], end) for end in (-inf, inf))
        if clip is None
        else _read_clip(clip, shape)
    )
    if not bool(np.all((low <= rows) & (rows <= high))):
        raise UsageError(
            "An input lies outside clip.",
            where=f"row {np.flatnonzero(((rows < low) | (rows > high)).any(1))[0]} of x",
            got=clip,
            remedy="give the range in which inputs are",
        )
    classifier = Classifier.of(net)
    with jax.enable_x64(True):
        y = classifier.values(rows)
    if y.shape[1] < 2:
        raise SubjectError(
            "A label needs at least two outputs.", got=f"{y.shape[1]}", remedy="ft.verify takes any"
        )
    labels = y.argmax(1) if label is None else _read_labels(label, len(rows), y.shape[1])
    return Problem(classifier, rows, labels, low, high, norm, shape), is_single


def _read_labels(label: Any, rows: int, outputs: int) -> np.ndarray:
    given = np.asarray(label)
    fits = given.shape in ((), (rows,)) and given.dtype.kind in "iu"
    if not fits or not bool(np.all((given >= 0) & (given < outputs))):
        raise UsageError(
            "A label is the number of an output: one for all rows, or one each.",
            where="the labels",
            got=repr(label)[:60],
            remedy=f"0 … {outputs - 1}; {rows} rows",
        )
    return np.broadcast_to(given.astype(int), (rows,))


def _read_clip(clip: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = (np.broadcast_to(np.asarray(end, np.float64), shape).ravel() for end in clip)
    except (TypeError, ValueError):
        raise UsageError(
            "clip is a pair (lo, hi) of numbers or of arrays like an input.", where="clip", got=clip
        ) from None
    return low, high


# ---- what is certain -------------------------------------------------------------------------------------------------


def confirm(
    problem: Problem, points: Float[np.ndarray, "n d"], radius: Fraction | None, is_single: bool
) -> Attack:
    """Keep the points at which a flip is certain, and which lie in their balls."""
    inside = np.clip(points, problem.low, problem.high)
    if radius is not None:
        inside = np.array(
            [pull_inside(x, c, radius, problem.norm) for x, c in zip(inside, problem.x)]
        )
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
    distance = np.array(
        [distance_between(x, c, problem.norm) for x, c in zip(tried.tolist(), problem.x.tolist())]
    )
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
