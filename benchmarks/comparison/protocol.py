"""The protocol between the comparison and its contestants; run by every Python, so it needs NumPy alone.

`python <program>.py <method>` reads lines, each the path of a work (.npz), and answers each with a line of JSON. To a
path that is new: `{"ready": …}`, after the method was prepared on the arrays and run once, which compiles. To one that
it had before: `cpu` and `wall` seconds of one more run, `peak` (MiB that the process has grown by since it read its
first work, or all that a process which it started had) and `value`, some numbers of the result, which have to agree
among the contestants.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[], Any]
Prepare = Callable[[Mapping[str, np.ndarray]], Run]
SHOWN = 32  # numbers of a result that are compared


def serve(methods: Mapping[str, Prepare]) -> None:
    """Answer on standard output until standard input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a package prints is no answer
    prepare = methods[sys.argv[1]]
    before = 0.0
    path = ""
    run: Run = int
    for line in sys.stdin:
        if line.strip() == path:
            answer = _time_once(run, before)
        else:
            path = line.strip()
            work = dict(np.load(path))
            before = before or _resident()
            run = prepare(work)
            run()
            answer = {"ready": path}
        print(json.dumps(answer), file=answers, flush=True)


def _time_once(run: Run, before: float) -> dict[str, Any]:
    cpu = _processor_seconds()
    wall = time.perf_counter()
    found = run()
    seconds = {"cpu": _processor_seconds() - cpu, "wall": time.perf_counter() - wall}
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
    # a process that it started grew from nothing
    return seconds | {"peak": max(_peak() - before, children), "value": summarise(found)}


def _processor_seconds() -> float:
    """Of this process, all its threads, and the processes that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def summarise(result: Any) -> list[float]:
    """A few numbers of a result, evenly taken from it."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    flat = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
    return flat[np.linspace(0, len(flat) - 1, min(SHOWN, len(flat))).astype(int)].tolist()


def take(work: Mapping[str, np.ndarray], letter: str) -> list[np.ndarray]:
    """The arrays `p0`, `p1`, … of a work."""
    return [
        work[f"{letter}{k}"]
        for k in range(sum(name[:1] == letter and name[1:].isdigit() for name in work))
    ]


def number(letter: str, arrays: Iterable[Any]) -> dict[str, np.ndarray]:
    """Arrays by the names `p0`, `p1`, …"""
    return {f"{letter}{k}": np.asarray(array) for k, array in enumerate(arrays)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _resident() -> float:
    """MiB that the process has now; where there is no /proc, the most it had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return _peak()
