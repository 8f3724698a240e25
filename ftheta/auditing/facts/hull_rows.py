"""Rows outside the convex hull of the rows of training, each by a hyperplane that is checked in rationals."""

from dataclasses import dataclass
from math import comb, log2

import numpy as np

from ftheta.logic import Enclosure, Fact, SubjectError, Table
from ftheta.risks.hull import MOST_ENTRIES, Membership, membership
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge
from ..part import Part
from .evaluation import flatten
from .inputs import describe_rows

ENTRIES = 1_000_000  # of all linear programs of one kind together
LEAST = 8  # rows, however many there are of training
MOST = 40
SHOWN = 12
SIGNIFICANT = 0.001  # one hull is shared by all rows, which the test takes for independent
ROUNDING = 1e-12  # relative, of the norm of a normal and its quotient: far beyond that of float64


@dataclass(frozen=True, slots=True)
class _Tried:
    """Rows that were tried, with their numbers: outside the hull, at least so `far` from it, and those undecided."""

    rows: np.ndarray
    outside: tuple[int, ...]
    far: tuple[float, ...]
    undecided: int

    @property
    def count(self) -> Enclosure:
        """How many of them are outside."""
        least = len(self.outside)
        return Enclosure.between(least, least + self.undecided)


def hull_rows(net: Network, rng: np.random.Generator) -> Part:
    """Rows outside the convex hull of the rows of training, beside rows of training outside that of the others."""
    data = net.data
    train = net.train_data
    if data is None or train is None:
        raise SubjectError(
            "This needs the rows of training.", got="none", remedy="add --train with x and y"
        )
    if takes_tokens(net):
        raise SubjectError(
            "Token ids have no hull.", remedy="this is about inputs that are numbers"
        )
    known = flatten(train.x)
    refusal = _refuse(known)
    if refusal:
        name = "rows outside the convex hull of training"
        return Part((Fact(name, f"not tried: {refusal}", describe_rows(len(train), train)),))
    spread = known.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    many = int(np.clip(ENTRIES // known.size, LEAST, MOST))
    new = np.sort(rng.permutation(len(data))[:many])
    old = np.sort(rng.permutation(len(train))[:many])
    x = flatten(data.x[new])
    here = _collect(new, [membership(known, row) for row in x], scale)
    there = _collect(old, [membership(np.delete(known, k, 0), known[k]) for k in old], scale)
    told = f"tried: {describe_rows(len(new), data)}; each by a hyperplane, checked in rationals"
    others = f"tried: {describe_rows(len(old), train)}"
    facts = [
        Fact("rows outside the convex hull of training", here.count, told, "outside_hull"),
        Fact("rows of training outside the convex hull of the others", there.count, others),
    ]
    if here.far:
        furthest = Enclosure.at_least(max(here.far))
        facts.append(Fact("furthest from the hull, columns scaled", furthest, told))
    return Part(tuple(facts), _table(here), findings=_judge(here, there, told))


def _refuse(known: np.ndarray) -> str:
    """Why no row is tried, or nothing: where nearly every row is outside that tells nothing of it."""
    n = len(known)
    columns = int((known != known[0]).any(0).sum())
    if known.size > MOST_ENTRIES // 10:
        return f"{n:,} rows of {known.shape[1]:,} columns are too many for a linear program"
    if columns >= n:
        return f"{n:,} rows cannot surround anything in {columns:,} columns; nearly every row is outside"
    if columns > 2 * log2(n * columns):
        return (
            f"in {columns:,} columns nearly every new row is outside the hull of {n:,} rows of one law "
            "(Bárány and Füredi, of rows uniform in a ball, if 2^(d/2) > n d)"
        )
    return ""


def _collect(rows: np.ndarray, found: list[Membership], scale: np.ndarray) -> _Tried:
    outside = [i for i, where in enumerate(found) if where.kind == "outside"]
    far = tuple(_distance(found[i], scale) for i in outside)
    undecided = sum(where.kind == "undecided" for where in found)
    return _Tried(rows, tuple(int(rows[i]) for i in outside), far, undecided)


def _distance(found: Membership, scale: np.ndarray) -> float:
    r"""At most that of the row from the hull, in columns divided by `scale`: gap ÷ $\lVert w\cdot s\rVert$."""
    normal = found.normal * scale
    size = np.abs(normal).max()
    length = float(np.linalg.norm(normal / size))
    return float(found.gap) / float(size) / length * (1 - ROUNDING)


def _table(here: _Tried) -> tuple[Table, ...]:
    ranked = sorted(zip(here.outside, here.far), key=lambda found: -found[1])[:SHOWN]
    heads = ("row", "distance from the hull ≥, columns scaled")
    return (Table("rows outside the hull of training", heads, tuple(ranked)),) if ranked else ()


def _judge(here: _Tried, there: _Tried, told: str) -> tuple:
    """Of rows of one law as many are outside, whether they are used for training or not."""
    least = len(here.outside)
    most = len(there.outside) + there.undecided
    n = len(here.rows)
    m = len(there.rows)
    excess = least / n - most / m
    if excess <= 0 or _chance(least, n, most, m) >= SIGNIFICANT:
        return ()
    says = (
        f"{least} of {n} rows tried lie outside the convex hull of the rows of training, by up to {max(here.far):.2g} "
        f"standard deviations; of {m} rows of training {most} lie outside that of the others."
    )
    return judge("outside-hull", here.count, says, told, judged_by=excess)


def _chance(hits: int, n: int, others: int, m: int) -> float:
    """Fisher's exact test, one-sided: that so many of the hits, or more, are among n of all n + m rows."""
    whole = hits + others
    ways = sum(comb(n, k) * comb(m, whole - k) for k in range(hits, min(n, whole) + 1))
    return ways / comb(n + m, whole)
