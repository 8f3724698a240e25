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

from .common import Flag, Json, print_json, read_box_for

if TYPE_CHECKING:
    from ftheta.certify.behaviour.behaviour import Behaviour
    from ftheta.certify.searches import Verification
    from ftheta.certify.vnnlib.queries import Query

EXIT = {"unsat": 0, "sat": 1, "unknown": 3, "timeout": 3}
INTERRUPTED = 130


def verify(
    first: str | None = None,
    second: str | None = None,
    /,
    *,
    network: Annotated[list[str] | None, Flag] = None,
    box: str | None = None,
    increasing: str | None = None,
    decreasing: str | None = None,
    convex: Annotated[bool, Flag] = False,
    close: str | None = None,
    eps: str | None = None,
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
    box
        In place of a file, with one of the next options: the same bounds for every input (--box=0,1), or one pair per
        input (--box="0,1;-1,1").
    increasing
        The outputs are non-decreasing in these inputs on the box, such as --increasing 0,2.
    decreasing
        The outputs are non-increasing in these inputs on the box.
    convex
        The outputs are convex on the box.
    close
        The outputs are within --eps of those of this network on the box.
    eps
        The tolerance of --close; decimals are exact.
    timeout
        How long one question may take by the clock, such as 60s or 5m, with the reading of its network; then the answer
        is timeout, about a second later at most. What is done once, compiling kernels after an installation and loading
        libraries, is not counted.
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
        How long each instance may take, counted as for --timeout.
    budget
        How long all of them may take by the clock; those that are left then are rows with "not run within the budget".
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
            raise UsageError(
                "A list of instances names its networks itself.",
                got=f"{first or network} {second or ''}",
            )
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
    from ftheta.verifying.deadlines import decide_in_time

    seconds = parse_seconds(timeout)
    if any((box, increasing, decreasing, convex, close, eps)):
        from ftheta.verifying.networks import read_network

        if first is None or second is not None or network:
            raise UsageError(
                "A property of options is about one network.",
                got=f"{first} {second or network or ''}",
            )
        net = read_network(first)
        asked = _read_behaviour(net, box, increasing, decreasing, convex, close, eps)
        with _clock(seconds, progress):
            result = decide_in_time(
                lambda: decide(net, asked, budget=seconds, threads=threads), seconds
            )
        _print_behaviour(result, json)
        return INTERRUPTED if result.interrupted else EXIT[result.answer]
    networks, path = _choose_files(first, second, network)
    query = read_query(path)
    options = {"threads": threads, "real": real, "meaning": meaning, "on": _choose_workers(on)}
    with _clock(seconds, progress):
        result = decide_in_time(lambda: decide(networks, query, budget=seconds, **options), seconds)
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
            print(
                f"\r\x1b[2Ksearching · at most {left:.0f} s left",
                end="",
                file=sys.stderr,
                flush=True,
            )

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


def _choose_files(
    first: str | None, second: str | None, named: list[str] | None
) -> tuple[Any, str]:
    """The networks, one or by name, and the file with the property."""
    if named and first is not None and second is None:
        return _name_networks(named), first
    if first is not None and second is not None and not named:
        return first, second
    if first is not None and second is None and _is_property(first):
        return {}, first
    raise UsageError(
        "A network and a property are needed, or a query and its networks.",
        got=" ".join(
            filter(None, (first, second, *(f"--network {words}" for words in named or ())))
        ),
        remedy="ftheta verify net.onnx prop.vnnlib, ftheta verify query.vnnlib --network f=a.onnx, or --instances FILE",
    )


def _choose_meaning(real: bool, meaning: str | None) -> str | None:
    if real and meaning not in (None, "real"):
        raise UsageError(
            "The answer is either about real numbers or about floats.",
            got=f"--real --meaning {meaning}",
        )
    return "real" if real else meaning


def _is_property(path: str) -> bool:
    return path.lower().endswith((".vnnlib", ".vnnlib.gz"))


def _name_networks(words: list[str]) -> dict[str, str]:
    """`f=a.onnx` and so on, as a mapping."""
    found = dict[str, str]()
    for word in words:
        name, equals, path = word.partition("=")
        if not (equals and name and path):
            raise UsageError(
                "A network of a query is given by its name and its file.",
                got=word,
                remedy="f=a.onnx",
            )
        if name in found:
            raise UsageError(
                "A network of the query has two files.", got=f"{name}={found[name]} and {word}"
            )
        found[name] = path
    return found


def _print_result(result: "Verification", query: "Query", as_json: bool) -> None:
    if as_json:
        print_json(_document(result))
        return
    is_new = query.version[0] >= 2
    # the word of VNN-LIB 2.0
    print("timed-out" if result.answer == "timeout" and is_new else result.answer)
    if result.witness is not None:
        print(_witness_text(result, query), end="")
    _print_note(result)


def _read_behaviour(
    net: Any,
    box: str | None,
    increasing: str | None,
    decreasing: str | None,
    convex: bool,
    close: str | None,
    eps: str | None,
) -> "Behaviour":
    """The one property that the options say."""
    from ftheta.certify.behaviour.properties import Convex, Monotone
    from ftheta.verifying.relations import Close

    is_monotone = increasing is not None or decreasing is not None
    said = [is_monotone, convex, close is not None]
    if sum(said) != 1 or box is None:
        raise UsageError(
            "One property on a box is decided at a time.",
            got=f"{sum(said)} properties and {'no' if box is None else 'a'} box",
            remedy="such as --box=0,1 with --increasing 0,2, or with --convex, or with --close other.onnx --eps 0.01",
        )
    if (close is None) != (eps is None):
        raise UsageError(
            "--close and --eps belong together.", remedy="for example --close other.onnx --eps 0.01"
        )
    ends = read_box_for(net, box)
    if convex:
        return Convex(ends)
    if close is not None:
        return Close(close, ends, eps)
    return Monotone(ends, _numbers(increasing), _numbers(decreasing))


def _numbers(words: str | None) -> list[int]:
    try:
        return [] if words is None else [int(word) for word in words.split(",")]
    except ValueError:
        raise UsageError(
            "Inputs are given by their numbers.", got=words, remedy="write --increasing 0,2"
        ) from None


def _print_behaviour(result: "Verification", as_json: bool) -> None:
    """The answer about a property that no file says, with the points of a counter-example."""
    if as_json:
        print_json(_document(result))
        return
    print(result.answer)
    found = result.witness
    points = getattr(found, "points", (found.x,) if found is not None else ())
    values = getattr(found, "values", (found.y,) if found is not None else ())
    for x, y in zip(points, values):
        print(
            f"x = {' '.join(f'{float(v):.9g}' for v in x)}  y = {' '.join(f'{float(v):.9g}' for v in y)}"
        )
    if getattr(found, "says", ""):
        print(found.says)  # type: ignore[union-attr]
    _print_note(result)


def _print_note(result: "Verification") -> None:
    ending = "interrupted; " if result.interrupted else ""
    counts = f"{result.subproblems:,} subproblems in {result.seconds:.2f} s"
    print(f"{ending}{result.method}: {counts}; about {result.meaning}", file=sys.stderr)
    if isfinite(result.least):
        print(f"if the property fails, then by at most {-result.least:.3g}", file=sys.stderr)


def _document(result: "Verification") -> dict[str, Any]:
    point = result.witness
    found = None
    if point is not None:
        found = {
            "x": [str(v) for v in point.x],
            "y": [str(v) for v in point.y],
            "within": str(point.within),
        }
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
