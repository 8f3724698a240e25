"""`ftheta generate`: new rows like those of a file."""

from pathlib import Path
from typing import Any

from ftheta.report.working import Working

from .common import Json, print_json

KINDS = ("coupling", "matching", "exact", "diffusion")
MOST_NUMBERS = 10**8  # made at once


def generate(
    data: str,
    *,
    n: int = 1000,
    out: Path | None = None,
    kind: str = "coupling",
    sampler: str = "heun",
    steps: int = 32,
    spread: float = 0.1,
    seed: int = 0,
    json: Json = False,
) -> int:
    """Fit a generative model to data and write new rows.

    Parameters
    ----------
    data
        The data: a file (.csv .npy .npz .parquet), `package.module:attribute`, or a built-in name.
    n
        How many rows to make.
    out
        Write them to this .csv or .npy file.
    kind
        coupling (coupling layers), matching (a trained velocity network), exact (the exact velocity to the blurred
        rows) or diffusion (the exact score of the blurred rows).
    sampler, steps
        Of diffusion: sde, flow, euler, heun, ddim or ddpm, and how many steps.
    spread
        Of exact and diffusion: the blur of the rows, in standard deviations of the data; without it every row is a
        copy.
    seed
        Seed of everything random.
    """
    import numpy as np

    from ftheta.logic import UsageError, suggest
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import load_as

    if out is not None and out.suffix not in (".csv", ".npy"):
        raise UsageError("Rows are written as .csv or .npy.", got=out.name, remedy="--out rows.csv")
    if kind not in KINDS:
        raise UsageError(
            "There is no such kind.",
            got=kind,
            remedy=suggest(kind, KINDS, f"one of {', '.join(KINDS)}"),
        )
    if n < 1:
        raise UsageError("At least one row is made.", got=n)
    given = load_as(Dataset, data)
    if n * given.x[0].size > MOST_NUMBERS:
        raise UsageError(
            "So many rows do not fit into memory.",
            got=f"{n:,} rows of {given.x[0].size:,}",
            remedy=f"make at most {MOST_NUMBERS // given.x[0].size:,} at once, with another --seed each time",
        )
    with Working("generating"):
        made, facts = _make(given, n, kind, sampler, steps, spread, seed)
    if out is not None:
        header = ",".join(given.columns or (f"x{j}" for j in range(made.shape[1])))
        if out.suffix == ".npy":
            np.save(out, made)
        else:
            np.savetxt(out, made, delimiter=",", header=header, comments="", fmt="%.9g")
    facts = {
        "rows": len(made),
        "entries": made.shape[1],
        "kind": kind,
        **facts,
        "out": str(out or ""),
    }
    if json:
        print_json(facts)
    else:
        print(
            "\n".join(
                f"{name}: {value:.5g}" if isinstance(value, float) else f"{name}: {value}"
                for name, value in facts.items()
                if value != ""
            )
        )
    return 0


def _make(
    given: Any, n: int, kind: str, sampler: str, steps: int, spread: float, seed: int
) -> tuple[Any, dict[str, Any]]:
    """New rows, and what is worth saying of the model that made them."""
    if kind == "diffusion":
        from ftheta.flows.diffusion.models import diffuse

        model = diffuse(given, sampler=sampler, steps=steps, spread=spread, seed=seed)
        made = model.sample(n, seed)
        bound = {} if model.bound is None else {"bound in nats": model.bound.hi}
        return made, {**bound, "share of copies": model.copies(made)}
    from ftheta.flows.models import flow

    fitted = flow(given, kind, spread=spread, seed=seed)
    floor = {} if fitted.floor is None else {"least loss": fitted.floor.middle}
    return fitted.sample(n, seed), {"loss": fitted.loss.middle, **floor}
