r"""The mean square of $f-g$ over the box, proved on cells or sampled within bounds that are.

On every cell of a partition $|f-g|$ is enclosed between $l_c$ and $u_c$, so that with the share $s_c$ of the volume

$$L=\sum_cs_cl_c^2\le\|f-g\|^2\le\sum_cs_cu_c^2=U.$$

Cells are halved where the two differ most. In few variables $U$ becomes small enough, which is a proof. In many it does
not: then points are drawn, a cell with probability $s_cu_c^2/U$ and a point of it uniformly. The quotient
$(f-g)^2/u_c^2$ of such a point lies in $[0,1]$ and has the mean $\|f-g\|^2/U$, so that its confidence interval holds at
the number of draws at hand. A sample without such bounds says nothing of a spike that it missed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.graph.domains.interval import Interval
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Shaped

from .certificate import AT_ONCE, Certificate, enclose_cells, largest_gap
from .enclosed import UNIT, Enclosed
from .goal import Goal
from .suprema import grid, halve, ranges

PROVED = "interval enclosures of f − g on cells that are halved, outward rounding"
WITHIN = "points drawn on cells with proved bounds of f − g"
UNBOUNDED = "root mean square at fresh points: f − g has no proved bound, so nothing is said of what lies between them"
TIGHT = 0.05  # the relative width of the root mean square at which a proof ends
NEAR_ENOUGH = 0.9  # of eps: a bound below it is reported without more work
STALLED = 0.99  # what a round of halving leaves of the bound, at least, when it no longer pays
FINEST = 40  # halvings of one side of a cell: below them float64 has no points left
FIRST_DRAWS = 20_000
# draws after which the range U adds a third of the room below eps², in units of U / room
NEEDED = 60


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells between the rows of `a` and `b`, their `share` of the volume, and bounds `least` ≤ |f − g| ≤ `most`."""

    a: Float[np.ndarray, "n d"]
    b: Float[np.ndarray, "n d"]
    share: Float[np.ndarray, "n"]
    least: Float[np.ndarray, "n"]
    most: Float[np.ndarray, "n"]

    @property
    def above(self) -> Float[np.ndarray, "n"]:
        """What each cell adds to the mean square at most."""
        return self.share * self.most**2

    @property
    def below(self) -> Float[np.ndarray, "n"]:
        return self.share * self.least**2

    @property
    def bounds(self) -> Enclosure:
        """The root mean square."""
        slack = 4 * (len(self.share) + 8) * UNIT  # of the sums, and of the shares
        return Enclosure.between(
            max(0.0, float(np.sqrt(self.below.sum())) * (1 - slack)),
            float(np.sqrt(self.above.sum())) * (1 + slack),
        )

    def split(self, cells: Shaped[np.ndarray, "k"], bounds: "CellRanges") -> "Partition":
        """The same with these cells halved."""
        a, b = halve(self.a[cells], self.b[cells])
        least, most = bounds(a, b)
        half = np.tile(self.share[cells] / 2, 2)
        kept = ~cells
        return Partition(
            np.concatenate([self.a[kept], a]),
            np.concatenate([self.b[kept], b]),
            np.concatenate([self.share[kept], half]),
            np.concatenate([self.least[kept], least]),
            np.concatenate([self.most[kept], most]),
        )


CellRanges = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def make_partition(goal: Goal, net: Enclosed, eps: float, budget: int) -> Partition:
    """Cells halved until the root mean square is known well enough, the budget is spent, or halving does not pay."""
    bounds = cell_ranges(goal, net)
    a, b = grid(np.asarray(goal.lo), np.asarray(goal.hi), min(1024, budget))
    least, most = bounds(a, b)
    found = Partition(a, b, np.full(len(a), 1 / len(a)), least, most)
    looked = len(a)
    before = np.inf
    for _ in range(FINEST * goal.dimension):
        known = found.bounds
        too_large = known.lo > eps and known.hi <= 2 * known.lo
        if (
            known.hi <= eps * NEAR_ENOUGH
            or too_large
            or is_narrow(known, TIGHT)
            or STALLED * before < known.hi < np.inf
        ):
            return found
        before = known.hi
        doubt = np.nan_to_num(found.above - found.below, nan=np.inf, posinf=np.inf)
        worst = doubt >= min(float(doubt.max()), float(doubt.mean()))
        if looked + 2 * int(worst.sum()) > budget:
            return found
        looked += 2 * int(worst.sum())
        found = found.split(worst, bounds)
    return found


def is_narrow(known: Enclosure, share: float) -> bool:
    """Whether the two ends differ by no more than this share of the upper one."""
    return np.isfinite(known.hi) and known.hi - known.lo <= share * known.hi


