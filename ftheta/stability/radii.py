r"""How far an input may be moved before its label can change: certified from below, met from above.

    ft.certified_radius(net, x)                    # in ℓ∞, of one input or of rows
    ft.certified_radius(net, x, norm=2, clip=(0, 1))

The *robust radius* $\rho$ of a labelled input is the distance to the nearest input at which another output is at least
as large as that of the label. Here $r\le\rho\le d$: within $r$ no such input exists, which bounds rounded outward show,
and at distance $d$ one was met and checked. A method finds its $r$ by bisection to a stated tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ftheta.certify.distances import distance_between
from ftheta.certify.perturbations import attack, read_problem
from ftheta.certify.traced_programs import MEANING, describe_meaning
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError, suggest
from ftheta.processes.budgets import parse_seconds
from ftheta.processes.compilation import clock
from ftheta.shapes import Float, Int, Shaped

from .certifying import RELAXATIONS, Certifier

Array = np.ndarray
Method: TypeAlias = Literal["interval", "crown", "alpha-crown", "branch and bound"]
METHODS: tuple[Method, ...] = get_args(Method)
DOUBLINGS = 60  # of a radius, where nothing was met
WAYS_DOWN = 60  # halvings of a radius that is not shown


@dataclass(frozen=True, eq=False)
class CertifiedRadius:
    """For each row: its `label`, the `radius` within which the label is certain, the `method` that showed the largest
    one, and the `distance` of the nearest input `x` that was met with another label (infinite where none was; of a
    rational one the nearest floats are given).

    `by_method` holds the radius that each method shows by itself, but for branch and bound, which begins where the
    others end; each is found to the relative `tolerance`, unless the budget was over. Given one input, all are of that
    one. `meaning` says of which function this is shown, `interrupted` whether Ctrl-C ended branch and bound.
    """

    label: Int[Any, "*rows"]
    radius: Float[Any, "*rows"]
    method: Shaped[np.ndarray, "*rows"] | str
    by_method: dict[str, Float[Any, "*rows"]]
    distance: Float[Any, "*rows"]
    x: Float[np.ndarray, "*points"]
    norm: float
    tolerance: float
    meaning: str = MEANING
    interrupted: bool = False

    @property
    def enclosures(self) -> tuple[Enclosure, ...]:
        """The robust radius of each row: between what is certified and what was met."""
        ends = zip(np.atleast_1d(self.radius), np.atleast_1d(self.distance))
        return tuple(Enclosure.between(float(lo), float(hi)) for lo, hi in ends)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON: infinite distances are None."""
        distance = np.array(self.distance, object)
        distance[np.isinf(self.distance)] = None
        return {
            "norm": "inf" if self.norm == inf else self.norm,
            "tolerance": self.tolerance,
            "meaning": self.meaning,
            "label": np.asarray(self.label).tolist(),
            "radius": np.asarray(self.radius).tolist(),
            "method": np.asarray(self.method).tolist(),
            "distance": distance.tolist(),
            "by_method": {
                name: np.asarray(values).tolist() for name, values in self.by_method.items()
            },
        }

    def __str__(self) -> str:
        radius, distance, method = (
            np.atleast_1d(part) for part in (self.radius, self.distance, self.method)
        )
        p = "∞" if self.norm == inf else f"{self.norm:g}"
        lines = [f"ℓ{p} radius within which the label holds ({self.meaning})"]
        for k in range(min(len(radius), 20)):
            lines.append(
                f"  row {k}: at least {radius[k]:.6g} ({method[k]}), at most {distance[k]:.6g}"
            )
        if len(radius) > 20:
            lines.append(f"  … and {len(radius) - 20:,} more rows")
        return "\n".join(lines)

    __repr__ = __str__


def certified_radius(
    net: Any,
    x: ArrayLike,
    norm: float = inf,
    *,
    label: ArrayLike | None = None,
    clip: tuple[ArrayLike, ArrayLike] | None = None,
    methods: Sequence[Method] = METHODS,
    tolerance: float = 1e-3,
    budget: str | float = "10s",
    seed: int = 0,
) -> CertifiedRadius:
    r"""The radius around each input within which its label cannot change, and how near a change was met.

    Parameters
    ----------
    net
        A network with at least two outputs (anything `ft.load` makes one of).
    x
        One input, or one per row.
    norm
        $p$: 1, 2 or $\infty$.
    label
        Of each row; by default the largest output at `x`. Where another output is larger, the radius is 0.
    clip
        The least and the largest value of the entries of an input, such as (0, 1) for images.
    methods
        Which bounds are tried: intervals; linear bounds ("crown"); with slopes optimised for each margin
        ("alpha-crown"); "branch and bound", which begins at the best of the others and goes on as long as the budget.
    tolerance
        Relative: a method stops where a radius larger by this share is not shown.
    budget
        For branch and bound, of all rows together, by the clock on the wall (as for `ft.verify`). Ctrl-C ends that
        search, too, with what is known by then.
    """
    for name in methods:
        if name not in METHODS:
            raise UsageError(
                "That is no method.", got=name, remedy=suggest(str(name), METHODS, "crown")
            )
    if not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        raise UsageError(
            "The tolerance is a share between 0 and 1.", where="tolerance", got=tolerance
        )
    seconds = parse_seconds(budget)
    problem, is_single = read_problem(net, x, label, clip, norm)
    met = attack(
        net,
        problem.x.reshape(-1, *problem.shape),
        norm=norm,
        label=problem.label,
        clip=clip,
        seed=seed,
    )
    bracket = _Bracket(Certifier(net, problem), met.x.copy(), met.distance.copy(), tolerance)
    for name in RELAXATIONS:
        if name in methods:
            bracket.by_method[name] = bracket.bisect(name)
    if "branch and bound" in methods:
        bracket.search(seconds)
    of = 0 if is_single else slice(None)
    return CertifiedRadius(
        problem.label[of],
        bracket.radius[of],
        bracket.method[of],
        {name: values[of] for name, values in bracket.by_method.items()},
        bracket.distance[of],
        bracket.x[of],
        norm,
        tolerance,
        describe_meaning(net),
        bracket.interrupted,
    )


