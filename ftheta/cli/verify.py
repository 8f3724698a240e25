"""`ftheta verify`: a property of a network, decided; one question, or a list of them."""

import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ftheta.logic.errors import FthetaError, UsageError

from .common import Flag, Json, print_json

if TYPE_CHECKING:
    from ftheta.certify.verification import Verification
    from ftheta.certify.vnnlib.queries import Query

EXIT = {"unsat": 0, "sat": 1, "unknown": 3, "timeout": 3}
HEADER: tuple[str, ...] = ("onnx", "vnnlib", "answer", "verdict", "seconds", "cpu_seconds", "method")


def verify(
    first: str | None = None,
    second: str | None = None,
    /,
    *,
    network: Annotated[list[str] | None, Flag] = None,
    timeout: str = "60s",
    witness: Path | None = None,
    real: Annotated[bool, Flag] = False,
    meaning: str | None = None,
    instances: Path | None = None,
    each: str = "20s",
    budget: str = "10m",
    out: Path | None = None,
    witnesses: Path | None = None,
    threads: int | None = None,
    json: Json = False,
) -> int:
    """Decide whether a property holds for every input of a set: proved, or refuted by a counter-example.

    The first line is the answer to the question for counter-examples: unsat (the property holds), sat (with a
    witness), unknown or timeout. Exit codes: 0 the property holds, 1 it is refuted, 3 undecided.

    Parameters
    ----------
    first
        A network (an .onnx file, or anything else that `check --on` takes), followed by a property; or a query.
    second
        The property: a VNN-LIB file, also packed (.vnnlib.gz).
    network
        For a query, the file of a network that it declares, such as --network f=a.onnx; once per network.
    timeout
        How long one question may take, such as 60s or 5m.
    witness
        A file for the counter-example.
    real
        Answer a query about floating-point numbers over the real numbers.
    meaning
        What the answer is about: real (the real function with the stored weights), float32 or float64 (what a program
        of that type computes, in any order of summation). A query of VNN-LIB 2.0 says so by its element types.
    instances
        A .csv file with a network, a property and perhaps a time limit in each row; paths are relative to it.
    each
        How long each instance may take.
    budget
        How long all of them may take.
    out
        The results as .csv; rows that are there already are not computed again.
    witnesses
        A folder for the counter-examples of instances.
    threads
        How many threads search at once; one for each core by default.
    """
    if instances is not None:
        if first is not None or second is not None or network:
            raise UsageError("A list of instances names its networks itself.", got=f"{first or network} {second or ''}")
        return _verify_all(instances, each, budget, out, witnesses, _choose_meaning(real, meaning), threads, json)
    from ftheta.certify.vnnlib import read_query
    from ftheta.verifying import verify as decide

    networks, path = _choose_files(first, second, network)
    query = read_query(path)
    result = decide(networks, query, budget=timeout, threads=threads, real=real, meaning=meaning)
    _print_result(result, query, json)
    if witness is not None and result.witness is not None:
        witness.write_text(_witness_text(result, query))
    return EXIT[result.answer]


def _choose_files(first: str | None, second: str | None, named: list[str] | None) -> tuple[Any, str]:
    """The networks, one or by name, and the file with the property."""
    if named and first is not None and second is None:
        return _name_networks(named), first
    if first is not None and second is not None and not named:
        return first, second
    if first is not None and second is None and _is_property(first):
        return {}, first
    raise UsageError(
        "A network and a property are needed, or a query and its networks.",
        got=" ".join(filter(None, (first, second, *(f"--network {words}" for words in named or ())))),
        remedy="ftheta verify net.onnx prop.vnnlib, ftheta verify query.vnnlib --network f=a.onnx, or --instances FILE",
    )


def _choose_meaning(real: bool, meaning: str | None) -> str | None:
    if real and meaning not in (None, "real"):
        raise UsageError("The answer is either about real numbers or about floats.", got=f"--real --meaning {meaning}")
    return "real" if real else meaning


def _is_property(path: str) -> bool:
    return path.lower().endswith((".vnnlib", ".vnnlib.gz"))


def _name_networks(words: list[str]) -> dict[str, str]:
    """`f=a.onnx` and so on, as a mapping."""
    found = dict[str, str]()
    for word in words:
        name, equals, path = word.partition("=")
        if not (equals and name and path):
            raise UsageError("A network of a query is given by its name and its file.", got=word, remedy="f=a.onnx")
        if name in found:
            raise UsageError("A network of the query has two files.", got=f"{name}={found[name]} and {word}")
        found[name] = path
    return found


