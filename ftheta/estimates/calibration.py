r"""Whether a classifier that is $c$ sure is right in a share $c$ of the cases.

Row $i$ has the confidence $c_i$, the probability that the classifier gives to its prediction, and $r_i\in\{0,1\}$ says
whether the prediction is right. The expected calibration error of $B$ bins of equal width (`guo2017`) is
$\mathrm{ECE}=\sum_b\frac{n_b}{n}\,|\bar r_b-\bar c_b|$, with means over the $n_b$ rows of a bin.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ftheta.shapes import Bool, Float, Int

BINS = 15
DRAWS = 999
STEPS = 80  # of a bisection


@dataclass(frozen=True, eq=False)
class Reliability:
    """Of every bin that has rows: how many, their mean confidence, and the share of them that are right."""

    counts: Int[np.ndarray, "b"]
    confidence: Float[np.ndarray, "b"]
    accuracy: Float[np.ndarray, "b"]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return float(
            (self.counts * np.abs(self.accuracy - self.confidence)).sum() / self.counts.sum()
        )

    def radius(self, level: float) -> float:
        r"""A number $\rho$ with $|\mathrm{ECE}-\mathrm{ECE}^*|\le\rho$ at the confidence `level`, for independent rows.

        $\mathrm{ECE}^*$ has the probabilities of being right in place of the $r_i$. The sum
        $D=\sum_b\frac{n_b}{n}|\bar r_b-\mathbb E\bar r_b|$ bounds the error; $\mathbb ED\le\sum_b\sqrt{n_b}/2n$, and
        one row changes $D$ by at most $1/n$, so that McDiarmid's inequality adds $\sqrt{\ln(1/\delta)/2n}$.
        """
        n = int(self.counts.sum())
        return float(np.sqrt(self.counts).sum()) / (2 * n) + sqrt(log(1 / (1 - level)) / (2 * n))


def reliability(
    confidence: Float[np.ndarray, "n"], right: Bool[np.ndarray, "n"], bins: int = BINS
) -> Reliability:
    """The rows sorted into bins of equal width by their confidence, from 0 to 1; a row on an edge is in the lower."""
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    some = counts > 0
    sums = np.bincount(place, confidence, minlength=bins)[some]
    rights = np.bincount(place, right.astype(float), minlength=bins)[some]
    return Reliability(counts[some], sums / counts[some], rights / counts[some])


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """The `p` value of perfect calibration, and the ECE to be `expected` of a calibrated classifier on these rows."""

    p: float
    expected: float


def calibration_test(
    confidence: Float[np.ndarray, "n"],
    right: Bool[np.ndarray, "n"],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> CalibrationTest:
    r"""Draw $r_i\sim\mathrm{Bernoulli}(c_i)$ again and again: the share of draws whose ECE is at least the one at hand.

    The hypothesis is $P(r_i=1\mid x_i)=c_i$ for all rows (`vaicenavicius2019`). Under it the rows at hand are one more
    draw, so that $P(p\le\alpha)\le\alpha$.
    """
    found = reliability(confidence, right).error
    drawn = np.array(
        [
            reliability(confidence, rng.random(len(confidence)) < confidence).error
            for _ in range(draws)
        ]
    )
    return CalibrationTest(
        (1 + int((drawn >= found - 1e-12).sum())) / (draws + 1), float(drawn.mean())
    )


def softmax(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    r"""$e^{z_j}/\sum_k e^{z_k}$ of every row, without overflow."""
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def cross_entropies(
    logits: Float[np.ndarray, "n k"], classes: Int[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    r"""$\ln\sum_ke^{z_k}-z_{y}$ of every row, without overflow."""
    shifted = logits - logits.max(1, keepdims=True)
    return np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(classes)), classes]


def fit_temperature(logits: Float[np.ndarray, "n k"], classes: Int[np.ndarray, "n"]) -> float:
    r"""The $T$ at which $\mathrm{softmax}(z/T)$ has the least cross-entropy on these rows (`guo2017`).

    The cross-entropy is convex in $s=1/T$; its derivative $\frac1n\sum_i\big(\sum_k p_{ik}(s)\,z_{ik}-z_{iy_i}\big)$ is
    increasing, and its zero is found by bisection of $\log s$ between $10^{-4}$ and $10^4$.
    """
    shifted = logits - logits.max(1, keepdims=True)
    own = shifted[np.arange(len(classes)), classes]

    def slope(s: float) -> float:
        p = softmax(s * shifted)
        return float(((p * shifted).sum(1) - own).mean())

    low = -4.0
    high = 4.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if slope(10.0**middle) > 0:
            high = middle
        else:
            low = middle
    return 10.0 ** -((low + high) / 2)
