"""What was learnt of the rows of training alone."""

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.logic import Basis, Enclosure, Fact
from ftheta.subjects import Network

from ..part import Part
from ..rules import judge, percent
from .evaluation import evaluate_classes

CONFIDENCE = 0.95


def train_test_gap(net: Network, rng: np.random.Generator) -> Part:
    """The accuracy on the rows of training less the one on the data, with an interval from two exact ones."""
    test, test_classes = evaluate_classes(net, rng)
    train, train_classes = evaluate_classes(net, rng, train=True)
    seen = int((train.guesses == train_classes).sum())
    new = int((test.guesses == test_classes).sum())
    n = len(test_classes)
    m = len(train_classes)
    here = binomial_interval(new, n, CONFIDENCE)  # the rows of training are what they are: their accuracy is exact
    gap = seen / m - new / n
    value = Enclosure(seen / m - here.hi, seen / m - here.lo, Basis.SAMPLED, n, CONFIDENCE)
    told = f"{m:,} rows of training, {n:,} others"
    facts = (
        Fact("accuracy on the rows of training", Enclosure.equal(seen / m), train.told, "train_accuracy"),
        Fact("train–test gap on these rows", Enclosure.equal(gap), told, "gap"),
        Fact("train–test gap, interval", value, "accuracy on the rows of training less that on new rows"),
    )
    says = (
        f"Train–test gap {100 * gap:.1f} points ({100 * value.lo:.1f} to {100 * value.hi:.1f} at 95 %): "
        f"{percent(seen / m)} on rows of training, {percent(new / n)} on the data."
    )
    return Part(facts, findings=judge("gap", value, says, judged_by=max(value.lo, 0.0)))
