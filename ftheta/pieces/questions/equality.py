r"""Are two networks the same function on a domain? Decided in exact arithmetic.

Three ways to an answer, the cheap ones first: a point where the two differ, met by chance; equal normal forms, which
prove equality everywhere; the cells of $f-g$, on each of which the affine map is zero or some corner is a witness.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.logic.witness import Witness
from ftheta.relu.calculus import combination, parts
from ftheta.relu.counts import is_plain
from ftheta.relu.exact import round_weights
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.canonical import canonical
from ftheta.relu.symmetry.folding import distance

from ..domains import Box, Domain, Polygon, Polyline, Segment, Space, as_domain
from ..enumeration import Budget, Chunk, clock
from ..normal_forms import AnyNetwork, exact_network_of
from ..plan import Plan
from ..setting import Enumeration, begin, checked_budget
from ..signs import ExactForms, exact_body
from .corners import Form, corners_of, planes_of
from .output_forms import OutputForms

Values: TypeAlias = tuple[Fraction, ...]
LOOKED_AT = 4  # random points that are evaluated exactly


@dataclass(frozen=True)
class Difference:
    """An input where two networks differ, and both outputs there, in exact arithmetic."""

    point: Values
    left: Values
    right: Values

    @property
    def gap(self) -> Fraction:
        return max(abs(a - b) for a, b in zip(self.left, self.right))


@dataclass(frozen=True)
class Equality:
    """`equal` is True when it is proved, False when there is a `witness`, None when the budget ran out before.

    `how` says by what means; `cells` of $f-g$ were shown to be zero. The answer is about the real functions with the
    stored weights. Where constants of a network were rounded on the way (`rounded` says which) it is about the networks
    with the rounded constants: then nothing is proved of the functions that they were read from.
    """

    equal: bool | None
    how: str
    cells: int = 0
    witness: Difference | None = None
    rounded: str = ""

    def __bool__(self) -> bool:
        """Whether equality is proved."""
        return self.equal is True and not self.rounded

    def __repr__(self) -> str:
        answer = {True: "equal", False: "different", None: "undecided"}[self.equal]
        of = f", of the networks with rounded constants ({self.rounded})" if self.rounded else ""
        return f"Equality({answer}{of}: {self.how})"

    @property
    def basis(self) -> Basis:
        return Basis.FLOAT if self.rounded else Basis.EXACT

    @property
    def distance(self) -> Enclosure:
        r"""What is known of $\max_j\sup_x|f_j(x)-g_j(x)|$."""
        seen = Enclosure.exact(self.witness.gap).lo if self.witness else 0.0
        return Enclosure(seen, 0.0 if self.equal else inf, self.basis)

    def as_witness(self) -> Witness | None:
        """The point where the two differ, as a witness against the claim that they are equal."""
        if self.witness is None:
            return None
        x = self.witness.point
        f = self.witness.left
        g = self.witness.right
        j = max(range(len(f)), key=lambda j: abs(f[j] - g[j]))
        at = {f"x{i + 1}": str(t) for i, t in enumerate(x)}
        gap = Enclosure.exact(abs(f[j] - g[j]))
        how = "both networks in rational arithmetic"
        return Witness(at, Enclosure(gap.lo, gap.hi, self.basis), Enclosure.exact(0), how)


def equal(
    f: AnyNetwork,
    g: AnyNetwork,
    domain: Domain | tuple[ArrayLike, ArrayLike],
    *,
    max_cells: int | None = None,
    max_seconds: float | None = None,
    points: int = 1024,
    seed: int = 0,
) -> Equality:
    """Whether two networks are the same real function on a bounded domain; weights count at their exact values.

    `points` random inputs are tried for a difference before anything is enumerated; `max_cells` and `max_seconds` limit
    the enumeration of the cells of the difference. On `Space(d)` only the first two ways are open.
    """
    domain = as_domain(domain)
    budget = checked_budget(max_cells, max_seconds)
    one = exact_network_of(f)
    other = exact_network_of(g)
    _check_shapes(one, other, domain)
    found = _compare(one, other, domain, budget, points, np.random.default_rng(seed))
    return replace(
        found, rounded="; ".join(dict.fromkeys(net.rounded for net in (one, other) if net.rounded))
    )


def _compare(
    one: ExactNetwork,
    other: ExactNetwork,
    domain: Domain,
    budget: Budget,
    points: int,
    rng: np.random.Generator,
) -> Equality:
    for place in _places(domain):
        if witness := _by_chance(one, other, place, points, rng):
            return Equality(False, "a point where they differ", witness=witness)
    if distance(one, other, ()).hi == 0:
        return Equality(True, "equal normal forms")
    if isinstance(domain, Space):
        return Equality(None, "the normal forms differ, and all of space is not enumerated")
    return _cell_by_cell(one, other, domain, budget)


def _check_shapes(f: ExactNetwork, g: ExactNetwork, domain: Domain) -> None:
    if (f.widths[0], f.widths[-1]) != (g.widths[0], g.widths[-1]):
        got = f"{f.widths[0]} → {f.widths[-1]} and {g.widths[0]} → {g.widths[-1]}"
        raise UsageError("Equal functions have as many inputs and outputs.", got=got)
    if len(domain.chart.origin) != f.widths[0]:
        got = (
            f"a domain in dimension {len(domain.chart.origin)}, networks with {f.widths[0]} inputs"
        )
        raise UsageError(
            "The domain lies in another space than the inputs of the networks.", got=got
        )


# -- points of a domain, exactly ------------------------------------------------------------------


class _Place:
    """A convex domain with its chart in rational arithmetic."""

    def __init__(self, domain: Segment | Polygon | Box | Space) -> None:
        self.domain = domain
        self.chart = domain.chart
        self.sides = () if isinstance(domain, Box | Space) else exact_body(domain)[1]

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Points in float64; those on the rim may lie outside by a rounding error."""
        if isinstance(self.domain, Space):
            return rng.normal(size=(n, self.domain.dimension)) * rng.choice(
                [0.1, 1.0, 10.0], (n, 1)
            )
        if isinstance(self.domain, Box):
            return rng.uniform(self.domain.lower, self.domain.upper, (n, self.domain.dimension))
        return rng.dirichlet(np.ones(len(self.domain.corners)), n) @ self.domain.corners

    def __contains__(self, t: Values) -> bool:
        if isinstance(self.domain, Box):
            return all(
                a <= x <= b
                for a, x, b in zip(self.domain.lower.tolist(), t, self.domain.upper.tolist())
            )
        return all(
            sum((a * x for a, x in zip(side, t)), Fraction(side[-1])) >= 0 for side in self.sides
        )

    def inputs(self, t: Values) -> Values:
        if np.array_equal(self.chart.basis, np.eye(len(t))) and not self.chart.tail.any():
            return tuple(x + Fraction(p) for x, p in zip(t, self.chart.origin.tolist()))
        rows = zip(self.chart.origin.tolist(), self.chart.basis.tolist(), self.chart.tail.tolist())
        return tuple(
            Fraction(p) + sum((Fraction(a) + Fraction(b)) * x for a, b, x in zip(row, tail, t))
            for p, row, tail in rows
        )


