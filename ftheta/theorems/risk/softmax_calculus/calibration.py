"""Do predicted probabilities mean what they say? Frequencies in bins of confidence, with exact binomial intervals."""

from dataclasses import dataclass

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.logic import Enclosure, UsageError


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows whose confidence lies in one bin: how sure they are on average, and how often they are right."""

    lo: float
    hi: float
    rows: int
    confidence: float
    right: int
    frequency: Enclosure

    @property
    def accuracy(self) -> float:
        """The share of the rows that are right."""
        return self.right / self.rows


@dataclass(frozen=True, eq=False)
class Calibration:
    """The bins that hold rows, and how far confidence and accuracy are apart."""

    bins: tuple[Bin, ...]
    rows: int

    @property
    def expected_error(self) -> float:
        r"""$\mathrm{ECE}=\sum_b\frac{n_b}n|\text{accuracy}_b-\text{confidence}_b|$."""
        return sum(b.rows * abs(b.accuracy - b.confidence) for b in self.bins) / self.rows

    @property
    def largest_error(self) -> float:
        r"""$\max_b|\text{accuracy}_b-\text{confidence}_b|$."""
        return max(abs(b.accuracy - b.confidence) for b in self.bins)

    @property
    def outside(self) -> int:
        """Bins whose mean confidence lies outside the interval of their frequency."""
        return sum(b.confidence not in b.frequency for b in self.bins)


def calibration(
    probabilities: np.ndarray, labels: np.ndarray, bins: int = 10, *, confidence: float = 0.95
) -> Calibration:
    """Bins of equal width over the largest probability of each row, or over the one of a row (class 1) if there is one.

    `probabilities` has one row per example and one column per class, or one number per example.
    """
    p = np.asarray(probabilities, float)
    labels = np.asarray(labels)
    if bins < 1 or p.ndim not in (1, 2) or labels.shape != p.shape[:1]:
        raise UsageError(
            "Calibration needs at least one bin, rows of probabilities and one class per row.",
            got=f"{bins} bins, probabilities {p.shape}, labels {labels.shape}",
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise UsageError(
            "Probabilities lie between 0 and 1.",
            got=f"[{p.min():.4g}, {p.max():.4g}]",
            remedy="softmax first",
        )
    sure, right = (p, labels == 1) if p.ndim == 1 else (p.max(1), p.argmax(1) == labels)
    place = np.minimum((sure * bins).astype(int), bins - 1)
    found = []
    for b in np.unique(place):
        inside = place == b
        rows = int(inside.sum())
        good = int(right[inside].sum())
        interval = binomial_interval(good, rows, confidence)
        found.append(
            Bin(
                float(b) / bins,
                float(b + 1) / bins,
                rows,
                float(sure[inside].mean()),
                good,
                interval,
            )
        )
    return Calibration(tuple(found), len(p))
