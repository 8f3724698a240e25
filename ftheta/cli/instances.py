"""A list of instances for `ftheta verify`, decided one after the other or by many workers; it can be resumed."""

import csv
import sys
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.logic.errors import FthetaError, UsageError
from ftheta.processes.compilation import clock

from .common import print_json

if TYPE_CHECKING:
    from ftheta.certify.searches import Verification

HEADER: tuple[str, ...] = (
    "onnx",
    "vnnlib",
    "answer",
    "verdict",
    "seconds",
    "cpu_seconds",
    "method",
)
INTERRUPTED = 130

Row = dict[str, str]
Rows = Generator[tuple[int, Row], None, None]


def verify_instances(
    instances: Path,
    *,
    each: str,
    budget: str,
    out: Path | None,
    witnesses: Path | None,
    meaning: str | None,
    threads: int | None,
    on: int | str | None,
    progress: bool | None,
    as_json: bool,
) -> int:
    """Decide a list of instances; a row is written as soon as it is there, and all in their order at the end."""
    from ftheta.processes import interrupts
    from ftheta.processes.budgets import parse_seconds
    from ftheta.sweeps.progress import Progress

    seconds = parse_seconds(each)
    whole = parse_seconds(budget)
    pairs = list(_read_instances(instances))
    done = {} if out is None else _read_results(out)
    found = {k: done[pair] for k, pair in enumerate(pairs) if pair in done}
    left = [(k, *pair) for k, pair in enumerate(pairs) if k not in found]
    if witnesses is not None:
        witnesses.mkdir(parents=True, exist_ok=True)
    batch = _Batch(instances.parent, witnesses, seconds, whole, meaning)
    rows = batch.decide_here(left, threads) if on is None else batch.decide_on(left, on)
    prints = not as_json and out is None
    with Progress(len(pairs), len(found), progress, "instances") as line:
        line.draw()
        try:
            for k, row in rows:
                with interrupts.held():  # what is found is written, whatever comes
                    found[k] = row
                    if out is not None:
                        _append(out, row)
                    if prints:
                        print(",".join(row.values()), flush=True)
                line.add(1, 0)
                line.draw()
        except KeyboardInterrupt:
            interrupts.heed()
            batch.interrupted = True
            rows.close()
    reason = "interrupted" if batch.interrupted else "not run within the budget"
    missing = {"answer": "timeout", "verdict": reason}
    results = [found.get(k) or _empty_row(*pair) | missing for k, pair in enumerate(pairs)]
    if out is not None:
        _write_results(out, results)
    for k, row in enumerate(results):
        if prints and k not in found:
            print(",".join(row.values()))
    if as_json:
        print_json(results)
    if batch.interrupted:
        _say_how_to_go_on(len(found), len(pairs), out)
        return INTERRUPTED
    verdicts = {row["verdict"] for row in results}
    return 1 if "refuted" in verdicts else 0 if verdicts <= {"holds"} else 3


class _Batch:
    """Instances of one list, with what holds for all of them."""

    def __init__(
        self,
        folder: Path,
        witnesses: Path | None,
        seconds: float,
        budget: float,
        meaning: str | None,
    ) -> None:
        self.folder = folder
        self.witnesses = witnesses
        self.seconds = seconds
        self.ends = clock() + budget
        self.meaning = meaning
        self.interrupted = False

    @property
    def left(self) -> float:
        return self.ends - clock()

    def decide_here(self, instances: list[tuple[int, str, str]], threads: int | None) -> Rows:
        """One after the other in this process, while there is time."""
        from ftheta.certify.vnnlib import read_query
        from ftheta.verifying import verify
        from ftheta.verifying.deadlines import decide_in_time

        for k, network, property in instances:
            seconds = min(self.seconds, self.left)
            if seconds <= 0 or self.interrupted:
                return
            try:
                query = read_query(self.folder / property)
                path = str(self.folder / network)
                ask = partial(
                    verify, path, query, budget=seconds, threads=threads, meaning=self.meaning
                )
                result = decide_in_time(ask, seconds)
            except FthetaError as error:
                yield k, _failed_row(network, property, error.what)
                continue
            self.interrupted = result.interrupted
            if not result.interrupted or result.holds is not None:
                yield k, self._row(network, property, result)

    def decide_on(self, instances: list[tuple[int, str, str]], on: Any) -> Rows:
        """By many workers, each an instance at a time, in whatever order they end."""
        from ftheta.verifying import verify
        from ftheta.verifying.spreading import Instances, Tasks

        if not instances:
            return
        tasks = Tasks(Instances(verify), on, self.left)
        for k, network, property in instances:
            tasks.add(
                {
                    "instance": (k, network, property),
                    "network": str((self.folder / network).resolve()),
                    "property": str((self.folder / property).resolve()),
                    "seconds": self.seconds,
                    "meaning": self.meaning,
                }
            )
        try:
            for settings, outcome in tasks:
                k, network, property = settings["instance"]
                if outcome.result is None:
                    yield k, _failed_row(network, property, outcome.error or "it was lost")
                else:
                    yield k, self._row(network, property, outcome.result["found"])
        finally:
            tasks.close()

    def _row(self, network: str, property: str, result: "Verification") -> Row:
        if result.witness is not None and self.witnesses is not None:
            from ftheta.certify.vnnlib import read_query
            from ftheta.certify.witnesses import write_counter_example

            query = read_query(self.folder / property)
            name = f"{_stem(network)}_{_stem(property)}.counterexample"
            text = write_counter_example(query, result.witness.x, result.witness.y)
            (self.witnesses / name).write_text(text)
        return _empty_row(network, property) | {
            "answer": result.answer,
            "verdict": {True: "holds", False: "refuted", None: "undecided"}[result.holds],
            "seconds": f"{result.seconds:.4f}",
            "cpu_seconds": f"{result.cpu_seconds:.4f}",
            "method": result.method,
        }


def _say_how_to_go_on(done: int, all: int, out: Path | None) -> None:
    kept = (
        f"kept in {out}: the same command goes on with the others"
        if out is not None
        else "not kept: give --out FILE"
    )
    print(f"ftheta: interrupted; {done} of {all} instances are done and {kept}", file=sys.stderr)


def _empty_row(network: str, property: str) -> Row:
    return dict.fromkeys(HEADER, "") | {"onnx": network, "vnnlib": property}


def _failed_row(network: str, property: str, what: str) -> Row:
    return _empty_row(network, property) | {"answer": "unknown", "verdict": f"error: {what}"}


def _stem(path: str) -> str:
    return Path(path).name.removesuffix(".gz").rpartition(".")[0]


def _read_instances(path: Path) -> Iterator[tuple[str, str]]:
    """Network and property of each row; a header is passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "The list of instances cannot be read.", where=str(path), got=f"{error}"
        ) from error
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if not row or (number == 1 and row[0].strip() == "onnx"):
            continue
        if len(row) < 2:
            raise UsageError(
                "An instance is a network and a property.",
                where=f"{path}:{number}",
                got=",".join(row),
                remedy="write net.onnx,property.vnnlib in each row",
            )
        yield row[0].strip(), row[1].strip()


def _read_results(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Rows of an earlier run that were decided."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if set(row) == set(HEADER)]
    return {
        (row["onnx"], row["vnnlib"]): row for row in rows if row["verdict"] in ("holds", "refuted")
    }


def _append(path: Path, row: dict[str, str]) -> None:
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def _write_results(path: Path, rows: list[dict[str, str]]) -> None:
    """All rows in the order of the instances, put in place at once."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        writer.writeheader()
        writer.writerows(rows)
    beside.replace(path)
