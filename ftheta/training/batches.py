"""Which rows each step sees, as a function of the seed and the number of the step alone.

Nothing is remembered from one step to the next, so a run can be cut and resumed anywhere.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Bool, Int

BUFFER = 1 << 20  # row numbers that one compiled chunk can hold
CAPACITY = 4096  # steps that one compiled chunk can hold


class BatchRows(NamedTuple):
    """Row numbers of consecutive steps, shape (steps, size); `valid` marks those that count where a batch is short."""

    numbers: Int[np.ndarray, "steps size"]
    valid: Bool[np.ndarray, "steps size"] | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Mini-batches of `size` rows.

    Without `replace`, each epoch is a new order of all rows, cut into batches; a `last` batch that is short is kept or
    dropped. With `replace`, every step draws its rows independently.
    """

    size: int
    replace: bool = False
    last: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        if (
            isinstance(self.size, bool)
            or not isinstance(self.size, (int, np.integer))
            or self.size < 1
        ):
            raise UsageError(
                "A batch is a whole number of rows.", got=f"size={self.size}", remedy="at least 1"
            )
        if self.last not in ("keep", "drop"):
            raise UsageError(
                "A short last batch is kept or dropped.",
                got=self.last,
                remedy="last='keep' or 'drop'",
            )

    def in_an_epoch(self, n: int) -> int:
        """Steps that pass over the data once."""
        full, rest = divmod(n, self.size)
        return full + (rest > 0 and not self.replace and self.last == "keep")

    @property
    def capacity(self) -> int:
        return max(1, min(CAPACITY, BUFFER // self.size))

    def rows(self, n: int, seed: int, first: int, count: int) -> BatchRows:
        """The rows of steps `first`, …, `first + count - 1`, in arrays with room for `capacity` steps."""
        numbers = np.zeros((self.capacity, self.size), np.int32)
        valid = np.ones((self.capacity, self.size), bool) if self._has_ragged_end(n) else None
        k = 0
        per_epoch = self.in_an_epoch(n)
        while k < count:
            epoch, at = divmod(first + k, per_epoch)
            table, present = _epoch(self, n, seed, epoch)
            take = min(per_epoch - at, count - k)
            numbers[k : k + take] = table[at : at + take]
            if valid is not None:
                valid[k : k + take] = present[at : at + take]
            k += take
        return BatchRows(numbers, valid)

    def _has_ragged_end(self, n: int) -> bool:
        return not self.replace and self.last == "keep" and n % self.size > 0


@lru_cache(maxsize=2)  # consecutive chunks are mostly in the same epoch
def _epoch(batches: Batches, n: int, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers (steps, size) of one epoch, and which of them are there: a short batch is filled up with row 0."""
    shape = (batches.in_an_epoch(n), batches.size)
    rng = np.random.default_rng([seed, epoch])
    if batches.replace:
        return rng.integers(n, size=shape, dtype=np.int32), np.ones(shape, bool)
    table = np.zeros(shape[0] * shape[1], np.int32)
    order = rng.permutation(n)[: shape[0] * shape[1]]
    table[: len(order)] = order
    return table.reshape(shape), (np.arange(table.size) < len(order)).reshape(shape)
