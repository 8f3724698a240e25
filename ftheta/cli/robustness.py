"""`ftheta robustness`: certified and attacked accuracy of a classifier."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ftheta.logic import UsageError
from ftheta.report.working import Working

from .common import Json, print_json

INTERRUPTED = 130
NORMS = {"1": 1.0, "2": 2.0, "inf": inf}


def robustness(
    subject: str,
    *,
    data: str,
    labels: str | None = None,
    eps: str | None = None,
    norm: str = "inf",
    clip: str | None = None,
    rows: int | None = None,
    budget: Annotated[str, Parameter(name=("--budget", "--seconds"))] = "60s",
    seed: int = 0,
    figure: Annotated[Path | None, Parameter(name=("--out", "--figure"))] = None,
    json: Json = False,
) -> int:
    """Count the rows that a classifier labels rightly at every input near them.

    What is certified is shown by bounds rounded outward and by branch and bound, what is attacked by inputs that were
    met: the truth lies between the two.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Rows with classes: a file with x and y, `package.module:attribute`, or a built-in name.
    labels
        The column, the array or the file of the labels, if they are not under y in the file of the data.
    eps
        Radii, such as 0.01,0.02,0.05; chosen by the distances met if not said.
    norm
        Of the perturbations: 1, 2 or inf.
    clip
        The least and the largest value of the entries of an input, such as 0,1.
    rows
        Take the first rows alone.
    budget
        Stop after so long, with what is shown by then: 60s, 2m, 1h.
    seed
        Seed of everything drawn at random.
    figure
        Write both curves to a file: .svg .png .pdf .csv.
    """
    from ftheta.report.save import DRAWN, ensure_savable, save

    if figure is not None:
        ensure_savable(figure, DRAWN)
    if norm not in NORMS:
        raise UsageError("The norm is 1, 2 or inf.", got=norm)
    if rows is not None and rows < 1:
        raise UsageError("At least one row is needed.", got=rows)
    radii = None if eps is None else _read_numbers(eps, "--eps")
    ends = None if clip is None else _read_numbers(clip, "--clip")
    if ends is not None and len(ends) != 2:
        raise UsageError("--clip has two numbers, such as 0,1.", got=clip)
    from ftheta.stability.accuracy import robustness as measure
    from ftheta.subjects import Dataset, Network
    from ftheta.subjects.resolve import load_as

    network = load_as(Network, subject)
    given = load_as(Dataset, data, labels=labels)
    chosen = (
        given
        if rows is None
        else replace(given, x=given.x[:rows], y=None if given.y is None else given.y[:rows])
    )
    with Working("perturbing"):
        found = measure(
            network,
            chosen,
            radii,
            norm=NORMS[norm],
            clip=None if ends is None else (ends[0], ends[1]),
            budget=budget,
            seed=seed,
        )
    if figure is not None:
        save(found.chart(), figure)
    if json:
        print_json(found.to_dict())
    else:
        print(found)
    return INTERRUPTED if found.interrupted else 0


def _read_numbers(words: str, option: str) -> list[float]:
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise UsageError(f"{option} is a list of numbers, such as 0.01,0.02.", got=words) from None
