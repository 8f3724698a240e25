"""Comparisons, truth values, and choices between cases.

A comparison is decided where the intervals leave no doubt, and (False, True) otherwise. A choice with an undecided
predicate is the hull of the cases that remain possible. How `where(x > 0, x, a·x)` is made sharper than that is the
business of `univariate.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ftheta.graph.domains.interval.arithmetic import maximum, minimum
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.graph import Node


def truth(surely: Array, possibly: Array) -> Interval:
    """A truth value between False and True: true for certain, and possibly true."""
    return Interval(np.asarray(surely, bool), np.asarray(possibly, bool))


def negation(p: Interval) -> Interval:
    """not p."""
    return Interval(~p.hi, ~p.lo)


def less(x: Interval, y: Interval) -> Interval:
    """x < y, where that is certain or possible."""
    return truth(x.hi < y.lo, x.lo < y.hi)


def less_equal(x: Interval, y: Interval) -> Interval:
    """x ≤ y, where that is certain or possible."""
    return truth(x.hi <= y.lo, x.lo <= y.hi)


def equal(x: Interval, y: Interval) -> Interval:
    """x = y: certain only of two equal points."""
    surely = (x.lo == x.hi) & (y.lo == y.hi) & (x.lo == y.lo)
    return truth(surely, (x.lo <= y.hi) & (y.lo <= x.hi))


COMPARE: dict[str, Callable[[Interval, Interval], Interval]] = {
    "lt": less,
    "le": less_equal,
    "gt": lambda x, y: less(y, x),
    "ge": lambda x, y: less_equal(y, x),
    "eq": equal,
    "ne": lambda x, y: negation(equal(x, y)),
}

REFLEXIVE = {"lt": False, "le": True, "gt": False, "ge": True, "eq": True, "ne": False}
"""What `x ∘ x` is for a real number x: `ne(x, x)` is JAX's test for NaN, which no real number is."""


def compare(node: Node, x: Interval, y: Interval) -> Interval:
    """The node's comparison of x and y; of a slot with itself the answer is known."""
    if node.inputs[0] == node.inputs[1]:
        known = np.full(x.shape, REFLEXIVE[node.primitive])
        return Interval(known, known)
    return COMPARE[node.primitive](x, y)


def strict_compare(node: Node, x: Interval, y: Interval) -> Interval:
    """The comparison for x in the *open* interval (lo, hi) on one side, a number on the other.

    Touching ends then decide: on (c, h) surely x > c. Used for pieces between the knots of a piecewise function.
    """
    is_open = (x.lo < x.hi) | (y.lo < y.hi)
    closed = COMPARE[node.primitive](x, y)
    smaller = is_open & (x.hi <= y.lo)
    larger = is_open & (x.lo >= y.hi)
    if node.primitive in ("eq", "ne"):
        apart = smaller | larger
        surely, possibly = (False, False) if node.primitive == "eq" else (True, True)
        return truth(np.where(apart, surely, closed.lo), np.where(apart, possibly, closed.hi))
    yes, no = (smaller, larger) if node.primitive in ("lt", "le") else (larger, smaller)
    return truth(
        np.where(no, False, np.where(yes, True, closed.lo)),
        np.where(yes, True, np.where(no, False, closed.hi)),
    )


def conjunction(p: Interval, q: Interval) -> Interval:
    """p and q."""
    return Interval(p.lo & q.lo, p.hi & q.hi)


def disjunction(p: Interval, q: Interval) -> Interval:
    """p or q."""
    return Interval(p.lo | q.lo, p.hi | q.hi)


def exclusive_or(p: Interval, q: Interval) -> Interval:
    """p xor q, known where both are."""
    decided = (p.lo == p.hi) & (q.lo == q.hi)
    return truth(np.where(decided, p.lo ^ q.lo, False), np.where(decided, p.lo ^ q.lo, True))


def is_finite(x: Interval) -> Interval:
    """A bounded enclosure holds finite numbers only; infinite ends leave it open."""
    bounded = np.isfinite(x.lo) & np.isfinite(x.hi)
    return truth(bounded, np.ones(x.shape, bool))


def choose(which: Interval, cases: Sequence[Interval]) -> Interval:
    """Case number `which` (a truth value is 0 or 1), or the hull of the cases that it may be."""
    first = which.lo.astype(np.float64)
    last = which.hi.astype(np.float64)
    lo = np.full(cases[0].shape, True)
    hi = np.full(cases[0].shape, False)
    if not cases[0].is_bool:
        lo = np.full(cases[0].shape, np.inf)
        hi = np.full(cases[0].shape, -np.inf)
    for number, case in enumerate(cases):
        possible = (first <= number) & (number <= last)
        lo = np.where(possible, np.minimum(lo, case.lo), lo)
        hi = np.where(possible, np.maximum(hi, case.hi), hi)
    return Interval(lo, hi)


def select(node: Node, which: Interval, *cases: Interval) -> Interval:
    """The case that `which` names; the hull of those that it may name."""
    return choose(which, cases)


def clamp(lowest: Interval, x: Interval, highest: Interval) -> Interval:
    """x between `lowest` and `highest`, which is exact."""
    return minimum(maximum(x, lowest), highest)
