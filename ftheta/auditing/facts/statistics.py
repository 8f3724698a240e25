"""How well the network does on its data, and what that says of new data."""

from math import log

import numpy as np

from ftheta.estimates import binomial_interval, mean
from ftheta.estimates.concentration import hoeffding_radius
from ftheta.logic import Enclosure, Fact, SubjectError, Table
from ftheta.subjects import Network

from ..part import Part
from .inputs import affordable, classes_of, describe_misfit, describe_rows, labelled_data, outputs_at

CONFIDENCE = 0.95
WITHIN = 0.01  # an error of one in a hundred
WORK = 2e10  # multiplications; of a large network some rows are drawn


def test_error(net: Network, rng: np.random.Generator) -> Part:
    """The error on the data with its confidence interval: exact (Clopper–Pearson) and by Hoeffding's inequality."""
    data, y = labelled_data(net)
    few = np.sort(rng.permutation(len(data))[: affordable(net, WORK, 100, len(data))])
    y = y[few]
    outputs = outputs_at(net, data.x[few])
    classes = classes_of(net, y)
    told = describe_rows(len(few), data)
    if classes is not None:
        return _classification(outputs.argmax(1), classes, told, data.classes)
    if y.shape != outputs.shape:
        remedy = "give one class per row, or one number per output"
        raise SubjectError("The labels are neither classes nor outputs.", got=describe_misfit(net, y), remedy=remedy)
    errors = ((outputs - y) ** 2).sum(1)
    facts = [Fact("mean squared error on the data", Enclosure.equal(float(errors.mean())), told)]
    if len(errors) > 1:
        facts.append(Fact("expected squared error", mean(errors, CONFIDENCE), "if the rows are independent and unseen"))
    spread = float(((y - y.mean(0)) ** 2).sum(1).mean())
    facts.append(Fact("error of the best constant", Enclosure.equal(spread), told))
    return Part(tuple(facts))


def _classification(guessed: np.ndarray, classes: np.ndarray, told: str, names: tuple[str, ...]) -> Part:
    wrong = int((guessed != classes).sum())
    n = len(classes)
    exact = binomial_interval(wrong, n, CONFIDENCE)
    radius = Enclosure.ball(hoeffding_radius(n, 1 - CONFIDENCE, 1.0)).hi
    share = wrong / n
    hoeffding = Enclosure(max(0.0, share - radius), min(1.0, share + radius), exact.basis, n, CONFIDENCE)
    most = int(np.bincount(classes).max())
    assumed = "if the rows are independent and no training or selection saw them"
    facts = (
        Fact("accuracy on the data", Enclosure.equal(1 - share), told),
        Fact("error on the data", Enclosure.equal(share), told),
        Fact("misclassified rows", Enclosure.exact(wrong), told),
        Fact("majority-class error", Enclosure.equal(1 - most / n), told),
        Fact("test error, exact binomial interval", exact, assumed),
        Fact("test error, Hoeffding", hoeffding, assumed),
        Fact("rows for ± 1 % by Hoeffding", Enclosure.equal(np.ceil(log(2 / (1 - CONFIDENCE)) / (2 * WITHIN**2)))),
    )
    return Part(facts, (_by_class(guessed, classes, names),))


def _by_class(guessed: np.ndarray, classes: np.ndarray, names: tuple[str, ...]) -> Table:
    rows = []
    for k in np.unique(classes)[:100]:
        here = classes == k
        wrong = int((guessed[here] != k).sum())
        known = binomial_interval(wrong, int(here.sum()), CONFIDENCE)
        name = names[k] if k < len(names) else int(k)
        rows.append((name, int(here.sum()), wrong, wrong / int(here.sum()), f"{known.lo:.3g} to {known.hi:.3g}"))
    return Table("errors by class", ("class", "rows", "wrong", "error", "95 % interval"), tuple(rows))
