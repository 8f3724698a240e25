"""Whether the confidence of the network is the share of cases in which it is right."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.estimates.calibration import (
    Reliability,
    calibration_test,
    cross_entropies,
    fit_temperature,
    reliability,
    softmax,
)
from ftheta.logic import Axis, Basis, Curves, Enclosure, Fact, Series
from ftheta.subjects import Network

from ..judging import judge, percent
from ..part import Part
from .evaluation import evaluate_classes

CONFIDENCE = 0.95
LEVEL = 0.01  # of the test of calibration
# rows from which a temperature is advised: what is fitted to fewer may be off by half of itself
LEAST_TO_FIT = 100
CRITICAL = 6.635  # 99 % quantile of χ² with one degree of freedom: the law for many rows (Wilks)
ROUNDING = 1e-4  # by which outputs that are probabilities may miss a sum of 1
LEAST_LOG = -700.0
NO_TEMPERATURE = "fit a temperature to more rows: on these none is known to help"
# ECE that a calibrated network shows by chance, above which nothing is said of a good one
COARSE = 0.1
LEAST_ROWS = 30  # of a group in the diagram
MOST_GROUPS = 10


@dataclass(frozen=True, eq=False)
class _Confidences:
    """Of each row, the probability of the predicted class, and the logits they come from."""

    logits: np.ndarray
    probabilities: np.ndarray
    right: np.ndarray
    are_given: bool  # by the network itself

    @property
    def top(self) -> np.ndarray:
        return self.probabilities.max(1)

    @property
    def source(self) -> str:
        if self.are_given:
            return "of the outputs, which are probabilities"
        return "by softmax of the outputs"


def calibration(net: Network, rng: np.random.Generator) -> Part:
    """Expected calibration error with an interval and a test, and the temperature that mends it."""
    found, classes = evaluate_classes(net, rng)
    given = _read_confidences(found.outputs, found.guesses == classes)
    n = len(classes)
    bins = reliability(given.top, given.right)
    test = calibration_test(given.top, given.right, rng)
    radius = bins.radius(CONFIDENCE)
    interval = Enclosure(
        max(0.0, bins.error - radius), min(1.0, bins.error + radius), Basis.SAMPLED, n, CONFIDENCE
    )
    temperature = fit_temperature(given.logits, classes)
    mended = reliability(softmax(given.logits / temperature).max(1), given.right)
    advice = f"divide the logits by {temperature:.3g} (ECE {percent(mended.error)} on these rows)"
    helps = _temperature_helps(given.logits, classes, temperature)
    told = f"{found.told}, {given.source}"
    independent = "if the rows are independent; McDiarmid's inequality"
    fitted = f"{told}, fitted on these rows"
    measured = partial(Enclosure.measured, samples=n)
    confidence = measured(float(given.top.mean()))
    facts = (
        Fact("expected calibration error (ECE), 15 bins", found.know(bins.error), told, "ece"),
        Fact("ECE, interval", interval, independent, "ece_interval"),
        Fact("ECE to be expected of a calibrated network", measured(test.expected), told),
        Fact("p-value of perfect calibration", measured(test.p), told),
        Fact("mean confidence", confidence, told, "mean_confidence"),
        Fact("temperature of least cross-entropy", measured(temperature), told, "temperature"),
        Fact("ECE at that temperature", measured(mended.error), fitted),
    )
    says = _describe(bins, given, test.p)
    beyond = max(bins.error - test.expected, 0.0) if test.p <= LEVEL else 0.0
    says_something = beyond > 0 or test.expected <= COARSE
    found_by = judge(
        "miscalibration",
        measured(bins.error),
        says,
        f"measured, {n:,} rows, p = {test.p:.2g}",
        judged_by=beyond,
        means=f"A calibrated network would show {percent(test.expected)} on so many rows.",
        remedy=advice if helps else NO_TEMPERATURE,
    )
    return Part(facts, charts=(_diagram(given),), findings=found_by if says_something else ())


def are_probabilities(outputs: np.ndarray) -> bool:
    """Whether the outputs along the last axis are the probabilities of classes."""
    return bool((outputs >= 0).all() and (np.abs(outputs.sum(-1) - 1) <= ROUNDING).all())


def _read_confidences(outputs: np.ndarray, right: np.ndarray) -> _Confidences:
    """Probabilities as they are, where every row of outputs is one; else softmax."""
    if not are_probabilities(outputs):
        return _Confidences(outputs, softmax(outputs), right, False)
    logits = np.log(np.maximum(outputs, np.exp(LEAST_LOG)))
    return _Confidences(logits, outputs / outputs.sum(1, keepdims=True), right, True)


def _temperature_helps(logits: np.ndarray, classes: np.ndarray, temperature: float) -> bool:
    """Whether there are enough rows, and these would be unlikely at the temperature 1: the likelihood-ratio test."""
    gained = cross_entropies(logits, classes) - cross_entropies(logits / temperature, classes)
    return len(classes) >= LEAST_TO_FIT and 2 * float(gained.sum()) >= CRITICAL


def _describe(bins: Reliability, given: _Confidences, p: float) -> str:
    mean = float(given.top.mean())
    share = float(given.right.mean())
    if p > LEVEL:
        return f"Calibrated, as far as these rows tell: ECE {percent(bins.error)}, mean confidence {percent(mean)}."
    word = "Overconfident" if mean > share else "Underconfident"
    return f"{word}: it is {percent(mean)} sure on average and right in {percent(share)} (ECE {percent(bins.error)})."


def _diagram(given: _Confidences) -> Curves:
    """The share that is right against the confidence, in groups of as many rows each, with exact intervals."""
    order = np.argsort(given.top, kind="stable")
    groups = np.array_split(order, int(np.clip(len(order) // LEAST_ROWS, 1, MOST_GROUPS)))
    sure = [float(given.top[rows].mean()) for rows in groups]
    share = [float(given.right[rows].mean()) for rows in groups]
    known = [
        binomial_interval(int(given.right[rows].sum()), len(rows), CONFIDENCE) for rows in groups
    ]
    drawn = Series("right (95 %)", sure, share, lo=[e.lo for e in known], hi=[e.hi for e in known])
    ends = [sure[0], 1.0]
    diagonal = Series("calibrated", ends, ends, "reference")
    return Curves(
        "reliability diagram", Axis("confidence"), Axis("share of rows"), (drawn, diagonal)
    )
