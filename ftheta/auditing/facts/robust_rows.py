"""How far the decisions of the network hold: certified radii beside perturbations met, row by row."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from ftheta.certify.perturbations import read_problem
from ftheta.logic import (
    AuditFinding,
    Axis,
    Basis,
    Chart,
    Curves,
    Enclosure,
    Fact,
    Series,
    SubjectError,
    Table,
)
from ftheta.stability.certifying import Certifier
from ftheta.stability.radii import certified_radius
from ftheta.subjects import Network

from ..judging import judge, weigh_without_data
from ..part import NOT_COMPUTED, RADII_TABLE, Part
from ..rules import INVISIBLE, SMALL
from .inputs import (
    affordable,
    choose_rows,
    classes_of,
    ensure_real_inputs,
    multiplications,
    outputs_at,
    some_rows,
)
from .large import is_large, loss_gradients
from .pictures import draw_rows
from .symmetries import image_of

ROWS = 64  # put to bounds
RADII = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of the largest entry of the data
TOLD = (1e-4, 1e-3, 1e-2, 1e-1)
WORK = 2e9  # multiplications of all interval evaluations
# multiplications of one evaluation, up to which linear bounds and attacks are affordable
LINEAR = 3e6
COARSE = 0.02  # relative tolerance of a certified radius
DRAWN = 6
NOT_CERTIFIED = "A network of this size is not certified: the others may change, too."
ALIKE = 0.1  # of the widest column, that half of the pixels of images reach


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that were tried: `right` where labels are classes; of each a `certified` radius in ℓ∞ (0 of a wrong
    one), the distance at which a change of class was `met`, and an input `there`."""

    numbers: np.ndarray
    x: np.ndarray
    right: np.ndarray | None
    labels: np.ndarray
    certified: np.ndarray
    met: np.ndarray
    there: np.ndarray
    changes_to: np.ndarray

    @property
    def scale(self) -> float:
        return float(np.abs(self.x).max()) or 1.0

    def certain_at(self, radius: float) -> int:
        return int((self.certified >= radius).sum())

    def surviving_at(self, radius: float) -> int:
        return int((self.met > radius).sum())


def certified_rows(net: Network, rng: np.random.Generator) -> Part:
    """For how many rows no change of the inputs by at most ε alters the largest output, by linear bounds, and for how
    many such a change was met; where labels are classes, both of the rows whose largest output is the right one."""
    ensure_real_inputs(net)
    if int(np.prod(net.output_shape)) < 2:
        raise SubjectError(
            "There is one output, hence no class.",
            remedy="this is about networks with several outputs",
        )
    if is_large(net):
        return _attacked_rows(net)
    is_small = multiplications(net) <= LINEAR
    found = _try_rows(net, affordable(net, WORK / len(RADII), 1, ROWS), rng, is_small)
    n = len(found.x)
    name = "share of rows" if found.right is None else "accuracy"
    relative = (
        f"every input within ε of its value, ε relative to the largest entry {found.scale:.3g}"
    )
    tried = f"of {n:,} {_describe_tried(net)}, {relative}"
    counts = {"certified": found.certain_at}
    if is_small:
        counts["attacked"] = found.surviving_at
    facts = [
        Fact(
            f"{how} {name} at ε = {radius:g}",
            Enclosure.exact(Fraction(count(radius * found.scale), n)),
            f"{count(radius * found.scale):,} {tried}",
        )
        for how, count in counts.items()
        for radius in TOLD
    ]
    # thresholds ask for rows that are right: without classes none is known to be
    key = "" if found.right is None else "rows_tried"
    facts.append(Fact("rows tried", Enclosure.exact(n), tried, key))
    if net.data is not None:
        facts.append(Fact("rows of the data", Enclosure.exact(len(net.data)), "", "rows"))
    if is_small:
        facts.append(_median_distance(found))
    charts = (_chart(found, attacked=is_small), *_draw_fragile(net, found))
    tables = _tables(found, attacked=is_small)
    return Part(tuple(facts), tables, charts, _judge_rows(net, found) if is_small else ())


