"""`ftheta lipschitz`: the Lipschitz constant of a network between two ends."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ftheta.logic import UsageError
from ftheta.report.working import Working

from .common import Json, print_json


def lipschitz(
    subject: str,
    *,
    box: str | None = None,
    norm: str = "2",
    data: str | None = None,
    budget: Annotated[str, Parameter(name=("--budget", "--seconds"))] = "10s",
    seed: int = 0,
    figure: Annotated[Path | None, Parameter(name=("--out", "--figure"))] = None,
    json: Json = False,
) -> int:
    """Enclose the Lipschitz constant of a network: bounds that are proved above, a secant that was found below.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    box
        The same bounds for every input, such as --box=-1,1; all of space if not said.
    norm
        Of inputs and outputs: 1, 2 or inf.
    data
        Rows to start the search for steep places from: a file with x, `package.module:attribute`, or a built-in name.
    budget
        Work that takes about so long on an idle machine: 5s, 2m. It is counted: the answer is the same everywhere.
    seed
        Seed of the search.
    figure
        Write the ladder of bounds to a file: .svg .png .pdf .csv.
    """
    from ftheta.report.save import DRAWN, ensure_savable, save

    if figure is not None:
        ensure_savable(figure, DRAWN)
    from ftheta.certify.ladder import INTERRUPTED
    from ftheta.certify.ladder import lipschitz as enclose
    from ftheta.processes import interrupts
    from ftheta.subjects import Dataset, Network
    from ftheta.subjects.resolve import load_as

    domain = None if box is None else _read_box(box)
    net = load_as(Network, subject)
    points = None if data is None else load_as(Dataset, data).x
    with Working("bounding slopes"):
        found = enclose(net, domain, norm, budget, points=points, seed=seed)
    if figure is not None:
        save(found.chart(), figure)
    if json:
        print_json(found.to_dict())
    else:
        print(found)
    return interrupts.EXIT_CODE if INTERRUPTED in found.remarks else 0


def _read_box(words: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in words.split(","))
    except ValueError:
        raise UsageError(
            "A box is two numbers with a comma.", got=words, remedy="write --box=-1,1"
        ) from None
    return low, high
