"""Pictures of noise on its way to data: several ways side by side, scores as arrows."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ftheta.flows.diffusion.reversal import reverse_sde
from ftheta.flows.mixtures import Mixture
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import Axis, Motion, Series
from ftheta.logic.chart import Role

FRAMES = 61
GAP = 0.35  # between two panels, in widths of one
BARB = 0.15  # height that a barb is a share of, on the line
FINER = 4  # steps of a process between two frames
Line = tuple[tuple[float, float], ...]
Field = Callable[[float, np.ndarray], np.ndarray]


def join_lines(name: str, lines: Sequence[np.ndarray], role: Role = "measured") -> Series:
    """Lines in the plane, each of shape (points, 2), as one series: what is infinite is a gap."""
    gap = np.full((1, 2), np.inf)
    joined = np.concatenate([part for line in lines for part in (line, gap)])
    return Series(name, joined[:, 0], joined[:, 1], role)


def follow_flow(field: Field, x: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Where a flow takes the rows, at every time: shape (times, n, d)."""
    course = [x]
    for t, s in pairwise(times.tolist()):
        for low, high in pairwise(np.linspace(t, s, FINER + 1).tolist()):
            x = runge_kutta_step(field, (low, (low + high) / 2, high), x, high - low)
        course.append(x)
    return np.stack(course)


def follow_reverse_sde(
    law: Mixture, x: np.ndarray, times: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Where the reverse SDE of the law takes the rows, at every one of the falling times: shape (times, n, d)."""
    course = [x]
    for t, s in pairwise(times.tolist()):
        x = reverse_sde(law.score_at, x, np.linspace(t, s, FINER + 1), rng, law.variance)
        course.append(x)
    return np.stack(course)


def draw_side_by_side(title: str, times: np.ndarray, courses: Mapping[str, np.ndarray]) -> Motion:
    """Ways of points, one panel for each name: beside one another in the plane, above one another on the line, where
    the height of a point says nothing."""
    stacked = list(courses.values())
    reach = float(max(np.abs(course[np.isfinite(course)]).max() for course in stacked))
    frames, count, d = stacked[0].shape
    groups = tuple(name for name in courses for _ in range(count))
    offsets = [k * (1 + GAP) for k in range(len(stacked))]
    if d > 1:
        step = 2 * reach
        xs = np.concatenate(
            [course[:, :, 0] + step * shift for course, shift in zip(stacked, offsets)], 1
        )
        ys = np.concatenate([course[:, :, 1] for course in stacked], 1)
        return Motion(title, Axis(), Axis(), times, xs, ys, groups, ways=False, alike=True)
    heights = (np.arange(count) + 0.5) / count
    xs = np.concatenate([course[:, :, 0] for course in stacked], 1)
    ys = np.concatenate([np.tile(heights - shift, (frames, 1)) for shift in offsets], 1)
    return Motion(title, Axis("x₁"), Axis(), times, xs, ys, groups, ways=False)


def score_arrows(law: Mixture, reach: float, heights: np.ndarray | None = None) -> tuple[Line, ...]:
    """The score on a grid as short lines with a barb at the end that they point to. On the line it is drawn at each of
    the `heights`."""
    d = law.atoms.shape[1]
    ticks = np.linspace(-reach, reach, 13)
    step = float(ticks[1] - ticks[0])
    levels = ticks if heights is None else heights
    at = np.array([(a, b) for a in ticks for b in levels])
    rows = np.zeros((len(at), d))
    rows[:, : min(d, 2)] = at[:, : min(d, 2)]
    score = law.score(rows)[:, :2]
    length = np.linalg.norm(score, axis=1, keepdims=True)
    arrows = (
        0.8
        * step
        * score
        / np.maximum(length, 1e-300)
        * np.minimum(length / np.median(length), 1.0)
    )
    arrows = np.pad(arrows, ((0, 0), (0, 2 - arrows.shape[1])))
    sides = arrows[:, ::-1] * [-1, 1] if heights is None else np.tile([0.0, BARB], (len(arrows), 1))
    return tuple(
        _draw_barb(start, start + arrow, side) for start, arrow, side in zip(at, arrows, sides)
    )


def _draw_barb(start: np.ndarray, end: np.ndarray, side: np.ndarray) -> Line:
    """A line and back along a short barb."""
    barb = end + 0.3 * (start - end) + 0.18 * side
    return tuple((float(p[0]), float(p[1])) for p in (start, end, barb))
