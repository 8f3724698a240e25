"""`ftheta verify`: a property of a network, decided; one question, or a list of them."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ftheta.logic.errors import UsageError

from .common import Flag, Json, print_json

if TYPE_CHECKING:
    from ftheta.certify.verification import Verification
    from ftheta.certify.vnnlib.queries import Query

EXIT = {"unsat": 0, "sat": 1, "unknown": 3, "timeout": 3}
INTERRUPTED = 130


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
    on: str | None = None,
    progress: bool | None = None,
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
    on
        Where to search instead: a number of processes, or a Dask scheduler such as dask://host:8786. Instances of a
        list, and the open boxes of a single one, are shared out.
    progress
        Show how far it is and the time left, on standard error; on a terminal by default.
    """
    if instances is not None:
        if first is not None or second is not None or network:
            raise UsageError("A list of instances names its networks itself.", got=f"{first or network} {second or ''}")
        from .instances import verify_instances

        return verify_instances(
            instances,
            each=each,
            budget=budget,
            out=out,
            witnesses=witnesses,
            meaning=_choose_meaning(real, meaning),
            threads=threads,
            on=_choose_workers(on),
            progress=progress,
            as_json=json,
        )
    from ftheta.certify.vnnlib import read_query
    from ftheta.processes.budgets import parse_seconds
    from ftheta.verifying import verify as decide

    networks, path = _choose_files(first, second, network)
    query = read_query(path)
    with _clock(parse_seconds(timeout), progress):
        result = decide(
            networks, query, budget=timeout, threads=threads, real=real, meaning=meaning, on=_choose_workers(on)
        )
    _print_result(result, query, json)
    if witness is not None and result.witness is not None:
        witness.write_text(_witness_text(result, query))
    return INTERRUPTED if result.interrupted else EXIT[result.answer]


@contextmanager
def _clock(seconds: float, shown: bool | None) -> Iterator[None]:
    """The time that is left, on standard error, while something else goes on."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield
        return
    ends = time.monotonic() + seconds
    is_over = threading.Event()

    def draw() -> None:
        while not is_over.wait(0.5):
            left = max(ends - time.monotonic(), 0.0)
            print(f"\r\x1b[2Ksearching · at most {left:.0f} s left", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _choose_workers(words: str | None) -> int | str | None:
    """A number of processes, or the address of a cluster."""
    return int(words) if words is not None and words.isdecimal() and len(words) < 10 else words


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
    ending = "interrupted; " if result.interrupted else ""
    note = (
        f"{ending}{result.method}: {result.subproblems:,} subproblems in {result.seconds:.2f} s; about {result.meaning}"
    )
    print(note, file=sys.stderr)
    if isfinite(result.least):
        print(f"if the property fails, then by at most {-result.least:.3g}", file=sys.stderr)


def _document(result: "Verification") -> dict[str, Any]:
    point = result.witness
    found = None
    if point is not None:
        found = {"x": [str(v) for v in point.x], "y": [str(v) for v in point.y], "within": str(point.within)}
    return {
        "document": "verification",
        "schema": 1,
        "answer": result.answer,
        "holds": result.holds,
        "witness": found,
        "method": result.method,
        "meaning": result.meaning,
        "subproblems": result.subproblems,
        "open": result.open,
        "least": result.least if isfinite(result.least) else None,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }


def _witness_text(result: "Verification", query: "Query") -> str:
    from ftheta.certify.witnesses import write_counter_example

    assert result.witness is not None
    return write_counter_example(query, result.witness.x, result.witness.y)
