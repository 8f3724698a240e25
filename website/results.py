"""Default runs of the theorems, stored as documents of JSON, so that a build of the site runs no theorem."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import ftheta
from ftheta.logic import Result, SubjectError
from ftheta.report.document import from_json, to_json

PACKAGE = Path(ftheta.__file__).parent
STAMP = "sources.json"
MOST_WORKERS = 2
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
    """A folder with one document per theorem, `<id>.json`, and the digest of the sources that made each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, id: str) -> Result | None:
        """The stored run of a theorem; None where there is none that can be read."""
        try:
            document = from_json(self._path(id).read_bytes())
        except (OSError, SubjectError):
            return None
        return document if isinstance(document, Result) else None

    def write(self, result: Result, digest: str) -> None:
        """Store a run that these sources made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path(result.id).write_text(to_json(result), encoding="utf-8")
        stamp = json.dumps({**self._digests(), result.id: digest}, indent=1)
        (self.folder / STAMP).write_text(stamp, encoding="utf-8")

    def missing(self, ids: Iterable[str], digest: str) -> list[str]:
        """The theorems without a run by these sources."""
        known = self._digests()
        return [id for id in ids if known.get(id) != digest or not self._path(id).is_file()]

    def _path(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _digests(self) -> dict[str, str]:
        try:
            return json.loads((self.folder / STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}


def store_runs(store: ResultStore, ids: Iterable[str], workers: int = MOST_WORKERS) -> list[str]:
    """Run what is missing, and say which theorems could not be run; the others are stored all the same."""
    digest = digest_sources()
    waiting = store.missing(ids, digest)
    failed = []
    for number, (id, outcome) in enumerate(_run_all(waiting, min(workers, MOST_WORKERS)), 1):
        if isinstance(outcome, Result):
            store.write(outcome, digest)
        else:
            failed.append(id)
            print(f"{id} has no result: {outcome}", file=sys.stderr)
        print(f"{number} of {len(waiting)}: {id}", file=sys.stderr, flush=True)
    return failed


def _run_all(ids: list[str], workers: int) -> Iterator[tuple[str, Result | str]]:
    """Runs as they end, each with its result or why there is none."""
    if workers < 2 or len(ids) < 2:
        yield from ((id, run_default(id)) for id in ids)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(run_default, id): id for id in ids}
        for run in as_completed(runs):
            yield runs[run], repr(run.exception()) if run.exception() else run.result()


def run_default(id: str) -> Result | str:
    """One theorem with its defaults, on its built-in subject; or why it could not be run."""
    from ftheta.checking import check

    try:
        return check(id)
    except Exception as error:
        return repr(error)
