"""What `ftheta pieces` does: a domain from words, the pieces there, and what they tell."""

from typing import Any

import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError, UsageError

from .complex import Complex
from .domains import Box, Polygon, Segment
from .normal_forms import network_of
from .search import pieces

MARGIN = 0.5  # of a slice around its three rows, in steps from row to row


def domain_of(inputs: int, data: Any, box: str | None, rows: str | None) -> Box | Polygon | Segment:
    """A segment through two rows of the data, the plane through three, or the box `lo,hi` in every input."""
    if rows is not None:
        return _through(data, _whole(rows))
    low, high = _pair(box or "-1,1")
    return Box([low] * inputs, [high] * inputs)


def _pair(words: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in words.split(","))
    except ValueError:
        raise UsageError(
            "A box is two numbers with a comma.", got=words, remedy="write --box=-1,1"
        ) from None
    return low, high


def _whole(words: str) -> list[int]:
    numbers = words.split(",")
    if len(numbers) not in (2, 3) or not all(n.strip().isdecimal() for n in numbers):
        raise UsageError(
            "A slice goes through two or three rows.", got=words, remedy="write --through 0,1,2"
        )
    return [int(n) for n in numbers]


def _through(data: Any, rows: list[int]) -> Polygon | Segment:
    if data is None:
        raise UsageError(
            "A slice through rows needs data.",
            remedy="add --data with a file of x, or a built-in name",
        )
    if max(rows) >= len(data.x):
        raise SubjectError(
            "There are not so many rows.", where=data.name, got=f"row {max(rows)} of {len(data.x)}"
        )
    p, q, *third = np.reshape(data.x[rows], (len(rows), -1)).astype(np.float64)
    if not third:
        return Segment(p, q)
    low = -MARGIN
    high = 1 + MARGIN
    return Polygon.through(p, q, third[0], [(low, low), (high, low), (high, high), (low, high)])


def explore(
    net: Any,
    data: Any,
    box: str | None,
    rows: str | None,
    max_cells: int,
    max_seconds: float,
    workers: int,
) -> Complex:
    """The pieces of a network subject on a domain in words."""
    form = network_of(net)
    domain = domain_of(form.widths[0], data, box, rows)
    return pieces(
        form, domain, max_cells=max_cells, max_seconds=max_seconds, workers=workers, maps=True
    )


def facts(cells: Complex) -> dict[str, Enclosure | str]:
    """What a complex tells of the function: all of it in at most ten lines."""
    found: dict[str, Enclosure | str] = {"pieces": cells.count}
    signs = f"{cells.certificate.rational_signs:,} signs decided in rationals"
    found["certificate"] = f"{cells.certificate.basis}; {signs}; {cells.certificate.seconds:.2f} s"
    found["function"] = cells.certificate.meaning
    if not cells.certificate.complete:
        found["stopped by"] = cells.certificate.stopped_by
    activity = cells.activity
    found |= {
        "live neurons": activity.live,
        "dead neurons": activity.dead,
        "always active": activity.always,
    }
    if cells.dimension <= 2:
        regions = len(np.unique(cells.linear_regions())) if cells.certificate.complete else None
        found |= (
            {}
            if regions is None
            else {"linear regions": Enclosure(regions, regions, cells.certificate.basis)}
        )
    if cells.certificate.complete:
        found["Lipschitz constant"] = cells.lipschitz()
    if cells.certificate.complete and cells.has_corners:
        for k in range(min(cells.plan.outputs, 3)):
            low, high = cells.extreme(k)
            found |= {f"least output {k}": low, f"largest output {k}": high}
    return found
