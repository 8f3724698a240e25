"""What is worth knowing of the data before any number about them is believed."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ftheta.logic import Fact, SubjectError
from ftheta.subjects import Network

from ..part import Part
from .inputs import affordable, classes_of, outputs_at

WORK = 2e9  # multiplications; of a large network some rows are drawn
MOST_CLASSES = 1000  # that are renamed


def data_warnings(net: Network, rng: np.random.Generator) -> Part:
    """The notes of the data, and whether the labels can be meant as they were read."""
    if net.data is None:
        raise SubjectError("This needs data.", got="no data", remedy="add --data with x and y")
    found = [*net.data.notes, *_label_doubts(net, rng)]
    names = ["data warning" if len(found) == 1 else f"data warning {k}" for k in range(1, len(found) + 1)]
    return Part(tuple(Fact(name, note) for name, note in zip(names, found)))


def _label_doubts(net: Network, rng: np.random.Generator) -> list[str]:
    """An accuracy below that of the commonest class: the labels may be coded in another way than the outputs."""
    assert net.data is not None
    if net.data.y is None:
        return []
    rows = np.sort(rng.permutation(len(net.data))[: affordable(net, WORK, 100, len(net.data))])
    classes = classes_of(net, net.data.y.reshape(len(net.data), -1)[rows])
    if classes is None:
        return []
    guessed = outputs_at(net, net.data.x[rows]).argmax(1)
    return below_majority(guessed, classes, int(np.prod(net.output_shape)))


def below_majority(guessed: np.ndarray, classes: np.ndarray, outputs: int) -> list[str]:
    """A warning if guesses are right less often than the commonest class is met, with what renaming would change.

    `guessed` and `classes` are numbers of outputs, one per row.
    """
    n = len(classes)
    right = int((guessed == classes).sum())
    majority = int(np.bincount(classes).max())
    if right >= majority:
        return []
    told = f"accuracy {right / n:.3g} ({right} of {n} rows) is below the majority-class rate {majority / n:.3g}"
    doubt = f"{told}: the labels may be coded differently from the outputs"
    if outputs > MOST_CLASSES:
        return [doubt]
    met = np.zeros((outputs, outputs), int)
    np.add.at(met, (guessed, classes), 1)
    renamed = int(met[linear_sum_assignment(met, maximize=True)].sum())
    return [f"{doubt}; the best renaming of the classes has accuracy {renamed / n:.3g}"]
