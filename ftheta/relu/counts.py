r"""How large a network is, and which of its neurons certainly never or always fire on a box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.logic.errors import SubjectError
from ftheta.networks.counts import Counts
from ftheta.shapes import Bool

from .matrices import fraction, rational, vector
from .network import ExactNetwork, ReluNetwork

UNIT = np.finfo(np.float64).eps / 2  # unit roundoff


def count(net: ReluNetwork | ExactNetwork) -> Counts:
    """Depth in every convention, neurons (rectified coordinates), connections (non-zero weights), parameters.

    Consecutive affine maps without a ReLU between them count as one.
    """
    hidden = sum(bool(step.rectified.any()) for step in net.steps)
    return Counts(
        affine_layers=hidden + 1,
        activations=hidden,
        neurons=sum(int(step.rectified.sum()) for step in net.steps),
        connections=sum(net.algebra.nnz(step.matrix) for step in net.steps),
        parameters=sum(step.matrix.shape[0] * (step.matrix.shape[1] + 1) for step in net.steps),
    )


def is_plain(net: ReluNetwork | ExactNetwork) -> bool:
    """Whether every hidden coordinate is rectified: a multi-layer perceptron."""
    return all(bool(step.rectified.all()) for step in net.steps[:-1])


@dataclass(frozen=True, eq=False)
class Firing:
    """For every step, which neurons are certainly `dead` (never positive) or certainly `active` (never negative)."""

    dead: tuple[Bool[np.ndarray, "_"], ...]
    active: tuple[Bool[np.ndarray, "_"], ...]

    @property
    def undecided(self) -> tuple[int, ...]:
        """How many neurons of each step are neither."""
        return tuple(int((~(d | a)).sum()) for d, a in zip(self.dead, self.active))


def firing(net: ReluNetwork | ExactNetwork, lower: Sequence[Any], upper: Sequence[Any]) -> Firing:
    r"""Interval bounds of every pre-activation on the box $\prod_i[\text{lower}_i,\text{upper}_i]$.

    Sound: in rationals without rounding, in float64 with the error of each sum added outward. Not complete: a neuron
    left undecided may still be dead; exact pieces decide.
    """
    if (
        len(lower) != net.widths[0]
        or len(upper) != net.widths[0]
        or any(a > b for a, b in zip(lower, upper))
    ):
        raise SubjectError(
            "A box needs one lower and one larger upper end for every input.", got=(lower, upper)
        )
    bounds = (
        _exact_bounds(net, lower, upper)
        if isinstance(net, ExactNetwork)
        else _float_bounds(net, lower, upper)
    )
    masks = [step.rectified for step in net.steps]
    return Firing(
        tuple(
            np.array([bool(b <= 0) for b in hi], bool) & mask
            for (_, hi), mask in zip(bounds, masks)
        ),
        tuple(
            np.array([bool(a >= 0) for a in lo], bool) & mask
            for (lo, _), mask in zip(bounds, masks)
        ),
    )


def _exact_bounds(
    net: ExactNetwork, lower: Sequence[Any], upper: Sequence[Any]
) -> list[tuple[Any, Any]]:
    lo = vector(lower)
    hi = vector(upper)
    zero = fmpq(0)
    bounds = []
    for step in net.steps:
        rows = list(zip(step.matrix.rows, step.offset))
        low = [sum((a * (lo[j] if a > 0 else hi[j]) for j, a in row.items()), b) for row, b in rows]
        high = [
            sum((a * (hi[j] if a > 0 else lo[j]) for j, a in row.items()), b) for row, b in rows
        ]
        bounds.append((low, high))
        lo = tuple(max(v, zero) if r else v for v, r in zip(low, step.rectified))
        hi = tuple(max(v, zero) if r else v for v, r in zip(high, step.rectified))
    return bounds


def _outward(ends: Sequence[Any], towards: float) -> np.ndarray:
    """The ends in float64; those that are no floats are moved to the next one outside the box."""
    nearest = np.array([float(fraction(rational(t))) for t in ends], np.float64)
    is_float = [rational(float(a)) == rational(t) for a, t in zip(nearest, ends)]
    return np.where(is_float, nearest, np.nextafter(nearest, towards))


def _float_bounds(
    net: ReluNetwork, lower: Sequence[Any], upper: Sequence[Any]
) -> list[tuple[Any, Any]]:
    r"""A sum of $n$ products errs by at most $\gamma_{n+1}(\sum|a_kz_k|+|b|)$; twice that covers its own rounding."""
    lo = _outward(lower, -np.inf)
    hi = _outward(upper, np.inf)
    bounds = []
    for step in net.steps:
        A = sparse.csr_array(step.matrix)
        positive = A.maximum(0)
        negative = A.minimum(0)
        terms = int(np.diff(A.indptr).max(initial=0)) + 2
        gamma = 2 * terms * UNIT / (1 - terms * UNIT)
        slack = (
            gamma * (abs(A) @ np.maximum(abs(lo), abs(hi)) + abs(step.offset))
            + terms * np.finfo(np.float64).tiny
        )
        low = np.nextafter(positive @ lo + negative @ hi + step.offset - slack, -np.inf)
        high = np.nextafter(positive @ hi + negative @ lo + step.offset + slack, np.inf)
        bounds.append((low, high))
        lo = np.where(step.rectified, np.maximum(low, 0), low)
        hi = np.where(step.rectified, np.maximum(high, 0), high)
    return bounds
