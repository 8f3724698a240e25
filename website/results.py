"""Runs of the theorems, stored as documents of JSON, so that a build of the site runs no theorem: the default run of
each, and its negative control, forced."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ftheta
from ftheta.logic import Result, SubjectError
from ftheta.report.document import from_json, to_json

PACKAGE = Path(ftheta.__file__).parent
STAMP = "sources.json"
MOST_WORKERS = 2
_CONTROL = ".control"
_SHOW_ONLY = {"cli", "courses", "lab", "report"}  # rooms that change no result


def digest_sources(package: Path = PACKAGE) -> str:
    """Changes with every module that can change a result."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _SHOW_ONLY:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


class ResultStore:
    """A folder with one document per run, `<name>.json`, and the digest of the sources that made each.

    The name of a run is the id of the theorem, or that of its negative control (`control_of`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> Result | None:
        """A stored run; None where there is none that can be read."""
        try:
            document = from_json(self._path(name).read_bytes())
        except (OSError, SubjectError):
            return None
        return document if isinstance(document, Result) else None

    def write(self, name: str, result: Result, digest: str) -> None:
        """Store a run that these sources made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path(name).write_text(to_json(result), encoding="utf-8")
        stamp = json.dumps({**self._digests(), name: digest}, indent=1)
        (self.folder / STAMP).write_text(stamp, encoding="utf-8")

    def missing(self, names: Iterable[str], digest: str) -> list[str]:
        """Those of the runs that these sources have not made."""
        known = self._digests()
        return [
            name for name in names if known.get(name) != digest or not self._path(name).is_file()
        ]

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _digests(self) -> dict[str, str]:
        try:
            return json.loads((self.folder / STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}


def control_of(id: str) -> str:
    """The name of the run of a theorem's negative control."""
    return f"{id}{_CONTROL}"


def list_runs(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The runs that pages of these entries of the index show."""
    entries = list(entries)
    return [e["id"] for e in entries] + [control_of(e["id"]) for e in entries if e["breakable"]]


def store_runs(store: ResultStore, names: Iterable[str], workers: int = MOST_WORKERS) -> list[str]:
    """Run what is missing, and say which runs failed; the others are stored all the same."""
    digest = digest_sources()
    waiting = store.missing(names, digest)
    failed = []
    for number, (name, outcome) in enumerate(_run_all(waiting, min(workers, MOST_WORKERS)), 1):
        if isinstance(outcome, Result):
            store.write(name, outcome, digest)
        else:
            failed.append(name)
            print(f"{name} has no result: {outcome}", file=sys.stderr)
        print(f"{number} of {len(waiting)}: {name}", file=sys.stderr, flush=True)
    return failed


def _run_all(names: list[str], workers: int) -> Iterator[tuple[str, Result | str]]:
    """Runs as they end, each with its result or why there is none."""
    if workers < 2 or len(names) < 2:
        yield from ((name, run_by_name(name)) for name in names)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(run_by_name, name): name for name in names}
        for run in as_completed(runs):
            yield runs[run], repr(run.exception()) if run.exception() else run.result()


def run_by_name(name: str) -> Result | str:
    """One theorem with its defaults, on its built-in subject or on its negative control; or why it could not be run."""
    from ftheta.checking import check

    try:
        if name.endswith(_CONTROL):
            return check(name.removesuffix(_CONTROL), breaker=True, force=True)
        return check(name)
    except Exception as error:
        return repr(error)
