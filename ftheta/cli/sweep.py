"""`ftheta sweep`: a function or networks over a grid, kept in a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ftheta.logic import SubjectError, UsageError

from .common import Flag, Json, print_json

if TYPE_CHECKING:
    from ftheta.sweeps import Sweep


def sweep(
    what: str | None = None,
    *,
    grid: Annotated[list[str] | None, Flag] = None,
    seeds: str | None = None,
    on: str | None = None,
    store: Path | None = None,
    out: Path | None = None,
    retry_failed: Annotated[bool, Flag] = False,
    wait: float = 600.0,
    status: Annotated[bool, Flag] = False,
    json: Json = False,
) -> int:
    """Run a function, or train networks, over a grid of settings and seeds.

    What is in the store is not done again: the same line resumes a sweep that was cut off. The exit code is 1 if a cell
    failed.

    Parameters
    ----------
    what
        A .toml file, or `package.module:function`, called as function(seed=…, **settings).
    grid
        The values of a setting, such as --grid width=16,32,64; once per setting.
    seeds
        How many, such as 5, or which, such as 0,3,7.
    on
        A number of processes (one per core if not said), or a Dask scheduler such as dask://host:8786.
    store
        The SQLite file that keeps every finished cell.
    out
        Write the table to a file: .csv .parquet .json.
    retry_failed
        Do the cells again that failed.
    wait
        Seconds to wait for workers of a Dask cluster that has none, or none that stay; then it ends with what is done.
    status
        Say what is in the store and do nothing.
    """
    if status:
        return _status(store, json)
    from ftheta.sweeps import sweep as run
    from ftheta.sweeps.command import grid_of, request_of, seeds_of
    from ftheta.sweeps.table import ensure_savable

    if what is None:
        raise UsageError(
            "What shall be swept?", remedy="give a .toml file or package.module:function"
        )
    if out is not None:
        ensure_savable(out)
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import import_object, load_as

    asked = request_of(what, import_object, lambda words: load_as(Dataset, words))
    if grid and not isinstance(asked.grid, dict):
        remedy = "write [grid] with one line per setting, or leave --grid out"
        raise UsageError(
            "The grid of the file is a list, which --grid cannot add to.", got=what, remedy=remedy
        )
    found = run(
        asked.train,
        asked.grid | grid_of(grid) if grid else asked.grid,
        asked.seeds if seeds is None else seeds_of(seeds),
        on=int(on) if on is not None and on.isdecimal() and len(on) < 10 else on,
        store=store,
        retry_failed=retry_failed,
        version=asked.version,
        wait=wait,
    )
    return _show(found, out, json)


def _show(found: "Sweep", out: Path | None, json: bool) -> int:
    table = found.table()
    counts = found.counts
    if out is not None:
        table.save(out)
    if json:
        clean = [{k: None if v != v else v for k, v in row.items()} for row in table.rows()]
        ended = {"interrupted": found.interrupted, "stopped": found.stopped}
        print_json({**vars(counts), "cells": len(found.grid), **ended, "rows": clean})
    else:
        print(f"{table}\n{found}" if len(table) else found)
    if found.interrupted:
        return 130
    if found.stopped:
        return SubjectError.exit_code
    return 1 if counts.failed else 0


def _status(store: Path | None, json: bool) -> int:
    from ftheta.sweeps import Store

    if store is None or not store.is_file():
        raise UsageError(
            "There is no such store.", got=store, remedy="give --store runs.db, the file of a sweep"
        )
    with Store(store) as home:
        studies = home.studies()
    if json:
        print_json(studies)
    else:
        for study in studies:
            failed = f", {study['failed']:,} failed" if study["failed"] else ""
            print(f"{study['name']} ({study['digest'][:8]}): {study['done']:,} cells done{failed}")
    return 0