def _attacked_rows(net: Network) -> Part:
    """Of a large network: how many rows that are right keep their class when every input moves by ε along the sign of
    the gradient of the loss (one step, goodfellow2015): from above alone."""
    known = loss_gradients(net)
    classes = classes_of(net, known.y)
    if classes is None or known.by_inputs is None:
        raise SubjectError(
            "Requires classes as labels, and real inputs.", remedy="add --data with x and y"
        )
    x = known.x.astype(np.float64)
    found = _attack_along_signs(net, x, classes, np.sign(known.by_inputs))
    n = len(x)
    told = f"of {n:,} {_describe_tried(net)}, ε relative to the largest entry {found.scale:.3g}; one gradient step"
    facts = [
        Fact(
            f"attacked accuracy at ε = {radius:g}",
            Enclosure.exact(Fraction(found.surviving_at(radius * found.scale), n)),
            f"{found.surviving_at(radius * found.scale):,} {told}",
        )
        for radius in TOLD
    ]
    facts.append(Fact("rows tried", Enclosure.exact(n), told, "rows_tried"))
    facts.append(Fact("certified accuracy", "not computed for a network of this size"))
    largest = Enclosure.equal(_attack_radii(net, x)[-1])
    facts.append(Fact("largest ε of the attacks", largest, "absolute", "attacked_within"))
    charts = (_chart(found, attacked=True, radii=TOLD), *_draw_fragile(net, found))
    return Part(
        tuple(facts),
        _tables(found, certified=False),
        charts,
        _judge_rows(net, found, certified=False),
    )


def _attack_radii(net: Network, x: np.ndarray) -> list[float]:
    """The distances at which rows of a large network are tried, growing."""
    size, _ = _range_of_inputs(net.input_shape, x)
    scale = float(np.abs(x).max()) or 1.0
    return sorted([*(scale * radius for radius in TOLD), INVISIBLE * size, SMALL * size])


def _attack_along_signs(
    net: Network, x: np.ndarray, classes: np.ndarray, signs: np.ndarray
) -> _Rows:
    """Every row at growing distances along its signs, until its class changes."""
    labels = outputs_at(net, x).argmax(1)
    right = labels == classes
    met = np.where(right, inf, 0.0)
    there = x.copy()
    changes_to = labels.copy()
    for radius in _attack_radii(net, x):
        rows = np.flatnonzero(np.isinf(met))
        if not len(rows):
            break
        moved = x[rows] + radius * signs[rows]
        guesses = outputs_at(net, moved).argmax(1)
        flipped = guesses != labels[rows]
        met[rows[flipped]] = radius
        there[rows[flipped]] = moved[flipped]
        changes_to[rows[flipped]] = guesses[flipped]
    return _Rows(np.arange(len(x)), x, right, labels, np.zeros(len(x)), met, there, changes_to)


def _try_rows(net: Network, most: int, rng: np.random.Generator, is_small: bool) -> _Rows:
    numbers, x, right = _rows_to_certify(net, most, rng)
    kept = np.flatnonzero(np.ones(len(x), bool) if right is None else right)
    certified = np.zeros(len(x))
    met = np.zeros(len(x))
    there = x.copy()
    if len(kept):
        certified[kept], met[kept], there[kept] = _robust_radii(net, x[kept], is_small)
    labels = outputs_at(net, x).argmax(1)
    changes_to = outputs_at(net, there).argmax(1)
    return _Rows(numbers, x, right, labels, certified, met, there, changes_to)


