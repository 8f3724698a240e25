"""How far two networks are from being the same function."""

from dataclasses import replace

import numpy as np

from ftheta.certify.neurons.bounding import bound_outputs
from ftheta.estimates.paired import mcnemar
from ftheta.logic import AuditFinding, Basis, Enclosure, Fact, FthetaError, Table
from ftheta.pieces.domains import Box, Polygon, Segment
from ftheta.pieces.questions.equality import equal
from ftheta.pieces.slices import slice_of
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from ftheta.subjects import Network
from ftheta.subjects.layers import MOST_WEIGHTS

from ..judging import judge, percent
from ..part import Part, no_better
from .inputs import choose_rows, classes_of, describe_rows, outputs_at, piecewise_affine, some_rows

ROWS = 4096
LEVEL = 0.05
SHOWN = 50  # predictions that changed
MOST_CELLS = 20_000
WHOLE_BOX = 3  # inputs up to which a box is looked at, instead of a plane


def difference(before: Network, after: Network, rng: np.random.Generator) -> Part:
    """The largest difference at some inputs; for small ReLU networks a proof of equality, or a witness against it."""
    x, source, chosen = _rows_of(before, rng)
    one = outputs_at(before, x)
    two = outputs_at(after, x)
    gaps = np.abs(one - two).max(1)
    size = float(np.abs(one).max())
    n = len(x)
    is_all = before.data is not None and n == len(before.data)
    facts = [
        Fact(
            "largest difference of an output",
            Enclosure.at_least(float(gaps.max()), samples=n),
            source,
        ),
        Fact("mean over the rows", Enclosure.measured(float(gaps.mean()), samples=n), source),
        Fact("largest output", Enclosure.at_least(size, samples=n), source),
    ]
    tables: tuple[Table, ...] = ()
    findings: tuple[AuditFinding, ...] = ()
    if one.shape[1] > 1:
        guesses = one.argmax(1), two.argmax(1)
        same = int((guesses[0] == guesses[1]).sum())
        facts.append(
            Fact("rows with the same prediction", Enclosure.measured(same, samples=n), source)
        )
        facts.append(
            Fact("predictions that changed", _count(n - same, is_all, n), source, "against.flips")
        )
        labels = _labels_of(before, chosen)
        more, findings = _judge_flips(guesses, labels, source, is_all)
        facts += more
        tables = _flipped(guesses, labels, chosen)
    return Part((*facts, *_decide_equality(before, after, rng)), tables, findings=findings)


def _count(rows: int, is_all: bool, n: int) -> Enclosure:
    """So many of the rows that were looked at; of all rows at least as many."""
    make = Enclosure.measured if is_all else Enclosure.at_least
    return make(rows, samples=n)


def _rows_of(net: Network, rng: np.random.Generator) -> tuple[np.ndarray, str, np.ndarray]:
    """Inputs, where they come from, and the numbers of the rows."""
    if net.data is None:
        x, source = some_rows(net, ROWS, rng)
        return x, source, np.arange(len(x))
    chosen = choose_rows(net.data, ROWS, rng)
    return net.data.x[chosen].astype(np.float64), describe_rows(len(chosen), net.data), chosen


def _labels_of(net: Network, chosen: np.ndarray) -> np.ndarray | None:
    if net.data is None or net.data.y is None:
        return None
    classes = classes_of(net, net.data.y.reshape(len(net.data), -1))
    return None if classes is None else classes[chosen]


def _judge_flips(
    guesses: tuple[np.ndarray, np.ndarray], labels: np.ndarray | None, source: str, is_all: bool
) -> tuple[list[Fact], tuple[AuditFinding, ...]]:
    """How many predictions changed and, where labels are known, whether chance explains who is better."""
    n = len(guesses[0])
    flips = int((guesses[0] != guesses[1]).sum())
    changed = Enclosure.measured(flips, samples=n)
    says = (
        f"{flips:,} of {n:,} predictions changed."
        if flips
        else f"No prediction changed on {n:,} rows."
    )
    findings = judge("flips", changed, says, f"exact, {source}", judged_by=flips / n)
    if labels is None:
        return [], findings
    right = guesses[0] == labels, guesses[1] == labels
    lost = int((right[0] & ~right[1]).sum())
    won = int((right[1] & ~right[0]).sum())
    p = mcnemar(*right)
    facts = [
        Fact("rows that became wrong", _count(lost, is_all, n), source, "against.lost"),
        Fact("rows that became right", _count(won, is_all, n), source, "against.won"),
        Fact("p-value of equal accuracy", Enclosure.measured(p, samples=n), "McNemar's exact test"),
    ]
    accuracies = f"accuracy {percent(right[0].mean())} before, {percent(right[1].mean())} now"
    drop = (lost - won) / n if p < LEVEL else 0.0
    told = f"Worse than before: {accuracies}; {lost} rows became wrong, {won} right."
    basis = f"measured, {n:,} rows, McNemar's exact test, p = {p:.2g}"
    worse = judge(
        "became-worse", Enclosure.measured((lost - won) / n, samples=n), told, basis, judged_by=drop
    )
    means = (
        f"{accuracies}; {lost} rows became wrong, {won} right (McNemar's exact test, p = {p:.2g})."
    )
    return facts, (
        *worse,
        *(replace(finding, means=means[:1].upper() + means[1:]) for finding in findings),
    )


