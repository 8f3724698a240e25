"""The network on its data, evaluated once for all facts that a process computes."""

from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.logic import Enclosure, Fact, SubjectError
from ftheta.subjects import Dataset, Network

from .inputs import (
    affordable,
    classes_of,
    describe_misfit,
    describe_rows,
    multiplications,
    outputs_at,
    outputs_in_float32,
)

WORK = 2e10  # multiplications; of a large network some rows are drawn
LEAST = 100  # rows, however large the network is
NARROW = 1e11  # multiplications of all rows, from which float32, in half of the time, comes first
CONFIDENCE = 0.95  # of what rows that were drawn tell of all


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The `outputs` of a network at the rows of its data with the numbers `rows`, and `told`: which they are.

    `classes` are the labels of these rows, where they are numbers of outputs; `precision` is that of the evaluation.
    """

    rows: np.ndarray
    x: np.ndarray
    outputs: np.ndarray
    labels: np.ndarray | None
    classes: np.ndarray | None
    names: tuple[str, ...]
    told: str
    whole: int  # how many rows the data have
    unmet: int  # classes of the data that none of these rows has
    precision: str = "float64"

    @property
    def is_complete(self) -> bool:
        """Whether every row of the data was evaluated."""
        return len(self.rows) == self.whole

    def know(self, value: float) -> Enclosure:
        """A number read off the rows: one of the data where all of them were evaluated, else of these alone."""
        return (
            Enclosure.equal(value)
            if self.is_complete
            else Enclosure.measured(value, samples=len(self.rows))
        )

    def know_share(self, count: int) -> Enclosure:
        """`count` of the rows, as a share."""
        return self.know(count / len(self.rows))

    def bound_share(self, what: str, count: int, key: str) -> tuple[Fact, ...]:
        """An exact binomial interval of the same share of all rows, where not all were evaluated."""
        known = binomial_interval(count, len(self.rows), CONFIDENCE)
        return (
            ()
            if self.is_complete
            else (Fact(f"{what}, interval for all rows", known, self.told, key),)
        )

    @property
    def guesses(self) -> np.ndarray:
        return self.outputs.argmax(1)

    def name(self, k: int) -> str:
        """What class k is called."""
        return self.names[k] if k < len(self.names) else str(k)


_CACHE: WeakKeyDictionary[Network, dict[bytes, Evaluation]] = WeakKeyDictionary()


def evaluate_data(net: Network, rng: np.random.Generator, *, train: bool = False) -> Evaluation:
    """The outputs at all rows that are affordable; of the rows of training with `train`. The same rows for every fact
    with the same seed, if nothing was drawn before."""
    data = net.train_data if train else net.data
    if data is None:
        what = "the rows of training" if train else "data"
        remedy = "add --train with x and y" if train else "add --data with x and y"
        raise SubjectError(f"This needs {what}.", got="none", remedy=remedy)
    rows = np.sort(rng.permutation(len(data))[: affordable(net, WORK, LEAST, len(data))])
    known = _CACHE.setdefault(net, {})
    key = bytes([train]) + rows.tobytes()
    if key not in known:
        known[key] = _evaluate(net, data, rows)
    return known[key]


def _evaluate(net: Network, data: Dataset, rows: np.ndarray) -> Evaluation:
    x = data.x[rows]
    labels = None if data.y is None else data.y.reshape(len(data), -1)[rows]
    classes = None if labels is None else classes_of(net, labels)
    unmet = (
        0 if classes is None or data.y is None else len(np.unique(data.y)) - len(np.unique(classes))
    )
    outputs, precision = _outputs(net, x)
    told = describe_rows(len(rows), data) + (", float32" if precision == "float32" else "")
    return Evaluation(
        rows, x, outputs, labels, classes, data.classes, told, len(data), unmet, precision
    )


def _outputs(net: Network, x: np.ndarray) -> tuple[np.ndarray, str]:
    """The outputs, and the precision in which they were evaluated: of a network that runs in float32, where it takes
    long, that of those who use it."""
    if multiplications(net) * len(x) >= NARROW:
        with suppress(SubjectError):
            return outputs_in_float32(net, x), "float32"
    return outputs_at(net, x), "float64"


def evaluate_classes(
    net: Network, rng: np.random.Generator, *, train: bool = False
) -> tuple[Evaluation, np.ndarray]:
    """The same where the labels are classes, and these."""
    found = evaluate_data(net, rng, train=train)
    if found.labels is None:
        raise SubjectError(
            "This needs data with labels.", got="no labels", remedy="add --data with x and y"
        )
    if found.classes is None:
        remedy = "give labels from 0 to the number of outputs − 1"
        got = describe_misfit(net, found.labels)
        raise SubjectError(
            "This is about classifiers: the labels are no classes.", got=got, remedy=remedy
        )
    refuse_infinite(found)
    return found, found.classes


def refuse_infinite(found: Evaluation) -> None:
    """Raise where an output is not finite: no prediction can be read off such a row, not even a wrong one."""
    bad = int((~np.isfinite(found.outputs).all(1)).sum())
    if bad:
        remedy = "find the operation that overflows; scale the inputs as in training"
        got = f"{bad:,} of {len(found.outputs):,} rows"
        raise SubjectError(
            "There are rows with an output that is not finite.", got=got, remedy=remedy
        )


def flatten(x: np.ndarray) -> np.ndarray:
    """Rows as vectors of float64."""
    return x.reshape(len(x), -1).astype(np.float64)