def _robust_radii(
    net: Network, x: np.ndarray, is_small: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In ℓ∞, of each row: a radius within which its label is certain, the distance of an input with another one, and
    that input."""
    if is_small:
        found = certified_radius(net, x, methods=("crown",), tolerance=COARSE)
        return found.radius, found.distance, np.where(np.isfinite(found.x), found.x, x)
    problem, _ = read_problem(net, x, None, None, inf)
    certifier = Certifier(net, problem)
    shown = np.zeros(len(x))
    scale = float(np.abs(x).max()) or 1.0
    rows = np.arange(len(x))
    for radius in RADII:  # what fails at one radius is not tried at a larger one
        rows = rows[certifier.holds(rows, np.full(len(rows), radius * scale), "interval")]
        shown[rows] = radius * scale
    return shown, np.full(len(x), inf), x


def _rows_to_certify(
    net: Network, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The numbers of some rows, these rows and, where the labels are classes, which the network classifies rightly."""
    if net.data is None or net.data.y is None:
        x = some_rows(net, most, rng)[0]
        return np.arange(len(x)), x, None
    chosen = choose_rows(net.data, most, rng)
    x = net.data.x[chosen].astype(np.float64)
    classes = classes_of(net, net.data.y.reshape(len(net.data), -1))
    return chosen, x, None if classes is None else outputs_at(net, x).argmax(1) == classes[chosen]


def _describe_tried(net: Network) -> str:
    return (
        "standard normal inputs tried"
        if net.data is None
        else f"rows tried ({len(net.data):,} in the data)"
    )


def _median_distance(found: _Rows) -> Fact:
    """Half of the rows change their class within it."""
    median = float(np.sort(found.met)[len(found.met) // 2])
    told = f"in ℓ∞, by a search; {len(found.met):,} rows, wrong ones count as 0"
    # the network is run at the inputs that were found
    known = Enclosure.between(0.0, median, Basis.FLOAT)
    return Fact("median distance to an input with another class", known, told)


def _judge_rows(net: Network, found: _Rows, *, certified: bool = True) -> tuple[AuditFinding, ...]:
    """From the rows that are right: how many change within one step of 8 bits, and within eight; `certified` says
    whether radii were."""
    right = np.ones(len(found.x), bool) if found.right is None else found.right
    n = int(right.sum())
    if not n:
        return ()
    size, of = _range_of_inputs(net.input_shape, found.x)
    findings: tuple[AuditFinding, ...] = ()
    for rule, share, words in (
        ("invisible-changes", INVISIBLE, "1/255"),
        ("small-changes", SMALL, "8/255"),
    ):
        radius = share * size
        flipped = int((found.met[right] <= radius).sum())
        certain = int((found.certified[right] >= radius).sum())
        told = f"{flipped} of {n} rows tried change class within ε = {radius:.3g} ({words} of {of})"
        says = (
            f"Predictions flip easily: {told}."
            if flipped
            else f"No prediction tried flips: {told}."
        )
        known = Enclosure.between(flipped / n, (n - certain) / n, Basis.FLOAT)
        ends = "attacked from below, certified from above" if certified else "attacked from below"
        basis = f"{ends}, {n} rows tried"
        means = f"{certain} of {n} are certified to stay." if certified else NOT_CERTIFIED
        findings += judge(rule, known, says, basis, judged_by=flipped / n, means=means)
    return findings if net.data is not None else weigh_without_data(findings)


def _range_of_inputs(shape: tuple[int, ...], x: np.ndarray) -> tuple[float, str]:
    """What a small change is measured by: the range of all entries of images; of a table the range of the narrowest
    column that is not constant, for a step that is small in one column may be everything in another."""
    ranges = np.ptp(x.reshape(len(x), -1), axis=0)
    used = ranges[ranges > 0]
    if not len(used):
        return 1.0, "1, as no column varies"
    is_picture = image_of(shape) is not None and np.median(used) > ALIKE * used.max()
    return (
        (float(np.ptp(x)), "the input range")
        if is_picture
        else (float(used.min()), "the narrowest column's range")
    )


def _tables(found: _Rows, *, attacked: bool = True, certified: bool = True) -> tuple[Table, ...]:
    """The radii of every row; what nothing was computed of is no number, but that wrong rows are lost at 0 anyway."""
    order = np.argsort(np.where(found.met > 0, found.met, inf), kind="stable")
    rows = [
        (
            int(found.numbers[i]),
            _describe_change(found, i),
            float(found.met[i]) if attacked or found.met[i] == 0 else NOT_COMPUTED,
            float(found.certified[i]) if certified else NOT_COMPUTED,
        )
        for i in order
    ]
    columns = ("row", "class → becomes", "distance met", "certified radius")
    return (Table(RADII_TABLE, columns, tuple(rows)),)


def _describe_change(found: _Rows, i: int) -> str:
    if found.right is not None and not found.right[i]:
        return "wrong as it is"
    if found.changes_to[i] == found.labels[i]:
        return f"{found.labels[i]} → none met"
    return f"{found.labels[i]} → {found.changes_to[i]}"


def _chart(found: _Rows, *, attacked: bool, radii: tuple[float, ...] = RADII) -> Chart:
    """Certified from below, attacked from above: the truth lies between."""
    n = len(found.x)
    lower = [found.certain_at(radius * found.scale) / n for radius in radii]
    upper = [found.surviving_at(radius * found.scale) / n for radius in radii]
    series = [Series("certified", radii, lower, "bound", lo=lower, hi=upper)]
    if attacked:
        series.append(Series("attacked", radii, upper))
    title = (
        "rows whose class cannot change"
        if found.right is None
        else "rows that are right and stay so"
    )
    return Curves(title, Axis("ε", "log"), Axis(f"share of the {n:,} rows tried"), tuple(series))


def _draw_fragile(net: Network, found: _Rows) -> tuple[Chart, ...]:
    """The rows that change soonest, above the same as they have changed, where they are images."""
    order = np.argsort(
        np.where((found.met > 0) & np.isfinite(found.met), found.met, inf), kind="stable"
    )[:DRAWN]
    order = order[np.isfinite(found.met[order]) & (found.met[order] > 0)]
    return draw_rows(
        "most fragile rows; below each, changed",
        net.input_shape,
        (found.x[order], found.there[order]),
    )