def _places(domain: Domain) -> list[_Place]:
    return [
        _Place(part) for part in (domain.segments if isinstance(domain, Polyline) else (domain,))
    ]


def _apart(f: ExactNetwork, g: ExactNetwork, place: _Place, t: Values) -> Difference | None:
    """The difference of the networks at a point, if there is one and the point belongs to the domain."""
    if t not in place:
        return None
    x = place.inputs(t)
    left = f(x)
    right = g(x)
    return Difference(x, left, right) if left != right else None


def _by_chance(
    f: ExactNetwork, g: ExactNetwork, place: _Place, points: int, rng: np.random.Generator
) -> Difference | None:
    """The random points where float64 sees the largest differences, looked at in rational arithmetic."""
    t = place.sample(points, rng)
    x = place.chart(t)
    with np.errstate(all="ignore"):
        gap = abs(round_weights(f).network(x) - round_weights(g).network(x)).max(
            axis=1, initial=0.0
        )
    order = np.argsort(-np.nan_to_num(gap, nan=inf), kind="stable")[:LOOKED_AT]
    found = (_apart(f, g, place, tuple(map(Fraction, row))) for row in t[order].tolist())
    return next((difference for difference in found if difference), None)


# -- cell by cell ---------------------------------------------------------------------------------


def _minus(f: ExactNetwork, g: ExactNetwork) -> ExactNetwork:
    """$f-g$; the shallower network passes its outputs on, neurons that the two have in common are merged."""
    depth = max(len(f.steps), len(g.steps))
    m = f.widths[-1]
    on = (f.algebra.eye(m), f.algebra.vector([0] * m), np.zeros(m, bool))
    level = [net.rebuilt([*parts(net), *[on] * (depth - len(net.steps))]) for net in (f, g)]
    difference = combination((1, -1), level)
    return canonical(difference) if is_plain(difference) else difference


