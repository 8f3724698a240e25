r"""Formulas that a graph spells out in many nodes, recognised as one.

Node by node an interpretation forgets that the mean in `x − mean(x)` is the mean *of x*. A pattern states an identity
of real numbers, "this slot equals softmax of that one", which a domain may use beside the rules of the single nodes.
Derivatives play no part. `recognise.py` finds them.

    Centred      x − (1/n) Σ x
    Variance     scale·Σ (x − (1/n) Σ x)²
    Normalised   c / (√(scale·Σ c² + shift) + offset)       (layer, group and RMS norm, unit vectors)
    Softmax      exp(x) / Σ exp(x), after any shift of x that is constant along the axes; also its logarithm
    LogSumExp    log Σ exp(x)
    LogAddExp    log(eˣ + eʸ)
    WeightedAverage   Σ p_j v_j with p = softmax over exactly the axes that are summed
"""

from dataclasses import dataclass
from fractions import Fraction

from ftheta.graph.graph import Axes, Slot


@dataclass(frozen=True)
class Centred:
    x: Slot
    axes: Axes


@dataclass(frozen=True)
class Variance:
    x: Slot
    axes: Axes
    scale: Fraction
    keeps_axes: bool


@dataclass(frozen=True)
class Normalised:
    """`centred` tells that c sums to 0 over the axes."""

    c: Slot
    centred: bool
    axes: Axes
    scale: Fraction
    shift: float
    offset: float


@dataclass(frozen=True)
class Softmax:
    x: Slot
    axes: Axes
    logarithm: bool = False


@dataclass(frozen=True)
class LogSumExp:
    x: Slot
    axes: Axes
    keeps_axes: bool


@dataclass(frozen=True)
class LogAddExp:
    x: Slot
    y: Slot


@dataclass(frozen=True)
class WeightedAverage:
    weights_first: bool


Pattern = Centred | Variance | Normalised | Softmax | LogSumExp | LogAddExp | WeightedAverage
