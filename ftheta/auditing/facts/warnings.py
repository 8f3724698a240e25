"""What is worth knowing of the data before any number about them is believed."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from ftheta.estimates import binomial_interval
from ftheta.logic import AuditFinding, Enclosure, Fact, SubjectError
from ftheta.subjects import Dataset, Network
from ftheta.subjects.files import with_notes

from ..judging import judge
from ..part import Part
from .evaluation import evaluate_data

MOST_CLASSES = 1000  # that are renamed
SURE = 0.99  # of the interval of the accuracy that must lie below the majority-class rate


def data_warnings(net: Network, rng: np.random.Generator) -> Part:
    """The notes of the data, and whether the labels can be meant as they were read."""
    if net.data is None:
        raise SubjectError("This needs data.", got="no data", remedy="add --data with x and y")
    doubts, findings = _label_doubts(net, rng)
    found = [*net.data.notes, *doubts]
    names = [
        "data warning" if len(found) == 1 else f"data warning {k}" for k in range(1, len(found) + 1)
    ]
    notes = [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in _other_notes(net.data)]
    said = [judge("data-warning", Enclosure.exact(1), note, "read off the file") for note in notes]
    facts = tuple(Fact(name, note) for name, note in zip(names, found))
    return Part(facts, findings=(*findings, *(one for few in said for one in few)))


def _other_notes(data: Dataset) -> list[str]:
    """Notes of the file, without those that facts of their own say with numbers."""
    counted = with_notes(replace(data, notes=())).notes
    return [note for note in data.notes if note not in counted]


def _label_doubts(
    net: Network, rng: np.random.Generator
) -> tuple[list[str], tuple[AuditFinding, ...]]:
    """An accuracy below that of the most frequent class: the labels may be coded in another way than the outputs."""
    found = evaluate_data(net, rng)
    if found.classes is None:
        return [], ()
    outputs = found.outputs.shape[1]
    doubts = below_majority(found.guesses, found.classes, outputs)
    if not doubts or outputs > MOST_CLASSES:
        return doubts, ()
    right = int((found.guesses == found.classes).sum())
    majority = np.bincount(found.classes).max() / len(found.rows)
    if (
        binomial_interval(right, len(found.rows), SURE).hi >= majority
    ):  # a few rows may be wrong by chance
        return doubts, ()
    gain = (
        _renamed(found.guesses, found.classes, outputs) - (found.guesses == found.classes).sum()
    ) / len(found.rows)
    value = Enclosure.measured(float(gain), samples=len(found.rows))
    return doubts, judge("label-coding", value, f"{doubts[0][:1].upper()}{doubts[0][1:]}.")


def _renamed(guessed: np.ndarray, classes: np.ndarray, outputs: int) -> int:
    """Rows that are right under the best renaming of the classes."""
    met = np.zeros((outputs, outputs), int)
    np.add.at(met, (guessed, classes), 1)
    return int(met[linear_sum_assignment(met, maximize=True)].sum())


def below_majority(guessed: np.ndarray, classes: np.ndarray, outputs: int) -> list[str]:
    """A warning if guesses are right less often than the most frequent class is met, with what renaming would change.

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
    renamed = _renamed(guessed, classes, outputs)
    return [f"{doubt}; the best renaming of the classes has accuracy {renamed / n:.3g}"]