def _cell_by_cell(f: ExactNetwork, g: ExactNetwork, domain: Domain, budget: Budget) -> Equality:
    deadline = budget.deadline()
    difference = _minus(f, g).in_floats()
    zero = 0
    for part, place in zip(
        begin(difference, domain, "auto", budget, store=True, maps=True), _places(domain)
    ):
        for chunk, i, forms in _affine_maps(part):
            if any(map(any, forms)):
                witness = _in_cell(f, g, place, part.plan, chunk, i, forms)
                how = "a cell on which their affine maps differ"
                return Equality(
                    False if witness else None,
                    how if witness else f"no point known of {how}",
                    zero,
                    witness,
                )
            zero += 1
            if clock() > deadline:
                return Equality(
                    None, f"undecided within max_seconds = {budget.max_seconds:g}", zero
                )
        if not part.tally.complete:
            return Equality(None, f"undecided within {part.tally.stopped_by}", zero)
    return Equality(True, f"their affine maps agree on all {zero:,} cells", zero)


def _affine_maps(part: Enumeration) -> Iterator[tuple[Chunk, int, Sequence[Form]]]:
    """Cells while they are found, with their exact maps; first of each chunk the one with the largest float64 map."""
    exact_maps = OutputForms(part.plan)
    for chunk in part.chunks:
        assert chunk.maps is not None
        largest = int(abs(chunk.maps).max(axis=(1, 2)).argmax())
        order = [largest, *range(largest), *range(largest + 1, len(chunk))]
        patterns = (_pattern(chunk, i) for i in order)
        yield from ((chunk, i, forms) for i, forms in zip(order, exact_maps(patterns)))


def _pattern(chunk: Chunk, i: int) -> int:
    return int.from_bytes(chunk.patterns[i].tobytes(), "little")


def _in_cell(
    f: ExactNetwork,
    g: ExactNetwork,
    place: _Place,
    plan: Plan,
    chunk: Chunk,
    i: int,
    forms: Sequence[Form],
) -> Difference | None:
    """A witness: the centre or a corner as float64 has it, else an exact corner (an affine map is zero at all of them
    only if it is zero); in many dimensions, where cells have no corners, a point near the centre."""
    here = slice(chunk.ends[i], chunk.ends[i + 1])
    near = chunk.vertices[here]
    points = [tuple(map(Fraction, t.tolist())) for t in (near.mean(axis=0), *near)]
    if chunk.labels.size:
        planes = planes_of(
            ExactForms(plan), exact_body(place.domain)[1], chunk.labels[here], _pattern(chunk, i)
        )
        corners = (
            tuple(Fraction(x, w) for x in t) for *t, w in corners_of(planes, chunk.labels[here])
        )
    else:
        corners = _around(points[0], forms)
    found = (_apart(f, g, place, t) for t in chain(points, corners))
    return next((difference for difference in found if difference), None)


def _around(centre: Values, forms: Sequence[Form]) -> Iterator[Values]:
    """Points nearer and nearer to the centre, along an axis on which some form is not constant."""
    axis = max(range(len(centre)), key=lambda k: max(abs(form[k]) for form in forms))
    for k in range(60):
        for step in (Fraction(1, 2**k), Fraction(-1, 2**k)):
            yield (*centre[:axis], centre[axis] + step, *centre[axis + 1 :])
