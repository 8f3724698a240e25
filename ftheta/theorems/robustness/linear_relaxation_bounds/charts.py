"""A section of the box with the affine bounds, the ladder of methods, and bounds by the radius."""

import numpy as np

from ftheta.logic import Axis, Bars, Curves, Enclosure, Series

from .question import Question
from .relaxed_chains import AffineBound, RelaxedBox, RelaxedChain


def draw_section(
    question: Question,
    relaxed: RelaxedBox,
    centre: np.ndarray,
    lowest: np.ndarray,
    plain: AffineBound,
    climbed: AffineBound,
) -> Curves:
    """The network and its affine bounds on the line through the centre and the lowest point, as far as the box goes."""
    hull = relaxed.box.hull
    direction = lowest - centre
    if not direction.any():
        direction = np.ones_like(centre)
    room = np.where(
        direction > 0, hull.hi[0] - centre, np.where(direction < 0, hull.lo[0] - centre, np.inf)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = float(np.nanmin(np.where(direction != 0, room / direction, np.inf)))
    t = np.linspace(-reach, reach, 401)
    x = centre + t[:, None] * direction
    above = relaxed.plain(-1.0)
    series = (
        Series("network", t, question.measure(x), "measured"),
        Series("below (CROWN)", t, plain(x), "bound"),
        Series("below (slopes by ascent)", t, climbed(x), "other"),
        Series("above (CROWN)", t, -above(x), "bound"),
    )
    return Curves(f"{question.words} between affine functions", Axis("t"), Axis("g"), series)


def draw_ladder(ladder: dict[str, Enclosure]) -> Bars:
    """What each method says of the minimum."""
    values = {name: number.hi for name, number in ladder.items() if np.isfinite(number.hi)}
    return Bars(
        "lower bounds of min g", Axis("g"), tuple(values), ("bound",), (tuple(values.values()),)
    )


def draw_radii(chain: RelaxedChain, centre: np.ndarray, radius: float, steps: int) -> Curves:
    """How the bounds fall with the size of the box."""
    radii = radius * np.geomspace(0.1, 1.0, 6)
    boxes = [chain.box(centre, float(r)) for r in radii]
    relaxed = [chain.relax(box) for box in boxes]
    series = (
        Series("intervals", radii, np.array([chain.interval(box) for box in boxes]), "other"),
        Series("CROWN", radii, np.array([box.plain().least for box in relaxed]), "bound"),
        Series(
            "slopes by ascent",
            radii,
            np.array([box.climb(min(steps, 20)).least for box in relaxed]),
            "measured",
        ),
    )
    return Curves("lower bounds of g against the box", Axis("ε", "log"), Axis("bound"), series)
