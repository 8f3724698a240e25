"""Subjects inside a worker: read once, kept while they are used, and told in a few facts."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import FthetaError, SubjectError
from ftheta.subjects import Dataset, Family, Measure, Network, Subject, Target, Training
from ftheta.subjects.resolve import KINDS, load, read_file

_KEPT = 4


def subject_of(source: dict[str, str], takes: tuple[type, ...] = KINDS) -> Subject:
    """The subject of a source that the server made: the words it was started with, or a file that was uploaded."""
    if "words" in source:
        return _load_named(source["words"], takes)
    return _load_upload(source["path"], source["name"])


@lru_cache(_KEPT)
def _load_named(words: str, takes: tuple[type, ...]) -> Subject:
    return load(words, takes=takes)


@lru_cache(_KEPT)
def _load_upload(path: str, name: str) -> Subject:
    """A file is parsed, never executed. Where it lies on this machine is nobody's business."""
    try:
        return read_file(Path(path), name)
    except FthetaError as error:
        shown = [
            str(part).replace(path, name)
            for part in (error.what, error.where, error.got or "", error.remedy)
        ]
        what, where, got, remedy = shown
        raise SubjectError(what, where=where, got=got or None, remedy=remedy) from None
    except MemoryError:
        raise SubjectError("The file needs more memory than a file may take.", where=name) from None


def facts_of(subject: Subject) -> list[tuple[str, str]]:
    """What a subject is, in labels and values."""
    match subject:
        case Network():
            inputs, outputs = (
                int(np.prod(shape)) for shape in (subject.input_shape, subject.output_shape)
            )
            layers = (
                []
                if subject.description is None
                else [("layers", str(len(subject.description.layers)))]
            )
            return [
                ("inputs", f"{inputs:,}"),
                ("outputs", f"{outputs:,}"),
                *layers,
                _count("parameters", subject.parameters),
            ]
        case Dataset():
            labels = "none" if subject.y is None else "yes"
            return [_count("rows", len(subject)), ("row", _shape(subject.x[0])), ("labels", labels)]
        case Target():
            return [
                _count("dimension", subject.dimension),
                ("box", f"{subject.lo} to {subject.hi}"),
            ]
        case Training():
            return [_count("parameters", np.size(subject.start))]
        case Measure():
            atoms, dimension = subject.atoms.shape
            return [_count("atoms", atoms), _count("dimension", dimension)]
        case Family():
            return [("scales", ", ".join(str(n) for n in subject.scales))]


def _count(label: str, number: Any) -> tuple[str, str]:
    return label, f"{int(number):,}"


def _shape(row: np.ndarray) -> str:
    return " × ".join(str(n) for n in row.shape) or "1"
