"""The domains that are still open, in arrays that grow: lowest bound first, while there is room."""

from dataclasses import dataclass, fields

import numpy as np

from ftheta.shapes import Float, Int

# bytes; beyond them the domains that are nearest to being closed are taken first
ROOM = 600_000_000


@dataclass(eq=False)
class Domains:
    """One row each: the `target` that is bounded, its proved `bound`, the `sign`s of split neurons, the parent's slopes
    and multipliers, the weights of the target's rows, and the neuron to split next (−1: none is left)."""

    target: Int[np.ndarray, "n"]
    bound: Float[np.ndarray, "n"]
    sign: Int[np.ndarray, "n u"]
    lower: Float[np.ndarray, "n u"]
    push: Float[np.ndarray, "n u"]
    weights: Float[np.ndarray, "n k"]
    split: Int[np.ndarray, "n"]

    def __len__(self) -> int:
        return len(self.target)

    def select(self, rows: Int[np.ndarray, "n"]) -> "Domains":
        return Domains(*(getattr(self, f.name)[rows] for f in fields(self)))

    def join(self, other: "Domains") -> "Domains":
        return Domains(
            *(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self))
        )


class Pool:
    """Open domains in blocks: a batch is taken out of all, new ones are added at the end."""

    def __init__(self, first: Domains) -> None:
        self._store = first
        self._alive = np.ones(len(first), bool)

    def __len__(self) -> int:
        return int(self._alive.sum())

    @property
    def bytes(self) -> int:
        return sum(getattr(self._store, f.name).nbytes for f in fields(Domains))

    def view(self) -> Domains:
        """All open domains."""
        return self._store.select(np.flatnonzero(self._alive))

    def view_bounds(self) -> Float[np.ndarray, "n"]:
        return self._store.bound[self._alive]

    def view_targets(self) -> Int[np.ndarray, "n"]:
        return self._store.target[self._alive]

    def take(self, count: int) -> Domains:
        """Remove the domains with the lowest bounds, or with the highest ones where room is short."""
        at = np.flatnonzero(self._alive)
        key = self._store.bound[at]
        if self.bytes > ROOM:
            key = -key
        if len(at) > count:
            at = at[np.argpartition(key, count)[:count]]
        self._alive[at] = False
        return self._store.select(at)

    def add(self, more: Domains) -> None:
        if len(self) < len(self._alive) // 2:
            self._store = self.view()
            self._alive = np.ones(len(self._store), bool)
        self._store = self._store.join(more)
        self._alive = np.concatenate([self._alive, np.ones(len(more), bool)])
