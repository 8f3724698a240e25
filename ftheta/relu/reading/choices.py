r"""Choices between affine cases: continuous or refused, decided without rounding.

The two cases of one comparison with the sign of $D$ make the function $\text{no}+\alpha r(D)$ if
$\text{yes}-\text{no}=\alpha D$ wherever $D\ge0$. Several comparisons whose differences are all functions of one affine
form $z$ cut the line of its values at $t_1<t_2<\dots$; with the case $F_j$ between $t_j$ and $t_{j+1}$ the choice is
$F_0+\sum_j\alpha_jr(z-t_j)$ if $F_j-F_{j-1}=\alpha_j(z-t_j)$ for $z\ge t_j$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.graph.graph import Node
from ftheta.logic.errors import SubjectError

from ..matrices import nearest
from .assembly import Assembly
from .entries import Choice, Comparison, Signs, Truth, as_forms, as_truth, refuse, spread
from .forms import CONSTANT, ONE, Forms, Row, combine_forms, exact_rows, multiples, ratio, written

WIDE = 64  # forms of more variables than this are not looked into
NESTED = 3  # neurons of neurons that are looked through, as in min(max(x, -1), 1)
MOST_ROWS = 20_000  # entries that are looked at one by one
MOST_PARTS = 32  # comparisons in one choice
MOST_CUTS = 64  # kinks of one entry
View = Callable[[Row], Row]


def compare(sign: float, strict: bool) -> Callable[..., Truth]:
    """The rule for a comparison with zero of `sign` times the difference of two arrays."""

    def rule(assembly: Assembly, node: Node, x: Any, y: Any) -> Truth:
        one, other = (spread(as_forms(v), node.shape) for v in (x, y))
        return Truth((Comparison((one - other).scale(sign), strict),), lambda signs: signs[0])

    return rule


def equal(unequal: bool) -> Callable[..., np.ndarray]:
    """`eq` and `ne` of a value with itself (a search for NaN); of two values they are not continuous."""

    def rule(assembly: Assembly, node: Node, x: Any, y: Any) -> np.ndarray:
        one, other = (spread(as_forms(v), node.shape) for v in (x, y))
        gap = multiples(one - other)
        if any(gap.times):
            raise refuse(
                node, "Whether two values are equal is not continuous.", "compare with < or >"
            )
        return np.full(node.shape, not unequal)

    return rule


def combine(word: str) -> Callable[..., Truth]:
    """`and`, `or`, `xor` of truth values."""
    together: dict[str, Callable[[bool, bool], bool]] = {
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
        "xor": lambda a, b: a != b,
    }

    def rule(assembly: Assembly, node: Node, x: Any, y: Any) -> Truth:
        one, other = (
            as_truth(v).map_forms(lambda forms: spread(forms, node.shape)) for v in (x, y)
        )
        k = len(one.parts)
        holds = lambda signs: together[word](one.holds(signs[:k]), other.holds(signs[k:]))
        return Truth(one.parts + other.parts, holds)

    return rule


def negate(assembly: Assembly, node: Node, x: Any) -> Truth:
    """The rule for logical negation."""
    truth = as_truth(x)
    return Truth(truth.parts, lambda signs: not truth.holds(signs))


# ---- one choice ------------------------------------------------------------------------------------------------------


def choose(assembly: Assembly, node: Node, which: Truth, no: Any, yes: Any) -> Forms | Choice:
    """`yes` where the truth value holds, else `no`; left open where that is not continuous by itself."""
    which = which.map_forms(lambda forms: spread(forms, node.shape))
    cases = [c if isinstance(c, Choice) else spread(as_forms(c), node.shape) for c in (no, yes)]
    if len(which.parts) == 1 and all(isinstance(c, Forms) for c in cases):
        found = _one_comparison(assembly, node, which, *cases)  # type: ignore[arg-type]
        if found is not None:
            return found
    choice = _join(node, which, *cases)
    return _along_one_form(assembly, node, choice) or choice


def _join(node: Node, which: Truth, no: Any, yes: Any) -> Choice:
    """One tree of both."""
    one, other = (
        c if isinstance(c, Choice) else Choice((), (c,), lambda _: 0, _jump(node))
        for c in (no, yes)
    )
    k = len(which.parts)
    m = len(one.parts)
    n = len(one.cases)

    def picks(signs: Signs) -> int:
        return (
            n + other.picks(signs[k + m :])
            if which.holds(signs[:k])
            else one.picks(signs[k : k + m])
        )

    return Choice(
        which.parts + one.parts + other.parts, one.cases + other.cases, picks, _jump(node)
    )


def _jump(node: Node) -> SubjectError:
    return refuse(
        node,
        "The cases of a choice do not meet where the comparison changes: the program is not continuous there.",
        "write it with maximum, minimum, clip or abs; cases that meet up to rounding alone do not meet",
    )


def _one_comparison(
    assembly: Assembly, node: Node, which: Truth, no: Forms, yes: Forms
) -> Forms | None:
    D = which.parts[0].difference
    if not which.holds([True]):
        no, yes = yes, no
    for base, other, side in ((no, yes, D), (yes, no, D.scale(-1.0))):
        factor = _factors(assembly, node, other - base, side)
        if factor is not None:
            return base + assembly.relu(side).scale(factor.reshape(node.shape))
    return None


def _factors(assembly: Assembly, node: Node, difference: Forms, side: Forms) -> np.ndarray | None:
    r"""$\alpha$ with $\text{difference}_i=\alpha_i\,\text{side}_i$ where $\text{side}_i\ge0$; None if there is none."""
    x = multiples(difference)
    y = multiples(side)
    found = np.full(side.size, None, object)
    if x.of is y.of:
        same = (x.rows == y.rows) & (y.times != 0)
        found[same] = x.times[same] / y.times[same]
    left = np.flatnonzero(found == None)  # noqa: E711
    _within_budget(node, left.size)
    for i, a, b in zip(
        left, exact_rows(difference, left.tolist()), exact_rows(side, left.tolist())
    ):
        factor = _factor(assembly, a, b)
        if factor is None:
            return None
        found[i] = factor
    return found


def _within_budget(node: Node, rows: int) -> None:
    if rows > MOST_ROWS:
        what = f"A choice of {rows:,} entries is too large to be looked at one by one."
        raise refuse(
            node, what, f"at most {MOST_ROWS:,}; write it with maximum, minimum, clip or abs"
        )


# ---- one entry, in rationals -----------------------------------------------------------------------------------------


def _factor(assembly: Assembly, difference: Row, side: Row) -> fmpq | None:
    r"""$\alpha$ with $\text{difference}=\alpha\,\text{side}$ where $\text{side}\ge0$, or None."""
    found = ratio(difference, side)
    for view in (lambda row: row, assembly.unfold):
        if found is None:
            half = view(side)
            found = ratio(_on_half_space(assembly, view(difference), half, view), half)
    return found


def _on_half_space(
    assembly: Assembly, row: Row, side: Row, view: View, nested: int = NESTED
) -> Row:
    r"""The row, with its neurons $r(\gamma\,\text{side}+\kappa)$ resolved where `side` $\ge0$ decides their sign.

    What stands under a neuron is resolved first, up to `nested` times.
    """
    if len(row) > WIDE:
        return row
    terms = [(ONE, row)]
    for v in [v for v in row if v != CONSTANT and assembly.is_neuron[v]]:
        under = view(assembly.definition(v))
        under = _on_half_space(assembly, under, side, view, nested - 1) if nested else under
        gamma = ratio(_linear(under), _linear(side))
        if gamma is None:
            continue
        kappa = under.get(CONSTANT, 0) - gamma * side.get(CONSTANT, 0)
        if gamma * kappa >= 0:
            active = gamma > 0 or kappa > 0
            terms += [(-row[v], {v: ONE}), *([(row[v], under)] if active else [])]
    return combine_forms(terms)


def _linear(row: Row) -> Row:
    return {v: a for v, a in row.items() if v != CONSTANT}


# ---- several comparisons along one form ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Line:
    r"""One entry as a function of its form $z$: `first` far left, $+\alpha r(z-t)$ for each kink `(t, alpha)`."""

    z: Row
    first: Row
    kinks: tuple[tuple[fmpq, fmpq], ...]


def _along_one_form(assembly: Assembly, node: Node, choice: Choice) -> Forms | None:
    if len(choice.parts) > MOST_PARTS:
        raise refuse(
            node,
            f"A choice by {len(choice.parts)} comparisons is too large.",
            f"at most {MOST_PARTS}",
        )
    n = choice.cases[0].size
    _within_budget(node, n)
    sides = [exact_rows(part.difference, range(n)) for part in choice.parts]
    cases = [exact_rows(case, range(n)) for case in choice.cases]
    lines = []
    for i in range(n):
        line = _line(assembly, choice, [rows[i] for rows in sides], [rows[i] for rows in cases])
        if line is None:
            return None
        lines.append(line)
    return assembly.hold(_realise(assembly, lines).reshape(node.shape))


def _realise(assembly: Assembly, lines: Sequence[_Line]) -> Forms:
    known = len(assembly.level)
    bends = [(i, t, alpha) for i, line in enumerate(lines) for t, alpha in line.kinks]
    under = [combine_forms([(ONE, lines[i].z), (-t, {CONSTANT: ONE})]) for i, t, _ in bends]
    total = written([line.first for line in lines], known)
    if not bends:
        return total
    rows = [i for i, _, _ in bends]
    factors = [alpha for _, _, alpha in bends]
    M = sparse.csr_array(
        (list(map(nearest, factors)), (rows, np.arange(len(rows)))), shape=(len(lines), len(rows))
    )
    return total + assembly.relu(written(under, known)).map(M, total.shape, factors)


def _line(assembly: Assembly, choice: Choice, sides: list[Row], cases: list[Row]) -> _Line | None:
    """None if the differences are not functions of one form, or if cases do not meet."""
    # one thing may be held under two names
    views: tuple[View, ...] = (lambda row: row, assembly.unfold)
    for view in views:
        found = _Entry(
            assembly, choice, [view(row) for row in sides], [view(row) for row in cases], view
        ).line()
        if found is not None:
            return found
    return None


@dataclass(frozen=True, eq=False)
class _Entry:
    """One entry of a choice: its comparisons and cases as exact rows."""

    assembly: Assembly
    choice: Choice
    sides: list[Row]
    cases: list[Row]
    view: View

    def line(self) -> _Line | None:
        z = next((_linear(side) for side in self.sides if _linear(side)), {})
        slopes = [ratio(_linear(side), z) for side in self.sides]
        if None in slopes:
            return None
        values = [(gamma, side.get(CONSTANT, fmpq(0))) for gamma, side in zip(slopes, self.sides)]
        cuts = self._cuts({-kappa / gamma for gamma, kappa in values if gamma}, z, values)
        if len(cuts) > MOST_CUTS:
            return None
        probes = _between(cuts)
        kinks = []
        for t, left, right in zip(cuts, probes, probes[1:]):
            before = self._case(left, z, values)[0]
            side = combine_forms([(ONE, z), (-t, {CONSTANT: ONE})])
            steps = [
                combine_forms([(ONE, self._case(p, z, values)[0]), (-ONE, before)])
                for p in (right, t)
            ]
            factors = [ratio(step, side) for step in steps]
            if factors[0] is None or factors[1] is None:
                return None
            kinks += [(t, factors[0])] if factors[0] else []
        return _Line(z, self._case(probes[0], z, values)[0], tuple(kinks))

    def _cuts(self, cuts: set[fmpq], z: Row, values: Any) -> list[fmpq]:
        """Where a comparison or a neuron of a case changes its sign."""
        while len(cuts) <= MOST_CUTS:
            ordered = sorted(cuts)
            ends = zip([None, *ordered], _between(ordered), [*ordered, None])
            more = {t for a, p, b in ends for t in self._case(p, z, values)[1] if _inside(a, t, b)}
            if not more:
                break
            cuts |= more
        return sorted(cuts)

    def _case(self, p: fmpq, z: Row, values: Any) -> tuple[Row, set[fmpq]]:
        """The case chosen at $z=p$, its neurons of $z$ resolved there, and where those change."""
        at = zip((gamma * p + kappa for gamma, kappa in values), self.choice.parts)
        number = self.choice.picks([bool(d > 0 or (d == 0 and not part.strict)) for d, part in at])
        return self._resolve(self.cases[number], z, p)

    def _resolve(self, row: Row, z: Row, p: fmpq, nested: int = NESTED) -> tuple[Row, set[fmpq]]:
        terms = [(ONE, row)]
        zeros = set()
        if len(row) > WIDE or not z:
            return row, zeros
        for v in [v for v in row if v != CONSTANT and self.assembly.is_neuron[v]]:
            under = self.view(self.assembly.definition(v))
            if nested:
                under, more = self._resolve(under, z, p, nested - 1)
                zeros |= more
            gamma = ratio(_linear(under), z)
            if gamma is None:
                continue
            kappa = under.get(CONSTANT, fmpq(0))
            zeros |= {-kappa / gamma} if gamma else set()
            terms += [(-row[v], {v: ONE}), *([(row[v], under)] if gamma * p + kappa > 0 else [])]
        return combine_forms(terms), zeros


def _between(cuts: Sequence[fmpq]) -> list[fmpq]:
    """A point in every interval that the cuts leave."""
    if not cuts:
        return [fmpq(0)]
    return [cuts[0] - 1, *((a + b) / 2 for a, b in pairwise(cuts)), cuts[-1] + 1]


def _inside(a: fmpq | None, t: fmpq, b: fmpq | None) -> bool:
    return (a is None or a < t) and (b is None or t < b)