def _flipped(
    guesses: tuple[np.ndarray, np.ndarray], labels: np.ndarray | None, chosen: np.ndarray
) -> tuple[Table, ...]:
    rows = [
        (
            int(chosen[i]),
            "–" if labels is None else int(labels[i]),
            int(guesses[0][i]),
            int(guesses[1][i]),
        )
        for i in np.flatnonzero(guesses[0] != guesses[1])[:SHOWN]
    ]
    return (
        (Table("predictions that changed", ("row", "label", "before", "after"), tuple(rows)),)
        if rows
        else ()
    )


def _decide_equality(before: Network, after: Network, rng: np.random.Generator) -> list[Fact]:
    try:
        one, two = (piecewise_affine(net)[0] for net in (before, after))
        if max(net.parameters for net in (before, after)) > MOST_WEIGHTS:
            return [Fact("equality", "not decided: too many weights for rationals")]
        bound = _bound_difference(one, two, before)
        domain = _domain(before, rng)
        found = equal(one, two, domain, max_cells=MOST_CELLS)
    except FthetaError as error:
        return [Fact("equality", f"not decided: {error.what} {error.got or ''}".strip())]
    where = {
        Segment: "on a segment",
        Polygon: "on a plane through the data",
        Box: "on the box around the data",
    }
    place = where.get(type(domain), "")
    if found.equal is None:
        return [Fact("equality", f"open: {found.how}", place), *bound]
    rounded = [form.meaning for form in (one, two) if form.basis is not Basis.EXACT]
    if found.equal:
        place = "on all inputs" if found.how == "equal normal forms" else place
        word = (
            f"open: normal forms are equal, but rounded ({rounded[0]})"
            if rounded
            else f"proved: {found.how}"
        )
        return [Fact("equality", word, place), *bound]
    assert found.witness is not None
    gap = no_better(Enclosure.exact(found.witness.gap), Basis.FLOAT if rounded else Basis.EXACT)
    word = (
        f"open: normal forms differ, but are rounded ({rounded[0]})"
        if rounded
        else "refuted: a rational point where they differ"
    )
    return [
        Fact("equality", word, place),
        Fact("largest difference, at the witness", Enclosure(gap.lo, np.inf, gap.basis), place),
        *bound,
    ]


def _bound_difference(one: ReluNetwork, two: ReluNetwork, net: Network) -> list[Fact]:
    """How far the two may be apart anywhere in the box of the data; nothing where constants were rounded."""
    if any(form.basis is not Basis.EXACT for form in (one, two)):
        return []
    low, high = _ends_of_data(net)
    apart = (exact(one) - exact(two)).in_floats()
    largest = float(np.maximum(*map(np.abs, bound_outputs(apart, low, high))).max())
    place = "at every input of the box around the data, by bounds of neurons rounded outward"
    if net.data is None:
        place = "at every input between -1 and 1, by bounds of neurons rounded outward"
    return [Fact("largest difference in the box", Enclosure.between(0.0, largest), place)]


def _ends_of_data(net: Network) -> tuple[np.ndarray, np.ndarray]:
    if net.data is None:
        size = int(np.prod(net.input_shape))
        return np.full(size, -1.0), np.full(size, 1.0)
    rows = net.data.x.reshape(len(net.data), -1).astype(np.float64)
    return rows.min(0), rows.max(0)


def _domain(net: Network, rng: np.random.Generator) -> Box | Polygon | Segment:
    d = int(np.prod(net.input_shape))
    if d > WHOLE_BOX or d == 1:
        return slice_of(
            d, None if net.data is None else net.data.x, rng, 0.5 if net.data is not None else 3.0
        )
    if net.data is None:
        return Box([-1.0] * d, [1.0] * d)
    rows = net.data.x.reshape(len(net.data), -1)
    return Box(rows.min(0).tolist(), np.maximum(rows.max(0), rows.min(0) + 1e-9).tolist())