class _Bracket:
    """What is known of the robust radius of each row: at least `radius` by some `method`, at most `distance`."""

    def __init__(self, certifier: Certifier, x: Array, distance: Array, tolerance: float) -> None:
        self.certifier = certifier
        self.x = x
        self.distance = distance
        self.tolerance = tolerance
        self.radius = np.zeros(len(distance))
        self.method = np.full(len(distance), "", dtype=object)
        self.by_method = dict[str, Array]()
        self.interrupted = False

    def bisect(self, name: Any) -> Array:
        """The largest radius that one method shows, of every row; what it shows is taken over."""
        shown = np.zeros(len(self.distance))
        failed = self.distance.copy()  # a method fails at least where a change was met
        rows = np.flatnonzero(failed > 0)
        guess = self._first_guesses()
        for _ in range(DOUBLINGS + WAYS_DOWN):
            if not len(rows):
                break
            holds = self.certifier.holds(rows, guess[rows], name)
            shown[rows[holds]] = guess[rows[holds]]
            failed[rows[~holds]] = guess[rows[~holds]]
            guess = _next_guesses(shown, failed)
            rows = rows[
                (failed[rows] > (1 + self.tolerance) * shown[rows]) & np.isfinite(guess[rows])
            ]
            rows = rows[(shown[rows] > 0) | (failed[rows] > self._least()[rows])]
        better = shown > self.radius
        self.radius[better] = shown[better]
        self.method[better] = name
        return shown

    def search(self, seconds: float) -> None:
        """Narrow the bracket of every row by branch and bound, the widest first, until the time is over."""
        end = clock() + seconds
        waiting = [int(k) for k in np.argsort(-self._width()) if self._width()[k] > self.tolerance]
        for count, row in enumerate(waiting):
            turn = (end - clock()) / (len(waiting) - count)
            self._search_row(row, clock() + turn)
            if self.interrupted:
                return

    def _search_row(self, row: int, end: float) -> None:
        while self._width()[row] > self.tolerance and clock() < end:
            guess = float(
                _next_guesses(self.radius[row : row + 1], self.distance[row : row + 1])[0]
            )
            if not 0 < guess < inf:
                return
            found = self.certifier.decide(row, guess, max(0.05, end - clock()))
            self.interrupted = found.interrupted
            if found.answer == "unsat":
                self.radius[row] = guess
                self.method[row] = "branch and bound"
            elif found.witness is not None:
                self._take_over(row, found.witness.x)
            else:
                return

    def _take_over(self, row: int, point: Sequence[Fraction]) -> None:
        """A counter-example in rationals: its distance is exact, it is shown as floats."""
        problem = self.certifier.problem
        self.x[row] = np.array([float(v) for v in point]).reshape(problem.shape)
        self.distance[row] = distance_between(point, problem.x[row].tolist(), problem.norm)

    def _width(self) -> Array:
        """By how much larger the upper end may be, relative to the lower one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.distance > 0, self.distance / self.radius - 1, 0.0)

    def _first_guesses(self) -> Array:
        typical = 1e-2 * (1.0 + np.abs(self.certifier.problem.x).max(1))
        known = np.where(np.isfinite(self.distance), self.distance / 2, typical)
        return np.where(
            self.radius > 0, np.minimum(self.radius * (1 + self.tolerance), known), known
        )

    def _least(self) -> Array:
        """Radii that are too small to be of interest."""
        return 2.0**-40 * (1.0 + np.abs(self.certifier.problem.x).max(1))


def _next_guesses(shown: Array, failed: Array) -> Array:
    """Between the ends, in the geometric mean; beyond or below where there is no end yet."""
    with np.errstate(over="ignore"):
        middle = np.sqrt(shown) * np.sqrt(failed)
        below = failed / 4
        beyond = shown * 2
    return np.where(np.isinf(failed), beyond, np.where(shown > 0, middle, below))
