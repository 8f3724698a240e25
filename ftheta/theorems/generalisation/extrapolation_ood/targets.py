r"""Two functions that no line continues, and how far at least a line $\alpha x+\beta$ is from them.

On an interval of length $\ell$ every line misses $x^2$ by $\ell^2/8$ somewhere; at three successive extremes of
$\sin\pi x$, where it is $\pm1$ in turn, every line misses it by 1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .rays import Asymptote

TARGETS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "parabola": lambda x: x**2,
    "sine": lambda x: np.sin(np.pi * x),
}
REACH = 3.0  # the training interval is [−1, 1], errors are looked for up to here at least


@dataclass(frozen=True)
class Miss:
    """The `largest` error of a line found on the right of `start`, at most up to `end`, and what it is `at_least`."""

    start: float
    end: float
    largest: float
    at_least: float


def measure_miss(name: str, line: Asymptote) -> Miss:
    """How far the first output of `line`, beyond its last breakpoint, is from the target of that name."""
    slope = float(line.slope[0])
    start = line.last

    def error(x: float) -> float:
        return abs(float(TARGETS[name](np.array([x]))[0]) - float(line.at(x)[0]))

    if name == "sine":
        first = np.ceil(start - 0.5) + 0.5
        extremes = [first, first + 1, first + 2]
        return Miss(start, extremes[-1], max(map(error, extremes)), 1.0)
    end = max(REACH, start + 2)
    points = [start, end]  # x² − αx − β is largest at the ends, or least at α/2
    if start < slope / 2 < end:
        points.append(slope / 2)
    return Miss(start, end, max(map(error, points)), (end - start) ** 2 / 8)
