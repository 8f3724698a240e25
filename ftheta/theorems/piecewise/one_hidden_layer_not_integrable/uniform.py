r"""One hidden layer on all of the plane, in the uniform norm: the mean of a ridge hat over many directions.

With $h(t)=\max\{0,1-|t|\}$ and $\theta_k=\frac{k\pi}K$,
$f_K(x)=\frac1K\sum_{k<K}h(x_1\cos\theta_k+x_2\sin\theta_k)$ has one hidden layer of $3K$ neurons and tends to
$g(x)=\frac1\pi\int_0^\pi h(|x|\cos\theta)\,d\theta$, which vanishes at infinity. For every $x$ the integrand rises once
to at most 1 and falls once, so that its variation is at most 2, and a mean over $K$ equal cells with one node each
differs from the integral by at most the variation divided by $K$:
$$\sup_{\mathbb R^2}|f_K-g|\le\frac2K.$$
Translates and dilates of $g$ span a dense part of $C_0(\mathbb R^2)$, as $\hat g>0$ almost everywhere.
"""

import numpy as np

from ftheta.logic import AtMost, Curves, Enclosure, draw_curves

COUNTS = (4, 8, 16, 32, 64, 128)
SHOWN = 64
RADII = np.concatenate([np.linspace(0, 4, 161), np.geomspace(4, 1e6, 120)])
ANGLES = 97


def ridge_mean(x: np.ndarray, directions: int) -> np.ndarray:
    """$f_K$ at the rows of `x`."""
    theta = np.pi * np.arange(directions) / directions
    t = x @ np.stack([np.cos(theta), np.sin(theta)])
    return np.maximum(0, 1 - np.abs(t)).mean(1)


def radial_limit(r: np.ndarray) -> np.ndarray:
    """$g$ at distance `r` from the origin, in closed form."""
    far = np.maximum(r, 1.0)
    a = np.arccos(1 / far)
    # 1 − sin a, without cancellation
    gap = 1 / (far**2 * (1 + np.sin(a)))
    outside = 2 / np.pi * (np.arcsin(1 / far) - far * gap)
    return np.where(r <= 1, 1 - 2 * r / np.pi, outside)


def worst_distance(directions: int) -> float:
    """The largest $|f_K-g|$ found, on circles out to a million, on and between the ridges."""
    phi = np.pi * np.arange(ANGLES) / (2 * directions * (ANGLES - 1)) + np.pi / 2
    circle = np.stack([np.cos(phi), np.sin(phi)], 1)
    x = (RADII[:, None, None] * circle).reshape(-1, 2)
    values = ridge_mean(x, directions).reshape(len(RADII), -1)
    return float(np.abs(values - radial_limit(RADII)[:, None]).max())


def claim_uniform_distance() -> AtMost:
    """On all of the plane, however far: within 2/K."""
    found = Enclosure.at_least(worst_distance(SHOWN), samples=len(RADII) * ANGLES)
    what = (
        f"sup over ℝ² of |f_K − g|, the mean of K = {SHOWN} ridge hats and its limit, at most 2/K"
    )
    return AtMost(what, found, Enclosure.equal(2 / SHOWN))


def draw_uniform_distance() -> Curves:
    """The distance against the number of directions."""
    return draw_curves(
        "one hidden layer, uniformly on the plane",
        COUNTS,
        x="ridge hats K",
        y="sup |f_K − g|",
        log="xy",
        measured={"largest distance found": [worst_distance(K) for K in COUNTS]},
        bound={"2/K": [2 / K for K in COUNTS]},
    )
