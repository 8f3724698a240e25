"""How well the network does on its data, and what that says of new data."""

from math import ceil, isfinite, log

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.estimates.concentration import hoeffding_radius
from ftheta.logic import Axis, Bars, Basis, Enclosure, Fact, SubjectError, Table
from ftheta.subjects import Dataset, Network

from ..judging import judge, percent
from ..network_errors import raised_by_network
from ..part import Part
from .evaluation import Evaluation, evaluate_data
from .pictures import draw_rows
from .regression import judge_regression

CONFIDENCE = 0.95
WITHIN = 0.01  # an error of one in a hundred
MOST_CLASSES = 100
MOST_BARS = 20
MOST_CONFUSIONS = 8
MOST_MISTAKES = 12
ASSUMED = "if the rows are independent and no training or selection saw them"


def test_error(net: Network, rng: np.random.Generator) -> Part:
    """The error on the data with its confidence interval: exact (Clopper–Pearson) and by Hoeffding's inequality."""
    try:
        found = evaluate_data(net, rng)
    except Exception as error:
        if net.data is None or not raised_by_network(error):
            raise
        return _raises(net.data, raised_by_network(error))
    if found.labels is None:
        raise SubjectError(
            "This needs data with labels.", got="no labels", remedy="add --data with x and y"
        )
    if not np.isfinite(found.outputs).all():
        return _not_finite(found)
    if found.classes is not None:
        return _classification(found, found.classes)
    return judge_regression(net, rng)


def _raises(data: Dataset, error: str) -> Part:
    says = f"The network raises an error on these data: {error}."
    value = Enclosure.exact(1)
    return Part(
        (Fact("error of the network", error, data.name),),
        findings=judge("raises", value, says, data.name),
    )


def _not_finite(found: Evaluation) -> Part:
    bad = int((~np.isfinite(found.outputs).all(1)).sum())
    n = len(found.outputs)
    value = Enclosure.exact(bad)
    says = f"{bad:,} of {n:,} rows have an output that is not finite."
    return Part(
        (Fact("rows with an output that is not finite", value, found.told, "not_finite"),),
        findings=judge("not-finite", value, says, f"exact, {found.told}"),
    )


def _classification(found: Evaluation, classes: np.ndarray) -> Part:
    guessed = found.guesses
    wrong = int((guessed != classes).sum())
    n = len(classes)
    exact = binomial_interval(wrong, n, CONFIDENCE)
    radius = Enclosure.ball(hoeffding_radius(n, 1 - CONFIDENCE, 1.0)).hi
    share = wrong / n
    hoeffding = Enclosure(
        max(0.0, share - radius), min(1.0, share + radius), exact.basis, n, CONFIDENCE
    )
    most = int(np.bincount(classes).max())
    told = found.told
    facts = (
        Fact("accuracy on the data", found.know_share(n - wrong), told, "accuracy"),
        *found.bound_share("accuracy", n - wrong, "accuracy_interval"),
        Fact("error on the data", found.know_share(wrong), told, "error"),
        Fact("misclassified rows", Enclosure.exact(wrong), told, "wrong"),
        Fact("majority-class error", Enclosure.equal((n - most) / n), told, "majority_error"),
        Fact("test error, exact binomial interval", exact, ASSUMED, "error_interval"),
        Fact("test error, Hoeffding", hoeffding, ASSUMED),
        Fact(
            "rows for ± 1 % by Hoeffding",
            Enclosure.equal(ceil(log(2 / (1 - CONFIDENCE)) / (2 * WITHIN**2))),
        ),
        *_worst_class_fact(found, classes),
    )
    mistakes = _most_confident_mistakes(found, classes)
    tables = (
        _confusions(found, classes),
        _by_class(found, classes),
        *_list_mistakes(found, classes, mistakes),
    )
    title = "the most confident mistakes, in the order of the table"
    charts = (
        *_class_chart(found, classes),
        *draw_rows(title, found.x.shape[1:], (found.x[mistakes],)),
    )
    return Part(facts, tables, charts, _worst_class(found, classes, exact))


def _most_confident_mistakes(found: Evaluation, classes: np.ndarray) -> np.ndarray:
    """The places of the wrong rows whose output is furthest above that of their label."""
    wrong = np.flatnonzero(found.guesses != classes)
    return wrong[np.argsort(-_leads(found, classes)[wrong], kind="stable")][:MOST_MISTAKES]


def _leads(found: Evaluation, classes: np.ndarray) -> np.ndarray:
    """By how much the largest output is above that of the label."""
    return found.outputs.max(1) - found.outputs[np.arange(len(classes)), classes]


