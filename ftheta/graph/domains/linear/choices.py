"""Choices between cases: by a predicate that the enclosures decide at some entries, and between branches of a
`cond`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import HALF_ULP, Array
from ftheta.graph.domains.linear.maps import LinearMap
from ftheta.graph.domains.linear.relaxations import Pulled
from ftheta.graph.domains.linear.rounding import least_over, weigh
from ftheta.graph.graph import Slot


@dataclass(frozen=True, eq=False)
class Choice:
    """The case that is chosen for certain, entry by entry (`taken` has one mask a case), and constants elsewhere."""

    operands: tuple[Slot, ...]
    spreads: tuple[LinearMap, ...]
    taken: tuple[Array, ...]
    enclosure: Interval  # of the result
    magnitudes: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        cases: Sequence[Slot],
        spreads: Sequence[LinearMap],
        which: Interval,
        found: Interval,
        magnitudes: Sequence[Array],
    ) -> "Choice":
        first, last = (
            np.broadcast_to(end.astype(np.float64), found.shape) for end in (which.lo, which.hi)
        )
        taken = tuple((first == last) & (first == k) for k in range(len(cases)))
        return cls(tuple(cases), tuple(spreads), taken, found, tuple(magnitudes))

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        back = []
        error: Array | float = 0.0
        for spread, mask, magnitude in zip(self.spreads, self.taken, self.magnitudes):
            flat = spread.pull(np.where(mask[:, None], A, 0.0).reshape(-1, *A.shape[2:]))
            back.append(flat.reshape(*A.shape[:2], *flat.shape[1:]))
            if spread.pull_terms:
                doubt, lost = spread.pull_error(magnitude)
                error = error + weigh(np.abs(A), np.broadcast_to(doubt, mask.shape)) + lost[:, None]
        is_open = ~np.logical_or.reduce(self.taken)
        rest = np.where(is_open[:, None], A, 0.0)
        offset, more = least_over(rest, self.enclosure.lo, self.enclosure.hi)
        return Pulled(tuple(back), offset, error + more)

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        result = np.where(A > 0, self.enclosure.lo[:, None], self.enclosure.hi[:, None])
        for spread, mask, v in zip(self.spreads, self.taken, values):
            wide = spread.push(v.reshape(-1, *v.shape[2:])).reshape(*v.shape[:2], *A.shape[2:])
            result = np.where(mask[:, None], wide, result)
        return result


@dataclass(frozen=True, eq=False)
class Branches:
    """An output of a `cond`, for one box: each branch that may be taken bounds it by the operands; their mean is a
    bound after the least difference of any of them from it over the enclosures of the operands."""

    operands: tuple[Slot, ...]
    places: tuple[int, ...]  # of the operands among the inputs of a branch
    branches: tuple[Any, ...]  # the relaxed programs of the branches
    output: int
    enclosures: tuple[Interval, ...]  # of the operands
    enclosure: Interval  # of the output

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        forms = [
            branch.pull_back({branch.program.graph.outputs[self.output].id: A})
            for branch in self.branches
        ]
        parts = [tuple(form.coefficients[k] for k in self.places) for form in forms]
        if len(forms) == 1:
            return Pulled(parts[0], forms[0].offset, forms[0].error)
        means = tuple(_mean(column) for column in zip(*parts))
        offset = np.full(A.shape[:2], np.inf)
        error = np.zeros(A.shape[:2])
        for form, coefficients in zip(forms, parts):
            value = form.offset
            doubt = form.error
            for own, mean, x in zip(coefficients, means, self.enclosures):
                if mean is None:
                    continue
                difference = (0.0 if own is None else own) - mean
                more, more_error = least_over(difference, x.lo, x.hi)
                value = value + more
                doubt = (
                    doubt
                    + more_error
                    + HALF_ULP * (weigh(np.abs(difference), x.magnitude) + np.abs(value))
                )
            offset = np.minimum(offset, value)
            error = np.maximum(error, doubt)
        return Pulled(means, offset, error)

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        return np.where(A > 0, self.enclosure.lo[:, None], self.enclosure.hi[:, None])


def _mean(parts: Sequence[Array | None]) -> Array | None:
    known = [part for part in parts if part is not None]
    return np.add.reduce(known) / len(parts) if known else None
