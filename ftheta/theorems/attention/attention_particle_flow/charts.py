"""Pictures of tokens under attention: how they move, how they cluster, and what becomes of them without a norm."""

from typing import Any

import numpy as np

from ftheta.estimates.frames import between
from ftheta.logic import Axis, Chart, Curves, Heatmap, Motion, Points, Series, draw_curves

from .flow import Course, TokenFlow, cluster_labels
from .leaders import Rescaled, attention

SHOWN = 200  # tokens that are drawn
NAMED = 5  # clusters with a colour of their own
FRAMES = 121


def draw_flow(flow: TokenFlow) -> tuple[Chart, ...]:
    """The tokens on their ways, the number of clusters and the energy."""
    energy = draw_curves(
        "the energy grows",
        flow.course.times,
        x="time t",
        y="energy",
        measured={"energy": flow.energies},
    )
    return draw_tokens(flow.course), draw_clusters(flow.course), energy


def draw_clusters(course: Course) -> Curves:
    """The number of clusters against time."""
    count = Series("clusters", course.times[1:], course.clusters[1:], mark="step")
    return Curves(
        "clusters against time", Axis("time t", "log"), Axis("number of clusters", "log"), (count,)
    )


def draw_tokens(course: Course) -> Motion:
    """The tokens on their ways, seen from one side; in higher dimensions, in their main plane."""
    order, groups = _group(course)
    times, states = _frames(course, FRAMES)
    states = states[:, order]
    d = states.shape[2]
    plane = _view(states)
    x, y = np.round(np.moveaxis(states @ plane, 2, 0), 4)
    depths = np.round(states @ np.cross(*plane.T), 2) if d == 3 else ()
    places = {2: "on the circle", 3: "on the sphere"}
    where = places.get(d, f"in the main plane of {d} dimensions")
    lines: Any = _globe(plane)
    return Motion(
        f"tokens {where}",
        Axis(),
        Axis(),
        np.round(times, 4),
        x,
        y,
        groups,
        depths,
        lines,
        alike=True,
    )


def _group(course: Course) -> tuple[np.ndarray, tuple[str, ...]]:
    """The tokens that are drawn, and the cluster each was in while clusters stood longest: large ones first."""
    count, _ = course.plateau()
    when = np.flatnonzero(course.clusters == count)
    labels = cluster_labels(course.units[when[-1] if len(when) else -1])[1][:SHOWN]
    sizes = np.bincount(labels)
    rank = np.argsort(np.argsort(-sizes, kind="stable"))[labels]
    order = np.argsort(rank, kind="stable")
    names = [
        f"cluster {r + 1}: {sizes[c]} tokens" if r < NAMED and sizes[c] > 1 else "other tokens"
        for r, c in zip(rank[order], labels[order])
    ]
    return order, tuple(names)


def _view(states: np.ndarray) -> np.ndarray:
    """Two orthonormal directions (d, 2) to look along. In space one looks at the middle of the start, a little from the
    side, with the third axis upwards; beyond, at the main directions of the whole course."""
    d = states.shape[2]
    if d == 2:
        return np.eye(2)
    if d > 3:
        return np.linalg.svd(states.reshape(-1, d), full_matrices=False)[2][:2].T
    middle = states[0].mean(0)
    towards = middle / max(float(np.linalg.norm(middle)), 1e-9) + np.array([0.35, -0.45, 0.3])
    across = np.cross([0.0, 0.0, 1.0], towards)
    up = np.cross(towards, across)
    return np.stack([across / np.linalg.norm(across), up / np.linalg.norm(up)], 1)


def _frames(course: Course, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and tokens of a film: its frames are even by half in time, by half in the way that the tokens go."""
    x = course.units
    t = course.times
    way = np.append(0.0, np.linalg.norm(np.diff(x, axis=0), axis=2).mean(1).cumsum())
    progress = t / max(float(t[-1]), 1e-12) + way / max(float(way[-1]), 1e-12)
    at = np.interp(np.linspace(0, progress[-1], frames), progress, np.arange(len(t)))
    states = between(x, at)
    return between(t, at), states / np.linalg.norm(states, axis=2, keepdims=True)


def _globe(plane: np.ndarray) -> tuple[np.ndarray, ...]:
    """The rim of the sphere and, in space, the front of its three great circles through the axes."""
    turn = np.linspace(0, 2 * np.pi, 97)
    rim = np.stack([np.cos(turn), np.sin(turn)], 1)
    if len(plane) != 3:
        return (rim,)
    towards = np.cross(*plane.T)
    half = np.linspace(-np.pi / 2, np.pi / 2, 49)
    circles = []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        angle = half + np.arctan2(towards[j], towards[i])  # nearest in the middle
        circles.append(np.outer(np.cos(angle), plane[i]) + np.outer(np.sin(angle), plane[j]))
    return (rim, *circles)


def draw_leaders(line: Rescaled, plane: Rescaled) -> tuple[Chart, ...]:
    """The attention of the tokens of the line at the end, from left to right, and where those of the plane go."""
    order = np.argsort(line.z[0][:, 0])
    n = line.z.shape[1]
    A = attention(line.z[-1][order], line.beta, float(line.times[-1]))
    where = (0.5, n + 0.5, 0.5, n + 0.5)
    xs, ys = np.concatenate([plane.z[0], plane.z[-1]]).T
    groups = ("start",) * len(plane.z[0]) + ("end",) * len(plane.z[0])
    rows = Axis("token looked at, from left to right"), Axis("token")
    return (
        Heatmap("without layer norm, d = 1: attention becomes Boolean", *rows, A, where, "weight"),
        Points(
            "without layer norm, d = 2: to the corners",
            Axis("e^(−t) x₁"),
            Axis("e^(−t) x₂"),
            xs,
            ys,
            groups,
        ),
    )