def _print_result(result: "Verification", query: "Query", as_json: bool) -> None:
    if as_json:
        print_json(_document(result))
        return
    is_new = query.version[0] >= 2
    print("timed-out" if result.answer == "timeout" and is_new else result.answer)  # the word of VNN-LIB 2.0
    if result.witness is not None:
        print(_witness_text(result, query), end="")
    note = f"{result.method}: {result.subproblems:,} subproblems in {result.seconds:.2f} s; about {result.meaning}"
    print(note, file=sys.stderr)


def _document(result: "Verification") -> dict[str, Any]:
    point = result.witness
    found = None if point is None else {"x": [str(v) for v in point.x], "y": [str(v) for v in point.y]}
    return {
        "answer": result.answer,
        "holds": result.holds,
        "witness": found,
        "method": result.method,
        "meaning": result.meaning,
        "subproblems": result.subproblems,
        "open": result.open,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }


def _witness_text(result: "Verification", query: "Query") -> str:
    """A counter-example as competitions exchange it, or tensor by tensor as VNN-LIB 2.0 says."""
    from ftheta.certify.witnesses import write_assignment, write_witness

    assert result.witness is not None
    if query.version[0] >= 2:
        return write_assignment(query, result.witness.x, result.witness.y)
    return write_witness(result.witness.x, result.witness.y)


# ---- many instances ----


def _verify_all(
    instances: Path,
    each: str,
    budget: str,
    out: Path | None,
    witnesses: Path | None,
    meaning: str | None,
    threads: int | None,
    as_json: bool,
) -> int:
    """Decide a list of instances in one process, in their order; a row is written as soon as it is there."""
    from ftheta.processes.budgets import parse_seconds

    ends = time.monotonic() + parse_seconds(budget)
    rows = list(_read_instances(instances))
    done = {} if out is None else _read_results(out)
    results = []
    if witnesses is not None:
        witnesses.mkdir(parents=True, exist_ok=True)
    for network, property in rows:
        row = done.get((network, property))
        if row is None:
            left = ends - time.monotonic()
            row = _decide_instance(
                instances.parent, network, property, min(parse_seconds(each), left), meaning, threads, witnesses
            )
            results.append(row)
            if out is not None and left > 0:
                _append(out, row)
        else:
            results.append(row)
        if not as_json and out is None:
            print(",".join(row.values()), flush=True)
    if out is not None:
        _write_results(out, results)
    if as_json:
        print_json(results)
    verdicts = {row["verdict"] for row in results}
    return 1 if "refuted" in verdicts else 0 if verdicts <= {"holds"} else 3


def _decide_instance(
    folder: Path,
    network: str,
    property: str,
    seconds: float,
    meaning: str | None,
    threads: int | None,
    witnesses: Path | None,
) -> dict[str, str]:
    from ftheta.certify.vnnlib import read_query
    from ftheta.verifying import verify as decide

    row = dict.fromkeys(HEADER, "") | {"onnx": network, "vnnlib": property}
    if seconds <= 0:
        return row | {"answer": "timeout", "verdict": "not run within the budget"}
    try:
        query = read_query(folder / property)
        result = decide(str(folder / network), query, budget=seconds, threads=threads, meaning=meaning)
    except FthetaError as error:
        return row | {"answer": "unknown", "verdict": f"error: {error.what}"}
    if result.witness is not None and witnesses is not None:
        name = f"{_stem(network)}_{_stem(property)}.counterexample"
        (witnesses / name).write_text(_witness_text(result, query))
    verdict = {True: "holds", False: "refuted", None: "undecided"}[result.holds]
    return row | {
        "answer": result.answer,
        "verdict": verdict,
        "seconds": f"{result.seconds:.4f}",
        "cpu_seconds": f"{result.cpu_seconds:.4f}",
        "method": result.method,
    }


def _stem(path: str) -> str:
    return Path(path).name.removesuffix(".gz").rpartition(".")[0]


def _read_instances(path: Path) -> Iterator[tuple[str, str]]:
    """Network and property of each row; a header is passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("The list of instances cannot be read.", where=str(path), got=f"{error}") from error
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
    return {(row["onnx"], row["vnnlib"]): row for row in rows if row["verdict"] in ("holds", "refuted")}


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
