"""`ftheta transport` and `ftheta distance`: two files of points compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.logic import UsageError
from ftheta.report.working import Working

from .common import Json, print_json

if TYPE_CHECKING:
    import numpy as np


def transport(
    x: str,
    y: str,
    *,
    cost: str = "sqeuclidean",
    epsilon: float | None = None,
    out: Path | None = None,
    json: Json = False,
) -> int:
    """Move the rows of one file to those of another as cheaply as possible; what the cost is, is proved.

    Parameters
    ----------
    x
        Points, one per row: a file, `package.module:attribute`, or a built-in name.
    y
        The points to which they are moved, likewise.
    cost
        Of moving a point: sqeuclidean, euclidean or cityblock.
    epsilon
        Penalise the plan by ε KL(P | a⊗b): Sinkhorn's iteration.
    out
        Write the plan (row, column, mass) to a .csv file.
    """
    if out is not None and out.suffix.lower() != ".csv":
        raise UsageError(
            "The plan is written as a table.", got=str(out), remedy="end the name in .csv"
        )
    from ftheta.transport import transport as solve

    first = _read(x)
    second = _read(y)
    with Working("transporting"):
        found = solve(first, second, cost=cost, epsilon=epsilon)
    if out is not None:
        out.write_text(_tabulate(found), encoding="utf-8")
    if json:
        print_json(found.to_dict())
    else:
        print(found)
    return 0


def distance(
    x: str, y: str, *, kind: str = "w1", confidence: float = 0.95, seed: int = 0, json: Json = False
) -> int:
    """Compare two samples: how far apart they are, an interval for their laws, and a p-value for one law.

    Parameters
    ----------
    x
        Independent rows: a file, `package.module:attribute`, or a built-in name.
    y
        The rows to compare with, likewise.
    kind
        w1, w2, mmd, energy or bures.
    confidence
        Of the interval.
    seed
        Seed of the permutations.
    """
    from ftheta.transport import distance as measure

    first = _read(x)
    second = _read(y)
    with Working("comparing"):
        found = measure(first, second, kind, confidence, seed=seed)  # type: ignore[arg-type]
        document = found.to_dict()  # the p-value is computed when it is first asked for
    if json:
        print_json(document)
    else:
        print(found)
    return 0


def _read(words: str) -> "np.ndarray":
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import load_as

    rows = load_as(Dataset, words).x
    return rows.reshape(len(rows), -1)


def _tabulate(found: Any) -> str:
    plan = found.plan
    pairs = zip(plan.rows.tolist(), plan.columns.tolist(), plan.masses.tolist())
    return "row,column,mass\n" + "".join(f"{i},{j},{mass!r}\n" for i, j, mass in pairs if mass > 0)