def cell_ranges(goal: Goal, net: Enclosed) -> CellRanges:
    """The least and the largest |f − g| on cells: by the slopes from the centre, and by the ranges of both."""
    slope = None if goal.may_jump else jax.grad(goal.f)
    size = max(64, AT_ONCE // max(net.neurons, 1))

    def block(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        least = np.zeros(len(a))
        most = np.full(len(a), np.inf)
        m = (a + b) / 2
        r = np.nextafter(np.maximum(b - m, m - a), np.inf)
        there = net.at(m)
        slopes = net.slopes(a, b)
        whole = enclose_cells(goal.f, a, b)
        if whole is not None:
            level = _network_over(net, a, b, there, slopes, r)
            most = np.fmin(most, largest_gap(whole, level))
            least = np.fmax(least, _smallest_gap(whole, level))
        cell = None if slope is None else enclose_cells(slope, a, b)
        if cell is not None:
            here = ranges(goal.f, m, m)
            steep = Interval(cell.lo.reshape(a.shape), cell.hi.reshape(a.shape))
            with np.errstate(invalid="ignore"):
                climb = (r * largest_gap(steep, slopes)).sum(1) * (1 + 16 * a.shape[1] * UNIT)
                most = np.fmin(most, largest_gap(here, there) + climb)
                least = np.fmax(least, _smallest_gap(here, there) - climb)
        outward = 16 * UNIT
        return np.maximum(least, 0.0) * (1 - outward), np.nextafter(most * (1 + outward), np.inf)

    def bounds(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [block(a[i : i + size], b[i : i + size]) for i in range(0, len(a), size)]
        return np.concatenate([least for least, _ in parts]), np.concatenate(
            [most for _, most in parts]
        )

    return bounds


def _network_over(
    net: Enclosed, a: np.ndarray, b: np.ndarray, there: Interval, slopes: Interval, r: np.ndarray
) -> Interval:
    """The network's values on cells: by its range, and by its slopes from the centres, where the value is `there`."""
    over = net.over(a, b)
    climb = (r * np.maximum(np.abs(slopes.lo), np.abs(slopes.hi))).sum(1) * (
        1 + 16 * a.shape[1] * UNIT
    )
    return Interval(np.fmax(over.lo, there.lo - climb), np.fmin(over.hi, there.hi + climb))


def _smallest_gap(x: Interval, y: Interval) -> np.ndarray:
    """The least |x − y|."""
    return np.maximum(0.0, np.maximum(x.lo - y.hi, y.lo - x.hi))


def estimate(
    partition: Partition,
    errors: Callable[[np.ndarray], np.ndarray],
    draws: int,
    rng: np.random.Generator,
    confidence: float,
) -> Enclosure:
    """The root mean square from points of the cells; `errors` is |f − g| at rows."""
    chance = partition.above / partition.above.sum()
    cells = rng.choice(len(chance), size=draws, p=chance)
    a = partition.a[cells]
    b = partition.b[cells]
    found = errors(a + (b - a) * rng.random(a.shape)) / partition.most[cells]
    share = mean(np.minimum(found, 1.0) ** 2, confidence, within=(0.0, 1.0))
    known = partition.bounds
    by_draws = (share * Enclosure.exact(known.hi) * Enclosure.exact(known.hi)).sqrt()
    lo = max(by_draws.lo, known.lo)
    hi = min(by_draws.hi, known.hi)
    assumed = f"|f − g| bounded by interval arithmetic on {len(chance):,} cells"
    return replace(by_draws, lo=min(lo, hi), hi=hi, assuming=assumed)


def mean_square_certificate(
    goal: Goal,
    net: Enclosed,
    eps: float,
    budget: int,
    most_draws: int,
    errors: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    confidence: float,
) -> Certificate:
    """A proof if the cells allow one, else draws within their bounds, else draws alone, which guarantee nothing."""
    partition = make_partition(goal, net, eps, budget)
    known = partition.bounds
    if known.hi <= eps or known.lo > eps or is_narrow(known, 2 * TIGHT):
        return Certificate(known, (), len(partition.share), PROVED)
    rows = rng.uniform(goal.lo, goal.hi, size=(min(most_draws, FIRST_DRAWS), goal.dimension))
    square = mean(errors(rows) ** 2, confidence)
    alone = replace(square, lo=max(square.lo, 0.0)).sqrt()
    if not np.isfinite(known.hi):
        return Certificate(alone, (), 0, UNBOUNDED)
    room = eps**2 - square.middle
    wanted = NEEDED * known.hi**2 / (room if room > 0 else eps**2)
    draws = int(np.clip(wanted, FIRST_DRAWS, max(FIRST_DRAWS, most_draws)))
    within = estimate(partition, errors, draws, rng, confidence)
    if within.hi <= eps or alone.hi > eps:
        return Certificate(within, (), len(partition.share), WITHIN)
    told = f"root mean square at fresh points, not guaranteed; guaranteed is at most {within.hi:.6g} ({WITHIN})"
    return Certificate(alone, (), len(partition.share), told)