def _list_mistakes(
    found: Evaluation, classes: np.ndarray, mistakes: np.ndarray
) -> tuple[Table, ...]:
    leads = _leads(found, classes)
    rows = [
        (
            int(found.rows[i]),
            found.name(int(classes[i])),
            found.name(int(found.guesses[i])),
            float(leads[i]),
        )
        for i in mistakes
    ]
    heads = ("row", "label", "prediction", "output above that of the label")
    return (Table("most confident mistakes", heads, tuple(rows)),) if rows else ()


def _errors_of(found: Evaluation, classes: np.ndarray) -> list[tuple[int, int, int]]:
    """Class, rows and wrong rows of every class that is met."""
    guessed = found.guesses
    here = [(int(k), classes == k) for k in np.unique(classes)]
    return [(k, int(rows.sum()), int((guessed[rows] != k).sum())) for k, rows in here]


def _worst_class_fact(found: Evaluation, classes: np.ndarray) -> tuple[Fact, ...]:
    counted = _errors_of(found, classes)
    k, rows, wrong = max(counted, key=lambda row: (row[2] / row[1], row[2]))
    told = f"class {found.name(k)}, {rows - wrong} of {rows} rows right"
    name = "accuracy of the worst class"
    if found.is_complete:
        return (Fact(name, Enclosure.equal((rows - wrong) / rows), told, "worst_class_accuracy"),)
    return (
        Fact(
            name,
            Enclosure.measured((rows - wrong) / rows, samples=rows),
            told,
            "worst_class_accuracy",
        ),
        Fact(
            f"{name}, interval for all rows",
            _least_accuracy(counted, found.unmet),
            found.told,
            "worst_class_accuracy_interval",
        ),
    )


def _least_accuracy(counted: list[tuple[int, int, int]], unmet: int) -> Enclosure:
    """Of the class that fares worst among all rows, from some of them: intervals that hold for all classes together.

    Of a class without a row among them nothing is known.
    """
    level = 1 - (1 - CONFIDENCE) / len(counted)
    known = [binomial_interval(rows - wrong, rows, level) for _, rows, wrong in counted]
    total = sum(rows for _, rows, _ in counted)
    least = 0.0 if unmet else min(e.lo for e in known)
    return Enclosure(least, min(e.hi for e in known), Basis.SAMPLED, total, CONFIDENCE)


def _worst_class(found: Evaluation, classes: np.ndarray, overall: Enclosure) -> tuple:
    """The class whose error is certainly beyond the error of all: intervals at a level for all classes together."""
    counted = _errors_of(found, classes)
    level = 1 - (1 - CONFIDENCE) / len(counted)
    least = [(binomial_interval(wrong, rows, level), k, rows, wrong) for k, rows, wrong in counted]
    known, k, rows, wrong = max(least, key=lambda row: row[0].lo)
    beyond = known.lo - overall.hi
    share = percent(wrong / rows)
    says = f"Class {found.name(k)} is wrong in {wrong} of {rows} rows ({share}), beyond the error of all."
    return judge("worst-class", known, says, judged_by=beyond)


def _by_class(found: Evaluation, classes: np.ndarray) -> Table:
    rows = []
    for k, n, wrong in _errors_of(found, classes)[:MOST_CLASSES]:
        known = binomial_interval(wrong, n, CONFIDENCE)
        rows.append((found.name(k), n, wrong, wrong / n, f"{known.lo:.3g} to {known.hi:.3g}"))
    return Table(
        "errors by class", ("class", "rows", "wrong", "error", "95 % interval"), tuple(rows)
    )


def _confusions(found: Evaluation, classes: np.ndarray) -> Table:
    """The commonest pairs of label and prediction, with the rows that show them."""
    guessed = found.guesses
    wrong = np.flatnonzero(guessed != classes)
    pairs, place = np.unique(
        np.stack([classes[wrong], guessed[wrong]], 1), axis=0, return_inverse=True
    )
    counts = np.bincount(place.ravel(), minlength=len(pairs))
    rows = []
    for j in np.argsort(-counts, kind="stable")[:MOST_CONFUSIONS]:
        label, guess = (found.name(int(k)) for k in pairs[j])
        where = found.rows[wrong[place.ravel() == j]]
        shown = ", ".join(map(str, where[:6])) + (" …" if len(where) > 6 else "")
        rows.append((f"{label} → {guess}", int(counts[j]), shown))
    return Table("confusions worth a look", ("label → prediction", "rows", "which"), tuple(rows))


def _class_chart(found: Evaluation, classes: np.ndarray) -> tuple[Bars, ...]:
    counted = _errors_of(found, classes)
    if len(counted) > MOST_BARS or not all(isfinite(wrong / rows) for _, rows, wrong in counted):
        return ()
    shares = tuple(wrong / rows for _, rows, wrong in counted)
    names = tuple(found.name(k) for k, _, _ in counted)
    return (
        Bars(
            "error of each class", Axis("share of its rows that are wrong"), names, ("",), (shares,)
        ),
    )
