"""A finite binary operation as rows: which pairs have which result."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftheta.logic import SubjectError

MOST_ELEMENTS = 512


@dataclass(frozen=True, eq=False)
class Operation:
    r"""Row i says $a_i\circ b_i=c_i$; elements are numbered 0, 1, …, of the left, of the right, and of the results."""

    name: str
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    @classmethod
    def of(cls, name: str, x: np.ndarray, y: np.ndarray | None) -> "Operation":
        """From rows (a, b) and labels c, whatever numbers name the elements."""
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[1] != 2 or y is None or np.asarray(y)[0].size != 1:
            got = f"x of shape {x.shape}, " + (
                "no labels" if y is None else f"y of shape {np.shape(y)}"
            )
            remedy = (
                "give rows (a, b) and one label c = a∘b a row; operation_table(table) makes them"
            )
            raise SubjectError(
                "An operation is given by pairs and results.", where=name, got=got, remedy=remedy
            )
        # one numbering, so that a + b mod p keeps its meaning
        elements = np.union1d(x, np.asarray(y).ravel())
        if len(elements) > MOST_ELEMENTS:
            raise SubjectError(
                "The table has too many elements.",
                where=f"at most {MOST_ELEMENTS}",
                got=len(elements),
            )
        number = lambda part: np.searchsorted(elements, part)
        return cls(name, number(x[:, 0]), number(x[:, 1]), number(np.asarray(y).ravel()))

    def __len__(self) -> int:
        return len(self.a)

    @cached_property
    def elements(self) -> int:
        return int(max(self.a.max(), self.b.max(), self.c.max())) + 1

    @cached_property
    def pairs(self) -> Mapping[tuple[int, int], list[int]]:
        """The results that each pair has."""
        found: dict[tuple[int, int], list[int]] = {}
        for a, b, c in zip(self.a.tolist(), self.b.tolist(), self.c.tolist()):
            found.setdefault((a, b), []).append(c)
        return found

    @property
    def once(self) -> bool:
        """Whether every pair is one row."""
        return len(self.pairs) == len(self)

    @property
    def answerable(self) -> int:
        """Rows that the best function of (a, b) answers."""
        return sum(max(results.count(c) for c in set(results)) for results in self.pairs.values())

    @property
    def modular_addition(self) -> bool:
        """Whether it is the whole table of a + b mod p, p the number of elements."""
        p = self.elements
        return len(self) == p * p and self.once and bool(((self.a + self.b) % p == self.c).all())

    @property
    def commutative(self) -> bool:
        return all(
            self.pairs.get((b, a), results) == results for (a, b), results in self.pairs.items()
        )

    def inputs(self) -> np.ndarray:
        """Unit vectors of a and b beside one another."""
        unit = np.eye(self.elements, dtype=np.float32)
        return np.concatenate([unit[self.a], unit[self.b]], 1)

    def targets(self) -> np.ndarray:
        return np.eye(self.elements, dtype=np.float32)[self.c]
